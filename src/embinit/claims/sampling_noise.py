"""The other kind of noise: what the choice of test examples alone does to a score.

Verdicts rest on seeds; this is shown with them and decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embinit.claims.comparisons import Comparison
from embinit.runs.paired_examples import PairedTest
from embinit.runs.results import RunResult
from embinit.specs import RunSpec

MOST_SEEDS = 3
"""How many seeds' outputs are tested. It decides nothing, and a bootstrap takes long."""


@dataclass(frozen=True)
class SamplingNoise:
    """A test of two arms on the test set's examples, one p for each of the first seeds.

    The spread is half the 95 % interval of one score, in the metric's unit, averaged over both
    arms.
    """

    test: str
    examples: int
    p: tuple[float, ...]
    spread: float


def paired_runs(comparison: Comparison) -> list[tuple[RunSpec, RunSpec]]:
    """The runs whose outputs show the test set's noise, seed by seed; none without a test."""
    sides = (comparison.left, comparison.right)
    if comparison.left.measure.test is None or any(len(side.terms) != 1 for side in sides):
        return []
    left, right = (side.terms[0] for side in sides)
    seeds = range(min(comparison.left.seeds, MOST_SEEDS))
    return [(left.run(seed), right.run(seed)) for seed in seeds]


def sampling_noise(test: PairedTest, pairs: Sequence[Sequence[RunResult]]) -> SamplingNoise | None:
    """The test set's noise in a comparison of two arms; None for runs without outputs."""
    p: list[float] = []
    spreads: list[float] = []
    examples = 0
    for pair in pairs:
        first, second = (tuple(result.outputs) for result in pair)
        references = tuple(pair[0].references)
        if not first or not second or not len(first) == len(second) == len(references):
            return None
        noise = test.compare(first, second, references)
        p.append(noise.p)
        spreads += noise.spreads
        examples = len(references)
    return SamplingNoise(test.name, examples, tuple(p), sum(spreads) / len(spreads))
