"""Inspection of embedding tables for faults, in one pass over the rows, and their repair.

``inspect`` reports findings, each with its likely cause, effect and fix. ``repair`` writes a copy
of a model with new rows for broken ones.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.inspection.checks import CLOSE, lookup_rms, position_ratio, run_checks
from embinit.lab.inspection.findings import SEVERITIES as SEVERITIES
from embinit.lab.inspection.findings import Finding as Finding
from embinit.lab.inspection.findings import TableEvidence
from embinit.lab.inspection.layout import Side, Subject
from embinit.lab.inspection.measures import COPIES, KEYED, alike, measure
from embinit.lab.inspection.result import Inspection as Inspection
from embinit.lab.inspection.subjects import subject_of

__all__ = ["SEVERITIES", "Finding", "Inspection", "inspect"]

Facts = dict[str, float | int | str]

LOOSEST = 0.95
"""The lowest cosine by which groups of rows are counted."""


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
    evidence = [_evidence(subject, side, copies) for side in subject.tables]
    findings = [finding for of_table in evidence for finding in run_checks(of_table)]
    return Inspection(
        name=subject.name,
        kind=subject.kind,
        architecture=subject.model_type,
        tied=_tied(subject),
        tables=tuple(of_table.table for of_table in evidence),
        facts=_facts(subject, evidence[0]),
        findings=tuple(sorted(findings, key=lambda finding: -SEVERITIES.index(finding.severity))),
    )


def _evidence(subject: Subject, side: Side, copies: float) -> TableEvidence:
    [name, *_], table = subject.tables[side]
    measured = np.ones(len(table), dtype=np.bool_)
    if subject.pad is not None and 0 <= subject.pad < len(measured):
        measured[subject.pad] = False
    if subject.ids:
        measured[subject.ids :] = False
    measures, by_row = measure(name, table, measured)
    if measures.measured_rows == 0 and not np.isnan(by_row.norms).any():
        raise InputError(f"{subject.name}: {name!r} has no rows but padding")
    compared, groups = measured & (np.nan_to_num(by_row.norms) > 0), {}
    if measures.dim >= KEYED:  # fewer columns bring rows together by chance
        for cosine in sorted({copies, CLOSE, LOOSEST}, reverse=True):
            groups[cosine] = alike(by_row, compared, measures.mean_cosine, cosine)
    return TableEvidence(side, subject, measures, by_row, alike=copies, groups=groups)


def _tied(subject: Subject) -> bool | None:
    if subject.kind != "model":
        return None
    if subject.head_equal or "output" in subject.tables:
        return subject.head_equal
    return (subject.tied is not False) if subject.headed else None


def _facts(subject: Subject, evidence: TableEvidence) -> Facts:
    """Further figures of the input table in words."""
    facts: Facts = {}
    if subject.kind == "model" and subject.ids:
        facts["ids of the tokenizer"] = subject.ids
    if subject.pad is not None:
        facts["padding row"] = subject.pad
    if evidence.groups.get(LOOSEST):
        facts["rows in the largest group, by cosine"] = ", ".join(
            f"{len(groups[0]) if groups else 0:,} above {cosine:g}"
            for cosine, groups in evidence.groups.items()
        )
    if subject.multiplier != 1:
        facts["multiplier after the look-up"] = subject.multiplier
    if subject.kind == "model":
        facts["root mean square after the look-up"] = lookup_rms(evidence)
    if subject.declared_sigma is not None:
        facts["configured sigma of new weights"] = subject.declared_sigma
    if (ratio := position_ratio(evidence)) is not None:
        if subject.kind == "vectors":
            facts["R (tokens to positions), as a Transformer's table"] = ratio
        else:
            facts["R (tokens to positions), in energy"] = ratio
            facts["positions' share of the sum"] = 1 / (1 + ratio)
    return facts
