"""The report in a real browser: nothing breaks, overflows, loads or stays out of reach.

Skipped where there is no Chromium; ``CHROMIUM`` names one that isn't on the path.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embinit.report import write_report
from embinit.report.arms import Run
from test_report import HOSTILE, make_claim, make_document, make_full

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; CHROMIUM=/path names one")
WIDTHS = (390, 1440)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens a report; afterwards nothing may have been loaded or complained about."""
    complaints: list[str] = []

    def opened(document: dict[str, Any], runs: dict[str, Run], width: int = 1440) -> Any:
        path = write_report(document, runs, tmp_path)
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: loaded.append(request.url))
        page.goto(path.as_uri())
        assert loaded == [path.as_uri()]
        return page

    loaded: list[str] = []
    yield opened
    assert complaints == []
    assert len(loaded) == 1


def shown(page: Any) -> list[str]:
    """The verdicts of the summary's visible rows, as they stand."""
    return [
        row.get_attribute("data-verdict") for row in page.locator("tr[data-verdict]:visible").all()
    ]


def test_rows_are_filtered_and_sorted(show: Any) -> None:
    """By verdict, by words, by a column both ways and back; and all again."""
    page = show(*make_full())
    # Controls come when they are asked for.
    assert page.locator("#filters output").inner_text() == "7 of 8 shown"
    page.get_by_label("Kind").select_option("")
    whole = shown(page)
    assert len(whole) == 8
    page.get_by_label("Verdict").select_option("REFUTED")
    assert shown(page) == ["REFUTED", "REFUTED"]
    assert page.locator("#filters output").inner_text() == "2 of 8 shown"
    page.get_by_label("Words").fill("OPPOSITE")
    assert shown(page) == ["REFUTED"]
    page.get_by_role("button", name="Show all").click()
    sync_api.expect(page.locator("#filters output")).to_have_text("8 of 8 shown")
    header = page.get_by_role("button", name="Verdict")
    for direction, expected in (
        ("ascending", sorted(whole)),
        ("descending", sorted(whole, reverse=True)),
        ("none", whole),
    ):
        header.click()
        assert shown(page) == expected
        sort = page.locator("th[data-key=verdict]").get_attribute("aria-sort")
        assert sort == direction
    for _ in range(2):
        page.get_by_role("button", name="Effect").click()
        # What was not run has no effect, and comes last, whichever way.
        assert shown(page)[-2:] == ["NOT RUN", "NOT RUN"]
    page.get_by_label("Verdict").select_option("REFUTED")
    page.get_by_role("link", name="Finding 1: wide tables fare worse").click()
    assert page.locator("#family-kim2024-finding-1").is_visible()
    assert shown(page) == whole


def test_every_link_leads_somewhere_that_can_be_seen(show: Any) -> None:
    """Each row's link goes to a card that is there."""
    page = show(*make_full())
    for link in page.locator("a[href^='#']").all():
        target = page.locator(f"[id='{link.get_attribute('href')[1:]}']")
        assert target.count() == 1
        assert target.is_visible()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_and_axe_finds_nothing_serious(
    show: Any, width: int, scheme: str
) -> None:
    """On a phone and on a desk, by day and by night."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = show(*make_full(), width)
    page.emulate_media(color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # axe is injected past the page's policy, which would not let it run.
    found = axe.run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == []


def test_hostile_text_runs_nothing(show: Any) -> None:
    """Claims may come from anywhere: their words stay words, in filters too."""
    claim = make_claim("x", statement=HOSTILE, task=HOSTILE, source=HOSTILE, family=HOSTILE)
    page = show(make_document([claim]), {})
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.get_by_label("Task").select_option(HOSTILE)
    assert shown(page) == ["SUPPORTED"]
    assert page.locator("img").count() == 0


def test_without_scripts_the_summary_is_whole(browser: Any, tmp_path: Path) -> None:
    """Filters are not offered, and no row is hidden."""
    path = write_report(*make_full(), tmp_path)
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(path.as_uri())
    assert page.locator("tr[data-verdict]:visible").count() == 8
    assert not page.locator("#filters").is_visible()
