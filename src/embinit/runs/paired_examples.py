"""Paired tests over the examples of a test set: how noisy it makes the difference of two models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

LEVEL = 0.95
RESAMPLES = 1000
"""How many resamples the bootstrap draws: sacreBLEU's default."""

Texts = tuple[str, ...]


class Noise(NamedTuple):
    """A paired test's two-sided p, and half of each model's 95 % interval in the metric's unit."""

    p: float
    spreads: tuple[float, float]


@dataclass(frozen=True)
class PairedTest:
    """A paired test of two models' outputs and the references, all of one length."""

    name: str
    compare: Callable[[Texts, Texts, Texts], Noise]


def bootstrap(metric: str) -> PairedTest:
    """SacreBLEU's paired bootstrap (Koehn, 2004) of its metric ``BLEU`` or ``CHRF``."""
    name = f"sacreBLEU's paired bootstrap, {RESAMPLES:,} resamples"
    return PairedTest(name, partial(_bootstrap, metric))


def mcnemar() -> PairedTest:
    """McNemar's exact test of two models' accuracy, with Wilson's intervals."""
    return PairedTest("McNemar's exact test", _mcnemar)


@lru_cache(maxsize=1024)
def _bootstrap(name: str, first: Texts, second: Texts, references: Texts) -> Noise:
    from sacrebleu import metrics
    from sacrebleu.significance import PairedTest as Resampled

    # The task's own tokens are words already, so BLEU must not cut them again.
    settings = {"tokenize": "none", "force": True} if name == "BLEU" else {}
    metric = getattr(metrics, name)(references=[list(references)], **settings)
    systems: list[tuple[str, Sequence[str]]] = [("first", first), ("second", second)]
    test = Resampled(systems, {name: metric}, references=None, test_type="bs", n_samples=RESAMPLES)
    # The first of its columns names the systems, the other has the metric's results.
    results: list[Any] = list(test()[1].values())[1]
    # sacreBLEU counts resamples that differ by more; of two equal outputs none does.
    p = 1.0 if first == second else float(results[1].p_value)
    return Noise(p, (float(results[0].ci), float(results[1].ci)))


@lru_cache(maxsize=1024)
def _mcnemar(first: Texts, second: Texts, references: Texts) -> Noise:
    from scipy.stats import binomtest

    right = [
        [output == reference for output, reference in zip(side, references, strict=True)]
        for side in (first, second)
    ]
    intervals = [
        binomtest(sum(side), len(side)).proportion_ci(LEVEL, method="wilson") for side in right
    ]
    one, other = (50 * float(each.high - each.low) for each in intervals)
    gained, lost = (
        sum(is_right > was_right for was_right, is_right in zip(*sides, strict=True))
        for sides in (right, right[::-1])
    )
    # Of the examples that one side alone has right, half are each side's by chance.
    p = float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    return Noise(p, (one, other))
