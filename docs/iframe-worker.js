// The theme searches in a worker, which browsers refuse to pages that are opened as files. There this
// stands in for it: a hidden frame that has the same script, and is spoken to in the same way.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      frame.worker = this;
      frame.srcdoc = `<script>
        postMessage = data => frameElement.worker.dispatchEvent(new parent.MessageEvent("message", { data }));
      </script><script src="${url}"></script>`;
      this.window = new Promise((resolve) => {
        frame.onload = () => resolve(frame.contentWindow);
      });
      const begin = () => document.body.append(frame);
      document.body ? begin() : addEventListener("DOMContentLoaded", begin);
    }

    postMessage(data) {
      this.window.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
}

// What the theme leaves without a name of its own: the dialog of the search, and lists of one name.
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  const met = {};
  for (const each of document.querySelectorAll("nav[aria-label]")) {
    const name = each.getAttribute("aria-label").trim().toLowerCase();
    met[name] = (met[name] ?? 0) + 1;
    if (met[name] > 1) each.setAttribute("aria-label", `${name} ${met[name]}`);
  }
});
