"""Vocabularies: a model's tokens, counted on the training split (section 4 of the paper).

Every token that occurs at least ``min_freq`` times gets a row: at 2 there are the 5,893 English
words of Multi30k that the paper's appendix names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool
from torch import Tensor

PAD, UNK, BOS, EOS, SEP = range(5)
SPECIAL_WORDS = ("<pad>", "<unk>", "<bos>", "<eos>", "<sep>")
SEPARATOR = "<sep> "
"""What parts two texts. No tokenizer gives it, since it holds a space."""

MASK, MASK_WORD = 5, "<mask>"
"""The mask token, which only vocabularies for pre-training have, after the special tokens."""


@dataclass(frozen=True)
class Vocabulary:
    """N tokens by id, special ones first, with their counts in the training text (special: 0)."""

    words: tuple[str, ...]
    counts: tuple[int, ...]

    @classmethod
    def build(
        cls,
        sentences: Iterable[Sequence[str]],
        min_freq: int,
        most: int | None = None,
        special: tuple[str, ...] = SPECIAL_WORDS,
    ) -> Vocabulary:
        """Keeps frequent words by falling count, then by alphabet; ``most`` counts special ones."""
        counted = Counter(word for sentence in sentences for word in sentence)
        for word in (*special, SEPARATOR):
            counted.pop(word, None)
        kept = sorted(
            (item for item in counted.items() if item[1] >= min_freq),
            key=lambda item: (-item[1], item[0]),
        )[: None if most is None else max(0, most - len(special))]
        words = (*special, *(word for word, _ in kept))
        return cls(words, (*(0 for _ in special), *(count for _, count in kept)))

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each word, and of the separator."""
        return {word: number for number, word in enumerate(self.words)} | {SEPARATOR: SEP}

    @property
    def special(self) -> Bool[Tensor, "N"]:
        """A mask of the pad row, which stays zero and is left out of all statistics."""
        mask = torch.zeros(len(self.words), dtype=torch.bool)
        mask[PAD] = True
        return mask

    def encode(self, words: Iterable[str]) -> list[int]:
        """The ids of ``words``. A word that the vocabulary lacks becomes UNK."""
        return [self.ids.get(word, UNK) for word in words]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of ``ids`` up to EOS. PAD, BOS and SEP are left out, UNK is kept."""
        words = []
        for number in ids:
            if number == EOS:
                break
            if number not in (PAD, BOS, SEP):
                words.append(self.words[number])
        return words
