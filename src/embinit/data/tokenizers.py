"""Tokenizers by name: made text by spaces, words by spaCy, sub-words by the source's own.

The paper (section 4) cuts text for word vectors with spaCy, and for sub-word tables with the
model's tokenizer. spaCy's rules need no trained pipeline, so a blank language does.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from embinit.data.files import hub_reachable
from embinit.errors import InputError


class Tokenizer(Protocol):
    """Cuts text into the words that a source knows."""

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Each text's words."""


class Whitespace:
    """Words are what stands between spaces."""

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Each text's words."""
        return [text.split() for text in texts]


class SpaCy:
    """spaCy's rules for a language, lower-cased unless ``cased``."""

    def __init__(self, language: str, cased: bool) -> None:
        with warnings.catch_warnings():
            # spaCy's command line, imported with it, trips over newer releases of click.
            warnings.simplefilter("ignore")
            import spacy

            self._cut: Any = spacy.blank(language).tokenizer
        self._cased = cased

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Each text's words, without those that are spaces only."""
        return [
            [token.text if self._cased else token.lower_ for token in cut if not token.is_space]
            for cut in self._cut.pipe(texts)
        ]


class HuggingFace:
    """A model's own sub-words, without its special tokens."""

    def __init__(self, location: str) -> None:
        try:
            from transformers import AutoTokenizer

            local = Path(location).is_dir() or not hub_reachable()
            self.model: Any = AutoTokenizer.from_pretrained(location, local_files_only=local)
        except (OSError, ValueError, ImportError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(
                f"the tokenizer {location!r} can't be loaded ({reason}); "
                "name a directory that holds one, or install embinit[text]"
            ) from error

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Each text's sub-words."""
        return [self.model.tokenize(text) for text in texts]


@functools.lru_cache(maxsize=8)
def tokenizer(name: str, language: str) -> Tokenizer:
    """The tokenizer for ``language``: whitespace, spacy, spacy-cased or hf:<directory or id>."""
    if name == "whitespace":
        return Whitespace()
    if name in ("spacy", "spacy-cased"):
        return SpaCy(language, cased=name == "spacy-cased")
    if name.startswith("hf:"):
        return HuggingFace(name.removeprefix("hf:"))
    raise InputError(
        f"unknown tokenizer {name!r}: known are whitespace, spacy, spacy-cased and hf:<directory>"
    )
