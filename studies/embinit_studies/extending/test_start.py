"""The start: new rows' effect on the first loss, before further training."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.extending import START, USUAL, untrained, words


@claim(
    "extending/start/mean-above-noise",
    says="New rows at the mean start at a lower loss than rows of noise",
    where="Hewitt 2021; transformers #8472, #8039, #24372",
    family=START,
    experiments=words,
)
def test_mean_rows_start_lower_than_noise(experiment):
    first = [experiment[arm].measured_by("start_loss") for arm in ("mean", "noise")]
    assert first[0] < first[1]


@claim(
    "extending/start/noise-takes-from-old-words",
    says="Rows of noise take more probability from the old words than mean rows do",
    where="Hewitt 2021: the mean bounds the divergence by log(1 + m/V)",
    family=START,
    experiments=words,
)
def test_noise_takes_probability_from_old_words(experiment):
    first = [experiment[arm].measured_by("old_token_start_loss") for arm in ("mean", "noise")]
    assert first[0] < first[1]


@claim(
    "extending/start/subtokens-above-mean",
    says="A token that starts at the mean of its pieces is predicted better than one at the mean",
    where="FVT, Gee et al. 2022",
    family=START,
    experiments=words,
)
def test_pieces_know_more_than_the_mean(experiment):
    first = [experiment[arm].measured_by("new_token_start_loss") for arm in ("subtokens", "mean")]
    assert first[0] < first[1]


@claim(
    "extending/start/vectors-above-subtokens",
    says="A token that starts by word vectors is predicted better than one at the mean of its "
    "pieces",
    where="WECHSEL, 2112.06598; FOCUS, 2305.14481 (against pieces: ours)",
    family=START,
    experiments=words,
)
def test_vectors_know_more_than_pieces(experiment):
    pieces = experiment["subtokens"].measured_by("new_token_start_loss")
    assert experiment["wechsel"].measured_by("new_token_start_loss") < pieces
    assert experiment["focus"].measured_by("new_token_start_loss") < pieces


@claim(
    "extending/start/control-a-a",
    says="Control: rows of noise start at another loss than on other seeds",
    where="control",
    family=START,
    experiments=words,
    expects=Verdict.NO_EFFECT,
)
def test_control_noise_against_itself(experiment):
    assert experiment[USUAL] > experiment[USUAL].on_other_seeds()


@claim(
    "extending/start/control-falsehood",
    says="Control: a base that was not trained starts lower",
    where="control",
    family=START,
    experiments=words,
    expects=Verdict.REFUTED,
)
def test_control_an_untrained_base_starts_higher(experiment):
    raw = untrained(experiment)[USUAL].measured_by("start_loss")
    assert raw < experiment[USUAL].measured_by("start_loss")


@claim(
    "extending/start/control-sensitivity",
    says="Control: what the base learnt shows after training on",
    where="control",
    family=START,
    experiments=words,
    expects=Verdict.SUPPORTED,
)
def test_control_the_base_is_seen(experiment):
    assert experiment[USUAL] < untrained(experiment)[USUAL]
