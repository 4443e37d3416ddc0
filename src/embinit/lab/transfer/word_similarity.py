"""Word similarity of embedding tables, compared with the synthetic language's own.

Chung et al. (2021; 6.1) correlate dot products of word embeddings with human ratings of word pairs.
The synthetic language needs no raters: near-synonyms have one class, and classes are alike as far
as they occur with the same classes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.microcosm.lexicon import (
    CLASSES,
    SOURCE_LANGUAGE,
    Part,
    generator,
    lexicon,
    preferences,
)
from embinit.lab.data.tasks import TASKS
from embinit.lab.draws import split_draw

PAIRS = 3_000
"""The word pairs that are rated, as many as MEN has."""


class RatedPairs(NamedTuple):
    """Pairs of rows of a table, and how alike their words are in the language."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    ratings: tuple[float, ...]


def require_ratings(task: str) -> None:
    """InputError unless the text is in the synthetic language, whose similarities are known."""
    language = TASKS[task].languages["encoder"]
    if split_draw(language)[0] != SOURCE_LANGUAGE:
        raise InputError(
            f"word similarity is known in the synthetic language alone, and {task} is in "
            f"{language}: leave 'word-similarity' out of further"
        )


def rated_pairs(task: str, words: Sequence[str]) -> RatedPairs:
    """Random pairs of the vocabulary's ``words`` of one part of speech, with their ratings.

    Half of the pairs are of one class and have 1. The others have the cosine of what their classes
    occur with.
    """
    draw = split_draw(task)[1]
    place = {
        word: (part, group)
        for part, groups in lexicon(draw).source.items()
        for group, synonyms in enumerate(groups)
        for word in synonyms
    }
    rows = {row: found for row, word in enumerate(words) if (found := place.get(word))}
    of_part, of_class = defaultdict(list), defaultdict(list)
    for row, (part, group) in rows.items():
        of_part[part].append(row)
        of_class[part, group].append(row)
    alike = {part: _alike(part, draw) for part in CLASSES}
    rng, first = generator("rated pairs", draw=draw), list(rows)
    pairs: list[tuple[int, int, float]] = []
    while len(pairs) < PAIRS:
        row = first[int(rng.random() * len(first))]
        part, group = rows[row]
        others = of_class[part, group] if len(pairs) % 2 else of_part[part]
        other = others[int(rng.random() * len(others))]
        if other != row:
            pairs.append((row, other, float(alike[part][group, rows[other][1]])))
    return RatedPairs(*zip(*pairs, strict=True))


def _alike(part: Part, draw: int) -> Float[np.ndarray, "groups groups"]:
    """How alike the classes of a part of speech are: the cosine of what they occur with."""
    of = {name: np.array(table) for name, table in vars(preferences(draw)).items()}
    profile = {
        "noun": np.hstack([of["subject"].T, of["object"].T, of["speaker"].T, of["adjective"]]),
        "verb": np.hstack([of["subject"], of["object"], of["adverb"]]),
        "report": of["speaker"],
        "adjective": of["adjective"].T,
        "adverb": of["adverb"].T,
    }[part]
    profile = profile / np.linalg.norm(profile, axis=1, keepdims=True)
    # Rounded, so that classes are like themselves alone, and no machine's last bits break ties.
    alike: Float[np.ndarray, "groups groups"] = np.round(profile @ profile.T, 6)
    return alike


def similarity(table: Float[Tensor, "N E"], pairs: RatedPairs) -> float:
    """Spearman's rho of the pairs' dot products with their ratings, times 100 as in Table 8."""
    rows = table.detach().double().cpu()
    products = (rows[list(pairs.first)] * rows[list(pairs.second)]).sum(dim=-1)
    return 100 * float(stats.spearmanr(products.numpy(), pairs.ratings).statistic)
