"""Transfer: pre-training of an encoder, probes of its layers, and fine-tuning on tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from embinit.lab.kinds import FEW_RUNS, ModelKind, cost_of_layers, tokens_of
from embinit.lab.models.sizes import model_after, parameters_of
from embinit.lab.specs import DataSpec, ModelRecipe, TransferSpec
from embinit.runs.kinds import RunContext, Stack
from embinit.runs.results import RunResult
from embinit.specs import RunSpec

TransferRecipe = ModelRecipe[TransferSpec]


class TransferKind(ModelKind[TransferSpec]):
    """The kind of run that pre-trains an encoder, probes its layers and fine-tunes it on tasks."""

    procedure = TransferSpec

    def reads(self, run: RunSpec[TransferRecipe]) -> Sequence[DataSpec]:
        """The data of pre-training, then that of tasks and probes."""
        training = run.recipe.training
        labelled = (*(task.data for task in training.tasks), *training.probes)
        return tuple(dict.fromkeys((run.recipe.data, *labelled)))

    def check(self, run: RunSpec[TransferRecipe], data_dir: Path | None) -> None:
        """Reads all text and vectors, and checks that they fit the model."""
        from embinit.lab.transfer import stacks

        stacks.check(run, data_dir)

    def cost(self, run: RunSpec[TransferRecipe]) -> float:
        """The cost of pre-training with its logits, and of all fine-tunings."""
        data, training, model = run.recipe.data, run.recipe.training, run.recipe.architecture
        masking, width = training.pretraining, cost_of_layers(model)
        outputs = model.table_width if model.coupled else model.output_width or model.dim
        guessing = masking.share * outputs * (data.most_words or 0)
        tuning = sum(
            task.times
            * tokens_of(task.data, task.training.epochs)
            * cost_of_layers(model_after(run.recipe, task.removed_layers))
            for task in training.tasks
        )
        return (width + guessing) * tokens_of(data, masking.epochs) + tuning

    def stacked(self, run: RunSpec[TransferRecipe], device: str) -> int:
        """The largest useful stack: on a core more runs are hardly faster, and stored later."""
        most = super().stacked(run, device)
        return min(most, FEW_RUNS) if device == "cpu" else most

    def parameters(self, run: RunSpec[TransferRecipe]) -> Mapping[str, int]:
        """Parameter counts at pre-training, at fine-tuning, and on tasks without some layers."""
        fewer = {
            f"finetuning {task.role}": parameters_of(run, task.removed_layers).finetuning
            for task in run.recipe.training.tasks
            if task.removed_layers
        }
        return parameters_of(run)._asdict() | fewer

    def make(self, stack: Stack[TransferRecipe], context: RunContext) -> list[RunResult]:
        """Pre-trains the stack as one stacked model, then fine-tunes it."""
        from embinit.lab.transfer import stacks

        return stacks.train(stack, context)


KIND = TransferKind()
