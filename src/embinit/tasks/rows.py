"""Rows of real text, from the data directory or through ``datasets``, and how they are cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from embinit.errors import InputError
from embinit.files import hub_reachable, open_lines
from embinit.tasks.base import Example

CUT_SEED = 20240712
"""Which examples a cut training split keeps: the same in every arm, seed and session."""

Row = TypeVar("Row")


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a UTF-8 file; InputError with file and line where it is not."""
    for number, line in enumerate(open_lines(path), 1):
        try:
            yield number, line.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}:{number}: not UTF-8 ({error.reason}); save the file as UTF-8"
            ) from None


def hub_rows(name: str, split: str) -> Iterable[dict[str, object]]:
    """A split of a data set on the Hugging Face Hub; InputError where it can't be had."""
    if not hub_reachable():
        raise InputError(
            f"the data set {name!r} can't be fetched, since the Hub is out of reach; name a "
            "directory that holds it with --data-dir or EMBINIT_DATA"
        )
    try:
        from datasets import load_dataset

        rows: Iterable[dict[str, object]] = load_dataset(name, split=split)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"the data set {name!r} can't be loaded ({reason}); name a directory that holds it "
            "with --data-dir or EMBINIT_DATA"
        ) from error
    return rows


def sample(examples: Sequence[Example], most: int | None) -> Sequence[Example]:
    """A training split cut to ``most`` examples, in their order."""
    if most is None or most >= len(examples):
        return examples
    chosen = np.random.default_rng(CUT_SEED).choice(len(examples), most, replace=False)
    return [examples[index] for index in sorted(chosen.tolist())]
