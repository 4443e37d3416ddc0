"""Sums of words and positions: measures of what is left of each. Nothing is trained.

A transformer with added positions reads e·√D + p and never word or position alone. Two questions
are asked of a start before any training:

- ``relations_kept``: do words that are alike stay alike? Spearman's correlation between the
  cosines of all pairs of words before the sum and after it.
- ``read_off``: can both be read off it? Linear probes (``layer_probes``) are asked of words, or of
  pairs of word and position, that they have not seen.

Cosines between the sums are those that attention starts from; probes tell what it can learn.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from embinit.errors import InputError
from embinit.lab.models.layer_probes import probe_accuracy


def relations_kept(
    words: Float[Tensor, "n D"],
    positions: Float[Tensor, "L D"],
    generator: torch.Generator,
    draws: int = 10,
) -> float:
    """The rank correlation of words' cosines before and after positions are added.

    Each word stands at a position of its own, which is drawn; the mean over draws is returned.

    Args:
        words: The words as they meet the positions, after the table's multiplier.
        positions: The positions' encodings.
        generator: Where positions are drawn from.
        draws: How often positions are drawn.

    Returns:
        Spearman's correlation between the cosines of all pairs of words, -1 to 1.

    Raises:
        InputError: There are fewer than three words.
    """
    if len(words) < 3:
        raise InputError(f"{len(words)} words have no relations to compare; give three or more")
    from scipy.stats import spearmanr

    before = _cosines(words)
    kept = []
    for _ in range(draws):
        drawn = torch.randint(len(positions), (len(words),), generator=generator)
        after = _cosines(words.double() + positions.double()[drawn])
        kept.append(float(spearmanr(before, after).statistic))
    return sum(kept) / draws


def _cosines(rows: Float[Tensor, "n D"]) -> Float[Tensor, "pairs"]:
    units = F.normalize(rows.double(), dim=1)
    above = torch.triu_indices(len(rows), len(rows), 1)
    cosines: Tensor = (units @ units.T)[above[0], above[1]]
    return cosines


@dataclass(frozen=True)
class ReadOff:
    """The accuracy of linear probes on sums of words and positions, in percent.

    Attributes:
        position: Right positions, of words that the probe has not seen.
        word: Right words, at positions at which the probe has not seen them.
        kind: Right kinds of words, such as groups of synonyms, of words that it has not seen.
    """

    position: float
    word: float
    kind: float


def read_off(
    words: Float[Tensor, "n D"],
    positions: Float[Tensor, "L D"],
    kinds: Int[Tensor, "n"],
    generator: torch.Generator,
) -> ReadOff:
    """Probes sums linearly for position, word and kind of word.

    Every word stands at every position. Half of the words are held out for position and kind; half
    of all pairs of word and position for the word.

    Args:
        words: The words as they meet the positions, after the table's multiplier.
        positions: The positions' encodings.
        kinds: Each word's kind, from 0; -1 for words of none, which the probe for kinds leaves out.
        generator: Draws the halves.

    Raises:
        InputError: There are fewer than four words of a kind, or fewer than two positions.
    """
    count, length = len(words), len(positions)
    if int((kinds >= 0).sum()) < 4 or length < 2:
        raise InputError(
            f"{int((kinds >= 0).sum())} words of a kind at {length} positions can't be probed; "
            "give four words and two positions or more"
        )
    sums = (words.double()[:, None] + positions.double()).flatten(0, 1)
    word = torch.arange(count).repeat_interleave(length)
    position = torch.arange(length).repeat(count)
    seen_words = torch.randperm(count, generator=generator) < count // 2
    seen_pairs = torch.randperm(count * length, generator=generator) < count * length // 2
    kind, seen = kinds[word], seen_words[word]
    some = kind >= 0
    return ReadOff(
        position=_probe(sums, position, seen),
        word=_probe(sums, word, seen_pairs),
        kind=_probe(sums[some], kind[some], seen[some]),
    )


def _probe(sums: Float[Tensor, "m D"], targets: Int[Tensor, "m"], seen: Bool[Tensor, "m"]) -> float:
    classes = int(targets.max()) + 1
    return probe_accuracy(sums[seen], targets[seen], sums[~seen], targets[~seen], classes).item()
