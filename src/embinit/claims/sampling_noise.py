"""The other kind of noise: what the choice of test examples alone does to a score.

Verdicts rest on seeds. A test set is a sample too, and two models that differ on it may not differ
on another; this is shown beside and decides nothing. Translations are compared by sacreBLEU's
paired bootstrap (Koehn 2004), classes by McNemar's exact test, both two-sided and on the same
examples; a seed has a p of its own, since its two runs share everything but the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from embinit.claims.comparisons import Comparison, Lookup

LEVEL = 0.95
RESAMPLES = 1000
"""sacreBLEU's own default."""


@dataclass(frozen=True)
class SamplingNoise:
    """How ``test`` on ``examples`` of the test set sees two arms: its ``p``, one a seed.

    ``spread`` is half the 95 % interval of one score, in the metric's unit, averaged over both
    arms and the seeds.
    """

    test: str
    examples: int
    p: tuple[float, ...]
    spread: float


def sampling_noise(comparison: Comparison, lookup: Lookup) -> SamplingNoise | None:
    """The test set's noise in a comparison of one arm with another.

    None where there is no such test: for other measures than BLEU and accuracy, for differences
    of differences, and for runs that were stored without their outputs.
    """
    sides = (comparison.left, comparison.right)
    measure = comparison.left.measure
    if measure not in _TESTS or any(len(side.terms) != 1 for side in sides):
        return None
    tested, p, spreads, examples = _TESTS[measure], [], [], 0
    for seed in range(comparison.left.seeds):
        records = [lookup(side.terms[0].run(seed)) for side in sides]
        first, second = (_outputs(record) for record in records)
        references = tuple((records[0] or {}).get("references") or ())
        if not first or not second or not len(first) == len(second) == len(references):
            return None
        one, both = tested.pair(first, second, references)
        p.append(one)
        spreads += both
        examples = len(references)
    return SamplingNoise(tested.name, examples, tuple(p), sum(spreads) / len(spreads))


def _outputs(record: Mapping[str, Any] | None) -> tuple[str, ...]:
    return tuple((record or {}).get("outputs") or ())


Texts = tuple[str, ...]


@lru_cache(maxsize=1024)
def _bootstrap(first: Texts, second: Texts, references: Texts) -> tuple[float, tuple[float, float]]:
    """p, and half of each side's 95 % interval in BLEU."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.significance import PairedTest

    metric = BLEU(tokenize="none", force=True, references=[list(references)])
    systems: list[tuple[str, Sequence[str]]] = [("first", first), ("second", second)]
    test = PairedTest(
        systems, {"BLEU": metric}, references=None, test_type="bs", n_samples=RESAMPLES
    )
    results: list[Any] = test()[1]["BLEU"]
    # sacreBLEU counts resamples that differ by more; of two equal outputs none does.
    p = 1.0 if first == second else float(results[1].p_value)
    return p, (float(results[0].ci), float(results[1].ci))


@lru_cache(maxsize=1024)
def _mcnemar(first: Texts, second: Texts, references: Texts) -> tuple[float, tuple[float, float]]:
    """p, and half of each side's 95 % interval (Wilson's) in percent."""
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.proportion import proportion_confint

    right = [
        [said == meant for said, meant in zip(side, references, strict=True)]
        for side in (first, second)
    ]
    pairs = list(zip(*right, strict=True))
    table = [[pairs.count((one, other)) for other in (True, False)] for one in (True, False)]
    spreads = []
    for side in right:
        low, high = proportion_confint(sum(side), len(side), alpha=1 - LEVEL, method="wilson")
        spreads.append(50 * float(high - low))
    return float(mcnemar(table, exact=True).pvalue), (spreads[0], spreads[1])


@dataclass(frozen=True)
class _Test:
    name: str
    pair: Any


_TESTS = {
    "bleu": _Test(f"sacreBLEU's paired bootstrap, {RESAMPLES:,} resamples", _bootstrap),
    "accuracy": _Test("McNemar's exact test", _mcnemar),
}
