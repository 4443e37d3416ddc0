"""Figure 1: validation BLEU epoch by epoch. ``sample`` follows no BLEU on the way."""

from __future__ import annotations

from embinit.claims import claim
from embinit_papers.kim2024 import (
    FIGURE_1,
    TRANSLATION,
    of_source,
    only_on,
    table1,
)
from embinit_papers.kim2024.changes import epochs


def curves(*sources):
    """The translation experiments whose validation BLEU is followed."""
    return only_on(table1(*sources, tasks=TRANSLATION), "micro", "paper")


@claim(
    "kim2024/figure-1/standardised-glove-above-xavier",
    says="GloVe_Xavier's validation BLEU lies above Xavier's at every epoch",
    where="Figure 1 (right), section 5.1",
    family=FIGURE_1,
    experiments=only_on(
        table1("glove", tasks=TRANSLATION, full=("multi30k",)), "micro", "paper", "full"
    ),
)
def test_standardised_glove_lies_above_xavier_at_every_epoch(experiment):
    for epoch in range(1, epochs(experiment) + 1):
        ours = experiment["pretrained_xavier"].at_epoch(epoch)
        assert ours > experiment["xavier"].at_epoch(epoch)


@claim(
    "kim2024/figure-1/standardised-glove-peaks-sooner",
    says="GloVe_Xavier reaches its best epoch sooner than Xavier",
    where="Figure 1 (right), section 5.1",
    family=FIGURE_1,
    experiments=only_on(table1("glove", tasks=("multi30k",)), "paper"),
)
def test_standardised_glove_peaks_sooner(experiment):
    assert experiment["pretrained_xavier"].best_epoch < experiment["xavier"].best_epoch


@claim(
    "kim2024/figure-1/bert-curves-alike",
    says="In BERT's experiment the curves of all other inits are alike Xavier's, over the epochs",
    where="Figure 1 (left), section 5.2",
    family=FIGURE_1,
    experiments=curves("bert"),
)
def test_curves_beside_bert_are_alike(experiment):
    for init in ("pretrained_xavier", "pretrained_shuffled"):
        assert experiment[init].over_epochs.alike(experiment["xavier"].over_epochs)


@claim(
    "kim2024/figure-1/shuffled-below-original",
    says="A shuffled table's validation BLEU runs below the original's, over the epochs",
    where="Figure 1 (left and centre)",
    family=FIGURE_1,
    experiments=curves("bert", "t5"),
)
def test_shuffled_curves_run_below_the_original(experiment):
    assert experiment["pretrained_shuffled"].over_epochs < experiment["pretrained"].over_epochs


@claim(
    "kim2024/figure-1/bert-above-all",
    says="BERT's validation BLEU runs above that of every other init, over the epochs",
    where="Figure 1 (left)",
    family=FIGURE_1,
    experiments=curves("bert"),
)
def test_bert_runs_above_all(experiment):
    for init in ("xavier", "pretrained_xavier", "pretrained_shuffled"):
        assert experiment["pretrained"].over_epochs > experiment[init].over_epochs


@claim(
    "kim2024/figure-1/gap-ordered-by-sigma",
    says="The gap of a table's curve to Xavier's grows from BERT to GloVe to T5, as sigma does",
    where="Figure 1",
    family=FIGURE_1,
    experiments=curves("glove"),
)
def test_gaps_are_ordered_by_sigma(experiment):
    def gap(arms):
        return arms["xavier"].over_epochs - arms["pretrained"].over_epochs

    assert gap(experiment) > gap(of_source(experiment, "bert"))
    assert gap(of_source(experiment, "t5")) > gap(experiment)
