"""Unlabelled text in English and German to pre-train on, with translations to retrieve.

``en-de-text`` is made of the other tasks' text: both sides of Multi30k and IWSLT2017, the phrases
of SST-2, the premises and hypotheses of MNLI. ``wikipedia-en-de`` is paragraphs of both Wikipedias,
through ``datasets`` or from ``wikipedia/train.{en,de}.gz``, a paragraph a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from embinit.data.files import digest, find
from embinit.data.tasks.base import TASKS, Example, Kind, Side, Splits, Task
from embinit.data.tasks.rows import Hub, hub_rows, sample, text_lines
from embinit.specs import Cut

LANGUAGES: Mapping[Side, str] = {"encoder": "en", "decoder": "de"}


@dataclass(frozen=True)
class CombinedText:
    """The training text of several tasks as one; ``pairs`` is the one whose other splits are used.

    A labelled task's text is English alone; a translation's is in both languages.
    """

    name: str
    parts: tuple[str, ...]
    pairs: str
    kind: Kind = "text"
    classes: int = 0
    reports_test: bool = False
    languages: Mapping[Side, str] = field(default_factory=lambda: LANGUAGES)

    def _tasks(self) -> list[Task]:
        return [TASKS[name] for name in dict.fromkeys((*self.parts, self.pairs))]

    def fingerprint(self, data_dir: Path | None) -> str:
        """Those of the parts."""
        return "/".join(task.fingerprint(data_dir) for task in self._tasks())

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """A sample over all parts' training text; validation and test of ``pairs``."""
        whole = Cut()
        train = chain.from_iterable(
            _unlabelled(TASKS[name].load(data_dir, whole).train) for name in self.parts
        )
        pairs = TASKS[self.pairs].load(data_dir, Cut(1, cut.validation, cut.test))
        return Splits(sample(list(train), cut.train), pairs.validation, pairs.test)


def _unlabelled(examples: Sequence[Example]) -> Iterator[Example]:
    for example in examples:
        yield Example(example.text, target=example.target or "")
        if example.pair:
            yield Example(example.pair, target="")


@dataclass(frozen=True)
class Paragraphs:
    """Paragraphs in two languages, which are no translations of each other; only for training."""

    name: str
    title: str
    hubs: Mapping[Side, Hub]
    most: int
    kind: Kind = "text"
    classes: int = 0
    reports_test: bool = False
    languages: Mapping[Side, str] = field(default_factory=lambda: LANGUAGES)

    def fingerprint(self, data_dir: Path | None) -> str:
        """The files' digests, or the data sets' places on the Hub."""
        if data_dir is None:
            return "/".join(str(hub) for hub in self.hubs.values())
        return "/".join(digest(self._file(data_dir, side)) for side in self.hubs)

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """The first ``most`` paragraphs of each language, cut to a sample."""
        examples = [
            example
            for side in self.hubs
            for paragraph in islice(self._paragraphs(data_dir, side), self.most)
            for example in [_in(side, paragraph)]
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


def _in(side: Side, text: str) -> Example:
    return Example(text, target="") if side == "encoder" else Example("", target=text)


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
for _task in (
    CombinedText(
        "en-de-text", ("multi30k-en-de", "iwslt2017-en-de", "sst2", "mnli"), "multi30k-en-de"
    ),
    CombinedText("wikipedia-en-de", ("wikipedia",), pairs="iwslt2017-en-de"),
):
    TASKS.register(_task.name, _task)
