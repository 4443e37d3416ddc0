"""The report: what goes in comes out, escaped, linked, balanced and without a request."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import OWN_KINDS, set_apart
from embinit.claims.paired_tests import Relation
from embinit.errors import InputError
from embinit.lab.data.sources import Coverage
from embinit.lab.evaluation import EvaluationKind
from embinit.lab.kinds import SETTINGS
from embinit.lab.models.attention import ATTENTION
from embinit.lab.models.layers import ACTIVATIONS, NORM_POSITIONS, NORMS
from embinit.lab.specs import ModelSpec, Procedure
from embinit.lab.tables.diagnostics import TableStatistics
from embinit.papers import PAPERS, Figure, Paper, Tier
from embinit.report import baseline, load_schema, past, render, write_report
from embinit.report.arms import Run, gather, learning_curves
from embinit.report.charts import Axis, forest
from embinit.report.numbers import (
    decimals,
    duration,
    interval,
    moment,
    number,
    p_value,
    rerun,
    short,
)
from embinit.report.page import headline
from embinit.report.past import DamagedHistoryWarning
from embinit.report.verdicts import qualified, standings, wanted
from embinit.runs.kinds import KINDS, Description, kind_of
from embinit.runs.measures import MEASURES, at_epoch, over_epochs
from embinit.runs.results import RunResult
from embinit.specs import FunctionRecipe, RunSpec
from embinit_papers import chung2021
from embinit_papers.kim2024.experiments import experiments, pretrainings, probes
from embinit_papers.kim2024.figures import figures, histograms, scatter, slides
from embinit_papers.kim2024.mechanism import doses, mechanisms, relations
from embinit_papers.kim2024.paper_tables import Runs

HOSTILE = (
    """</style></script><script>alert(1)</script><img src=x onerror="a">&amp;'"{{7*7}}{% x %}"""
)
VOID = {"meta", "br", "img", "link", "hr", "input"}
CLOSED_IN_SVG = {"path", "rect", "circle"}
anything = st.one_of(st.none(), st.floats())


[TRANSLATION] = experiments("micro", ("glove",), ("translation",))
[RELATIONS] = probes("micro")
EPOCHS = 12
TABLE = TableStatistics(
    minimum=-3.9,
    maximum=3.96,
    mean=-0.004,
    sigma=0.388,
    row_norm_percentiles=(1.0,) * 5,
    rows=4769,
    dim=300,
    histogram=(*(0,) * 30, 10, 200, 900, 300, 1, *(0,) * 29),
)


def make_run(label: str, init: str, seed: int, level: float, **positions: str) -> Run:
    """A run of the made translation with curves, tables and coverage."""
    wobble = [math.sin(7.1 * seed + epoch) for epoch in range(EPOCHS)]
    scores = [level * (1 - 0.7**epoch) + 0.3 * wobble[epoch - 1] for epoch in range(1, EPOCHS + 1)]
    usual = TRANSLATION.run("pretrained", seed)
    source = None if init == "xavier" else usual.recipe.table.source
    spec = usual.changed(
        table=replace(usual.recipe.table, init=init, source=source),
        positions=replace(usual.recipe.positions, **positions),
    )
    result = RunResult(
        spec=spec,
        measures={"bleu": level, "pe_share": 0.25, "sigma": 0.388},
        curves={
            "validation_bleu": scores,
            "validation_loss": [5 / epoch for epoch in range(1, EPOCHS + 1)],
        },
        tables={"encoder": TABLE},
        positions={"encoder": replace(TABLE, sigma=0.65)},
        coverage={"encoder": Coverage(4765, 4401, 377_534, 351_107) if source else None},
        signature="nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.5.1",
        provenance={"versions": {}, "device": "cpu", "seconds": 12.5, "finished": "2026-11-21"},
    )
    return Run(f"{label}-{seed}", label, result)


def by_key(*runs: Run) -> dict[str, Run]:
    """Runs as the report takes them."""
    return {run.key: run for run in runs}


def changed(run: Run, **fields: Any) -> Run:
    """The run with another result."""
    return replace(run, result=replace(run.result, **fields))


def make_comparison(seeds: int = 5, **fields: Any) -> dict[str, Any]:
    """GloVe against Xavier, in BLEU."""
    left = [20.0 + 0.4 * math.sin(5 * seed) for seed in range(seeds)]
    right = [31.0 + 0.5 * math.cos(3 * seed) for seed in range(seeds)]
    runs = [f"{label}-{seed}" for seed in range(seeds) for label in ("GloVe", "Xavier")]
    return {
        "relation": "<",
        "arms": {"left": "GloVe", "right": "Xavier"},
        "metric": "bleu",
        "metric_in_words": "BLEU",
        "unit": "BLEU",
        "alpha": 0.01,
        "n": seeds,
        "seeds": list(range(seeds)),
        "left_values": left,
        "right_values": right,
        "difference": math.fsum(left) / seeds - math.fsum(right) / seeds,
        "interval": [-11.9, -10.2],
        "level": 0.95,
        "margin": 0.0,
        "p": 0.0000021,
        "p_against": 0.9999,
        "p_no_effect": None,
        "holm_p": 0.00012,
        "power": 0.999,
        "seeds_needed": None,
        "hangs_on": None,
        "sd": 0.9,
        "spread": {"sd": 0.8, "seeds": 10},
        "smallest_effect": {"first": 2.75, "last": 1.25},
        "exact": False,
        "verdict": "SUPPORTED",
        "test_set": {
            "test": "sacreBLEU's paired bootstrap, 1,000 resamples",
            "examples": 300,
            "p": [0.001] * (seeds - 1) + [0.2],
            "spread": 1.25,
        },
        "printed": [{"task": "SST2", "left": 82.3, "right": 82.7, "difference": -0.4}],
        "runs": runs,
    } | fields


FINDING_1 = "claims/embinit_papers/kim2024/test_finding_1.py"


def make_small(**fields: Any) -> dict[str, Any]:
    """A difference that is smaller than the margin on both sides."""
    small = {"verdict": "NO EFFECT", "difference": 0.25, "interval": [-0.5, 1.0], "margin": 2.0}
    tested = {"p": 0.7, "p_against": 0.3, "p_no_effect": 0.00042}
    return make_comparison(**small, **tested, **fields)


def make_claim(name: str, verdict: str = "SUPPORTED", **fields: Any) -> dict[str, Any]:
    """A claim; NOT RUN comes without comparisons."""
    comparisons = [] if verdict == "NOT RUN" else [make_comparison(verdict=verdict)]
    return {
        "id": f"kim2024/finding-1/{name}[glove-micro-translation]",
        "nodeid": f"{FINDING_1}::test_{name}[glove-micro-translation]",
        "verdict": verdict,
        "control": False,
        "expects": None,
        "as_expected": None,
        "statement": f"A table of wider variance fares worse ({name})",
        "paper": "kim2024",
        "place": "Table 1",
        "tier": "micro",
        "task": "micro-translation",
        "source": "glove",
        "experiment": "glove-micro-translation",
        "family": "kim2024/finding-1",
        "family_says": "Finding 1: wide tables fare worse",
        "looks": [{"seeds": 5, "share": 1.0}],
        "alpha": 0.0125,
        "reason": "GloVe is 11.0 BLEU below Xavier over 5 seeds.",
        "comparisons": comparisons,
    } | fields


def make_control(name: str, verdict: str = "REFUTED", **fields: Any) -> dict[str, Any]:
    """A planted falsehood, refuted as expected."""
    known = {"control": True, "expects": "REFUTED", "as_expected": verdict == "REFUTED"}
    return make_claim(name, verdict, **(known | fields))


def make_document(claims: list[dict[str, Any]]) -> dict[str, Any]:
    """A session with ``claims``."""
    return {
        "schema_version": 1,
        "session": {
            "started": "2026-11-21T01:46:34+00:00",
            "wall_seconds": 312.4,
            "tier": "micro",
            "device": "cpu",
            "seeds": 5,
            "command": "pytest claims -n 4",
            "runs": {"wanted": 120, "trained": 100, "stored": 20},
            "versions": {"embinit": "0.1.0", "python": "3.11.9", "sacrebleu": "2.5.1"},
            "data_dir_given": False,
        },
        "claims": claims,
    }


def make_full() -> tuple[dict[str, Any], dict[str, Run]]:
    """A document with every verdict and relation, a control, and its runs."""
    kinds = [
        make_comparison(relation="~", margin=0.5, interval=[-0.2, 0.3], difference=0.05),
        make_comparison(relation=">=", margin=0.4, interval=[-0.3, None], exact=False),
        make_comparison(relation="<=", margin=40.0),
        make_comparison(relation=">", n=1, exact=True, interval=[None, None], p=None, runs=[]),
    ]
    claims = [
        make_claim("plain"),
        make_claim("kinds", comparisons=kinds),
        make_claim("opposite", "REFUTED"),
        make_claim(
            "open",
            "UNDECIDED",
            comparisons=[make_comparison(verdict="UNDECIDED", seeds_needed=14)],
        ),
        make_claim("small", "NO EFFECT", comparisons=[make_small()]),
        make_claim("absent", "NOT RUN", reason="Multi30k is missing: name a data directory."),
        make_claim("absent-too", "NOT RUN", reason="Multi30k is missing: name a data directory."),
        make_control("planted"),
    ]
    arms = (("GloVe", "pretrained", 20.0), ("Xavier", "xavier", 31.0))
    runs = [make_run(*arm[:2], seed, arm[2]) for seed in range(5) for arm in arms]
    return make_document(claims), by_key(*runs)


class Page(HTMLParser):
    """Collects tags, ids, links and text; complains about tags that don't balance."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.scripts: list[str] = []
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
        if "script" in self.open:
            self.scripts.append(data)
        elif "style" not in self.open:
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
    # One script, ours, and the only one that the page lets run.
    [script] = page.scripts
    assert page.tags["script"] == 1
    assert script == resources.files("embinit.report").joinpath("page.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    [policy] = [value for tag, name, value in page.attributes if "default-src" in value]
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )
    assert not re.search(r"@import|url\(|https?:", html)
    for tag, name, value in page.attributes:
        if tag in {"svg", "path", "text", "rect"} and name in {"d", "x", "y", "width", "viewbox"}:
            assert re.fullmatch(r"[-MHVhvlmz0-9. ]*", value), f"{tag} {name}={value!r}"
            assert all(abs(float(part)) < 2000 for part in re.findall(r"-?[0-9.]+", value))
    return page


def test_made_document_follows_the_schema() -> None:
    """The schema is what claims write against, so a full document must pass and itself be sound."""
    schema = load_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    document, _ = make_full()
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    for broken in ({"verdict": "MAYBE"}, {"extra": 1}, {"alpha": 2}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(make_document([make_claim("x") | broken]), schema)


def test_the_schema_knows_every_relation_and_any_tier() -> None:
    """A relation is the core's, a tier is its paper's; the page's legend has each relation."""
    schema = load_schema()
    assert schema["$defs"]["relation"]["enum"] == list(Relation)
    document, runs = make_full()
    document["session"]["tier"] = document["claims"][0]["tier"] = "nano"
    jsonschema.validate(document, schema)
    text = " ".join(check(render(document, runs)).text.split())
    for relation in Relation:
        assert f"{relation.symbol}: the mean difference {relation.says}." in text


REQUIRED_IN_1 = "c3ce747911b2921d"
"""A digest of the fields that documents of schema version 1 must have.

An object that was added later, and may be absent, can require fields of its own.
"""


def required(node: Any, path: str = "") -> list[str]:
    """The paths of all fields that a schema requires."""
    if isinstance(node, list):
        return [each for inner in node for each in required(inner, path)]
    if not isinstance(node, dict):
        return []
    own = [f"{path}/{name}" for name in node.get("required", ()) if isinstance(name, str)]
    return own + [
        each for name, inner in node.items() for each in required(inner, f"{path}/{name}")
    ]


def test_no_field_is_required_within_a_schema_version() -> None:
    """Else a reader would refuse documents that say they are of its version: raise the version."""
    text = "\n".join(sorted(required(load_schema())))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == REQUIRED_IN_1


def test_a_document_of_an_older_embinit_is_read(tmp_path) -> None:
    """Without a field that was added later: checked, compared, kept in a history and drawn."""
    document, runs = make_full()
    for claim in document["claims"]:
        for comparison in claim["comparisons"]:
            del comparison["metric_in_words"]
    jsonschema.validate(document, load_schema())
    path = tmp_path / "verdicts.json"
    path.write_text(baseline.compact(document), encoding="utf-8")
    old = baseline.read(path)
    new = make_full()[0]
    assert baseline.changes(new, old) == baseline.changes(new, new)
    assert past.line_of(old)["claims"]
    assert "in bleu" in " ".join(check(render(document, runs)).text.split())


def test_every_model_option_has_words() -> None:
    """An option with named values says each of them as the field does, not as the field's name."""
    named = {
        "activation": ACTIVATIONS,
        "norm": NORMS,
        "norm_position": NORM_POSITIONS,
        "attention": ATTENTION,
    }
    for each in dataclasses.fields(ModelSpec):
        values = {str: named.get(each.name), bool: (True, False)}.get(type(each.default), ())
        assert values is not None, f"{each.name}: name its values here"
        for value in values:
            assert (f"model.{each.name}", value) in SETTINGS, (each.name, value)


def test_every_field_is_described() -> None:
    """A schema whose fields go unexplained documents nothing."""

    def walk(node: dict[str, Any]) -> None:
        for name, part in node.get("properties", {}).items():
            target = schema["$defs"].get(part.get("$ref", "").removeprefix("#/$defs/"), part)
            assert part.get("description") or target.get("description"), name
            walk(part)

    schema = load_schema()
    for node in (schema, *schema["$defs"].values()):
        walk(node)


def test_a_familys_line_tells_how_it_came_out() -> None:
    """What it says, its claims by verdict without its controls, and those apart."""
    document, runs = make_full()
    page = check(render(document, runs))
    told = " ".join(page.text.split())
    assert (
        "Finding 1: wide tables fare worse "
        "2 supported, 1 refuted, 1 no effect, 1 undecided, 2 not run controls 1 of 1" in told
    )
    assert "#family-kim2024-finding-1" in page.links
    only = check(render(make_document([make_control("planted", "SUPPORTED")]), {}))
    assert "no claima control misbehaved controls 0 of 1" in " ".join(only.text.split())


def test_methods_say_what_was_done() -> None:
    """Seeds, looks, families, signatures and versions are those of the session."""
    document, runs = make_full()
    told = render(document, runs)
    assert "trained with 5 seeds" in told
    assert "belong to one family;" in told
    assert "looked at again" not in told
    assert "tok:13a" in told
    assert "Device: cpu." in told
    document["claims"][0]["looks"] = [{"seeds": 3, "share": 0.5}, {"seeds": 6, "share": 0.5}]
    told = render(document, {})
    assert "trained with 3 to 5 seeds" in told
    assert "looked at again, with up to 6 seeds" in told
    assert "3 to 5, then 6" in told


def test_the_same_control_in_two_families_is_counted_once() -> None:
    """Twenty families that ask the same of the same runs show no more than one."""
    controls = [make_control(name, family=f"p/{name}") for name in ("a", "b")]
    assert "the 2 controls make 1 distinct comparisons" in render(make_document(controls), {})
    controls[1]["comparisons"][0]["runs"] = ["another"]
    assert "distinct" not in render(make_document(controls), {})


def test_every_claim_has_its_anchor_and_row() -> None:
    """Links to claims are shared, so each has one id, and its row in the summary goes there."""
    document, runs = make_full()
    page = check(render(document, runs))
    anchors = [name for name in page.ids if name.startswith("claim-")]
    assert len(anchors) == len(document["claims"])
    assert "claim-kim2024-finding-1-plain-glove-micro-translation" in anchors
    counts = Counter(page.links)
    assert all(counts[f"#{anchor}"] >= 2 for anchor in anchors)
    for claim in document["claims"]:
        assert claim["id"] in page.text
    assert page.tags["svg"] > 6


@given(names=st.lists(st.sampled_from(["a/b", "a-b", "a b", "é", "ü", ""]), max_size=6))
@settings(max_examples=30)
def test_anchors_differ_though_ids_nearly_agree(names: list[str]) -> None:
    """Two claims on one fragment would make one of them unreachable."""
    page = check(render(make_document([make_claim("x", "NOT RUN", id=n) for n in names]), {}))
    assert sum(name.startswith("claim-") for name in page.ids) == len(names)


def test_headline_counts_claims_and_controls_apart() -> None:
    """A claim that was not run was not put to the test, so it is no part of the denominator."""
    document, runs = make_full()
    text = check(render(document, runs)).text
    assert (
        "2 of 5 claims hold here, 1 refuted, 1 without effect, 1 undecided, 2 more not run; "
        "controls 1 of 1 as expected." in text
    )
    assert "a control misbehaved" not in text
    assert "about 14" in text
    assert f'pytest "{FINDING_1}::test_open[glove-micro-translation]"' in text
    # Once where the report leads, once where the claims are listed.
    assert text.count("Multi30k is missing: name a data directory.") == 1


def test_the_papers_own_statements_are_counted_first() -> None:
    """Apart from what arithmetic on tables decides, and from what a summary or we say of it."""
    kinds = [("ours", True), ("paper", False), ("paper", True), ("summary", True)]
    claims = [
        make_claim(
            f"{index}", (index % 2 and "REFUTED") or "SUPPORTED", origin=origin, trained=trained
        )
        for index, (origin, trained) in enumerate(kinds * 2)
    ]
    counted = standings(claims)
    assert [each.whose for each in counted] == [
        "the paper's own statements",
        "the paper's own statements, by arithmetic on tables",
        "a summary's, not the paper's, statements",
        "our own statements",
    ]
    assert [each.claims for each in counted] == [2, 2, 2, 2]
    others = "of other statements 2 of 6 hold here, 4 refuted;"
    assert headline(claims).startswith(f"Of the paper's own statements 2 of 2 hold here; {others}")
    late = {"registration": {"state": "afterwards", "differs": "its runs were there"}}
    [told] = standings([{**claims[0], **late}, claims[0]])
    assert (told.registered, dict(told.late)) == (
        "0 of 2",
        {"its runs were there": 1, "not registered": 1},
    )


def test_what_holds_within_a_margin_alone_says_so() -> None:
    """A loss that is shown is no success, however small it is held to be."""
    for relation, ends, words in (
        (">=", [-2.0, -0.5], "worse, by less than the margin"),
        (">=", [-2.0, 0.5], ""),
        ("<=", [0.5, 2.0], "worse, by less than the margin"),
        ("~", [0.5, 2.0], "different, by less than the margin"),
        (">", [0.5, 2.0], ""),
    ):
        one = make_comparison(relation=relation, interval=ends, verdict="SUPPORTED")
        claim = make_claim("a", comparisons=[one])
        assert qualified(claim) == words
        assert qualified({**claim, "verdict": "UNDECIDED"}) == ""


def test_a_misbehaving_control_is_shouted() -> None:
    """Verdicts beside a broken control can't be trusted, and the reader has to see it first."""
    wrong = make_control("planted", "SUPPORTED")
    text = check(render(make_document([make_claim("a"), wrong]), {})).text
    assert "controls 0 of 1 as expected" in text
    assert text.index("a control misbehaved") < text.index("Every claim")
    idle = make_control("planted", "NOT RUN", as_expected=None)
    text = check(render(make_document([idle]), {})).text
    assert "controls 0 of 1 as expected (1 not run)" in text
    assert "a control misbehaved" not in text


def test_no_effect_and_a_decision_that_hangs_on_a_seed_are_told_in_words() -> None:
    """With the margin's lines in the plot, the p that decides, and what the looks can see."""
    open_ = make_comparison(verdict="UNDECIDED", seeds_needed=14, hangs_on=3)
    claims = [
        make_claim("small", "NO EFFECT", comparisons=[make_small()]),
        make_claim("open", "UNDECIDED", comparisons=[open_]),
    ]
    page = check(render(make_document(claims), {}))
    text = " ".join(page.text.split())
    assert "p for no effect0.00042 (within 2 BLEU on both sides)" in text
    assert "margin −2" in text
    assert "margin 2" in text
    assert "0.00042 of 0.010" in text
    assert "seed 3: without it the others do not show the same" in text
    assert (
        "0.900 BLEU from seed to seed, pooled: 0.554 here, 0.800 registered on 10 other seeds"
        in text
    )
    assert "2.75, at the last look 1.25 BLEU" in text
    assert "In 2 of 2 comparisons the differences' standard deviation was pooled" in text
    assert ("span", "class", "badge no-effect") in page.attributes
    legend = text[text.index("How to read this", text.index("Provenance")) :]
    assert "by less than the margin" in legend
    assert "Hangs on one seed" in legend
    bare = make_comparison()
    for name in ("p_no_effect", "hangs_on", "sd", "spread", "smallest_effect"):
        del bare[name]
    older = check(render(make_document([make_claim("older", comparisons=[bare])]), {})).text
    assert "from seed to seed; registered" not in older
    assert "% interval, given that an early look" not in older


def test_an_undecided_comparison_says_what_it_wants() -> None:
    """The seeds that it lacks, not those that it would have then."""
    for fields, told in (
        ({"seeds_needed": 14}, "about 9 more seeds"),
        ({"seeds_needed": 4}, "about 1 more seeds"),
        ({"seeds_needed": None}, "over 1000 more seeds"),
        ({"seeds_needed": None, "difference": 0.0}, "no difference yet"),
        ({"seeds_needed": 7, "hangs_on": 0}, "hangs on seed 0; about 2 more seeds"),
    ):
        assert wanted(make_comparison(verdict="UNDECIDED", **fields)) == told


@pytest.mark.parametrize("claims", [[], [make_claim("a", "NOT RUN")]], ids=["empty", "not run"])
def test_pages_without_results(claims: list[dict[str, Any]]) -> None:
    """The page is written whatever the session came to."""
    text = check(render(make_document(claims), {})).text
    assert "No claim was run." in text
    assert ("None of 1 claims could be run" if claims else "No claims were put to the test") in text


def test_hostile_text_is_only_text() -> None:
    """Third-party claims name anything; a page that ran their names could not be passed on."""
    comparison = make_comparison(
        arms={"left": HOSTILE, "right": HOSTILE},
        unit=HOSTILE,
        metric=HOSTILE,
        metric_in_words=HOSTILE,
    )
    names = ("id", "nodeid", "statement", "place", "task", "source", "family", "reason", "paper")
    fields = dict.fromkeys(names, HOSTILE)
    claims = [
        make_claim("x", **fields, experiment=HOSTILE, comparisons=[comparison]),
        make_claim("x", "NOT RUN", **fields),
        make_control("y", "SUPPORTED", **fields),
    ]
    document = make_document(claims)
    document["session"] |= {"device": HOSTILE, "command": HOSTILE, "versions": {HOSTILE: HOSTILE}}
    runs = {
        run.key: replace(changed(run, signature=HOSTILE, failure=HOSTILE), label=HOSTILE)
        for run in (make_run("GloVe", HOSTILE, 0, 2.0), make_run("Xavier", "a", 0, 2.0))
    }
    html = render(document, runs)
    page = check(html)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert page.text.count(HOSTILE) > 20
    assert HOSTILE not in html


def test_findings_stand_first_and_the_papers_numbers_beside_ours() -> None:
    """Then tables and figures, then what goes beyond; the paper's difference in its own column."""
    names = ("beyond", "figure-1", "table-3", "finding-2", "table-1", "finding-1")
    claims = [make_claim(f"p/{name}/x", family=f"p/{name}", family_says="") for name in names]
    page = render(make_document(claims), {})
    found = re.findall(r'scope="rowgroup">p/([^ <]+)', page)
    assert found == ["finding-1", "finding-2", "table-1", "table-3", "figure-1", "beyond"]
    assert '−0.4 <span class="soft">SST2</span>' in page
    assert "In the paper, SST2" in page


@given(
    values=st.lists(st.tuples(anything, anything), max_size=8),
    numbers=st.tuples(*[anything] * 6),
    relation=st.sampled_from(["<", ">", "<=", ">=", "~"]),
    curve=st.lists(st.floats(), max_size=60),
    measures=st.tuples(*[st.floats()] * 3),
)
@settings(max_examples=80)
def test_any_numbers_render(
    values: list[tuple[float | None, float | None]],
    numbers: tuple[float | None, ...],
    relation: str,
    curve: list[float],
    measures: tuple[float, ...],
) -> None:
    """Diverged runs give NaN and infinity, and the report is where that must be seen, not fatal."""
    difference, low, high, margin, p, power = numbers
    comparison = make_comparison(
        relation=relation,
        left_values=[left for left, _ in values],
        right_values=[right for _, right in values],
        difference=difference,
        interval=[low, high],
        margin=margin,
        p=p,
        power=power,
        runs=["Xavier-0", "GloVe-0"],
    )
    runs = by_key(
        changed(
            make_run("Xavier", "xavier", 0, 1.0),
            curves={"validation_bleu": curve, "validation_loss": [1.0, math.nan]},
            tables={"encoder": replace(TABLE, sigma=math.nan if margin is None else margin)},
            measures=dict(zip(("bleu", "sigma", "pe_share"), measures, strict=True)),
        ),
        make_run("GloVe", "pretrained", 0, 1.0),
    )
    html = render(make_document([make_claim("x", comparisons=[comparison])]), runs)
    text = check(html).text
    assert not re.search(r"\b(nan|inf|None)\b", text)


def test_missing_numbers_are_dashes() -> None:
    """A reader must tell 'not known' from zero."""
    dash = "\N{EN DASH}"
    for absent in (None, math.nan, math.inf, -math.inf, "3", True):
        assert number(absent) == p_value(absent) == duration(absent) == dash
    assert interval([None, 1.5], 1) == f"[{dash}, 1.5]"
    assert number(-0.0001, 2) == "0.00"
    assert number(-12.345) == "\N{MINUS SIGN}12.3"
    assert p_value(0.00001) == "< 0.0001"
    assert p_value(0.0312) == "0.031"
    assert duration(3725) == "1 h 02 min"
    assert moment("2026-11-21T01:46:34+00:00") == "21 November 2026, 01:46 UTC"
    assert moment("yesterday") == "yesterday"


@given(value=st.floats(-1e300, 1e300))
@settings(max_examples=200)
def test_numbers_read_back(value: float) -> None:
    """Three digits (two in scientific notation) keep a number to within a twentieth."""
    read = float(number(value).replace("\N{MINUS SIGN}", "-"))
    assert math.isclose(read, value, rel_tol=0.051, abs_tol=1e-7)


@given(low=st.floats(-1e6, 1e6), size=st.floats(1e-3, 1e6))
@settings(max_examples=200)
def test_ticks_are_even_and_on_the_axis(low: float, size: float) -> None:
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
def test_shade_is_where_the_claim_holds(shift: float, relation: str, margin: float) -> None:
    """The mean lies in the shade exactly when the relation holds of it: the plot can't lie."""
    plot = forest(
        make_comparison(
            relation=relation, left_values=[shift], right_values=[0.0], difference=shift,
            interval=[shift - 1, shift + 1], margin=margin,
        )
    )  # fmt: skip
    assert plot is not None
    assert plot.mean is not None
    holds = {
        "<": shift < 0,
        ">": shift > 0,
        "<=": shift < margin,
        ">=": shift > -margin,
        "~": abs(shift) < margin,
    }[relation]
    near = min(abs(plot.mean - edge) for edge in plot.shade) < 0.2
    assert near or holds == (plot.shade[0] < plot.mean < plot.shade[1])
    assert plot.low <= plot.mean <= plot.high
    assert len(plot.margins) == {"<": 0, ">": 0, "~": 2}.get(relation, 1)


def test_an_endless_interval_has_arrows_and_keeps_the_dots_apart() -> None:
    """Two seeds give intervals of many times the data's width; the dots must stay readable."""
    plot = forest(make_comparison(seeds=2, interval=[-900.0, None]))
    assert plot is not None
    assert (plot.open_low, plot.open_high) == (True, True)
    assert (plot.low, plot.high) == (14.0, 386.0)
    first, second = (float(x) for x in re.findall(r"M([0-9.]+)", plot.dots))
    assert second - first > 1


def test_arms_with_one_label_are_told_apart() -> None:
    """Xavier with and without positions share a label; without the setting curves can't be read."""
    runs = {key: make_run("Xavier", "xavier", 0, 2.0, kind=key) for key in ("sinusoidal", "none")}
    comparison = make_comparison(runs=[*runs, "lost"])
    text = check(render(make_document([make_claim("x", comparisons=[comparison])]), runs)).text
    assert "Xavier (without positions)" in text
    assert "Xavier (with positions)" in text
    assert "Not in the store: lost" in text


def test_files_are_written_whole(tmp_path: Path) -> None:
    """What is read back is what was given, as strict JSON, with nothing left lying about."""
    document, runs = make_full()
    document["claims"][0]["comparisons"][0]["difference"] = math.nan
    document["claims"][0]["reason"] = "a path \udcff that is no UTF-8"
    page = write_report(document, runs, tmp_path / "a" / "b")
    assert page == tmp_path / "a" / "b" / "index.html"
    check(page.read_text("utf-8"))
    assert sorted(path.name for path in page.parent.iterdir()) == [
        "history.jsonl",
        "index.html",
        "verdicts.json",
    ]
    read = json.loads((page.parent / "verdicts.json").read_text("utf-8"))
    assert read["claims"][0]["comparisons"][0]["difference"] is None
    assert read["claims"][0]["reason"] == document["claims"][0]["reason"]
    assert read["claims"][1:] == json.loads(json.dumps(document["claims"][1:]))


def test_a_failed_write_leaves_the_old_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk must not cost the last good report, nor leave a torn file beside it."""
    document, runs = make_full()
    write_report(document, runs, tmp_path / "report")
    before = (tmp_path / "report" / "verdicts.json").read_bytes()
    # Whoever has the old file open goes on reading the old file.
    (tmp_path / "opened").hardlink_to(tmp_path / "report" / "verdicts.json")
    write_report(make_document([]), {}, tmp_path / "report")
    assert (tmp_path / "opened").read_bytes() == before
    before = (tmp_path / "report" / "verdicts.json").read_bytes()

    def torn(handle: int) -> None:
        os.truncate(handle, 100)
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", torn)
    with pytest.raises(InputError, match=r"no space.*there is as it was; make room"):
        write_report(document, runs, tmp_path / "report")
    assert (tmp_path / "report" / "verdicts.json").read_bytes() == before
    assert len(list((tmp_path / "report").iterdir())) == 3


def test_bad_input_says_what_and_how_to_mend(tmp_path: Path) -> None:
    """Another version or a field left out is the writer's fault, and the message says so."""
    document, _ = make_full()
    with pytest.raises(InputError, match="schema_version is 2"):
        render(document | {"schema_version": 2}, {})
    del document["claims"][0]["statement"]
    with pytest.raises(InputError, match=r"statement.*load_schema"):
        render(document, {})
    (tmp_path / "file").write_text("here")
    with pytest.raises(InputError, match="move it"):
        write_report(make_document([]), {}, tmp_path / "file")


def test_a_hostile_test_name_stays_one_argument() -> None:
    """The command is there to be pasted into a shell."""
    assert rerun("a.py::t[x-y]", "micro") == 'pytest "a.py::t[x-y]" --embinit-tier micro'
    assert rerun("a.b::t[x]", "micro") == 'pytest --pyargs "a.b::t[x]" --embinit-tier micro'
    assert rerun("a.py::t[$(rm)]", "micro") == "pytest 'a.py::t[$(rm)]' --embinit-tier micro"


def test_a_large_report_stays_light() -> None:
    """Three hundred claims of twenty seeds are the largest suite in sight; it must open at once."""
    arms = (("GloVe", "pretrained", 20.0), ("Xavier", "xavier", 31.0))
    runs = [make_run(*arm[:2], seed, arm[2]) for seed in range(20) for arm in arms]
    claims = [make_claim(f"c{i}", comparisons=[make_comparison(20)]) for i in range(300)]
    html = render(make_document(claims), by_key(*runs))
    assert len(html.encode()) < 3_000_000


def test_decimals_show_a_narrow_interval() -> None:
    """An interval whose ends print alike says nothing."""
    assert decimals([-20.31, -20.33, -20.29]) == 3
    assert decimals([11.0, 10.2, 11.9]) == 2
    assert decimals([None, math.nan]) == 2
    assert decimals([0.0]) == 2


def test_curves_are_those_that_every_arm_has() -> None:
    """A measure that only one arm follows would leave the other without a line."""
    one, other = make_run("GloVe", "pretrained", 0, 1.0), make_run("Xavier", "xavier", 0, 2.0)
    both = by_key(one, other)
    found = learning_curves(gather(both, both))
    assert found is not None
    assert found.name == "validation BLEU"
    losses = {"validation_loss": one.result.curves["validation_loss"]}
    some = by_key(changed(one, curves=losses), other)
    found = learning_curves(gather(some, some))
    assert found is not None
    assert (found.name, len(found.series)) == ("validation loss", 2)
    none = by_key(changed(one, curves={}), changed(other, curves={}))
    assert learning_curves(gather(none, none)) is None


def test_the_test_sets_noise_stands_beside() -> None:
    """How far it moves a score, and in how many seeds the arms differ by more."""
    document, runs = make_full()
    text = check(render(document, runs)).text
    assert "± 1.25 BLEU on one score; the arms differ in 4 of 5 seeds at 5 %" in text
    quiet = make_claim("quiet", comparisons=[make_comparison(test_set=None)])
    assert "on one score" not in check(render(make_document([quiet]), {})).text


def test_each_arms_spec_is_there_once_and_linked() -> None:
    """What made an arm can be read off the page, from every claim that rests on it."""
    document, runs = make_full()
    html = render(document, runs)
    page = check(html)
    specs = [name for name in page.ids if name.startswith("arm-")]
    assert len(specs) == len(set(specs)) == 2
    assert html.count(f'href="#{specs[0]}"') > 1
    assert "table.init = pretrained" in page.text
    assert "table.trained = true" in page.text
    assert "\nseed = " not in page.text


def results_of(runs: dict[str, Run]) -> Runs:
    """The runs' results, as the paper finds them."""
    return Runs(run.result for run in runs.values())


def drawn(runs: dict[str, Run]) -> list[Figure]:
    """The figures that the paper draws itself."""
    return figures("micro", [run.result for run in runs.values()])


def test_the_mechanism_is_shown_for_each_source() -> None:
    """Tables as the positions meet them: times the square root of their width."""
    _, runs = make_full()
    document = make_document([make_claim("plain")])
    [one] = mechanisms("micro", results_of(runs))
    assert (one.source, one.task) == ("micro-glove", "micro-translation")
    assert [row.label for row in one.widths] == ["Xavier", "GloVe"]
    assert one.widths[0].sigma == pytest.approx(0.388 * math.sqrt(300))
    assert (one.widths[0].positions, one.widths[0].share) == (0.65, 0.25)
    assert [label for label, _, _ in one.histograms] == ["Xavier", "GloVe", "Positions"]
    assert [times for _, _, times in one.histograms] == [math.sqrt(300)] * 2 + [1.0]
    plot = histograms(one.histograms)
    assert plot is not None
    assert [series.label for series in plot.series] == ["Xavier", "GloVe", "Positions"]
    text = check(render(document, runs)).text
    assert "What the model reads at the start: micro-glove on micro-translation" in text
    assert "75.0 % words, 25.0 % positions" in text
    # Runs of another setting or tier, a source's base alone, and those stored before histograms
    # were, don't stand for a source.
    elsewhere = {
        key: changed(
            run, spec=run.spec.changed(positions=replace(run.spec.recipe.positions, kind="none"))
        )
        for key, run in runs.items()
    }
    base = {key: run for key, run in runs.items() if run.label == "Xavier"}
    for others, tier in ((elsewhere, "micro"), (base, "micro"), (runs, "sample")):
        assert mechanisms(tier, results_of(others)) == []
    empty = {"encoder": replace(TABLE, histogram=())}
    older = {key: changed(run, tables=empty, positions=empty) for key, run in runs.items()}
    assert not any("reads at the start" in figure.title for figure in drawn(older))
    assert drawn(elsewhere) == []
    assert "reads at the start" not in check(render(document, elsewhere)).text


def test_what_width_costs_is_drawn_beside_xavier() -> None:
    """Sigma over Xavier's, and the margins that are lost to it; controls take no part."""
    _, runs = make_full()
    assert scatter(doses("micro", results_of({}))) is None
    for key, run in runs.items():
        if run.label == "Xavier":
            runs[key] = changed(run, measures={**run.result.measures, "sigma": 0.0388})
    [dose] = doses("micro", results_of(runs))
    assert (dose.label, dose.task) == ("GloVe", "micro-translation")
    assert dose.width == pytest.approx(10)
    # GloVe has 20 BLEU, Xavier 31.
    assert dose.lost == pytest.approx(11 / TRANSLATION.margin)
    found = scatter([dose])
    assert found is not None
    [point] = found.points
    assert (point.label, found.kinds[point.kind]) == ("GloVe", "micro-translation")
    # Ten times as wide: at the tick that says so.
    [ten] = [tick.at for tick in found.horizontal if tick.text == "10"]
    assert point.x == pytest.approx(ten)
    zero, other = ((float(tick.text), tick.at) for tick in found.vertical[:2])
    scale = (other[1] - zero[1]) / (other[0] - zero[0])
    assert point.y == pytest.approx(zero[1] + scale * (dose.lost - zero[0]), abs=0.2)
    assert (
        "What a table costs over its width"
        in check(render(make_document([make_claim("plain")]), runs)).text
    )
    control = by_key(make_run("Xavier", "xavier", 1000, 1e3))
    assert doses("micro", results_of(runs | control)) == [dose]


@pytest.mark.parametrize("tier", ["micro", "sample"])
def test_each_task_has_a_dose_of_its_own_and_they_are_drawn_together(tier: str) -> None:
    """The claim on dose and response ranks all of them, so all of them are in its picture."""
    runs: dict[str, Run] = {}
    every = experiments(tier, ("glove",))
    for place, one in enumerate(every, start=1):
        metric = one.metric.name
        values = {
            "pretrained": {metric: 50.0, "sigma": 0.1 * place},
            "xavier": {metric: 50.0 + place * one.margin, "sigma": 0.1},
        }
        for init, measures in values.items():
            made = make_run(f"{one.name}-{init}", init, 0, 50.0)
            runs[made.key] = changed(made, spec=one.run(init, 0), measures=measures)
    every_dose = doses(tier, results_of(runs))
    found = {dose.task: (dose.width, dose.lost) for dose in every_dose}
    assert len(found) == len(every) > 1
    assert list(found.values()) == [
        (pytest.approx(place), pytest.approx(place)) for place in range(1, len(every) + 1)
    ]
    plot = scatter(every_dose)
    assert plot is not None
    assert len(plot.points) == len(every)
    assert set(plot.kinds) == set(found)


def probe(kind: str, multiplier: str, accuracy: float, seed: int = 0) -> Run:
    """A probe's run."""
    spec = RELATIONS.run("pretrained", seed)
    positions = replace(spec.recipe.positions, kind=kind, multiplier=multiplier)
    result = RunResult(spec.changed(positions=positions), {"accuracy": accuracy})
    return Run(f"{kind}-{multiplier}-{seed}", "GloVe", result)


def test_relations_stand_before_and_after_positions() -> None:
    """A row for each probe that was made both ways; the mean over seeds."""
    runs = by_key(
        probe("none", "one", 80.0),
        probe("sinusoidal", "one", 4.0),
        probe("sinusoidal", "one", 6.0, seed=1),
        probe("none", "sqrt(D)", 80.0),
    )
    [one] = relations("micro", results_of(runs))
    assert (one.task, one.source) == (RELATIONS.data.task, RELATIONS.source)
    [row] = slides(one.rows).rows
    assert (row.label, row.said) == ("GloVe", "80.0 → 5.0 %")
    assert row.before > row.after


@given(
    counts=st.lists(st.integers(0, 10**6), min_size=64, max_size=64),
    multiplier=st.floats(0.01, 1e3),
)
def test_a_multiplied_table_has_the_same_histogram_further_on(
    counts: list[int], multiplier: float
) -> None:
    """On a log axis multiplying shifts: the shape is unchanged, and all of it is on the plot."""
    found = histograms([("plain", counts, 1.0), ("times", counts, multiplier)])
    if not any(counts[1:]):
        assert found is None
        return
    assert found is not None
    ys = [re.findall(r"[ML ](?:[0-9.]+) ([0-9.]+)", one.line) for one in found.series]
    assert ys[0] == ys[1]
    assert all(0 <= tick.at <= 400 for tick in found.ticks)


def write(directory: Path, effect: float, **session: Any) -> str:
    """A session whose one claim has this effect; the page it leaves."""
    claim = make_claim("plain", comparisons=[make_comparison(difference=effect)])
    document = make_document([claim])
    document["session"] |= session
    return write_report(document, {}, directory).read_text("utf-8")


def test_effects_are_followed_over_sessions(tmp_path: Path) -> None:
    """A new effect is a new point, the same runs judged again are none, nor is another tier."""
    assert "over 2 sessions" not in write(tmp_path, -11.0)
    assert "over 2 sessions" not in write(tmp_path, -11.0, started="2026-11-22T01:00:00+00:00")
    page = write(tmp_path, -7.5, started="2026-11-23T01:00:00+00:00")
    assert "The effect over 2 sessions" in page
    assert "2026-11-23 01:00: SUPPORTED, −7.50" in page
    check(page)
    kept = (tmp_path / "history.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["started"][:10] for line in kept] == ["2026-11-21", "2026-11-23"]
    other = make_document([make_claim("plain", tier="sample")])
    other["session"]["tier"] = "sample"
    assert "sessions, oldest first;" not in write_report(other, {}, tmp_path).read_text("utf-8")


def test_a_baselines_history_is_shown_and_not_taken_over(tmp_path: Path) -> None:
    """The reference's sessions stand beside; the latest report's own file has its own alone."""
    write(tmp_path / "reference", -11.0, started="2026-01-01T01:00:00+00:00")
    claim = make_claim("plain")
    history = [tmp_path / "reference/history.jsonl"]
    page = write_report(make_document([claim]), {}, tmp_path / "latest", history)
    assert "2026-01-01 01:00" in page.read_text("utf-8")
    assert len((tmp_path / "latest/history.jsonl").read_text("utf-8").splitlines()) == 1


@pytest.mark.parametrize(
    "line",
    [
        b'{"started": "2026',
        b"[]",
        b"\xff\xfe",
        b'{"started": "2026-01-01", "tier": "micro", "device": "cpu", "claims": []}',
        b'{"started": "2026-01-01", "tier": "micro", "device": "cpu", "claims": {"a": 1}}',
        b'{"started": "2026-01-01", "tier": "micro", "claims": {}}',
    ],
)
def test_a_damaged_history_costs_its_line_only(tmp_path: Path, line: bytes) -> None:
    """A report that took hours is not lost to a line that somebody cut."""
    write(tmp_path, -11.0)
    with (tmp_path / "history.jsonl").open("ab") as file:
        file.write(line + b"\n")
    with pytest.warns(DamagedHistoryWarning, match=r"history.jsonl, line 2, is no session"):
        page = write(tmp_path, -7.0, started="2026-11-23T01:00:00+00:00")
    assert "The effect over 2 sessions" in page
    kept = (tmp_path / "history.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(one)["started"][:10] for one in kept] == ["2026-11-21", "2026-11-23"]


@dataclass(frozen=True)
class Recall(Procedure):
    """The recipe of a kind of run that another package brings."""

    kind: ClassVar[str] = "recall"


class RecallKind(EvaluationKind):
    """A kind of run that another package brings."""

    procedure = Recall

    def describe(self, run: RunSpec) -> Description:
        return Description("a table of theirs", "asked what it remembers")


def cells_of(html: str, task: str) -> list[list[str]]:
    """The rows of a task in the table of what was trained, cell by cell."""
    table = html[html.index('id="trained"') : html.index('id="calibration"')]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*)</tr>", table)]
    return [row for row in rows if row and row[0] == task]


def test_what_was_trained_lists_every_kind_of_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of a second paper, those that train nothing, and those of other packages."""
    set_apart(monkeypatch, KINDS)
    KINDS.register("recall", RecallKind())
    usual = TRANSLATION.run("xavier", 0)
    [table, *_] = pretrainings("micro")
    specs = [
        usual,
        RELATIONS.run("pretrained", 0),
        table.run("pretrained", 0),
        chung2021.experiments("micro")[0].run(chung2021.USUAL, 0),
        usual.changed(model=None, training=Recall()),
        RunSpec(FunctionRecipe("mine.trained", "c0de", '{"arm": "a"}'), 0),
    ]
    assert {spec.kind for spec in specs} == {*OWN_KINDS, "recall"}
    # Each kind has two runs, of which the first stands for both.
    runs = {
        f"{place}-{seed}": Run(
            f"{place}-{seed}",
            "an arm",
            RunResult(replace(spec, seed=seed), {}, examples={"train": 1000 + place}),
        )
        for place, spec in enumerate(specs)
        for seed in range(2)
    }
    claim = make_claim("x", comparisons=[make_comparison(runs=[*runs])])
    html = render(make_document([claim]), runs)
    check(html)
    thin = "\N{NARROW NO-BREAK SPACE}"
    for place, spec in enumerate(specs):
        words = kind_of(spec).describe(spec)
        found = [row for row in cells_of(html, spec.recipe.task) if f"1{thin}00{place}" in row[1]]
        assert [row[3:] for row in found] == [[words.model, words.training, "2"]], spec.kind
    assert "a table of theirs" in html
    # Of one task and kind, the setting that most runs have.
    other = replace(usual.changed(model=replace(usual.recipe.model, layers=9)), seed=7)
    more = {**runs, "more": Run("more", "an arm", RunResult(other, {}, examples={"train": 1000}))}
    claim = make_claim("x", comparisons=[make_comparison(runs=[*more])])
    html = render(make_document([claim]), more)
    [row] = [one for one in cells_of(html, usual.recipe.task) if one[5] == "3"]
    assert row[3] == kind_of(usual).describe(usual).model
    assert "9 layers" not in row[3]


def test_a_paper_of_somebody_elses_shows_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its citation, its tier and its figures stand on the page; a tier that it lacks says nothing.

    No claim of another paper is on the page, so neither is that paper's.
    """
    asked = []

    def told(tier: str, results: Any) -> Any:
        asked.append(tier)
        own = Figure(f"drawn {HOSTILE}", "<p>as it is</p>", f"told {HOSTILE}")
        return [*figures(tier, results), own]

    theirs = Paper(
        key="mine2030",
        citation="Mine (2030), On Tables",
        short="Mine (2030)",
        tiers={"micro": Tier("micro", "a toy.")},
        experiments=lambda tier: [],
        figures=told,
    )
    set_apart(monkeypatch, PAPERS)
    PAPERS.register("mine2030", theirs)
    _, runs = make_full()
    claim = make_claim("x", paper="mine2030", family="mine2030/part")
    html = render(make_document([claim]), runs)
    assert "<p>as it is</p>" in html
    text = check(html).text
    assert "Mine (2030): its figures" in text
    assert f"drawn {HOSTILE}" in text
    assert f"told {HOSTILE}" in text
    assert "The micro tier is a toy." in text
    assert "75.0 % words, 25.0 % positions" in text
    assert "Kim, Balasubramanian" not in text
    assert asked == ["micro"]
    document = make_document([claim])
    document["session"]["tier"] = "sample"
    text = check(render(document, runs)).text
    assert "The sample tier is" not in text
    assert "% positions" not in text
    assert asked == ["micro"]


@pytest.mark.parametrize(("layers", "said"), [(1, "1 layer"), (2, "2 layers")])
def test_a_reader_learns_which_paper_which_data_and_which_models(layers, said) -> None:
    """A verdict without them can't be read: what was put to the test, and on what."""
    document, runs = make_full()
    text = check(render(document, runs)).text
    assert "Kim, Balasubramanian and Kang (2024), On Initializing Transformers" in text
    assert "The micro tier is a miniature" in text
    assert "the paper tier, which was not run here" in text
    for key, run in runs.items():
        assert run.spec.recipe.model is not None
        model = replace(run.spec.recipe.model, dim=64, layers=layers, feed_forward=128)
        recipe = replace(run.spec.recipe.training, epochs=12, batch_size=32, lr=0.001)
        runs[key] = changed(
            run,
            spec=run.spec.changed(model=model, training=recipe),
            examples={"train": 1200, "validation": 200, "test": 300},
            measures={**run.result.measures, "best_epoch": 12.0},
        )
    page = check(render(document, runs))
    thin = "\N{NARROW NO-BREAK SPACE}"
    assert f"1{thin}200 / 200 / 300" in page.text
    assert f"64 wide, {said}, feed-forward 128" in page.text
    assert "12 epochs, batches of 32, rate 0.001" in page.text
    assert "Of 10 runs 10 were best in their last epoch" in page.text
    assert "Of 10 trained runs 10 were best in their last epoch" in page.text
    another = make_claim("mine", paper="mine2030", family="mine2030/part")
    assert 'id="findings-mine2030">mine2030<' in render(make_document([another]), {})


def test_margins_stand_in_the_summary_and_in_the_legend() -> None:
    """'Not worse' says little where the margin is wide, so it is never out of sight."""
    wide = make_comparison(relation=">=", margin=9.0, p=0.0021, alpha=0.0019)
    text = check(render(make_document([make_claim("wide", comparisons=[wide])]), {})).text
    assert "(≥, margin 9)" in text
    assert "Here they are 9 BLEU" in text
    assert "0.0021 of 0.0019" in text
    strict = make_document([make_claim("strict")])
    assert "Here they are" not in check(render(strict, {})).text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"seeds_needed": 14, "p": 0.01, "p_against": 0.9}, "about 14, to support it"),
        ({"seeds_needed": 14, "p": 0.9, "p_against": 0.01}, "about 14, to refute it"),
        (
            {"seeds_needed": 14, "p": 0.4, "p_against": 0.6, "p_no_effect": 0.02},
            "about 14, to show no effect",
        ),
        ({"seeds_needed": None, "difference": 0.0}, "no number: there is no difference to tell"),
        ({"seeds_needed": None}, "over 1000: the difference is too near the edge"),
    ],
)
def test_an_open_claim_says_what_more_seeds_would_do(fields: dict[str, Any], said: str) -> None:
    """Deciding is not supporting: more seeds may well refute it."""
    claim = make_claim("open", "UNDECIDED", comparisons=[make_comparison(**fields)])
    claim["comparisons"][0]["verdict"] = "UNDECIDED"
    assert said in check(render(make_document([claim]), {})).text


def test_measures_and_levels_are_told_in_words_that_people_use() -> None:
    """Names of code and digits of divisions stay out of sight."""
    bleu = MEASURES["bleu"]
    assert at_epoch(bleu, 3).in_words == "validation BLEU at epoch 3"
    assert over_epochs(bleu).in_words == "mean validation BLEU over the epochs"
    named = {MEASURES[name].in_words for name in MEASURES}
    assert not [words for words in named if "_" in words]
    assert short(0.05 / 26) == "0.00192"
    assert short(None) == "\N{EN DASH}"
    assert number(7.2e-12) == "0.00"
    assert number(-7.2e-12, 3) == "0.000"
    comparison = make_comparison(metric="some_name", metric_in_words="the words for it")
    text = check(render(make_document([make_claim("x", comparisons=[comparison])]), {})).text
    assert "in the words for it" in text
    assert "some_name" not in text


def test_more_arms_than_can_be_told_apart_have_no_curves() -> None:
    """A dozen lines in six styles say nothing."""
    runs = {
        f"{kind}-{seed}": make_run(f"A{kind}", "xavier", seed, 1.0)
        for kind in range(7)
        for seed in range(2)
    }
    assert learning_curves(gather(runs, runs)) is None
    few = {key: run for key, run in runs.items() if not key.startswith("6")}
    assert learning_curves(gather(few, few)) is not None


def test_what_is_only_followed_is_no_difference_between_arms() -> None:
    """Arms are told apart by treatment; whether BLEU was followed by epoch is none."""
    one = make_run("GloVe", "pretrained", 0, 1.0)
    spec = one.spec.changed(training=replace(one.spec.recipe.training, validation_bleu=True))
    frozen = spec.changed(
        training=replace(spec.recipe.training, validation_bleu=False),
        table=replace(spec.recipe.table, trained=False),
    )
    arms = gather(["a", "b"], {"a": changed(one, spec=spec), "b": changed(one, spec=frozen)})
    assert [arm.label for arm in arms] == ["GloVe (trained)", "GloVe (frozen)"]


def test_claims_stand_by_family_and_relations_leave_controls_out() -> None:
    """The order of the summary; an A/A control's other seeds are no part of a mean."""
    claims = [
        make_claim("b", family="kim2024/beyond", family_says="Beyond"),
        make_claim("a"),
        make_control("planted"),
    ]
    html = render(make_document(claims), {})
    assert re.findall(r'<h3 class="family">(.*?)</h3>', html) == [
        "Finding 1: wide tables fare worse",
        "Beyond",
    ]
    runs = by_key(
        probe("none", "one", 80.0),
        probe("sinusoidal", "one", 4.0),
        probe("sinusoidal", "one", 50.0, seed=1000),
    )
    [figure] = drawn(runs)
    assert figure.title.startswith("Word relations before and after positions")
    assert "80.0 → 4.0 %" in figure.html


def test_sessions_are_read_oldest_first_whichever_file_has_them(tmp_path: Path) -> None:
    """A baseline's history may be older or newer than a report's own."""
    days = ["2026-03-02", "2026-03-01", "2026-03-03"]
    for place, day in enumerate(days):
        session = {"started": day, "tier": "micro", "device": "cpu", "claims": {}}
        (tmp_path / f"{place}.jsonl").write_text(json.dumps(session) + "\n")
    found = past.read(tmp_path / f"{place}.jsonl" for place in (0, 1, 2, 0))
    assert [session["started"] for session in found] == sorted(days)
