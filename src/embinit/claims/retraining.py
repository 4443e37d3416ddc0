"""Retraining: runs of a report that are made again, to see whether its numbers come out again."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from embinit.claims.comparisons import Lookup, Quantity
from embinit.claims.definitions import Claim, comparisons_of
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


def numbers_of(document: Mapping[str, Any], root: Path) -> list[Reported]:
    """All numbers of a report that runs decide; InputError where its claims are not those here.

    ``root`` is the folder that the paths of its tests begin in.
    """
    found: list[Reported] = []
    for entry in document["claims"]:
        pairs = _comparisons(entry, root) if entry["comparisons"] else []
        for pair, stated in zip(entry["comparisons"], pairs, strict=True):
            sides = ((stated.left, "left_values"), (stated.right, "right_values"))
            for side, name in sides:
                if side.random and not side.parts:
                    found += [
                        Reported(entry["id"], side, index, value)
                        for index, value in enumerate(pair[name])
                        if value is not None
                    ]
    return found


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


def _comparisons(entry: Mapping[str, Any], root: Path) -> Sequence[Any]:
    """The comparisons that a claim of a report states here."""
    for test in _claims(root / str(entry["nodeid"]).partition("::")[0]):
        claim = Claim.of(test)
        if claim is None or not entry["id"].startswith(f"{claim.id}["):
            continue
        for experiment in claim.experiments(entry["tier"]):
            if entry["id"] == f"{claim.id}[{experiment.name}]":
                stated = comparisons_of(test, experiment)
                labels = [(one.left.label, one.right.label) for one in stated]
                if labels == [(*one["arms"].values(),) for one in entry["comparisons"]]:
                    return stated
    raise InputError(
        f"{entry['id']}: no claim in {entry['nodeid'].partition('::')[0]} states what the report "
        "has; check a report of this version, in the folder where its session was started"
    )


@cache
def _claims(file: Path) -> list[Any]:
    """The tests of a module of claims; none where there is no such file."""
    if not file.exists():
        return []
    name = module_named(file)
    load_module(name, str(file))
    return [*filter(Claim.of, vars(sys.modules[name]).values())]
