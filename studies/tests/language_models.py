"""Runs that train small language models, for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from embinit.lab.specs import Cut, DataSpec, ModelRecipe, ModelSpec, PositionSpec, TableSpec
from embinit.runs.results import RunResult
from embinit.specs import RunSpec
from embinit_studies.language_model import LanguageModelSpec

TODAY: dict[str, Any] = {
    "norm": "rms",
    "norm_position": "pre",
    "attention": "rotary",
    "activation": "silu",
    "gated": True,
    "bias": False,
    "coupled": True,
}

MODELS: dict[str, ModelSpec] = {
    # Odd sizes, so that runs lie across the vectors of a CPU.
    "today": ModelSpec(20, 2, 2, 27, 0.0, **TODAY),
    "untied": ModelSpec(20, 2, 1, 27, 0.1, **{**TODAY, "coupled": False}),
    "older": ModelSpec(24, 3, 2, 31, 0.1, activation="gelu", norm_after_sum=True),
}

BASE = LanguageModelSpec(16, 2, 5e-3)


def text(task: str, tokenizer: str = "whitespace", train: int = 75) -> DataSpec:
    """A little text of the synthetic language."""
    return DataSpec(task, (tokenizer, tokenizer), Cut(train, 37, 1), 1, 32)


def plain(model: str, seed: int = 5000, **recipe: Any) -> RunSpec:
    """A run that trains a language model; ``recipe`` is what it is trained by."""
    positions = PositionSpec("learned" if model == "older" else "none", "one")
    return RunSpec(
        ModelRecipe(
            text("micro-text"),
            MODELS[model],
            replace(BASE, **recipe),
            TableSpec("normal", None),
            positions,
        ),
        seed,
    )


def numbers(result: RunResult) -> tuple[Any, ...]:
    """All that a result says of its run."""
    return result.measures, result.curves, result.tables, result.failure
