"""Decoupling: input and output embeddings need not be one table.

The arms have as many parameters at fine-tuning, since the output table is thrown away before.
"""

from __future__ import annotations

from embinit_papers.chung2021.setting import USUAL
from embinit_papers.chung2021.shapes import coupled
from embinit_papers.kim2024 import only_on
from embinit_studies import claim
from embinit_studies.two_languages import experiments, inference, resolved, transfer, wider


@claim(
    "studies/decoupling/not-below-coupled",
    says="A model with two tables is not fine-tuned worse than one with a single table",
    where="after the abstract",
    experiments=resolved(experiments),
    equal="finetuning",
)
def test_decoupling_does_not_hurt(experiment):
    assert experiment[USUAL] >= coupled(experiment)[USUAL]


@claim(
    "studies/decoupling/transfers-not-below-coupled",
    says="A model with two tables does not transfer worse to the other language",
    where="after the abstract",
    experiments=only_on(inference, "paper"),  # 20 draws resolve 1.8 points on `micro`
    equal="finetuning",
)
def test_decoupling_does_not_hurt_transfer(experiment):
    assert transfer(experiment) >= transfer(coupled(experiment))


@claim(
    "studies/decoupling/above-coupled-when-wider",
    says="In a model twice as wide, two tables are fine-tuned better than a single one",
    where="after the abstract",
    experiments=experiments,
    equal="finetuning",
)
def test_decoupling_helps_a_wider_model(experiment):
    wide = wider(experiment)
    assert wide[USUAL] > coupled(wide)[USUAL]
