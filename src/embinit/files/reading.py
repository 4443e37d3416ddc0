"""Readers of files from outside: what is malformed is one InputError, for every reader.

A reader of somebody's file wraps the library's call in ``reading``. The parsers that embinit uses
raise what they happen to meet in a broken file: ``zipfile`` alone has RuntimeError,
NotImplementedError and LZMAError beside its own, ``torch.load`` has ten kinds. So whatever is
raised inside of ``reading`` is the file's fault, and only calls into a parser belong there.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from embinit.errors import InputError

MOST_DIM = 1 << 16
"""The widest vector that is read. A wider one is a sign of a broken header."""

MOST_LINE_BYTES = 1 << 24
"""The longest line that is held in memory: a vector of ``MOST_DIM`` numbers takes about 1 MB."""


@contextlib.contextmanager
def reading(
    path: object, mend: str = "fetch it again", position: Callable[[], str] = lambda: ""
) -> Iterator[None]:
    """Turns what a parser raises at a malformed file, but for warnings, into an InputError.

    ``mend`` says what to do about it; ``position`` gives where in the file it was raised (``:12``).
    """
    try:
        yield
    except (InputError, Warning):
        raise
    except Exception as error:
        lines = str(error.strerror if isinstance(error, OSError) else error or "").splitlines()
        reason = lines[0] if lines and lines[0] != "None" else type(error).__name__
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(f"{path}{position()} can't be read: {reason}; {mend}") from error
        raise InputError(
            f"{path}{position()}: broken or cut short ({type(error).__name__}: {reason}); {mend}"
        ) from error


def regular(path: Path, mend: str = "name a file") -> Path:
    """``path``, if it is a file that can be read to its end; else InputError."""
    with reading(path, mend):
        if not stat.S_ISREG(path.stat().st_mode):
            kind = "a directory" if path.is_dir() else "no regular file"
            raise OSError(errno.EINVAL, f"it is {kind}")
    return path


def read_json(path: Path, mend: str = "fetch it again") -> Any:
    """The content of a JSON file; InputError where it can't be read, or has NaN or infinities."""
    with reading(path, mend):
        text = path.read_bytes()
    try:
        return parse_json(text)
    except InputError as error:
        raise InputError(f"{path}: {error}; {mend}") from None
    except (ValueError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{path} is not JSON ({reason}); {mend}") from None


def parse_json(text: bytes | str) -> Any:
    """The value of a JSON text; InputError where a key is there twice, as a merge leaves it.

    ValueError: it is no JSON, or has a NaN or an infinity. RecursionError: it is nested too deeply.
    """
    return json.loads(
        text,
        parse_constant=_no_constant,
        parse_float=finite,
        parse_int=_whole,
        object_pairs_hook=_once_each,
    )


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    known = dict(pairs)
    if len(known) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the key {twice!r} is there twice, as in a file that was merged")
    return known


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def finite(digits: str) -> float:
    """A number; ValueError for none, or for 1e999, which Python reads as an infinity."""
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


def _whole(digits: str) -> int:
    """A whole number; ValueError for one that no float can hold."""
    finite(digits)
    return int(digits)


def plain_name(name: object) -> bool:
    """Whether a name that a file gives is that of a file next to it, and leads nowhere else."""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\\0")
