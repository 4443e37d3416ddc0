"""Random streams, one a purpose, so that changing one thing leaves the others' draws alone.

Common random numbers are what makes pairing by seed worth having: the arms of a seed share data
order, dropout masks and every weight but the tables. The streams of a seed are independent of one
another and of every other seed's, being keyed by a hash of both.
"""

from __future__ import annotations

import hashlib

import torch


def stream_seed(seed: int, purpose: str) -> int:
    """A 63-bit seed from a replicate's seed and what the stream is for."""
    digest = hashlib.sha256(f"embinit/{purpose}/{seed}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def stream(seed: int, purpose: str, device: str = "cpu") -> torch.Generator:
    """The stream of ``seed`` for ``purpose`` (``embedding/encoder``, ``weights``, ``order`` …)."""
    return torch.Generator(device).manual_seed(stream_seed(seed, purpose))
