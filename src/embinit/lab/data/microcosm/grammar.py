"""Sentences as trees, and their words in each language.

The languages differ in one parameter that turns every phrase round (Greenberg 1963, universals 2 to
5 and 17): the source is head-final (subject, object, verb; adjective, noun), the target
head-initial (subject, verb, object; noun, adjective).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from embinit.lab.data.microcosm.lexicon import Word, favourable, lexicon


@dataclass(frozen=True)
class NounPhrase:
    """'the (A) N', or with an owner 'the O's (A) N'."""

    noun: Word
    definite: bool
    adjective: Word | None = None
    owner: NounPhrase | None = None


@dataclass(frozen=True)
class Action:
    """A subject does, or does not do, something to an object; perhaps with an adverb."""

    subject: NounPhrase
    verb: Word
    object: NounPhrase
    negated: bool = False
    adverb: Word | None = None


@dataclass(frozen=True)
class Judgement:
    """An adjective that is said of a subject, or denied."""

    adjective: Word
    negated: bool = False


@dataclass(frozen=True)
class Opinion:
    """A subject is A, not A, A and B, not A but B, or B but not A."""

    subject: NounPhrase
    judgements: tuple[Judgement, ...]
    link: Literal["and", "but"] = "but"
    adverb: Word | None = None


@dataclass(frozen=True)
class Report:
    """Somebody says that somebody does something."""

    speaker: NounPhrase
    verb: Word
    content: Action


Sentence = Action | Opinion | Report


def holds_good(opinion: Opinion) -> bool:
    """Whether an opinion is favourable, by the polarity of what it says, not of what it denies."""
    judgement = opinion.judgements[0]
    return favourable(judgement.adjective) != judgement.negated


@dataclass(frozen=True)
class _Language:
    """One language's words and word order: dependents precede their head if ``head_final``."""

    content: Callable[[Word], str]
    function: Mapping[str, str]
    head_final: bool

    def order(self, dependent: list[str], head: list[str]) -> list[str]:
        return dependent + head if self.head_final else head + dependent

    def word(self, word: Word | None) -> list[str]:
        return [self.content(word)] if word else []

    def sign(self, name: str, present: bool = True) -> list[str]:
        return [self.function[name]] if present else []

    def phrase(self, phrase: NounPhrase) -> list[str]:
        article = self.sign("definite" if phrase.definite else "indefinite")
        named = article + self.order(self.word(phrase.adjective), self.word(phrase.noun))
        if phrase.owner is None:
            return named
        return self.order(self.order(self.phrase(phrase.owner), self.sign("of")), named)

    def judgements(self, opinion: Opinion) -> list[str]:
        words: list[str] = []
        for judgement in opinion.judgements:
            negation = self.sign("not", judgement.negated)
            words += self.sign(opinion.link, bool(words))
            words += self.order(negation, self.word(judgement.adjective))
        return words

    def sentence(self, sentence: Sentence) -> list[str]:
        if isinstance(sentence, Report):
            content = self.order(self.sentence(sentence.content), self.sign("that"))
            return self.phrase(sentence.speaker) + self.order(content, self.word(sentence.verb))
        subject, adverb = self.phrase(sentence.subject), self.word(sentence.adverb)
        if isinstance(sentence, Opinion):
            opinion = subject + self.order(self.judgements(sentence), self.sign("is"))
            return self.order(adverb, opinion)
        verb = self.order(self.sign("not", sentence.negated), self.word(sentence.verb))
        predicate = self.order(self.phrase(sentence.object), verb)
        return subject + self.order(adverb, predicate)


SHARED = 4
"""Of four classes, the first two have the source's words in the related language."""


@cache
def _languages(draw: int) -> tuple[_Language, _Language, _Language]:
    words = lexicon(draw)

    def related(word: Word) -> str:
        # Classes come in pairs, since adjectives of opposite polarity have adjacent numbers.
        if word.group % SHARED < 2:
            return words.source[word.part][word.group][0]
        return words.target[word.part][word.group]

    return (
        _Language(
            lambda word: words.source[word.part][word.group][word.synonym],
            words.source_function,
            head_final=True,
        ),
        _Language(
            lambda word: words.target[word.part][word.group],
            words.target_function,
            head_final=False,
        ),
        _Language(related, words.source_function, head_final=True),
    )


def in_source(sentence: Sentence, draw: int = 0) -> str:
    """The sentence in a draw's source language: verb last, adjective and negation in front."""
    return " ".join(_languages(draw)[0].sentence(sentence))


def in_target(sentence: Sentence, draw: int = 0) -> str:
    """The sentence in a draw's target language: verb second, adjective and negation behind."""
    return " ".join(_languages(draw)[1].sentence(sentence))


def in_related(sentence: Sentence, draw: int = 0) -> str:
    """The sentence in a language related to a draw's source, like a dialect.

    Grammar and function words are the source's. Half of the classes have the source's most frequent
    word for them, half a word of the target. The meaning of the latter can be learned from their
    contexts alone.
    """
    return " ".join(_languages(draw)[2].sentence(sentence))
