"""The run store: results by content, safe against everything that can interrupt a session.

A record's key is the digest of what decided the run (see ``run_key``). A
record is written to a temporary file and renamed atomically, and carries its key and its checksum.
A record that is damaged, or that is another run's, is set aside, reported and made again. One that
can't be read now, as with too many open files, may be whole: it stays, and its run is not made.
Locks belong to the operating system, so that
they end with the process that held them, however it ended.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from embinit.errors import InputError, OutputError, printable
from embinit.files.reading import MOST_JSON_BYTES, NoRegularFileError, parse_json, read_bytes
from embinit.files.writing import write_atomically
from embinit.runs.kinds import KINDS, versions_behind
from embinit.runs.records import result_of
from embinit.runs.results import RunName, RunResult, moment
from embinit.specs import RunSpec, canonical

RESULTS_VERSION = 1
"""A part of every key. It is raised when a change of the code changes the runs' results."""


FORMAT, FORMAT_VERSION = "format", 1
"""The file that says how a store's records are written, and the version that is known here."""

MOST_FORMAT_DIGITS = 9


class DamagedWarning(UserWarning):
    """Something that embinit keeps was damaged, or can't be read here, and was left out.

    It is never an error: one would lose the session's other results too.
    """


class DamagedRecordWarning(DamagedWarning):
    """A stored record could not be read; it was set aside and its run will be trained again."""


class UnknownKindWarning(DamagedWarning):
    """A stored record is of a kind of run that is not installed here; it was left where it is."""


class UnreadableRecordWarning(DamagedWarning):
    """A stored record can't be read now, and may be whole; it was left where it is."""


class RecordError(InputError):
    """A stored record has no result to give."""


class DamagedRecordError(RecordError):
    """A record was read, and is none; or it is another run's."""


class UnknownKindError(RecordError):
    """A record is of a kind of run that is not installed here."""


class UnreadableRecordError(RecordError):
    """A record can't be read now, which says nothing of what is in it."""


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
            InputError: The directory can't be written, holds no store to read, leads elsewhere by
                a link, or a newer embinit wrote it.
        """
        self.root = root.absolute()
        self._write = write
        self._check_format()
        if not write:
            if not os.path.isdir(self.root / "runs"):
                raise InputError(f"{self.root} is no store of runs; name one that pytest wrote")
            return
        try:
            for name in ("runs", "locks", "sessions", "failures"):
                (self.root / name).mkdir(parents=True, exist_ok=True)
            self._refuse_links()
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
            text = read_bytes(self.root / FORMAT).decode(errors="replace").strip()
        except (FileNotFoundError, NotADirectoryError):
            return  # one that is new, or older than the file
        except OSError as error:
            raise InputError(
                f"the store {self.root} can't be used: its file {FORMAT} can't be read "
                f"({error.strerror or error}); name another directory with --embinit-store"
            ) from error
        if not text.isdecimal() or len(text) > MOST_FORMAT_DIGITS:
            raise InputError(
                f"the store {self.root} has {text[:20]!r} for its format; its file {FORMAT} should "
                f"hold {FORMAT_VERSION}"
            )
        if int(text) > FORMAT_VERSION:
            raise InputError(
                f"the store {self.root} is of a newer embinit (format {text}, and this one knows "
                f"{FORMAT_VERSION}); update embinit, or name another directory with --embinit-store"
            )

    def _refuse_links(self) -> None:
        """Refuses directories that lead out of the store: what is removed there is not its own."""
        for directory in (self.root, self.root / "runs"):
            with os.scandir(directory) as entries:
                for each in entries:
                    if each.is_symlink() and os.path.isdir(each):
                        raise InputError(
                            f"the store {self.root} can't be written: {each.path} is a link that "
                            "leads out of it; remove the link, or name another directory with "
                            "--embinit-store"
                        )

    def path(self, key: str) -> Path:
        """The path of the record of ``key``, whether it exists or not."""
        return self.root / "runs" / key[:2] / f"{key}.json"

    def __contains__(self, key: str) -> bool:
        """Whether there is a record of ``key``, damaged or not, or one that can't be looked at."""
        try:
            os.stat(self.path(key))
        except OSError as error:
            return error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
        return True

    def get(self, key: str, run: RunSpec | None = None) -> RunResult | None:
        """The result of ``key``; None if there is none, or a damaged one.

        A damaged record, or another run's, is set aside with a ``DamagedRecordWarning``. One of a
        kind of run that nobody registered is left as it is, with an ``UnknownKindWarning``: the
        package that registers it is not installed here.

        Args:
            key: The run's key.
            run: The run, which the record is held against; None where only its key is known.

        Raises:
            UnreadableRecordError: The record can't be read now. It may be whole, and stays.
        """
        try:
            return self.read(key, run)
        except FileNotFoundError:
            return None
        except UnknownKindError as error:
            warnings.warn(f"{error}; it was left as it is", UnknownKindWarning, stacklevel=2)
        except DamagedRecordError as error:
            moved = self._set_aside(self.path(key), error)
            told = f"{error}; {moved} and the run will be trained again"
            warnings.warn(told, DamagedRecordWarning, stacklevel=2)
        return None

    def results(self, keys: Iterable[str]) -> Iterator[tuple[str, RunResult]]:
        """The results of those of ``keys`` that have one; why another has none is a warning.

        Args:
            keys: The keys of runs.
        """
        for key in keys:
            try:
                result = self.get(key)
            except UnreadableRecordError as error:
                warnings.warn(str(error), UnreadableRecordWarning, stacklevel=2)
                continue
            if result is not None:
                yield key, result

    def read(self, key: str, run: RunSpec | None = None) -> RunResult:
        """The result of ``key``. Nothing is changed, whatever is wrong with its record.

        Args:
            key: The run's key.
            run: The run, which the record is held against; None where only its key is known.

        Raises:
            FileNotFoundError: There is no record.
            RecordError: There is one without a result to give.
        """
        return self._read(self.path(key), run)

    def _read(self, path: Path, run: RunSpec | None = None) -> RunResult:
        try:
            envelope = parse_json(read_bytes(path))
            record = envelope["record"]
            _require_whole(envelope, path.stem)
            kind = record["kind"]
            if run is not None and kind != run.kind:
                raise ValueError(f"it is the record of another run, of the kind {kind!r}")
            _require_kind(path, kind)
            _require_numbers(record)
            result = result_of(record)
            _ = RunName.of(result.spec)
            if run is not None and not _same(result.spec, run):
                raise ValueError("it is the record of another run")
            return result
        except (FileNotFoundError, RecordError):
            raise
        except (OSError, MemoryError, RecursionError) as error:
            reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            if isinstance(error, NoRegularFileError) or getattr(error, "errno", 0) == errno.ELOOP:
                raise DamagedRecordError(f"run record {path} is damaged: {reason}") from error
            raise UnreadableRecordError(
                f"run record {path} can't be read ({reason.removesuffix(': ')}); it may be whole "
                "and was left as it is: try again, or move it away to have its run trained again"
            ) from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise DamagedRecordError(
                f"run record {path} is damaged ({type(error).__name__}: {error})"
            ) from error

    def _set_aside(self, path: Path, damage: DamagedRecordError) -> str:
        """Moves a damaged record away, and says where to.

        Raises:
            UnreadableRecordError: It can't be moved, so that its run can't be made again.
        """
        if not self._write:
            return "it was passed over"
        aside = path.with_suffix(".damaged")
        try:
            path.replace(aside)
        except FileNotFoundError:
            return "another process moved it"
        except OSError as error:
            raise UnreadableRecordError(
                f"{damage}, and can't be moved away ({error.strerror or error}); move it"
            ) from error
        return f"it was moved to {aside.name}"

    def verify(self) -> Iterator[tuple[Path, str]]:
        """Looks at every record, and changes nothing.

        Yields:
            Each file that is no whole record, and what is wrong with it.
        """
        for path in sorted(self._files()):
            if path.suffix == ".damaged":
                yield path, "was set aside by an earlier session"
            elif not _is_record(path):
                yield path, "is no record; a write may have been interrupted"
            else:
                with contextlib.suppress(FileNotFoundError):
                    try:
                        self._read(path)
                    except RecordError as error:
                        yield path, str(error).removeprefix(f"run record {printable(str(path))} ")
                    else:
                        if path.parent.name != path.stem[:2]:
                            yield path, "lies where nothing looks for it"

    def _files(self) -> Iterator[Path]:
        """The files in the directories of runs.

        Raises:
            InputError: A directory can't be listed.
        """
        for directory in _listed(self.root / "runs"):
            if os.path.isdir(directory):
                yield from map(Path, _listed(Path(directory.path)))

    def put(self, key: str, result: RunResult) -> None:
        """Keeps ``result``; a reader sees all of it or nothing.

        Raises:
            InputError: The store was opened to be read.
            OutputError: The result can't be written.
            ValueError: It is not finite, is too large, or could not be read back.
        """
        if not self._write:
            raise InputError(f"the store {self.root} was opened only to be read")
        path, record = self.path(key), result.as_record()
        checksum = _checksum(record)
        of_key = _key_checksum(key, checksum)
        envelope = {"key": key, "checksum": checksum, "key_checksum": of_key, "record": record}
        text = json.dumps(envelope, allow_nan=False)
        # What can't be read back would be trained again and again.
        if len(text) > MOST_JSON_BYTES:
            raise ValueError(
                f"its result takes {len(text) >> 20} MiB, and {MOST_JSON_BYTES >> 20} are the most"
            )
        if not _same(result_of(json.loads(text)["record"]).spec, result.spec):
            raise ValueError("its spec is another one when it is read back")
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

    def tell_failure(
        self, key: str, session: str, reason: str, details: str = "", run: RunSpec | None = None
    ) -> None:
        """Keeps why a run could not be made, for the other workers of a session and for people.

        A later session tries again: what failed may have been the machine's fault.

        Args:
            key: The run's key.
            session: The session's id.
            reason: Why, in one line.
            details: The traceback.
            run: The run.
        """
        told = {
            "session": session,
            "reason": reason,
            "details": details,
            "when": moment(time.time(), "seconds"),
            "run": None if run is None else RunName.of(run)._asdict(),
        }
        with contextlib.suppress(OSError):
            write_atomically(self._failure(key), json.dumps(told))

    def failure(self, key: str, session: str | None = None) -> str | None:
        """Why a run could not be made; None where it was not tried, or was made.

        Args:
            key: The run's key.
            session: The id of the session that tried; None for any.
        """
        known = _failure_in(self._failure(key))
        return None if known is None or session not in (None, known.session) else known.reason

    def failures(self) -> list[Failure]:
        """The records of runs that could not be made, by key."""
        if not os.path.isdir(self.root / "failures"):
            return []
        paths = sorted(map(Path, _listed(self.root / "failures")))
        known = (_failure_in(path) for path in paths if _is_record(path))
        return [each for each in known if each is not None]

    def _failure(self, key: str) -> Path:
        return self.root / "failures" / f"{key}.json"

    def __iter__(self) -> Iterator[str]:
        """The keys of all stored runs, sorted.

        Raises:
            InputError: A directory of the store can't be listed.
        """
        return iter(sorted(path.stem for path in self._files() if _is_record(path)))

    def prune(self, before: float) -> tuple[int, int]:
        """Removes old records, what is known of failures, and what was set aside.

        Args:
            before: Records that were written before this time go, in seconds since the epoch.

        Returns:
            How many records were removed, and how many other files.

        Raises:
            OutputError: A file can't be removed; the others are.
        """
        files = [*self._files()]
        old = [path for path in files if _is_record(path) and _written(path) < before]
        broken = [path for path in files if path.suffix == ".damaged"]
        failures = [Path(each) for each in _listed(self.root / "failures")]
        removed = [_remove(path) for path in old]
        others = [_remove(path) for path in (*broken, *filter(_is_record, failures))]
        if left := [each for each in (*removed, *others) if each]:
            raise OutputError(f"{len(left)} files can't be removed: {left[0]}; remove them by hand")
        return len(removed), len(others)

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


@dataclass(frozen=True)
class Failure:
    """A record of a run that could not be made.

    Attributes:
        key: The run's key.
        session: The id of the session that tried.
        reason: Why, in one line.
        details: The traceback.
        when: When it failed, in ISO 8601; "" where that was not kept.
        run: The run's name; None where it was not kept.
    """

    key: str
    session: str
    reason: str
    details: str
    when: str
    run: RunName | None


def _failure_in(path: Path) -> Failure | None:
    """What a file of ``Store.tell_failure`` says; None where it can't be read."""
    try:
        told = parse_json(read_bytes(path))
        run = told.get("run")
        return Failure(
            path.stem,
            session=str(told["session"]),
            reason=str(told["reason"]),
            details=str(told.get("details", "")),
            when=str(told.get("when", "")),
            run=run
            and RunName(str(run["task"]), str(run["code"]), str(run["arm"]), int(run["seed"])),
        )
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        MemoryError,
        RecursionError,
    ):
        return None


def _listed(directory: Path) -> list[os.DirEntry[str]]:
    """What is in a directory of a store.

    Raises:
        InputError: It can't be listed.
    """
    try:
        with os.scandir(directory) as entries:
            return [*entries]
    except OSError as error:
        raise InputError(
            f"{directory} can't be listed ({error.strerror or error}); see that it can be read"
        ) from error


def _is_record(path: Path) -> bool:
    """Whether a file has the name of a whole record; a temporary one begins with a dot."""
    return path.suffix == ".json" and not path.name.startswith(".")


def _written(path: Path) -> float:
    """When a record was written, in seconds since the epoch."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return math.inf


def _remove(path: Path) -> str:
    """Removes a file; why it can't be removed, or ""."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        return f"{path} ({error.strerror or error})"
    return ""


def _require_whole(envelope: Mapping[str, Any], key: str) -> None:
    """Refuses a record that was changed after it was written, or is another run's.

    Raises:
        KeyError, TypeError, ValueError: It is one.
    """
    checksum = _checksum(envelope["record"])
    if envelope["checksum"] != checksum:
        raise ValueError("its checksum does not match")
    # Records of older versions don't say whose they are, or without a checksum.
    if envelope.get("key", key) != key:
        raise ValueError(f"it is the record of run {envelope['key']}")
    if envelope.get("key_checksum", "") not in ("", _key_checksum(key, checksum)):
        raise ValueError("it is the record of another run")


def _require_numbers(record: Mapping[str, Any]) -> None:
    """Refuses texts in the place of numbers, which would be read as such.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: There are some, or no numbers at all.
    """
    for name, numbers in (("measures", record["measures"]), *record.get("curves", {}).items()):
        for number in numbers.values() if isinstance(numbers, dict) else numbers:
            if type(number) not in (int, float):
                raise ValueError(f"{name} has {number!r}, which is no number")


def _require_kind(path: Path, kind: object) -> None:
    """Refuses a record of a kind of run whose package isn't installed, or can't be loaded.

    Raises:
        UnknownKindError: It is one.
    """
    try:
        _ = KINDS[str(kind)]
    except InputError:
        raise UnknownKindError(
            f"run record {path} is of the kind {kind!r}, whose package isn't installed here, or "
            "can't be loaded"
        ) from None


def _same(stored: RunSpec, asked: RunSpec) -> bool:
    """Whether two specs are of the same run. JSON has lists for tuples, and 1 for 1.0."""
    return stored == asked or json.loads(canonical(stored)) == json.loads(canonical(asked))


def _checksum(record: object) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _key_checksum(key: str, checksum: str) -> str:
    """What binds a record to its key."""
    return hashlib.sha256(f"{key}/{checksum}".encode()).hexdigest()


def _apart(ours: Mapping[str, float], theirs: Mapping[str, float]) -> float:
    if ours.keys() != theirs.keys():
        return math.inf
    return max((abs(ours[name] - theirs[name]) for name in ours), default=0.0)
