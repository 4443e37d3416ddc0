"""Kinds of runs: each is one object, and a third party's is made and judged like embinit's own.

A result of any kind is kept as plain data and read back as it was.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import embinit
from builders import (
    OWN_KINDS,
    make_experiment,
    make_function_run,
    make_result,
    make_table,
    set_apart,
    values_of,
)
from embinit.claims import Family, Role, Verdict, claim, judge
from embinit.claims.experiments import Experiment
from embinit.claims.run_checks import unequal
from embinit.errors import InputError
from embinit.lab.specs import ModelRecipe, Procedure
from embinit.runs.kinds import KINDS, Kind, kind_of, result_of
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult, provenance
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit.specs import Recipe, RunSpec
from embinit_papers import chung2021
from embinit_papers.kim2024.experiments import probes
from embinit_studies.table_pretraining import pretrainings

RUNS = {
    run.kind: run
    for run in (
        make_experiment().run("pretrained", 3),
        chung2021.experiments("micro")[0].run("pretrained", 3),
        pretrainings("micro")[0].run("pretrained", 3),
        probes("micro")[0].run("pretrained", 3),
        make_function_run(),
    )
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_kind_says_what_its_runs_take(run):
    """Their recipe, read back from a record too, a cost, a place in a stack, words, counts."""
    kind = KINDS[run.kind]
    assert kind_of(run) is kind
    assert type(run.recipe) is kind.recipe
    layout = json.loads(json.dumps(run.as_dict()))
    del layout["seed"]
    assert kind.recipe_of(layout) == run.recipe
    assert kind.cost(run) > 0
    assert kind.stacked(run, "cpu") >= 1
    if run.kind != "function":
        counted = run.changed(data=replace(run.recipe.data, most_words=900))
        assert all(count > 0 for count in kind.parameters(counted).values())
        assert run.recipe.data in kind.reads(run)
    assert hash(kind.check_key(run)) == hash(kind.check_key(replace(run, seed=7)))


@dataclass(frozen=True)
class DiceRecipe(Recipe):
    """A third party's recipe: so many throws of a die with so many sides."""

    arm: str
    throws: int
    sides: tuple[int, ...] = (6,)

    kind: ClassVar[str] = "dice"
    task: ClassVar[str] = "dice"

    @property
    def stacking(self):
        """All dice may be thrown at once."""
        return self.kind


class Dice(Kind):
    """A third party's kind, which shares nothing with the lab's."""

    recipe = DiceRecipe

    def __init__(self):
        self.made = []

    def fingerprint(self, run, data_dir):
        return "dice/1"

    def check(self, run, data_dir):
        if run.recipe.throws < 1:
            raise InputError("a die that is never thrown shows nothing")

    def stacked(self, run, device):
        return 2

    def parameters(self, run):
        return {"throws": run.recipe.throws}

    def make(self, stack, context):
        self.made.append(stack.runs)
        context.progress(1.0)
        return [
            RunResult(run, {"pips": self.pips(run)}, provenance=provenance(context.device, 0.0))
            for run in stack.runs
        ]

    @staticmethod
    def pips(run):
        """The loaded die shows more."""
        text = f"{run.seed}/{run.recipe.arm}"
        chance = hashlib.sha256(text.encode()).digest()[0] / 256
        return chance + 20.0 * (run.recipe.arm == "loaded") * run.recipe.sides[0]


@dataclass(frozen=True, kw_only=True)
class Throws(Experiment):
    """A third party's experiment, whose arms are dice."""

    throws: int
    sides: tuple[int, ...] = (6,)

    def run(self, arm, index, role=Role.CLAIM):
        return RunSpec(DiceRecipe(arm, self.throws, self.sides), role.seed(index))


PIPS = Measure("pips", "pips", "pips shown", "up")
MINE = Family("mine/dice", {"micro": 1})


@claim("mine/dice/a", says="The loaded die throws higher", family=MINE, experiments=list)
def thrown(experiment):
    assert experiment["loaded"] > experiment["fair"]


def dice(**settings):
    usual = {"name": "dice", "tier": "micro", "role": "dice", "metric": PIPS, "margin": 1.0}
    return Throws(**usual, seeds=6, baseline="fair", **settings)


@pytest.fixture
def kind(monkeypatch):
    """A third party's kind, which is registered in a test alone."""
    set_apart(monkeypatch, KINDS)
    return KINDS.register(DiceRecipe.kind, Dice())


def test_a_third_partys_kind_is_planned_made_stored_and_judged(kind, tmp_path):
    """With nothing registered but the kind: its recipe is read back from the store, typed."""
    experiment = dice(throws=3, sides=(6, 8))
    session = Session(Store(tmp_path), None, "cpu")
    judgement = judge(thrown, experiment, session)
    assert judgement.verdict is Verdict.SUPPORTED
    assert [len(runs) for runs in kind.made] == [2] * 6
    assert len(session.made) == 12
    again = Session(Store(tmp_path), None, "cpu", may_train=False)
    run = experiment.run("loaded", 0)
    result = again.result(run)
    assert result.spec == run
    assert result.spec.recipe == DiceRecipe("loaded", 3, (6, 8))
    assert result.measures == {"pips": kind.pips(run)}
    assert judge(thrown, experiment, again).decisions[0].left == judgement.decisions[0].left
    assert len(kind.made) == 6


@pytest.mark.usefixtures("kind")
def test_a_third_partys_runs_count_what_its_kind_counts():
    """Budgets are the kind's, and unequal ones are caught."""
    few, many = (dice(throws=count)["loaded"] for count in (100, 150))
    assert unequal([few > dice(throws=100)["fair"]], "throws") is None
    assert "100 to 150 parameters at throws, 50.0% apart" in unequal([few > many], "throws")
    with pytest.raises(InputError, match="no parameters at 'finetuning'; it does at: throws"):
        unequal([few > many], "finetuning")


def test_a_kind_that_nobody_registered_is_one_clear_error(tmp_path):
    session = Session(Store(tmp_path), None, "cpu")
    with pytest.raises(InputError, match=r"unknown kind of run 'dice': .*known are evaluation"):
        session.key(dice(throws=1).run("fair", 0))


def test_nothing_asks_which_kind_a_run_is_of():
    """What differs from kind to kind is the kind's to say, or a third party's would be left out."""
    kinds = [KINDS[name] for name in OWN_KINDS]
    classes = {getattr(kind, "procedure", kind.recipe) for kind in kinds}
    names = "|".join(one.__name__ for one in {*classes, Recipe, Procedure, ModelRecipe})
    asking = re.compile(rf"is(?:instance|subclass)\([^()]*\b(?:{names})\b|case (?:{names})\(")
    assert asking.search("isinstance(a, specs.TransferSpec | X)")
    texts = {path: path.read_text("utf-8") for path in Path(embinit.__file__).parent.rglob("*.py")}
    assert [str(path) for path, text in texts.items() if asking.search(text)] == []


def test_every_kind_of_embinits_own_has_an_example():
    assert set(RUNS) == set(OWN_KINDS)


def record_of(kind):
    """A record of a run of that kind, as JSON gives it back."""
    result = make_result(RUNS[kind], tables={"encoder": make_table()}, accuracy=50.0)
    return json.loads(json.dumps(result.as_record()))


@pytest.mark.parametrize("kind", sorted(RUNS))
@settings(max_examples=40)
@given(data=st.data())
def test_a_result_is_read_back_as_it_was(kind, data):
    """Every field of the result and of its spec, drawn at will, through JSON and back."""
    drawn = data.draw(values_of(KINDS[kind].recipe))
    if isinstance(drawn, ModelRecipe):
        procedure = data.draw(values_of(KINDS[kind].procedure))
        drawn = replace(drawn, training=procedure)
    run = RunSpec(drawn, data.draw(values_of(int)))
    result = replace(data.draw(values_of(RunResult)), spec=run)
    record = json.loads(json.dumps(result.as_record()))
    again = result_of(record)
    assert record["kind"] == kind
    assert again == result
    assert again.spec.digest() == run.digest()
    assert again.as_record() == result.as_record()


CHANGES = {
    "a field too many": lambda record: record.update(unheard=1),
    "one too many of a table": lambda record: record["tables"]["encoder"].update(unheard=1),
    "no measures": lambda record: record.pop("measures"),
    "no kind": lambda record: record.pop("kind"),
    "no seed": lambda record: record["spec"].pop("seed"),
    "an unheard-of kind": lambda record: record.update(kind="unheard-of"),
    "a number for a spec": lambda record: record.update(spec=5),
    "a number for measures": lambda record: record.update(measures=5),
    "a number for curves": lambda record: record.update(curves=5),
}


@pytest.mark.parametrize("kind", sorted(RUNS))
def test_what_is_no_record_is_one_clear_error(kind):
    """A field too few or too many, another type, and the kind of another run."""
    assert result_of(record_of(kind)).as_record()["kind"] == kind
    for other in {*RUNS} - {kind}:
        with pytest.raises(InputError):
            result_of(record_of(kind) | {"kind": other})
    for what, change in CHANGES.items():
        change(record := record_of(kind))
        with pytest.raises(InputError):
            print(what, result_of(record))
