"""The lab's measures, each an object that ``pyproject.toml`` registers."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Literal

from embinit.runs.measures import Measure
from embinit.runs.results import RunResult

LARGEST_LOSS = math.log(sys.float_info.max)
"""The largest loss whose perplexity is a finite float."""


Reduce = Callable[[Sequence[float]], float]


def table_statistic(statistic: str) -> Measure:
    """A statistic of the encoder's initial table: a field of ``TableStatistics``."""

    def read(result: RunResult) -> float | None:
        table = result.tables.get("encoder")
        return None if table is None else float(getattr(table, statistic))

    name = f"table {statistic}"
    return Measure(name, says=f"the table's {statistic}", of_start=True, read=read)


def task_accuracy(role: str) -> Measure:
    """The accuracy on the fine-tuning task of a role in ``specs.DownstreamSpec``."""
    return _of_task(f"{role}_accuracy", f"{role} accuracy", f"{role}_validation_accuracy")


def task_transfer(role: str) -> Measure:
    """The accuracy on a task's test in a language that it was not fine-tuned in."""
    words = f"{role} accuracy in the other language"
    return _of_task(f"{role}_test", words, f"{role}_test_accuracy")


def over_languages(role: str) -> Measure:
    """The mean of a task's accuracies in the language of fine-tuning and in the other language."""

    def read(result: RunResult) -> float | None:
        here, there = (result.measures.get(f"{role}_{where}") for where in ("accuracy", "test"))
        return None if here is None or there is None else (here + there) / 2

    words = f"{role} accuracy, mean over both languages"
    return Measure(f"{role}_languages", "% accuracy", words, "up", read=read)


def cost_of_removal(role: str, without: str) -> Measure:
    """How far ``over_languages`` falls from the role's to that of the role ``without`` layers."""

    def read(result: RunResult) -> float | None:
        whole, fewer = (over_languages(name).of(result) for name in (role, without))
        return None if whole is None or fewer is None else whole - fewer

    words = f"{role} accuracy lost without the last layers ({without})"
    return Measure(f"{without}_cost", "% accuracy", words, "down", read=read)


def _found(name: str, words: str, better: Literal["up", "down"], of: Reduce) -> Measure:
    """A measure of the curve of translations found, from the embeddings' state to the last layer's.

    Runs of fewer than three layers have none.
    """

    def read(result: RunResult) -> float | None:
        found = result.curves.get("neighbours_by_layer", ())
        return of(found) if len(found) > 3 else None

    return Measure(
        f"neighbours_{name}", "% found", f"translations found: {words}", better, read=read
    )


def _of_task(name: str, words: str, curve: str) -> Measure:
    return Measure(name, "% accuracy", words, "up", curve=curve, repeated=f"{name}_by_time")


def _perplexity(result: RunResult) -> float | None:
    loss = result.measures.get("validation_loss")
    # A run that diverged far enough has a perplexity that no float holds.
    return None if loss is None or loss > LARGEST_LOSS else math.exp(loss)


BLEU = Measure("bleu", "BLEU", "BLEU", "up", curve="validation_bleu")
ACCURACY = Measure("accuracy", "% accuracy", better="up", curve="validation_accuracy")
TEST_ACCURACY = Measure("test_accuracy", "% accuracy", better="up", curve="test_accuracy")
TEST_ACCURACY_THEN = Measure(
    "test_accuracy_then",
    "% accuracy",
    "test accuracy at the best epoch",
    "up",
    curve="test_accuracy",
)
VALIDATION_LOSS = Measure("validation_loss", "nats a word", better="down", curve="validation_loss")
PERPLEXITY = Measure(
    "perplexity", "", "perplexity on the validation split", "down", read=_perplexity
)
MASKED_LOSS = Measure("masked_loss", "nats a word", better="down", curve="masked_loss")
LOSS = Measure("loss", "nats a word", better="down")
BEST_EPOCH = Measure("best_epoch", "epochs")
BEST_TEST_EPOCH = Measure("best_test_epoch", "epochs")
PROBE_LAST = Measure("probe_last", "% right", "right by a probe of the last layer", "up")
PROBE_DROP = Measure(
    "probe_drop", "% right", "probes' drop from the best layer to the last", "down"
)
RETRIEVAL_LAST = Measure("retrieval_last", "% found", "translations found by the last layer", "up")
RETRIEVAL_DROP = Measure(
    "retrieval_drop", "% found", "retrieval's drop from the best layer to the last", "down"
)
PROBE_MIX = Measure("probe_mix", "% right", "right by probes of a mix of all layers", "up")
NEIGHBOURS_UPPER = _found(
    "upper",
    "the upper third of the layers",
    "up",
    lambda found: statistics.fmean(found[-(len(found) // 3) :]),
)
NEIGHBOURS_FALL = _found(
    "fall",
    "the fall from the best of the upper layers to the one before last",
    "down",
    lambda found: max(found[len(found) // 2 : -1]) - found[-2],
)
NEIGHBOURS_LAST_STEP = _found(
    "last_step", "the fall of the last layer", "down", lambda found: found[-2] - found[-1]
)
MASKED_ACCURACY = Measure("masked_accuracy", "% accuracy", "masked words predicted", "up")
SIGMA = Measure("sigma", "", "the table's sigma", of_start=True)
PE_SHARE = Measure(
    "pe_share", "share of variance", "the positions' share of the variance", of_start=True
)
