"""Put the records of claims and comparisons into words."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from embinit.claims.definitions import family_rank
from embinit.claims.judging import UNDERPOWERED
from embinit.claims.records import ClaimRecord, ComparisonRecord, State
from embinit.claims.registration_status import named
from embinit.errors import counted
from embinit.report import numbers
from embinit.report.document import SessionRecord
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
    shown = sides if any(sides[1]) else sides[:1]  # a trend is compared with 0
    averages = [sum(value / len(side) for value in side) for side in shown if side]
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


def ends(comparison: ComparisonRecord) -> tuple[float, float]:
    """Both ends of a comparison's interval; an open one is infinite."""
    low, high = comparison.interval
    return -math.inf if low is None else low, math.inf if high is None else high


def in_margins(comparison: ComparisonRecord, difference: float | None) -> float | None:
    """A difference over a comparison's margin, above 0 in the claimed direction, or None."""
    if not comparison.margin or difference is None:
        return None
    below = comparison.relation in (Relation.BELOW, Relation.NOT_ABOVE)
    return (-difference if below else difference) / comparison.margin


def _below_margin(comparison: ComparisonRecord) -> list[str]:
    """The paper's tasks on which it prints a difference that is smaller than the margin."""
    return [row.task for row in comparison.printed if abs(row.difference) < comparison.margin]


def against_print(comparison: ComparisonRecord) -> str:
    """How a margin compares with the differences that the paper prints; "" where it prints none."""
    if not comparison.margin or not comparison.printed:
        return ""
    if not (less := _below_margin(comparison)):
        return "smaller than the printed difference"
    text = f"larger than the printed difference on {' and '.join(less)}"
    allowed = not comparison.relation.uses_margin and len(less) == len(comparison.printed)
    return text + (", so NO EFFECT does not contradict the paper" if allowed else "")


def allows_print(claim: ClaimRecord) -> bool:
    """Whether a claim has NO EFFECT within a margin larger than each printed difference."""
    shown = claim.deciding
    if shown is None or claim.verdict is not Verdict.NO_EFFECT or not shown.printed:
        return False
    return len(_below_margin(shown)) == len(shown.printed)


def qualified(claim: ClaimRecord) -> str:
    """The restriction that is printed with a SUPPORTED claim; "" without one."""
    if claim.verdict is not Verdict.SUPPORTED or claim.control:
        return ""
    for one in claim.comparisons:
        low, high = ends(one)
        worse = {Relation.NOT_BELOW: high < 0, Relation.NOT_ABOVE: low > 0}.get(one.relation)
        if worse:
            return "worse, by less than the margin"
        if one.relation is Relation.ALIKE and (low > 0 or high < 0):
            return "different, by less than the margin"
    return ""


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
    control = ""
    if claim.control:
        expects = f", expects {claim.expects}" if claim.as_expected is False else ""
        control = f"control, {control_state(claim)}{expects}"
    insensitive = NOT_SENSITIVE if NOT_SENSITIVE in claim.reason else ""
    return [*filter(None, (control, bound(claim), insensitive))]


def control_state(control: ClaimRecord) -> str:
    """What came of a control: as expected, not as expected, not run, or too weak to tell."""
    if control.as_expected is not None:
        return "as expected" if control.as_expected else "not as expected"
    undecided = control.verdict is Verdict.UNDECIDED
    return "too weak" if undecided or control.reason.startswith(UNDERPOWERED) else "not run"


def not_beforehand(claims: Iterable[ClaimRecord]) -> list[str]:
    """A line for each way in which claims were not registered beforehand."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for claim in claims:
        known = claim.registration
        if known is not None and known.state is not State.BEFOREHAND:
            what = f": {known.differs}" if known.differs else ""
            alike.setdefault((known.state.in_words, what, known.lock), []).append(claim.id)
    return [f"{words}: {named(ids)}{what} ({lock})" for (words, what, lock), ids in alike.items()]
