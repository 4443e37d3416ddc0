"""The study's tables in the report: each arm's loss and further measures by architecture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from embinit.claims.comparisons import Quantity
from embinit.papers import PaperTable, by_arm, table_of_arms
from embinit.runs.results import RunResult
from embinit_studies.modern import ARCHITECTURES, SETTINGS, Decoder, experiments
from embinit_studies.repairs import combinations_of

Arm = Callable[[Decoder], Quantity]


def arms_of(tier: str) -> dict[str, Arm]:
    """A tier's arms by name."""
    rate = f"rate × {SETTINGS[tier].times:g}"
    return {
        "N(0, 0.02)": Decoder.normal,
        "Xavier": Decoder.xavier,
        "Xavier, wide": Decoder.xavier_pretrained,
        f"Xavier, wide, {rate}": lambda experiment: (
            experiment.with_scaled_table_rate().xavier_pretrained()
        ),
        "GloVe": Decoder.pretrained,
        f"GloVe, {rate}": lambda experiment: experiment.with_scaled_table_rate().pretrained(),
        "GloVe, standardised": Decoder.pretrained_xavier,
        "GloVe, shuffled": Decoder.pretrained_shuffled,
        f"Xavier, {rate}": lambda experiment: experiment.with_scaled_table_rate().xavier(),
    }


FACTORIALS: Mapping[str, tuple[Arm, Arm]] = {
    "Xavier": (Decoder.xavier, Decoder.xavier_pretrained),
    "GloVe": (Decoder.pretrained_xavier, Decoder.pretrained),
}
"""The tables of factorials, each with its small-sigma and its large-sigma arm."""


def losses_of(experiment: Decoder, which: str) -> dict[str, Quantity]:
    """The losses of a table's factorial by name: both sigmas, and each combination of repairs.

    Args:
        experiment: The experiment.
        which: A key of ``FACTORIALS``.
    """
    narrow, wide = FACTORIALS[which]
    return {"narrow": narrow(experiment)} | {
        " + ".join(chosen) or "wide": wide(experiment.repaired(*chosen))
        for chosen in combinations_of(experiment.repairs)
    }


MEASURES: Mapping[str, str] = {
    "validation_loss": "Last loss",
    "loss_area": "Mean loss while it trains",
    "start_loss": "First loss",
    "loss_spike": "Largest spike of the training loss",
    "first_layer_gradient_norm": "The first layer's gradient norm at step 0",
    "embedding_share": "The embedding's share of the last state, at the start",
    "embedding_share_after": "The embedding's share of the last state, trained",
}
"""The tables' measures, with their titles."""


def paper_tables(tier: str, results: Sequence[RunResult]) -> list[PaperTable]:
    """A table per measure and per factorial, by architecture; none where nothing was run."""
    every = experiments(tier)
    of_arms = by_arm(results)
    runs = {
        label: [arm(experiment).runs_of(0)[0] for experiment in every]
        for label, arm in arms_of(tier).items()
    }
    head = ("table", *(f"{ARCHITECTURES[each.name].label}, here" for each in every))
    tables = [
        table_of_arms(title, head, runs, of_arms, [name] * len(every), decimals=2)
        for name, title in MEASURES.items()
    ]
    for which in FACTORIALS:
        losses = [losses_of(each, which) for each in every]
        combined = {
            label: [of[label].runs_of(0)[0] if label in of else None for of in losses]
            for label in max(losses, key=len)
        }
        name = "validation_loss"
        title = f"{MEASURES[name]}, {which}'s table wide and repaired"
        tables.append(
            table_of_arms(title, head, combined, of_arms, [name] * len(every), decimals=2)
        )
    return [table for table in tables if table.rows]


def methods(tier: str) -> list[str]:
    """The methods on a tier, paragraph by paragraph."""
    every, setting = experiments(tier), SETTINGS[tier]
    model, training = every[0].model, setting.training
    assert model is not None
    return [
        f"Decoders ({model.dim} wide, {model.layers} layers, {model.heads} heads, feed-forward "
        f"{model.feed_forward}, no dropout) predict each next word, in "
        f"{len(every)} architectures: "
        + "; ".join(ARCHITECTURES[each.name].label for each in every)
        + ". Llama-like ones have RMSNorm before each sub-layer, rotary positions, SwiGLU and no "
        "biases. Where sinusoids are added, and in post-norm, the table is multiplied by √D.",
        f"They read {setting.text.cut.train:,} sentences of {setting.text.task} "
        f"({training.epochs} epochs in batches of {training.batch_size}, Adam at a rate of "
        f"{training.lr:g} that rises over a "
        "tenth of the steps and falls to zero, gradients clipped at 1). All arms of a seed share "
        "the order of sentences and every parameter but the table. A table of the output's own "
        "is drawn from N(0, 0.02).",
        "Tables: of N(0, 0.02); Xavier's; Xavier's as wide as GloVe's; GloVe's as it is, "
        "standardised to Xavier's width, and shuffled. Where the rate grows with the width, the "
        f"table learns at {setting.times:g} times the rate.",
        "A wide table's repairs are a norm after the sum (scale), positions as many times wider "
        f"(ratio), and {setting.times:g} times the rate (step), where the architecture can have "
        "them.",
        "Losses are means over the validation split, in nats a word. A spike is the largest rise "
        "of a step's training loss above the mean of the 16 steps before it.",
    ]
