"""The run store: one JSON file a run, under a key that is the digest of what decided the run.

A record is written to a temporary file and renamed, so that a reader sees all of it or nothing.
It carries its key and a checksum. One that is damaged, or is another run's, is set aside with a
warning, and its run is trained again. Locks belong to the operating system, so that they end with
the process that held them, however it ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from embinit.distributions import versions_of
from embinit.errors import InputError, OutputError, is_unwritable, lacking_models
from embinit.files.reading import parse_json
from embinit.files.writing import make_ignored, write_atomically
from embinit.runs.instructions import instructions
from embinit.runs.kinds import kind_of, own_code, result_of
from embinit.runs.results import RunResult
from embinit.specs import RunSpec, canonical

RESULTS_VERSION = 1
"""A part of every key. It is raised when a change of the code changes the runs' results."""

ELSEWHERE = "name another directory with --embinit-store"


class DamagedWarning(UserWarning):
    """Something that embinit keeps is damaged, or can't be read here, and was left out.

    It is shown whatever filters say: as an error, it would lose the session's other results too.
    """


class RecordError(InputError):
    """A stored record that has no result to give."""


def run_key(run: RunSpec, fingerprint: str, versions: Sequence[str] | None = None) -> str:
    """The key of a run, 40 hexadecimal digits: of its kind, spec, data (``fingerprint``), versions.

    ``versions`` are those of what computes it, such as ``numpy 2.4.1``; by default those here. The
    instruction set is one of them.
    """
    kind = kind_of(run)
    known = " ".join(versions_of(kind.distributions) if versions is None else versions)
    if made_with := instructions(kind.pinned):
        known += f" {made_with}"
    text = f"{RESULTS_VERSION}/{run.kind}/{run.digest()}/{fingerprint}/{known}"
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def key_of(run: RunSpec, data_dir: Path | None) -> str:
    """The run's key, given the data that it reads and the code that makes it here."""
    try:
        read, code = kind_of(run).fingerprint(run, data_dir), own_code(run)
    except ModuleNotFoundError as error:
        raise (lacking_models(error) or error) from None
    return run_key(run, f"{read}/code {code}" if code else read)


class Store:
    """A directory of run records, shared by the workers of one machine."""

    def __init__(self, root: Path, write: bool = True) -> None:
        """Opens the store at ``root``, made if need be; with ``write=False`` nothing is changed.

        InputError: it can't be written, or is no store to read.
        """
        self.root = root.absolute()
        self._write = write
        self._runs = self.root / "runs"
        try:
            if write:
                make_ignored(self.root)
                for name in ("runs", "locks"):
                    (self.root / name).mkdir(parents=True, exist_ok=True)
                if not os.access(self._runs, os.W_OK):
                    raise PermissionError(0, "its directory runs is not writable")
        except OSError as error:
            reason = error.strerror or error
            raise InputError(
                f"the store {self.root} can't be written: {reason}; {ELSEWHERE}"
            ) from error
        if not self._runs.is_dir():
            raise InputError(f"{self.root} is no store of runs; name one that pytest wrote")

    def key(self, run: RunSpec, data_dir: Path | None) -> str:
        """The key of a run's record here; InputError where a file that it reads is missing."""
        return key_of(run, data_dir)

    def path(self, key: str) -> Path:
        """The path of the record of ``key``, whether it exists or not."""
        return self._runs / key[:2] / f"{key}.json"

    def names(self, key: str) -> list[str]:
        """The names of the records of ``key`` by what they were made from, the newest first."""
        folder, begins, found = self._runs / key[:2], f"{key}.", []
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(folder):
                if name.startswith(begins) and name.endswith(".json") and name != f"{key}.json":
                    found.append((os.stat(folder / name).st_mtime, name.removesuffix(".json")))
        return [name for _, name in sorted(found, reverse=True)]

    def __iter__(self) -> Iterator[str]:
        """The keys of all stored runs, sorted."""
        # The name of a temporary file begins with a dot.
        return iter(sorted(path.stem for path in self._runs.glob("*/[!.]*.json")))

    def get(self, key: str, run: RunSpec | None = None) -> RunResult | None:
        """The result of ``key``; None if there is none, or one that can't be used.

        That is a ``DamagedWarning``. A damaged record, or another run's, is set aside where the run
        is given, so that it can be made again. RecordError: it can't be opened, and may be whole.
        """
        try:
            return self.read(key, run)
        except FileNotFoundError:
            return None
        except RecordError as error:
            if run is not None and isinstance(error.__cause__, OSError):
                raise
            mend = "it was passed over"
            if self._write and run is not None:
                aside = self.path(key).with_suffix(".damaged")
                with contextlib.suppress(OSError):  # another process moved it, or it is overwritten
                    self.path(key).replace(aside)
                mend = f"it was moved to {aside.name} and the run will be trained again"
            warning = DamagedWarning(f"{error}; {mend}")
            warnings.showwarning(warning, DamagedWarning, str(self.path(key)), 1)
        return None

    def read(self, key: str, run: RunSpec | None = None) -> RunResult:
        """The result of ``key``; ``run`` is compared with its record, and nothing is changed.

        FileNotFoundError: there is no record. RecordError: there is one without a result to give.
        """
        path = self.path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            reason = error.strerror or error
            raise RecordError(
                f"run record {path} can't be read ({reason}): let it be read, or remove it"
            ) from error
        try:
            envelope = parse_json(content)
            record = envelope["record"]
            if envelope["checksum"] != _checksum(record):
                raise ValueError("its checksum does not match")
            if envelope["key"] != path.stem:
                raise ValueError(f"it is the record of run {envelope['key']}")
            result = result_of(record)
            if run is not None and not _same(result.spec, run):
                raise ValueError("it is the record of another run")
        except InputError as error:
            raise RecordError(f"run record {path} can't be used here: {error}") from error
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise RecordError(f"run record {path} is damaged ({error})") from error
        return result

    def put(self, key: str, result: RunResult) -> RunResult:
        """Keeps ``result``, and returns it as it will be read; a reader sees all of it or nothing.

        InputError: the store was opened to be read. OutputError: the result can't be written.
        ValueError: it is not finite, or could not be read back.
        """
        if not self._write:
            raise InputError(f"the store {self.root} was opened only to be read")
        record = result.as_record()
        envelope = {"key": key, "checksum": _checksum(record), "record": record}
        text = json.dumps(envelope, allow_nan=False)
        # What can't be read back would be trained again and again.
        kept = result_of(json.loads(text)["record"])
        if not _same(kept.spec, result.spec):
            raise ValueError("its spec is another one when it is read back")
        path = self.path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text)
        except OSError as error:
            raise OutputError(
                f"a run could not be kept in {self._runs}: {error.strerror or error}; what was "
                f"stored before is safe: make room, or {ELSEWHERE}"
            ) from error
        return kept

    def noise(self, key: str) -> Mapping[str, Any]:
        """What is known of the noise of ``key``; nothing where it can't be read."""
        with contextlib.suppress(OSError, ValueError):
            known: Mapping[str, Any] = parse_json((self.root / f"noise/{key}.json").read_bytes())
            return known
        return {}

    def keep_noise(self, key: str, known: Mapping[str, Any]) -> None:
        """Keeps what is known of the noise of ``key``, where the store can be written."""
        if self._write:
            with contextlib.suppress(OSError):
                (self.root / "noise").mkdir(exist_ok=True)
                write_atomically(self.root / f"noise/{key}.json", json.dumps(known))

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
            kind = OutputError if is_unwritable(error) else InputError
            raise kind(
                f"the store {self.root} can't be locked ({error.strerror or error}); make room, or "
                "name a directory on a local disk with --embinit-store"
            ) from error
        try:
            yield True
        finally:
            lock.release()


def _same(stored: RunSpec, asked: RunSpec) -> bool:
    """Whether two specs are of the same run. JSON has lists for tuples, and 1 for 1.0."""
    return stored == asked or json.loads(canonical(stored)) == json.loads(canonical(asked))


def _checksum(record: object) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
