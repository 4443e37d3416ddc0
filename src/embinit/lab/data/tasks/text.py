"""Unlabelled text in English and German to pre-train on, with translations to retrieve.

``wikipedia-en-de`` has paragraphs of both Wikipedias, through ``datasets`` or from
``wikipedia/train.{en,de}.gz``, a paragraph a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from embinit.files.writing import digest, find
from embinit.lab.data.tasks.base import TASKS, Example, Side, Splits, TaskKind
from embinit.lab.data.tasks.rows import Hub, hub_rows, sample, text_lines
from embinit.lab.specs import Cut

LANGUAGES: Mapping[Side, str] = {"encoder": "en", "decoder": "de"}


@dataclass(frozen=True)
class TextWithPairs:
    """A task with the training text of ``text``, and with the other splits of ``pairs``."""

    name: str
    text: str
    pairs: str
    kind: TaskKind = "text"
    classes: int = 0
    reports_test: bool = False
    languages: Mapping[Side, str] = field(default_factory=lambda: LANGUAGES)

    def fingerprint(self, data_dir: Path | None) -> str:
        """The fingerprints of both tasks."""
        return "/".join(TASKS[name].fingerprint(data_dir) for name in (self.text, self.pairs))

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """Loads a sample of the text; InputError if a task's text is missing or broken."""
        text = TASKS[self.text].load(data_dir, Cut(cut.train))
        pairs = TASKS[self.pairs].load(data_dir, Cut(1, cut.validation, cut.test))
        return Splits(text.train, pairs.validation, pairs.test)


@dataclass(frozen=True)
class Paragraphs:
    """A training text of unrelated paragraphs in two languages, at most ``most`` of each."""

    name: str
    title: str
    hubs: Mapping[Side, Hub]
    most: int
    kind: TaskKind = "text"
    classes: int = 0
    reports_test: bool = False
    languages: Mapping[Side, str] = field(default_factory=lambda: LANGUAGES)

    def fingerprint(self, data_dir: Path | None) -> str:
        """The digests of the files, or the data sets' names on the Hub."""
        if data_dir is None:
            return "/".join(str(hub) for hub in self.hubs.values())
        return "/".join(digest(self._file(data_dir, side)) for side in self.hubs)

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """Loads a sample of both languages' paragraphs; InputError if a file is missing."""
        examples = [
            Example(text, target="") if side == "encoder" else Example("", target=text)
            for side in self.hubs
            for text in islice(self._paragraphs(data_dir, side), self.most)
        ]
        return Splits(sample(examples, cut.train), (), ())

    def _file(self, data_dir: Path, side: Side) -> Path:
        names = [f"{self.name}/train.{self.languages[side]}{end}" for end in (".gz", "")]
        return find(data_dir, *names, what=f"{self.title} ({self.languages[side]})")

    def _paragraphs(self, data_dir: Path | None, side: Side) -> Iterator[str]:
        if data_dir is None:
            texts = (str(row["text"]) for row in hub_rows(self.hubs[side], "train"))
        else:
            texts = (line for _, line in text_lines(self._file(data_dir, side)))
        return (line for text in texts for line in text.splitlines() if line.strip())


TASKS.register(
    "wikipedia",
    Paragraphs(
        "wikipedia",
        "Wikipedia",
        {
            "encoder": Hub("wikimedia/wikipedia", "20231101.en"),
            "decoder": Hub("wikimedia/wikipedia", "20231101.de"),
        },
        most=2_000_000,
    ),
)
TASKS.register(
    "wikipedia-en-de", TextWithPairs("wikipedia-en-de", "wikipedia", pairs="iwslt2017-en-de")
)
