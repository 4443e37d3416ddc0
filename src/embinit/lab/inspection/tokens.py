"""A tokenizer's tokens by their ids, read from its files without the tokenizer itself.

Reading ``tokenizer.json`` takes a fraction of a second where building a tokenizer takes several.
Tokens are counted in a text by the tokenizer itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.files.reading import reading, regular
from embinit.lab.data.checkpoints import read_object

Find = Callable[[str], Path | None]
"""Finds a file of a model by its name; None where it has no such file."""

ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")


@dataclass(frozen=True)
class TokenList:
    """A list of a tokenizer's tokens.

    Attributes:
        added: The ids of tokens that were added to the trained ones, special ones included.
        pad: The id of the padding token; None where there is none.
    """

    tokens: Mapping[int, str]
    special: frozenset[int] = frozenset()
    added: frozenset[int] = frozenset()
    pad: int | None = None

    @property
    def ids(self) -> int:
        """The number of rows that the ids need: the largest id plus one."""
        return max(self.tokens, default=-1) + 1


def token_list(find: Find) -> TokenList | None:
    """Reads the tokens of a model's tokenizer; None where the model has none that can be read.

    Raises:
        InputError: A file of the tokenizer is broken.
    """
    names = ("tokenizer.json", "vocab.txt", "vocab.json")
    file = next(filter(None, map(find, names)), None)
    if file is None:
        return None
    with reading(file):
        tokens, special, added = _tokens(file, find)
    if min(tokens, default=0) < 0:
        raise InputError(f"{file} has the id {min(tokens)}; ids begin at 0: fetch it again")
    roles = _roles(find)
    by_word = {word: number for number, word in tokens.items()}
    special |= {by_word[word] for word in roles.values() if word in by_word}
    pad = by_word.get(roles.get("pad", ""))
    return TokenList(tokens, frozenset(special), frozenset(added), pad)


def _tokens(file: Path, find: Find) -> tuple[dict[int, str], set[int], set[int]]:
    """All tokens by their ids, and the ids of those that are special and that were added."""
    if file.name == "vocab.txt":
        return dict(enumerate(file.read_text(encoding="utf-8").splitlines())), set(), set()
    content = read_object(file)
    if file.name == "vocab.json":
        more = find("added_tokens.json")
        added = _by_id(read_object(more)) if more else {}
        return _by_id(content) | added, set(), set(added)
    vocabulary = content["model"].get("vocab")
    if isinstance(vocabulary, dict):  # byte pairs, word pieces, words
        tokens = _by_id(vocabulary)
    elif isinstance(vocabulary, list):  # unigrams with their scores
        tokens = {number: str(entry[0]) for number, entry in enumerate(vocabulary)}
    else:
        raise InputError(f"{file} has no vocabulary; fetch it again")
    entries = {int(entry["id"]): entry for entry in content.get("added_tokens") or []}
    tokens |= {number: str(entry["content"]) for number, entry in entries.items()}
    return tokens, {n for n, entry in entries.items() if entry.get("special")}, set(entries)


def _by_id(vocabulary: Mapping[str, Any]) -> dict[int, str]:
    return {int(number): word for word, number in vocabulary.items()}


def _roles(find: Find) -> dict[str, str]:
    """The special tokens by their roles."""
    roles: dict[str, str] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        content = read_object(where) if (where := find(name)) else {}
        for role in ROLES:
            token = content.get(f"{role}_token")
            if isinstance(token, dict):
                token = token.get("content")
            if isinstance(token, str):
                roles[role] = token
    return roles


def count_tokens(location: str, text: Path) -> Counter[int]:
    """The counts of ids in a text file, by the model's own tokenizer, without special tokens.

    Raises:
        InputError: The text or the tokenizer can't be read.
    """
    from embinit.lab.data.tokenizers import HuggingFace

    lines = text_lines(text)
    model = HuggingFace(location)
    ids = model.ids()
    return Counter(ids[token] for line in model.tokenize(lines) for token in line if token in ids)


def text_lines(text: Path) -> list[str]:
    """The lines of a text file in UTF-8.

    Raises:
        InputError: The file can't be read, or is not UTF-8.
    """
    with reading(regular(text), "name a file of text in UTF-8"):
        return text.read_text(encoding="utf-8-sig").splitlines()
