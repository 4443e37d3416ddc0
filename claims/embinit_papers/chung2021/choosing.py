"""How a setting that can show the paper's statements is chosen, before any claim is registered.

The paper's statements are about shapes of models with a large vocabulary: input tables of H / 6,
output tables of H / 6, H and 4 H, layers that are removed. Today's setting can't test them: it has
2 layers and 700 words. This page fixes how another one is chosen, and was committed before the
first trial.

**Draws.** Trials use data draws ``DRAWS``, which serve neither deviations (5101 to 5110) nor claims
(5001 to 5020).

**What is looked at.** Trials compare the usual arm with the same arm without pre-training and with
one more layer. They never compare the arms of the claims: no trial has a narrow table.

**Candidates**, smallest first: ``CANDIDATES``. H is a multiple of 6 that the heads divide, there
are 6 layers, and the coupled model's table has over half of its parameters at fine-tuning.

1. *The learning rate* of a candidate: of ``RATES`` the one with the lowest loss on masked words of
   held-out text, on the first draw.
2. *Controls.* On the first three draws each difference below must be at least ``SHOWN`` points on
   average, and positive on every draw:

   - fine-tuning: each task's accuracy, mean over both languages, above that without pre-training;
   - probes on a mix of layers, likewise;
   - nearest neighbours: translations that the upper third of the layers finds, likewise;
   - removal: without the last 1, 2 and 3 layers, accuracy above that without pre-training and
     without the same layers.

3. *Depth.* On all draws, one more layer at equal widths must gain accuracy (mean over tasks and
   languages): a one-sided paired t-test at 10 %. Where it doesn't, no claim on reinvesting in
   layers is registered, and its row says "not testable at this size".
4. *The choice* is the first candidate with all controls of step 2. If there is none in the time
   there is, only statements 1 to 3 and 11 to 14 are asked, whose measures need no fine-tuning gain.
5. *Seeds.* An arm's seconds decide how many seeds the first analysis has: as many as 12 minutes of
   two threads have room for, and at least 2. Later analyses, up to 20 seeds, are made on request.

**What it costs**, measured at ``small`` in CPU time of one thread. A step of pre-training takes 19
to 23 ms with 6 layers, 28 ms with a wide output table and 34 to 36 ms with 11 layers; the three
output widths as one stack take 53 ms. A step of fine-tuning takes 14 to 17 ms. By these figures the
usual arm takes a minute, and the 11 arms of the claims about 12 minutes a seed, two thirds of it in
fine-tuning. Two threads then have room for 2 seeds in 12 minutes; with twice the texts for one.

``python -m embinit_papers.chung2021.choosing rate small`` runs a step for a candidate: ``rate``,
``controls`` or ``depth``. Each run's measures and seconds are printed as a line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from embinit.lab.experiments import ModelExperiment
from embinit.runs.kinds import Cohort, RunContext, kind_of
from embinit.runs.results import RunResult
from embinit_papers.chung2021.setting import AVERAGE, TRIED, micro
from embinit_papers.chung2021.shapes import deeper, pretrained_for

DRAWS = TRIED
RATES = (1e-3, 2e-3, 4e-3)
SHOWN = 5.0


@dataclass(frozen=True)
class Candidate:
    """A size of model and text."""

    dim: int
    heads: int
    spellings: int
    words: int
    texts: int
    epochs: int = 2


CANDIDATES = {
    "small": Candidate(48, 6, 5, 3_700, 12_000),
    "small-long": Candidate(48, 6, 5, 3_700, 24_000),
    "small-longer": Candidate(48, 6, 5, 3_700, 48_000),
    "middle": Candidate(96, 12, 10, 7_100, 48_000),
}
"""By name. Twice the texts are about twice the seconds."""


def experiment(size: Candidate, rate: float) -> ModelExperiment:
    """The candidate's experiment on the average over tasks."""
    setting = micro(size.dim, size.heads, size.spellings, size.words, size.texts, size.epochs, rate)
    return replace(setting, draws=DRAWS).experiment("micro", AVERAGE)


def without_tasks(arms: ModelExperiment) -> ModelExperiment:
    """Pre-training alone, for the choice of its learning rate."""
    return arms.with_training("pre-training alone", tasks=(), probes=(), further=())


def trained(arms: ModelExperiment, draws: Iterable[int]) -> list[RunResult]:
    """The usual arm's results on draws counted from 0, each printed as it comes."""
    results = []
    for index in draws:
        run, started = arms.run("normal", index), time.process_time()
        [result] = kind_of(run).make(Cohort((run,)), RunContext(None))
        seconds = round(time.process_time() - started, 1)
        measures = {name: round(value, 3) for name, value in result.measures.items()}
        curves = {
            name: [round(value, 1) for value in result.curves[name]]
            for name in ("neighbours_by_layer", "probe_by_layer")
            if name in result.curves
        }
        line = {"arm": arms.changes or "usual", "draw": DRAWS[index], "cpu_seconds": seconds}
        print(json.dumps(line | measures | curves), flush=True)
        results.append(result)
    return results


def rate(size: Candidate) -> None:
    """Step 1."""
    for lr in RATES:
        trained(without_tasks(experiment(size, lr)).changed(f"at {lr:g}"), [0])


def controls(size: Candidate, lr: float) -> None:
    """Step 2: the lines of both arms on three draws."""
    usual = experiment(size, lr)
    for index in range(3):
        for arms in (usual, pretrained_for(usual, 0)):
            trained(arms, [index])


def depth(size: Candidate, lr: float) -> None:
    """Step 3; the usual arm's first draws are those of step 2."""
    usual = experiment(size, lr)
    for index in range(len(DRAWS)):
        for arms in (usual, deeper(usual)):
            trained(arms, [index])


STEPS: Mapping[str, Callable[..., None]] = {"rate": rate, "controls": controls, "depth": depth}

if __name__ == "__main__":
    step, name, *given = sys.argv[1:]
    STEPS[step](CANDIDATES[name], *map(float, given))
