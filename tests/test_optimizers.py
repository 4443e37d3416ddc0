"""Optimizers of stacked models: against others' code, and the same bits in any stack.

Under each optimizer another rate of the table makes a table k times as wide train as the original,
where positions are as many times wider and a norm follows: Adam's k, Adafactor's 1 (its steps are
in proportion to the table), SGD's k² (the gradient is a k-th).
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from embinit.errors import InputError
from embinit.lab.training import cohorts as training
from embinit.lab.training import optimizers
from embinit.lab.training.cohorts import CohortTraining
from embinit.lab.training.optimizers import OPTIMIZERS, Adafactor
from embinit.runs.kinds import Cohort, kind_of, own_code
from embinit.runs.plan import plan
from embinit.specs import RunSpec
from test_table_rates import SIGMA, base, drifts, trained, widened, without_epsilons

__all__ = ["without_epsilons"]

RATES = {"adam": 1e-3, "adamw": 1e-3, "sgd": 0.05, "adafactor": 0.02}
OTHERS = [name for name in RATES if name != "adam"]


def by(optimizer: str, role: str = "translation", **recipe) -> RunSpec:
    return base(role, optimizer=optimizer, lr=RATES[optimizer], **recipe)


def test_all_of_them_are_tested():
    assert set(OPTIMIZERS) >= set(RATES)


@pytest.mark.parametrize("optimizer", OTHERS)
def test_a_run_alone_has_the_bits_of_a_run_in_a_stack(optimizer):
    """Beside another seed, wider tables, another rate, and a frozen table."""
    run = by(optimizer)
    runs = (
        run.changed(table=replace(run.recipe.table, trained=False)),
        widened(run, 8.0, "scale", "step"),
        run,
        replace(run, seed=5001),
    )
    [whole] = [trainer(*runs)]
    for index, each in enumerate(runs):
        alone = dict(trainer(each).model.named_parameters())
        for name, value in whole.model.named_parameters():
            assert torch.equal(value[index], alone[name][0]), name


def trainer(*runs: RunSpec) -> CohortTraining:
    """A trainer after an epoch."""
    made = CohortTraining(Cohort(runs), None, "cpu")
    made.train_epoch(0)
    return made


def sgd_of_torch(named, lr):
    return torch.optim.SGD([*named.values()], lr=lr, momentum=0.9)


def adamw_of_torch(named, lr):
    vectors = {name for name in named if "norm" in name or name.endswith("bias")}
    return torch.optim.AdamW(
        [
            {"params": [value for name, value in named.items() if name not in vectors]},
            {"params": [named[name] for name in vectors], "weight_decay": 0.0},
        ],
        lr=lr,
        betas=(0.9, 0.98),
        eps=1e-9,
        weight_decay=0.01,
    )


def adafactor_of_transformers(named, lr):
    from transformers import Adafactor as Theirs

    return Theirs(
        [*named.values()], lr=lr, scale_parameter=True, relative_step=False, warmup_init=False
    )


@pytest.mark.parametrize(
    ("optimizer", "other"),
    [
        ("sgd", sgd_of_torch),
        ("adamw", adamw_of_torch),
        ("adafactor", adafactor_of_transformers),
    ],
)
def test_a_run_learns_as_by_others_code(optimizer, other):
    """A decay of 5 steps shows where its rate is high."""
    lr = 10 * RATES[optimizer] if optimizer == "adamw" else RATES[optimizer]
    run = base(optimizer=optimizer, lr=lr)
    ours, theirs = (CohortTraining(Cohort((run,)), None, "cpu") for _ in range(2))
    before = {name: value.detach().clone() for name, value in ours.model.named_parameters()}
    named = dict(theirs.model.named_parameters())
    theirs.per_run_parameters, theirs.optimizer = {}, other(named, lr)
    for each in (ours, theirs):
        each.train_epoch(0)
    for name, value in ours.model.named_parameters():
        if not drifts(name):
            torch.testing.assert_close(value, named[name], rtol=1e-4, atol=2e-6)
            assert not torch.equal(value, before[name]), name


def test_adafactor_is_that_of_torch_below_its_limit():
    """On vectors, matrices and a matrix that is wide; torch's rate is at most 1/√step."""
    generator = torch.Generator().manual_seed(5000)
    shapes = [(7,), (5, 3), (40, 16)]
    ours, theirs = (
        [
            torch.nn.Parameter(torch.randn(shape, generator=generator.manual_seed(1)) * 8)
            for shape in shapes
        ]
        for _ in range(2)
    )
    first = Adafactor([{"params": ours, "lr": 0.1}])
    second = torch.optim.Adafactor(theirs, lr=0.1, eps=(1e-30, 1e-3), weight_decay=0.0)
    for _ in range(20):
        for one, other in zip(ours, theirs, strict=True):
            one.grad = torch.randn(one.shape, generator=generator)
            other.grad = one.grad.clone()
        first.step()
        second.step()
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("optimizer", "power"), [("adafactor", 0), ("sgd", 2), ("adam", 1)])
@pytest.mark.parametrize("times", [8.0, 0.5])
def test_the_rate_that_a_wide_table_needs(optimizer, power, times, without_epsilons, monkeypatch):
    """To the last bit where k is a power of two; with another power of k it is not."""
    monkeypatch.setattr(optimizers, "LEAST_SQUARE", 1e-100)
    run = by(optimizer, eps=1e-60)
    original = trained(run)
    for tried in (0, 1, 2):
        wide = widened(run, times, "scale", "ratio")
        wide = trained(wide.changed(table=replace(wide.recipe.table, rate=times**tried)))
        equal = [
            torch.equal(wide[name], (times if name.endswith("embedding.table") else 1.0) * value)
            for name, value in original.items()
        ]
        assert all(equal) == (tried == power)


@pytest.mark.parametrize("optimizer", OTHERS)
def test_a_frozen_table_stays_and_another_moves(optimizer):
    run = by(optimizer)
    frozen = run.changed(table=replace(run.recipe.table, trained=False))
    made = CohortTraining(Cohort((run, frozen)), None, "cpu")
    table = made.model.encoder_embedding.table
    before = table.detach().clone()
    made.train_epoch(0)
    assert torch.equal(table[1], before[1])
    assert not torch.equal(table[0], before[0])


def test_adams_decay_shrinks_matrices_and_leaves_vectors():
    """Without gradients: beside Adam's step, which is 0 then, only the decay is left."""
    matrix, bias = (torch.nn.Parameter(torch.ones(shape)) for shape in ((4, 4), (1, 4)))
    for each in (matrix, bias):
        each.grad = torch.zeros_like(each)
    made = OPTIMIZERS["adamw"].make(
        [{"params": [matrix, bias], "lr": 0.5}], by("adamw").recipe.training, False
    )
    made.step()
    torch.testing.assert_close(matrix, torch.full((4, 4), 1 - 0.5 * 0.01))
    assert torch.equal(bias, torch.ones(1, 4))


def test_it_came_later_and_separates_cohorts():
    run = base()
    assert (
        run.changed(training=replace(run.recipe.training, optimizer="adam")).digest()
        == run.digest()
    )
    every = [run.changed(training=replace(run.recipe.training, optimizer=name)) for name in RATES]
    assert len({each.digest() for each in every}) == len(plan(every)) == len(RATES)
    assert [own_code(each) for each in every] == [""] * len(RATES)
    told = [kind_of(each).describe(each).training for each in every]
    assert told[0] == kind_of(run).describe(run).training
    assert told[2].endswith("SGD with momentum")


def test_an_unknown_optimizer_is_named_before_anything_trains():
    run = base().changed(training=replace(base().recipe.training, optimizer="adafctor"))
    with pytest.raises(InputError, match="unknown optimizer 'adafctor': did you mean 'adafactor'"):
        kind_of(run).check(run, None)


def test_runs_of_another_optimizer_are_scored():
    [result] = training.train(Cohort((by("adafactor", "sentiment"),)))
    assert result.failure is None
    assert 0 <= result.measures["accuracy"] <= 100
    assert result.measures["sigma"] == pytest.approx(SIGMA, rel=1e-3)
