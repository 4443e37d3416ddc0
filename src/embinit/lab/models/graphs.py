"""A training step as one CUDA graph for each shape of batch, which is launched at once.

A shape's first batch runs as written, which warms libraries up and lets the optimizer make its
state; its second is recorded, and later ones replayed. What a step reads and writes keeps its
address; only the batch's indices are copied into the tensor that was recorded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

Step = Callable[[Tensor, int, int], None]
"""Learns a batch: its examples (S, B), and how many words of source and target are read."""

Record = Callable[[Callable[[], None]], Callable[[], None]]
"""Captures the kernels that a function launches without running them; returns their replay."""


class Replayed:
    """A training step that is replayed from a CUDA graph once a batch shape has been seen."""

    def __init__(self, step: Step, record: Record) -> None:
        self._step, self._record = step, record
        self._seen: set[tuple[Any, ...]] = set()
        self._replays: dict[tuple[Any, ...], tuple[Tensor, Callable[[], None]]] = {}

    def __call__(self, chosen: Int[Tensor, "S B"], source: int, target: int) -> None:
        """Runs or replays the step on a batch."""
        shape = (tuple(chosen.shape), source, target)
        if shape not in self._seen:
            self._seen.add(shape)
            self._step(chosen, source, target)
            return
        if shape not in self._replays:
            recorded = chosen.clone()
            replay = self._record(lambda: self._step(recorded, source, target))
            self._replays[shape] = recorded, replay
        recorded, replay = self._replays[shape]
        recorded.copy_(chosen, non_blocking=True)
        replay()


def cuda_graphs(generators: Sequence[torch.Generator]) -> Record:
    """Records CUDA graphs that share a pool of memory and draw on from where ``generators`` are."""
    pool = torch.cuda.graph_pool_handle()

    def record(function: Callable[[], None]) -> Callable[[], None]:
        graph = torch.cuda.CUDAGraph()
        for generator in generators:
            graph.register_generator_state(generator)
        # The stream that the steps before ran on: autograd's leaves remember theirs.
        with torch.cuda.graph(graph, pool=pool, stream=torch.cuda.current_stream()):
            function()
        return graph.replay

    return record


@contextlib.contextmanager
def own_stream(device: str) -> Iterator[None]:
    """A CUDA stream of its own, since graphs can't be recorded on the default one."""
    if torch.device(device).type != "cuda":
        yield
        return
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.device(device), torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream(device).wait_stream(stream)
