"""The study on today's models: its architectures, arms and margins, and its page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from builders import make_result
from embinit.claims.lock import NAME, Lock
from embinit.claims.pilot import margin_of
from embinit.errors import InputError
from embinit.lab.data.preparation import prepare
from embinit.lab.models import layers
from embinit.lab.models.initial_state import InitialState
from embinit.lab.specs import Cut
from embinit.lab.tables.initial_tables import make_initial_tables
from embinit.papers import PAPERS
from embinit.runs.plan import plan
from embinit.specs import RunSpec
from embinit_papers.kim2024.experiments import experiments as kims
from embinit_studies import modern
from embinit_studies.language_model import LanguageModelSpec
from embinit_studies.language_model.model import CausalTransformer
from embinit_studies.language_model.training import LanguageModelTraining
from embinit_studies.modern import (
    ARCHITECTURES,
    OLD,
    SETTINGS,
    Decoder,
    analysis,
    experiments,
    in_architectures,
)
from embinit_studies.modern.paper import PAPER, noise
from embinit_studies.modern.paper_tables import MEASURES, arms_of, methods, paper_tables
from embinit_studies.repairs import REPAIRS, combinations_of

EVERY = experiments("micro")
ARMS = arms_of("micro")
TIMES, TRAINING = SETTINGS["micro"].times, SETTINGS["micro"].training


def test_it_is_registered():
    assert PAPERS["modern"] is PAPER


@pytest.mark.parametrize("experiment", EVERY, ids=lambda each: each.name)
def test_arms_differ_by_their_tables_alone(experiment):
    """So that a seed's arms are one cohort, trained as one model."""
    runs = [arm(experiment).runs_of(0)[0] for arm in ARMS.values()]
    assert len(set(runs)) == len(ARMS)
    assert len(plan(runs)) == 1
    assert len({run.changed(table=runs[0].recipe.table) for run in runs}) == 1


def test_an_architecture_has_the_repairs_of_the_causes_that_it_can_have():
    """A ratio where positions are added; a scale where no norm follows the lookup as it is."""
    known = {each.name: each.repairs for each in EVERY}
    assert known == {
        "post-norm": REPAIRS,
        "post-norm-rotary": ("scale", "step"),
        "pre-norm": REPAIRS,
        "llama": ("scale", "step"),
        "llama-tied": ("scale", "step"),
        "llama-normed": ("step",),
    }
    with pytest.raises(InputError, match="there is no repair 'ratio'"):
        EVERY[3].repaired("ratio")
    with pytest.raises(InputError, match="there is no repair 'ratio'"):
        EVERY[3].effect(Decoder.pretrained, "ratio")


@pytest.mark.parametrize("experiment", EVERY, ids=lambda each: each.name)
def test_repaired_tables_differ_by_their_repairs_alone(experiment):
    """And the step is the arms' own, so that claims on both share runs."""
    for arm in (Decoder.xavier_pretrained, Decoder.pretrained):
        [wide] = arm(experiment).runs_of(0)
        assert arm(experiment.repaired("step")).runs_of(0) == arm(
            experiment.with_scaled_table_rate()
        ).runs_of(0)
        for chosen in combinations_of(experiment.repairs):
            [run] = arm(experiment.repaired(*chosen)).runs_of(0)
            before = wide.recipe
            normed = "scale" in chosen or before.model.norm_after_sum
            assert run.recipe.model == replace(before.model, norm_after_sum=normed)
            scale = str(int(TIMES)) if "ratio" in chosen else before.positions.pe_scale
            assert run.recipe.positions == replace(before.positions, pe_scale=scale)
            rate = TIMES if "step" in chosen else 1.0
            assert run.recipe.table == replace(before.table, rate=rate)


@given(st.lists(st.floats(-10, 10), min_size=4, max_size=4))
def test_effects_of_two_repairs_are_those_of_least_squares(scores):
    """Against numpy's fit of both factors and their product, coded ±1; an effect is twice that."""
    llama = EVERY[3]
    chosen = combinations_of(llama.repairs)
    runs = [Decoder.pretrained(llama.repaired(*each)).runs_of(0)[0] for each in chosen]
    known = dict(zip(runs, scores, strict=True))
    coded = [[1 if name in each else -1 for name in llama.repairs] for each in chosen]
    design = np.array([[1, a, b, a * b] for a, b in coded])
    fitted = np.linalg.lstsq(design, np.array(scores), rcond=None)[0]
    for causes, coefficient in zip(chosen[1:], fitted[1:], strict=True):
        effect = llama.effect(Decoder.pretrained, *causes)
        value = effect.value(0, lambda run: make_result(run, validation_loss=known[run]))
        assert value == pytest.approx(2 * coefficient, abs=1e-6)


def test_the_first_architecture_reads_as_the_papers_models_do():
    old = EVERY[0]
    assert old.name == OLD
    [theirs, *_] = kims("micro", ("glove",))
    assert old.positions == theirs.positions
    for what in ("norm_position", "norm", "attention", "activation", "gated", "bias", "coupled"):
        assert getattr(old.model, what) == getattr(theirs.model, what)


def test_neighbours_differ_in_what_their_names_say():
    by_name = {each.name: each for each in EVERY}

    def changed(first: str, second: str) -> set[str]:
        a, b = (vars(by_name[name].model) for name in (first, second))
        return {what for what in a if a[what] != b[what]}

    assert changed(OLD, "post-norm-rotary") == {"attention"}
    assert changed(OLD, "pre-norm") == {"norm_position"}
    assert changed("llama", "llama-tied") == {"coupled"}
    assert changed("llama", "llama-normed") == {"norm_after_sum"}
    assert {each.positions.kind for each in EVERY[3:]} == {"none"}
    assert by_name["post-norm-rotary"].positions.multiplier == EVERY[0].positions.multiplier
    assert len({(each.data, each.training) for each in EVERY}) == 1


def test_margins_are_twice_xaviers_deviation():
    """In nats, to two digits upwards."""
    lock = Lock(Path(modern.__file__).with_name(NAME))
    assert len(lock.document["noise_floors"]) == len(EVERY) == len(ARCHITECTURES)
    for each in EVERY:
        floor = lock.noise_floor(each)
        assert each.margin == floor["margin"] == margin_of(floor["sd"])
    assert [wanted.experiment for wanted in noise("micro")] == list(EVERY)


def test_a_wide_tables_rate_is_its_width():
    """GloVe's table is that many times as wide as Xavier's, to a tenth."""
    first = EVERY[0]
    data = prepare(first.data, None)
    raw, standardised = (
        make_initial_tables(run, data, None)["encoder"].values[1:].double().std()
        for run in (first.pretrained().runs_of(0)[0], first.pretrained_xavier().runs_of(0)[0])
    )
    assert raw / standardised == pytest.approx(TIMES, rel=0.05)
    assert first.with_scaled_table_rate().pretrained().runs_of(0)[0].recipe.table.rate == TIMES


def test_an_architecture_that_is_not_there_is_named():
    with pytest.raises(InputError, match="did you mean 'llama'"):
        in_architectures("lama")
    with pytest.raises(InputError, match="there are post-norm, "):
        EVERY[0].with_architecture("mamba")


def test_another_architecture_has_as_many_seeds():
    grown = replace(EVERY[3], seeds=6)
    other = grown.with_architecture(OLD)
    assert (other.name, other.seeds) == (OLD, 6)
    assert isinstance(grown.at_rate(1e-3), Decoder)
    assert grown.at_rate(1e-3).pretrained().runs_of(0)[0].recipe.training.lr == 1e-3


def decoder(times: float, rate: float, *, normed: bool) -> RunSpec:
    """A small one with Llama's parts, whose table is ``times`` as wide."""
    [llama] = [each for each in EVERY if each.name == "llama"]
    run = llama.run("pretrained", 5000)
    return run.changed(
        data=replace(run.recipe.data, cut=Cut(60, 20, 1)),
        model=replace(run.recipe.model, layers=1, feed_forward=32, norm_after_sum=normed),
        training=LanguageModelSpec(16, 1, 4e-3, clip=None, eps=1e-60),
        table=replace(run.recipe.table, sigma=0.05 * times, rate=rate),
    )


def trained(run: RunSpec) -> dict[str, torch.Tensor]:
    """Its parameters in float64 after an epoch."""
    initial = InitialState([run], prepare(run.recipe.data, None), None)
    torch.set_default_dtype(torch.float64)
    try:
        trainer = LanguageModelTraining(
            initial, initial.model(CausalTransformer).double(), run.recipe.training, "cpu"
        )
        trainer.model.double()
        trainer.train_epoch(0)
    finally:
        torch.set_default_dtype(torch.float32)
    return {name: value.detach() for name, value in trainer.model.named_parameters()}


@pytest.mark.parametrize("times", [8.0, 0.25])
def test_after_a_norm_the_width_sets_the_relative_step_alone(times, monkeypatch):
    """In float64 without the epsilons of norm and Adam: a table k times as wide, at k times the
    rate, is trained as the original one is, to the last bit where k is a power of two.

    Without clipping, which sees the table's gradient at a k-th.
    """
    monkeypatch.setattr(layers, "RMS_EPSILON", 1e-60)  # 0 would divide the row of padding by 0
    original, wide = (
        trained(decoder(1, 1, normed=True)),
        trained(decoder(times, times, normed=True)),
    )
    for name, value in original.items():
        factor = times if name.endswith("embedding.table") else 1.0
        assert torch.equal(wide[name], factor * value), name
    for other in (decoder(times, 1, normed=True), decoder(times, times, normed=False)):
        name = "stack.encoder_layers.0.feed_forward.inner.weight"
        assert (trained(other)[name] - original[name]).abs().max() > 1e-3


def test_the_tables_beside_have_what_was_run():
    old, llama = EVERY[0], EVERY[3]
    runs = [
        *(run for seed in (0, 1) for run in old.xavier().runs_of(seed)),
        *llama.pretrained().runs_of(0),
        *llama.pretrained().on_other_seeds().runs_of(0),
    ]
    last, first, drawn, given_one = paper_tables(
        "micro", [make_result(run, validation_loss=run.seed, start_loss=7.0) for run in runs]
    )
    assert (last.title, first.title) == (MEASURES["validation_loss"], MEASURES["start_loss"])
    assert [row[0] for row in last.rows] == ["Xavier", "GloVe"]
    assert last.rows[0][1] == "0.50 ± 0.71 (2)"
    assert last.rows[1][4] == "0.00"
    assert [row[0] for row in (*drawn.rows, *given_one.rows)] == ["narrow", "wide"]
    assert paper_tables("micro", []) == []
    told = " ".join(methods("micro"))
    assert all(each.label in told for each in ARCHITECTURES.values())
    assert f"{TRAINING.lr:g}" in told


def measured() -> dict:
    """What an analysis that ran would have: each arm's loss is its number, over two seeds."""
    told = {}
    for shift, name in enumerate(ARCHITECTURES):
        arms = {
            arm: {what: [3 + 0.1 * n + 0.01 * shift, 3.2 + 0.1 * n] for what in MEASURES}
            for n, arm in enumerate(ARMS)
        }
        layers = {arm: {what: [1.0, 0.5, 0.2] for what in analysis.CURVES} for arm in ARMS}
        told[name] = {"arms": arms, "layers": layers}
    return told


def test_the_page_and_the_figures_tell_what_was_measured(tmp_path, monkeypatch):
    """Tables between their marks, and figures that are XML."""
    from xml.etree import ElementTree

    page = tmp_path / "papers" / "modern.md"
    page.parent.mkdir()
    marks = ("seeds", "losses", "findings", "less", "mechanism", "search", "best", "positions")
    page.write_text(
        "a\n"
        + "".join(f"<!-- modern/analysis.py: {name} -->\nold\n<!-- end -->\n" for name in marks)
    )
    monkeypatch.setattr(analysis, "HERE", tmp_path)
    monkeypatch.setattr(analysis, "PAGE", page)
    rates = [f"{rate:g}" for rate in analysis.RATES["micro"]]
    search = {
        name: {arm: {rate: [3.0 + n, 3.0 + n] for n, rate in enumerate(rates)} for arm in ARMS}
        for name in ARCHITECTURES
    }
    analysis.write({"seeds": [0, 2], "architectures": measured()})
    assert page.read_text().count("old") == 3
    bare = {name: {arm: [3.6, 3.7] for arm in analysis.POSITIONLESS} for name in (OLD, "pre-norm")}
    analysis.write(
        {
            "seeds": [0, 2],
            "architectures": measured(),
            "without positions": bare,
            "search": {"seeds": [5000, 2], "losses": search},
        }
    )
    told = page.read_text()
    assert told.startswith("a\n")
    assert "old" not in told
    assert "Seeds 0 to 1." in told
    assert "| what sinusoids gain | post-norm, sinusoids | pre-norm, sinusoids |" in told
    assert "| Xavier | 0.450 (" in told
    assert f"| {next(iter(ARMS))} | 3.100 ± 0.141 |" in told
    assert "| post-norm, sinusoids | Xavier | **3.000** | 4.000 | 5.000 |" in told
    for name in ("findings.svg", "stream.svg"):
        ElementTree.fromstring((tmp_path / name).read_text())


class Fake:
    """A session that has run all: each run's loss is its seed, and its rate on top."""

    may_train = False

    def result(self, run):
        return make_result(run, validation_loss=run.seed % 100 + 100 * run.recipe.training.lr)


def test_the_page_has_a_row_a_factorial():
    """Its losses, and the contrasts of the repairs that an architecture can have."""
    told = analysis.tell_factorials(Fake(), range(2), analysis.FACTORIAL)
    assert told["seeds"] == [0, 2]
    assert told["losses"]["llama"]["GloVe"]["scale + step"] == [0.4, 1.4]
    told["losses"]["llama"]["GloVe"]["scale + step"] = [7.0, 7.0]
    told["contrasts"]["llama"]["Xavier"]["step"] = [2.0, 2.0]
    lines = analysis.factorial_tables(told)
    assert lines[0] == "Seeds 0 to 1, losses:"
    number = 2 * len(EVERY)
    losses, contrasts = lines[2 : 4 + number], lines[-number - 2 :]
    assert losses[0].split(" | ")[1:3] == ["narrow", "wide"]
    [row] = [row for row in losses if row.startswith("| GloVe, Llama-like |")]
    same = "0.900 ± 0.707"
    assert row.split(" | ")[1:] == [*[same] * 3, "–", same, "–", "7.000 ± 0.000", "–", "– |"]
    [row] = [row for row in contrasts if row.startswith("| Xavier, Llama-like |")]
    told_step = "2.000 (2.000 to 2.000)"
    zero = "0.000 (0.000 to 0.000)"
    assert row.split(" | ")[1:] == [zero, "–", told_step, "–", zero, "–", "– |"]


def test_the_page_has_each_arm_of_the_factorial_at_each_rate():
    told = analysis.tell_factorials(Fake(), range(2), analysis.FACTORIAL_AT_RATES)
    del told["losses"]["post-norm"]["Xavier"]["wide, 0.008"]
    rows = analysis.factorial_rates_table(told)[2:]
    assert rows[0] == "| Xavier, post-norm, sinusoids | narrow | **0.700** | 0.900 | 1.300 |"
    assert rows[1] == "| Xavier, post-norm, sinusoids | wide | **0.700** | 0.900 | – |"
    assert len(rows) == 2 * sum(1 + 2 ** len(each.repairs) for each in EVERY)


def test_a_finding_is_the_first_arm_less_the_second():
    results = measured()
    names = list(ARMS)
    for finding in analysis.FINDINGS.values():
        apart = 0.1 * (names.index(finding.first) - names.index(finding.second))
        assert analysis.difference(results, OLD, finding) == pytest.approx([apart, apart])
    [head, _, *rows] = analysis.less_table(results)
    assert len(rows) == 2
    assert all("0.000 (" in row for row in rows)
    assert head.count("|") == len(ARCHITECTURES) + 1


def test_the_search_and_the_claims_share_the_runs_at_the_registered_rate():
    assert TRAINING.lr in analysis.RATES["micro"]
    wanted = analysis.wanted([0], [TRAINING.lr])
    assert wanted == [run for e in EVERY for arm in ARMS.values() for run in arm(e).runs_of(0)]


def test_the_page_tells_real_text_of_the_arms_that_were_run():
    """Explored and confirmed; a finding that lacks an arm, and that arm, have no row."""
    names = list(SETTINGS["sample"].margins)

    def half(*arms):
        runs = {arm: {"validation_loss": [3.0 + n, 3.2 + n]} for n, arm in enumerate(arms)}
        return {"architectures": {name: {"arms": dict(runs)} for name in names}}

    told = {"explored": half(*analysis.REAL_ARMS), "confirmed": half("Xavier", "Xavier, wide")}
    del told["explored"]["architectures"]["llama"]["arms"]["GloVe"]
    del told["confirmed"]["architectures"]["pre-norm"]
    findings = analysis.real_findings_table(told)[2:]
    [row] = [row for row in findings if row.startswith("| GloVe as it is")]
    assert [cell == "–" for cell in row.split(" | ")[2:]] == [name == "llama" for name in names]
    assert sum("| explored |" in row for row in findings) == len(analysis.FINDINGS)
    [confirmed] = [row for row in findings if "| confirmed |" in row]
    assert confirmed.startswith("| width alone: Xavier, wide less Xavier | confirmed | 1.000 (")
    assert confirmed.split(" | ")[2 + names.index("pre-norm")] == "–"
    losses = analysis.real_losses_table(told)[2:]
    assert [row.split(" | ")[0] for row in losses] == ["| Xavier", "| Xavier, wide"]
    assert all(row.split(" | ")[1 + names.index("pre-norm")] == "–" for row in losses)
