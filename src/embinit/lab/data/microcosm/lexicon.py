"""The words of the made language, their classes, and the preferences between classes.

Everything here is drawn from ``SEED`` and the number of a data draw, once for each. A class is a
set of near-synonyms; all its words have one translation, and one set of preferences.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Literal

import numpy as np

SOURCE_LANGUAGE, TARGET_LANGUAGE = "micro-source", "micro-target"
RELATED_LANGUAGE = "micro-related"

SEED = 20240716
Part = Literal["noun", "verb", "report", "adjective", "adverb"]
CLASSES: dict[Part, tuple[int, int]] = {
    "noun": (60, 8),
    "verb": (20, 6),
    "report": (2, 6),
    "adjective": (16, 8),
    "adverb": (6, 4),
}
"""The number of classes of each part of speech, and of synonyms in each class."""

FUNCTION_WORDS = ("definite", "indefinite", "not", "but", "and", "that", "of", "is")
CONCENTRATION = 0.15
"""The parameter of the preferences' Dirichlet: a class mostly prefers one to five others."""


@dataclass(frozen=True)
class Word:
    """A content word: the ``synonym``-th of the ``group``-th class of its part of speech."""

    part: Part
    group: int
    synonym: int


@dataclass(frozen=True)
class Lexicon:
    """The words of both languages by part of speech and class, and function words by name."""

    source: dict[Part, tuple[tuple[str, ...], ...]]  # the synonyms of each class
    target: dict[Part, tuple[str, ...]]  # one word a class
    source_function: dict[str, str]
    target_function: dict[str, str]


@dataclass(frozen=True)
class Preferences:
    """Probabilities of the dependent's class, a row for each class of the governing word."""

    subject: tuple[tuple[float, ...], ...]  # of a verb
    object: tuple[tuple[float, ...], ...]  # of a verb
    speaker: tuple[tuple[float, ...], ...]  # the subject of a verb of reporting
    adjective: tuple[tuple[float, ...], ...]  # of a noun
    adverb: tuple[tuple[float, ...], ...]  # of a verb


def generator(*purpose: str, draw: int = 0) -> np.random.Generator:
    """The random stream of one purpose on one data draw, below 2³²; all are independent."""
    names = (zlib.crc32(name.encode()) for name in purpose)
    return np.random.default_rng([SEED, *([draw] if draw else []), *names])


def _coin_words(rng: np.random.Generator, onsets: str, vowels: str, codas: str) -> Iterator[str]:
    """Pronounceable words of two or three syllables, no two alike."""
    coined: set[str] = set()
    while True:
        syllables = 2 + int(rng.random() < 0.4)
        letters = [group[int(rng.random() * len(group))] for group in (onsets, vowels) * syllables]
        word = "".join(letters) + codas[int(rng.random() * len(codas))]
        if word not in coined:
            coined.add(word)
            yield word


@cache
def lexicon(draw: int = 0) -> Lexicon:
    """All words of a draw's two languages. They end differently, so no word is of both."""
    source = _coin_words(generator("source words", draw=draw), "bdgklmnprst", "aeiou", "lnrs")
    target = _coin_words(generator("target words", draw=draw), "bcfhjlmpvwz", "aeiouy", "dkmt")
    return Lexicon(
        source={
            part: tuple(tuple(islice(source, synonyms)) for _ in range(groups))
            for part, (groups, synonyms) in CLASSES.items()
        },
        target={part: tuple(islice(target, groups)) for part, (groups, _) in CLASSES.items()},
        source_function=dict(zip(FUNCTION_WORDS, source, strict=False)),
        target_function=dict(zip(FUNCTION_WORDS, target, strict=False)),
    )


@cache
def preferences(draw: int = 0) -> Preferences:
    """The preferences between a draw's classes, drawn once."""

    def table(name: str, governors: Part, dependents: Part) -> tuple[tuple[float, ...], ...]:
        width = CLASSES[dependents][0]
        rng = generator("preferences", name, draw=draw)
        rows = rng.dirichlet(np.full(width, CONCENTRATION), size=CLASSES[governors][0])
        return tuple(tuple(row.tolist()) for row in rows)

    return Preferences(
        subject=table("subject", "verb", "noun"),
        object=table("object", "verb", "noun"),
        speaker=table("speaker", "report", "noun"),
        adjective=table("adjective", "noun", "adjective"),
        adverb=table("adverb", "verb", "adverb"),
    )


def favourable(adjective: Word) -> bool:
    """Whether an adjective is favourable, which its class decides."""
    return adjective.group % 2 == 0


def antonym_group(group: int) -> int:
    """The adjective class of opposite meaning, and so of opposite polarity."""
    return group ^ 1


@cache
def synonym_groups(draw: int = 0) -> dict[str, int]:
    """The class of each content word of a draw's source language, by the word.

    Classes are numbered over all parts of speech.
    """
    groups = [group for part in lexicon(draw).source.values() for group in part]
    return {word: number for number, group in enumerate(groups) for word in group}


@cache
def language_digest(draw: int) -> str:
    """A digest of a draw's words and preferences, so that a table tells whose text it is from.

    Preferences count to six digits, since the last bits of a gamma variate are the machine's own.
    """
    rows = [
        [[round(share, 6) for share in row] for row in table]
        for table in vars(preferences(draw)).values()
    ]
    return hashlib.sha256(repr((lexicon(draw), rows)).encode()).hexdigest()[:16]
