"""Inspection of embedding tables for faults, in one pass over the rows, and their repair.

``inspect`` takes a model's directory, a file of tensors or vectors, or a tensor. It reads the
embedding tables and nothing else, and reports findings: each says what is so, what that means, what
follows and how to mend it. ``repair`` writes a copy of a model with new rows for broken ones.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.stored_tensors import StoredTensor
from embinit.lab.inspection.checks import run_checks
from embinit.lab.inspection.findings import SEVERITIES as SEVERITIES
from embinit.lab.inspection.findings import Evidence
from embinit.lab.inspection.findings import Finding as Finding
from embinit.lab.inspection.measures import blocks, measure
from embinit.lab.inspection.result import InspectedTable as InspectedTable
from embinit.lab.inspection.result import Inspection as Inspection
from embinit.lab.inspection.subjects import Subject, subject_of
from embinit.lab.inspection.table_checks import excess_loss, gain, lookup_rms, position_ratio
from embinit.lab.inspection.tokens import count_tokens, text_lines
from embinit.lab.tables.inits import xavier_sigma

__all__ = ["SEVERITIES", "Finding", "InspectedTable", "Inspection", "inspect"]

Facts = dict[str, float | int | str]


def inspect(
    thing: str | Path | Tensor,
    *,
    tokenizer: Path | None = None,
    tensor: str | None = None,
    lr: float | None = None,
    text: Path | None = None,
) -> Inspection:
    """Inspects the embedding tables of a model, or a single table.

    Args:
        thing: A model's directory or id on the Hub, a file of tensors or vectors, or a table.
        tokenizer: The tokenizer's directory; None for that of the model.
        tensor: The name of the input table, where it can't be found by itself.
        lr: The learning rate of Adam, to compare its steps with the table's sigma.
        text: A file of text; findings then say which of their rows it uses.

    Raises:
        InputError: Something can't be read, or has no table.
    """
    if lr is not None and not 0 < lr < math.inf:
        raise InputError(f"a learning rate of {lr:g}; give one above zero")
    subject = subject_of(thing, tokenizer, tensor)
    used, facts = (None, Facts()) if text is None else _used(subject, text)
    evidence = [_evidence(subject, subject.table, lr, used)]
    if subject.head is not None and not evidence[0].head_equal:
        evidence.append(_evidence(subject, subject.head, lr, used))
    findings = [finding for each in evidence for finding in run_checks(each)]
    named = {row for finding in findings for row in finding.rows}
    return Inspection(
        name=subject.name,
        kind=subject.kind,
        architecture=subject.layout.model_type,
        tied=_tied(subject, evidence[0]),
        tables=tuple(
            InspectedTable(
                each.side,
                table.name,
                each.table,
                xavier_sigma(each.table.rows, each.table.dim),
                lookup_rms(each) if each.side == "input" and subject.kind != "vectors" else None,
            )
            for each, table in zip(evidence, (subject.table, subject.head), strict=False)
            if table is not None
        ),
        facts=facts | _facts(subject, evidence),
        findings=tuple(sorted(findings, key=lambda each: -SEVERITIES.index(each.severity))),
        tokens={row: subject.names[row] for row in named if row in subject.names},
    )


def _used(subject: Subject, text: Path) -> tuple[Counter[int], Facts]:
    """How often a text has the token or the word of each row, and what to say of that."""
    if subject.words:
        written = [word for line in text_lines(text) for word in line.split()]
        row = {word: number for number, word in reversed(list(enumerate(subject.words)))}
        found = (row.get(word, row.get(word.lower())) for word in written)
        used = Counter(number for number in found if number is not None)
        return used, {"words of the text": len(written), "of them with a vector": used.total()}
    if subject.tokenizer is None:
        raise InputError(
            f"the text {text} can't be cut into tokens: {subject.name} has no tokenizer; name one "
            "with --tokenizer"
        )
    used = count_tokens(subject.tokenizer, text)
    return used, {"tokens of the text": used.total(), "different ones": len(used)}


def _evidence(
    subject: Subject, table: StoredTensor, lr: float | None, used: Counter[int] | None
) -> Evidence:
    measured = np.ones(table.shape[0], dtype=np.bool_)
    if subject.pad is not None and 0 <= subject.pad < len(measured):
        measured[subject.pad] = False
    if subject.ids:
        measured[subject.ids :] = False
    measures, each = measure(table, measured)
    if measures.measured_rows == 0 and not np.isnan(each.norms).any():
        raise InputError(f"{subject.name}: {table.name!r} has no rows but padding")
    head = subject.head
    return Evidence(
        "output" if table is head else "input",
        subject,
        measures,
        each,
        None if head is None else equal(subject.table, head),
        lr,
        used,
    )


def equal(table: StoredTensor, head: StoredTensor) -> bool:
    """Whether two tables hold the same values; it stops at the first block that differs."""
    if table.shape != head.shape:
        return False
    both = zip(blocks(table), blocks(head), strict=True)
    return all(torch.equal(left.float(), right.float()) for (_, left), (_, right) in both)


def _tied(subject: Subject, first: Evidence) -> bool | None:
    if subject.kind != "model":
        return None
    if subject.head is not None:
        return bool(first.head_equal)
    return (subject.layout.tied is not False) if subject.layout.headed else None


def _facts(subject: Subject, evidence: list[Evidence]) -> Facts:
    """Further figures in words."""
    first, last, layout = evidence[0], evidence[-1], subject.layout
    facts: Facts = {}
    if subject.ids:
        facts["ids of the tokenizer"] = subject.ids
    if subject.pad is not None:
        facts["padding row"] = subject.pad
    if layout.multiplier != 1:
        facts["multiplier after the look-up"] = layout.multiplier
    if subject.kind == "model":
        facts["norm after the look-up"] = "yes" if layout.normed else "no"
    if layout.declared_sigma is not None:
        facts["configured sigma of new weights"] = layout.declared_sigma
    if (ratio := position_ratio(first)) is not None:
        if subject.kind == "vectors":
            facts["meaning to positions, as a Transformer's table"] = ratio
        else:
            facts["meaning to positions, in energy"] = ratio
            facts["positions' share of the sum"] = 1 / (1 + ratio)
    if (loss := excess_loss(last)) is not None:
        facts["first loss of an unrelated state, nats"] = math.log(first.table.rows) + loss
        # |z| <= |state| |row|, with a normed state of length sqrt(D) times the gain.
        longest = last.table.norm_quantiles["100"]
        facts["largest logit possible"] = layout.logit_factor * longest * math.sqrt(gain(first))
    if first.lr is not None:
        facts["steps of Adam for one sigma"] = first.table.sigma / first.lr
    return facts
