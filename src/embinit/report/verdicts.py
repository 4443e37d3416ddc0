"""Put the records of claims and comparisons into words."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from embinit.claims.definitions import family_rank
from embinit.claims.judging import UNDERPOWERED
from embinit.claims.records import ClaimRecord, ComparisonRecord, State
from embinit.claims.registration_status import named
from embinit.errors import counted
from embinit.report import numbers
from embinit.report.document import LockRecord, SessionRecord
from embinit.report.numbers import plain, points
from embinit.stats.statements import Relation, Verdict, hanging

NOT_SENSITIVE = "not sensitive"
"""How the reason of a claim begins if its task's positive control is not as expected."""


def by_family(claims: Iterable[ClaimRecord]) -> dict[str, list[ClaimRecord]]:
    """Claims by their family's statement, in the report's order; controls are last."""
    families: dict[str, list[ClaimRecord]] = {}
    for claim in sorted(claims, key=lambda claim: (family_rank(claim.family), claim.control)):
        families.setdefault(claim.family_says or claim.family, []).append(claim)
    return families


def tier_in_words(session: SessionRecord) -> str:
    """The tier; "" for tests of one's own, which have none unless they name one."""
    named = session.papers or session.tier != numbers.DEFAULT_TIER
    return f"{session.tier} tier" if named else ""


def p_in_words(comparison: ComparisonRecord) -> str:
    """The one-sided p of a comparison's statement; ``exact`` for one without a test."""
    return "exact" if comparison.exact else numbers.p_value(comparison.p)


def interval_in_words(claims: Iterable[ClaimRecord]) -> str:
    """At which level the claims' intervals are: ``98.78 to 99.9 % interval``; "" without any."""
    shown = [one for claim in claims if (one := claim.deciding) is not None]
    levels = [100 * one.level for one in shown if not one.exact]
    ends = dict.fromkeys(f"{end:.4g}" for end in (min(levels), max(levels))) if levels else ()
    return f"{' to '.join(ends)} % interval" if ends else ""


FAILED, FEWEST = 5, 6
"""A run failed if it is so many scaled median absolute deviations off its arm's median, of the
median of so many runs or more."""


def failed_seeds(comparison: ComparisonRecord) -> list[str]:
    """The seeds on which an arm fails, with its score and its median: a text each."""
    found = []
    for label, values in comparison.values:
        known = [value for value in values if value is not None]
        if len(known) < FEWEST or comparison.exact:
            continue
        middle = statistics.median(known)
        deviation = 1.4826 * statistics.median(abs(value - middle) for value in known)
        found += [
            f"{label}, seed {seed}: {numbers.number(value)}, median {numbers.number(middle)}"
            for seed, value in zip(comparison.seeds, values, strict=True)
            if value is not None and abs(value - middle) > FAILED * deviation > 0
        ]
    return found


def means(comparison: ComparisonRecord) -> list[str]:
    """Both sides' means over seeds as text; a trend's has one side, and [] where nothing ran."""
    sides = [[one for one in values if one is not None] for _, values in comparison.values]
    if not any(sides[1]):
        del sides[1]  # a trend is compared with 0
    averages = [sum(value / len(side) for value in side) for side in sides if side]
    if not averages:
        return []
    places = min(numbers.decimals(averages), 2 if max(map(abs, averages)) >= 1 else 6)
    return [numbers.number(mean, places) for mean in averages]


def labelled_means(comparison: ComparisonRecord) -> str:
    """Both sides' means with their labels and unit: ``GloVe 60.0 vs Xavier 81.0 BLEU``."""
    pairs = zip((label for label, _ in comparison.values), means(comparison), strict=False)
    labelled = " vs ".join(f"{label}: {mean}" for label, mean in pairs)
    return f"{labelled} {comparison.unit}".strip()


def difference(comparison: ComparisonRecord) -> str:
    """The mean difference with its interval and unit: ``−21.0 [−33.2, −1.6] BLEU``."""
    places = numbers.decimals([comparison.difference, *comparison.interval])
    text = numbers.number(comparison.difference, places)
    if comparison.has_interval:
        text += f" {numbers.interval(comparison.interval, places)}"
    return f"{text} {points(comparison.unit)}".strip()


def wanted(comparison: ComparisonRecord) -> str:
    """What an undecided comparison needs to be decided, or keeps NO EFFECT back, in a few words.

    "" for others, and for one that no number of seeds would decide: its claim says why.
    """
    said, needed = hanging(comparison.verdict, comparison.hangs_on), comparison.seeds_needed
    if comparison.verdict is not Verdict.UNDECIDED or not comparison.has_interval:
        return said
    more = "needs over 1000 more seeds"
    if needed is not None:
        # It may lack only luck: then the seeds that it has should have been enough.
        more = f"needs about {counted(max(1, needed - comparison.n), 'more seed')}"
    elif comparison.difference == 0:
        more = "no difference yet"
    return f"{said}; {more}" if said else more


def in_margins(comparison: ComparisonRecord, difference: float | None) -> float | None:
    """A difference over a comparison's margin, above 0 in the claimed direction, or None."""
    if not comparison.margin or difference is None:
        return None
    below = comparison.relation in (Relation.BELOW, Relation.NOT_ABOVE)
    return (-difference if below else difference) / comparison.margin


def against_print(comparison: ComparisonRecord) -> str:
    """How a margin compares with the differences that the paper prints; "" where it prints none."""
    margin, printed = comparison.margin, comparison.printed
    if not margin or not printed:
        return ""
    less = [row.task for row in printed if abs(row.difference) < margin]
    if not less:
        return "smaller than the printed difference"
    text = f"larger than the printed difference on {' and '.join(less)}"
    allowed = not comparison.relation.uses_margin and len(less) == len(printed)
    return text + (", so NO EFFECT does not contradict the paper" if allowed else "")


def allows_print(claim: ClaimRecord) -> bool:
    """Whether a claim has NO EFFECT within a margin larger than each printed difference."""
    shown = claim.deciding
    if shown is None or claim.verdict is not Verdict.NO_EFFECT or not shown.printed:
        return False
    return all(abs(row.difference) < shown.margin for row in shown.printed)


def qualified(claim: ClaimRecord) -> str:
    """The restriction that is printed with a SUPPORTED claim; "" without one."""
    if claim.verdict is not Verdict.SUPPORTED or claim.control:
        return ""
    return next(filter(None, map(_qualified, claim.comparisons)), "")


def bound(claim: ClaimRecord) -> str:
    """The words that qualify a verdict SUPPORTED or NO EFFECT; "" without any."""
    shown, words = claim.deciding, qualified(claim)
    if claim.control or shown is None or shown.exact or words:
        return words
    within = f"{plain(shown.margin)} {points(shown.unit)}".strip()
    if claim.verdict is Verdict.NO_EFFECT:
        return f"within {within}{', more than is printed' if allows_print(claim) else ''}"
    if claim.verdict is not Verdict.SUPPORTED:
        return ""
    if shown.relation is Relation.ALIKE:
        return f"alike within {within}"
    if shown.relation.uses_margin:
        return f"not worse by more than {within}"
    small = shown.difference is not None and abs(shown.difference) < shown.margin
    return "estimate below the margin" if small else ""


def notes(claim: ClaimRecord) -> list[str]:
    """What is printed next to a claim's verdict: a control's state, a margin, a lack of power."""
    found = [bound(claim), NOT_SENSITIVE if NOT_SENSITIVE in claim.reason else ""]
    if claim.control:
        words = "too weak" if is_too_weak(claim) else "not run"
        if claim.as_expected is not None:
            words = (
                "as expected" if claim.as_expected else f"not as expected, expects {claim.expects}"
            )
        found.insert(0, f"control, {words}")
    return [*filter(None, found)]


def _qualified(comparison: ComparisonRecord) -> str:
    low, high = (end or 0.0 for end in comparison.interval)
    above, below, relation = low > 0, high < 0, comparison.relation
    if (relation is Relation.NOT_BELOW and below) or (relation is Relation.NOT_ABOVE and above):
        return "worse, by less than the margin"
    if relation is Relation.ALIKE and (above or below):
        return "different, by less than the margin"
    return ""


def is_too_weak(claim: ClaimRecord) -> bool:
    """Whether a claim is a control that its seeds so far are too few to decide."""
    if not claim.control or claim.as_expected is not None:
        return False
    coarse = claim.reason.startswith((UNDERPOWERED, "too coarse"))
    return coarse or claim.verdict is Verdict.UNDECIDED


def with_insensitive_noted(claims: Sequence[ClaimRecord]) -> list[ClaimRecord]:
    """The claims, those without a finding noted as not sensitive if their positive control failed.

    It is a control of the same task.
    """
    lacking = {
        _setting(claim): claim.id
        for claim in claims
        if claim.expects in (Verdict.SUPPORTED, Verdict.REFUTED) and not claim.as_expected
    }

    def noted(claim: ClaimRecord) -> ClaimRecord:
        finds_nothing = claim.verdict in (Verdict.UNDECIDED, Verdict.NO_EFFECT)
        if not finds_nothing or claim.control or _setting(claim) not in lacking:
            return claim
        note = f"{NOT_SENSITIVE}: the control {lacking[_setting(claim)]} is not as expected"
        return replace(claim, reason="; ".join(filter(None, (claim.reason, note))))

    return [*map(noted, claims)]


def _setting(claim: ClaimRecord) -> tuple[object, ...]:
    return claim.paper, claim.tier, claim.task, claim.metric, claim.trained


def locks_of(claims: Iterable[ClaimRecord]) -> tuple[LockRecord, ...]:
    """The locks that claims were compared with: file and digest of each."""
    known = (claim.registration for claim in claims if claim.registration is not None)
    pairs = {(registration.lock, registration.digest) for registration in known}
    return tuple(LockRecord(lock=lock, digest=digest) for lock, digest in sorted(pairs))


def not_beforehand(claims: Iterable[ClaimRecord]) -> list[str]:
    """A line for each way in which claims were not registered beforehand."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for claim in claims:
        known = claim.registration
        if known is not None and known.state is not State.BEFOREHAND:
            what = f": {known.differs}" if known.differs else ""
            alike.setdefault((known.state.in_words, what, known.lock), []).append(claim.id)
    return [f"{words}: {named(ids)}{what} ({lock})" for (words, what, lock), ids in alike.items()]
