"""A user's own task: a labelled file or two parallel ones, split by their content.

A labelled file has a text, a tab and a label on each line, or two texts and a label. A first line
with a field ``label`` is a header, and then the label may stand in any column. Splits that the user
does not give are drawn from the file: an example goes to the split that a digest of its text and
the seed says, so that the same text is never in two splits, whatever the order of the lines.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

from embinit.errors import InputError
from embinit.files.reading import regular
from embinit.files.writing import digest
from embinit.lab.data.tasks.base import Example, Side, Splits, TaskKind
from embinit.lab.data.tasks.rows import sample, text_lines
from embinit.lab.specs import Cut

LEAST_EXAMPLES = 200
"""The fewest examples of a file that is split."""

LEAST_HELD_OUT = 10
MOST_LABELS = 100
VALIDATION, TEST = 0.1, 0.2
"""The shares that are held out where the user gives no split."""

_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
_HEADER = "label"


@dataclass(frozen=True)
class _Files:
    """The base of a user's tasks: files, splits and names.

    Attributes:
        train: The file that is trained on, and that other splits are drawn from.
        validation: The file of the validation split; None draws it.
        test: The file of the test split; None draws it.
        language: The language of the texts that the encoder reads.
        seed: The seed of the splits.
    """

    train: Path
    validation: Path | None = None
    test: Path | None = None
    language: str = "en"
    seed: int = 0

    @property
    def files(self) -> tuple[Path, ...]:
        """All files of the task."""
        return tuple(path for path in (self.train, self.validation, self.test) if path is not None)

    @property
    def title(self) -> str:
        """The name for people: the file's, without its endings."""
        return self.train.name.partition(".")[0] or self.train.name

    @property
    def name(self) -> str:
        """The name in specs, which depends on content and splits."""
        code = hashlib.sha256(self.fingerprint(None).encode()).hexdigest()[:12]
        return f"given/{self.title}-{code}"

    def fingerprint(self, data_dir: Path | None) -> str:
        """The digests of the files, what each is used for, and the seed of the splits."""
        uses = (self.validation is not None, self.test is not None)
        return "/".join([*map(digest, self.files), f"{uses}", self.language, f"split {self.seed}"])

    def _examples(self, path: Path) -> list[Example]:
        raise NotImplementedError

    def _check(self, splits: Splits) -> None:
        """Checks the splits together."""

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """Reads the files and draws the splits that are not given.

        Raises:
            InputError: A file is missing or broken, has too few examples, or no label to learn.
        """
        examples = self._examples(self.train)
        if len(examples) < LEAST_EXAMPLES:
            raise InputError(
                f"{self.train} has {len(examples)} examples, and {LEAST_EXAMPLES} are the fewest "
                "that can tell one start from another; give more"
            )
        drawn: dict[str, list[Example]] = {"train": [], "validation": [], "test": []}
        for example in sorted(examples, key=self._position):
            drawn[self._split(example)].append(example)
        given = {
            name: sorted(self._examples(path), key=self._position)
            for name, path in (("validation", self.validation), ("test", self.test))
            if path is not None
        }
        held = drawn | given
        splits = Splits(
            sample(held["train"], cut.train),
            held["validation"][: cut.validation],
            held["test"][: cut.test],
        )
        for noun, split in (("validation", splits.validation), ("test", splits.test)):
            if len(split) < LEAST_HELD_OUT:
                raise InputError(
                    f"{self.train}: the {noun} split has {len(split)} examples, and "
                    f"{LEAST_HELD_OUT} are the fewest; give more, or a file of its own as --{noun}"
                )
        self._check(splits)
        return splits

    def _position(self, example: Example) -> float:
        """A number from 0 to 1 that text and seed decide."""
        text = f"{self.seed}\0{example.text}\0{example.pair}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:8]) / 2**64

    def _split(self, example: Example) -> str:
        position = self._position(example)
        if self.test is None:
            if position < TEST:
                return "test"
            position = (position - TEST) / (1 - TEST)
        if self.validation is None and position < VALIDATION / (1 - TEST):
            return "validation"
        return "train"


@dataclass(frozen=True)
class GivenLabels(_Files):
    """A user's task of classifying texts or pairs of texts, from a tab-separated file."""

    kind: TaskKind = "classification"
    reports_test: bool = True

    @property
    def languages(self) -> Mapping[Side, str]:
        """The language of the texts."""
        return {"encoder": self.language}

    @property
    def classes(self) -> int:
        """The number of labels in the training file."""
        return len(self.labels)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the training file, in alphabetical order; a label's class is its place.

        Raises:
            InputError: There is only one, or there are nearly as many as rows.
        """
        counts = Counter(label for _, _, label in _labelled_rows(self.train))
        rows = sum(counts.values())
        if len(counts) == 1:
            raise InputError(
                f"{self.train}: all {rows:,} rows have the label {next(iter(counts))[:60]!r}; "
                "there is nothing to learn, give rows of two labels or more"
            )
        if len(counts) > min(MOST_LABELS, rows // 4):
            raise InputError(
                f"{self.train}: {rows:,} rows have {len(counts):,} different labels, such as "
                f"{next(iter(counts))[:60]!r}; write the text first, then a tab and its label, of "
                f"which there may be {MOST_LABELS} with several rows each"
            )
        return tuple(sorted(counts))

    def _examples(self, path: Path) -> list[Example]:
        classes = {label: number for number, label in enumerate(self.labels)}
        examples = []
        for number, texts, label in _labelled_rows(path):
            if label not in classes:
                raise InputError(
                    f"{path}:{number}: the label {label[:60]!r} is none of those in {self.train}"
                )
            examples.append(Example(texts[0], "".join(texts[1:]), label=classes[label]))
        return examples

    def _check(self, splits: Splits) -> None:
        if len({example.label for example in splits.train}) == 1:
            raise InputError(f"{self.train}: the training split has one label alone; give more")


def _labelled_rows(path: Path) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Each row's number in the file, its one or two texts, and its label.

    Raises:
        InputError: The file is empty or no text, or a row has other fields than the first.
    """
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise InputError(f"{path} is empty; a line is a text, a tab and its label")
    number, line = first
    fields = line.split("\t")
    if len(fields) not in (2, 3):
        raise InputError(
            f"{path}:{number}: {line[:60]!r} has {len(fields) - 1} tabs; a line is a text, a tab "
            "and its label, or two texts and their label with a tab between each two"
        )
    heads = [field.strip().lower() for field in fields]
    label, due, rows = len(fields) - 1, len(fields), 0
    if _HEADER in heads:
        label = heads.index(_HEADER)
        first = next(lines, None)
    while first is not None:
        number, line = first
        fields = line.split("\t")
        if len(fields) != due or not all(field.strip() for field in fields):
            raise InputError(
                f"{path}:{number}: {line[:60]!r} does not fill {due} columns with a tab between "
                "each two, as the first line does; mend or leave out the line"
            )
        texts = tuple(field for column, field in enumerate(fields) if column != label)
        yield number, texts, fields[label].strip()
        rows += 1
        first = next(lines, None)
    if not rows:
        raise InputError(f"{path} has a header and no rows; give some")


def _lines(path: Path, keep_blank: bool = False) -> Iterator[tuple[int, str]]:
    """The numbered lines of a text file, without a byte order mark and without blank ones."""
    regular(path, "name a text file")
    for number, line in text_lines(path):
        text = line.removeprefix(_BOM) if number == 1 else line
        if "\0" in text:
            raise InputError(
                f"{path}:{number}: the line has a zero byte; the file is no UTF-8 text"
            )
        if keep_blank or text.strip():
            yield number, text


@dataclass(frozen=True)
class GivenPairs(_Files):
    """A user's task of translation between two files with as many lines.

    Attributes:
        target: The translations, line by line.
        validation_target: Those of the validation file.
        test_target: Those of the test file.
        target_language: Their language.
    """

    target: Path = Path()
    validation_target: Path | None = None
    test_target: Path | None = None
    target_language: str = "en"
    kind: TaskKind = "translation"
    reports_test: bool = False
    classes: int = 0

    @property
    def languages(self) -> Mapping[Side, str]:
        """The encoder reads the texts, the decoder writes the translations."""
        return {"encoder": self.language, "decoder": self.target_language}

    @property
    def files(self) -> tuple[Path, ...]:
        """All files of the task."""
        others = (self.target, self.validation_target, self.test_target)
        return (*super().files, *(path for path in others if path is not None))

    def fingerprint(self, data_dir: Path | None) -> str:
        """See the base class."""
        return f"{super().fingerprint(data_dir)}/{self.target_language}"

    def _examples(self, path: Path) -> list[Example]:
        targets = {
            self.train: self.target,
            self.validation: self.validation_target,
            self.test: self.test_target,
        }
        target = targets[path]
        assert target is not None
        examples = []
        for first, second in zip_longest(_lines(path, True), _lines(target, True)):
            if first is None or second is None:
                number, shorter = (second or first)[0], path if first is None else target
                raise InputError(
                    f"{shorter}:{number}: the file ends here and the other goes on; the two must "
                    "have as many lines"
                )
            if first[1].strip() and second[1].strip():
                examples.append(Example(first[1], target=second[1]))
        if not examples:
            raise InputError(f"{path} and {target} have no pair of lines; give some")
        return examples


GivenTask = GivenLabels | GivenPairs
"""A user's own task."""
