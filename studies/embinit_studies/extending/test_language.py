"""A related language: its words are new tokens, which vectors align with old ones."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.extending import LANGUAGE, USUAL, language, untrained


@claim(
    "extending/language/wechsel-above-random",
    says="In a related language WECHSEL's rows end at a lower loss than random ones",
    where="WECHSEL, 2112.06598",
    family=LANGUAGE,
    experiments=language,
)
def test_wechsel_is_above_random_rows(experiment):
    assert experiment["wechsel"] < experiment["noise"]
    assert experiment["wechsel"] < experiment["columns"]


@claim(
    "extending/language/focus-above-random",
    says="In a related language FOCUS's rows end at a lower loss than random ones",
    where="FOCUS, 2305.14481",
    family=LANGUAGE,
    experiments=language,
)
def test_focus_is_above_random_rows(experiment):
    assert experiment["focus"] < experiment["noise"]
    assert experiment["focus"] < experiment["columns"]


@claim(
    "extending/language/vectors-above-the-mean",
    says="In a related language rows from word vectors end at a lower loss than mean rows",
    where="WECHSEL and FOCUS (against the mean: ours)",
    family=LANGUAGE,
    experiments=language,
)
def test_vectors_are_above_the_mean(experiment):
    assert experiment["wechsel"] < experiment["mean"]
    assert experiment["focus"] < experiment["mean"]


@claim(
    "extending/language/mean-above-noise",
    says="In a related language mean rows start at a lower loss than rows of noise",
    where="Hewitt 2021",
    family=LANGUAGE,
    experiments=language,
)
def test_mean_rows_start_lower_than_noise(experiment):
    first = [experiment[arm].measured_by("start_loss") for arm in ("mean", "noise")]
    assert first[0] < first[1]


@claim(
    "extending/language/control-a-a",
    says="Control: rows of noise fare otherwise than on other seeds",
    where="control",
    family=LANGUAGE,
    experiments=language,
    expects=Verdict.NO_EFFECT,
)
def test_control_noise_against_itself(experiment):
    assert experiment[USUAL] > experiment[USUAL].on_other_seeds()


@claim(
    "extending/language/control-falsehood",
    says="Control: a base that was not trained starts lower in a related language",
    where="control",
    family=LANGUAGE,
    experiments=language,
    expects=Verdict.REFUTED,
)
def test_control_an_untrained_base_starts_higher(experiment):
    raw = untrained(experiment)[USUAL].measured_by("start_loss")
    assert raw < experiment[USUAL].measured_by("start_loss")


@claim(
    "extending/language/control-sensitivity",
    says="Control: what the base learnt of one language helps in a related one",
    where="control",
    family=LANGUAGE,
    experiments=language,
    expects=Verdict.SUPPORTED,
)
def test_control_the_base_helps_a_related_language(experiment):
    assert experiment[USUAL] < untrained(experiment)[USUAL]
