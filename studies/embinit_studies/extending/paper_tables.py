"""The study's table in the report: every arm's losses."""

from __future__ import annotations

from collections.abc import Sequence

from embinit.papers import PaperTable, by_arm, table_of_arms
from embinit.runs.results import RunResult
from embinit_studies.extending import ARMS, SETTINGS, experiments

COLUMNS = {
    "first loss": "start_loss",
    "last loss": "validation_loss",
    "mean loss": "loss_area",
    "first loss on new tokens": "new_token_start_loss",
    "last loss on new tokens": "new_token_loss",
    "first gradient kept, %": "kept_gradient",
    "mean cosine of new rows": "likeness",
}


def paper_tables(tier: str, results: Sequence[RunResult]) -> list[PaperTable]:
    """Each experiment's arms with their losses, in nats a word; empty if nothing was run."""
    of_arms = by_arm(results)
    head = ("arm", *(f"{title}, here" for title in COLUMNS))
    tables = [
        table_of_arms(
            f"New tokens: {experiment.name}",
            head,
            {arm: [experiment.run(arm, 0)] * len(COLUMNS) for arm in ARMS},
            of_arms,
            tuple(COLUMNS.values()),
            decimals=2,
        )
        for experiment in experiments(tier)
    ]
    return [table for table in tables if table.rows]


def methods(tier: str) -> list[str]:
    """The methods on a tier, paragraph by paragraph."""
    setting = SETTINGS[tier]
    model, first, then = setting.model, setting.first, setting.then
    return [
        f"Decoders (RMSNorm before each sub-layer, rotary positions, SwiGLU; {model.dim} wide, "
        f"{model.layers} layers, {model.heads} heads, feed-forward {model.feed_forward}, no "
        "biases, no dropout) predict each next word. One table serves both ends, but in "
        "words-untied.",
        f"The base reads {setting.base.cut.train:,} sentences of {setting.base.task} "
        f"({first.epochs} epochs in batches of {first.batch_size}, Adam at a rate of {first.lr:g} "
        "that rises over a tenth of the steps and falls to zero, gradients clipped at 1). One "
        "word in eight, by its checksum, is cut into pieces there.",
        f"Then {setting.words.cut.train:,} sentences follow ({then.epochs} epochs at {then.lr:g}) "
        f"of {setting.words.task}, uncut, or of {setting.language.task}. Words that the base "
        "lacks are appended to its table; an arm says what their rows are made of. All arms of a "
        "seed share their base, the order of sentences, and every other parameter.",
        "Losses are means over the validation split, in nats a word, before the first step and "
        "after each epoch. A new token's loss is the mean over the places where it is the word to "
        "predict. The share of the first gradient that is kept is the clip over its norm, at most "
        "100 %. Word vectors are singular vectors of positive pointwise mutual information, of "
        f"{setting.helper:,} sentences of the second text, rotated onto those of the base's text "
        "by the words that both have.",
    ]
