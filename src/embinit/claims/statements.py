"""Statements: the id, the sentence and the citation of a test in ``claims/``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from embinit.errors import InputError

_MARK = "__embinit_statement__"
_STATED = "__embinit_stated__"

Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True)
class Statement:
    """A decorator that marks a test with what it states; ``id`` reads ``paper/part/name``."""

    id: str
    says: str
    where: str = ""

    def __post_init__(self) -> None:
        """Checks the id."""
        if self.id.count("/") < 2 or not all(self.id.split("/")):
            raise InputError(
                f"the id {self.id!r} must read paper/part/name, as in mine/finding-1/it"
            )

    @property
    def paper(self) -> str:
        """The paper's key, the first part of the id."""
        return self.id.split("/", 1)[0]

    def __call__(self, test: Test) -> Test:
        """Marks ``test`` as the test of this statement, and returns it."""
        test.__dict__[_MARK] = self
        test.__dict__[_STATED] = _statement_that_runs()
        return test

    @classmethod
    def of(cls, function: object) -> Self | None:
        """The statement of this kind that a test function was decorated with, if any."""
        statement = getattr(function, "__dict__", {}).get(_MARK)
        return statement if isinstance(statement, cls) else None


def _statement_that_runs() -> tuple[str, int]:
    """The file and line of the module's or class's own code that runs, functions left out."""
    frame = sys._getframe(1)
    while frame.f_code.co_flags & inspect.CO_OPTIMIZED and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def stated_at(test: Callable[..., Any]) -> tuple[Path, int]:
    """The file and line at which a test is stated: its decorator's or call's."""
    file, line = test.__dict__.get(_STATED, ("", 0))
    return Path(file), line


def line_of(test: Callable[..., Any], path: Path) -> int:
    """The line at which a test is stated, if the file has that, else the test's own."""
    file, line = stated_at(test)
    return line if file == path else inspect.unwrap(test).__code__.co_firstlineno
