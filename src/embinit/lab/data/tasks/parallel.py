"""Parallel text, German and English: Multi30k and IWSLT2017.

Multi30k (Elliott et al. 2016), task 1, translates image captions; IWSLT2017 (Cettolo et al. 2017)
translates talks, with dev2010 for validation and tst2010 to tst2015 for the test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from embinit.errors import InputError
from embinit.files.reading import reading
from embinit.files.writing import digest, find
from embinit.lab.data.tasks.base import TASKS, Example, Side, Splits
from embinit.lab.data.tasks.rows import Hub, hub_rows, not_empty, sample, text_lines
from embinit.lab.specs import Cut

LANGUAGES = ("de", "en")


@dataclass(frozen=True)
class ParallelText:
    """A translation task, a sentence a line. A pair with a blank side is left out."""

    dataset: str
    title: str
    hub: Hub
    nested: bool
    files: Mapping[str, tuple[str, ...]]
    source: str
    target: str
    kind: Literal["translation", "classification"] = "translation"
    classes: int = 0
    reports_test: bool = False

    @property
    def name(self) -> str:
        """The data set with its two languages, such as ``multi30k-en-de``."""
        return f"{self.dataset}-{self.source}-{self.target}"

    @property
    def languages(self) -> Mapping[Side, str]:
        """The encoder reads the source language, the decoder writes the target language."""
        return {"encoder": self.source, "decoder": self.target}

    def fingerprint(self, data_dir: Path | None) -> str:
        """The digests of the files, or the data set's name on the Hub."""
        if data_dir is None:
            return str(self.hub)
        paths = [self._file(data_dir, split, side) for split in self.files for side in LANGUAGES]
        return "/".join(map(digest, paths))

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """Loads pairs; InputError if a file is missing or broken, or shorter than the other."""
        return Splits(
            sample(self._examples(data_dir, "train"), cut.train),
            self._examples(data_dir, "validation")[: cut.validation],
            self._examples(data_dir, "test")[: cut.test],
        )

    def _examples(self, data_dir: Path | None, split: str) -> Sequence[Example]:
        pairs = self._hub(split) if data_dir is None else self._read(data_dir, split)
        examples = [
            Example(text, target=target)
            for text, target in pairs
            if text.strip() and target.strip()
        ]
        home = self.hub if data_dir is None else self._file(data_dir, split, self.source)
        return not_empty(examples, home)

    def _hub(self, split: str) -> Iterator[tuple[str, str]]:
        for row in hub_rows(self.hub, split):
            with reading(self.hub, "take the data set's usual revision"):
                pair = row["translation"] if self.nested else row
                text, target = str(pair[self.source]), str(pair[self.target])
            yield text, target

    def _file(self, data_dir: Path, split: str, language: str) -> Path:
        names = [f"{self.dataset}/{name}" for name in self.files[split]]
        # One language alone decides too, or the other would come from a stand-in.
        present = (
            name
            for name in names
            if any((data_dir / path).exists() for side in LANGUAGES for path in _paths(name, side))
        )
        paths = _paths(next(present, names[0]), language)
        return find(data_dir, *paths, what=f"{self.title}'s {split} split ({language})")

    def _read(self, data_dir: Path, split: str) -> Iterator[tuple[str, str]]:
        paths = [self._file(data_dir, split, side) for side in (self.source, self.target)]
        for first, second in zip_longest(*map(text_lines, paths)):
            if first is None or second is None:
                number = (first or second)[0]
                shorter = paths[0] if first is None else paths[1]
                raise InputError(
                    f"{shorter}:{number}: the file ends here, its other language goes on; "
                    "the two must have as many lines"
                )
            yield first[1], second[1]


def _paths(name: str, language: str) -> tuple[str, str]:
    return f"{name}.{language}.gz", f"{name}.{language}"


for _source, _target in (("en", "de"), ("de", "en")):
    for _task in (
        ParallelText(
            dataset="multi30k",
            title="Multi30k",
            hub=Hub("bentrevett/multi30k"),
            nested=False,
            files={"train": ("train",), "validation": ("val",), "test": ("test_2016_flickr",)},
            source=_source,
            target=_target,
        ),
        ParallelText(
            dataset="iwslt2017",
            title="IWSLT2017",
            # The main branch has a loading script, which datasets no longer runs. The branch of
            # converted files has no configs, so the pair is named by its folder.
            hub=Hub("IWSLT/iwslt2017", folder="iwslt2017-de-en", revision="refs/convert/parquet"),
            nested=True,
            files={
                "train": ("train", "train_subset"),
                "validation": ("validation",),
                "test": ("test",),
            },
            source=_source,
            target=_target,
        ),
    ):
        TASKS.register(_task.name, _task)
