"""SST-2 (Socher et al. 2013) as in GLUE: is a phrase of a film review favourable?

Test labels are not public, so validation stands for the test (the paper's section 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from embinit.errors import InputError
from embinit.files import digest, find
from embinit.tasks.base import TASKS, Cut, Example, Side, Splits
from embinit.tasks.rows import hub_rows, sample, text_lines

HUB_NAME = "stanfordnlp/sst2"
FILES = {"train": "train", "validation": "dev"}
LABELS = {"0": 0, "1": 1}


@dataclass(frozen=True)
class Sst2:
    """Sentiment of English phrases, two classes."""

    name: str = "sst2"
    kind: Literal["translation", "classification"] = "classification"
    languages: Mapping[Side, str] = field(default_factory=lambda: {"encoder": "en"}, hash=False)
    classes: int = 2

    def fingerprint(self, data_dir: Path | None) -> str:
        """The files' digests, or the data set's name on the Hub."""
        if data_dir is None:
            return HUB_NAME
        return "/".join(digest(self._file(data_dir, split)) for split in FILES)

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """Phrases with their labels."""
        validation = self._examples(data_dir, "validation")[: cut.validation]
        return Splits(sample(self._examples(data_dir, "train"), cut.train), validation, validation)

    def _examples(self, data_dir: Path | None, split: str) -> Sequence[Example]:
        rows = self._hub(split) if data_dir is None else self._read(self._file(data_dir, split))
        return [Example(text, label=LABELS[label]) for text, label in rows]

    def _hub(self, split: str) -> Iterator[tuple[str, str]]:
        for row in hub_rows(HUB_NAME, split):
            yield str(row["sentence"]), str(row["label"])

    def _file(self, data_dir: Path, split: str) -> Path:
        name = f"sst2/{FILES[split]}.tsv"
        return find(data_dir, f"{name}.gz", name, what=f"SST-2's {split} split")

    def _read(self, path: Path) -> Iterator[tuple[str, str]]:
        lines = text_lines(path)
        _, header = next(lines, (0, ""))
        if header.split("\t") not in (["label", "sentence"], ["label", "content"]):
            raise InputError(f"{path}:1: the header is {header!r}; it must be label, tab, sentence")
        for number, line in lines:
            label, _, text = line.partition("\t")
            if label not in LABELS or not text.strip():
                raise InputError(
                    f"{path}:{number}: {line[:60]!r} is not a label 0 or 1, a tab and a phrase; "
                    "mend or leave out the line"
                )
            yield text, label


TASKS.register("sst2", Sst2())
