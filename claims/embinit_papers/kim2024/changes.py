"""Changes of a registered experiment to the settings that the paper's claims compare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from embinit.errors import InputError
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import TrainingSpec
from embinit_papers.kim2024.experiments import experiments
from embinit_papers.kim2024.numbers import stands_for


def of_source(experiment: ModelExperiment, role: str) -> ModelExperiment:
    """The experiment on the same task and tier with another of the paper's sources.

    InputError if the tier has none, or this one's setting was changed, as the other's would not be.
    """
    if experiment.changes:
        raise InputError(f"ask for the source {role!r} first, and change the setting then")
    for other in everywhere(experiment):
        if (other.source_role, other.data.task) == (role, experiment.data.task):
            return other
    raise InputError(f"this tier has no experiment with source {role!r} on this task")


def on_task(experiment: ModelExperiment, task: str) -> ModelExperiment:
    """The experiment with the same source on the tier's task that stands for the paper's ``task``.

    InputError if the tier has none, or this one's setting was changed already.
    """
    if experiment.changes:
        raise InputError(f"ask for the task {task!r} first, and change the setting then")
    for other in everywhere(experiment):
        if other.source_role == experiment.source_role and task in stands_for(other):
            return other
    raise InputError(f"this tier has no experiment with this source on {task!r}")


def blind(experiment: ModelExperiment) -> ModelExperiment:
    """The same experiment with frozen tables of zero width, whose words can't be told apart."""
    return experiment.changed("blind", trained=False, sigma=1e-9)


def everywhere(experiment: ModelExperiment) -> list[ModelExperiment]:
    """All experiments of the tier, for a claim over the whole of Table 1.

    Each has the seeds and the draws that ``experiment`` has.
    """
    fields = ("seeds", "most_seeds", "data_draws", "registering_draws", "claims_from")
    own: dict[str, Any] = {name: getattr(experiment, name) for name in fields}
    return [replace(one, **own) for one in experiments(experiment.tier)]


def with_shuffled_positions(experiment: ModelExperiment) -> ModelExperiment:
    """The same experiment with the positions' encodings in another order."""
    return experiment.with_positions("shuffled", "with shuffled positions")


def with_sinusoidal_positions(experiment: ModelExperiment) -> ModelExperiment:
    """The same experiment with sinusoidal encodings of the positions added."""
    return experiment.with_positions("sinusoidal", "+ PE")


def with_missing_at_xavier(experiment: ModelExperiment) -> ModelExperiment:
    """GloVe's experiment with rows at Xavier's sigma for the words without a vector."""
    return experiment.changed("with narrow missing words", source="glove-narrow")


def twice_as_deep(experiment: ModelExperiment) -> ModelExperiment:
    """The same experiment with twice the tier's layers; InputError if it trains no model."""
    if experiment.model is None:
        raise InputError(f"{experiment.name} trains no model that could be deeper")
    return experiment.with_layers(2 * experiment.model.layers)


def trained_for_times(experiment: ModelExperiment, times: int) -> ModelExperiment:
    """The same experiment with ``times`` as many epochs."""
    return experiment.with_training(f"for {times} × the epochs", epochs=times * epochs(experiment))


def epochs(experiment: ModelExperiment) -> int:
    """The number of epochs of the experiment's runs."""
    return cast(TrainingSpec, experiment.training).epochs


def scaled(experiment: ModelExperiment, multiplier: str, pe_scale: str = "one") -> ModelExperiment:
    """The same experiment with another multiplier of the table or scale of the positions.

    Such as ``sqrt(D)`` for the one and ``sigma_p/sigma_x`` for the other.
    """
    usual = experiment.positions.multiplier
    times = {"sqrt(D)": "√D", "one": "1"}.get(multiplier, multiplier)
    label = "" if multiplier == usual else f"× {times}"
    label += "" if pe_scale == "one" else f" (PE × {pe_scale})"
    positions = replace(experiment.positions, multiplier=multiplier, pe_scale=pe_scale)
    return experiment.changed(label, positions=positions)
