"""Summaries of the entries of ``verdicts.json``, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embinit.claims.definitions import Origin
from embinit.claims.judging import TOO_COARSE
from embinit.claims.paired_tests import Relation, Verdict
from embinit.claims.registration_status import ABSENT, AFTERWARDS, BEFOREHAND, CHANGED, named
from embinit.report.numbers import finite, plain, points


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
    waits_for = comparison.get("waits_for")
    more = "over 1000 more seeds"
    if needed is not None:
        # It may lack only luck: then the seeds that it has should have been enough.
        more = f"about {max(1, needed - comparison['n'])} more seeds"
    elif comparison["difference"] == 0:
        more = "no difference yet"
    if waits_for is not None:
        return f"waits for {waits_for} seeds; {more}"
    return more if hangs_on is None else f"hangs on seed {hangs_on}; {more}"


def qualified(entry: Mapping[str, Any]) -> str:
    """What a SUPPORTED claim must not be told without; "" for one that needs no such words.

    A statement that allows a margin holds within it even where a difference is shown.

    Args:
        entry: The claim's entry.
    """
    if entry["verdict"] != Verdict.SUPPORTED or entry["control"]:
        return ""
    found = [_qualified(each) for each in entry["comparisons"]]
    return next(filter(None, found), "")


def bound(entry: Mapping[str, Any]) -> str:
    """What a SUPPORTED or a NO EFFECT shows beside its name; "" where the name says it all.

    A claim that allows a margin shows no gain, and one of a gain may show one below the margin.

    Args:
        entry: The claim's entry.
    """
    shown = deciding(entry)
    told = qualified(entry)
    if entry["control"] or shown is None or shown["exact"] or told:
        return told
    within = f"{plain(shown['margin'])} {points(shown['unit'])}".strip()
    if entry["verdict"] == Verdict.NO_EFFECT:
        return f"within {within}"
    if entry["verdict"] != Verdict.SUPPORTED:
        return ""
    if shown["relation"] == Relation.ALIKE:
        return f"alike within {within}"
    if Relation(shown["relation"]).uses_margin:
        return f"not worse by more than {within}"
    size, margin = finite(shown["difference"]), finite(shown["margin"])
    small = size is not None and margin is not None and abs(size) < margin
    return "by less than the margin" if small else ""


def qualifications(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """How many SUPPORTED claims must not be told without which words, a line each.

    Args:
        claims: The entries of claims and controls.
    """
    counts = Counter(filter(None, map(qualified, claims)))
    return [f"{count} of the SUPPORTED {words}" for words, count in counts.items()]


def _qualified(comparison: Mapping[str, Any]) -> str:
    low, high = (finite(bound) or 0.0 for bound in comparison.get("interval", (None, None)))
    above, below = low > 0, high < 0
    relation = comparison.get("relation")
    if (relation == Relation.NOT_BELOW and below) or (relation == Relation.NOT_ABOVE and above):
        return "worse, by less than the margin"
    if relation == Relation.ALIKE and (above or below):
        return "different, by less than the margin"
    return ""


@dataclass(frozen=True)
class Standing:
    """How claims of one kind came out.

    Attributes:
        whose: The kind, in words: whose statements they are, and whether training decides them.
        verdicts: How many have each verdict.
        beforehand: How many were registered before their runs.
        claims: How many there are.
        late: Why the others were not, each reason with its number.
    """

    whose: str
    verdicts: Mapping[str, int]
    beforehand: int
    claims: int
    late: Mapping[str, int]

    @property
    def registered(self) -> str:
        """How many were registered beforehand, in words."""
        return f"{self.beforehand} of {self.claims}"


def standings(claims: Sequence[Mapping[str, Any]]) -> list[Standing]:
    """How claims came out, by whose statements they are; the paper's own come first.

    What arithmetic on given tables decides stands apart: it was true before any run.

    Args:
        claims: The entries of claims and controls. Those of a version that had no origins are not
            told apart.
    """
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for origin in (*Origin, ""):
        for trained in (True, False):
            of_kind = [
                entry
                for entry in claims
                if not entry["control"]
                and (entry.get("origin", ""), entry.get("trained", True)) == (origin, trained)
            ]
            words = f"{Origin(origin).in_words} statements" if origin else "statements"
            kinds[words if trained else f"{words}, by arithmetic on tables"] = of_kind
    return [_standing(words, of_kind) for words, of_kind in kinds.items() if of_kind]


def _standing(words: str, claims: Sequence[Mapping[str, Any]]) -> Standing:
    known = [entry.get("registration", {"state": ABSENT, "differs": ""}) for entry in claims]
    late = [each for each in known if each["state"] != BEFOREHAND]
    return Standing(
        words,
        Counter(entry["verdict"] for entry in claims),
        len(known) - len(late),
        len(claims),
        Counter(each["differs"] or WORDS_OF_STATE[each["state"]] for each in late),
    )


def is_too_weak(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is of a control that all its seeds are too few for, or were until now."""
    if entry["verdict"] == Verdict.NOT_RUN:
        return bool(entry["control"]) and str(entry["reason"]).startswith(TOO_COARSE)
    known = entry["expects"] in (Verdict.NO_EFFECT, Verdict.SUPPORTED)
    return bool(known and entry["as_expected"] is None and entry["verdict"] == Verdict.UNDECIDED)


def controls_left(claims: Sequence[Mapping[str, Any]]) -> str:
    """How many controls say nothing, and why, in brackets; "" for none.

    Args:
        claims: The entries of claims and controls.
    """
    silent = [claim for claim in claims if claim["control"] and claim["as_expected"] is None]
    weak = sum(map(is_too_weak, silent))
    idle = sum(each["verdict"] == Verdict.NOT_RUN and not is_too_weak(each) for each in silent)
    counts = ((idle, "not run"), (len(silent) - weak - idle, "open"), (weak, "too weak"))
    told = [f"{count} {words}" for count, words in counts if count]
    return f" ({', '.join(told)})" if told else ""


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
