"""Reinvestment: a narrow input table pays for more layers.

What a narrower table frees goes into whole layers, and what is left over into feed-forward width:
at fine-tuning both arms have as many parameters, which is checked before anything is trained.
"""

from __future__ import annotations

from embinit.claims import claim
from embinit_papers.chung2021 import (
    REINVESTMENT,
    USUAL,
    coupled,
    experiments,
    reinvested,
    transfer,
    transferring,
)


@claim(
    "chung2021/reinvestment/above-coupled",
    says="A narrow input table, its parameters reinvested in layers, is fine-tuned better than one "
    "coupled table",
    where="abstract",
    family=REINVESTMENT,
    experiments=experiments,
    equal="finetuning",
)
def test_reinvesting_the_input_table_beats_coupling(experiment):
    assert reinvested(experiment)[USUAL] > coupled(experiment)[USUAL]


@claim(
    "chung2021/reinvestment/transfers-above-coupled",
    says="A narrow input table, its parameters reinvested in layers, transfers better to the other "
    "language than one coupled table",
    where="abstract",
    family=REINVESTMENT,
    experiments=transferring,
    equal="finetuning",
)
def test_reinvesting_the_input_table_transfers_better(experiment):
    assert transfer(reinvested(experiment)) > transfer(coupled(experiment))
