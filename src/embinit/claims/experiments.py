"""Experiments: the settings in which arms are compared.

An arm is an init in an experiment, over seeds: ``experiment["xavier"]``. The same arm asked for by
several experiments gives equal specs and is trained once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from embinit.claims.comparisons import Comparison, Quantity, Term
from embinit.errors import InputError
from embinit.runs import measures
from embinit.runs.measures import Measure
from embinit.specs import DataSpec, ModelSpec, PositionSpec, Recipe, RunSpec, TableSpec
from embinit.lab.tables.recipes import INITS


@dataclass(frozen=True)
class Experiment:
    """A task, a source and a setting, in which arms are compared over ``seeds`` replicates.

    Attributes:
        name: What it is called in the ids of claims.
        tier: The tier that it belongs to.
        role: What the task stands for in the paper (``translation``, ``sentiment`` …).
        source: The name of the source.
        source_label: The source's name as the paper writes it.
        data: What its runs read.
        model: What they train; None where nothing is trained.
        training: How they train; None where nothing is trained.
        metric: What they are compared by.
        seeds: How many replicates an arm has.
        margin: The registered margin in the metric's unit, from the noise of the arm ``baseline``.
        source_role: Which of the paper's sources this one plays (``glove`` for ``micro-glove``).
        positions: What is added to the embeddings.
        trained: Whether the tables are trained.
        sigma: What every arm's table is standardised to; None leaves it as the init makes it.
        table_rate: What the learning rate is multiplied by for the tables.
        baseline: The init whose noise decides the margin.
        most_seeds: How many replicates an arm has at the most, at the last look; None means that
            the first look, at ``seeds``, is the only one.
        planted: The effect that the setting must be able to find, in the metric's unit: as large as
            the paper's largest on the task. None where it is not known.
        changes: How the setting differs from the registered one, in words; part of arms' labels.
    """

    name: str
    tier: str
    role: str
    source: str
    source_label: str
    data: DataSpec
    model: ModelSpec | None
    training: Recipe | None
    metric: Measure
    seeds: int
    margin: float
    source_role: str = ""
    positions: PositionSpec = field(default_factory=PositionSpec)
    trained: bool = True
    sigma: float | None = None
    baseline: str = "xavier"
    changes: str = ""
    most_seeds: int | None = None
    planted: float | None = None
    table_rate: float = 1.0

    def __getitem__(self, init: str) -> Quantity:
        """The arm of an init: its metric, one value a seed.

        Raises:
            InputError: No init of that name is registered.
        """
        return Quantity(
            terms=(Term(1, self, init, self.metric),),
            label=f"{self.label(init)} {self.changes}".rstrip(),
            measure=self.metric,
            unit=self.metric.unit,
            margin=self.margin,
            seeds=self.seeds,
        )

    def finds_planted(self) -> Comparison:
        """States that a planted loss is found: the baseline is above itself, lowered by it.

        The lowered half has other seeds. A setting in which this can't be shown is too small to
        tell.

        Raises:
            InputError: The experiment plants no effect.
        """
        if self.planted is None:
            raise InputError(f"{self.name} plants no effect; give the experiment one")
        base = self[self.baseline]
        return base > base.on_other_seeds().lowered(self.planted)

    def run(self, init: str, seed: int) -> RunSpec:
        """The spec of one replicate of an arm.

        Raises:
            InputError: No init of that name is registered.
        """
        source = self.source if INITS[init].needs_source else None
        return RunSpec(
            data=self.data,
            model=self.model,
            training=self.training,
            table=TableSpec(init, source, self.trained, self.sigma, self.table_rate),
            positions=self.positions,
            seed=seed,
        )

    def measure(self, name: str) -> Measure:
        """The measure of a name that its runs leave.

        Raises:
            InputError: No measure of that name is registered.
        """
        return measures.measure(name)

    def label(self, init: str) -> str:
        """The arm's name as the paper writes it (``GloVe_Xavier``)."""
        return INITS[init].label.format(source=self.source_label)

    def changed(self, says: str = "", **changes: Any) -> Experiment:
        """The same experiment in another setting.

        Curves that are only shown (``Recipe.without_extras``) are not followed there.

        Args:
            says: The change in words, for arms' labels.
            changes: Fields of the experiment.
        """
        training = self.training.without_extras() if self.training is not None else None
        words = f"{self.changes} {says}".strip()
        return replace(self, **{"training": training, "changes": words, **changes})

    def with_model(self, says: str = "", **changes: Any) -> Experiment:
        """The same experiment with another model.

        Args:
            says: The change in words.
            changes: Fields of ``specs.ModelSpec``.

        Raises:
            InputError: The experiment trains no model, or a field is unknown.
        """
        return self.changed(says, model=_replaced(self.model, "model", changes))

    def with_training(self, says: str = "", **changes: Any) -> Experiment:
        """The same experiment, trained in another way.

        Args:
            says: The change in words.
            changes: Fields of the experiment's recipe, such as ``specs.TrainingSpec``.

        Raises:
            InputError: The experiment trains nothing, or a field is unknown.
        """
        changed = self.changed(says)
        return replace(changed, training=_replaced(changed.training, "training", changes))

    def as_wide_as(self, width: int) -> Experiment:
        """The same experiment with a model as wide as a source's vectors.

        It has as many of its heads as divide the width. A model whose table is projected keeps
        its own width.

        Args:
            width: D, the width of the vectors.
        """
        model = self.model
        if model is None or model.table_width == width or model.input_width is not None:
            return self
        heads = max(each for each in range(1, model.heads + 1) if width % each == 0)
        return self.with_model(f"{width} wide", dim=width, heads=heads)

    def without_positions(self) -> Experiment:
        """The same experiment with nothing added to the embeddings."""
        return self.with_positions("none", "without positions")

    def with_positions(self, kind: str, says: str = "") -> Experiment:
        """The same experiment with another kind of positions.

        Args:
            kind: A key of ``tables.positions.KINDS``.
            says: The change in words.
        """
        return self.changed(says, positions=replace(self.positions, kind=kind))

    def with_layers(self, layers: int) -> Experiment:
        """The same experiment with a model of ``layers`` layers.

        Raises:
            InputError: The experiment trains no model.
        """
        return self.with_model(f"with {layers} layer{'s' if layers > 1 else ''}", layers=layers)

    def with_sigma(self, sigma: float) -> Experiment:
        """The same experiment with every arm's table standardised to ``sigma``."""
        return self.changed(f"at sigma {sigma:g}", sigma=sigma)

    def frozen(self) -> Experiment:
        """The same experiment with tables that are not trained."""
        return self.changed("frozen", trained=False)


def _replaced(spec: Any, what: str, changes: dict[str, Any]) -> Any:
    if spec is None:
        raise InputError(f"the experiment has no {what} to change ({', '.join(changes)})")
    known = [each.name for each in fields(spec)]
    for name in changes:
        if name not in known:
            raise InputError(f"a {what} has no {name!r}; it has {', '.join(known)}")
    return replace(spec, **changes)
