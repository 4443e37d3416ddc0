"""Runs in one file next to the report that they made: numbers alone, no text of the data.

Such a file is committed, so that a clone judges its claims without data and without training, and a
reader can see each run behind a table. A line is a record in JSON; the file is compressed by xz.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.files.writing import write_atomically
from embinit.runs.kinds import result_of
from embinit.runs.results import RunResult
from embinit.runs.store import Store
from embinit.specs import RunSpec

TEXTS = ("outputs", "references")
"""The fields of a record that hold sentences, which a data set's terms may forbid to pass on."""

MOST_BYTES = 5 * 2**20
"""The most that such a file may have."""


class KeptRuns(Store):
    """The runs of a file, to be read alone. A run is found by its spec, whatever data is here."""

    def __init__(self, file: Path) -> None:
        """Reads the file; InputError where it is missing, damaged or no such file."""
        self.root, self._write = file.absolute(), False
        try:
            lines = lzma.decompress(file.read_bytes()).decode().splitlines()
            records = [json.loads(line) for line in lines]
            self._results = {_name(one.spec): one for one in map(result_of, records)}
        except (OSError, lzma.LZMAError, ValueError, InputError) as error:
            raise InputError(f"{file} is no file of kept runs ({error}); take it whole") from error

    def key(self, run: RunSpec, data_dir: Path | None) -> str:
        """A digest of the run's spec."""
        return _name(run)

    def path(self, key: str) -> Path:
        """The file."""
        return self.root

    def __iter__(self) -> Any:
        """The names of all runs, sorted."""
        return iter(sorted(self._results))

    def read(self, key: str, run: RunSpec | None = None) -> RunResult:
        """The result of a run; FileNotFoundError where the file has none."""
        if key not in self._results:
            raise FileNotFoundError(key)
        return self._results[key]


def _name(run: RunSpec) -> str:
    return run.digest()[:40]


def open_store(path: Path, write: bool) -> Store:
    """The store at a path: a folder, or a file of kept runs, which can't be written."""
    if not path.is_file():
        return Store(path, write)
    if write:
        raise InputError(f"{path} has kept runs, to be judged alone: add --embinit-no-train")
    return KeptRuns(path)


def keep_runs(results: Iterable[RunResult], file: Path) -> int:
    """Writes results without their texts, next to those that the file has; how many it has then.

    InputError where they take more than ``MOST_BYTES``.
    """
    known: dict[str, Mapping[str, Any]] = {}
    if file.exists():
        kept = KeptRuns(file)
        known = {name: kept.read(name).as_record() for name in kept}
    for result in results:
        known[_name(result.spec)] = result.as_record() | dict.fromkeys(TEXTS, ())
    lines = (json.dumps(record, sort_keys=True) for _, record in sorted(known.items()))
    content = lzma.compress("\n".join(lines).encode())
    if len(content) > MOST_BYTES:
        raise InputError(
            f"{len(known)} runs take {len(content) / 2**20:.1f} MiB in {file}, and it may have "
            f"{MOST_BYTES / 2**20:.0f}; keep those of a report, by --of"
        )
    write_atomically(file, content)
    return len(known)
