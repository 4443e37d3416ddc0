"""The suite's negative control: the baseline against itself on other seeds, on every task.

Neither side's seeds are those of a claim, so that nothing of it was seen before it was registered.
"""

from __future__ import annotations

from dataclasses import replace

from embinit.claims import Family, Verdict, claim
from embinit_papers import kim2024
from embinit_papers.chung2021 import SETTINGS, each_task

SEEDS = 6
FIRST_SEED = 2000

SUITE = Family("suite/seeds", size=1, says="Seeds: other ones make no difference")


def first(tier):
    """The tier's first experiment, analysed once; none on ``full``, whose runs cost most."""
    whole = kim2024.on_the_encoder(kim2024.first_experiment)(tier)
    return [replace(base, seeds=SEEDS, most_seeds=None) for base in whole]


def every_task(experiment):
    """The tier's experiments, one for each task of either paper."""
    other = each_task(experiment.tier) if experiment.tier in SETTINGS else ()
    glove = kim2024.on_the_encoder(kim2024.table1("glove"))
    for setting in (*glove(experiment.tier), *other):
        yield replace(setting, seeds=experiment.seeds, claims_from=FIRST_SEED)


@claim(
    "suite/seeds/control-negative",
    says="Control: the baseline is better than itself on other seeds, on every task",
    where="control",
    family=SUITE,
    experiments=first,
    expects=Verdict.NO_EFFECT,
)
def test_control_the_baseline_against_itself(experiment):
    for setting in every_task(experiment):
        baseline = setting[setting.baseline]
        assert baseline > baseline.on_other_seeds()
