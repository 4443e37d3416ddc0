"""The power of a session's claims, in lines for the terminal before anything trains."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence

from embinit.claims.comparisons import Comparison
from embinit.claims.experiments import Experiment
from embinit.claims.functions import FunctionExperiment
from embinit.claims.judging import Case
from embinit.claims.power import DetectableEffect, detectable_effects
from embinit.errors import counted

MOST_UNITS = 8


def session_lines(cases: Sequence[Case]) -> list[str]:
    """A few lines on all claims: how often they are looked at, and what that can see.

    Args:
        cases: The claims that were read, controls among them.
    """
    if not cases:
        return []
    schedules = Counter(case.seeds_of_looks() for case in cases)
    told = "; ".join(
        f"{_schedule(seeds)}{f' ({count})' if len(schedules) > 1 else ''}"
        for seeds, count in schedules.most_common()
    )
    controls = sum(case.claim.expects is not None for case in cases)
    claims = counted(len(cases) - controls, "claim")
    lines = [f"embinit: {claims} and {counted(controls, 'control')}, seeds: {told}"]
    every = [detectable_effects(case) for case in cases if case.claim.expects is None]
    known = [sight for each in every for sight in each]
    units: dict[str, list[DetectableEffect]] = defaultdict(list)
    for sight in known:
        if sight.effects is not None:
            units[sight.comparison.left.unit].append(sight)
    if units:
        lines.append("the smallest differences that would be seen nine times in ten:")
        ordered = sorted(units.items(), key=lambda item: -len(item[1]))
        lines += [_unit_line(unit, seen) for unit, seen in ordered[:MOST_UNITS]]
        if len(ordered) > MOST_UNITS:
            lines.append(f"  and {len(ordered) - MOST_UNITS} more units")
        lines += _expected([each for each in every if each])
    if absent := sum(sight.effects is None for sight in known):
        lines.append(
            f"{absent} of {counted(len(known), 'comparison')} "
            f"{'has' if absent == 1 else 'have'} no registered spread, so what can be seen is not "
            "known beforehand"
        )
    return lines


def doubts(cases: Sequence[Case], watched: Container[str]) -> list[str]:
    """The probable mistakes that break no claim, a line each.

    Args:
        cases: The claims that were read, controls among them.
        watched: The families that have a control.
    """
    claims = [case for case in cases if case.claim.expects is None]
    unwatched = dict.fromkeys(
        case.claim.family.name for case in claims if case.claim.family.name not in watched
    )
    lines = [
        f"embinit: family {name} has no control, so nothing shows that its claims can fail: add "
        "a_a(…) and falsehood(…)"
        for name in unwatched
    ]
    kinds: list[tuple[str, list[Case]]] = [
        (
            "not registered, and so decided by what was fixed when it ran: embinit register first",
            [case for case in claims if case.line is None],
        ),
        (
            "without a margin, so that it can't have NO EFFECT: experiment(…, margin=…)",
            [case for case in claims if _has_no_margin(case.experiment)],
        ),
        (
            "compared with less than 1 on a scale of percent, where a half is 50",
            [case for case in claims if any(map(_is_share_of_percent, case.comparisons))],
        ),
    ]
    for said, found in kinds:
        if found:
            more = f" (and {len(found) - 1} more)" if found[1:] else ""
            lines.append(f"embinit: {found[0].id}{more} is {said}")
    return lines


def _has_no_margin(experiment: Experiment) -> bool:
    """Whether a user's experiment was given no margin; papers fix theirs, at 0 too."""
    return isinstance(experiment, FunctionExperiment) and experiment.margin == 0


def _is_share_of_percent(comparison: Comparison) -> bool:
    sides = (comparison.left, comparison.right)
    return "%" in comparison.left.unit and any(
        not side.runs() and 0 < abs(side.shift) < 1 for side in sides
    )


def underpowered_lines(cases: Iterable[Case]) -> list[str]:
    """A line for each training function that does something which is in no run's key.

    Args:
        cases: The claims that were read.
    """
    functions = dict.fromkeys(
        case.experiment.function
        for case in cases
        if isinstance(case.experiment, FunctionExperiment)
    )
    return [f"embinit: {told}" for function in functions if (told := function.unseen)]


def claim_lines(cases: Iterable[Case]) -> list[str]:
    """A line for each claim: its looks, and the smallest differences that they see.

    Args:
        cases: The claims that were read.
    """
    return [f"{case.id}: {_claim(case)}" for case in cases]


def _claim(case: Case) -> str:
    if case.obstacle:
        return f"not run, {case.obstacle}"
    known = detectable_effects(case)
    if not known:
        return "nothing is random, so no seeds are needed"
    told = [_detectable_effect(sight) for sight in known]
    return f"{_schedule(known[0].seeds)} seeds; {'; '.join(dict.fromkeys(told))}"


def _detectable_effect(sight: DetectableEffect) -> str:
    unit, margin = sight.comparison.left.unit, sight.comparison.left.margin
    if sight.effects is None:
        return "no registered spread"
    seen = ", then ".join(map(_number, sight.effects))
    text = f"sees {seen} {unit}".rstrip()
    if not margin:
        return text
    expected = sight.expected_seeds
    seeds = f"{expected} seeds" if expected else f"more than {sight.seeds[-1]} seeds"
    return f"{text}, the margin of {margin:g} with {seeds}"


def _schedule(seeds: Sequence[int]) -> str:
    return ", then ".join(map(str, seeds))


def _unit_line(unit: str, seen: Sequence[DetectableEffect]) -> str:
    first, last = ([sight.effects[end] for sight in seen if sight.effects] for end in (0, -1))
    told = f"  {_range(first)} {unit}".rstrip()
    if last != first:
        told += f" at the first look, {_range(last)} at the last"
    return f"{told} ({counted(len(seen), 'comparison')})"


def _number(effect: float) -> str:
    return f"{effect:.3g}" if math.isfinite(effect) else "nothing"


def _range(values: Sequence[float]) -> str:
    low, high = _number(min(values)), _number(max(values))
    return low if low == high else f"{low} to {high}"


def _expected(every: Iterable[Sequence[DetectableEffect]]) -> list[str]:
    """How many claims see a difference of one margin with how many seeds."""
    counts: Counter[int | None] = Counter()
    for known in every:
        if all(sight.effects is not None and sight.comparison.left.margin for sight in known):
            wanted = [sight.expected_seeds for sight in known]
            counts[None if None in wanted else max(seeds for seeds in wanted if seeds)] += 1
    told = [
        f"{counted(counts[seeds], 'claim')} with {seeds} seeds"
        for seeds in sorted(filter(None, counts))
    ]
    if counts[None]:
        told.append(f"{counted(counts[None], 'claim')} at no look")
    return [f"a difference of one margin is expected to be seen by {', '.join(told)}"][: len(told)]
