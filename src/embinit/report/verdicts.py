"""Put single entries of ``verdicts.json`` into words."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from embinit.claims.definitions import family_rank
from embinit.claims.judging import UNDERPOWERED
from embinit.claims.registration_status import (
    ABSENT,
    AFTERWARDS,
    BEFOREHAND,
    CHANGED,
    REPLICATION,
    named,
)
from embinit.report import numbers
from embinit.report.numbers import finite, plain, points
from embinit.stats.statements import Relation, Verdict

NOT_SENSITIVE = "not sensitive"
"""How the reason of a claim begins if its task's positive control is not as expected."""


def by_family(claims: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Claims by their family's statement, in the report's order; controls are last."""
    families: dict[str, list[Mapping[str, Any]]] = {}
    for entry in sorted(claims, key=lambda claim: (family_rank(claim["family"]), claim["control"])):
        families.setdefault(entry["family_says"] or entry["family"], []).append(entry)
    return families


def tier_in_words(session: Mapping[str, Any]) -> str:
    """The tier; "" for tests of one's own, which have none unless they name one."""
    named = session.get("papers") or session["tier"] != numbers.DEFAULT_TIER
    return f"{session['tier']} tier" if named else ""


def deciding(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The comparison that is shown for a claim: of those that decide it, the least certain."""
    same = [pair for pair in entry["comparisons"] if pair["verdict"] == entry["verdict"]]
    return max(same, key=lambda pair: deciding_p(pair) or 0.0, default=None)


def p_in_words(comparison: Mapping[str, Any]) -> str:
    """The one-sided p of a comparison's statement; ``exact`` for one without a test."""
    return "exact" if comparison["exact"] else numbers.p_value(comparison["p"])


def interval_in_words(claims: Iterable[Mapping[str, Any]]) -> str:
    """At which level the claims' intervals are: ``98.78 to 99.9 % interval``; "" without any."""
    shown = filter(None, map(deciding, claims))
    levels = [100 * one["level"] for one in shown if not one["exact"]]
    ends = dict.fromkeys(f"{end:.4g}" for end in (min(levels), max(levels))) if levels else ()
    return f"{' to '.join(ends)} % interval" if ends else ""


FAILED, FEWEST = 5, 6
"""A run failed if it is so many scaled median absolute deviations off its arm's median, of the
median of so many runs or more."""


def failed_seeds(comparison: Mapping[str, Any]) -> list[str]:
    """The seeds on which an arm fails, with its score and its median: a text each."""
    found = []
    for side in ("left", "right"):
        values = [finite(value) for value in comparison[f"{side}_values"]]
        known = [value for value in values if value is not None]
        if len(known) < FEWEST or comparison["exact"]:
            continue
        middle = statistics.median(known)
        deviation = 1.4826 * statistics.median(abs(value - middle) for value in known)
        found += [
            f"{comparison['arms'][side]}, seed {seed}: {numbers.number(value)}, median "
            f"{numbers.number(middle)}"
            for seed, value in zip(comparison["seeds"], values, strict=True)
            if value is not None and abs(value - middle) > FAILED * deviation > 0
        ]
    return found


def deciding_p(comparison: Mapping[str, Any]) -> float | None:
    """The p that shows how certain a verdict is; NO EFFECT rests on its own."""
    name = "p_no_effect" if comparison["verdict"] == Verdict.NO_EFFECT else "p"
    return finite(comparison[name])


def means(comparison: Mapping[str, Any]) -> list[str]:
    """Both sides' means over seeds as text; a trend's has one side, and [] where nothing ran."""
    sides = [
        [known for value in comparison[name] if (known := finite(value)) is not None]
        for name in ("left_values", "right_values")
    ]
    if not any(sides[1]):
        del sides[1]  # a trend is compared with 0
    averages = [sum(value / len(side) for value in side) for side in sides if side]
    if not averages:
        return []
    places = min(numbers.decimals(averages), 2 if max(map(abs, averages)) >= 1 else 6)
    return [numbers.number(mean, places) for mean in averages]


def labelled_means(comparison: Mapping[str, Any]) -> str:
    """Both sides' means with their labels and unit: ``GloVe 60.0 vs Xavier 81.0 BLEU``."""
    arms = comparison["arms"]
    pairs = zip((arms["left"], arms["right"]), means(comparison), strict=False)
    labelled = " vs ".join(f"{label}: {mean}" for label, mean in pairs)
    return f"{labelled} {comparison['unit']}".strip()


def difference(comparison: Mapping[str, Any]) -> str:
    """The mean difference with its interval and unit: ``−21.0 [−33.2, −1.6] BLEU``."""
    places = numbers.decimals([comparison["difference"], *comparison["interval"]])
    text = numbers.number(comparison["difference"], places)
    if not comparison["exact"] and any(finite(end) is not None for end in comparison["interval"]):
        text += f" {numbers.interval(comparison['interval'], places)}"
    return f"{text} {points(comparison['unit'])}".strip()


def wanted(comparison: Mapping[str, Any]) -> str:
    """What an undecided comparison needs to be decided, in a few words."""
    needed, hangs_on = comparison["seeds_needed"], comparison["hangs_on"]
    more = "over 1000 more seeds"
    if needed is not None:
        # It may lack only luck: then the seeds that it has should have been enough.
        more = f"about {max(1, needed - comparison['n'])} more seeds"
    elif comparison["difference"] == 0:
        more = "no difference yet"
    return more if hangs_on is None else f"not robust: changes without seed {hangs_on}; {more}"


def in_margins(comparison: Mapping[str, Any], value: object) -> float | None:
    """A difference over a comparison's margin, above 0 in the claimed direction, or None."""
    margin, difference = finite(comparison["margin"]), finite(value)
    if not margin or difference is None:
        return None
    below = comparison["relation"] in (Relation.BELOW, Relation.NOT_ABOVE)
    return (-difference if below else difference) / margin


def against_print(comparison: Mapping[str, Any]) -> str:
    """How a margin compares with the differences that the paper prints; "" where it prints none."""
    margin, printed = finite(comparison["margin"]), comparison["printed"]
    if not margin or not printed:
        return ""
    less = [row["task"] for row in printed if abs(row["difference"]) < margin]
    if not less:
        return "smaller than the printed difference"
    text = f"larger than the printed difference on {' and '.join(less)}"
    states = not Relation(comparison["relation"]).uses_margin
    allowed = states and len(less) == len(printed)
    return text + (", so NO EFFECT does not contradict the paper" if allowed else "")


def allows_print(entry: Mapping[str, Any]) -> bool:
    """Whether a claim has NO EFFECT within a margin larger than each printed difference."""
    shown = deciding(entry)
    if shown is None or entry["verdict"] != Verdict.NO_EFFECT or not shown["printed"]:
        return False
    return all(abs(row["difference"]) < shown["margin"] for row in shown["printed"])


def qualified(entry: Mapping[str, Any]) -> str:
    """The restriction that is printed with a SUPPORTED claim; "" without one."""
    if entry["verdict"] != Verdict.SUPPORTED or entry["control"]:
        return ""
    found = [_qualified(comparison) for comparison in entry["comparisons"]]
    return next(filter(None, found), "")


def bound(entry: Mapping[str, Any]) -> str:
    """The words that qualify a verdict SUPPORTED or NO EFFECT; "" without any."""
    shown = deciding(entry)
    words = qualified(entry)
    if entry["control"] or shown is None or shown["exact"] or words:
        return words
    within = f"{plain(shown['margin'])} {points(shown['unit'])}".strip()
    if entry["verdict"] == Verdict.NO_EFFECT:
        return f"within {within}{', more than is printed' if allows_print(entry) else ''}"
    if entry["verdict"] != Verdict.SUPPORTED:
        return ""
    if shown["relation"] == Relation.ALIKE:
        return f"alike within {within}"
    if Relation(shown["relation"]).uses_margin:
        return f"not worse by more than {within}"
    size, margin = finite(shown["difference"]), finite(shown["margin"])
    small = size is not None and margin is not None and abs(size) < margin
    return "estimate below the margin" if small else ""


def notes(entry: Mapping[str, Any]) -> list[str]:
    """What is printed next to a claim's verdict: a control's state, a margin, a lack of power."""
    found = [bound(entry), NOT_SENSITIVE if NOT_SENSITIVE in entry["reason"] else ""]
    if entry["control"]:
        idle = "too weak" if is_too_weak(entry) else "not run"
        words = {True: "as expected", False: f"not as expected, expects {entry['expects']}"}
        found.insert(0, f"control, {words.get(entry['as_expected'], idle)}")
    return [*filter(None, found)]


def _qualified(comparison: Mapping[str, Any]) -> str:
    low, high = (finite(bound) or 0.0 for bound in comparison["interval"])
    above, below = low > 0, high < 0
    relation = comparison["relation"]
    if (relation == Relation.NOT_BELOW and below) or (relation == Relation.NOT_ABOVE and above):
        return "worse, by less than the margin"
    if relation == Relation.ALIKE and (above or below):
        return "different, by less than the margin"
    return ""


def is_too_weak(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is a control that its seeds so far are too few to decide."""
    if not entry["control"] or entry["as_expected"] is not None:
        return False
    coarse = str(entry["reason"]).startswith((UNDERPOWERED, "too coarse"))
    return coarse or bool(entry["verdict"] == Verdict.UNDECIDED)


def note_insensitive(claims: Sequence[dict[str, Any]]) -> None:
    """Mark claims without a finding as not sensitive if their task's positive control failed."""
    lacking = {
        _setting(entry): entry["id"]
        for entry in claims
        if entry["expects"] in (Verdict.SUPPORTED, Verdict.REFUTED) and not entry["as_expected"]
    }
    for entry in claims:
        finds_nothing = entry["verdict"] in (Verdict.UNDECIDED, Verdict.NO_EFFECT)
        if finds_nothing and not entry["control"] and _setting(entry) in lacking:
            note = f"{NOT_SENSITIVE}: the control {lacking[_setting(entry)]} is not as expected"
            entry["reason"] = "; ".join(filter(None, (entry["reason"], note)))


def _setting(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(entry[name] for name in ("paper", "tier", "task", "metric", "trained"))


def locks_of(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The locks that claims were compared with: file and digest of each."""
    known = (entry["registration"] for entry in claims if "registration" in entry)
    pairs = {(registration["lock"], registration["digest"]) for registration in known}
    return [{"lock": lock, "digest": digest} for lock, digest in sorted(pairs)]


def not_beforehand(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each way in which claims were not registered beforehand."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for entry in claims:
        known = entry.get("registration")
        if known is not None and known["state"] != BEFOREHAND:
            what = f": {known['differs']}" if known["differs"] else ""
            words = WORDS_OF_STATE[known["state"]]
            alike.setdefault((words, what, known["lock"]), []).append(entry["id"])
    return [f"{words}: {named(ids)}{what} ({lock})" for (words, what, lock), ids in alike.items()]


WORDS_OF_STATE = {
    BEFOREHAND: "preregistered",
    AFTERWARDS: "post hoc",
    CHANGED: "not as registered",
    ABSENT: "not registered",
    REPLICATION: "replication",
}
"""What is said of a claim by how it stands to its lock."""
