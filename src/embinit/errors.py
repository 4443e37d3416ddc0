"""Errors that embinit raises for bad input, and the exit codes.

A message names the thing, its location (file and line where there is one) and the mend.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import functools
import importlib.util
import os
import re
import sys
import traceback

# Control characters move a terminal's cursor and are not valid in HTML; those of writing direction
# show a text in another order than it has; half a surrogate pair can't be written at all.
_UNSEEN = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069"
    "\\ud800-\\udfff\\ufffe\\uffff]"
)


def printable(text: str) -> str:
    r"""``text`` for people, with control and direction characters written out, as ``\u202e``.

    Tabs and ends of lines stay. JSON reads the same text from the escapes inside its strings.
    """
    return _UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def counted(count: int, name: str) -> str:
    """A number of things, such as ``1 claim`` or ``3 claims``."""
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


class InputError(ValueError):
    """Unusable input from the user. The message says what, where and how to correct it.

    A path, a word or a name in it may be anybody's, so it is made ``printable``.
    """

    def __init__(self, text: object = "") -> None:
        super().__init__(printable(str(text)))


class OutputError(InputError):
    """Something could not be written, as on a full disk. What was there before is as it was."""


class Status(enum.IntEnum):
    """The exit statuses of sessions and commands. Each number means one thing.

    2 to 6 are pytest's own. ``docs/options.md`` says what to do about each.
    """

    OK = 0
    """Claims were decided, every control came out as it should, and nothing is a fault."""
    NOT_OK = 1
    """A claim is refuted, none is decided, a control misbehaves or was not run, or a finding of the
    baseline is lost."""
    INTERRUPTED = 2
    """The session ended before every claim had its verdict."""
    BROKEN = 3
    """A claim or a run that it needs broke, and it has no verdict; or embinit or pytest did."""
    UNUSABLE = 4
    """An option, a file or a folder that was named can't be used."""
    NOTHING = 5
    """Nothing was collected."""
    WARNINGS = 6
    """There were more warnings than pytest's ``--max-warnings`` allows."""
    UNWRITABLE = 7
    """A result or the report could not be written, as on a full disk."""
    RUN_AGAIN = 8
    """``embinit judge``: more runs would decide."""


def is_unwritable(error: Exception) -> bool:
    """Whether an error says that there is no room, or no right, to write."""
    return isinstance(error, OSError) and error.errno in (
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EROFS,
        errno.EIO,
    )


def status_of(error: Exception) -> Status:
    """Reports an error that Python would end the process with, and 1, which is a verdict."""
    if not is_unwritable(error):
        traceback.print_exc()
        return Status.BROKEN
    close_output()
    with contextlib.suppress(OSError):
        print(f"embinit: the output can't be written: {error}", file=sys.stderr)
    return Status.UNWRITABLE


def close_output() -> None:
    """Lets Python end without writing what it could not write, and would try to write again."""
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)


MODELS = ("torch", "safetensors", "sacrebleu")
"""What the extra ``models`` brings: embinit's own models, tables and measures need it."""


def lacking_models(error: ModuleNotFoundError) -> InputError | None:
    """The error for a package of the extra ``models`` that isn't installed; None for any other."""
    name = (error.name or "").partition(".")[0]
    if name not in MODELS:
        return None
    return InputError(
        f"embinit's own models and tables need {name}, which isn't installed: "
        f"pip install {' '.join(MODELS)}"
    )


@functools.cache
def require_models() -> None:
    """An InputError where the extra ``models`` is not installed; nothing is imported."""
    for name in MODELS:
        lacking = ModuleNotFoundError(f"No module named {name!r}", name=name)
        try:
            there = importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:
            there = False
        if not there:
            raise lacking_models(lacking) or lacking
