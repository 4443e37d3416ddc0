"""The pages of results are those of the committed references, and count what these have."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from embinit.errors import InputError
from embinit.report.baseline import read

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def results():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        return importlib.import_module("results")


@pytest.fixture(scope="module", params=["PAPERS", "STUDIES"])
def home(results, request):
    return getattr(results, request.param)


@pytest.fixture(scope="module", params=["micro", "sample"])
def document(home, request):
    return read(ROOT / home.reference / request.param / "verdicts.json")


def test_the_committed_page_is_that_of_the_committed_reference(results, home, document):
    """No figure of it was copied by hand; ``make results`` writes it anew."""
    kept = ROOT / home.pages / results.PAGES[document["session"]["tier"]]
    assert kept.read_text(encoding="utf-8") == results.page(document, home), "run make results"


def test_every_reference_has_a_page(results, home, tmp_path):
    """A tier that is blessed is told; one in another tier's folder is refused."""
    folders = sorted((ROOT / home.reference).iterdir())
    assert {folder.name for folder in folders} == set(results.PAGES)
    for folder in folders:
        assert results.document_of(folder)["session"]["tier"] == folder.name
    (tmp_path / "sample").symlink_to(ROOT / home.reference / "micro")
    with pytest.raises(InputError, match="has verdicts of tier micro; bless them with TIER=micro"):
        results.document_of(tmp_path / "sample")


def test_every_claim_and_audit_is_on_the_page(results, document):
    """Each claim with its verdict, and each comparison with its seeds."""
    page = results.page(document)
    for claim in document["claims"]:
        assert f"`{claim['id'].partition('[')[0]}`" in page
    assert all(f"`{audit['id']}`" in page for audit in document["audits"])
    rows = page.split("## Every claim")[1].splitlines()
    told = [row for row in rows if row.startswith("| ")]
    families = {claim["family"] for claim in document["claims"]}
    comparisons = sum(max(1, len(claim["comparisons"])) for claim in document["claims"])
    assert len(told) == comparisons + 2 * len(families)


def test_the_counts_add_up(results, document):
    """A paper's row is the sum of its families', and all findings are counted once."""
    page = results.page(document)
    counts = page.split("## Claims by family")[1].split("\n## ")[0]
    rows = [row.strip("| ").split(" | ") for row in counts.splitlines() if " | " in row][2:]
    numbers = [(row[0], [int(cell) for cell in row[1:-1]]) for row in rows]
    totals = [found for name, found in numbers if name.startswith("**")]
    families = [found for name, found in numbers if not name.startswith("**")]
    assert [sum(column) for column in zip(*totals, strict=True)] == [
        sum(column) for column in zip(*families, strict=True)
    ]
    findings = [claim for claim in document["claims"] if not claim["control"]]
    assert sum(map(sum, totals)) == len(findings)


def test_links_of_the_counts_lead_to_headings(results, document):
    """Each family's row links to the heading over its claims."""
    page = results.page(document)
    headings = re.findall(r"^### (.+)$", page, flags=re.MULTILINE)
    links = set(re.findall(r"\]\(#(.+?)\)", page))
    assert links == {re.sub(r"[^\w\- ]", "", one).replace(" ", "-").lower() for one in headings}


def test_a_number_that_is_open_or_unknown_is_a_dash(results):
    """An interval without an end, and a run that diverged, have no number."""
    assert [results._number(one) for one in (None, -1.25, 0.0, 1234.5)] == [
        "–",
        "−1.25",
        "+0",
        "+1234",
    ]


def test_a_verdict_that_hangs_on_a_seed_and_no_effect_are_told(results, document):
    """The seed stands beside the number of seeds; NO EFFECT has a column where there is any."""
    copied = json.loads(json.dumps(document))
    for claim in copied["claims"]:
        claim["verdict"] = claim["verdict"].replace("NO EFFECT", "UNDECIDED")
        for comparison in claim["comparisons"]:
            comparison["hangs_on"] = None
    assert "NO EFFECT" not in results.page(copied)
    findings = [
        claim for claim in copied["claims"] if not claim["control"] and claim["comparisons"]
    ]
    findings[0]["comparisons"][0]["hangs_on"] = 2
    findings[1]["verdict"] = "NO EFFECT"
    page = results.page(copied)
    assert page.count(", hangs on seed 2 |") == 1
    assert "| REFUTED | NO EFFECT | UNDECIDED |" in page
