"""The paper's printed numbers, and which of its tasks an experiment is about."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from embinit.lab.experiments import ModelExperiment

TRANSLATION = ("multi30k", "iwslt2017")
TASKS = ("sst2", "mnli", *TRANSLATION)
MADE = {
    "micro-sentiment": {"sst2"},
    "micro-sentiment-plain": {"sst2"},
    "micro-inference": {"mnli"},
    "micro-translation": set(TRANSLATION),
}
"""The paper's tasks that each task of the synthetic language represents."""


@cache
def numbers() -> dict[str, Any]:
    """The numbers of Tables 1 to 8 as printed (strings, so that their rounding is known)."""
    text = resources.files("embinit_papers.kim2024").joinpath("numbers.json").read_text("utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables


def stands_for(experiment: ModelExperiment) -> set[str]:
    """The paper's tasks that an experiment's task represents; a real task represents itself."""
    return MADE.get(experiment.data.task, {experiment.data.task.split("-", 1)[0]})
