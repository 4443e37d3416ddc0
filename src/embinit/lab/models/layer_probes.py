"""Layer probes of a frozen encoder: linear probes, and translation retrieval by cosine.

A sentence is the mean of a layer's states over its words; layer 0 is what the first layer reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from embinit.errors import InputError
from embinit.lab.data.batching import in_order
from embinit.lab.data.preparation import Split
from embinit.lab.data.vocabulary import EOS, PAD, SEP
from embinit.lab.models.transformer import StackedTransformer, mean_over_words

RIDGE = 1.0
"""The penalty of a probe on standardised features, small next to hundreds of examples."""


@torch.inference_mode()
def sentence_vectors(
    model: StackedTransformer, split: Split, batch: int, marks: bool = True
) -> Float[Tensor, "states R n D"]:
    """Each state's vector of each sentence; ``batch`` sentences at once.

    Without ``marks`` the ends and separators of sentences are left out of the means.
    """
    model.eval()
    layers, runs, dim = len(model.encoder_layers) + 1, model.runs, model.shape.spec.dim
    device = split.inputs.device
    vectors = torch.empty(layers, runs, len(split), dim, device=device)
    for chosen in in_order(split.lengths, batch):
        ids = split.inputs[chosen, : int(split.lengths[chosen].max())][None]
        counted = ids if marks else ids.masked_fill((ids == EOS) | (ids == SEP), PAD)
        for layer, state in enumerate(model.states(ids)):
            vectors[layer, :, chosen] = mean_over_words(state, counted)
    return vectors


def probe_accuracy(
    train: Float[Tensor, "... n D"],
    labels: Int[Tensor, " n"],
    test: Float[Tensor, "... m D"],
    answers: Int[Tensor, " m"],
    classes: int,
) -> Float[Tensor, ...]:
    """The accuracy in percent of a linear probe: ridge regression on one-hot labels.

    Features are standardised, as for scikit-learn's RidgeClassifier. InputError if fewer than two
    classes occur among ``labels``.
    """
    if len(labels.unique()) < 2:
        raise InputError("a probe needs at least two classes among its training examples")
    train, test = _standardised(train.double(), test.double())
    wanted = F.one_hot(labels, classes).to(train)
    offset = wanted.mean(dim=0)
    gram = train.mT @ train + RIDGE * torch.eye(train.shape[-1], dtype=train.dtype).to(train)
    weights = torch.linalg.solve(gram, train.mT @ (wanted - offset))
    chosen = (test @ weights + offset).argmax(dim=-1)
    accuracy: Tensor = 100 * (chosen == answers).double().mean(dim=-1)
    return accuracy


def retrieval_accuracy(vectors: Float[Tensor, "... pairs D"]) -> Float[Tensor, ...]:
    """Percent of sentences whose translation is the nearest by cosine, both ways averaged.

    The first half of the sentences is in one language, the others are their translations. Each
    language's mean is taken off.
    """
    first, second = (
        F.normalize(language - language.mean(dim=-2, keepdim=True), dim=-1)
        for language in vectors.double().chunk(2, dim=-2)
    )
    cosines = first @ second.mT
    right = torch.arange(cosines.shape[-1], device=vectors.device)
    there, back = (
        (similar.argmax(dim=-1) == right).double().mean(dim=-1) for similar in (cosines, cosines.mT)
    )
    return 100 * (there + back) / 2


def neighbour_accuracy(vectors: Float[Tensor, "... pairs D"]) -> Float[Tensor, ...]:
    """Percent of sentences whose translation is the nearest by Euclidean distance.

    As in the paper's A.9: the languages' mean difference is added to each sentence of the first
    language, whose nearest neighbour in the second must be its translation. Halves are as for
    ``retrieval_accuracy``.
    """
    first, second = vectors.double().chunk(2, dim=-2)
    moved = first + (second - first).mean(dim=-2, keepdim=True)
    nearest = torch.cdist(moved, second).argmin(dim=-1)
    right = nearest == torch.arange(nearest.shape[-1], device=vectors.device)
    accuracy: Tensor = 100 * right.double().mean(dim=-1)
    return accuracy


MIX_STEPS, MIX_RATE, MIX_WIDTH = 200, 1e-2, 64
"""The steps, the learning rate and the hidden width of a probe on a mix of layers."""


@torch.enable_grad()
def mix_accuracy(
    train: Float[Tensor, "states R n D"],
    labels: Int[Tensor, " n"],
    test: Float[Tensor, "states R m D"],
    answers: Int[Tensor, " m"],
    classes: int,
    generators: Sequence[torch.Generator],
) -> Float[Tensor, " R"]:
    """The accuracy in percent of two dense layers on a mix of all of a run's states.

    The mix has learnt weights that add up to 1 (Tenney et al. 2019). States are standardised. Each
    run's probe is trained alone, by Adam on all examples at once, from weights of its generator.
    """
    widths, found = (train.shape[-1], MIX_WIDTH, classes), []
    for run, generator in enumerate(generators):
        seen, asked = _standardised(train[:, run].clone(), test[:, run].clone())
        shapes = itertools.pairwise(widths)
        drawn = [torch.randn(shape, generator=generator) / shape[0] ** 0.5 for shape in shapes]
        drawn += [torch.zeros(size) for size in (len(train), *widths[1:])]
        learnt = [tensor.to(seen).requires_grad_() for tensor in drawn]
        optimizer = torch.optim.Adam(learnt, lr=MIX_RATE)
        for _ in range(MIX_STEPS):
            optimizer.zero_grad()
            F.cross_entropy(_answer(seen, *learnt), labels).backward()
            optimizer.step()
        found.append((_answer(asked, *learnt).argmax(dim=-1) == answers).double().mean())
    return 100 * torch.stack(found)


def _answer(
    states: Tensor, inner: Tensor, outer: Tensor, mix: Tensor, *biases: Tensor
) -> Float[Tensor, "n classes"]:
    mixed = torch.einsum("s,snd->nd", mix.softmax(dim=0), states)
    return torch.addmm(biases[1], torch.addmm(biases[0], mixed, inner).relu(), outer)


def _standardised(train: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    """Both by the training examples' means and standard deviations."""
    mean, sigma = train.mean(dim=-2, keepdim=True), train.std(dim=-2, keepdim=True)
    # A feature that never varies tells nothing.
    sigma = sigma.where(sigma > 0, 1.0)
    return (train - mean) / sigma, (test - mean) / sigma
