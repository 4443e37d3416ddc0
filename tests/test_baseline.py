"""The blessed baseline: small, complete, and what the committed page of results is made from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from embinit.report import load_schema
from embinit.report.baseline import Kind, compare
from embinit.report.bless import bless, compact
from embinit.report.reading import read
from embinit.report.summary import summarise

ROOT = Path(__file__).parents[1]
REFERENCES = sorted([*ROOT.glob("reports/reference/*"), *ROOT.glob("studies/reference/*")])


@pytest.fixture(scope="module", params=REFERENCES, ids=lambda path: path.name)
def document(request):
    return read(request.param / "verdicts.json")


def without_keys(document):
    """The document with no keys of runs, all else untouched."""
    copied = json.loads(json.dumps(document))
    for claim in copied["claims"]:
        for comparison in claim["comparisons"]:
            comparison["runs"] = []
    return copied


def test_compacting_loses_nothing_but_the_keys_of_runs(document):
    """Numbers come back to the last bit, the schema still holds, and a second time changes nothing.

    ``json`` writes the shortest text that reads back as the same float.
    """
    with_keys = json.loads(json.dumps(document))
    compared = next(claim["comparisons"] for claim in with_keys["claims"] if claim["comparisons"])
    compared[0]["runs"] = ["a" * 40, "b" * 40]
    text = compact(with_keys)
    again = json.loads(text)
    jsonschema.validate(again, load_schema())
    assert again == without_keys(document)
    assert compact(again) == text


def test_a_claim_is_a_line(document):
    """So that a blessing's diff has a line for each claim that moved, and no other."""
    moved = json.loads(json.dumps(document))
    moved["claims"][7]["verdict"] = "SUPPORTED?"
    before, after = (compact(one).splitlines() for one in (document, moved))
    assert len(before) == len(after)
    [changed] = [new for old, new in zip(before, after, strict=True) if old != new]
    assert json.loads(changed.rstrip(","))["id"] == document["claims"][7]["id"]


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda path: path.name)
def test_the_committed_reference_is_compact_and_has_no_page(reference):
    """The page is rendered anew by ``make claims``; git keeps what guards and what is compared."""
    text = (reference / "verdicts.json").read_text(encoding="utf-8")
    document = json.loads(text)
    assert document["session"]["tier"] == reference.name
    assert text == compact(document)
    entries = [*document["claims"], *document["audits"]]
    assert text.count("\n") < len(entries) + 20
    assert document["summary"] == summarise(document)
    assert sorted(path.name for path in reference.iterdir()) == ["verdicts.json"]


def test_a_blessing_is_a_baseline_again(document, tmp_path):
    """Blessing needs no page, keeps every number, and nothing moves against itself."""
    report, to = tmp_path / "latest", tmp_path / "reference"
    report.mkdir()
    told = without_idle_controls(document)
    (report / "verdicts.json").write_text(json.dumps(told), encoding="utf-8")
    bless(report, to)
    blessed = read(to / "verdicts.json")
    assert sorted(path.name for path in to.iterdir()) == ["verdicts.json"]
    assert blessed["claims"] == without_keys(told)["claims"]
    assert re.fullmatch(r"[0-9a-f]{40}\+?", blessed["blessed"]["revision"])
    assert compare(told, blessed).in_words == "No changes since the baseline."


def test_a_claim_that_stays_says_since_when_it_has_been_blessed(tmp_path):
    """Of its paper, where an earlier blessing had kept that; it stays so in the next one."""
    told = without_idle_controls(read(ROOT / "reports/reference/micro/verdicts.json"))
    of_paper = {paper: [] for paper in ("kim2024", "chung2021")}
    for claim in told["claims"]:
        of_paper[claim["paper"]].append(claim)
    one, other = (
        next(c for c in each if c["verdict"] != "NOT RUN" and not c["control"])
        for each in of_paper.values()
    )
    report, to = tmp_path / "latest", tmp_path / "reference"
    for each in (report, to):
        each.mkdir()
    first, second = ({"when": f"2026-01-0{day}T00:00:00+00:00", "revision": None} for day in (1, 2))
    for claim in of_paper["chung2021"]:
        claim["blessed"] = first
    old = told | {"blessed": second}
    (to / "verdicts.json").write_text(json.dumps(old), encoding="utf-8")
    for ours in ([one], [one, other]):
        now = [{name: c[name] for name in c if name != "blessed"} for c in ours]
        (report / "verdicts.json").write_text(json.dumps(told | {"claims": now}))
        bless(report, to, keep=True)
        found = read(to / "verdicts.json")
        jsonschema.validate(found, load_schema())
        assert found["summary"] == summarise(found)
        assert sorted(c["id"] for c in found["claims"]) == sorted(c["id"] for c in told["claims"])
        since = {c["id"]: c["blessed"] for c in found["claims"] if "blessed" in c}
        assert all(since[c["id"]] == second for c in of_paper["kim2024"] if c is not one)
        assert one["id"] not in since
    assert all(since[c["id"]] == first for c in of_paper["chung2021"] if c is not other)


def without_idle_controls(document):
    """The document as one that may be blessed: those of ``sample`` were stopped too early."""
    claims = [c for c in document["claims"] if not (c["control"] and c["as_expected"] is None)]
    return {**document, "claims": claims}


def with_verdict(document, verdict, intervals):
    """The document with one claim alone, of a verdict, interval and margin of one comparison."""
    ran = (c for c in document["claims"] if not c["control"] and c["comparisons"])
    claim = json.loads(json.dumps(next(ran)))
    [comparison, *_] = claim["comparisons"]
    ends = [end for end in intervals if end is not None]
    mean = sum(ends) / len(ends)
    comparison |= {"interval": intervals, "difference": mean, "margin": 6.0, "exact": False}
    claim |= {"verdict": verdict, "comparisons": [comparison]}
    return {"session": document["session"], "claims": [claim]}


@pytest.mark.parametrize(
    ("before", "now", "lost"),
    [
        ([0.4, 3.1], [-0.1, 4.1], False),
        ([0.4, 3.1], [-4.1, 0.3], True),  # another effect
        ([0.4, 3.1], [-2.0, 2.0], True),  # it is gone, though the intervals overlap
        ([2.2, 2.4], [-0.1, 4.1], True),  # the mean lies outside of what it was
        ([0.4, 6.1], [-0.1, 4.1], True),  # it was not shown to be small
        ([6.4, 9.1], [-0.1, 4.1], True),
        ([0.4, None], [-0.1, 4.1], True),
        ([-0.4, 3.1], [-0.1, 4.1], True),  # it was not shown to be there
    ],
)
def test_an_effect_that_was_small_before_is_not_lost(document, before, now, lost):
    """Above zero and below the margin: which of the two is shown first hangs on rounding."""
    was = with_verdict(document, "SUPPORTED", before)
    [change] = compare(with_verdict(document, "NO EFFECT", now), was).changes
    assert (change.kind is Kind.LOST) == lost
    [refuted] = compare(with_verdict(document, "REFUTED", now), was).changes
    assert refuted.kind is Kind.LOST


@pytest.mark.parametrize("what", ["margin", "arms"])
def test_the_same_effect_is_one_of_the_same_arms_and_margin(document, what):
    was = with_verdict(document, "SUPPORTED", [0.4, 3.1])
    now = with_verdict(document, "NO EFFECT", [-0.1, 4.1])
    assert compare(now, was).changes[0].kind is Kind.MOVED
    [comparison] = now["claims"][0]["comparisons"]
    comparison[what] = 7.0 if what == "margin" else comparison[what] | {"left": "another"}
    assert compare(now, was).changes[0].kind is Kind.LOST
