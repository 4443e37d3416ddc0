"""Tasks in the microcosm's made language: translation, opinion and inference.

They stand in for the paper's Multi30k, SST-2 and MNLI where nothing may be downloaded and a model
must train in seconds: the tier ``micro``. The text comes from ``embinit.data.microcosm``, drawn
anew on each machine from fixed seeds; a rare word's meaning is its class's, so it can be known from
unlabelled text, and word order decides labels and translations.

For pre-trained models there are text in two related languages, the two classifications with a test
in the other language, and one more to probe layers by.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from pathlib import Path

from embinit.data.microcosm import (
    CLASSES,
    RELATED_LANGUAGE,
    SOURCE_LANGUAGE,
    TARGET_LANGUAGE,
    Action,
    Sentence,
    Share,
    Word,
    Writer,
    antonym_group,
    generator,
    holds_good,
    in_related,
    in_source,
    in_target,
    share,
)
from embinit.data.tasks.base import TASKS, Example, Kind, Side, Splits
from embinit.specs import Cut

ENTAILMENT, NEUTRAL, CONTRADICTION = range(3)
"""MNLI's labels, in its order."""

INFERENCE_VERBS = 10
"""How many of the verb classes premises have: a data set has its subjects, and so fewer nouns."""


Tongue = Callable[[Sentence], str]
"""Puts a sentence into words."""


def translate(writer: Writer, into: Tongue = in_target) -> Example:
    """A sentence and its translation."""
    sentence = writer.sentence()
    return Example(in_source(sentence), target=into(sentence))


def judge(writer: Writer, tongue: Tongue = in_source) -> Example:
    """An opinion; label 1 where what it says (not what it denies) is favourable, else 0."""
    opinion = writer.opinion()
    return Example(tongue(opinion), label=int(holds_good(opinion)))


def name_verb(writer: Writer) -> Example:
    """An action, labelled by the class of its verb."""
    action = writer.action()
    return Example(in_source(action), label=action.verb.group)


def infer(writer: Writer, tongue: Tongue = in_source) -> Example:
    """A premise and a hypothesis; entailment, neutral and contradiction, evenly.

    The hypothesis repeats the premise, perhaps with a synonym. By label:
    entailment: nothing else changes, or the adjective is left out. Neutral: the two nouns change
    roles, or the object gets an adjective that the premise hasn't told. Contradiction: the negation
    comes or goes, or the adjective turns into an antonym.

    Two restrictions make it learnable from 1,500 pairs: the premises keep to a few verbs
    (``INFERENCE_VERBS``), and nine in ten of their adjectives are favourable.
    """
    premise = _premise(writer)
    described = writer.adjective(premise.subject.noun.group, writer.chance(0.9))
    premise = replace(premise, subject=replace(premise.subject, adjective=described))
    label = writer.below(3)
    changed = reword(premise, writer) if writer.chance(0.3) else premise
    one_of_two = writer.chance(0.5)
    if label == ENTAILMENT:
        hypothesis = leave_out_adjective(changed) if one_of_two else changed
    elif label == NEUTRAL:
        hypothesis = swap_roles(changed) if one_of_two else describe_object(changed, writer)
    else:
        hypothesis = negate(changed) if one_of_two else oppose(changed, writer)
    return Example(tongue(premise), pair=tongue(hypothesis), label=label)


def _premise(writer: Writer) -> Action:
    """Two nouns of different classes: with synonyms for nouns, roles could change unseen."""
    while True:
        action = writer.action(adjective=0.0, adverb=0.0, owner=0.0, verbs=INFERENCE_VERBS)
        if action.subject.noun.group != action.object.noun.group:
            return action


def reword(action: Action, writer: Writer) -> Action:
    """The same statement with one content word drawn again from its class."""

    def redraw(word: Word) -> Word:
        return writer.word(word.part, word.group)

    subject, object_ = action.subject, action.object
    place = writer.below(4)
    if place == 0:
        return replace(action, verb=redraw(action.verb))
    if place == 1:
        return replace(action, object=replace(object_, noun=redraw(object_.noun)))
    if place == 2 or subject.adjective is None:
        return replace(action, subject=replace(subject, noun=redraw(subject.noun)))
    return replace(action, subject=replace(subject, adjective=redraw(subject.adjective)))


def leave_out_adjective(action: Action) -> Action:
    """A weaker statement: nothing is said of how the subject is."""
    return replace(action, subject=replace(action.subject, adjective=None))


def swap_roles(action: Action) -> Action:
    """Who did it becomes who suffered it; articles and adjective stay where they stood."""
    subject = replace(action.subject, noun=action.object.noun)
    return replace(action, subject=subject, object=replace(action.object, noun=action.subject.noun))


def describe_object(action: Action, writer: Writer) -> Action:
    """A stronger statement: the object gets an adjective."""
    adjective = writer.adjective(action.object.noun.group)
    return replace(action, object=replace(action.object, adjective=adjective))


def negate(action: Action) -> Action:
    """The negation comes, or goes."""
    return replace(action, negated=not action.negated)


def oppose(action: Action, writer: Writer) -> Action:
    """The subject's adjective turns into a word of the opposite class."""
    adjective = action.subject.adjective
    if adjective is None:
        return action
    opposite = writer.word("adjective", antonym_group(adjective.group))
    return replace(action, subject=replace(action.subject, adjective=opposite))


@dataclass(frozen=True)
class MicrocosmTask:
    """A task in the made language. Lengths of the splits are (train, validation, test).

    ``write_test`` puts what ``write`` would say into another language, for the test.
    """

    name: str
    kind: Kind
    classes: int
    write: Callable[[Writer], Example]
    sizes: tuple[int, int, int]
    reports_test: bool = False
    write_test: Callable[[Writer], Example] | None = None

    @property
    def languages(self) -> Mapping[Side, str]:
        """The encoder reads the source language; a decoder writes the target language."""
        other = RELATED_LANGUAGE if self.kind == "text" else TARGET_LANGUAGE
        return {"encoder": SOURCE_LANGUAGE, "decoder": other}

    def fingerprint(self, data_dir: Path | None) -> str:
        """A digest of the whole text; ``data_dir`` plays no part."""
        return _fingerprint(self)

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """The text, drawn from fixed seeds; ``data_dir`` plays no part.

        Examples are independent draws, so each split is cut from the front.
        """
        whole = _splits(self)
        return Splits(
            train=whole.train[: cut.train],
            validation=whole.validation[: cut.validation],
            test=whole.test[: cut.test],
        )


def _examples(task: MicrocosmTask, part: Share) -> Iterator[Example]:
    """Different examples whose text, in the source language, is of one share; without end."""
    elsewhere = task.write_test if part == "test" else None
    writer, other = (Writer(generator(task.name, part)) for _ in range(2))
    drawn: set[Example] = set()
    while True:
        example = task.write(writer)
        shown = elsewhere(other) if elsewhere else example
        if share(example.text) == part and example not in drawn:
            drawn.add(example)
            yield shown


@cache
def _splits(task: MicrocosmTask) -> Splits:
    train, validation, test = task.sizes
    learnt_from: Share = "unlabelled" if task.kind == "text" else "train"
    return Splits(
        train=tuple(islice(_examples(task, learnt_from), train)),
        validation=tuple(islice(_examples(task, "validation"), validation)),
        test=tuple(islice(_examples(task, "test"), test)),
    )


@cache
def _fingerprint(task: MicrocosmTask) -> str:
    splits = _splits(task)
    digest = hashlib.sha256(repr((splits.train, splits.validation, splits.test)).encode())
    return digest.hexdigest()


for _task in (
    MicrocosmTask("micro-translation", "translation", 0, translate, (1200, 200, 200)),
    MicrocosmTask("micro-sentiment", "classification", 2, judge, (1200, 400, 400)),
    MicrocosmTask("micro-inference", "classification", 3, infer, (1500, 400, 400)),
    MicrocosmTask(
        "micro-two-languages", "text", 0, partial(translate, into=in_related), (8000, 400, 300)
    ),
    MicrocosmTask(
        "micro-sentiment-across",
        "classification",
        2,
        judge,
        (1200, 400, 400),
        reports_test=True,
        write_test=partial(judge, tongue=in_related),
    ),
    MicrocosmTask(
        "micro-inference-across",
        "classification",
        3,
        infer,
        (1500, 400, 400),
        reports_test=True,
        write_test=partial(infer, tongue=in_related),
    ),
    MicrocosmTask("micro-verb", "classification", CLASSES["verb"][0], name_verb, (1000, 400, 400)),
):
    TASKS.register(_task.name, _task)
