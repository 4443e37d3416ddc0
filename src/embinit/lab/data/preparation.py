"""Text as ids by split, with a vocabulary counted on the training split.

It comes from the cache where the data directory is one (``embinit.lab.data.cache``).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int, Int32
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from embinit.errors import InputError
from embinit.files.reading import reading
from embinit.lab.data import cache
from embinit.lab.data.sources import SOURCES, Source
from embinit.lab.data.sources.microcosm import draws_directory
from embinit.lab.data.tasks import TASKS, Example, Task
from embinit.lab.data.tasks.base import Side, Splits
from embinit.lab.data.tokenizers import Tokenizer, tokenizer
from embinit.lab.data.vocabulary import BOS, EOS, MASK_WORD, PAD, SEP, SPECIAL_WORDS, Vocabulary
from embinit.lab.draws import split_draw
from embinit.lab.specs import DataSpec

TEXTS = "texts"
"""The folder in ``draws_directory`` where processes share texts of data draws, if it is there."""

SIDES: tuple[Side, ...] = ("encoder", "decoder")
_SPLITS = ("train", "validation", "test")
_TENSORS = ("inputs", "lengths", "targets", "target_lengths", "labels")

# A word no tokenizer gives, since it holds a space.
_SEPARATOR = "<sep> "


@dataclass(frozen=True)
class Split:
    """A split: B examples as ids, padded behind, with lengths in words (0 for missing targets).

    Inputs end in EOS, targets go from BOS to EOS. ``references`` are targets as the metric reads
    them.
    """

    inputs: Int32[Tensor, "B T"]
    lengths: Int[Tensor, "B"]
    targets: Int32[Tensor, "B target"] | None
    target_lengths: Int[Tensor, "B"]
    labels: Int[Tensor, "B"] | None
    references: tuple[str, ...]

    def __len__(self) -> int:
        """B, the number of examples."""
        return len(self.inputs)

    def to(self, device: str) -> Split:
        """Copies ids and labels to a device. Lengths stay, since batches are cut on the CPU."""
        ids = {name: getattr(self, name) for name in ("inputs", "targets", "labels")}
        return replace(self, **{name: t.to(device) for name, t in ids.items() if t is not None})


@dataclass(frozen=True)
class PreparedData:
    """A task's splits as ids, with the vocabulary of each side that has a table.

    Examples that are too long are left out of training, and truncated elsewhere.
    """

    spec: DataSpec
    task: Task
    vocabularies: dict[Side, Vocabulary]
    train: Split
    validation: Split
    test: Split

    def to(self, device: str) -> PreparedData:
        """Copies the splits to a device (``Split.to``)."""
        return replace(self, **{name: getattr(self, name).to(device) for name in _SPLITS})


def data_fingerprint(spec: DataSpec, data_dir: Path | None) -> str:
    """The digest of the task's text and of its vocabulary's; InputError if a text is missing."""
    return _with_vocabulary(spec, text_fingerprint(spec.task, data_dir), data_dir)


def _with_vocabulary(spec: DataSpec, fingerprint: str, data_dir: Path | None) -> str:
    """Adds to a text's fingerprint that of the text that the vocabulary is counted on."""
    if spec.vocabulary is None:
        return fingerprint
    return f"{fingerprint}/{data_fingerprint(spec.vocabulary, data_dir)}"


def text_fingerprint(task: str, data_dir: Path | None) -> str:
    """The digest of a task's text, cached or from its files; InputError if there is none."""
    directory = cache.open_directory(data_dir)
    cached: str | None = directory.index["tasks"].get(task) if directory else None
    return cached or TASKS[task].fingerprint(data_dir)


def source(name: str, data_dir: Path | None) -> Source:
    """A source, cached or from its files, opened once a process; InputError if it is missing."""
    return _opened(name, data_dir, _Same(SOURCES.registered(name)))


class _Same:
    """An object of a registry, compared by identity."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


@functools.lru_cache(maxsize=256)
def _opened(name: str, data_dir: Path | None, opener: _Same) -> Source:
    directory = cache.open_directory(data_dir)
    cached = directory.source(name) if directory else None
    return cached or SOURCES[name](data_dir)


def prepare(spec: DataSpec, data_dir: Path | None) -> PreparedData:
    """Loads, tokenises, counts and encodes a task's text, once a process while it is unchanged.

    InputError if the text is missing or broken, or no training example is short enough.
    """
    return _prepared(spec, data_dir, data_fingerprint(spec, data_dir))


@functools.lru_cache(maxsize=64)
def _prepared(spec: DataSpec, data_dir: Path | None, read: str) -> PreparedData:
    directory = cache.open_directory(data_dir)
    if directory and (cached := directory.index["tasks"].get(spec.task)):
        key = cache.text_key(spec, _with_vocabulary(spec, cached, data_dir))
        return _loaded(directory, key, spec)
    texts = draws_directory() / TEXTS
    if not split_draw(spec.task)[1] or not texts.is_dir():
        return _encoded(spec, data_dir)
    key = cache.text_key(spec, f"{read}/{_code()}")
    root = texts / key[:20]
    with contextlib.suppress(InputError):  # what is damaged is made again
        if directory := cache.open_directory(root):
            return _loaded(directory, key, spec)
    data = _encoded(spec, data_dir)
    with contextlib.suppress(InputError):  # no room, say
        cache.make_directory(root).add("data", key, *_to_file(data))
    return data


def share_texts() -> None:
    """Has this project's processes share the texts of data draws, where a folder can be made."""
    with contextlib.suppress(OSError):
        (draws_directory() / TEXTS).mkdir(parents=True, exist_ok=True)


@functools.cache
def _code() -> str:
    """A digest of the code that makes texts and encodes them."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _loaded(directory: cache.Directory, key: str, spec: DataSpec) -> PreparedData:
    content = directory.load("data", key, f"{spec.task} text")
    with reading(f"{directory.root}, {spec.task} text", cache.PREPARE_AGAIN):
        return _from_file(spec, *content)


def _encoded(spec: DataSpec, data_dir: Path | None) -> PreparedData:
    task = TASKS[spec.task]
    splits = task.load(data_dir, spec.cut)
    _check_sizes(spec, splits, data_dir)
    sides: tuple[Side, ...] = ("encoder",) if task.kind == "classification" else SIDES
    tokenizers = {
        side: tokenizer(_located(name, data_dir), task.languages[side])
        for side, name in zip(sides, spec.tokenizers, strict=True)
    }
    train, validation, test = (
        _Words.of(examples, tokenizers)
        for examples in (splits.train, splits.validation, splits.test)
    )
    train = train.no_longer_than(spec.max_length)
    if not train.encoder:
        raise InputError(
            f"no training example of {spec.task} has at most {spec.max_length} tokens a side; "
            "raise max_length"
        )
    for noun, words in (("validation", validation), ("test", test)):
        if not words.encoder and task.kind != "text":
            raise InputError(
                f"{spec.task} has no {noun} example; its file holds blank lines or a header alone: "
                "fetch it again, or keep more of it (cut)"
            )
    if task.kind == "text":
        train, validation, test = train.pooled(), validation.pooled(), test.side_by_side()
    vocabularies = _vocabularies(spec, train, data_dir)
    encoded = (words.encode(vocabularies, spec.max_length) for words in (train, validation, test))
    return PreparedData(spec, task, vocabularies, *encoded)


def _check_sizes(spec: DataSpec, splits: Splits, data_dir: Path | None) -> None:
    """Refuses a part of a data set where the whole is asked for."""
    for name in _SPLITS:
        present, least = len(getattr(splits, name)), getattr(spec.whole, name, None)
        if least is not None and present < least:
            raise InputError(
                f"{data_dir or 'the Hub'}: {spec.task}'s {name} split has {present:,} examples, "
                f"where the whole data set's {least:,} or more are wanted; put the whole there"
            )


def _vocabularies(spec: DataSpec, train: _Words, data_dir: Path | None) -> dict[Side, Vocabulary]:
    """Each side's vocabulary, counted on the training text. Text for pre-training has a mask."""
    if spec.vocabulary is not None:
        return prepare(spec.vocabulary, data_dir).vocabularies
    kind = TASKS[spec.task].kind
    special = (*SPECIAL_WORDS, MASK_WORD) if kind == "text" else SPECIAL_WORDS
    sides: tuple[Side, ...] = SIDES if kind == "translation" else ("encoder",)
    return {
        side: Vocabulary.build(train.side(side), spec.min_freq, spec.most_words, special)
        for side in sides
    }


def write(
    spec: DataSpec, sources: Sequence[str], data_dir: Path | None, to: cache.Directory
) -> None:
    """Writes a task's text, and sources' vectors for its vocabularies, to a cache that lacks them.

    InputError if text or vectors are missing or broken, or the cache can't be written to.
    """
    key, data = cache.text_key(spec, data_fingerprint(spec, data_dir)), prepare(spec, data_dir)
    to.index["tasks"][spec.task] = text_fingerprint(spec.task, data_dir)
    if not to.has("data", key):
        to.add("data", key, *_to_file(data))
    for name in sources:
        opened = source(name, data_dir)
        to.index["sources"][name] = {
            "fingerprint": opened.fingerprint(),
            "dim": opened.dim,
            "tokenizer": opened.tokenizer,
            "languages": sorted(opened.languages),
        }
        for side, vocabulary in data.vocabularies.items():
            language = data.task.languages[side]
            key = cache.vectors_key(opened, vocabulary.words, language)
            if language in opened.languages and not to.has("vectors", key):
                vectors = opened.lookup(vocabulary.words, language)
                to.add("vectors", key, {"values": vectors.values, "found": vectors.found.byte()})
    to.write_index()


def _to_file(data: PreparedData) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The splits' tensors, and their words and references, for a file."""
    splits = {name: getattr(data, name) for name in _SPLITS}
    tensors = {
        f"{name}.{field}": value
        for name, split in splits.items()
        for field in _TENSORS
        if (value := getattr(split, field)) is not None
    }
    vocabularies = {side: asdict(vocabulary) for side, vocabulary in data.vocabularies.items()}
    references = {name: split.references for name, split in splits.items()}
    return tensors, {"vocabularies": vocabularies, "references": references}


def _from_file(spec: DataSpec, tensors: dict[str, Tensor], facts: dict[str, Any]) -> PreparedData:
    """Prepared data from the tensors and facts of ``_to_file``."""
    vocabularies = {
        side: Vocabulary(tuple(entry["words"]), tuple(entry["counts"]))
        for side, entry in facts["vocabularies"].items()
    }
    train, validation, test = (
        Split(
            **{field: tensors.get(f"{name}.{field}") for field in _TENSORS},  # type: ignore[arg-type]
            references=tuple(facts["references"][name]),
        )
        for name in _SPLITS
    )
    return PreparedData(spec, TASKS[spec.task], vocabularies, train, validation, test)


def _located(name: str, data_dir: Path | None) -> str:
    """The tokenizer's name on this machine. A spec names a sub-word tokenizer by its source."""
    return source(name.removeprefix("hf:"), data_dir).tokenizer if name.startswith("hf:") else name


@dataclass(frozen=True)
class _Words:
    """A tokenised split: per example the encoder's tokens, and the target's or the label."""

    encoder: list[list[str]]
    decoder: list[list[str]] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, examples: Sequence[Example], tokenizers: dict[Side, Tokenizer]) -> _Words:
        """Tokenises examples."""
        encoder = tokenizers["encoder"]([example.text for example in examples])
        if any(example.pair for example in examples):
            pairs = tokenizers["encoder"]([example.pair for example in examples])
            encoder = [
                [*text, _SEPARATOR, *pair] if pair else text
                for text, pair in zip(encoder, pairs, strict=True)
            ]
        targets = [example.target for example in examples if example.target is not None]
        labels = [example.label for example in examples if example.label is not None]
        decoder = tokenizers["decoder"](targets) if targets else []
        return cls(encoder, decoder, labels)

    def side(self, side: Side) -> list[list[str]]:
        """The sentences of a side, without the separator between two segments."""
        sentences = self.encoder if side == "encoder" else self.decoder
        return [[word for word in sentence if word != _SEPARATOR] for sentence in sentences]

    def pooled(self) -> _Words:
        """Texts of both languages: of each example its text with its pair, or its translation."""
        pairs = zip(self.encoder, self.decoder, strict=True)
        present = ([sentence for sentence in pair if sentence] for pair in pairs)
        return _Words([pair[n % len(pair)] for n, pair in enumerate(present)])

    def side_by_side(self) -> _Words:
        """Source sentences that have a translation, then the translations; else all sentences."""
        pairs = [pair for pair in zip(self.encoder, self.decoder, strict=True) if pair[1]]
        if not pairs:
            return _Words(self.encoder)
        return _Words([pair[side] for side in (0, 1) for pair in pairs])

    def no_longer_than(self, most: int) -> _Words:
        """The examples with at most ``most`` tokens on each side."""
        sides = zip(self.encoder, self.decoder or self.encoder, strict=True)
        kept = [max(map(len, example)) <= most for example in sides]
        return _Words(
            list(compress(self.encoder, kept)),
            list(compress(self.decoder, kept)),
            list(compress(self.labels, kept)),
        )

    def encode(self, vocabularies: dict[Side, Vocabulary], most: int) -> Split:
        """The token ids. A side that is longer than ``most`` tokens is truncated."""
        inputs = [
            [*_encode(vocabularies["encoder"], sentence[:most]), EOS] for sentence in self.encoder
        ]
        targets = [
            [BOS, *vocabularies["decoder"].encode(sentence[:most]), EOS]
            for sentence in self.decoder
        ]
        return Split(
            inputs=_pad(inputs),
            lengths=torch.tensor([len(ids) for ids in inputs]),
            targets=_pad(targets) if targets else None,
            target_lengths=torch.tensor([len(ids) for ids in targets] or [0] * len(inputs)),
            labels=torch.tensor(self.labels) if self.labels else None,
            references=tuple(" ".join(sentence) for sentence in self.decoder),
        )


def _encode(vocabulary: Vocabulary, words: Sequence[str]) -> list[int]:
    ids = vocabulary.encode(words)
    return [SEP if word == _SEPARATOR else id_ for word, id_ in zip(words, ids, strict=True)]


def _pad(sentences: Sequence[Sequence[int]]) -> Int32[Tensor, "B T"]:
    rows = [torch.tensor(sentence, dtype=torch.int32) for sentence in sentences]
    return pad_sequence(rows, batch_first=True, padding_value=PAD)
