"""The fixture ``seeds`` in any test file: five lines, and each comparison is a claim."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import embinit

SOURCE = str(Path(embinit.__file__).parents[1])

TRAIN = """
import random

def train(seed, tied=True, depth=1):
    noise = random.Random(f"{seed} {tied} {depth}").gauss(0, 0.1)
    return 3.0 + (0.5 if tied else 0.0) + noise
"""

FIVE_LINES = f"""{TRAIN}
def test_untied_helps(seeds):
    assert seeds(train, tied=False) < seeds(train, tied=True)
"""


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest as a stranger calls it."""
    given = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    plugins = ("-p", "no:playwright", "-p", "no:randomly", "-p", "no:cacheprovider")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, *arguments],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**given, "PYTHONPATH": SOURCE},
    )


def claims_of(home: Path) -> dict[str, dict[str, object]]:
    document = json.loads((home / "reports/latest/verdicts.json").read_text())
    return {entry["id"]: entry for entry in document["claims"]}


def test_five_lines_are_a_claim_with_a_margin_and_a_control(tmp_path):
    (tmp_path / "test_model.py").write_text(FIVE_LINES)
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout
    known = claims_of(tmp_path)
    helps, control = (
        known[f"test_model/seeds/{name}[seeds]"]
        for name in ("untied-helps", "control-an-arm-against-itself")
    )
    assert (helps["verdict"], helps["statement"]) == ("SUPPORTED", "Untied helps")
    assert (control["verdict"], control["as_expected"]) == ("NO EFFECT", True)
    # It has neither task nor source, and the page no comma in their place.
    assert (helps["task"], helps["source"]) == (None, None)
    page = (tmp_path / "reports/latest/index.html").read_text("utf-8")
    assert "<h3>Untied helps</h3>" in page
    (comparison,) = helps["comparisons"]
    assert comparison["arms"] == {"left": "train(tied=False)", "right": "train(tied=True)"}
    # The margin is twice the noise of the arm on the right, on ten seeds that no claim uses.
    assert 0.1 < comparison["margin"] < 0.4
    assert "runs: 18 trained" in ran.stdout
    # Judged again, from the store; and by two workers.
    for more in ((), ("-n", "2")):
        again = run(tmp_path, *more)
        assert again.returncode == 0, again.stdout
        assert "runs: 0 trained" in again.stdout


VARIED = f"""{TRAIN}
import pytest

@pytest.mark.parametrize("depth", [2, 6])
def test_depth_does_little(seeds, depth):
    '''Another depth is alike.'''
    assert seeds(train, depth=depth).alike(seeds(train, depth=3))

class TestTied:
    def test_costs(self, seeds):
        assert seeds(train) > seeds(train, tied=False)
        assert seeds(train) > 3.2

def test_depth_helps(seeds):
    assert seeds(train, depth=4) < seeds(train, depth=5)

def noisy(seed, more=0.0):
    return random.Random(seed).gauss(0, 1) + more

def test_open(seeds):
    assert seeds(noisy, more=0.7) < seeds(noisy, more=1.0)

def test_other(tmp_path):
    assert tmp_path.exists()
"""


def test_a_files_tests_share_alpha_whatever_is_run_of_them(tmp_path):
    (tmp_path / "test_more.py").write_text(VARIED)
    ran = run(tmp_path, "-n", "2")
    known = claims_of(tmp_path)
    assert {name.partition("/seeds/")[2]: entry["verdict"] for name, entry in known.items()} == {
        "depth-does-little[6]": "SUPPORTED",
        "depth-does-little[2]": "SUPPORTED",
        "TestTied.costs[seeds]": "SUPPORTED",
        "depth-helps[seeds]": "NO EFFECT",
        "open[seeds]": "SUPPORTED",
        "control-an-arm-against-itself[seeds]": "NO EFFECT",
    }, ran.stdout
    assert {entry["alpha"] for entry in known.values()} == {0.05 / 5}
    assert known["test_more/seeds/depth-does-little[2]"]["statement"] == "Another depth is alike"
    for selected, number in ((("-k", "depth_helps"), 1), (("test_more.py::test_depth_helps",), 2)):
        alone = run(tmp_path, *selected)
        assert alone.returncode == 1
        entries = claims_of(tmp_path).values()
        assert (len(entries), {entry["alpha"] for entry in entries}) == (number, {0.05 / 5})


def test_what_seeds_cannot_decide_is_an_expected_failure_that_says_how_many_would(tmp_path):
    (tmp_path / "test_open.py").write_text(f"""{FIVE_LINES}
def noisy(seed, more=0.0, salt=1):
    return random.Random(seed * 9 + salt).gauss(0, 1) + more

def test_more_is_more(seeds):
    assert seeds(noisy, more=0.2, salt=2) > seeds(noisy)
""")
    ran = run(tmp_path, "-rx", "--embinit-seeds", "6")
    assert ran.returncode == 0, ran.stdout
    assert "xfailed" in ran.stdout
    assert "seeds would decide" in ran.stdout or "over 1000 needed" in ran.stdout


WRONG = f"""{TRAIN}
def pair(seed):
    return {{"a": 1}}

def boom(seed, bad=False):
    if bad:
        raise RuntimeError("no luck")
    return random.Random(seed).random()

def test_holds(seeds):
    assert seeds(train, tied=False) < seeds(train)

def test_fixture(seeds, tmp_path):
    assert seeds(train) < 3

def test_local(seeds):
    def mine(seed):
        return 1.0
    assert seeds(mine) < 3

def test_pair(seeds):
    assert seeds(pair) < 3

def test_boom(seeds):
    assert seeds(boom, bad=True) < seeds(boom)

def test_no_seed(seeds):
    assert seeds(len) < 3

def test_argument(seeds):
    assert seeds(train, tide=3) < 3

def test_nothing(seeds):
    seeds(train)

def test_or(seeds):
    assert seeds(train) < 3 or seeds(train) > 3

def test_same(seeds):
    assert seeds(train) < seeds(train)

def test_none(seeds):
    assert seeds(train) - seeds(train) <= 0

class Made:
    def train(self, seed):
        return 1.0

MADE = Made()

def test_method(seeds):
    assert seeds(MADE.train) < 3

def test_positional(seeds):
    assert seeds(train, 3) < 3

async def test_later(seeds):
    assert seeds(train) < 3
"""
MISTAKES = [
    "test_wrong.py:19: a test with seeds is read before fixtures are there, and takes tmp_path",
    "test_wrong.py:25: 'mine' is a lambda, a method, or made inside of another function",
    "pair returned a dict; return one number, or name several by @training",
    "arm 'bad=True', seeds 0, 1, 2 and 3 more: RuntimeError: no luck (test_wrong.py:13)",
    "test_wrong.py:34: a builtin_function_or_method can't be a training function",
    "test_wrong.py:37: test_wrong:train can't be called for the arm 'train(tide=3)'",
    "test_wrong.py:39: test_nothing asserts no comparison of arms",
    "state it without 'or'",
    "train() and train() are one run, so that no number can differ",
    "(train() − train()) and 0 are one run",
    "'train' is a lambda, a method, or made inside of another function",
    "seeds takes one function, and its arguments by name, as in seeds(train, lr=0.1)",
    "a claim is read and never awaited: write def in place of async def",
]


def test_each_mistake_is_one_line_and_costs_no_other_test(tmp_path):
    (tmp_path / "test_wrong.py").write_text(WRONG)
    ran = run(tmp_path)
    assert ran.returncode == 3
    assert re.search(r"runs: \d+ trained, 0 read, 22 failed", ran.stdout), ran.stdout
    for line in MISTAKES:
        assert line in ran.stdout, ran.stdout
    known = claims_of(tmp_path)
    assert known["test_wrong/seeds/holds[seeds]"]["verdict"] == "SUPPORTED"
    assert known["test_wrong/seeds/control-an-arm-against-itself[seeds]"]["as_expected"] is True


def test_a_run_that_its_seed_does_not_decide_is_told(tmp_path):
    """The control and the second making of one run see a function that ignores its seed."""
    (tmp_path / "test_unseeded.py").write_text("""
import os

def train(seed, tied=True):
    return 3.0 + int.from_bytes(os.urandom(2)) / 65536

def test_untied_helps(seeds):
    assert seeds(train, tied=False) < seeds(train, tied=True)
""")
    ran = run(tmp_path)
    assert "seed" in ran.stdout.partition("verdicts")[2], ran.stdout


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

def test_nothing_was_loaded():
    assert not {each for each in sys.modules if each.startswith("embinit.claims")}
"""


MORE_OF_STRANGERS = """
import pytest

@pytest.mark.parametrize(argnames="x", argvalues=[1, 2])
def test_by_name(x):
    assert x

def test_default(seeds=5):
    assert seeds == 5

@pytest.mark.parametrize(argnames="seeds", argvalues=[1, 2])
def test_given_by_name(seeds):
    assert seeds
"""


def test_any_parametrization_of_a_stranger_is_let_be(tmp_path):
    (tmp_path / "test_theirs.py").write_text(MORE_OF_STRANGERS)
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "5 passed" in ran.stdout


def test_noise_that_left_no_number_breaks_the_claim(tmp_path):
    """Its margin would be none, and the claim green."""
    train = TRAIN.replace(
        "    noise =", "    if seed > 5000:\n        return float('nan')\n    noise ="
    )
    (tmp_path / "test_nan.py").write_text(FIVE_LINES.replace(TRAIN, train))
    ran = run(tmp_path)
    assert ran.returncode == 3, ran.stdout
    assert "train(tied=True) has no score from seeds 5001, 5002" in ran.stdout
    assert "give .within(a margin)" in ran.stdout


MARGINS = f"""{TRAIN}
def test_left(seeds):
    assert seeds(train).within(0.9) < seeds(train, depth=2)

def test_right(seeds):
    assert seeds(train) < seeds(train, depth=2).within(0.9)
"""


def test_a_margin_that_is_given_is_kept_and_costs_no_runs(tmp_path):
    (tmp_path / "test_within.py").write_text(MARGINS)
    ran = run(tmp_path, "-k", "left or right")
    margins = [each["comparisons"][0]["margin"] for each in claims_of(tmp_path).values()]
    assert margins == [0.9, 0.9]
    assert len(list((tmp_path / ".embinit/store/runs").rglob("*.json"))) == 12, ran.stdout


IN_CLASSES = f"""{TRAIN}
import pytest

def setup_module():
    print("set up once")

class TestOuter:
    class TestInner:
        def test_tied(self, seeds):
            assert seeds(train) > seeds(train, tied=False)

    @pytest.mark.parametrize("depth", [1, 2], indirect=True)
    def test_indirect(self, seeds, depth):
        assert seeds(train, depth=depth) > 0

@pytest.fixture
def depth(request):
    return request.param * 1000
"""


def test_classes_have_the_control_of_their_file_and_set_up_runs_once(tmp_path):
    (tmp_path / "test_classes.py").write_text(IN_CLASSES)
    ran = run(tmp_path, "-s")
    assert ran.stdout.count("set up once") == 1
    assert "before fixtures are there: leave indirect out" in ran.stdout
    known = claims_of(tmp_path)
    assert known["test_classes/seeds/TestOuter.TestInner.tied[seeds]"]["verdict"] == "SUPPORTED"
    assert "test_classes/seeds/control-an-arm-against-itself[seeds]" in known


def test_a_strangers_own_seeds_are_theirs(tmp_path):
    (tmp_path / "test_mine.py").write_text(STRANGERS)
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "3 passed" in ran.stdout
    assert not (tmp_path / "reports").exists()


def test_it_is_registered_like_any_claim(tmp_path):
    (tmp_path / "test_model.py").write_text(FIVE_LINES)
    ran = run(tmp_path, "-o", "embinit_register=10")
    assert ran.returncode == 0, ran.stdout
    assert "test_model/seeds/untied-helps[seeds]" in (tmp_path / "claims.lock").read_text()
    assert run(tmp_path).returncode == 0
    entry = claims_of(tmp_path)["test_model/seeds/untied-helps[seeds]"]
    assert entry["registration"]["state"] == "beforehand"
    assert entry["comparisons"][0]["spread"]["seeds"] == 10


@pytest.mark.nightly
def test_helpers_find_a_plain_function_by_its_module(tmp_path):
    """Without workers other processes help, which load the test's file anew."""
    # What a helper can't make has a failure, which ends with status 3.
    slow = FIVE_LINES.replace("    noise =", "    __import__('time').sleep(0.5)\n    noise =")
    (tmp_path / "test_slow.py").write_text(slow)
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "2 passed" in ran.stdout
