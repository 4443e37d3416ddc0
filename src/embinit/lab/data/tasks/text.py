"""Unlabelled text in English and German to pre-train on, with translations to retrieve.

``wikipedia-en-de`` has paragraphs of both Wikipedias, through ``datasets`` or from
``wikipedia/train.{en,de}.gz``, a paragraph a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from embinit.lab.data.tasks.base import TASKS, Example, Side, Splits, TaskKind
from embinit.lab.data.tasks.rows import Hub, RealText, hub_rows, text_lines
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


@dataclass(frozen=True, kw_only=True)
class Paragraphs(RealText):
    """A training text of unrelated paragraphs in two languages, at most ``most`` of each."""

    most: int
    kind: TaskKind = "text"
    languages: Mapping[Side, str] = field(default_factory=lambda: LANGUAGES)

    def paths(self, data_dir: Path, split: str) -> Sequence[Path]:
        """See the base class: a file for each language."""
        [name] = self.files[split]
        sides = self.languages.values()
        return [self._find(data_dir, [f"{name}.{side}"], f" ({side})") for side in sides]

    def examples(self, data_dir: Path | None, split: str) -> Iterator[Example]:
        """See the base class."""
        for number, side in enumerate(self.languages):
            if data_dir is None:
                texts = (str(row["text"]) for row in hub_rows(self.hubs[number], split))
            else:
                texts = (line for _, line in text_lines(self.paths(data_dir, split)[number]))
            lines = (line for text in texts for line in text.splitlines() if line.strip())
            for line in islice(lines, self.most):
                yield Example(line, target="") if side == "encoder" else Example("", target=line)


TASKS.register(
    "wikipedia",
    Paragraphs(
        name="wikipedia",
        title="Wikipedia",
        hubs=(
            Hub("wikimedia/wikipedia", "20231101.en"),
            Hub("wikimedia/wikipedia", "20231101.de"),
        ),
        files={"train": ("train",)},
        most=2_000_000,
    ),
)
TASKS.register(
    "wikipedia-en-de", TextWithPairs("wikipedia-en-de", "wikipedia", pairs="iwslt2017-en-de")
)
