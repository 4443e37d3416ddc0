"""The lab's quantities: what inits' arms are measured by, and what a large sigma costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embinit.claims.comparisons import Lookup, Quantity
from embinit.errors import InputError
from embinit.runs.measures import Measure


class InitQuantity(Quantity):
    """A sum of measures of arms that are inits."""

    @property
    def sigma(self) -> Quantity:
        """The starting table's standard deviation."""
        return self.measured_by("sigma")

    @property
    def pe_share(self) -> Quantity:
        """The positions' share of the variance of the encoder's input, at the start."""
        return self.measured_by("pe_share")

    @property
    def best_epoch(self) -> Quantity:
        """The epoch with the best validation score, counted from 1."""
        return self.measured_by("best_epoch")


RHO = "Spearman's ρ"


@dataclass(frozen=True, eq=False)
class RankCorrelation(Quantity):
    """Spearman's rho, one a seed (see ``rank_correlation``)."""

    @property
    def trained(self) -> bool:
        """Whether training decides the value. It does: it is computed from trained scores."""
        return True

    def __sub__(self, other: Quantity) -> Quantity:
        """Refuses: a correlation has no weighted terms to subtract from."""
        raise InputError("a rank correlation is compared with a number, not taken from another")

    def measured_by(self, measure: str | Measure, keep_margin: bool = False) -> Quantity:
        """Refuses: the measures of a correlation are those of its pairs."""
        raise InputError("a rank correlation has no other measure; correlate other quantities")

    def value(self, index: int, lookup: Lookup) -> float | None:
        """Spearman's rho of one replicate; None where a run has no such measure."""
        from scipy import stats  # it takes a second to load

        ratios, losses = [], []
        for arm, base in self.parts:
            sigma, usual = (side.measured_by("sigma").value(index, lookup) for side in (arm, base))
            score, best = arm.value(index, lookup), base.value(index, lookup)
            if sigma is None or not usual or score is None or best is None:
                return None
            ratios.append(sigma / usual)
            losses.append((best - score) / arm.margin)
        if len(set(ratios)) < 2 or len(set(losses)) < 2:
            return 0.0  # a constant has no ranks
        return float(stats.spearmanr(ratios, losses).statistic)


def rank_correlation(pairs: Sequence[tuple[Quantity, Quantity]]) -> Quantity:
    """Spearman's rho between lost score and sigma, one a seed, over at least 3 pairs.

    Each pair is an arm and its base. Ranked are the arm's sigma over the base's, and how far its
    score falls below the base's in margins of the task, so that BLEU and accuracy can be ranked
    together.
    """
    if len(pairs) < 3:
        raise InputError(f"a rank correlation takes at least 3 pairs of arms, not {len(pairs)}")
    return RankCorrelation(
        terms=(),
        label="rank correlation of width and score lost",
        measure=Measure("rank_correlation", RHO),
        unit=RHO,
        margin=0.0,
        seeds=min(arm.seeds for arm, _ in pairs),
        parts=tuple(pairs),
    )
