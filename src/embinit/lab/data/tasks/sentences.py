"""SST-2 with a larger validation split, held out of its training text.

Its training text has sentences and nearly every phrase of them (Socher et al. 2013), its
development set 872 sentences. Five sixths of the variance over seeds of an accuracy on these is due
to single sentences (``docs/noise-floor.md``); more sentences reduce it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from embinit.errors import InputError
from embinit.lab.data.tasks.base import TASKS, Side, Splits
from embinit.lab.data.tasks.rows import CUT_SEED, sample
from embinit.lab.specs import Cut


@dataclass(frozen=True)
class HeldOutSentences:
    """A task of labelled phrases, some of whose sentences are moved from training to validation.

    A phrase that is no part of another one is a sentence. The other sentences and their parts stay
    for training. The sentences are drawn once; validation replaces the test.
    """

    name: str
    of: str
    held_out: int
    kind: Literal["classification"] = "classification"
    reports_test: bool = False

    @property
    def classes(self) -> int:
        """The task's number of labels."""
        return TASKS[self.of].classes

    @property
    def languages(self) -> Mapping[Side, str]:
        """The task's language."""
        return TASKS[self.of].languages

    def fingerprint(self, data_dir: Path | None) -> str:
        """The digest of the task's text, and the number of held-out sentences."""
        return f"{TASKS[self.of].fingerprint(data_dir)}/{self.held_out} sentences"

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """The task's text, held-out sentences after its validation split; InputError if too few."""
        splits = TASKS[self.of].load(data_dir, Cut())
        texts = [" ".join(example.text.split()) for example in splits.train]
        parts = sentences(set(texts))
        if len(parts) <= self.held_out:
            raise InputError(
                f"{self.of}'s training text has {len(parts)} sentences, and {self.name} holds "
                f"{self.held_out} out; take the whole data set, or the task {self.of}"
            )
        order = np.random.default_rng(CUT_SEED).permutation(len(parts)).tolist()
        whole = list(parts)
        moved = {whole[index] for index in order[: self.held_out]}
        left = {part for text in whole if text not in moved for part in (text, *parts[text])}
        examples = list(zip(texts, splits.train, strict=True))
        train = [example for text, example in examples if text in left]
        # A sentence that occurs twice is validated once.
        added = {text: example for text, example in examples if text in moved}
        validation = [*splits.validation, *added.values()][: cut.validation]
        return Splits(sample(train, cut.train), validation, validation)


def sentences(phrases: Collection[str]) -> dict[str, set[str]]:
    """Sentences, longest first, with the phrases (words, single spaces) that are parts of each."""
    known = frozenset(phrases)
    found: dict[str, set[str]] = {}
    seen: set[str] = set()
    for phrase in sorted(known, key=lambda text: (-len(text.split()), text)):
        if phrase not in seen:
            found[phrase] = parts = {part for part in _parts(phrase.split()) if part in known}
            seen |= parts
    return found


def _parts(words: list[str]) -> Iterator[str]:
    """Every run of consecutive words that is shorter than all of them."""
    for length in range(1, len(words)):
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])


TASKS.register("sst2-sentences", HeldOutSentences("sst2-sentences", "sst2", held_out=3000))
