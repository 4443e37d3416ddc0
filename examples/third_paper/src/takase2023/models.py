"""The paper's model at micro's size: embinit's encoder, and its table's first sigma.

The paper's models are decoders with norms before sub-layers whose positions are rotations, so that
nothing is added to the embeddings. embinit has no decoder alone; its encoder has the same layers.
"""

import math

from embinit import MEASURES
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import Cut, DataSpec, ModelSpec, PositionSpec, TrainingSpec

DIM = 64
VANILLA = math.sqrt(2 / (5 * DIM))
"""The sigma that the paper draws all weights with, embeddings included."""


def experiment(model=None, sigma=VANILLA, multiplier="one", source="", name="sentiment"):
    """The vanilla setting, or one that differs from it.

    Args:
        model: Fields of ``ModelSpec`` that differ.
        sigma: The sigma of the table; None leaves it as the init makes it.
        multiplier: What the table is multiplied by: ``one`` or ``sqrt(D)``.
        source: The name of a source, for its vectors as the table.
        name: The experiment's name in the ids of claims.
    """
    fields = {"attention": "rotary", "norm_position": "pre", "dropout": 0.0, **(model or {})}
    return ModelExperiment(
        name=name,
        tier="micro",
        role="sentiment",
        source=source,
        source_label="GloVe",
        data=DataSpec("micro-sentiment", ("whitespace",), Cut(train=800), min_freq=1),
        model=ModelSpec(dim=DIM, heads=2, layers=4, feed_forward=128, **fields),
        training=TrainingSpec(batch_size=16, epochs=1, lr=5e-3),
        metric=MEASURES["validation_loss"],
        seeds=5,
        most_seeds=10,
        margin=0.02,
        positions=PositionSpec("none", multiplier),
        sigma=sigma,
    )
