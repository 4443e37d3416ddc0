"""The initial tables of a run: its init makes one for each side of its data."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from pathlib import Path

from jaxtyping import Bool, Float
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.preparation import PreparedData, data_fingerprint, prepare, source
from embinit.lab.data.sources import Vectors
from embinit.lab.data.tasks import Task
from embinit.lab.data.tasks.base import Side
from embinit.lab.specs import ALL, DataSpec, ModelRun
from embinit.lab.tables.inits import INITS, complete, standardise
from embinit.lab.tables.recipes import Shape
from embinit.randomness import stream
from embinit.runs.results import Coverage


@dataclass(frozen=True)
class InitialTable:
    """One side's initial table; ``special`` rows stay zero, coverage is None without a source."""

    values: Float[Tensor, "N D"]
    special: Bool[Tensor, "N"]
    coverage: Coverage | None


def make_initial_tables(
    run: ModelRun, data: PreparedData, data_dir: Path | None
) -> dict[Side, InitialTable]:
    """Makes each side's initial table; for a language that the source lacks see ``TableSpec``.

    InputError if the source is missing, broken, or not of the table's width.
    """
    width, tables = run.recipe.architecture.table_width, {}
    for side, vocabulary in data.vocabularies.items():
        vectors, special = vectors_of(run, side, data, data_dir), vocabulary.special
        values, _ = initial_values(run, side, (len(special), width), special, vectors)
        coverage = None if vectors is None else vectors.coverage(vocabulary.counts)
        tables[side] = InitialTable(values, special, coverage)
    return tables


def initial_values(
    run: ModelRun, side: Side, shape: Shape, special: Bool[Tensor, "N"], vectors: Vectors | None
) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N D"] | None]:
    """A side's initial table, and the vectors that it was made of, completed for all words."""
    spec, completed = run.recipe.table, None
    if vectors is not None:
        missing = stream(run.seed, f"embedding/{side}/missing")
        completed = complete(vectors.values, vectors.found, special, missing)
    init = INITS["xavier" if spec.source is not None and vectors is None else spec.init]
    values = init(shape, special, stream(run.seed, f"embedding/{side}"), completed)
    if spec.sigma is not None:
        values = standardise(values, special, 0.0, spec.sigma)
    return values, completed


def vectors_of(
    run: ModelRun, side: Side, data: PreparedData, data_dir: Path | None
) -> Vectors | None:
    """A run's vectors for a side's vocabulary; None if it has no source, or for this language.

    InputError if the source must have the language, or is not of the table's width.
    """
    name, dim = run.recipe.table.source, run.recipe.architecture.table_width
    if name is None:
        return None
    if not covers(name, data.task, side, data_dir):
        if run.recipe.table.sides == ALL:
            raise InputError(
                f"source {name!r} has no vectors for {data.task.name}'s {side}, whose language is "
                f"{data.task.languages[side]}: name a source of both languages, or let the "
                "experiment and what it claims say that embeddings are on one side alone "
                "(one_sided=True)"
            )
        return None
    if (width := source(name, data_dir).dim) != dim:
        raise InputError(
            f"source {name!r} has vectors of width {width}, the model's table is {dim} wide; "
            "use the source's width as the table's"
        )
    return look_up(name, data.spec, side, data_dir)


def covers(name: str, task: Task, side: Side, data_dir: Path | None) -> bool:
    """Whether the source ``name`` has vectors in the language of a side of the task."""
    return task.languages[side] in source(name, data_dir).languages


def check(run: ModelRun, data_dir: Path | None) -> None:
    """Reads text and vectors before any training; InputError if they, or the rate, are bad."""
    if not (math.isfinite(run.recipe.table.rate) and run.recipe.table.rate > 0):
        raise InputError(
            f"the tables' rate can't be multiplied by {run.recipe.table.rate:g}: name a number "
            "above 0, or freeze the tables"
        )
    data = prepare(run.recipe.data, data_dir)
    name = run.recipe.table.source
    if name is None:
        return
    if not any(covers(name, data.task, side, data_dir) for side in data.vocabularies):
        raise InputError(
            f"source {name!r} covers no language of {data.task.name} "
            f"({', '.join(data.task.languages.values())})"
        )
    for side, vocabulary in data.vocabularies.items():
        vectors = vectors_of(run, side, data, data_dir)
        if vectors is not None and not vectors.found.any():
            raise InputError(
                f"source {name!r} has none of the {len(vocabulary.words)} words of "
                f"{data.task.name}'s {side} ({data.task.languages[side]}); name vectors of that "
                "language, split into words as the task is"
            )


def look_up(name: str, spec: DataSpec, side: Side, data_dir: Path | None) -> Vectors:
    """A source's vectors for a side's vocabulary, cached by the digests of both."""
    read = f"{source(name, data_dir).fingerprint()}/{data_fingerprint(spec, data_dir)}"
    return _lookup(name, spec, side, data_dir, read)


@functools.lru_cache(maxsize=64)
def _lookup(
    name: str, spec: DataSpec, side: Side, data_dir: Path | None, read: str = ""
) -> Vectors:
    data = prepare(spec, data_dir)
    words, language = data.vocabularies[side].words, data.task.languages[side]
    return source(name, data_dir).lookup(words, language)
