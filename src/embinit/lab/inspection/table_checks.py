"""Checks of whole tables: their size, their head, their scale and their shape."""

from __future__ import annotations

import math
from collections.abc import Iterator

from embinit.lab.inspection.findings import Finding, TableEvidence, rows_of

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
    ids, configured, pad = subject.ids, subject.layout.vocabulary, subject.pad
    if ids > rows:
        beyond = evidence.named(row for row in sorted(subject.names) if row >= rows)
        what = f"the tokenizer has ids up to {ids - 1:,}, the table only {rows:,} rows: {beyond}"
        yield evidence.finding("ids-beyond-table", what, ids=ids, found=rows)
    elif 0 < ids < rows:
        yield evidence.finding(
            "rows-without-token",
            f"{rows_of(rows - ids, verb='have')} no token: the tokenizer ends at id {ids - 1:,} of "
            f"{rows:,} rows",
            range(ids, rows),
        )
    if configured is not None and configured != rows:
        what = f"the configuration has {configured:,} tokens, the table has {rows:,} rows"
        yield evidence.finding("rows-unlike-config", what, configured=configured, found=rows)
    if pad is not None and not 0 <= pad < rows:
        what = f"the padding id is {pad}, the table has rows 0 to {rows - 1:,}"
        yield evidence.finding("padding-outside", what, pad=pad, found=rows)


def head(evidence: TableEvidence) -> Iterator[Finding]:
    """Whether the output table is what the configuration says."""
    layout, stored, name, what = evidence.subject.layout, evidence.subject.head, "", ""
    if stored is None:
        if layout.headed and layout.tied is False:
            name = "head-missing"
            what = "the configuration does not tie the output table, but none is stored"
    elif len(stored) != evidence.table.rows:
        name = "head-rows-differ"
        what = f"the output table has {len(stored):,} rows, the input table {evidence.table.rows:,}"
    elif layout.tied and not evidence.head_equal:
        name = "tie-broken"
        what = (
            "the configuration ties the input and output tables, but two different tables "
            "are stored"
        )
    elif layout.tied is False and evidence.head_equal:
        name = "tie-unsaid"
        what = "the input and output tables are equal, but the configuration does not tie them"
    if name:
        yield evidence.finding(name, what, side="output")


def lookup_rms(evidence: TableEvidence) -> float:
    """A row's root mean square after the architecture's multiplier."""
    table = evidence.table
    return evidence.subject.layout.multiplier * math.sqrt(table.mean**2 + table.sigma**2)


def scale(evidence: TableEvidence) -> Iterator[Finding]:
    """The scale of rows, after look-up in the architecture and next to the configuration's."""
    layout, sigma = evidence.subject.layout, evidence.table.sigma
    if evidence.subject.kind != "model":
        return
    if evidence.side == "input" and not layout.any_scale:
        rms = lookup_rms(evidence)
        after = f"after the look-up a row's root mean square is {rms:.3g}"
        if rms > WIDEST:
            yield evidence.finding("wide-after-lookup", after, rms=rms)
        elif 0 < rms < NARROWEST:
            what = f"{after}, and no norm follows"
            yield evidence.finding("narrow-after-lookup", what, rms=rms, factor=1 / rms)
    declared = layout.declared_sigma
    if declared and sigma > 0 and not 1 / DECLARED <= sigma / declared <= DECLARED:
        what = f"sigma is {sigma:.3g} where the configuration's initializer_range is {declared:g}"
        yield evidence.finding(
            "sigma-unlike-config", what, sigma=sigma, declared=declared, factor=declared / sigma
        )


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
    multiplier = evidence.subject.layout.multiplier
    return multiplier**2 * evidence.table.energy / energy if energy else None


def positions(evidence: TableEvidence) -> Iterator[Finding]:
    """The balance of rows and positions that are added to each other."""
    ratio, vectors = position_ratio(evidence), evidence.subject.kind == "vectors"
    if not ratio or 1 / DROWNED <= ratio <= (WORSE_RATIO if vectors else DROWNED):
        return
    where = "in a Transformer with sinusoidal positions and a multiplier of sqrt(D), " * vectors
    trained, frozen = (math.sqrt(wanted / ratio) for wanted in (BEST_RATIO, WORSE_RATIO))
    yield evidence.finding(
        "positions-drowned" if ratio > 1 else "meaning-drowned",
        f"{where}the variance of the rows is {ratio:.3g} times the variance of the positions (R)",
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
        what = f"the mean cosine of two rows is {table.mean_cosine:.2g}"
        yield evidence.finding("common-direction", what, mean_cosine=table.mean_cosine)
    possible = min(table.sample_rows - 1, table.dim)
    if possible >= 16 and table.effective_rank < LOW_RANK * possible:
        yield evidence.finding(
            "low-rank",
            f"the effective rank is {table.effective_rank:.3g} of {possible} possible; the first "
            f"component has {100 * table.top_shares['1']:.0f} % of the variance{table.of_sample}",
            effective_rank=table.effective_rank,
            possible=possible,
        )
