"""The run store: results by content, safe against everything that can interrupt a session.

A record's key is the digest of what decided the run (see ``run_key``). A
record is written to a temporary file and renamed atomically, and carries its key and its checksum.
A record that is damaged, or that lies under another's key, is set aside, reported and made again.
Locks belong to the operating system, so that
they end with the process that held them, however it ended.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from embinit.data.files import write_atomically
from embinit.data.outside import parse_json
from embinit.errors import InputError, OutputError, printable
from embinit.runs.kinds import KINDS, versions_behind
from embinit.runs.results import RunResult
from embinit.specs import RunSpec

RESULTS_VERSION = 1
"""A part of every key. It is raised when a change of the code changes the runs' results."""


FORMAT, FORMAT_VERSION = "format", 1
"""The file that says how a store's records are written, and the version that is known here."""


class DamagedWarning(UserWarning):
    """Something that embinit keeps was damaged, or can't be read here, and was left out.

    It is never an error: one would lose the session's other results too.
    """


class DamagedRecordWarning(DamagedWarning):
    """A stored record could not be read; it was set aside and its run will be trained again."""


class UnknownKindWarning(DamagedWarning):
    """A stored record is of a kind of run that is not installed here; it was left where it is."""


def run_key(run: RunSpec, fingerprint: str, versions: Sequence[str] | None = None) -> str:
    """The key of a run: a digest of its kind, its spec, its data, versions, ``RESULTS_VERSION``.

    Args:
        run: The run.
        fingerprint: The digest of the data that it reads.
        versions: The versions of what computes it, such as ``numpy 2.4.1``; those here by default.

    Returns:
        40 hexadecimal digits.
    """
    known = " ".join(versions_behind(run) if versions is None else versions)
    text = f"{RESULTS_VERSION}/{run.kind}/{run.digest()}/{fingerprint}/{known}"
    return hashlib.sha256(text.encode()).hexdigest()[:40]


class Store:
    """A directory of run records, shared by the workers of one machine."""

    def __init__(self, root: Path, write: bool = True) -> None:
        """Opens the store at ``root``, which is made if need be.

        Args:
            root: The store's directory.
            write: Whether it must be writable. A store that is only read is left as it is, so that
                it can lie on read-only media; what is damaged there is passed over.

        Raises:
            InputError: The directory can't be written, holds no store to read, or a newer embinit
                wrote it.
        """
        self.root = root.absolute()
        self._write = write
        self._check_format()
        if not write:
            if not (self.root / "runs").is_dir():
                raise InputError(f"{self.root} is no store of runs; name one that pytest wrote")
            return
        try:
            for name in ("runs", "locks", "sessions", "failures"):
                (self.root / name).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
            if not (self.root / FORMAT).exists():
                write_atomically(self.root / FORMAT, f"{FORMAT_VERSION}\n")
        except OSError as error:
            raise InputError(
                f"the store {self.root} can't be written: {error.strerror or error}; "
                "name another directory with --embinit-store"
            ) from error

    def _check_format(self) -> None:
        """Refuses a store of a newer version, whose records would look damaged here."""
        try:
            text = (self.root / FORMAT).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return  # one that is new, or older than the file
        if not text.isdecimal():
            raise InputError(
                f"the store {self.root} has {text[:20]!r} for its format; its file {FORMAT} should "
                f"hold {FORMAT_VERSION}"
            )
        if int(text) > FORMAT_VERSION:
            raise InputError(
                f"the store {self.root} is of a newer embinit (format {text}, and this one knows "
                f"{FORMAT_VERSION}); update embinit, or name another directory with --embinit-store"
            )

    def path(self, key: str) -> Path:
        """The path of the record of ``key``, whether it exists or not."""
        return self.root / "runs" / key[:2] / f"{key}.json"

    def __contains__(self, key: str) -> bool:
        """Whether there is a record of ``key``, damaged or not."""
        return self.path(key).exists()

    def get(self, key: str) -> RunResult | None:
        """The result of ``key``; None if there is none, or a damaged one.

        A damaged record, or one that can't be read back, is set aside with a
        ``DamagedRecordWarning``. One of a kind of run that nobody registered is left as it is, with
        an ``UnknownKindWarning``: the package that registers it is not installed here.
        """
        path = self.path(key)
        try:
            result, kind = self._read(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._set_aside(path, f"{type(error).__name__}: {error}")
            return None
        if result is None:
            warnings.warn(
                f"run record {path} is of the kind {kind!r}, whose package isn't "
                "installed here; it was left as it is",
                UnknownKindWarning,
                stacklevel=2,
            )
        return result

    def _read(self, path: Path) -> tuple[RunResult | None, str]:
        """The result in a file, and its kind; no result if nobody registered the kind.

        Raises:
            OSError: The file can't be read.
            ValueError, KeyError, TypeError, AttributeError, RecursionError: It is no record, or
                another run's.
        """
        envelope = parse_json(path.read_bytes())
        record = envelope["record"]
        if envelope["checksum"] != _checksum(record):
            raise ValueError("its checksum does not match")
        # Records of older versions don't say whose they are.
        if envelope.get("key", path.stem) != path.stem:
            raise ValueError(f"it is the record of run {envelope['key']}")
        if record["kind"] not in KINDS:
            return None, str(record["kind"])
        for name, numbers in (("measures", record["measures"]), *record.get("curves", {}).items()):
            for number in numbers.values() if isinstance(numbers, dict) else numbers:
                if type(number) not in (int, float):
                    raise ValueError(f"{name} has {number!r}, which is no number")
        return RunResult.from_record(record), str(record["kind"])

    def _set_aside(self, path: Path, reason: str) -> None:
        aside, moved = path.with_suffix(".damaged"), "it was passed over"
        if self._write:
            with contextlib.suppress(OSError):
                path.replace(aside)
                moved = f"it was moved to {aside.name}"
        warnings.warn(
            printable(
                f"run record {path} is damaged ({reason}); {moved} and the run will be trained "
                "again"
            ),
            DamagedRecordWarning,
            stacklevel=3,
        )

    def verify(self) -> Iterator[tuple[Path, str]]:
        """Looks at every record, and changes nothing.

        Yields:
            Each file that is no whole record, and what is wrong with it.
        """
        for path in sorted((self.root / "runs").glob("*/*")):
            if path.suffix == ".damaged":
                yield path, "was set aside by an earlier session"
            elif path.suffix != ".json" or path.name.startswith("."):
                yield path, "is no record; a write may have been interrupted"
            else:
                try:
                    result, kind = self._read(path)
                    if result is None:
                        yield path, f"is of the kind {kind!r}, whose package isn't installed here"
                    elif path.parent.name != path.stem[:2]:
                        yield path, "lies where nothing looks for it"
                except Exception as error:
                    yield path, f"is damaged ({type(error).__name__}: {error})"

    def put(self, key: str, result: RunResult) -> None:
        """Keeps ``result``; a reader sees all of it or nothing.

        Raises:
            InputError: The store was opened to be read.
            OutputError: The result can't be written.
            ValueError: It is not finite, or could not be read back.
        """
        if not self._write:
            raise InputError(f"the store {self.root} was opened only to be read")
        path, record = self.path(key), result.as_record()
        envelope = {"key": key, "checksum": _checksum(record), "record": record}
        text = json.dumps(envelope, allow_nan=False)
        # What can't be read back would be trained again and again.
        RunResult.from_record(json.loads(text)["record"])
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text)
            self._failure(key).unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(
                f"run {key} could not be kept in {path.parent}: {error.strerror or error}; what "
                "was stored before is safe: make room, or name another directory with "
                "--embinit-store"
            ) from error

    def tell_failure(self, key: str, session: str, reason: str, details: str = "") -> None:
        """Keeps why a run could not be made, for the other workers of a session.

        A later session tries again: what failed may have been the machine's fault.

        Args:
            key: The run's key.
            session: The session's id.
            reason: Why, in one line.
            details: The traceback.
        """
        told = {"session": session, "reason": reason, "details": details}
        with contextlib.suppress(OSError):
            write_atomically(self._failure(key), json.dumps(told))

    def failure(self, key: str, session: str | None = None) -> str | None:
        """Why a run could not be made; None where it was not tried, or was made.

        Args:
            key: The run's key.
            session: The id of the session that tried; None for any.
        """
        try:
            told = json.loads(self._failure(key).read_bytes())
            return str(told["reason"]) if session in (None, told["session"]) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _failure(self, key: str) -> Path:
        return self.root / "failures" / f"{key}.json"

    def __iter__(self) -> Iterator[str]:
        """The keys of all stored runs, sorted."""
        return iter(sorted(path.stem for path in self.root.glob("runs/*/*.json")))

    def take(self, other: Store) -> dict[str, float]:
        """Takes over the runs of ``other`` that are not here, and compares those that both have.

        Returns:
            For each run that both have, the largest difference of a measure: 0 where the two
            machines agree, infinity where one has a measure that the other lacks.
        """
        apart: dict[str, float] = {}
        for key in other:
            theirs = other.get(key)
            if theirs is None:
                continue
            ours = self.get(key)
            if ours is None:
                self.put(key, theirs)
            else:
                apart[key] = _apart(ours.measures, theirs.measures)
        return apart

    @contextlib.contextmanager
    def try_lock(self, name: str) -> Iterator[bool]:
        """Takes the lock ``name`` unless somebody else holds it; yields whether it was taken."""
        # A lock is its process's, not a thread's: another thread may be the one to release it.
        lock = FileLock(self.root / "locks" / f"{name}.lock", thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise OutputError(
                    f"the store {self.root} has no room for a lock ({error.strerror}); make room, "
                    "or name another directory with --embinit-store"
                ) from error
            raise InputError(
                f"the store {self.root} can't be locked ({error.strerror or error}): its file "
                "system has no locks, or locks/ was changed; name a directory on a local disk with "
                "--embinit-store"
            ) from error
        try:
            yield True
        finally:
            lock.release()


def _checksum(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _apart(ours: Mapping[str, float], theirs: Mapping[str, float]) -> float:
    if ours.keys() != theirs.keys():
        return math.inf
    return max((abs(ours[name] - theirs[name]) for name in ours), default=0.0)
