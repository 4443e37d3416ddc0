"""The report: what goes in comes out, escaped, linked, balanced and without a request."""

import math
import re
import shlex
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_result
from documents import claim_of, comparison_of, typed
from embinit.files.typed import as_json
from embinit.report import load_schema, render, write_report
from embinit.report.baseline import compare
from embinit.report.charts import Axis, Curves, forest, learning_curves
from embinit.report.document import Document
from embinit.report.numbers import duration, interval, number, p_value, span
from embinit.report.reading import read
from embinit.report.verdicts import failed_seeds, qualified, wanted
from embinit.runs.results import RunResult
from embinit_papers.kim2024.experiments import experiments

REFERENCE = Path(__file__).parents[1] / "reports/reference"
HOSTILE = (
    """</style></script><script>alert(1)</script><img src=x onerror="a">&amp;'"{{7*7}}{% x %}"""
)
VOID = {"meta", "br", "wbr", "img", "link", "hr", "input"}
CLOSED_IN_SVG = {"path", "rect", "circle"}


[TRANSLATION] = experiments("micro", ("glove",), ("translation",))


def make_run(init: str, seed: int, level: float) -> RunResult:
    """A run of the made translation with curves."""
    usual = TRANSLATION.run("pretrained", seed)
    source = None if init == "xavier" else usual.recipe.table.source
    table = replace(usual.recipe.table, init=init, source=source)
    scores = [level * (1 - 0.7**epoch) + 0.3 * math.sin(7.1 * seed + epoch) for epoch in range(12)]
    losses = [5 / (epoch + 1) for epoch in range(12)]
    return make_result(
        usual.changed(table=table),
        curves={"validation_bleu": scores, "validation_loss": losses},
        bleu=level,
    )


def make_comparison(seeds: int = 5, **fields: Any) -> dict[str, Any]:
    """GloVe against Xavier, in BLEU; further fields are as in ``documents``."""
    left = [20.0 + 0.4 * math.sin(5 * seed) for seed in range(seeds)]
    right = [31.0 + 0.5 * math.cos(3 * seed) for seed in range(seeds)]
    runs = {f"{label}-{seed}": label for label in ("GloVe", "Xavier") for seed in range(seeds)}
    return {
        "n": seeds, "seeds": list(range(seeds)), "left_values": left, "right_values": right,
        "difference": math.fsum(left) / seeds - math.fsum(right) / seeds,
        "interval": [-11.9, -10.2], "level": 0.95, "p": 0.0000021, "p_against": 0.9999,
        "sd": 0.9, "spread": {"sd": 0.8, "seeds": 10},
        "smallest_effect": {"first": 2.75, "last": 1.25},
        "printed": [{"task": "SST2", "left": 82.3, "right": 82.7, "difference": -0.4}],
        "runs": runs,
    } | fields  # fmt: skip


FINDING_1 = "claims/embinit_papers/kim2024/test_finding_1.py"


def make_claim(name: str, verdict: str = "SUPPORTED", **fields: Any) -> dict[str, Any]:
    """A claim of the first paper; NOT RUN comes without comparisons."""
    comparisons = [] if verdict == "NOT RUN" else [make_comparison(verdict=verdict)]
    return {
        "id": f"kim2024/finding-1/{name}[glove-micro-translation]",
        "nodeid": f"{FINDING_1}::test_{name}[glove-micro-translation]",
        "statement": f"A table of wider variance fares worse ({name})",
        "paper": "kim2024", "place": "Table 1", "task": "micro-translation", "source": "glove",
        "experiment": "glove-micro-translation", "family": "kim2024/finding-1",
        "family_says": "Finding 1: wide tables fare worse", "verdict": verdict,
        "reason": "GloVe is 11.0 BLEU below Xavier over 5 seeds.", "comparisons": comparisons,
    } | fields  # fmt: skip


def make_control(name: str, verdict: str = "REFUTED", **fields: Any) -> dict[str, Any]:
    """A false statement, refuted as expected."""
    known = {"control": True, "expects": "REFUTED", "as_expected": verdict == "REFUTED"}
    return make_claim(name, verdict, **(known | fields))


def make_document(claims: list[dict[str, Any]], **session: Any) -> Document:
    """A session of five minutes with ``claims``."""
    counts = {"wanted": 120, "trained": 100, "stored": 20}
    return typed({"session": {"wall_seconds": 312.4, "runs": counts} | session, "claims": claims})


def make_full() -> tuple[Document, dict[str, RunResult]]:
    """A document with every verdict and relation, a control, and its runs."""
    kinds = [
        make_comparison(relation="~", margin=0.5, interval=[-0.2, 0.3], difference=0.05),
        make_comparison(relation=">=", margin=0.4, interval=[-0.3, None]),
        make_comparison(relation="<=", margin=40.0),
        make_comparison(relation=">", n=1, exact=True, interval=[None, None], p=None, runs={}),
    ]
    small = make_comparison(verdict="NO EFFECT", margin=2.0, p=0.7, p_no_effect=0.00042)
    undecided = make_comparison(verdict="UNDECIDED", seeds_needed=14)
    lacking = "Multi30k is missing: name a data directory."
    claims = [
        make_claim("plain"),
        make_claim("kinds", comparisons=kinds),
        make_claim("opposite", "REFUTED"),
        make_claim("open", "UNDECIDED", comparisons=[undecided]),
        make_claim("small", "NO EFFECT", comparisons=[small]),
        *(make_claim(name, "NOT RUN", reason=lacking) for name in ("absent", "absent-too")),
        make_control("planted"),
    ]
    results = {
        f"{label}-{seed}": make_run(init, seed, level)
        for label, init, level in (("GloVe", "pretrained", 20.0), ("Xavier", "xavier", 31.0))
        for seed in range(5)
    }
    return make_document(claims), results


class Page(HTMLParser):
    """Collects tags, ids, links and text; complains about tags that don't balance."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in CLOSED_IN_SVG, f"<{tag}/> closes nothing in HTML"
        self._note(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> without a start"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]

    @property
    def links(self) -> list[str]:
        """Every address that the page names."""
        names = {"href", "src", "srcset", "action", "data", "poster", "xlink:href"}
        return [value for _, name, value in self.attributes if name in names]


def check(html: str) -> Page:
    """What holds of every page: balanced, ids unique, links inside it, coordinates finite."""
    page = Page(html)
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert all(link.startswith("#") for link in page.links)
    assert page.tags["img"] == page.tags["link"] == 0
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert page.tags["script"] == 0
    [policy] = [value for tag, name, value in page.attributes if "default-src" in value]
    assert html.index(policy) < html.index("<body")  # before any text of a document
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    assert not re.search(r"@import|url\(|https?:", html)
    for tag, name, value in page.attributes:
        if tag in {"svg", "path", "text", "rect"} and name in {"d", "x", "y", "width", "viewbox"}:
            assert re.fullmatch(r"[-MHVhvlmz0-9. ]*", value), f"{tag} {name}={value!r}"
            assert all(abs(float(part)) < 2000 for part in re.findall(r"-?[0-9.]+", value))
    return page


def text_of(document: Document, *others: Document) -> str:
    """The text of a page, on one line."""
    return " ".join(check(render(document, {}, others)).text.split())


def test_made_document_follows_the_schema():
    """The schema is what claims write against, so a full document must pass and itself be sound."""
    schema = load_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    document = as_json(make_full()[0])
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    first, *others = document["claims"]
    for broken in ({"verdict": "MAYBE"}, {"extra": 1}, {"alpha": 2}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document | {"claims": [first | broken, *others]}, schema)


def test_the_draws_on_which_an_arm_fails_are_named():
    """One failure in twenty moves a mean, and no number of the claim shows it."""
    left = [20.0, 20.1, 19.9, 20.2, 19.8, 20.0, 3.0]
    one = make_comparison(7, left_values=left)
    assert failed_seeds(comparison_of(one)) == ["GloVe, seed 6: 3.00, median 20.0"]
    assert failed_seeds(comparison_of(make_comparison(7))) == []
    even = make_comparison(7, left_values=[20.0] * 6 + [3.0])
    assert failed_seeds(comparison_of(even)) == []  # no deviation
    text = text_of(make_document([make_claim("x", comparisons=[one])]))
    assert "GloVe, seed 6: 3.00, median 20.0" in text


def test_every_claim_appears_with_its_numbers_and_its_anchor():
    """Links to claims are shared, so each has one id; its verdict, means and interval are there."""
    document, runs = make_full()
    page = check(render(document, runs))
    text = " ".join(page.text.split())
    anchors = [name for name in page.ids if name.startswith("claim-")]
    assert len(anchors) == len(document.claims)
    assert "claim-kim2024-finding-1-plain-glove-micro-translation" in anchors
    for claim in document.claims:
        assert claim.id in page.text
        assert f"{claim.verdict}{claim.statement}" in text
    assert text.count("Multi30k is missing: name a data directory.") == 2
    for shown in (
        "GloVe: 20.0 vs Xavier: 31.1 BLEU",
        "−11.09 [−11.90, −10.20] BLEU",
        "82.3 vs 82.7; difference −0.4",
        "To decideneeds about 9 more seeds",
        "for no effect 0.00042; tested at 0.010",
        "0.900 BLEU, pooled with 0.800 registered on 10 other seeds",
        "2.75 at the first, 1.25 BLEU at the last interim analysis",
        "Validation BLEU by epoch",
        f"pytest '{FINDING_1}::test_open[glove-micro-translation]'",
    ):
        assert shown in text, shown


def test_a_misbehaving_control_comes_first():
    """Verdicts next to a broken control can't be trusted, and the reader has to see it first."""
    wrong = make_control("planted", "SUPPORTED")
    text = text_of(make_document([make_claim("a"), wrong]))
    assert "controls 0 of 1 as expected" in text
    assert text.index("a control misbehaved") < text.rindex("1 SUPPORTED")
    idle = make_control("planted", "NOT RUN", as_expected=None)
    text = text_of(make_document([idle]))
    assert "controls 0 of 1 as expected, 1 not run" in text
    assert "No control was decided" in text
    assert "a control misbehaved" not in text


@pytest.mark.parametrize("claims", [[], [make_claim("a", "NOT RUN")]], ids=["empty", "not run"])
def test_pages_without_results(claims):
    """The page is written whatever the session came to."""
    text = text_of(make_document(claims))
    assert ("NOT RUN" if claims else "There are no claims in these verdicts.") in text


@pytest.mark.parametrize("tier", ["micro", "sample"])
def test_methods_are_those_of_the_document(tier):
    """Counts in the text are counted here again, from the entries alone."""
    document = read(REFERENCE / tier / "verdicts.json")
    page = text_of(document)
    every = [one for claim in document.claims for one in claim.comparisons]
    tested = [one for one in every if not one.exact]
    pooled = sum(one.spread is not None for one in tested)
    alphas = span(claim.alpha for claim in document.claims)
    seeds = [one.n for one in tested]
    for shown in (
        " ".join(document.rule or ["These verdicts were decided by an earlier rule"]),
        f"{len(tested)} comparisons over {min(seeds)} to {max(seeds)} seeds",
        f"and {pooled} of them" if pooled else "",
        f"family's 5 % is {alphas}.",
        "decided early tends to overstate its effect",
    ):
        assert shown in page, shown
    for statement in document.summary.statements:
        counts = "".join(map(str, statement.verdicts.values()))
        assert f"{statement.whose}{statement.claims}{counts}{statement.beforehand}" in page


def test_own_tests_are_claims_without_a_paper_and_a_tier():
    """No paper finds anything there, so nothing replicates; the page says what to run."""
    own = {"paper": "test_mine", "source": None, "family": "test_mine/seeds", "origin": "ours"}
    own |= {"family_says": "Claims of test_mine", "nodeid": "tests/test_mine.py::test_b"}
    claims = [
        make_claim(name, verdict, **own, id=f"test_mine/seeds/{name}")
        for name, verdict in (("a", "SUPPORTED"), ("b", "UNDECIDED"))
    ]
    text = text_of(make_document(claims))
    for shown in (
        "Which claims hold",
        "To run all claims: pytest tests/test_mine.py, 100 runs in 5 min 12 s; the tables below",
        "the tables below have the command of each claim.",
        "pytest tests/test_mine.py::test_b",
    ):
        assert shown in text
    for foreign in ("replicate", "tier", "Paper", "our own", "random init", "finding"):
        assert foreign not in re.sub(r"SUPPORTED, REFUTED.*", "", text), foreign
    assert "ci tier" in text_of(make_document(claims, tier="ci"))


@pytest.mark.parametrize(
    ("files", "command"),
    [
        (["claims/a.py", "claims/b.py"], "pytest claims/"),
        (["claims/a.py", "other/b.py"], "pytest ./"),
        (["my claims/a.py"], "pytest 'my claims/a.py'"),
        (["papers.mine.test_a", "papers.mine.test_b"], "pytest --pyargs papers.mine"),
    ],
)
def test_the_page_begins_with_the_command_that_runs_it_again(files, command):
    """For the files of its claims, wherever they are; a paper's finding has its own."""
    claims = [
        make_claim(name, nodeid=f"{name}::t", id=f"p/f/{name}[x]", paper="p") for name in files
    ]
    finding = {"says": "It is so", "claims": [f"p/f/{files[0]}"]}
    paper = {"key": "p", "citation": "P", "short": "P", "made": [], "findings": [finding]}
    text = text_of(make_document(claims, tier="sample", papers=[paper]))
    command = f"{command} --embinit-tier sample for sample tier, 100 runs in "
    assert f"To run all claims: {command}" in text
    assert "the tables below have the command of each finding and claim" in text
    for store in ("mine", "my own"):
        given = shlex.join(["pytest", f"--embinit-store={store}", "--embinit-no-train"])
        shown = f" {shlex.quote(f'--embinit-store={store}')}"
        assert text_of(make_document(claims, command=given)).count(shown) == 2 + len(claims)
    kept = make_document(claims, command="pytest --embinit-store=runs.xz")
    assert text_of(kept).count("--embinit-store") == 1
    pyargs = "" if files[0].endswith(".py") else "--pyargs "
    assert f"It is sopytest {pyargs}{shlex.quote(files[0])} --embinit-tier sample" in text


def test_changes_since_a_baseline_are_shown(tmp_path):
    """A lost finding with its numbers before and now; none where nothing changed."""
    before = make_document([make_claim("a")])
    now = make_document([make_claim("a", "REFUTED")])
    text = write_report(now, {}, tmp_path, compare(now, before)).read_text("utf-8")
    assert "was SUPPORTED and is REFUTED" in check(text).text
    text = write_report(before, {}, tmp_path, compare(before, before)).read_text("utf-8")
    assert "No changes since the baseline." in check(text).text
    assert "since the baseline" not in check(render(now, {})).text


def test_several_documents_are_one_page():
    """Each has its claims, its controls, its methods and its provenance."""
    made, real = (read(REFERENCE / tier / "verdicts.json") for tier in ("micro", "sample"))
    html = render(made, {}, others=[real])
    page = check(html)
    for document in (made, real):
        assert document.session.command in page.text
        assert all(claim.id in page.text for claim in document.claims)
    anchors = [name for name in page.ids if name.startswith("claim")]
    assert len(anchors) == len(made.claims) + len(real.claims) + 1  # and the section's own
    assert len(html) < 4_000_000


def test_numbers_that_are_not_finite_are_null_in_the_document(tmp_path):
    """Strict JSON, which any reader reads."""
    loose = make_comparison(difference=math.nan, interval=[-math.inf, math.inf])
    write_report(make_document([make_claim("a", comparisons=[loose])]), {}, tmp_path)
    [claim] = read(tmp_path / "verdicts.json").claims
    assert claim.comparisons[0].difference is None
    assert [*claim.comparisons[0].interval] == [None, None]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.html", "verdicts.json"]


def test_what_holds_within_a_margin_alone_says_so():
    """A loss that is shown is no success, however small it is held to be."""
    for relation, ends, words in (
        (">=", [-2.0, -0.5], "worse, by less than the margin"),
        (">=", [-2.0, 0.5], ""),
        ("<=", [0.5, 2.0], "worse, by less than the margin"),
        ("<=", [-0.5, 2.0], ""),
        ("~", [0.5, 2.0], "different, by less than the margin"),
        (">", [0.5, 2.0], ""),
    ):
        one = make_comparison(relation=relation, interval=ends, verdict="SUPPORTED")
        claim = make_claim("a", comparisons=[one])
        assert qualified(claim_of(claim)) == words
        assert qualified(claim_of({**claim, "verdict": "UNDECIDED"})) == ""


def test_an_undecided_comparison_says_what_it_wants():
    """The seeds that it lacks, not those that it would have then; a seed may be too much."""
    one = comparison_of(make_comparison(verdict="SUPPORTED", hangs_on=3))
    assert wanted(one) == "not NO EFFECT, since it changes without seed 3"
    for fields, shown in (
        ({"seeds_needed": 14}, "needs about 9 more seeds"),
        ({"seeds_needed": 4}, "needs about 1 more seed"),
        ({"seeds_needed": None}, "needs over 1000 more seeds"),
        ({"seeds_needed": None, "difference": 0.0}, "no difference yet"),
        ({"hangs_on": 0}, "not robust: changes without seed 0; needs over 1000 more seeds"),
    ):
        assert wanted(comparison_of(make_comparison(verdict="UNDECIDED", **fields))) == shown


def test_missing_numbers_are_dashes():
    """A reader must tell 'not known' from zero."""
    dash = "\N{EN DASH}"
    for absent in (None, math.nan, math.inf, -math.inf):
        assert number(absent) == p_value(absent) == dash
    assert interval([None, 1.5], 1) == f"[{dash}, 1.5]"
    assert number(-0.0001, 2) == "0.00"
    assert number(-12.345) == "\N{MINUS SIGN}12.3"
    assert p_value(0.00001) == "< 0.0001"
    assert p_value(0.0312) == "0.031"
    assert duration(3725) == "1 h 02 min"


@given(value=st.floats(-1e300, 1e300))
@settings(max_examples=200)
def test_numbers_read_back(value):
    """Three digits (two in scientific notation) keep a number to within a twentieth."""
    read = float(number(value).replace("\N{MINUS SIGN}", "-"))
    assert math.isclose(read, value, rel_tol=0.051, abs_tol=1e-7)


@given(low=st.floats(-1e6, 1e6), size=st.floats(1e-3, 1e6))
@settings(max_examples=200)
def test_ticks_are_even_and_on_the_axis(low, size):
    """An axis is read by its ticks: the places must be in proportion to the texts."""
    axis = Axis(low, low + size, 10.0, 390.0)
    ticks = axis.ticks(5)
    assert 2 <= len(ticks) <= 6
    assert all(10 <= tick.at <= 390 for tick in ticks)
    gaps = [right.at - left.at for left, right in pairwise(ticks)]
    assert max(gaps) - min(gaps) < 0.35
    for tick in ticks:
        assert abs(axis.at(float(tick.text.replace("\N{MINUS SIGN}", "-"))) - tick.at) < 0.2


@given(
    shift=st.floats(-50, 50),
    relation=st.sampled_from(["<", ">", "<=", ">=", "~"]),
    margin=st.floats(0.01, 20),
)
@settings(max_examples=150)
def test_shade_is_where_the_claim_holds(shift, relation, margin):
    """The mean lies in the shade exactly when the relation holds of it: the plot can't lie."""
    sides = {"left_values": [shift], "right_values": [0.0], "difference": shift}
    sides["interval"] = [shift - 1, shift + 1]
    plot = forest(comparison_of(make_comparison(relation=relation, margin=margin, **sides)))
    assert plot is not None
    assert plot.mean is not None
    holds = {"<": shift < 0, ">": shift > 0, "~": abs(shift) < margin}
    holds |= {"<=": shift < margin, ">=": shift > -margin}
    near = min(abs(plot.mean - edge) for edge in plot.shade) < 0.2
    assert near or holds[relation] == (plot.shade[0] < plot.mean < plot.shade[1])
    assert plot.span is not None
    assert plot.span[0] <= plot.mean <= plot.span[1]
    assert len(plot.margins) == {"<": 0, ">": 0, "~": 2}.get(relation, 1)


def test_curves_are_those_that_every_arm_has():
    """A measure that only one arm follows would leave the other without a line."""
    one, other = make_run("pretrained", 0, 1.0), make_run("xavier", 0, 2.0)
    losses = {"validation_loss": one.curves["validation_loss"]}

    def found(left: RunResult, right: RunResult) -> Curves | None:
        comparison = make_comparison(runs={"left": "GloVe", "right": "Xavier", "lost": "T5"})
        claim = claim_of(make_claim("a", comparisons=[comparison]))
        return learning_curves(claim, {"left": left, "right": right})

    assert (both := found(one, other)) is not None
    assert both.name == "validation BLEU"
    assert [label for label, _ in both.series] == ["GloVe", "Xavier"]
    assert (some := found(replace(one, curves=losses), other)) is not None
    assert (some.name, len(some.series)) == ("validation loss", 2)
    assert found(replace(one, curves={}), replace(other, curves={})) is None
