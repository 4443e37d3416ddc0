"""Tasks and sources of the first paper's models, and how claims are stated; all papers share them.

- ``micro``: the synthetic language, no downloads, minutes on a CPU (docs/noise-floor.md says how
  its settings were chosen).
- ``sample``: real text from the data directory, cut to what two CPU cores can train: SST-2
  to 30,000 training phrases and the whole validation split, 3 epochs at 5e-4, 1 layer (from 4,000
  phrases Xavier learns less: 73.5 % for 80.5), or less 3,000 of its sentences, which are judged on
  beside validation (78.6 %); Multi30k to 3,000 training pairs, 300 for validation
  and 300 for test, 4 epochs at 7e-4, 1 + 1 layers. Batches are small, since that learns as much in
  fewer epochs.

A margin is the smallest difference that matters to a user: one number for each task of a tier,
fixed before any run that it judges. On real text it is 1 BLEU or 1 point, since a smaller gain is
no reason to change an initialization. Scores on the synthetic language mean nothing elsewhere; its
margins are a twentieth of what Xavier learns above guessing, rounded up to half a unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from embinit.claims.definitions import Family, claim
from embinit.claims.statements import Statement
from embinit.lab.data.microcosm.draws import (
    BILINGUAL_CLAIMING,
    BILINGUAL_REGISTERING,
    CLAIMING,
    REGISTERING,
)
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import Cut, DataSpec, ModelSpec, TrainingSpec
from embinit.runs.measures import MEASURES

DATA_DRAWS: dict[str, range] = {"micro": CLAIMING}
"""The data draws of a tier's claims, one a seed. Real text is one for all seeds."""

CLAIMS_FROM = {"sample": 300, "full": 100}
"""The seed that a tier's claims begin at.

Runs of earlier seeds were looked at, under other margins, before today's claims were registered:
those of ``sample`` with bfloat16 products, those of ``full`` as runs of ``paper``.
"""


def replicates(tier: str, bilingual: bool = False) -> dict[str, Any]:
    """The fields of an experiment that say what its seeds are.

    ``bilingual`` experiments have embeddings of both languages, and data draws of their own.
    """
    claiming, registering = DATA_DRAWS.get(tier), REGISTERING
    if bilingual and claiming is not None:
        claiming, registering = BILINGUAL_CLAIMING, BILINGUAL_REGISTERING
    first = CLAIMS_FROM.get(tier, 0)
    return {"data_draws": claiming, "registering_draws": registering, "claims_from": first}


@dataclass(frozen=True)
class SourceSetting:
    """A tier's source, and the sizes of a model of its width."""

    role: str  # the first paper's source that this one represents
    source: str
    label: str  # its name for people
    dim: int  # the width of its vectors, and so of the model
    heads: int
    tokenizer: str  # the encoder's
    decoder_tokenizer: str
    one_sided: bool = False  # it has one of a translation's languages alone


@dataclass(frozen=True)
class TaskSetting:
    """A tier's task: data, model and training. The model's width is the source's."""

    role: str  # what it represents (``translation``, ``sentiment``, ``inference``)
    task: str
    metric: str
    margin: float
    cut: Cut
    layers: int  # of the encoder, and of the decoder where there is one
    feed_forward: int
    batch_size: int
    epochs: int
    lr: float
    sides: int = 1  # how many tokenizers it takes: 2 for translation
    min_freq: int = 2
    max_length: int = 64
    seeds: int = 5  # of an arm at the first analysis
    most_seeds: int | None = None  # at the last; None means that there is no other
    validation_bleu: bool = False
    whole: Cut | None = None  # the least sizes, where no part may stand in for the whole

    def experiment(self, tier: str, source: SourceSetting, **more: Any) -> ModelExperiment:
        """The task with a source; ``more`` are other fields of the experiment."""
        tokenizers = (source.tokenizer, source.decoder_tokenizer)[: self.sides]
        fields: dict[str, Any] = {
            "name": f"{source.role}-{self.task}",
            "tier": tier,
            "role": self.role,
            "source": source.source,
            "source_label": source.label,
            "data": DataSpec(
                self.task, tokenizers, self.cut, self.min_freq, self.max_length, whole=self.whole
            ),
            "model": ModelSpec(source.dim, source.heads, self.layers, self.feed_forward),
            "training": TrainingSpec(
                self.batch_size, self.epochs, self.lr, validation_bleu=self.validation_bleu
            ),
            "metric": MEASURES[self.metric],
            "seeds": self.seeds,
            "margin": self.margin,
            "source_role": source.role,
            "most_seeds": self.most_seeds,
            "one_sided": source.one_sided and self.sides > 1,
        }
        return ModelExperiment(**fields | more)


MICRO_SENTIMENT = TaskSetting(
    role="sentiment",
    task="micro-sentiment",
    metric="accuracy",
    margin=1.5,  # a twentieth of 27.4 points
    cut=Cut(),
    layers=1,
    feed_forward=128,
    batch_size=16,
    epochs=2,
    lr=1.5e-3,
    min_freq=1,
    seeds=3,
    most_seeds=20,
)
MICRO_PLAIN_SENTIMENT = replace(
    MICRO_SENTIMENT,
    task="micro-sentiment-plain",
    margin=2.0,  # a twentieth of 36.6 points
)
"""Opinions with fewer negations, which Xavier's seeds learn evenly (see docs/noise-floor.md)."""

MICRO_INFERENCE = replace(
    MICRO_SENTIMENT,
    role="inference",
    task="micro-inference",
    margin=2.5,  # a twentieth of 40.7 points
    batch_size=24,
    lr=1e-3,
)
MICRO_TRANSLATION = replace(
    MICRO_SENTIMENT,
    role="translation",
    task="micro-translation",
    metric="bleu",
    margin=4.5,  # a twentieth of 80.9 BLEU
    batch_size=24,
    epochs=4,
    lr=2e-3,
    sides=2,
    validation_bleu=True,
)

SAMPLE_SST2 = TaskSetting(
    role="sentiment",
    task="sst2",
    metric="accuracy",
    margin=1.0,
    cut=Cut(train=30_000),
    layers=1,
    feed_forward=512,
    batch_size=64,
    epochs=3,
    lr=5e-4,
    seeds=3,
    most_seeds=12,
)
SAMPLE_SENTENCES = replace(SAMPLE_SST2, task="sst2-sentences")
"""SST-2 with 3,872 validation sentences in place of 872, at as many training phrases.

Its standard deviation over seeds is less. Scores can't be compared with those of ``SAMPLE_SST2``.
"""
SAMPLE_MULTI30K = TaskSetting(
    role="translation",
    task="multi30k-en-de",
    metric="bleu",
    margin=1.0,
    cut=Cut(train=3000, validation=300, test=300),
    layers=1,
    feed_forward=512,
    batch_size=16,
    epochs=4,
    lr=7e-4,
    seeds=3,
    most_seeds=12,
    sides=2,
    max_length=40,
)

SAMPLE_SOURCES = (
    SourceSetting("glove", "glove", "GloVe", 300, 10, "spacy", "spacy", one_sided=True),
    SourceSetting("bert", "minilm", "MiniLM", 384, 8, "hf:minilm", "spacy", one_sided=True),
)
"""The published vectors of ``sample``; MiniLM plays BERT's part."""

SAMPLE_PAIR = replace(SAMPLE_SOURCES[0], source="glove-en-de", one_sided=False)
"""GloVe's vectors for both sides of a translation, German ones of one's own making if need be."""


def micro_source(role: str, label: str, table: str = "", one_sided: bool = False) -> SourceSetting:
    """One of ``micro``'s own tables, which are 64 wide, in the part of the paper's source.

    ``table`` names another than that of its role.
    """
    source = f"micro-{table or role}"
    return SourceSetting(role, source, label, 64, 2, "whitespace", "whitespace", one_sided)


def sigma_at(ratio: float, dim: int) -> float:
    """The standard deviation of a table D wide of R = 2 D σ².

    R is the energy of the words over that of sinusoids, where the table is multiplied by √D.
    """
    return math.sqrt(ratio / (2 * dim))


def claim_in(families: Iterable[Family]) -> Callable[..., Statement]:
    """``embinit.claim`` for claims of some families, by default of the one that the id begins with.

    ``family`` is the name of another.
    """
    known = {family.name: family for family in families}

    def stated(id: str, *, family: str = "", **given: Any) -> Statement:
        return claim(id, family=known.get(family or id.rpartition("/")[0]), **given)

    return stated
