"""Registration: what of a paper's claims is measured beforehand, on seeds that no claim uses.

A difference's spread over seeds is registered, and pooled with what a claim's few seeds show of it
(``paired_tests.Spread``). It is kept under a digest of the difference itself: its arms' specs,
weights and measures, without seeds. So a setting that changes has no registered spread until it is
measured again, and two claims on the same difference share one. Means are not kept: nothing here
tells how a claim would come out.

``pytest claims/ --embinit-register 10`` measures the spreads of the claims that it collects, and
writes them to their families' registrations.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np

from embinit.claims.comparisons import Comparison, Lookup, Quantity, RankCorrelation
from embinit.claims.noise_floor import FIRST_SEED
from embinit.claims.paired_tests import Spread
from embinit.errors import InputError, OutputError
from embinit.files.reading import parse_json, read_json
from embinit.files.schema import check_document
from embinit.files.writing import write_atomically
from embinit.specs import RunSpec, canonical

_HEX = 16

SPREAD_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["sd", "seeds"],
    "properties": {
        "sd": {"type": "number", "minimum": 0},
        "seeds": {"type": "integer", "minimum": 2},
    },
}
"""The JSON Schema of the entry of one difference."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["differences"],
    "properties": {
        "schema_version": {"const": 1},
        "differences": {"type": "object", "additionalProperties": SPREAD_SCHEMA},
    },
}
"""The JSON Schema of a registration."""


@dataclass(frozen=True)
class Registration:
    """A file of registered spreads; without the file nothing is registered.

    Attributes:
        path: The file, which may be a resource of an installed package.
    """

    path: Traversable

    @cached_property
    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """The registered differences, by digest.

        Raises:
            InputError: The file is no registration.
        """
        mend = "restore it, or register anew with --embinit-register"
        try:
            # One in an archive has no size to look at, and is a package's own.
            document = (
                read_json(self.path, mend)
                if isinstance(self.path, Path) and os.path.lexists(self.path)
                else parse_json(self.path.read_bytes())
            )
        except FileNotFoundError:
            return {}
        except InputError:
            raise
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(
                f"{self.path} is no registration ({type(error).__name__}: {error}); {mend}"
            ) from None
        check_document(self.path, document, SCHEMA, "registration", mend)
        entries: Mapping[str, Mapping[str, Any]] = document["differences"]
        return entries

    def spread(self, comparison: Comparison) -> Spread | None:
        """The registered spread of a comparison's difference; None where none was registered."""
        entry = self.entries.get(digest_of(comparison))
        return None if entry is None else Spread(float(entry["sd"]), int(entry["seeds"]))

    def write(self, entries: Mapping[str, Mapping[str, Any]]) -> int:
        """Adds entries to the file, in place of those of the same differences.

        Returns:
            How many differences the file has now.

        Raises:
            InputError: It is inside of an archive.
            OutputError: The file can't be written.
        """
        if not isinstance(self.path, Path):
            raise InputError(f"{self.path} is no file of its own, so nothing can be registered")
        every = {**self.entries, **entries}
        ordered = sorted(every.items(), key=lambda item: (_sort_key(item[1]), item[0]))
        lines = ",\n".join(
            f"{json.dumps(digest)}: {json.dumps(entry, ensure_ascii=False)}"
            for digest, entry in ordered
        )
        try:
            write_atomically(
                self.path, f'{{"schema_version": 1, "differences": {{\n{lines}\n}}}}\n'
            )
        except OSError as error:
            raise OutputError(f"{self.path} can't be written: {error.strerror or error}") from None
        self.__dict__.pop("entries", None)
        return len(every)


def _sort_key(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry.get(name, "")) for name in ("tier", "experiment", "difference"))


def registered_runs(comparison: Comparison, seeds: int) -> list[RunSpec]:
    """The runs that a comparison's spread is measured on.

    Args:
        comparison: The comparison.
        seeds: How many seeds are taken, from ``noise_floor.FIRST_SEED`` on.
    """
    return [
        run
        for side in (comparison.left, comparison.right)
        for seed in range(FIRST_SEED, FIRST_SEED + seeds)
        for run in side.runs_of(seed)
    ]


def measure_spread(comparison: Comparison, seeds: int, lookup: Lookup) -> Spread | None:
    """Measures the spread of a comparison's difference over seeds that no claim uses.

    Args:
        comparison: The comparison.
        seeds: How many seeds are taken.
        lookup: Finds the runs' results.

    Returns:
        The spread; None where no seed changes the difference, or a run has no such measure.
    """
    if not (comparison.left.random or comparison.right.random):
        return None
    differences = []
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        left, right = (side.value(seed, lookup) for side in (comparison.left, comparison.right))
        if left is None or right is None or not math.isfinite(left - right):
            return None
        differences.append(left - right)
    return Spread(float(f"{np.std(differences, ddof=1):.6g}"), seeds)


def digest_of(comparison: Comparison) -> str:
    """A digest of a comparison's difference, whatever its seeds, its sign and its relation."""
    text = json.dumps(_content(comparison), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_HEX]


def _content(comparison: Comparison) -> object:
    left, right = comparison.left, comparison.right
    ranked = [side for side in (left, right) if isinstance(side, RankCorrelation)]
    if ranked:
        return [[_arms(arm), _arms(base)] for side in ranked for arm, base in side.pairs]
    weights: dict[str, float] = defaultdict(float)
    for side, sign in ((left, 1), (right, -1)):
        for arm, weight in _arms(side).items():
            weights[arm] += sign * weight
    kept = sorted((arm, weight) for arm, weight in weights.items() if abs(weight) > 1e-12)
    sign = 1 if not kept or kept[0][1] > 0 else -1
    return [[arm, round(sign * weight, 9)] for arm, weight in kept]


def _arms(quantity: Quantity) -> dict[str, float]:
    """The weight of each arm of a quantity. An arm is named by its spec, seeds and measure."""
    weights: dict[str, float] = defaultdict(float)
    for term in quantity.terms:
        spec = canonical(replace(term.run(0), seed=term.offset))
        weights[f"{spec} {term.measure.name}"] += term.weight
    return weights
