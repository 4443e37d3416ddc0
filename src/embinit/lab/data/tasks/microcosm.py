"""Tasks in the microcosm's made language: translation, opinion and inference.

They stand in for the first paper's Multi30k, SST-2 and MNLI on the tier ``micro``, where nothing
may be downloaded and a model must train in seconds. SST-2 is ``micro-sentiment-plain`` there, and
``micro-sentiment`` in papers of our own. The text comes from ``data.microcosm``, drawn on
each machine from fixed seeds. The meaning of a rare word is that of its class, so it can be learned
from unlabelled text. Word order decides labels and translations.

``micro-translation@9003`` is the task in the languages of draw 9003.

For language models there is text in the source language, twice, and in the related one.
For pre-trained models there are text in two related languages, both classifications with a test
in the other language, and a classification of verbs for linear probes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import islice
from pathlib import Path

import numpy as np

from embinit.lab.data.microcosm.draws import SETS
from embinit.lab.data.microcosm.grammar import (
    Action,
    Sentence,
    holds_good,
    in_related,
    in_source,
    in_target,
)
from embinit.lab.data.microcosm.lexicon import (
    CLASSES,
    RELATED_LANGUAGE,
    SOURCE_LANGUAGE,
    TARGET_LANGUAGE,
    Word,
    antonym_group,
    generator,
)
from embinit.lab.data.microcosm.writer import OPINIONS, OpinionWeights, Share, Writer, share
from embinit.lab.data.tasks.base import TASKS, Example, Side, Splits, TaskKind
from embinit.lab.draws import at_draw, split_draw
from embinit.lab.specs import Cut

ENTAILMENT, NEUTRAL, CONTRADICTION = range(3)
"""MNLI's labels, in its order."""

INFERENCE_VERBS = 10
"""The number of verb classes in premises. A data set has its topics, and so fewer nouns."""

PLAIN_OPINIONS: OpinionWeights = (9.0, 1.0, 2.0, 2.0)
"""The weights of plain opinions: 21 % deny something, for 45 % in unlabelled text.

Negation is learnt in steps, at another time by each of Xavier's seeds (docs/noise-floor.md).
"""
UNDENIED_OPINIONS: OpinionWeights = (9.0, 0.0, 2.0, 2.0)
"""The weights of opinions that deny nothing but beside what they say ('not A but B'): 15 %.

A pre-trained model learns them from few labels, and all of its seeds do (docs/noise-floor.md).
"""

Language = Callable[[Sentence, int], str]
"""Puts a sentence into the words of a draw's language."""


def translate(writer: Writer) -> Example:
    """Draws a sentence with its translation."""
    sentence = writer.sentence()
    return Example(in_source(sentence, writer.draw), target=in_target(sentence, writer.draw))


def say_again(writer: Writer, again: bool = True) -> Example:
    """Draws a sentence with its translation into the related language.

    An action's pair says it again in other words.

    Text says many a thing twice. So a model of it learns to hold two sentences against each other,
    which inference asks for. One content word of the second is drawn again from its class; a
    third of the time it is the same. Without ``again`` as much is drawn, and the second left out.
    """
    sentence, draw = writer.sentence(), writer.draw
    text, second = in_source(sentence, draw), ""
    if isinstance(sentence, Action):
        second = in_source(reword(sentence, writer), draw)
        while share(second) != share(text):
            second = in_source(reword(sentence, writer), draw)
    return Example(text, second if again else "", in_related(sentence, draw))


def judge(
    writer: Writer, language: Language = in_source, weights: OpinionWeights = OPINIONS
) -> Example:
    """Draws an opinion, labelled 1 if what it says, not what it denies, is favourable, else 0."""
    opinion = writer.opinion(weights)
    return Example(language(opinion, writer.draw), label=int(holds_good(opinion)))


def tell(writer: Writer) -> Example:
    """Draws a sentence of unlabelled text, without a translation."""
    return Example(in_source(writer.sentence(), writer.draw), target="")


def name_verb(writer: Writer) -> Example:
    """Draws an action. Its label is the class of its verb."""
    action = writer.action()
    return Example(in_source(action, writer.draw), label=action.verb.group)


def infer(writer: Writer, language: Language = in_source) -> Example:
    """Draws a premise and a hypothesis; the three labels are equally likely.

    The hypothesis repeats the premise, perhaps with a synonym. Entailment: nothing else changes, or
    the adjective is left out. Neutral: the two nouns swap roles, or the object gets an adjective
    that the premise lacks. Contradiction: the negation is added or removed, or the adjective
    becomes an antonym.

    Two restrictions make the task learnable from 1,500 pairs: premises have a few verbs only
    (``INFERENCE_VERBS``), and nine in ten of their adjectives are favourable.
    """
    premise = _premise(writer)
    described = writer.adjective(premise.subject.noun.group, writer.chance(0.9))
    premise = replace(premise, subject=replace(premise.subject, adjective=described))
    label = writer.below(3)
    changed = reword(premise, writer) if writer.chance(0.3) else premise
    hypothesis = _hypothesis(changed, label, writer.chance(0.5), writer)
    draw = writer.draw
    return Example(language(premise, draw), pair=language(hypothesis, draw), label=label)


def _premise(writer: Writer) -> Action:
    """An action with nouns of two classes. Swapped roles of synonyms would leave the meaning."""
    while True:
        action = writer.action(adjective=0.0, adverb=0.0, owner=0.0, verbs=INFERENCE_VERBS)
        if action.subject.noun.group != action.object.noun.group:
            return action


def _hypothesis(said: Action, label: int, first: bool, writer: Writer) -> Action:
    """What follows by ``label`` from what is said: the first or the second change of its kind."""
    subject, object_ = said.subject, said.object
    if label == ENTAILMENT:
        return replace(said, subject=replace(subject, adjective=None)) if first else said
    if label == NEUTRAL and first:
        # Articles and the adjective stay.
        swapped = replace(subject, noun=object_.noun)
        return replace(said, subject=swapped, object=replace(object_, noun=subject.noun))
    if label == NEUTRAL:
        adjective = writer.adjective(object_.noun.group)
        return replace(said, object=replace(object_, adjective=adjective))
    if first or subject.adjective is None:
        return replace(said, negated=not said.negated)
    opposite = writer.word("adjective", antonym_group(subject.adjective.group))
    return replace(said, subject=replace(subject, adjective=opposite))


def reword(action: Action, writer: Writer) -> Action:
    """The same statement, with one content word drawn again from its class."""

    def redraw(word: Word) -> Word:
        return writer.word(word.part, word.group)

    subject, object_ = action.subject, action.object
    choice = writer.below(4)
    if choice == 0:
        return replace(action, verb=redraw(action.verb))
    if choice == 1:
        return replace(action, object=replace(object_, noun=redraw(object_.noun)))
    if choice == 2 or subject.adjective is None:
        return replace(action, subject=replace(subject, noun=redraw(subject.noun)))
    return replace(action, subject=replace(subject, adjective=redraw(subject.adjective)))


@dataclass(frozen=True)
class MicrocosmTask:
    """A task in the made language (see ``Task``); ``sizes`` are its splits' numbers of examples."""

    name: str
    kind: TaskKind
    classes: int
    write: Callable[[Writer], Example]
    sizes: tuple[int, int, int]
    reports_test: bool = False
    # Draws what ``write`` draws as the test has it, such as in another language.
    write_test: Callable[[Writer], Example] | None = None

    def on_draw(self, draw: int) -> MicrocosmTask:
        """The same task in another draw's languages."""
        return replace(self, name=at_draw(split_draw(self.name)[0], draw))

    @property
    def languages(self) -> Mapping[Side, str]:
        """The encoder reads the draw's source language; a decoder writes its target language."""
        other = RELATED_LANGUAGE if self.kind == "text" else TARGET_LANGUAGE
        draw = split_draw(self.name)[1]
        return {"encoder": at_draw(SOURCE_LANGUAGE, draw), "decoder": at_draw(other, draw)}

    def fingerprint(self, data_dir: Path | None) -> str:
        """A digest of the whole text. ``data_dir`` is ignored."""
        return _fingerprint(self)

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """Draws the text from fixed seeds. ``data_dir`` is ignored.

        Examples are independent draws, so a cut keeps the first of each split, and no others are
        drawn.
        """
        kept = (cut.train, cut.validation, cut.test)
        train, validation, test = (
            size if most is None else min(size, most)
            for size, most in zip(self.sizes, kept, strict=True)
        )
        return Splits(
            train=_first(self, "unlabelled" if self.kind == "text" else "train", train),
            validation=_first(self, "validation", validation),
            test=_first(self, "test", test),
        )


def _examples(task: MicrocosmTask, split: Share) -> Iterator[Example]:
    """Different examples whose text, in the source language, belongs to one share; without end."""
    write_test = task.write_test if split == "test" else None
    name, draw = split_draw(task.name)
    writer, test_writer = (Writer(generator(name, split, draw=draw), draw) for _ in range(2))
    drawn: set[Example] = set()
    while True:
        example = task.write(writer)
        translated = write_test(test_writer) if write_test else example
        if share(example.text) == split and example not in drawn:
            drawn.add(example)
            yield translated


@lru_cache(maxsize=64)
def _first(task: MicrocosmTask, split: Share, count: int) -> tuple[Example, ...]:
    return tuple(islice(_examples(task, split), count))


@cache
def _fingerprint(task: MicrocosmTask) -> str:
    """The digest that is kept; of a text that other code would draw it is taken anew."""
    known = _kept_fingerprints()
    return known[task.name] if task.name in known else drawn_fingerprint(task)


def drawn_fingerprint(task: MicrocosmTask) -> str:
    """The digest of a task's text, which is drawn for it."""
    splits = task.load(None, Cut())
    digest = hashlib.sha256(repr((splits.train, splits.validation, splits.test)).encode())
    return digest.hexdigest()


FINGERPRINTS = Path(__file__).parents[1] / "assets" / "microcosm.json"
"""The digests of the texts, kept so that a session needn't draw a text to know its runs' keys."""


def drawn_by() -> dict[str, str]:
    """The provenance of the texts: a digest of the code that draws them, and numpy's version."""
    here = Path(__file__)
    files = [here, *sorted(here.parents[1].glob("microcosm/*.py"))]
    code = hashlib.sha256(b"".join(file.read_bytes() for file in files))
    return {"code": code.hexdigest(), "numpy": np.__version__}


@cache
def _kept_fingerprints() -> Mapping[str, str]:
    """The kept digests; none where another code or another numpy has drawn those texts."""
    kept: dict[str, dict[str, str]] = json.loads(FINGERPRINTS.read_text(encoding="utf-8"))
    return kept["fingerprints"] if kept["drawn_by"] == drawn_by() else {}


def keep_fingerprints() -> None:
    """Draws the texts of all data draws of a set and keeps their digests.

    To be called whenever this code changes; it takes some minutes.
    """
    tasks = [task.on_draw(d) for draws in SETS.values() for d in draws for task in MICROCOSM_TASKS]
    fingerprints = {task.name: drawn_fingerprint(task) for task in tasks}
    document = {"drawn_by": drawn_by(), "fingerprints": fingerprints}
    FINGERPRINTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


MICROCOSM_TASKS = (
    MicrocosmTask("micro-translation", "translation", 0, translate, (2400, 200, 400)),
    MicrocosmTask("micro-sentiment", "classification", 2, judge, (2400, 2000, 400)),
    MicrocosmTask(
        "micro-sentiment-plain",
        "classification",
        2,
        partial(judge, weights=PLAIN_OPINIONS),
        (1600, 2000, 400),
    ),
    MicrocosmTask("micro-inference", "classification", 3, infer, (6000, 2000, 400)),
    MicrocosmTask(
        "micro-two-languages",
        "text",
        0,
        say_again,
        (8000, 400, 300),
        write_test=partial(say_again, again=False),
    ),
    MicrocosmTask("micro-text", "text", 0, tell, (12000, 800, 800)),
    MicrocosmTask(
        "micro-sentiment-across",
        "classification",
        2,
        partial(judge, weights=UNDENIED_OPINIONS),
        (1000, 2000, 1000),
        reports_test=True,
        write_test=partial(judge, language=in_related, weights=UNDENIED_OPINIONS),
    ),
    MicrocosmTask(
        "micro-inference-across",
        "classification",
        3,
        infer,
        (400, 2000, 1000),
        reports_test=True,
        write_test=partial(infer, language=in_related),
    ),
    MicrocosmTask("micro-verb", "classification", CLASSES["verb"][0], name_verb, (1000, 400, 400)),
)

for _task in MICROCOSM_TASKS:
    TASKS.register(_task.name, _task)
