"""A tokenizer's tokens by their ids, read from its files without the tokenizer itself.

Reading ``tokenizer.json`` takes a fraction of a second where building a tokenizer takes several.
Tokens are counted in a text by the tokenizer itself.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.files.reading import reading, regular
from embinit.lab.data.checkpoints import read_json

SPECIAL = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)


@dataclass(frozen=True)
class TokenList:
    """A list of a tokenizer's tokens.

    Attributes:
        location: Where the tokenizer is.
        tokens: The token of each id.
        special: The ids of special tokens, such as padding.
        added: The ids of tokens that were added to the trained ones, special ones included.
        pad: The id of the padding token; None where there is none.
    """

    location: str
    tokens: Mapping[int, str]
    special: frozenset[int] = frozenset()
    added: frozenset[int] = frozenset()
    pad: int | None = None

    @property
    def ids(self) -> int:
        """The number of rows that the ids need: the largest id plus one."""
        return max(self.tokens, default=-1) + 1


def token_list(location: str, path: Callable[[str], Path | None]) -> TokenList | None:
    """Reads the tokens of a model's tokenizer; None where the model has none that can be read.

    Args:
        location: Where the model is.
        path: Where one of its files lies; None if it has no such file.

    Raises:
        InputError: A file of the tokenizer is broken.
    """
    whole, lines, words = map(path, ("tokenizer.json", "vocab.txt", "vocab.json"))
    if (file := whole or lines or words) is None:
        return None
    with reading(file):
        tokens, added = _tokens(whole, lines, words, path("added_tokens.json"))
    if min(tokens, default=0) < 0:
        raise InputError(f"{file} has the id {min(tokens)}; ids begin at 0: fetch it again")
    roles = _roles(path)
    by_word = {word: number for number, word in tokens.items()}
    special = {number for number, (_, is_special) in added.items() if is_special}
    special |= {by_word[word] for word in roles.values() if word in by_word}
    return TokenList(
        location,
        tokens,
        frozenset(special),
        frozenset(added),
        by_word.get(roles.get("pad_token", "")),
    )


def _tokens(
    whole: Path | None, lines: Path | None, words: Path | None, more: Path | None
) -> tuple[dict[int, str], dict[int, tuple[str, bool]]]:
    """All tokens by their ids, and those that were added, each with whether it is special."""
    added: dict[int, tuple[str, bool]] = {}
    if whole is not None:
        content = read_json(whole)
        tokens = _vocabulary(content["model"], whole)
        for entry in content.get("added_tokens") or []:
            added[int(entry["id"])] = (str(entry["content"]), bool(entry.get("special")))
    elif lines is not None:
        tokens = dict(enumerate(lines.read_text(encoding="utf-8").splitlines()))
    else:
        assert words is not None
        tokens = {int(number): word for word, number in read_json(words).items()}
        if more is not None:
            added = {int(number): (word, False) for word, number in read_json(more).items()}
    return tokens | {number: word for number, (word, _) in added.items()}, added


def count_tokens(location: str, text: Path) -> Counter[int]:
    """The counts of ids in a text file, by the model's own tokenizer.

    Args:
        location: The model's or tokenizer's directory, or its id on the Hub.
        text: A file of text, in UTF-8.

    Raises:
        InputError: The text or the tokenizer can't be read.
    """
    lines = [line for line in text_lines(text) if line.strip()]
    counts: Counter[int] = Counter()
    for ids in _cut(location, lines):
        counts.update(ids)
    return counts


def _cut(location: str, lines: list[str]) -> Iterator[list[int]]:
    """The ids of each line, without special tokens around them."""
    whole = Path(location) / "tokenizer.json"
    if whole.is_file():
        with contextlib.suppress(ImportError):
            from tokenizers import Tokenizer  # comes with transformers, and is there in no time

            with reading(whole):
                fast = Tokenizer.from_file(str(whole))
            fast.no_truncation()
            fast.no_padding()
            yield from (fast.encode(line, add_special_tokens=False).ids for line in lines)
            return
    from embinit.lab.data.tokenizers import HuggingFace

    model = HuggingFace(location).model
    yield from (model.encode(line, add_special_tokens=False, verbose=False) for line in lines)


def text_lines(text: Path) -> list[str]:
    """The lines of a text file.

    Raises:
        InputError: The file can't be read, or is not UTF-8.
    """
    regular(text)
    try:
        return text.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"{text} can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{text} is not UTF-8 ({error.reason}); convert the file") from None


def _vocabulary(model: Mapping[str, Any], path: Path) -> dict[int, str]:
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, dict):  # byte pairs, word pieces, words
        return {int(number): word for word, number in vocabulary.items()}
    if isinstance(vocabulary, list):  # unigrams with their scores
        return {number: str(entry[0]) for number, entry in enumerate(vocabulary)}
    raise InputError(f"{path} has no vocabulary; fetch it again")


def _roles(path: Callable[[str], Path | None]) -> dict[str, str]:
    """The special tokens by their roles."""
    roles: dict[str, str] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        if (where := path(name)) is None:
            continue
        content = read_json(where)
        for role in SPECIAL:
            token = content.get(role)
            if isinstance(token, dict):
                token = token.get("content")
            if isinstance(token, str):
                roles[role] = token
    return roles
