"""What training functions may do wrong within a session: others' claims go on, nothing is lost."""

from __future__ import annotations

import json
import re

from embinit.report.markdown import as_markdown
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


def verdicts(project):  # noqa: F811
    document = json.loads((project / "reports/latest/verdicts.json").read_text())
    return {re.search(r"([\w-]+)\[", each["id"])[1]: each["verdict"] for each in document["claims"]}


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
