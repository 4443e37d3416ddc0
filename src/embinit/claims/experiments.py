"""Experiments: the settings in which arms (inits) are compared.

The same arm asked for by several experiments gives equal specs and is trained once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from embinit.specs import (
    DataSpec,
    ModelSpec,
    PositionSpec,
    RunSpec,
    TablePretrainingSpec,
    TableSpec,
    Training,
    TrainingSpec,
    TransferSpec,
)
from embinit.tables.inits import INITS


@dataclass(frozen=True)
class Experiment:
    """A task x source x settings, in which arms are compared over ``seeds`` replicates.

    ``role`` is what the task stands for in the paper (``translation``, ``sentiment``,
    ``inference``, ``analogies``); ``margin`` is the registered margin of ``metric``, from the noise
    of the arm ``baseline``.
    """

    name: str
    role: str
    source: str
    source_label: str
    data: DataSpec
    model: ModelSpec | None
    training: Training | None
    metric: str
    unit: str
    seeds: int
    margin: float
    positions: PositionSpec = field(default_factory=PositionSpec)
    trained: bool = True
    sigma: float | None = None
    baseline: str = "xavier"

    def run(self, init: str, seed: int) -> RunSpec:
        """The spec of one replicate of the arm ``init``; InputError for an unknown init."""
        entry = INITS[init]
        return RunSpec(
            data=self.data,
            model=self.model,
            training=self.training,
            table=TableSpec(
                init, self.source if entry.needs_source else None, self.trained, self.sigma
            ),
            positions=self.positions,
            seed=seed,
        )

    def label(self, init: str) -> str:
        """The arm's name as the paper writes it (``GloVe_Xavier``)."""
        return INITS[init].label.format(source=self.source_label)

    def changed(self, **changes: Any) -> Experiment:
        """The same in a setting that is not the paper's, where Figure 1's curve is not followed."""
        training = self.training
        if isinstance(training, TrainingSpec):
            training = replace(training, validation_bleu=False)
        return replace(self, **{"training": training, **changes})

    def without_positions(self) -> Experiment:
        """The same with nothing added to the embeddings."""
        return self.with_positions("none")

    def with_positions(self, kind: str) -> Experiment:
        """The same with another kind of positions (see ``positions.KINDS``)."""
        return self.changed(positions=replace(self.positions, kind=kind))

    def scaled(self, multiplier: str, pe_scale: str = "one") -> Experiment:
        """The same with another multiplier of the table and another scale of the PE."""
        return self.changed(
            positions=replace(self.positions, multiplier=multiplier, pe_scale=pe_scale)
        )

    def with_sigma(self, sigma: float) -> Experiment:
        """The same with every arm's table standardised to ``sigma``."""
        return self.changed(sigma=sigma)

    def with_model(self, **changes: Any) -> Experiment:
        """The same with another model (see ``ModelSpec``); a probe has none to change."""
        assert self.model is not None
        return self.changed(model=replace(self.model, **changes))

    def with_masking(self, **changes: Any) -> Experiment:
        """The same pre-trained otherwise (see ``PretrainingSpec``)."""
        assert isinstance(self.training, TransferSpec)
        pretraining = replace(self.training.pretraining, **changes)
        return self.changed(training=replace(self.training, pretraining=pretraining))

    def for_times_the_epochs(self, times: int) -> Experiment:
        """The same trained ``times`` as long."""
        longer = self.changed()
        assert isinstance(longer.training, TrainingSpec)
        training = replace(longer.training, epochs=times * longer.training.epochs)
        return replace(longer, training=training)

    def frozen(self) -> Experiment:
        """The same with the embedding tables left as they start."""
        return self.changed(trained=False)

    def with_pretraining(self, **changes: Any) -> Experiment:
        """The same pre-trained otherwise (see ``TablePretrainingSpec``)."""
        assert isinstance(self.training, TablePretrainingSpec)
        return self.changed(training=replace(self.training, **changes))
