"""Tasks of the synthetic language with a large vocabulary: each content word has spellings.

The language has some 800 words. Where a model's embedding tables must outweigh its layers it needs
thousands, so every content word is written in one of several ways, by a Zipf distribution.

``micro-two-languages-x5`` is like ``micro-two-languages``, with five spellings of each word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from pathlib import Path

from embinit.lab.data.microcosm.lexicon import generator, lexicon
from embinit.lab.data.microcosm.writer import Writer
from embinit.lab.data.tasks.base import TASKS, Example, Splits
from embinit.lab.data.tasks.microcosm import MICROCOSM_TASKS, MicrocosmTask
from embinit.lab.draws import split_draw
from embinit.lab.specs import Cut

SPELLED = {
    "micro-two-languages": (60_000, 400, 300),
    "micro-sentiment-across": (4_000, 2_000, 1_000),
    "micro-inference-across": (8_000, 2_000, 1_000),
    "micro-verb": (4_000, 400, 400),
}
"""The sizes of the spelled tasks' splits, by the name of the task that is spelled."""

SPELLINGS = 5
"""The number of spellings of a word."""


@dataclass(frozen=True)
class SpelledTask(MicrocosmTask):
    """A task whose content words have ``spellings`` each."""

    spellings: int = 1

    def fingerprint(self, data_dir: Path | None) -> str:
        """A digest of the first examples of each split; all others follow from the same code."""
        sampled = self.load(None, Cut(100, 100, 100))
        content = (sampled.train, sampled.validation, sampled.test, self.sizes, self.spellings)
        return hashlib.sha256(repr(content).encode()).hexdigest()

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """The task's text, spelled. ``data_dir`` is ignored."""
        splits = super().load(data_dir, cut)
        names = (field.name for field in fields(splits))
        return Splits(**{name: self._spelled(name, getattr(splits, name)) for name in names})

    def _spelled(self, split: str, examples: Sequence[Example]) -> list[Example]:
        name, draw = split_draw(self.name)
        writer = Writer(generator("spellings", name, split, draw=draw), draw)
        weights = tuple(accumulate(1 / rank for rank in range(1, self.spellings + 1)))
        grammar = {*lexicon(draw).source_function.values()}

        def spell(text: str) -> str:
            words = text.split()
            return " ".join(w if w in grammar else spelled(w, writer.pick(weights)) for w in words)

        return [
            one._replace(
                text=spell(one.text), pair=spell(one.pair), target=one.target and spell(one.target)
            )
            for one in examples
        ]


def spelled(word: str, spelling: int) -> str:
    """A word in one of its spellings; the most frequent, number 0, is the word itself."""
    return f"{word}{spelling + 1}" if spelling else word


def unspelled(text: str) -> str:
    """The word that a spelling is of."""
    return text.rstrip("0123456789")


for _task in MICROCOSM_TASKS:
    if _task.name in SPELLED:
        _name = f"{_task.name}-x{SPELLINGS}"
        _more = {"name": _name, "sizes": SPELLED[_task.name], "spellings": SPELLINGS}
        TASKS.register(_name, SpelledTask(**(vars(_task) | _more)))
