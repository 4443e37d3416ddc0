"""A recorded step is learnt as often as it is asked for, on the batch that is asked for.

There is no GPU in CI: here a recorder that keeps the function stands for CUDA's.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from embinit.experiments import Cohort
from embinit.graphs import Replayed, cuda_graphs
from embinit.training import CohortTraining
from test_training import cohort


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


def test_recorded_training_is_training():
    """Nothing that a step reads may be made anew between epochs, or a graph would miss it."""
    runs = Cohort(tuple(cohort("translation")[:3]))
    eager, replayed = (CohortTraining(runs, None, "cpu") for _ in range(2))
    recorder = Recorder()
    where = addresses(replayed)
    replayed.learn = Replayed(replayed._step, recorder)
    for training in (eager, replayed):
        for epoch in range(2):
            training._train_epoch(epoch)
    assert recorder.recorded > 1
    assert addresses(replayed) == where
    for one, other in zip(eager.curves.train_loss, replayed.curves.train_loss, strict=True):
        assert torch.equal(one, other)
    for one, other in zip(eager.model.parameters(), replayed.model.parameters(), strict=True):
        assert torch.equal(one, other)


def addresses(training):
    kept = [*training.model.parameters(), *training.model.buffers(), training.total]
    return [one.data_ptr() for one in kept]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")
def test_graphs_train_as_eager_steps_do():
    runs = Cohort(tuple(cohort("translation")[:3]))
    graphs, eager = (CohortTraining(runs, None, "cuda") for _ in range(2))
    eager.learn = eager._step
    assert isinstance(graphs.learn, Replayed)
    for training in (graphs, eager):
        with training._on_own_stream():
            for epoch in range(3):
                training._train_epoch(epoch)
    for one, other in zip(graphs.curves.train_loss, eager.curves.train_loss, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert callable(cuda_graphs)
