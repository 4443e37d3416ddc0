"""Real text in one language, for language models.

It is composed of other tasks' text: English of Multi30k's captions and MNLI's premises and
hypotheses, the talks of IWSLT2017, German of both translations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from embinit.lab.data.tasks.base import TASKS, Example, Side, Splits, TaskKind
from embinit.lab.data.tasks.rows import sample
from embinit.lab.data.tasks.text import LANGUAGES
from embinit.lab.specs import Cut


@dataclass(frozen=True)
class OneLanguage:
    """A task of several tasks' text in one language.

    Attributes:
        name: The name in specs.
        parts: The tasks whose text is used; those of validation's pairs first.
        side: The side of the tasks that has the language.
        kind: The kind of task.
        classes: The number of labels, which is 0.
        reports_test: Whether test accuracy is reported.
    """

    name: str
    parts: tuple[str, ...]
    side: Side
    kind: TaskKind = "text"
    classes: int = 0
    reports_test: bool = False

    @property
    def languages(self) -> Mapping[Side, str]:
        """The language of both sides."""
        return dict.fromkeys(LANGUAGES, LANGUAGES[self.side])

    def fingerprint(self, data_dir: Path | None) -> str:
        """The fingerprints of all tasks."""
        return "/".join(TASKS[name].fingerprint(data_dir) for name in self.parts)

    def load(self, data_dir: Path | None, cut: Cut) -> Splits:
        """Loads a sample of the training text, and the first task's validation and test text.

        Raises:
            InputError: The text of a task is missing or broken.
        """
        whole = Cut(None, cut.validation, cut.test)
        loaded = [TASKS[name].load(data_dir, whole) for name in self.parts]
        train = [each for splits in loaded for each in self._of_side(splits.train)]
        held_out = (self._of_side(split) for split in (loaded[0].validation, loaded[0].test))
        return Splits(sample(train, cut.train), *held_out)

    def _of_side(self, examples: Sequence[Example]) -> list[Example]:
        if self.side == "encoder":
            texts = [part for each in examples for part in (each.text, each.pair) if part]
        else:
            texts = [each.target for each in examples if each.target]
        return [Example(text, target="") for text in texts]


ENGLISH = OneLanguage("en-text", ("multi30k-en-de", "mnli"), "encoder")
TALKS = OneLanguage("en-talks", ("iwslt2017-en-de",), "encoder")
GERMAN = OneLanguage("de-text", ("multi30k-en-de", "iwslt2017-en-de"), "decoder")
