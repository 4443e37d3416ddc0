"""Inits with names, labels and needs, without torch; their functions are in ``tables.inits``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embinit.registry import Registry

if TYPE_CHECKING:
    from torch import Generator, Tensor
else:
    Generator = Tensor = Any  # what reads annotations here loads no torch either

Shape = tuple[int, int]


@dataclass(frozen=True)
class Init:
    """A named recipe for a table.

    The label is the arm's name as the paper writes it, with ``{source}`` for the source's label.
    ``make`` is called with (vectors, special, generator) where the init needs a source, else with
    (shape, special, generator).
    """

    name: str
    label: str
    needs_source: bool
    make: Callable[..., Tensor]

    def __call__(
        self, shape: Shape, special: Tensor, generator: Generator, vectors: Tensor | None = None
    ) -> Tensor:
        """Makes a table, (N, D) float32, of vectors (N, D) if needed; special rows are zero.

        InputError if vectors are missing, or anything misfits the shape.
        """
        from embinit.lab.tables import inits

        return inits.make_table(self, shape, special, generator, vectors)


# Users import it from there, and digests of their code name that module (``code``).
Init.__module__ = "embinit.lab.tables.inits"


def _shipped(name: str, label: str, needs_source: bool = True) -> Init:
    """An init whose function is that of its name in ``tables.inits``, which loads torch."""

    def make(*arguments: object) -> Tensor:
        from embinit.lab.tables import inits

        table: Tensor = getattr(inits, name)(*arguments)
        return table

    return Init(name, label, needs_source, make)


INITS: Registry[Init] = Registry("init", "embinit.inits")

for _init in (
    _shipped("xavier", "Xavier", needs_source=False),
    _shipped("normal", "Normal", needs_source=False),
    _shipped("pretrained", "{source}"),
    _shipped("pretrained_xavier", "{source}_Xavier"),
    _shipped("pretrained_shuffled", "{source}_Shuffled"),
    _shipped("xavier_pretrained", "Xavier_{source}"),
):
    INITS.register(_init.name, _init)
