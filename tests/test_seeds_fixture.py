"""The fixture ``seeds`` in any test file: five lines, and each comparison is a claim."""

import os
import re

import pytest

from builders import set_apart
from documents import latest
from embinit import training
from embinit.errors import InputError
from embinit.runs.trainings import TRAININGS

TRAIN = """
import random

def train(seed, tied=True, depth=1, steps=9):
    noise = random.Random(f"{seed} {tied} {depth}").gauss(0, 0.1)
    return 3.0 + (0.5 if tied else 0.0) + noise + (9 - steps) * (1 + noise)
"""

FIVE_LINES = f"""{TRAIN}
def test_untied_helps(seeds):
    assert seeds(train, tied=False) < seeds(train, tied=True)
"""
CONTROL = """
import pytest

@pytest.mark.control
def test_training_matters(seeds):
    assert seeds(train, steps=0) > seeds(train)
"""


@pytest.fixture
def claims_of(pytester, monkeypatch):
    """Runs a file of tests in this process: the status, what was printed, claims by their name."""
    set_apart(monkeypatch, TRAININGS)

    def run(text, *arguments, name="test_fitted.py"):
        (pytester.path / name).write_text(text)
        ran = pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider", *arguments)
        there = (pytester.path / "reports/latest/verdicts.json").exists()
        claims = latest()["claims"] if there else []
        found = {entry["id"].partition("/seeds/")[2]: entry for entry in claims}
        return ran.ret, ran.stdout.str(), found

    return run


def test_five_lines_are_a_claim_and_more_a_control(claims_of):
    """A marker makes a test a control, which takes no share of alpha."""
    status, output, known = claims_of(FIVE_LINES + CONTROL, "--strict-markers")
    assert (status, "2 passed" in output) == (0, True), output
    helps, control = (known[f"{name}[seeds]"] for name in ("untied-helps", "training-matters"))
    assert (helps["verdict"], helps["statement"]) == ("SUPPORTED", "Untied helps")
    assert (control["verdict"], control["as_expected"]) == ("SUPPORTED", True)
    assert helps["alpha"] == 0.05
    assert (helps["task"], helps["source"]) == (None, None)
    (comparison,) = helps["comparisons"]
    assert comparison["arms"] == {"left": "train(tied=False)", "right": "train(tied=True)"}
    assert comparison["margin"] == 0.0  # nobody chose one
    assert "runs: 18 trained" in output
    # Judged again by two workers, from the store.
    status, output, _ = claims_of(FIVE_LINES + CONTROL, "-n", "2")
    assert (status, "runs: 0 trained" in output) == (0, True), output


def test_a_control_without_arms_fails_by_its_name(claims_of):
    """It would be green, and no claim's control; a file without ``seeds`` keeps its own markers."""
    control = "\nimport pytest\n\n@pytest.mark.control\ndef test_training_matters():\n    pass\n"
    status, output, known = claims_of(FIVE_LINES + control)
    assert (status, set(known)) == (3, {"untied-helps[seeds]"}), output
    assert "test_fitted.py:13: it is marked control, and a control trains arms: let it" in output
    assert claims_of(control, "test_other.py", name="test_other.py")[0] == 0


POOLED = f"""{TRAIN}
def test_untied_helps(seeds):
    assert seeds(train, tied=False).within(1) < seeds(train)

def test_depth(seeds):
    assert seeds(train, depth=2).within(1).alike(seeds(train))
"""
NEW = """
def test_far(seeds):
    assert seeds(train, steps=0).within(1) > seeds(train)
"""


def test_a_new_arm_is_judged_with_three_seeds_where_the_noise_is_known(claims_of):
    """It is pooled over the stored arms of the file, selected or not, before the arm trains."""
    claims_of(POOLED)
    _, _, known = claims_of(POOLED + NEW, "-k", "far")
    (comparison,) = known["far[seeds]"]["comparisons"]
    assert (comparison["verdict"], comparison["n"]) == ("SUPPORTED", 3)
    assert comparison["spread"]["of"].endswith(", of 3 arms, 10 degrees of freedom")
    # It is known later too, and others are judged as before.
    _, _, again = claims_of(POOLED + NEW)
    assert again["far[seeds]"]["comparisons"][0] == comparison
    assert {entry["looks"][0]["seeds"] for entry in again.values()} == {3, 6}
    # An arm that varies more is judged by its own seeds alone.
    _, _, odd = claims_of(POOLED + NEW + NEW.replace("far", "odd").replace("=0", "=-90"))
    assert odd["odd[seeds]"]["comparisons"][0]["spread"] is None
    # Of other code nothing is known.
    _, _, changed = claims_of((POOLED + NEW).replace("gauss(0, 0.1)", "gauss(0, 0.2)"))
    assert {entry["looks"][0]["seeds"] for entry in changed.values()} == {6}


VARIED = f"""{TRAIN}
import pytest

@pytest.mark.parametrize("seeds_depth", [2, 6])
def test_depth_does_little(seeds, seeds_depth):
    '''Another depth is alike.'''
    assert seeds(train, depth=seeds_depth).within(0.3).alike(seeds(train, depth=3))

class TestOuter:
    class TestTied:
        def test_costs(self, seeds):
            assert seeds(train) > seeds(train, tied=False)
            assert seeds(train) > 3.2

def test_depth_helps(seeds):
    assert seeds(train, depth=4).within(0.3) < seeds(train, depth=5)

def noisy(seed, more=0.0, salt=1):
    return random.Random(seed * 9 + salt).gauss(0, 1) + more

def test_open(seeds):
    assert seeds(noisy, more=0.2, salt=2).within(0.01) > seeds(noisy)

def test_given(seeds):
    assert seeds(train).within(0.9) < seeds(train, depth=2)

def test_other(tmp_path):
    assert tmp_path.exists()
"""


def test_a_files_tests_share_alpha_whatever_is_run_of_them(claims_of):
    """A docstring is the statement; a margin that is given is kept; an open claim is no failure."""
    _, output, known = claims_of(VARIED, "-n", "2", "-rx")
    assert {name: entry["verdict"] for name, entry in known.items()} == {
        "depth-does-little[6]": "SUPPORTED",
        "depth-does-little[2]": "SUPPORTED",
        "TestOuter.TestTied.costs[seeds]": "SUPPORTED",
        "depth-helps[seeds]": "NO EFFECT",
        "open[seeds]": "UNDECIDED",
        "given[seeds]": "NO EFFECT",
    }, output
    assert "seeds would decide" in output or "over 1000 needed" in output
    assert {entry["alpha"] for entry in known.values()} == {0.05 / 6}
    assert known["depth-does-little[2]"]["statement"] == "Another depth is alike"
    assert known["given[seeds]"]["comparisons"][0]["margin"] == 0.9
    status, _, alone = claims_of(VARIED, "-k", "depth_helps")
    assert status == 1
    assert [entry["alpha"] for entry in alone.values()] == [0.05 / 6]


WRONG = f"""{TRAIN}
import pytest

def setup_module():
    print("set up once")

def pair(seed):
    return {{"a": 1}}

def boom(seed, bad=False):
    if bad:
        raise RuntimeError("no luck")
    return random.Random(seed).random()

def fails(seed, bad=False):
    raise ValueError("bad data")

def test_holds(seeds):
    assert seeds(train, tied=False) < seeds(train)

@pytest.fixture
def depth(request):
    return request.param * 1000

@pytest.mark.parametrize("depth", [1, 2], indirect=True)
def test_indirect(seeds, depth):
    assert seeds(train, depth=depth) > 0
"""
MISTAKES = {
    "fixture": ("assert seeds(train) < 3", ":def: a test with seeds is called before fixtures"),
    "local": ("assert seeds(lambda seed: 1.0) < 3", ":body: '<lambda>' is a lambda, a method, or"),
    "pair": ("assert seeds(pair) < 3", "pair returned a dict; return one number, or name several"),
    "boom": ("assert seeds(boom, bad=True) < seeds(boom)",
             "RuntimeError: no luck (test_fitted.py:18): arm 'bad=True', seeds 0, 1; 4 other runs"),
    "argument": ("assert seeds(train, tide=3) < 3",
                 ":body: test_fitted:train can't be called for the arm 'train(tide=3)'"),
    "nothing": ("seeds(train)", ":def: test_nothing asserts no comparison of arms"),
    "same": ("assert seeds(train) < seeds(train)",
             ":def: train() and train() are the same run, so no number can differ"),
    "positional": ("assert seeds(train, 3) < 3",
                   ":body: seeds takes one function, and its arguments by name, as in"),
    "fails": ("assert seeds(fails, bad=True) > seeds(fails)",
              "ValueError: bad data (test_fitted.py:22): arm 'bad=True', seeds 0, 1, and arm 'b"),
    # A margin is chosen, and never guessed.
    "no_margin": ("assert seeds(train, depth=2) >= seeds(train)",
                  ":def: train(depth=2) ≥ train() has no margin, the largest"),
    "alike_without_a_margin": ("assert seeds(train, depth=2).alike(seeds(train))",
                               ":def: train(depth=2) ≈ train() has no margin, the"),
    "exit": ("raise SystemExit(0)", ":body: the claim's body raised SystemExit: 0; it may skip"),
    "outcome": ("pytest.xfail('x')", ":body: the claim's body raised XFailed: x; it may skip"),
}  # fmt: skip


def test_each_mistake_is_its_tests_first_line_and_costs_no_other_test(claims_of):
    """Reading claims sets a module up once."""
    text, expected = WRONG, {}
    for name, (body, said) in MISTAKES.items():  # its line, and the next one
        line = text.count("\n") + 2
        said = said.replace(":def:", f"test_fitted.py:{line}:")
        expected[name] = said.replace(":body:", f"test_fitted.py:{line + 1}:")
        asked = "seeds, tmp_path" if name == "fixture" else "seeds"
        text += f"\ndef test_{name}({asked}):\n    {body}\n"
    expected["indirect"] = "test_fitted.py:31: a test with seeds is called before fixtures run: rem"
    status, output, known = claims_of(text, "-s")
    assert status == 3
    assert output.count("set up once") == 1
    first = dict(re.findall(r"^_+ test_(\w+)\[\S* _+\n(.*)$", output, re.M))
    assert {name: line[: len(expected[name])] for name, line in first.items()} == expected
    assert known["holds[seeds]"]["verdict"] == "SUPPORTED"


SAME = """
import random
from embinit import training

def train(seed, dropout=0.0, tied=True):
    return (0.5 if tied else 0.0) + random.random()

@training(measures=["score"])
def coarse(seed, tell, width=2):
    tell(score=width + random.random())
    return 0.5

def test_above(seeds):
    assert seeds(train, dropout=0.1) > seeds(train, dropout=0.0)

def test_not_worse(seeds):
    assert seeds(train, dropout=0.1).within(0.1) >= seeds(train, dropout=0.0)

def test_gain(seeds):
    assert seeds(train, dropout=0.1) - seeds(train, dropout=0.0) < 0.1

def test_alike(seeds):
    assert seeds(train, dropout=0.1).within(0.1).alike(seeds(train, dropout=0.0))

def test_score(seeds):
    assert seeds(coarse, width=3).within(0.1) >= seeds(coarse)

def test_tied(seeds):
    assert seeds(train) > seeds(train, tied=False)
"""


def test_arms_that_cannot_differ_break_their_claims(claims_of):
    """A setting that never reaches the training is the commonest mistake of an ablation."""
    status, output, known = claims_of(SAME)
    same = (
        "train(dropout=0.1) and train(dropout=0.0) gave the same results on each of 6 seeds: does "
        "`dropout` reach the training? If it does, return a finer score, such as the loss"
    )
    assert status == 3
    for name in ("above", "not-worse", "gain"):
        entry = known[f"{name}[seeds]"]
        assert (entry["verdict"], entry["reason"]) == ("NOT RUN", same), output
    # What states equality is not shown by scores that don't vary.
    assert known["alike[seeds]"]["verdict"] == known["tied[seeds]"]["verdict"] == "UNDECIDED"
    assert known["alike[seeds]"]["reason"] == same.replace("6 seeds", "20 seeds")
    assert known["score[seeds]"]["verdict"] == "UNDECIDED"
    assert known["score[seeds]"]["reason"].startswith("the score doesn't vary")


STRANGERS = """
import sys
import pytest

@pytest.fixture
def seeds():
    return [1, 2]

def test_mine(seeds):
    assert seeds == [1, 2]

@pytest.mark.parametrize(("x", "seeds"), [(1, 2)])
def test_given(x, seeds):
    assert seeds == 2

@pytest.mark.parametrize(argnames="seeds", argvalues=[1, 2])
def test_given_by_name(seeds):
    assert seeds

def test_nothing_was_loaded():
    assert not {name for name in sys.modules if name.startswith("embinit.claims")}
"""


def test_a_strangers_own_seeds_are_theirs(pytester):
    """Nothing of claims is loaded for them, so in a process of its own."""
    (pytester.path / "test_mine.py").write_text(STRANGERS)
    ran = pytester.runpytest_subprocess("-q")
    ran.assert_outcomes(passed=5)
    assert not (pytester.path / "reports").exists()


def test_it_is_registered_like_any_claim(claims_of, pytester):
    status, output, _ = claims_of(FIVE_LINES, "-o", "embinit_register=10")
    assert status == 0, output
    assert "test_fitted/seeds/untied-helps[seeds]" in (pytester.path / "claims.lock").read_text()
    status, _, known = claims_of(FIVE_LINES)
    assert status == 0
    entry = known["untied-helps[seeds]"]
    assert entry["registration"]["state"] == "beforehand"
    assert entry["comparisons"][0]["spread"]["seeds"] == 10


PATCHED = """
import lib
import pytest

def train(seed, good=0.0):
    return lib.K * good + 0.01 * __import__("random").Random(f"{seed} {good}").random()

class TestA:
    @pytest.fixture(autouse=True)
    def patch(self, monkeypatch):
        monkeypatch.PATCH

    def test_neg(self, seeds):
        assert seeds(train, good=5.0) < seeds(train, good=0.0)

class TestB:
    def test_pos(self, seeds):
        assert seeds(train, good=5.0) > seeds(train, good=0.0)
"""
LIB = """
import os
import time
from pathlib import Path
from types import SimpleNamespace

from numpy import exp, finfo, float32  # numpy's objects that are no arrays

BEGAN = time.time()
LIMITS = finfo(float32)
K = float(os.environ.get("MY_K", 1))
CONFIG = SimpleNamespace(model=SimpleNamespace(rate=0.1))
PLACE = Path("a")

def helper():
    return 1

class Model:
    rate = 0.1

    def _step(self):
        return 1

class Other(Model):
    pass

made = Model()
SAME = 1.0
"""


@pytest.fixture
def patched(pytester):
    """Runs two claims on what reads ``lib`` where a fixture or a conftest may have changed it."""

    def run(patch=None, conftest=""):
        tests = PATCHED.replace("monkeypatch.PATCH", f"monkeypatch.{patch}" if patch else "pass")
        pytester.makepyfile(lib=LIB, test_fitted=tests)
        pytester.makeconftest(conftest)
        pytester.makeini("[pytest]\npythonpath = .\n")
        return pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")

    return run


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ('setattr(lib, "K", -1.0)', "K of lib.py is -1.0 in pytest's process (a fixture"),
        ('setattr(lib, "helper", lambda: 2)', "helper of lib.py is TestA.patch.<locals>.<lambda>"),
        ('setattr(lib.Model, "rate", 0.2)', "Model.rate of lib.py is 0.2"),
        ('setattr(lib, "MORE", 1, raising=False)', "MORE of lib.py is 1"),
        ('setattr(lib.CONFIG.model, "rate", 0.2)', "CONFIG.model.rate of lib.py is 0.2"),
        ('setattr(lib, "PLACE", lib.PLACE / "b")', "PLACE of lib.py is PosixPath('a/b')"),
        ('setattr("os.cpu_count", lambda: 2)', "os.cpu_count of lib.py is TestA.patch.<locals>"),
        ('setattr(lib, "made", lib.Other())', "made of lib.py is a lib.Other"),
        ('setattr(lib.Model, "_step", lambda self: 2)', "Model._step of lib.py is TestA.patch"),
        ('delattr(lib, "PLACE")', "PLACE of lib.py is missing"),
        ('setenv("MY_K", "-1")', "the variable MY_K is another in pytest's process"),
    ],
)
def test_a_claim_is_not_judged_where_a_fixture_has_changed_what_trains(patched, patch, said):
    """It would be about other code than what was trained; the next class's claim is judged."""
    ran = patched(patch)
    assert (ran.ret, said in ran.stdout.str()) == (3, True)
    verdicts = {entry["id"].split("/")[-1]: entry["verdict"] for entry in latest()["claims"]}
    assert verdicts == {"TestA.neg[seeds]": "NOT RUN", "TestB.pos[seeds]": "SUPPORTED"}


CONFTESTS = {
    "it is imported": "import lib\n\nif True:\n    lib.K = -1.0\n",
    "pytest_configure is called": "def pytest_configure():\n    import lib; lib.K = -1.0\n",
    "pytest_collection_modifyitems is called": (
        "from unittest import mock\n\n"
        "def pytest_collection_modifyitems():\n    mock.patch('lib.K', -1.0).start()\n"
    ),
    "helper is called": (
        "from lib import CONFIG\n\n"
        "def pytest_sessionstart():\n    helper()\n\n"
        "def helper():\n    vars(CONFIG).update(rate=1)\n"
    ),
}


@pytest.mark.parametrize("when", CONFTESTS)
def test_a_claim_is_not_judged_where_a_conftest_sets_what_trains(patched, when):
    """It has happened before the values could be known, so its text is read."""
    ran = patched(conftest=CONFTESTS[when])
    assert ran.ret == 3
    assert f"conftest.py when {when}, and not where train was run" in ran.stdout.str()


def test_what_a_conftest_may_do_is_no_change(patched):
    """It reads what trains, and sets it in fixtures, which are asked when they are used."""
    ran = patched(
        conftest="""
        import os, sys
        import lib, pytest

        os.environ.setdefault("MINE", str(lib.K))
        sys.path.insert(0, str(lib.PLACE))
        MINE = dict(lib.CONFIG.__dict__, k=lib.K)
        MINE["k"] = lib.CONFIG.model.rate == 0.1 or lib.helper()

        @pytest.fixture
        def faster(monkeypatch):
            monkeypatch.setattr(lib, "K", 9.0)

        def pytest_configure():
            lib.SAME = 1.0

        def pytest_runtest_setup(item):
            if "slow" in item.keywords:
                lib.K = 9.0
    """
    )
    assert ran.ret == 1  # TestA's claim is refuted
    assert "pytest's process" not in ran.stdout.str()


SKIPPED = {
    "a mark": ("@pytest.mark.skipif(True, reason='no GPU')", "seeds", ""),
    "no cases": ("@pytest.mark.parametrize('g', [])", "seeds, g", ""),
    "its body": ("", "seeds", "\n    pytest.skip('later')"),
}


@pytest.mark.parametrize("form", SKIPPED)
def test_a_session_whose_claims_are_all_skipped_is_not_green(claims_of, form):
    """Status 0 says that something was decided."""
    mark, arguments, skip = SKIPPED[form]
    text = f"import pytest\n{TRAIN}\n{mark}\ndef test_it({arguments}):\n"
    text += f"    assert seeds(train, tied=True) < seeds(train, tied=False){skip}\n"
    status, output, known = claims_of(text)
    assert (status, known) == (1, {}), output
    assert "NOT OK: no claim is decided: 1 skipped" in output


def test_other_options_are_in_no_report(claims_of, pytester):
    """A baseline goes into git, and another plugin's option may have a secret."""
    pytester.makeconftest("def pytest_addoption(parser): parser.addoption('--api-key')")
    given = ("--api-key=sk-1", "--embinit-seeds", "6", "--embinit-no-train", "test_fitted.py")
    claims_of(FIVE_LINES)
    claims_of(FIVE_LINES, *given)
    files = [
        path.read_text() for path in (pytester.path / "reports").rglob("*.*") if path.is_file()
    ]
    assert not any("sk-1" in text for text in files)
    command = "pytest test_fitted.py --embinit-seeds=6 --embinit-no-train"
    assert latest()["session"]["command"] == command


def test_runs_are_counted_by_who_made_them(claims_of, pytester):
    """The clock may have been set back since a record was written."""
    claims_of(FIVE_LINES)
    for path in (pytester.path / ".embinit").rglob("*.json"):
        os.utime(path, (4e9, 4e9))
    assert "runs: 0 trained, 12 reused" in claims_of(FIVE_LINES)[1]


def test_a_projects_own_marker_control_makes_no_control(claims_of, pytester):
    """What the project means by it is not ours to judge, nor to fail."""
    pytester.makeini("[pytest]\nmarkers =\n    control: a traffic control\n")
    plain = "\n@pytest.mark.control\ndef test_traffic():\n    pass\n"
    status, output, known = claims_of(FIVE_LINES + CONTROL + plain)
    assert (status, len(known)) == (0, 2), output
    assert not any(claim["control"] for claim in known.values())


def test_an_input_that_changes_while_a_session_runs_breaks_its_claims(claims_of, pytester):
    """One arm had the old data and the other a mixture, and two equal arms were SUPPORTED."""
    (pytester.path / "k.txt").write_text("1")
    text = """
import pathlib, random
from embinit import training
K = pathlib.Path(__file__).parent / "k.txt"

@training(process=True)
def train(seed, arm):
    k = float(K.read_text())
    if (seed, arm) == (3, "b"):
        K.write_text("-1")
    return k + random.Random(f"{seed} {arm}").random() / 9

def test_it(seeds):
    assert seeds(train, arm="b") > seeds(train, arm="a")
"""
    status, output, _ = claims_of(text)
    assert status == 3, output
    assert "k.txt was changed while the session ran: run again" in output


DIVERGES = """
import math, random
from embinit import training

@training(measures=["loss"], failed="worst")
def diverging(seed, lr=1.0):
    if lr > 1 and seed % 3 == 0:
        return math.nan
    return random.random() + (0.0 if lr == 1 else lr)

@training(measures=["loss"])
def unsaid(seed, lr=1.0):
    return math.inf if lr > 1 else random.random()

def test_often(seeds):
    assert seeds(diverging) < seeds(diverging, lr=3.0)

def test_now_and_then_though_better(seeds):
    assert seeds(diverging, lr=3.0) - seeds(diverging) < 9

def test_unsaid(seeds):
    assert seeds(unsaid) < seeds(unsaid, lr=3.0)
"""


def test_a_diverged_run_counts_the_worst_score_where_its_function_says_so(claims_of):
    """Left out, an arm that diverges now and then would look better than one that never does."""
    status, _, known = claims_of(DIVERGES)
    often, gap, unsaid = (
        known[f"{name}[seeds]"] for name in ("often", "now-and-then-though-better", "unsaid")
    )
    [comparison] = often["comparisons"]
    worst = max(comparison["right_values"])
    seeds = comparison["seeds"]
    lost = [v for s, v in zip(seeds, comparison["right_values"], strict=True) if s % 3 == 0]
    assert {*lost} == {worst}
    assert often["verdict"] == gap["verdict"] == "SUPPORTED"
    assert "2 failed runs got the worst score, " in often["reason"]
    assert (status, unsaid["verdict"]) == (3, "NOT RUN")
    said = "(loss is inf); return the worst score, or write training(failed='worst')"
    assert said in unsaid["reason"]
    with pytest.raises(InputError, match="needs to know whether a high or a low score is worse"):
        training(measures=["score"], failed="worst")
    with pytest.raises(InputError, match="write failed='worst'"):
        training(measures=["loss"], failed="best")
