"""Comparison of starts on a user's own task by small models on as many seeds as it takes.

The task and the vectors are prepared once, then each look trains what the store lacks and asks
which starts may still be the best (``embtables.best``). A start that is ruled out trains no more.
All runs are in the store, so a comparison that was interrupted, or had too little time, goes on
where it ended.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from embinit.errors import InputError
from embinit.lab.data.cache import Writer
from embinit.lab.data.preparation import prepare, write
from embinit.lab.data.sources import NamedSource
from embinit.lab.data.tasks import TaskDefinition
from embinit.lab.specs import DataSpec
from embinit.lab.tables.initial_tables import make_initial_tables
from embinit.runs.machine import training_devices
from embinit.runs.measures import MEASURES
from embinit.runs.progress import Tell, told
from embinit.runs.results import RunResult
from embinit.runs.session import Session
from embinit.runs.store import Store
from embtables.best import BestArmSearch
from embtables.compare.arms import (
    ATTENTION_IN_WORDS,
    Arm,
    GivenVectors,
    arms_of,
    open_vectors,
)
from embtables.compare.arms import DEFAULT_INITS as DEFAULT_INITS
from embtables.compare.arms import Settings as Settings
from embtables.compare.result import ComparedStart as ComparedStart
from embtables.compare.result import Comparison as Comparison
from embtables.compare.result import load_schema as load_schema
from embtables.given import GivenTask

__all__ = [
    "DEFAULT_INITS",
    "ComparedStart",
    "Comparison",
    "Settings",
    "compare",
    "load_schema",
]

LEAST_COVERAGE = 0.2
"""The least share of the text's words that must have a vector."""


def compare(
    task: GivenTask,
    vectors: Sequence[str] = (),
    inits: Sequence[str] = DEFAULT_INITS,
    *,
    settings: Settings | None = None,
    store: Path = Path(".embinit/store"),
    alpha: float = 0.05,
    within: float = 1.0,
    minutes: float | None = None,
    max_seeds: int = 40,
    device: str = "cpu",
    helpers: bool = True,
    tell: Tell = lambda line: None,
) -> Comparison:
    """Trains models from each start until it is clear which are among the best.

    Args:
        task: The task, ``GivenLabels`` or ``GivenPairs``.
        vectors: Files of vectors, models' directories, or ids on the Hub.
        inits: Names of inits, each perhaps with ``@`` and the sigma to standardise to.
        settings: The small models and their training.
        store: Where runs are kept.
        alpha: The error of the statement on all costs, all looks together.
        within: A cost that does not matter, in points.
        minutes: No look begins that would end later than this; the first look always begins.
        max_seeds: No look has more seeds.
        device: The device to train on.
        helpers: Whether the machine's other cores train too.
        tell: Is told each step and the progress, in words.

    Raises:
        InputError: The task or the vectors are unusable, or a run failed.
    """
    began = time.monotonic()
    if not 0 < alpha < 0.5:
        raise InputError(f"an error of {alpha} is no small probability; 0.05 is usual")
    settings = settings or Settings()
    define = TaskDefinition(task)
    define()
    opened = open_vectors(vectors, task.languages["encoder"], settings)
    arms = arms_of(task, opened, inits, settings)
    runs = Store(store)
    tell(f"preparing {task.title} for {len(arms)} starts")
    data_dir = _prepared(task, arms, runs.root / "prepared")
    sources = [NamedSource(each.name, each.path) for each in opened]
    session = Session(runs, data_dir, device, [*sources, define])
    notes = [*_coverage_notes(arms, data_dir), *_attention_notes(arms, opened, settings)]
    for arm in arms:
        if (problem := session.problem(arm.run(0))) is not None:
            raise InputError(problem)
    metric = MEASURES["bleu" if task.kind == "translation" else "test_accuracy_then"]
    held_out = prepare(arms[0].spec.recipe.data, data_dir)
    search = BestArmSearch(len(arms), alpha, _resolution(task, len(held_out.test)), within)
    results: list[list[RunResult]] = [[] for _ in arms]
    stopped = "every start that is left costs next to nothing"
    if search.seeds > max_seeds:
        raise InputError(
            f"at most {max_seeds} seeds are too few; the first look takes {search.seeds}"
        )
    while not search.decided:
        needed = _seconds(arms, search, results, device)
        if search.seeds > max_seeds:
            stopped = (
                f"a further look would take {search.seeds} seeds, and {max_seeds} are the most"
            )
            break
        if minutes is not None and search.looks and _after(began, needed) > 60 * minutes:
            stopped = f"a further look would have passed {minutes:g} minutes"
            break
        open_arms = search.candidates
        wanted = [arms[number].run(seed) for seed in range(search.seeds) for number in open_arms]
        tell(f"look {search.looks + 1}: {len(open_arms)} starts, {search.seeds} seeds each")
        session.set_plan(wanted)
        with_helpers = session.with_helpers() if helpers else contextlib.nullcontext()
        with told(session, tell), with_helpers:
            session.ensure(wanted)
        for number in open_arms:
            results[number] = _results(session, arms[number], search.seeds)
        search.look([_scores(results[number], metric.of) for number in open_arms])
    if len(search.candidates) == 1:
        stopped = "one start is left"
    return Comparison.of(
        task,
        held_out,
        arms,
        search,
        results,
        metric,
        settings,
        stopped=stopped,
        notes=notes,
        seconds=time.monotonic() - began,
    )


def _prepared(task: GivenTask, arms: Sequence[Arm], root: Path) -> Path:
    """The directory of prepared data, with the task's ids and vectors for every process."""
    sources: dict[DataSpec, list[str]] = {}
    for arm in arms:
        names = sources.setdefault(arm.spec.recipe.data, [])
        if arm.vectors is not None and arm.vectors.name not in names:
            names.append(arm.vectors.name)
    to = Writer(root)
    for data, names in sources.items():
        write(data, names, None, to)
    return root


def _attention_notes(
    arms: Sequence[Arm], vectors: Sequence[GivenVectors], settings: Settings
) -> list[str]:
    """Notes on the kinds of attention in labels, and on vectors that rotary positions don't fit."""
    kinds = list(dict.fromkeys(arm.attention for arm in arms))
    named = [kind for kind in kinds if len(kinds) > 1 and kind in ATTENTION_IN_WORDS]
    notes = [f"{kind}: {ATTENTION_IN_WORDS[kind]}." for kind in named]
    if "rotary" in settings.attention:
        notes += [
            f"{each.given} has an odd width, {each.dim}, and is not compared with rotary positions."
            for each in vectors
            if each.dim % 2
        ]
    return notes


def _coverage_notes(arms: Sequence[Arm], data_dir: Path) -> list[str]:
    """Notes on the vectors' coverage of the text.

    Raises:
        InputError: Hardly any has.
    """
    notes = []
    seen: dict[str, Arm] = {s.vectors.name: s for s in reversed(arms) if s.vectors is not None}
    for arm in seen.values():
        assert arm.vectors is not None
        table = make_initial_tables(arm.spec, prepare(arm.spec.recipe.data, data_dir), data_dir)[
            "encoder"
        ]
        assert table.coverage is not None
        share = table.coverage.token_share
        told = f"{arm.vectors.given} has vectors for {100 * share:.0f} % of the text's words"
        if share < LEAST_COVERAGE:
            raise InputError(
                f"{told} ({table.coverage.types_found:,} of {table.coverage.types:,} different "
                "ones); look whether it is of the text's language and case, or name another "
                "--tokenizer"
            )
        if share < 0.9:
            notes.append(f"{told}; rows of the others are drawn at the vectors' mean and sigma.")
    return notes


def _resolution(task: GivenTask, examples: int) -> float:
    """The least standard deviation of a score: half of what one example counts."""
    return 50.0 / examples if task.kind == "classification" else 0.01


def _results(session: Session, arm: Arm, seeds: int) -> list[RunResult]:
    results = []
    for seed in range(seeds):
        run = arm.run(seed)
        result = session.result(run)
        if result is None:
            raise InputError(f"{arm.label}, seed {seed}: {session.problem(run)}")
        results.append(result)
    return results


def _scores(results: Sequence[RunResult], of: Callable[[RunResult], float | None]) -> list[float]:
    """One score a seed. A run that broke before its first epoch ended has nothing right."""
    return [0.0 if (value := of(result)) is None else value for result in results]


def _seconds(
    arms: Sequence[Arm],
    search: BestArmSearch,
    results: Sequence[Sequence[RunResult]],
    device: str,
) -> float:
    """The estimated seconds of the next look, from the runs so far."""
    total = 0.0
    for number in search.candidates:
        took = [result.seconds for result in results[number]]
        if took:
            total += statistics.fmean(took) * (search.seeds - len(took))
    return total / max(1, len(training_devices(device)))


def _after(began: float, seconds: float) -> float:
    return time.monotonic() - began + seconds
