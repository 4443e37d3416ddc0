"""Checks of single rows: each reads a table's measures and may name rows that are faulty.

The limits are far from what trained tables have: a row counts as small or large only where a gap
parts it from the others, since no single number fits all models.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from embinit.errors import counted
from embinit.lab.inspection.findings import Finding, TableEvidence

GAP = 3.0
"""The ratio to the next norm, and to the median, from which rows count as separate."""

NEAR_ZERO = 1e-3
"""The share of the median norm below which a row counts as zero."""

CLOSE = 0.99
"""The cosine of rows that are nearly copies."""

MANY = 10
"""The least number of rows in a group of nearly copies that is reported."""

OFF_CENTRE = 8.0
"""The robust deviations from the median share along the common direction."""


def non_finite(evidence: TableEvidence) -> Iterator[Finding]:
    """Rows with a NaN or an infinity."""
    rows = np.flatnonzero(~np.isfinite(evidence.by_row.norms))
    if len(rows):
        yield evidence.finding("non-finite", rows)


def zero_rows(evidence: TableEvidence) -> Iterator[Finding]:
    """Rows of zeros that are not padding."""
    rows = np.flatnonzero((evidence.by_row.norms == 0) & evidence.by_row.measured)
    if len(rows):
        yield evidence.finding("zero-rows", rows)


def gaps(evidence: TableEvidence) -> Iterator[Finding]:
    """Rows much shorter or much longer than all others."""
    ids = np.flatnonzero(evidence.ordinary)
    if len(ids) < 8:
        return
    norms = evidence.by_row.norms[ids]
    order = np.argsort(norms)
    ranked, median, half = norms[order], float(np.median(norms)), len(ids) // 2
    ratio = ranked[1:] / ranked[:-1]
    low = int(np.argmax(ratio[:half])) + 1
    short = low if ratio[low - 1] >= GAP and ranked[low - 1] * GAP <= median else 0
    short = max(short, int((ranked < NEAR_ZERO * median).sum()))
    if short:
        longest, shortest = ranked[short - 1], ranked[short]
        rows = sorted(ids[order[:short]])
        figures = {"longest": longest, "shortest": shortest, "median": median}
        yield evidence.finding("near-zero-rows", rows, **figures)
    high = half + int(np.argmax(ratio[half:])) + 1
    long = len(ids) - high
    if ratio[high - 1] >= GAP and ranked[high] >= GAP * median and long <= len(ids) // 10:
        factor = median / np.median(ranked[high:])
        figures = {"shortest": ranked[high], "median": median, "factor": factor}
        yield evidence.finding("large-rows", sorted(ids[order[high:]]), **figures)


def copies(evidence: TableEvidence) -> Iterator[Finding]:
    """Rows that are nearly one direction."""
    mask, norms = evidence.ordinary, evidence.by_row.norms
    if groups := evidence.groups_above(evidence.alike):
        rows = sorted(row for group in groups for row in group)
        # The mean of rows that point anywhere is short: that is no second cause.
        longest, others = float(norms[rows].max()), float(np.median(norms[mask]))
        short = longest * GAP < others
        yield evidence.finding(
            "rows-alike",
            rows,
            kept=() if short else sorted(map(min, groups)),
            groups=counted(len(groups), "group"),
            cosine=evidence.alike,
            length=f", with norms up to {longest:.2g} (median {others:.3g})" * short,
            largest=len(groups[0]),
            named=evidence.named(groups[0]),
        )


def nearly_copies(evidence: TableEvidence) -> Iterator[Finding]:
    """Many rows that are close to one direction, and most of them no copies."""
    groups = [
        sorted(map(int, group))
        for group in evidence.groups.get(CLOSE, ())
        if sum(row not in evidence.explained for row in map(int, group)) >= MANY
    ]
    if groups and evidence.alike > CLOSE:
        smaller = counted(len(groups) - 1, "smaller group")
        yield evidence.finding(
            "rows-close",
            sorted(itertools.chain(*groups)),
            cosine=CLOSE,
            largest=counted(len(groups[0]), "row"),
            named=evidence.named(groups[0]),
            more=f"; {smaller}" * (len(groups) > 1),
        )


def off_centre(evidence: TableEvidence) -> Iterator[Finding]:
    """Rows without the direction that all others share."""
    ids = np.flatnonzero(evidence.ordinary)
    if len(ids) < 32:
        return
    along = evidence.by_row.along[ids]
    median = float(np.median(along))
    deviation = 1.4826 * float(np.median(np.abs(along - median)))
    if deviation == 0 or median < 3 * deviation:
        return  # no direction is common to nearly all rows
    far = along < median - OFF_CENTRE * deviation
    rows = ids[far]
    if 0 < len(rows) <= len(ids) // 10:
        share = float(np.median(along[far]))
        yield evidence.finding("off-centre-rows", rows, share=share, common=median)
