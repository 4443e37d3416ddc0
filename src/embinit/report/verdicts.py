"""Summaries of the entries of ``verdicts.json``, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from embinit.claims.paired_tests import Verdict, holm
from embinit.claims.registration_status import ABSENT, AFTERWARDS, BEFOREHAND, CHANGED, named
from embinit.report.numbers import finite


def deciding(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The comparison that is shown for a claim: of those that decide it, the least certain.

    Args:
        entry: The claim's entry.

    Returns:
        The comparison's entry; None where the claim was not run.
    """
    same = [each for each in entry["comparisons"] if each["verdict"] == entry["verdict"]]
    return max(same, key=lambda each: deciding_p(each) or 0.0, default=None)


def deciding_p(comparison: Mapping[str, Any]) -> float | None:
    """The p that a comparison's verdict rests on.

    It is that of a difference within the margin for NO EFFECT, and else that of the statement.
    """
    name = "p_no_effect" if comparison["verdict"] == Verdict.NO_EFFECT else "p"
    return finite(comparison.get(name))


def leaning(comparison: Mapping[str, Any]) -> str:
    """The probable effect of more seeds on an undecided comparison; "" if it can't be told."""
    p, against = finite(comparison["p"]), finite(comparison["p_against"])
    if p is None or against is None:
        return ""
    within = finite(comparison.get("p_no_effect"))
    if within is not None and within < min(p, against):
        return "show no effect"
    return "support it" if p <= against else "refute it"


def wanted(comparison: Mapping[str, Any]) -> str:
    """The lack of an undecided comparison, in a few words."""
    needed, hangs_on = comparison["seeds_needed"], comparison.get("hangs_on")
    more = "over 1000 more seeds"
    if needed is not None:
        # It may lack only luck: then the seeds that it has should have been enough.
        more = f"about {max(1, needed - comparison['n'])} more seeds"
    elif comparison["difference"] == 0:
        more = "no difference yet"
    return more if hangs_on is None else f"hangs on seed {hangs_on}; {more}"


def locks_of(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The locks that claims were held against: file and digest of each.

    Args:
        claims: The claims' entries.
    """
    known = {
        (entry["registration"]["lock"], entry["registration"]["digest"])
        for entry in claims
        if "registration" in entry
    }
    return [{"lock": lock, "digest": digest} for lock, digest in sorted(known)]


def not_beforehand(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for the claims that stand alike, and otherwise than they were registered beforehand.

    Args:
        claims: The claims' entries.
    """
    alike: dict[tuple[str, str, str], list[str]] = {}
    for entry in claims:
        known = entry.get("registration")
        if known is not None and known["state"] != BEFOREHAND:
            told = f": {known['differs']}" if known["differs"] else ""
            words = WORDS_OF_STATE[known["state"]]
            alike.setdefault((words, told, known["lock"]), []).append(entry["id"])
    return [f"{words}: {named(ids)}{told} ({lock})" for (words, told, lock), ids in alike.items()]


WORDS_OF_STATE = {
    BEFOREHAND: "registered beforehand",
    AFTERWARDS: "registered afterwards",
    CHANGED: "not as registered",
    ABSENT: "not registered",
}
"""What is said of a claim by how it stands to its lock."""


def add_holm(claims: list[dict[str, Any]]) -> None:
    """Adds Holm-adjusted p to the comparisons of each family's claims.

    They are shown beside the verdicts and decide nothing. Controls and exact comparisons have none.

    Args:
        claims: The claims' entries, which are changed in place.
    """
    families: dict[str, list[dict[str, Any]]] = {}
    for entry in claims:
        if not entry["control"]:
            tested = [comparison for comparison in entry["comparisons"] if not comparison["exact"]]
            families.setdefault(entry["family"], []).extend(tested)
    for tested in families.values():
        for comparison, adjusted in zip(
            tested, holm([comparison["p"] for comparison in tested]), strict=True
        ):
            comparison["holm_p"] = adjusted
