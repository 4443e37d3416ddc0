"""The code that makes a run is in its key: a changed constant trains anew, a comment doesn't."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

from builders import make_experiment, set_apart
from embinit.code import code_digest
from embinit.data.tasks import TASKS
from embinit.runs.kinds import own_code
from embinit.runs.session import key_of
from embinit.tables import inits
from embinit.tables.inits import INITS, Init
from embinit.tables.recipes import Shipped
from embinit_papers.kim2024.experiments import experiments


def run_spec(init="xavier"):
    return make_experiment().run(init, 0)


OWN = """
import functools
import helpers
from dataclasses import dataclass

RATE = 0.1
LAYERS = [8, 8]


def scaled(x):
    return RATE * x


@dataclass(frozen=True)
class Model:
    width: int = 4

    def loss(self, x):
        return self.width * scaled(x)


def train(seed, deep=True):
    \"\"\"Trains.\"\"\"
    model = Model()
    return {"loss": model.loss(seed) + helpers.more(seed) + len(LAYERS)}


def untouched(seed):
    return {"loss": seed}


train_more = functools.partial(train, deep=False)
"""
HELPERS = """
STEP = 3


def more(x):
    return x + STEP
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Writes two modules, and gives the digests of the first one's functions."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def digests(own=OWN, helpers=HELPERS):
        (tmp_path / "own.py").write_text(own)
        (tmp_path / "helpers.py").write_text(helpers)
        for name in ("own", "helpers"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        own_module = importlib.import_module("own")
        names = ("train", "untouched", "train_more")
        return {name: code_digest(getattr(own_module, name)) for name in names}

    yield digests
    for name in ("own", "helpers"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("RATE = 0.1", "RATE = 0.2"),
        ("[8, 8]", "[8, 16]"),
        ("return RATE * x", "return RATE + x"),
        ("width: int = 4", "width: int = 5"),
        ("self.width * scaled", "self.width + scaled"),
        ("deep=True", "deep=None"),
        ("STEP = 3", "STEP = 4"),
        ("x + STEP", "x - STEP"),
    ],
)
def test_a_change_of_what_a_function_names_changes_its_digest_alone(project, old, new):
    """In itself, a constant, a helper, a class, another module; what doesn't name it stays."""
    before, after = project(), project(OWN.replace(old, new), HELPERS.replace(old, new))
    assert before["train"] != after["train"]
    assert before["train_more"] != after["train_more"]
    assert before["untouched"] == after["untouched"]


def test_an_attribute_is_no_global_of_the_same_name(project):
    """Else ``self.positions`` had an experiment of that name in the key of every run."""
    assert project(OWN + "\nmore = 1\n") == project(OWN + "\nmore = 2\n") == project()


def test_comments_docstrings_and_layout_change_nothing(project):
    """They change no number, so nothing is to be trained again for them."""
    plain = OWN.replace('"""Trains."""', '"""Trains well."""  # it does').replace("\n\n\n", "\n\n")
    assert project() == project(plain, "# a comment\n" + HELPERS)


def test_a_digest_is_the_same_in_another_process(project, tmp_path):
    """A set's order and addresses differ from process to process; a run's name must not."""
    text = OWN + "\nNAMES = {'a', 'b', 'c', 'dd'}\nnamed = lambda seed: (NAMES, len, train)\n"
    project(text)
    code = "import own; from embinit.code import code_digest; print(code_digest(own.named))"
    outs = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in "12"
    }
    assert len(outs) == 1


def test_what_embinit_ships_has_no_code_in_its_keys():
    """``RESULTS_VERSION`` stands for it; so stored runs of its inits and tasks keep their keys."""
    # In a process of its own, since other tests register what isn't embinit's.
    code = """
from embinit.data.tasks import TASKS
from embinit.runs.kinds import KINDS
from embinit.tables import positions
from embinit.tables.inits import INITS

for known in (INITS, TASKS, KINDS, positions.KINDS, positions.MULTIPLIERS):
    assert len(list(known)) > 1
    assert {known.code(name) for name in known} == {""}
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert own_code(run_spec()) == ""


def test_code_that_names_an_init_has_the_digest_of_its_function():
    """So it has not changed since functions are loaded when a table is made."""
    shipped = [name for name in INITS if isinstance(INITS[name].make, Shipped)]
    assert {"xavier", "pretrained_xavier", "pretrained_spared"} <= {*shipped}
    for name in shipped:
        assert code_digest(INITS[name].make) == code_digest(getattr(inits, name))
    assert Init.__module__ == inits.__name__


def test_an_own_inits_code_is_in_a_runs_key(monkeypatch):
    """Before, a changed init got the old results from the store, without a word."""
    set_apart(monkeypatch, INITS)

    def key(make):
        INITS.replace("own", Init("own", "Own", False, make))
        assert [key_of(run_spec(init), None) for init in ("xavier", "beside")] == others
        return key_of(run_spec("own"), None)

    def beside(shape, special, generator):
        return INITS["xavier"](shape, special, generator) * 3

    INITS.replace("beside", Init("beside", "Beside", False, beside))
    others = [key_of(run_spec(init), None) for init in ("xavier", "beside")]

    def first(shape, special, generator):
        return INITS["xavier"](shape, special, generator) * 2

    def second(shape, special, generator):
        return INITS["xavier"](shape, special, generator) * 60

    assert key(first) == key(first) != key(second)


def test_an_own_tasks_code_is_in_a_runs_key(monkeypatch):
    """A task's fingerprint is of its files; what it makes of them is its code."""
    set_apart(monkeypatch, TASKS)
    micro = TASKS[run_spec().data.task]

    class Mine:
        cut = 1

        def __getattr__(self, name):
            return getattr(micro, name)

    class Other(Mine):
        cut = 2

    def key(task):
        TASKS.replace(run_spec().data.task, task)
        assert key_of(elsewhere, None) == other
        return key_of(run_spec(), None)

    [elsewhere] = [
        each.run("xavier", 0) for each in experiments("micro", ("glove",), ("inference",))
    ]
    other = key_of(elsewhere, None)

    assert len({key(micro), key(Mine()), key(Other())}) == 3
