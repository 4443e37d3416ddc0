"""The power of a session's claims, in lines for the terminal before anything trains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from embinit.claims.comparisons import Comparison
from embinit.claims.functions import FunctionExperiment
from embinit.claims.judging import Case
from embinit.claims.power import expected_seeds, random_comparisons, smallest_effects
from embinit.errors import counted


def session_lines(cases: Sequence[Case]) -> list[str]:
    """A line on all claims: how many there are, and with how many seeds they are looked at."""
    if not cases:
        return []
    schedules = Counter(case.seeds_of_looks() for case in cases)
    planned = "; ".join(
        f"{_schedule(seeds)}{f' ({count})' if len(schedules) > 1 else ''}"
        for seeds, count in schedules.most_common()
    )
    controls = sum(case.claim.expects is not None for case in cases)
    claims = counted(len(cases) - controls, "claim")
    return [f"embinit: {claims} and {counted(controls, 'control')}, seeds: {planned}"]


def doubts(cases: Sequence[Case]) -> list[str]:
    """The probable mistakes that break no claim, a line each."""
    claims = [case for case in cases if case.claim.expects is None]
    own = [case for case in claims if isinstance(case.experiment, FunctionExperiment)]
    kinds = {  # papers fix their margins, at 0 too
        "not preregistered (optional; embinit register does it)": [
            case for case in claims if case.line is None
        ],
        "without a margin, so that it can't have NO EFFECT: experiment(…, margin=…)": [
            case for case in own if getattr(case.experiment, "margin", None) == 0
        ],
        "compared with less than 1 on a scale of percent, where a half is 50": [
            case for case in claims if any(map(_is_share_of_percent, case.comparisons))
        ],
    }
    return [
        f"embinit: {found[0].id if len(found) == 1 else f'{len(found)} claims'}: {said}"
        for said, found in kinds.items()
        if found
    ]


def _is_share_of_percent(comparison: Comparison) -> bool:
    sides = (comparison.left, comparison.right)
    return "%" in comparison.left.unit and any(
        not side.runs() and 0 < abs(side.shift) < 1 for side in sides
    )


def of_claim(case: Case) -> str:
    """A claim's looks, and the smallest differences that they see."""
    if case.obstacle:
        return f"not run, {case.obstacle}"
    seen = dict.fromkeys(_seen(each, case) for each in random_comparisons(case))
    if not seen:
        return "nothing is random, so no seeds are needed"
    return "; ".join(seen)


def _seen(comparison: Comparison, case: Case) -> str:
    looks, margin = case.looks(), comparison.left.margin
    effects = smallest_effects(comparison, looks, case.alpha)
    if effects is None:
        return f"{_schedule(case.seeds_of_looks())} seeds, no registered standard deviation"
    pairs = zip(effects, looks, strict=True)
    found = ", ".join(f"{effect:.3g} with {look.seeds} seeds" for effect, look in pairs)
    unit = comparison.left.unit
    text = f"differences found with 90 % power{f', in {unit}' if unit else ''}: {found}"
    if not margin:
        return text
    expected = expected_seeds(comparison, looks, case.alpha)
    needed = f"{expected} seeds" if expected else f"more than {looks[-1].seeds} seeds"
    return f"{text}; the margin, {f'{margin:g} {unit}'.rstrip()}, needs {needed}"


def _schedule(seeds: Sequence[int]) -> str:
    return ", then ".join(map(str, seeds))
