"""Coverage of a vocabulary by a source; without torch, so that any record can be read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Coverage:
    """A source's coverage of a vocabulary, by different words and by running words."""

    types: int
    types_found: int
    tokens: int
    tokens_found: int
