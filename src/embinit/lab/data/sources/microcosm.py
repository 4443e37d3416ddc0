"""The microcosm's own pre-trained vectors, made by ``embinit.lab.table_pretraining``.

They play the paper's GloVe, BERT and T5, and word2vec, fastText and ELMo, where nothing may be
downloaded. ``micro-glove@9003`` is the table of data draw 9003. Tables of the draws that claims are
tested on are shipped, with their digests in ``SHA256SUMS``; others lie where ``draws_directory``
says.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import ClassVar

from embinit.errors import InputError
from embinit.lab.data.microcosm.lexicon import SOURCE_LANGUAGE, TARGET_LANGUAGE, language_digest
from embinit.lab.data.sources.assets import MAKE, TrainedTable, load_table
from embinit.lab.data.sources.base import SOURCES, ByLanguage, Source, SourceEntry, Vectors
from embinit.lab.draws import at_draw, split_draw
from embinit.runs.kinds import SECOND, Making


@dataclass(frozen=True)
class MicrocosmSource:
    """A table that was trained on the synthetic language's text, named like its file and draw."""

    name: str
    tokenizer: ClassVar[str] = "whitespace"

    @property
    def dim(self) -> int:
        """D, the width of a vector."""
        return self.table.values.shape[1]

    @property
    def languages(self) -> frozenset[str]:
        """The languages of the text that it was trained on."""
        base, draw = split_draw(self.name)
        return _languages(base.removeprefix(PREFIX), draw)

    @property
    def table(self) -> TrainedTable:
        """The words, their vectors and their training; InputError as in ``load_table_of_draw``."""
        return _table(self.name, table_path(self.name))

    def fingerprint(self) -> str:
        """A digest of words and vectors."""
        return _fingerprint(self.name, table_path(self.name))

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """The vectors of ``words``, in their order. ``language`` is ignored."""
        index = {word: row for row, word in enumerate(self.table.words)}
        return Vectors.of_rows(self.table.values, [index.get(word, -1) for word in words])


def draws_directory() -> Path:
    """Where tables of data draws are made and looked for that aren't shipped."""
    return Path(os.environ.get("EMBINIT_WORLDS") or ".embinit/worlds").absolute()


def table_path(name: str) -> Path:
    """The file of a source's table: the shipped one, else that in ``draws_directory``."""
    assets, file = Path(str(resources.files("embinit.lab.data") / "assets")), f"{name}.safetensors"
    if not split_draw(name)[1]:
        return assets / file
    shipped = assets / "worlds" / file
    return shipped if shipped.exists() else draws_directory() / file


def make_missing(maker: Callable[[str], None] | None, seconds: Mapping[str, int]) -> None:
    """Has missing tables of draws made by ``maker``, in about so many seconds; None refuses."""
    global _maker
    _maker = maker
    _seconds.update(seconds)


_maker: Callable[[str], None] | None = None
_seconds: dict[str, int] = {}


def lacking_tables(name: str) -> tuple[Making, ...]:
    """A source's tables that must be made first, as far as somebody makes them."""
    base, draw = split_draw(name)
    if _maker is None or not draw:
        return ()
    tables = parts_of(base.removeprefix(PREFIX))
    names = {at_draw(PREFIX + table, draw): table for table in tables if table in _seconds}
    return tuple(
        Making(lacking, _maker, _seconds[table] * SECOND)
        for lacking, table in names.items()
        if not table_path(lacking).exists()
    )


def parts_of(source: str) -> tuple[str, ...]:
    """The tables of a source, both named without ``PREFIX``."""
    return PAIRS.get(source, (source,))


def load_table_of_draw(name: str, path: Path) -> TrainedTable:
    """Reads a source's table; InputError if it is missing, cut, or of another language."""
    base, draw = split_draw(name)
    if not draw:
        return load_table(path)
    arguments = f"--worlds {draw} --only {base.removeprefix(PREFIX)}"
    if path.parent != draws_directory():
        arguments += f" --directory {path.parent}"
    mend = f"make it with `{MAKE} {arguments}`"
    table = load_table(path, mend)
    if table.record.get("language") != language_digest(draw):
        raise InputError(f"{path}: a table of another language than data draw {draw}'s; {mend}")
    return table


_table = cache(load_table_of_draw)


@cache
def _fingerprint(name: str, path: Path) -> str:
    table = _table(name, path)
    digest = hashlib.sha256("\n".join(table.words).encode())
    digest.update(table.values.numpy().tobytes())
    return digest.hexdigest()


def _languages(table: str, draw: int) -> frozenset[str]:
    return frozenset(at_draw(language, draw) for language in TABLES[table])


def _entry(name: str, draw: int = 0) -> SourceEntry:
    tables = {table: at_draw(PREFIX + table, draw) for table in parts_of(name)}
    languages = {table: _languages(table, draw) for table in tables}

    def make(data_dir: Path | None) -> Source:
        parts = {table: MicrocosmSource(named) for table, named in tables.items()}
        if name in parts:
            return parts[name]
        by_language = {one: parts[table] for table in parts for one in languages[table]}
        return ByLanguage(at_draw(PREFIX + name, draw), by_language)

    return SourceEntry(make, frozenset().union(*languages.values()), partial(_entry, name))


PREFIX = "micro-"
_BOTH = (SOURCE_LANGUAGE, TARGET_LANGUAGE)
TABLES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("glove", "bert", "t5", "word2vec", "fasttext", "elmo"), (SOURCE_LANGUAGE,)),
    "glove-target": (TARGET_LANGUAGE,),
    **dict.fromkeys(("mbert", "mt5"), _BOTH),
}
"""The tables with the languages of their text; their sources' names begin with ``PREFIX``."""

PAIRS: Mapping[str, tuple[str, ...]] = {"glove-pair": ("glove", "glove-target")}
"""Sources that have a table for each language."""

for _name in (*TABLES, *PAIRS):
    SOURCES.register(PREFIX + _name, _entry(_name))
