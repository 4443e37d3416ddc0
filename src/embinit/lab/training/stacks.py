"""Training a stack: one stacked model, one loop, one result for each run.

Section 4 and A.2 of the paper: Adam (0.9, 0.98, 1e-9) at a constant rate unless a schedule is asked
for, and validation after every epoch (see ``scoring``). A run whose loss stops being a number ends
there with its reason; the others go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from embinit.lab.data.preparation import PreparedData, Split, prepare
from embinit.lab.data.vocabulary import PAD
from embinit.lab.models.graphs import own_stream
from embinit.lab.models.initial_state import InitialState, carry, model_shape
from embinit.lab.models.layers import Dropout, no_dropout
from embinit.lab.models.losses import NOTHING, cross_entropy
from embinit.lab.models.memory import RunValues, activations
from embinit.lab.models.transformer import StackedTransformer
from embinit.lab.training import TrainingRecipe
from embinit.lab.training.scoring import Outputs, bleu_of, translations
from embinit.lab.training.stacked import ON_CPU, Losses, StackedTrainer, in_parts
from embinit.runs.kinds import RunContext, Stack
from embinit.runs.results import RunResult, provenance
from embinit.specs import RunSpec


def train(stack: Stack[TrainingRecipe], context: RunContext = ON_CPU) -> list[RunResult]:
    """Trains the stack's runs together, as many at once as the device has memory for.

    Results are in the stack's order. InputError if not even one run has room.
    """

    def work(part: Stack[TrainingRecipe], context: RunContext) -> list[RunResult]:
        return StackTraining(part, context.data_dir, context.device).run(context.progress)

    return in_parts(stack, held_by(stack.runs[0], context.data_dir), work, context)


def held_by(run: RunSpec[TrainingRecipe], data_dir: Path | None) -> RunValues:
    """What the training of a run holds."""
    data, batch_size = prepare(run.recipe.data, data_dir), run.recipe.training.batch_size
    shape, sentences = model_shape(run, data), min(batch_size, len(data.train))
    source, target = int(data.train.lengths.max()), int(data.train.target_lengths.max())
    return RunValues(
        shape.parameters,
        sentences * activations(shape.spec, source, target),
        sentences * max(1, target) * shape.outputs,
    )


class StackTraining(StackedTrainer[StackedTransformer]):
    """The training of one stack on translation or classification."""

    def __init__(
        self,
        stack: Stack[TrainingRecipe],
        data_dir: Path | None,
        device: str,
        carried: Mapping[str, Tensor] | None = None,
    ) -> None:
        """A stack's training, from ``carried`` parameters and buffers where they are given."""
        training = stack.runs[0].recipe.training
        self.training = training
        initial = InitialState(stack.runs, prepare(stack.runs[0].recipe.data, data_dir), data_dir)
        model = initial.model()
        if carried is not None:
            carry(model, carried)
        super().__init__(initial, model, training, device, warm_up=0.0 if training.falls else None)
        self.best = {name: value.clone() for name, value in self._parameters()}
        self.answers = torch.full((self.runs, len(self.data.validation)), NOTHING)

    def run(self, progress: Callable[[float], None]) -> list[RunResult]:
        """Train all epochs, keep each run's best, and score it."""
        started, epochs = time.perf_counter(), self.training.epochs
        progress(0.0)
        with own_stream(self.device):
            self.train_epochs(lambda done: progress(done / epochs))
            measures, outputs, signature = self._score()
        # A run's share of the stack's time, not what it would take alone.
        made = provenance(self.device, (time.perf_counter() - started) / self.runs)
        return [
            self._result(run, values, outputs[run], signature, made)
            for run, values in enumerate(measures)
        ]

    def is_measured(self, epoch: int) -> bool:
        """Whether an epoch is measured: each one, or the last where the learning rate falls."""
        return not self.training.falls or epoch + 1 == self.training.epochs

    def losses(self, chosen: Int[Tensor, "S B"], source: int, target: int) -> Losses:
        """The losses of the training examples ``chosen``, cut to so many words."""
        lengths, split = (source, target), self.data.train
        hidden, labels = self._forward(split, self.per_run(chosen), lengths, self.dropout)
        return cross_entropy(hidden, self.model.output, labels)

    def _forward(
        self,
        split: Split,
        chosen: Int[Tensor, "S B"],
        lengths: tuple[int, int],
        dropout: Dropout = no_dropout,
    ) -> tuple[Float[Tensor, "R M D"], Int[Tensor, "S M"]]:
        """The output layer's input, and its labels (NOTHING for padding).

        Both are of the split's examples ``chosen``; sources and targets are cut to ``lengths``.
        """
        inputs = split.inputs[chosen, : lengths[0]]
        if split.targets is None:
            assert split.labels is not None
            return self.model.mean_pool(inputs, dropout), split.labels[chosen]
        words = split.targets[chosen, : lengths[1]].long()
        hidden = self.model.decode(inputs, words[..., :-1], dropout)
        following = words[..., 1:].flatten(1)
        return hidden, following.masked_fill(following == PAD, NOTHING)

    def validate(self) -> None:
        """Measures validation, and test where reported; keeps the answers of runs at their best."""
        loss, accuracy, answers = self._evaluate(self.data.validation)
        self.curves.validation_loss.append(loss)
        if self.data.task.kind == "classification":
            self.curves.validation_accuracy.append(accuracy)
        if self.training.validation_bleu:
            outputs = self._translate(self.data.validation)
            scores, _ = bleu_of(outputs, self.data.validation.references)
            self.curves.validation_bleu.append(torch.tensor(scores))
        if self.data.task.reports_test:
            self.curves.test_accuracy.append(self._evaluate(self.data.test)[1])
        better = self.curves.newest_is_best()
        self.answers[better] = answers[better]
        chosen = better.to(self.device)
        for name, value in self._parameters():
            self.best[name][chosen] = value[chosen]

    def _evaluate(
        self, split: Split
    ) -> tuple[Float[Tensor, " R"], Float[Tensor, " R"], Int[Tensor, "R n"]]:
        """Each run's mean loss, percentage of right classes, and classes (NOTHING without any)."""
        answers = torch.full((self.runs, len(split)), NOTHING, device=self.device)
        right = torch.zeros(self.runs, device=self.device)

        def losses(batch: Tensor) -> Losses:
            longest = int(split.lengths[batch].max()), int(split.target_lengths[batch].max())
            hidden, labels = self._forward(split, batch[None], longest)
            if split.labels is not None:
                chosen = self.model.output(hidden).argmax(dim=-1)
                right.add_((chosen == labels).sum(dim=-1))
                answers[:, batch] = chosen
            return cross_entropy(hidden, self.model.output, labels)

        loss = self.mean_loss(split, losses)
        return loss, (100 * right / len(split)).cpu(), answers.cpu()

    def _parameters(self) -> list[tuple[str, Tensor]]:
        return [(name, value.detach()) for name, value in self.model.named_parameters()]

    def _score(self) -> tuple[list[dict[str, float]], Outputs, str]:
        """Each run's measures and outputs at its best epoch, and the metric's signature."""
        measures = self.curves.measures()
        if self.data.task.kind == "classification":
            outputs = [[str(answer) for answer in of_run] for of_run in self.answers.tolist()]
            return measures, outputs, ""
        self.restore_best()
        outputs = self._translate(self.data.test)
        scores, signature = bleu_of(outputs, self.data.test.references)
        for values, bleu in zip(measures, scores, strict=True):
            if values:
                values["bleu"] = bleu
        return measures, outputs, signature

    def _result(
        self,
        run: int,
        measures: dict[str, float],
        outputs: Sequence[str],
        signature: str,
        made: Mapping[str, Any],
    ) -> RunResult:
        """One run's result; ``measures`` and ``outputs`` are those of its best epoch."""
        epochs, failure = int(self.curves.finite_epochs()[run]), None
        if epochs < self.training.epochs:
            failure = f"the loss stopped being a number in epoch {epochs + 1}"
        splits = ("train", "validation", "test")
        return RunResult(
            spec=self.initial.specs[run],
            measures=measures | self.initial.measures(run),
            curves=self.curves.of(run, epochs),
            **self.initial.described(run),
            examples={name: len(getattr(self.data, name)) for name in splits},
            signature=signature,
            outputs=tuple(outputs) if measures else (),
            references=_references(self.data) if measures else (),
            failure=failure,
            provenance=made,
        )

    def restore_best(self) -> None:
        """Restores each run's parameters of its best epoch."""
        for name, value in self._parameters():
            value.copy_(self.best[name])

    def _translate(self, split: Split) -> Outputs:
        """Each run's translations of the split as its model stands."""
        longest = self.initial.positions["decoder"].shape[1] - 1
        vocabulary = self.data.vocabularies["decoder"]
        return translations(self.model, split, self.batches_of(split), vocabulary, longest)


def _references(data: PreparedData) -> tuple[str, ...]:
    """Reference outputs: translations, or class numbers."""
    labels = data.validation.labels
    if labels is None:
        return data.test.references
    return tuple(str(label) for label in labels.tolist())
