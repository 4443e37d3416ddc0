"""Parameters as the paper counts them, which is not how ``embinit`` counts its own models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embinit.lab.models.sizes import Parameters, count_parameters
from embinit.lab.specs import ModelSpec

PLACES = 512 + 2
"""The learned positions and segments of BERT, each a row as wide as the input table."""


def papers_parameters(row: Mapping[str, Any], words: int) -> Parameters:
    """The parameters of a model in ``numbers.json`` with ``words`` tokens, before rounding.

    The paper doesn't say what it counts. This reading fits most of its counts: a feed-forward width
    of 4 H, no pooler, and in pre-training the output table alone, without the layer that leads to
    it and without biases. Layers ``added`` to ``layers`` are dropped after pre-training.
    """

    def encoder(layers: int) -> int:
        dim, width = row["dim"], row["input"]
        model = ModelSpec(dim, dim // 64, layers, 4 * dim, norm_after_sum=True, input_width=width)
        return count_parameters(model, words, PLACES).finetuning

    kept = row["layers"]
    return Parameters(
        pretraining=encoder(kept + row["added"]) + words * (row["output"] or 0),
        finetuning=encoder(kept),
    )
