"""A small ELMo: two language models, forward and backward, over words made of characters.

From ELMo (Peters et al. 2018, section 3) and its authors' program (bilm-tf): characters 16 wide;
convolutions of widths 1 to 7 over them, of which each filter's largest value counts; ReLU; two
highway layers; a projection to D; two layers of LSTMs a direction, the second's output added to the
first's; one softmax for both directions; the mean of both losses; starts of all weights as there;
Adagrad at 0.2, whose squares start at 1, with gradients clipped to a norm of 10. The table is the
projection's output for each word, which no context has touched. Nothing in the objective refers to
its scale: the LSTMs read it through weights of their own, and the output isn't tied to it.

Unlike ELMo, because the model is 1,000 times smaller: an eighth of its filters and of D, LSTMs of D
cells in place of eight times as many that are projected to D, a full softmax, no dropout, no
clipped states, five passes in place of ten. Sentences stand alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn import functional

from embinit.lab.table_pretraining.corpus import Corpus
from embinit.lab.table_pretraining.language_model import LanguageModel

CHARACTER_DIM = 16
FILTERS = ((1, 4), (2, 4), (3, 8), (4, 16), (5, 32), (6, 64), (7, 128))
"""The widths of the convolutions and how many filters each has: an eighth of ELMo's."""

PADDING, BEGIN, END, BOUNDARY = range(4)
"""Ids of what is no character: behind a word, around it, and in the word of a sentence's end."""
IGNORED = -100
"""The target of positions behind a sentence (cross entropy's own default)."""


def character_ids(words: Sequence[str]) -> Int64[Tensor, "N1 characters"]:
    """The characters of N words between ``BEGIN`` and ``END``, then those of a sentence's boundary.

    They are numbered from 4, by code point, and padded to at least the widest convolution.
    """
    alphabet = sorted({character for word in words for character in word})
    number = {character: BOUNDARY + 1 + index for index, character in enumerate(alphabet)}
    spelt = [[number[character] for character in word] for word in words] + [[BOUNDARY]]
    longest = max(FILTERS[-1][0], 2 + max(map(len, spelt)))
    ids = torch.full((len(spelt), longest), PADDING)
    for row, word in zip(ids, spelt, strict=True):
        row[: len(word) + 2] = torch.tensor([BEGIN, *word, END])
    return ids


class Highway(nn.Module):
    """A layer that passes on its input where a gate, at first mostly closed, is closed."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.gate, self.transform = nn.Linear(dim, dim), nn.Linear(dim, dim)
        for linear, bias in ((self.gate, -2.0), (self.transform, 0.0)):
            nn.init.normal_(linear.weight, std=dim**-0.5)
            nn.init.constant_(linear.bias, bias)

    def forward(self, hidden: Float[Tensor, "N F"]) -> Float[Tensor, "N F"]:
        """Mixes ``hidden`` with its transform."""
        gate = torch.sigmoid(self.gate(hidden))
        return gate * functional.relu(self.transform(hidden)) + (1 - gate) * hidden


class CharacterEncoder(nn.Module):
    """Makes a D-wide vector of a word's characters, of which there are ``characters`` ids."""

    def __init__(self, characters: int, dim: int) -> None:
        super().__init__()
        filters = sum(number for _, number in FILTERS)
        self.characters = nn.Embedding(characters, CHARACTER_DIM)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(CHARACTER_DIM, number, width) for width, number in FILTERS
        )
        self.highways = nn.Sequential(Highway(filters), Highway(filters))
        self.projection = nn.Linear(filters, dim)
        nn.init.uniform_(self.characters.weight, -1.0, 1.0)
        for convolution in self.convolutions:
            assert isinstance(convolution, nn.Conv1d)
            nn.init.uniform_(convolution.weight, -0.05, 0.05)
            assert convolution.bias is not None
            nn.init.zeros_(convolution.bias)
        nn.init.normal_(self.projection.weight, std=filters**-0.5)
        nn.init.zeros_(self.projection.bias)

    def forward(self, ids: Int64[Tensor, "N characters"]) -> Float[Tensor, "N D"]:
        """The vectors of words that are given as characters."""
        spelt = self.characters(ids).transpose(1, 2)
        most = [convolution(spelt).amax(dim=2) for convolution in self.convolutions]
        vectors: Tensor = self.projection(self.highways(functional.relu(torch.cat(most, dim=1))))
        return vectors


class Reader(nn.Module):
    """Two D-wide LSTMs that read in one direction; the second's output is added to the first's."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.first, self.second = (nn.LSTM(dim, dim, batch_first=True) for _ in range(2))
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)
                if "bias_ih" in name:
                    # The forget gate is torch's second quarter, and starts open.
                    nn.init.ones_(parameter.data[dim : 2 * dim])

    def forward(self, words: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """The states after each word."""
        first, _ = self.first(words)
        second, _ = self.second(first)
        states: Tensor = first + second
        return states


class TwoWayLanguageModel(LanguageModel):
    """Guesses each of N words of a sentence from those before it, and from those behind it."""

    objective = "two-way language model"
    batch, rate, optimizer = 128, 0.2, "adagrad"

    spelling: Int64[Tensor, "N1 characters"]

    def __init__(self, corpus: Corpus, dim: int) -> None:
        super().__init__()
        spelling = character_ids(corpus.words)
        self.register_buffer("spelling", spelling)
        self.boundary = corpus.padding
        self.encoder = CharacterEncoder(int(spelling.max()) + 1, dim)
        self.forwards, self.backwards = Reader(dim), Reader(dim)
        self.output = nn.Linear(dim, self.boundary + 1)
        nn.init.normal_(self.output.weight, std=dim**-0.5)
        nn.init.zeros_(self.output.bias)

    def table(self, size: int) -> Float[Tensor, "{size} D"]:
        """The word layer's output for the first ``size`` words."""
        with torch.no_grad():
            rows: Tensor = self.encoder(self.spelling[:size])
        return rows

    def forward(
        self, ids: Int64[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T1 tokens"], Float[Tensor, "B T1 tokens"]]:
        """The logits of the next word and of the previous one, N words and the boundary.

        Sentences are padded with N, the boundary. Both directions begin there, so the backward
        logits are of reversed sentences.
        """
        vectors = self.encoder(self.spelling)
        forwards, backwards = (
            reader(functional.embedding(functional.pad(read, (1, 0), value=self.boundary), vectors))
            for reader, read in (
                (self.forwards, ids),
                (self.backwards, reversed_sentences(ids, self.boundary)),
            )
        )
        return self.output(forwards), self.output(backwards)

    def loss(self, batch: Int64[Tensor, "B T"]) -> Float[Tensor, ""]:
        """The cross entropy of a word, averaged over words and both directions."""
        wanted = (batch, reversed_sentences(batch, self.boundary))
        losses = [
            functional.cross_entropy(
                logits.flatten(0, 1), targets(words, self.boundary).flatten(), ignore_index=IGNORED
            )
            for logits, words in zip(self(batch), wanted, strict=True)
        ]
        return torch.stack(losses).mean()


def reversed_sentences(ids: Int64[Tensor, "B T"], padding: int) -> Int64[Tensor, "B T"]:
    """Each sentence from its end to its start, still padded behind."""
    lengths = (ids != padding).sum(dim=1, keepdim=True)
    positions = (lengths - 1 - torch.arange(ids.shape[1])) % ids.shape[1]
    return ids.gather(1, positions)


def targets(ids: Int64[Tensor, "B T"], boundary: int) -> Int64[Tensor, "B T1"]:
    """The targets after the boundary and each word: the next word, the boundary, nothing."""
    following = functional.pad(ids, (0, 1), value=boundary)
    ended: Bool[Tensor, "B T1"] = functional.pad(ids == boundary, (1, 0), value=False)
    return following.masked_fill(ended, IGNORED)
