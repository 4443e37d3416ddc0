"""The pages of results are those of the committed references, and count what these have."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from embinit.claims.audit import Audit
from embinit.claims.definitions import Claim
from embinit.claims.records import ComparisonRecord
from embinit.report.summary import lists, tables
from embinit.stats.rule import decide
from embinit.stats.statements import RULE, Evidence, KnownSd, Verdict, verdict_of
from embinit_papers import chung2021, kim2024
from test_claims import FOLDERS, functions

ROOT = Path(__file__).parents[1]
SAID = r" \((mixed|not testable at this size|in part|mixed, in part)\)$"
TOML = "statements.toml"


@pytest.fixture(scope="module")
def results():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        return importlib.import_module("results")


@pytest.fixture(scope="module")
def documents(results):
    return results.documents_of()


def test_the_committed_page_is_that_of_the_committed_references(results, documents):
    """No figure of it was copied by hand; ``make results`` writes it anew."""
    kept = (ROOT / results.PAGE).read_text(encoding="utf-8")
    assert kept == results.page(documents), "run make results"


def test_the_readmes_table_is_that_of_the_committed_references(results):
    """What holds, and what doesn't, is told by the blessed reports and by nobody's hand."""
    kept = (ROOT / "README.md").read_text(encoding="utf-8")
    assert kept == results.readme(results.documents_of(), kept), "run make results"


def test_the_verdicts_are_those_of_todays_rule(documents):
    """Each reference is decided again from the values that it stores."""
    for document in documents:
        assert document.rule == RULE
        judged = [claim for claim in document.claims if claim.comparisons]
        assert judged
        for claim in judged:
            found = [again(pair, len(claim.comparisons)) for pair in claim.comparisons]
            assert found == [pair.verdict for pair in claim.comparisons], claim.id
            assert verdict_of(found) == claim.verdict, claim.id


def again(pair: ComparisonRecord, of: int) -> Verdict:
    known = pair.spread and KnownSd(pair.spread.sd, pair.spread.seeds)
    values = pair.left_values, pair.right_values, pair.relation
    level = pair.alpha, pair.margin, not pair.exact, pair.alpha / of
    return decide(Evidence(*values, *level, known)).verdict


def test_every_reference_is_told(results, documents):
    """A tier that is blessed is on the page."""
    folders = {folder.name for folder in (ROOT / results.REFERENCES).iterdir()}
    assert folders == {document.session.tier for document in documents}


def test_the_references_have_todays_findings(documents):
    """Else one has a row a title, each as if it were not run elsewhere, or counts other claims."""
    stored = [one for document in documents for one in document.session.papers]
    known = {*kim2024.FINDINGS, *chung2021.FINDINGS}
    assert {one for paper in stored for one in paper.findings} == known


def test_every_finding_and_every_audit_is_on_the_page(results, documents):
    """Whatever its outcome; and each tier counts all of its claims."""
    page = results.page(documents)
    titles = {title for table in tables(documents) for title in table.rows}
    assert all(f"\n| {title} |" in page.replace("\\", "") for title in titles)
    assert "Decoupling alone" in " ".join(lists(documents)["real text"]["Not run"])
    for data, groups in lists(documents).items():
        listed = [one for row in groups.values() for one in row]
        assert {re.sub(SAID, "", one) for one in listed} == titles
        assert {re.sub(SAID, "", one) for one in listed if "in part)" in one} == {
            title
            for table in tables(documents)
            for title, cells in table.rows.items()
            for number, cell in cells.items()
            if table.columns[number] == data and table.lacking(cell)
        }
    reasons = page.split("## Where it disagrees")[1].split("\n## ")[0]
    assert all(reason in reasons for reason in results.REASONS.values())
    audits = [audit for document in documents for audit in document.audits]
    assert all(f"`{audit.id}`" in page for audit in audits)
    for document in documents:
        rows = document.summary.statements
        assert all(sum(row.verdicts.values()) == row.claims for row in rows)
        claims = [claim for claim in document.claims if not claim.control]
        assert sum(row.claims for row in rows) == len(claims)


@pytest.mark.parametrize("key", [key for key, home in FOLDERS.items() if (home / TOML).exists()])
def test_the_papers_statements_name_the_claims_that_there_are(results, documents, key):
    """Each of the paper's own claims tests a statement; one that is missing has a reason."""
    entries = tomllib.loads((FOLDERS[key] / TOML).read_text("utf-8"))["statement"]
    named = {one for entry in entries for one in entry["claims"]}
    found = [Claim.of(one) or Audit.of(one) for one in functions(key, "studies")]
    there = {one.id: one for one in found if one is not None}
    assert named <= set(there)
    own = {one.id for one in there.values() if isinstance(one, Claim) and one.expects is None}
    own = {name for name in own if there[name].family.origin == "paper"}
    assert own <= named
    for entry in entries:
        assert entry["how"] in results.HOW
        assert entry["how"] == "faithful" or entry["why"], entry["says"]
        assert entry["claims"] or entry["why"], entry["says"]
    page = (FOLDERS[key] / "STATEMENTS.md").read_text("utf-8")
    assert page == results.statements(documents, entries), "run make results"
    assert "\n\n| Where |" in page, "without a blank line it is no table"
