"""Inits with names, labels and needs, without torch; their functions are in ``tables.inits``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embinit.registry import Registry

if TYPE_CHECKING:
    from torch import Generator, Tensor
else:
    Generator = Tensor = Any  # what reads annotations here loads no torch either

Shape = tuple[int, int]

FUNCTIONS = "embinit.lab.tables.inits"
"""The module with the functions, and the public home of ``Init`` and ``INITS``."""


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

    def at_sigma(self, table: Tensor, special: Tensor, sigma: float) -> Tensor:
        """A table of this init at mean zero and sigma; InputError if it is constant."""
        from embinit.lab.tables import inits

        return inits.standardise(table, special, 0.0, sigma)


# Users import it from there, and digests of their code name that module (``code``).
Init.__module__ = FUNCTIONS


@dataclass(frozen=True)
class Shipped:
    """A lazily loaded function of ``tables.inits``, by its name."""

    name: str

    @property
    def __wrapped__(self) -> Callable[..., Tensor]:
        """The function."""
        function: Callable[..., Tensor] = getattr(importlib.import_module(FUNCTIONS), self.name)
        return function

    def __call__(self, *arguments: object) -> Tensor:
        """Calls the function."""
        return self.__wrapped__(*arguments)


def _shipped(name: str, label: str, needs_source: bool = True) -> Init:
    return Init(name, label, needs_source, Shipped(name))


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
