"""Roles of seeds: what a replicate is for, and the one place that numbers its seeds."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Flag, auto

from embinit.errors import InputError

SEEDS_OF_A_ROLE = 1000
"""So many seeds each role has, so that none is of two."""


class Role(Flag):
    """The purpose of a run: judging, registering, or the second half of a control."""

    CLAIM = 0
    SECOND_HALF = auto()  # of a control: the same arm on other seeds
    REGISTRATION = auto()  # of standard deviations and margins

    def seed(self, index: int) -> int:
        """The seed of a run with this role; InputError if the role has no seeds left."""
        if not 0 <= index < SEEDS_OF_A_ROLE:
            raise InputError(
                f"replicate {index} has no seed: there are {SEEDS_OF_A_ROLE} of each role; ask "
                "for fewer"
            )
        return index + sum(first for role, first in _FIRST.items() if role in self)


_FIRST: Mapping[Role, int] = {Role.SECOND_HALF: 1000, Role.REGISTRATION: 5000}
