"""Initialisation of an existing model's embedding by an init.

A row belongs to a token of the model's own tokenizer. Its vector is found by what the token spells:
the marks of a space or of a word's inside (byte pairs' U+0120, pieces' U+2581, word pieces' ``##``)
are left out, and where the word has no vector, its lower-cased form is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from embinit.errors import InputError
from embinit.lab.data.sources import SOURCES, Source
from embinit.lab.data.sources.opening import open_source
from embinit.lab.tables.inits import INITS, complete, moments
from embinit.randomness import stream
from embtables.modules import embeddings, input_table

SPACES = ("\u0120", "\u2581")
INSIDE = "##"


@dataclass(frozen=True)
class InitReport:
    """The report on an embedding that was initialised.

    Attributes:
        rows: N, the rows of the table.
        found: The tokens that have a vector, by their rows; none for an init without vectors.
        missing: The tokens that have none. Their rows are drawn at the mean and sigma of the found.
        shared: The names of other modules that have the same table, such as a tied head.
        sigma: The table's standard deviation, without the padding row.
    """

    rows: int
    found: tuple[str, ...]
    missing: tuple[str, ...]
    shared: tuple[str, ...]
    sigma: float

    def __str__(self) -> str:
        """The report in one line."""
        tokens = len(self.found) + len(self.missing)
        had = f"{len(self.found):,} of {tokens:,} tokens have a vector"
        tied = f"; the same table is in {', '.join(self.shared)}" if self.shared else ""
        return f"{self.rows:,} rows at sigma {self.sigma:.3g}; {had}{tied}"


def initialise_embedding(
    model: nn.Module,
    init: str,
    tokens: Any,
    vectors: str | Path | Source | None = None,
    *,
    seed: int,
) -> InitReport:
    """Initialises a model's input embedding by an init, in place.

    Modules that share the table, such as a tied head, have the new values too. A head of its own
    is left as it is, and so are all other weights. Nothing is drawn from global generators.

    Args:
        model: An ``nn.Embedding``, a model of transformers, or a module with one ``nn.Embedding``.
        init: The name of an init, such as ``pretrained_xavier``.
        tokens: Which row belongs to which token: a tokenizer of transformers or tokenizers, a
            mapping from token to row, or the tokens in the order of their rows. Rows without a
            token are drawn as missing ones are.
        vectors: A file of vectors, a model's directory, a source, or a registered source's name.
            An init that takes no vectors ignores it.
        seed: The replicate's seed, which alone decides what is drawn.

    Returns:
        Which tokens have a vector, and what shares the table.

    Raises:
        InputError: The model's table is not to be found or has fewer rows than there are tokens,
            the vectors are missing or of another width, or no token has one.
    """
    recipe = INITS[init]
    table = _embedding(model)
    weight = table.weight
    rows, dim = weight.shape
    known = _tokens(tokens, rows)
    special = torch.zeros(rows, dtype=torch.bool)
    pad = table.padding_idx
    if pad is not None:
        special[pad] = True
        known.pop(pad % rows, None)
    start, found = None, torch.zeros(rows, dtype=torch.bool)
    if recipe.needs_source:
        if vectors is None:
            raise InputError(
                f"init {init!r} needs vectors; name a file of them, a model's directory, or one of "
                f"{', '.join(SOURCES)}"
            )
        values, found = _looked_up(_source(vectors), known, tokens, (rows, dim))
        start = complete(values, found, special, stream(seed, "embedding/missing"))
    made = recipe((rows, dim), special, stream(seed, "embedding"), start)
    with torch.no_grad():
        weight.copy_(made)
    return InitReport(
        rows,
        tuple(token for row, token in known.items() if found[row]),
        tuple(token for row, token in known.items() if not found[row]),
        tuple(
            name
            for name, each in model.named_modules()
            if each is not table and getattr(each, "weight", None) is weight
        ),
        moments(made, special).sigma,
    )


def spelled(token: str) -> str:
    """A token's letters, without the marks of a space or of a word's inside."""
    text = token.lstrip("".join(SPACES))
    text = text.removeprefix(INSIDE) if len(text) > len(INSIDE) else text
    return text.strip() or token


def _embedding(model: nn.Module) -> nn.Embedding:
    """The input table of a model.

    Raises:
        InputError: There is none, there are several, or its values are no floats.
    """
    table, name = input_table(model), type(model).__name__
    if table is None:
        raise InputError(
            f"{name} has {len(embeddings(model))} embeddings, so its input table is not known; "
            "give the embedding itself, as in initialise_embedding(model.tokens, …)"
        )
    if not isinstance(table, nn.Embedding):
        raise InputError(
            f"the input table of {name} is a {type(table).__name__}; give a model whose table is "
            "an nn.Embedding"
        )
    if not table.weight.is_floating_point() or table.weight.is_meta:
        raise InputError(
            f"the input table of {name} is {table.weight.dtype} on {table.weight.device}; load the "
            "model with floats, on a device"
        )
    return table


def _tokens(given: Any, rows: int) -> dict[int, str]:
    """The token of each row that has one, in the rows' order.

    Raises:
        InputError: There are none, they are no tokens, or one is beyond the table.
    """
    if callable(getattr(given, "get_vocab", None)):
        given = given.get_vocab()
    if isinstance(given, Mapping):
        known = {row: token for token, row in given.items()}
    elif isinstance(given, Sequence) and not isinstance(given, str):
        known = dict(enumerate(given))
    else:
        known = {}
    plain = all(
        isinstance(row, int) and row >= 0 and isinstance(token, str) for row, token in known.items()
    )
    if not known or not plain:
        raise InputError(
            f"tokens are {type(given).__name__}; give a tokenizer, a mapping from token to row, or "
            "the tokens in the order of their rows"
        )
    if max(known) >= rows:
        raise InputError(
            f"the model's table has {rows} rows and {known[max(known)]!r} has row {max(known)}; "
            "resize the table first, or give the model's own tokenizer"
        )
    return dict(sorted(known.items()))


def _source(given: str | Path | Source) -> Source:
    if not isinstance(given, str | Path):
        return given
    if isinstance(given, str) and given in SOURCES and not Path(given).exists():
        return SOURCES[given](None)
    return open_source(Path(given).name, Path(given))


def _looked_up(
    source: Source, known: Mapping[int, str], tokenizer: Any, shape: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """Each row's vector, and a mask of the rows that have one.

    Raises:
        InputError: The vectors are not as wide as the table.
    """
    rows, dim = shape
    if source.dim != dim:
        raise InputError(
            f"{source.name} has vectors of width {source.dim}, the model's table is {dim} wide; "
            f"build the model with a table {source.dim} wide, or name other vectors"
        )
    decode = getattr(tokenizer, "decode", None)
    forms: dict[int, list[str]] = {}
    for row, token in known.items():
        # A tokenizer knows which letters the bytes of a pair are.
        text = token if decode is None else str(decode([row]))
        word = spelled(text if text.strip() and "\ufffd" not in text else token)
        forms[row] = list(dict.fromkeys((token, word, word.lower())))
    words = list(dict.fromkeys(form for every in forms.values() for form in every))
    number = {word: position for position, word in enumerate(words)}
    vectors = source.lookup(words)
    values, found = torch.zeros(rows, dim), torch.zeros(rows, dtype=torch.bool)
    for row, every in forms.items():
        having = [number[form] for form in every if vectors.found[number[form]]]
        if having:
            values[row], found[row] = vectors.values[having[0]], True
    return values, found
