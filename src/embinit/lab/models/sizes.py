"""Widths and parameter counts of models, from their specs alone and without torch.

Another package's attention is built without values, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from embinit.errors import InputError
from embinit.lab.specs import LEARNED, DataSpec, ModelRecipe, ModelRun, ModelSpec, TransferSpec
from embinit.registry import Named
from embinit.specs import RunSpec

NORM_POSITIONS = Named("norm position", {"post": False, "pre": True})
"""Whether the norm is before the sub-layer (Xiong et al. 2020), not after (Vaswani et al. 2017)."""


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


def count_parameters(model: ModelSpec, words: int, length: int) -> Parameters:
    """Parameter counts for ``words`` tokens and ``length`` learned positions (0 for fixed ones)."""
    encoder = side_parameters(model, words, length)
    return Parameters(encoder + _masked_head(model, words), encoder)


def side_parameters(model: ModelSpec, words: int, length: int, decodes: bool = False) -> int:
    """Parameters of an encoder, or of a decoder: its table, its positions and all layers."""
    dim, width = model.dim, model.table_width
    embedding = (words + length) * width + model.norm_after_sum * 2 * width
    if width != dim:
        embedding += linear_parameters(width, dim)
    feed_forward = linear_parameters(dim, model.feed_forward)
    feed_forward += linear_parameters(model.feed_forward, dim)
    layer = _attention(model, model.attention) + feed_forward + 4 * dim
    if decodes:
        layer += _attention(model, "plain") + 2 * dim
    final = NORM_POSITIONS[model.norm_position] * 2 * dim
    return embedding + model.layers * layer + final


def _attention(model: ModelSpec, kind: str) -> int:
    require_heads(model)
    if kind in ("plain", "rotary"):
        return linear_parameters(model.dim, 3 * model.dim) + linear_parameters(model.dim, model.dim)
    from embinit.lab.models.attention import count_attention

    return count_attention(model)


def require_heads(model: ModelSpec) -> None:
    """InputError unless the model's heads divide its width."""
    if model.dim % model.heads:
        raise InputError(
            f"the width D={model.dim} is not a multiple of {model.heads} heads; "
            "choose a number of heads that divides it"
        )


def _masked_head(model: ModelSpec, words: int) -> int:
    """Parameters of the masked-language-model head: dense layer, norm, bias and untied table."""
    separate = output_width(model)
    width = model.table_width if separate is None else separate
    head = linear_parameters(model.dim, width) + 2 * width + words
    return head if separate is None else head + words * width


def linear_parameters(inputs: int, outputs: int) -> int:
    """Parameters of a linear layer with its bias."""
    return (inputs + 1) * outputs


def words_of(run: ModelRun) -> int:
    """The number of rows of the run's tables, special tokens included, before any text is read."""
    if run.recipe.data.most_words is None:
        raise InputError(
            f"the spec of {run.recipe.data.task} must fix its vocabulary by most_words"
        )
    return run.recipe.data.most_words


def model_after(recipe: ModelRecipe[TransferSpec], removed: int = 0) -> ModelSpec:
    """The model after pre-training: without the layers that are dropped, and ``removed`` others.

    InputError unless a layer is left.
    """
    model, dropped = recipe.architecture, recipe.training.dropped_layers
    if min(dropped, removed) < 0 or dropped + removed >= model.layers:
        raise InputError(
            f"of {model.layers} layers {dropped} are dropped and {removed} removed: name numbers "
            f"from 0 on, together {model.layers - 1} or fewer"
        )
    return replace(model, layers=model.layers - dropped - removed)


def parameters_of(run: RunSpec[ModelRecipe[TransferSpec]], removed: int = 0) -> Parameters:
    """Parameter counts of the run's model at pre-training, and with fewer layers at fine-tuning."""
    recipe, words = run.recipe, words_of(run)
    positions = learned_positions(recipe, recipe.data)
    return Parameters(
        count_parameters(recipe.architecture, words, positions).pretraining,
        count_parameters(model_after(recipe, removed), words, positions).finetuning,
    )


ABOVE, BELOW = 0.01, 0.07
"""How far a grown model's parameters may be from its budget, relative to it.

The paper's reinvested models are 1 % above and 5 % below, as it counts them.
"""


def deepened(model: ModelSpec, words: int, length: int, budget: int) -> ModelSpec:
    """``model`` with as many more layers as ``budget`` parameters at fine-tuning have room for.

    InputError where that leaves more than ``BELOW`` of them unused.
    """
    more = range(model.layers + 1, 10 * model.layers)
    return _largest([replace(model, layers=layers) for layers in more], words, length, budget)


def widened(model: ModelSpec, words: int, length: int, budget: int) -> ModelSpec:
    """The same in more heads of equal width, with a feed-forward width in proportion.

    Both tables keep their widths.
    """
    head, times = model.dim // model.heads, model.feed_forward // model.dim
    fixed = replace(model, input_width=model.table_width, output_width=output_width(model))
    wider = [
        replace(fixed, heads=heads, dim=head * heads, feed_forward=times * head * heads)
        for heads in range(model.heads + 1, 10 * model.heads)
    ]
    return _largest(wider, words, length, budget)


def _largest(models: Iterable[ModelSpec], words: int, length: int, budget: int) -> ModelSpec:
    counts = {model: count_parameters(model, words, length).finetuning for model in models}
    within = [model for model in counts if counts[model] <= budget * (1 + ABOVE)]
    found = max(within, key=lambda model: counts[model], default=next(iter(counts)))
    if not budget * (1 - BELOW) <= counts[found] <= budget * (1 + ABOVE):
        raise InputError(
            f"no larger model has {budget:,} parameters, up to {ABOVE:.0%} more or {BELOW:.0%} "
            f"fewer: the nearest has {counts[found]:,}; choose other widths"
        )
    return found
