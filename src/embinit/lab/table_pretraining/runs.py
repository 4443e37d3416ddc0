"""Table pre-training as runs: a table's sigma, with one setting of its recipe changed.

The sigma of T5's published tables is far above Xavier's, that of BERT's is not. A run pre-trains
one of the two on the unlabelled text of ``micro-text``, whose cut gives the number of sentences.
"""

from __future__ import annotations

import functools
import time

from embinit.errors import InputError
from embinit.lab.data.microcosm.writer import unlabelled
from embinit.lab.draws import split_draw
from embinit.lab.table_pretraining import PretrainingRecipe
from embinit.lab.table_pretraining.corpus import Corpus
from embinit.lab.table_pretraining.language_model import LanguageModel, train_table
from embinit.lab.table_pretraining.masked_language_model import MaskedLanguageModel
from embinit.lab.table_pretraining.optimizers import OPTIMIZERS
from embinit.lab.table_pretraining.span_corruption import SpanCorruptionModel
from embinit.lab.tables.diagnostics import table_statistics
from embinit.runs.results import RunResult, provenance
from embinit.specs import RunSpec

OBJECTIVES: dict[str, type[LanguageModel]] = {
    model.objective: model for model in (SpanCorruptionModel, MaskedLanguageModel)
}
TASK = "micro-text"


def fingerprint(run: RunSpec[PretrainingRecipe]) -> str:
    """The digest of the run's text; InputError if it is no ``micro-text`` of a fixed size."""
    return _corpus(*_text(run)).fingerprint()


def check(run: RunSpec[PretrainingRecipe]) -> None:
    """Checks the recipe; InputError if the objective or the optimizer is unknown."""
    training = run.recipe.training
    if training.objective not in OBJECTIVES:
        raise InputError(
            f"unknown objective {training.objective!r}; known are {', '.join(OBJECTIVES)}"
        )
    _ = OPTIMIZERS[training.optimizer]


def pretrain(run: RunSpec[PretrainingRecipe]) -> RunResult:
    """Pre-trains and measures the run's table; ``loss`` is the mean of the last tenth of the steps.

    InputError if the run's recipe or task is unknown here.
    """
    check(run)
    training, started = run.recipe.training, time.perf_counter()
    table = train_table(
        OBJECTIVES[training.objective],
        _corpus(*_text(run)),
        steps=training.steps,
        batch=training.batch_size,
        seed=run.seed,
        rate=training.rate,
        optimizer=training.optimizer,
        start=training.start,
        relative=training.relative,
    )
    statistics = table_statistics(table.values)
    return RunResult(
        spec=run,
        measures={"sigma": statistics.sigma, "loss": float(table.record["loss"])},
        tables={"encoder": statistics},
        provenance=provenance("cpu", time.perf_counter() - started),
    )


def _text(run: RunSpec[PretrainingRecipe]) -> tuple[int, int]:
    """How many sentences the run reads, and of which draw."""
    data = run.recipe.data
    task, draw = split_draw(data.task)
    if task != TASK or data.cut.train is None:
        raise InputError(f"pre-training reads so many sentences of {TASK}, not {data}")
    return data.cut.train, draw


@functools.lru_cache(maxsize=16)
def _corpus(sentences: int, draw: int) -> Corpus:
    return Corpus.read(unlabelled(sentences, draw))
