"""Tasks of the synthetic language with a large vocabulary: each content word has spellings.

The language has some 800 words. Where a model's embedding tables must outweigh its layers it needs
thousands, so every content word is written in one of several ways, by a Zipf distribution. All else
is the task's own: sentences, labels, and which text belongs to which share.

``micro-two-languages-x5`` is ``micro-two-languages`` with five spellings of each content word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from embinit.lab.data.microcosm import Writer, generator
from embinit.lab.data.microcosm.lexicon import lexicon
from embinit.lab.data.tasks.base import TASKS, Example, Side, Splits, TaskKind
from embinit.lab.data.tasks.microcosm import MICROCOSM_TASKS, MicrocosmTask
from embinit.lab.draws import at_world, split_world
from embinit.lab.specs import Cut

SPELLED = {
    "micro-two-languages": (60_000, 400, 300),
    "micro-sentiment-across": (4_000, 2_000, 1_000),
    "micro-inference-across": (8_000, 2_000, 1_000),
    "micro-verb": (4_000, 400, 400),
}
"""The sizes of the spelled tasks' splits, by the name of the task that is spelled."""

SPELLINGS = (5, 10)
"""The numbers of spellings that tasks have."""

SAMPLED = Cut(100, 100, 100)
"""The examples of each split that stand for the text in its digest."""


@dataclass(frozen=True)
class SpelledTask:
    """A task whose content words have ``spellings`` each."""

    name: str
    task: MicrocosmTask
    spellings: int

    def in_world(self, world: int) -> SpelledTask:
        """The same task on another data draw."""
        name = at_world(split_world(self.name)[0], world)
        return replace(self, name=name, task=self.task.in_world(world))

    @property
    def kind(self) -> TaskKind:
        """The kind of the task that is spelled."""
        return self.task.kind

    @property
    def languages(self) -> Mapping[Side, str]:
        """The languages of the task that is spelled."""
        return self.task.languages

    @property
    def classes(self) -> int:
        """The number of labels."""
        return self.task.classes

    @property
    def reports_test(self) -> bool:
        """Whether test accuracy is reported."""
        return self.task.reports_test

    def fingerprint(self, data_dir: Path | None) -> str:
        """A digest of the first examples of each split. ``data_dir`` is ignored.

        All others follow from the same code, so that drawing them would tell nothing more.
        """
        sampled = self.load(None, SAMPLED)
        content = (sampled.train, sampled.validation, sampled.test, self.task.sizes, self.spellings)
        return hashlib.sha256(repr(content).encode()).hexdigest()

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """The task's text, spelled. ``data_dir`` is ignored."""
        splits = self.task.load(data_dir, cut)
        return Splits(
            **{
                split: self._spelled(split, getattr(splits, split))
                for split in ("train", "validation", "test")
            }
        )

    def _spelled(self, split: str, examples: Sequence[Example]) -> list[Example]:
        name, world = split_world(self.name)
        writer = Writer(generator("spellings", name, split, world=world), world)
        weights = tuple(accumulate(1 / rank for rank in range(1, self.spellings + 1)))
        grammar = {*lexicon(world).source_function.values()}

        def spell(text: str) -> str:
            words = (
                word if word in grammar else spelled(word, writer.pick(weights))
                for word in text.split()
            )
            return " ".join(words)

        return [
            example._replace(
                text=spell(example.text),
                pair=spell(example.pair),
                target=example.target and spell(example.target),
            )
            for example in examples
        ]


def spelled(word: str, spelling: int) -> str:
    """A word in one of its spellings; the most frequent, number 0, is the word itself."""
    return f"{word}{spelling + 1}" if spelling else word


def unspelled(text: str) -> str:
    """The word that a spelling is of."""
    return text.rstrip("0123456789")


for _task in MICROCOSM_TASKS:
    for _spellings in SPELLINGS if _task.name in SPELLED else ():
        _name = f"{_task.name}-x{_spellings}"
        _sized = replace(_task, sizes=SPELLED[_task.name])
        TASKS.register(_name, SpelledTask(_name, _sized, _spellings))
