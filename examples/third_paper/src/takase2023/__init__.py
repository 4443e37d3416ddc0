"""Takase et al. (2023), *Spike No More*: small embeddings make large gradients.

arXiv 2312.16903. In a transformer with norms before its sub-layers, the norm divides the gradient
by the width of what it reads. So where embeddings start small, the shallow layers' gradients are
large and loss spikes follow. Two remedies widen what the first layer reads: the table times sqrt(d)
(*Scaled Embed*), and a norm after it (*Embed LN*).
"""

import json
from importlib import resources

from embinit import Family, Paper
from embinit import experiment as function_experiment
from embinit.papers import Tier
from takase2023.gradients import gradient
from takase2023.models import VANILLA, experiment

NUMBERS = json.loads(resources.files("takase2023").joinpath("numbers.json").read_text("utf-8"))

GRADIENTS = Family(
    "takase2023/gradients",
    size=4,
    says="Small embeddings make the shallow layers' gradients large",
    origin="paper",
)
TRAINING = Family(
    "takase2023/training", size=1, says="What that costs at a high rate", origin="paper"
)

SIGMAS = {f"sigma {factor:g}x": VANILLA * factor for factor in (0.25, 1, 4)}

gradients = function_experiment(
    "gradients",
    training=gradient,
    arms={
        "vanilla": {},
        "scaled embed": {"multiplier": "sqrt(D)"},
        "embed LN": {"changes": {"norm_after_sum": True}},
        "GloVe": {"source": "micro-glove", "sigma": None},
        **{name: {"sigma": sigma} for name, sigma in SIGMAS.items()},
    },
    baseline="vanilla",
)


def training(tier):
    """The vanilla setting at a high rate, trained by embinit itself."""
    return [experiment()] if tier == "micro" else []


PAPER = Paper(
    key="takase2023",
    citation=NUMBERS["citation"],
    short=NUMBERS["short"],
    tiers={"micro": Tier("micro", "a miniature on text that code makes from a seed", True)},
    experiments=training,
    families=(GRADIENTS, TRAINING),
)
