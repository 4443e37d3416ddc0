"""Checks of tables: of single rows, which they may name, and of size, head, scale and shape.

The limits are far from what trained tables have: a row counts as small or large only where a gap
parts it from the others, since no single number fits all models.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from embinit.errors import counted
from embinit.lab.inspection.findings import Check, Finding, TableEvidence

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

WIDEST, NARROWEST = 50.0, 0.004
"""The bounds of a row's root mean square after look-up, beyond which it is reported."""

DECLARED = 10.0
"""The largest unreported ratio of a table's sigma to the configured one, or its inverse."""

DROWNED = 30.0
"""The largest unreported ratio of the rows' energy to the positions', or its inverse."""

BEST_RATIO, WORSE_RATIO = 0.3, 1.0
"""The ratios of the rows' energy to the positions' up to which trained tables do best, and from
which they do worse."""

COMMON = 0.6
"""The mean cosine of two rows from which a table counts as mostly one direction."""

LOW_RANK = 0.1
"""The least effective rank that is not reported, as a share of the possible rank."""


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


def size(evidence: TableEvidence) -> Iterator[Finding]:
    """Rows against the tokenizer's ids, the configuration and the padding row."""
    rows, subject = evidence.table.rows, evidence.subject
    ids, configured, pad = subject.ids, subject.vocabulary, subject.pad
    if ids > rows:
        beyond = evidence.named(row for row in sorted(subject.names) if row >= rows)
        yield evidence.finding("ids-beyond-table", last=ids - 1, found=rows, named=beyond)
    elif 0 < ids < rows:
        yield evidence.finding("rows-without-token", range(ids, rows), last=ids - 1, found=rows)
    if configured is not None and configured != rows:
        yield evidence.finding("rows-unlike-config", configured=configured, found=rows)
    if pad is not None and not 0 <= pad < rows:
        yield evidence.finding("padding-outside", pad=pad, last=rows - 1)


def head(evidence: TableEvidence) -> Iterator[Finding]:
    """Whether the output table is what the configuration says."""
    subject, rows, name = evidence.subject, evidence.table.rows, ""
    output = subject.tables.get("output")
    stored = rows if output is None else len(output.values)
    if subject.head_equal:
        name = "tie-unsaid" if subject.tied is False else ""
    elif output is None:
        name = "head-missing" if subject.headed and subject.tied is False else ""
    elif stored != rows:
        name = "head-rows-differ"
    elif subject.tied:
        name = "tie-broken"
    if name:
        yield evidence.finding(name, side="output", stored=stored, found=rows)


def lookup_rms(evidence: TableEvidence) -> float:
    """A row's root mean square after the architecture's multiplier."""
    table = evidence.table
    return evidence.subject.multiplier * math.sqrt(table.mean**2 + table.sigma**2)


def scale(evidence: TableEvidence) -> Iterator[Finding]:
    """The scale of rows, after look-up in the architecture and next to the configuration's."""
    subject, sigma = evidence.subject, evidence.table.sigma
    if subject.kind != "model":
        return
    if evidence.side == "input" and not subject.any_scale:
        rms = lookup_rms(evidence)
        if rms > WIDEST:
            yield evidence.finding("wide-after-lookup", rms=rms)
        elif 0 < rms < NARROWEST:
            yield evidence.finding("narrow-after-lookup", rms=rms, factor=1 / rms)
    declared = subject.declared_sigma
    if declared and sigma > 0 and not 1 / DECLARED <= sigma / declared <= DECLARED:
        factor = declared / sigma
        yield evidence.finding("sigma-unlike-config", sigma=sigma, declared=declared, factor=factor)


def position_ratio(evidence: TableEvidence) -> float | None:
    """The energy of the rows over that of positions; None where none are added.

    Both are mean squared distances to the mean: what is the same in all rows, or at all positions,
    says nothing. For a file of vectors it is the ratio in a Transformer's encoder with sinusoids
    and sqrt(D), whose mean over many positions is 0 and whose energy is D / 2.
    """
    if evidence.subject.kind == "vectors":
        return 2 * evidence.table.energy
    if evidence.subject.positions is None:
        return None
    rows = evidence.subject.positions.double()
    energy = float((rows - rows.mean(dim=0)).pow(2).sum(dim=1).mean())
    multiplier = evidence.subject.multiplier
    return multiplier**2 * evidence.table.energy / energy if energy else None


def positions(evidence: TableEvidence) -> Iterator[Finding]:
    """The balance of rows and positions that are added to each other."""
    ratio, vectors = position_ratio(evidence), evidence.subject.kind == "vectors"
    if not ratio or 1 / DROWNED <= ratio <= (WORSE_RATIO if vectors else DROWNED):
        return
    trained, frozen = (math.sqrt(wanted / ratio) for wanted in (BEST_RATIO, WORSE_RATIO))
    yield evidence.finding(
        "positions-drowned" if ratio > 1 else "meaning-drowned",
        ratio=ratio,
        best=BEST_RATIO,
        trained=trained,
        frozen=frozen,
        sigma=trained * evidence.table.sigma,
    )


def shape(evidence: TableEvidence) -> Iterator[Finding]:
    """Tables that are mostly one direction, or a few."""
    table = evidence.table
    if table.mean_cosine > COMMON and table.measured_rows > 1:
        yield evidence.finding("common-direction", cosine=table.mean_cosine)
    possible, rank = min(table.sample_rows - 1, table.dim), table.effective_rank
    if possible >= 16 and rank < LOW_RANK * possible:
        share, sampled = 100 * table.top_shares["1"], table.of_sample
        yield evidence.finding(
            "low-rank", rank=rank, possible=possible, share=share, sampled=sampled
        )


CHECKS: tuple[Check, ...] = (
    non_finite,
    size,
    head,
    zero_rows,
    copies,
    nearly_copies,
    off_centre,
    gaps,
    scale,
    positions,
    shape,
)
"""The checks of tables; those that explain a row best come first."""

OF_INPUT_ALONE = (size, head, positions)


def run_checks(evidence: TableEvidence) -> list[Finding]:
    """The findings of one table."""
    findings: list[Finding] = []
    for check in CHECKS:
        if evidence.side == "input" or check not in OF_INPUT_ALONE:
            explained = frozenset(row for finding in findings for row in finding.rows)
            findings += check(replace(evidence, explained=explained))
    return findings
