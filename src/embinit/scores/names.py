"""What names say: the arm and the seed of a run, or which run of its arm it is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from embinit.scores.arms import Score

_NO_NAME = re.compile(
    r"\.|lightning_logs|version_\d+|checkpoint-\d+|[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.*"
)
"""Parts of paths that tools make, and that name no arm."""

_SEED = re.compile(r"(?:^|[-_. /]|(?<=[a-z]))(?:seed|rng)[-_= ]?(\d+)(?=$|[-_. /])", re.IGNORECASE)
_SHORT_SEED = re.compile(r"(?:^|[-_. /])s(\d+)(?=$|[-_. /])")
_REPLICATE = re.compile(r"(?:^|[-_. /])(?:rep|replicate|run|trial)[-_=]?(\d+)(?=$|[-_. /])")
"""Parts that name a run's seed, and those that number runs without one."""

_NUMBERED = re.compile(
    r"(.*[^\W_])(?<!\de)[-_ /#]+(seed|s)?(?:rep|run|trial)?[-_= ]?(\d+)", re.IGNORECASE
)
"""A name that ends in a number, as ``base-1``, but for ``adam-1e-3``."""


def arm_and_seed(path: str) -> tuple[str, str]:
    """The arm and the seed that a run's path names, "" where there is none."""
    path = "/".join(part for part in path.split("/") if not _NO_NAME.fullmatch(part))
    for pattern in (_SEED, _SHORT_SEED, _REPLICATE):
        if met := [*pattern.finditer(path)]:
            arm = path[: met[-1].start()] + path[met[-1].end() :]
            return arm.strip("-_. /"), "" if pattern is _REPLICATE else met[-1][1]
    return path, ""


def unnumbered(name: str) -> str:
    """A name without the number that it ends in."""
    found = _NUMBERED.fullmatch(name)
    return found[1] if found else name


def by_numbers(named: Sequence[tuple[str, Score]]) -> list[tuple[str, Score]]:
    """Runs of arms whose names only number them, as base-1, base-2, new-1, new-2; else none.

    Each arm has one run without a seed. Numbers follow the word seed, count from 0 or 1 with at
    most one missing, or are the same three or more.
    """
    if any(run.seed for _, run in named):
        return []
    matches = [match for match in (_NUMBERED.fullmatch(arm) for arm, _ in named) if match]
    numbers: dict[str, set[int]] = defaultdict(set)
    for match in matches:
        numbers[match[1]].add(int(match[3]))
    sets = [*numbers.values()]
    if len(sets) < 2 or not len(matches) == len(named) == sum(map(len, sets)):
        return []
    seeds = all(match[2] for match in matches)
    counting = all(1 < len(each) >= max(each) - min(each) and min(each) < 2 for each in sets)
    same = all(each == sets[0] and len(each) > 2 for each in sets)
    if not (seeds or counting or same):
        return []
    return [
        (match[1], run._replace(seed=match[3] if seeds else ""))
        for match, (_, run) in zip(matches, named, strict=True)
    ]
