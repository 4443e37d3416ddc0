"""What a cohort's runs start from: tables, positions, weights, and the stacked model they make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from embinit.data.preparation import PreparedData
from embinit.data.tasks.base import Side
from embinit.errors import InputError
from embinit.models.transformer import Embedding, ModelShape, StackedTransformer
from embinit.randomness import stream
from embinit.specs import LEARNED, ModelSpec, RunSpec, TrainingSpec, TransferSpec
from embinit.tables import positions
from embinit.tables.diagnostics import pe_share, table_statistics
from embinit.tables.inits import ordinary_rows
from embinit.tables.start import Table, start_tables


class Start:
    """The starting state of a cohort's runs over their data, which they share.

    ``tables`` are each run's by side, ``positions`` each side's encodings (R, L, E) of all runs,
    ``seeds`` the seeds that the runs have, and ``seed_of_run`` (R,) which of them is whose.
    """

    def __init__(self, specs: Sequence[RunSpec], data: PreparedData, data_dir: Path | None) -> None:
        self.specs, self.data = tuple(specs), data
        self.tables = [start_tables(spec, data, data_dir) for spec in self.specs]
        self.positions = {side: self._positions(side) for side in data.vocabularies}
        self.seeds = sorted({spec.seed for spec in self.specs})
        self.seed_of_run = torch.tensor([self.seeds.index(spec.seed) for spec in self.specs])

    @property
    def shape(self) -> ModelShape:
        """Of one run's model."""
        return model_shape(self.specs[0], self.data)

    def model(self) -> StackedTransformer:
        """The stacked model with every run's tables, positions and weights in place."""
        shape = self.shape
        decoder = self._embedding("decoder") if shape.translates else None
        model = StackedTransformer(shape, self._embedding("encoder"), decoder)
        for run, spec in enumerate(self.specs):
            model.initialise(run, stream(spec.seed, "weights"))
        return model

    def _positions(self, side: Side) -> Tensor:
        """Each run's positional encodings (R, L, D); L covers the longest sentence of any split."""
        splits = (self.data.train, self.data.validation, self.data.test)
        longest = max(
            int((split.lengths if side == "encoder" else split.target_lengths).max())
            for split in splits
        )
        if self.specs[0].positions.kind == LEARNED:
            longest = self.data.spec.max_length  # as many for every task that they are carried to
        return torch.stack(
            [
                place_table(spec, longest + 1, tables[side])
                for spec, tables in zip(self.specs, self.tables, strict=True)
            ]
        )

    def _embedding(self, side: Side) -> Embedding:
        first = self.specs[0].model
        assert first is not None
        return Embedding(
            torch.stack([tables[side].values for tables in self.tables]),
            torch.tensor([multiplier(spec) for spec in self.specs]),
            self.positions[side],
            torch.tensor([spec.table.trained for spec in self.specs]),
            first.norm_after_sum,
            self.specs[0].positions.kind == LEARNED,
            first.dim,
            precision_of(self.specs[0]),
        )


def model_shape(spec: RunSpec, data: PreparedData) -> ModelShape:
    """The shape of the run's model over its data's vocabularies."""
    assert spec.model is not None
    words = {side: len(vocabulary.words) for side, vocabulary in data.vocabularies.items()}
    decoder_words = words.get("decoder", 0)
    return shape_of(
        spec.model,
        words["encoder"],
        decoder_words,
        outputs=decoder_words or data.task.classes,
        precision=precision_of(spec),
    )


def shape_of(
    model: ModelSpec,
    words: int,
    decoder_words: int = 0,
    outputs: int = 0,
    precision: str = "float32",
) -> ModelShape:
    """The shape of a model over vocabularies of so many words (see ``ModelShape``)."""
    return ModelShape(
        encoder_words=words,
        decoder_words=decoder_words,
        outputs=outputs,
        dim=model.dim,
        heads=model.heads,
        layers=model.layers,
        feed_forward=model.feed_forward,
        dropout=model.dropout,
        precision=precision,
        attention=model.attention,
        activation=model.activation,
        input_width=model.input_width,
    )


def precision_of(spec: RunSpec) -> str:
    """In which precision the run's matrix products are."""
    training = spec.training
    if isinstance(training, TransferSpec):
        return training.pretraining.precision
    assert isinstance(training, TrainingSpec)
    return training.precision


def place_table(spec: RunSpec, length: int, table: Table) -> Tensor:
    """A run's positional encodings (length, D) for one side, whose table it is."""
    assert spec.model is not None
    if spec.positions.pe_scale != "one":
        raise InputError(f"PE × {spec.positions.pe_scale} is for probes; a model adds PE as it is")
    generator = stream(spec.seed, "positions")
    rows = ordinary_rows(table.values, table.special)
    return positions.table(spec.positions.kind, length, spec.model.table_width, generator, rows)


def multiplier(spec: RunSpec) -> float:
    """What the run's tables are multiplied by before the positions are added."""
    assert spec.model is not None
    return positions.multiplier(spec.positions.multiplier, spec.model.table_width)


def table_measures(spec: RunSpec, table: Table, places: Tensor) -> dict[str, float]:
    """The starting table's width, and the PE's share of the variance of the encoder's input."""
    values = table.values * multiplier(spec)
    return {
        "sigma": table_statistics(table.values, table.special).sigma,
        "pe_share": pe_share(values, places, table.special),
    }
