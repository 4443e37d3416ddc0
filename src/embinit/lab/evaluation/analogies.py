"""Intrinsic evaluation of an initial table by word analogies (Table 4); nothing is trained.

A run's seed draws the position of each word (the paper's footnote 6) and the rows of words that
have no vector.

- ``analogies``: 3CosAdd over the questions of Mikolov et al. (2013) whose words all have vectors,
  of the last side of ``DataSpec.vocabulary``; lower-cased where that is.
- ``micro-neighbours``: the share of words whose nearest neighbour is a synonym. The synthetic
  language has no analogies, but it has classes of synonyms.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from embinit.errors import InputError
from embinit.files.writing import digest, find
from embinit.lab.data.microcosm.lexicon import synonym_groups
from embinit.lab.data.preparation import data_fingerprint, prepare, source
from embinit.lab.data.sources.base import Vectors
from embinit.lab.data.vocabulary import SPECIAL_WORDS
from embinit.lab.draws import DrawRegistry, at_draw
from embinit.lab.evaluation import EvaluationRecipe
from embinit.lab.specs import DataSpec
from embinit.lab.tables import positions
from embinit.lab.tables.diagnostics import (
    analogy_accuracy,
    neighbour_purity,
    pe_share,
    random_positions,
    read_questions,
    table_statistics,
)
from embinit.lab.tables.initial_tables import initial_values
from embinit.lab.tables.inits import xavier_sigma
from embinit.randomness import stream
from embinit.runs.results import RunResult, provenance
from embinit.specs import RunSpec

QUESTIONS = "analogies/questions-words.txt"


@dataclass(frozen=True)
class TableEvaluation:
    """An intrinsic evaluation of tables, by a score from 0 to 1.

    ``fingerprint`` gives a digest of the files that ``score`` reads, ``words`` the words to look up
    if they aren't the data's vocabulary, ``on_draw`` the same evaluation on another draw.
    ``score`` gets a mask of the words that have a vector.
    """

    score: Callable[[Float[Tensor, "N D"], tuple[str, ...], Bool[Tensor, "N"], Path | None], float]
    fingerprint: Callable[[Path | None], str]
    words: Callable[[], tuple[str, ...]] | None = None
    on_draw: Callable[[int], TableEvaluation] | None = None


def fingerprint(run: RunSpec[EvaluationRecipe], data_dir: Path | None) -> str:
    """Digests of the questions, the source's vectors and the vocabulary's text, else InputError."""
    data = run.recipe.data
    questions = EVALUATIONS[data.task].fingerprint(data_dir)
    text = f"/{data_fingerprint(data.vocabulary, data_dir)}" if data.vocabulary else ""
    return f"{questions}/{source(_source_of(run), data_dir).fingerprint()}{text}"


def check(run: RunSpec[EvaluationRecipe], data_dir: Path | None) -> None:
    """Reads words and vectors; InputError if they are missing or broken."""
    _vectors(run.recipe.data, _source_of(run), data_dir)


def evaluate(run: RunSpec[EvaluationRecipe], data_dir: Path | None) -> RunResult:
    """Scores the encoder's input: ``accuracy`` (%), the table's ``sigma``, ``pe_share`` (0 to 1).

    InputError if words or vectors are missing or broken, or a name in the spec is unknown.
    """
    recipe = run.recipe
    evaluation = EVALUATIONS[recipe.data.task]
    words, known = _vectors(recipe.data, _source_of(run), data_dir)
    special = torch.zeros(len(words), dtype=torch.bool)
    dim = known.values.shape[1]
    table, vectors = initial_values(run, "encoder", (len(words), dim), special, known)
    assert vectors is not None
    position_stream, length = stream(run.seed, "positions"), recipe.data.max_length
    pe = positions.table(recipe.positions.kind, length, dim, position_stream, table)
    if recipe.positions.pe_scale == positions.OF_PROBES:
        pe = pe * (table_statistics(vectors, special).sigma / xavier_sigma(len(words), dim))
    else:
        pe = pe * positions.multiplier(recipe.positions.pe_scale, dim)
    multiplier = positions.multiplier(recipe.positions.multiplier, dim)
    pe_rows = random_positions(pe, len(words), position_stream)
    read = table * multiplier + pe_rows
    return RunResult(
        spec=run,
        measures={
            "accuracy": 100 * evaluation.score(read, words, known.found, data_dir),
            "sigma": table_statistics(table, special).sigma,
            "pe_share": pe_share(table * multiplier, pe, special),
        },
        tables={"encoder": table_statistics(table, special)},
        provenance=provenance("cpu", 0.0),
    )


def _source_of(run: RunSpec[EvaluationRecipe]) -> str:
    if run.recipe.table.source is None:
        raise InputError(
            f"{run.recipe.data.task} evaluates pre-trained tables; "
            f"{run.recipe.table.init} has no source"
        )
    return run.recipe.table.source


@functools.lru_cache(maxsize=4)
def _vectors(data: DataSpec, name: str, data_dir: Path | None) -> tuple[tuple[str, ...], Vectors]:
    if (own := EVALUATIONS[data.task].words) is not None:
        words = own()
    elif data.vocabulary is None:
        raise InputError(f"{data.task} needs the words of a vocabulary; name one in the data")
    else:
        sides = prepare(data.vocabulary, data_dir).vocabularies
        ids = list(sides.values())[-1].words
        words = tuple(word for word in ids if word not in SPECIAL_WORDS)
    return words, source(name, data_dir).lookup(words)


def _questions(data_dir: Path | None) -> Path:
    return find(data_dir, QUESTIONS, what="the word analogies")


def _analogies(
    table: Tensor, words: tuple[str, ...], found: Tensor, data_dir: Path | None
) -> float:
    known = {word for word, has in zip(words, found.tolist(), strict=True) if has}
    questions = read_questions(_questions(data_dir))
    if not any(word != word.lower() for word in known):
        questions = [(a.lower(), b.lower(), c.lower(), d.lower()) for a, b, c, d in questions]
    asked = [four for four in questions if known.issuperset(four)]
    return analogy_accuracy(table, words, asked or questions)


def _neighbours(draw: int = 0) -> TableEvaluation:
    """The evaluation by the synonyms of a data draw."""

    def score(table: Tensor, words: tuple[str, ...], found: Tensor, data_dir: Path | None) -> float:
        groups = synonym_groups(draw)
        return neighbour_purity(table, torch.tensor([groups[word] for word in words]))

    return TableEvaluation(
        score=score,
        fingerprint=lambda data_dir: at_draw("microcosm", draw),
        words=lambda: tuple(synonym_groups(draw)),
        on_draw=_neighbours,
    )


EVALUATIONS: DrawRegistry[TableEvaluation] = DrawRegistry("evaluation", "embinit.evaluations")
EVALUATIONS.register(
    "analogies",
    TableEvaluation(_analogies, fingerprint=lambda data_dir: digest(_questions(data_dir))),
)
EVALUATIONS.register("micro-neighbours", _neighbours())
