"""The shapes of models that the paper compares, as changes of an experiment's usual arm.

The usual arm is decoupled, and both of its tables are as wide as the model (H). *Narrow* is H / 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from embinit.lab.experiments import ModelExperiment
from embinit.lab.models import sizes
from embinit.lab.specs import ModelSpec, TransferSpec

NARROWER, WIDER = 6, 4
"""The paper's narrow tables have H / 6 dimensions, its wide output tables 4 H."""

Arms = ModelExperiment


def _model(arms: Arms) -> ModelSpec:
    assert arms.model is not None
    return arms.model


def narrow(arms: Arms) -> int:
    """The width of narrow tables."""
    return _model(arms).dim // NARROWER


def output_widths(arms: Arms) -> tuple[int, int, int]:
    """The output widths of Table 4 from narrow to wide."""
    dim = _model(arms).dim
    return narrow(arms), dim, WIDER * dim


def coupled(arms: Arms) -> Arms:
    """One table for input and output."""
    return arms.with_model("coupled", coupled=True)


def narrow_output(arms: Arms) -> Arms:
    """A narrow output table, and an input table of the model's width."""
    width = narrow(arms)
    return arms.with_model(f"E_out {width}", output_width=width)


def narrow_input(arms: Arms, output: int | None = None) -> Arms:
    """A narrow input table; the output table has the model's width, or another."""
    width, dim = narrow(arms), _model(arms).dim
    output = dim if output is None else output
    own = None if output == dim else output
    return arms.with_model(f"E_in {width}, E_out {output}", input_width=width, output_width=own)


def layers_added(arms: Arms) -> Arms:
    """Both tables narrow, and layers that are dropped after pre-training.

    They cost in pre-training what an output table of the model's width would.
    """
    bare = narrow_input(arms, narrow(arms))
    model, kept = _model(bare), _model(bare).layers
    words, length = sizes_of(arms)

    def pretraining(of: ModelSpec) -> int:
        return sizes.count_parameters(of, words, length).pretraining

    budget = pretraining(_model(narrow_input(arms)))
    deeper = min(
        (replace(model, layers=layers) for layers in range(kept + 1, 10 * kept)),
        key=lambda of: abs(pretraining(of) - budget),
    )
    added = deeper.layers - kept
    changed = bare.with_training(f"with {added} layers more in pre-training", dropped_layers=added)
    return changed.changed(model=deeper)


def reinvested_in_layers(arms: Arms) -> Arms:
    """A narrow input table, whose parameters saved in fine-tuning go into whole layers."""
    return _reinvested(arms, "layers", sizes.deepened)


def reinvested_in_width(arms: Arms) -> Arms:
    """The same parameters into H, by more heads; the output table stays as wide as it was."""
    return _reinvested(arms, "width", sizes.widened)


def _reinvested(
    arms: Arms, where: str, grown: Callable[[ModelSpec, int, int, int], ModelSpec]
) -> Arms:
    words, length = sizes_of(arms)
    budget = sizes.count_parameters(_model(coupled(arms)), words, length).finetuning
    small = narrow_input(arms)
    model = grown(_model(small), words, length, budget)
    return small.changed(f"reinvested in {where}", model=model)


def deeper(arms: Arms, layers: int = 1) -> Arms:
    """As wide as it was, with more layers."""
    return arms.with_model(f"{layers} more", layers=_model(arms).layers + layers)


def pretrained_for(arms: Arms, epochs: int) -> Arms:
    """Pre-trained for another number of epochs."""
    label = f"{epochs} epoch{'' if epochs == 1 else 's'} of pre-training"
    pretraining = replace(cast(TransferSpec, arms.training).pretraining, epochs=epochs)
    return arms.with_training(label, pretraining=pretraining)


def sizes_of(arms: Arms) -> tuple[int, int]:
    """The words of the tables, and the learned positions, by which parameters are counted."""
    assert arms.data.most_words is not None
    return arms.data.most_words, arms.data.max_length + 1
