"""Diagnostics: measures of a table that need no training.

After the paper: range, mean and sigma (Tables 2, 6 and 8), the positions' share of the encoder's
input (Finding 2), and word analogies (Table 4; Mikolov et al. 2013). Ours is the purity of nearest
neighbours. A table is (N, D); ``special`` is true in the rows that are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from embinit.errors import InputError
from embinit.lab.data.tasks.rows import text_lines
from embinit.lab.tables.inits import Mask, Table, ordinary_rows
from embinit.runs.results import HISTOGRAM as HISTOGRAM
from embinit.runs.results import PERCENTILES, TableStatistics

BLOCK_VALUES = 2**24
"""Most values in a block of cosines (64 MiB of float32)."""


def table_statistics(table: Table, special: Mask | None = None) -> TableStatistics:
    """Measures a table, NaN where it holds one; InputError if it has no values to measure."""
    values = ordinary_rows(table.detach(), special).double()
    if values.numel() == 0:
        raise InputError(
            f"a table of shape {tuple(table.shape)} has no values outside its special rows"
        )
    ranks = torch.tensor(PERCENTILES, dtype=torch.float64, device=values.device) / 100
    norms = torch.quantile(values.norm(dim=1), ranks)
    return TableStatistics(
        minimum=values.min().item(),
        maximum=values.max().item(),
        mean=values.mean().item(),
        sigma=values.std().item() if values.numel() > 1 else 0.0,
        row_norm_percentiles=tuple(norms.tolist()),
        rows=values.shape[0],
        dim=values.shape[1],
        histogram=_histogram(values),
    )


def _histogram(values: Table) -> tuple[int, ...]:
    """Counts the values by magnitude in the bins of ``HISTOGRAM``."""
    low, high, bins_per_decade = HISTOGRAM
    bins = (high - low) * bins_per_decade
    # Zero's logarithm is minus infinity, which the clamp puts into the first bin.
    scaled = (values.abs().log10() - low) * bins_per_decade
    index = scaled.nan_to_num(0.0).clamp(0, bins - 1).long()
    return tuple(torch.bincount(index.flatten(), minlength=bins).tolist())


def pe_share(table: Table, pe: Float[Tensor, "L D"], special: Mask | None = None) -> float:
    """The PE's share of the variance of table + PE, from 0 to 1, where the two are independent.

    The table is as it meets the PE, after its multiplier. L should be the length of the sentences,
    which the PE's variance depends on. The share is 0 where neither varies.
    """
    pe_variance = table_statistics(pe).sigma ** 2
    table_variance = table_statistics(table, special).sigma ** 2
    return pe_variance / (pe_variance + table_variance) if pe_variance else 0.0


def random_positions(
    pe: Float[Tensor, "L D"], n: int, generator: torch.Generator
) -> Float[Tensor, "{n} D"]:
    """Draws a row of PE for each of ``n`` words, uniformly (the paper's footnote 6)."""
    return pe[torch.randint(len(pe), (n,), generator=generator)]


Question = tuple[str, str, str, str]
"""A word analogy: the first is to the second as the third is to the fourth."""


def read_questions(path: Path) -> list[Question]:
    """Reads analogies in the format of questions-words.txt: ``: section``, or four words a line.

    InputError, with the line's number, if a line is neither.
    """
    questions: list[Question] = []
    for number, line in text_lines(path):
        words = line.removeprefix("\ufeff").split()
        if not words or words[0].startswith(":"):
            continue
        if len(words) != 4:
            raise InputError(
                f"{path}:{number}: {len(words)} words, a question has 4; mend the line"
            )
        questions.append((words[0], words[1], words[2], words[3]))
    return questions


def analogy_accuracy(table: Table, words: Sequence[str], questions: Sequence[Question]) -> float:
    """The share of analogies that 3CosAdd (Mikolov et al. 2013) answers from a table's ``words``.

    The answer is the word, other than the question's three, whose unit row is nearest to b - a + c
    of unit rows, and no row of zeros. Questions with other words are left out, and case counts.
    InputError if words and rows don't fit, or no question is left.
    """
    if len(words) != len(table) or len(set(words)) != len(words):
        raise InputError(
            f"{len(words)} words ({len(set(words))} different) for a table of {len(table)} rows; "
            "give each row one word of its own"
        )
    row = {word: index for index, word in enumerate(words)}
    asked = [[row[word] for word in four] for four in questions if row.keys() >= set(four)]
    if not asked:
        raise InputError(
            f"none of {len(questions)} analogies has all its words among the table's {len(words)}; "
            "check the case"
        )
    ids = torch.tensor(asked, device=table.device)
    units = _unit_rows(table)
    empty = units.norm(dim=1) == 0
    correct = 0
    for block in _blocks(len(ids), len(table)):
        a, b, c, answer = ids[block].unbind(dim=1)
        cosines = (units[b] - units[a] + units[c]) @ units.T
        cosines[:, empty] = -torch.inf
        cosines.scatter_(1, ids[block, :3], -torch.inf)
        correct += int((cosines.argmax(dim=1) == answer).sum())
    return correct / len(asked)


def neighbour_purity(table: Table, groups: Int[Tensor, "rows"]) -> float:
    """The share of rows whose nearest other row by cosine is of their own group, 0 to 1.

    Rows of group -1 count neither as rows nor as neighbours. InputError if ``groups`` does not fit
    the table, or fewer than two rows are left.
    """
    if groups.shape != table.shape[:1]:
        raise InputError(f"{tuple(groups.shape)} groups for {len(table)} rows; give one a row")
    units, groups = _unit_rows(table[groups >= 0]), groups[groups >= 0]
    if len(units) < 2:
        raise InputError(f"{len(units)} rows with a group have no neighbours; give at least two")
    nearest = []
    for block in _blocks(len(units), len(units)):
        cosines = units[block] @ units.T
        cosines.diagonal(block.start).fill_(-torch.inf)
        nearest.append(cosines.topk(1, dim=1).indices.squeeze(1))
    return (groups[torch.cat(nearest)] == groups).double().mean().item()


def _unit_rows(table: Table) -> Table:
    """Rows of length 1, float32. A row of zeros stays one."""
    return F.normalize(table.detach().double(), dim=1).float()


def _blocks(rows: int, width: int) -> Iterator[slice]:
    """Slices of ``rows`` rows of ``width`` values, each of at most ``BLOCK_VALUES`` values."""
    size = max(1, BLOCK_VALUES // width)
    for low in range(0, rows, size):
        yield slice(low, min(low + size, rows))
