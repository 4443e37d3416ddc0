"""List what is wrong with a session, apart from its claims' verdicts."""

from __future__ import annotations

from embinit.claims.records import State
from embinit.report.baseline import Since
from embinit.report.document import Document
from embinit.report.verdicts import control_state
from embinit.stats.statements import Verdict, verdict_of


def faults(document: Document, since: Since | None = None) -> list[str]:
    """A session's faults, and those of the changes since a baseline: a sentence each."""
    lost = [str(change) for change in (since.changes if since else ()) if change.fault]
    return [*document.lacking, *contradicting(document), *faults_of_session(document), *lost]


def contradicting(document: Document) -> list[str]:
    """The claims whose verdicts don't follow from their comparisons, a sentence each."""
    return [
        f"{claim.id} is {claim.verdict}, which its comparisons don't show"
        for claim in document.claims
        if claim.verdict
        not in (verdict_of([pair.verdict for pair in claim.comparisons]), Verdict.NOT_RUN)
        or any(pair.verdict is not Verdict.NOT_RUN and not pair.n for pair in claim.comparisons)
    ]


def faults_of_session(document: Document) -> list[str]:
    """A session's faults apart from a baseline and from missing verdicts, a sentence each."""
    changed = [
        f"{claim.id} is not as registered in {known.lock}: {known.differs}"
        for claim in document.claims
        if (known := claim.registration) is not None and known.state is State.CHANGED
    ]
    return [*nothing_decided(document), *wrong_controls(document), *changed]


def nothing_decided(document: Document) -> list[str]:
    """A sentence if all claims are UNDECIDED, NOT RUN or skipped."""
    verdicts = [str(claim.verdict) for claim in document.claims if not claim.control]
    verdicts += ["skipped" for _ in document.skipped]
    if not verdicts or not {*verdicts} <= {Verdict.UNDECIDED, Verdict.NOT_RUN, "skipped"}:
        return []
    counts = (f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts))
    return [f"no claim is decided: {', '.join(counts)}"]


def wrong_controls(document: Document) -> list[str]:
    """The controls that came out other than expected or were not run, a sentence each reason."""
    wrong: dict[str, list[str]] = {}
    for claim in document.claims:
        if claim.control and control_state(claim) in ("not as expected", "not run"):
            said = f"is {claim.verdict}, not {claim.expects}"
            if claim.as_expected is None:
                said = f"was not run: {claim.reason}"
            elif claim.expects is Verdict.NO_EFFECT:
                said = f"is not as expected: {claim.reason}"
            wrong.setdefault(said, []).append(claim.id)
    return [
        f"control {ids[0]}{f' (and {len(ids) - 1} more)' if ids[1:] else ''} {said}"
        for said, ids in wrong.items()
    ]
