"""Puts what should not be there into stores, reports, functions and claims, and looks what comes.

    python benchmarks/faults.py
    python benchmarks/faults.py --only functions --cases 10
    python benchmarks/faults.py --case "skips one arm"

Each case is a small project of its own with five claims, whose runs are stored, and one fault. A
session or a command meets it in a process with a time limit. It is ``right`` where all comes out
as without the fault, ``told`` where a status other than 0 and some words say what is missing, and
all else is as without it. It is ``WRONG`` where

- something hangs, shows a traceback, or shows a control character;
- a session is green that has no verdict on a claim, or another one than without the fault;
- a claim loses its verdict that the fault has nothing to do with, or a record its place;
- something outside the store and the report is changed or removed;
- an edit that changes what a function computes trains nothing, and nobody says so.

What is wrong is printed, and the status is 1. ``--json`` keeps the counts.
"""

from __future__ import annotations

import argparse
import builtins
import errno
import hashlib
import io
import itertools
import json
import os
import random
import re
import resource
import shutil
import stat
import sys
import tempfile
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import kill
import pytest

from embinit.commands import main as cli
from embinit.errors import Status, printable

OUTCOMES = ("right", "told", "WRONG")
OTHER = """

def score(arm, seed):
    return {"low": 1, "mid": 5, "high": 9}[arm] + random.Random(f"{arm} {seed}").random()


@training(measures={"score": "points"})
def other(seed, arm, tell):
    return score(arm, seed)


OTHERS = experiment("others", training=other, arms=["low", "high"], margin=1.0, seeds=5)

@claim("mine/g/other", says="High is above low", family=Family("mine/g", size=1), on=OTHERS)
def test_other(arms):
    assert arms["high"] > arms["low"]
"""
HEAD, ANSWER = "def other(seed, arm, tell):\n    ", "return score(arm, seed)"
CLAIMS = (
    kill.CLAIMS.replace("time.sleep(0.02)", "pass")
    .replace('arms["mid"] < arms["low"]', 'arms["mid"] > arms["low"]')
    .replace("Mid is below low", "Mid is above low")
    + OTHER
)
"""Four claims that hold, and one on a function of its own, which holds too."""
HURT = "mine/g/other[others]"
BASELINE = "--embinit-baseline=reports/reference/verdicts.json"
REPORT, STORE, REFERENCE = Path("reports/latest"), Path(".embinit/store"), Path("reports/reference")
MOST_BYTES = 3 * 2**30
SHOWN = re.compile(
    r"Traceback \(most recent call last\)|INTERNALERROR|Fatal Python error|Exception ignored"
)


class Wrong(Exception):
    """What a case came to that none may. The text says what."""


def contents(folder: Path) -> dict[str, bytes | str]:
    """The files below a folder by path, with what they hold; links with where they lead."""
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or (path.is_file() and path.stat().st_size < 2**20)
    }


@dataclass(frozen=True)
class Ended:
    """How a session or a command ended: its status, and what it printed."""

    status: int
    told: str


class Project:
    """A project whose runs are stored, and a folder beside it that nothing may touch.

    Args:
        root: Where project and outside are; a template of the first lies there.
        whole: What every claim comes to without a fault.
        seconds: The time limit of a session or a command.
    """

    def __init__(self, root: Path, whole: Mapping[str, Any], seconds: float) -> None:
        self.folder, self.outside = root / "mine", root / "outside"
        self.whole, self.seconds = whole, seconds
        for folder in (self.folder, self.outside):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(root / "template", self.folder)
        shutil.copytree(root / "template/.embinit/store/runs", self.outside / "runs")
        (self.outside / "file.json").write_text("{}\n")
        self._outside = contents(self.outside)
        self.records = sorted(self.folder.glob(".embinit/store/runs/*/*.json"))
        self._records = {path: path.read_bytes() for path in self.records}

    def write(self, changes: Mapping[str, str]) -> None:
        """Replaces texts in the claims."""
        path = self.folder / "claims/test_mine.py"
        text = path.read_text("utf-8")
        for old, new in changes.items():
            if old not in text:
                raise ValueError(f"the claims have no {old!r}")
            text = text.replace(old, new)
        path.write_text(text, "utf-8", errors="surrogatepass")

    def session(self, *arguments: str, before: Callable[[], None] = lambda: None) -> Ended:
        """Runs a session of the claims to its end."""
        given = ["claims", *kill.OPTIONS, *arguments]
        return self._ended(lambda: int(pytest.main(given)), before)

    def embinit(self, *arguments: str, before: Callable[[], None] = lambda: None) -> Ended:
        """Runs a command of embinit to its end."""

        def call() -> int:
            try:
                return cli.main(arguments)
            except SystemExit as error:  # argparse's, with its usage
                return int(error.code or 0)

        ended = self._ended(call, before)
        one = ended.told.startswith("usage: ") or len(ended.told.strip().splitlines()) == 1
        if ended.status == Status.UNUSABLE and not one:
            raise Wrong(f"status 4 with other than one line: {ended.told[:200]!r}")
        return ended

    def _ended(self, call: Callable[[], int], before: Callable[[], None]) -> Ended:
        log = self.folder / "log.txt"
        log.unlink(missing_ok=True)
        self._began = time.time_ns() - 10**8

        def limited() -> None:
            taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_BYTES, taken + MOST_BYTES))
            before()

        try:
            status, _ = kill.wait(kill.fork(self.folder, call, limited), self.seconds)
        except TimeoutError:
            raise Wrong("hangs") from None
        told = log.read_bytes().decode("utf-8", "surrogateescape") if log.exists() else ""
        if shown := SHOWN.search(told):
            after = told[shown.start() :].splitlines()
            last = next(
                (line for line in after if re.match(r"[\w.]+: |INTERNALERROR> \w", line)), ""
            )
            raise Wrong(f"status {status} with a traceback: {printable(last)}")
        if printable(told) != told:
            at = next(place for place, sign in enumerate(told) if printable(sign) != sign)
            raise Wrong(f"prints a control character: {told[max(at - 60, 0) : at + 20]!r}")
        if status != 0 and not told.strip():
            raise Wrong(f"status {status}, and says nothing")
        return Ended(status, told)

    def document(self, report: Path = REPORT) -> dict[str, Any] | None:
        """The verdicts.json that the last session wrote; None where it wrote none."""
        paths = [self.folder / each / "verdicts.json" for each in (report / "unfinished", report)]
        written = {path.stat().st_mtime_ns: path for path in paths if path.is_file()}
        if not written or max(written) <= self._began:
            return None
        return dict(json.loads(written[max(written)].read_bytes()))

    def judge(self, ended: Ended, hurt: Sequence[str] = (), report: Path = REPORT) -> str:
        """What a session came to.

        Args:
            ended: The session.
            hurt: The claims that the fault has to do with. They may have other ids now.
            report: The folder of its report.
        """
        if ended.status in (Status.UNUSABLE, Status.UNWRITABLE):
            return "told"
        document = self.document(report)
        if document is None:
            raise Wrong(f"status {ended.status}, and no report")
        found, good = {each["id"]: each for each in document["claims"]}, self.whole.keys() - hurt
        lost = [
            f"{name} is {found[name]['verdict'] if name in found else 'gone'}"
            for name in sorted(good)
            if name not in found or kill.essence(found[name]) != self.whole[name]
        ]
        if ended.status == 0:
            lost += [
                f"{name} is {entry['verdict']}"
                for name, entry in found.items()
                if name not in good and entry["verdict"] in ("NOT RUN", "ERROR")
            ]
            if len(found) < len(self.whole):
                lost.append(f"claims are gone: {len(self.whole) - len(found)}")
        if lost:
            raise Wrong(f"status {ended.status}, and {', '.join(lost)}")
        return "right" if ended.status == 0 else "told"

    def untouched(self, *gone: Path) -> None:
        """Holds what is outside, and every record but those ``gone``, against what it was."""
        if contents(self.outside) != self._outside:
            raise Wrong("something outside was changed or removed")
        for path in self.records:
            if path in gone:
                continue
            if not path.is_file():
                raise Wrong(f"record {path.stem[:12]} is gone")
            if path.read_bytes() != self._records[path]:
                raise Wrong(f"record {path.stem[:12]} was changed")

    def claims_of(self, record: Path) -> list[str]:
        """The claims that need a record's run."""
        own = b'"function": "other"' in self._records[record]
        return [claim for claim in self.whole if (claim == HURT) == own]

    def whole_again(self) -> None:
        """Holds a session without the fault against what it should come to."""
        ended = self.session()
        if ended.status != 0 or self.judge(ended) != "right":
            raise Wrong(f"status {ended.status} without the fault afterwards")


Case = Callable[[Project], str]


def changed_by(path: Path, change: Callable[[Path], object]) -> None:
    """Puts something at a path in the place of what is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    change(path)


def _device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except OSError:
        path.symlink_to("/dev/zero")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(6 * 2**30)


ODD: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a device": _device,
    "a directory": lambda path: (path / "inner").mkdir(parents=True),
    "a dangling link": lambda path: path.symlink_to("nowhere"),
    "a looping link": lambda path: path.symlink_to(path.name),
    "6 GB": _sparse,
    "6,000 digits": lambda path: path.write_text("9" * 6000),
    "deep JSON": lambda path: path.write_text("[" * 100_000),
    "control characters": lambda path: path.write_text('"\x1b[2J\u202e"'),
    "no UTF-8": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "a list": lambda path: path.write_text("[]"),
    "nothing": Path.touch,
}
"""What can lie where a file of embinit's should."""

SESSION_READERS: dict[str, tuple[str, ...]] = {"session": (), "session against it": (BASELINE,)}
STORE_READERS = {
    "runs": ("runs",),
    "runs KEY": ("runs", "{key}"),
    "runs --prune 0": ("runs", "--prune", "0"),
    "verify": ("runs", "--verify"),
}
REPORT_READERS = {
    "check": ("check", str(REPORT / "verdicts.json")),
    "bless": ("bless", str(REPORT), "--to", str(REFERENCE)),
    "summary": ("report", "--markdown"),
}


def met(project: Project, reader: str, gone: Sequence[Path] = (), spoilt: bool = False) -> str:
    """What a session or a command makes of a project.

    Args:
        project: The project, with a fault.
        reader: The session or the command.
        gone: Records that the fault is in.
        spoilt: Whether what the reader is for is unreadable, so that it can't be green.
    """
    if reader in SESSION_READERS:
        hurt = [claim for path in gone for claim in project.claims_of(path)]
        outcome = project.judge(project.session(*SESSION_READERS[reader]), hurt)
        project.untouched(*gone)
        return outcome
    command = {**STORE_READERS, **REPORT_READERS}[reader]
    key = (gone[0] if gone else project.records[0]).stem
    ended = project.embinit(*(each.format(key=key) for each in command))
    project.untouched(*(project.records if "--prune" in command else gone))
    if spoilt and ended.status == 0:
        raise Wrong("is green")
    if reader == "runs" and ended.status == 0:
        kept = [path.stem[:12] for path in project.records if path not in gone]
        if missing := [key for key in kept if key not in ended.told]:
            raise Wrong(f"does not list {', '.join(missing)}")
    return "right" if ended.status == 0 else "told"


def store_files() -> Iterator[tuple[str, Case]]:
    """Odd files in a store."""

    def case(project: Project, thing: str, place: str, reader: str) -> str:
        store, record = project.folder / STORE, project.records[0]
        path = {
            "a record": record,
            "a failure": store / "failures" / record.name,
            "a lock": store / "locks" / f"{record.stem}.lock",
            "the format": store / "format",
            "a folder of records": store / "runs/zz",
            "a stranger": record.with_name("mine.json"),
        }[place]
        if place in ("a failure", "a lock"):
            record.unlink()
        changed_by(path, ODD[thing])
        return met(project, reader, [record])

    places = ("a record", "a failure", "a lock", "the format", "a folder of records", "a stranger")
    for thing, place, reader in itertools.product(ODD, places, ("session", *STORE_READERS)):
        if reader == "session" or place not in ("a lock",):
            told = partial(case, thing=thing, place=place, reader=reader)
            yield f"{thing} for {place}, {reader}", told


def report_files() -> Iterator[tuple[str, Case]]:
    """Odd files in a folder of reports, and beside the claims."""
    places = {
        "verdicts.json": REPORT / "verdicts.json",
        "history.jsonl": REPORT / "history.jsonl",
        "the page": REPORT / "index.html",
        "the journal": REPORT / ".embinit-renames.json",
        "unfinished": REPORT / "unfinished",
        "the baseline": REFERENCE / "verdicts.json",
        "the baseline's history": REFERENCE / "history.jsonl",
        "claims.lock": Path("claims/claims.lock"),
    }

    def case(project: Project, thing: str, place: str, reader: str) -> str:
        changed_by(project.folder / places[place], ODD[thing])
        if place == "claims.lock":
            ended = project.session()
            if ended.status == 0 and "claims.lock" not in ended.told:
                raise Wrong("counts as no claims.lock, and nobody says so")
            return project.judge(ended)
        return met(project, reader, spoilt=place == "verdicts.json")

    for thing, place in itertools.product(ODD, places):
        against = "session against it" if "baseline" in place else "session"
        commands = () if "baseline" in place or place == "claims.lock" else tuple(REPORT_READERS)
        for reader in (against, *commands):
            yield (
                f"{thing} for {place}, {reader}",
                partial(case, thing=thing, place=place, reader=reader),
            )


def forged_records() -> Iterator[tuple[str, Case]]:
    """Records with a valid checksum whose content is another's, or no result."""

    def put(name: str, value: object) -> Callable[[dict[str, Any], dict[str, Any]], None]:
        def change(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
            *path, last = name.split(".")
            part = mine
            for each in path:
                part = part[each]
            part[last] = value

        return change

    def anothers(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
        mine["record"] = theirs["record"]

    def unnamed(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
        anothers(mine, theirs)
        del mine["key"]

    deep: Any = []
    for _ in range(900):
        deep = [deep]
    forms: dict[str, Callable[[dict[str, Any], dict[str, Any]], None]] = {
        "another run's, with its key rewritten": anothers,
        "another run's, without a key": unnamed,
        "another seed": put("record.spec.seed", 77),
        "a seed that is text": put("record.spec.seed", "\x1b[2J"),
        "no spec": put("record.spec", []),
        "no measures": put("record.measures", {}),
        "a measure of another name": put("record.measures", {"\x1b[2J\u202e": 1.0}),
        "a measure that is text": put("record.measures.score", "1"),
        "a measure of 400 digits": put("record.measures.score", 10**400),
        "a measure that is infinite": put("record.measures.score", float("inf")),
        "a measure that is true": put("record.measures.score", True),
        "curves that are deep": put("record.curves", {"loss": deep}),
        "a failure with control characters": put("record.failure", "\x1b[2J\u202e"),
        "a failure that is a number": put("record.failure", 5),
        "a time with control characters": put("record.provenance", {"finished": "\x1b[2J"}),
        "a provenance that is a list": put("record.provenance", [1]),
        "a kind that is a number": put("record.kind", 5),
        "a kind with control characters": put("record.kind", "\x1b[2J"),
        "a record that is text": put("record", "\x1b[2J"),
    }

    def case(project: Project, form: str, reader: str) -> str:
        path, theirs = project.records[0], project.records[1]
        mine = json.loads(path.read_bytes())
        forms[form](mine, json.loads(theirs.read_bytes()))
        text = json.dumps(mine["record"], sort_keys=True)
        mine["checksum"] = hashlib.sha256(text.encode()).hexdigest()
        path.write_text(json.dumps(mine))
        return met(project, reader, [path])

    for form, reader in itertools.product(forms, ("session", *STORE_READERS)):
        yield f"{form}, {reader}", partial(case, form=form, reader=reader)


def failing_reads(number: int, reading: bool, most: float) -> None:
    """Lets this process fail to read records.

    Args:
        number: The error.
        reading: Whether opening goes well, and what is read fails.
        most: How often each record fails.
    """
    times, opened = Counter[str](), set[int]()
    os_open, os_read, io_open = os.open, os.read, io.open

    def fails(path: object) -> bool:
        text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        if not re.search(r"/runs/../[^/]*\.json$", text) or times[text] >= most:
            return False
        times[text] += 1
        return True

    def failed() -> OSError:
        return OSError(number, os.strerror(number))

    class Failing(io.FileIO):
        def read(self, *more: object) -> bytes:
            raise failed()

        readall = readinto = readline = read  # type: ignore[assignment]

    def open_descriptor(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if not flags & (os.O_WRONLY | os.O_RDWR) and fails(path):
            if not reading:
                raise failed()
            opened.add(descriptor := os_open(path, flags, *more, **named))
            return descriptor
        return os_open(path, flags, *more, **named)

    def read(descriptor: int, count: int) -> bytes:
        if descriptor in opened:
            raise failed()
        return os_read(descriptor, count)

    def open_file(file: Any, mode: str = "r", *more: Any, **named: Any) -> Any:
        own = isinstance(file, int) and file in opened
        if own or ("r" in mode and "+" not in mode and fails(file)):
            if own or reading:
                raw: Any = Failing(file)
                return raw if "b" in mode else io.TextIOWrapper(raw)
            raise failed()
        return io_open(file, mode, *more, **named)

    os.open, os.read = open_descriptor, read  # type: ignore[assignment]
    io.open = builtins.open = open_file  # type: ignore[assignment]


def read_errors() -> Iterator[tuple[str, Case]]:
    """Records that can't be read now, and will be later."""

    def case(project: Project, error: str, reading: bool, most: float, reader: str) -> str:
        def before() -> None:
            failing_reads(getattr(errno, error), reading, most)

        ended = (
            project.session(before=before)
            if reader == "session"
            else project.embinit(*STORE_READERS[reader], before=before)
        )
        project.untouched()
        if aside := [*project.folder.rglob("*.damaged")]:
            raise Wrong(f"{len(aside)} good records were set aside")
        outcome = "right" if ended.status == 0 else "told"
        if reader == "session" and ended.status == 0:
            outcome = project.judge(ended)
        project.whole_again()
        return outcome

    errors = ("EMFILE", "EIO", "ESTALE", "EINTR", "ENOMEM", "EACCES")
    for error, reading in itertools.product(errors, (False, True)):
        step = "reading" if reading else "opening"
        for often, most in (("once", 1), ("always", float("inf"))):
            given = partial(case, error=error, reading=reading, most=most)
            yield f"{error} at {step}, {often}, session", partial(given, reader="session")
        for reader in ("runs", "verify"):
            yield f"{error} at {step}, {reader}", partial(given, reader=reader)


PATCHES = "import {name}; {name}.{attribute} = None"
FUNCTIONS = {
    "skips": "import pytest; pytest.skip('not today')",
    "skips by importorskip": "import pytest; pytest.importorskip('nosuch')",
    "skips one arm": "import pytest; arm == 'low' and pytest.skip('not today')",
    "skips one seed": "import pytest; seed == 1 and pytest.skip('not today')",
    "xfails": "import pytest; pytest.xfail('not today')",
    "fails": "import pytest; pytest.fail('not today')",
    "ends pytest": "import pytest; pytest.exit('not today')",
    "raises SkipTest": "import unittest; raise unittest.SkipTest('not today')",
    "exits": "import sys; sys.exit(0)",
    "exits with words": "import sys; sys.exit('not today')",
    "raises KeyboardInterrupt": "raise KeyboardInterrupt",
    "raises BaseException": "raise BaseException('mine')",
    "raises GeneratorExit": "raise GeneratorExit",
    "raises MemoryError": "raise MemoryError",
    "raises ESC": "raise ValueError('\\x1b[2J\\u202e\\ud800')",
    "raises what can't be printed": "raise type('E', (Exception,), {'__str__': lambda s: 1 / 0})",
    "raises in one seed": "assert seed != 1",
    "recurses": "f = lambda: f(); f()",
    "is NaN": "return float('nan')",
    "is NaN in one seed": "if seed == 1: return float('nan')",
    "is NaN in one arm": "if arm == 'low': return float('nan')",
    "is infinite": "return float('-inf')",
    "returns None": "return None",
    "returns text": "return '5'",
    "returns a complex number": "return 5j",
    "returns 10^400": "return 10**400",
    "returns true": "return True",
    "returns a set": "return {5}",
    "returns another measure": "return {'scor\\x1b': 5}",
    "returns too many measures": "return {'score': 5, 'more': 5}",
    "returns a lying float": "return type('F', (float,), {'__float__': lambda s: 1 / 0})(5)",
    "prints ESC": "print('\\x1b[2J\\u202e')",
    "prints bytes": "import os; os.write(1, b'\\xff\\x1b[2J'); os.write(2, b'\\xff\\x1b[2J')",
    "prints much": "print('x' * 10**6)",
    "warns": "import warnings; warnings.warn('\\x1b[2Jmine')",
    "logs": "import logging; logging.getLogger().error('\\x1b[2Jmine')",
    "has warnings as errors": "import warnings; warnings.simplefilter('error')",
    "changes the directory": "import os; os.chdir('/')",
    "deletes the directory": "import os; os.mkdir('d'); os.chdir('d'); os.rmdir('../d')",
    "changes the environment": "import os; os.environ.clear()",
    "changes the umask": "import os; os.umask(0o777)",
    "changes signals": "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "sets an alarm": "import signal; signal.setitimer(signal.ITIMER_REAL, 0.2)",
    "starts threads": "import threading; threading.Thread(target=print, daemon=True).start()",
    "has children": "import subprocess; subprocess.Popen(['sleep', '0.2'], start_new_session=True)",
    "has no streams": "import sys; sys.stdin = sys.stdout = sys.stderr = None",
    "closes streams": "import os; [os.close(n) for n in range(3)]",
    "lowers the recursion limit": "import sys; sys.setrecursionlimit(120)",
    "limits sizes": "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (0, 0))",
    "deletes the store": "import shutil; shutil.rmtree('.embinit/store')",
    "ends its process with 0": "import os; os._exit(0)",
    "ends its process with 1": "import os; os._exit(1)",
    "kills its process": "import os; os.kill(os.getpid(), 9)",
}
"""What a training function may do before it gives its answer."""
SPOILS = {
    "closes descriptors": "import os; os.closerange(3, 200)",
    "limits files": "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (5, 5))",
    "patches json": PATCHES.format(name="json", attribute="dumps"),
    "patches numpy": PATCHES.format(name="numpy", attribute="mean"),
    "patches os": PATCHES.format(name="os", attribute="fspath"),
    "patches time": PATCHES.format(name="time", attribute="monotonic"),
    "patches builtins": PATCHES.format(name="builtins", attribute="len"),
    "empties sys.modules": "import sys; sys.modules.clear()",
}
"""What spoils the process that it happens in, and is tried in one of its own (docs/trust.md)."""
ENDS = ("ends its process with 0", "ends its process with 1", "kills its process")
ENDS_A_SESSION = (*ENDS, "sets an alarm", "raises KeyboardInterrupt", "ends pytest")
"""What ends the process that it happens in, which has no report then, and is never green."""
AGAINST_A_BASELINE = (*(name for name in FUNCTIONS if re.match("skips|xfails|is NaN", name)),)


def functions() -> Iterator[tuple[str, Case]]:
    """Training functions that misbehave beside good ones."""

    def case(project: Project, name: str, process: bool = False, *arguments: str) -> str:
        shutil.rmtree(project.folder / REPORT)
        shutil.rmtree(project.folder / STORE)
        body = {**FUNCTIONS, **SPOILS}[name]
        where = "training(process=True, " if process else "training("
        project.write({HEAD + ANSWER: f"{HEAD}{body}\n    {ANSWER}"})
        path = project.folder / "claims/test_mine.py"
        first, at, rest = path.read_text("utf-8").rpartition("@training(")
        path.write_text(first + at.replace("training(", where) + rest, "utf-8")
        ended = project.session(*arguments)
        if ended.status != 0 and name in ENDS_A_SESSION and not process:
            outcome = "told"
        else:
            outcome = project.judge(ended, [HURT])
        project.write({f"{body}\n    {ANSWER}": ANSWER})
        project.whole_again()
        return outcome

    for name in FUNCTIONS:
        yield name, partial(case, name=name)
        if name in AGAINST_A_BASELINE:
            against = lambda project, name=name: case(project, name, False, BASELINE)  # noqa: E731
            yield f"{name}, against a baseline", against
    for name in (*ENDS_A_SESSION, *SPOILS):
        yield f"{name}, which is its own", partial(case, name=name, process=True)


TIMES = "FACTOR = NUMBER\n\n\ndef times(x):\n    return NUMBER * x\n"
READ = {
    "helper.py": TIMES,
    "between.py": "from helper import *\n",
    "own/__init__.py": "",
    "own/helper.py": TIMES,
    "factor.txt": "NUMBER",
    "script.py": "print(NUMBER)",
}
"""Files beside the claims, which an edit changes too."""
EDITS = tomllib.loads(Path(__file__).with_name("edits.toml").read_text("utf-8"))
UNFOLLOWED = re.compile(r"\bin (no|its) key\b|be followed")


def edits() -> Iterator[tuple[str, Case]]:
    """Edits that change what a function computes."""

    def case(project: Project, name: str) -> str:
        edit, outcomes = EDITS[name], []
        claims = project.folder / "claims"
        first, at, rest = (claims / "test_mine.py").read_text("utf-8").rpartition("@training(")
        rest = rest.replace(ANSWER, edit["body"].replace("\n", "\n    "))
        rest = rest.replace('"score": "points"', edit.get("measures", '"score": "points"'))
        rest = rest.replace("arm, tell", ", ".join(["arm, tell", *edit.get("more", ())]))
        files = {**READ, "test_mine.py": f"{first}{edit.get('top', '')}\n\n\n{at}{rest}"}
        (claims / "own").mkdir()
        for number in ("1", "2"):
            for file, text in files.items():
                (claims / file).write_text(text.replace("NUMBER", number), "utf-8")
            ended = project.session(before=partial(os.environ.update, MINE_FACTOR=number))
            outcomes.append(project.judge(ended, [HURT]))
            document = project.document()
        if outcomes != ["right", "right"] or document is None:
            return "told"
        if document["session"]["runs"]["trained"] > 0:
            return "right"
        if UNFOLLOWED.search(ended.told):
            return "told"
        before = document
        shutil.rmtree(project.folder / STORE)
        project.session(before=partial(os.environ.update, MINE_FACTOR="2"))
        if project.document() is None or numbers(project.document()) == numbers(before):
            raise ValueError(f"the edit of {name} changes nothing")
        raise Wrong("nothing was trained again, and nobody says so")

    def numbers(document: Any) -> Any:
        return [kill.essence(claim) for claim in document["claims"] if claim["id"] == HURT]

    def unchanged(project: Project) -> str:
        project.write({HEAD + ANSWER: f'{HEAD}"""Says."""\n\n    # A note.\n    {ANSWER}\n'})
        outcome, document = project.judge(project.session()), project.document()
        if document is None or document["session"]["runs"]["trained"]:
            raise Wrong("a comment trains anew")
        return outcome

    yield "a comment, which changes nothing", unchanged
    for name in EDITS:
        yield name, partial(case, name=name)


YEAR = 365.25 * 86400
CLOCKS: dict[str, Callable[[float], float]] = {
    "1970": lambda now: 0.0,
    "1901": lambda now: -69 * YEAR,
    "2096": lambda now: 126 * YEAR,
    "the year 318857": lambda now: 1e13,
    "years back at each look": lambda now: random.Random(now).uniform(0, 90) * YEAR,
}


def clocks() -> Iterator[tuple[str, Case]]:
    """Clocks that are wrong, and numbers of days and seconds that are odd."""

    def clock(project: Project, name: str, reader: str) -> str:
        real = time.time
        project.records[0].unlink()

        def before() -> None:
            time.time = lambda: CLOCKS[name](real())

        if reader == "session":
            outcome = project.judge(project.session(before=before))
        else:
            ended = project.embinit(*STORE_READERS[reader], before=before)
            outcome = "told" if ended.status else "right"
        project.untouched(*(project.records if "prune" in reader else project.records[:1]))
        project.whole_again()
        return outcome

    def files(project: Project, name: str, reader: str) -> str:
        at = CLOCKS[name](time.time())
        for path in project.records[:3]:
            os.utime(path, (at, at))
        return met(project, reader)

    def option(project: Project, arguments: Sequence[str]) -> str:
        ended = project.embinit(*arguments)
        project.untouched(*(project.records if "prune" in arguments[1] else ()))
        return "told" if ended.status else "right"

    for name, reader in itertools.product(CLOCKS, ("session", *STORE_READERS)):
        yield f"the clock says {name}, {reader}", partial(clock, name=name, reader=reader)
        if "back" not in name:
            yield f"records of {name}, {reader}", partial(files, name=name, reader=reader)
    for number in ("nan", "inf", "-inf", "1e300", "1e400", "-1", "1e-300", "", "x", "\x1b[2J"):
        yield f"--prune={number!a}", partial(option, arguments=["runs", f"--prune={number}"])
        since = ["check", str(REPORT / "verdicts.json"), f"--since={number}"]
        yield f"--since={number!a}", partial(option, arguments=since)


def limits() -> Iterator[tuple[str, Case]]:
    """Limits of a session's process."""

    def case(project: Project, name: str, most: int) -> str:
        for path in project.records[:3]:
            path.unlink()
        shutil.rmtree(project.folder / REPORT)

        def before() -> None:
            resource.setrlimit(getattr(resource, name), (most, most))

        outcome = project.judge(project.session(before=before))
        project.untouched(*project.records[:3])
        project.whole_again()
        return outcome

    for name, amounts in {
        "RLIMIT_NOFILE": (64, 32, 24, 16),
        "RLIMIT_FSIZE": (4_000, 20_000),
        "RLIMIT_STACK": (2**20, 2**18),
        "RLIMIT_CORE": (0,),
    }.items():
        for most in amounts:
            yield f"{name} {most}", partial(case, name=name, most=most)


def links() -> Iterator[tuple[str, Case]]:
    """Links that lead out of a store or a report."""
    places: dict[str, tuple[Path, str]] = {
        "a folder of records": (STORE / "runs/zz", "runs"),
        "a folder of folders": (STORE / "runs/yy", "."),
        "the failures": (STORE / "failures", "."),
        "the locks": (STORE / "locks", "."),
        "the sessions": (STORE / "sessions", "."),
        "the format": (STORE / "format", "file.json"),
        "the journal": (REPORT / ".embinit-renames.json", "file.json"),
        "the history": (REPORT / "history.jsonl", "file.json"),
        "the page": (REPORT / "index.html", "file.json"),
        "the verdicts": (REPORT / "verdicts.json", "file.json"),
        "the blessed verdicts": (REFERENCE / "verdicts.json", "file.json"),
        "unfinished": (REPORT / "unfinished", "."),
    }

    def case(project: Project, place: str, reader: str) -> str:
        path, target = places[place]
        project.records[1].unlink()
        for record in project.outside.glob("runs/*/*.json"):
            os.utime(record, (0, 0))
        if place == "a folder of records":
            target = f"runs/{project.records[0].parent.name}"
        changed_by(project.folder / path, lambda path: path.symlink_to(project.outside / target))
        return met(project, reader, [project.records[1]])

    def record(project: Project, reader: str) -> str:
        path = project.records[0]
        path.unlink()
        path.symlink_to(project.outside / "runs" / path.parent.name / path.name)
        return met(project, reader, [path])

    for place, (path, _) in places.items():
        readers = STORE_READERS if path.is_relative_to(STORE) else REPORT_READERS
        for reader in ("session", *readers):
            yield f"{place}, {reader}", partial(case, place=place, reader=reader)
    for reader in ("session", *STORE_READERS):
        yield f"a record, {reader}", partial(record, reader=reader)


PATHS = {
    "a space": "my store",
    "letters": "größe-数据",
    "a newline": "my\nstore",
    "quotes": "my'\"$(touch x)`store",
    "ESC": "my\x1b[2J\u202estore",
    "no UTF-8": os.fsdecode(b"my\xffstore"),
    "240 characters": "x" * 240,
    "300 characters": "x" * 300,
    "3,000 characters": "/".join(["x" * 100] * 30),
    "5,000 characters": "/".join(["x" * 100] * 50),
    "nobody's home": "~nobodyhere/x",
    "a dash": "./-x",
    "nothing": "",
    "a file": "pytest.ini",
    "a device": "/dev/null",
    "below a file": "pytest.ini/x",
    "a loop": "loop/x",
}


def paths() -> Iterator[tuple[str, Case]]:
    """Odd paths for a store, a report and a new project."""

    def store(project: Project, value: str) -> str:
        outcome = project.judge(project.session(f"--embinit-store={value}"))
        listed = project.embinit("runs", f"--store={value}")
        return "told" if listed.status else outcome

    def report(project: Project, value: str) -> str:
        ended = project.session(f"--embinit-report-dir={value}")
        return project.judge(
            ended, report=Path(value).expanduser() if ended.status == 0 else REPORT
        )

    def other(project: Project, arguments: Sequence[str]) -> str:
        return "told" if project.embinit(*arguments).status else "right"

    def looped(project: Project, case: Case) -> str:
        (project.folder / "loop").symlink_to("loop")
        outcome = case(project)
        project.untouched()
        return outcome

    for name, value in PATHS.items():
        for what, case in {
            "store": partial(store, value=value),
            "report": partial(report, value=value),
            "new": partial(other, arguments=["new", value]),
            "check": partial(other, arguments=["check", value]),
            "bless": partial(other, arguments=["bless", str(REPORT), f"--to={value}"]),
        }.items():
            yield f"{name}, {what}", partial(looped, case=case)


TEXTS = {
    "ESC": "\x1b[2J\x9b1m",
    "a direction": "\u202eabc\u2066",
    "half a pair": "\ud800",
    "a zero": "a\x00b",
    "HTML": "<img src=x onerror=alert(1)><script>alert(1)</script>",
    "Markdown": "|`a`|[b](javascript:alert(1))|",
    "lines": "a\n\n# b\r\nc",
    "10,000 characters": "x" * 10_000,
}


def texts() -> Iterator[tuple[str, Case]]:
    """Hostile texts in ids, arms, units, statements and errors."""
    arms = 'training=other, arms=["low", "high"]'
    places = {
        "says": {'says="High is above low", family=F': "says=TEXT, family=F"},
        "an arm": {
            arms: 'training=other, arms={"low": ..., TEXT: {"arm": "high"}}',
            'other(arms):\n    assert arms["high"]': "other(arms):\n    assert arms[TEXT]",
        },
        "a unit": {'points"})\ndef other': 'points" + TEXT})\ndef other'},
        "a measure": {'"score": "points"})\ndef other': 'TEXT: "points"})\ndef other'},
        "an id": {'"mine/g/other"': '"mine/g/other" + TEXT'},
        "a family": {
            'Family("mine/g"': 'Family("mine/g" + TEXT',
            '"mine/g/': '"mine/g" + TEXT + "/',
        },
        "an experiment": {'experiment("others"': 'experiment("others" + TEXT'},
        "an error": {HEAD: f"{HEAD}raise ValueError(TEXT)\n    "},
    }

    def case(project: Project, text: str, place: str) -> str:
        shutil.rmtree(project.folder / REPORT)
        written = ascii(TEXTS[text])
        project.write({old: new.replace("TEXT", written) for old, new in places[place].items()})
        ended = project.session()
        page = project.folder / REPORT / "index.html"
        if page.exists():
            shown = page.read_text("utf-8")
            if printable(shown) != shown or "<img src=x" in shown or "<script>alert" in shown:
                raise Wrong("the page has it as it is")
        outcome = project.judge(ended, [HURT])
        for arguments in (*STORE_READERS.values(), *REPORT_READERS.values()):
            if "--prune" not in arguments:
                project.embinit(*(each.format(key=project.records[0].stem) for each in arguments))
        return outcome

    for text, place in itertools.product(TEXTS, places):
        yield f"{text} in {place}", partial(case, text=text, place=place)


KINDS: dict[str, Callable[[], Iterator[tuple[str, Case]]]] = {
    "store": store_files,
    "report": report_files,
    "forged": forged_records,
    "reads": read_errors,
    "functions": functions,
    "edits": edits,
    "clocks": clocks,
    "limits": limits,
    "links": links,
    "paths": paths,
    "texts": texts,
}
"""The kinds of faults, each with its cases by name."""


def template(root: Path) -> dict[str, Any]:
    """Makes the project that every case begins with; what its claims come to, by id."""
    folder = kill.new_folder(root)
    (folder / "claims/test_mine.py").write_text(CLAIMS)
    status, _ = kill.wait(kill.start(folder, ()))
    if status != 0:
        raise AssertionError((folder / "log.txt").read_text("utf-8", "replace")[-3000:])
    shutil.copytree(folder / REPORT, folder / REFERENCE)
    for path in folder.glob("reports/*/*"):
        os.utime(path, (10**9, 10**9))
    folder.rename(root / "template")
    document = json.loads((root / "template" / REPORT / "verdicts.json").read_bytes())
    return {claim["id"]: kill.essence(claim) for claim in document["claims"]}


def tried(
    kinds: Sequence[str],
    cases: int | None,
    seed: int,
    seconds: float,
    names: Sequence[str] | None = None,
) -> Iterator[tuple[str, str, str]]:
    """Tries cases.

    Args:
        kinds: Their kinds.
        cases: How many of each kind, drawn at random; None for all.
        seed: Decides which.
        seconds: The time limit of a session or a command.
        names: The names of those that are tried; None for any.

    Yields:
        Each one's kind, what it came to, and its name, with what was wrong.
    """
    kill.load()
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # two edits in a second look the same to Python
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory(prefix="embinit-faults-") as temporary:
        root = Path(temporary)
        whole = template(root)
        for kind in kinds:
            every = [each for each in KINDS[kind]() if names is None or each[0] in names]
            if cases is not None and cases < len(every):
                every = random.Random(f"{seed} {kind}").sample(every, cases)
            for name, case in every:
                try:
                    yield kind, case(Project(root, whole, seconds)), name
                except Wrong as wrong:
                    yield kind, "WRONG", f"{name}: {wrong}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", choices=list(KINDS), help="no other kind")
    parser.add_argument("--case", action="append", help="no case of another name")
    parser.add_argument("--cases", type=int, help="so many of each kind, drawn (default: all)")
    parser.add_argument("--seed", type=int, default=5000, help="decides which")
    parser.add_argument("--seconds", type=float, default=60, help="longest that anything may take")
    parser.add_argument("--json", type=Path, help="write the counts here")
    parsed = parser.parse_args(arguments)
    warnings.simplefilter("ignore", DeprecationWarning)  # a fork of a process with threads
    kinds, began = parsed.only or list(KINDS), time.monotonic()
    counts = {kind: dict.fromkeys(OUTCOMES, 0) for kind in kinds}
    given = parsed.cases, parsed.seed, parsed.seconds, parsed.case
    for kind, outcome, name in tried(kinds, *given):
        counts[kind][outcome] += 1
        if outcome == "WRONG":
            print(f"{kind}: {printable(name):.300}", flush=True)
    for kind, each in counts.items():
        print(f"{kind:12}" + "".join(f"{each[outcome]:6} {outcome}" for outcome in OUTCOMES))
    says = {kind: {"says": str(KINDS[kind].__doc__).rstrip("."), **counts[kind]} for kind in kinds}
    told = {"kinds": says, "seconds": round(time.monotonic() - began), "seed": parsed.seed}
    if parsed.json:
        parsed.json.write_text(json.dumps(told, indent=1) + "\n")
    return int(any(each["WRONG"] for each in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
