"""Draws sentences of the made language, and deals them out to the tasks and the unlabelled text.

How often each construction occurs is decided here, once for labelled and unlabelled text.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from functools import cache
from itertools import accumulate, islice
from typing import Literal

import numpy as np

from embinit.data.microcosm.grammar import (
    Action,
    Judgement,
    NounPhrase,
    Opinion,
    Report,
    Sentence,
    in_source,
)
from embinit.data.microcosm.lexicon import (
    CLASSES,
    Part,
    Word,
    antonym_group,
    generator,
    preferences,
)
from embinit.errors import InputError

Share = Literal["test", "validation", "train", "unlabelled"]
_SHARES: tuple[Share, ...] = ("test", "validation", "train") + 5 * ("unlabelled",)


@cache
def _zipf(size: int) -> tuple[float, ...]:
    return tuple(1 / rank for rank in range(1, size + 1))


@cache
def _cumulative(weights: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(accumulate(weights))


class Writer:
    """Draws sentences from one random stream.

    Only ``random()`` is drawn, and classes and synonyms found from it by inversion: the bits of a
    uniform number are stable over numpy's versions, its samplers need not be.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._random = rng.random

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return float(self._random()) < probability

    def below(self, size: int) -> int:
        """A uniform whole number from 0 to ``size`` - 1."""
        return int(self._random() * size)

    def pick(self, weights: tuple[float, ...]) -> int:
        """An index, with probability proportional to its weight."""
        cumulative = _cumulative(weights)
        index = bisect_right(cumulative, float(self._random()) * cumulative[-1])
        return min(index, len(weights) - 1)

    def word(self, part: Part, group: int) -> Word:
        """A word of a class, Zipf-distributed over its synonyms."""
        return Word(part, group, self.pick(_zipf(CLASSES[part][1])))

    def noun_phrase(self, group: int, adjective: float = 0.0, owner: float = 0.0) -> NounPhrase:
        """A phrase about a noun class; ``adjective`` and ``owner`` are probabilities."""
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
        """An adjective that the noun class prefers, of one polarity or (None) of either."""
        weights = list(preferences().adjective[noun_group])
        if polarity is not None:
            weights[int(polarity) :: 2] = [0.0] * (len(weights) // 2)
        return self.word("adjective", self.pick(tuple(weights)))

    def action(
        self,
        adjective: float = 0.35,
        adverb: float = 0.3,
        owner: float = 0.15,
        verbs: int = CLASSES["verb"][0],
    ) -> Action:
        """A statement with a verb of the first ``verbs`` classes, one in five negated.

        ``adjective`` (for each noun), ``adverb`` and ``owner`` (of the object) are probabilities.
        """
        group = self.below(verbs)
        prefers = preferences()
        subject = self.noun_phrase(self.pick(prefers.subject[group]), adjective)
        verb = self.word("verb", group)
        object_ = self.noun_phrase(self.pick(prefers.object[group]), adjective, owner)
        negated = self.chance(0.2)
        manner = self.word("adverb", self.pick(prefers.adverb[group]))
        return Action(subject, verb, object_, negated, manner if self.chance(adverb) else None)

    def opinion(self) -> Opinion:
        """A favourable or unfavourable opinion, evenly, so that the noun doesn't tell it.

        A is said, or an adjective of the other polarity denied, or both ('not A but B', 'B but not
        A'), or two of one polarity are said ('A and B').
        """
        noun_group = self.below(CLASSES["noun"][0])
        subject = self.noun_phrase(noun_group, adjective=0.15, owner=0.25)
        adverb = self.word("adverb", self.below(CLASSES["adverb"][0])) if self.chance(0.5) else None
        wanted = self.chance(0.5)
        said = Judgement(self.adjective(noun_group, wanted))
        kind = self.pick((9.0, 3.0, 6.0, 2.0))
        if kind == 0:
            return Opinion(subject, (said,), adverb=adverb)
        if kind == 1:
            denied = Judgement(self.adjective(noun_group, not wanted), negated=True)
            return Opinion(subject, (denied,), adverb=adverb)
        if kind == 2:
            opposite = self.word("adjective", antonym_group(said.adjective.group))
            pair = (Judgement(opposite, negated=True), said)
            return Opinion(subject, pair if self.chance(0.5) else pair[::-1], "but", adverb)
        other = Judgement(self.adjective(noun_group, wanted))
        return Opinion(subject, (said, other), "and", adverb)

    def sentence(self) -> Sentence:
        """A plain sentence of the language: six in ten actions, three opinions, one report."""
        kind = self.pick((6.0, 3.0, 1.0))
        if kind == 0:
            return self.action()
        if kind == 1:
            return self.opinion()
        group = self.below(CLASSES["report"][0])
        speaker = self.noun_phrase(self.pick(preferences().speaker[group]))
        return Report(
            speaker, self.word("report", group), self.action(adjective=0.2, adverb=0.1, owner=0.0)
        )


def share(text: str) -> Share:
    """The share of the language's text that a sentence belongs to, by its checksum."""
    return _SHARES[zlib.crc32(text.encode()) % len(_SHARES)]


def unlabelled(count: int) -> list[str]:
    """``count`` sentences of the source language, none of which is in a task.

    The first sentences are the same for every count.
    """
    if count < 0:
        raise InputError(f"unlabelled({count}): ask for 0 sentences or more")
    writer = Writer(generator("unlabelled"))
    texts = (in_source(writer.sentence()) for _ in iter(int, 1))
    return list(islice((text for text in texts if share(text) == "unlabelled"), count))
