"""The report's front: findings, how they came out, and how sure one can be."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embinit.cli import main
from embinit.errors import Status
from embinit.papers import PAPERS
from embinit.report import render
from embinit.report.charts import HALF
from embinit.report.findings import CERTAINTIES, fronts
from embinit.report.markdown import findings_as_markdown
from embinit.report.page import figure_of
from embinit_papers.kim2024 import FAMILIES, FINDINGS
from test_report import check, make_claim, make_comparison, make_control, make_document

SVG = "{http://www.w3.org/2000/svg}"
BEFOREHAND = {"state": "beforehand", "differs": "", "lock": "l", "digest": "d", "when": None}


def session(
    claims: list[dict[str, Any]], tier: str = "micro", made: tuple[str, ...] = ("micro",)
) -> dict[str, Any]:
    """A document whose paper names one finding, the claims ``a`` and ``b``."""
    document = make_document(claims)
    ids = ["kim2024/finding-1/a", "kim2024/finding-1/b"]
    findings = [{"says": "Width costs", "claims": ids}]
    document["session"] |= {
        "tier": tier,
        "papers": [{"key": "kim2024", "citation": "Kim", "made": list(made), "findings": findings}],
    }
    return document


def claim(name: str = "a", verdict: str = "SUPPORTED", **fields: Any) -> dict[str, Any]:
    """A registered claim with a margin of 2 BLEU."""
    comparisons = [make_comparison(verdict=verdict, margin=2.0)]
    made = {"registration": BEFOREHAND, "comparisons": comparisons, "source": None}
    return make_claim(name, verdict, **(made | fields))


def elsewhere(claim: dict[str, Any]) -> dict[str, Any]:
    """The claim on another task, where it comes out alike."""
    return {**claim, "task": "another", "id": claim["id"].replace("[", "[another-")}


def outcome(
    *claims: dict[str, Any], tier: str = "sample", control: bool = True, alone: bool = False
) -> Any:
    """How the finding came out in one session; the first claim also on another task."""
    controls = [make_control("planted")] if control else []
    more = [] if alone else [elsewhere(claims[0])]
    [front] = fronts([session([*claims, *more, *controls], tier)])
    return front.rows[0].outcomes[0]


def test_nothing_against_it_is_high_and_each_reason_takes_a_step():
    """GRADE's five reasons; a made language takes two steps, so that it is never above low."""
    assert outcome(claim()).certainty == "high"
    late = claim(registration=BEFOREHAND | {"state": "afterwards"})
    for one, reason in (
        (outcome(late), "not all registered beforehand"),
        (outcome(claim(), control=False), "no control says anything"),
        (outcome(claim(), claim("b", "REFUTED")), "settings disagree"),
        (outcome(claim(), claim("b", "UNDECIDED")), "much is open"),
        (outcome(claim(statement="Exploratory: it costs")), "explored, not confirmed"),
        (outcome(claim(), alone=True), "on one task"),
        (outcome(claim(source="glove")), "with one source"),
        (
            outcome(claim(task=None), claim("b", "REFUTED", task=None), alone=True),
            "settings disagree",
        ),
    ):
        assert (one.certainty, one.reasons) == ("moderate", (reason,))
    most = outcome(claim(), *(claim("b", "UNDECIDED", task=task) for task in "xyz"))
    assert (most.certainty, most.reasons) == ("low", ("most is open",))
    made = outcome(claim(), tier="micro")
    assert (made.certainty, made.reasons) == ("low", ("a made language stands for real text",))
    wrong = make_control("wrong", "SUPPORTED")
    assert outcome(claim(), wrong).reasons == ("a control failed",)
    everything = outcome(late, claim("b", "UNDECIDED"), tier="micro", control=False)
    assert everything.certainty == "very low"


def test_a_sentence_says_size_and_certainty():
    """One for each of them; what only allows a margin is never told as a gain."""
    assert outcome(claim()).sentence == "Holds, by a lot"
    assert outcome(claim(), claim("b", "REFUTED")).sentence == "Probably holds in part"
    open_too = outcome(claim(), claim("b", "UNDECIDED"), alone=True)
    assert open_too.word == "holds where decided"
    assert outcome(claim("a", "REFUTED")).sentence == "Does not hold"
    assert outcome(claim("a", "REFUTED"), tier="micro").sentence == "May not hold"
    assert outcome(claim(), tier="micro").sentence == "May hold, by a lot"
    assert outcome(claim("a", "NO EFFECT")).sentence == "Makes little or no difference"
    assert outcome(claim("a", "UNDECIDED")).sentence == "Not decided"
    assert outcome(claim("a", "NOT RUN", comparisons=[])).sentence == "Not run"
    small = make_comparison(margin=20.0)
    assert outcome(claim(comparisons=[small])).sentence == "Holds, by less than a margin"
    allows = make_comparison(relation="<=", margin=20.0)
    assert outcome(claim(comparisons=[allows])).sentence == "Holds"


def test_a_row_has_both_means_the_difference_and_its_share():
    """Absolute numbers beside the difference, and what is learned above guessing."""
    one = outcome(claim(metric="bleu", learns=22.0))
    assert one.numbers == "20.0 for 31.1 BLEU"
    assert one.difference == "glove-translation: −11.09 [−11.90, −10.20] BLEU"
    assert one.share == pytest.approx(-11.1 / 22)  # of the effect that is told
    assert outcome(claim()).share is None
    assert one.settings == "2 tasks"
    trend = make_comparison(right_values=[0.0] * 5, unit="% accuracy", margin=1.0)
    told = outcome(claim(comparisons=[trend]))
    assert told.numbers == "20.0 % accuracy"
    assert told.difference.endswith("points accuracy")


def test_tiers_stand_side_by_side_and_disagreement_makes_less_sure():
    """A finding that has another sign on real text is less sure on both."""
    held, fell = claim(), claim("a", "REFUTED")
    made = session([held, elsewhere(held), make_control("planted")], "micro")
    real = session([fell, elsewhere(fell), make_control("planted")], "sample")
    [front] = fronts([made, real])
    assert front.tiers == (("micro", "made languages"), ("sample", "real text"))
    [row] = front.rows
    assert [each.certainty for each in row.outcomes] == ["very low", "moderate"]
    assert all("tiers disagree" in each.reasons for each in row.outcomes)
    [alone] = fronts([made])[0].rows
    assert [each.certainty for each in alone.outcomes] == ["low"]
    told = findings_as_markdown([made, real], short=True)
    assert "| finding | made languages | how sure | real text | how sure |" in told
    assert "| 2 of 2 upheld | very low | 0 of 2 upheld, 2 refuted | moderate |" in told
    held_too = session([claim(), claim("b", "UNDECIDED"), make_control("planted")], "sample")
    [row] = fronts([made, held_too])[0].rows  # what is open contradicts nothing
    assert not any("tiers disagree" in each.reasons for each in row.outcomes)
    page = check(render(made, {}, beside=[real]))
    assert "May hold" not in page.text  # very uncertain, since the two disagree
    assert "tiers disagree" in page.text
    family = held["family"].replace("/", "-")
    assert {f"#family-{family}", f"#family:1:{family}"} <= set(page.links)  # each to its own cards


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        (["SUPPORTED"], "1 of 1 findings hold ('Width costs'); how sure: low at most."),
        (["REFUTED"], "0 of 1 findings hold, 1 does not ('Width costs'); how sure: low at"),
        (["NO EFFECT"], "0 of 1 findings hold, 1 makes little or no difference ('Width costs');"),
        (
            ["NO EFFECT", "UNDECIDED"],
            "0 of 1 findings hold, 1 makes little or no difference where decided (",
        ),
        (["UNDECIDED"], "0 of 1 findings hold, 1 is open ('Width costs')."),
    ],
)
def test_the_headline_names_the_findings_that_do_not_hold(verdicts, sentence):
    claims = [claim(name, verdict) for name, verdict in zip("ab", verdicts, strict=False)]
    page = check(render(session(claims, "sample"), {}))
    assert f"On real text {sentence}" in " ".join(page.text.split())


def test_a_finding_that_is_not_the_papers_says_so():
    """Else what we read into a paper would stand under its name."""
    for origin, says in (("ours", "Width costs (ours)"), ("paper", "Width costs")):
        one = claim(origin=origin)
        [front] = fronts([session([one])])
        assert [row.says for row in front.rows] == [says]
    both = [claim(origin="ours"), claim("b", origin="paper")]
    assert fronts([session(both)])[0].rows[0].says == "Width costs"


def test_a_paper_without_findings_is_told_by_family():
    """So is a stranger's; nothing is said of made languages there."""
    document = make_document(
        [make_claim("a", paper="mine", family="mine/x", family_says="Mine", task="digits")]
    )
    [front] = fronts([document])
    assert [row.says for row in front.rows] == ["Mine"]
    assert front.tiers == (("micro", ""),)
    assert "made language" not in render(document, {})[: render(document, {}).index("</section>")]
    told = findings_as_markdown([document])
    assert "SUPPORTED |" in told  # claim by claim, where they are few
    document["claims"][0]["task"] = "micro-translation"  # our own text is made, whoever uses it
    assert fronts([document])[0].tiers == (("micro", "made languages"),)


def test_only_the_papers_own_statements_count_and_none_that_is_weaker():
    """Ours are counted, and named so, only where a session has none of the paper's."""
    ours = claim("b", "REFUTED", origin="ours")
    weaker = claim("b", "REFUTED", origin="paper", weaker_than="kim2024/finding-1/a")
    for other in (ours, weaker):
        one = outcome(claim(origin="paper"), other)
        assert one.tally == "2 of 2 upheld"
    family = [claim(origin="paper"), ours]
    unnamed = session(family)
    unnamed["session"]["papers"][0]["findings"] = []  # a family's claims all count
    assert fronts([unnamed])[0].rows[0].outcomes[0].tally == "1 of 2 upheld, 1 refuted"
    [row] = fronts([session([claim(origin="paper")]), session([ours], "sample")])[0].rows
    assert [each.tally for each in row.outcomes] == [
        "1 of 1 upheld",
        "0 of 1 upheld, 1 refuted (ours)",
    ]


def test_what_holds_by_its_margin_alone_says_so():
    """A loss within the margin is counted apart, and nothing that allows one looks like a gain."""
    lost = make_comparison(relation=">=", difference=-0.7, interval=[-1.3, -0.2], margin=2.0)
    one = outcome(claim(), claim("b", comparisons=[lost]))
    assert one.tally == "3 of 3 upheld (1 of them worse by less than the margin)"
    alone = outcome(claim(comparisons=[lost | {"difference": 0.7, "interval": [-0.2, 1.3]}]))
    assert alone.difference.endswith("BLEU, not worse by more than 2 BLEU")


def test_a_ties_numbers_stand_for_no_others_and_are_drawn_as_a_point():
    """The middle of three would be the one that has no interval."""
    tie = make_comparison(difference=0.0, interval=[None, None], margin=2.0)
    allows = make_comparison(relation=">=", difference=3.0, margin=2.0)
    one = outcome(
        claim(), elsewhere(claim(comparisons=[tie])), claim(comparisons=[allows]), alone=True
    )
    assert one.difference.startswith("glove-translation: −11.09 [")
    assert [line.low == line.high for line in one.lines].count(True) == 1
    assert outcome(claim(comparisons=[tie]), alone=True).difference.endswith(" 0.00 BLEU")


@pytest.mark.parametrize(
    ("relation", "interval", "crosses"),
    [
        ("<", [-3.65, -0.32], True), ("<", [-9.0, -2.1], False), ("<", [-1.9, 1.9], False),
        (">=", [-1.0, 5.0], False), (">=", [-2.5, 1.0], True), ("~", [-1.0, 2.5], False),
    ],
)  # fmt: skip
def test_an_interval_on_both_sides_of_its_margin_makes_less_sure(relation, interval, crosses):
    """What matters and what doesn't are both in it; "not worse" has one margin alone."""
    comparison = make_comparison(
        relation=relation,
        interval=interval,
        difference=sum(interval) / 2,
        margin=2.0,
    )
    reasons = outcome(claim(comparisons=[comparison])).reasons
    assert ("the interval crosses the margin" in reasons) == crosses


def test_the_papers_findings_are_claims_that_there_are():
    """At most seven; each claim is of the paper's own families, and in one finding at most."""
    known = {family.name for family in FAMILIES if family.origin == "paper"}
    ids = [each for finding in FINDINGS for each in finding.claims]
    assert len(FINDINGS) <= 7
    assert len(set(ids)) == len(ids)
    assert {each.rpartition("/")[0] for each in ids} <= known
    assert all(len(PAPERS[key].findings) <= 7 for key in PAPERS)


decided = st.sampled_from(["SUPPORTED", "REFUTED", "NO EFFECT", "UNDECIDED"])
verdicts = st.one_of(decided, st.just("NOT RUN"))


@given(
    given_verdicts=st.lists(verdicts, min_size=1, max_size=8),
    tier=st.sampled_from(["micro", "sample"]),
)
@settings(max_examples=60)
def test_more_is_never_said_than_was_shown(given_verdicts, tier):
    """No finding holds that nothing upheld, made languages are at most low, counts add up."""
    claims = [
        claim("ab"[number % 2], verdict, id=f"kim2024/finding-1/{'ab'[number % 2]}[{number}]")
        for number, verdict in enumerate(given_verdicts)
    ]
    for each in claims:
        if each["verdict"] == "NOT RUN":
            each["comparisons"] = []
    one = outcome(*claims, tier=tier, alone=True)
    assert sum(one.counts.values()) == len(claims)
    assert ("holds" in one.word) == (one.upheld > 0)
    if one.word.startswith(("holds", "makes")) and one.word != "holds in part":
        assert one.upheld == (one.decided if "holds" in one.word else 0)
        assert one.word.endswith("where decided") == (one.decided <= one.ran - one.decided)
    assert CERTAINTIES.index(one.certainty) <= (1 if tier == "micro" else 3)
    assert all(0 <= line.low <= line.high <= 2 * HALF for line in one.lines)
    wrong = {"REFUTED", "NO EFFECT"} & set(given_verdicts)
    assert not (one.word == "holds" and wrong)


@given(st.lists(decided, min_size=1, max_size=4), st.lists(decided, max_size=4))
def test_a_finding_is_one_image_with_every_comparison_of_all_tiers(made, real):
    """A tier's in a block of its own, each with what it says, and any of its words as text."""
    tiers = {"micro": made, "sample": real}
    documents = []
    for tier, given_verdicts in tiers.items():
        claims = [
            {**claim("a", verdict), "task": f"<{number}&", "id": f"kim2024/finding-1/a[{number}]"}
            for number, verdict in enumerate(given_verdicts)
        ]
        documents.append(session(claims, tier))
    drawn = ElementTree.fromstring(figure_of(documents, "Width costs"))
    texts = [text.text or "" for text in drawn.iter(f"{SVG}text")]
    blocks = [text for text in texts if "upheld" in text]
    assert [text.partition(":")[0] for text in blocks] == ["made languages", "real text"][
        : 1 + bool(real)
    ]
    lines = [group for group in drawn.iter(f"{SVG}g") if group.get("class") != "middle"]
    assert [group.get("class") for group in lines].count("supported") == [
        *made,
        *real,
    ].count("SUPPORTED")
    assert len(lines) == len(made) + len(real)
    _, _, _, height = map(float, drawn.attrib["viewBox"].split())
    assert all(float(text.get("y", 0)) <= height for text in drawn.iter(f"{SVG}text"))


def test_the_command_shows_verdicts_or_says_why_not(tmp_path, capsys):
    """A page, tables, or one line that names the mend; nothing of it is a traceback."""
    path = tmp_path / "verdicts.json"
    document = session([claim(), make_control("planted")])
    path.write_text(json.dumps(document))
    page = tmp_path / "page.html"
    assert main(["report", str(path), "--to", str(page)]) == 0
    check(page.read_text("utf-8"))
    assert main(["report", str(path), "--markdown"]) == 0
    assert "| Width costs |" in capsys.readouterr().out
    assert main(["report", str(path), "--figure", document["claims"][0]["id"]]) == 0
    assert capsys.readouterr().out.startswith("<svg")
    assert main(["report", str(path), "--figure", "width costs"]) == 0
    drawn = ElementTree.fromstring(capsys.readouterr().out)
    assert next(text.text for text in drawn.iter(f"{SVG}text")) == "Width costs"
    assert len([g for g in drawn.iter(f"{SVG}g") if g.get("class") == "supported"]) == 1
    newer = tmp_path / "newer.json"
    newer.write_text(json.dumps(document | {"schema_version": 2}))
    for arguments, told in (
        ([str(path), "--to", str(tmp_path / "no/page.html")], "name another --to"),
        ([str(path), "--figure", "kim2024/finding-1/c"], "did you mean"),
        ([str(path), "--figure", "!"], "the findings are 'Width costs'"),
        ([str(tmp_path / "other.json")], "does not exist; run pytest claims/ first"),
        ([str(newer)], "of schema_version 2, and this embinit reads 1; upgrade it"),
    ):
        assert main(["report", *arguments]) in (Status.UNUSABLE, Status.UNWRITABLE)
        [line] = capsys.readouterr().err.splitlines()
        assert told in line
    with pytest.raises(SystemExit):
        main(["report", "--store", "one"])
    assert "run embinit merge --store" in capsys.readouterr().err
