"""Token plans: the token of each row of the extended table, and the new tokens' vectors.

Tokens are added to the model's own tokenizer, or another tokenizer takes its place. A token that
both tokenizers have keeps its row; special tokens keep theirs by their role.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.sources.opening import open_source
from embinit.lab.data.sources.text import WordVectors
from embtables.checkpoints import existing
from embtables.extension import mathematics
from embtables.token_lists import SPECIAL, token_list

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "chat_template.jinja",
)
"""The names of a tokenizer's files."""

Side = Literal["input", "output"]

MOST_WORDS = 200_000
"""The number of a file's first words that are cut into tokens."""


@dataclass(frozen=True)
class TokenPlan:
    """A plan of the extended table's rows.

    Attributes:
        tokenizer: The tokenizer of the extended model; None where the model's files are kept.
        old_tokenizer: The model's own; None where none is needed.
        names: The old tokens by their rows; empty where they are not known.
        sources: For each new row the old row that it keeps; -1 for rows to be made.
        tokens: The tokens of the rows to be made, by row; rows without a token have none.
        pieces: For each of these tokens the old rows of its pieces.
        replaced: Whether another tokenizer takes the place of the model's.
        repaired: The rows of old tokens that are made anew, by table; None where rows are added.
    """

    tokenizer: Any
    old_tokenizer: Any
    names: Mapping[int, str]
    sources: tuple[int, ...]
    tokens: dict[int, str]
    pieces: tuple[tuple[int, ...], ...]
    replaced: bool = False
    repaired: Mapping[Side, tuple[int, ...]] | None = None

    @property
    def spare(self) -> list[int]:
        """The new rows without a token, which pad the table."""
        return [row for row, of in enumerate(self.sources) if of < 0 and row not in self.tokens]


def load_tokenizer(directory: Path) -> Any:
    """A directory's tokenizer, loaded anew, so that it may be changed.

    Raises:
        InputError: There is none that transformers can load.
    """
    from embinit.lab.data.tokenizers import HuggingFace

    if not directory.is_dir():
        raise InputError(f"{directory} is no directory; name one that holds a tokenizer")
    if not any((directory / name).exists() for name in TOKENIZER_FILES):
        raise InputError(
            f"{directory} has no tokenizer; put its files there, such as {TOKENIZER_FILES[0]}"
        )
    try:
        return HuggingFace(str(directory)).model
    except InputError:
        raise
    except Exception as error:  # transformers has an error of its own for each fault of its files
        reason = " ".join(str(error).split())
        raise InputError(
            f"the tokenizer of {directory} can't be loaded ({reason}); fetch its files again"
        ) from error


def read_token_file(path: Path) -> list[str]:
    """The tokens of a file, one a line.

    Raises:
        InputError: The file can't be read, has no token, or has one twice.
    """
    from embtables.token_lists import text_lines

    tokens = [line for line in text_lines(path) if line.strip()]
    if not tokens:
        raise InputError(f"{path} has no tokens; write one a line")
    again = [token for token, count in Counter(tokens).items() if count > 1]
    if again:
        raise InputError(f"{path} has {again[0]!r} more than once; keep one line of it")
    return tokens


def added_tokens(directory: Path, path: Path, rows: int, special: bool, multiple: int) -> TokenPlan:
    """The plan for tokens that are added to a model's tokenizer.

    Args:
        directory: The model's directory.
        path: The file of tokens, one a line.
        rows: The rows of the old table.
        special: Whether they are special tokens, which text can't be split into by accident.
        multiple: What the number of rows is to be a multiple of.

    Raises:
        InputError: A token exists already, or the tokenizer doesn't fit the table.
    """
    tokens = read_token_file(path)
    old, tokenizer = load_tokenizer(directory), load_tokenizer(directory)
    known = old.get_vocab()
    existing = [token for token in tokens if token in known]
    if existing:
        raise InputError(
            f"{path}: {len(existing)} of its tokens exist already, such as {existing[0]!r} "
            f"(id {known[existing[0]]}); leave them out"
        )
    _check_ids(directory, known, rows)
    tokenizer.add_tokens(tokens, special_tokens=special)
    ids = tokenizer.convert_tokens_to_ids(tokens)
    largest = max(*ids, rows - 1)
    sources = [row if row < rows else -1 for row in range(_padded(largest + 1, multiple))]
    for row in ids:
        sources[row] = -1  # also where a padding row of the table was free for it
    made = dict(sorted(zip(ids, tokens, strict=True)))
    pieces = tuple(_pieces(old, token, rows) for token in made.values())
    return TokenPlan(tokenizer, old, _by_row(old), tuple(sources), made, pieces)


def replaced_tokenizer(directory: Path, new: Path, rows: int, multiple: int) -> TokenPlan:
    """The plan for a model whose tokenizer is replaced.

    Args:
        directory: The model's directory.
        new: The other tokenizer's directory.
        rows: The rows of the old table.
        multiple: What the number of rows is to be a multiple of.

    Raises:
        InputError: A tokenizer can't be loaded, or the old one doesn't fit the table.
    """
    old, tokenizer = load_tokenizer(directory), load_tokenizer(new)
    known = old.get_vocab()
    by_form = {_form(token): row for token, row in known.items()}
    for role in SPECIAL:
        ours, theirs = getattr(old, role, None), getattr(tokenizer, role, None)
        if ours is not None and theirs is not None and ours in known:
            by_form.setdefault(_form(theirs), known[ours])
    wanted = {row: token for token, row in tokenizer.get_vocab().items()}
    count = _padded(max(wanted, default=-1) + 1, multiple)
    sources = [-1] * count
    made: dict[int, str] = {}
    for row, token in sorted(wanted.items()):
        of = by_form.get(_form(token), -1)
        if 0 <= of < rows:
            sources[row] = of
        else:
            made[row] = token
    if all(of < 0 for of in sources):
        raise InputError(
            f"{new} shares no token with the tokenizer of {directory}; name a tokenizer, not "
            "only its settings"
        )
    pieces = tuple(_pieces(old, _text(tokenizer, row, token), rows) for row, token in made.items())
    return TokenPlan(tokenizer, old, _by_row(old), tuple(sources), made, pieces, replaced=True)


def same_tokens(
    directory: Path, rows: int, repaired: Mapping[Side, tuple[int, ...]], needed: bool
) -> TokenPlan:
    """The plan that keeps all tokens and makes some rows anew.

    Args:
        directory: The model's directory.
        rows: The rows of the table.
        repaired: The rows to make anew, by table.
        needed: Whether the method needs the tokenizer itself, and not only its tokens' names.
    """
    old = load_tokenizer(directory) if needed else None
    listed = token_list(str(directory), lambda name: existing(directory / name))
    names = _by_row(old) if old is not None else dict(listed.tokens if listed else {})
    every = sorted({row for each in repaired.values() for row in each})
    made = {row: names.get(row, f"id {row}") for row in every}
    sources = tuple(-1 if row in made else row for row in range(rows))
    return TokenPlan(None, old, names, sources, made, tuple(() for _ in made), repaired=repaired)


def token_vectors(words: Sequence[str], vectors: Tensor, tokenizer: Any, rows: int) -> Tensor:
    """A vector for each token: the mean of the words that have it, frequent ones weighing more.

    Files of vectors have frequent words first, so a word's weight is one over its rank (Zipf).

    Args:
        words: N words, the most frequent first.
        vectors: Their vectors, (N, d).
        tokenizer: What cuts words into tokens.
        rows: The number of ids.

    Returns:
        (rows, d); zero for tokens that no word has.
    """
    special = set(getattr(tokenizer, "all_special_ids", []))
    to: list[int] = []
    of: list[int] = []
    for rank, word in enumerate(words):
        ids = set()
        for form in (word, f" {word}"):  # the word at a text's beginning and within it
            ids |= set(tokenizer.encode(form, add_special_tokens=False))
        kept = [row for row in ids if row < rows and row not in special]
        to += kept
        of += [rank] * len(kept)
    summed = torch.zeros(rows, vectors.shape[1])
    weight = torch.zeros(rows)
    if not to:
        return summed
    rank_weight = 1 / (torch.arange(len(words), dtype=torch.float32) + 1)
    index, ranks = torch.tensor(to), torch.tensor(of)
    summed.index_add_(0, index, vectors[ranks] * rank_weight[ranks, None])
    weight.index_add_(0, index, rank_weight[ranks])
    return summed / weight.clamp(min=1e-30)[:, None]


def read_words(path: Path) -> tuple[tuple[str, ...], Tensor]:
    """The first words of a file of vectors, and their vectors.

    Raises:
        InputError: The file can't be read.
    """
    source = open_source(path.name, path)
    if not isinstance(source, WordVectors):
        raise InputError(f"{path} is no file of word vectors; name a model by --donor")
    words = source.words(MOST_WORDS)
    return words, source.lookup(words).values


def aligned(
    words: Sequence[str],
    vectors: Tensor,
    other_words: Sequence[str],
    other: Tensor,
    dictionary: Path | None,
) -> Tensor:
    """Other words' vectors, rotated onto the first ones by pairs of words that mean the same.

    Args:
        words: The words of the space that stays.
        vectors: Their vectors.
        other_words: The words of the space that is rotated.
        other: Their vectors.
        dictionary: Pairs, a word of the first and one of the other a line, separated by a tab;
            None for the words that both have.

    Raises:
        InputError: No pair is known to both.
    """
    row = {word: number for number, word in enumerate(words)}
    other_row = {word: number for number, word in enumerate(other_words)}
    if dictionary is None:
        pairs = [(row[word], other_row[word]) for word in other_words if word in row]
    else:
        from embtables.token_lists import text_lines

        fields = [line.split("\t") for line in text_lines(dictionary) if line.strip()]
        if any(len(pair) != 2 for pair in fields):
            raise InputError(f"{dictionary}: each line is two words with a tab between; mend it")
        pairs = [(row[a], other_row[b]) for a, b in fields if a in row and b in other_row]
    if not pairs:
        raise InputError(
            "no pair of words is known to both files of vectors; name a dictionary with "
            "--dictionary"
        )
    ours, theirs = (list(each) for each in zip(*pairs, strict=True))
    unit = torch.nn.functional.normalize
    rotation = mathematics.procrustes(unit(other[theirs], dim=1), unit(vectors[ours], dim=1))
    return other @ rotation


def _by_row(tokenizer: Any) -> dict[int, str]:
    return {row: token for token, row in tokenizer.get_vocab().items()}


def _padded(rows: int, multiple: int) -> int:
    return -(-rows // multiple) * multiple


def _check_ids(directory: Path, known: dict[str, int], rows: int) -> None:
    beyond = [token for token, row in known.items() if row >= rows]
    if beyond:
        raise InputError(
            f"{directory}: the tokenizer has {len(beyond)} ids beyond the table's {rows} rows, "
            f"such as {beyond[0]!r}; give them rows with --tokenizer {directory} first"
        )


def _pieces(old: Any, text: str, rows: int) -> tuple[int, ...]:
    """The old rows of the pieces of a text; none where only the unknown token is left."""
    ids = [row for row in old.encode(text, add_special_tokens=False) if row < rows]
    kept = [row for row in ids if row != old.unk_token_id]
    return tuple(kept)


def _text(tokenizer: Any, row: int, token: str) -> str:
    """The text that a token stands for."""
    text = str(tokenizer.decode([row]))
    return text if text.strip() else token


def _form(token: str) -> str:
    """A token with a common mark of a space (byte pairs write U+0120, pieces U+2581)."""
    return "\u2581" + token[1:] if token.startswith("\u0120") else token
