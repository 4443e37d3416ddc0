"""Tokenizers by name: white space for synthetic text, spaCy for words, a model's own for sub-words.

spaCy for word vectors and the model's tokenizer for sub-word tables are the paper's (section 4).
spaCy's rules need no trained pipeline.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.files.reading import reading
from embinit.files.writing import hub_reachable

Tokenizer = Callable[[Sequence[str]], list[list[str]]]
"""Cuts each text into the tokens that a source knows."""


def whitespace(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text between white space."""
    return [text.split() for text in texts]


def lower_cased(language: str) -> Tokenizer:
    """The tokenizer by spaCy's rules for a language: lower-cased, without tokens of only spaces."""
    with warnings.catch_warnings():
        # spaCy's command line, imported with it, trips over newer releases of click.
        warnings.simplefilter("ignore")
        import spacy

        cut: Any = spacy.blank(language).tokenizer
    return lambda texts: [
        [token.lower_ for token in tokens if not token.is_space] for tokens in cut.pipe(texts)
    ]


class HuggingFace:
    """A model's own sub-word tokenizer, without special tokens; InputError if it can't load."""

    def __init__(self, location: str) -> None:
        self._location = location
        mend = "name a directory that holds one, or pip install transformers sentencepiece protobuf"
        with reading(f"the tokenizer {location!r}", mend):
            from transformers import AutoTokenizer

            local = Path(location).is_dir() or not hub_reachable()
            # Without the last word a model that brings code asks on the terminal whether to run it.
            self.model: Any = AutoTokenizer.from_pretrained(
                location, local_files_only=local, trust_remote_code=False
            )

    def ids(self) -> dict[str, int]:
        """The id of each word of the model's vocabulary; InputError if all words are special."""
        mend = "put the model's vocabulary (vocab.txt, tokenizer.json, spiece.model) there"
        with reading(f"the tokenizer {self._location!r}", mend):
            ids = {str(word): int(id_) for word, id_ in self.model.get_vocab().items()}
            special = set(self.model.all_special_tokens)
        if not ids.keys() - special:
            raise InputError(f"the tokenizer {self._location!r} knows no words; {mend}")
        return ids

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """The sub-words of each text."""
        with reading(f"the tokenizer {self._location!r}", "fetch the model again"):
            return [self.model.tokenize(text) for text in texts]


@functools.lru_cache(maxsize=8)
def tokenizer(name: str, language: str) -> Tokenizer:
    """The tokenizer of a name, for text in a language; each process opens it once.

    Names are ``whitespace``, ``spacy`` and ``hf:<directory or Hub id>``.
    InputError if the name is unknown, or the model's tokenizer can't be loaded.
    """
    if name == "whitespace":
        return whitespace
    if name == "spacy":
        return lower_cased(language)
    if name.startswith("hf:"):
        return HuggingFace(name.removeprefix("hf:")).tokenize
    raise InputError(f"unknown tokenizer {name!r}: known are whitespace, spacy and hf:<directory>")
