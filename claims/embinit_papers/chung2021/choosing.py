"""How the setting of ``micro`` is chosen, before any claim is registered.

The paper's statements are about shapes of models: input tables of H / 6, output tables of H / 6, H
and 4 H, layers that are added or removed. A setting can show a statement if its *control* is found:
if pre-training teaches what the statement's measure reads. This page was committed before the first
trial, and amended once.

**Draws.** Trials use data draws ``DRAWS``, which serve neither deviations (5101 to 5110) nor claims
(5001 to 5020).

**What is looked at.** Trials compare the usual arm with the same arm without pre-training and with
one more layer. They never compare the arms of the claims: no trial has a narrow table.

1. *The learning rate* of a candidate: of ``RATES`` the one with the lowest loss on masked words of
   held-out text, on the first draw.
2. *Controls.* On the first three draws each difference below must be at least ``SHOWN`` points on
   average, and positive on every draw:

   - fine-tuning: each task's accuracy, mean over both languages, above that without pre-training;
   - masked words of held-out text, likewise;
   - probes on a mix of layers, likewise;
   - word similarity of the input table, likewise;
   - nearest neighbours: translations that the upper third of the layers finds, likewise;
   - removal: without the last 1, 2 and 3 layers, accuracy above that without pre-training and
     without the same layers.

3. *Depth.* On all draws, one more layer at equal widths must gain accuracy (mean over tasks and
   languages): a one-sided paired t-test at 10 %. Where it doesn't, no claim on layers is made.
4. *The choice* is the first candidate whose control of fine-tuning is found. Statements whose
   control it lacks are "not testable at this size".

**The first trials** were of six layers and 3,700 words (five spellings a content word), where the
coupled table has over half of the parameters. ``small`` fails on its first draw: pre-training costs
3.9 points of sentiment, the upper layers find 12 % of translations (15 % in the first layer), and
word similarity is -.3 % (-1.5 % without). Four and ten times as many steps (48,000 texts; 60,000
for four epochs) predict 33 % of masked words in place of 25, find no more translations (11 and 5 %
in the last layer), and bring word similarity to 3 %. The 11 arms then take over half an hour a seed
and thread. Six layers need more pre-training than two cores can give. Texts of several spellings
are no longer part of embinit, so these candidates can't be trained again.

**The amendment**, before a control of it was trained (single runs of the usual arm with 2, 3 and 4
layers had been looked at, on the first draw): two candidates of two layers, 700 words and 7,500
texts, at H = 48. The coupled table has 38 % of the parameters in fine-tuning (52 % in
mBERT, 21 % in English BERT, on which the paper finds the same in A.6). No layers are removed.

**What was found**, in percent. The rate of ``two-layers`` is 2e-3 (losses of 3.92, 3.61 and 3.76).
Pre-training adds 11.4, 9.0 and 4.7 points to inference and 26 to 29 points to masked words: these
controls are found. It adds 5.3, .7 and 1.1 points to sentiment, which has 88 to 93, and 2.3, 4.4
and 5.7 to mixed probes; it adds under 2 points to word similarity and takes translations away. One
more layer adds -.6, .6, 3.8, 5.0, -7.6 and -1.9 points to inference. So ``two-layers`` is chosen
with inference as its task. Asked are statements on fine-tuning and on masked words, none on layers,
probes, word similarity or translations; and none on parameters put into H, since with heads of 8 no
H has as many as the coupled model, within 7 % (56 has 9.5 % fewer). ``two-layers-long`` (at 4e-3)
adds 12.5 to 14.7 points to inference, and lacks the same controls.

``python -m embinit_papers.chung2021.choosing rate two-layers`` runs a step for a candidate:
``rate``, ``controls`` or ``depth``. Each run's measures and seconds are printed as a line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from embinit.lab.experiments import ModelExperiment
from embinit.runs.kinds import RunContext, Stack, kind_of
from embinit.runs.results import RunResult
from embinit_papers.chung2021.setting import AVERAGE, FLAT, TRIED, Size, micro
from embinit_papers.chung2021.shapes import deeper, pretrained_for

DRAWS = TRIED
RATES = (1e-3, 2e-3, 4e-3)
SHOWN = 5.0


CANDIDATES = {
    "two-layers": FLAT,
    "two-layers-long": replace(FLAT, epochs=8),
}
"""By name. Twice the texts are about twice the seconds."""


def experiment(size: Size, rate: float) -> ModelExperiment:
    """The candidate's experiment on the average over tasks."""
    setting = micro(replace(size, rate=rate))
    return replace(setting, draws=DRAWS).experiment("micro", AVERAGE)


def without_tasks(arms: ModelExperiment) -> ModelExperiment:
    """Pre-training alone, for the choice of its learning rate."""
    return arms.with_training("pre-training alone", tasks=(), probes=(), further=())


def trained(arms: ModelExperiment, draws: Iterable[int]) -> list[RunResult]:
    """The usual arm's results on draws counted from 0, each printed as it comes."""
    results = []
    for index in draws:
        run, started = arms.run("normal", index), time.process_time()
        [result] = kind_of(run).make(Stack((run,)), RunContext(None))
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


def rate(size: Size) -> None:
    """Step 1."""
    for lr in RATES:
        trained(without_tasks(experiment(size, lr)).changed(f"at {lr:g}"), [0])


def controls(size: Size, lr: float) -> None:
    """Step 2: the lines of both arms on three draws."""
    usual = experiment(size, lr)
    for index in range(3):
        for arms in (usual, pretrained_for(usual, 0)):
            trained(arms, [index])


def depth(size: Size, lr: float) -> None:
    """Step 3; the usual arm's first draws are those of step 2."""
    usual = experiment(size, lr)
    for index in range(len(DRAWS)):
        for arms in (usual, deeper(usual)):
            trained(arms, [index])


STEPS: Mapping[str, Callable[..., None]] = {"rate": rate, "controls": controls, "depth": depth}

if __name__ == "__main__":
    step, name, *given = sys.argv[1:]
    STEPS[step](CANDIDATES[name], *map(float, given))
