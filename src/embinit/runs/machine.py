"""The machine that trains: its cores, its GPUs, and processes that end with their parent."""

from __future__ import annotations

import os
import threading
import time


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS


def training_devices(device: str) -> list[str]:
    """The device of each training slot: one slot per core on a CPU, one per GPU.

    Args:
        device: ``cpu``, ``cuda`` for every GPU that this process sees, or one GPU such as
            ``cuda:1``.
    """
    if device == "cpu":
        return ["cpu"] * cores()
    if device == "cuda":
        import torch

        return [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    return [device]


def end_with(parent: int) -> None:
    """Ends this process once its parent is gone, since nobody would read its results.

    Args:
        parent: The parent's process id.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
