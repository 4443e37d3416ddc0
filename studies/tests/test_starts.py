"""The study on starts: its arms, its rankings, and what its tables tell."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
import torch
from embtables.best import Scores, compare_with_best
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_result
from embinit.errors import InputError
from embinit.lab.data.preparation import prepare
from embinit.lab.tables import positions
from embinit.lab.tables.initial_tables import make_initial_tables
from embinit.papers import PAPERS
from embinit.runs.plan import plan
from embinit_papers.kim2024.experiments import experiments as kims
from embinit_papers.settings import sigma_at
from embinit_studies import starts
from embinit_studies.causes import experiments as causes
from embinit_studies.starts import (
    FROZEN_RATIO,
    STARTS,
    TRAINED_RATIO,
    analysis,
    analysis_real_text,
    experiments,
)
from embinit_studies.starts.paper import PAPER
from embinit_studies.starts.paper_tables import methods, paper_tables

EVERY = experiments("micro")


def run_of(quantity):
    [run] = quantity.runs_of(0)
    return run


def test_the_settings_are_those_of_causes():
    """So margins and regime hold here, and the arms that both have are the same runs."""
    theirs = {(each.role, each.source_role): each for each in causes("micro")}
    for each in EVERY:
        other = theirs[each.role, "xavier"]
        assert (each.data, each.model, each.training) == (
            other.data,
            other.model,
            other.training,
        )
        assert (each.metric, each.margin, each.planted, each.sigma) == (
            other.metric,
            other.margin,
            other.planted,
            other.sigma,
        )
        assert run_of(each.start("xavier")) == run_of(other.small_sigma())
        glove = theirs[each.role, "glove"]
        assert run_of(each.start("standardised")) == run_of(glove.small_sigma())
        assert run_of(each.frozen().start("standardised")) == run_of(
            glove.frozen().at_ratio(FROZEN_RATIO)
        )


@pytest.mark.parametrize("experiment", EVERY, ids=lambda each: each.name)
def test_starts_are_runs_of_their_own_and_those_of_one_model_are_one_cohort(experiment):
    """Positions in attention and a learned multiplier make another model; nothing else does."""
    runs = {name: run_of(experiment.start(name)) for name in STARTS}
    assert len(set(runs.values())) == len(STARTS)
    models: dict[object, list[str]] = {}
    for name, start in STARTS.items():
        models.setdefault((start.attention, start.learned), []).append(name)
    assert len(models) == 4
    for names in models.values():
        assert len(plan([runs[name] for name in names])) == 1
    assert len(plan([*runs.values()])) == len(models)
    for name, run in runs.items():
        start = STARTS[name]
        assert run.recipe.table.sigma == (
            None if start.as_it_is else sigma_at(TRAINED_RATIO, experiment.dim)
        )
        assert (run.recipe.positions.kind == "none") == (not start.added)
    assert not run_of(experiment.frozen().start("xavier")).recipe.table.trained
    assert (
        run_of(experiment.at_rate_times(2).start("xavier")).recipe.training.lr
        == 2 * experiment.training.lr
    )
    longer = run_of(experiment.for_epochs(4).start("xavier"))
    assert longer.recipe.training.epochs == 4 * experiment.training.epochs


@pytest.mark.parametrize("experiment", experiments("sample"), ids=lambda each: each.name)
def test_on_real_text_starts_are_the_first_papers_arms_with_positions_elsewhere_too(experiment):
    """Beside added ones, or apart from the words; runs that both papers have are the same.

    SST-2 has fewer sentences to judge by here.
    """
    [theirs] = [
        each for each in kims("sample") if each.name.removesuffix("-sentences") == experiment.name
    ]
    theirs = replace(theirs, data=experiment.data)
    alone = {"xavier": theirs["xavier"], "standardised": theirs["pretrained_xavier"]}
    both = {"xavier-both": alone["xavier"], "both": alone["standardised"]}
    apart = {"xavier-untied": alone["xavier"], "untied": alone["standardised"]}
    assert {*alone, *both, *apart, "rotary"} == set(experiment.starts)
    for name, arm in alone.items():
        assert run_of(experiment.start(name)) == run_of(arm)
    for name, arm in both.items():
        run = run_of(arm)
        rotary = run.changed(model=replace(run.recipe.model, attention="rotary"))
        assert run_of(experiment.start(name)) == rotary
    for name, arm in apart.items():
        run = run_of(arm)
        model = replace(run.recipe.model, attention="untied")
        untied = run.changed(model=model, positions=replace(run.recipe.positions, kind="none"))
        assert run_of(experiment.start(name)) == untied
    run = run_of(both["both"])
    model = replace(run.recipe.model, attention="rotary")
    rotary = run.changed(model=model, positions=replace(run.recipe.positions, kind="none"))
    assert run_of(experiment.start("rotary")) == rotary


def test_on_real_text_geometries_have_the_r_of_micro():
    """Each start is micro's in all but data, vectors and width; a table as it is keeps its own."""
    [there] = [each for each in experiments("sample") if each.name == "glove-multi30k-en-de"]
    [here] = [each for each in EVERY if each.role == "translation"]
    for kind, arms in analysis_real_text.geometries_of(there).items():
        like = here.frozen() if kind == "frozen" else here
        for name, arm in arms.items():
            run, other = run_of(arm), run_of(like.start(name))
            assert run.recipe.table.trained == other.recipe.table.trained == (kind == "trained")
            assert run.recipe.table.init == other.recipe.table.init
            apart = starts.orthogonal_positions(300)
            assert run.recipe.positions == (
                apart if STARTS[name].orthogonal_positions else other.recipe.positions
            )
            if name == "raw":
                assert run.recipe.table.sigma is other.recipe.table.sigma is None
            else:
                ratio = 2 * 300 * run.recipe.table.sigma**2
                assert ratio == pytest.approx(2 * here.dim * other.recipe.table.sigma**2)


def test_real_text_is_ranked_on_both_halves():
    """The explored half rules a start out; of those that it leaves the confirmed one compares."""
    first = {"xavier": [1.0, 1.1, 1.2], "both": [9.0, 9.1, 9.2], "standardised": [9.1, 9.0, 9.2]}
    second = {"both": [9.0, 9.1, 9.2], "standardised": [5.0, 5.1, 5.2], "xavier": [99.0] * 3}
    halves = {
        half: {"scores": {"glove-sst2": of}}
        for half, of in zip(analysis_real_text.HALVES, (first, second), strict=True)
    }
    halves["explored"]["scores"]["glove-sst2"]["xavier-both"] = [9.1, 9.0, 9.2]
    halves["explored"]["scores"]["bert-sst2"] = {"xavier": [1.0, 1.2], "both": [1.1, 1.0]}
    rows = analysis_real_text.ranking_table(halves)[2:]
    assert rows[0].startswith("| Xavier | – | ★ 0.0 to")
    assert "Xavier, both" not in "".join(rows)
    rows = rows[1:]
    assert [row.split(" | ")[0] for row in rows] == ["| vectors, standardised", "| vectors, both"]
    assert "★" in rows[1]
    assert "★" not in rows[0]


def test_the_page_has_geometries_on_real_text():
    trained, frozen = (f"GloVe, translation, {kind}" for kind in ("trained", "frozen"))
    scores = {trained: {"xavier": [1.0, 3.0]}, frozen: {}}
    told = analysis_real_text.geometries_table({"seeds": [5000, 5001], "scores": scores})
    assert told[0] == "Seeds 5000 to 5001:"
    assert "| Xavier | 2.0 ± 1.4 | – |" in told


def test_an_unknown_start_is_named():
    with pytest.raises(InputError, match="did you mean 'whitened'"):
        EVERY[0].start("whiten")


@pytest.mark.parametrize("name", STARTS)
def test_starts_have_equal_energy_and_leave_the_decoders_table_alone(name):
    """R is the same for all but the table as it is; the other language starts from Xavier."""
    data = prepare(EVERY[0].data, None)
    tables, xavier = (
        make_initial_tables(run_of(EVERY[0].start(each)), data, None) for each in (name, "xavier")
    )
    values = tables["encoder"].values[~tables["encoder"].special].double()
    ratio = 2 * values.shape[1] * values.square().mean().item()
    if STARTS[name].as_it_is:
        assert ratio > 50 * TRAINED_RATIO
    else:
        assert ratio == pytest.approx(TRAINED_RATIO, rel=1e-3)
        assert tables["decoder"].values.equal(xavier["decoder"].values)


SCORES = st.lists(st.floats(0, 100), min_size=3, max_size=3)


@settings(max_examples=30, deadline=None)
@given(st.lists(SCORES, min_size=3, max_size=4))
def test_the_ranking_is_hsus(scores):
    named = dict(zip(STARTS, scores, strict=False))
    bounds = compare_with_best([Scores.of(each) for each in scores], 0.05)
    told = analysis.ranking(named)
    assert tuple(each.candidate for each in told.values()) == bounds.candidates
    assert tuple(each.high for each in told.values()) == bounds.high


def test_what_one_half_rules_out_is_not_compared_in_the_other():
    """And a start that is left alone costs nothing."""
    explored = {"xavier": [1.0, 2.0, 3.0], "raw": [90.0, 91.0, 92.0]}
    confirmed = {"xavier": [90.0, 91.0, 92.0], "raw": [1.0, 2.0, 3.0]}
    told = {
        half: {"scores": {each.role: {"trained": of} for each in EVERY}}
        for half, of in (("explored", explored), ("confirmed", confirmed))
    }
    rows = analysis.ranking_table(told, "trained")[2:]
    assert rows == [f"| {STARTS['raw'].told('GloVe')} |" + " ★ alone |" * 4]


@pytest.mark.parametrize("dim", [64, 300, 384])
def test_positions_apart_are_as_strong_as_those_of_all_directions(dim):
    """Far from the first position, where every sinusoid has turned."""
    assert starts.ORTHOGONAL_DIRECTIONS == positions.ORTHOGONAL_DIRECTIONS
    table = torch.randn(200, dim, generator=torch.Generator().manual_seed(0))
    apart = positions.orthogonal(4000, table) * float(starts.orthogonal_positions(dim).pe_scale)
    every = positions.sinusoidal(4000, dim)
    assert apart.square().sum().item() == pytest.approx(every.square().sum().item(), rel=1e-3)


def test_over_all_is_the_mean_over_tasks_in_margins():
    scores = {each.role: {"trained": {"xavier": [2 * each.margin, 0.0]}} for each in EVERY}
    assert analysis.over_all(scores, "trained") == {"xavier": [2.0, 0.0]}


def test_what_was_told_of_other_starts_is_kept():
    """Some starts can be trained alone; what the store has counts before what was told."""
    experiment = EVERY[0]
    trained = run_of(experiment.start("untied"))

    class Fake:
        def result(self, run):
            return make_result(run, bleu=7.0) if run == trained else None

    before = {experiment.role: {"trained": {"xavier": [1.0], "untied": [2.0]}}}
    told = analysis.measured(Fake(), {"trained": [0], "frozen": [0]}, before, {})
    assert told[experiment.role] == {"trained": {"xavier": [1.0], "untied": [7.0]}, "frozen": {}}


def test_a_start_is_ranked_at_the_rate_that_was_best_on_explored_seeds():
    """It needs all rates; what was told at another rate is not kept."""
    experiment = EVERY[0]
    rates = analysis.RATES
    means = dict(zip(rates, (1.0, 2.0, 4.0, 3.0), strict=True))
    further = {analysis.rate_kind("trained", t): {"untied": [of]} for t, of in means.items()}
    assert analysis.best_rate(further, "trained", "untied") == 2.0
    assert analysis.best_rate(further, "trained", "xavier") is None
    assert analysis.best_rate(further, "frozen", "untied") is None
    tuned = analysis.tuned_arms_of(experiment, further)
    assert tuned["frozen, tuned"] == {}
    [run] = tuned["tuned"]["untied"].runs_of(0)
    assert run == run_of(experiment.at_rate_times(2.0).start("untied"))
    assert run.recipe.training.lr == 2 * run_of(experiment.start("untied")).recipe.training.lr

    role = experiment.role
    half = {"scores": {role: {"trained": {"both": [8.0]}, "tuned": {"untied": [9.0]}}}}
    half["rates"] = analysis.best_rates({role: further})
    assert analysis.at_best_rates(half, {role: further}) == half["scores"]
    other = further | {analysis.rate_kind("trained", 0.5): {"untied": [7.0]}}
    left = {role: {"trained": {"both": [8.0]}, "tuned": {}}}
    assert analysis.at_best_rates(half, {role: other}) == left
    assert analysis.at_best_rates(half, {}) == left
    assert analysis.at_best_rates({"scores": half["scores"]}, {role: further}) == left


def test_compute_is_counted():
    """Runs are counted once, and those that are not stored not at all; less is no news."""
    run, lacking = (run_of(EVERY[0].start(name)) for name in ("untied", "both"))

    result = replace(make_result(run), provenance={"seconds": 1800.0})

    class Fake:
        def result(self, asked):
            return result if asked == run else None

    found = analysis.compute_of(Fake(), [run, lacking, run], None)
    assert found == {"runs": 1, "hours": 0.5}
    assert analysis.compute_of(Fake(), [run], {"runs": 2, "hours": 0.1})["runs"] == 2


def test_the_pages_and_the_figure_tell_what_was_measured(tmp_path, monkeypatch):
    """Tables between their marks, a figure that is XML, a start that was not run left out."""
    values = {name: [float(n), n + 1.0, n + 3.0] for n, name in enumerate(STARTS)}
    some = {name: of for name, of in values.items() if name != "raw"}
    kinds = {"trained": values, "frozen": some, "tuned": values, "frozen, tuned": some}
    scores = {each.role: kinds for each in EVERY}
    rates = [kind for kind in analysis.FURTHER if "rate" in kind]
    further = {
        each.role: {kind: {"raw": [10.0 * n]} for n, kind in enumerate(rates)} for each in EVERY
    }
    further["sentiment"] |= dict.fromkeys(["more seeds", "longer", "more"], values)
    keys = ("R a word", "R a token", "relations", "position", "word", "kind")
    keys = (*keys, "synonyms", "antonyms")
    told = {
        "sums": {each.role: {name: dict.fromkeys(keys, 0.5) for name in STARTS} for each in EVERY},
        "explored": {"seeds": [5000, 5002], "scores": scores},
        "confirmed": {"seeds": [0, 2], "scores": scores},
        "further": further,
        "compute": {"explored": {"runs": 1234, "hours": 0.7}},
    }
    names = ("sums", "seeds", "scores trained", "scores frozen", "ranking trained")
    names = (*names, "ranking frozen", "rates trained", "rates frozen", "sentiment", "answer")
    names = (*names, "scores tuned", "scores frozen, tuned", "ranking tuned", "compute")
    page = tmp_path / "starts.md"
    marks = [f"<!-- starts/analysis.py: {name} -->\nold\n<!-- end -->" for name in names]
    page.write_text("\n".join(["a", *marks, "b\n"]))
    monkeypatch.setattr(analysis, "HERE", tmp_path)
    monkeypatch.setattr(analysis, "PAGES", (page, tmp_path / "absent.md"))
    analysis.write(told)
    text = page.read_text()
    assert text.startswith("a\n")
    assert text.endswith("b\n")
    assert "old" not in text
    assert "Explored: seeds 5000 to 5002; confirmed: seeds 0 to 2." in text
    assert text.count("| GloVe as it is |") == 5  # before training, its scores, and its rates
    assert "explored 1,234 runs, 0.7 hours." in text
    assert "★ 0.0 to" in text
    assert "| GloVe as it is |" + " 0.0 / 10.0 / 20.0 / **30.0** |" * 3 in text
    assert "| GloVe as it is |" + " 40.0 / 50.0 / 60.0 / **70.0** |" * 3 in text
    ElementTree.fromstring((tmp_path / "scores.svg").read_text())


def test_the_tables_beside_have_what_was_run():
    experiment = EVERY[0]
    runs = [
        *(run for seed in (0, 1) for run in experiment.start("whitened").runs_of(seed)),
        *experiment.start("whitened").on_other_seeds().runs_of(0),
        *experiment.frozen().start("raw").runs_of(0),
    ]
    trained, frozen = paper_tables("micro", [make_result(run, bleu=run.seed) for run in runs])
    assert trained.rows == ((STARTS["whitened"].told("GloVe"), "0.5 ± 0.7 (2)", "–", "–"),)
    assert frozen.rows == ((STARTS["raw"].told("GloVe"), "0.0", "–", "–"),)
    assert paper_tables("micro", []) == []
    told = " ".join(methods("micro"))
    assert all(setting.task in told for setting in starts.TIERS["micro"])
    assert "Xavier's" in " ".join(methods("sample"))


def test_it_is_registered():
    assert PAPERS["starts"] is PAPER
