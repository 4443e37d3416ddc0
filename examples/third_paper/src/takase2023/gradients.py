"""The gradient of embinit's model before its first step, as a training function."""

import torch

from embinit import training
from embinit.lab.data.preparation import prepare
from embinit.lab.models.initial_state import InitialState
from embinit.lab.models.losses import cross_entropy
from embinit.randomness import stream
from takase2023.models import experiment

BATCH = 64


@training(
    name="takase2023-gradient",
    measures={"first_layer": "gradient norm", "last_layer": "gradient norm"},
)
def gradient(seed, changes=(), **setting):
    """The norm of the loss's gradient in the first layer and in the last, for one batch.

    ``changes`` are fields of the model, ``setting`` what of the table differs from the vanilla one.
    """
    changed = experiment(dict(changes), **setting)
    init = "pretrained" if changed.source else "xavier"
    data = prepare(changed.data, None)
    model = InitialState([changed.run(init, seed)], data, None).model()
    split = data.train
    chosen = torch.randperm(len(split), generator=stream(seed, "order"))[:BATCH]
    hidden = model.mean_pool(split.inputs[chosen][None])
    [loss], _ = cross_entropy(hidden, model.output, split.labels[chosen][None])
    (loss / BATCH).backward()
    first, *_, last = model.encoder_layers
    return {"first_layer": norm(first), "last_layer": norm(last)}


def norm(layer):
    """The norm of all gradients of a layer."""
    squares = [parameter.grad.square().sum() for parameter in layer.parameters()]
    return torch.stack(squares).sum().sqrt()
