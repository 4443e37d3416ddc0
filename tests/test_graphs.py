"""A recorded step is learnt as often as it is asked for, on the batch that is asked for.

There is no GPU in CI: here a recorder that keeps the function stands for CUDA's.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from embinit.lab.data.preparation import prepare
from embinit.lab.models.graphs import Replayed, cuda_graphs, own_stream
from embinit.lab.models.initial_state import InitialState
from embinit.lab.models.layers import PRECISIONS
from embinit.lab.training.stacks import StackTraining, train
from embinit.lab.transfer.pretraining import Pretraining
from embinit.runs.kinds import RunContext, Stack
from test_training import stack
from test_transfer import TEXT, run_of


class Recorder:
    """Keeps what it is given, as a CUDA graph would; counts what it recorded."""

    recorded = 0

    def __call__(self, function):
        self.recorded += 1
        return function


batches = st.lists(
    st.tuples(st.lists(st.integers(0, 99), min_size=1, max_size=3), st.integers(1, 2)), max_size=20
)


@given(batches=batches)
def test_each_batch_is_learnt_once_in_its_turn(batches):
    learnt, recorder = [], Recorder()
    step = Replayed(
        lambda chosen, source, target: learnt.append((chosen.tolist(), source, target)), recorder
    )
    wanted = [([examples], width, width + 1) for examples, width in batches]
    for examples, source, target in wanted:
        step(torch.tensor(examples), source, target)
    assert learnt == wanted
    shapes = [(len(examples[0]), source) for examples, source, _ in wanted]
    assert recorder.recorded == sum(shapes.count(shape) > 1 for shape in set(shapes))


def three(**changes):
    """Three translations with other settings of training."""
    runs = stack("translation")[:3]
    settings = replace(runs[0].recipe.training, **changes)
    return Stack(tuple(run.changed(training=settings) for run in runs))


def pretraining():
    """A trainer that pre-trains two masked language models."""
    return Pretraining(InitialState((run_of(0), run_of(1)), prepare(TEXT, None), None), "cpu")


@pytest.mark.parametrize(
    "make",
    [
        lambda: StackTraining(three(schedule="constant"), None, "cpu"),
        lambda: StackTraining(three(schedule="linear"), None, "cpu"),
        pretraining,
    ],
    ids=["constant", "linear", "pre-training"],
)
def test_recorded_training_is_training(make):
    """Nothing that a step reads may be made anew between epochs, or a graph would miss it."""
    eager, replayed = make(), make()
    recorder = Recorder()
    where = addresses(replayed)
    replayed.learn = Replayed(replayed.step, recorder)
    for one in (eager, replayed):
        for epoch in range(2):
            one.train_epoch(epoch)
    assert recorder.recorded > 1
    assert addresses(replayed) == where
    for one, other in zip(eager.curves.train_loss, replayed.curves.train_loss, strict=True):
        assert torch.equal(one, other)
    for one, other in zip(eager.model.parameters(), replayed.model.parameters(), strict=True):
        assert torch.equal(one, other)


def addresses(of):
    rates = [group["lr"] for group in of.optimizer.param_groups]
    kept = [*of.model.parameters(), *of.model.buffers(), of.total]
    kept += [rate for rate in rates if isinstance(rate, torch.Tensor)]
    return [one.data_ptr() for one in kept]


on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


@on_a_gpu
@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_graphs_train_as_eager_steps_do(precision):
    """Functions that are compiled are so in a shape's first step, which is not recorded."""
    runs = three(precision=precision)
    graphs, eager = (StackTraining(runs, None, "cuda") for _ in range(2))
    eager.learn = eager.step
    assert isinstance(graphs.learn, Replayed)
    for trainer in (graphs, eager):
        with own_stream(trainer.device):
            for epoch in range(3):
                trainer.train_epoch(epoch)
    for one, other in zip(graphs.curves.train_loss, eager.curves.train_loss, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@on_a_gpu
def test_tf32_is_for_its_own_products_recorded_or_not():
    """And for their gradients; a product that is not in TF32 is rounded as float32 is."""
    made = {}
    with own_stream("cuda"):
        x, y, outer = (torch.randn(3, 64, 64, device="cuda") for _ in range(3))
        one, other, third = (matrix.double() for matrix in (x, y, outer))
        exact = (one @ other, third @ other.mT, one.mT @ third)
        inputs = x.requires_grad_(), y.requires_grad_()

        def step(*_):
            for name in ("tf32", "float32"):
                product = PRECISIONS[name](*inputs)
                made[name] = product.detach(), *torch.autograd.grad(product, inputs, outer)

        learn = Replayed(step, cuda_graphs([]))
        for _ in range(3):
            learn(torch.zeros(1, 1, device="cuda").long(), 0, 0)
            for name, low, high in (("tf32", 5e-5, 2e-3), ("float32", 0, 1e-5)):
                for own, wanted in zip(made[name], exact, strict=True):
                    assert low < float((own - wanted).norm() / wanted.norm()) < high


@on_a_gpu
@pytest.mark.parametrize("role", ["translation", "sentiment"])
def test_on_a_gpu_stacked_equals_single(role):
    runs = stack(role)
    together = train(Stack(tuple(runs)), RunContext(None, "cuda"))
    for run, result in zip(runs, together, strict=True):
        [alone] = train(Stack((run,)), RunContext(None, "cuda"))
        assert_same_curves(alone, result)


@on_a_gpu
@pytest.mark.parametrize("role", ["translation", "sentiment"])
def test_a_gpu_trains_as_a_cpu_does(role):
    """Without dropout, whose masks are drawn where they are used."""
    runs = Stack(
        tuple(run.changed(model=replace(run.recipe.model, dropout=0.0)) for run in stack(role))
    )
    for one, other in zip(train(runs, RunContext(None, "cuda")), train(runs), strict=True):
        assert_same_curves(one, other)


def assert_same_curves(one, other):
    assert one.curves.keys() == other.curves.keys()
    assert one.tables == other.tables
    for name, values in one.curves.items():
        assert other.curves[name] == pytest.approx(values, rel=2e-3, abs=1e-3), name
