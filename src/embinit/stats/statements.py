"""What is stated of a mean difference, on what evidence, what came out, and the rule in words."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

RULE = (
    "For each seed, the score of one arm is subtracted from the score of the other. A one-sided "
    "t-test compares the mean of these differences with 0. A claim of 'no worse' is tested "
    "against the margin instead of 0. Claims of 'alike' and the verdict NO EFFECT need two such "
    "tests, against plus and minus the margin.",
    "The t-test needs the variance of the differences. If a variance was preregistered, it is "
    "averaged with the variance of the claim's own seeds, weighted by degrees of freedom.",
    "Skewed differences make a t-test err too often. If their longer tail points towards the "
    "tested value (0 or the margin), the critical value of t grows by g (1 + 2 t^2) / (6 sqrt "
    "n). Here n is the number of seeds, and g the size of the skewness: the third central moment "
    "over the cube of the standard deviation, both with divisor n (Johnson 1978).",
    "With three or more seeds, a verdict must still hold after any single seed is removed.",
    "The claims of a family share an error rate of 5 % equally. A control is judged at the same "
    "share. A claim is judged at several planned numbers of seeds, its interim analyses. Alpha "
    "spending divides the claim's share over its interim analyses (Lan and DeMets, Pocock's "
    "type).",
    "SUPPORTED: the data show the statement. REFUTED: the data show the opposite. NO EFFECT: the "
    "statement is < or >, and the data show that the difference is smaller than the margin; this "
    "comes before the other two.",
    "A claim with k comparisons is SUPPORTED if all k are. A single comparison can make the "
    "claim REFUTED or NO EFFECT, but only at 1/k of the claim's error rate; REFUTED comes before "
    "NO EFFECT. A comparison that is SUPPORTED is not judged again.",
    "In all other cases the claim is UNDECIDED. Differences that are the same for every seed "
    "also give UNDECIDED.",
)
"""The rule, which documents carry and ``docs/verdicts.md`` prints."""

ENOUGH_REGISTERED = 10
"""On how many seeds a standard deviation is registered."""


class Verdict(StrEnum):
    """The verdict on a claim or on a comparison."""

    SUPPORTED = "SUPPORTED"
    REFUTED = "REFUTED"
    NO_EFFECT = "NO EFFECT"
    UNDECIDED = "UNDECIDED"
    NOT_RUN = "NOT RUN"


def hanging(verdict: Verdict, seed: int | None) -> str:
    """What a verdict isn't that would change without a seed, in words; "" without such a seed."""
    if seed is None:
        return ""
    lacks = "robust:" if verdict is Verdict.UNDECIDED else f"{Verdict.NO_EFFECT}, since it"
    return f"not {lacks} changes without seed {seed}"


VERDICTS = tuple(map(str, Verdict))
"""All verdicts, in the order in which their counts are reported."""


def verdict_of(verdicts: Collection[Verdict]) -> Verdict:
    """The verdict on a claim from those on its comparisons; NOT RUN without any."""
    for worst in (Verdict.NOT_RUN, Verdict.REFUTED, Verdict.NO_EFFECT, Verdict.UNDECIDED):
        if worst in verdicts:
            return worst
    return Verdict.SUPPORTED if verdicts else Verdict.NOT_RUN


class Relation(StrEnum):
    """The relation between two quantities that a claim states."""

    BELOW = "<"
    ABOVE = ">"
    NOT_ABOVE = "<="
    NOT_BELOW = ">="
    ALIKE = "~"

    @property
    def symbol(self) -> str:
        """The symbol of the relation, for people."""
        return {"<=": "≤", ">=": "≥", "~": "≈"}.get(self.value, self.value)

    @property
    def uses_margin(self) -> bool:
        """Whether the test uses the margin; ``<`` and ``>`` are tested against 0."""
        return self not in (Relation.BELOW, Relation.ABOVE)

    def bounds(self, margin: float) -> tuple[float, float]:
        """The range of mean differences for which the statement is true; it may be infinite."""
        edge = margin if self.uses_margin else 0.0
        low = -math.inf if self in (Relation.BELOW, Relation.NOT_ABOVE) else 0.0 - edge
        return low, math.inf if self in (Relation.ABOVE, Relation.NOT_BELOW) else edge


class Pairing(StrEnum):
    """What pairs the values of two sides."""

    BY_SEED = "by seed"
    NONE = "none"
    AGAINST_NOISE = "against noise"
    """Nothing, and the right side's values are those that the known sd comes from."""


@dataclass(frozen=True)
class KnownSd:
    """The standard deviation of a difference that was known before its runs, and its origin.

    A registered one has no ``origin``, and was measured on so many ``seeds`` that no claim uses.
    One of earlier runs says in ``origin`` which, and has its degrees of freedom and 1 in ``seeds``.
    """

    sd: float
    seeds: int
    origin: str = ""

    @property
    def degrees(self) -> int:
        """The degrees of freedom that it adds."""
        return self.seeds - 1


@dataclass(frozen=True)
class Evidence:
    """All that one comparison is decided by; ``rule.decide`` takes nothing else.

    At ``level`` the statement is SUPPORTED, at ``level_against`` (by default the same) REFUTED or
    has NO EFFECT; both are one-sided. The ``margin``, in the metric's unit, widens ``<=``, ``>=``
    and ``~``; for ``<`` and ``>`` a smaller difference has NO EFFECT. ``random``: the values depend
    on the seed. Without pairs the ``known_sd`` is that of the difference of two runs.
    ``leave_one_out`` is rule 4. Fewer values than ``fewest`` decide nothing. ``names`` are what
    reasons call the two sides.
    """

    left: Sequence[float]
    right: Sequence[float]
    relation: Relation
    level: float
    margin: float = 0.0
    random: bool = True
    level_against: float | None = None
    known_sd: KnownSd | None = None
    pairing: Pairing = Pairing.BY_SEED
    leave_one_out: bool = True
    fewest: int = 2
    names: tuple[str, str] = ("the left side", "the right side")


@dataclass(frozen=True)
class Outcome:
    """A comparison's numbers.

    ``n`` counts pairs, or values on the side that has fewer. ``difference`` is the mean of left -
    right; its two-sided ``interval`` at ``level`` = 1 - 2 alpha is larger to the side that the
    differences are skewed to. ``p`` and ``p_against`` are the one-sided p of the statement and of
    its opposite; ``p_no_effect``, for ``<`` and ``>`` with a margin, that of a difference within
    it. ``seeds_needed`` would decide with 90 % power if mean and deviation were true (None over
    1000).

    ``sd`` is that of the differences, pooled with the ``known_sd`` if there is one; 0 where they do
    not vary. ``hangs_on`` is the index of the value (left's, then right's without pairs) without
    which the decision would change: that leaves it UNDECIDED, or keeps NO EFFECT back where a
    larger difference is shown too. ``exact``: nothing was random.
    ``reason`` says why the values can't decide, whatever they are, and is else empty.
    """

    verdict: Verdict
    n: int
    difference: float
    interval: tuple[float, float]
    level: float
    margin: float
    p: float
    p_against: float
    p_no_effect: float | None = None
    seeds_needed: int | None = None
    exact: bool = False
    sd: float = 0.0
    known_sd: KnownSd | None = None
    hangs_on: int | None = None
    reason: str = ""
