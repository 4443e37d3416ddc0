"""A training function as a kind of run: what it may do, and what becomes of its answer."""

import os
import random
import re
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import torch

import embinit
import trained
from builders import make_experiment, python, set_apart
from embinit import (
    Family,
    InputError,
    Session,
    Store,
    Verdict,
    claim,
    experiment,
    grid,
    judge,
    training,
)  # fmt: skip
from embinit.claims.judging import judge_stored, read
from embinit.claims.run_checks import repeated_otherwise, seed_faults
from embinit.distributions import versions_of
from embinit.runs import trainings
from embinit.runs.kinds import KINDS, RunContext, Stack, kind_of
from embinit.runs.store import run_key
from embinit.runs.trainings import TRAININGS, other_versions

MINE = Family("mine/f", size=1)


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Each test has training functions of its own."""
    set_apart(monkeypatch, TRAININGS, empty=True)


@pytest.fixture
def session(tmp_path):
    made = Session(Store(tmp_path / "store"), None, "cpu")
    yield made
    made.trainers.end()


def arms_of(function, arms=("low", "high"), measures=("score",), seeds=6, **settings):
    """The experiment on a function, on the tier micro."""
    names = ("inputs", "process", "timeout", "name", "versions", "deterministic")
    how = {name: settings.pop(name) for name in names if name in settings}
    made = training(measures=measures, **how)(function)
    [found] = experiment("mine", training=made, arms=arms, seeds=seeds, **settings)("micro")
    return found


@claim("mine/f/above", says="High is above low", family=MINE, on=lambda tier: [])
def above(arms):
    assert arms["high"] > arms["low"]


def test_a_function_is_planned_called_stored_and_judged(session):
    """Nothing of embinit's model, tasks or inits takes part."""
    judgement = judge(above, arms_of(trained.fit), session)
    assert judgement.verdict is Verdict.SUPPORTED
    again = Session(session.store, None, "cpu", may_train=False)
    assert str(judge(above, arms_of(trained.fit), again)) == str(judgement)
    run = arms_of(trained.fit).run("high", 0)
    result = again.result(run)
    assert result.spec == run
    assert result.measures == session.result(run).measures


def answering(what, **settings):
    """The experiment on a function that gives that answer."""
    arms = {arm: {"arm": arm, "what": what} for arm in ("low", "high")}
    return arms_of(trained.answers, arms, **settings)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("hangs", "answers took longer than its 0.5 s and was ended"),
        ("None", "returned nothing; return a number for each of: score"),
        ("text", "returned a str; return a number"),
        ("no score", "returned a NoneType as score, which is no number"),
        ("misspelt", "lacks score and has scroe that no measure is named after"),
        ("KeyError", r"KeyError: 'what' \(trained.py:\d+\)"),
        ("sys.exit", r"called sys.exit\('done'\)"),
        ("pytest.skip", "raised Skipped: not here"),
        ("os._exit", "answers's process ended with 0"),
    ],
)
def test_what_gives_no_numbers_is_a_failure_of_its_run(session, what, said):
    """It is kept for the session with its reason; the claim on it is not run."""
    timeout = 0.5 if what == "hangs" else None
    arms = answering(what, seeds=3, most_seeds=None, timeout=timeout)
    judgement = judge(above, arms, session)
    assert judgement.verdict is Verdict.NOT_RUN
    assert re.search(said, " ".join(judgement.failures))
    assert not list(session.store)
    kept = {session.failure(run): details for run, details in session.details.items()}
    reason = " ".join(judgement.failures).partition(": arm 'high")[0]
    assert kept[reason]


@pytest.mark.parametrize("what", ["a dict", "a number", "numpy", "torch"])
def test_numbers_of_any_library_are_numbers(session, what):
    """One alone stands for the only measure."""
    session.ensure([run := answering(what).run("high", 0)])
    assert session.result(run).measures == {"score": 9.0}


@pytest.mark.parametrize("given", ["nan", "-inf", "1.7e+308"])
def test_a_number_that_is_not_finite_is_recorded_as_a_failure(session, given):
    """The run is kept: it was trained, and would come out so again. Its square is finite too."""
    experiment_ = answering(given, measures=("score", "loss"))
    judgement = judge(above, experiment_, session)
    assert judgement.verdict is Verdict.NOT_RUN
    assert f"(score is {given})" in judgement.decisions[0].reason
    result = session.result(experiment_.run("high", 0))
    assert (result.measures, result.failure) == ({"loss": 2.0}, f"score is {given}")


def test_a_run_leaves_the_process_as_it_was(session):
    """Later runs must not hang on earlier ones."""
    arms = arms_of(trained.restless)
    session.ensure(runs := [arms.run("high", seed) for seed in range(3)])
    assert {session.result(run).measures["score"] for run in runs} == {0.0}


def test_the_global_generators_are_seeded_by_the_runs_seed(session):
    """Those of libraries too that the first run loads; a function may forget its seed."""
    run = arms_of(trained.drawn, measures=("a", "b", "c")).run("high", 3)
    other = Session(Store(session.store.root / "other"), None, "cpu")
    results = []
    for made_in, runs in ((session, [run]), (other, [replace(run, seed=2), run])):
        made_in.ensure(runs)
        results.append(made_in.result(run).measures)
        made_in.trainers.end()
    assert results[0] == results[1]
    generator = torch.Generator().manual_seed(3)
    assert results[0]["c"] == torch.rand(1, generator=generator).item()
    assert results[0]["a"] == random.Random(3).random()


def test_progress_and_curves_are_told(session):
    """A curve of a measure's name is the measure's, epoch by epoch."""
    shares = []
    arms = arms_of(trained.tells)
    context = RunContext(None, progress=shares.append, trainers=session.trainers)
    [result] = KINDS["function"].make(Stack((arms.run("high", 3),)), context)
    assert result.curves == {"score": [0, 1, 2], "loss": [3, 2, 1]}
    assert shares == [0.0, 1 / 3, 2 / 3, 1.0]
    assert arms["high"].at_epoch(2).measure.of(result) == 1.0


def test_each_run_with_process_has_a_process_of_its_own():
    """The one that the module's other runs share is neither used nor ended. It needs no session."""
    ids = []
    for own in (False, True, True, False):
        run = answering("its process", process=own).run("high", len(ids))
        [result] = KINDS["function"].make(Stack((run,)), RunContext(None))
        ids.append(result.measures["score"])
    assert ids[0] == ids[3]
    assert len(set(ids)) == 3


def test_arms_are_names_settings_or_a_grid():
    """Equal arguments are one run, whatever the arm is called; a default told is no other run."""
    arms = arms_of(
        trained.with_lr, {"a": ..., "b": "a", "c": {"arm": "a", "lr": 0.1}, "d": {"lr": 0.2}}
    )
    assert arms.run("a", 0) == arms.run("b", 0) == arms.run("c", 0) != arms.run("d", 0)
    assert list(grid(lr=[0.1, 0.2], arm=["x"])) == ["lr=0.1, arm=x", "lr=0.2, arm=x"]
    assert arms_of(trained.with_lr, grid(lr=[0.1, 0.2])).run("lr=0.2", 0) != arms.run("d", 0)


def test_sizes_are_arguments_by_tier():
    """A small one for CI, and the real thing."""
    made = training(measures=["score"])(trained.with_lr)
    both = experiment("m", training=made, arms=["x"], sizes={"micro": {"lr": 0.5}})
    assert '"lr": 0.5' in both("micro")[0].run("x", 0).recipe.arguments
    assert '"lr": 0.1' in both("paper")[0].run("x", 0).recipe.arguments


@pytest.mark.parametrize(
    ("arms", "settings", "said"),
    [
        ({"a": {"lrr": 1}}, {}, "can't be called for the arm 'a': .*'lrr'.*it takes"),
        ({"a": {"lr": object()}}, {}, "which is a object; arguments are numbers, text"),
        ({}, {}, "has no arms"),
        (["a"], {"metric": "scroe"}, "no measure 'scroe': did you mean 'score'"),
        (["a"], {"baseline": "b"}, "the baseline 'b' is not an arm of 'mine'"),
        (["a"], {"timeout": 0.0}, "a time limit of 0.0 s can't be kept"),
        (["a"], {"measures": "score"}, "measures are names with units"),
        (["a"], {"versions": {"scikit-lern": "any"}}, "no distribution 'scikit-lern' installed"),
        (["a"], {"sizes": {"ci": 3}}, r"the sizes of 'mine' are \{'ci': 3\}; give"),
        (["a"], {"sizes": {"ci": {"rl": 1}}}, "the size 'ci' of 'mine': with_lr can't be called"),
    ],
)
def test_bad_definitions_are_told_before_anything_runs(arms, settings, said):
    with pytest.raises(InputError, match=said):
        arms_of(trained.with_lr, arms, **settings)


def test_a_version_may_differ_and_is_told_then(session, monkeypatch):
    """Who updates every week would train all anew each time; what was made before is named."""
    arms = arms_of(trained.with_numpy, versions={"NumPy": "any"})
    session.ensure([run := arms.run("high", 0)])
    result = session.result(run)
    assert result.provenance["versions"]["numpy"] == metadata.version("numpy")
    assert other_versions([result]) == []
    monkeypatch.setattr(trainings, "public_version", lambda name: "9.9")
    version = np.__version__
    assert other_versions([result]) == [f"1 run was made with numpy {version}; here is 9.9"]
    assert other_versions([result] * 2)[0].startswith("2 runs were made with numpy")


def test_the_labs_own_runs_have_their_versions_in_the_key(monkeypatch):
    """torch and numpy compute them; of a build's local part (``+cpu``) nothing depends."""
    run = make_experiment().run("xavier", 0)
    here = versions_of(kind_of(run).distributions)
    assert {version.split()[0] for version in here} == {"numpy", "sacrebleu", "torch"}
    assert f"torch {torch.__version__.partition('+')[0]}" in here
    assert run_key(run, "read") == run_key(run, "read", here)
    assert run_key(run, "read") != run_key(run, "read", ["torch 1.0"])


def test_a_run_of_each_arm_is_made_twice_to_see_what_decides_it(session, tmp_path):
    """Nothing else shows that a function gives two numbers for one seed, or remembers a run."""
    calls = tmp_path / "calls"
    arms = {arm: {"arm": arm, "calls": str(calls)} for arm in ("low", "high")}
    counted = arms_of(trained.counted, arms)
    judge(above, counted, session)
    made = calls.read_text().splitlines()
    assert (len(made), len(set(made))) == (14, 12)
    assert not seed_faults(map(session.store.get, session.store))
    session.ensure([counted.run("high", seed) for seed in (6, 7)])
    assert len(calls.read_text().splitlines()) == 17  # one of the first arm, now after another


def test_a_claim_waits_for_the_run_that_is_made_twice(session):
    """Though that is another claim's, planned behind its own."""
    fitted = arms_of(trained.fit)
    session.want([last := fitted.run("high", 9)])
    assert last in judge_stored(read(above, fitted), session).costs
    judge(above, fitted, session)
    assert session.is_stored(last)


def remembering(body, arms=("low", "high"), **settings):
    """The experiment on a function that remembers what runs before it did."""
    return arms_of(trained.remembers, {arm: {"arm": arm, "what": body} for arm in arms}, **settings)


def test_a_run_that_depends_on_the_run_before_it_breaks_its_claims(session):
    """A cache that leaves out the argument made a false claim SUPPORTED, and numbers depended on
    how many trainers there were; in processes of their own the same function is right."""
    for what, measure in (("arm", "score"), ("seed", "score")):
        arms = remembering(what)
        message = " ".join(judge(above, arms, session).failures)
        assert re.search(
            rf"remembers\(seed=.*gave {measure} \S+ in a new process and \S+ after remembers\("
            r".*: something is kept between runs; .*@training\(process=True\)",
            message,
        )
    alone = remembering("arm", process=True)
    later = Session(session.store, None, "cpu")
    assert not later.is_stored(alone.run("high", 0)), "what shared a process is made again"
    assert judge(above, alone, later).verdict is Verdict.SUPPORTED
    later.trainers.end()


def test_a_function_that_depends_on_the_hash_seed_breaks_its_claims(session, monkeypatch):
    """The order of a set decided its numbers, so another process gives others."""
    messages = judge(above, remembering("hash"), session).failures
    assert all("remembers's numbers differ by Python's hash seed" in text for text in messages)
    assert len(messages) == 2
    own = Session(Store(session.store.root / "own"), None, "cpu")
    own.trainers.surroundings.environ["PYTHONHASHSEED"] = "3"  # which the user answers for
    assert not judge(above, remembering("hash"), own).failures
    own.trainers.end()


def test_a_process_that_ends_in_the_second_call_says_nothing_of_the_function(session, tmp_path):
    """As where a session is interrupted: the record kept that as a fault, for good."""
    arms = {arm: {"arm": arm, "calls": str(tmp_path / "calls")} for arm in ("low", "high")}
    assert not judge(above, arms_of(trained.ends_once, arms), session).failures
    assert not seed_faults(map(session.store.get, session.store))
    assert len(session.troubles) == 1


def test_a_function_that_ignores_its_seed_breaks_its_claims(session):
    """Its seeds are one number many times; one exact arm next to a random one is no fault."""
    arms, root = arms_of(trained.without_seed), session.store.root
    said = "without_seed ignores its seed: every seed gave the same results"
    [message] = judge(above, replace(arms, most_seeds=12), session).failures
    assert len(session.made) == 12  # of the first analysis
    assert message.startswith(said)
    half = arms_of(trained.half)
    assert not judge(above, half, Session(Store(root / "other"), None, "cpu")).failures
    exact = arms_of(trained.without_seed, name="exact", deterministic=True)
    assert not judge(above, exact, session).failures


def test_two_functions_of_one_name_are_refused():
    """One would be called for the other in another process."""
    training(measures=["score"])(trained.fit)

    def other(seed):
        return 1.0

    with pytest.raises(InputError, match=r"are called 'fit' \(trained.py:\d+ and test_fu"):
        training(measures=["score"], name="fit")(other)
    assert TRAININGS["fit"].function is trained.fit
    with pytest.raises(InputError, match=r"takes no seed; write def seedless\(seed"):
        training(measures=["score"], name="seedless")(lambda: 1.0)


def test_a_measures_name_is_in_the_key_and_its_unit_is_not(session):
    """A record lacks the number of a renamed measure, and its claims broke for good."""

    def key(measures):
        return Session(session.store, None, "cpu").key(
            arms_of(trained.fit, measures=measures).run("high", 0)
        )

    assert key({"score": "points"}) == key({"score": "%"})
    assert len({key(["score"]), key(["points"]), key(["score", "points"])}) == 3


def test_a_declared_input_that_is_missing_is_told_before_anything_trains(tmp_path, session):
    run = arms_of(trained.fit, inputs=[tmp_path / "data.csv"]).run("high", 0)
    assert session.problem(run).endswith("data.csv doesn't exist, which fit names as its input")


WITHOUT_TORCH = """
import sys
from pathlib import Path
import embinit
assert len([name for name in sys.modules if name.startswith("embinit")]) < 3
import test_light
from embinit import Session, Store, judge
session = Session(Store(Path("store")), None, "cpu")
print(judge(test_light.test_it, test_light.on("micro")[0], session))
assert "pytest" not in sys.modules
"""
LIGHT = """
from embinit import Family, claim, experiment, training


@training(measures=["score"])
def fit(seed, arm):
    return {"low": 1 + seed / 100, "high": 9 - seed % 3 / 10}[arm]


on = experiment("light", training=fit, arms=["low", "high"], seeds=6)


@claim("mine/f/light", says="s", family=Family("mine/f", 1), on=on)
def test_it(arms):
    assert arms["high"] > arms["low"]
"""


NO_MODELS = """
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "safetensors", "sacrebleu"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
"""
"""A Python in which the extra ``models`` isn't installed."""


def without_models(folder, *command):
    """The status and output of a command of such a Python in a folder."""
    (folder / "absent").mkdir(exist_ok=True)
    (folder / "absent/sitecustomize.py").write_text(NO_MODELS)
    path = os.pathsep.join([str(folder / "absent"), *sys.path[1:]])
    ran = python(*command, cwd=folder, PYTHONPATH=path)
    return ran.returncode, ran.stdout + ran.stderr


def test_no_torch_is_needed(tmp_path):
    """Neither to judge a claim on a function, nor for pytest, its workers and the report."""
    (tmp_path / "test_light.py").write_text(LIGHT)
    for command in (("-c", WITHOUT_TORCH), ("-m", "pytest", "-n", "1")):
        status, output = without_models(tmp_path, *command)
        assert status == 0, output
    assert (tmp_path / "reports/latest/index.html").exists()
    assert embinit.__version__


def test_a_papers_claims_name_the_packages_that_they_need(tmp_path):
    """Each fails with one line, and so does a command on tables; the audit is skipped."""
    home = Path(__file__).parents[1] / "claims/embinit_papers/kim2024"
    files = [home / f"test_{name}.py" for name in ("audit", "table_4")]
    for command, expected in (
        (("-m", "pytest", "-p", "no:cacheprovider", *files), 3),
        (("-m", "embinit", "prepare", "--to", "prepared"), 4),
    ):
        status, output = without_models(tmp_path, *command)
        assert status == expected, output
        assert "which isn't installed: pip install torch safetensors sacrebleu" in output
        assert "Traceback" not in output


def test_a_function_that_gives_other_numbers_when_it_is_called_again_breaks_its_claims(session):
    """Its record says so, so that a later session that trains nothing says it too."""
    arms = arms_of(trained.by_the_clock)
    said = r"by_the_clock gives two numbers for one seed \(score \S+ and \S+ for \d\): seed it"
    for _ in range(2):
        message, other = judge(above, arms, session).failures
        assert re.fullmatch(said, message)
        assert re.fullmatch(said, other)
    results = [session.result(arms.run("high", seed)) for seed in range(6)]
    results += [session.result(arms.run("low", seed)) for seed in range(6)]
    gpu = [replace(one, provenance={**one.provenance, "device": "H100"}) for one in results]
    assert [repeated_otherwise(one, on_cpu=True) for one in (results, gpu)] == [
        [message, other],
        [],
    ]
    assert seed_faults(gpu) == []
    assert repeated_otherwise(gpu, on_cpu=False) == [message, other]
