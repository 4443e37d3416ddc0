"""Training a cohort: one stacked model, one loop, one result for each run.

Section 4 and A.2 of the paper: Adam (0.9, 0.98, 1e-9) at a constant learning rate; after every
epoch the validation split; the best epoch is that of the lowest validation loss for translation,
whose test BLEU is then reported, and that of the highest validation accuracy for classification.
MNLI's mismatched accuracy is likewise the highest over the epochs, whichever epoch that is.
A run whose loss stops being a number ends there with its reason; the others go on.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from embinit.data.batching import Buckets, in_order
from embinit.data.preparation import Split, prepare
from embinit.data.vocabulary import PAD
from embinit.errors import InputError
from embinit.models.decoding import greedy
from embinit.models.graphs import Replayed, cuda_graphs, own_stream
from embinit.models.layers import (
    Dropout,
    SeedDropout,
    no_dropout,
)
from embinit.models.losses import NOTHING, cross_entropy
from embinit.models.memory import WidestBatch, ran_out, runs_that_fit
from embinit.models.starting import Start, model_shape, table_measures
from embinit.randomness import stream, stream_seed
from embinit.runs.plan import Cohort
from embinit.runs.results import RunResult, provenance
from embinit.specs import TrainingSpec
from embinit.tables.diagnostics import table_statistics

Progress = Callable[[float], None]
"""Told the share of the work that is done, 0 to 1."""

Outputs = list[list[str]]
"""Each run's translations."""
Scores = tuple[list[float], str]
"""Each run's score, and the metric's signature."""

EVALUATION_BATCH = {"cpu": 32, "cuda": 512}
"""Examples at once where nothing is learnt: a core is quicker with what its caches hold."""


@dataclass
class Curves:
    """What is kept of each epoch: one (R,) tensor an epoch, on the CPU."""

    train_loss: list[Tensor] = field(default_factory=list)
    validation_loss: list[Tensor] = field(default_factory=list)
    validation_accuracy: list[Tensor] = field(default_factory=list)
    test_accuracy: list[Tensor] = field(default_factory=list)
    validation_bleu: list[Tensor] = field(default_factory=list)

    def score(self) -> Tensor:
        """What the best epoch is chosen by, (epochs, R), higher is better."""
        if self.validation_accuracy:
            return torch.stack(self.validation_accuracy)
        return -torch.stack(self.validation_loss)

    def of(self, run: int, epochs: int) -> dict[str, list[float]]:
        """One run's curves over its first ``epochs`` epochs."""
        return {
            name: [float(values[run]) for values in series[:epochs]]
            for name, series in vars(self).items()
            if series
        }


def train(
    cohort: Cohort,
    data_dir: Path | None = None,
    device: str = "cpu",
    progress: Progress = lambda share: None,
    sharers: int = 1,
) -> list[RunResult]:
    """Train the cohort's runs together; their results, in the cohort's order.

    As many at once as the device has memory for, where ``sharers`` processes train on it; fewer
    if that proves too many. InputError where not even one run has room.
    """
    at_once = len(cohort.runs)
    if _graph_key(cohort, data_dir, device) not in _graph_cache:
        _graph_cache.clear()
        at_once = _runs_that_fit(cohort, data_dir, device, sharers)
    return in_parts(
        cohort,
        at_once,
        lambda part, told: _training_of(part, data_dir, device).run(told),
        device,
        progress,
    )


def in_parts(
    cohort: Cohort,
    at_once: int,
    work: Callable[[Cohort, Progress], list[RunResult]],
    device: str,
    progress: Progress,
) -> list[RunResult]:
    """``work`` on the cohort, ``at_once`` runs at a time, on half as many if memory runs out.

    InputError where it runs out with one.
    """
    results: list[RunResult] = []
    while len(results) < len(cohort.runs):
        part = Cohort(cohort.runs[len(results) : len(results) + at_once])
        told = functools.partial(_tell, progress, cohort, part, len(results))
        try:
            results += work(part, told)
        except (RuntimeError, MemoryError) as error:
            _graph_cache.clear()
            if not ran_out(error):
                raise
            if at_once == 1:
                raise InputError(
                    f"{device} has too little memory for a single run of {part.runs[0].data.task}; "
                    "free some, or choose another device or smaller batches"
                ) from error
            at_once = -(-at_once // 2)
    return results


def _graph_key(cohort: Cohort, data_dir: Path | None, device: str) -> tuple[object, ...]:
    """Cohorts of one sort have tensors of the same shapes, and learn the same ones of them."""
    seeds = [run.seed for run in cohort.runs]
    trained = {run.table.trained for run in cohort.runs}
    pattern = tuple(sorted(set(seeds)).index(seed) for seed in seeds)
    return (cohort.runs[0].cohort_key, pattern, frozenset(trained), data_dir, device)


_graph_cache: dict[tuple[object, ...], CohortTraining] = {}
"""The newest cohort on a GPU: another of its sort takes its place, and uses its graphs again."""


def _training_of(cohort: Cohort, data_dir: Path | None, device: str) -> CohortTraining:
    sort = _graph_key(cohort, data_dir, device)
    if sort in _graph_cache:
        _graph_cache[sort].restart(cohort)
        return _graph_cache[sort]
    _graph_cache.clear()
    training = CohortTraining(cohort, data_dir, device)
    if training.on_gpu:
        _graph_cache[sort] = training
    return training


def _tell(progress: Progress, cohort: Cohort, part: Cohort, before: int, share: float) -> None:
    """``share`` of a part is done, and ``before`` runs of the cohort already."""
    progress((before + share * len(part.runs)) / len(cohort.runs))


def _runs_that_fit(cohort: Cohort, data_dir: Path | None, device: str, sharers: int) -> int:
    first = cohort.runs[0]
    assert isinstance(first.training, TrainingSpec)
    data = prepare(first.data, data_dir)
    widest = WidestBatch(
        min(first.training.batch_size, len(data.train)),
        int(data.train.lengths.max()),
        int(data.train.target_lengths.max()),
    )
    return runs_that_fit(model_shape(first, data), len(cohort.runs), widest, device, sharers)


class CohortTraining:
    """The state of one cohort in training."""

    def __init__(
        self,
        cohort: Cohort,
        data_dir: Path | None,
        device: str,
        carried: Mapping[str, Tensor] | None = None,
    ) -> None:
        """``carried`` are parameters and buffers to go on from, where there are such."""
        first = cohort.runs[0]
        assert first.model is not None
        assert isinstance(first.training, TrainingSpec)
        self.training, self.data_dir, self.device = first.training, data_dir, device
        self.on_gpu = torch.device(device).type == "cuda"
        self.data = prepare(first.data, data_dir).to(device)
        train = self.data.train
        self.buckets = Buckets(train.lengths, train.target_lengths, self.training.batch_size)
        self.start = Start(cohort.runs, self.data, data_dir)
        self.model = self.start.model()
        self.model.load_state_dict(carried or {}, strict=False)
        self.model.to(device)
        self.dropout = SeedDropout(
            [stream(seed, "dropout", device) for seed in self.start.seeds],
            self.start.seed_of_run.to(device),
            first.model.dropout,
        )
        self.optimizer = torch.optim.Adam(
            [parameter for parameter in self.model.parameters() if parameter.requires_grad],
            lr=self.training.lr,
            betas=self.training.betas,
            eps=self.training.eps,
            fused=True,
            capturable=self.on_gpu,
        )
        self.total = torch.zeros(len(self.start.specs), device=device)
        self.learn = self._step
        if self.on_gpu:
            self.learn = Replayed(self._step, cuda_graphs(self.dropout.generators))
        self._begin()

    def restart(self, cohort: Cohort) -> None:
        """Take another cohort of the same sort: every tensor is filled anew where it lies."""
        self.start = Start(cohort.runs, self.data, self.data_dir)
        self.model.load_state_dict(self.start.model().state_dict())
        for state in self.optimizer.state.values():
            for value in state.values():
                value.zero_()
        for generator, seed in zip(self.dropout.generators, self.start.seeds, strict=True):
            generator.manual_seed(stream_seed(seed, "dropout"))
        self._begin()

    def _begin(self) -> None:
        """Nothing is learnt yet."""
        self.orders = [stream(seed, "order") for seed in self.start.seeds]
        self.curves = Curves()
        self.best = {name: value.clone() for name, value in self._parameters()}
        self.answers = torch.full((len(self.start.specs), len(self.data.validation)), NOTHING)
        self._bleu_of_epochs: list[Future[Scores]] = []

    def _aside(self, score: Callable[[Outputs, Sequence[str]], Scores], *of: Any) -> Future[Scores]:
        """Score while the GPU trains on; on a CPU, whose core is taken, at once."""
        if self.on_gpu:
            return _scorer().submit(score, *of)
        done: Future[Scores] = Future()
        done.set_result(score(*of))
        return done

    def run(self, progress: Progress) -> list[RunResult]:
        """Train all epochs, keep each run's best, and score it."""
        started = time.perf_counter()
        with own_stream(self.device):
            for epoch in range(self.training.epochs):
                self._train_epoch(epoch)
                self._keep_best(self._validate())
                progress((epoch + 1) / (self.training.epochs + 1))
            self.curves.validation_bleu = [
                torch.tensor(one.result()[0]) for one in self._bleu_of_epochs
            ]
            measures, outputs, signature = self._score()
        # A run's share of the cohort's time, not what it would take alone.
        seconds = (time.perf_counter() - started) / len(self.start.specs)
        progress(1.0)
        return [
            self._result(run, values, outputs[run], signature, seconds)
            for run, values in enumerate(measures)
        ]

    def _train_epoch(self, epoch: int) -> None:
        self.model.train()
        orders = [self.buckets.shuffle(generator) for generator in self.orders]
        self.total.zero_()
        for batch in self.buckets.schedule(epoch):
            group = self.buckets.groups[batch.group]
            chosen = torch.stack([order[batch.group][batch.low : batch.high] for order in orders])
            if len(self.start.seeds) > 1:
                chosen = chosen[self.start.seed_of_run]
            self.learn(chosen.to(self.device), group.source, group.target)
        self.curves.train_loss.append((self.total / self.buckets.steps).cpu())

    def _step(self, chosen: Tensor, source: int, target: int) -> None:
        """Learn the examples ``chosen`` (S, B) of the training split, cut to so many words."""
        split = self.data.train
        targets = split.targets[chosen, :target] if split.targets is not None else None
        labels = split.labels[chosen] if split.labels is not None else None
        hidden, labels = self._forward(split.inputs[chosen, :source], targets, labels, self.dropout)
        losses, counted = cross_entropy(hidden, self.model.output, labels)
        losses = losses / counted
        self.optimizer.zero_grad(set_to_none=True)
        losses.sum().backward()
        self.optimizer.step()
        self.total += losses.detach()

    def _forward(
        self, inputs: Tensor, targets: Tensor | None, labels: Tensor | None, dropout: Dropout
    ) -> tuple[Tensor, Tensor]:
        """What goes into the output layer, (R, M, D), and what should come out of it, (S, M).

        The labels are NOTHING where it is padding.
        """
        if targets is None:
            assert labels is not None
            return self.model.mean_pool(inputs, dropout), labels
        words = targets.long()
        hidden = self.model.decode(inputs, words[..., :-1], dropout)
        following = words[..., 1:].flatten(1)
        return hidden, following.masked_fill(following == PAD, NOTHING)

    @torch.inference_mode()
    def _validate(self) -> Tensor:
        """A pass over the validation split, and over the test split where it is reported too.

        Returns what each run answered to the validation split's examples, (R, n).
        """
        self.model.eval()
        loss, accuracy, answers = self._evaluate(self.data.validation)
        self.curves.validation_loss.append(loss)
        if self.data.task.kind == "classification":
            self.curves.validation_accuracy.append(accuracy)
        if self.training.validation_bleu:
            outputs = self._translate(self.data.validation)
            self._bleu_of_epochs.append(
                self._aside(bleu_of, outputs, self.data.validation.references)
            )
        if self.data.task.reports_test:
            self.curves.test_accuracy.append(self._evaluate(self.data.test)[1])
        return answers

    def _evaluate(self, split: Split) -> tuple[Tensor, Tensor, Tensor]:
        """Each run's mean loss and percentage of right classes, (R,) each, and classes (R, n).

        The classes are NOTHING, and none is right, where the task has none.
        """
        shape = (len(self.start.specs), len(split))
        answers = torch.full(shape, NOTHING, device=self.device)
        loss = torch.zeros(len(self.start.specs), device=self.device)
        right, total = torch.zeros_like(loss), torch.zeros(1, device=self.device)
        for part in self._in_order(split):
            inputs, targets = _cut(split.inputs, split.lengths, part), None
            if split.targets is not None:
                targets = _cut(split.targets, split.target_lengths, part)
            labels = split.labels[part][None] if split.labels is not None else None
            hidden, labels = self._forward(inputs, targets, labels, no_dropout)
            losses, counted = cross_entropy(hidden, self.model.output, labels)
            loss += losses
            total += counted
            if split.labels is not None:
                chosen = self.model.output(hidden).argmax(dim=-1)
                right += (chosen == labels).sum(dim=-1)
                answers[:, part] = chosen
        return (loss / total).cpu(), (100 * right / total).cpu(), answers.cpu()

    def _in_order(self, split: Split) -> Sequence[Tensor]:
        return in_order(split.lengths, EVALUATION_BATCH[torch.device(self.device).type])

    def _keep_best(self, answers: Tensor) -> None:
        """Copy parameters and ``answers`` (R, n) of those runs whose newest epoch is their best."""
        score = self.curves.score()
        newest = score[-1]
        better = torch.ones(len(newest), dtype=torch.bool)
        if len(score) > 1:
            better = newest > score[:-1].nan_to_num(-torch.inf).max(dim=0).values
        better &= self._finite_epochs() == len(score)
        self.answers[better] = answers[better]
        chosen = better.to(self.device)
        for name, value in self._parameters():
            self.best[name][chosen] = value[chosen]

    def _parameters(self) -> list[tuple[str, Tensor]]:
        return [(name, value.detach()) for name, value in self.model.named_parameters()]

    def _finite_epochs(self) -> Tensor:
        """How many epochs each run finished before its loss stopped being a number, (R,)."""
        losses = torch.stack([*self.curves.train_loss, *self.curves.validation_loss])
        finite = losses.isfinite().view(2, -1, len(self.start.specs)).all(dim=0)
        return finite.long().cumprod(dim=0).sum(dim=0)

    def _score(self) -> tuple[list[dict[str, float]], list[list[str]], str]:
        """Each run's measures and outputs at its best epoch, and the metric's signature."""
        epochs = self._finite_epochs()
        score = self.curves.score()
        measures: list[dict[str, float]] = []
        for run, finished in enumerate(epochs.tolist()):
            if finished == 0:
                measures.append({})
                continue
            best = int(score[:finished, run].argmax())
            values = {
                "best_epoch": float(best + 1),
                "validation_loss": float(self.curves.validation_loss[best][run]),
            }
            if self.curves.validation_accuracy:
                values["accuracy"] = float(self.curves.validation_accuracy[best][run])
            if self.curves.test_accuracy:
                test = torch.stack(self.curves.test_accuracy)[:finished, run]
                values["test_accuracy"] = float(test.max())
                values["best_test_epoch"] = float(test.argmax() + 1)
                values["test_accuracy_then"] = float(test[best])
            measures.append(values)
        if self.data.task.kind == "classification":
            return measures, [[str(one) for one in run] for run in self.answers.tolist()], ""
        self.model.load_state_dict(self.best, strict=False)
        outputs = self._translate(self.data.test)
        scores, signature = bleu_of(outputs, self.data.test.references)
        for values, bleu in zip(measures, scores, strict=True):
            if values:
                values["bleu"] = bleu
        return measures, outputs, signature

    def _translate(self, split: Split) -> Outputs:
        """Each run's translations of the split as its model stands."""
        self.model.eval()
        vocabulary = self.data.vocabularies["decoder"]
        longest = self.start.positions["decoder"].shape[1] - 1
        outputs: Outputs = [[""] * len(split) for _ in self.start.specs]
        for chosen in self._in_order(split):
            inputs = _cut(split.inputs, split.lengths, chosen)[0]
            decoded = greedy(self.model, inputs, longest).tolist()
            for run, sentences in enumerate(decoded):
                for example, ids in zip(chosen.tolist(), sentences, strict=True):
                    outputs[run][example] = " ".join(vocabulary.decode(ids))
        return outputs

    def _references(self) -> tuple[str, ...]:
        """What the outputs should be: translations, or the numbers of classes."""
        labels = self.data.validation.labels
        if labels is None:
            return self.data.test.references
        return tuple(str(one) for one in labels.tolist())

    def _result(
        self,
        run: int,
        measures: dict[str, float],
        outputs: list[str],
        signature: str,
        seconds: float,
    ) -> RunResult:
        spec, tables = self.start.specs[run], self.start.tables[run]
        epochs = int(self._finite_epochs()[run])
        failure = None
        if epochs < self.training.epochs:
            failure = f"the loss stopped being a number in epoch {epochs + 1}"
        encoder = tables["encoder"]
        added = spec.positions.kind != "none"
        places = {side: rows[run] for side, rows in self.start.positions.items()} if added else {}
        return RunResult(
            spec=spec.as_dict(),
            measures=measures | table_measures(spec, encoder, self.start.positions["encoder"][run]),
            curves=self.curves.of(run, epochs),
            tables={side: table_statistics(t.values, t.special) for side, t in tables.items()},
            positions={side: table_statistics(rows) for side, rows in places.items()},
            coverage={side: table.coverage for side, table in tables.items()},
            examples={
                name: len(split)
                for name, split in (
                    ("train", self.data.train),
                    ("validation", self.data.validation),
                    ("test", self.data.test),
                )
            },
            signature=signature,
            outputs=tuple(outputs) if measures else (),
            references=self._references() if measures else (),
            failure=failure,
            provenance=provenance(self.device, seconds),
        )


def bleu_of(outputs: Outputs, references: Sequence[str]) -> Scores:
    """Each run's BLEU over the task's own tokens, and the metric's signature."""
    from sacrebleu.metrics.bleu import BLEU

    # Both sides are the same tokenizer's words already, so sacreBLEU must not cut them again.
    metric = BLEU(tokenize="none", force=True)
    scores = [float(metric.corpus_score(one, [list(references)]).score) for one in outputs]
    return scores, str(metric.get_signature())


@functools.cache
def _scorer() -> Executor:
    return ThreadPoolExecutor(1, "embinit-bleu")


def _cut(ids: Tensor, lengths: Tensor, chosen: Tensor) -> Tensor:
    """The chosen examples as one batch for all runs, (1, B, T), no wider than they need."""
    return ids[chosen, : int(lengths[chosen].max())].unsqueeze(0)
