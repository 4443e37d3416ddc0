"""Stacks of transfer runs: pre-train, discard the output table, probe and fine-tune.

A run pre-trains an encoder on text of two languages by guessing hidden words, reads each frozen
layer by linear probes and by looking translations up, and fine-tunes it on each of its tasks, every
time from where pre-training ended. One pre-training serves every claim.

Fine-tuning makes much of the variance over seeds, and may be cheap compared with pre-training. So
an encoder may be fine-tuned on a task several times, and the means count.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.preparation import prepare
from embinit.lab.data.tasks import TASKS
from embinit.lab.models.initial_state import InitialState, without_output
from embinit.lab.models.memory import RunValues, activations
from embinit.lab.models.sizes import (
    model_after,
    output_width,
    parameters_of,
    words_of,
)
from embinit.lab.specs import DownstreamSpec, ModelRecipe
from embinit.lab.tables import initial_tables
from embinit.lab.training import TrainingRecipe
from embinit.lab.training.stacked import ON_CPU, in_parts, part_of
from embinit.lab.training.stacks import StackTraining, held_by
from embinit.lab.transfer import KIND, TransferRecipe
from embinit.lab.transfer.frozen import GUESSES, of_layers, require_measures
from embinit.lab.transfer.pretraining import Pretraining
from embinit.runs.kinds import RunContext, Stack, kind_of
from embinit.runs.results import RunResult, provenance
from embinit.specs import RunSpec

TUNING = 0.23
"""A fine-tuning's approximate share of progress; pre-training and probing count 1."""

NEXT_TIME = 1_000_000
"""The distance between seeds of a run's fine-tunings; replicates' seeds must be nearer."""


def check(run: RunSpec[TransferRecipe], data_dir: Path | None) -> None:
    """Reads text and vectors, so that bad input is an InputError before any training."""
    output_width(run.recipe.architecture)
    if TASKS[run.recipe.data.task].kind != "text":
        raise InputError(
            f"{run.recipe.data.task} is not text to pre-train on; tasks of the kind 'text' are"
        )
    parameters_of(run)  # its heads divide its width
    for task in run.recipe.training.tasks:
        _ = task.training.falls  # there is such a schedule
        model_after(run.recipe, task.removed_layers)
        if task.times < 1:
            raise InputError(f"{task.role} is fine-tuned {task.times} times; name 1 or more")
    require_measures(run)
    initial_tables.check(run, data_dir)
    vocabulary, wanted = prepare(run.recipe.data, data_dir).vocabularies["encoder"], words_of(run)
    if len(vocabulary.words) != wanted:
        raise InputError(
            f"the vocabulary of {run.recipe.data.task} has {len(vocabulary.words)} words where the "
            f"spec has {wanted}, by which parameters are counted: give it more text, or set "
            "most_words to what it has"
        )
    for data in KIND.reads(run)[1:]:
        if (data.vocabulary, data.max_length) != (run.recipe.data, run.recipe.data.max_length):
            raise InputError(
                f"{data.task} must have the vocabulary and the max_length of "
                f"{run.recipe.data.task}, whose model it is read by"
            )
        prepare(data, data_dir)


def train(stack: Stack[TransferRecipe], context: RunContext = ON_CPU) -> list[RunResult]:
    """Trains the stack's runs together and returns their results, in the stack's order.

    InputError where not even one run has room, or seeds are too far apart.
    """
    seeds = [run.seed for run in stack.runs]
    if max(seeds) - min(seeds) >= NEXT_TIME:
        raise InputError(f"seeds {min(seeds)} and {max(seeds)} must be less than {NEXT_TIME} apart")
    first = max(stack.runs, key=lambda run: parameters_of(run).pretraining)
    data = prepare(first.recipe.data, context.data_dir)
    masking, longest = first.recipe.training.pretraining, int(data.train.lengths.max())
    sentences = min(masking.batch_size, len(data.train))
    held = RunValues(
        parameters_of(first).pretraining,
        sentences * activations(first.recipe.architecture, longest),
        sentences * math.ceil(masking.share * longest) * words_of(first),
    )
    return in_parts(stack, held, _train, context)


def _train(stack: Stack[TransferRecipe], context: RunContext) -> list[RunResult]:
    started, first = time.perf_counter(), stack.runs[0]
    tasks = first.recipe.training.tasks
    whole = 1 + TUNING * sum(task.times for task in tasks)
    data_dir, device = context.data_dir, context.device
    initial = InitialState(stack.runs, prepare(first.recipe.data, data_dir), data_dir)
    pretraining = Pretraining(initial, device)
    context.progress(0.0)
    pretraining.run(part_of(context, 0.0, 1 / whole).progress)
    encoder = pretraining.model.encoder
    outcomes = [_pretrained(run, initial, pretraining) for run in range(len(stack.runs))]
    of_runs: dict[str, Tensor] = {}
    if GUESSES in first.recipe.training.further:  # with all layers that were pre-trained
        of_runs["masked_accuracy"] = pretraining.accuracy()
    del pretraining  # its moments and gradients take three times the room of the model
    del encoder.encoder_layers[model_after(first.recipe).layers :]
    by_layer, of_encoder = of_layers(encoder, stack, data_dir, device)
    of_runs |= of_encoder
    for run, outcome in enumerate(outcomes):
        if outcome.failure is not None:
            continue
        for name, values in by_layer.items():
            curve = values[:, run].tolist()
            outcome.curves[f"{name}_by_layer"] = curve
            outcome.measures[f"{name}_last"] = curve[-1]
            outcome.measures[f"{name}_drop"] = max(curve) - curve[-1]
        outcome.measures |= {name: float(numbers[run]) for name, numbers in of_runs.items()}
    done = 1.0
    for task in tasks:
        takes = TUNING * task.times
        part = part_of(context, done / whole, takes / whole)
        tuned = _fine_tuned(stack, task, without_output(encoder, task.removed_layers), part)
        done += takes
        for outcome, results in zip(outcomes, tuned, strict=True):
            outcome.add_task(task.role, results)
    # A run's share of the stack's time, not what it would take alone.
    seconds = (time.perf_counter() - started) / len(stack.runs)
    context.progress(1.0)
    made = provenance(device, seconds)
    examples = {"train": len(initial.data.train), "validation": len(initial.data.validation)}
    return [
        RunResult(
            spec=spec,
            **vars(outcome),
            **initial.described(run),
            examples=examples,
            provenance=made,
        )
        for run, (spec, outcome) in enumerate(zip(initial.specs, outcomes, strict=True))
    ]


@dataclass
class _Outcome:
    """A run's measures so far; a run that failed gets no further ones."""

    measures: dict[str, float]
    curves: dict[str, list[float]]
    failure: str | None

    def add_task(self, role: str, tuned: Sequence[RunResult]) -> None:
        """Adds a task's scores; the mean of several fine-tunings, none where one of them failed."""
        if self.failure is not None:
            return
        failed = [result.failure for result in tuned if result.failure is not None]
        if failed:
            self.failure = f"fine-tuning on {role}: {failed[0]}"
            if len(tuned) > 1:
                return
        for name, ours in (("accuracy", "accuracy"), ("test_accuracy_then", "test")):
            values = [result.measures[name] for result in tuned if name in result.measures]
            if values:
                self.measures[f"{role}_{ours}"] = statistics.fmean(values)
            if len(values) > 1:
                self.curves[f"{role}_{ours}_by_time"] = values
        for name in ("validation_accuracy", "test_accuracy"):
            curves = [result.curves[name] for result in tuned if name in result.curves]
            if curves:
                self.curves[f"{role}_{name}"] = [
                    statistics.fmean(values) for values in zip(*curves, strict=True)
                ]


def _pretrained(run: int, initial: InitialState, pretraining: Pretraining) -> _Outcome:
    """A run's measures after pre-training."""
    spec, curves = initial.specs[run], pretraining.curves
    series = (curves.train_loss, curves.validation_loss)
    train, validation = ([float(epoch[run]) for epoch in losses] for losses in series)
    measures = initial.measures(run) | {
        f"{phase.replace(' ', '_')}_parameters": float(count)
        for phase, count in kind_of(spec).parameters(spec).items()
    }
    if not all(map(math.isfinite, (*train, *validation))):
        return _Outcome(measures, {}, "the loss stopped being a number in pre-training")
    measures["masked_loss"] = validation[-1]
    return _Outcome(measures, {"masked_train_loss": train, "masked_loss": validation}, None)


def _fine_tuned(
    stack: Stack[TransferRecipe],
    task: DownstreamSpec,
    carried: Mapping[str, Tensor],
    context: RunContext,
) -> list[list[RunResult]]:
    """Fine-tunes each run on one task from the pre-trained encoder, as one stack."""

    def tuning(run: RunSpec[TransferRecipe]) -> TrainingRecipe:
        recipe, model = run.recipe, model_after(run.recipe, task.removed_layers)
        return ModelRecipe(task.data, model, task.training, recipe.table, recipe.positions)

    tuned = [
        RunSpec(tuning(run), run.seed + time * NEXT_TIME)
        for time in range(task.times)
        for run in stack.runs
    ]
    encoder_of = {run: number % len(stack.runs) for number, run in enumerate(tuned)}

    def work(part: Stack[TrainingRecipe], context: RunContext) -> list[RunResult]:
        encoders = torch.tensor([encoder_of[run] for run in part.runs], device=context.device)
        theirs = {name: value[encoders] for name, value in carried.items()}
        training = StackTraining(part, context.data_dir, context.device, theirs)
        return training.run(context.progress)

    most = kind_of(tuned[0]).stacked(tuned[0], context.device)
    held = held_by(tuned[0], context.data_dir)
    results = in_parts(Stack(tuple(tuned)), held, work, context, most)
    return [results[number :: len(stack.runs)] for number in range(len(stack.runs))]
