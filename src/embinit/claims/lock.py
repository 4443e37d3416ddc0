"""``claims.lock``: the registration of a folder's claims, of what was fixed beforehand.

The file lies next to the claims, or in a folder above them within the project. It has a line for
each claim, for each noise floor that a margin comes from, and for each registered sd. An sd is kept
under a digest of its arms' specs, weights and measures: a setting that changes has none until it is
measured again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from embinit.claims.comparisons import Comparison, Quantity
from embinit.claims.experiments import Experiment
from embinit.claims.functions import FunctionExperiment
from embinit.claims.statements import stated_at
from embinit.digests import digest_of
from embinit.errors import InputError, OutputError
from embinit.files.reading import read_json, reading
from embinit.files.schema import check_document
from embinit.files.writing import write_atomically
from embinit.runs.kinds import kind_of
from embinit.runs.measures import Measure
from embinit.runs.trainers.inputs import ROOT_MARKS
from embinit.specs import canonical
from embinit.stats.statements import KnownSd

Entry = Mapping[str, Any]
Sections = Mapping[str, Mapping[str, Entry]]
"""Entries by their section and key."""

NAME = "claims.lock"
SCHEMA_VERSION = 1
SECTIONS = ("noise_floors", "differences", "claims")
MEND = "restore it, or remove it and write it anew with embinit register"
"""What to do about a lock that can't be read."""

_NUMBER, _SEEDS = {"type": "number", "minimum": 0}, {"type": "integer", "minimum": 2}
_TEXT = {"type": "string"}


def _object(optional: Mapping[str, Any] | None = None, **required: Any) -> dict[str, Any]:
    fields = {**required, **(optional or {})}
    return {"type": "object", "required": [*required], "properties": fields}


_ENTRIES = {
    "noise_floors": _object(sd=_NUMBER, unit=_TEXT, seeds=_SEEDS, margin=_NUMBER),
    "differences": _object(sd=_NUMBER, seeds=_SEEDS),
    "claims": _object(
        {"afterwards": _TEXT, "states": {"type": "array", "items": _object(says=_TEXT)}},
        registered=_TEXT,
    ),
}
SCHEMA: Mapping[str, Any] = _object(
    schema_version={"const": SCHEMA_VERSION},
    **{
        section: {"type": "object", "additionalProperties": entry}
        for section, entry in _ENTRIES.items()
    },
)
"""The JSON Schema of a lock."""


@dataclass(frozen=True)
class Lock:
    """A lock file; one that doesn't exist yet has nothing in it."""

    path: Path

    @cached_property
    def document(self) -> Sections:
        """Its sections by name; InputError where it is no lock, or of a newer embinit."""
        if not self.exists:
            return {name: {} for name in SECTIONS}
        document = read_json(self.path, MEND)
        version = document.get("schema_version") if isinstance(document, dict) else None
        if type(version) is int and version != SCHEMA_VERSION:
            raise InputError(
                f"{self.path} has schema version {version}, and this embinit knows "
                f"{SCHEMA_VERSION}; use the embinit that wrote it"
            )
        check_document(self.path, document, SCHEMA, "lock of claims", MEND)
        return {name: document[name] for name in SECTIONS}

    @property
    def exists(self) -> bool:
        """Whether something is there, be it a link that leads nowhere."""
        return os.path.lexists(self.path)

    @cached_property
    def digest(self) -> str:
        """A digest of the whole file; InputError where it can't be read."""
        with reading(self.path, MEND):
            return hashlib.sha256(self.path.read_bytes()).hexdigest()[:16]

    def registered_sd(self, comparison: Comparison) -> KnownSd | None:
        """The registered sd of a comparison's difference; None where none was registered."""
        known = self.document["differences"]
        entry = known.get(difference_key(comparison)) if known else None
        return None if entry is None else KnownSd(float(entry["sd"]), int(entry["seeds"]))

    def noise_floor(self, experiment: Experiment, metric: Measure | None = None) -> Entry | None:
        """An experiment's noise floor, of ``metric`` if it is given; None if not measured."""
        key = noise_floor_key(experiment, metric or experiment.metric)
        return self.document["noise_floors"].get(key)

    def with_entries(self, sections: Sections) -> Lock:
        """The lock with more entries, in place of those of the same keys; nothing is written."""
        added = Lock(self.path)
        known = self.document.items()
        document = {name: {**entries, **sections.get(name, {})} for name, entries in known}
        vars(added)["document"] = document
        return added

    def write(self, sections: Sections) -> None:
        """Adds entries to the file, in place of those of the same keys; else OutputError."""
        texts = [f'"schema_version": {SCHEMA_VERSION}']
        for section, entries in self.with_entries(sections).document.items():
            lines = ",\n".join(
                f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(entry, ensure_ascii=False)}"
                for key, entry in sorted(entries.items())
            )
            texts.append(f'"{section}": {{\n{lines}\n}}')
        try:
            write_atomically(self.path, "{" + ",\n".join(texts) + "}\n")
        except OSError as error:
            raise OutputError(f"{self.path} can't be written: {error.strerror or error}") from None
        for name in ("document", "digest"):
            self.__dict__.pop(name, None)


NOWHERE = Lock(Path(os.devnull, NAME))
"""The lock of a claim that no file states: it is not there, and can't be."""


def nearest_lock(path: Path) -> Lock:
    """The lock of a file of claims: the nearest in its folder or above it, or a new one."""
    folder = path.absolute().parent
    for place in (folder, *folder.parents):
        # One that can't be read, as a link that leads nowhere, is refused when it is asked.
        with contextlib.suppress(FileNotFoundError):
            return _lock(place / NAME, os.lstat(place / NAME).st_mtime_ns)
        if any((place / mark).exists() for mark in ROOT_MARKS):
            break
    return Lock(folder / NAME)


@lru_cache(maxsize=64)
def _lock(path: Path, changed: int) -> Lock:
    """A file's lock, read once while the file stays as it is."""
    return Lock(path)


def lock_of(test: Callable[..., Any]) -> Lock:
    """The lock of a claim without pytest."""
    path = stated_at(test)[0]
    return nearest_lock(path) if path.is_file() else NOWHERE


def with_margin(experiment: Experiment, lock: Lock) -> Experiment:
    """The experiment with its margin from the lock, where it comes from the noise floor."""
    if not isinstance(experiment, FunctionExperiment) or not experiment.wants_noise_floor:
        return experiment
    known = lock.noise_floor(experiment)
    return experiment if known is None else replace(experiment, margin=float(known["margin"]))


def command(experiment: Experiment, lock: Lock) -> str:
    """The command that measures an experiment's noise floor."""
    folder = Path("claims") if lock is NOWHERE else lock.path.parent
    with contextlib.suppress(ValueError):
        folder = folder.relative_to(Path.cwd())
    tier = "" if experiment.tier == "micro" else f" --embinit-tier {experiment.tier}"
    return f"embinit register {folder}{tier}"


def digest_of_content(content: object) -> str:
    """A digest of plain data."""
    return digest_of(json.dumps(content, sort_keys=True))


def difference_key(comparison: Comparison) -> str:
    """A digest of a comparison's difference, whatever its seeds, its sign and its relation."""
    left, right = comparison.left, comparison.right
    if groups := [*left.parts, *right.parts]:
        return digest_of_content([[_arms(part) for part in group] for group in groups])
    weights: dict[str, float] = defaultdict(float)
    for side, sign in ((left, 1), (right, -1)):
        for arm, weight in _arms(side).items():
            weights[arm] += sign * weight
    kept = sorted((arm, weight) for arm, weight in weights.items() if abs(weight) > 1e-12)
    sign = 1 if not kept or kept[0][1] > 0 else -1
    return digest_of_content([[arm, round(sign * weight, 9)] for arm, weight in kept])


def _arms(quantity: Quantity) -> dict[str, float]:
    """The weight of each arm of a quantity. An arm is named by its spec, seeds and measure."""
    weights: dict[str, float] = defaultdict(float)
    for term in quantity.terms:
        run = term.run(0)
        spec = canonical(replace(run.without_seed(), seed=term.role.seed(0)))
        weights[f"{spec} {kind_of(run).source(run)}{quantity.measure.name}"] += term.weight
    return weights


def noise_floor_key(experiment: Experiment, metric: Measure) -> str:
    """The key of a noise floor: the experiment's name, its tier, and a digest of the baseline."""
    arm = experiment.run(experiment.baseline, 0).without_seed()
    digest = digest_of_content([canonical(arm), metric.name])
    return f"{experiment.name} on {experiment.tier} {digest}"
