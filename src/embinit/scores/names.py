"""What names say: the arm and the seed of a run, or which run of its arm it is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

_NO_NAME = re.compile(
    r"\.|lightning_logs|version_\d+|checkpoint-\d+|[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.*"
)
"""Parts of paths that tools make, and that name no arm."""

_SEED = re.compile(r"(?:^|[-_. /]|(?<=[a-z]))(?:seed|rng)[-_= ]?(\d+)(?=$|[-_. /])", re.IGNORECASE)
_SHORT_SEED = re.compile(r"(?:^|[-_. /])s(\d+)(?=$|[-_. /])")
_REPLICATE = re.compile(r"(?:^|[-_. /])(?:rep|replicate|run|trial)[-_=]?(\d+)(?=$|[-_. /])")
"""Parts that name a run's seed, and those that number runs without one."""

_NUMBERED = re.compile(
    r"(.*[^\W_])(?<!\de)[-_ /#]+(seed|s)?(rep|run|trial)?[-_= ]?(\d+)", re.IGNORECASE
)
"""A name that ends in a number, as ``base-1``, but for ``adam-1e-3``."""

_SETTING = re.compile(
    r".*(^|[\W_])(lr|(learning)?rate|wd|decay|bs|batch|sizes?|dims?|width|depth|layers?|heads?|hidden|rank|"
    r"experts|epochs?|steps?|iters?|warmup|dropout|momentum|betas?|alpha|gamma|eps|tau|temp|"
    r"temperature|k|n|scale|clip|length|len|ctx|context|window|bits|level|v|version)",
    re.IGNORECASE,
)
"""A name whose last word is a setting: a number after it is its value, and no run."""


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


def by_numbers(names: Sequence[str], fewest: int) -> dict[str, tuple[str, str]]:
    """The arm and the seed of names that only number runs, as base-1, base-2, new-1; else none.

    There are the ``fewest`` arms at least. Numbers follow a word such as seed or run; or they
    follow no setting, and count from 0 or 1 with at most one missing, or are the same three or
    more.
    """
    matches = [found for name in names if (found := _NUMBERED.fullmatch(name))]
    numbers: dict[str, set[int]] = defaultdict(set)
    for found in matches:
        numbers[found[1]].add(int(found[4]))
    sets = [*numbers.values()]
    if len(sets) < fewest or not len(matches) == len(names) == sum(map(len, sets)):
        return {}
    if not all(found[2] or found[3] for found in matches):
        counting = all(1 < len(of) >= max(of) - min(of) and min(of) < 2 for of in sets)
        same = all(of == sets[0] and len(of) > 2 for of in sets)
        if any(map(_SETTING.fullmatch, numbers)) or not (counting or same):
            return {}
    are_seeds = all(found[2] for found in matches)
    return {found[0]: (found[1], found[4] if are_seeds else "") for found in matches}
