"""Inspection of embedding tables for faults, in one pass over the rows.

``inspect`` takes a model's directory, a file of tensors or vectors, a tensor or a module. It reads
the embedding tables and nothing else, in bounded memory, and reports findings: each says what is
so, what that means, what follows and how to mend it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from embinit.errors import InputError
from embinit.lab.data.stored_tensors import StoredTensor
from embinit.lab.tables.inits import xavier_sigma
from embtables.inspection.checks import Evidence, excess_loss, position_ratio, run_checks
from embtables.inspection.findings import SEVERITIES as SEVERITIES
from embtables.inspection.findings import Finding as Finding
from embtables.inspection.findings import Severity as Severity
from embtables.inspection.measures import (
    RowMeasures,
    TableMeasures,
    measure,
    ordinary,
    padding,
    sample_ids,
    word_blocks,
)
from embtables.inspection.result import InspectedTable as InspectedTable
from embtables.inspection.result import Inspection as Inspection
from embtables.inspection.result import load_schema as load_schema
from embtables.inspection.subjects import Subject, read_rows, subject_of
from embtables.new_tensors import blocks
from embtables.token_lists import count_tokens, text_lines

__all__ = [
    "SEVERITIES",
    "Finding",
    "InspectedTable",
    "Inspection",
    "Severity",
    "inspect",
    "load_schema",
]

BINS = 40


class _Every:
    """A container that contains everything, for reading every word of a file."""

    def __contains__(self, _: object) -> bool:
        return True


def inspect(
    thing: str | Path | Tensor | nn.Module,
    *,
    tokenizer: str | Path | None = None,
    tensor: str | None = None,
    lr: float | None = None,
    text: str | Path | None = None,
) -> Inspection:
    """Inspects the embedding tables of a model, or a single table.

    Args:
        thing: A model's directory or id on the Hub, a file of tensors or vectors, a table (N, D),
            or a module with an embedding.
        tokenizer: The tokenizer's directory; None for that of the model.
        tensor: The name of the input table, where it can't be found by itself.
        lr: The learning rate of Adam, to compare its steps with the table's width.
        text: A file of text; findings then say which of their rows it uses.

    Raises:
        InputError: Something can't be read, or has no table.
    """
    began = time.perf_counter()
    if lr is not None and not 0 < lr < float("inf"):
        raise InputError(f"a learning rate of {lr:g}; give one above zero")
    subject = subject_of(thing, tokenizer, tensor)
    used = None if text is None else Path(text)
    if used is not None and subject.vectors is None and subject.tokenizer is None:
        raise InputError(
            f"the text {used} can't be cut into tokens: {subject.name} has no tokenizer; name one "
            "with --tokenizer"
        )
    if subject.vectors is not None:
        inspected, facts, evidence = _vectors(subject, lr, used)
    else:
        inspected, facts, evidence = _model(subject, lr, used)
    findings = [finding for each in evidence for finding in run_checks(each)]
    findings.sort(key=lambda each: -SEVERITIES.index(each.severity))
    named = {row for finding in findings for row in finding.rows[:1000]}
    first = evidence[0]
    words = (
        dict(enumerate(first.words))
        if first.words
        else dict(subject.tokens.tokens if subject.tokens else {})
    )
    return Inspection(
        name=subject.name,
        kind=subject.kind,
        architecture=subject.layout.model_type,
        tied=_tied(subject, first),
        tables=tuple(inspected),
        facts=facts,
        findings=tuple(findings),
        tokens={row: words[row] for row in named if row in words},
        seconds=time.perf_counter() - began,
    )


def _vectors(
    subject: Subject, lr: float | None, text: Path | None
) -> tuple[list[InspectedTable], dict[str, float | int | str], list[Evidence]]:
    source = subject.vectors
    assert source is not None
    words: list[str] = []
    rows = word_blocks(source._read(_Every()), words)
    table, each = measure(rows, source.dim, "F32", frozenset(), None, None)
    if table.measured == 0:
        raise InputError(f"{source.path} holds no vectors; fetch it again")
    used = None
    facts: dict[str, float | int | str] = {}
    if text is not None:
        used = _words_used(words, text)
        total = sum(len(line.split()) for line in text_lines(text))
        facts["words of the text"] = total
        facts["of them with a vector"] = sum(used.values())
    evidence = Evidence(
        "input", table, each, subject.layout, "vectors", words=tuple(words), lr=lr, used=used
    )
    ratio = position_ratio(evidence)
    if ratio is not None:
        facts["meaning to positions, as a Transformer's table"] = ratio
    if lr is not None:
        facts["steps of Adam for one sigma"] = table.sigma / lr
    return [_inspected(source.path.name, evidence, None)], facts, [evidence]


def _words_used(words: list[str], text: Path) -> Counter[int]:
    """The counts in the text of a file's words, as written or in lower case."""
    row = {word: number for number, word in reversed(list(enumerate(words)))}
    used: Counter[int] = Counter()
    for line in text_lines(text):
        for word in line.split():
            number = row.get(word, row.get(word.lower()))
            if number is not None:
                used[number] += 1
    return used


def _model(
    subject: Subject, lr: float | None, text: Path | None
) -> tuple[list[InspectedTable], dict[str, float | int | str], list[Evidence]]:
    assert subject.table is not None
    used = None
    facts: dict[str, float | int | str] = {}
    if text is not None:
        assert subject.tokenizer is not None
        used = count_tokens(subject.tokenizer, text)
        facts["tokens of the text"] = sum(used.values())
        facts["different ones"] = len(used)
    evidence = [_evidence(subject, subject.table, lr, used)]
    if subject.head is not None and not evidence[0].head_equal:
        evidence.append(_evidence(subject, subject.head, lr, used))
    first = evidence[0]
    multiplier = subject.layout.multiplier
    tables = [_inspected(subject.table.name, first, multiplier)]
    if len(evidence) > 1 and subject.head is not None:
        tables.append(_inspected(subject.head.name, evidence[1], None))
    if subject.tokens is not None and subject.tokens.tokens:
        facts["ids of the tokenizer"] = subject.tokens.ids
    if subject.pad is not None:
        facts["padding row"] = subject.pad
    if multiplier != 1:
        facts["multiplier after the look-up"] = multiplier
    if subject.kind == "model":
        facts["norm after the look-up"] = "yes" if subject.layout.normed else "no"
    if subject.layout.declared_sigma is not None:
        facts["configured sigma of new weights"] = subject.layout.declared_sigma
    ratio = position_ratio(first)
    if ratio is not None:
        facts["meaning to positions, in energy"] = ratio
        facts["positions' share of the sum"] = 1 / (1 + ratio)
    if (loss := excess_loss(evidence[-1])) is not None:
        facts["first loss of an unrelated state, nats"] = float(np.log(first.table.rows)) + loss
        # |z| <= |state| |row|, with a normed state of length sqrt(D) times the gain.
        longest = evidence[-1].table.norm_quantiles[-1]
        gain = first.gain_energy if first.gain_energy is not None else first.table.dim
        facts["largest logit possible"] = subject.layout.logit_factor * longest * gain**0.5
    if lr is not None:
        facts["steps of Adam for one sigma"] = first.table.sigma / lr
    return tables, facts, evidence


def _evidence(
    subject: Subject, table: StoredTensor, lr: float | None, used: Counter[int] | None
) -> Evidence:
    output = table is subject.head
    skip = padding(subject.pad, table.shape[0])
    stop = subject.tokens.ids if subject.tokens is not None and subject.tokens.tokens else None
    rows, dim = table.shape
    chosen = [row for row in sample_ids(min(rows, stop or rows)) if row not in skip]
    sample = read_rows(table, chosen) if chosen else None
    measures, each = measure(blocks(table), dim, table.dtype, skip, stop, sample, rows)
    if measures.measured == 0 and not np.isnan(each.norms).any():
        raise InputError(f"{subject.name}: {table.name!r} has no rows but padding")
    head_rows = None if subject.head is None else subject.head.shape[0]
    gain = None if subject.gain is None else float((subject.gain.double() ** 2).sum())
    return Evidence(
        "output" if output else "input",
        measures,
        each,
        subject.layout,
        subject.kind,
        tokens=subject.tokens,
        pad=subject.pad,
        position_energy=_energy(subject.positions),
        gain_energy=gain,
        head_rows=head_rows,
        head_equal=None if subject.head is None else _equal(subject.table, subject.head),
        lr=lr,
        used=used,
    )


def _energy(rows: Tensor | None) -> float | None:
    """The mean squared distance of a row to the mean row."""
    if rows is None or len(rows) == 0:
        return None
    return float((rows - rows.mean(dim=0)).double().pow(2).sum(dim=1).mean())


def _equal(table: StoredTensor | None, head: StoredTensor) -> bool:
    """Whether two tables hold the same values; it stops at the first block that differs."""
    if table is None or table.shape != head.shape:
        return False
    both = zip(blocks(table), blocks(head), strict=True)
    return all(torch.equal(left.float(), right.float()) for (_, left), (_, right) in both)


def _tied(subject: Subject, first: Evidence) -> bool | None:
    if subject.kind != "model":
        return None
    if subject.head is not None:
        return bool(first.head_equal)
    return (subject.layout.tied is not False) if subject.layout.headed else None


def _inspected(name: str, evidence: Evidence, multiplier: float | None) -> InspectedTable:
    table = evidence.table
    width = (table.mean**2 + table.sigma**2) ** 0.5
    return InspectedTable(
        evidence.side,
        name,
        table,
        _histogram(table, evidence.each, evidence.skip, evidence.stop),
        xavier_sigma(table.rows, table.dim),
        None if multiplier is None else multiplier * width,
    )


def _histogram(
    table: TableMeasures, each: RowMeasures, skip: Iterable[int], stop: int | None
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """The rows' norms in bins that are even on a log axis."""
    norms = each.norms[ordinary(each, frozenset(skip), stop)].astype(np.float64)
    if not len(norms):
        return (), ()
    low, high = np.log10(norms.min()), np.log10(norms.max())
    middle, half = (low + high) / 2, max(0.05, (high - low) / 2)
    edges = np.linspace(middle - half, middle + half, BINS + 1)
    counts, _ = np.histogram(np.log10(norms), edges)
    return tuple(float(10**edge) for edge in edges), tuple(int(count) for count in counts)
