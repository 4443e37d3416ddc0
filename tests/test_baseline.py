"""The blessed baseline: small, complete, and what the committed page of results is made from."""

import json
import re
import statistics
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from documents import typed
from embinit.claims.records import ClaimRecord, ComparisonRecord
from embinit.files.typed import as_json
from embinit.report import load_schema
from embinit.report.baseline import ChangeKind, compare, moved_margins
from embinit.report.bless import bless, compact
from embinit.report.reading import read
from embinit.report.summary import summarised

ROOT = Path(__file__).parents[1]
REFERENCES = sorted([*ROOT.glob("reports/reference/*"), *ROOT.glob("studies/reference/*")])

LOST, WEAKENED, MOVED = ChangeKind


@pytest.fixture(scope="module", params=REFERENCES, ids=lambda path: path.name)
def document(request):
    return read(request.param / "verdicts.json")


FORMER = {*ClaimRecord.FORMER, *ComparisonRecord.FORMER}


def without_former(value):
    """JSON without the fields that are no longer written."""
    if isinstance(value, list):
        return [without_former(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {name: without_former(part) for name, part in value.items() if name not in FORMER}


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda path: path.name)
def test_a_stored_document_is_read_and_written_as_it_is(reference):
    """Also one of an earlier version; but for the fields that nothing writes or reads any more."""
    plain = json.loads((reference / "verdicts.json").read_text("utf-8"))
    assert as_json(read(reference / "verdicts.json")) == without_former(plain)
    jsonschema.validate(plain, load_schema())


def with_runs(document, runs):
    """The document with these keys of runs in its first comparison, and none elsewhere."""
    plain = as_json(document)
    pairs = [pair for claim in plain["claims"] for pair in claim["comparisons"]]
    for pair in pairs:
        pair["runs"] = []
    pairs[0]["runs"] = runs
    return typed(plain)


def test_compacting_loses_nothing_but_the_keys_of_runs(document):
    """Numbers come back to the last bit, the schema still holds, and a second time changes nothing.

    ``json`` writes the shortest text that reads back as the same float.
    """
    text = compact(with_runs(document, {"a" * 40: "a", "b" * 40: "b"}))
    again = json.loads(text)
    jsonschema.validate(again, load_schema())
    assert again == as_json(with_runs(document, []))
    assert compact(typed(again)) == text


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda path: path.name)
def test_the_committed_reference_is_compact_and_has_no_page(reference):
    """The page is rendered anew by ``make claims``; git keeps what guards and what is compared."""
    text = (reference / "verdicts.json").read_text(encoding="utf-8")
    document = read(reference / "verdicts.json")
    assert document.session.tier == reference.name
    assert text.count("\n") == compact(document).count("\n") < len(document.ids) + 25
    assert document == summarised(document)
    assert sorted(path.name for path in reference.iterdir()) in (
        ["verdicts.json"],
        ["runs.jsonl.xz", "verdicts.json"],
    )


def test_a_blessing_is_a_baseline_again(document, tmp_path):
    """Blessing needs no page, keeps every number, and nothing moves against itself."""
    report, to = tmp_path / "latest", tmp_path / "reference"
    report.mkdir()
    # Those of ``sample`` were stopped too early to be blessed.
    claims = (one for one in document.claims if not (one.control and one.as_expected is None))
    kept = replace(document, claims=tuple(claims))
    (report / "verdicts.json").write_text(json.dumps(as_json(kept)), encoding="utf-8")
    bless(report, to)
    blessed = read(to / "verdicts.json")
    assert sorted(path.name for path in to.iterdir()) == ["verdicts.json"]
    assert blessed.claims == read(report / "verdicts.json").claims
    assert re.fullmatch(r"[0-9a-f]{40}\+?", blessed.blessed.revision)
    assert compare(kept, blessed).in_words == "No changes since the baseline."


COMPARISON = {
    "difference": 8.0, "interval": [7.0, 9.0], "margin": 6.0, "n": 6, "relation": ">",
    "arms": {"left": "a", "right": "b"}, "unit": "", "left_values": [9.0], "right_values": [1.0],
}  # fmt: skip


def made(*claims, **session):
    """A document of claims."""
    return typed({"session": {"tier": "micro", **session}, "claims": claims})


def a_claim(verdict="SUPPORTED", **comparison):
    """A claim with one comparison, SUPPORTED by 8 points on 6 seeds, with a margin of 6."""
    given = [COMPARISON | {"verdict": verdict} | comparison] if verdict != "NOT RUN" else []
    return {"id": "c", "nodeid": "f/a.py::c", "verdict": verdict, "comparisons": given}


def changes(verdict, baseline, **changed):
    """The changes of a claim; ``baseline`` and ``changed`` are its comparison's fields."""
    now, was = a_claim(verdict, **{**baseline, **changed}), a_claim(**baseline)
    return compare(made(now), made(was)).changes


def test_a_replication_is_counted_against_its_reference():
    """Other draws give other numbers: what counts is which verdicts hold, not that none moved."""
    replicated = {"registration": {"state": "replication"}}

    def claims(*verdicts, **more):
        return [
            a_claim(verdict, difference=number) | {"id": f"c{place}"} | more
            for place, (verdict, number) in enumerate(verdicts)
        ]

    was = made(*claims(("SUPPORTED", 8.0), ("SUPPORTED", 8.0), ("REFUTED", 8.0), ("UNDECIDED", 8)))
    now = claims(("SUPPORTED", 8.5), ("UNDECIDED", 2.0), ("SUPPORTED", 7.5), ("UNDECIDED", 8.0))
    assert compare(made(*[{**one, **replicated} for one in now]), was).in_words == (
        "Replication: 1 of 3 decided verdicts hold, 1 is not decided here, 1 differs; 3 of 4 mean "
        "differences lie in the baseline's intervals."
    )
    assert "Replication" not in compare(made(*now), was).in_words


OPEN = {"interval": [None, None]}
OTHERS = {"left": "a", "right": "1.0"}


@pytest.mark.parametrize(
    ("verdict", "baseline", "now", "kind", "said"),
    [
        ("SUPPORTED", {}, {}, None, ""),
        ("SUPPORTED", {}, {"difference": 8.9, "interval": [0.1, 99.0]}, None, ""),
        ("SUPPORTED", {}, {"difference": 2.0}, MOVED, "outside the earlier interval, 1 m"),
        ("SUPPORTED", OPEN, {"difference": 2.0}, MOVED, "differs from before, 1 m"),
        ("SUPPORTED", OPEN | {"margin": 0.0}, {"difference": 2.0}, MOVED, "differs from before (a"),
        ("SUPPORTED", OPEN, {"difference": 8.001}, None, ""),
        ("SUPPORTED", {"exact": True}, {"difference": 8.9}, MOVED, "differs from before"),
        ("SUPPORTED", OPEN, {"difference": None}, MOVED, "differs from before"),
        ("SUPPORTED", {"difference": None, **OPEN}, {}, None, ""),
        ("REFUTED", {}, {}, LOST, "was SUPPORTED and is REFUTED"),
        ("NO EFFECT", {}, {}, LOST, "was SUPPORTED and is NO EFFECT"),
        ("NOT RUN", {}, {}, LOST, "was SUPPORTED and is NOT RUN"),
        ("UNDECIDED", {}, {}, WEAKENED, "was SUPPORTED and is UNDECIDED"),
        ("UNDECIDED", {}, {"difference": 0.0, "interval": [-1.0, 1.0]}, LOST, "UNDECIDED"),
        ("UNDECIDED", {}, {"interval": [-1.0, 1.0], "n": 5}, WEAKENED, "UNDECIDED"),
        ("UNDECIDED", {}, {"interval": [-1.0, None], "n": 9}, WEAKENED, "UNDECIDED"),
        ("UNDECIDED", {}, {"interval": [9.0, 10.0], "n": 9}, LOST, "UNDECIDED"),
        ("UNDECIDED", OPEN, {}, WEAKENED, "UNDECIDED"),
        ("UNDECIDED", OPEN, {"difference": 0.0}, LOST, "now:    UNDECIDED; 0.00, 6 seeds"),
        ("SUPPORTED", {}, {"relation": ">="}, LOST, "relation >= in place of >"),
        ("SUPPORTED", {}, {"metric": "chrf"}, LOST, "measure chrf in place of bleu"),
        ("SUPPORTED", {}, {"margin": 1e9}, LOST, "margin 1000000000.0 in place of 6.0"),
        ("SUPPORTED", {}, {"margin": 6.0 + 1e-12}, None, ""),
        ("REFUTED", {}, {"arms": OTHERS}, LOST, "else: arms a and 1.0 in place of a and b"),
    ],
)
def test_the_kind_of_a_change(verdict, baseline, now, kind, said):
    """What is lost, weakened or moved, in words; nothing where a claim is as it was."""
    found = changes(verdict, baseline, **now)
    assert [change.kind for change in found] == ([] if kind is None else [kind])
    assert all(said in str(change) for change in found)


def test_what_is_a_fault():
    """What is lost; by options what is weakened, and what moved by more margins than so many.

    Without a margin any move counts as more.
    """
    was = made(
        *(a_claim() | {"id": name} for name in ("lost", "weakened", "moved")),
        a_claim(margin=0.0) | {"id": "free"},
    )
    now = made(
        a_claim("REFUTED", difference=7.0) | {"id": "lost"},
        a_claim("UNDECIDED") | {"id": "weakened"},
        a_claim("SUPPORTED", difference=-4.0) | {"id": "moved"},
        a_claim("SUPPORTED", difference=2.0, margin=0.0) | {"id": "free"},
    )
    for strict, moved, faults in (
        (False, None, ["lost"]),
        (True, None, ["lost", "weakened"]),
        (False, "moved", ["lost", "moved", "free"]),
        (True, "moved=2", ["lost", "weakened", "free"]),
    ):
        found = compare(now, was, strict, moved_margins(moved)).changes
        assert [change.old.id for change in found if change.fault] == faults


@pytest.mark.parametrize(
    "other",
    [
        a_claim() | {"comparisons": a_claim()["comparisons"] * 2},
        a_claim() | {"control": True, "expects": "SUPPORTED"},
    ],
    ids=["comparisons", "control"],
)
def test_a_claim_with_fewer_comparisons_or_that_is_a_control_now_is_lost(other):
    """But a control may state something else."""
    for old, new in ((a_claim(), other), (other, a_claim())):
        [change] = compare(made(new), made(old)).changes
        assert change.kind is (MOVED if old.get("control") else LOST)
        assert "states something else: " in str(change)


@pytest.mark.parametrize(
    ("nodeid", "session", "gone"),
    [
        ("f/a.py::c", {}, False),  # of an older embinit
        ("f/a.py::c", {"asked_whole": []}, False),
        ("f/a.py::c", {"asked_whole": ["f/b", "a.py", "f/a"]}, False),
        ("f/a.py::c", {"asked_whole": ["f"]}, True),
        ("f/a.py::c", {"asked_whole": ["."]}, True),
        ("f/a.py::c", {"asked_whole": ["f/b", "f/a.py"]}, True),
        ("f/a.py::c", {"asked_whole": ["f"], "unfinished": "interrupted"}, False),
        ("papers.mine.test_a::c", {"asked_whole": ["papers.mine"]}, True),
        ("papers.mine.test_a::c", {"asked_whole": ["papers.min"]}, False),
    ],
)
@pytest.mark.parametrize("verdict", ["SUPPORTED", "REFUTED", "NOT RUN"])
def test_a_claim_is_gone_where_its_file_was_asked_for_whole(nodeid, session, gone, verdict):
    """And else not asked for, which is counted."""
    other = a_claim() | {"id": "d"}
    before = made(a_claim(verdict) | {"nodeid": nodeid}, other)
    since = compare(made(other, **session), before)
    said = [str(change).splitlines()[0] for change in since.changes]
    assert said == ([f"LOST: c was {verdict} and is gone"] if gone else [])
    words = "No changes in what was compared. Of the baseline's 2 claims, 1 was not asked for."
    assert since.in_words == ("" if gone else words)


@pytest.mark.parametrize(
    ("before", "now", "lost"),
    [
        ([0.4, 3.1], [-0.1, 4.1], False),
        ([0.4, 3.1], [-4.1, 0.3], True),  # another effect
        ([0.4, 3.1], [0.5, 0.7], True),  # what it was is not possible any longer
        ([0.4, 3.1], [-2.0, 2.0], True),  # it is gone, though the intervals overlap
        ([2.2, 2.4], [-0.1, 4.1], True),  # the mean lies outside of what it was
        ([0.4, 6.1], [-0.1, 4.1], True),  # it was not shown to be small
        ([6.4, 9.1], [-0.1, 4.1], True),
        ([0.4, None], [-0.1, 4.1], True),
        ([-0.4, 3.1], [-0.1, 4.1], True),  # it was not shown to be there
    ],
)
def test_an_effect_that_was_small_before_is_not_lost(before, now, lost):
    """Above zero and below the margin: which of the two is shown first hangs on rounding."""
    was, is_now = (
        {"interval": ends, "difference": statistics.mean(end for end in ends if end is not None)}
        for ends in (before, now)
    )
    for verdict, kind in (("NO EFFECT", LOST if lost else MOVED), ("REFUTED", LOST)):
        assert [change.kind for change in changes(verdict, was, **is_now)] == [kind]
