"""The summary of a document: one rule for a finding's outcome, and counts that add up."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from documents import typed
from embinit.papers import PAPERS
from embinit.report.document import ControlCounts, Document
from embinit.report.faults import contradicting
from embinit.report.markdown import findings_as_markdown
from embinit.report.summary import LISTS, in_words, lists, outcome, summarised, tables, totals
from embinit.report.verdict_table import verdict_lines
from test_claims import OF_PAPERS
from test_report import make_claim, make_comparison, make_control, make_document, text_of

VERDICTS = ("SUPPORTED", "REFUTED", "NO EFFECT", "UNDECIDED", "NOT RUN")
TITLE = "It costs"


def session(claims: list[dict[str, Any]], tier: str = "micro", published: bool = False) -> Document:
    """A document whose paper names one finding, the claims ``a`` and ``b``."""
    ids = ["kim2024/finding-1/a", "kim2024/finding-1/b"]
    known = {"key": "kim2024", "citation": "Kim", "short": "Kim", "made": ["micro"]}
    known["own_size"] = ["paper"]
    known["findings"] = [{"says": TITLE, "claims": ids, "published": published}]
    return make_document(claims, tier=tier, papers=[known])


def claims_of(verdicts: list[str], **fields: Any) -> list[dict[str, Any]]:
    """A claim for each verdict, each in a setting of its own."""
    numbered = ((at, f"kim2024/finding-1/{'ab'[at % 2]}[{at}]", v) for at, v in enumerate(verdicts))
    return [make_claim("a", v, id=name, experiment=f"e{at}", **fields) for at, name, v in numbered]


@given(st.lists(st.sampled_from(VERDICTS), max_size=9))
@example(["SUPPORTED"] + 5 * ["UNDECIDED"])
def test_an_outcome_is_one_word_by_one_rule(verdicts):
    """Counted anew: what could be run counts, and half of it must be decided."""
    supported = [verdict for verdict in verdicts if verdict == "SUPPORTED"]
    against = [verdict for verdict in verdicts if verdict in ("REFUTED", "NO EFFECT")]
    undecided = [verdict for verdict in verdicts if verdict == "UNDECIDED"]
    found = outcome({name: verdicts.count(name) for name in VERDICTS})
    if not supported + against + undecided:
        assert found == "not run"
    elif len(undecided) > len(supported + against):
        assert found == "inconclusive"
    elif supported and against:
        assert found == "mixed"
    else:
        assert found == ("replicates" if supported else "does not replicate")
    assert sum(found in words for words in LISTS.values()) == 1


@given(st.lists(st.sampled_from(VERDICTS), min_size=1, max_size=6), st.integers(0, 3))
@example(["UNDECIDED"], 0)
def test_the_counts_of_a_finding_are_those_of_its_claims(verdicts, others):
    """All that its title names, however weak or whose; no control, and no other claim."""
    claims = claims_of(verdicts, origin="ours")
    more = [make_claim("c", id=f"kim2024/finding-1/c[{at}]") for at in range(others)]
    document = session([*claims, *more, make_control("a", id="kim2024/finding-1/a[control]")])
    [finding] = document.summary.findings
    assert [*finding.claims] == [claim["id"] for claim in claims]
    assert finding.verdicts == {name: verdicts.count(name) for name in VERDICTS}
    assert sum(document.summary.verdicts.values()) == len(claims) + others
    ran = len(verdicts) - verdicts.count("NOT RUN")
    words = in_words(finding)
    assert words.startswith(finding.outcome)
    decides = ran > verdicts.count("UNDECIDED")  # 0 of 3 of three undecided would look like a no
    assert (f", {verdicts.count('SUPPORTED')} of {ran}" in words) == decides
    assert ("undecided" in words) == ("UNDECIDED" in verdicts)
    assert summarised(document) == document


@given(st.permutations(VERDICTS), st.integers(1, 5))
def test_a_setting_counts_once(verdicts, count):
    """However many claims ask it: one can decide against it, and only all of them support it."""
    kept = verdicts[:count]
    claims = [claim | {"experiment": "one"} for claim in claims_of(kept)]
    [finding] = session(claims).summary.findings
    [counted] = [name for name, number in finding.verdicts.items() if number]
    order = ("REFUTED", "NO EFFECT", "UNDECIDED", "NOT RUN", "SUPPORTED")
    assert counted == min(kept, key=order.index)


def test_the_closing_lines_name_the_claims_that_a_session_left_out():
    """With them the outcome may be another one; the numbers are of the claim that decided."""
    part = "in part, without kim2024/finding-1/b: "
    for verdicts, beginning in ((["SUPPORTED"], part), (VERDICTS[:2], "")):
        claims = [claim | {"experiment": "one"} for claim in claims_of([*verdicts])]
        document = session(claims)
        [finding] = document.summary.findings
        line = f"{TITLE}: {beginning}{in_words(finding)}"
        assert line in verdict_lines(document, None, False)
        page = text_of(document)
        assert ("in part, without kim2024/finding-1/b" in page) == bool(beginning)
        assert finding.middle == claims[-1]["id"]


def test_what_needs_published_embeddings_has_words_of_its_own():
    """A synthetic table called BERT can neither replicate nor refute what BERT's shows."""
    for verdict, made, real in (
        ("SUPPORTED", "as claimed here", "replicates"),
        ("REFUTED", "opposite here", "does not replicate"),
        ("UNDECIDED", "inconclusive", "inconclusive"),
    ):
        for tier, word in (("micro", made), ("sample", real)):
            document = session(claims_of([verdict], source_label="BERT"), tier, published=True)
            [finding] = document.summary.findings
            assert finding.outcome == word
            assert in_words(finding).endswith("(BERT)")


@pytest.mark.parametrize(("printed", "word"), [(0.4, "inconclusive"), (-3.0, "does not replicate")])
def test_no_effect_within_a_margin_larger_than_what_is_printed_contradicts_nothing(printed, word):
    """It counts as undecided, and the card says why; a margin smaller than that excludes it."""
    row = {"task": "SST2", "left": 80.0, "right": 80.0 - printed, "difference": printed}
    shown = make_comparison(verdict="NO EFFECT", relation=">", margin=1.0, printed=[row])
    claims = claims_of(["NO EFFECT"] * 2, comparisons=[shown])
    document = session(claims)
    assert document.summary.findings[0].outcome == word
    text = text_of(document)
    allowed = "larger than the printed difference on SST2, so NO EFFECT does not contradict"
    assert (allowed in text) == (word == "inconclusive")
    assert ("smaller than the printed difference" in text) == (word != "inconclusive")


def test_findings_of_a_paper_that_the_session_lacks_are_under_its_key():
    """The record of a paper is optional in a document: what its findings came to is printed."""
    made = session(claims_of(["SUPPORTED", "SUPPORTED"]))
    lacks = replace(made, session=replace(made.session, papers=()))
    assert f"kim2024 FindingSynthetic language {TITLE}" in text_of(lacks)
    assert f"| {TITLE} | replicates, 2 of 2 |" in findings_as_markdown([lacks], short=True)
    closing = "\n".join(verdict_lines(lacks, None, False))
    assert f"kim2024, synthetic language, by the claims of this session\n{TITLE}: " in closing


def test_kinds_of_data_have_outcomes_of_their_own():
    """Side by side in one row of every table, with what was not run."""
    made = session(claims_of(["SUPPORTED", "SUPPORTED", "UNDECIDED"]))
    real = session(claims_of(["REFUTED", "SUPPORTED", "NOT RUN"]), "sample")
    [table] = tables([made, real])
    assert [*table.columns.values()] == ["synthetic language", "real text"]
    cells = "replicates, 2 of 3, 1 undecided | mixed, 1 of 2 |"
    assert f"| {TITLE} | {cells}" in findings_as_markdown([made, real], short=True)
    found = lists([made, real])
    assert found["synthetic language"]["Replicates"] == [TITLE]
    assert found["real text"]["Does not replicate, or mixed"] == [f"{TITLE} (mixed)"]
    assert [*found] == ["real text", "synthetic language"]
    text = text_of(made, real)
    for words in (
        "not how large the effect is in English",
        "replicates 2 of 3, 1 undecided",
        "mixed 1 of 2",
    ):
        assert words in text
    assert "not how large the effect is in English" not in text_of(real)
    another = replace(real, session=replace(real.session, tier="full"))
    names = tables([real, another])[0].columns
    assert [*names.values()] == ["real text, sample tier", "real text, full tier"]
    whole = session(claims_of(["REFUTED"]), "paper")
    names = tables([made, real, whole])[0].columns
    assert [*names.values()] == ["synthetic language", "real text", "the paper's size"]


def test_each_claim_is_a_finding_of_a_paper_that_names_none():
    """Over its settings; two claims of one family are two rows."""
    claims = [
        make_claim(n, paper="mine", task=None, id=f"mine/x/{n}[{at}]", statement=f"It is {n}")
        for n in "ab"
        for at in range(2)
    ]
    document = make_document(claims)
    findings = document.summary.findings
    rows = [(finding.says, len(finding.claims)) for finding in findings]
    assert rows == [("It is a", 2), ("It is b", 2)]
    assert {(finding.data, finding.named) for finding in findings} == {("", False)}
    assert not tables([document])


def test_the_numbers_of_a_finding_are_of_its_median_effect():
    """Of the decided settings that state a difference, on the page as in Markdown."""
    claims = claims_of(["SUPPORTED"] * 3 + ["UNDECIDED"])
    for claim, size in zip(claims, [-3.0, -1.0, -9.0, -5.0], strict=True):
        claim["comparisons"][0] |= {"difference": size, "margin": 1.0}
        claim["experiment"] = f"at{size:g}"
    allows = make_comparison(relation="<=", difference=-4.0, margin=1.0)
    claims.append(make_claim("a", id="kim2024/finding-1/a[allows]", comparisons=[allows]))
    document = session(claims)
    [finding] = document.summary.findings
    assert finding.middle == claims[0]["id"]
    front = text_of(document)
    assert re.findall(r"Median setting, (\S+): .*?difference (−\S+)", front) == [("at-3", "−3.0")]
    assert re.findall(r"; (at\S+): ", findings_as_markdown([document])) == ["at-3"]
    assert session(claims_of(["NOT RUN"])).summary.findings[0].middle is None


def test_controls_and_registration_are_counted():
    """What says nothing is no part of the denominator."""
    late = {"lock": "l", "digest": "d", "when": None, "state": "afterwards", "differs": "ran"}
    controls = [make_control("c"), make_control("d"), make_control("e", "SUPPORTED")]
    controls += [make_control("f", "NOT RUN", as_expected=None)]
    document = make_document([make_claim("a", registration=late), make_claim("b"), *controls])
    summary = document.summary
    assert summary.controls == ControlCounts(
        as_expected=2, not_as_expected=1, not_run=1, too_weak=0
    )
    assert totals(summary)[-1] == "controls 2 of 4 as expected, 1 not run"
    [statements] = summary.statements
    assert (statements.claims, statements.beforehand) == (2, 0)
    assert statements.late == {"ran": 1, "not registered": 1}
    assert "0 (1: ran) (1: not registered)" in text_of(document)


@pytest.mark.parametrize("key", OF_PAPERS)
def test_the_papers_findings_are_claims_of_its_own(key):
    """No claim is in two findings, and no title says wide of a standard deviation."""
    paper = PAPERS[key]
    ids = [name for finding in paper.findings for name in finding.claims]
    assert len(set(ids)) == len(ids)
    assert all(name.startswith(f"{key}/") for name in ids)
    assert not any("wide" in finding.says.split() for finding in paper.findings)


def test_a_verdict_that_comparisons_dont_show_is_a_fault() -> None:
    """A file that was edited, or merged by hand, must not pass a gate by its first line."""
    whole = {"session": {}, "claims": [{"comparisons": [{}]}]}
    assert contradicting(typed(whole)) == []
    for claim in (
        {"verdict": "SUPPORTED", "comparisons": [{"verdict": "REFUTED"}]},
        {"verdict": "SUPPORTED", "comparisons": [{"n": 0}]},
        {"verdict": "REFUTED", "comparisons": [{}]},
        {"verdict": "SUPPORTED", "comparisons": []},
    ):
        (said,) = contradicting(typed(whole | {"claims": [claim]}))
        assert said.endswith(f"is {claim['verdict']}, which its comparisons don't show")
