"""Statements: the id, the sentence and the citation of a test in ``claims/``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from embinit.errors import InputError

_MARK = "__embinit_statement__"

Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True)
class Statement:
    """A decorator that marks a test with what it states; claims and audits are its subclasses.

    Attributes:
        id: The statement's id, which reads ``paper/part/name``.
        says: The statement as a sentence.
        where: Where the paper says it, such as ``Table 1``.
    """

    id: str
    says: str
    where: str = ""

    def __post_init__(self) -> None:
        """Checks the id.

        Raises:
            InputError: The id does not read ``paper/part/name``.
        """
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
        return test

    @classmethod
    def of(cls, function: object) -> Self | None:
        """The statement of this kind that a test function was decorated with, if any."""
        statement = getattr(function, "__dict__", {}).get(_MARK)
        return statement if isinstance(statement, cls) else None
