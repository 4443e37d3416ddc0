"""Tables with their own learning rate, larger positions, and what all three repairs make equal.

A table k times as large is trained as the original one is, but k times as large throughout, if the
positions are k times as large, a LayerNorm stands after their sum, and the table's rate is k times
as high: the norm takes the k away, the table's gradient is a k-th, and Adam's step, which does not
depend on the gradient's size, is k times as long. Only the epsilons of norm and Adam know the k.
"""

import functools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from embinit.claims.roles import Role
from embinit.errors import InputError
from embinit.lab.data.preparation import prepare
from embinit.lab.models import layers
from embinit.lab.models.initial_state import InitialState
from embinit.lab.specs import Cut
from embinit.lab.tables.initial_tables import check
from embinit.lab.training import stacks as training
from embinit.lab.training.stacks import StackTraining
from embinit.runs.kinds import Stack
from embinit.runs.plan import TrainingPlan
from embinit.specs import RunSpec
from embinit_papers.kim2024.experiments import experiments

REPAIRS = ("scale", "ratio", "step")
SIGMA = 0.05


def base(role: str = "translation", **recipe) -> RunSpec:
    """A small run, with dropout."""
    [made] = experiments("micro", ("glove",), (role,))
    made = made.changed()
    made = replace(
        made,
        model=replace(made.model, feed_forward=16, norm_after_sum=True),
        data=replace(made.data, cut=Cut(60, 20, 20)),
        training=replace(made.training, **{"epochs": 1, "batch_size": 16, **recipe}),
    )
    return made.with_sigma(SIGMA).run("pretrained", 0, Role.REGISTRATION)


def enlarged(run: RunSpec, times: float, *repairs: str) -> RunSpec:
    """The run with a table ``times`` as large, and some repairs of it."""
    assert run.recipe.model is not None
    pe_scale = f"{times}" if "ratio" in repairs else "one"
    return run.changed(
        model=replace(run.recipe.model, norm_after_sum="scale" in repairs),
        table=replace(
            run.recipe.table, sigma=times * SIGMA, rate=times if "step" in repairs else 1.0
        ),
        positions=replace(run.recipe.positions, pe_scale=pe_scale),
    )


@pytest.fixture
def without_epsilons(monkeypatch):
    """float64 models whose LayerNorm has no epsilon."""
    made = InitialState.model
    exact = functools.partial(layers.F.layer_norm, eps=0.0)
    monkeypatch.setattr(InitialState, "model", lambda initial: made(initial).double())
    monkeypatch.setattr(layers.F, "layer_norm", exact)


def trained(*runs: RunSpec) -> dict[str, torch.Tensor]:
    """A stack's parameters in float64 after an epoch."""
    trainer = StackTraining(Stack(runs), None, "cpu")
    torch.set_default_dtype(torch.float64)  # masks and sums
    try:
        trainer.train_epoch(0)
    finally:
        torch.set_default_dtype(torch.float32)
    return {name: value.detach() for name, value in trainer.model.named_parameters()}


def drifts(name: str) -> bool:
    """Whether a key's bias is in the parameter: its gradient is 0, and Adam steps by its rounding.

    Adding the same to all scores leaves their softmax alone.
    """
    return "attention" in name and name.endswith("bias")


@pytest.mark.parametrize("role", ["translation", "sentiment"])
@pytest.mark.parametrize("times", [8.0, 0.25])
def test_all_three_repairs_make_a_large_table_train_as_the_original(role, times, without_epsilons):
    """To the last bit where k is a power of two: its products are exact."""
    run = base(role, eps=1e-60)
    original, large = trained(run), trained(enlarged(run, times, *REPAIRS))
    for name, value in original.items():
        factor = times if name.endswith("embedding.table") else 1.0
        assert torch.equal(large[name], factor * value), name
    initial = InitialState([run], StackTraining(Stack((run,)), None, "cpu").initial.data, None)
    moved = original["encoder_embedding.table"][0] - initial.tables[0]["encoder"].values
    assert moved.abs().max() > 1e-3


@pytest.mark.parametrize("lacking", REPAIRS)
def test_no_repair_can_be_left_out(lacking, without_epsilons):
    run = base(eps=1e-60)
    two = [repair for repair in REPAIRS if repair != lacking]
    original, large = trained(run), trained(enlarged(run, 8.0, *two))
    name = "encoder_layers.0.feed_forward.inner.weight"
    assert (original[name] - large[name]).abs().max() > 1e-3


def rated(*rates: float, role: str = "sentiment", seeds=(5000,)) -> list[RunSpec]:
    """Runs that differ in their tables' rates and seeds alone, and a frozen one."""
    run = base(role, lr=1e-3)
    frozen = run.changed(table=replace(run.recipe.table, trained=False, rate=rates[-1]))
    learning = [run.changed(table=replace(run.recipe.table, rate=rate)) for rate in rates]
    return [replace(run, seed=seed) for run in (*learning, frozen) for seed in seeds]


def test_a_tables_rate_is_that_of_its_own_group_in_torch():
    """Against torch's Adam, which gets the tables as a group with a rate of their own."""
    runs = [rated(rate, role="translation")[0] for rate in (0.25, 3.0)]
    for run, rate in zip(runs, (0.25, 3.0), strict=True):
        ours, theirs = (StackTraining(Stack((run,)), None, "cpu") for _ in range(2))
        named = dict(theirs.model.named_parameters())
        tables = {name for name in named if name.endswith("embedding.table")}
        assert len(tables) == 2
        theirs.per_run_parameters = {}
        groups = [
            {"params": [value for name, value in named.items() if name not in tables]},
            {"params": [named[name] for name in tables], "lr": 1e-3 * rate},
        ]
        theirs.optimizer = torch.optim.Adam(groups, lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
        for trainer in (ours, theirs):
            trainer.train_epoch(0)
        for name, value in ours.model.named_parameters():
            if not drifts(name):
                torch.testing.assert_close(value, named[name], rtol=1e-3, atol=1e-5)


@settings(max_examples=6)
@given(data=st.data())
def test_a_run_has_the_same_bits_beside_any_other_rate(data):
    """Rates are no part of a stack's key, so runs of all rates are stacked."""
    runs = rated(1.0, 8.0, 0.5, seeds=(5000, 5001))
    plan = TrainingPlan()
    plan.add(runs)
    assert len([*iter(plan.take, None)]) == len({run.seed for run in runs})
    chosen = data.draw(st.lists(st.sampled_from(runs), min_size=2, max_size=5, unique=True))
    for run, result in zip(chosen, training.train(Stack(tuple(chosen))), strict=True):
        assert result.curves == curves_alone(run)


@functools.cache
def curves_alone(run: RunSpec):
    return training.train(Stack((run,)))[0].curves


def test_a_factor_of_probes_and_a_rate_that_is_none_are_refused():
    run = base()
    probe = run.changed(positions=replace(run.recipe.positions, pe_scale="sigma_p/sigma_x"))
    with pytest.raises(InputError, match="is for probes"):
        InitialState([probe], prepare(run.recipe.data, None), None)
    for rate in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="above 0"):
            check(run.changed(table=replace(run.recipe.table, rate=rate)), None)
