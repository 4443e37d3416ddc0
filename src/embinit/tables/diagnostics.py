"""Diagnostics: what can be said of a table without training on it.

After *On Initializing Transformers with Pre-trained Embeddings* (arXiv 2407.12514): range, mean
and sigma of tables (Tables 2, 6 and 8), what adding positions does to the words' meaning (Finding
2, 'absorption'), and word analogies (Table 4; Mikolov et al. 2013). Added to these: how much of a
row's direction survives the positions once a LayerNorm has seen the sum, and whether a row's
nearest neighbours are of its own kind.

A table is (N, D); ``special`` is (N,) bool, rows that are left out (None: no such rows). Cosines
are taken in blocks of rows, so that memory does not grow with N squared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from embinit.errors import InputError
from embinit.tables.inits import ordinary_rows

PERCENTILES = (5, 25, 50, 75, 95)
"""Which percentiles of the rows' norms ``TableStatistics`` holds."""

HISTOGRAM = (-5, 3, 8)
"""Where ``TableStatistics.histogram`` begins and ends (powers of ten), and its bins a decade."""

BLOCK_VALUES = 2**24
"""How many values a block of cosines holds at most (64 MiB of float32)."""


@dataclass(frozen=True)
class TableStatistics:
    """A table's values in numbers, special rows left out; sigma is the sample sigma (n - 1).

    ``row_norm_percentiles`` are those of the rows' Euclidean norms at ``PERCENTILES``.
    ``histogram`` counts the values by magnitude in the bins of ``HISTOGRAM``, even on a log axis;
    the first and the last take what lies beyond them.
    """

    minimum: float
    maximum: float
    mean: float
    sigma: float
    row_norm_percentiles: tuple[float, ...]
    rows: int
    dim: int
    histogram: tuple[int, ...] = ()


def table_statistics(table: Tensor, special: Tensor | None = None) -> TableStatistics:
    """Statistics of a table, not-a-number where it holds one; InputError without any values.

    A diverged run must still be able to say what its table looks like, hence no error there.
    """
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


def _histogram(values: Tensor) -> tuple[int, ...]:
    """How many of ``values`` lie in each bin of ``HISTOGRAM`` by magnitude."""
    low, high, a_decade = HISTOGRAM
    bins = (high - low) * a_decade
    # Zero's logarithm is minus infinity, which the clamp puts into the first bin.
    places = ((values.abs().log10() - low) * a_decade).nan_to_num(0.0).clamp(0, bins - 1)
    return tuple(torch.bincount(places.long().flatten(), minlength=bins).tolist())


def pe_share(table: Tensor, pe: Tensor, special: Tensor | None = None) -> float:
    """The PE's share of the variance of table + PE, 0 to 1, the two being independent.

    ``table`` is what the PE (L, D) is added to, so already multiplied; what PE is depends on L,
    which should be the length of the sentences. 0 where neither varies.
    """
    of_pe = table_statistics(pe).sigma ** 2
    of_table = table_statistics(table, special).sigma ** 2
    return of_pe / (of_pe + of_table) if of_pe else 0.0


def cosine_kept(
    table: Tensor, pe: Tensor, special: Tensor | None = None, positions: Tensor | None = None
) -> float:
    """Mean cosine between LayerNorm(e + PE) and LayerNorm(e) over the rows e of a table.

    Row i stands at position ``positions[i]`` (N,), else at i modulo the PE's length. 1 means that
    the positions are absorbed, 0 that they drown the words.
    """
    if positions is None:
        positions = torch.arange(len(table)) % len(pe)
    elif positions.shape != table.shape[:1]:
        raise InputError(
            f"{tuple(positions.shape)} positions for {len(table)} rows; give one a row"
        )
    rows = ordinary_rows(table, special)
    places = ordinary_rows(positions.to(table.device), special)
    pe = pe.to(table.device)
    if len(rows) == 0:
        raise InputError("the table has no rows outside its special ones; no cosine to take")
    total = 0.0
    for block in _blocks(len(rows), table.shape[1]):
        alone = rows[block].double()
        placed = alone + pe[places[block]].double()
        # LayerNorm's division by the row's sigma drops out of a cosine; its centring does not.
        total += F.cosine_similarity(_centred(alone), _centred(placed), dim=1).sum().item()
    return total / len(rows)


def encoder_input(table: Tensor, multiplier: float, pe_rows: Tensor) -> Tensor:
    """What a transformer reads: table (N, D) times multiplier plus a PE row for each word."""
    return table.float() * multiplier + pe_rows.float()


def random_positions(pe: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """For each of ``n`` words a row of ``pe`` (L, D), drawn evenly (the paper's footnote 6)."""
    return pe[torch.randint(len(pe), (n,), generator=generator)]


@dataclass(frozen=True)
class Question:
    """``a`` is to ``b`` as ``c`` is to ``answer``."""

    section: str
    a: str
    b: str
    c: str
    answer: str

    @property
    def words(self) -> tuple[str, str, str, str]:
        """The four words in the file's order."""
        return self.a, self.b, self.c, self.answer


@dataclass(frozen=True)
class AnalogyScore:
    """How many questions were answered rightly, could be asked, and there were."""

    correct: int
    applicable: int
    total: int

    @property
    def accuracy(self) -> float:
        """Right answers over questions that could be asked, 0 to 1."""
        return self.correct / self.applicable


def read_questions(path: Path) -> list[Question]:
    """Analogies in the format of Mikolov et al.'s questions-words.txt.

    A line is ``: section`` or four words; empty lines don't count. InputError at the first line
    that is neither, or that comes before any section.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; give the path of a questions-words.txt")
    questions: list[Question] = []
    section = ""
    for number, raw in enumerate(path.read_bytes().splitlines(), start=1):
        place = f"{path}:{number}"
        try:
            line = raw.decode("utf-8-sig").strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{place}: not UTF-8 ({error.reason}); convert the file") from None
        words = line.split()
        if line.startswith(":"):
            section = line[1:].strip()
            if not section:
                raise InputError(f"{place}: a section without a name; write ': name'")
        elif words and not section:
            raise InputError(f"{place}: a question before any section; put ': name' above it")
        elif len(words) == 4:
            questions.append(Question(section, *words))
        elif words:
            raise InputError(f"{place}: {len(words)} words, a question has 4; mend the line")
    return questions


def applicable(questions: Sequence[Question], words: Sequence[str]) -> list[Question]:
    """The questions all of whose words are among ``words``, matched exactly."""
    known = set(words)
    return [question for question in questions if known.issuperset(question.words)]


def analogy_accuracy(
    table: Tensor, words: Sequence[str], questions: Sequence[Question], lowercase: bool = False
) -> AnalogyScore:
    """How many analogies a table (N, D) answers, row i being the vector of ``words[i]``.

    3CosAdd (Mikolov et al. 2013): the word, other than the question's three, whose unit row is
    nearest to b - a + c of unit rows. Rows of zeros are never an answer. Words match exactly as
    given; ``lowercase`` puts the questions in lower case first, for uncased tables. InputError if
    words and rows don't fit or no question can be asked.
    """
    if len(words) != len(table) or len(set(words)) != len(words):
        raise InputError(
            f"{len(words)} words ({len(set(words))} different) for a table of {len(table)} rows; "
            "give each row one word of its own"
        )
    if lowercase:
        questions = [Question(q.section, *(word.lower() for word in q.words)) for q in questions]
    asked = applicable(questions, words)
    if not asked:
        raise InputError(
            f"none of {len(questions)} analogies has all its words among the table's {len(words)}; "
            "check the case (lowercase=True for uncased tables)"
        )
    row = {word: index for index, word in enumerate(words)}
    ids = torch.tensor([[row[word] for word in q.words] for q in asked], device=table.device)
    units = _unit_rows(table)
    empty = units.norm(dim=1) == 0
    correct = 0
    for block in _blocks(len(ids), len(table)):
        a, b, c, answer = ids[block].unbind(dim=1)
        cosines = (units[b] - units[a] + units[c]) @ units.T
        cosines[:, empty] = -torch.inf
        cosines.scatter_(1, ids[block, :3], -torch.inf)
        correct += int((cosines.argmax(dim=1) == answer).sum())
    return AnalogyScore(correct, len(asked), len(questions))


def nearest_neighbours(table: Tensor, k: int, special: Tensor | None = None) -> Tensor:
    """The ids (N, k) of each row's ``k`` nearest rows by cosine, nearest first.

    A row is not its own neighbour; special rows are nobody's, and their own ids are -1. InputError
    where fewer than k other rows are left.
    """
    ordinary = ordinary_rows(torch.arange(len(table), device=table.device), special)
    if not 1 <= k < len(ordinary):
        raise InputError(
            f"{k} neighbours in a table of {len(ordinary)} ordinary rows; "
            f"ask for 1 to {len(ordinary) - 1}"
        )
    units = _unit_rows(table[ordinary])
    nearest = torch.full((len(table), k), -1, device=table.device)
    for block in _blocks(len(units), len(units)):
        cosines = units[block] @ units.T
        own = torch.arange(block.start, block.stop, device=table.device).unsqueeze(1)
        cosines.scatter_(1, own, -torch.inf)
        nearest[ordinary[block]] = ordinary[cosines.topk(k, dim=1).indices]
    return nearest


def neighbour_purity(table: Tensor, groups: Tensor, special: Tensor | None = None) -> float:
    """The share of rows whose nearest neighbour is of their own group, 0 to 1.

    ``groups`` (N,) long; rows of group -1 belong to none and are left out on both sides.
    InputError where fewer than two rows are left.
    """
    if groups.shape != table.shape[:1]:
        raise InputError(f"{tuple(groups.shape)} groups for {len(table)} rows; give one a row")
    groups = ordinary_rows(groups.to(table.device), special)
    member = groups >= 0
    nearest = nearest_neighbours(ordinary_rows(table, special)[member], 1).squeeze(1)
    groups = groups[member]
    return (groups[nearest] == groups).double().mean().item()


def _unit_rows(table: Tensor) -> Tensor:
    """Rows of length 1, float32; a row of zeros stays one."""
    return F.normalize(table.detach().double(), dim=1).float()


def _centred(rows: Tensor) -> Tensor:
    return rows - rows.mean(dim=1, keepdim=True)


def _blocks(rows: int, width: int) -> Iterator[slice]:
    """Cuts ``rows`` so that a block of rows of ``width`` values stays within ``BLOCK_VALUES``."""
    size = max(1, BLOCK_VALUES // width)
    for low in range(0, rows, size):
        yield slice(low, min(low + size, rows))
