"""Effects that the paper prints, as shares of what Xavier learns: what margins are held against.

A family is about a difference of two arms. In an experiment its margin is at most half of that
difference as the paper prints it, and no more than the noise floor. The share that is printed is
one of what Xavier learns above guessing, so it says how large the effect is on another task too.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from embinit.claims.experiments import Experiment
from embinit.lab.experiments import ModelExperiment

TRANSLATION = ("multi30k", "iwslt2017")
TASKS = ("sst2", "mnli", *TRANSLATION)
MADE = {
    "micro-sentiment": {"sst2"},
    "micro-sentiment-plain": {"sst2"},
    "micro-inference": {"mnli"},
    "micro-translation": set(TRANSLATION),
}
"""The paper's tasks that each task of the synthetic language stands for."""

GUESSING = {"sst2": 50.0, "mnli": 100 / 3, "multi30k": 0.0, "iwslt2017": 0.0}
"""The score of a model that guesses, on each of the paper's tasks."""

Sees = Callable[[Experiment], Experiment]


@cache
def numbers() -> dict[str, Any]:
    """The numbers of Tables 1 to 8 as printed (strings, so that their rounding is known)."""
    text = resources.files("embinit_papers.kim2024").joinpath("numbers.json").read_text("utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables


def stands_for(experiment: ModelExperiment) -> set[str]:
    """The paper's tasks that an experiment's task stands for; a real task stands for itself."""
    return MADE.get(experiment.data.task, {experiment.data.task.split("-", 1)[0]})


def learnt(experiment: ModelExperiment, mean: float) -> float:
    """The distance of a mean score on the experiment's task from guessing."""
    return mean - max(GUESSING[task] for task in stands_for(experiment))


def share(source: str, task: str, left: str, right: str) -> float | None:
    """The printed difference of two arms, as a share of what Xavier learns; None if unprinted.

    Args:
        source: The role of the source.
        task: The paper's task.
        left: An arm.
        right: Another.
    """
    arms = _scores(source, task)
    if left not in arms or right not in arms:
        return None
    return abs(arms[left] - arms["xavier"] - arms[right] + arms["xavier"]) / (
        arms["xavier"] - GUESSING[task]
    )


def _scores(source: str, task: str) -> Mapping[str, float]:
    cells = {
        arm: of_arm[task]
        for arm, of_arm in numbers()["tables_1_and_7"].get(source, {}).items()
        if task in of_arm
    }
    return {arm: float((cell.get("score") or cell["matched"])[0]) for arm, cell in cells.items()}


def about(left: str, right: str, **of_source: tuple[str, str]) -> Sees:
    """What claims on the difference of two arms see: its margin.

    Args:
        left: An arm.
        right: Another.
        of_source: The two arms in experiments with a source of that role, where others are meant.
    """

    def sees(experiment: Experiment) -> Experiment:
        assert isinstance(experiment, ModelExperiment)
        arms = of_source.get(experiment.source_role, (left, right))
        printed = [
            share(experiment.source_role, task, *arms)
            for task in stands_for(experiment) & set(TASKS)
        ]
        known = [each for each in printed if each is not None]
        return judged(experiment, statistics.fmean(known) if known else REPAIR)

    return sees


REPAIR = statistics.fmean(
    share("glove", task, "pretrained_xavier", "pretrained") or 0.0 for task in TASKS
)
"""What standardising GloVe gains, over the paper's tasks."""


def about_repair(experiment: Experiment) -> Experiment:
    """An experiment as claims on what standardising repairs see it, whatever the source."""
    return judged(experiment, REPAIR)


def about_positions(experiment: Experiment) -> Experiment:
    """An experiment as claims on Table 3 see it.

    They are about what frozen GloVe gains over frozen Xavier without positions: its least effect.
    """
    bleu = {arm: float(cells[0]["bleu"][0]) for arm, cells in numbers()["table_3"].items()}
    xavier = float(numbers()["table_3"]["xavier"][-1]["bleu"][0])
    return judged(experiment, (bleu["pretrained"] - bleu["xavier"]) / xavier)


def judged(experiment: Experiment, effect: float) -> Experiment:
    """An experiment with the margin of an effect.

    Args:
        experiment: The experiment.
        effect: The effect, as a share of what Xavier learns.
    """
    if not isinstance(experiment, ModelExperiment) or experiment.learns is None:
        return experiment
    margin = float(f"{experiment.learns * effect / 2:.2g}")
    return replace(experiment, margin=min(experiment.margin, margin))
