"""Word similarity of embedding tables, compared with the synthetic language's own.

Chung et al. (2021; 6.1) correlate dot products of word embeddings with human ratings of word pairs.
The synthetic language needs no raters: near-synonyms have one class, and classes are alike as far
as they are preferred by, and prefer, the same classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.microcosm import SOURCE_LANGUAGE, generator
from embinit.lab.data.microcosm.lexicon import CLASSES, Part, lexicon, preferences
from embinit.lab.data.tasks import TASKS
from embinit.lab.data.tasks.spellings import unspelled
from embinit.lab.draws import split_world

PAIRS = 3_000
"""The word pairs that are rated, as many as MEN has."""


@dataclass(frozen=True)
class RatedPairs:
    """Pairs of rows of a table, and how alike their words are in the language."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    ratings: tuple[float, ...]


def require_ratings(task: str) -> None:
    """InputError unless the text is in the synthetic language, whose similarities are known."""
    language = TASKS[task].languages["encoder"]
    if split_world(language)[0] != SOURCE_LANGUAGE:
        raise InputError(
            f"word similarity is known in the synthetic language alone, and {task} is in "
            f"{language}: leave 'word-similarity' out of further"
        )


def rated_pairs(task: str, words: Sequence[str]) -> RatedPairs:
    """Random pairs of the vocabulary's ``words`` of one part of speech, with their ratings.

    A pair of one class has 1, others the cosine of what their classes occur with.
    """
    require_ratings(task)
    world = split_world(task)[1]
    place = {
        word: (part, group)
        for part, groups in lexicon(world).source.items()
        for group, synonyms in enumerate(groups)
        for word in synonyms
    }
    of_part: dict[Part, list[tuple[int, int]]] = {part: [] for part in CLASSES}
    for row, word in enumerate(words):
        if (found := place.get(unspelled(word))) is not None:
            of_part[found[0]].append((row, found[1]))
    alike = {part: _alike(part, world) for part in CLASSES}
    rows = [(part, row, group) for part, known in of_part.items() for row, group in known]
    draw = generator("rated pairs", world=world)
    pairs: list[tuple[int, int, float]] = []
    while len(pairs) < PAIRS:
        part, row, group = rows[int(draw.random() * len(rows))]
        other, its_group = of_part[part][int(draw.random() * len(of_part[part]))]
        if other != row:
            pairs.append((row, other, float(alike[part][group, its_group])))
    return RatedPairs(*zip(*pairs, strict=True))


def _alike(part: Part, world: int) -> Float[np.ndarray, "groups groups"]:
    """How alike the classes of a part of speech are: the cosine of what they occur with."""
    chosen = preferences(world)
    rows = {name: np.array(getattr(chosen, name)) for name in vars(chosen)}
    profiles = {
        "noun": [rows["subject"].T, rows["object"].T, rows["speaker"].T, rows["adjective"]],
        "verb": [rows["subject"], rows["object"], rows["adverb"]],
        "report": [rows["speaker"]],
        "adjective": [rows["adjective"].T],
        "adverb": [rows["adverb"].T],
    }[part]
    profile = np.hstack(profiles)
    profile = profile / np.linalg.norm(profile, axis=1, keepdims=True)
    alike: Float[np.ndarray, "groups groups"] = profile @ profile.T
    return alike


def similarity(table: Float[Tensor, "N E"], pairs: RatedPairs) -> float:
    """Spearman's rho of the pairs' dot products with their ratings, times 100 as in Table 8."""
    rows = table.detach().double().cpu()
    first, second = rows[list(pairs.first)], rows[list(pairs.second)]
    products = (first * second).sum(dim=-1)
    return 100 * float(stats.spearmanr(products.numpy(), pairs.ratings).statistic)
