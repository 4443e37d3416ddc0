"""Experiments on a model and a task, whose arms are inits of the embedding table over seeds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from embinit.claims.experiments import Experiment
from embinit.claims.roles import Role
from embinit.errors import InputError
from embinit.lab.data.microcosm.draws import REGISTERING
from embinit.lab.quantities import InitQuantity
from embinit.lab.specs import (
    ALL,
    DataSpec,
    ModelRecipe,
    ModelSpec,
    PositionSpec,
    Procedure,
    TableSpec,
)
from embinit.lab.tables.recipes import INITS
from embinit.registry import require
from embinit.specs import RunSpec

MOST_DRAWS = 100_000
"""The most data draws that one range of an option may have."""


@dataclass(frozen=True, kw_only=True)
class ModelExperiment(Experiment):
    """A task, a source and a model, in which inits are compared over ``seeds`` replicates."""

    data: DataSpec
    model: ModelSpec | None  # None where nothing is trained
    training: Procedure
    baseline: str = "xavier"  # the init whose noise decides the margin
    source_role: str = ""  # the paper's source that this one plays (``glove`` for ``micro-glove``)
    positions: PositionSpec = field(default_factory=PositionSpec)
    trained: bool = True
    sigma: float | None = None  # what every arm's table is standardised to
    table_rate: float = 1.0  # multiplies the learning rate for the tables
    one_sided: bool = False  # the source may lack the language of one side, which has Xavier then
    data_draws: Sequence[int] | None = None  # one a seed; None where all share text and vectors
    registering_draws: range = REGISTERING  # the draws that deviations are measured on
    claims_from: int = 0  # the first seed, behind those whose results are known

    quantity = InitQuantity

    @property
    def task(self) -> str:
        """The data set's name."""
        return self.data.task

    @property
    def _has_decoder(self) -> bool:
        """Whether the model has two sides, each with its table."""
        return self.training.has_decoder and len(self.data.tokenizers) > 1

    @property
    def note(self) -> str:
        """That embeddings are on one side alone, where the model has two."""
        return "embeddings on the encoder alone" if self.one_sided and self._has_decoder else ""

    @property
    def replicates(self) -> str:
        """What varies from seed to seed besides the random streams, and which seeds they are."""
        if self.data_draws is not None:
            return f"worlds from {self.data_draws[0]} on"
        return f"numbers from {self.claims_from} on" if self.claims_from else ""

    def run(self, init: str, index: int, role: Role = Role.CLAIM) -> RunSpec[ModelRecipe]:
        """The run of a replicate of an arm, on its data draw; InputError for an unknown init."""
        source = self.source if INITS[init].needs_source else None
        every = source is not None and self._has_decoder and not self.one_sided
        sides = {"sides": ALL} if every else {}
        table = TableSpec(init, source, self.trained, self.sigma, self.table_rate, **sides)
        recipe = ModelRecipe(self.data, self.model, self.training, table, self.positions)
        if self.data_draws is not None:
            registers = Role.REGISTRATION in role
            draws = self.registering_draws if registers else self.data_draws
            recipe = recipe.on_draw(draw_of(index, draws, registers))
        first = 0 if Role.REGISTRATION in role else self.claims_from
        return RunSpec(recipe, first + role.seed(index))

    def label(self, init: str) -> str:
        """The arm's name as the paper writes it (``GloVe_Xavier``)."""
        return INITS[init].label.format(source=self.source_label)

    def changed(self, says: str = "", **changes: Any) -> Self:
        """The same experiment with other fields; ``says`` has the change in words, for labels.

        Curves that are only shown (``Procedure.without_extras``) are not followed there.
        """
        return super().changed(says, **{"training": self.training.without_extras(), **changes})

    def with_model(self, says: str = "", **changes: Any) -> Self:
        """The same experiment with other fields of ``ModelSpec``; InputError if there are none."""
        return self.changed(says, model=_replaced(self.model, "model", changes))

    def with_training(self, says: str = "", **changes: Any) -> Self:
        """The same experiment with other fields of its procedure; InputError if one is unknown."""
        changed = self.changed(says)
        return replace(changed, training=_replaced(changed.training, "training", changes))

    def as_wide_as(self, width: int) -> Self:
        """The same experiment as wide as a source's vectors, perhaps in fewer heads."""
        model = self.model
        if model is None or model.table_width == width or model.input_width is not None:
            return self
        heads = max(heads for heads in range(1, model.heads + 1) if width % heads == 0)
        return self.with_model(f"{width} wide", dim=width, heads=heads)

    def without_positions(self) -> Self:
        """The same experiment without added positions."""
        return self.with_positions("none", "without positions")

    def with_positions(self, kind: str, says: str = "") -> Self:
        """The same experiment with another kind of positions (``tables.positions.KINDS``)."""
        return self.changed(says, positions=replace(self.positions, kind=kind))

    def with_layers(self, layers: int) -> Self:
        """The same experiment with a model of so many layers; InputError if it trains none."""
        return self.with_model(f"with {layers} layer{'s' if layers > 1 else ''}", layers=layers)

    def with_sigma(self, sigma: float) -> Self:
        """The same experiment with every arm's table standardised to ``sigma``."""
        return self.changed(f"at sigma {sigma:g}", sigma=sigma)

    def frozen(self) -> Self:
        """The same experiment with frozen tables."""
        return self.changed("frozen", trained=False)


def draw_of(index: int, draws: Sequence[int], registers: bool) -> int:
    """The data draw of a replicate; InputError if there are fewer draws than replicates.

    The second half of an A/A control has the first half's draws: other weights, order and dropout
    on the same text.
    """
    if index >= len(draws):
        raise InputError(
            f"there are {len(draws)} data draws for {'registering' if registers else 'claims'}, "
            f"{draws[0]} to {draws[-1]}, and {index + 1} seeds are asked for; ask for fewer"
        )
    return draws[index]


def draws_named(text: str) -> tuple[int, ...]:
    """The data draws that an option names, as 9003, 9003-9009 or 9003-9009,9100; else InputError.

    Their order is that of the seeds, and none is named twice.
    """
    draws: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?", part.strip())
        named = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
        if not named or len(named) > MOST_DRAWS:
            raise InputError(
                f"{part!r} is no number of a data draw; write 9003, 9003-9009 or 9003-9009,9100"
            )
        if not set(named).isdisjoint(draws):
            raise InputError(f"{text!r} names a data draw twice; name each once")
        draws += named
    return tuple(draws)


def _replaced(spec: Any, what: str, changes: dict[str, Any]) -> Any:
    if spec is None:
        raise InputError(f"the experiment has no {what} to change ({', '.join(changes)})")
    for name in changes:
        require(f"field of a {what}", name, [field.name for field in fields(spec)])
    return replace(spec, **changes)
