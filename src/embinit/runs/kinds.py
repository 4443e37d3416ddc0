"""Kinds of runs: how a spec becomes a result, and all else that differs from kind to kind.

A kind is one object. It knows what its runs read and checks it, what they cost, how many of them
are stacked, how many parameters they have, and how a cohort is made. No other code in embinit
depends on the kind of a run. Another package adds a kind with a recipe class of its own (see
``specs.Recipe``) and ``KINDS.register``, or an entry point in the group ``embinit.kinds``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from embinit.distributions import versions_of
from embinit.registry import Registry
from embinit.specs import (
    EVALUATION,
    DataSpec,
    FunctionSpec,
    ModelSpec,
    Recipe,
    RunSpec,
    TablePretrainingSpec,
    TrainingSpec,
    TransferSpec,
)

if TYPE_CHECKING:
    from embinit.runs.plan import Cohort
    from embinit.runs.results import RunResult

MOST_RUNS = 16
"""The most runs of a cohort, where nothing else limits it."""

NARROW, FEW_RUNS = 128, 5
"""Models up to ``NARROW`` wide are stacked by ``MOST_RUNS`` on a core, wider ones by ``FEW_RUNS``.

Beyond that width a larger stack is no faster (docs/speed.md).
"""

SECOND = 2e9
"""The cost of about a second on one core, for kinds that count neither tokens nor parameters."""

WHOLE_SPLIT = 30_000
"""The assumed size of a training split that nothing cuts, in examples."""


@dataclass(frozen=True)
class Workplace:
    """The place in which a cohort is made.

    Attributes:
        data_dir: The directory with real data, if there is one.
        device: The device to train on (``cpu``, ``cuda:0``).
        progress: Is told the share of the work that is done, 0 to 1.
        sharers: How many processes share the device's memory.
        twice: Whether a function's run is made a second time, to see that its seed decides it.
    """

    data_dir: Path | None
    device: str = "cpu"
    progress: Callable[[float], None] = lambda share: None
    sharers: int = 1
    twice: bool = False


@dataclass(frozen=True)
class Description:
    """A run's setting in words, for the report's table of tasks.

    Attributes:
        model: The model in words.
        training: The training in words.
    """

    model: str
    training: str


class Kind(Protocol):
    """The interface of a kind of run."""

    @property
    def recipe(self) -> type[Recipe] | None:
        """The class of its runs' recipe; None for the kind whose runs have none."""

    @property
    def random_scores(self) -> bool:
        """Whether the seed changes what its runs score."""

    @property
    def random_tables(self) -> bool:
        """Whether the seed changes the table statistics that its runs record."""

    def reads(self, run: RunSpec) -> Sequence[DataSpec]:
        """The data that the run reads, that of its tables' vocabulary first."""

    def fingerprint(self, run: RunSpec, data_dir: Path | None) -> str:
        """A digest of what the run reads besides its spec; part of its key.

        Raises:
            InputError: A file is missing.
        """

    def check(self, run: RunSpec, data_dir: Path | None) -> None:
        """Reads all that the run will read, before anything trains.

        Raises:
            InputError: Something is missing or unusable.
        """

    def check_key(self, run: RunSpec) -> Hashable:
        """A key that is equal for runs which pass or fail ``check`` alike."""

    def cost(self, run: RunSpec) -> float:
        """The rough cost of a run, relative to other runs (tokens x parameters)."""

    def stacked(self, run: RunSpec, device: str) -> int:
        """The most runs that a cohort has on ``device``."""

    def parameters(self, run: RunSpec) -> Mapping[str, int]:
        """How many parameters a run's model has in each phase, counted from the spec alone.

        Raises:
            InputError: The spec leaves the count open: text decides the size of the vocabulary.
        """

    def epochs(self, run: RunSpec) -> int | None:
        """How many epochs the best one is chosen from; None where no epoch is chosen."""

    def describe(self, run: RunSpec) -> Description:
        """The run's model and training in words."""

    def make(self, cohort: Cohort, workplace: Workplace) -> list[RunResult]:
        """Makes the cohort's runs, and returns their results in the cohort's order."""


class BaseKind:
    """The defaults of most kinds."""

    random_scores: ClassVar[bool] = True
    random_tables: ClassVar[bool] = False
    needs_models: ClassVar[bool] = True
    """Whether its runs need the extra ``models``."""
    checks_seeds: ClassVar[bool] = False
    """Whether one of its runs is made twice, as nothing else shows that the seed decides it."""
    distributions: ClassVar[tuple[str, ...]] = ("numpy", "torch")
    """The distributions that compute its numbers, whose versions are in its runs' keys."""

    def reads(self, run: RunSpec) -> Sequence[DataSpec]:
        return (run.data,)

    def check_key(self, run: RunSpec) -> Hashable:
        return (run.data, run.table.source, run.training, run.model)

    def stacked(self, run: RunSpec, device: str) -> int:
        wide = run.model is not None and run.model.dim > NARROW
        # A wide model fills a core with a few runs; more would only hold their results back.
        return FEW_RUNS if wide and device == "cpu" else MOST_RUNS

    def parameters(self, run: RunSpec) -> Mapping[str, int]:
        return {}

    def epochs(self, run: RunSpec) -> int | None:
        return None

    def codes(self, run: RunSpec) -> Iterable[str]:
        """Digests of what its runs alone name in a registry, "" each for what is shipped."""
        return ()


class TrainingKind(BaseKind):
    """Trains a model on one task from its tables."""

    recipe = TrainingSpec
    distributions = ("numpy", "sacrebleu", "torch")

    def fingerprint(self, run: RunSpec, data_dir: Path | None) -> str:
        from embinit.lab.tables import start

        return start.fingerprint(run, data_dir)

    def check(self, run: RunSpec, data_dir: Path | None) -> None:
        from embinit.lab.training.optimizers import OPTIMIZERS
        from embinit.lab.tables import start

        recipe = run.recipe(TrainingSpec)
        _ = recipe.falls, OPTIMIZERS[recipe.optimizer]  # there are such
        start.check(run, data_dir)

    def check_key(self, run: RunSpec) -> Hashable:
        recipe = run.recipe(TrainingSpec)
        names = (recipe.schedule, recipe.optimizer)
        return (run.data, run.table.source, _model(run).table_width, names)

    def cost(self, run: RunSpec) -> float:
        return cost_of_layers(_model(run)) * run.recipe(TrainingSpec).epochs * examples_of(run.data)

    def epochs(self, run: RunSpec) -> int | None:
        recipe = run.recipe(TrainingSpec)
        return None if recipe.falls else recipe.epochs

    def describe(self, run: RunSpec) -> Description:
        return Description(model_words(run), _tuning_words(run.recipe(TrainingSpec)))

    def make(self, cohort: Cohort, workplace: Workplace) -> list[RunResult]:
        from embinit.lab.training import cohorts as training

        return training.train(
            cohort, workplace.data_dir, workplace.device, workplace.progress, workplace.sharers
        )


class TransferKind(BaseKind):
    """Pre-trains an encoder, probes its layers, and fine-tunes it on each of several tasks."""

    recipe = TransferSpec

    def reads(self, run: RunSpec) -> Sequence[DataSpec]:
        recipe = run.recipe(TransferSpec)
        labelled = (*(task.data for task in recipe.tasks), *recipe.probes)
        return tuple(dict.fromkeys((run.data, *labelled)))

    def fingerprint(self, run: RunSpec, data_dir: Path | None) -> str:
        from embinit.lab.transfer import cohorts as transfer

        return transfer.fingerprint(run, data_dir)

    def check(self, run: RunSpec, data_dir: Path | None) -> None:
        from embinit.lab.transfer import cohorts as transfer

        transfer.check(run, data_dir)

    def cost(self, run: RunSpec) -> float:
        recipe, model = run.recipe(TransferSpec), _model(run)
        masking, width = recipe.pretraining, cost_of_layers(model)
        outputs = model.table_width if model.coupled else model.output_width or model.dim
        guessing = masking.share * outputs * (run.data.most_words or WHOLE_SPLIT)
        of_text = (width + guessing) * masking.epochs * examples_of(run.data)
        tuning = (
            task.times * task.training.epochs * examples_of(task.data) for task in recipe.tasks
        )
        # On a core of 2026 a run of micro takes 7 s where this alone would tell 1.3.
        return 5 * (of_text + width * sum(tuning))

    def parameters(self, run: RunSpec) -> Mapping[str, int]:
        from embinit.lab.models.sizes import parameters_of

        return parameters_of(run)._asdict()

    def describe(self, run: RunSpec) -> Description:
        recipe = run.recipe(TransferSpec)
        masking = recipe.pretraining
        tuned = "; ".join(
            f"{task.role}: {_tuning_words(task.training)}"
            + (f", the mean of {task.times} times" if task.times > 1 else "")
            for task in recipe.tasks
        )
        return Description(
            model_words(run),
            f"masked words, {epoch_words(masking.epochs)}, batches of {masking.batch_size}, "
            f"rate {masking.lr:g}, then {tuned}",
        )

    def make(self, cohort: Cohort, workplace: Workplace) -> list[RunResult]:
        from embinit.lab.transfer import cohorts as transfer

        return transfer.train(
            cohort, workplace.data_dir, workplace.device, workplace.progress, workplace.sharers
        )


class TablePretrainingKind(BaseKind):
    """Pre-trains a table on the made text, and measures the table."""

    recipe = TablePretrainingSpec
    random_tables = True

    def fingerprint(self, run: RunSpec, data_dir: Path | None) -> str:
        from embinit.lab.table_pretraining import runs

        return runs.fingerprint(run, data_dir)

    def check(self, run: RunSpec, data_dir: Path | None) -> None:
        from embinit.lab.table_pretraining import runs

        runs.check(run, data_dir)

    def cost(self, run: RunSpec) -> float:
        return 1.5 * SECOND

    def stacked(self, run: RunSpec, device: str) -> int:
        return 1  # its runs are made one after the other, so a cohort of several gains nothing

    def describe(self, run: RunSpec) -> Description:
        recipe = run.recipe(TablePretrainingSpec)
        return Description(
            f"{recipe.objective}, a table from sigma {recipe.start:g}",
            f"{recipe.steps} steps, batches of {recipe.batch_size}, {recipe.optimizer}, "
            f"rate {recipe.rate:g}",
        )

    def make(self, cohort: Cohort, workplace: Workplace) -> list[RunResult]:
        from embinit.lab.table_pretraining import runs

        return [runs.pretrain(run) for run in cohort.runs]


class EvaluationKind(BaseKind):
    """Evaluates a starting table by word analogies; nothing is trained."""

    recipe = None
    random_scores = False

    def fingerprint(self, run: RunSpec, data_dir: Path | None) -> str:
        from embinit.lab.evaluation import analogies

        return analogies.fingerprint(run, data_dir)

    def check(self, run: RunSpec, data_dir: Path | None) -> None:
        from embinit.lab.evaluation import analogies

        analogies.check(run, data_dir)

    def cost(self, run: RunSpec) -> float:
        return SECOND / 100

    def describe(self, run: RunSpec) -> Description:
        return Description("the table alone", "nothing is trained")

    def make(self, cohort: Cohort, workplace: Workplace) -> list[RunResult]:
        from embinit.lab.evaluation import analogies

        return [analogies.evaluate(run, workplace.data_dir) for run in cohort.runs]


class FunctionKind(BaseKind):
    """Calls a user's function, which returns its measures."""

    recipe = FunctionSpec
    needs_models = False
    checks_seeds = True
    distributions = ()  # its recipe tells those that its code names

    def reads(self, run: RunSpec) -> Sequence[DataSpec]:
        return ()

    def fingerprint(self, run: RunSpec, data_dir: Path | None) -> str:
        from embinit.runs.functions import fingerprint

        return fingerprint(run.recipe(FunctionSpec))

    def check(self, run: RunSpec, data_dir: Path | None) -> None:
        """Nothing more: its code and its files are in the fingerprint."""

    def check_key(self, run: RunSpec) -> Hashable:
        return run.recipe(FunctionSpec).function

    def cost(self, run: RunSpec) -> float:
        return SECOND

    def stacked(self, run: RunSpec, device: str) -> int:
        return 1

    def describe(self, run: RunSpec) -> Description:
        recipe = run.recipe(FunctionSpec)
        return Description(f"the function {recipe.function}", recipe.label or "no arguments")

    def make(self, cohort: Cohort, workplace: Workplace) -> list[RunResult]:
        from embinit.runs.functions import make

        return [make(run, workplace) for run in cohort.runs]


KINDS: Registry[Kind] = Registry("kind of run", "embinit.kinds")
KINDS.register(TrainingSpec.kind, TrainingKind())
KINDS.register(TransferSpec.kind, TransferKind())
KINDS.register(TablePretrainingSpec.kind, TablePretrainingKind())
KINDS.register(EVALUATION, EvaluationKind())
KINDS.register(FunctionSpec.kind, FunctionKind())


def kind_of(run: RunSpec) -> Kind:
    """The run's kind.

    Raises:
        InputError: Nobody registered the kind that its recipe names.
    """
    return KINDS[run.kind]


def versions_behind(run: RunSpec) -> tuple[str, ...]:
    """The versions here of the distributions that compute the run's numbers."""
    return versions_of(getattr(kind_of(run), "distributions", ()))


def own_code(run: RunSpec) -> str:
    """A digest of the code that makes a run and is not embinit's own; "" where all of it is.

    It covers the kind of run, the init, the source, the positions, the attention and the tasks. So
    a run has another key once one of them is changed.

    Raises:
        InputError: Nobody registered one of them.
    """
    codes = [KINDS.code(run.kind, lambda kind: (type(kind), kind.recipe))]
    if run.table.init:
        codes += _codes_of_tables(run)
    if run.model is not None:
        codes += _codes_of_model(run.model)
    codes += getattr(kind_of(run), "codes", lambda run: ())(run)
    return "/".join(filter(None, codes))


def _codes_of_tables(run: RunSpec) -> Iterator[str]:
    from embinit.lab.data.sources import SOURCES
    from embinit.lab.data.tasks import TASKS
    from embinit.lab.tables.inits import INITS
    from embinit.lab.tables.positions import KINDS as POSITIONS

    yield INITS.code(run.table.init, lambda init: (init.make, init.needs_source))
    if run.table.source is not None:
        yield SOURCES.code(run.table.source)
    yield POSITIONS.code(run.positions.kind)
    for data in kind_of(run).reads(run):
        if data.task in TASKS:
            yield TASKS.code(data.task)


def _codes_of_model(model: ModelSpec) -> Iterator[str]:
    from embinit.lab.models.attention import ATTENTION
    from embinit.lab.models.layers import ACTIVATIONS, NORM_POSITIONS, NORMS

    yield ATTENTION.code(model.attention)
    _ = NORMS[model.norm], NORM_POSITIONS[model.norm_position], ACTIVATIONS[model.activation]


def _model(run: RunSpec) -> ModelSpec:
    assert run.model is not None
    return run.model


def cost_of_layers(model: ModelSpec) -> float:
    """The rough cost of a model's layers for each token."""
    return float(model.layers * model.dim * (4 * model.dim + 2 * model.feed_forward))


def examples_of(data: DataSpec) -> int:
    """About how many training examples there are."""
    return data.cut.train or WHOLE_SPLIT


def model_words(run: RunSpec) -> str:
    """A run's model in words."""
    model = _model(run)
    layers = f"{model.layers} layer{'' if model.layers == 1 else 's'}"
    return f"{model.dim} wide, {layers}, feed-forward {model.feed_forward}"


def _tuning_words(recipe: TrainingSpec) -> str:
    told = f"{epoch_words(recipe.epochs)}, batches of {recipe.batch_size}, rate {recipe.lr:g}"
    if recipe.falls:
        told += " that falls to zero"
    if recipe.optimizer == "adam":
        return told
    from embinit.lab.training.optimizers import OPTIMIZERS

    return f"{told}, {OPTIMIZERS[recipe.optimizer].words}"


def epoch_words(epochs: int) -> str:
    """A number of epochs in words."""
    return f"{epochs} epoch{'' if epochs == 1 else 's'}"
