"""Real text: its rows, from the data directory or through ``datasets``, and samples of them."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from embinit.errors import InputError
from embinit.files.writing import digest, find, hub_reachable, open_lines
from embinit.lab.data.tasks.base import Example, Side, Splits, TaskKind
from embinit.lab.specs import Cut

CUT_SEED = 20240712
"""The seed of a training split's sample, the same in every arm, seed and session."""


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a UTF-8 file; InputError with the number of a line that is not."""
    for number, line in enumerate(open_lines(path), 1):
        try:
            yield number, line.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}:{number}: not UTF-8 ({error.reason}); save the file as UTF-8"
            ) from None


def tsv_rows(
    path: Path, columns: Mapping[str, Sequence[str]], header: Sequence[str] | None = None
) -> Iterator[tuple[str, dict[str, str]]]:
    """Reads a tab-separated file: each row's location (file:line), and its fields by key.

    ``columns`` has the names that each key's column may have, ``header`` the columns of a file
    without one. InputError if a column or a field is missing.
    """
    lines = text_lines(path)
    if header is None:
        header = next(lines, (1, ""))[1].split("\t")
    present = {key: [name for name in names if name in header] for key, names in columns.items()}
    if not all(present.values()):
        wanted = ", ".join(" or ".join(names) for names in columns.values())
        raise InputError(
            f"{path}:1: the header is {' '.join(header)!r}; it must name the columns {wanted}, "
            "with a tab between"
        )
    indices = {key: header.index(names[0]) for key, names in present.items()}
    for number, line in lines:
        # Quotation marks are text here, as in GLUE's files.
        fields = line.split("\t")
        row = {key: fields[index] for key, index in indices.items() if index < len(fields)}
        if len(fields) != len(header) or not all(field.strip() for field in row.values()):
            raise InputError(
                f"{path}:{number}: {line[:60]!r} does not fill the columns {', '.join(header)}, "
                "a tab between each two; mend or leave out the line"
            )
        yield f"{path}:{number}", row


class Hub(NamedTuple):
    """The name of a data set on the Hugging Face Hub."""

    name: str
    config: str | None = None
    folder: str | None = None
    revision: str | None = None

    def __str__(self) -> str:
        """The parts of the name that are given, with slashes between."""
        return "/".join(filter(None, self))


def hub_rows(hub: Hub, split: str) -> Iterable[dict[str, Any]]:
    """Loads a split of a data set from the Hugging Face Hub; InputError if that fails."""
    try:
        if not hub_reachable():
            raise OSError("the Hub is out of reach")
        from datasets import load_dataset

        rows: Iterable[dict[str, Any]] = load_dataset(
            hub.name, hub.config, data_dir=hub.folder, revision=hub.revision, split=split
        )
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"the data set {str(hub)!r} can't be loaded ({reason}); name a directory that holds it "
            "with --embinit-data-dir or EMBINIT_DATA"
        ) from error
    return rows


def sample(examples: Sequence[Example], most: int | None) -> Sequence[Example]:
    """Draws ``most`` examples of a training split and keeps their order. None keeps all."""
    if most is None or most >= len(examples):
        return examples
    chosen = np.random.default_rng(CUT_SEED).choice(len(examples), most, replace=False)
    return [examples[index] for index in sorted(chosen.tolist())]


@dataclass(frozen=True, kw_only=True)
class RealText(abc.ABC):
    """A task's text, in files of the data directory or in data sets on the Hub (see ``Task``).

    Without a split ``test``, validation replaces it.
    """

    name: str  # begins with the folder in the data directory, and has "-" behind it
    title: str
    hubs: tuple[Hub, ...]
    files: Mapping[str, tuple[str, ...]]  # names of each split's file: the first that is there
    languages: Mapping[Side, str]
    kind: TaskKind
    classes: int = 0
    reports_test: bool = False

    @abc.abstractmethod
    def paths(self, data_dir: Path, split: str) -> Sequence[Path]:
        """The files of a split; InputError if one is missing."""

    @abc.abstractmethod
    def examples(self, data_dir: Path | None, split: str) -> Iterator[Example]:
        """Reads the examples of a split; InputError for a row that has none."""

    def fingerprint(self, data_dir: Path | None) -> str:
        """The digests of the files, or the data sets' names on the Hub."""
        if data_dir is None:
            return "/".join(map(str, self.hubs))
        paths = (path for split in self.files for path in self.paths(data_dir, split))
        return "/".join(map(digest, paths))

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """Loads the splits; InputError if a file is missing or broken, or a split is empty."""
        whole = {split: list(self.examples(data_dir, split)) for split in self.files}
        for split, examples in whole.items():
            if not examples:
                home = self.hubs[0] if data_dir is None else self.paths(data_dir, split)[0]
                raise InputError(
                    f"{home} has no example: only a header, blank lines or rows without a label; "
                    "fetch it again"
                )
        validation = whole.get("validation", [])[: cut.validation]
        test = whole["test"][: cut.test] if "test" in whole else validation
        return Splits(sample(whole["train"], cut.train), validation, test)

    def _find(self, data_dir: Path, names: Iterable[str], what: str) -> Path:
        """The first of some files of the data set, packed or not."""
        folder = self.name.partition("-")[0]
        every = [f"{folder}/{name}{end}" for name in names for end in (".gz", "")]
        return find(data_dir, *every, what=f"{self.title}{what}")
