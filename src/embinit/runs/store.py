"""The run store: results by content, safe against everything that can interrupt a session.

A record's key is the digest of what decided the run (spec, data, vectors, ``RESULTS_VERSION``). A
record is written to a temporary file and renamed atomically, and carries its own checksum. A
damaged record is set aside, reported and made again. Locks belong to the operating system, so that
they end with the process that held them, however it ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from embinit.data.files import write_atomically
from embinit.errors import InputError
from embinit.runs.kinds import KINDS
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


def run_key(run: RunSpec, fingerprint: str) -> str:
    """The key of a run: a digest of its kind, its spec, its data and ``RESULTS_VERSION``.

    Args:
        run: The run.
        fingerprint: The digest of the data that it reads.

    Returns:
        40 hexadecimal digits.
    """
    text = f"{RESULTS_VERSION}/{run.kind}/{run.digest()}/{fingerprint}"
    return hashlib.sha256(text.encode()).hexdigest()[:40]


class Store:
    """A directory of run records, shared by the workers of one machine."""

    def __init__(self, root: Path) -> None:
        """Opens the store at ``root``, which is made if need be.

        Raises:
            InputError: The directory can't be written, or a newer embinit wrote the store.
        """
        self.root = root.absolute()
        self._check_format()
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
            envelope = json.loads(path.read_bytes())
            record = envelope["record"]
            if envelope["checksum"] == _checksum(record):
                if record["kind"] in KINDS:
                    return RunResult.from_record(record)
                warnings.warn(
                    f"run record {path} is of the kind {record['kind']!r}, whose package isn't "
                    "installed here; it was left as it is",
                    UnknownKindWarning,
                    stacklevel=2,
                )
                return None
            reason = "its checksum does not match"
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            reason = f"{type(error).__name__}: {error}"
        aside = path.with_suffix(".damaged")
        with contextlib.suppress(FileNotFoundError):
            path.replace(aside)
        warnings.warn(
            f"run record {path} is damaged ({reason}); it was moved to {aside.name} and the run "
            "will be trained again",
            DamagedRecordWarning,
            stacklevel=2,
        )
        return None

    def put(self, key: str, result: RunResult) -> None:
        """Keeps ``result``; a reader sees all of it or nothing.

        Raises:
            InputError: The result can't be written, or could not be read back.
            ValueError: A number in it is not finite.
        """
        path, record = self.path(key), result.as_record()
        text = json.dumps({"checksum": _checksum(record), "record": record}, allow_nan=False)
        # What can't be read back would be trained again and again.
        RunResult.from_record(json.loads(text)["record"])
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text)
            self._failure(key).unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
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
