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
from embinit.papers import PaperTable, Tier, mean_and_spread
from takase2023.gradients import gradient
from takase2023.models import DIM, VANILLA, experiment

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


def methods(tier):
    """How the models are made, for the report."""
    return [
        f"Encoders {DIM} wide with 4 layers, norms before the sub-layers and rotary attention read "
        f"the microcosm's opinions. Tables start at a sigma of {VANILLA:.3f}, which is the paper's "
        f"sqrt({NUMBERS['variance_times_width']['vanilla']} / d)."
    ]


def paper_tables(tier, results):
    """Gradients of the first layer beside what the paper's analysis predicts: as 1 / sigma."""
    rows = []
    for arm, sigma in (("vanilla", VANILLA), ("scaled embed", VANILLA * DIM**0.5), ("embed LN", 1)):
        spec = gradients.experiments[0].run(arm, 0)
        ours = [each for each in results if each.spec.recipe == spec.recipe]
        here = mean_and_spread(ours, gradient.measures["first_layer"], decimals=4)
        rows.append((arm, f"{sigma:.3f}", f"{VANILLA / sigma:.2f}", here))
    head = ("", "width that the first norm reads", "gradient by 1 / width", "gradient, here")
    return [PaperTable("The first layer's gradient before the first step", head, tuple(rows))]


PAPER = Paper(
    key="takase2023",
    citation=NUMBERS["citation"],
    short=NUMBERS["short"],
    tiers={"micro": Tier("micro", "a miniature on text that code makes from a seed", True)},
    experiments=training,
    families=(GRADIENTS, TRAINING),
    methods=methods,
    tables=paper_tables,
)
