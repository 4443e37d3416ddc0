"""Figure 1: validation BLEU epoch by epoch, GloVe's on Multi30k and mBERT's and mT5's on IWSLT2017.

``sample`` follows no BLEU on the way. The synthetic translation represents both tasks, so it is
asked what Table 1 prints the same way for both; mBERT's curve lies above the others on IWSLT2017
alone. Its four epochs are too few to ask which curve peaks first.
"""

from __future__ import annotations

from embinit_papers.kim2024 import TRANSLATION, claim, of_source, only_on, table1
from embinit_papers.kim2024.changes import epochs


def curves(role, task):
    """A panel's experiment, and the synthetic translation."""
    panel = table1(role, tasks=(task,), full=(task,))
    micro = table1(role, tasks=TRANSLATION)
    return lambda tier: micro(tier) if tier == "micro" else only_on(panel, "paper", "full")(tier)


GLOVE = curves("glove", "multi30k")
BERT = curves("bert", "iwslt2017")
T5 = curves("t5", "iwslt2017")


def each_epoch(experiment):
    """The epochs of a run."""
    return range(1, epochs(experiment) + 1)


@claim(
    "kim2024/figure-1/standardised-glove-above-xavier",
    says="GloVe_Xavier's validation BLEU lies above Xavier's at every epoch",
    where="Figure 1 (right), section 5.1",
    experiments=GLOVE,
)
def test_standardised_glove_lies_above_xavier_at_every_epoch(experiment):
    for epoch in each_epoch(experiment):
        ours = experiment["pretrained_xavier"].at_epoch(epoch)
        assert ours > experiment["xavier"].at_epoch(epoch)


@claim(
    "kim2024/figure-1/standardised-glove-peaks-higher",
    says="The peak of GloVe_Xavier's validation BLEU is higher than Xavier's",
    where="Figure 1 (right), section 5.1",
    experiments=GLOVE,
)
def test_standardised_glove_peaks_higher(experiment):
    assert experiment["pretrained_xavier"].peak > experiment["xavier"].peak


@claim(
    "kim2024/figure-1/standardised-glove-bleu-peaks-sooner",
    says="GloVe_Xavier's validation BLEU peaks at an earlier epoch than Xavier's",
    where="Figure 1 (right), section 5.1",
    experiments=only_on(GLOVE, "paper", "full"),
)
def test_standardised_glove_peaks_sooner(experiment):
    assert experiment["pretrained_xavier"].peak_epoch < experiment["xavier"].peak_epoch


@claim(
    "kim2024/figure-1/t5-learns-slowly",
    says="Over the epochs T5 and T5_Shuffled have less validation BLEU than Xavier and T5_Xavier",
    where="Figure 1 (centre), section 5.2",
    experiments=T5,
)
def test_t5_learns_slowly(experiment):
    for slow in ("pretrained", "pretrained_shuffled"):
        for init in ("xavier", "pretrained_xavier"):
            assert experiment[slow].over_epochs < experiment[init].over_epochs


@claim(
    "kim2024/figure-1/bert-curves-alike",
    says="In BERT's experiment the curves of all other inits equal Xavier's, over the epochs",
    where="Figure 1 (left), section 5.2",
    experiments=only_on(BERT, "paper"),
)
def test_curves_beside_bert_are_alike(experiment):
    for init in ("pretrained_xavier", "pretrained_shuffled"):
        assert experiment[init].over_epochs.alike(experiment["xavier"].over_epochs)


@claim(
    "kim2024/figure-1/shuffled-below-original-at-each-epoch",
    says="A shuffled table's validation BLEU lies below the original's at every epoch",
    where="Figure 1 (left and centre), section 5.2",
    experiments=lambda tier: [*BERT(tier), *T5(tier)],
)
def test_shuffled_curves_lie_below_the_original(experiment):
    for epoch in each_epoch(experiment):
        ours = experiment["pretrained_shuffled"].at_epoch(epoch)
        assert ours < experiment["pretrained"].at_epoch(epoch)


@claim(
    "kim2024/figure-1/bert-above-all-at-each-epoch",
    says="BERT's validation BLEU lies above that of every other init at every epoch",
    where="Figure 1 (left), section 5.2",
    experiments=only_on(BERT, "paper"),
)
def test_bert_lies_above_all(experiment):
    for epoch in each_epoch(experiment):
        ours = experiment["pretrained"].at_epoch(epoch)
        for init in ("xavier", "pretrained_xavier", "pretrained_shuffled"):
            assert ours > experiment[init].at_epoch(epoch)


@claim(
    "kim2024/figure-1/gap-ordered-by-sigma",
    says="The gap of a table's curve to Xavier's grows from BERT to GloVe to T5, as sigma does",
    where="Figure 1",
    # The panels have two tasks; the gaps are compared on one.
    experiments=only_on(BERT, "micro", "paper"),
)
def test_gaps_are_ordered_by_sigma(experiment):
    def gap(arms):
        return arms["xavier"].over_epochs - arms["pretrained"].over_epochs

    glove = of_source(experiment, "glove")
    assert gap(glove) > gap(experiment)
    assert gap(of_source(experiment, "t5")) > gap(glove)
