"""A training function as a kind of run: what it may do, and what its runs' keys hang on."""

from __future__ import annotations

import importlib
import math
import os
import random
import re
import subprocess
import sys
import time
from dataclasses import replace
from importlib import metadata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import embinit
from builders import make_experiment, set_apart
from embinit import (
    Family,
    InputError,
    Session,
    Store,
    Verdict,
    claim,
    distributions,
    experiment,
    grid,
    judge,
    training,
)  # fmt: skip
from embinit.claims.run_checks import repeated_otherwise, seed_faults
from embinit.runs.functions import (
    TRAININGS,
    RunFailed,
    definition,
    other_versions,
)  # fmt: skip
from embinit.runs.kinds import KINDS, Cohort, RunContext, versions_behind
from embinit.runs.store import run_key

MINE = Family("mine/f", size=1)


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Each test has training functions of its own."""
    set_apart(monkeypatch, TRAININGS, empty=True)


@pytest.fixture
def session(tmp_path):
    return Session(Store(tmp_path / "store"), None, "cpu")


def arms_of(function, arms=("low", "high"), measures=("score",), seeds=6, **settings):
    """The experiment on a function, on the tier micro."""
    names = ("files", "process", "timeout", "name", "versions")
    how = {name: settings.pop(name) for name in names if name in settings}
    made = training(measures=measures, **how)(function)
    [each] = experiment("mine", training=made, arms=arms, seeds=seeds, **settings)("micro")
    return each


def fit(seed, arm):
    return {"score": {"low": 1, "high": 9}[arm] + random.random()}


@claim("mine/f/above", says="High is above low", family=MINE, on=lambda tier: [])
def above(arms):
    assert arms["high"] > arms["low"]


def test_a_function_is_planned_called_stored_and_judged(session):
    """Nothing of embinit's model, tasks or inits takes part."""
    judgement = judge(above, arms_of(fit), session)
    assert judgement.verdict is Verdict.SUPPORTED
    again = Session(session.store, None, "cpu", may_train=False)
    assert str(judge(above, arms_of(fit), again)) == str(judgement)
    run = arms_of(fit).run("high", 0)
    result = again.result(run)
    assert result.spec == run
    assert result.measures == session.result(run).measures


def result_of(function, **settings):
    run = arms_of(function, **settings).run("high", 3)
    [result] = KINDS["function"].make(Cohort((run,)), RunContext(None))
    return result


def returns(answer):
    def function(seed, arm):
        return answer

    return function


def raises(seed, arm):
    raise KeyError("what")


def leaves_at_once(seed, arm):
    os._exit(0)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (returns(None), "returned nothing; return a number for each of: score"),
        (returns("9.5"), "returned a str; return a dict"),
        (returns({"score": None}), "as score, which is no number"),
        (returns({"scroe": 1}), "lacks score and has scroe that no measure is named after"),
        (raises, "KeyError: 'what'"),
        (lambda seed, arm: sys.exit("done"), r"called sys.exit\('done'\)"),
        (lambda seed, arm: pytest.skip("not here"), "raised Skipped: not here"),
        (leaves_at_once, r"called os._exit\(0\)"),
    ],
)
def test_what_gives_no_numbers_is_a_failure_of_its_run(session, function, said):
    """It is kept for the session with its reason; the claim on it is not run."""
    judgement = judge(above, arms_of(function), session)
    assert judgement.verdict is Verdict.NOT_RUN
    [reason] = judgement.failures
    assert re.search(said, reason)
    assert not list(session.store)
    run = arms_of(function).run("high", 0)
    kept = session.store.failure(session.key(run))
    every = "seeds 0, 1, 2 and 3 more"
    assert reason == f"{kept}: arm 'high', {every}, and arm 'low', {every}"


@pytest.mark.parametrize(
    "answer", [{"score": 9}, {"score": np.float32(9)}, {"score": torch.tensor(9.0)}, 9.0]
)
def test_numbers_of_any_library_are_numbers(answer):
    """One alone stands for the only measure."""
    assert result_of(returns(answer)).measures == {"score": 9.0}


@pytest.mark.parametrize("given", [math.nan, -math.inf, 1.7e308])
def test_a_number_that_is_not_finite_is_recorded_as_a_failure(session, given):
    """The run is kept: it was trained, and would come out so again. Its square is finite too."""
    experiment_ = arms_of(returns({"score": given, "loss": 2.0}), measures=("score", "loss"))
    judgement = judge(above, experiment_, session)
    assert judgement.verdict is Verdict.NOT_RUN
    assert f"(score is {given:g})" in judgement.decisions[0].reason
    result = session.result(experiment_.run("high", 0))
    assert (result.measures, result.failure) == ({"loss": 2.0}, f"score is {given:g}")


def restless(seed, arm):
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    os.chdir("/")
    os.environ["EMBINIT_RESTLESS"] = "1"
    os.environ.pop("PATH", None)
    sys.stdout = None
    return 1.0


def test_a_function_leaves_the_process_as_it_was():
    """Later runs must not hang on earlier ones."""

    def state():
        return (
            random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist(),  # noqa: NPY002
            os.getcwd(), dict(os.environ), sys.stdout,
        )  # fmt: skip

    before = state()
    result_of(restless)
    assert state() == before


def drawn(seed, arm):
    values = random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002
    return dict(zip("abc", values, strict=True))


def test_the_global_generators_are_seeded_by_the_runs_seed():
    """A function that forgets its seed must still give a run that its spec decides."""
    first, second = (result_of(drawn, measures=("a", "b", "c")) for _ in range(2))
    assert first.measures == second.measures


def tells(seed, tell, arm):
    for epoch in range(3):
        tell((epoch + 1) / 3, score=epoch, loss=3 - epoch)
    return 2.0


def test_progress_and_curves_are_told():
    """A curve of a measure's name is the measure's, epoch by epoch."""
    shares = []
    each = arms_of(tells)
    run = each.run("high", 3)
    [result] = KINDS["function"].make(Cohort((run,)), RunContext(None, progress=shares.append))
    assert result.curves == {"score": [0, 1, 2], "loss": [3, 2, 1]}
    assert shares == [1 / 3, 2 / 3, 1.0]
    assert each["high"].at_epoch(2).measure.of(result) == 1.0


PROCESSES = """
import os, random, subprocess, sys, time
from embinit import training

own = training(measures=["score"], process=True)


@training(measures=["score"], timeout=2.0)
def hangs(seed, arm):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    time.sleep(60)


@own
def leaves_at_once(seed, arm):
    os._exit(7)


@own
def raises(seed, arm):
    raise KeyError("what")


@own
def tells(seed, arm, tell):
    tell(0.5, score=1.0)
    return random.random()
"""


@pytest.fixture
def processes(tmp_path, monkeypatch):
    """A module of training functions whose runs have processes of their own."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_processes.py").write_text(PROCESSES)
    yield importlib.import_module("own_processes")
    sys.modules.pop("own_processes")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hangs", "hangs took longer than its 2 s and was ended"),
        ("leaves_at_once", "process ended with 7"),
        ("raises", "KeyError: 'what' (own_processes.py:21)"),
    ],
)
def test_a_process_that_gives_no_numbers_is_a_failure_of_its_run(processes, name, said):
    """It ends with all that it started, and its last words are the reason."""
    [each] = experiment("mine", training=getattr(processes, name), arms=["high"])("micro")
    started = time.monotonic()
    with pytest.raises(RunFailed) as failure:
        KINDS["function"].make(Cohort((each.run("high", 0),)), RunContext(None))
    assert said in str(failure.value)
    assert time.monotonic() - started < 30


def test_a_process_gives_the_numbers_that_a_call_here_gives(processes):
    """Its draws hang on the seed alone."""
    [each] = experiment("mine", training=processes.tells, arms=["high"])("micro")
    [apart] = KINDS["function"].make(Cohort((each.run("high", 5),)), RunContext(None))
    assert apart.measures["score"] == random.Random(5).random()
    assert apart.curves == {"score": (1.0,)} or apart.curves == {"score": [1.0]}


def with_lr(seed, arm="sgd", lr=0.1, sizes=(8, 8)):
    return lr


def test_arms_are_names_settings_or_a_grid():
    """Equal arguments are one run, whatever the arm is called; a default told is no other run."""
    each = arms_of(with_lr, {"a": ..., "b": "a", "c": {"arm": "a", "lr": 0.1}, "d": {"lr": 0.2}})
    assert each.run("a", 0) == each.run("b", 0) == each.run("c", 0) != each.run("d", 0)
    assert list(grid(lr=[0.1, 0.2], arm=["x"])) == ["lr=0.1, arm=x", "lr=0.2, arm=x"]
    assert arms_of(with_lr, grid(lr=[0.1, 0.2])).run("lr=0.2", 0) != each.run("d", 0)


def test_sizes_are_arguments_by_tier():
    """A small one for CI, and the real thing."""
    made = training(measures=["score"])(with_lr)
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
        (["a"], {"baseline": "b"}, "the baseline 'b' is no arm of 'mine'"),
        (["a"], {"margin": -1.0}, "a margin of -1.0 can't be used"),
        (["a"], {"timeout": 0.0}, "a time limit of 0.0 s can't be kept"),
        (["a"], {"measures": "score"}, "measures are names with units"),
        (["a"], {"versions": {"scikit-lern": "any"}}, "no distribution 'scikit-lern' installed"),
        (["a"], {"sizes": {"ci": 3}}, r"the sizes of 'mine' are \{'ci': 3\}; give"),
        (["a"], {"sizes": {"ci": {"rl": 1}}}, "the size 'ci' of 'mine': with_lr can't be called"),
    ],
)
def test_bad_definitions_are_told_before_anything_runs(arms, settings, said):
    with pytest.raises(InputError, match=said):
        arms_of(with_lr, arms, **settings)


def with_numpy(seed, arm):
    return {"score": np.float64(seed)}


@pytest.fixture
def elsewhere(monkeypatch):
    """Lets this machine have other versions of distributions than it has."""
    known = distributions.public_version

    def use(**versions):
        monkeypatch.setattr(
            distributions, "public_version", lambda name: versions.get(name) or known(name)
        )
        monkeypatch.setattr(definition, "public_version", distributions.public_version)
        TRAININGS.replace("with_numpy", training(measures=["score"])(with_numpy))

    return use


def test_versions_of_what_a_function_names_are_in_its_runs_keys(session, elsewhere):
    """An update of a library changes numbers as an edit does, and left the old verdict."""
    run = arms_of(with_numpy).run("high", 0)
    version = np.__version__.partition("+")[0]
    assert run.recipe.versions == (f"numpy {version}",)
    assert arms_of(fit).run("high", 0).recipe.versions == ()
    assert result_of(with_numpy).provenance["versions"]["numpy"] == metadata.version("numpy")
    key = session.key(run)
    elsewhere(numpy="9.9")
    assert session.key(arms_of(with_numpy).run("high", 0)) != key
    # Another machine, and a process of the run's own, are held to those of the plan.
    with pytest.raises(
        InputError, match=rf"has numpy 9\.9 here, and numpy {version} where its runs"
    ):
        Session(session.store, None, "cpu").key(run)


def test_a_version_may_be_left_out_of_the_key_and_is_told_then(session, elsewhere):
    """Who updates every week would train all anew each time; what was made before is named."""
    each = arms_of(with_numpy, versions={"NumPy": "any"})
    run = each.run("high", 0)
    assert run.recipe.versions == ()
    session.plan_and_make([run])
    result = session.result(run)
    assert other_versions([result]) == []
    elsewhere(numpy="9.9")
    TRAININGS.replace("with_numpy", each.function)
    version = np.__version__
    assert other_versions([result]) == [f"1 run was made with numpy {version}; here is 9.9"]
    assert other_versions([result] * 2)[0].startswith("2 runs were made with numpy")


def test_the_labs_own_runs_have_their_versions_in_the_key(monkeypatch):
    """torch and numpy compute them; of a build's local part (``+cpu``) nothing depends."""
    run = make_experiment().run("xavier", 0)
    here = versions_behind(run)
    assert {each.split()[0] for each in here} == {"numpy", "sacrebleu", "torch"}
    assert f"torch {torch.__version__.partition('+')[0]}" in here
    assert run_key(run, "read") == run_key(run, "read", here)
    assert run_key(run, "read") != run_key(run, "read", ["torch 1.0"])


def by_the_clock(seed, arm):
    return {"score": time.perf_counter()}


def without_seed(seed, arm):
    return {"score": {"low": 1.0, "high": 9.0}[arm]}


def called(counts, function):
    def counted(seed, arm):
        counts.append((arm, seed))
        return function(seed, arm)

    return counted


def test_one_run_is_made_twice_to_see_that_its_seed_decides_it(session):
    """Nothing else shows that a function gives two numbers for one seed."""
    counts = []
    each = arms_of(called(counts, fit))
    judge(above, each, session)
    assert len(counts) == 13
    assert len(set(counts)) == 12
    assert not seed_faults(map(session.store.get, session.store))
    session.plan_and_make([each.run("high", seed) for seed in (6, 7)])
    assert len(counts) == 15


def test_a_function_that_ignores_its_seed_breaks_its_claims(session, monkeypatch):
    """Its seeds are one number many times; one exact arm next to a random one is no fault."""
    each, root = arms_of(without_seed), session.store.root
    said = "without_seed ignores its seed: every seed gave the same results"
    [told] = judge(above, each, session).failures
    assert told.startswith(said)
    half = arms_of(lambda seed, arm: fit(seed, arm) if arm == "low" else 9.0, name="half")
    assert not judge(above, half, Session(Store(root / "other"), None, "cpu")).failures
    monkeypatch.setattr(type(each.function), "deterministic", True, raising=False)
    assert not judge(above, each, session).failures


def test_two_functions_of_one_name_are_refused():
    """One would be called for the other in another process."""
    training(measures=["score"])(fit)

    def other(seed):
        return 1.0

    second = training(measures=["score"], name="fit")(other)
    [each] = experiment("mine", training=second, arms={"a": {}})("micro")
    for use in (lambda: each["a"], lambda: each.run("a", 0)):
        with pytest.raises(
            InputError, match=r"are called 'fit' \(test_functions.py:\d+ and test_fu"
        ):
            use()
    assert TRAININGS["fit"].function is fit
    with pytest.raises(InputError, match=r"takes no seed; write def seedless\(seed"):
        training(measures=["score"], name="seedless")(lambda: 1.0)


def test_a_measures_name_is_in_the_key_and_its_unit_is_not(session):
    """A record lacks the number of a renamed measure, and its claims broke for good."""

    def key(measures):
        return Session(session.store, None, "cpu").key(
            arms_of(fit, measures=measures).run("high", 0)
        )

    assert key({"score": "points"}) == key({"score": "%"})
    assert len({key(["score"]), key(["points"]), key(["score", "points"])}) == 3


def test_named_files_are_in_the_key(tmp_path, session):
    """What they hold, and not where they lie."""
    data = tmp_path / "data.csv"
    data.write_text("1,2\n")

    def key():
        fresh = Session(session.store, None, "cpu")
        return fresh.key(arms_of(fit, files=[data]).run("high", 0))

    first = key()
    assert key() == first
    data.write_text("1,3\n")
    assert key() != first
    data.unlink()
    with pytest.raises(InputError, match=r"data.csv doesn't exist, which fit names as its input"):
        key()


WITHOUT_TORCH = """
import sys
from pathlib import Path
import embinit
assert len([name for name in sys.modules if name.startswith("embinit")]) < 3
import test_light
from embinit import Session, Store, judge
session = Session(Store(Path("store")), None, "cpu")
print(judge(test_light.test_it, test_light.on("micro")[0], session))
"""
LIGHT = """
from embinit import Family, claim, experiment, training


@training(measures=["score"])
def fit(seed, arm):
    return seed / 100 + {"low": 1, "high": 9}[arm]


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


def test_no_torch_is_needed(tmp_path):
    """Neither to judge a claim on a function, nor for pytest, its workers and the report."""
    (tmp_path / "test_light.py").write_text(LIGHT)
    absent = tmp_path / "absent"
    absent.mkdir()
    (absent / "sitecustomize.py").write_text(NO_MODELS)
    path = os.pathsep.join([str(absent), *sys.path[1:]])
    for command in (("-c", WITHOUT_TORCH), ("-m", "pytest", "-n", "1")):
        ran = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": path}, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (tmp_path / "reports/latest/index.html").exists()
    assert embinit.__version__


def test_a_papers_claims_name_the_extra_that_they_need(tmp_path):
    """Each fails with one line, and so does a command on tables; the audit is skipped."""
    (tmp_path / "sitecustomize.py").write_text(NO_MODELS)
    home = Path(__file__).parents[1]
    path = os.pathsep.join([str(tmp_path), str(home / "src"), str(home / "claims")])
    files = [
        home / f"claims/embinit_papers/kim2024/test_{name}.py" for name in ("audit", "table_4")
    ]
    wanted = "which isn't installed: pip install 'embinit[models]'"
    for command, status in (
        (("-m", "pytest", "-p", "no:cacheprovider", *files), 3),
        (("-m", "embinit", "prepare", "--to", "prepared"), 4),
    ):
        ran = subprocess.run(
            [sys.executable, *map(str, command)], cwd=tmp_path, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": path}, check=False,
        )  # fmt: skip
        assert ran.returncode == status, ran.stdout + ran.stderr
        assert wanted in ran.stdout + ran.stderr
        assert "Traceback" not in ran.stdout + ran.stderr


def test_a_function_that_gives_other_numbers_when_it_is_called_again_breaks_its_claims(session):
    """Its record says so, so that a later session that trains nothing says it too."""
    each = arms_of(by_the_clock)
    said = r"by_the_clock gives two numbers for one seed \(score \S+ and \S+ for \d\): seed it"
    for _ in range(2):
        [told] = judge(above, each, session).failures
        assert re.fullmatch(said, told)
    results = [session.result(each.run("high", seed)) for seed in range(6)]
    results += [session.result(each.run("low", seed)) for seed in range(6)]
    gpu = [replace(one, provenance={**one.provenance, "device": "H100"}) for one in results]
    assert [repeated_otherwise(one, on_cpu=True) for one in (results, gpu)] == [[told], []]
    assert seed_faults(gpu) == []
    assert repeated_otherwise(gpu, on_cpu=False) == [told]
