"""The training of a cohort of causal language models, with gradient clipping and loss curves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from embinit.lab.data.preparation import Split
from embinit.lab.models.graphs import own_stream
from embinit.lab.models.initial_state import InitialState
from embinit.lab.models.layers import Dropout, no_dropout
from embinit.lab.models.losses import NOTHING, cross_entropy
from embinit.lab.models.transformer import StackedTransformer
from embinit.lab.training.optimizers import lr_factor
from embinit.lab.training.scoring import cut
from embinit.lab.training.stacked import Losses, Progress, StackedTrainer
from embinit_studies.language_model import LanguageModelSpec
from embinit_studies.language_model.model import CausalLanguageModel, read_and_predicted
from embinit_studies.language_model.stream import embedding_shares

Prepare = Callable[[CausalLanguageModel], None]
"""A function that changes a model before it is trained."""


STREAM_SENTENCES = 32
"""The number of validation sentences that the residual stream is measured on."""

SPIKE_WINDOW = 16
"""The number of earlier steps whose mean loss a loss spike is measured from."""


class LanguageModelTraining(StackedTrainer[CausalLanguageModel]):
    """The training of one cohort of causal language models.

    Its validation curve begins before the first step.

    Attributes:
        new_losses: The validation loss on words from ``first_new`` on, before the first step and
            after each epoch; empty where no word is new.
        old_losses: The same on the other words.
    """

    def __init__(
        self,
        initial: InitialState,
        stack: StackedTransformer,
        recipe: LanguageModelSpec,
        device: str,
        purpose: str = "",
        first_new: int | None = None,
        prepared: Prepare | None = None,
    ) -> None:
        """A trainer before its first step.

        Args:
            initial: What the runs start from, and their data.
            stack: The stacked layers, on any device.
            recipe: How they are trained.
            device: Where to train.
            purpose: Is appended to the names of the random streams.
            first_new: The first id of a new word, where there are such.
            prepared: Changes the model before it is trained.
        """
        self.recipe, self.first_new = recipe, first_new
        self.new_losses: list[Tensor] = []
        self.old_losses: list[Tensor] = []
        # A tensor, so that a recorded step reads each step's own rate.
        self.rate = torch.zeros((), device=device)
        model = CausalLanguageModel(stack)
        for run, spec in enumerate(initial.specs):
            model.initialise(run, spec.seed)
        if prepared is not None:
            prepared(model)
        runs = len(initial.specs)
        self.steps_done = torch.zeros((), device=device)
        self.first_norm = torch.zeros(runs, device=device)
        self.layer_norms = torch.zeros(len(stack.encoder_layers), runs, device=device)
        self.shares: list[Tensor] = []
        self.totals: list[Tensor] = []
        super().__init__(initial, model, recipe, device, purpose, self.rate)

    def run(self, progress: Progress) -> None:
        """Measures the initial models, then trains all epochs."""
        with own_stream(self.device):
            self.validate()
            self._measure_stream()
            self.train_epochs(lambda done: progress(done / self.recipe.epochs))
            self._measure_stream()

    def before_step(self, number: int) -> None:
        """Sets the step's learning rate, and records the epoch's loss sum so far."""
        if self.recipe.mechanism:
            self.totals.append(self.total.clone())
        steps = self.recipe.epochs * self.buckets.steps
        self.rate.fill_(self.recipe.lr * lr_factor(number, steps, self.recipe.warm_up))

    def before_update(self) -> None:
        """Clips each run's gradient by its own norm, and records the first step's norm."""
        gradients = [
            parameter.grad for parameter in self.model.parameters() if parameter.grad is not None
        ]
        norm = gradient_norms(gradients)
        self.first_norm.copy_(torch.where(self.steps_done == 0, norm, self.first_norm))
        if self.recipe.mechanism:
            norms = torch.stack(
                [
                    gradient_norms(
                        [each.grad for each in layer.parameters() if each.grad is not None]
                    )
                    for layer in self.model.stack.encoder_layers
                ]
            )
            self.layer_norms.copy_(torch.where(self.steps_done == 0, norms, self.layer_norms))
        self.steps_done += 1
        if self.recipe.clip is None:
            return
        kept = (self.recipe.clip / norm).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(kept.view(-1, *(1 for _ in gradient.shape[1:])))

    def losses(self, chosen: Int[Tensor, "S B"], source: int, target: int) -> Losses:
        """The losses of the sentences ``chosen``, cut to ``source`` words."""
        ids = self.per_run(self.data.train.inputs[chosen, :source])
        hidden, labels = self._forward(ids, self.dropout)
        return cross_entropy(hidden, self.model.output(), labels)

    def _forward(
        self, ids: Int[Tensor, "S B T"], dropout: Dropout
    ) -> tuple[Float[Tensor, "R M D"], Int[Tensor, "S M"]]:
        read, labels = read_and_predicted(ids)
        return self.model(read, dropout), labels

    @torch.inference_mode()
    def _measure_stream(self) -> None:
        """Measures the embedding's share of each state, on the first validation sentences."""
        if not self.recipe.mechanism:
            return
        self.model.eval()
        split = self.data.validation
        chosen = torch.arange(min(STREAM_SENTENCES, len(split)), device=self.device)
        ids = cut(split.inputs, split.lengths, chosen)
        read, labels = read_and_predicted(ids)
        states = self.model.stack.states(read)
        self.shares.append(embedding_shares(states, labels != NOTHING).cpu())

    def validate(self) -> None:
        """Measures the validation loss on all tokens, and on new and old ones separately."""
        split = self.data.validation
        if self.first_new is None:
            self.curves.validation_loss.append(self._loss(split, lambda labels: labels))
            return
        first = self.first_new

        def new(labels: Tensor) -> Tensor:
            return labels.masked_fill(labels < first, NOTHING)

        def old(labels: Tensor) -> Tensor:
            return labels.masked_fill(labels >= first, NOTHING)

        for losses, kept in ((self.new_losses, new), (self.old_losses, old)):
            losses.append(self._loss(split, kept))
        share = self._share_of_new(split)
        self.curves.validation_loss.append(
            share * self.new_losses[-1] + (1 - share) * self.old_losses[-1]
        )

    def _share_of_new(self, split: Split) -> float:
        assert self.first_new is not None
        words = int(split.lengths.sum())
        return float((split.inputs >= self.first_new).sum()) / words

    def _loss(self, split: Split, kept: Callable[[Tensor], Tensor]) -> Float[Tensor, " R"]:
        def losses(batch: Tensor) -> Losses:
            hidden, labels = self._forward(cut(split.inputs, split.lengths, batch), no_dropout)
            return cross_entropy(hidden, self.model.output(), kept(labels))

        return self.mean_loss(split, losses)

    def curves_of(self, run: int) -> dict[str, list[float]]:
        """One run's curves; validation curves begin before the first step."""
        series = {
            "train_loss": self.curves.train_loss,
            "validation_loss": self.curves.validation_loss,
            "new_token_loss": self.new_losses,
            "old_token_loss": self.old_losses,
        }
        curves = {
            name: [float(values[run]) for values in losses]
            for name, losses in series.items()
            if losses
        }
        if self.recipe.mechanism:
            curves["layer_gradient_norm"] = self.layer_norms[:, run].tolist()
            for name, shares in zip(("", "_after"), self.shares, strict=True):
                curves[f"embedding_share{name}"] = shares[:, run].tolist()
        return curves

    def step_losses_of(self, run: int) -> list[float]:
        """One run's training loss at each step, as the differences of the epochs' sums."""
        steps, losses = self.buckets.steps, []
        for epoch, mean in enumerate(self.curves.train_loss):
            sums = self.totals[epoch * steps : (epoch + 1) * steps]
            ends = [float(total[run]) for total in sums] + [float(mean[run]) * steps]
            losses += [after - before for before, after in itertools.pairwise(ends)]
        return losses

    def measures_of(self, run: int) -> dict[str, float]:
        """One run's measures; what is not finite is left out."""
        curves = self.curves_of(run)
        validation = curves["validation_loss"]
        norm = float(self.first_norm[run])
        measures = {
            "start_loss": validation[0],
            "validation_loss": validation[-1],
            "loss_area": area(validation),
            "gradient_norm": norm,
        }
        if self.recipe.clip is not None and norm > 0:
            measures["kept_gradient"] = 100 * min(1.0, self.recipe.clip / norm)
        if self.recipe.mechanism:
            measures["first_layer_gradient_norm"] = curves["layer_gradient_norm"][0]
            measures["embedding_share"] = curves["embedding_share"][-1]
            measures["embedding_share_after"] = curves["embedding_share_after"][-1]
            if (spike := largest_spike(self.step_losses_of(run))) is not None:
                measures["loss_spike"] = spike
        for kind in ("new", "old"):
            if losses := curves.get(f"{kind}_token_loss"):
                measures[f"{kind}_token_start_loss"] = losses[0]
                measures[f"{kind}_token_loss"] = losses[-1]
        return {name: value for name, value in measures.items() if math.isfinite(value)}

    def failure_of(self, run: int) -> str | None:
        """The reason why a run ended early, a loss that was not finite; None where it did not."""
        curves = self.curves_of(run)
        losses = zip(curves.get("train_loss", ()), curves["validation_loss"][1:], strict=True)
        for epoch, pair in enumerate(losses, start=1):
            if not all(map(math.isfinite, pair)):
                return f"the loss stopped being a number in epoch {epoch}"
        return None


def gradient_norms(gradients: list[Tensor]) -> Float[Tensor, " R"]:
    """Each run's norm over all its gradients, (R, ...) each.

    The squares are summed run by run: the order of a sum over several runs at once depends on how
    many there are.
    """
    runs = len(gradients[0])
    totals = [
        torch.stack([gradient[run].square().sum() for gradient in gradients]).sum()
        for run in range(runs)
    ]
    return torch.stack(totals).sqrt()


def largest_spike(losses: Sequence[float]) -> float | None:
    """The largest rise of a step's loss above the mean of the steps before it.

    Args:
        losses: The loss of each step; the mean is of ``SPIKE_WINDOW`` steps.

    Returns:
        The largest rise, which is below 0 for a loss that only falls; None for too few steps, or
        where a loss is no number.
    """
    if not all(map(math.isfinite, losses)):
        return None
    rises = [
        losses[step] - sum(losses[step - SPIKE_WINDOW : step]) / SPIKE_WINDOW
        for step in range(SPIKE_WINDOW, len(losses))
    ]
    return max(rises, default=None)


def area(losses: list[float]) -> float:
    """The mean height of a curve over epochs, which begins before the first, by trapezoids."""
    if len(losses) < 2:
        return losses[0]
    return (sum(losses) - (losses[0] + losses[-1]) / 2) / (len(losses) - 1)
