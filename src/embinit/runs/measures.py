"""Measures: the numbers that runs leave. Each is one object.

A measure says how it is read off a result, in which unit it is, which way is better, whether the
seed changes it, and how noisy its test set makes it. A metric that training does not record (F1,
Matthews, chrF) is computed from a run's outputs and references. So a new metric is one entry here,
and no run has to be trained again for it.

Another package adds a measure with ``MEASURES.register`` or an entry point in the group
``embinit.measures``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from embinit.errors import InputError
from embinit.registry import Registry
from embinit.lab.paired_examples import PairedTest, bootstrap, mcnemar
from embinit.runs.results import RunResult

LARGEST_LOSS = math.log(sys.float_info.max)
"""The largest loss whose perplexity is a finite float."""

Read = Callable[[RunResult], float | None]
"""Reads a measure off a result; None where the result has none."""


@dataclass(frozen=True)
class Measure:
    """A number that a run leaves. Measures of one name are the same measure.

    Attributes:
        name: What it is called in results and in ``verdicts.json``.
        unit: How its numbers are to be read (``BLEU``, ``% accuracy``); "" for a bare number.
        says: The measure in words; by default its name.
        better: Which way is better; None where neither is.
        of_start: Whether it is a statistic of the tables that a run starts from. The seed changes
            such a measure only where the tables are drawn or trained.
        curve: The curve of the result that shows it while the run trains.
        read: Reads it off a result; by default the entry of its name among ``measures``.
        test: A paired test over the test set's examples; None for a measure that has none.
        repeated: The curve of the result that holds the values whose mean the measure is, where a
            run repeats its last step.
    """

    name: str
    unit: str = field(default="", compare=False)
    says: str = field(default="", compare=False)
    better: Literal["up", "down"] | None = field(default=None, compare=False)
    of_start: bool = field(default=False, compare=False)
    curve: str | None = field(default=None, compare=False)
    read: Read | None = field(default=None, compare=False)
    test: PairedTest | None = field(default=None, compare=False)
    repeated: str | None = field(default=None, compare=False)

    @property
    def in_words(self) -> str:
        """The measure in words."""
        return self.says or self.name.replace("_", " ")

    def of(self, result: RunResult) -> float | None:
        """The measure of one run; None where the run has none, since it failed before."""
        if self.read is not None:
            return self.read(result)
        return result.measures.get(self.name)


MEASURES: Registry[Measure] = Registry("measure", "embinit.measures")


def measure(given: str | Measure) -> Measure:
    """The measure itself, or the registered one of that name.

    Raises:
        InputError: No measure of that name is registered.
    """
    return given if isinstance(given, Measure) else MEASURES[given]


def at_epoch(curve: Measure, epoch: int) -> Measure:
    """The value of a measure's curve after ``epoch`` epochs, counted from 1.

    Raises:
        InputError: The epoch is below 1, or the measure has no curve.
    """
    if epoch < 1:
        raise InputError(f"there is no epoch {epoch}; they count from 1")
    name = _curve_of(curve)

    def read(result: RunResult) -> float | None:
        values = result.curves.get(name) or ()
        return float(values[epoch - 1]) if epoch <= len(values) else None

    words = f"{_in_words(name)} at epoch {epoch}"
    return replace(curve, name=f"{name} at {epoch}", says=words, read=read, test=None)


def over_epochs(curve: Measure) -> Measure:
    """The mean of a measure's curve over all epochs.

    Raises:
        InputError: The measure has no curve.
    """
    name = _curve_of(curve)

    def read(result: RunResult) -> float | None:
        values = result.curves.get(name) or ()
        return sum(values) / len(values) if values else None

    words = f"mean {_in_words(name)} over the epochs"
    return replace(curve, name=f"{name} mean", says=words, read=read, test=None)


def table_statistic(statistic: str) -> Measure:
    """A statistic of the encoder's starting table.

    Args:
        statistic: A field of ``tables.diagnostics.TableStatistics``, such as ``minimum``.
    """

    def read(result: RunResult) -> float | None:
        table = result.tables.get("encoder")
        return None if table is None else float(getattr(table, statistic))

    name = f"table {statistic}"
    return Measure(name, says=f"the table's {statistic}", of_start=True, read=read)


def task_accuracy(role: str) -> Measure:
    """Accuracy on one of the tasks that a pre-trained model is fine-tuned on.

    Args:
        role: The task's role in ``specs.DownstreamSpec``.
    """
    return Measure(
        f"{role}_accuracy",
        "% accuracy",
        says=f"{role} accuracy",
        better="up",
        curve=f"{role}_validation_accuracy",
        repeated=f"{role}_accuracy_by_time",
    )


def task_transfer(role: str) -> Measure:
    """Accuracy on a task's test in another language than it was fine-tuned in.

    Args:
        role: The task's role in ``specs.DownstreamSpec``.
    """
    return Measure(
        f"{role}_test",
        "% accuracy",
        says=f"{role} accuracy in the other language",
        better="up",
        curve=f"{role}_test_accuracy",
        repeated=f"{role}_test_by_time",
    )


def _curve_of(measure: Measure) -> str:
    if measure.curve is None:
        raise InputError(f"no curve shows {measure.name} while a run trains; name another measure")
    return measure.curve


def _in_words(curve: str) -> str:
    return curve.replace("_", " ").replace("bleu", "BLEU")


def _outputs(result: RunResult) -> tuple[Sequence[str], Sequence[str]] | None:
    """The references and the model's outputs, example by example; None where they are not kept."""
    if not result.outputs or len(result.outputs) != len(result.references):
        return None
    return result.references, result.outputs


def _chrf(result: RunResult) -> float | None:
    from sacrebleu.metrics.chrf import CHRF

    pairs = _outputs(result)
    if pairs is None:
        return None
    references, outputs = pairs
    return float(CHRF().corpus_score(list(outputs), [list(references)]).score)


def _f1(result: RunResult) -> float | None:
    from sklearn.metrics import f1_score

    pairs = _outputs(result)
    return None if pairs is None else 100 * float(f1_score(*pairs, average="macro"))


def _matthews(result: RunResult) -> float | None:
    from sklearn.metrics import matthews_corrcoef

    pairs = _outputs(result)
    if pairs is None:
        return None
    # Of a single class scikit-learn says 0 as well, but warns.
    one_class = len({*pairs[0], *pairs[1]}) == 1
    return 0.0 if one_class else 100 * float(matthews_corrcoef(*pairs))


def _perplexity(result: RunResult) -> float | None:
    loss = result.measures.get("validation_loss")
    # A run that diverged far enough has a perplexity that no float holds.
    return None if loss is None or loss > LARGEST_LOSS else math.exp(loss)


for _measure in (
    Measure("bleu", "BLEU", "BLEU", "up", curve="validation_bleu", test=bootstrap("BLEU")),
    Measure("chrf", "chrF", "chrF", "up", read=_chrf, test=bootstrap("CHRF")),
    Measure("accuracy", "% accuracy", better="up", curve="validation_accuracy", test=mcnemar()),
    Measure("f1", "% F1", "macro F1", "up", read=_f1),
    Measure("matthews", "% Matthews", "Matthews correlation", "up", read=_matthews),
    Measure("test_accuracy", "% accuracy", better="up", curve="test_accuracy"),
    Measure(
        "test_accuracy_then",
        "% accuracy",
        "test accuracy at the best epoch",
        "up",
        curve="test_accuracy",
    ),
    Measure("validation_loss", "nats a word", better="down", curve="validation_loss"),
    Measure("perplexity", "", "perplexity on the validation split", "down", read=_perplexity),
    Measure("masked_loss", "nats a word", better="down", curve="masked_loss"),
    Measure("loss", "nats a word", better="down"),
    Measure("best_epoch", "epochs"),
    Measure("best_test_epoch", "epochs"),
    Measure("probe_last", "% right", "right by a probe of the last layer", "up"),
    Measure("probe_drop", "% right", "probes' drop from the best layer to the last", "down"),
    Measure("retrieval_last", "% found", "translations found by the last layer", "up"),
    Measure(
        "retrieval_drop", "% found", "retrieval's drop from the best layer to the last", "down"
    ),
    Measure("sigma", "", "the table's sigma", of_start=True),
    Measure("pe_share", "share of variance", "the positions' share of the variance", of_start=True),
):
    MEASURES.register(_measure.name, _measure)
