"""Multi30k (Elliott et al. 2016): translating image captions, German and English, task 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from embinit.errors import InputError
from embinit.files import digest, find
from embinit.tasks.base import TASKS, Cut, Example, Side, Splits
from embinit.tasks.rows import hub_rows, sample, text_lines

HUB_NAME = "bentrevett/multi30k"
FILES = {"train": "train", "validation": "val", "test": "test_2016_flickr"}


@dataclass(frozen=True)
class Multi30k:
    """Translation of captions from ``source`` to ``target``."""

    source: str
    target: str
    kind: Literal["translation", "classification"] = "translation"
    classes: int = 0
    languages: Mapping[Side, str] = field(init=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "languages", {"encoder": self.source, "decoder": self.target})

    @property
    def name(self) -> str:
        """``multi30k-en-de`` or ``multi30k-de-en``."""
        return f"multi30k-{self.source}-{self.target}"

    def fingerprint(self, data_dir: Path | None) -> str:
        """The files' digests, or the data set's name on the Hub."""
        if data_dir is None:
            return HUB_NAME
        paths = [self._file(data_dir, split, side) for split in FILES for side in ("de", "en")]
        return "/".join(map(digest, paths))

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """Pairs of sentences."""
        return Splits(
            sample(self._examples(data_dir, "train"), cut.train),
            self._examples(data_dir, "validation")[: cut.validation],
            self._examples(data_dir, "test")[: cut.test],
        )

    def _examples(self, data_dir: Path | None, split: str) -> Sequence[Example]:
        pairs = self._hub(split) if data_dir is None else self._read(data_dir, split)
        return [Example(text, target=target) for text, target in pairs]

    def _hub(self, split: str) -> Iterator[tuple[str, str]]:
        for row in hub_rows(HUB_NAME, split):
            yield str(row[self.source]), str(row[self.target])

    def _file(self, data_dir: Path, split: str, language: str) -> Path:
        name = f"multi30k/{FILES[split]}.{language}"
        return find(data_dir, f"{name}.gz", name, what=f"Multi30k's {split} split ({language})")

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


for _source, _target in (("en", "de"), ("de", "en")):
    TASKS.register(f"multi30k-{_source}-{_target}", Multi30k(_source, _target))
