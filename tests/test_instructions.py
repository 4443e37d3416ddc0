"""One instruction set: trainers are pinned whatever the user's environment says."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from builders import make_function_run, make_result
from embinit.commands.main import main
from embinit.errors import InputError
from embinit.report.baseline import ChangeKind, compare
from embinit.runs import instructions
from embinit.runs.engines import TrainerTask
from embinit.runs.kinds import Making, RunContext, Stack
from embinit.runs.results import provenance
from embinit.runs.store import Store, run_key
from embinit.runs.trainers import processes
from embinit.runs.trainers.processes import Surroundings, Trainers
from test_baseline import a_claim, made
from test_session import small_runs

LOST, _, MOVED = ChangeKind
PINNED = instructions.SETS["avx2"]
on_x86 = pytest.mark.skipif(not instructions._is_x86(), reason="only x86-64 has a set to choose")


def describe(name: str) -> None:
    """Writes what a trainer was started with."""
    import torch

    told = {one: os.environ.get(one) for one in PINNED}
    told["capability"] = torch.backends.cpu.get_cpu_capability()
    Path(name).write_text(json.dumps(told))


@on_x86
def test_a_trainer_of_the_lab_starts_pinned(tmp_path, monkeypatch):
    """Whatever the user's environment asks for: else numbers differ from machine to machine."""
    for name in PINNED:
        monkeypatch.setenv(name, "default")
    trainers, written = Trainers(Surroundings()), tmp_path / "told.json"
    task = TrainerTask(Making(str(written), describe), (), RunContext(None))
    task.make(print, trainers, apart=True)
    trainers.end()
    assert json.loads(written.read_text()) == {**PINNED, "capability": "AVX2"}


@on_x86
@pytest.mark.parametrize(
    ("asked", "home", "expected"),
    [
        ("", None, PINNED),
        ("", ("a", "a.py"), {}),
        ("avx2", ("a", "a.py"), PINNED),
        ("native", None, {}),
        ("native", ("a", "a.py"), {}),
    ],
)
def test_a_user_s_training_is_pinned_if_asked(asked, home, expected, monkeypatch):
    """By default it runs as it does without embinit, and ``native`` is the way back for both."""
    started = {}

    def popen(*args, env, **others):
        started.update(env)
        raise OSError("not started")

    monkeypatch.setattr(processes.subprocess, "Popen", popen)
    monkeypatch.setenv(instructions.VARIABLE, asked)
    for name in PINNED:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(processes.TrainerEnded, match="not started"):
        processes.Trainer(home, Surroundings(), "cpu")
    assert {name: started[name] for name in PINNED if name in started} == expected


@on_x86
def test_a_process_that_is_not_pinned_has_another_make_runs(monkeypatch):
    """A session without trainers makes runs itself, and was started as the user started it."""
    [run] = small_runs(arms=("xavier",), seeds=(0,))
    task, asked = TrainerTask(Stack((run,)), (), RunContext(None)), []
    process = SimpleNamespace(ask=lambda name, sent, progress: asked.append(sent == task.sent))
    trainers = SimpleNamespace(of=lambda home, device: {(None, "cpu"): process}[home, device])
    monkeypatch.delenv("ATEN_CPU_CAPABILITY")
    task.make(print, trainers)
    assert asked == [True]
    torch = SimpleNamespace(
        backends=SimpleNamespace(cpu=SimpleNamespace(get_cpu_capability=lambda: "AVX512"))
    )
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert not instructions.is_pinned(), "the variables came after torch was loaded"


@on_x86
def test_keys_and_records_have_the_set(monkeypatch, tmp_path, capsys):
    """Runs of another set are others; the list of a store says why they are not used."""
    [run], own = small_runs(arms=("xavier",), seeds=(0,)), make_function_run()
    keys = {}
    for asked in ("", "native"):
        monkeypatch.setenv(instructions.VARIABLE, asked)
        keys[asked] = run_key(run, "read"), run_key(own, "read")
    assert keys[""][0] != keys["native"][0]
    assert keys[""][1] != keys["native"][1]
    monkeypatch.setenv(instructions.VARIABLE, "")
    store = Store(tmp_path)
    for name, about in (("a" * 40, {}), ("b" * 40, provenance("cpu", 1.0))):
        store.put(name, replace(make_result(run), provenance=about))
    main(["runs", "--store", str(tmp_path)])
    told = capsys.readouterr().out
    why = "it was made with the instruction set of its machine, not avx2"
    assert told.count(why) == 2  # in its line, and in the summary
    assert f"; 1 don't: {why}" in told


def test_an_unknown_set_is_refused(monkeypatch):
    """Else a misspelt setting would train with what the machine offers."""
    monkeypatch.setenv(instructions.VARIABLE, "avx3")
    with pytest.raises(InputError, match="name one of avx2, compatible, native"):
        instructions.instructions()


MACHINE = {"architecture": "x86_64", "vendor": "AuthenticAMD", "instructions": "avx2"}
OTHER, UNHEARD = ({**MACHINE, "vendor": vendor} for vendor in ("GenuineIntel", "Unheard"))
VERSIONS = {"torch": "2.13.0"}


@pytest.mark.parametrize(
    ("session", "setting", "kind"),
    [
        ({}, "", LOST),
        ({"versions": {"torch": "2.14.0"}}, "torch 2.14.0 in place of torch 2.13.0", LOST),
        ({"machines": [{**MACHINE, "instructions": "native"}]}, "native) in place of", LOST),
        ({"machines": [OTHER]}, "(GenuineIntel, avx2) in place of", LOST),
        ({"machines": [UNHEARD]}, "not tried on processors of Unheard", MOVED),
    ],
)
def test_a_comparison_says_with_what_else_runs_were_made(session, setting, kind):
    """Other versions, instructions or vendors move numbers; an untried vendor fails nothing."""
    was = made(a_claim(), machines=[MACHINE], versions=VERSIONS)
    here = {"machines": [MACHINE], "versions": VERSIONS} | session
    since = compare(made(a_claim("REFUTED", difference=-8.0), **here), was, most=1.0)
    assert setting in since.setting
    assert bool(setting) == bool(since.setting)
    [change] = since.changes
    assert change.kind is kind
    assert change.fault == (kind is LOST)


def test_no_change_means_equal_numbers():
    """A verdict may stand while each score is another; whoever doubts must see that."""
    scores = {"seeds": [0, 1], "left_values": [1.0, 2.0], "right_values": [0.5, 1.0]}
    was = made(a_claim(**scores))
    assert compare(was, was).in_words == "No changes since the baseline."
    other = made(a_claim(**{**scores, "right_values": [0.5, 1.0000001]}))
    said = "No verdict changed since the baseline. The scores of 1 of 1 comparison differ."
    assert compare(other, was).in_words == said
    fresh = made(a_claim(**{**scores, "seeds": [2, 3], "right_values": [0.5, 1.0000001]}))
    assert compare(fresh, was).in_words == "No changes since the baseline."
