"""The report in Chromium: it fits, it folds, links open what they lead to, and nothing runs."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embinit.report import render
from embinit.report.reading import read
from test_report import HOSTILE, make_claim, make_document, make_full

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
REFERENCE = Path(__file__).parents[1] / "reports/reference"
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium without a window."""
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def blessed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of both blessed references."""
    made, real = (read(REFERENCE / tier / "verdicts.json") for tier in ("micro", "sample"))
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(made, {}, others=[real]), encoding="utf-8")
    return path.as_uri()


def violations(page: Any) -> list[tuple[str, str]]:
    """What axe finds on a page, each with the first place."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found]


def test_the_page_of_one_session_is_accessible(browser: Any, tmp_path: Path) -> None:
    """Of somebody's own tests, with every verdict and curves."""
    path = tmp_path / "index.html"
    path.write_text(render(*make_full()), encoding="utf-8")
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(path.as_uri())
    assert violations(page) == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_the_blessed_page_fits_and_axe_finds_nothing(
    browser: Any, blessed: str, width: int, scheme: str
) -> None:
    """On a phone and on a desk, by day and by night; what to run and real text come first."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(blessed)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for words in ("To run", "Inconclusive", "On real text", "Replicates"):
        assert page.get_by_text(words).first.bounding_box()["y"] < 700, words
    early = page.locator(".findings svg.plot").first.bounding_box()["y"] < 1700
    assert early or width < 1000
    page.locator("details.card > summary").first.click()
    assert page.locator("details.card[open] figure svg").first.is_visible()
    assert violations(page) == []
    page.close()


def test_a_link_opens_its_claim_without_a_script(browser: Any, blessed: str) -> None:
    """From the table of findings, and from outside; of either document."""
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(blessed)
    assert page.locator("details.card[open]").count() == page.locator(".is-inconsistent").count()
    link = page.locator(".findings td a[href*='claim:1:']").first
    target = page.locator(f"[id='{link.get_attribute('href')[1:]}']")
    assert not target.is_visible()
    link.click()
    assert target.is_visible()
    name = page.locator("[id^='claim-kim2024-table-4']").first.get_attribute("id")
    page.goto(f"{blessed}#{name}")
    assert page.locator("details.card:has(:target)").is_visible()
    page.close()


def test_hostile_text_runs_nothing(browser: Any, tmp_path: Path) -> None:
    """Claims may come from anywhere: their words stay words."""
    claim = make_claim("x", statement=HOSTILE, task=HOSTILE, source=HOSTILE, family=HOSTILE)
    path = tmp_path / "index.html"
    path.write_text(render(make_document([claim]), {}), encoding="utf-8")
    page = browser.new_page()
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.goto(path.as_uri())
    assert page.locator("img").count() == page.locator("script").count() == 0
    page.close()


def test_on_paper_every_fold_is_open(browser: Any, tmp_path: Path) -> None:
    """Nobody can open one there."""
    path = tmp_path / "index.html"
    path.write_text(render(*make_full()).replace(" open>", ">"), encoding="utf-8")
    page = browser.new_page(viewport={"width": 700, "height": 900})
    page.goto(path.as_uri())
    page.emulate_media(media="print")
    assert page.locator("details.card figure svg:visible").count() >= 6
    assert page.locator("nav").is_hidden()
    page.close()
