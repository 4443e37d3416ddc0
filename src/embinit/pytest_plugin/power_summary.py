"""A session's claims in lines for the terminal, before anything trains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from embinit.claims.functions import FunctionExperiment
from embinit.claims.judging import Case
from embinit.claims.power import schedule
from embinit.errors import counted


def summary(cases: Sequence[Case]) -> Iterator[str]:
    """How many claims there are, with how many seeds they are judged, and likely mistakes."""
    if not cases:
        return
    schedules = Counter(case.seeds_of_analyses() for case in cases)
    planned = "; ".join(
        f"{schedule(seeds)}{f' ({count})' if len(schedules) > 1 else ''}"
        for seeds, count in schedules.most_common()
    )
    claims = [case for case in cases if case.claim.expects is None]
    controls = counted(len(cases) - len(claims), "control")
    yield f"embinit: {counted(len(claims), 'claim')} and {controls}, seeds: {planned}"
    own = [case for case in claims if isinstance(case.experiment, FunctionExperiment)]
    mistakes = {  # papers fix their margins, at 0 too
        "not preregistered (optional; embinit register does it)": [
            case for case in claims if case.line is None
        ],
        "without a margin, so that it can't have NO EFFECT: experiment(…, margin=…)": [
            case for case in own if getattr(case.experiment, "margin", None) == 0
        ],
    }
    for said, found in mistakes.items():
        if found:
            which = found[0].id if len(found) == 1 else f"{len(found)} claims"
            yield f"embinit: {which}: {said}"
