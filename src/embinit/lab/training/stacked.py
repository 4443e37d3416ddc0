"""The training loop of a stacked model: batches, steps and memory.

What a batch's loss is and what is measured after an epoch is left to subclasses. Shapes: R runs of
S seeds, B examples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from embinit.errors import InputError
from embinit.lab.data.batching import Buckets, in_order
from embinit.lab.data.preparation import Split
from embinit.lab.models.embedding import Embedding
from embinit.lab.models.graphs import Replayed, Step, cuda_graphs
from embinit.lab.models.initial_state import InitialState
from embinit.lab.models.layers import SeedDropout
from embinit.lab.models.memory import (
    RunValues,
    free_memory,
    keep_freed_memory,
    ran_out,
    runs_that_fit,
)
from embinit.lab.specs import PretrainingSpec, TrainingSpec
from embinit.lab.training.scoring import EpochCurves
from embinit.randomness import stream
from embinit.runs.kinds import RunContext, Stack
from embinit.runs.results import RunResult
from embinit.specs import R

Settings = TrainingSpec | PretrainingSpec
"""Procedures with a batch size, epochs, a learning rate or its peak, and Adam's constants."""

ON_CPU = RunContext(None)
"""The place where a stack is trained by default: a CPU without a data directory."""

EVALUATION_BATCH = {"cpu": 32, "cuda": 512}
"""Examples per evaluation batch: a core is faster with batches that fit its caches."""

LANES = 16
"""The most elements in one CPU vector instruction.

What is left over after the last full vector is computed by other instructions, which round
differently. So that a run's bits do not depend on its place in the stack, a parameter of which a
run has no multiple of this many elements is learnt run by run.
"""

Model = TypeVar("Model", bound=nn.Module)

Losses = tuple[Float[Tensor, " R"], Int[Tensor, " _"]]
"""Each run's summed loss, and its number of labels: (R,), or (1,) if all runs have the same."""


def evaluation_batch(device: str) -> int:
    """The number of examples in an evaluation batch on the device."""
    return EVALUATION_BATCH[torch.device(device).type]


class StackedTrainer(ABC, Generic[Model]):
    """The state of one stack in training."""

    def __init__(
        self,
        initial: InitialState,
        model: Model,
        settings: Settings,
        device: str,
        purpose: str = "",
        warm_up: float | None = None,
        generators: Sequence[torch.Generator] = (),
    ) -> None:
        """A trainer before its first step.

        ``purpose`` is appended to the names of the random streams. The learning rate is constant,
        or rises and falls by ``lr_factor`` with ``warm_up``. ``generators`` are what a step draws
        from besides dropout.
        """
        keep_freed_memory()
        spec = initial.specs[0].recipe.architecture
        assert spec is not None
        self.initial, self.settings, self.device = initial, settings, device
        self.runs = len(initial.specs)
        self.on_gpu = torch.device(device).type == "cuda"
        self.data = initial.data.to(device)
        train = self.data.train
        self.buckets = Buckets(train.lengths, train.target_lengths, settings.batch_size)
        self.model = model.to(device)
        self.seed_of_run = initial.seed_of_run.to(device)
        self.orders = [stream(seed, f"order{purpose}") for seed in initial.seeds]
        self.curves = EpochCurves()
        self.dropout = SeedDropout(
            [stream(seed, f"dropout{purpose}", device) for seed in initial.seeds],
            self.seed_of_run,
            spec.dropout,
        )
        learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
        times = [spec.recipe.table.rate for spec in initial.specs]
        tables = _tables(model) if set(times) != {1.0} else set()
        # For each parameter with elements left over (see ``LANES``), and each table of a rate of
        # its own, one parameter a run.
        self.per_run_parameters = {
            parameter: [nn.Parameter(of_run) for of_run in parameter.detach().unbind()]
            for parameter in learnt
            if parameter in tables or (parameter[0].numel() % LANES and not self.on_gpu)
        }
        whole = [parameter for parameter in learnt if parameter not in self.per_run_parameters]
        groups = defaultdict(list, {1.0: whole} if whole else {})
        for parameter, of_each_run in self.per_run_parameters.items():
            of_runs = times if parameter in tables else [1.0] * len(of_each_run)
            for of_run, factor in zip(of_each_run, of_runs, strict=True):
                groups[factor].append(of_run)
        self._warm_up = warm_up
        # A rate that changes is a tensor, so that a recorded step reads each step's own.
        changing = () if warm_up is None else groups
        self.rates = {factor: torch.zeros((), device=device) for factor in changing}
        # Adam's update is element by element, so every run has the bits that it has alone.
        self.optimizer = torch.optim.Adam(
            [
                {"params": params, "lr": self.rates.get(factor, settings.lr * factor)}
                for factor, params in groups.items()
            ],
            betas=settings.betas,
            eps=settings.eps,
            fused=True,
            capturable=self.on_gpu,
        )
        self.total = torch.zeros(self.runs, device=device)
        self.learn: Step = self.step
        if self.on_gpu:
            self.learn = Replayed(self.step, cuda_graphs([*self.dropout.generators, *generators]))

    @abstractmethod
    def losses(self, chosen: Int[Tensor, "S B"], source: int, target: int) -> Losses:
        """The losses of the training examples ``chosen``, cut to so many words."""

    @abstractmethod
    def validate(self) -> None:
        """Measure the model after an epoch, and add that to ``curves``."""

    def is_measured(self, epoch: int) -> bool:
        """Whether an epoch, counted from 0, is measured; the first ones need not be."""
        return True

    def train_epochs(self, done: Callable[[int], None]) -> None:
        """Trains and measures all epochs; ``done`` gets the number of finished ones."""
        for epoch in range(self.settings.epochs):
            self.train_epoch(epoch)
            if self.is_measured(epoch):
                self.validate()
            done(epoch + 1)

    def train_epoch(self, epoch: int) -> None:
        """Trains one epoch, each seed in its own order of examples."""
        self.model.train()
        orders = [self.buckets.shuffle(generator) for generator in self.orders]
        self.total.zero_()
        first = epoch * self.buckets.steps
        for number, batch in enumerate(self.buckets.schedule(epoch), start=first):
            group = self.buckets.groups[batch.group]
            chosen = torch.stack([order[batch.group][batch.low : batch.high] for order in orders])
            self._set_rates(number)
            self.learn(chosen.to(self.device), group.source, group.target)
        self.curves.train_loss.append((self.total / self.buckets.steps).cpu())

    def _set_rates(self, number: int) -> None:
        """Sets the rates of step ``number``, counted from 0 over all epochs, where they change."""
        if self._warm_up is None:
            return
        steps = self.settings.epochs * self.buckets.steps
        rate = self.rates[1.0].fill_(self.settings.lr * lr_factor(number, steps, self._warm_up))
        for factor, of_tables in self.rates.items():
            torch.mul(rate, factor, out=of_tables)

    def step(self, chosen: Int[Tensor, "S B"], source: int, target: int) -> None:
        """Takes a step on the examples ``chosen`` of the training split, cut to so many tokens."""
        losses, counted = self.losses(chosen, source, target)
        losses = losses / counted
        self.model.zero_grad(set_to_none=True)
        losses.sum().backward()
        for parameter, of_each_run in self.per_run_parameters.items():
            if parameter.grad is not None:
                for of_run, gradient in zip(of_each_run, parameter.grad.unbind(), strict=True):
                    of_run.grad = gradient
        self.optimizer.step()
        self.total += losses.detach()

    def per_run(self, of_seeds: Shaped[Tensor, "S ..."]) -> Shaped[Tensor, "_ ..."]:
        """Values of seeds, repeated for each run of a seed; those of a single seed broadcast."""
        return of_seeds if len(of_seeds) == 1 else of_seeds[self.seed_of_run]

    def batches_of(self, split: Split) -> Sequence[Int[Tensor, " _"]]:
        """The split's examples in batches for evaluation."""
        return in_order(split.lengths, evaluation_batch(self.device))

    @torch.inference_mode()
    def mean_loss(
        self, split: Split, losses: Callable[[Int[Tensor, " B"]], Losses]
    ) -> Float[Tensor, " R"]:
        """Each run's mean over the split, on the CPU; ``losses`` gives those of a batch."""
        self.model.eval()
        loss = torch.zeros(self.runs, device=self.device)
        total = torch.zeros(1, device=self.device)
        for batch in self.batches_of(split):
            of_batch, counted = losses(batch)
            loss += of_batch
            total += counted
        return (loss / total).cpu()


def _tables(model: nn.Module) -> set[nn.Parameter]:
    """The model's input tables."""
    return {module.table for module in model.modules() if isinstance(module, Embedding)}


def lr_factor(step: int, steps: int, warm_up: float) -> float:
    """The schedule's factor of the learning rate at ``step``: it rises to 1, then falls to 0.

    Steps count from 0; it rises over the share ``warm_up`` of them. InputError unless that is from
    0 to below 1.
    """
    if not 0 <= warm_up < 1:
        raise InputError(f"the rate can't rise over {warm_up} of the steps: name 0 to below 1")
    rising = warm_up * steps
    if step + 1 < rising:
        return (step + 1) / rising
    return (steps - step) / (steps - rising + 1)


def in_parts(
    stack: Stack[R],
    held: RunValues,
    work: Callable[[Stack[R], RunContext], list[RunResult]],
    context: RunContext,
    most: int | None = None,
) -> list[RunResult]:
    """Does ``work`` on as many runs at a time as have room, on half of them if memory runs out.

    A run is estimated to hold ``held``; at most ``most`` runs are taken. InputError if memory is
    too little for a single run.
    """
    at_once = runs_that_fit(held, len(stack.runs), context.device, context.sharers)
    at_once = expected = min(at_once, most or at_once)
    results: list[RunResult] = []
    while len(results) < len(stack.runs):
        if results or at_once < expected:
            free_memory()  # outside of the handler, whose error holds what failed
        subset = Stack(stack.runs[len(results) : len(results) + at_once])
        done, taken = (len(runs) / len(stack.runs) for runs in (results, subset.runs))
        try:
            results += work(subset, part_of(context, done, taken))
        except (RuntimeError, MemoryError) as error:
            if not ran_out(error):
                raise
            if at_once == 1:
                raise InputError(
                    f"{context.device} has too little memory for a single run of "
                    f"{subset.runs[0].recipe.task}; free some, or choose another device or smaller "
                    "batches"
                ) from error
            at_once = -(-at_once // 2)
    return results


def part_of(context: RunContext, done: float, taken: float) -> RunContext:
    """A context whose progress is of a part of the work: the share ``taken``, after ``done``."""
    return replace(context, progress=lambda share: context.progress(done + share * taken))
