"""Tables and what can be said of them before anything trains; no pytest, no training.

Run it by ``python examples/tables.py``.
"""

import torch

from embinit.lab.data.sources import SOURCES
from embinit.lab.tables.diagnostics import nearest_neighbours, pe_share, table_statistics
from embinit.lab.tables.inits import INITS, xavier_sigma
from embinit.lab.tables.positions import sinusoidal


def main():
    """Print the width of three inits, and what adding positions does to each."""
    source = SOURCES["micro-glove"](None)
    words = list(source.table.words)[:500]
    vectors = source.lookup(words).values  # (N, D)
    special = torch.zeros(len(words), dtype=torch.bool)  # no pad row here
    pe = sinusoidal(32, source.dim)  # (L, D), sentences of up to 32 words
    multiplier = source.dim**0.5  # the transformer's √D

    print(f"Xavier's sigma for this shape: {xavier_sigma(*vectors.shape):.3f}")
    for name in ("xavier", "pretrained", "pretrained_xavier"):
        generator = torch.Generator().manual_seed(0)
        table = INITS[name](tuple(vectors.shape), special, generator, vectors)
        read = table * multiplier
        print(
            f"{name:18} sigma {table_statistics(table, special).sigma:.3f}, "
            f"the positions' share of the variance {pe_share(read, pe, special):.2f}"
        )
    nearest = nearest_neighbours(vectors, k=3, special=special)
    print(f"nearest to {words[0]!r}: {', '.join(words[row] for row in nearest[0])}")


if __name__ == "__main__":
    main()
