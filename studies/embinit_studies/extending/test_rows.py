"""Rows: near-copies stay alike and learn slowly, averaged rows are short."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.extending import ROWS, USUAL, untrained, words


@claim(
    "extending/rows/near-copies-stay-alike",
    says="Rows drawn with 1e-9 of the covariance stay more alike than rows drawn with all of it",
    where="GTI, 2604.02324; transformers #35075",
    family=ROWS,
    experiments=words,
)
def test_near_copies_stay_alike(experiment):
    alike = [experiment[arm].measured_by("likeness") for arm in ("near-copies", "covariance")]
    assert alike[0] > alike[1]


@claim(
    "extending/rows/near-copies-learn-slower-than-drawn",
    says="New tokens that start as near-copies are predicted worse in the end than those drawn "
    "with the whole covariance",
    where="GTI, 2604.02324; axolotl #2000",
    family=ROWS,
    experiments=words,
)
def test_near_copies_learn_more_slowly_than_drawn_rows(experiment):
    last = [experiment[arm].measured_by("new_token_loss") for arm in ("near-copies", "covariance")]
    assert last[0] > last[1]


@claim(
    "extending/rows/near-copies-learn-slower-than-noise",
    says="New tokens that start as near-copies are predicted worse in the end than rows of noise",
    where="axolotl #2000: the old default learnt better",
    family=ROWS,
    experiments=words,
)
def test_near_copies_learn_more_slowly_than_noise(experiment):
    last = [experiment[arm].measured_by("new_token_loss") for arm in ("near-copies", "noise")]
    assert last[0] > last[1]


@claim(
    "extending/rows/near-copies-as-the-mean",
    says="Rows drawn with 1e-9 of the covariance fare as bare copies of the mean do",
    where="transformers #35075: the check fails and every row is the mean",
    family=ROWS,
    experiments=words,
)
def test_near_copies_fare_as_the_mean(experiment):
    assert experiment["near-copies"].alike(experiment["mean"])


@claim(
    "extending/rows/norm-matching-helps",
    says="Stretched to the median norm, the mean of a token's pieces learns better",
    where="ours: averaging k pieces shrinks a row by the root of k",
    family=ROWS,
    experiments=words,
)
def test_norm_matching_helps_averaged_rows(experiment):
    last = [experiment[arm].measured_by("new_token_loss") for arm in ("norm-matched", "subtokens")]
    assert last[0] < last[1]


@claim(
    "extending/rows/control-a-a",
    says="Control: rows of noise learn otherwise than on other seeds",
    where="control",
    family=ROWS,
    experiments=words,
    expects=Verdict.NO_EFFECT,
)
def test_control_noise_against_itself(experiment):
    last = experiment[USUAL].measured_by("new_token_loss")
    assert last < last.on_other_seeds()


@claim(
    "extending/rows/control-falsehood",
    says="Control: near-copies end less alike than rows of noise",
    where="control",
    family=ROWS,
    experiments=words,
    expects=Verdict.REFUTED,
)
def test_control_near_copies_are_alike(experiment):
    alike = [experiment[arm].measured_by("likeness") for arm in ("near-copies", "noise")]
    assert alike[0] < alike[1]


@claim(
    "extending/rows/control-sensitivity",
    says="Control: what the base learnt shows after training on",
    where="control",
    family=ROWS,
    experiments=words,
    expects=Verdict.SUPPORTED,
)
def test_control_the_base_is_seen(experiment):
    assert experiment[USUAL] < untrained(experiment)[USUAL]
