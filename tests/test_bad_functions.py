"""What training functions may do wrong within a session: others' claims go on, nothing is lost."""

from __future__ import annotations

import json
import re

import pytest

from embinit import InputError, Store
from embinit.commands.main import main
from embinit.report.markdown import as_markdown
from embinit.runs.store import FORMAT
from test_lock import embinit, project  # noqa: F401

CLAIMS = """
import os, random, sys
from pathlib import Path
from embinit import Family, claim, experiment, training

STORE = Path(".embinit/store").absolute()


@training(measures=["score"])
def good(seed, arm):
    return {{"low": 1, "high": 9}}[arm] + random.Random(f"{{seed}} {{arm}}").random()


@training(measures=["score"])
def bad(seed, arm):
    {does}
    return good(seed, arm)


GOOD, BAD = (
    experiment(each.name, training=each, arms=["low", "high"], seeds=6, most_seeds=None)
    for each in (good, bad)
)
MINE = Family("mine/f", size=2)


@claim("mine/f/bad", says="bad", family=MINE, on=BAD)
def test_bad(arms):
    assert arms["high"] > arms["low"]


@claim("mine/f/good", says="good", family=MINE, on=GOOD)
def test_good(arms):
    assert arms["high"] > arms["low"]
"""

WRITES = """for path in [*STORE.glob("runs/*/*.json")]:
        path.write_text("mine")
    (STORE / "runs/mine.json").write_text("mine")
    (STORE / "runs/mi").mkdir(exist_ok=True)
    (STORE / "runs/mi/mine.json").write_text("mine")
    (STORE / "sessions/mine.json").write_text("mine")
    (STORE / "failures/mine.json").write_text("mine")"""

DELETES = """import shutil
    shutil.rmtree(STORE, ignore_errors=True)"""

PRINTS = """sys.stdout.buffer.write(b"\\\\xff\\\\xfe\\\\x00 binary \\\\x1b[31m")
    sys.stdout.flush()
    os.write(1, b"\\\\xff\\\\x00")
    os.write(2, b"\\\\xff\\\\x00")"""

FORKS = """if os.fork() == 0:
        raise KeyError("a child")
    os.wait()"""


def verdicts(project):  # noqa: F811
    document = json.loads((project / "reports/latest/verdicts.json").read_text())
    return {re.search(r"([\w-]+)\[", each["id"])[1]: each["verdict"] for each in document["claims"]}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    "does", [WRITES, DELETES, PRINTS, FORKS], ids=["writes", "deletes", "prints", "forks"]
)
def test_a_function_that_meddles_leaves_all_claims_judged(embinit, project, does):  # noqa: F811
    """A record that it spoils is made again; what it leaves there is in nobody's way."""
    (project / "claims/test_fits.py").write_text(CLAIMS.format(does=does))
    ran = embinit("run")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert verdicts(project) == {"bad": "SUPPORTED", "good": "SUPPORTED"}
    assert (project / "reports/latest/index.html").exists()
    assert main(["runs"]) == 0


LEAVES = "os._exit(0)"
CLOSES = """sys.setrecursionlimit(200)
    for stream in range(3):
        os.close(stream)"""
SKIPS = """import pytest
    pytest.importorskip("nosuch")"""


@pytest.mark.parametrize(
    ("does", "status", "verdict", "told"),
    [
        (LEAVES, 3, "NOT RUN", "bad called os._exit(0)"),
        (SKIPS, 3, "NOT RUN", "bad raised Skipped: could not import 'nosuch'"),
        (CLOSES, 0, "SUPPORTED", ""),
    ],
    ids=["leaves", "skips", "closes"],
)
def test_a_function_that_would_end_the_session_fails_alone(
    embinit,  # noqa: F811
    project,  # noqa: F811
    does,
    status,
    verdict,
    told,
):
    """A skip took its claims out of the report, and ``os._exit`` the report itself: both green."""
    (project / "claims/test_fits.py").write_text(CLAIMS.format(does=does))
    ran = embinit("run")
    assert ran.returncode == status, ran.stdout + ran.stderr
    assert verdicts(project) == {"bad": verdict, "good": "SUPPORTED"}
    assert told in ran.stdout


def test_what_is_to_be_known_of_runs_is_told_and_written(embinit, project):  # noqa: F811
    """What no key can see before anything trains; two numbers for one seed when they are there."""
    does = 'time.sleep(float(os.environ.get("NAP", 0)))\n    return time.perf_counter()'
    text = CLAIMS.format(does=does).replace("import os,", "import os, time,")
    (project / "claims/test_fits.py").write_text(text)
    ran = embinit("run")
    seen = "embinit: bad reads os.environ, which is in no key: pass it as an argument"
    assert ran.stdout.count(seen) == 1
    assert ran.stdout.index(seen) < ran.stdout.index("verdicts")
    document = json.loads((project / "reports/latest/verdicts.json").read_text())
    [note] = document["session"]["notes"]
    assert note.startswith("bad gives two numbers for one seed (score ")
    assert note in ran.stdout
    assert note in (project / "reports/latest/index.html").read_text()
    assert "bad gives two numbers for one seed" in as_markdown(document)


def test_two_functions_of_one_name_cost_the_second_ones_claims_alone(embinit, project):  # noqa: F811
    """They fail with one line each; the first one's are judged."""
    (project / "claims/test_fits.py").write_text(CLAIMS.format(does="pass"))
    text = CLAIMS.format(does="pass").replace("mine/f", "mine/g")
    (project / "claims/test_other.py").write_text(text)
    ran = embinit("run")
    assert ran.returncode == 3
    assert verdicts(project) == {"bad": "SUPPORTED", "good": "SUPPORTED"}
    for name in ("good", "bad"):
        assert re.search(
            rf"test_other.py:\d+: two training functions are called '{name}' "
            r"\(test_fits.py:\d+ and test_other.py:\d+\)",
            ran.stdout,
        )
    assert "Traceback" not in ran.stdout


def test_a_store_from_a_newer_version_is_one_line_and_left_alone(embinit, project):  # noqa: F811
    """Its records would look damaged here, and be set aside."""
    (project / "claims/test_fits.py").write_text(CLAIMS.format(does="pass"))
    store = Store(project / ".embinit/store")
    store.take(store)
    (store.root / FORMAT).write_text("7\n")
    ran = embinit("run")
    assert ran.returncode == 4
    assert "is of a newer embinit (format 7, and this one knows 1)" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    with pytest.raises(InputError, match="newer embinit"):
        Store(store.root)
    (store.root / FORMAT).write_text("mine")
    with pytest.raises(InputError, match="'mine' for its format"):
        Store(store.root)
