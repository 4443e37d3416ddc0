"""Kinds of runs: how a recipe becomes a result, and all else that differs from kind to kind.

A package adds one with a recipe class of its own (``specs.Recipe``) and ``KINDS.register``, or an
entry point ``embinit.kinds``.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from cattrs import Converter
from cattrs.errors import CattrsError

from embinit.errors import InputError
from embinit.registry import Registry
from embinit.runs.results import RunResult
from embinit.specs import R, RunSpec

if TYPE_CHECKING:
    from embinit.runs.store_view import StoreView

MOST_RUNS = 16
"""The most runs of a stack, where nothing else limits it."""

SECOND = 1.1e10
"""The cost of about a second on one core, for kinds that count neither tokens nor parameters."""


Progress = Callable[[float], None]
"""Gets the share of the work that is done, 0 to 1."""


def unheard(share: float) -> None:
    """The progress of what nobody waits for."""


@dataclass(frozen=True)
class RunContext:
    """The place in which a stack is made."""

    data_dir: Path | None
    device: str = "cpu"
    progress: Progress = unheard
    sharers: int = 1  # processes that share the device's memory; 0: as many as train on it
    twice: bool = False  # a function's run is made again, to see that its seed decides it
    trainers: Any = None  # the session's, which call users' functions
    checked: set[object] = field(default_factory=set)  # arms that were made again after others


@dataclass(frozen=True)
class Stack(Generic[R]):
    """Runs that are trained together as one stacked model; all have one ``stack_key``."""

    runs: tuple[RunSpec[R], ...]

    def __post_init__(self) -> None:
        """Checks that the runs can be stacked; else InputError."""
        if len({run.stack_key for run in self.runs}) != 1:
            raise InputError("a stack's runs must share data, model and training settings")

    @property
    def traced(self) -> bool:
        """Whether its runs call a user's function, which has a process of its own."""
        return kind_of(self.runs[0]).traced

    def make(self, context: RunContext) -> list[RunResult]:
        """The results of its runs, in their order."""
        kind = kind_of(self.runs[0])
        if kind.needs_models:
            import torch

            torch.set_num_threads(1)  # each core has a process
        return kind.make(self, context)


@dataclass(frozen=True)
class Making:
    """Something that runs read and that is made before them, such as a data draw's table.

    ``maker`` makes it by its name in a trainer, unless it is there. ``cost`` is as a run's.
    """

    name: str
    maker: Callable[[str], None]
    cost: float = SECOND
    runs: ClassVar[tuple[RunSpec, ...]] = ()
    traced: ClassVar[bool] = False

    def make(self, context: RunContext) -> list[RunResult]:
        """Makes it, which gives no results."""
        self.maker(self.name)
        return []

    @property
    def stack_key(self) -> object:
        """A key of its own: it is stacked with nothing."""
        return self


class Kind(Generic[R]):
    """One kind of run, with what most kinds have in common."""

    recipe: ClassVar[type[Any]]
    """The class of its runs' recipes."""
    random_scores: ClassVar[bool] = True
    """Whether the seed changes what its runs score."""
    random_tables: ClassVar[bool] = False
    """Whether the seed changes the table statistics that its runs record."""
    needs_models: ClassVar[bool] = True
    """Whether its runs need the extra ``models``."""
    traced: ClassVar[bool] = False
    """Whether it calls a user's code: its records say what they were made from, and hold while that
    is as it was, and a run of each arm is made twice, as nothing else shows what decides it."""
    pinned: ClassVar[bool] = False
    """Whether its runs are made with one instruction set, unless another is asked for."""
    distributions: ClassVar[tuple[str, ...]] = ()
    """The distributions that compute its numbers, whose versions are in its runs' keys."""

    def recipe_of(self, layout: Mapping[str, Any]) -> R:
        """The recipe of a record's layout; KeyError, TypeError or ValueError if it is malformed."""
        recipe: R = structured(self.recipe, layout)
        return recipe

    def reads(self, run: RunSpec[R]) -> Sequence[Any]:
        """The data that the run reads, that of its tables' vocabulary first."""
        return ()

    def codes(self, run: RunSpec[R]) -> Iterable[str]:
        """Digests of what its runs alone name in a registry, "" each for what is shipped."""
        return ()

    def source(self, run: RunSpec[R]) -> str:
        """A digest of a user's function, read as text, for locks; "" where there is none."""
        return ""

    def fingerprint(self, run: RunSpec[R], data_dir: Path | None) -> str:
        """A digest of what the run reads besides its spec, for its key; else InputError."""
        raise NotImplementedError

    def lacks(self, run: RunSpec[R]) -> Sequence[Making]:
        """What the run reads and must be made first; until then it has no fingerprint."""
        return ()

    def check(self, run: RunSpec[R], data_dir: Path | None) -> None:
        """Reads all that the run will read, before anything trains; InputError where it can't."""

    def check_key(self, run: RunSpec[R]) -> Hashable:
        """A key that is equal for runs which pass or fail ``check`` alike."""
        return run.recipe

    def cost(self, run: RunSpec[R]) -> float:
        """The rough cost of a run, relative to other runs (tokens x parameters)."""
        return SECOND

    def stacked(self, run: RunSpec[R], device: str) -> int:
        """The most runs that a stack has on ``device``."""
        return 1

    def parameters(self, run: RunSpec[R]) -> Mapping[str, int]:
        """The parameters of a run's model in each phase, from the spec alone; else InputError."""
        return {}

    def make(self, stack: Stack[R], context: RunContext) -> list[RunResult]:
        """Makes the stack's runs, and returns their results in the stack's order."""
        raise NotImplementedError

    def sealed(self, result: RunResult, session: StoreView) -> tuple[str, RunResult]:
        """A digest of what a result was made from, "" where it was not traced; what is kept."""
        return "", result

    def holds(self, result: RunResult, session: StoreView) -> bool:
        """Whether what a stored result was made from is as it was."""
        return True


def structured(cls: Any, plain: Mapping[str, Any], **types: Any) -> Any:
    """A dataclass from its plain fields, less those that have a default.

    ``types`` are those of fields, in place of their annotations. CattrsError, KeyError, TypeError
    or ValueError if a field is unknown, missing or malformed.
    """
    structure, hints = _converter().structure, _hints(cls) | types
    return cls(**{name: structure(content, hints[name]) for name, content in plain.items()})


_hints = functools.lru_cache(typing.get_type_hints)


@functools.cache
def _converter() -> Converter:
    # Its detailed errors are groups, which would hide a MemoryError among what is malformed.
    converter = Converter(forbid_extra_keys=True, detailed_validation=False)
    converter.register_structure_hook_func(
        lambda hint: bool(hint == Sequence[float]), lambda values, _: tuple(map(float, values))
    )
    converter.register_structure_hook_func(
        lambda hint: bool(hint == Sequence[str]), lambda values, _: tuple(map(str, values))
    )
    return converter


KINDS: Registry[Kind[Any]] = Registry("kind of run", "embinit.kinds")


def kind_of(run: RunSpec) -> Kind[Any]:
    """The run's kind; InputError where nobody registered it."""
    return KINDS[run.kind]


def own_code(run: RunSpec) -> str:
    """A digest of the code that makes a run and is not embinit's own; "" where all of it is."""
    codes = [KINDS.code(run.kind), *kind_of(run).codes(run)]
    return "/".join(filter(None, codes))


def result_of(record: Mapping[str, Any]) -> RunResult:
    """The result of a record that ``RunResult.as_record`` made.

    InputError for another shape, or a kind of run that nobody registered. A MemoryError or
    RecursionError says nothing of the record.
    """
    try:
        plain = dict(record)
        layout, kind = dict(plain.pop("spec")), plain.pop("kind")
        seed = layout.pop("seed")
        if type(seed) is not int:
            raise ValueError(f"the seed {seed!r} is no whole number")
        recipe = KINDS[kind].recipe_of(layout)
        if layout.keys() != recipe.layout().keys():
            raise ValueError(f"a spec of the kind {kind!r} has {', '.join(recipe.layout())}")
        made: RunResult = structured(RunResult, {**plain, "spec": RunSpec(recipe, seed)}, spec=Any)
        return made
    except InputError:
        raise
    # What plain data lacks, or has in another shape, shows as any of these.
    except (CattrsError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"no run record ({type(error).__name__}: {error})") from error
