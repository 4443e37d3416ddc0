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

from embinit.report import render, write_report
from embinit.report.arms import Run
from embinit.report.baseline import read
from test_report import HOSTILE, make_claim, make_control, make_document, make_full

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; CHROMIUM=/path names one")
WIDTHS = (390, 1440)
REFERENCE = Path(__file__).parents[1] / "reports" / "reference"


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


def many() -> dict[str, Any]:
    """Twenty-four claims and three controls in three families, so many that the page is folded."""
    verdicts = ("SUPPORTED", "REFUTED", "UNDECIDED", "NOT RUN")
    claims = [
        make_claim(f"c{index}-{family}", verdicts[index % 4], family=f"p/{family}", family_says="")
        for family in ("a", "b", "c")
        for index in range(8)
    ]
    controls = [make_control(f"planted-{name}", family=f"p/{name}") for name in ("a", "b", "c")]
    return make_document([*claims, *controls])


def open_cards(page: Any) -> list[str]:
    """The fragments of the cards that show more than their first line."""
    return [card.get_attribute("id") for card in page.locator("details.card[open]:visible").all()]


@pytest.mark.parametrize("document", [make_full(), (many(), {})], ids=["few claims", "many"])
def test_every_link_leads_somewhere_that_can_be_seen(show: Any, document: Any) -> None:
    """Whatever it leads to is unfolded, and stands in the window."""
    page = show(*document)
    for fragment in sorted({link.get_attribute("href") for link in page.locator("a").all()}):
        # A link may itself be folded away, and a reader may come from elsewhere.
        page.evaluate("fragment => { location.hash = fragment }", fragment)
        target = page.locator(f"[id='{fragment[1:]}']")
        assert target.count() == 1
        sync_api.expect(target).to_be_visible()
        sync_api.expect(target).to_be_in_viewport()


def test_many_claims_are_shown_a_family_at_a_time(show: Any) -> None:
    """The page leads with what came out; a family opens alone, and a claim where it is asked for.

    Everything opens with one button, for a search or for paper.
    """
    page = show(many(), {})
    folded = page.locator("body").bounding_box()["height"]
    assert page.locator("details.family[open]").count() == 0
    assert page.locator("details.card:visible").count() == 0
    page.locator("#family-p-a > summary").click()
    assert page.locator("details.card:visible").count() == 6 + 1
    assert open_cards(page) == []
    page.locator("#family-p-b > summary").click()
    sync_api.expect(page.locator("#family-p-a")).not_to_have_attribute("open", "")
    sync_api.expect(page.locator("#family-p-b > summary")).to_be_in_viewport()
    page.evaluate("location.hash = 'claim-kim2024-finding-1-c0-c-glove-micro-translation'")
    [shown_alone] = open_cards(page)
    assert "c0-c" in shown_alone
    assert page.locator("details.family[open]").get_attribute("id") == "family-p-c"
    page.get_by_role("button", name="Open everything").click()
    assert page.locator("details:not([open])").count() == 0
    assert page.locator("body").bounding_box()["height"] > 5 * folded
    page.get_by_role("button", name="Close everything").click()
    assert page.locator("details[open]").count() == 0


def test_a_link_from_outside_opens_its_claim(browser: Any, tmp_path: Path) -> None:
    """Links to claims are shared, and a closed line would not show what they are about."""
    path = write_report(many(), {}, tmp_path)
    page = browser.new_page()
    page.goto(f"{path.as_uri()}#claim-kim2024-finding-1-c1-b-glove-micro-translation")
    assert ["c1-b" in card for card in open_cards(page)] == [True]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("document", [make_full(), (many(), {})], ids=["few claims", "many"])
def test_nothing_overflows_and_axe_finds_nothing_serious(
    show: Any, width: int, scheme: str, document: Any
) -> None:
    """On a phone and on a desk, by day and by night, folded and not."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = show(*document, width)
    if page.get_by_role("button", name="Open everything").count():
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator("details.family > summary").first.click()
    page.emulate_media(color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # axe is injected past the page's policy, which would not let it run.
    found = axe.run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == []


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1400, 900)])
def test_the_blessed_page_shows_a_plot_at_once(
    browser: Any, tmp_path: Path, width: int, height: int
) -> None:
    """On a phone and on a desk one sees without scrolling how a finding came out."""
    made, real = (read(REFERENCE / tier / "verdicts.json") for tier in ("micro", "sample"))
    path = tmp_path / "report.html"
    path.write_text(render(made, {}, beside=[real]), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(path.as_uri())
    assert page.locator(".front .plot svg").first.bounding_box()["y"] < height
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".front td[data-name=Shown] a[href*='#family:1:']").first.click()
    assert page.locator("details.family[open]").count() == 1
    assert page.locator("details.family[open]").get_attribute("id").startswith("family:1:")


def test_hostile_text_runs_nothing(show: Any) -> None:
    """Claims may come from anywhere: their words stay words, in filters too."""
    claim = make_claim("x", statement=HOSTILE, task=HOSTILE, source=HOSTILE, family=HOSTILE)
    page = show(make_document([claim]), {})
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.get_by_label("Task").select_option(HOSTILE)
    assert shown(page) == ["SUPPORTED"]
    assert page.locator("img").count() == 0


def test_on_paper_every_fold_is_open(show: Any) -> None:
    """Nobody can open one there; what only a screen can use is left out, nothing is cut off."""
    page = show(many(), {}, 700)
    page.emulate_media(media="print")
    assert page.locator("details.card:visible").count() == 3 * (6 + 1)
    assert page.locator("details.card svg:visible").count() == 3 * (6 + 1)
    for gone in ("nav", "#open-all"):
        assert page.locator(gone).first.is_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 700


def test_without_scripts_everything_unfolds(browser: Any, tmp_path: Path) -> None:
    """A family opens alone, its claims below it, and so does every section."""
    path = write_report(many(), {}, tmp_path)
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(path.as_uri())
    assert not page.locator("#open-all").is_visible()
    page.locator("#family-p-a > summary").click()
    page.locator("#family-p-a details.card > summary").first.click()
    assert page.locator("#family-p-a details.card[open] svg").first.is_visible()
    page.locator("#family-p-b > summary").click()
    assert page.locator("#family-p-a details.card").first.is_hidden()
    for chapter in page.locator("details.chapter").all():
        chapter.locator("> summary").click()
    assert page.locator("details.chapter:not([open])").count() == 0
    assert page.locator("tr[data-verdict]:visible").count() == 27


def test_without_scripts_the_summary_is_whole(browser: Any, tmp_path: Path) -> None:
    """Filters are not offered, and no row is hidden."""
    path = write_report(*make_full(), tmp_path)
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(path.as_uri())
    assert page.locator("tr[data-verdict]:visible").count() == 8
    assert not page.locator("#filters").is_visible()
