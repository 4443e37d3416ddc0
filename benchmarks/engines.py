"""How fast embinit trains, compared with a plain loop on the same work.

The same model, data, batch size, epochs and optimizer; each engine trains translation from Xavier
tables with several seeds, and then translates the test split greedily. Each has a process of its
own with one thread. They take turns, seed by seed.

- ``stacked``: embinit, ``--stack`` arms of a seed at once, as most stacks of the suite are, in a
  process that keeps freed memory, as those of a session do.
- ``single``: embinit, stacks of one, in such a process.
- ``plain``: ``torch.nn`` transformer layers in a loop as one would write it, batches of similar
  length, one run after the other.

It prints seconds a run (training, and validation loss after each epoch), tokens a second (without
padding), validation loss and BLEU. Loss and BLEU must agree within noise: an engine that is fast
because it learns less is no faster.

    python benchmarks/engines.py --size micro [--engines stacked,plain] [--json FILE]
    python benchmarks/engines.py --size multi30k --data-dir DIR [--device cuda]
"""

from __future__ import annotations

import argparse
import contextlib
import math
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import torch
from records import dated, written
from torch import Tensor, nn
from torch.nn import functional as F

from embinit.lab.data.batching import Buckets, in_order
from embinit.lab.data.preparation import PreparedData, Split, prepare
from embinit.lab.data.vocabulary import BOS, EOS, PAD
from embinit.lab.experiments import ModelExperiment
from embinit.lab.models.graphs import own_stream
from embinit.lab.specs import Cut
from embinit.lab.tables import positions
from embinit.lab.tables.inits import INITS
from embinit.lab.training.scoring import bleu_of
from embinit.lab.training.stacked import EVALUATION_BATCH
from embinit.lab.training.stacks import StackTraining
from embinit.randomness import stream
from embinit.runs.kinds import Stack
from embinit_papers.kim2024.experiments import experiments


@dataclass(frozen=True)
class Work:
    """What an engine does with one seed: the experiment, its data, and the runs of a stack."""

    one: ModelExperiment
    data_dir: Path | None
    runs: int
    device: str


class Outcome(NamedTuple):
    """What an engine made of one seed: the seconds of a run, and its quality."""

    seconds: float
    loss: float
    bleu: float


def setting(size: str, epochs: int | None, train: int | None) -> ModelExperiment:
    """The experiment at a size: micro's translation, or Multi30k at the paper's sizes."""
    tier = {"micro": "micro", "multi30k": "sample"}[size]
    [one] = [
        found
        for found in experiments(tier, ("glove",), ("translation",))
        if found.data.task.startswith(("micro", "multi30k"))
    ]
    one = one.changed(training=replace(one.training, validation_bleu=False, precision="float32"))
    if size == "multi30k":
        one = replace(
            one,
            model=replace(one.model, layers=3, feed_forward=512, heads=10),
            data=replace(one.data, cut=Cut(train or 2000, 200, 100), min_freq=2),
            training=replace(one.training, batch_size=64, epochs=2),
        )
    if epochs:
        one = replace(one, training=replace(one.training, epochs=epochs))
    return one


def stacked(work: Work, seed: int) -> Outcome:
    """embinit with ``runs`` runs a stack: Xavier, and other arms of its seed to fill it up."""
    one = work.one
    # Sigma is part of a run alone, not of its shape, so these fill the stack without more work.
    others = [
        one.with_sigma(0.05 + 0.01 * number).changed(training=one.training).run("xavier", seed)
        for number in range(work.runs - 1)
    ]
    stack = Stack((one.run("xavier", seed), *others))
    with own_stream(work.device):
        training = StackTraining(stack, work.data_dir, work.device)
        started = time.perf_counter()
        for epoch in range(one.training.epochs):
            training.train_epoch(epoch)
            training.validate()
        seconds = time.perf_counter() - started
        training.restore_best()
        outputs = training._translate(training.data.test)
    scores, _ = bleu_of(outputs, training.data.test.references)
    loss = torch.stack(training.curves.validation_loss)[:, 0].min().item()
    return Outcome(seconds / work.runs, loss, scores[0])


class Plain(nn.Module):
    """The same transformer of ``torch.nn``'s layers."""

    def __init__(self, one: ModelExperiment, data: PreparedData, seed: int) -> None:
        super().__init__()
        shape, generator = one.model, stream(seed, "plain")
        torch.manual_seed(seed)
        options = {"dropout": shape.dropout, "batch_first": True}
        sizes = (shape.dim, shape.heads, shape.feed_forward)
        self.tables = nn.ModuleList()
        for vocabulary in data.vocabularies.values():
            wide = (len(vocabulary.words), shape.dim)
            table = INITS["xavier"](wide, vocabulary.special, generator)
            self.tables.append(nn.Embedding.from_pretrained(table, freeze=False, padding_idx=PAD))
        encoder = [nn.TransformerEncoderLayer(*sizes, **options) for _ in range(shape.layers)]
        self.encoder = nn.ModuleList(encoder)
        decoder = [nn.TransformerDecoderLayer(*sizes, **options) for _ in range(shape.layers)]
        self.decoder = nn.ModuleList(decoder)
        self.output = nn.Linear(shape.dim, len(data.vocabularies["decoder"].words))
        for module in self.modules():
            # embinit's conventions: dropout after sub-layers alone, each matrix by its own fan.
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
                for part in module.in_proj_weight.detach().chunk(3):
                    nn.init.xavier_uniform_(part)
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout = nn.Identity()
            elif isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        longest = max(split.inputs.shape[1] for split in (data.train, data.validation, data.test))
        longest = max(longest, data.train.targets.shape[1], data.test.targets.shape[1]) + 1
        self.register_buffer("places", positions.table("sinusoidal", longest, shape.dim))
        self.scale, self.rate = math.sqrt(shape.dim), shape.dropout

    def embed(self, side: int, ids: Tensor) -> Tensor:
        """Table x sqrt(D) + positions, (B, T, D)."""
        summed = self.tables[side](ids) * self.scale + self.places[: ids.shape[1]]
        return F.dropout(summed, self.rate, self.training)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """The encoder's output and its padding."""
        blank = source == PAD
        x = self.embed(0, source)
        for layer in self.encoder:
            x = layer(x, src_key_padding_mask=blank)
        return x, blank

    def decode(self, target: Tensor, memory: Tensor, blank: Tensor) -> Tensor:
        """Logits (B, T, words)."""
        x = self.embed(1, target)
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1], x.device)
        for layer in self.decoder:
            x = layer(x, memory, tgt_mask=causal, memory_key_padding_mask=blank, tgt_is_causal=True)
        return self.output(x)

    def losses(self, split: Split, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """Summed cross-entropy of a batch, and over how many words."""
        source = split.inputs[chosen, : int(split.lengths[chosen].max())].long()
        target = split.targets[chosen, : int(split.target_lengths[chosen].max())].long()
        logits = self.decode(target[:, :-1], *self.encode(source))
        following = target[:, 1:]
        total = F.cross_entropy(
            logits.flatten(0, 1), following.flatten(), ignore_index=PAD, reduction="sum"
        )
        return total, (following != PAD).sum()


def plain(work: Work, seed: int) -> Outcome:
    """A loop over batches of similar length."""
    data = prepare(work.one.data, work.data_dir).to(work.device)
    model, setup = Plain(work.one, data, seed).to(work.device), work.one.training
    optimizer = torch.optim.Adam(
        model.parameters(), lr=setup.lr, betas=setup.betas, eps=setup.eps, fused=True
    )
    buckets = Buckets(data.train.lengths, data.train.target_lengths, setup.batch_size)
    order, best, kept = stream(seed, "order"), math.inf, {}
    started = time.perf_counter()
    for epoch in range(setup.epochs):
        model.train()
        shuffled = buckets.shuffle(order)
        for batch in buckets.schedule(epoch):
            total, words = model.losses(data.train, shuffled[batch.group][batch.low : batch.high])
            optimizer.zero_grad(set_to_none=True)
            (total / words).backward()
            optimizer.step()
        loss = _validation_loss(model, data.validation)
        if loss < best:
            best = loss
            kept = {name: value.clone() for name, value in model.state_dict().items()}
    seconds = time.perf_counter() - started
    model.load_state_dict(kept)
    return Outcome(seconds, best, _bleu(model, data))


@torch.inference_mode()
def _validation_loss(model: Plain, split: Split) -> float:
    model.eval()
    pairs = [model.losses(split, part) for part in _parts(split)]
    return float(sum(total for total, _ in pairs) / sum(words for _, words in pairs))


def _parts(split: Split) -> Sequence[Tensor]:
    """The split in batches for evaluation, as the device takes them."""
    return in_order(split.lengths, EVALUATION_BATCH[split.inputs.device.type])


@torch.inference_mode()
def _bleu(model: Plain, data: PreparedData) -> float:
    """BLEU of the test split, translated greedily."""
    model.eval()
    split, outputs = data.test, [""] * len(data.test)
    for part in _parts(split):
        source = split.inputs[part, : int(split.lengths[part].max())].long()
        memory, words = model.encode(source), torch.full((len(part), 1), BOS, device=source.device)
        for _ in range(split.targets.shape[1]):
            following = model.decode(words, *memory)[:, -1].argmax(dim=-1, keepdim=True)
            words = torch.cat((words, following), dim=1)
            if bool((words == EOS).any(dim=1).all()):
                break
        for example, ids in zip(part.tolist(), words[:, 1:].tolist(), strict=True):
            outputs[example] = " ".join(data.vocabularies["decoder"].decode(ids))
    return bleu_of([outputs], split.references)[0][0]


def single(work: Work, seed: int) -> Outcome:
    """embinit with a run a stack."""
    return stacked(replace(work, runs=1), seed)


ENGINES: dict[str, Callable[[Work, int], Outcome]] = {
    engine.__name__: engine for engine in (stacked, single, plain)
}


def taking_turns(names: Sequence[str], work: Work, seeds: range) -> dict[str, list[Outcome]]:
    """What each engine made of each seed, in a process of its own, one seed after the other."""
    of_engines: dict[str, list[Outcome]] = {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        spawned = multiprocessing.get_context("spawn")
        processes = {
            name: stack.enter_context(ProcessPoolExecutor(1, spawned, torch.set_num_threads, (1,)))
            for name in names
        }
        for number, seed in enumerate(seeds):
            for name in names if number % 2 == 0 else reversed(names):
                outcome = processes[name].submit(ENGINES[name], work, seed).result()
                of_engines[name].append(outcome)
                print(f"{name}, seed {seed}: {outcome.seconds:.2f} s a run", flush=True)
    return of_engines


def tokens(data: PreparedData) -> int:
    """Words of the training split that one epoch reads, source and target."""
    return int(data.train.lengths.sum() + (data.train.target_lengths - 1).sum())


def main() -> None:
    """Run the engines in turn, print a table, write JSON."""
    parser = argparse.ArgumentParser(description="speed, compared with a plain loop")
    parser.add_argument("--size", choices=("micro", "multi30k"), default="micro")
    parser.add_argument("--engines", default=",".join(ENGINES), help="default: %(default)s")
    parser.add_argument("--stack", type=int, default=15, help="runs at once (default: 15)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="default: the size's own")
    parser.add_argument("--train", type=int, help="training pairs at multi30k (default: 2000)")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("EMBINIT_DATA"))
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    names = arguments.engines.split(",")
    one = setting(arguments.size, arguments.epochs, arguments.train)
    data = prepare(one.data, arguments.data_dir)
    read = tokens(data) * one.training.epochs
    rows = {}
    work = Work(one, arguments.data_dir, arguments.stack, arguments.device)
    for name, outcomes in taking_turns(names, work, range(arguments.seeds)).items():
        second, loss, bleu = map(statistics.fmean, zip(*outcomes, strict=True))
        rows[name] = {
            "runs_at_once": arguments.stack if name == "stacked" else 1,
            "seconds_a_run": round(second, 2),
            "tokens_a_second": round(read / second),
            "validation_loss": [round(outcome.loss, 4) for outcome in outcomes],
            "bleu": [round(outcome.bleu, 2) for outcome in outcomes],
        }
        print(
            f"{name:<12} {second:7.2f} s a run, {read / second:8.0f} tokens/s, "
            f"loss {loss:.3f}, BLEU {bleu:.1f}"
        )
    sizes = {"cohort": work.runs, "threads": 1, "pairs": len(data.train)}
    sizes["epochs"] = one.training.epochs
    written(arguments.json, dated(work.device, **sizes, engines=rows))


if __name__ == "__main__":
    main()
