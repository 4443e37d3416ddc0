"""The initial state of a stack: tables, positions, weights, and the stacked model of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.preparation import PreparedData
from embinit.lab.data.tasks.base import Side
from embinit.lab.models.embedding import Embedding
from embinit.lab.models.sizes import learned_positions
from embinit.lab.models.transformer import ModelShape, StackedTransformer
from embinit.lab.specs import ModelRun
from embinit.lab.tables import positions
from embinit.lab.tables.diagnostics import pe_share, table_statistics
from embinit.lab.tables.initial_tables import InitialTable, make_initial_tables
from embinit.lab.tables.inits import ordinary_rows
from embinit.randomness import stream


class InitialState:
    """The initial state of a stack's runs on the data that they share.

    ``tables`` are each run's by side, ``positions`` each side's encodings (R, L, E) of all runs,
    ``seeds`` the seeds that the runs have, and ``seed_of_run`` (R,) which of them is whose.
    """

    def __init__(
        self, specs: Sequence[ModelRun], data: PreparedData, data_dir: Path | None
    ) -> None:
        self.specs, self.data = tuple(specs), data
        self.tables = [make_initial_tables(spec, data, data_dir) for spec in self.specs]
        self.positions = {side: self._position_tables(side) for side in data.vocabularies}
        self.seeds = sorted({spec.seed for spec in self.specs})
        self.seed_of_run = torch.tensor([self.seeds.index(spec.seed) for spec in self.specs])

    @property
    def shape(self) -> ModelShape:
        """The shape of one run's model."""
        return model_shape(self.specs[0], self.data)

    def model(self) -> StackedTransformer:
        """The stacked model with every run's tables, positions and weights in place."""
        shape = self.shape
        decoder = self._embedding("decoder") if shape.translates else None
        model = StackedTransformer(shape, self._embedding("encoder"), decoder)
        for run, spec in enumerate(self.specs):
            model.initialise(run, stream(spec.seed, "weights"))
        return model

    def measures(self, run: int) -> dict[str, float]:
        """The sigma of a run's encoder table, and the PE's share of the encoder's input."""
        table = self.tables[run]["encoder"]
        values = table.values * multiplier(self.specs[run])
        return {
            "sigma": table_statistics(table.values, table.special).sigma,
            "pe_share": pe_share(values, self.positions["encoder"][run], table.special),
        }

    def described(self, run: int) -> dict[str, Any]:
        """What a run's result says of its tables and positions, by the result's fields."""
        tables, placed = self.tables[run], self.specs[run].recipe.positions.kind != "none"
        positions = self.positions if placed else {}
        return {
            "tables": {side: table_statistics(t.values, t.special) for side, t in tables.items()},
            "positions": {side: table_statistics(rows[run]) for side, rows in positions.items()},
            "coverage": {side: table.coverage for side, table in tables.items()},
        }

    def _position_tables(self, side: Side) -> Float[Tensor, "R L E"]:
        """Each run's positional encodings; L covers the longest sentence of any split."""
        splits = (self.data.train, self.data.validation, self.data.test)
        longest = max(
            int((split.lengths if side == "encoder" else split.target_lengths).max())
            for split in splits
        )
        length = learned_positions(self.specs[0].recipe, self.data.spec) or longest + 1
        return torch.stack(
            [
                position_table(spec, length, tables[side])
                for spec, tables in zip(self.specs, self.tables, strict=True)
            ]
        )

    def _embedding(self, side: Side) -> Embedding:
        return self.shape.embedding(
            tables=torch.stack([tables[side].values for tables in self.tables]),
            multipliers=torch.tensor([multiplier(spec) for spec in self.specs]),
            positions=self.positions[side],
            trained=torch.tensor([spec.recipe.table.trained for spec in self.specs]),
        )


def carry(model: StackedTransformer, carried: Mapping[str, Tensor]) -> None:
    """Loads pre-trained parameters and buffers by name into all of ``model`` but its output layer.

    RuntimeError if the names are others.
    """
    own = {f"output.{name}": value for name, value in model.output.state_dict().items()}
    model.load_state_dict({**own, **carried})


def without_output(model: StackedTransformer, removed_layers: int = 0) -> dict[str, Tensor]:
    """The parameters and buffers for ``carry``: all but the output's and the last layers'."""
    layers = len(model.encoder_layers)
    removed = range(layers - removed_layers, layers)
    lacking = ("output.", *(f"encoder_layers.{layer}." for layer in removed))
    return {name: v for name, v in model.state_dict().items() if not name.startswith(lacking)}


def model_shape(spec: ModelRun, data: PreparedData) -> ModelShape:
    """The shape of the run's model over its data's vocabularies."""
    sizes = {side: len(vocabulary.words) for side, vocabulary in data.vocabularies.items()}
    decoder_vocabulary = sizes.get("decoder", 0)
    return ModelShape(
        spec.recipe.architecture,
        encoder_vocabulary=sizes["encoder"],
        decoder_vocabulary=decoder_vocabulary,
        outputs=decoder_vocabulary or data.task.classes,
        precision=spec.recipe.training.precision,
        learned_positions=learned_positions(spec.recipe, data.spec),
    )


def position_table(spec: ModelRun, length: int, table: InitialTable) -> Float[Tensor, "L E"]:
    """A run's positional encodings for the side with the table ``table``."""
    width, pe_scale = spec.recipe.architecture.table_width, spec.recipe.positions.pe_scale
    if pe_scale == positions.OF_PROBES:
        raise InputError(f"PE × {pe_scale} is for probes; a model takes a number, such as 8")
    generator = stream(spec.seed, "positions")
    rows = ordinary_rows(table.values, table.special)
    made = positions.table(spec.recipe.positions.kind, length, width, generator, rows)
    return made * positions.multiplier(pe_scale, width)


def multiplier(spec: ModelRun) -> float:
    """The factor of the run's tables before positions are added."""
    return positions.multiplier(
        spec.recipe.positions.multiplier, spec.recipe.architecture.table_width
    )
