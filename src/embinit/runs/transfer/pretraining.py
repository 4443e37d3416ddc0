"""Pre-training a cohort: stacked masked language models on one text, from its runs' starts."""

from __future__ import annotations

import torch
from torch import Tensor

from embinit.data.batching import Buckets, in_order
from embinit.data.preparation import Split
from embinit.errors import InputError
from embinit.models.graphs import Replayed, Step, cuda_graphs, own_stream
from embinit.models.layers import SeedDropout, no_dropout
from embinit.models.losses import cross_entropy
from embinit.models.masked_language_model import MaskedLanguageModel
from embinit.models.masking import Masked, mask_tokens
from embinit.models.starting import Start
from embinit.randomness import stream
from embinit.runs.training import EVALUATION_BATCH, Progress
from embinit.specs import PretrainingSpec, TransferSpec


class Pretraining:
    """The state of one cohort while it learns to guess hidden words.

    ``train_loss`` and ``validation_loss`` have one (R,) tensor an epoch, in nats a hidden word; of
    no epochs there is the validation loss at the start. The words that validation hides are the
    same in every epoch, arm and seed.
    """

    def __init__(self, start: Start, device: str) -> None:
        first = start.specs[0]
        assert first.model is not None
        assert isinstance(first.training, TransferSpec)
        self.start, self.device = start, device
        self.spec: PretrainingSpec = first.training.pretraining
        self.data = start.data.to(device)
        self.words = len(start.data.vocabularies["encoder"].words)
        train = self.data.train
        self.buckets = Buckets(train.lengths, torch.zeros_like(train.lengths), self.spec.batch_size)
        self.model = MaskedLanguageModel(start.model())
        for run, spec in enumerate(start.specs):
            self.model.initialise(run, spec.seed)
        self.model.to(device)
        self.dropout = SeedDropout(
            [stream(seed, "dropout/pretraining", device) for seed in start.seeds],
            start.seed_of_run.to(device),
            first.model.dropout,
        )
        self.hiding = [stream(seed, "masking", device) for seed in start.seeds]
        # A tensor, so that a recorded step reads each step's own rate.
        self.rate = torch.zeros((), device=device)
        on_gpu = torch.device(device).type == "cuda"
        self.optimizer = torch.optim.Adam(
            [parameter for parameter in self.model.parameters() if parameter.requires_grad],
            lr=self.rate,
            betas=self.spec.betas,
            eps=self.spec.eps,
            fused=True,
            capturable=on_gpu,
        )
        self.total = torch.zeros(len(start.specs), device=device)
        self.learn: Step = self._step
        if on_gpu:
            generators = [*self.dropout.generators, *self.hiding]
            self.learn = Replayed(self._step, cuda_graphs(generators))
        self.train_loss: list[Tensor] = []
        self.validation_loss: list[Tensor] = []

    def run(self, progress: Progress) -> None:
        """Train all epochs."""
        with own_stream(self.device):
            self._run(progress)

    def _run(self, progress: Progress) -> None:
        orders = [stream(seed, "order/pretraining") for seed in self.start.seeds]
        steps, step = self.spec.epochs * self.buckets.steps, 0
        for epoch in range(self.spec.epochs):
            self.model.train()
            shuffled = [self.buckets.shuffle(generator) for generator in orders]
            self.total.zero_()
            for batch in self.buckets.schedule(epoch):
                group = self.buckets.groups[batch.group]
                chosen = torch.stack(
                    [order[batch.group][batch.low : batch.high] for order in shuffled]
                )
                self.rate.fill_(self.spec.lr * lr_factor(step, steps, self.spec.warm_up))
                self.learn(chosen.to(self.device), group.source, 0)
                step += 1
            self.train_loss.append((self.total / self.buckets.steps).cpu())
            self.validation_loss.append(self._validate())
            progress((epoch + 1) / self.spec.epochs)
        if not self.spec.epochs:
            self.validation_loss.append(self._validate())

    def _step(self, chosen: Tensor, source: int, _: int) -> None:
        """Learn the sentences ``chosen`` (S, B), cut to so many words."""
        masked = self._hide(self.data.train, chosen, source, self.hiding)
        losses, counted = self._losses(masked, training=True)
        losses = losses / counted
        self.optimizer.zero_grad(set_to_none=True)
        losses.sum().backward()
        self.optimizer.step()
        self.total += losses.detach()

    def _hide(
        self, split: Split, chosen: Tensor, length: int, generators: list[torch.Generator]
    ) -> Masked:
        ids = split.inputs[chosen, :length].long()
        return mask_tokens(ids, self.words, self.spec.share, generators)

    def _losses(self, masked: Masked, training: bool) -> tuple[Tensor, Tensor]:
        """Each run's summed loss (R,), and over how many words (R,)."""
        seen, positions, labels = masked
        if len(self.start.seeds) > 1 and training:
            seen, positions, labels = (part[self.start.seed_of_run] for part in masked)
        read = self.model(seen, positions, self.dropout if training else no_dropout)
        return cross_entropy(read, self.model.output(), labels)

    @torch.inference_mode()
    def _validate(self) -> Tensor:
        """Each run's mean loss over the validation split, (R,)."""
        self.model.eval()
        split, hiding = self.data.validation, [stream(0, "masking/validation", self.device)]
        loss = torch.zeros(len(self.start.specs), device=self.device)
        total = torch.zeros(1, device=self.device)
        for part in in_order(split.lengths, EVALUATION_BATCH[torch.device(self.device).type]):
            masked = self._hide(split, part[None], int(split.lengths[part].max()), hiding)
            losses, counted = self._losses(masked, training=False)
            loss += losses
            total += counted
        return (loss / total).cpu()


def lr_factor(step: int, steps: int, warm_up: float) -> float:
    """The share of the learning rate at ``step`` of so many: up to 1, then down towards 0.

    InputError unless ``warm_up`` is from 0 to below 1.
    """
    if not 0 <= warm_up < 1:
        raise InputError(f"the rate can't rise over {warm_up} of the steps: name 0 to below 1")
    rising = warm_up * steps
    if step + 1 < rising:
        return (step + 1) / rising
    return (steps - step) / (steps - rising + 1)
