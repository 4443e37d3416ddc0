"""A stack is cut to what memory holds, and cut again where the estimate was wrong."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from embinit.errors import InputError
from embinit.lab.models import memory
from embinit.lab.models.memory import RunValues, activations, estimated_bytes, runs_that_fit
from embinit.lab.models.transformer import ModelShape
from embinit.lab.specs import ModelSpec
from embinit.lab.training import stacked
from embinit.lab.training.stacks import StackTraining, train
from embinit.runs import machine
from embinit.runs.kinds import RunContext, Stack
from test_training import stack

SHAPE = ModelShape(ModelSpec(300, 10, 3, 512), 7_800, 5_900, 5_900)


def held_by(batch: int = 64, words: int = 15) -> RunValues:
    of_batch = batch * activations(SHAPE.spec, words, words)
    return RunValues(SHAPE.parameters, of_batch, batch * words * SHAPE.outputs)


def test_the_estimate_is_near_what_was_used():
    """Peak memory of a step of five runs at Multi30k's sizes, as a CPU was measured.

    The benchmark keeps no best epoch, and a process has 0.35 GiB before it trains.
    """
    best = 4 * 5 * SHAPE.parameters
    for batch, words, used in ((64, 8, 1.76), (64, 15, 2.07), (128, 15, 2.87), (64, 32, 3.25)):
        expected = (estimated_bytes(held_by(batch, words), 5) - best) / 2**30 + 0.35
        assert 0.8 < expected / used < 1.2


@given(runs=st.integers(1, 12), free=st.floats(0, 10))
def test_as_many_fit_as_the_estimate_allows(runs, free):
    of_one = estimated_bytes(held_by(), 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "free_bytes", lambda *_: int(free * of_one))
        fit = runs_that_fit(held_by(), runs, "cpu")
    room = memory.SPARE * free * of_one
    assert 1 <= fit <= runs
    assert fit == 1 or estimated_bytes(held_by(), fit) <= room
    assert fit == runs or estimated_bytes(held_by(), fit + 1) > room


@given(st.integers(1, 2**37), st.tuples(*[st.floats(0, 1)] * 3), st.integers(1, 8))
def test_a_process_is_held_to_its_share_of_a_gpu(every, shares, sharers):
    """What it holds and doesn't use counts as free for it; what others hold doesn't."""
    taken, own, in_use = shares
    held, set_to = int(every * taken), []
    used = int((mine := int(held * own)) * in_use)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "mem_get_info", lambda device: (every - held, every))
        patch.setattr(torch.cuda, "memory_reserved", lambda device: mine)
        patch.setattr(torch.cuda, "memory_allocated", lambda device: used)
        patch.setattr(
            torch.cuda, "set_per_process_memory_fraction", lambda *given: set_to.append(given)
        )
        free = memory.free_bytes("cuda:1", sharers)
        runs_that_fit(held_by(), 3, "cuda:1", sharers)
    assert free == min(every // sharers - used, every - held + mine - used)
    assert set_to == [(1 / sharers, 1)]


def test_torch_says_so_when_memory_runs_out():
    with pytest.raises(RuntimeError) as raised:
        torch.empty(2**60)
    errors = raised.value, torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("another")
    assert [*map(memory.ran_out, errors)] == [True, True, False]


@pytest.mark.parametrize(
    ("estimated", "most", "tried"),
    [(6, 1, [6, 3, 2, 1]), (6, 2, [6, 3, 2]), (6, 3, [6, 3]), (2, 6, [2, 2, 2])],
)
def test_what_does_not_fit_is_cut_and_comes_to_the_same(monkeypatch, estimated, most, tried):
    """The estimate lets so many of six train at once; only ``most`` have room."""
    runs = stack("sentiment")
    whole = train(Stack(tuple(runs)))
    sizes, shares = [], []
    honest = StackTraining.run

    def tight(self, progress):
        sizes.append(len(self.initial.specs))
        if len(self.initial.specs) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return honest(self, progress)

    monkeypatch.setattr(StackTraining, "run", tight)
    monkeypatch.setattr(stacked, "runs_that_fit", lambda *_: estimated)
    results = train(Stack(tuple(runs)), RunContext(None, progress=shares.append))
    for one, other in zip(results, whole, strict=True):
        assert one.spec == other.spec
        assert one.measures["accuracy"] == pytest.approx(other.measures["accuracy"], abs=1)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert sizes[: len(tried)] == tried


def test_what_trainers_held_is_freed_before_memory_is_asked_for_or_taken(monkeypatch):
    """Trainers refer to themselves, so a GPU has their memory back only after a collection."""
    events = []
    for module in (memory, stacked):
        monkeypatch.setattr(module, "free_memory", lambda: events.append("freed"))
    monkeypatch.setattr(memory, "free_bytes", lambda *_: events.append("asked"))
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", lambda *_: None)

    def work(part, context):
        events.append(len(part.runs))
        if len(part.runs) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return [*part.runs]

    runs = Stack(tuple(stack("sentiment")[:2]))
    assert stacked.in_parts(runs, held_by(), work, RunContext(None, "cuda")) == [*runs.runs]
    assert events == ["freed", "asked", 2, "freed", 1, "freed", 1]


@pytest.mark.parametrize(
    ("raised", "error", "message"),
    [
        (MemoryError(), InputError, "cpu has too little memory for a single run of micro-"),
        (RuntimeError("shapes differ"), RuntimeError, "shapes differ"),
    ],
)
def test_no_room_for_a_single_run_is_said_and_no_other_error(monkeypatch, raised, error, message):
    def run(self, progress):
        raise raised

    monkeypatch.setattr(StackTraining, "run", run)
    with pytest.raises(error, match=message):
        train(Stack(tuple(stack("sentiment")[:1])))


@pytest.mark.parametrize(
    ("device", "expected"),
    [("cpu", ["cpu"] * 5), ("cuda", ["cuda:0", "cuda:1"] * 2), ("cuda:1", ["cuda:1"] * 2)],
)
def test_each_core_or_share_of_a_gpu_is_a_place_to_train_in(monkeypatch, device, expected):
    monkeypatch.setattr(machine, "cores", lambda: 5)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert machine.training_devices(device) == expected
