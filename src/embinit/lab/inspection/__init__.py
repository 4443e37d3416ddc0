"""Inspection of embedding tables for faults, in one pass over the rows, and their repair.

``inspect`` reports findings, each with its likely cause, effect and fix. ``repair`` writes a copy
of a model with new rows for broken ones.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.stored_tensors import StoredTensor
from embinit.lab.inspection import row_checks as rows
from embinit.lab.inspection import table_checks as tables
from embinit.lab.inspection.findings import SEVERITIES as SEVERITIES
from embinit.lab.inspection.findings import Check, TableEvidence
from embinit.lab.inspection.findings import Finding as Finding
from embinit.lab.inspection.measures import COPIES, KEYED, alike, blocks, measure
from embinit.lab.inspection.result import InspectedTable as InspectedTable
from embinit.lab.inspection.result import Inspection as Inspection
from embinit.lab.inspection.subjects import Subject, subject_of
from embinit.lab.inspection.table_checks import excess_loss, gain, lookup_rms, position_ratio
from embinit.lab.tables.inits import xavier_sigma

__all__ = ["SEVERITIES", "Finding", "InspectedTable", "Inspection", "inspect"]

Facts = dict[str, float | int | str]

CHECKS: tuple[Check, ...] = (
    rows.non_finite,
    tables.size,
    tables.head,
    rows.zero_rows,
    rows.copies,
    rows.nearly_copies,
    rows.off_centre,
    rows.gaps,
    tables.first_loss,
    tables.scale,
    tables.positions,
    tables.shape,
    rows.words_twice,
)
"""The checks of tables; those that explain a row best come first."""

LOOSEST = 0.95
"""The lowest cosine by which groups of rows are counted."""

OF_INPUT_ALONE = (tables.size, tables.head, tables.scale, tables.positions)


def inspect(
    thing: str | Path | Tensor, *, tensor: str | None = None, copies: float = COPIES
) -> Inspection:
    """Inspects a model (a directory or an id), a file of tensors or vectors, or a tensor.

    ``tensor`` names the input table where it can't be found by itself. Rows whose cosine is above
    ``copies`` are reported as copies. InputError if there is no table, or none that can be read.
    """
    if not LOOSEST <= copies < 1:
        raise InputError(f"the cosine of copies is {copies:g}; give one from {LOOSEST} to 0.9999")
    subject = subject_of(thing, tensor)
    evidence = [_evidence(subject, subject.table, copies)]
    if subject.head is not None and not evidence[0].head_equal:
        evidence.append(_evidence(subject, subject.head, copies))
    findings = [finding for of_table in evidence for finding in run_checks(of_table)]
    return Inspection(
        name=subject.name,
        kind=subject.kind,
        architecture=subject.layout.model_type,
        tied=_tied(subject, evidence[0]),
        tables=tuple(
            InspectedTable(
                found.side,
                table.name,
                found.table,
                xavier_sigma(found.table.rows, found.table.dim),
                lookup_rms(found) if found.side == "input" and subject.kind != "vectors" else None,
            )
            for found, table in zip(evidence, (subject.table, subject.head), strict=False)
            if table is not None
        ),
        facts=_facts(subject, evidence),
        findings=tuple(sorted(findings, key=lambda finding: -SEVERITIES.index(finding.severity))),
    )


def run_checks(evidence: TableEvidence) -> list[Finding]:
    """The findings of one table."""
    findings: list[Finding] = []
    for check in CHECKS:
        if evidence.side == "input" or check not in OF_INPUT_ALONE:
            explained = frozenset(row for finding in findings for row in finding.rows)
            findings += check(replace(evidence, explained=explained))
    return findings


def _evidence(subject: Subject, table: StoredTensor, copies: float) -> TableEvidence:
    measured = np.ones(table.shape[0], dtype=np.bool_)
    if subject.pad is not None and 0 <= subject.pad < len(measured):
        measured[subject.pad] = False
    if subject.ids:
        measured[subject.ids :] = False
    measures, by_row = measure(table, measured)
    if measures.measured_rows == 0 and not np.isnan(by_row.norms).any():
        raise InputError(f"{subject.name}: {table.name!r} has no rows but padding")
    head, compared, groups = subject.head, measured & (np.nan_to_num(by_row.norms) > 0), {}
    if measures.dim >= KEYED:  # fewer columns bring rows together by chance
        for cosine in sorted({copies, rows.CLOSE, LOOSEST}, reverse=True):
            groups[cosine] = alike(by_row, compared, measures.mean_cosine, cosine)
    return TableEvidence(
        "output" if table is head else "input",
        subject,
        measures,
        by_row,
        None if head is None else equal(subject.table, head),
        alike=copies,
        groups=groups,
    )


def equal(table: StoredTensor, head: StoredTensor) -> bool:
    """Whether two tables hold the same values; it stops at the first block that differs."""
    if table.shape != head.shape:
        return False
    both = zip(blocks(table), blocks(head), strict=True)
    return all(torch.equal(left.float(), right.float()) for (_, left), (_, right) in both)


def _tied(subject: Subject, first: TableEvidence) -> bool | None:
    if subject.kind != "model":
        return None
    if subject.head is not None:
        return bool(first.head_equal)
    return (subject.layout.tied is not False) if subject.layout.headed else None


def _facts(subject: Subject, evidence: list[TableEvidence]) -> Facts:
    """Further figures in words."""
    first, last, layout = evidence[0], evidence[-1], subject.layout
    facts: Facts = {}
    if subject.ids:
        facts["ids of the tokenizer"] = subject.ids
    if subject.pad is not None:
        facts["padding row"] = subject.pad
    if first.groups.get(LOOSEST):
        facts["rows in the largest group, by cosine"] = ", ".join(
            f"{len(groups[0]) if groups else 0:,} above {cosine:g}"
            for cosine, groups in first.groups.items()
        )
    if layout.multiplier != 1:
        facts["multiplier after the look-up"] = layout.multiplier
    if subject.kind == "model":
        facts["norm after the look-up"] = "yes" if layout.normed else "no"
    if layout.declared_sigma is not None:
        facts["configured sigma of new weights"] = layout.declared_sigma
    if (ratio := position_ratio(first)) is not None:
        if subject.kind == "vectors":
            facts["R (tokens to positions), as a Transformer's table"] = ratio
        else:
            facts["R (tokens to positions), in energy"] = ratio
            facts["positions' share of the sum"] = 1 / (1 + ratio)
    if (loss := excess_loss(last)) is not None:
        facts["first loss of an unrelated state, nats"] = math.log(first.table.rows) + loss
        # |z| <= |state| |row|, with a normed state of length sqrt(D) times the gain.
        longest = last.table.norm_quantiles["100"]
        facts["largest logit possible"] = layout.logit_factor * longest * math.sqrt(gain(first))
    return facts
