"""The picture of the report for the docs: the top of the page of the blessed references.

    python benchmarks/report.py docs/report.png

Chromium is looked for on the path, or named by ``CHROMIUM``.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from embinit.report import render
from embinit.report.reading import read

BLESSED = Path(__file__).parents[1] / "reports/reference"


def main(picture: str) -> None:
    """Show the top of the page as a reader's screen does, and write its picture."""
    from playwright.sync_api import sync_playwright

    document, real = (read(BLESSED / tier / "verdicts.json") for tier in ("micro", "sample"))
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        path = Path(directory) / "index.html"
        path.write_text(render(document, {}, others=[real]), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 980})
        page.goto(path.as_uri())
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
