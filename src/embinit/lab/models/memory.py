"""Memory: what training a stack takes, how many of its runs fit at once, and what is kept.

Estimates follow from shapes alone; ``SPARE`` is for what they leave out (libraries, fragments).
``benchmarks/steps.py`` compares them with what was used.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
from dataclasses import dataclass
from pathlib import Path

import torch

from embinit.lab.models.losses import MOST_BYTES
from embinit.lab.specs import ModelSpec

COPIES = 5
"""Copies of each parameter: value, gradient, Adam's two moments, the best epoch's value."""

SPARE = 0.8
"""The share of the free memory that a stack may be estimated to take."""


@dataclass(frozen=True)
class RunValues:
    """The numbers of values that the training of one run holds, in its widest batch.

    ``activations`` are those that the backward pass needs.
    """

    parameters: int
    activations: int
    logits: int


def activations(spec: ModelSpec, source: int, target: int = 0) -> int:
    """The number of activations that the backward pass needs per sentence of so many words.

    They are what the layers read back: so many widths D of the model and F of the feed-forward for
    each word. ``target`` is 0 without a decoder.
    """
    dim, inner = spec.dim, 2 * spec.feed_forward
    encoder = 3 * dim + spec.layers * (14 * dim + inner)
    decoder = 4 * dim + spec.layers * (22 * dim + inner)
    return source * encoder + target * decoder


def estimated_bytes(run: RunValues, runs: int, device: str = "cpu") -> int:
    """The estimated memory of training ``runs`` stacked runs in float32, in bytes."""
    logits = 4 * run.logits
    most_logits = max(MOST_BYTES[torch.device(device).type], logits)
    kept = COPIES * run.parameters + run.activations
    return 4 * runs * kept + 2 * min(runs * logits, most_logits)


def free_bytes(device: str, sharers: int = 1) -> int | None:
    """Free bytes of a GPU's or the machine's memory for one of ``sharers``; None if unknown."""
    if torch.device(device).type == "cuda":
        free, every = torch.cuda.mem_get_info(device)
        used = torch.cuda.memory_allocated(device)
        mine = torch.cuda.memory_reserved(device) - used
        return int(min(every // sharers - used, free + mine))
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return None  # macOS
    # What files are cached in would be given up, so it counts as free here.
    [available] = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(available) * 1024 // sharers


def runs_that_fit(run: RunValues, runs: int, device: str, sharers: int = 1) -> int:
    """How many of ``runs`` may train at once, at least one. A GPU's memory is then limited."""
    if torch.device(device).type == "cuda":
        free_memory()
        torch.cuda.set_per_process_memory_fraction(1 / sharers, torch.device(device).index)
    if (free := free_bytes(device, sharers)) is None:
        return runs
    sizes = (estimated_bytes(run, number, device) for number in range(1, runs + 1))
    return max(1, sum(size <= SPARE * free for size in sizes))


def free_memory() -> None:
    """Frees a GPU's memory of trainers that are done, which refer to themselves."""
    gc.collect()
    torch.cuda.empty_cache()


def ran_out(error: BaseException) -> bool:
    """Whether an error is an out-of-memory error of a GPU or a CPU."""
    known = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return known or (isinstance(error, RuntimeError) and "can't allocate memory" in str(error))


LARGEST_KEPT, MOST_KEPT = 32 * 2**20, 2**30
"""Bytes: the largest block that glibc lets a process keep, and how many it may keep in all."""


def keep_freed_memory() -> None:
    """Lets the process keep the memory that it frees, where the C library is glibc.

    Each block that a step frees and takes again would cost a page fault for every 4 KiB.
    """
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        mmap_threshold, trim_threshold = -3, -1  # M_... in malloc.h
        library.mallopt(mmap_threshold, LARGEST_KEPT)
        library.mallopt(trim_threshold, MOST_KEPT)
