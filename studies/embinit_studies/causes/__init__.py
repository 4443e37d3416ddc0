"""Causes: why large-sigma tables cost, an exploratory study of our own.

Kim et al. (2024) name two causes: a large-sigma table saturates the layers that read it, and it
absorbs the positions. A third is Adam's step, which moves a table by the learning rate, whatever
its sigma. Each cause has a repair of its own:

- ``scale``: a LayerNorm after table + positions;
- ``ratio``: positions that are scaled as the table's sigma is;
- ``step``: the table's learning rate, scaled alike.

With all three a table of k times the sigma is trained as the original is, but for the epsilons of
norm and Adam (``tests/test_table_rates.py`` has the identity). The claims take the causes apart:
all eight combinations of the repairs on a table of ``TIMES`` the registered sigma.

Sigmas are given as R = 2 D σ², the energy of the words over that of the sinusoids, where the table
is multiplied by √D. The registered tables have R = 0.3125, near Xavier's; published GloVe has 82.

The step is Adam's own. ``TableExperiment.with_optimizer`` trains by other optimizers, each at a
learning rate of its own (``RATES``). ``language_model_experiments`` have BERT's and T5's tables.
``setting_experiments`` are on translation with models of other widths and depths, shorter and
longer training, and fewer words.

On ``sample`` the factorial is made on real text: Multi30k and SST-2 with published GloVe vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Self, cast

from embinit.claims.comparisons import Quantity
from embinit.claims.definitions import Family
from embinit.errors import InputError
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import TrainingSpec
from embinit.registry import nearest, require
from embinit_papers.settings import (
    MICRO_SHORT,
    MICRO_TRANSLATION,
    SAMPLE,
    SAMPLE_SOURCES,
    SourceSetting,
    TaskSetting,
    micro_source,
    pick,
    sigma_at,
)
from embinit_studies.arms import PLANTED
from embinit_studies.repairs import REPAIRS, combinations_of, factorial_contrast, repaired

TIMES = 8
"""The large sigma over the registered one. A power of two, whose products are exact."""

NARROW = 0.3125
"""The registered table's R; at ``TIMES`` its sigma R is 20."""

RATIOS = tuple(NARROW * 4.0**power for power in range(-2, 4))
"""The R over which scores are measured; each has twice the sigma of the one before."""

COMBINATIONS = combinations_of(REPAIRS)
"""All combinations of the repairs: none, single ones, pairs, all three."""

TABLES: Mapping[str, str] = {"xavier": "xavier", "glove": "pretrained"}
"""Each table's init."""

TRAINED_BY: Mapping[str, str] = {"adafactor": "Adafactor", "adamw": "AdamW", "sgd": "SGD"}
"""The other optimizers and their names for people."""

RATES: Mapping[str, float] = {"adafactor": 0.02, "adamw": MICRO_TRANSLATION.lr, "sgd": 0.05}
"""Their learning rates in translation. AdamW has Adam's; with the others Xavier's registered table
fares best, or within noise so."""

OTHER_TABLES: Mapping[str, str] = {"bert": "BERT", "t5": "T5"}
"""The tables of language models."""

UNLEARNED = ("256 wide", "3 layers")
"""The settings that no claim is tested in: at the learning rate of all settings, the small-sigma
table learns less there than a third of what it learns as registered (seeds 5000 to 5002)."""

FOLLOWED = "translation"
"""The role of the task whose score is measured over R."""

REPAIR = Family(
    "causes/repair",
    {"micro": 20},
    says="Repair: all three causes have to be repaired, and then width costs nothing",
    origin="ours",
)
EFFECTS = Family(
    "causes/effects",
    {"micro": 22},
    says="Effects: what each cause costs, and which of them go together",
    origin="ours",
)
RATIO = Family(
    "causes/ratio",
    {"micro": 7},
    says="Ratio: the score over the energy of words to that of positions",
    origin="ours",
)
OPTIMIZERS = Family(
    "causes/optimizers",
    {"micro": 10},
    says="Optimizers: the step is Adam's; Adafactor, whose steps are proportional to the table, "
    "lacks it",
    origin="ours",
)
ADAMW = Family(
    "causes/adamw",
    {"micro": 12},
    says="AdamW: its decay leaves the causes as they are under Adam",
    origin="ours",
)
ELSEWHERE = Family(
    "causes/elsewhere",
    {"micro": 51},
    says="Elsewhere: other widths, depths, lengths of training, vocabularies and tables",
    origin="ours",
)
REAL_TEXT = Family(
    "causes/real-text",
    {"sample": 8},
    says="Real text: all three causes have to be repaired there too",
    origin="ours",
)

REAL_SENTIMENT = Family(
    "causes/real-sentiment",
    {"sample": 8},
    says="Real sentiment: the causes on SST-2, where width costs little",
    origin="ours",
)


TIERS: Mapping[str, Sequence[TaskSetting]] = {"micro": MICRO_SHORT, "sample": SAMPLE}
"""The tasks of each tier."""

GLOVE: Mapping[str, SourceSetting] = {
    "micro": micro_source("glove", "GloVe"),
    "sample": SAMPLE_SOURCES[0],
}
"""The vectors of each tier; all tables are as wide (D) as these."""


@dataclass(frozen=True)
class TableExperiment(ModelExperiment):
    """An experiment on one table, whose arms are sigmas and repairs."""

    def small_sigma(self) -> Quantity:
        """The metric with the table at its registered sigma."""
        return self[self.baseline]

    def large_sigma(self, *repairs: str) -> Quantity:
        """The metric with the table at ``TIMES`` its sigma, and with some repairs.

        Raises:
            InputError: There is no such repair.
        """
        assert self.sigma is not None
        wide = self.changed(f"{TIMES} × as wide", sigma=TIMES * self.sigma)
        return repaired(wide, repairs, float(TIMES))[self.baseline]

    def at_ratio(self, ratio: float) -> Quantity:
        """The metric with the table at another R.

        Args:
            ratio: R = 2 D σ².
        """
        assert self.model is not None
        sigma = sigma_at(ratio, self.model.dim)
        return self.changed(f"at R = {ratio:.2g}", sigma=sigma)[self.baseline]

    def unscaled(self) -> Quantity:
        """The metric with the source's unscaled table."""
        return self.changed("as it is", sigma=None)[self.baseline]

    def with_optimizer(self, optimizer: str) -> Self:
        """The same experiment, trained by another optimizer at that one's learning rate.

        Raises:
            InputError: The optimizer has no rate here.
        """
        if optimizer not in RATES:
            raise InputError(
                f"no rate is known for {optimizer!r}: {nearest(optimizer, RATES)}"
                f"there are {', '.join(RATES)}"
            )
        return self.with_training(
            f"under {TRAINED_BY[optimizer]}", optimizer=optimizer, lr=RATES[optimizer]
        )

    def at_rate_times(self, times: float) -> Self:
        """The same experiment, trained at another learning rate.

        Args:
            times: The rate, over the registered one.
        """
        recipe = cast(TrainingSpec, self.training)
        return self.with_training(f"at {times:g} × the rate", lr=times * recipe.lr)


def contrast(experiment: TableExperiment, *causes: str) -> Quantity:
    """A factorial contrast over the eight combinations of repairs, one value a seed.

    Args:
        experiment: The experiment.
        causes: The causes, at least one: a main effect, or the interaction of several
            (``repairs.factorial_contrast``).

    Raises:
        InputError: There is no such cause, or none is named.
    """
    return factorial_contrast(experiment.large_sigma, REPAIRS, causes)


@cache
def experiments(tier: str) -> tuple[TableExperiment, ...]:
    """The tier's experiments: each task with each table.

    Raises:
        KeyError: The paper has no such tier.
    """
    return tuple(
        setting.experiment(
            TableExperiment,
            tier,
            GLOVE[tier],
            name=f"{table}-{setting.task}",
            source_role=table,
            sigma=sigma_at(NARROW, GLOVE[tier].dim),
            baseline=init,
            planted=PLANTED[setting.task],
        )
        for setting in TIERS[tier]
        for table, init in TABLES.items()
    )


def on_tasks(*roles: str) -> Callable[[str], list[ModelExperiment]]:
    """A query for ``micro``'s experiments on tasks of some roles; none means all."""
    return pick(experiments, "micro", role=roles)


def on_real_text(role: str, *tables: str) -> Callable[[str], list[ModelExperiment]]:
    """A query for ``sample``'s experiments on a role's task, with some tables.

    Args:
        role: The task's role.
        tables: The tables; none means all.
    """
    return pick(experiments, "sample", role=(role,), source_role=tables)


@cache
def language_model_experiments(tier: str) -> tuple[TableExperiment, ...]:
    """The tier's experiments with language models' tables: of ``micro``, every task with each.

    Raises:
        KeyError: The paper has no such tier.
    """
    return tuple(
        replace(
            like,
            name=f"{table}-{like.data.task}",
            source=f"micro-{table}",
            source_label=label,
            source_role=table,
        )
        for like in experiments(tier)
        if tier == "micro" and like.source_role == "glove"
        for table, label in OTHER_TABLES.items()
    )


def _as_wide_as(dim: int) -> Callable[[TableExperiment], ModelExperiment]:
    """A change of D: heads are 32 wide, and the table has the registered R."""

    def changed(experiment: TableExperiment) -> ModelExperiment:
        wider = experiment.with_model(f"{dim} wide", dim=dim, heads=dim // 32, feed_forward=2 * dim)
        return replace(wider, sigma=sigma_at(NARROW, dim))

    return changed


def _for_epochs(times: float, says: str) -> Callable[[TableExperiment], ModelExperiment]:
    def changed(experiment: TableExperiment) -> ModelExperiment:
        recipe = cast(TrainingSpec, experiment.training)
        return experiment.with_training(says, epochs=round(times * recipe.epochs))

    return changed


def _with_words(words: int) -> Callable[[TableExperiment], ModelExperiment]:
    return lambda each: each.changed(
        f"with {words} words", data=replace(each.data, most_words=words)
    )


SETTINGS: Mapping[str, Callable[[TableExperiment], ModelExperiment]] = {
    "32 wide": _as_wide_as(32),
    "128 wide": _as_wide_as(128),
    "256 wide": _as_wide_as(256),
    "2 layers": lambda each: each.with_layers(2),
    "3 layers": lambda each: each.with_layers(3),
    "half the epochs": _for_epochs(0.5, "trained half as long"),
    "twice the epochs": _for_epochs(2, "trained twice as long"),
    "250 words": _with_words(250),
}
"""Changes of translation. Other widths have Xavier's table alone, since GloVe's width is fixed."""


@cache
def setting_experiments(tier: str) -> tuple[TableExperiment, ...]:
    """The tier's experiments in other settings: of ``micro``, translation in each of ``SETTINGS``.

    Raises:
        KeyError: The paper has no such tier.
    """
    return tuple(
        cast(TableExperiment, replace(change(like), name=f"{like.name}-{_slug(setting)}"))
        for like in experiments(tier)
        if tier == "micro" and like.role == FOLLOWED
        for setting, change in SETTINGS.items()
        if like.source_role == "xavier" or "wide" not in setting
    )


def _slug(setting: str) -> str:
    return setting.replace(" ", "-")


def in_setting(
    *settings: str, tables: Sequence[str] = ()
) -> Callable[[str], list[ModelExperiment]]:
    """A query for ``micro``'s experiments in other settings.

    Args:
        settings: Some of ``SETTINGS``; none means all in which the model learns, those but
            ``UNLEARNED``.
        tables: The tables; none means all.

    Raises:
        InputError: There is no such setting.
    """
    for setting in settings:
        require("setting", setting, SETTINGS)
    wanted = settings or tuple(each for each in SETTINGS if each not in UNLEARNED)
    names = tuple(map(_slug, wanted))
    chosen = pick(setting_experiments, "micro", source_role=tables)
    return lambda tier: [each for each in chosen(tier) if each.name.endswith(names)]


def all_experiments(tier: str) -> tuple[TableExperiment, ...]:
    """All of the tier's experiments.

    Raises:
        KeyError: The paper has no such tier.
    """
    return (*experiments(tier), *language_model_experiments(tier), *setting_experiments(tier))


def with_table(*tables: str) -> Callable[[str], list[ModelExperiment]]:
    """A query for ``micro``'s translation with some tables; none means all."""
    return pick(
        lambda tier: (*experiments(tier), *language_model_experiments(tier)),
        "micro",
        role=(FOLLOWED,),
        source_role=tables,
    )


def with_a_language_models_table(*roles: str) -> Callable[[str], list[ModelExperiment]]:
    """A query for the ``language_model_experiments`` on some roles; none means all."""
    return pick(language_model_experiments, "micro", role=roles)


xavier_table = with_table("xavier")
"""A query for translation with Xavier's table, on which controls are tested."""

glove_table = with_table("glove")
"""A query for translation with GloVe's table."""


def with_glove(experiment: TableExperiment) -> TableExperiment:
    """The experiment on translation with GloVe's table, with as many seeds."""
    [other] = glove_table(experiment.tier)
    assert isinstance(other, TableExperiment)
    return replace(other, seeds=experiment.seeds)
