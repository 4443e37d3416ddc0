"""The paper's experiments on four tiers.

- ``micro``: the synthetic language, no downloads, minutes on a CPU; its tables are embinit's own.
- ``sample``: real text and real vectors from the data directory: SST-2 (judged on 3,872 sentences)
  and Multi30k, and as they are trained MNLI (9,000 training pairs and 1,000 for validation) and
  IWSLT2017 (5,000 training pairs, less those of over 30 tokens, 300 for validation and 300 for
  test). Widths are the vectors' own. GloVe's go to both sides, German ones made of the tasks' own
  German text where none are published in the data directory; MiniLM plays BERT's part on the
  English side, the encoder.
- ``paper``: the paper's twelve experiments (Tables 1 and 5, A.2), for a GPU. Parts of its data sets
  and vectors are refused. Decisions begin at the paper's 3 to 5 seeds and end at 10: by the
  deviations that it prints, 12 of 40 statements have power .8 at the former and 32 at the latter.
- ``full``: the paper's sizes on the data that is public as a whole, for a GPU: SST-2 and Multi30k.
  Stand-ins for vectors are allowed: English GloVe for the encoder alone, MiniLM in BERT's part. The
  experiments of ``without_vectors`` need no vectors.

The settings of ``embinit_papers.settings`` are shared with papers that train the same models; it
says how margins are chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from embinit.errors import InputError
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import Cut, DataSpec, Evaluation, PositionSpec
from embinit.papers import Tier
from embinit.runs.measures import MEASURES
from embinit_papers.settings import (
    MICRO_INFERENCE,
    MICRO_PLAIN_SENTIMENT,
    MICRO_TRANSLATION,
    SAMPLE_MULTI30K,
    SAMPLE_PAIR,
    SAMPLE_SENTENCES,
    SAMPLE_SOURCES,
    SAMPLE_SST2,
    SourceSetting,
    TaskSetting,
    micro_source,
    replicates,
)

SOURCES = ("glove", "bert", "t5")
"""The roles of the paper's three sources; a tier says which source stands for each."""

OTHER_SOURCES = ("word2vec", "fasttext", "elmo")
"""The roles of sources that the paper names for later checks and prints no numbers of."""

LABELS = {
    "glove": "GloVe",
    "bert": "BERT",
    "t5": "T5",
    "word2vec": "word2vec",
    "fasttext": "fastText",
    "elmo": "ELMo",
}


@dataclass(frozen=True)
class Settings(Tier):
    """A tier with the task and the source of each experiment."""

    settings: tuple[tuple[TaskSetting, SourceSetting], ...] = ()
    without_vectors: tuple[tuple[TaskSetting, SourceSetting], ...] = ()  # need none of a source


BOTH_SIDES = {
    "glove": micro_source("glove", "GloVe", "glove-pair"),
    "bert": micro_source("bert", "mBERT", "mbert"),
    "t5": micro_source("t5", "mT5", "mt5"),
}
"""The synthetic translation's sources of both languages; GloVe has a table for each."""

ENCODER_ALONE = {role: micro_source(role, LABELS[role], one_sided=True) for role in LABELS}
"""The sources of the source language, which the encoder reads."""


MULTILINGUAL = (BOTH_SIDES["bert"], BOTH_SIDES["t5"])
"""The sources whose table is one for both languages."""

KNOWN_DRAWS = 8
"""The first draws for both languages, whose runs with multilingual sources are known.

Those sources' standard deviations are measured on them, and their claims judged on the others.
"""


def _micro(role: str) -> Iterator[tuple[TaskSetting, SourceSetting]]:
    """A role's experiments on the synthetic language."""
    source = BOTH_SIDES.get(role, ENCODER_ALONE[role])
    later = replace(MICRO_TRANSLATION, most_seeds=12)
    yield later if source in MULTILINGUAL else MICRO_TRANSLATION, source
    yield MICRO_PLAIN_SENTIMENT, ENCODER_ALONE[role]
    yield MICRO_INFERENCE, ENCODER_ALONE[role]


MICRO = Settings(
    "micro",
    settings=tuple(setting for role in (*SOURCES, *OTHER_SOURCES) for setting in _micro(role)),
    says="a miniature: small models on a synthetic language. Each seed has a data draw: words, "
    "their preferences, all texts with their translations, and the tables trained on its text. "
    "The grammar, the sizes and the models are the same in all. The tables called GloVe, BERT, T5, "
    "word2vec, fastText and ELMo here are 64 wide and were trained by those methods' objectives; "
    "they are not the published ones.",
    made=True,
)

SAMPLE = Settings(
    "sample",
    settings=tuple(
        (task, SAMPLE_PAIR if source.role == "glove" and task.sides > 1 else source)
        for source in (
            *SAMPLE_SOURCES,
            SourceSetting("t5", "t5", "T5", 512, 8, "hf:t5", "spacy", one_sided=True),
            *(
                SourceSetting(role, role, LABELS[role], dim, heads, "spacy", "spacy", True)
                for role, dim, heads in (
                    ("word2vec", 300, 10),
                    ("fasttext", 300, 10),
                    ("elmo", 512, 8),
                )
            ),
        )
        for task in (
            SAMPLE_SENTENCES,
            SAMPLE_MULTI30K,
            replace(
                SAMPLE_SST2,
                role="inference",
                task="mnli",
                cut=Cut(train=9000, validation=1000),
                batch_size=32,
                epochs=3,
                seeds=5,
                most_seeds=None,
            ),
            replace(
                SAMPLE_MULTI30K,
                task="iwslt2017-en-de",
                cut=Cut(train=5000, validation=300, test=300),
                max_length=30,
                seeds=5,
                most_seeds=None,
            ),
        )
    ),
    says="real data cut to what a CPU can train on, and small models: parts of SST-2, MNLI, and of "
    "Multi30k and IWSLT2017 from English to German; GloVe's published vectors (or a subset), in "
    "German published ones or a table made of the tasks' own sentences; MiniLM's table in BERT's "
    "place on the encoder alone; word2vec's, fastText's and ELMo's, where they are.",
)


_SST2 = TaskSetting(
    role="sentiment",
    task="sst2",
    metric="accuracy",
    margin=1.0,
    cut=Cut(),
    layers=3,
    feed_forward=512,
    batch_size=128,
    epochs=5,
    lr=1e-4,
    max_length=128,
    seeds=5,
)
_MULTI30K = replace(
    _SST2,
    role="translation",
    task="multi30k-de-en",
    metric="bleu",
    epochs=20,
    lr=2e-4,
    sides=2,
    seeds=4,
    validation_bleu=True,
)

_ENGLISH = {
    "glove": SourceSetting("glove", "glove-whole", "GloVe", 300, 10, "spacy", "spacy"),
    "bert": SourceSetting("bert", "bert", "BERT", 768, 8, "hf:bert", "hf:bert"),
    "t5": SourceSetting("t5", "t5", "T5", 512, 8, "hf:t5", "hf:t5"),
}
_BILINGUAL = {
    "glove": SourceSetting("glove", "glove-de-en", "GloVe", 300, 10, "spacy", "spacy"),
    "bert": SourceSetting("bert", "mbert", "mBERT", 768, 8, "hf:mbert", "hf:mbert"),
    "t5": SourceSetting("t5", "mt5", "mT5", 768, 8, "hf:mt5", "hf:mt5"),
}

WHOLE = {
    "sst2": Cut(67_000, 870),
    "mnli": Cut(392_000, 9_800, 9_800),
    "multi30k-de-en": Cut(28_900, 1_000, 1_000),
    "iwslt2017-de-en": Cut(200_000, 880, 8_000),
}
"""The least sizes of the paper's data sets: theirs, rounded down."""

# Table 5: MNLI's epochs and the batches of the translation tasks differ from source to source.
PAPER = Settings(
    "paper",
    settings=tuple(
        (replace(task, most_seeds=10, whole=WHOLE[task.task]), source)
        for role, mnli_epochs, multi30k_batch, iwslt_batch in (
            ("glove", 9, 64, 128),
            ("bert", 10, 128, 128),
            ("t5", 10, 96, 112),
        )
        for task, source in (
            (_SST2, _ENGLISH[role]),
            (
                replace(_SST2, role="inference", task="mnli", epochs=mnli_epochs, seeds=3),
                _ENGLISH[role],
            ),
            (replace(_MULTI30K, batch_size=multi30k_batch), _BILINGUAL[role]),
            (
                replace(_MULTI30K, task="iwslt2017-de-en", min_freq=5, batch_size=iwslt_batch),
                _BILINGUAL[role],
            ),
        )
    ),
    says="the paper's own data, sizes and settings (its sections 4, A.1 and A.2).",
    own_size=True,
)


_OF_12_SEEDS = replace(_SST2, seeds=12)
_OF_6_SEEDS = replace(_MULTI30K, seeds=6, validation_bleu=False)

# Batches are those of Table 5 for the source that is stood in for.
FULL = Settings(
    "full",
    settings=(
        # Two cores train six seeds of an arm in an hour; another six are for what is undecided.
        (replace(_SST2, seeds=6, most_seeds=12), SAMPLE_SOURCES[0]),
        (replace(_MULTI30K, task="multi30k-en-de", batch_size=64, seeds=8), SAMPLE_SOURCES[0]),
        (_OF_12_SEEDS, SourceSetting("bert", "minilm", "MiniLM", 384, 8, "hf:minilm", "hf:minilm")),
        (replace(_OF_6_SEEDS, task="multi30k-en-de"), SAMPLE_SOURCES[1]),
    ),
    without_vectors=(
        (replace(_OF_6_SEEDS, batch_size=64), replace(_BILINGUAL["glove"], source="")),
        (_OF_12_SEEDS, replace(_ENGLISH["t5"], source="t5-printed")),
        (_OF_12_SEEDS, replace(_ENGLISH["bert"], source="bert-printed")),
        (_OF_6_SEEDS, replace(_BILINGUAL["bert"], source="mbert-printed")),
    ),
    says="all of SST-2 and Multi30k, at the paper's sizes and settings, with the vectors that can "
    "be had: GloVe's (or a subset) for English, MiniLM's table in BERT's place. Xavier's arms with "
    "the tokenizers of T5, BERT and mBERT are the paper's own.",
    own_size=True,
)

TIERS = {tier.name: tier for tier in (MICRO, SAMPLE, PAPER, FULL)}


def settings(tier: str) -> Settings:
    """The settings of a tier; InputError if the paper has no such tier."""
    try:
        return TIERS[tier]
    except KeyError:
        raise InputError(f"unknown tier {tier!r}: known are {', '.join(TIERS)}") from None


def experiments(
    name: str,
    sources: Sequence[str] = SOURCES,
    roles: Sequence[str] = ("translation", "sentiment", "inference"),
) -> list[ModelExperiment]:
    """The tier's experiments: each of its tasks with each of some sources."""
    return [
        task.experiment(name, source, **_replicates(name, source))
        for task, source in settings(name).settings
        if source.role in sources and task.role in roles
    ]


def _replicates(tier: str, source: SourceSetting) -> dict[str, Any]:
    """What an experiment's seeds are, by the languages of its tables."""
    made = replicates(tier, source in BOTH_SIDES.values())
    if source not in MULTILINGUAL or made["data_draws"] is None:
        return made
    known, later = made["data_draws"][:KNOWN_DRAWS], made["data_draws"][KNOWN_DRAWS:]
    return {"data_draws": later, "registering_draws": known, "claims_from": KNOWN_DRAWS}


def encoder_alone(experiment: ModelExperiment) -> ModelExperiment:
    """The experiment without embeddings on the decoder, on the draws that such ones have."""
    if not any(both.source == experiment.source for both in BOTH_SIDES.values()):
        return experiment
    source = ENCODER_ALONE[experiment.source_role]
    return replace(
        experiment,
        source=source.source,
        source_label=source.label,
        one_sided=True,
        **replicates(experiment.tier),
    )


def without_vectors(name: str) -> list[ModelExperiment]:
    """The tier's experiments whose arms need no vectors of a source.

    They have Xavier, and Xavier stretched to the mean and sigma that the paper prints of a table
    (``stand_ins``); only ``full`` has any.
    """
    return [
        task.experiment(
            name, source, name=f"{source.role}-{task.task}-no-vectors", **replicates(name)
        )
        for task, source in settings(name).without_vectors
    ]


RIGHT = replace(MEASURES["accuracy"], unit="% right")
"""The measure of probes: the share of right answers, without a paired test over questions."""

PROBE_MARGIN = 2.5
"""The margin of word relations in percent: one in forty, next to effects of 70 in print."""

DECODER = DataSpec("multi30k-de-en", ("spacy", "spacy"), Cut(), max_length=128)
"""The data whose decoder's 5,893 words Table 4 is about (A.2): all of Multi30k."""

POSITIONS = {"micro": 8, "sample": 14, "paper": 14}
"""How many positions Table 4's words are put at; the paper doesn't say.

As many as the decoder reads at the mean: 14.1 tokens of a training sentence of Multi30k, and 7.9 to
8.0 of the synthetic translation in each of the ten data draws for registering.
"""


def probes(name: str) -> list[ModelExperiment]:
    """The tier's evaluation of English GloVe on word analogies; nothing is trained."""
    known = settings(name)
    task, vocabulary = ("micro-neighbours", None) if known is MICRO else ("analogies", DECODER)
    positions = POSITIONS.get(name, POSITIONS["paper"])
    setting = ENCODER_ALONE["glove"] if known is MICRO else known.settings[0][1]
    return [
        ModelExperiment(
            name=f"{setting.role}-{task}",
            tier=name,
            role="analogies",
            source=setting.source,
            source_label=setting.label,
            data=DataSpec(task, (), Cut(), max_length=positions, vocabulary=vocabulary),
            model=None,
            training=Evaluation(),
            metric=RIGHT,
            seeds=5,
            most_seeds=20,
            margin=PROBE_MARGIN,
            source_role=setting.role,
            positions=PositionSpec(kind="none", multiplier="one"),
            trained=False,
            **replicates(name),
        )
    ]
