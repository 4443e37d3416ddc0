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

    @property
    def type_share(self) -> float:
        """Found types over all types, 0 to 1."""
        return self.types_found / self.types if self.types else 0.0

    @property
    def token_share(self) -> float:
        """Found running words over all running words, 0 to 1."""
        return self.tokens_found / self.tokens if self.tokens else 0.0
