"""Probes: what a table still knows after it was scaled and positions were added; nothing trains.

Table 4 of the paper asks word analogies of GloVe as the transformer would read it. A probe's run
has no model and no training in its spec; its arms are inits, its settings the multiplier and the
positions, and its seed draws which position each word stands at (the paper's footnote 6).

- ``analogies``: 3CosAdd over the questions of Mikolov et al. (2013), among the source's words.
- ``micro-neighbours``: the made language has no analogies, but classes of synonyms: the share of
  words whose nearest neighbour is a synonym.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from embinit.data.files import digest, find
from embinit.data.microcosm import synonym_groups
from embinit.data.preparation import source
from embinit.data.sources.text import WordVectors
from embinit.errors import InputError
from embinit.randomness import stream
from embinit.registry import Registry
from embinit.runs.results import RunResult, provenance
from embinit.specs import RunSpec
from embinit.tables import positions
from embinit.tables.diagnostics import (
    analogy_accuracy,
    encoder_input,
    neighbour_purity,
    pe_share,
    random_positions,
    read_questions,
    table_statistics,
)
from embinit.tables.inits import INITS, standardise, xavier_sigma

MOST_WORDS = 50_000
QUESTIONS = "analogies/questions-words.txt"


@dataclass(frozen=True)
class Probe:
    """``words`` to probe and how to ``score`` (0 to 1) their table (N, D)."""

    words: Callable[[str, Path | None], tuple[str, ...]]
    score: Callable[[Tensor, tuple[str, ...], Path | None], float]
    fingerprint: Callable[[Path | None], str]


PROBES: Registry[Probe] = Registry("probe", "embinit.probes")


def fingerprint(run: RunSpec, data_dir: Path | None) -> str:
    """What the probe reads besides its spec; InputError if a file is missing."""
    asked = PROBES[run.data.task].fingerprint(data_dir)
    return f"{asked}/{source(_source_of(run), data_dir).fingerprint()}"


def check(run: RunSpec, data_dir: Path | None) -> None:
    """Read words and vectors, so that bad input is an InputError before any training."""
    _table(run.data.task, _source_of(run), data_dir)


def probe(run: RunSpec, data_dir: Path | None) -> RunResult:
    """Make the run's table, turn it into the encoder's input, and score that."""
    asked, name = PROBES[run.data.task], _source_of(run)
    words, vectors = _table(run.data.task, name, data_dir)
    special = torch.zeros(len(words), dtype=torch.bool)
    generator = stream(run.seed, "embedding/encoder")
    table = INITS[run.table.init]((len(words), vectors.shape[1]), special, generator, vectors)
    if run.table.sigma is not None:
        table = standardise(table, special, 0.0, run.table.sigma)
    dim = table.shape[1]
    place = stream(run.seed, "positions")
    pe = positions.table(run.positions.kind, run.data.max_length, dim, place, table)
    if run.positions.pe_scale == "sigma_p/sigma_x":
        pe = pe * (table_statistics(vectors, special).sigma / xavier_sigma(len(words), dim))
    multiplier = positions.multiplier(run.positions.multiplier, dim)
    read = encoder_input(table, multiplier, random_positions(pe, len(words), place))
    return RunResult(
        spec=run,
        measures={
            "accuracy": 100 * asked.score(read, words, data_dir),
            "sigma": table_statistics(table, special).sigma,
            "pe_share": pe_share(table * multiplier, pe, special),
        },
        tables={"encoder": table_statistics(table, special)},
        provenance=provenance("cpu", 0.0),
    )


def _source_of(run: RunSpec) -> str:
    if run.table.source is None:
        raise InputError(
            f"{run.data.task} probes pre-trained tables; {run.table.init} has no source"
        )
    return run.table.source


@functools.lru_cache(maxsize=4)
def _table(task: str, name: str, data_dir: Path | None) -> tuple[tuple[str, ...], Tensor]:
    words = PROBES[task].words(name, data_dir)
    return words, source(name, data_dir).lookup(words).values


def _text_words(name: str, data_dir: Path | None) -> tuple[str, ...]:
    """The first words of a file of vectors; these files are sorted by frequency."""
    vectors = source(name, data_dir)
    if not isinstance(vectors, WordVectors):
        raise InputError(f"analogies need a file of word vectors, which source {name!r} is not")
    return vectors.words(MOST_WORDS)


def _questions(data_dir: Path | None) -> Path:
    return find(data_dir, QUESTIONS, what="the word analogies")


PROBES.register(
    "analogies",
    Probe(
        words=_text_words,
        score=lambda table, words, data_dir: (
            analogy_accuracy(table, words, read_questions(_questions(data_dir))).accuracy
        ),
        fingerprint=lambda data_dir: digest(_questions(data_dir)),
    ),
)
PROBES.register(
    "micro-neighbours",
    Probe(
        words=lambda name, data_dir: tuple(synonym_groups()),
        score=lambda table, words, data_dir: neighbour_purity(
            table, torch.tensor([synonym_groups()[word] for word in words])
        ),
        fingerprint=lambda data_dir: "microcosm",
    ),
)
