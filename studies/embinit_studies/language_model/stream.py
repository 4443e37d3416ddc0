"""The residual stream of a model: the embedding's share of each state.

Every sub-layer adds to the stream, so a state is the embedding plus all that was added since. In a
pre-norm model nothing rescales it, and a large-sigma table outweighs the layers' output: they read
little but the embedding, and their norms shrink the gradient that reaches it.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def embedding_shares(
    states: Iterable[Float[Tensor, "R M D"]], real: Bool[Tensor, "_ M"]
) -> Float[Tensor, "states R"]:
    """The share of each state's energy in the embedding's direction, averaged over tokens.

    It is the squared cosine of a word's state with its embedding: 1 for the embedding itself, and
    |e|² / (|e|² + |a|²) where what was added, a, is orthogonal to the embedding e.

    Args:
        states: The embeddings, then the states after each layer.
        real: Which of the M words are no padding, for all runs or for each.

    Returns:
        A share for each state and run, from 0 to 1.
    """
    shares: list[Tensor] = []
    embedding: Tensor | None = None
    for state in states:
        embedding = state if embedding is None else embedding
        cosines = torch.nn.functional.cosine_similarity(state, embedding, dim=-1)
        chosen = real.expand(len(state), -1)
        # Run by run: the order of a sum over several runs depends on how many there are.
        shares.append(
            torch.stack(
                [
                    of_run[kept].square().mean()
                    for of_run, kept in zip(cosines.unbind(), chosen.unbind(), strict=True)
                ]
            )
        )
    return torch.stack(shares)
