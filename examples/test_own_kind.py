"""A kind of run of your own: from a recipe to numbers, stored and judged like training.

Run it by ``pytest examples/test_own_kind.py``.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from embinit.claims import Experiment, Family, Role, claim
from embinit.lab.data.sources import SOURCES
from embinit.lab.tables.inits import INITS
from embinit.randomness import stream
from embinit.runs.kinds import KINDS, Kind
from embinit.runs.measures import MEASURES, Measure
from embinit.runs.results import RunResult, provenance
from embinit.specs import Recipe, RunSpec


@dataclass(frozen=True)
class SpectrumRecipe(Recipe):
    """How a run comes about: every field is part of its key in the store."""

    kind: ClassVar[str] = "spectrum"
    task: ClassVar[str] = "spectrum"

    arm: str
    words: int = 500


class Spectrum(Kind):
    """How many directions a table uses: the exponential of the entropy of its spectrum."""

    recipe = SpectrumRecipe

    def fingerprint(self, run, data_dir):
        """Changes when what is read besides the recipe does; the code is in the key by itself."""
        return f"spectrum/{SOURCES['micro-glove'](data_dir).fingerprint()}"

    def check(self, run, data_dir):
        """Reads everything once, so that bad input is reported before anything runs."""
        self._table(run, data_dir)

    def cost(self, run):
        """Beside other kinds of runs: next to nothing."""
        return 1.0

    def make(self, stack, context):
        """The results of a stack's runs, in its order."""
        return [self._run(run, context.data_dir) for run in stack.runs]

    def _run(self, run, data_dir):
        values = torch.linalg.svdvals(self._table(run, data_dir)).square()
        share = values / values.sum()
        rank = torch.special.entr(share).sum().exp().item()
        measures = {"effective_rank": rank}
        return RunResult(spec=run, measures=measures, provenance=provenance("cpu", 0.0))

    def _table(self, run, data_dir):
        source = SOURCES["micro-glove"](data_dir)
        words = source.table.words[: run.recipe.words]
        special = torch.zeros(len(words), dtype=torch.bool)
        generator = stream(run.seed, "embedding/encoder")
        vectors = source.lookup(words).values
        return INITS[run.recipe.arm]((len(words), source.dim), special, generator, vectors)


KINDS.register(SpectrumRecipe.kind, Spectrum())
MEASURES.register("effective_rank", Measure("effective_rank", "directions"))

OWN = Family("example/kind", {"micro": 1}, says="How many directions a table uses")


class Spectra(Experiment):
    """An experiment whose arms are inits."""

    def run(self, arm, index, role=Role.CLAIM):
        """The run of an arm and a replicate."""
        return RunSpec(SpectrumRecipe(arm), role.seed(index))


def spectrum(tier):
    """One experiment: no text and no model."""
    return [
        Spectra(
            name="spectrum",
            tier=tier,
            role="spectrum",
            metric=MEASURES["effective_rank"],
            seeds=5,
            margin=1.0,
            baseline="xavier",
        )
    ]


@claim(
    "example/kind/glove-uses-fewer-directions",
    says="GloVe's vectors use fewer directions than Xavier's",
    family=OWN,
    experiments=spectrum,
)
def test_glove_uses_fewer_directions(experiment):
    assert experiment["pretrained"] < experiment["xavier"]
