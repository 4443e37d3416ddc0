"""Vectors of your own as a source: here each word's vector is drawn from its spelling.

Run it by ``pytest examples/test_own_source.py``.
"""

import hashlib
from dataclasses import dataclass, replace

import torch

from embinit.claims import Family, claim
from embinit.lab.data.sources import SOURCES, Vectors
from embinit_papers.kim2024 import table1


@dataclass(frozen=True)
class Hashed:
    """A normal vector for every word, drawn from a generator that its letters seed."""

    name: str
    dim: int
    tokenizer: str
    languages: frozenset[str]

    def fingerprint(self):
        """Changes when the vectors do; it is part of a run's key in the store."""
        return f"hashed/{self.dim}"

    def lookup(self, words, language=None):
        """The words' vectors, (N, D), and which words have one."""
        rows = [self._row(word) for word in words]
        return Vectors(torch.stack(rows), torch.ones(len(words), dtype=torch.bool))

    def _row(self, word):
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:7], "big")
        return torch.randn(self.dim, generator=torch.Generator().manual_seed(seed))


def hashed(data_dir):
    """Makes the source; ``data_dir`` is what --embinit-data-dir names."""
    glove = SOURCES["micro-glove"](data_dir)
    return Hashed("hashed", glove.dim, glove.tokenizer, glove.languages)


SOURCES.register("hashed", hashed)

OWN = Family("example/source", {"micro": 1}, says="Vectors without meaning")


def with_hashed_vectors(tier):
    """The paper's sentiment experiment, with the new source in GloVe's place.

    The source covers one made language, so seeds don't draw one each: data_draws is None.
    """
    new = {"source": "hashed", "source_label": "Hashed", "data_draws": None}
    return [
        replace(one, name="hashed-sentiment", **new)
        for one in table1("glove", tasks=("sst2",))(tier)
    ]


@claim(
    "example/source/width-not-meaning",
    says="Vectors of sigma 1 without meaning fare worse than Xavier",
    family=OWN,
    experiments=with_hashed_vectors,
)
def test_wide_vectors_without_meaning_are_below_xavier(experiment):
    assert experiment["pretrained"] < experiment["xavier"]
