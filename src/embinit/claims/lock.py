"""``claims.lock``: what of a folder's claims was fixed beforehand, and whether it still stands so.

The file lies beside the claims, or in a folder above them within the project. It has a line for
each claim (what it compares, its margins, the size of its family, its looks), for each noise floor
that a margin comes from, and for each registered spread. ``embinit register`` writes it,
``embinit noise-floor`` its noise floors alone. A claim that differs from its line says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from embinit.claims.comparisons import Comparison, Lookup, Quantity, RankCorrelation
from embinit.claims.experiments import Experiment
from embinit.claims.functions import FunctionExperiment
from embinit.claims.looks import Look
from embinit.claims.noise_floor import FIRST_SEED, rounded_up
from embinit.claims.paired_tests import Spread
from embinit.claims.registration import SPREAD_SCHEMA, digest_of
from embinit.data.files import write_atomically
from embinit.data.outside import read_bytes, read_json, reading
from embinit.data.schema import check_document
from embinit.errors import InputError, OutputError
from embinit.specs import RunSpec, canonical

if TYPE_CHECKING:
    from embinit.claims.judging import Case

NAME = "claims.lock"
SCHEMA_VERSION = 1
SECTIONS = ("noise_floors", "differences", "claims")
MEND = "restore it, or remove it and write it anew with embinit register"
"""What to do about a lock that can't be read."""

ROOT_MARKS = ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini", ".git")
"""A folder that has one of these is a project's root."""

_FLOOR = {
    "type": "object",
    "required": ["sd", "unit", "seeds", "margin"],
    "properties": {
        **{name: {"type": "number", "minimum": 0} for name in ("sd", "margin")},
        "unit": {"type": "string"},
        "seeds": {"type": "integer", "minimum": 2},
    },
}
_CLAIM = {
    "type": "object",
    "required": ["registered"],
    "properties": {
        "registered": {"type": "string"},
        "afterwards": {"type": "string"},
        "states": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["says"],
                "properties": {"says": {"type": "string"}},
            },
        },
    },
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["schema_version", *SECTIONS],
    "properties": {
        "schema_version": {"const": SCHEMA_VERSION},
        "noise_floors": {"type": "object", "additionalProperties": _FLOOR},
        "differences": {"type": "object", "additionalProperties": SPREAD_SCHEMA},
        "claims": {"type": "object", "additionalProperties": _CLAIM},
    },
}
"""The JSON Schema of a lock."""

BEFOREHAND, AFTERWARDS, CHANGED, ABSENT = "beforehand", "afterwards", "changed", "absent"
_HEX = 16


@dataclass(frozen=True)
class Standing:
    """How a claim stands to its lock.

    Attributes:
        state: ``beforehand``: it stands as it was registered before its runs. ``afterwards``: it
            was registered, or registered anew, when runs of it were stored. ``changed``: it differs
            from its line. ``absent``: it has no line.
        differs: In which way it changed, or why it counts as registered afterwards; else "".
        when: When it was registered (ISO 8601); None without a line.
    """

    state: str
    differs: str = ""
    when: str | None = None


@dataclass(frozen=True)
class Lock:
    """A lock file; one that doesn't exist yet has nothing in it.

    Attributes:
        path: The file.
    """

    path: Path

    @cached_property
    def document(self) -> Mapping[str, Mapping[str, Any]]:
        """Its sections by name.

        Raises:
            InputError: The file is no lock, or one of a newer embinit.
        """
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
        """A digest of the whole file.

        Raises:
            InputError: It can't be read.
        """
        with reading(self.path, MEND):
            return hashlib.sha256(read_bytes(self.path)).hexdigest()[:_HEX]

    @property
    def name(self) -> str:
        """The file's name with its folder's."""
        return f"{self.path.parent.name}/{self.path.name}"

    def spread(self, comparison: Comparison) -> Spread | None:
        """The registered spread of a comparison's difference; None where none was registered."""
        known = self.document["differences"]
        entry = known.get(digest_of(comparison)) if known else None
        return None if entry is None else Spread(float(entry["sd"]), int(entry["seeds"]))

    def noise_floor(self, experiment: FunctionExperiment) -> Mapping[str, Any] | None:
        """The measured noise floor of an experiment; None where it was not measured."""
        entry: Mapping[str, Any] | None = self.document["noise_floors"].get(
            noise_floor_key(experiment)
        )
        return entry

    def standing(self, case: Case, looks: Sequence[Look]) -> Standing:
        """How a claim stands to its line.

        Args:
            case: The claim.
            looks: Its schedule of looks.
        """
        entry = self.document["claims"].get(claim_key(case))
        if entry is None:
            return Standing(ABSENT)
        differs = difference(entry, frozen(case, looks))
        if differs:
            return Standing(CHANGED, differs, entry["registered"])
        afterwards = str(entry.get("afterwards", ""))
        return Standing(AFTERWARDS if afterwards else BEFOREHAND, afterwards, entry["registered"])

    def registered(self, case: Case, looks: Sequence[Look], seen: bool) -> Mapping[str, Any]:
        """A claim's line as it is to be written; one that still fits stays as it is.

        Where its runs are there, it says so, and why it was registered so late before.

        Args:
            case: The claim.
            looks: Its schedule of looks.
            seen: Whether runs of it are stored already.
        """
        entry, now = self.document["claims"].get(claim_key(case)), frozen(case, looks)
        differs = "" if entry is None else difference(entry, now)
        if entry is not None and not differs:
            return dict(entry)
        former = "" if entry is None else entry.get("afterwards", "")
        reasons = (former, differs or "its runs were there when it was registered")
        afterwards = {"afterwards": "; ".join(filter(None, reasons))} if seen else {}
        return {"registered": time.strftime("%Y-%m-%d"), **afterwards, **now}

    def write(self, sections: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
        """Adds entries to the file, in place of those of the same keys.

        Args:
            sections: The entries by section and key.

        Raises:
            InputError: The file can't be written.
        """
        known = self.document
        texts = [f'"schema_version": {SCHEMA_VERSION}']
        for section in SECTIONS:
            entries = {**known[section], **sections.get(section, {})}
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


def lock_beside(path: Path) -> Lock:
    """The lock of a file of claims: beside it, or above it within its project.

    Where there is none yet, the one beside it.
    """
    folder = path.absolute().parent
    for each in (folder, *folder.parents):
        # One that can't be read, as a link that leads nowhere, is refused when it is asked.
        with contextlib.suppress(FileNotFoundError):
            return _lock(each / NAME, os.lstat(each / NAME).st_mtime_ns)
        if any((each / mark).exists() for mark in ROOT_MARKS):
            break
    return Lock(folder / NAME)


@lru_cache(maxsize=64)
def _lock(path: Path, changed: int) -> Lock:
    """A file's lock, read once while the file stays as it is."""
    return Lock(path)


def lock_of(test: Callable[..., Any], experiment: Experiment) -> Lock | None:
    """The lock of a claim without pytest; None where no file tells where it stands."""
    homes = [inspect.unwrap(test)]
    if isinstance(experiment, FunctionExperiment):
        homes.append(inspect.unwrap(experiment.function.function))
    shipped = Path(__file__).parents[1]
    for home in homes:
        try:
            path = Path(inspect.getfile(home))
        except TypeError:
            continue
        if path.is_file() and not path.is_relative_to(shipped):
            return lock_beside(path)
    return None


def claim_key(case: Case) -> str:
    """The key of a claim's line: its id with the experiment, and the tier."""
    return f"{case.id} on {case.experiment.tier}"


def frozen(case: Case, looks: Sequence[Look]) -> dict[str, Any]:
    """What of a claim must stand beforehand.

    The code of a training function is no part of it: what is registered is what is stated, and runs
    of another code are other runs.

    Args:
        case: The claim.
        looks: Its schedule of looks.
    """
    claim, tier = case.claim, case.experiment.tier
    entry: dict[str, Any] = {
        "family": claim.family.name,
        "claims": claim.family.size_on(tier),
        "alpha": claim.family.alpha,
        "looks": [look.seeds for look in looks],
        "states": [_stated(case, comparison) for comparison in case.comparisons],
    }
    return entry if claim.expects is None else {**entry, "expects": str(claim.expects)}


def difference(registered: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """How a claim differs from its line, in words; "" where it doesn't."""
    told = []
    before, after = registered.get("states", []), now["states"]
    if [each["says"] for each in before] != [each["says"] for each in after]:
        told.append(f"it states {_says(after)}, registered was {_says(before)}")
    else:
        for old, new in zip(before, after, strict=True):
            for name in ("margin", "measure", "spread"):
                if old.get(name) != new.get(name):
                    told.append(
                        f"{new['says']}: {name} {_value(new.get(name))}, "
                        f"registered was {_value(old.get(name))}"
                    )
            if old.get("arms") != new.get("arms"):
                told.append(f"{new['says']}: its arms have other settings")
    for name, words in (
        ("family", "its family is {}"),
        ("claims", "its family's size is {}"),
        ("alpha", "its family's level is {}"),
        ("looks", "it is looked at with {} seeds"),
        ("expects", "it expects {}"),
    ):
        if registered.get(name) != now.get(name):
            told.append(
                f"{words.format(_value(now.get(name)))}, registered was "
                f"{_value(registered.get(name))}"
            )
    return "; ".join(dict.fromkeys(told))


def _says(states: Iterable[Mapping[str, Any]]) -> str:
    return " and ".join(f"'{each['says']}'" for each in states)


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", then ".join(map(str, value))
    return "none" if value is None else str(value)


def _stated(case: Case, comparison: Comparison) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "says": str(comparison),
        "measure": comparison.left.measure.name,
        "margin": comparison.left.margin,
        "arms": _digest([_arms(comparison.left), _arms(comparison.right)]),
    }
    # A spread of the lock's own always fits it; one of a paper's registration may have moved.
    if case.claim.family.registration is not None and comparison.spread is not None:
        entry["spread"] = [comparison.spread.sd, comparison.spread.seeds]
    return entry


def _arms(quantity: Quantity) -> list[object]:
    if isinstance(quantity, RankCorrelation):
        return [[_arms(arm), _arms(base)] for arm, base in quantity.pairs]
    terms = [
        [term.weight, _without_code(term.run(0)), term.offset, term.measure.name]
        for term in quantity.terms
    ]
    return [*terms, quantity.shift]


def _without_code(run: RunSpec) -> str:
    recipe = None if run.training is None else run.training.without_code()
    return canonical(replace(run, training=recipe, seed=0))


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_HEX]


def noise_floor_key(experiment: FunctionExperiment) -> str:
    """The key of an experiment's noise floor: its name, its tier, and a digest of the baseline."""
    spec = _without_code(experiment.run(experiment.baseline, 0))
    digest = _digest([spec, experiment.metric.name])
    return f"{experiment.name} on {experiment.tier} {digest}"


def noise_floor_runs(experiment: FunctionExperiment, seeds: int) -> list[RunSpec]:
    """The runs of the baseline that its noise floor is measured on; no claim uses their seeds."""
    return [
        experiment.run(experiment.baseline, seed) for seed in range(FIRST_SEED, FIRST_SEED + seeds)
    ]


def measured_noise_floor(
    experiment: FunctionExperiment, seeds: int, lookup: Lookup
) -> dict[str, Any]:
    """The noise floor of an experiment's metric, and the margin that comes from it.

    Args:
        experiment: The experiment.
        seeds: How many seeds are taken.
        lookup: Finds the runs' results.

    Raises:
        InputError: A run gave no number, or all gave the same.
    """
    metric = experiment.metric
    results = [lookup(run) for run in noise_floor_runs(experiment, seeds)]
    values = [
        value
        for result in results
        if result is not None and (value := metric.of(result)) is not None and math.isfinite(value)
    ]
    if len(values) < seeds or len(set(values)) < 2:
        raise InputError(
            f"{experiment.name}: {len(values)} of {seeds} seeds of {experiment.baseline!r} gave "
            f"{metric.name}, {len(set(values))} of them different; there is no noise to measure, "
            "so give the margin as a number"
        )
    sd = float(f"{np.std(values, ddof=1):.6g}")
    return {
        "metric": metric.name,
        "unit": metric.unit,
        "baseline": experiment.baseline,
        "sd": sd,
        "seeds": seeds,
        "margin": rounded_up(2 * sd),
        "code": code_of(experiment),
        "measured": time.strftime("%Y-%m-%d"),
    }


def code_of(experiment: FunctionExperiment) -> str:
    """The digest of the code that an experiment's runs are made by."""
    return experiment.function.code


def with_margin(experiment: Experiment, lock: Lock | None) -> Experiment:
    """The experiment with its margin from the lock, where it comes from the noise floor."""
    if not isinstance(experiment, FunctionExperiment) or not experiment.wants_noise_floor:
        return experiment
    known = None if lock is None else lock.noise_floor(experiment)
    return experiment if known is None else replace(experiment, margin=float(known["margin"]))


def command(experiment: Experiment, lock: Lock | None) -> str:
    """The command that measures an experiment's noise floor."""
    folder = Path("claims") if lock is None else lock.path.parent
    with contextlib.suppress(ValueError):
        folder = folder.relative_to(Path.cwd())
    tier = "" if experiment.tier == "micro" else f" --embinit-tier {experiment.tier}"
    return f"embinit noise-floor {folder}{tier}"
