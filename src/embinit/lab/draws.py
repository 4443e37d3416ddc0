"""Data draws in names: ``micro-glove@9003`` is what ``micro-glove`` is on data draw 9003.

The entry of the name without a number gives it by ``on_draw``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from embinit.errors import InputError
from embinit.registry import Registry, unknown

T = TypeVar("T")

ANY_DRAW = "any"
"""The number of the draw in a name that has another draw for each seed."""


def at_draw(name: str, draw: int | str) -> str:
    """The name of an entry on a draw; draw 0 has no number."""
    return f"{name}@{draw}" if draw else name


def split_draw(name: str) -> tuple[str, int]:
    """The name and the draw of an ``at_draw`` name; draw 0 without a number."""
    base, _, draw = name.partition("@")
    if draw == ANY_DRAW:
        return base, 0
    return (base, int(draw)) if _NUMBER.fullmatch(draw) else (name, 0)


_NUMBER = re.compile("[1-9][0-9]{0,8}")


class DrawRegistry(Registry[T]):
    """A registry of entries that may be on data draws."""

    def _other(self, name: str) -> T:
        base, sign, draw = name.partition("@")
        if not sign or base not in self:
            raise unknown(self._noun, name, self)
        on_draw: Callable[[int], T] | None = getattr(self[base], "on_draw", None)
        if on_draw is None or not _NUMBER.fullmatch(draw):
            mend = "it has none" if on_draw is None else "give a number from 1 to 999999999"
            raise InputError(
                f"{self._noun} {base!r} has no data draw {draw!r}: {mend}; name {base!r}"
            )
        return on_draw(int(draw))

    def _base(self, name: str) -> str:
        return name if self._knows(name) else split_draw(name)[0]
