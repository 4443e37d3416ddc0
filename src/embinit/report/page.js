"use strict";
// What a link leads to is opened, with all that it is folded into. Without a script the reader
// opens it: <details> need none, and families of one name close each other by themselves.
(() => {
  function reveal(fragment) {
    const target = document.getElementById(decodeURIComponent(fragment.slice(1)));
    for (let each = target; each; each = each.parentElement) {
      if (each.tagName === "DETAILS") each.open = true;
    }
    return target;
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link) reveal(link.getAttribute("href"));
  });
  const follow = () => location.hash && reveal(location.hash)?.scrollIntoView();
  addEventListener("hashchange", follow);
  follow();

  const families = [...document.querySelectorAll("details.family[name]")];
  for (const family of families) {
    family.querySelector("summary").addEventListener("click", () => {
      // The family above has closed by then, and its height is gone.
      setTimeout(() => family.getBoundingClientRect().top < 0 && family.scrollIntoView());
    });
  }
  const button = document.getElementById("open-all");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const opening = button.textContent === "Open everything";
    for (const family of families) {
      if (opening) family.removeAttribute("name");
      else family.setAttribute("name", "family");
    }
    for (const each of document.querySelectorAll("details")) each.open = opening;
    button.textContent = opening ? "Close everything" : "Open everything";
  });
})();

// Filters and sorting of the table of every claim. Without a script it stands as it is, whole.
(() => {
  const table = document.querySelector("table.summary");
  const filters = document.getElementById("filters");
  if (!table || !filters) return;
  const rows = [...table.querySelectorAll("tr[data-verdict]")];
  const homes = new Map(rows.map((row) => [row, row.parentNode]));
  const groups = [...table.tBodies];
  const sorted = table.createTBody();
  const choices = [...filters.querySelectorAll("select")];
  const search = filters.querySelector("input");
  const shown = filters.querySelector("output");

  for (const choice of choices) {
    const values = [...new Set(rows.map((row) => row.dataset[choice.name]))].sort();
    for (const value of values) choice.add(new Option(value));
    // Controls are read after the claims, and most of them are to be refuted.
    if (choice.name === "kind" && values.includes("claim")) {
      choice.value = "claim";
    }
  }

  function filter() {
    const words = search.value.toLowerCase();
    let count = 0;
    for (const row of rows) {
      const chosen = choices.every((one) => !one.value || row.dataset[one.name] === one.value);
      row.hidden = !(chosen && row.textContent.toLowerCase().includes(words));
      count += row.hidden ? 0 : 1;
    }
    for (const group of groups) {
      group.hidden = !rows.some((row) => row.parentNode === group && !row.hidden);
    }
    shown.textContent = `${count} of ${rows.length} shown`;
  }

  function compare(key, one, other) {
    const [a, b] = [one, other].map((row) => row.dataset[key] ?? "");
    if (key !== "effect" && key !== "p") return a.localeCompare(b);
    return Number(a) - Number(b);
  }

  function ordered(key, sign) {
    // What has no number comes last, whichever way.
    const lacks = (row) => Number((row.dataset[key] ?? "") === "");
    return [...rows].sort((a, b) => lacks(a) - lacks(b) || sign * compare(key, a, b));
  }

  const headers = [...table.querySelectorAll("th[data-key]")];
  function sort(header) {
    const direction = { ascending: "descending", descending: "none" };
    const next = direction[header.getAttribute("aria-sort")] ?? "ascending";
    for (const one of headers) one.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", next);
    if (next === "none") {
      for (const row of rows) homes.get(row).append(row);
    } else {
      const sign = next === "ascending" ? 1 : -1;
      sorted.append(...ordered(header.dataset.key, sign));
    }
    filter();
  }

  for (const header of headers) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(header));
    header.append(button);
    header.setAttribute("aria-sort", "none");
  }
  filters.addEventListener("input", filter);
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("reset", () => setTimeout(filter));
  filters.hidden = false;
  filter();
})();
