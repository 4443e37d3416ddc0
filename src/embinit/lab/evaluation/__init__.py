"""Evaluation of an initial table by word analogies; nothing is trained."""

from __future__ import annotations

from pathlib import Path

from embinit.lab.kinds import ModelKind
from embinit.lab.specs import Evaluation, ModelRecipe
from embinit.runs.kinds import SECOND, RunContext, Stack
from embinit.runs.results import RunResult
from embinit.specs import RunSpec

EvaluationRecipe = ModelRecipe[Evaluation]


class EvaluationKind(ModelKind[Evaluation]):
    """The kind of run that evaluates an initial table by word analogies; nothing is trained."""

    procedure = Evaluation
    random_scores = False

    def fingerprint(self, run: RunSpec[EvaluationRecipe], data_dir: Path | None) -> str:
        """Digests of the questions and of the source's vectors."""
        from embinit.lab.evaluation import analogies

        return analogies.fingerprint(run, data_dir)

    def check(self, run: RunSpec[EvaluationRecipe], data_dir: Path | None) -> None:
        """Reads words and vectors."""
        from embinit.lab.evaluation import analogies

        analogies.check(run, data_dir)

    def cost(self, run: RunSpec[EvaluationRecipe]) -> float:
        """Half a second, on any tier; vectors are read once."""
        return SECOND / 2

    def make(self, stack: Stack[EvaluationRecipe], context: RunContext) -> list[RunResult]:
        """Evaluates one table after the other."""
        from embinit.lab.evaluation import analogies

        analogies.check(stack.runs[0], context.data_dir)
        context.progress(0.0)
        return [analogies.evaluate(run, context.data_dir) for run in stack.runs]


KIND = EvaluationKind()
