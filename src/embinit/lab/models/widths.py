"""The widths of a model's output table and positions, from its spec alone."""

from __future__ import annotations

from typing import NamedTuple

from embinit.errors import InputError
from embinit.lab.specs import LEARNED, DataSpec, ModelRecipe, ModelSpec


class Parameters(NamedTuple):
    """Parameter counts of one model, at pre-training and at fine-tuning.

    Fine-tuning has neither the output table nor the layers that lead to it; a task's own output
    layer is counted in neither.
    """

    pretraining: int
    finetuning: int


def output_width(model: ModelSpec) -> int | None:
    """E_out of a decoupled model, None of a coupled one; InputError if that is given a width."""
    if not model.coupled:
        return model.dim if model.output_width is None else model.output_width
    if model.output_width is not None:
        raise InputError(
            f"a coupled model's output table is its input table, {model.table_width} wide: "
            "leave output_width out"
        )
    return None


def learned_positions(recipe: ModelRecipe, data: DataSpec) -> int:
    """The number of learned positions of each side, for every task; 0 where positions are fixed."""
    return data.max_length + 1 if recipe.positions.kind == LEARNED else 0
