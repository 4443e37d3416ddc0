"""Rows of real text, from the data directory or through ``datasets``, and samples of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from embinit.errors import InputError
from embinit.files.writing import hub_reachable, open_lines
from embinit.lab.data.tasks.base import Example

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
    name = str(hub)
    if not hub_reachable():
        raise InputError(
            f"the data set {name!r} can't be fetched, since the Hub is out of reach; name a "
            "directory that holds it with --embinit-data-dir or EMBINIT_DATA"
        )
    try:
        from datasets import load_dataset

        rows: Iterable[dict[str, Any]] = load_dataset(
            hub.name, hub.config, data_dir=hub.folder, revision=hub.revision, split=split
        )
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"the data set {name!r} can't be loaded ({reason}); name a directory that holds it "
            "with --embinit-data-dir or EMBINIT_DATA"
        ) from error
    return rows


def not_empty(examples: Sequence[Example], home: object) -> Sequence[Example]:
    """The examples of a split; InputError if there is none. ``home`` names the split's origin."""
    if not examples:
        raise InputError(
            f"{home} has no example: only a header, blank lines or rows without a label; "
            "fetch it again"
        )
    return examples


def sample(examples: Sequence[Example], most: int | None) -> Sequence[Example]:
    """Draws ``most`` examples of a training split and keeps their order. None keeps all."""
    if most is None or most >= len(examples):
        return examples
    chosen = np.random.default_rng(CUT_SEED).choice(len(examples), most, replace=False)
    return [examples[index] for index in sorted(chosen.tolist())]
