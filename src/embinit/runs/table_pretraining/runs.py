"""Pre-training as runs: how wide a table gets, with one thing in its recipe changed.

T5's published tables are far wider than Xavier's, BERT's are not. A run here pre-trains one of the
two on the microcosm's unlabelled text and measures the table that comes out. Its task is
``micro-text``, cut to so many sentences; it has no model of its own in its spec.
"""

from __future__ import annotations

import functools
import time
from pathlib import Path

from embinit.data.microcosm import unlabelled
from embinit.errors import InputError
from embinit.runs.results import RunResult, provenance
from embinit.runs.table_pretraining.corpus import Corpus
from embinit.runs.table_pretraining.masked_language_model import train_masked_language_model
from embinit.runs.table_pretraining.optimizers import OPTIMIZERS
from embinit.runs.table_pretraining.span_corruption import train_span_corruption
from embinit.specs import RunSpec, TablePretrainingSpec
from embinit.tables.diagnostics import table_statistics

OBJECTIVES = {
    "span corruption": train_span_corruption,
    "masked language model": train_masked_language_model,
}
TASK = "micro-text"


def fingerprint(run: RunSpec, data_dir: Path | None) -> str:
    """What the run reads besides its spec: the microcosm's unlabelled text."""
    return _corpus(_sentences(run)).fingerprint()


def check(run: RunSpec, data_dir: Path | None) -> None:
    """InputError for a recipe that is unknown here."""
    training = _training(run)
    if training.objective not in OBJECTIVES:
        raise InputError(
            f"unknown objective {training.objective!r}; known are {', '.join(OBJECTIVES)}"
        )
    _ = OPTIMIZERS[training.optimizer]


def pretrain(run: RunSpec) -> RunResult:
    """Pre-train the run's table and measure it; ``loss`` is that of the last tenth of the steps."""
    check(run, None)
    training, started = _training(run), time.perf_counter()
    table = OBJECTIVES[training.objective](
        _corpus(_sentences(run)),
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


def _training(run: RunSpec) -> TablePretrainingSpec:
    assert isinstance(run.training, TablePretrainingSpec)
    return run.training


def _sentences(run: RunSpec) -> int:
    if run.data.task != TASK or run.data.cut.train is None:
        raise InputError(f"pre-training reads so many sentences of {TASK}, not {run.data}")
    return run.data.cut.train


@functools.cache
def _corpus(sentences: int) -> Corpus:
    return Corpus.read(unlabelled(sentences))
