"""Sources by path, and published word vectors by their paths in the data directory."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from embinit.errors import InputError
from embinit.files.writing import find
from embinit.lab.data.sources.arrays import ArrayVectors
from embinit.lab.data.sources.base import SOURCES, ByLanguage, Source, SourceEntry
from embinit.lab.data.sources.huggingface import HuggingFaceTable
from embinit.lab.data.sources.text import TextVectors, WordVectors
from embinit.lab.data.sources.word2vec import Word2VecBinary

ENGLISH = frozenset({"en"})


def open_source(
    name: str, path: Path, languages: frozenset[str] = ENGLISH
) -> WordVectors | HuggingFaceTable:
    """Opens the source at a path, by the file's format; InputError if nothing is there.

    A directory is a Hugging Face model; .bin and .bin.gz are word2vec's binary format; .npz holds
    arrays; any other file is text.
    """
    if path.is_dir():
        return HuggingFaceTable(name, str(path), languages)
    if not path.exists():
        raise InputError(
            f"source {name!r}: {path} doesn't exist; name a file of vectors, or the directory of a "
            "Hugging Face model"
        )
    if path.suffix == ".npz":
        return ArrayVectors(name, path, languages)
    if path.name.endswith((".bin", ".bin.gz")):
        return Word2VecBinary(name, path, languages)
    return TextVectors(name, path, languages)


_NAMED_HERE: set[str] = set()


def is_named_here(name: str) -> bool:
    """Whether the name was registered by a ``NamedSource`` and by no package."""
    return name in _NAMED_HERE or name not in SOURCES


@dataclass(frozen=True)
class NamedSource:
    """A source by its path; a call registers it in the process."""

    name: str
    path: Path

    def __call__(self) -> None:
        """Registers the source, in English unless the name is known."""
        languages = ENGLISH
        if self.name in SOURCES:
            languages = getattr(SOURCES[self.name], "languages", ENGLISH)
        else:
            _NAMED_HERE.add(self.name)
        entry = SourceEntry(lambda _: open_source(self.name, self.path, languages), languages)
        SOURCES.replace(self.name, entry)


def named_source(given: str) -> NamedSource:
    """The source of a pair ``NAME=PATH``; InputError for another form or a broken source."""
    name, _, path = given.partition("=")
    if not name or not path:
        raise InputError(f"--embinit-source {given}: write NAME=PATH, as in glove=glove.txt")
    absolute = Path(path).expanduser().absolute()
    try:
        open_source(name, absolute).check()
    except InputError as error:
        raise InputError(f"--embinit-source {given}: {error}") from None
    return NamedSource(name, absolute)


def _published(name: str, language: str, what: str, *candidates: str, least: int = 0) -> None:
    languages = frozenset({language})

    def make(data_dir: Path | None) -> Source:
        opened = open_source(name, find(data_dir, *candidates, what=what), languages)
        return replace(opened, least=least) if isinstance(opened, WordVectors) else opened

    SOURCES.register(name, SourceEntry(make, languages))


for _name, _least in (("glove", 0), ("glove-whole", 2_190_000)):
    _published(
        _name,
        "en",
        "GloVe (840B, 300d)",
        *(f"vectors/glove.840B.300d{ending}" for ending in (".zip", ".txt", ".txt.gz")),
        "vectors/glove.840B.300d.subset.txt.gz",
        least=_least,
    )
OWN_GERMAN = "vectors/glove-de.of-translations.300d.txt"
"""Where ``embinit.lab.table_pretraining german`` puts its table."""

_GERMAN = [f"vectors/glove-de{ending}" for ending in (".zip", ".txt", ".txt.gz")]
_published("glove-de", "de", "German GloVe (deepset's vectors.txt)", *_GERMAN)


def _german(data_dir: Path | None) -> Source:
    """Published German vectors, or the user's; for want of them one's own."""
    with suppress(InputError):
        return SOURCES["glove-de"](data_dir)
    what = "German GloVe (deepset's, or what python -m embinit.lab.table_pretraining german makes)"
    path = find(data_dir, *_GERMAN, OWN_GERMAN, what=what)
    return open_source("glove-de-or-own", path, frozenset({"de"}))


SOURCES.register("glove-de-or-own", SourceEntry(_german, frozenset({"de"})))
_published(
    "word2vec",
    "en",
    "word2vec (Google News, 300d)",
    "vectors/GoogleNews-vectors-negative300.bin.gz",
    "vectors/GoogleNews-vectors-negative300.bin",
    *(f"vectors/word2vec{ending}" for ending in (".txt", ".txt.gz", ".bin", ".bin.gz")),
)
_published(
    "fasttext",
    "en",
    "fastText (crawl, 300d)",
    *(f"vectors/crawl-300d-2M.{ending}" for ending in ("vec.zip", "vec")),
    *(f"vectors/cc.en.300.{ending}" for ending in ("vec.gz", "vec")),
    *(f"vectors/fasttext.{ending}" for ending in ("vec.gz", "vec")),
)
_published(
    "elmo",
    "en",
    "ELMo's word layer (512d, exported as the docs on data say)",
    *(f"vectors/elmo.{ending}" for ending in ("npz", "vec", "vec.gz", "txt", "txt.gz", "bin")),
)


def _model(name: str, directory: str, hub: str, *languages: str) -> None:
    covered = frozenset(languages)

    def make(data_dir: Path | None) -> Source:
        what = f"source {name!r} (the files of {hub})"
        path = hub if data_dir is None else find(data_dir, f"vectors/{directory}", what=what)
        return HuggingFaceTable(name, str(path), covered)

    SOURCES.register(name, SourceEntry(make, covered))


MBERT = "bert-base-multilingual-cased"
_model("minilm", "minilm-l6", "sentence-transformers/all-MiniLM-L6-v2", "en")
_model("bert", "bert-base-uncased", "google-bert/bert-base-uncased", "en")
_model("mbert", MBERT, f"google-bert/{MBERT}", "en", "de")
_model("t5", "t5-small", "google-t5/t5-small", "en")
_model("mt5", "mt5-base", "google/mt5-base", "en", "de")


def _by_language(name: str, **parts: str) -> None:
    """The paper's sources for translation (section 3.2): each side has its language's GloVe."""

    def make(data_dir: Path | None) -> Source:
        return ByLanguage(name, {of: SOURCES[part](data_dir) for of, part in parts.items()})

    SOURCES.register(name, SourceEntry(make, frozenset(parts)))


_by_language("glove-de-en", de="glove-de", en="glove-whole")
_by_language("glove-en-de", en="glove", de="glove-de-or-own")
