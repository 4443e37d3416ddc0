"""Pre-training of a stack: stacked masked language models on one text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from embinit.lab.data.preparation import Split
from embinit.lab.models.graphs import own_stream
from embinit.lab.models.initial_state import InitialState
from embinit.lab.models.layers import no_dropout
from embinit.lab.models.masked_language_model import Masked, MaskedLanguageModel, mask_tokens
from embinit.lab.training.stacked import Losses, StackedTrainer
from embinit.lab.transfer import TransferRecipe
from embinit.randomness import stream


class Pretraining(StackedTrainer[MaskedLanguageModel]):
    """The pre-training of one stack on masked tokens, with curves in nats a masked word.

    Of no epochs there is the validation loss at the start. Validation masks the same words each
    time.
    """

    def __init__(self, initial: InitialState, device: str) -> None:
        self.spec = cast(TransferRecipe, initial.specs[0].recipe).training.pretraining
        self.masking = [stream(seed, "masking", device) for seed in initial.seeds]
        model = MaskedLanguageModel(
            initial.model(), [spec.recipe.architecture for spec in initial.specs]
        )
        model.initialise([spec.seed for spec in initial.specs])
        super().__init__(
            initial, model, self.spec, device, "/pretraining", self.spec.warm_up, self.masking
        )

    def run(self, progress: Callable[[float], None]) -> None:
        """Trains all epochs."""
        with own_stream(self.device):
            self.train_epochs(lambda done: progress(done / self.spec.epochs))
            if not self.spec.epochs:
                self.validate()

    def losses(self, chosen: Int[Tensor, "S B"], source: int, target: int) -> Losses:
        """The losses of the sentences ``chosen``, cut to ``source`` words."""
        masked = self._mask(self.data.train, chosen, source, self.masking)
        return self.model.losses(Masked(*map(self.per_run, masked)), self.dropout)

    def _mask(
        self,
        split: Split,
        chosen: Int[Tensor, "S B"],
        length: int,
        generators: Sequence[torch.Generator],
    ) -> Masked:
        ids = split.inputs[chosen, :length].long()
        words = self.model.encoder.shape.encoder_vocabulary
        return mask_tokens(ids, words, self.spec.share, generators)

    def validate(self) -> None:
        """Measures the validation split."""
        loss = self._on_validation(lambda masked: self.model.losses(masked, no_dropout))
        self.curves.validation_loss.append(loss)

    def accuracy(self) -> Float[Tensor, " R"]:
        """Each run's percentage of masked words of the validation split that it predicts."""
        return 100 * self._on_validation(self.model.right)

    def _on_validation(self, measure: Callable[[Masked], Losses]) -> Float[Tensor, " R"]:
        """Each run's mean of a measure over the same masked words each time."""
        split, generators = self.data.validation, [stream(0, "masking/validation", self.device)]

        def measured(batch: Tensor) -> Losses:
            longest = int(split.lengths[batch].max())
            return measure(self._mask(split, batch[None], longest, generators))

        return self.mean_loss(split, measured)
