"""Kills sessions of claims at random moments, and checks each time that nothing is lost or wrong.

    python benchmarks/kill.py --kills 1000

A session's runs are functions that mostly sleep, so that a kill takes about a second. Each
kill sends SIGINT, SIGTERM or SIGKILL to a session's first process, to its whole group, or to one of
its helpers or workers. When all of its processes are gone, the store and the report are looked at:

- every record that was there before is there still, to the byte, and none is damaged;
- every record has the numbers that its function gives;
- the report's three files are of one session; a whole one was replaced by no unfinished one, and
  every verdict is that of an undisturbed session.

Every few kills a session runs to its end, and must come to the verdicts of the undisturbed one.
What was lost or wrong is printed, and the status is 1. ``--json`` keeps the counts, and with
``--add`` adds them to those that the file has, as several calls can share a day's kills.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import embinit.pytest_plugin.session  # noqa: F401, loaded once, for all that is forked from here
from embinit.errors import InputError, Status
from embinit.files.writing import finish_writing
from embinit.report import baseline, page, past
from embinit.runs.store import Store

CLAIMS = """
import random, time
from embinit import Family, claim, experiment, training

@training(measures={"score": "points"})
def fit(seed, arm, tell):
    for step in range(4):
        time.sleep(0.02)
        tell(step / 4)
    return {"low": 1, "mid": 5, "high": 9}[arm] + random.Random(f"{arm} {seed}").random()

ON = experiment("scores", training=fit, arms=["low", "mid", "high"], margin=1.0, seeds=6)
MINE = Family("mine/f", size=4)

@claim("mine/f/a", says="High is above low", family=MINE, on=ON)
def test_a(arms):
    assert arms["high"] > arms["low"]

@claim("mine/f/b", says="High is above mid", family=MINE, on=ON)
def test_b(arms):
    assert arms["high"] > arms["mid"]

@claim("mine/f/c", says="Mid is below low", family=MINE, on=ON)
def test_c(arms):
    assert arms["mid"] < arms["low"]

@claim("mine/f/d", says="Mid is no worse than low", family=MINE, on=ON)
def test_d(arms):
    assert arms["mid"] >= arms["low"]
"""
RUNS, MOST_KILLS, SECONDS = 18, 5, 300.0
BASE = {"low": 1, "mid": 5, "high": 9}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "embinit.pytest_plugin"}
"""No other package's plugin is loaded, for a second saved in each session."""
OPTIONS = ("-q", "-p", "no:cacheprovider")


@dataclass
class Counts:
    """What was done, and what came of it.

    Attributes:
        kills: How many kills, by signal and victim.
        ends: How the killed sessions ended, by status or signal.
        records: In how many kills the store was empty, part full or full.
        faults: What was lost or wrong, in words.
        longest: The longest that a killed session's processes took to be gone, in seconds.
        seconds: How long it all took.
        seeds: What decided moments, signals and victims.
    """

    kills: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    records: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    longest: float = 0.0
    seconds: float = 0.0
    seeds: list[int] = field(default_factory=list)

    def told(self, earlier: dict[str, Any]) -> dict[str, Any]:
        """The counts as JSON takes them, added to those of earlier calls."""

        def added(name: str) -> dict[str, int]:
            return dict(sorted((Counter(earlier.get(name, {})) + getattr(self, name)).items()))

        return {
            **{name: added(name) for name in ("kills", "ends", "records")},
            "faults": earlier.get("faults", 0) + len(self.faults),
            "longest_seconds": max(earlier.get("longest_seconds", 0.0), round(self.longest, 1)),
            "seconds": earlier.get("seconds", 0) + round(self.seconds),
            "seeds": [*earlier.get("seeds", []), *self.seeds],
        }


def start(folder: Path, arguments: Sequence[str], before: Callable[[], None] = lambda: None) -> int:
    """Starts a session in a process forked from this one, which has all imported; its id.

    Args:
        folder: The project.
        arguments: Further arguments of pytest.
        before: Is called in the process before pytest.
    """
    return fork(folder, lambda: pytest.main(["claims", *OPTIONS, *arguments]), before)


def fork(folder: Path, call: Callable[[], int], before: Callable[[], None] = lambda: None) -> int:
    """Starts a process forked from this one, in a folder whose ``log.txt`` has its output; its id.

    Args:
        folder: The process's directory.
        call: Gives the process's status.
        before: Is called in the process first.
    """
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        log = os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        before()
        status = int(call())
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def load(numbers: bool = True) -> None:
    """Loads what a session takes longest to load, so that those that are forked have it.

    Args:
        numbers: Whether it loads scipy and statsmodels too.
    """
    if numbers:
        import scipy.stats  # noqa: F401
        import statsmodels.stats.multitest
        import statsmodels.stats.power  # noqa: F401

    os.environ.update(PLUGINS)
    environment = page._environment()
    for name in environment.list_templates(extensions=["j2"]):
        environment.get_template(name)


def descendants(process: int) -> list[int]:
    """The living processes that a process started, and those that they did."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state != "Z":
            parents.setdefault(int(parent), []).append(int(path.parent.name))
    known, left = [], [process]
    while left:
        known += (children := parents.get(left.pop(), []))
        left += children
    return known


def group(leader: int) -> list[int]:
    """The living processes of a session's group."""
    known = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z" and int(fields[3]) == leader:
            known.append(int(path.parent.name))
    return known


def kill(leader: int, draw: random.Random) -> str:
    """Kills some of a session's processes; says which and how."""
    sign, victim = draw.choice(SIGNALS), draw.choice(("first", "group", "other"))
    try:
        if victim == "group":
            os.killpg(leader, sign)
        else:
            others = descendants(leader) if victim == "other" else []
            if not others:
                victim = "first"
            os.kill(draw.choice(others) if others else leader, sign)
    except ProcessLookupError:
        return "it had ended"
    return f"{sign.name} {victim}"


def wait(leader: int, most: float = SECONDS) -> tuple[int, float]:
    """Waits until every process of a session is gone: its status, and the seconds.

    Raises:
        TimeoutError: Some were left after ``most`` seconds, and were killed.
    """
    began, status = time.monotonic(), None
    while True:
        if status is None:
            ended, code = os.waitpid(leader, os.WNOHANG)
            status = os.waitstatus_to_exitcode(code) if ended else None
        if status is not None and not group(leader):
            return status, time.monotonic() - began
        if time.monotonic() - began > most:
            os.killpg(leader, signal.SIGKILL)
            if status is None:
                os.waitpid(leader, 0)
            raise TimeoutError(f"processes are left after {most:.0f} s")
        time.sleep(0.02)


def contents(folder: Path) -> dict[str, bytes]:
    """The records of a folder's store, by file name."""
    return {path.name: path.read_bytes() for path in folder.glob(".embinit/store/runs/*/*.json")}


def true_score(arm: str, seed: int) -> float:
    """The number that the function gives."""
    return BASE[arm] + random.Random(f"{arm} {seed}").random()


def faults_of(folder: Path, before: dict[str, bytes], whole: dict[str, Any]) -> list[str]:
    """What was lost or is wrong in a folder.

    Args:
        folder: The session's folder.
        before: The records that it had before.
        whole: The verdicts of the undisturbed session, by claim.
    """
    faults, now = [], contents(folder)
    faults += [f"record {name} was lost" for name in before.keys() - now.keys()]
    faults += [
        f"record {name} has changed"
        for name in before.keys() & now.keys()
        if before[name] != now[name]
    ]
    if (folder / ".embinit/store/runs").is_dir():
        store = Store(folder / ".embinit/store", write=False)
        faults += [f"{path.name} {why}" for path, why in store.verify() if path.suffix == ".json"]
        faults += [f"{path.name} is damaged" for path in store.root.rglob("*.damaged")]
        for key in store:
            result = store.get(key)
            if result is None:
                faults.append(f"record {key} can't be read")
                continue
            arm = json.loads(result.spec.recipe.arguments)["arm"]
            if result.measures != {"score": true_score(arm, result.spec.seed)}:
                faults.append(f"record {key} has {result.measures}")
    for latest in (folder / "reports/latest", folder / "reports/latest/unfinished"):
        faults += report_faults(latest, whole)
    return faults


def report_faults(latest: Path, whole: dict[str, Any]) -> list[str]:
    """What is wrong with a report, which is there as a whole or not at all."""
    finish_writing(latest)
    known = {name: (latest / name).exists() for name in ("verdicts.json", "index.html", past.NAME)}
    if not any(known.values()):
        return []
    if not all(known.values()):
        return [f"{latest.name} has {known}"]
    try:
        document = baseline.read(latest / "verdicts.json")
    except InputError as error:
        return [str(error)]
    faults = [
        f"{claim['id']} came out otherwise"
        for claim in document["claims"]
        if claim["verdict"] != "NOT RUN" and essence(claim) != whole[claim["id"]]
    ]
    if not baseline.unfinished(document) and len(document["claims"]) != len(whole):
        faults.append(f"{latest.name} has {len(document['claims'])} claims and says nothing of it")
    return faults


def essence(claim: dict[str, Any]) -> Any:
    """What of a claim's entry must not hang on how it came about.

    Holm's p is over the claims that have a verdict, and an interrupted session has fewer of them.
    """
    kept = [
        {name: value for name, value in comparison.items() if name != "holm_p"}
        for comparison in claim["comparisons"]
    ]
    return [claim["verdict"], kept]


def undisturbed(folder: Path) -> dict[str, Any]:
    """Runs a session to its end: its claims by id.

    Raises:
        AssertionError: It did not come to its end.
    """
    status, _ = wait(start(folder, ()))
    path = folder / "reports/latest/verdicts.json"
    document = baseline.read(path) if path.exists() else {}
    if status != Status.NOT_IN_ORDER or not document or baseline.unfinished(document):
        log = (folder / "log.txt").read_text(errors="replace")[-3000:]
        raise AssertionError(f"a session that nobody disturbed ended with {status}\n{log}")
    return {claim["id"]: essence(claim) for claim in document["claims"]}


def new_folder(root: Path) -> Path:
    """An empty project."""
    shutil.rmtree(root / "mine", ignore_errors=True)
    (root / "mine/claims").mkdir(parents=True)
    (root / "mine/claims/test_mine.py").write_text(CLAIMS)
    (root / "mine/pytest.ini").write_text("[pytest]\n")
    return root / "mine"


def kill_many(
    kills: int,
    seed: int,
    workers: float,
    root: Path,
    minutes: float,
    keep: Callable[[Counts], None],
) -> Counts:
    """Kills sessions.

    Args:
        kills: How many times.
        seed: Decides moments, signals and victims.
        workers: The share of sessions that have two workers of pytest-xdist.
        root: A folder for projects.
        minutes: After which no further one is begun.
        keep: Is given the counts after each kill.
    """
    draw, counts = random.Random(seed), Counts(seeds=[seed])
    began = time.monotonic()
    undisturbed(new_folder(root))  # the first session takes longer
    folder, second = new_folder(root), time.monotonic()
    whole, usual = undisturbed(folder), time.monotonic() - second
    left = 0
    while sum(counts.kills.values()) < kills and time.monotonic() - began < 60 * minutes:
        if left == 0:
            folder, left = new_folder(root), draw.randint(1, MOST_KILLS)
        before = contents(folder)
        arguments = ("-p", "xdist", "-n", "2") if draw.random() < workers else ()
        leader = start(folder, arguments)
        # Workers and helpers take longer to start than to train.
        time.sleep(draw.random() * usual * (4 if arguments else 1.2))
        told = kill(leader, draw)
        status, seconds = wait(leader)
        if told == "it had ended":
            continue
        counts.kills[told] += 1
        counts.ends[str(status)] += 1
        counts.longest = max(counts.longest, seconds)
        stored = len(contents(folder))
        counts.records["none" if stored == 0 else "all" if stored == RUNS else "some"] += 1
        faults = faults_of(folder, before, whole)
        left -= 1
        if left == 0:
            before = contents(folder)
            if undisturbed(folder) != whole:
                faults.append("the session afterwards came to other verdicts")
            faults += faults_of(folder, before, whole)
        for fault in faults:
            print(f"kill {sum(counts.kills.values())}, {told}: {fault}", flush=True)
        counts.faults += faults
        counts.seconds = time.monotonic() - began
        keep(counts)
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; 1 if anything was lost or wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--workers", type=float, default=0.1, help="share of sessions with -n 2")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no kill afterwards")
    parser.add_argument("--json", type=Path, help="write the counts here")
    parser.add_argument("--add", action="store_true", help="add to the counts that --json has")
    parsed = parser.parse_args(arguments)
    warnings.simplefilter("ignore", DeprecationWarning)  # a fork of a process with threads
    load()
    earlier: dict[str, Any] = {}
    if parsed.add and parsed.json and parsed.json.exists():
        earlier = json.loads(parsed.json.read_bytes())

    def keep(counts: Counts) -> None:
        if parsed.json:
            parsed.json.write_text(json.dumps(counts.told(earlier), indent=1) + "\n")

    with tempfile.TemporaryDirectory(prefix="embinit-kill-") as root:
        given = (parsed.kills, parsed.seed, parsed.workers, Path(root), parsed.minutes)
        counts = kill_many(*given, keep)
    keep(counts)
    print(json.dumps(counts.told(earlier), indent=1))
    return 1 if counts.faults else 0


if __name__ == "__main__":
    sys.exit(main())
