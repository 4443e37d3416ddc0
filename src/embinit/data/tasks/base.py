"""The types every task deals in, and the registry of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from embinit.registry import Registry
from embinit.specs import Cut

Side = Literal["encoder", "decoder"]
Kind = Literal["translation", "classification", "text"]
"""Text is to be pre-trained on: in two languages, with translations for its test."""


class Example(NamedTuple):
    """One example as text.

    ``text`` goes into the encoder; ``pair`` is its second segment where a task has two (MNLI's
    hypothesis), else "". Exactly one of ``target`` (translation, and text to pre-train on, "" where
    a sentence has no translation) and ``label`` (classification) is given.
    """

    text: str
    pair: str = ""
    target: str | None = None
    label: int | None = None


@dataclass(frozen=True)
class Splits:
    """A task's text. ``test`` is the validation split where test labels are not public."""

    train: Sequence[Example]
    validation: Sequence[Example]
    test: Sequence[Example]


class Task(Protocol):
    """A data set and its metric."""

    @property
    def name(self) -> str:
        """The name in specs and reports (``mnli``, ``iwslt2017-de-en``, ``micro-sentiment``)."""

    @property
    def kind(self) -> Kind:
        """Decides the model (encoder-decoder, encoder-classifier, encoder) and the metric."""

    @property
    def languages(self) -> Mapping[Side, str]:
        """The language of each side, as in a source's ``languages``."""

    @property
    def classes(self) -> int:
        """How many labels there are; 0 for translation."""

    @property
    def reports_test(self) -> bool:
        """Whether accuracy on the test split is followed and reported beside the validation's."""

    def fingerprint(self, data_dir: Path | None) -> str:
        """A digest that changes when the text changes; part of a run's key."""

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """The text, from the data directory if one is named, else from its public home."""


TASKS: Registry[Task] = Registry("task", "embinit.tasks")
