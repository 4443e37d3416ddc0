"""Independent random streams, one per purpose: a change to one leaves the others alone.

The arms of a seed share data order, dropout masks and every weight but the tables. A stream is
keyed by a hash of seed and purpose, so streams are independent of one another.
"""

from __future__ import annotations

import hashlib

import torch


def stream(seed: int, purpose: str, device: str = "cpu") -> torch.Generator:
    """The random stream of a seed for a purpose, such as ``weights``; devices differ in it."""
    digest = hashlib.sha256(f"embinit/{purpose}/{seed}".encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8], "big") >> 1)  # 63 bits
