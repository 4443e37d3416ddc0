"""Draws sentences of the made language, and assigns them to the tasks or the unlabelled text.

The frequency of each construction is decided here, once for labelled and unlabelled text. A task of
opinions may weigh their kinds otherwise.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate, islice
from typing import Literal

import numpy as np

from embinit.errors import InputError
from embinit.lab.data.microcosm.grammar import (
    Action,
    Judgement,
    NounPhrase,
    Opinion,
    Report,
    Sentence,
    in_source,
    in_target,
)
from embinit.lab.data.microcosm.lexicon import (
    CLASSES,
    Part,
    Word,
    antonym_group,
    generator,
    preferences,
)

Share = Literal["test", "validation", "train", "unlabelled"]
_SHARES: tuple[Share, ...] = ("test", "validation", "train") + 5 * ("unlabelled",)


DRAWN_AT_ONCE = 1024
Weights = tuple[float, ...]


def _cumulative(weights: Iterable[float]) -> Weights:
    return tuple(accumulate(weights))


@cache
def _zipf(size: int) -> Weights:
    return _cumulative(1 / rank for rank in range(1, size + 1))


@cache
def _preferred(draw: int) -> dict[str, tuple[Weights, ...]]:
    """The preferences between classes, each row cumulative, by name."""
    rows: dict[str, tuple[Weights, ...]] = {
        name: tuple(_cumulative(row) for row in getattr(preferences(draw), name))
        for name in ("subject", "object", "speaker", "adjective", "adverb")
    }
    # Adjectives of even classes are favourable.
    for name, start in (("unfavourable", 1), ("favourable", 0)):
        rows[name] = tuple(
            _cumulative(weight if group % 2 == start else 0.0 for group, weight in enumerate(row))
            for row in preferences(draw).adjective
        )
    return rows


OpinionWeights = tuple[float, float, float, float]
"""How often an opinion says an adjective, denies one, does both, or says two."""

OPINIONS: OpinionWeights = (9.0, 3.0, 6.0, 2.0)
"""The weights in unlabelled text."""


_SENTENCES = _cumulative((6.0, 3.0, 1.0))


def _uniform(rng: np.random.Generator) -> Iterator[float]:
    """The numbers that ``rng.random()`` gives one by one, drawn many at once for speed."""
    while True:
        yield from rng.random(DRAWN_AT_ONCE).tolist()


class Writer:
    """Draws sentences from one random stream.

    Only uniform numbers are drawn; classes and synonyms follow by inversion. The bits of a uniform
    number are stable over numpy's versions, those of its samplers need not be.
    """

    def __init__(self, rng: np.random.Generator, draw: int = 0) -> None:
        """A writer with the preferences of a data draw."""
        self._random = _uniform(rng).__next__
        self.draw, self._preferred = draw, _preferred(draw)

    def chance(self, probability: float) -> bool:
        """Draws True with this probability."""
        return self._random() < probability

    def below(self, size: int) -> int:
        """Draws a uniform whole number from 0 to ``size`` - 1."""
        return int(self._random() * size)

    def pick(self, cumulative: Weights) -> int:
        """Draws an index by the cumulative weights of all."""
        index = bisect_right(cumulative, self._random() * cumulative[-1])
        return min(index, len(cumulative) - 1)

    def word(self, part: Part, group: int) -> Word:
        """Draws a word of a class, Zipf-distributed over its synonyms."""
        return Word(part, group, self.pick(_zipf(CLASSES[part][1])))

    def noun_phrase(self, group: int, adjective: float = 0.0, owner: float = 0.0) -> NounPhrase:
        """Draws a phrase of a noun of a class; with an adjective and an owner by probabilities."""
        noun = self.word("noun", group)
        definite = self.chance(0.6)
        described = self.chance(adjective)
        return NounPhrase(
            noun=noun,
            definite=definite,
            adjective=self.adjective(group) if described else None,
            owner=self.noun_phrase(self.below(CLASSES["noun"][0])) if self.chance(owner) else None,
        )

    def adjective(self, noun_group: int, polarity: bool | None = None) -> Word:
        """Draws an adjective that a noun class prefers, of one polarity (favourable) or of any."""
        name = {None: "adjective", True: "favourable", False: "unfavourable"}[polarity]
        return self.word("adjective", self.pick(self._preferred[name][noun_group]))

    def action(
        self,
        adjective: float = 0.35,
        adverb: float = 0.3,
        owner: float = 0.15,
        verbs: int = CLASSES["verb"][0],
    ) -> Action:
        """Draws an action of one of the first so many ``verbs`` classes. One in five is negated.

        The others are probabilities: of each noun's adjective, an adverb, and the object's owner.
        """
        group = self.below(verbs)
        prefers = self._preferred
        subject = self.noun_phrase(self.pick(prefers["subject"][group]), adjective)
        verb = self.word("verb", group)
        object_ = self.noun_phrase(self.pick(prefers["object"][group]), adjective, owner)
        negated = self.chance(0.2)
        manner = self.word("adverb", self.pick(prefers["adverb"][group]))
        return Action(subject, verb, object_, negated, manner if self.chance(adverb) else None)

    def opinion(self, weights: OpinionWeights = OPINIONS) -> Opinion:
        """Draws an opinion. It is favourable in one of two, so the noun does not predict it.

        An adjective is said, or one of the other polarity is denied, or both ('not A but B', 'B but
        not A'), or two of one polarity are said ('A and B'): each as often as its weight says.
        """
        noun_group = self.below(CLASSES["noun"][0])
        subject = self.noun_phrase(noun_group, adjective=0.15, owner=0.25)
        adverb = self.word("adverb", self.below(CLASSES["adverb"][0])) if self.chance(0.5) else None
        polarity = self.chance(0.5)
        stated = Judgement(self.adjective(noun_group, polarity))
        kind = self.pick(_cumulative(weights))
        if kind == 0:
            return Opinion(subject, (stated,), adverb=adverb)
        if kind == 1:
            denied = Judgement(self.adjective(noun_group, not polarity), negated=True)
            return Opinion(subject, (denied,), adverb=adverb)
        if kind == 2:
            opposite = self.word("adjective", antonym_group(stated.adjective.group))
            pair = (Judgement(opposite, negated=True), stated)
            return Opinion(subject, pair if self.chance(0.5) else pair[::-1], "but", adverb)
        second = Judgement(self.adjective(noun_group, polarity))
        return Opinion(subject, (stated, second), "and", adverb)

    def sentence(self) -> Sentence:
        """Draws a sentence: six in ten are actions, three opinions, one a report."""
        kind = self.pick(_SENTENCES)
        if kind == 0:
            return self.action()
        if kind == 1:
            return self.opinion()
        group = self.below(CLASSES["report"][0])
        speaker = self.noun_phrase(self.pick(self._preferred["speaker"][group]))
        return Report(
            speaker, self.word("report", group), self.action(adjective=0.2, adverb=0.1, owner=0.0)
        )


def share(text: str) -> Share:
    """The share of the language's text that a sentence belongs to, by its checksum."""
    return _SHARES[zlib.crc32(text.encode()) % len(_SHARES)]


def unlabelled(count: int, draw: int = 0, target: bool = False) -> list[str]:
    """Draws ``count`` sentences of a draw's source language, none of which is in a labelled task.

    The first sentences are the same for every count. With ``target`` they are other sentences, in
    the target language. InputError if ``count`` is negative.
    """
    if count < 0:
        raise InputError(f"unlabelled({count}): ask for 0 sentences or more")
    writer = Writer(generator("unlabelled", *["target"] * target, draw=draw), draw)
    drawn = (writer.sentence() for _ in iter(int, 1))
    kept = (one for one in drawn if share(in_source(one, draw)) == "unlabelled")
    language = in_target if target else in_source
    return [language(sentence, draw) for sentence in islice(kept, count)]
