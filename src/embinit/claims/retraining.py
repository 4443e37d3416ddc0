"""Retraining: runs of a report that are made again, to see whether its numbers come out again."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from embinit.claims.comparisons import Comparison, Lookup, Quantity
from embinit.claims.definitions import Claim, comparisons_of
from embinit.claims.records import ClaimRecord
from embinit.errors import InputError
from embinit.runs.modules import load_module, module_named
from embinit.specs import RunSpec


@dataclass(frozen=True, eq=False)
class Reported:
    """A number of a report: the value of one side of a comparison, on one seed."""

    claim: str
    side: Quantity
    index: int
    value: float

    @property
    def runs(self) -> list[RunSpec]:
        """The runs that it is made of."""
        return self.side.runs_of(self.index)

    def differs(self, lookup: Lookup) -> str:
        """How it came out otherwise, in words; "" where each digit is the same."""
        now = self.side.value(self.index, lookup)
        if now == self.value or (now is None and self.side.measure.failed):
            return ""
        seed = self.side.seed_of(self.index)
        return f"{self.claim}: {self.side.label}, seed {seed}: {now} now, {self.value} reported"


def numbers_of(claims: Iterable[ClaimRecord], root: Path) -> list[Reported]:
    """All numbers of claims that runs decide; InputError where the claims are not those here.

    ``root`` is the folder that the paths of its tests begin in.
    """
    return [
        Reported(claim.id, side, index, value)
        for claim in claims
        if claim.comparisons
        for pair, stated in zip(claim.comparisons, _comparisons(claim, root), strict=True)
        for side, values in ((stated.left, pair.left_values), (stated.right, pair.right_values))
        if side.random and not side.parts
        for index, value in enumerate(values)
        if value is not None
    ]


def chosen(numbers: Sequence[Reported], count: int, seed: int) -> list[RunSpec]:
    """About ``count`` runs at random, as many as whole numbers are made of; all if there are fewer.

    One number after the other is drawn, so that each run decides one of them alone or with others.
    """
    runs: dict[RunSpec, None] = {}
    for number in random.Random(seed).sample(numbers, len(numbers)):
        if len(runs) >= count:
            break
        runs.update(dict.fromkeys(number.runs))
    return [*runs]


def _comparisons(record: ClaimRecord, root: Path) -> Sequence[Comparison]:
    """The comparisons that a claim of a report states here."""
    labels = [(one.arms.left, one.arms.right) for one in record.comparisons]
    for test in _claims(root / record.file):
        claim = Claim.of(test)
        if claim is None or not record.id.startswith(f"{claim.id}["):
            continue
        for experiment in claim.experiments(record.tier):
            if record.id == f"{claim.id}[{experiment.name}]":
                stated = comparisons_of(test, experiment)
                if labels == [(one.left.label, one.right.label) for one in stated]:
                    return stated
    raise InputError(
        f"{record.id}: no claim in {record.file} states what the report has; check a report of "
        "this version, in the folder where its session was started"
    )


@cache
def _claims(file: Path) -> list[Any]:
    """The tests of a module of claims; none where there is no such file."""
    if not file.exists():
        return []
    name = module_named(file)
    load_module(name, str(file))
    return [*filter(Claim.of, vars(sys.modules[name]).values())]
