"""The other kind of noise: what the choice of test examples alone does to a score.

Verdicts rest on seeds. A test set is a sample too, and two models that differ on it may not differ
on another; this is shown beside and decides nothing. A measure says which test is its own
(sacreBLEU's paired bootstrap after Koehn 2004, McNemar's exact test), two-sided and on the same
examples; a seed has a p of its own, since its two runs share everything but the table.
"""

from __future__ import annotations

from dataclasses import dataclass

from embinit.claims.comparisons import Comparison, Lookup
from embinit.runs.results import RunResult

MOST_SEEDS = 3
"""How many seeds' outputs are tested. It decides nothing, and a bootstrap takes long."""


@dataclass(frozen=True)
class SamplingNoise:
    """The result of a test of two arms on the test set's examples.

    Attributes:
        test: The test's name.
        examples: How many examples the test set has.
        p: The test's p, one a seed, of the first ``MOST_SEEDS``.
        spread: Half the 95 % interval of one score, in the metric's unit, averaged over both arms
            and those seeds.
    """

    test: str
    examples: int
    p: tuple[float, ...]
    spread: float


def sampling_noise(comparison: Comparison, lookup: Lookup) -> SamplingNoise | None:
    """The test set's noise in a comparison of one arm with another.

    Args:
        comparison: The comparison.
        lookup: Finds the runs' results.

    Returns:
        The noise, or None where no test can tell it: the measure has no test, a side is a
        difference of arms, or the runs were stored without their outputs.
    """
    sides = (comparison.left, comparison.right)
    test = comparison.left.measure.test
    if test is None or any(len(side.terms) != 1 for side in sides):
        return None
    p: list[float] = []
    spreads: list[float] = []
    examples = 0
    for seed in range(min(comparison.left.seeds, MOST_SEEDS)):
        results = [lookup(side.terms[0].run(seed)) for side in sides]
        first, second = (_outputs(result) for result in results)
        references = tuple(results[0].references) if results[0] else ()
        if not first or not second or not len(first) == len(second) == len(references):
            return None
        noise = test.compare(first, second, references)
        p.append(noise.p)
        spreads += noise.spreads
        examples = len(references)
    return SamplingNoise(test.name, examples, tuple(p), sum(spreads) / len(spreads))


def _outputs(result: RunResult | None) -> tuple[str, ...]:
    return tuple(result.outputs) if result else ()
