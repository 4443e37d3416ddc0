"""List what is wrong with a session, apart from its claims' verdicts."""

from __future__ import annotations

from embinit.claims.registration_status import CHANGED
from embinit.report.baseline import LOST_ALONE, FailOn, compare
from embinit.report.reading import Document, unfinished
from embinit.report.verdicts import is_too_weak

GRAVEST = ("NOT RUN", "REFUTED", "NO EFFECT", "UNDECIDED", "SUPPORTED")
"""A claim has the first of these verdicts that one of its comparisons has."""


def faults(
    document: Document, baseline: Document | None = None, fail_on: FailOn = LOST_ALONE
) -> list[str]:
    """A session's faults, a sentence each; InputError for a baseline of another tier."""
    changes = () if baseline is None else compare(document, baseline).changes
    lost = [str(change) for change in changes if fail_on.includes(change)]
    return [*unfinished(document), *edited(document), *faults_of_session(document), *lost]


def edited(document: Document) -> list[str]:
    """The claims whose verdicts don't follow from their comparisons, a sentence each."""
    said = []
    for claim in document["claims"]:
        verdicts = [str(pair["verdict"]) for pair in claim["comparisons"]]
        empty = any(pair["verdict"] != "NOT RUN" and not pair["n"] for pair in claim["comparisons"])
        follows = next((one for one in GRAVEST if one in verdicts), "NOT RUN")
        if claim["verdict"] not in (follows, "NOT RUN") or empty:
            said.append(f"{claim['id']} is {claim['verdict']}, which its comparisons don't show")
    return said


def faults_of_session(document: Document) -> list[str]:
    """A session's faults apart from a baseline and from missing verdicts, a sentence each."""
    changed = [
        f"{claim['id']} is not as registered in {known['lock']}: {known['differs']}"
        for claim in document["claims"]
        if (known := claim.get("registration")) is not None and known["state"] == CHANGED
    ]
    return [*nothing_decided(document), *wrong_controls(document), *changed]


def nothing_decided(document: Document) -> list[str]:
    """A sentence if all claims are UNDECIDED, NOT RUN or skipped."""
    verdicts = [claim["verdict"] for claim in document["claims"] if not claim["control"]]
    verdicts += ["skipped" for _ in document.get("skipped", ())]
    if not {*verdicts} or not {*verdicts} <= {"UNDECIDED", "NOT RUN", "skipped"}:
        return []
    counts = (f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts))
    return [f"no claim is decided: {', '.join(counts)}"]


def wrong_controls(document: Document) -> list[str]:
    """The controls that came out other than expected or were not run, a sentence each reason."""
    wrong: dict[str, list[str]] = {}
    for claim in document["claims"]:
        if claim["control"] and not claim["as_expected"] and not is_too_weak(claim):
            idle = claim["as_expected"] is None
            is_now = f"is {claim['verdict']}, not {claim['expects']}"
            if claim["expects"] == "NO EFFECT":
                is_now = f"is not as expected: {claim['reason']}"
            wrong.setdefault(f"was not run: {claim['reason']}" if idle else is_now, []).append(
                claim["id"]
            )
    return [
        f"control {ids[0]}{f' (and {len(ids) - 1} more)' if ids[1:] else ''} {said}"
        for said, ids in wrong.items()
    ]
