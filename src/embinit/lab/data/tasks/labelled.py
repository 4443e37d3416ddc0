"""Labelled English text: SST-2 and MNLI from GLUE, and XNLI with its test in German.

SST-2 (Socher et al. 2013): sentiment of phrases of film reviews. Test labels are not public, so
validation replaces the test (the paper's section 4).

MNLI (Williams et al. 2018): natural language inference. Validation is the matched development set,
test the mismatched one. The paper reports the best accuracy on each.

XNLI (Conneau et al. 2018): MNLI's training text and an English validation split, with the test
translated into German, for zero-shot transfer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from embinit.errors import InputError
from embinit.files.reading import reading
from embinit.files.writing import digest, find
from embinit.lab.data.tasks.base import TASKS, Example, Side, Splits
from embinit.lab.data.tasks.rows import Hub, hub_rows, not_empty, sample, tsv_rows
from embinit.lab.specs import Cut


@dataclass(frozen=True)
class LabelledText:
    """A task of classifying texts, or pairs of them, from tab-separated files.

    Without a split ``test``, validation replaces it.
    """

    name: str
    title: str
    hub: Hub
    files: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, int]
    hub_splits: Mapping[str, str] = field(default_factory=dict)
    headerless: Mapping[str, Sequence[str]] = field(default_factory=dict)
    hub_of: Mapping[str, Hub] = field(default_factory=dict)
    unlabelled: tuple[str, ...] = ()
    reports_test: bool = False
    kind: Literal["translation", "classification"] = "classification"
    languages: Mapping[Side, str] = field(default_factory=lambda: {"encoder": "en"})

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(set(self.labels.values()))

    def fingerprint(self, data_dir: Path | None) -> str:
        """The digests of the files, or the data set's name on the Hub."""
        if data_dir is None:
            return "/".join(map(str, dict.fromkeys((self.hub, *self.hub_of.values()))))
        return "/".join(digest(self._file(data_dir, split)) for split in self.files)

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """Loads texts; InputError if a file is missing or broken, or has an unknown label."""
        validation = self._examples(data_dir, "validation")[: cut.validation]
        test = validation
        if "test" in self.files:
            test = self._examples(data_dir, "test")[: cut.test]
        return Splits(sample(self._examples(data_dir, "train"), cut.train), validation, test)

    def _examples(self, data_dir: Path | None, split: str) -> Sequence[Example]:
        left_out = self.unlabelled if split == "train" else ()
        examples = []
        for location, row in self._hub(split) if data_dir is None else self._read(data_dir, split):
            label = row["label"]
            if label in left_out:
                continue
            if label not in self.labels:
                raise InputError(
                    f"{location}: the label is {label!r}, not {' or '.join(self.labels)}; "
                    "mend or leave out the row"
                )
            examples.append(Example(row["text"], row.get("pair", ""), label=self.labels[label]))
        home = self._hub_of(split) if data_dir is None else self._file(data_dir, split)
        return not_empty(examples, home)

    def _hub_of(self, split: str) -> Hub:
        return self.hub_of.get(split, self.hub)

    def _hub(self, split: str) -> Iterator[tuple[str, dict[str, str]]]:
        hub, split = self._hub_of(split), self.hub_splits.get(split, split)
        for number, row in enumerate(hub_rows(hub, split)):
            location = f"{hub}, split {split}, row {number}"
            with reading(location, "take the data set's usual revision"):
                columns = {key: str(row[names[0]]) for key, names in self.columns.items()}
            yield location, columns

    def _file(self, data_dir: Path, split: str) -> Path:
        names = [
            f"{self.name}/{name}.tsv{end}" for name in self.files[split] for end in (".gz", "")
        ]
        return find(data_dir, *names, what=f"{self.title}'s {split} split")

    def _read(self, data_dir: Path, split: str) -> Iterator[tuple[str, dict[str, str]]]:
        path = self._file(data_dir, split)
        return tsv_rows(path, self.columns, self.headerless.get(path.name.partition(".")[0]))


for _task in (
    LabelledText(
        name="sst2",
        title="SST-2",
        hub=Hub("stanfordnlp/sst2"),
        files={"train": ("train",), "validation": ("dev",)},
        columns={"label": ("label",), "text": ("sentence", "content")},
        labels={"0": 0, "1": 1},
    ),
    LabelledText(
        name="mnli",
        title="MNLI",
        hub=Hub("nyu-mll/glue", config="mnli"),
        hub_splits={"validation": "validation_matched", "test": "validation_mismatched"},
        files={
            "train": ("train", "train_subset"),
            "validation": ("dev_matched", "dev_matched_subset"),
            "test": ("dev_mismatched", "dev_mismatched_textfooler"),
        },
        headerless={"dev_mismatched_textfooler": ("label", "premise", "hypothesis")},
        columns={
            # GLUE's own files have the second names.
            "label": ("label", "gold_label"),
            "text": ("premise", "sentence1"),
            "pair": ("hypothesis", "sentence2"),
        },
        labels={"entailment": 0, "neutral": 1, "contradiction": 2, "0": 0, "1": 1, "2": 2},
        unlabelled=("-", "-1"),
        reports_test=True,
    ),
    LabelledText(
        name="xnli",
        title="XNLI",
        hub=Hub("facebook/xnli", config="en"),
        hub_of={"test": Hub("facebook/xnli", config="de")},
        files={"train": ("train.en",), "validation": ("validation.en",), "test": ("test.de",)},
        columns={"label": ("label",), "text": ("premise",), "pair": ("hypothesis",)},
        labels={"entailment": 0, "neutral": 1, "contradiction": 2, "0": 0, "1": 1, "2": 2},
        reports_test=True,
    ),
):
    TASKS.register(_task.name, _task)
