"""Parallel text, German and English: Multi30k and IWSLT2017.

Multi30k (Elliott et al. 2016), task 1, translates image captions; IWSLT2017 (Cettolo et al. 2017)
translates talks, with dev2010 for validation and tst2010 to tst2015 for the test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from embinit.errors import InputError
from embinit.files.reading import reading
from embinit.lab.data.tasks.base import TASKS, Example, TaskKind
from embinit.lab.data.tasks.rows import Hub, RealText, hub_rows, text_lines

LANGUAGES = ("de", "en")


@dataclass(frozen=True, kw_only=True)
class ParallelText(RealText):
    """A translation task, a sentence a line. A pair with a blank side is left out."""

    kind: TaskKind = "translation"

    def paths(self, data_dir: Path, split: str) -> Sequence[Path]:
        """See the base class: a file for each of ``LANGUAGES``."""
        folder, names = data_dir / self.name.partition("-")[0], self.files[split]
        # One language alone decides too, or the other would come from a stand-in.
        name = next((name for name in names if any(folder.glob(f"{name}.*"))), names[0])
        return [
            self._find(data_dir, [f"{name}.{side}"], f"'s {split} split ({side})")
            for side in LANGUAGES
        ]

    def examples(self, data_dir: Path | None, split: str) -> Iterator[Example]:
        """See the base class. A file that is shorter than the other is an InputError too."""
        for pair in self._hub(split) if data_dir is None else self._read(data_dir, split):
            text, target = (pair[self.languages[side]] for side in ("encoder", "decoder"))
            if text.strip() and target.strip():
                yield Example(text, target=target)

    def _hub(self, split: str) -> Iterator[Mapping[str, str]]:
        [hub] = self.hubs
        for row in hub_rows(hub, split):
            with reading(hub, "take the data set's usual revision"):
                pair = row.get("translation", row)
                yield {side: str(pair[side]) for side in LANGUAGES}

    def _read(self, data_dir: Path, split: str) -> Iterator[Mapping[str, str]]:
        paths = self.paths(data_dir, split)
        for first, second in zip_longest(*map(text_lines, paths)):
            if first is None or second is None:
                number = (first or second)[0]
                shorter = paths[0] if first is None else paths[1]
                raise InputError(
                    f"{shorter}:{number}: the file ends here, its other language goes on; "
                    "the two must have as many lines"
                )
            yield dict(zip(LANGUAGES, (first[1], second[1]), strict=True))


for _source, _target in (("en", "de"), ("de", "en")):
    for _name, _title, _hub, _files in (
        (
            "multi30k",
            "Multi30k",
            Hub("bentrevett/multi30k"),
            {"train": ("train",), "validation": ("val",), "test": ("test_2016_flickr",)},
        ),
        (
            "iwslt2017",
            "IWSLT2017",
            # The main branch has a loading script, which datasets no longer runs. The branch of
            # converted files has no configs, so the pair is named by its folder.
            Hub("IWSLT/iwslt2017", folder="iwslt2017-de-en", revision="refs/convert/parquet"),
            {
                "train": ("train", "train_subset"),
                "validation": ("validation",),
                "test": ("test",),
            },
        ),
    ):
        _task = ParallelText(
            name=f"{_name}-{_source}-{_target}",
            title=_title,
            hubs=(_hub,),
            files=_files,
            languages={"encoder": _source, "decoder": _target},
        )
        TASKS.register(_task.name, _task)
