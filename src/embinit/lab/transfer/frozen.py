"""Measures of a pre-trained model before fine-tuning: its layers, its tables and its guesses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.preparation import prepare
from embinit.lab.models.layer_probes import (
    mix_accuracy,
    neighbour_accuracy,
    probe_accuracy,
    retrieval_accuracy,
    sentence_vectors,
)
from embinit.lab.models.transformer import StackedTransformer
from embinit.lab.training.stacked import evaluation_batch
from embinit.lab.transfer import TransferRecipe
from embinit.randomness import stream
from embinit.runs.kinds import Stack
from embinit.specs import RunSpec

GUESSES, MIX, NEIGHBOURS = "guesses", "mixed-probes", "neighbours"
FURTHER = (GUESSES, MIX, NEIGHBOURS)
"""What ``TransferSpec.further`` may name: masked words predicted, probes on a mix of layers, and
translations found as in Chung et al. (2021; A.9)."""


def require_measures(run: RunSpec[TransferRecipe]) -> None:
    """InputError for a further measure that there is not, or that the run's data can't have."""
    training = run.recipe.training
    for name in training.further:
        if name not in FURTHER:
            raise InputError(f"{name!r} is no further measure; there are {', '.join(FURTHER)}")
    if MIX in training.further and not training.probes:
        raise InputError(f"{MIX!r} needs probes to mix layers for; name their data in probes")


def of_layers(
    encoder: StackedTransformer,
    stack: Stack[TransferRecipe],
    data_dir: Path | None,
    device: str,
) -> tuple[Mapping[str, Float[Tensor, "states R"]], Mapping[str, Float[Tensor, " R"]]]:
    """Curves over frozen layers, and each run's measures of all layers together.

    Curves are the probes' mean, each probe, and translations found.
    """
    recipe, batch = stack.runs[0].recipe, evaluation_batch(device)
    further = recipe.training.further
    probes: dict[str, Tensor] = {}
    mixed = []
    for probe in recipe.training.probes:
        data = prepare(probe, data_dir).to(device)
        labels, answers, classes = data.train.labels, data.validation.labels, data.task.classes
        assert labels is not None
        assert answers is not None
        train, test = (
            sentence_vectors(encoder, split, batch) for split in (data.train, data.validation)
        )
        probes[f"probe-{probe.task}"] = probe_accuracy(train, labels, test, answers, classes)
        if MIX in further:
            drawn = [stream(run.seed, f"probe/{probe.task}") for run in stack.runs]
            mixed.append(mix_accuracy(train, labels, test, answers, classes, drawn))
    curves = probes and {"probe": torch.stack(list(probes.values())).mean(dim=0), **probes}
    if len(pairs := prepare(recipe.data, data_dir).to(device).test):
        curves["retrieval"] = retrieval_accuracy(sentence_vectors(encoder, pairs, batch))
        if NEIGHBOURS in further:
            vectors = sentence_vectors(encoder, pairs, batch, marks=False)
            curves["neighbours"] = neighbour_accuracy(vectors)
    return curves, {"probe_mix": torch.stack(mixed).mean(dim=0)} if mixed else {}
