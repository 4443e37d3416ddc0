"""Changes of a registered experiment to the settings that these claims compare."""

from __future__ import annotations

from dataclasses import replace

from embinit.lab.experiments import ModelExperiment
from embinit_papers.kim2024.experiments import encoder_alone


def on_the_encoder_alone(experiment: ModelExperiment) -> ModelExperiment:
    """The same experiment on the same draws, whose decoder starts from Xavier."""
    source = encoder_alone(experiment).source
    return experiment.changed("on the encoder alone", source=source, one_sided=True)


def with_orthogonal_positions(experiment: ModelExperiment) -> ModelExperiment:
    """The same experiment with positions in the directions in which the table varies least."""
    return experiment.with_positions("apart", "+ PE apart")


def with_faint_positions(experiment: ModelExperiment) -> ModelExperiment:
    """The same experiment with positions of the norm that ``apart`` has, in all directions.

    It is the control for ``with_orthogonal_positions``. Where the two differ, direction matters;
    where they agree, strength does.
    """
    return experiment.with_positions("faint", "+ faint PE")


def with_positions_in_attention(experiment: ModelExperiment, kind: str) -> ModelExperiment:
    """The same experiment with positions inside attention, which are not added to the table."""
    bare = experiment.changed(positions=replace(experiment.positions, kind="none"))
    return bare.with_model(f"with {kind} positions", attention=kind)


def with_norm_after_sum(experiment: ModelExperiment) -> ModelExperiment:
    """The same experiment with a LayerNorm after table + positions."""
    return experiment.with_model("with LayerNorm after the sum", norm_after_sum=True)
