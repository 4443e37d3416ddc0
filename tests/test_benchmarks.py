"""The benchmarks in small: that they do the same work, not how long it takes."""

import importlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from embinit.lab.specs import Cut, ModelSpec
from embinit.stats.rule import decide
from embinit.stats.statements import Evidence, KnownSd, Relation, Verdict, verdict_of
from test_model import copy_layer, copy_linear

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def load(name):
    """A benchmark as a module; processes that it starts find it too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        return importlib.import_module(name)


calibration, engines, nights, steps = map(load, ("calibration", "engines", "nights", "steps"))


def small():
    one = engines.setting("micro", 2, None)
    return replace(
        one,
        model=replace(one.model, layers=1, feed_forward=16),
        data=replace(one.data, max_length=7, cut=Cut(320, 60, 60)),
    )


def test_a_stack_learns_what_its_runs_learn_alone():
    """Runs that fill a stack up change nothing of those that are compared."""
    one = small()
    together, alone, plain = (
        engine(engines.Work(one, None, runs, "cpu"), 1)
        for engine, runs in ((engines.stacked, 4), (engines.stacked, 1), (engines.plain, 1))
    )
    assert together.loss == pytest.approx(alone.loss, rel=2e-3)
    assert 0 < plain.loss < 20
    assert 0 <= plain.bleu <= 100


def take_weights(plain, ours):
    """Gives the plain model the weights of a stacked model's only run."""
    tables = (ours.encoder_embedding.table, ours.decoder_embedding.table)
    for theirs, table in zip(plain.tables, tables, strict=True):
        theirs.weight.data.copy_(table[0])
    sides = ((plain.encoder, ours.encoder_layers), (plain.decoder, ours.decoder_layers))
    for theirs, layer in (pair for side in sides for pair in zip(*side, strict=True)):
        copy_layer(theirs, layer, 0)
    copy_linear(plain.output, ours.output, 0)


def test_the_plain_loop_learns_step_by_step_what_we_learn():
    """From the same weights, without dropout, on the same batches: the same loss in every step."""
    one = small()
    one = replace(one, model=replace(one.model, layers=2, dropout=0.0))
    ours = engines.StackTraining(engines.Stack((one.run("xavier", 0),)), None, "cpu")
    plain = engines.Plain(one, ours.data, 1)
    assert sum(p.numel() for p in plain.parameters()) == ours.model.shape.parameters
    take_weights(plain, ours.model)
    settings = one.training
    adam = torch.optim.Adam(
        plain.parameters(), lr=settings.lr, betas=settings.betas, eps=settings.eps
    )
    order = ours.buckets.shuffle(ours.orders[0])
    for batch in ours.buckets.schedule(0)[:40]:
        group = ours.buckets.groups[batch.group]
        chosen = order[batch.group][batch.low : batch.high]
        before = float(ours.total)
        ours.step(chosen[None], group.source, group.target)
        total, words = plain.losses(ours.data.train, chosen)
        loss = total / words
        assert float(loss.detach()) == pytest.approx(float(ours.total) - before, rel=1e-3)
        adam.zero_grad()
        loss.backward()
        adam.step()


def test_the_papers_bill_is_197_gpu_hours():
    """Table 5's minutes an epoch, times epochs, seeds and the arms of Tables 1 and 7."""
    found = steps.settings()
    assert len(found) == 12
    assert sum(one.paper_hours for one in found) == pytest.approx(197, abs=0.5)
    [glove] = [one for one in found if one.name == "glove multi30k"]
    shape = glove.work.shape
    assert (glove.work.runs, shape.spec.dim, shape.encoder_vocabulary) == (3, 300, 7800)
    assert glove.steps == 454 * 20 * 4


@pytest.mark.parametrize(("words", "precision"), [(40, "tf32"), (0, "float32")])
def test_a_step_is_taken_and_its_memory_estimated(words, precision):
    """Of a translation, and of a classification, which has no decoder."""
    shape = steps.ModelShape(ModelSpec(20, 2, 1, 30), 50, words, words or 2, precision)
    found = steps.measured(steps.Work(shape, 2, 6, 5, 4), "cpu")
    assert found["seconds"] > 0
    assert found.keys() == {"seconds", "estimated_gib"}


def test_the_simulated_rule_is_the_one_that_decides():
    """Calibration decides in numpy, for speed; its bounds are those of ``decide``."""
    rng, level = np.random.default_rng(3), 0.01
    seen = rng.lognormal(size=(60, 6)) - rng.uniform(-6, 9, (60, 1))
    for known in (np.full(60, 0.9), None):
        mean, found = calibration.bounds(seen, known, level)
        above, below = found["S"]
        sd = None if known is None else KnownSd(0.9, 10)
        outcomes = [
            decide(Evidence(row, np.zeros(6), Relation.ABOVE, level, known_sd=sd)) for row in seen
        ]
        shown = np.where((mean >= above).all(1), "SUPPORTED", "UNDECIDED")
        shown = np.where((mean <= -below).all(1), "REFUTED", shown)
        assert [*shown] == [outcome.verdict for outcome in outcomes]
        assert len({*shown}) == 3


def test_the_protocol_is_applied_as_it_was_written():
    """Candidates over a limit are out, then power counts, and two points of it buy a device."""
    results = json.loads(calibration.RESULTS.read_text())
    assert calibration.chosen(results) == results["chosen"]
    assert not calibration.excess(results, results["chosen"])
    assert all(calibration.excess(results, rule) for rule in ("", *"FMSALX", calibration.OWN))


@pytest.mark.parametrize("tier", ["micro", "sample"])
def test_the_pages_code_recomputes_every_verdict_of_the_references(tier):
    """The rule's words suffice: the code is numpy and scipy, and knows nothing of embinit."""
    code = (BENCHMARKS / "recompute.py").read_text("utf-8")
    assert "benchmarks/recompute.py" in (BENCHMARKS.parent / "docs/verdicts.md").read_text("utf-8")
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    assert "embinit" not in code
    recomputed = load("recompute").verdict
    path = BENCHMARKS.parent / f"reports/reference/{tier}/verdicts.json"
    judged = [one for one in json.loads(path.read_text("utf-8"))["claims"] if one["comparisons"]]
    for claim in judged:
        pairs = claim["comparisons"]
        found = [Verdict(recomputed(pair, len(pairs))) for pair in pairs]
        assert verdict_of(found) == claim["verdict"]
        assert [*map(str, found)] == [one["verdict"] for one in pairs]
    assert len(judged) > 20


def test_a_night_of_trials_keeps_what_helps_and_nothing_that_does_not():
    """The rules of ``docs/numbers.md``, on a night of each kind."""
    rng = np.random.default_rng(3)
    assert nights.judged(100)(rng, 0.0)[0] == 0
    assert nights.judged(0)(rng, 0.0)[0] <= 10
    assert nights.judged(0)(rng, 2.0)[0] >= 80


def test_the_pages_show_what_was_simulated():
    """Their tables are those that ``calibration.py --page`` and ``nights.py`` print."""
    results, known = (json.loads(one.RESULTS.read_text("utf-8")) for one in (calibration, nights))
    verdicts, numbers = (
        (calibration.ROOT / f"docs/{name}.md").read_text("utf-8")
        for name in ("verdicts", "numbers")
    )
    assert [table for table in calibration.tables(results) if table not in verdicts] == []
    assert f"{results['families']:,}" in verdicts
    assert nights.table(known["rules"]) in numbers
    assert f"{known['nights']} nights" in numbers


def test_no_edit_of_a_suite_leaves_a_false_claim_green(tmp_path):
    """Two edits of each kind; ``benchmarks/edits.py`` makes all of them."""
    edits = load("edits")
    kinds = {}
    for edit in edits.all_edits():
        kinds.setdefault(edit.kind, []).append(edit)
    few = [edit for those in kinds.values() for edit in (those[0], those[len(those) // 2])]
    outcomes = edits.judged(few, 1, tmp_path)
    wrong = {f"{edit.kind}: {edit.name}": found for edit, found in zip(few, outcomes, strict=True)}
    assert {name: found for name, found in wrong.items() if found in edits.FAULTS} == {}
