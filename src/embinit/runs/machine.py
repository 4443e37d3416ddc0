"""The machine that trains: its cores, its GPUs, and processes that end with their parent."""

from __future__ import annotations

import os
import threading
import time


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS


def training_devices(device: str) -> list[str]:
    """The device of each training slot: one a core on a CPU, one on each GPU that is meant.

    ``cuda`` means every GPU that this process sees, ``cuda:1`` that one.
    """
    if device == "cpu":
        return ["cpu"] * cores()
    if device == "cuda":
        import torch

        return [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    return [device]


def end_with(parent: int) -> None:
    """End this process once its parent is gone: nobody would read what it goes on training."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
