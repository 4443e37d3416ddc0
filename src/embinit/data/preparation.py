"""From text and vectors to what a training loop needs: ids by split, and tables by run.

The way of the data: text -> vocabulary (built from the training split) -> ids; source -> lookup
of the vocabulary -> vectors and coverage -> init -> table. Everything here depends on the spec,
the data directory's content and the seed's embedding stream alone.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from embinit.data import cache as prepared
from embinit.data.cache import Writer, answer_key, text_key
from embinit.data.sources import SOURCES, Source
from embinit.data.tasks import TASKS, Example, Task
from embinit.data.tasks.base import Side
from embinit.data.tokenizers import Tokenizer, tokenizer
from embinit.data.vocabulary import BOS, EOS, MASK_WORD, PAD, SEP, SPECIAL_WORDS, Vocabulary
from embinit.errors import InputError
from embinit.specs import DataSpec

SIDES: tuple[Side, ...] = ("encoder", "decoder")


@dataclass(frozen=True)
class Split:
    """Ids of n examples, padded: ``inputs`` (n, T) int32 and their lengths (n,).

    ``targets`` (n, T'), from BOS to EOS, for translation; ``labels`` (n,) for classification;
    ``references`` are the targets as the metric reads them.
    """

    inputs: Tensor
    lengths: Tensor
    targets: Tensor | None
    target_lengths: Tensor
    labels: Tensor | None
    references: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.inputs)

    def to(self, device: str) -> Split:
        """The same with ids and labels on the device; lengths stay, for cutting batches."""

        def moved(ids: Tensor | None) -> Tensor | None:
            return None if ids is None else ids.to(device)

        return replace(
            self,
            inputs=self.inputs.to(device),
            targets=moved(self.targets),
            labels=moved(self.labels),
        )


@dataclass(frozen=True)
class PreparedData:
    """A task's splits as ids, with the vocabulary of each side."""

    spec: DataSpec
    task: Task
    vocabularies: dict[Side, Vocabulary]
    train: Split
    validation: Split
    test: Split

    def to(self, device: str) -> PreparedData:
        """The same with its splits on the device."""
        return replace(
            self,
            train=self.train.to(device),
            validation=self.validation.to(device),
            test=self.test.to(device),
        )


def data_fingerprint(spec: DataSpec, data_dir: Path | None) -> str:
    """The digest of what ``spec`` reads: the task's text, and what its vocabulary is counted on."""
    own = text_fingerprint(spec.task, data_dir)
    if spec.vocabulary is None:
        return own
    return f"{own}/{data_fingerprint(spec.vocabulary, data_dir)}"


def text_fingerprint(task: str, data_dir: Path | None) -> str:
    """The digest of a task's text, from its files or from where they were prepared."""
    ready = prepared.directory(data_dir)
    return (ready and ready.text(task)) or TASKS[task].fingerprint(data_dir)


@functools.lru_cache(maxsize=32)
def source(name: str, data_dir: Path | None) -> Source:
    """The source registered as ``name``, opened once a process."""
    ready = prepared.directory(data_dir)
    return (ready and ready.source(name)) or SOURCES[name](data_dir)


@functools.lru_cache(maxsize=16)
def prepare(spec: DataSpec, data_dir: Path | None) -> PreparedData:
    """Load, tokenise, count and encode the text of ``spec``; kept for the process."""
    task, ready = TASKS[spec.task], prepared.directory(data_dir)
    if ready and ready.text(spec.task):
        key = text_key(spec, data_fingerprint(spec, data_dir))
        return _read(spec, *ready.load("data", key, f"{spec.task} text"))
    splits = task.load(data_dir, spec.cut)
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
    if task.kind == "text":
        train, validation, test = train.pooled(), validation.pooled(), test.side_by_side()
    vocabularies = _vocabularies(spec, train, data_dir)
    return PreparedData(
        spec,
        task,
        vocabularies,
        train.encode(vocabularies, spec.max_length),
        validation.encode(vocabularies, spec.max_length),
        test.encode(vocabularies, spec.max_length),
    )


def _vocabularies(spec: DataSpec, train: _Words, data_dir: Path | None) -> dict[Side, Vocabulary]:
    """Each side's, counted on the training text; one that hides words has a word for that."""
    if spec.vocabulary is not None:
        return prepare(spec.vocabulary, data_dir).vocabularies
    kind = TASKS[spec.task].kind
    special = (*SPECIAL_WORDS, MASK_WORD) if kind == "text" else SPECIAL_WORDS
    sides: tuple[Side, ...] = SIDES if kind == "translation" else ("encoder",)
    return {
        side: Vocabulary.build(train.side(side), spec.min_freq, spec.most_words, special)
        for side in sides
    }


def write(spec: DataSpec, sources: Sequence[str], data_dir: Path | None, to: Writer) -> None:
    """Prepare ``spec``'s text and what ``sources`` have for its vocabularies, if not there yet."""
    key, data = text_key(spec, data_fingerprint(spec, data_dir)), prepare(spec, data_dir)
    to.index["tasks"][spec.task] = text_fingerprint(spec.task, data_dir)
    if not to.has("data", key):
        to.add("data", key, *_written(data))
    for name in sources:
        found = source(name, data_dir)
        to.index["sources"][name] = {
            "fingerprint": found.fingerprint(),
            "dim": found.dim,
            "tokenizer": found.tokenizer,
            "languages": sorted(found.languages),
        }
        for side, vocabulary in data.vocabularies.items():
            language = data.task.languages[side]
            key = answer_key(found, vocabulary.words, language)
            if language in found.languages and not to.has("vectors", key):
                vectors = found.lookup(vocabulary.words, language)
                to.add("vectors", key, {"values": vectors.values, "found": vectors.found.byte()})
    to.tell()


_TENSORS = ("inputs", "lengths", "targets", "target_lengths", "labels")
_SPLITS = ("train", "validation", "test")


def _written(data: PreparedData) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of the splits, and the words and references beside them."""
    splits = {name: getattr(data, name) for name in _SPLITS}
    tensors = {
        f"{name}.{what}": value
        for name, split in splits.items()
        for what in _TENSORS
        if (value := getattr(split, what)) is not None
    }
    vocabularies = {
        side: {"words": vocabulary.words, "counts": vocabulary.counts}
        for side, vocabulary in data.vocabularies.items()
    }
    references = {name: split.references for name, split in splits.items()}
    return tensors, {"vocabularies": vocabularies, "references": references}


def _read(spec: DataSpec, tensors: dict[str, Tensor], facts: dict[str, Any]) -> PreparedData:
    """What ``_written`` wrote."""
    vocabularies = {
        side: Vocabulary(tuple(about["words"]), tuple(about["counts"]))
        for side, about in facts["vocabularies"].items()
    }
    train, validation, test = (
        Split(
            **{what: tensors.get(f"{name}.{what}") for what in _TENSORS},  # type: ignore[arg-type]
            references=tuple(facts["references"][name]),
        )
        for name in _SPLITS
    )
    return PreparedData(spec, TASKS[spec.task], vocabularies, train, validation, test)


def _located(name: str, data_dir: Path | None) -> str:
    """A spec names a sub-word tokenizer by its source, wherever that lies on this machine."""
    return source(name.removeprefix("hf:"), data_dir).tokenizer if name.startswith("hf:") else name


@dataclass(frozen=True)
class _Words:
    """A split as words: per example the encoder's words, and the target's or the label."""

    encoder: list[list[str]]
    decoder: list[list[str]]
    labels: list[int]

    @classmethod
    def of(cls, examples: Sequence[Example], tokenizers: dict[Side, Tokenizer]) -> _Words:
        encoder = tokenizers["encoder"].tokenize([example.text for example in examples])
        if any(example.pair for example in examples):
            pairs = tokenizers["encoder"].tokenize([example.pair for example in examples])
            encoder = [
                [*text, _SEPARATOR, *pair] for text, pair in zip(encoder, pairs, strict=True)
            ]
        targets = [example.target for example in examples if example.target is not None]
        labels = [example.label for example in examples if example.label is not None]
        decoder = tokenizers["decoder"].tokenize(targets) if targets else []
        return cls(encoder, decoder, labels)

    def side(self, side: Side) -> list[list[str]]:
        """The running words of a side, without the mark between two segments."""
        sentences = self.encoder if side == "encoder" else self.decoder
        return [[word for word in sentence if word != _SEPARATOR] for sentence in sentences]

    def pooled(self) -> _Words:
        """Sentences of both languages, each example in one: none is met with its translation."""
        pairs = zip(self.encoder, self.decoder, strict=True)
        there = ([sentence for sentence in pair if sentence] for pair in pairs)
        return self._alone([pair[n % len(pair)] for n, pair in enumerate(there)])

    def side_by_side(self) -> _Words:
        """The sentences that have a translation, then their translations."""
        pairs = [pair for pair in zip(self.encoder, self.decoder, strict=True) if pair[1]]
        return self._alone([pair[side] for side in (0, 1) for pair in pairs])

    def _alone(self, sentences: list[list[str]]) -> _Words:
        return _Words(sentences, [], [])

    def no_longer_than(self, most: int) -> _Words:
        """Only the examples of which no side has more than ``most`` words."""
        kept = [
            index
            for index, sentence in enumerate(self.encoder)
            if len(sentence) <= most and (not self.decoder or len(self.decoder[index]) <= most)
        ]
        return _Words(
            [self.encoder[index] for index in kept],
            [self.decoder[index] for index in kept] if self.decoder else [],
            [self.labels[index] for index in kept] if self.labels else [],
        )

    def encode(self, vocabularies: dict[Side, Vocabulary], most: int) -> Split:
        """Ids; a side that is longer than ``most`` words is cut there."""
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


# A word no tokenizer gives, since it holds a space.
_SEPARATOR = "<sep> "


def _encode(vocabulary: Vocabulary, words: Sequence[str]) -> list[int]:
    ids = vocabulary.encode(words)
    return [SEP if word == _SEPARATOR else id_ for word, id_ in zip(words, ids, strict=True)]


def _pad(sentences: Sequence[Sequence[int]]) -> Tensor:
    padded = torch.full((len(sentences), max(map(len, sentences))), PAD, dtype=torch.int32)
    for row, sentence in zip(padded, sentences, strict=True):
        row[: len(sentence)] = torch.tensor(sentence, dtype=torch.int32)
    return padded
