"""Small embeddings make large gradients (Takase et al. 2023), and what repairs that."""

from embinit import Verdict, claim, trend
from embinit.lab.specs import PositionSpec
from takase2023 import GRADIENTS, SIGMAS, TRAINING, gradients, training


@claim(
    "takase2023/gradients/scaled-embed",
    says="A table times sqrt(d) lowers the first layer's gradient",
    where="section 3",
    family=GRADIENTS,
    on=gradients,
)
def test_scaled_embed_lowers_the_gradient(arms):
    assert arms["scaled embed"] < arms["vanilla"]


@claim(
    "takase2023/gradients/embed-ln",
    says="A norm after the table lowers the first layer's gradient",
    where="section 3",
    family=GRADIENTS,
    on=gradients,
)
def test_embed_ln_lowers_the_gradient(arms):
    assert arms["embed LN"] < arms["vanilla"]


@claim(
    "takase2023/gradients/the-narrower-the-larger",
    says="The narrower the table, the larger the first layer's gradient",
    where="section 3",
    family=GRADIENTS,
    on=gradients,
)
def test_the_narrower_the_table_the_larger_the_gradient(arms):
    steps = [(sigma, arms[name]) for name, sigma in SIGMAS.items()]
    assert trend(steps, over="sigma") < 0


@claim(
    "takase2023/gradients/pretrained",
    says="GloVe's vectors, which are wide, lower the first layer's gradient as they are",
    family=GRADIENTS,
    on=gradients,
)
def test_a_wide_pretrained_table_lowers_the_gradient(arms):
    assert arms["GloVe"] < arms["vanilla"]


@claim(
    "takase2023/training/scaled-embed-at-a-high-rate",
    says="At a high rate a table times sqrt(d) ends at a lower loss",
    where="section 4",
    family=TRAINING,
    experiments=training,
)
def test_scaled_embed_ends_lower_at_a_high_rate(experiment):
    scaled = experiment.changed("times sqrt(d)", positions=PositionSpec("none", "sqrt(D)"))
    assert scaled["xavier"] < experiment["xavier"]


@claim(
    "takase2023/training/control-falsehood",
    says="Control: a thousandth of the rate ends lower",
    where="control",
    family=TRAINING,
    experiments=training,
    expects=Verdict.REFUTED,
)
def test_hardly_any_training_ends_lower(experiment):
    assert experiment.with_training("at 5e-6", lr=5e-6)["xavier"] < experiment["xavier"]
