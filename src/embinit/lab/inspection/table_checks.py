"""Checks of whole tables: their size, their head, their scale and their shape."""

from __future__ import annotations

import math
from collections.abc import Iterator

from embinit.lab.inspection.findings import Finding, TableEvidence

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
