// A table that is wider than the page scrolls in a frame of its own, and by the keyboard too.
document$.subscribe(() => setTimeout(() => {
  for (const frame of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0;
  }
}));
