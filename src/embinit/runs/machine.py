"""The machine that trains: its cores, GPUs and memory, and processes that end with their parent."""

from __future__ import annotations

import os
import signal
import threading
import time


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS


SLOTS_PER_GPU = 6
"""The most stacks that a GPU trains at once, each in a process on a core of its own.

While one prepares its tables or scores its outputs, the others keep the GPU busy.
"""


def sharers(device: str) -> int:
    """The number of processes that train at once on ``cpu``, or on one GPU."""
    if device == "cpu":
        return cores()
    import torch

    return max(1, min(SLOTS_PER_GPU, cores() // max(1, torch.cuda.device_count())))


def training_devices(device: str) -> list[str]:
    """The device of each training slot: one per core on a CPU, some per GPU (``cuda`` is all)."""
    devices = [device]
    if device == "cuda":
        import torch

        devices = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    return devices * sharers(device)


def end_with(parent: int) -> None:
    """Ends this process once its parent is gone, and all of its group where it leads one."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        leads = os.getpgrp() == os.getpid()
        # While a function runs, os._exit ends its call alone.
        os.kill(0 if leads else os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
