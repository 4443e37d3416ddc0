"""How much of the spread over seeds is that of single test examples, which more of them would end.

A stored run keeps its outputs. The test set is cut into two halves at random. What all examples
share of a seed moves both halves' scores alike, so that their covariance over seeds is its
variance; the rest of the score's variance is that of examples which one seed gets right and
another does not, and is in inverse proportion to their number::

    python benchmarks/spread.py .embinit/store [--task sst2]
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from embinit.runs.results import RunResult
from embinit.runs.scoring import bleu_of
from embinit.runs.store import Store
from embinit.specs import RunSpec, canonical

FEWEST = 4
"""Arms with fewer seeds are left out."""
SPLITS = 10
"""How often a test set is cut into halves."""

Score = Callable[[Sequence[str], Sequence[str]], float]
"""The score of some outputs beside the right ones."""


def main() -> None:
    """Print a table, a row a task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--task", help="only this task")
    parsed = parser.parse_args()
    print("| task | examples | arms | runs | sd over seeds | of it all examples share |")
    print("|---|---|---|---|---|---|")
    for (task, examples), arms in sorted(arms_of(Store(parsed.store, write=False)).items()):
        enough = [runs for runs in arms.values() if len(runs) >= FEWEST]
        if enough and parsed.task in (None, task):
            score = bleu if enough[0][0].signature else accuracy
            whole, shared = pooled(parts_of(runs, score) for runs in enough)
            number = sum(map(len, enough))
            row = (task, examples, len(enough), number, f"{whole**0.5:.2f}", f"{shared**0.5:.2f}")
            print(f"| {' | '.join(map(str, row))} |", flush=True)


def arms_of(store: Store) -> dict[tuple[str, int], dict[str, list[RunResult]]]:
    """The results of each arm, a seed each, by task and number of examples."""
    arms: dict[tuple[str, int], dict[str, list[RunResult]]] = defaultdict(lambda: defaultdict(list))
    for key in store:
        result = store.get(key)
        if result is not None and result.outputs and isinstance(result.spec, RunSpec):
            where = (result.spec.data.task, len(result.references))
            arms[where][canonical(replace(result.spec, seed=0))].append(result)
    return arms


def parts_of(runs: Sequence[RunResult], score: Score) -> tuple[int, float, float]:
    """An arm's degrees of freedom, the variance of its score, and what all examples share of it."""
    references = np.array(runs[0].references)
    outputs = [np.array(run.outputs) for run in runs]

    def scores(examples: np.ndarray) -> list[float]:
        right = references[examples].tolist()
        return [score(of_run[examples].tolist(), right) for of_run in outputs]

    every = np.arange(len(references))
    generator, shared = np.random.default_rng(0), []
    for _ in range(SPLITS):
        one, other = np.array_split(generator.permutation(every), 2)
        shared.append(statistics.covariance(scores(one), scores(other)))
    return len(runs) - 1, statistics.variance(scores(every)), statistics.mean(shared)


def pooled(arms: Iterable[tuple[int, float, float]]) -> tuple[float, float]:
    """The mean variance over arms and the mean of its shared part, which is no less than 0."""
    freedom, whole, shared = np.array(list(arms)).T
    whole, shared = (float(np.average(each, weights=freedom)) for each in (whole, shared))
    return whole, max(0.0, shared)


def accuracy(outputs: Sequence[str], references: Sequence[str]) -> float:
    """How many are right, in percent."""
    return 100 * statistics.mean(map(str.__eq__, outputs, references))


def bleu(outputs: Sequence[str], references: Sequence[str]) -> float:
    """BLEU of the outputs together."""
    [score], _ = bleu_of([outputs], references)
    return score


if __name__ == "__main__":
    main()
