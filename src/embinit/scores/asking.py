"""A question in place of a guess: what was found, and the commands to choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from embinit.errors import InputError

if TYPE_CHECKING:
    from embinit.scores.rows import Table

SHAPE = "give one row a run:\n  arm,seed,score\n  base,0,0.801"
"""The shape that is always understood."""

MOST_COLUMNS = 20
"""So many columns of a table are shown at most."""

Choice = Mapping[str, Any]
"""Options of the command by name, with the values that answer a question."""


class Ask(InputError):
    """Input that can be read in several ways: each choice answers, the likeliest first.

    Without choices it has none of the shapes that are read.
    """

    def __init__(self, text: str, choices: Sequence[Choice], table: Table | None = None) -> None:
        super().__init__(text)
        self.choices, self.table = choices, table


def columns_of(table: Table) -> list[str]:
    """The columns of a table, each with its first three values."""
    shown = [*table.columns][:MOST_COLUMNS]
    width = max(map(len, shown), default=0)
    lines = []
    for name in shown:
        values = [*dict.fromkeys(table.columns[name])]
        first = ", ".join(value[:30] or "(empty)" for value in values[:3])
        lines.append(f"  {name:{width}}  {first}{', …' if len(values) > 3 else ''}")
    rest = len(table.columns) - len(shown)
    return [*lines, f"  and {rest} more"] if rest else lines
