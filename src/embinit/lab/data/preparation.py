"""Text as ids by split, with a vocabulary counted on the training split.

It comes from the cache where the data directory is one (``embinit.lab.data.cache``).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

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
from embinit.lab.data.vocabulary import (
    BOS,
    EOS,
    MASK_WORD,
    PAD,
    SEPARATOR,
    SPECIAL_WORDS,
    Vocabulary,
)
from embinit.lab.draws import split_draw
from embinit.lab.specs import DataSpec

TEXTS = "texts"
"""The folder in ``draws_directory`` where processes share texts of data draws, if it is there."""

SIDES: tuple[Side, ...] = ("encoder", "decoder")
_SPLITS = ("train", "validation", "test")
_TENSORS = ("inputs", "lengths", "targets", "target_lengths", "labels")


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
    fingerprint = text_fingerprint(spec.task, data_dir)
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
    return _opened(name, data_dir, id(SOURCES.registered(name)))[1]


@functools.lru_cache(maxsize=256)
def _opened(name: str, data_dir: Path | None, entry_id: int) -> tuple[object, Source]:
    """The entry (it may lack a hash, and is kept so that its id stays its own) and the source."""
    directory = cache.open_directory(data_dir)
    cached = directory.source(name) if directory else None
    return SOURCES.registered(name), cached or SOURCES[name](data_dir)


def prepare(spec: DataSpec, data_dir: Path | None) -> PreparedData:
    """Loads, tokenises, counts and encodes a task's text, once a process while it is unchanged.

    InputError if the text is missing or broken, or no training example is short enough.
    """
    return _prepared(spec, data_dir, data_fingerprint(spec, data_dir))


@functools.lru_cache(maxsize=64)
def _prepared(spec: DataSpec, data_dir: Path | None, read: str) -> PreparedData:
    directory = cache.open_directory(data_dir)
    if directory and spec.task in directory.index["tasks"]:
        return _loaded(directory, cache.text_key(spec, read), spec)
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
        _tokenised(examples, tokenizers)
        for examples in (splits.train, splits.validation, splits.test)
    )
    train = [one for one in train if max(map(len, (one.encoder, one.decoder))) <= spec.max_length]
    if not train:
        raise InputError(
            f"no training example of {spec.task} has at most {spec.max_length} tokens a side; "
            "raise max_length"
        )
    for noun, examples in (("validation", validation), ("test", test)):
        if not examples and task.kind != "text":
            raise InputError(
                f"{spec.task} has no {noun} example; its file holds blank lines or a header alone: "
                "fetch it again, or keep more of it (cut)"
            )
    if task.kind == "text":
        train, validation, test = _pooled(train), _pooled(validation), _side_by_side(test)
    vocabularies = _vocabularies(spec, train, data_dir)
    encoded = (_encode(some, vocabularies, spec.max_length) for some in (train, validation, test))
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


def _vocabularies(
    spec: DataSpec, train: Sequence[_Tokens], data_dir: Path | None
) -> dict[Side, Vocabulary]:
    """Each side's vocabulary, counted on the training text. Text for pre-training has a mask."""
    if spec.vocabulary is not None:
        return prepare(spec.vocabulary, data_dir).vocabularies
    kind = TASKS[spec.task].kind
    special = (*SPECIAL_WORDS, MASK_WORD) if kind == "text" else SPECIAL_WORDS
    sides: tuple[Side, ...] = SIDES if kind == "translation" else ("encoder",)
    return {
        side: Vocabulary.build(
            (getattr(one, side) for one in train), spec.min_freq, spec.most_words, special
        )
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


class _Tokens(NamedTuple):
    """A tokenised example, with no tokens of a side that it lacks."""

    encoder: Sequence[str]
    decoder: Sequence[str] = ()
    label: int | None = None


def _tokenised(examples: Sequence[Example], tokenizers: dict[Side, Tokenizer]) -> list[_Tokens]:
    texts, pairs = (
        tokenizers["encoder"]([getattr(example, part) for example in examples])
        for part in ("text", "pair")
    )
    targets: Sequence[Sequence[str]] = [()] * len(examples)
    if "decoder" in tokenizers:
        targets = tokenizers["decoder"]([example.target or "" for example in examples])
    return [
        _Tokens([*text, SEPARATOR, *pair] if pair else text, target, example.label)
        for text, pair, target, example in zip(texts, pairs, targets, examples, strict=True)
    ]


def _pooled(examples: Sequence[_Tokens]) -> list[_Tokens]:
    """Texts of both languages: of each example its text with its pair, or its translation."""
    present = ([side for side in (one.encoder, one.decoder) if side] for one in examples)
    return [_Tokens(sides[number % len(sides)]) for number, sides in enumerate(present)]


def _side_by_side(examples: Sequence[_Tokens]) -> list[_Tokens]:
    """Source sentences that have a translation, then the translations; else all sentences."""
    pairs = [one for one in examples if one.decoder]
    sources = [_Tokens(one.encoder) for one in pairs or examples]
    return sources + [_Tokens(one.decoder) for one in pairs]


def _encode(examples: Sequence[_Tokens], vocabularies: dict[Side, Vocabulary], most: int) -> Split:
    """The token ids. A side that is longer than ``most`` tokens is truncated."""
    encoder, decoder = vocabularies["encoder"], vocabularies.get("decoder")
    inputs = [[*encoder.encode(one.encoder[:most]), EOS] for one in examples]
    targets: list[list[int]] = []
    if decoder is not None:
        targets = [[BOS, *decoder.encode(one.decoder[:most]), EOS] for one in examples]
    labels = [one.label for one in examples if one.label is not None]
    return Split(
        inputs=_pad(inputs),
        lengths=torch.tensor([len(ids) for ids in inputs]),
        targets=_pad(targets) if targets else None,
        target_lengths=torch.tensor([len(ids) for ids in targets] or [0] * len(inputs)),
        labels=torch.tensor(labels) if labels else None,
        references=tuple(" ".join(one.decoder) for one in examples) if targets else (),
    )


def _pad(sentences: Sequence[Sequence[int]]) -> Int32[Tensor, "B T"]:
    rows = [torch.tensor(sentence, dtype=torch.int32) for sentence in sentences]
    return pad_sequence(rows, batch_first=True, padding_value=PAD)
