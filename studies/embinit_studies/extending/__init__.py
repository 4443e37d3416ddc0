"""Extending: how to initialise rows of added tokens, an exploratory study of our own.

A small decoder (RMSNorm, rotary positions, SwiGLU) is trained on text in which one word in eight is
cut into pieces. Then those words become tokens, or the text changes to a related language: each
method of ``embtables.extension.methods`` makes the new rows, and the model is trained on. The
claims' directions are those of the literature and of users' complaints; each names its source.

- ``micro``: text of the synthetic language, and of the related one that shares half of its classes.
- ``sample``: English text of the data directory (Multi30k and MNLI, then IWSLT2017), and German.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

from embinit.claims.comparisons import Quantity
from embinit.claims.definitions import Family
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import (
    Cut,
    DataSpec,
    ModelRun,
    ModelSpec,
    PositionSpec,
)
from embinit.registry import require
from embinit.runs.measures import measure
from embinit_studies.extending.extension_runs import ExtensionSpec
from embinit_studies.language_model import LanguageModelSpec

USUAL = "noise"
"""The baseline arm: rows from N(0, 0.02)."""

ARMS: Mapping[str, tuple[str, str]] = {
    "noise": ("noise", ""),
    "mean": ("mean", ""),
    "near-copies": ("mean_resizing", ""),
    "covariance": ("covariance", ""),
    "columns": ("columns", ""),
    "subtokens": ("subtokens", ""),
    "norm-matched": ("subtokens_normed", ""),
    "wechsel": ("wechsel", ""),
    "focus": ("focus", ""),
    "zero": ("zero", ""),
    "zero input": ("zero", "subtokens"),
    "repaired input": ("repair", "subtokens"),
}
"""Each arm's method, and its output table's method where it differs."""

START = Family(
    "extending/start",
    {"micro": 4, "sample": 4},
    says="The start: what new rows do to the first loss",
    origin="ours",
)
ROWS = Family(
    "extending/rows",
    {"micro": 5, "sample": 5},
    says="Rows: near-copies stay alike, and averaged rows are too short",
    origin="ours",
)
ZERO = Family(
    "extending/zero",
    {"micro": 3, "sample": 3},
    says="Zero rows: they cost a step under clipping, and repair removes that",
    origin="ours",
)
LANGUAGE = Family(
    "extending/language",
    {"micro": 4, "sample": 4},
    says="A related language: rows from word vectors are above random ones",
    origin="ours",
)


@dataclass(frozen=True, kw_only=True)
class ExtensionExperiment(ModelExperiment):
    """An experiment whose arms are methods for new tokens' rows.

    Attributes:
        start: The init of the base's table.
    """

    start: str = "normal"

    def __getitem__(self, arm: str) -> Quantity:
        """An arm's metric, one value a seed.

        Raises:
            InputError: There is no such arm.
        """
        _arm(arm)
        return super().__getitem__(arm)

    def run(self, arm: str, seed: int) -> ModelRun:
        """The run of one seed of an arm.

        Raises:
            InputError: There is no such arm.
        """
        method, output_method = _arm(arm)
        recipe = replace(self.recipe, method=method, output_method=output_method)
        return ModelExperiment.run(replace(self, training=recipe), self.start, seed)

    @property
    def recipe(self) -> ExtensionSpec:
        """The training of its runs without the arm's methods."""
        return cast(ExtensionSpec, self.training)

    def label(self, arm: str) -> str:
        """The arm's name."""
        return arm


def _arm(name: str) -> tuple[str, str]:
    require("arm", name, ARMS)
    return ARMS[name]


@dataclass(frozen=True)
class Setting:
    """The setting of a tier.

    Attributes:
        base: The text that the base is trained on, in which some words are cut into pieces.
        words: The text whose words become tokens, in the same language.
        language: The text in the related language.
        helper: How many sentences of each the word vectors are made of.
        model: The model.
        first: How the base is trained.
        then: How it is trained on.
        margins: The margin of the validation loss, in nats a word, by experiment.
        says: What its data and its models are, for people.
    """

    base: DataSpec
    words: DataSpec
    language: DataSpec
    helper: int
    model: ModelSpec
    first: LanguageModelSpec
    then: LanguageModelSpec
    margins: Mapping[str, float]
    says: str


def _decoder(dim: int, layers: int) -> ModelSpec:
    return ModelSpec(
        dim,
        dim // 16,
        layers,
        2 * dim,
        0.0,
        attention="rotary",
        activation="silu",
        norm_position="pre",
        norm="rms",
        gated=True,
        bias=False,
        coupled=True,
    )


def _text(task: str, tokenizer: str, train: int, held_out: int, most: int | None) -> DataSpec:
    return DataSpec(
        task,
        (tokenizer, tokenizer),
        Cut(train, held_out, 1),
        min_freq=1 if most is None else 2,
        max_length=32,
        most_words=most,
    )


SETTINGS = {
    "micro": Setting(
        base=_text("micro-text", "whitespace/2", 4000, 300, None),
        words=_text("micro-more-text", "whitespace", 1000, 300, None),
        language=_text("micro-related-text", "whitespace", 1000, 300, None),
        helper=12_000,
        model=_decoder(32, 2),
        # README.md says how these were chosen.
        first=LanguageModelSpec(batch_size=32, epochs=2, lr=5e-3),
        then=LanguageModelSpec(batch_size=32, epochs=2, lr=3e-3),
        margins={"words": 0.14, "words-untied": 0.063, "language": 0.11},
        says="4,000 sentences that code makes from a seed, then 1,000 more with words as tokens "
        "that the first had in pieces, or in a related language; decoders 32 wide.",
    ),
    "sample": Setting(
        base=_text("en-text", "spacy/3", 12_000, 500, 5000),
        words=_text("en-talks", "spacy", 4000, 500, 5000),
        language=_text("de-text", "spacy", 4000, 500, 5000),
        helper=40_000,
        model=_decoder(96, 4),
        first=LanguageModelSpec(batch_size=32, epochs=2, lr=2e-3),
        then=LanguageModelSpec(batch_size=32, epochs=2, lr=1e-3),
        margins={"words": 0.013, "words-untied": 0.012, "language": 0.036},
        says="English captions and inferences, then talks whose words become tokens, or German "
        "text, cut to what a CPU can train on; decoders 96 wide.",
    ),
}


@cache
def experiments(tier: str) -> tuple[ExtensionExperiment, ...]:
    """The tier's experiments: words as tokens, the same with two tables, a related language.

    Raises:
        KeyError: The paper has no such tier.
    """
    setting = SETTINGS[tier]
    untied = replace(setting.model, coupled=False)

    def made(name: str, text: DataSpec, model: ModelSpec) -> ExtensionExperiment:
        helper = replace(text, cut=replace(text.cut, train=setting.helper), vocabulary=text)
        return ExtensionExperiment(
            name=name,
            tier=tier,
            role=name,
            source="",
            source_label="",
            data=setting.base,
            model=model,
            training=ExtensionSpec(
                setting.first, text, setting.then, USUAL, helper=replace(helper, most_words=None)
            ),
            metric=measure("validation_loss"),
            seeds=3,
            most_seeds=12,
            margin=setting.margins[name],
            positions=PositionSpec("none", "one"),
            baseline=USUAL if model.coupled else "subtokens",
        )

    return (
        made("words", setting.words, setting.model),
        made("words-untied", setting.words, untied),
        made("language", setting.language, setting.model),
    )


def named(name: str) -> Callable[[str], list[ModelExperiment]]:
    """A query for a tier's experiment of a name."""
    return lambda tier: [each for each in experiments(tier) if each.name == name]


words, untied_words, language = named("words"), named("words-untied"), named("language")


def untrained(experiment: ModelExperiment) -> ModelExperiment:
    """The same arms on an untrained base model."""
    assert isinstance(experiment, ExtensionExperiment)
    first = replace(experiment.recipe.base, epochs=0)
    return experiment.with_training("on an untrained base", base=first)
