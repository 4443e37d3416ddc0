"""The types of all tasks, and the registry of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from embinit.lab.draws import DrawRegistry
from embinit.lab.specs import Cut

Side = Literal["encoder", "decoder"]
TaskKind = Literal["translation", "classification", "text"]
"""``text``: unlabelled text in two languages for pre-training; its test split holds pairs."""


class Example(NamedTuple):
    """One example as text, with a target or a label, and a ``pair`` where there are two texts.

    The target is "" for a sentence of unlabelled text that has no translation.
    """

    text: str
    pair: str = ""
    target: str | None = None
    label: int | None = None


@dataclass(frozen=True)
class Splits:
    """A task's text. ``test`` is the validation split if test labels are not public."""

    train: Sequence[Example]
    validation: Sequence[Example]
    test: Sequence[Example]


class Task(Protocol):
    """A data set and its metric."""

    @property
    def name(self) -> str:
        """The name in specs and reports (``mnli``, ``iwslt2017-de-en``, ``micro-sentiment``)."""

    @property
    def kind(self) -> TaskKind:
        """The kind, which decides the model (encoder and decoder or classifier) and the metric."""

    @property
    def languages(self) -> Mapping[Side, str]:
        """The language of each side, as in a source's ``languages``."""

    @property
    def classes(self) -> int:
        """The number of labels; 0 for translation."""

    @property
    def reports_test(self) -> bool:
        """Whether test accuracy is logged and reported next to validation accuracy."""

    def fingerprint(self, data_dir: Path | None) -> str:
        """A digest of the text, part of a run's key; InputError if the text is missing."""

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """Loads text from the data directory or its public home; InputError if it is broken."""


TASKS: DrawRegistry[Task] = DrawRegistry("task", "embinit.tasks")
