"""Starts: is there a start that keeps both meaning and position? Exploratory, of embinit's own.

Kim et al. (2024) end with: 'The optimal case would be to find a method to retain both position and
semantic similarity information without compromising either one.' Here each proposal is an arm, an
``InputScheme``, at one energy: R = 2 D σ², the energy of the words over that of the positions, is
the same for all but the unscaled table. All have the same variance, so only the rows' content
differs (the study ``causes`` varies the variance).

- Trained tables have R = 0.3125, which is Xavier's. Frozen ones have 1.25: by ``causes`` trained
  tables are as good as they get at the former, frozen ones at the latter.
- Most starts are ``micro``'s GloVe in another geometry (``geometry``). Others put the
  positions somewhere else: into directions of their own, or into the attention, where nothing is
  summed.
- Controls: Xavier, the vectors of other words, and Xavier's rows with the vectors' norms.

On ``sample`` the best of them are tested on real text, with tables of Xavier's own width, as the
first paper has them: published GloVe's and MiniLM's, on SST-2 and Multi30k.

What was explored, on seeds from 5000 on: with one way to tell positions, geometry hardly matters
where tables are trained. Rotary positions beside the added ones did: with them meaning and order
are both kept, and a start that has both was the best over all tasks, or next to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Self, cast

from embinit.claims.comparisons import Quantity
from embinit.claims.definitions import Family
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import PositionSpec, TrainingSpec
from embinit.registry import require
from embinit_papers.settings import (
    MICRO_SHORT,
    SAMPLE,
    SAMPLE_SOURCES,
    SourceSetting,
    TaskSetting,
    micro_source,
    pick,
    sigma_at,
)
from embinit_studies.arms import PLANTED

TRAINED_RATIO = 0.3125
"""R of the tables that are trained."""

FROZEN_RATIO = 1.25
"""R of the tables that are not."""

BASELINE = "xavier"
"""The baseline start, which needs no vectors."""


MEANING = Family(
    "starts/meaning",
    {"micro": 5},
    says="Meaning: what of a start its words' meaning does",
    origin="ours",
)
GEOMETRY = Family(
    "starts/geometry",
    {"micro": 9},
    says="Geometry: what the rows' lengths and directions do at one energy",
    origin="ours",
)
POSITIONS = Family(
    "starts/positions",
    {"micro": 17},
    says="Positions: what it does to add them, to put them into attention, or both",
    origin="ours",
)
UNTIED = Family(
    "starts/apart",
    {"micro": 9, "sample": 4},
    says="Apart: positions that are scored apart from the words",
    origin="ours",
)
REAL_TEXT = Family(
    "starts/real-text",
    {"sample": 14},
    says="Real text: positions added and in attention, where nothing was made by code",
    origin="ours",
)


@dataclass(frozen=True)
class InputScheme:
    """A scheme of the model's input: the table's init and the positions.

    Attributes:
        label: What people call it; ``{source}`` stands for the experiment's source (``told``).
        init: The init's name.
        source: The vectors that it is made of; empty for those of the experiment.
        orthogonal_positions: Whether the positions have the directions that the table uses least
            (the kind ``apart``), at the strength that sinusoids have in all directions.
        attention: The positions inside attention (``ModelSpec.attention``).
        added: Whether positions are added to the words.
        as_it_is: Whether the table keeps its own sigma.
        learned: Whether each table has a learned multiplier.
    """

    label: str
    init: str
    source: str = ""
    orthogonal_positions: bool = False
    attention: str = "plain"
    added: bool = True
    as_it_is: bool = False
    learned: bool = False

    def told(self, source: str) -> str:
        """The label with the name of the source filled in."""
        return self.label.format(source=source)


STARTS: Mapping[str, InputScheme] = {
    "xavier": InputScheme("Xavier", "xavier"),
    "raw": InputScheme("{source} as it is", "pretrained", as_it_is=True),
    "standardised": InputScheme("{source}, standardised", "pretrained"),
    "centred": InputScheme("{source}, centred by frequency", "pretrained_centred"),
    "equal-rows": InputScheme("{source}, rows of equal energy", "pretrained_equal_rows"),
    "all-but-the-top": InputScheme("{source}, all but the top", "pretrained_all_but_the_top"),
    "whitened": InputScheme("{source}, Zipfian whitening", "pretrained_whitened"),
    "apart": InputScheme("{source}, positions apart", "pretrained", orthogonal_positions=True),
    "orthogonal": InputScheme(
        "{source}, words and positions orthogonal", "pretrained_spared", orthogonal_positions=True
    ),
    "rotary": InputScheme(
        "{source}, positions in attention alone", "pretrained", attention="rotary", added=False
    ),
    "xavier-rotary": InputScheme(
        "Xavier, positions in attention alone", "xavier", attention="rotary", added=False
    ),
    "both": InputScheme(
        "{source}, positions added and in attention", "pretrained", attention="rotary"
    ),
    "xavier-both": InputScheme(
        "Xavier, positions added and in attention", "xavier", attention="rotary"
    ),
    "shuffled": InputScheme("{source}, rows of other words", "pretrained_shuffled_rows"),
    "norms": InputScheme("Xavier with {source}'s norms", "xavier_norms"),
    "bert": InputScheme("BERT, standardised", "pretrained", "micro-bert"),
    "bert-equal-rows": InputScheme(
        "BERT, rows of equal energy", "pretrained_equal_rows", "micro-bert"
    ),
    "bert-both": InputScheme(
        "BERT, positions added and in attention", "pretrained", "micro-bert", attention="rotary"
    ),
    "learned": InputScheme("{source}, learned multiplier", "pretrained", learned=True),
    "raw-learned": InputScheme(
        "{source} as it is, learned multiplier", "pretrained", as_it_is=True, learned=True
    ),
    "untied": InputScheme(
        "{source}, positions scored apart", "pretrained", attention="untied", added=False
    ),
    "xavier-untied": InputScheme(
        "Xavier, positions scored apart", "xavier", attention="untied", added=False
    ),
    "untied-both": InputScheme(
        "{source}, positions added and scored apart", "pretrained", attention="untied"
    ),
    "raw-untied": InputScheme(
        "{source} as it is, positions scored apart",
        "pretrained",
        attention="untied",
        added=False,
        as_it_is=True,
    ),
    "bert-untied": InputScheme(
        "BERT, positions scored apart", "pretrained", "micro-bert", attention="untied", added=False
    ),
}
"""The starts, by name."""

REAL_STARTS: Mapping[str, InputScheme] = {
    "xavier": STARTS["xavier"],
    "standardised": InputScheme("{source}, standardised", "pretrained_xavier"),
    "both": InputScheme(
        "{source}, positions added and in attention", "pretrained_xavier", attention="rotary"
    ),
    "xavier-both": STARTS["xavier-both"],
    "rotary": InputScheme(
        "{source}, positions in attention alone",
        "pretrained_xavier",
        attention="rotary",
        added=False,
    ),
    "untied": InputScheme(
        "{source}, positions scored apart", "pretrained_xavier", attention="untied", added=False
    ),
    "xavier-untied": STARTS["xavier-untied"],
}
"""The starts on real text, by name: tables of Xavier's sigma."""

RANKED_ON_REAL_TEXT = (
    "xavier",
    "raw",
    "standardised",
    "equal-rows",
    "all-but-the-top",
    "whitened",
    "both",
    "untied",
    "centred",
    "apart",
    "orthogonal",
    "rotary",
    "learned",
    "xavier-both",
    "shuffled",
    "norms",
)
"""The starts of ``STARTS`` that are also tried on real text, at the R of ``micro``."""

BEST = "bert-both"
"""The start with the best mean over the tasks on the explored seeds, trained and frozen."""

RIVALS = ("both", "bert", "bert-equal-rows", "standardised")
"""The starts that came next to it on the explored seeds."""

ORTHOGONAL_DIRECTIONS = 16
"""How many directions orthogonal positions have; ``tables.positions`` has it too, with torch."""


def orthogonal_positions(dim: int) -> PositionSpec:
    """Orthogonal positions with as much energy as sinusoids in all directions.

    Args:
        dim: The table's width.
    """
    return PositionSpec("apart", pe_scale=f"{math.sqrt(dim / ORTHOGONAL_DIRECTIONS):g}")


TIERS: Mapping[str, Sequence[TaskSetting]] = {"micro": MICRO_SHORT, "sample": SAMPLE}
"""The tasks of each tier."""

SOURCES: Mapping[str, Sequence[SourceSetting]] = {
    "micro": (micro_source("glove", "GloVe"),),
    "sample": SAMPLE_SOURCES,
}
"""The vectors of each tier. On ``micro`` BERT's are arms of the same experiments."""


@dataclass(frozen=True)
class StartExperiment(ModelExperiment):
    """A task and vectors, on which starts are arms."""

    @property
    def starts(self) -> Mapping[str, InputScheme]:
        """The starts by name. Those of ``REAL_STARTS`` have a sigma of their own."""
        return REAL_STARTS if self.tier == "sample" and self.sigma is None else STARTS

    def start(self, name: str) -> Quantity:
        """The metric from a start.

        Args:
            name: A key of ``starts``.

        Raises:
            InputError: There is no such start.
        """
        require("start", name, self.starts)
        start = self.starts[name]
        label = f"{start.told(self.source_label)} {self.changes}".rstrip()
        return replace(self._with_changes(start)[start.init], label=label)

    def _with_changes(self, start: InputScheme) -> ModelExperiment:
        setting: ModelExperiment = self
        if start.source:
            setting = setting.changed(source=start.source)
        if start.as_it_is:
            setting = setting.changed(sigma=None)
        if start.orthogonal_positions:
            setting = setting.changed(positions=orthogonal_positions(self.dim))
        if not start.added:
            setting = setting.changed(positions=PositionSpec("none"))
        if start.learned:
            positions = replace(setting.positions, learned_multiplier=True)
            setting = setting.changed(positions=positions)
        if start.attention != "plain":
            setting = setting.with_model(attention=start.attention)
        return setting

    @property
    def dim(self) -> int:
        """D, the width of its tables."""
        assert self.model is not None
        return self.model.dim

    @property
    def recipe(self) -> TrainingSpec:
        """The training of its runs."""
        return cast(TrainingSpec, self.training)

    def frozen(self) -> Self:
        """The same experiment with frozen tables, at the R that suits them."""
        sigma = sigma_at(FROZEN_RATIO, self.dim)
        return self.changed("frozen", trained=False, sigma=sigma)

    def at_trained_ratio(self) -> Self:
        """The same experiment with tables at the R of trained ones on ``micro``."""
        sigma = sigma_at(TRAINED_RATIO, self.dim)
        return self.changed(f"at R = {TRAINED_RATIO:.2g}", sigma=sigma)

    def at_rate_times(self, times: float) -> Self:
        """The same experiment, trained at another learning rate.

        Args:
            times: The rate, over the registered one.
        """
        training = replace(self.recipe, lr=self.recipe.lr * times)
        return self.changed(f"at {times:g} × the rate", training=training)

    def for_epochs(self, times: int) -> Self:
        """The same experiment, trained for longer.

        Args:
            times: The number of epochs, over the registered one.
        """
        training = replace(self.recipe, epochs=self.recipe.epochs * times)
        return self.changed(f"for {times} × the epochs", training=training)


@cache
def experiments(tier: str) -> tuple[StartExperiment, ...]:
    """The tier's experiments: each task with each source.

    Raises:
        KeyError: The paper has no such tier.
    """
    return tuple(
        setting.experiment(
            StartExperiment,
            tier,
            source,
            name=setting.task if tier == "micro" else f"{source.role}-{setting.task}",
            sigma=sigma_at(TRAINED_RATIO, source.dim) if tier == "micro" else None,
            baseline=BASELINE,
            planted=PLANTED[setting.task],
        )
        for source in SOURCES[tier]
        for setting in TIERS[tier]
    )


def on_tasks(*roles: str) -> Callable[[str], list[ModelExperiment]]:
    """A query for ``micro``'s experiments on tasks of some roles; none means all."""
    return pick(experiments, "micro", role=roles)


translation = on_tasks("translation")
"""A query for ``micro``'s translation, on which controls are tested."""


def on_real_text(*roles: str, source: str = "") -> Callable[[str], list[ModelExperiment]]:
    """A query for the experiments of ``sample``.

    Args:
        roles: The tasks' roles; none means all.
        source: The source's role; all if it is empty.
    """
    sources = (source,) if source else ()
    return pick(experiments, "sample", role=roles, source_role=sources)
