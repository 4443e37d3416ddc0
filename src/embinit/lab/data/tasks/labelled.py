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

from embinit.errors import InputError
from embinit.files.reading import reading
from embinit.lab.data.tasks.base import TASKS, Example, Side, TaskKind
from embinit.lab.data.tasks.rows import Hub, RealText, hub_rows, tsv_rows


@dataclass(frozen=True, kw_only=True)
class LabelledText(RealText):
    """A task of classifying texts, or pairs of them, from tab-separated files."""

    columns: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, int]
    hub_splits: Mapping[str, str] = field(default_factory=dict)
    headerless: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unlabelled: tuple[str, ...] = ()
    kind: TaskKind = "classification"
    languages: Mapping[Side, str] = field(default_factory=lambda: {"encoder": "en"})

    def paths(self, data_dir: Path, split: str) -> Sequence[Path]:
        """See the base class."""
        names = [f"{name}.tsv" for name in self.files[split]]
        return [self._find(data_dir, names, f"'s {split} split")]

    def examples(self, data_dir: Path | None, split: str) -> Iterator[Example]:
        """See the base class. A label that is unknown is an InputError too."""
        left_out = self.unlabelled if split == "train" else ()
        for location, row in self._hub(split) if data_dir is None else self._read(data_dir, split):
            label = row["label"]
            if label in left_out:
                continue
            if label not in self.labels:
                raise InputError(
                    f"{location}: the label is {label!r}, not {' or '.join(self.labels)}; "
                    "mend or leave out the row"
                )
            yield Example(row["text"], row.get("pair", ""), label=self.labels[label])

    def _hub(self, split: str) -> Iterator[tuple[str, dict[str, str]]]:
        # A second data set is that of the test.
        hub, split = self.hubs[-1 if split == "test" else 0], self.hub_splits.get(split, split)
        for number, row in enumerate(hub_rows(hub, split)):
            location = f"{hub}, split {split}, row {number}"
            with reading(location, "take the data set's usual revision"):
                columns = {key: str(row[names[0]]) for key, names in self.columns.items()}
            yield location, columns

    def _read(self, data_dir: Path, split: str) -> Iterator[tuple[str, dict[str, str]]]:
        [path] = self.paths(data_dir, split)
        return tsv_rows(path, self.columns, self.headerless.get(path.name.partition(".")[0]))


for _task in (
    LabelledText(
        name="sst2",
        classes=2,
        title="SST-2",
        hubs=(Hub("stanfordnlp/sst2"),),
        files={"train": ("train",), "validation": ("dev",)},
        columns={"label": ("label",), "text": ("sentence", "content")},
        labels={"0": 0, "1": 1},
    ),
    LabelledText(
        name="mnli",
        classes=3,
        title="MNLI",
        hubs=(Hub("nyu-mll/glue", config="mnli"),),
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
        classes=3,
        title="XNLI",
        hubs=(Hub("facebook/xnli", config="en"), Hub("facebook/xnli", config="de")),
        files={"train": ("train.en",), "validation": ("validation.en",), "test": ("test.de",)},
        columns={"label": ("label",), "text": ("premise",), "pair": ("hypothesis",)},
        labels={"entailment": 0, "neutral": 1, "contradiction": 2, "0": 0, "1": 1, "2": 2},
        reports_test=True,
    ),
):
    TASKS.register(_task.name, _task)
