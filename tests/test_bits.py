"""On one machine's CPU a run has the same bits in any stack, session and order, after a kill too.

All sizes here are odd, so that runs lie across the vectors of a CPU, and the last batches are
shorter than the others.
"""

from __future__ import annotations

import functools
import multiprocessing
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from embinit.claims.roles import Role
from embinit.lab.specs import Cut, TransferSpec
from embinit.lab.training import stacks as training
from embinit.lab.transfer import stacks as transfer
from embinit.lab.transfer.frozen import FURTHER
from embinit.runs.engines import Processes
from embinit.runs.kinds import Stack
from embinit.runs.results import RunResult
from embinit.runs.session import Session
from embinit.runs.store import DamagedWarning, Store
from embinit.runs.trainers.processes import Surroundings
from embinit.specs import RunSpec
from embinit_papers.kim2024.experiments import experiments
from test_transfer import TEXT, TRANSFER, run_of

MODELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "wide": {"dim": 60, "heads": 3, "layers": 2, "feed_forward": 67},
    "gelu": {"feed_forward": 37, "activation": "gelu"},
    "relative": {"attention": "relative", "norm_position": "pre"},
    "untied": {"attention": "untied", "dim": 60, "heads": 3},
    "rotary": {"attention": "rotary", "norm_after_sum": True, "input_width": 19},
}
SETTINGS: list[Any] = [
    *((role, "plain", "float32") for role in ("translation", "sentiment", "inference")),
    *(("translation", model, "float32") for model in MODELS if model != "plain"),
    ("translation", "plain", "bf16-mixed"),
    ("inference", "gelu", "bf16-mixed"),
    pytest.param(("translation", "wide", "bf16-mixed"), marks=pytest.mark.nightly),
]


@functools.cache
def arms(role: str, model: str, precision: str) -> tuple[RunSpec, ...]:
    """Fifteen runs of one stack: three seeds, and tables of all sorts, one of them frozen."""
    [one] = experiments("micro", ("glove",), (role,))
    one = one.changed()
    one = replace(
        one,
        model=replace(one.model, **MODELS[model]),
        training=replace(one.training, batch_size=16, epochs=2, precision=precision),
        data=replace(one.data, cut=Cut(75, 37, 37)),
    )
    variants = [(setting, "xavier") for setting in (one, one.frozen(), one.without_positions())]
    if one.model.table_width == 64:  # GloVe's vectors
        variants += [(setting, "pretrained") for setting in (one, one.with_sigma(0.3))]
    else:
        variants += [(one.with_sigma(sigma), "xavier") for sigma in (0.05, 0.3)]
    return tuple(s.run(init, i, Role.REGISTRATION) for i in range(3) for s, init in variants)


@functools.cache
def transfers(name: str) -> tuple[RunSpec, ...]:
    """Six runs that pre-train, are probed and are fine-tuned, with output tables of two widths."""
    model = {"dim": 24, "heads": 3, "feed_forward": 31, "activation": "relu"}
    model |= {
        "coupled": {"coupled": True},
        "decoupled": {"input_width": 9, "output_width": 21, "activation": "gelu"},
        "bf16-mixed": {"feed_forward": 37},
    }[name]
    usual = {"batch_size": 16, "precision": name if name == "bf16-mixed" else "float32"}
    text, [task] = replace(TEXT, cut=Cut(70), most_words=111), TRANSFER.tasks
    data = [replace(one, cut=Cut(45, 21), vocabulary=text) for one in (task.data, *TRANSFER.probes)]
    tuning = replace(task.training, schedule="linear", **usual)
    recipe = TransferSpec(
        replace(TRANSFER.pretraining, **usual),
        (replace(task, data=data[0], training=tuning, times=3),),
        tuple(data[1:]),
        further=FURTHER,
    )
    other = model | {"coupled": False, "output_width": 13}
    return tuple(
        run_of(seed, init, recipe, **sizes).changed(data=text)
        for seed in (5000, 5001, 5002)
        for init, sizes in (("normal", model), ("xavier", other))
    )


def numbers(result: RunResult) -> RunResult:
    """All that training made of a run."""
    return replace(result, provenance={})


@functools.cache
def alone(run: RunSpec) -> RunResult:
    make = transfer.train if run.kind == "transfer" else training.train
    return numbers(make(Stack((run,)))[0])


@pytest.mark.parametrize("setting", SETTINGS, ids="-".join)
def test_a_run_alone_has_the_bits_of_a_run_among_fourteen(setting):
    runs = arms(*setting)
    together = training.train(Stack(runs))
    for index in (8, 14):
        assert numbers(together[index]) == alone(runs[index])


@settings(max_examples=5)
@given(data=st.data())
def test_a_run_has_the_same_bits_in_any_stack(data):
    """Of any size, mixture and order."""
    setting = data.draw(st.sampled_from([SETTINGS[0], SETTINGS[3], SETTINGS[-3]]))
    chosen = data.draw(
        st.lists(st.sampled_from(arms(*setting)), min_size=2, max_size=5, unique=True)
    )
    together = training.train(Stack(tuple(chosen)))
    seen = data.draw(st.integers(0, len(chosen) - 1))
    assert numbers(together[seen]) == alone(chosen[seen])


@pytest.mark.parametrize("name", ["coupled", "decoupled", "bf16-mixed"])
def test_a_pretrained_run_has_the_same_bits_in_any_stack(name):
    runs = transfers(name)
    for chosen in (runs, runs[3:0:-1]):
        together = dict(zip(chosen, transfer.train(Stack(chosen)), strict=True))
        for run in (runs[1], runs[3]):
            assert numbers(together[run]) == alone(run)


@pytest.mark.parametrize("setting", [SETTINGS[0], SETTINGS[3]], ids="-".join)
def test_the_trained_parameters_have_the_same_bits(setting):
    """Curves and outputs are sums and choices, which could hide a difference."""

    def parameters(runs: tuple[RunSpec, ...], row: int) -> dict[str, torch.Tensor]:
        trainer = training.StackTraining(Stack(runs), None, "cpu")
        trainer.train_epochs(lambda done: None)
        return {name: value.detach()[row] for name, value in trainer.model.named_parameters()}

    runs = arms(*setting)
    single, many = parameters((runs[2],), 0), parameters(runs, 2)
    assert single.keys() == many.keys()
    for name, value in single.items():
        assert torch.equal(value, many[name]), name


def work(root: Path, runs: list[RunSpec]) -> None:
    torch.set_num_threads(1)
    session = Session(Store(root), None, "cpu")
    session.want(runs)
    session.ensure(runs)


def stored(root: Path, runs: list[RunSpec]) -> list[RunResult]:
    session = Session(Store(root), None, "cpu", may_train=False)
    results = [session.result(run) for run in runs]
    assert all(result is not None for result in results)
    return [numbers(result) for result in results if result is not None]


def test_trainers_order_and_a_kill_leave_the_bits_alone(tmp_path):
    """One process, two of them, other wishes first, and one that was killed in its midst."""
    runs = [*arms("sentiment", "plain", "float32"), *arms("sentiment", "gelu", "float32")]
    work(tmp_path / "one", runs)
    expected = stored(tmp_path / "one", runs)

    session = Session(Store(tmp_path / "two"), None, "cpu")
    session.want(runs)
    with session.trained_by(Processes(["cpu", "cpu"], Surroundings())):
        session.ensure(runs)
    assert stored(tmp_path / "two", runs) == expected

    for run in reversed(runs[13:17]):
        work(tmp_path / "turned", [run])
    work(tmp_path / "turned", runs)
    assert stored(tmp_path / "turned", runs) == expected

    process = multiprocessing.get_context("spawn").Process(
        target=work, args=(tmp_path / "killed", runs)
    )
    process.start()
    end = time.monotonic() + 120
    while not list((tmp_path / "killed" / "runs").glob("*/*.json")):
        assert time.monotonic() < end
        time.sleep(0.01)
    process.kill()
    process.join()
    kept = len(list((tmp_path / "killed" / "runs").glob("*/*.json")))
    assert kept < len(runs)
    work(tmp_path / "killed", runs)
    assert stored(tmp_path / "killed", runs) == expected


def test_what_is_trained_again_in_another_stack_has_the_same_bits(tmp_path):
    """Records are damaged or lost, and the few that are left to train share a smaller stack."""
    runs = list(arms("sentiment", "plain", "float32"))
    work(tmp_path, runs)
    expected = stored(tmp_path, runs)
    store = Store(tmp_path)
    flipped, cut, emptied, lost = (
        store.path(Session(store, None, "cpu").key(runs[index])) for index in (1, 4, 8, 13)
    )
    flipped.write_bytes(bytes([flipped.read_bytes()[0] ^ 1]) + flipped.read_bytes()[1:])
    cut.write_bytes(cut.read_bytes()[:-40])
    emptied.write_bytes(b"")
    lost.unlink()
    with pytest.warns(DamagedWarning):
        work(tmp_path, runs)
    assert len(list(tmp_path.rglob("*.damaged"))) == 3
    assert stored(tmp_path, runs) == expected
