"""What training the first paper's Tables 1 and 7 would cost, from the seconds of a step.

For each of the twelve settings of Table 5 a step of a whole stack (all arms of a seed), at its
vocabularies, widths, layers and batch, times its steps, epochs and seeds. Table 5's own minutes per
epoch come to 197 GPU-hours. Lengths are the mean words of a side as the tier's tokenizers cut it;
vocabulary, training pairs, epochs and batch are Table 5's.

Speed does not need the text, so ids are random.

    python benchmarks/steps.py [--device cuda] [--precision tf32] [--json FILE]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from records import dated, written

from embinit.lab.data.tasks import TASKS
from embinit.lab.models.embedding import Embedding
from embinit.lab.models.graphs import Replayed, Step, cuda_graphs
from embinit.lab.models.layers import SeedDropout
from embinit.lab.models.losses import cross_entropy
from embinit.lab.models.memory import RunValues, activations, estimated_bytes
from embinit.lab.models.transformer import ModelShape, StackedTransformer
from embinit.lab.tables import positions
from embinit_papers.kim2024.experiments import experiments
from embinit_papers.kim2024.printed import numbers

LENGTHS = {"sst2": (11, 0), "mnli": (35, 0), "multi30k": (15, 14), "iwslt2017": (25, 25)}
"""Mean words of the encoder's and the decoder's side, BOS and EOS counted."""

STEPS, WARM = 5, 2
"""On a GPU the first step runs as written, and the second is recorded."""


@dataclass(frozen=True)
class Work:
    """The shapes of one training step of a stack: its models, and their batch in words."""

    shape: ModelShape
    runs: int
    source: int
    target: int
    batch: int


def model_of(work: Work, device: str) -> StackedTransformer:
    """A stacked model with random tables."""
    shape, dim = work.shape, work.shape.spec.dim

    def embedding(words: int, length: int) -> Embedding:
        rows = positions.table("sinusoidal", length + 1, dim)
        return shape.embedding(
            tables=torch.randn(work.runs, words, dim) * 0.02,
            multipliers=torch.full((work.runs,), dim**0.5),
            positions=rows.repeat(work.runs, 1, 1),
            trained=torch.ones(work.runs, dtype=torch.bool),
        )

    decoder = embedding(shape.decoder_vocabulary, work.target) if shape.translates else None
    model = StackedTransformer(shape, embedding(shape.encoder_vocabulary, work.source), decoder)
    for run in range(work.runs):
        model.initialise(run, torch.Generator().manual_seed(run))
    return model.to(device)


def step_of(work: Work, device: str) -> tuple[Step, Sequence[torch.Generator]]:
    """A training step on random ids, and the generators it draws from."""
    model, shape = model_of(work, device), work.shape
    dropout = SeedDropout(
        [torch.Generator(device).manual_seed(0)],
        torch.zeros(work.runs, dtype=torch.long, device=device),
        0.1,
    )
    optimizer = torch.optim.Adam(
        model.parameters(), lr=1e-4, fused=True, capturable=device != "cpu"
    )

    def drawn(low: int, high: int, *words: int) -> torch.Tensor:
        return torch.randint(low, high, (1, work.batch, *words), device=device)

    source = drawn(5, shape.encoder_vocabulary, work.source)
    if shape.translates:
        target = drawn(5, shape.decoder_vocabulary, work.target + 1)
        labels = target[..., 1:].flatten(1)
    else:
        labels = drawn(0, shape.outputs)

    def step(chosen: torch.Tensor, words: int, target_words: int) -> None:
        if shape.translates:
            hidden = model.decode(source, target[..., :-1], dropout)
        else:
            hidden = model.mean_pool(source, dropout)
        losses, counted = cross_entropy(hidden, model.output, labels)
        optimizer.zero_grad(set_to_none=True)
        (losses / counted).sum().backward()
        optimizer.step()

    return step, dropout.generators


def seconds_of_a_step(work: Work, device: str) -> float:
    """The median of a few steps after some to warm up."""
    step, generators = step_of(work, device)
    graphs = Replayed(step, cuda_graphs(generators)) if device != "cpu" else step
    wait = torch.cuda.synchronize if device != "cpu" else lambda: None
    batch, times = torch.arange(work.batch, device=device)[None], []
    with torch.cuda.stream(torch.cuda.Stream(device)) if device != "cpu" else nullcontext():
        for _ in range(WARM + STEPS):
            wait()
            started = time.perf_counter()
            graphs(batch, work.source, work.target)
            wait()
            times.append(time.perf_counter() - started)
    return sorted(times[WARM:])[STEPS // 2]


def measured(work: Work, device: str) -> dict[str, Any]:
    """Seconds of a step, the estimated GiB, and on a GPU the peak."""
    torch.set_num_threads(1)
    if device != "cpu":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    try:
        seconds = seconds_of_a_step(work, device)
    except (RuntimeError, MemoryError) as error:
        return {"failed": str(error).splitlines()[0]}
    held = RunValues(
        work.shape.parameters,
        work.batch * activations(work.shape.spec, work.source, work.target),
        work.batch * max(1, work.target) * work.shape.outputs,
    )
    estimate = estimated_bytes(held, work.runs, device)
    row = {"seconds": round(seconds, 5), "estimated_gib": round(estimate / 2**30, 2)}
    if device != "cpu":
        row["memory_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    return row


def _said(row: dict[str, Any]) -> str:
    if "failed" in row:
        return f"failed, {row['failed']}"
    used = f"{row['memory_gib']:.2f} GiB of " if "memory_gib" in row else ""
    return f"{1000 * row['seconds']:9.1f} ms a step, {used}{row['estimated_gib']:.2f} GiB estimated"


def thousands(text: str) -> int:
    """``7.8k`` as a number."""
    return round(float(text.removesuffix("k")) * 1000)


@dataclass(frozen=True)
class Setting:
    """One of the paper's twelve experiments: its step, how many, and its GPU-hours by Table 5."""

    name: str
    work: Work
    steps: int
    paper_hours: float


def settings(precision: str = "float32") -> list[Setting]:
    """The twelve, with all arms that Tables 1 and 7 print in one stack a seed."""
    found = []
    for one in experiments("paper"):
        name, family, model = one.data.task.split("-")[0], one.source_role, one.model
        assert model is not None
        printed = numbers()["table_5"][family][name]
        arms = sum(name in cells for cells in numbers()["tables_1_and_7"][family].values())
        words = [thousands(size) for size in printed["vocabulary"]]
        classes = TASKS[one.data.task].classes
        decoder = 0 if classes else words[-1]
        shape = ModelShape(model, words[0], decoder, decoder or classes, precision)
        work = Work(shape, arms, *LENGTHS[name], printed["batch_size"])
        steps = -(-thousands(printed["train_size"]) // work.batch) * printed["epochs"] * one.seeds
        hours = arms * one.seeds * printed["epochs"] * float(printed["minutes_per_epoch"]) / 60
        found.append(Setting(f"{family} {name}", work, steps, hours))
    return found


def bill(device: str, precision: str) -> dict[str, Any]:
    """Each of the twelve settings, and their sum in hours beside the paper's."""
    rows, ours = {}, 0.0
    for one in settings(precision):
        row = measured(one.work, device)
        if "failed" not in row:
            row["hours"] = round(one.steps * row["seconds"] / 3600, 3)
            ours += row["hours"]
        rows[one.name] = {**row, "steps": one.steps, "paper_hours": round(one.paper_hours, 2)}
        print(f"{one.name:<16} {_said(row)}, {row.get('hours')} h", flush=True)
    theirs = sum(one.paper_hours for one in settings())
    print(f"training alone: {ours:.1f} hours here, {theirs:.0f} by the paper's minutes per epoch")
    return {"settings": rows, "hours": round(ours, 2), "paper_hours": round(theirs, 1)}


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser(description="what training Tables 1 and 7 would cost")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = bill(arguments.device, arguments.precision)
    written(arguments.json, dated(arguments.device, **found))


if __name__ == "__main__":
    main()
