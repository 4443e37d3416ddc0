"""Table pre-training on the microcosm's unlabelled text: where its tables come from.

Five modules are objectives, each with the conventions that decide its table's sigma. ``python -m
embinit.lab.table_pretraining make`` trains the tables that the sources read; ``runs`` trains one
with a changed recipe, for claims on what decides its sigma.
"""

from __future__ import annotations

from pathlib import Path

from embinit.lab.kinds import ModelKind
from embinit.lab.specs import ModelRecipe, TablePretrainingSpec
from embinit.runs.kinds import SECOND, RunContext, Stack
from embinit.runs.results import RunResult
from embinit.specs import RunSpec

PretrainingRecipe = ModelRecipe[TablePretrainingSpec]


class TablePretrainingKind(ModelKind[TablePretrainingSpec]):
    """Pre-trains a table on the made text, and measures the table."""

    procedure = TablePretrainingSpec
    random_tables = True

    def fingerprint(self, run: RunSpec[PretrainingRecipe], data_dir: Path | None) -> str:
        """The digest of the text."""
        from embinit.lab.table_pretraining import runs

        return runs.fingerprint(run)

    def check(self, run: RunSpec[PretrainingRecipe], data_dir: Path | None) -> None:
        """Looks objective and optimizer up."""
        from embinit.lab.table_pretraining import runs

        runs.check(run)

    def cost(self, run: RunSpec[PretrainingRecipe]) -> float:
        """A second and a half."""
        return 1.5 * SECOND

    def stacked(self, run: RunSpec[PretrainingRecipe], device: str) -> int:
        """One: runs are made one after the other, so a stack of several gains nothing."""
        return 1

    def make(self, stack: Stack[PretrainingRecipe], context: RunContext) -> list[RunResult]:
        """Pre-trains one table after the other."""
        from embinit.lab.table_pretraining import runs

        return [runs.pretrain(run) for run in stack.runs]


KIND = TablePretrainingKind()
