"""A tokenizer's tokens by their ids, read from its files in a fraction of a second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.files.reading import reading
from embinit.lab.data.checkpoints import read_object

Find = Callable[[str], Path | None]
"""Finds a file of a model by its name; None where it has no such file."""


@dataclass(frozen=True)
class TokenList:
    """A tokenizer's tokens by id, and the id of the padding token."""

    tokens: Mapping[int, str]
    pad: int | None = None

    @property
    def ids(self) -> int:
        """The number of rows that the ids need: the largest id plus one."""
        return max(self.tokens, default=-1) + 1


def token_list(find: Find) -> TokenList | None:
    """Reads a model's tokens, None if it has no tokenizer here; InputError if a file is broken."""
    names = ("tokenizer.json", "vocab.txt", "vocab.json")
    file = next(filter(None, map(find, names)), None)
    if file is None:
        return None
    with reading(file):
        tokens = _tokens(file, find)
    if min(tokens, default=0) < 0:
        raise InputError(f"{file} has the id {min(tokens)}; ids begin at 0: fetch it again")
    by_word = {word: number for number, word in tokens.items()}
    return TokenList(tokens, by_word.get(_padding(find)))


def _tokens(file: Path, find: Find) -> dict[int, str]:
    if file.name == "vocab.txt":
        return dict(enumerate(file.read_text(encoding="utf-8").splitlines()))
    content = read_object(file)
    if file.name == "vocab.json":
        more = find("added_tokens.json")
        return _by_id(content) | (_by_id(read_object(more)) if more else {})
    vocabulary = content["model"].get("vocab")
    if isinstance(vocabulary, dict):  # byte pairs, word pieces, words
        tokens = _by_id(vocabulary)
    elif isinstance(vocabulary, list):  # unigrams with their scores
        tokens = {number: str(entry[0]) for number, entry in enumerate(vocabulary)}
    else:
        raise InputError(f"{file} has no vocabulary; fetch it again")
    return tokens | {
        int(entry["id"]): str(entry["content"]) for entry in content.get("added_tokens") or []
    }


def _by_id(vocabulary: Mapping[str, Any]) -> dict[int, str]:
    return {int(number): word for word, number in vocabulary.items()}


def _padding(find: Find) -> str:
    """The padding token; "" where none is named."""
    padding = ""
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        token = (read_object(where) if (where := find(name)) else {}).get("pad_token")
        if isinstance(token, dict):
            token = token.get("content")
        padding = token if isinstance(token, str) else padding
    return padding
