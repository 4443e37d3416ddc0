"""Check a claim's runs for unequal budgets, arms with equal results, and ignored seeds.

A setting that never reaches the training gives two arms one result, whose difference of 0 says
nothing of the setting. A function that ignores its seed, or gives two numbers for one, breaks its
claims likewise.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from embinit.errors import InputError
from embinit.runs.kinds import kind_of
from embinit.runs.results import AGAIN, RunResult
from embinit.runs.trainings import training_named
from embinit.specs import FunctionRecipe, RunSpec

if TYPE_CHECKING:
    from embinit.claims.comparisons import Comparison, Lookup

TOLERANCE = 0.01
"""Largest allowed relative difference of parameter counts. Integer widths cannot match exactly."""


def same_results(comparison: Comparison, lookup: Lookup) -> str:
    """Which two trained arms have the same measures and curves on every seed; "" where none."""
    seeds = range(min(comparison.left.seeds, comparison.right.seeds))
    arms = {
        term.run(0).without_seed(): (term, [_recorded(lookup(term.run(seed))) for seed in seeds])
        for side in (comparison.left, comparison.right)
        for term in side.every_term
        if kind_of(term.run(0)).random_scores
    }
    for (one, its), (other, others) in itertools.combinations(arms.values(), 2):
        if its == others and all(its):
            apart = " and ".join(_arguments_apart(one.run(0), other.run(0)))
            return (
                f"{one.label} and {other.label} gave the same results on each of {len(seeds)} "
                f"seeds: does {apart or 'what they differ in'} reach the training? If it does, "
                "return a finer score, such as the loss"
            )
    return ""


def _recorded(result: RunResult | None) -> tuple[object, ...]:
    """A run's measures, curves and failure, in a form that compares by value; () for nothing."""
    if result is None:
        return ()
    curves = {name: tuple(values) for name, values in result.curves.items()}
    recorded = dict(result.measures), curves, result.failure
    return recorded if any(recorded) else ()


def _arguments_apart(*runs: RunSpec) -> list[str]:
    """The names of the arguments in which two calls of a function differ."""
    given = [json.loads(getattr(run.recipe, "arguments", "{}")) for run in runs]
    names = dict.fromkeys(itertools.chain(*given))
    return [f"`{name}`" for name in names if len({str(values.get(name)) for values in given}) > 1]


def seed_faults(results: Iterable[RunResult]) -> list[str]:
    """What is wrong with the seeds of the functions that a claim's runs call, a line each.

    A function may give one arm's numbers exactly, but not those of every arm of a claim, unless it
    is declared deterministic.
    """
    given = [result for result in results if result.spec.kind == FunctionRecipe.kind]
    faults = [*repeated_otherwise(given, on_cpu=True)]
    seen: dict[str, dict[RunSpec, dict[int, object]]] = defaultdict(lambda: defaultdict(dict))
    for result in given:
        seeds = seen[result.spec.recipe.task][result.spec.without_seed()]
        seeds[result.spec.seed] = _recorded(result)
    for name, arms in seen.items():
        several = [[*seeds.values()] for seeds in arms.values() if len(seeds) > 1]
        fixed = all(records.count(records[0]) == len(records) for records in several)
        if several and fixed and not training_named(name).deterministic:
            faults.append(
                f"{name.rpartition(':')[2]} ignores its seed: every seed gave the same results; "
                "draw from the seed, or declare it: @training(…, deterministic=True)"
            )
    return faults


def repeated_otherwise(results: Iterable[RunResult], on_cpu: bool) -> list[str]:
    """A line for each run that was repeated and differed, on CPUs or else on GPUs."""
    about = [result.provenance for result in results if result.provenance.get(AGAIN)]
    places = [(str(result[AGAIN]), str(result.get("device", "cpu"))) for result in about]
    return [*{text: None for text, place in places if place.startswith("cpu") == on_cpu}]


def unequal(comparisons: Sequence[Comparison], phase: str) -> str | None:
    """Says how the arms' budgets differ at a phase, such as ``finetuning``; None where equal."""
    problems = []
    for comparison in comparisons:
        counts = [_count(run, phase) for run in comparison.arms()]
        apart = max(counts) / min(counts) - 1
        if apart > TOLERANCE:
            problems.append(
                f"unequal budgets: {comparison.left.label} and {comparison.right.label} have "
                f"{min(counts):,} to {max(counts):,} parameters at {phase}, {apart:.1%} apart, "
                f"more than {TOLERANCE:.0%}"
            )
    return "; ".join(problems) or None


def _count(run: RunSpec, phase: str) -> int:
    counts = kind_of(run).parameters(run)
    if phase not in counts:
        raise InputError(
            f"a run of the kind {run.kind!r} counts no parameters at {phase!r}; "
            f"it does at: {', '.join(counts) or 'no phase'}"
        )
    return counts[phase]
