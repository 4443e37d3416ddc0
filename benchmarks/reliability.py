"""Kills sessions, damages their files and spoils what embinit reads; nothing may be lost or wrong.

    python benchmarks/reliability.py --kills 1000 --damage 1000 --spoil 10000

A session's runs are functions that mostly sleep, so that a kill takes about a second.

- A *kill* sends SIGINT, SIGTERM or SIGKILL at a random moment to a session's first process, to its
  whole group, or to one of its trainers. Every record that was there before must be there
  still, to the byte, and none damaged; no verdict may be another than that of an undisturbed
  session, and every few kills a session must come to its end with all of them.
- A *damage* spoils a record, the report, the baseline or the lock. The session afterwards must come
  to the same verdicts, or end in one clear line.
- A *spoilt* file is one of each format that embinit reads (``tests/malformed.py``). Its reader must
  give the right content or one InputError.

What was lost or wrong is printed, and the status is 1. ``--json`` keeps the counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
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
from pathlib import Path
from typing import Any

import pytest
import scipy.stats  # noqa: F401, loaded once, for all that is forked from here

import embinit.pytest_plugin.session  # noqa: F401, likewise
from embinit.claims.records import ClaimRecord
from embinit.errors import InputError, Status
from embinit.report.reading import read
from embinit.runs.store import RecordError, Store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from records import written

import malformed

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

def stated(name, says, compare):
    def test(arms):
        assert compare(arms)

    return claim(f"mine/f/{name}", says=says, family=MINE, on=ON)(test)

test_a = stated("a", "High is above low", lambda arms: arms["high"] > arms["low"])
test_b = stated("b", "High is above mid", lambda arms: arms["high"] > arms["mid"])
test_c = stated("c", "Mid is below low", lambda arms: arms["mid"] < arms["low"])
test_d = stated("d", "Mid is no worse than low", lambda arms: arms["mid"] >= arms["low"])
"""
MOST_KILLS, SECONDS = 5, 300.0
BASE = {"low": 1, "mid": 5, "high": 9}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "embinit.pytest_plugin"}
"""No other package's plugin is loaded, for a second saved in each session."""
OPTIONS = ("-q", "-p", "no:cacheprovider")
STORE, REPORT = Path(".embinit/store"), Path("reports/latest")
REFERENCE = Path("reports/reference/verdicts.json")

Verdicts = dict[str, Any]


def new_folder(root: Path) -> Path:
    """An empty project."""
    shutil.rmtree(root / "mine", ignore_errors=True)
    (root / "mine/claims").mkdir(parents=True)
    (root / "mine/claims/test_mine.py").write_text(CLAIMS)
    (root / "mine/pytest.ini").write_text("[pytest]\n")
    return root / "mine"


def start(folder: Path, *arguments: str) -> int:
    """Starts a session in a process forked from this one, which has all imported; its id.

    Its output goes to ``log.txt`` in the project's folder.
    """
    sys.stdout.flush()
    if child := os.fork():
        return child
    status = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        log = os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        status = int(pytest.main(["claims", *OPTIONS, *arguments]))
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def working_in(folder: Path) -> list[int]:
    """The living processes that have a folder as their own, as a session and its trainers have."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if link.readlink() == folder.resolve():
                found.append(int(link.parent.name))
    return found


def kill(leader: int, folder: Path, draw: random.Random) -> str:
    """Kills some of a session's processes; says which and how."""
    sign, victim = draw.choice(SIGNALS), draw.choice(("first", "group", "other"))
    try:
        if victim == "group":
            os.killpg(leader, sign)
        else:
            others = {*working_in(folder)} - {leader} if victim == "other" else ()
            victim = "other" if others else "first"
            os.kill(draw.choice(sorted(others)) if others else leader, sign)
    except ProcessLookupError:
        return "it had ended"
    return f"{sign.name} {victim}"


def wait(leader: int, folder: Path) -> int:
    """Waits until every process of a session is gone, its trainers too: its status.

    TimeoutError if some were left after ``SECONDS``, and were killed.
    """
    began, status = time.monotonic(), None
    while True:
        if status is None:
            ended, code = os.waitpid(leader, os.WNOHANG)
            status = os.waitstatus_to_exitcode(code) if ended else None
        left = working_in(folder)
        if status is not None and not left:
            return status
        if time.monotonic() - began > SECONDS:
            for process in left:
                os.kill(process, signal.SIGKILL)
            if status is None:
                os.waitpid(leader, 0)
            raise TimeoutError(f"processes are left after {SECONDS:.0f} s")
        time.sleep(0.02)


def contents(folder: Path) -> dict[str, bytes]:
    """The records of a folder's store, by file name."""
    return {path.name: path.read_bytes() for path in folder.glob(f"{STORE}/runs/*/*.json")}


def essence(claim: ClaimRecord) -> Any:
    """What of a claim's record must not depend on how it came about."""
    return claim.verdict, claim.comparisons


def verdicts(report: Path) -> Verdicts:
    """The claims of a whole report by id; none where it is unfinished, or not there."""
    path = report / "verdicts.json"
    document = read(path) if path.exists() else None
    if document is None or document.lacking:
        return {}
    return {claim.id: essence(claim) for claim in document.claims}


def undisturbed(folder: Path) -> Verdicts:
    """Runs a session to its end: its claims by id."""
    status = wait(start(folder), folder)
    found = verdicts(folder / REPORT)
    if status != Status.NOT_OK or not found:
        log = (folder / "log.txt").read_text(errors="replace")[-3000:]
        raise AssertionError(f"a session that nobody disturbed ended with {status}\n{log}")
    return found


def faults_of(folder: Path, before: dict[str, bytes], whole: Verdicts) -> list[str]:
    """What was lost or is wrong in a folder that had records ``before``; ``whole`` is right."""
    now = contents(folder)
    faults = [f"record {name} was lost or changed" for name in before if before[name] != now[name]]
    if (folder / STORE / "runs").is_dir():
        store = Store(folder / STORE, write=False)
        faults += [f"{path.name} is damaged" for path in store.root.rglob("*.damaged")]
        for key in store:
            try:
                result = store.read(key)
            except RecordError as error:
                faults.append(str(error))
                continue
            arm = json.loads(result.spec.recipe.arguments)["arm"]
            score = BASE[arm] + random.Random(f"{arm} {result.spec.seed}").random()
            if result.measures != {"score": score}:
                faults.append(f"record {key} has {result.measures}")
    report = folder / REPORT / "verdicts.json"
    try:
        claims = read(report).claims if report.exists() else ()
    except InputError as error:
        return [*faults, str(error)]
    return faults + [
        f"{claim.id} came out otherwise"
        for claim in claims
        if claim.verdict != "NOT RUN" and essence(claim) != whole[claim.id]
    ]


def kills(count: int, draw: random.Random, root: Path, workers: float = 0.1) -> Counter[str]:
    """Kills sessions: the outcomes, by signal and victim, and ``WRONG``.

    A share ``workers`` of them asks for two trainers by pytest-xdist's ``-n``.
    """
    counts = Counter[str]()
    undisturbed(new_folder(root))  # the first session takes longer
    folder, began = new_folder(root), time.monotonic()
    whole, usual = undisturbed(folder), time.monotonic() - began
    left = 0
    while sum(counts.values()) - counts["WRONG"] < count:
        if left == 0:
            folder, left = new_folder(root), draw.randint(1, MOST_KILLS)
        before = contents(folder)
        arguments = ("-p", "xdist", "-n", "2") if draw.random() < workers else ()
        leader = start(folder, *arguments)
        # Trainers take longer to start than to train.
        time.sleep(draw.random() * usual * (4 if arguments else 1.2))
        killed = kill(leader, folder, draw)
        wait(leader, folder)
        if killed == "it had ended":
            continue
        counts[killed] += 1
        faults = faults_of(folder, before, whole)
        left -= 1
        if left == 0:
            before = contents(folder)
            if undisturbed(folder) != whole:
                faults.append("the session afterwards came to other verdicts")
            faults += faults_of(folder, before, whole)
        for fault in faults:
            print(f"after {killed}: {fault}", flush=True)
        counts["WRONG"] += len(faults)
    return counts


def mutation_by(draw: random.Random) -> malformed.Mutation:
    """A random mutation."""
    kind, token = draw.choice(malformed.KINDS), draw.choice(malformed.TOKENS)
    return kind, draw.randrange(2**16), draw.randrange(2**16), token


def damages(count: int, draw: random.Random, root: Path) -> Counter[str]:
    """Damages files of projects: how many sessions came out right, were refused, or WRONG."""
    counts, template = Counter[str](), root / "template"
    whole = undisturbed(new_folder(root))
    shutil.move(root / "mine", template)
    (template / REFERENCE).parent.mkdir()
    shutil.copy(template / REPORT / "verdicts.json", template / REFERENCE)
    for _ in range(count):
        folder = root / "mine"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(template, folder)
        records = sorted(folder.glob(f"{STORE}/runs/*/*.json"))
        reports = [folder / REPORT / name for name in ("verdicts.json", "index.html")]
        path = draw.choice([*draw.sample(records, 3), *reports, folder / REFERENCE])
        mutation = mutation_by(draw)
        path.write_bytes(malformed.spoil(path.read_bytes(), mutation))
        counts[after_damage(folder, whole, path, mutation)] += 1
    return counts


def after_damage(folder: Path, whole: Verdicts, path: Path, mutation: malformed.Mutation) -> str:
    """What a session comes to after one of its files was damaged."""
    status, fault = -1, ""
    try:
        status = wait(start(folder, f"--embinit-baseline={REFERENCE}"), folder)
    except TimeoutError as error:
        fault = str(error)
    log = (folder / "log.txt").read_text(errors="replace")
    if "Traceback (most recent call last)" in log or "INTERNALERROR" in log:
        fault = "it shows a traceback"
    elif status == Status.UNUSABLE and path == folder / REFERENCE:
        return "refused"
    elif not fault and verdicts(folder / REPORT) != whole:
        fault = "it came to other verdicts"
    if fault:
        print(f"{path.relative_to(folder)}, {mutation!r:.200}, status {status}: {fault}")
    return "WRONG" if fault else "right"


def spoils(count: int, draw: random.Random, root: Path) -> Counter[str]:
    """Spoils files of every format: how many were read right, refused and so on."""
    counts = Counter[str]()
    logging.disable()  # gensim logs what it reads
    for case in range(count):
        name = list(malformed.READERS)[case % len(malformed.READERS)]
        changes = [mutation_by(draw) for _ in range(draw.randrange(1, 4))]
        which = draw.randrange(6)
        try:
            outcome = malformed.outcome(malformed.READERS[name], root / f"{case}", which, changes)
            counts[outcome.partition(":")[0]] += 1
        except Exception as error:
            counts["WRONG"] += 1
            print(f"{name}: {type(error).__name__}: {error!s:.200}\n  {which} {changes!r:.400}")
    return counts


def main() -> int:
    """Runs the command line; 1 if anything was lost or wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--damage", type=int, default=100)
    parser.add_argument("--spoil", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--json", type=Path, help="write the counts here")
    parsed = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)  # a fork of a process with threads
    os.environ.update(PLUGINS)
    counts: dict[str, dict[str, int]] = {}
    for count, number in ((kills, parsed.kills), (damages, parsed.damage), (spoils, parsed.spoil)):
        with tempfile.TemporaryDirectory(prefix="embinit-reliability-") as root:
            found = count(number, random.Random(parsed.seed), Path(root))
            counts[count.__name__] = dict(sorted(found.items()))
    print(written(parsed.json, {"seed": parsed.seed, **counts}))
    return int(any(count.get("WRONG") for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
