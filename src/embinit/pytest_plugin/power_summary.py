"""A session's claims in lines for the terminal, before anything trains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from embinit.claims.comparisons import Comparison
from embinit.claims.functions import FunctionExperiment
from embinit.claims.judging import Case
from embinit.claims.power import schedule
from embinit.errors import counted


def session_lines(cases: Sequence[Case]) -> list[str]:
    """A line on all claims: how many there are, and with how many seeds they are judged."""
    if not cases:
        return []
    schedules = Counter(case.seeds_of_analyses() for case in cases)
    planned = "; ".join(
        f"{schedule(seeds)}{f' ({count})' if len(schedules) > 1 else ''}"
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
