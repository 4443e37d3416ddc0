"""Specifications of runs: everything that determines the result of a run.

A run is a recipe and a seed, a frozen dataclass of plain values. Two runs with equal specs are the
same run, whoever asks for it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from typing_extensions import TypeVar


def later(default: Any) -> Any:
    """A field that was added after runs were stored; left out of the digest at its default."""
    return field(default=default, metadata={"later": True})


class Recipe:
    """A recipe of a run's numbers, a frozen dataclass; each kind of run has a class of its own.

    ``kind`` is its kind's name in ``runs.kinds.KINDS``. ``task`` and ``arm`` are names for people.
    """

    if TYPE_CHECKING:  # fields or properties: a dataclass would take a property here for a default

        @property
        def kind(self) -> str: ...
        @property
        def task(self) -> str: ...
        @property
        def arm(self) -> str: ...

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns of its arm in a table besides the name: ``init`` and ``source``, if any."""
        return {}

    @property
    def pace(self) -> str:
        """A key that is equal for recipes whose runs take about equally long."""
        return f"{self.kind}/{self.task}"

    @property
    def stacking(self) -> object:
        """A key that is equal for recipes whose runs may be trained as one stacked model."""
        return self

    def without_seed(self) -> Self:
        """The recipe without what differs in it from seed to seed; itself where nothing does."""
        return self

    def layout(self) -> Mapping[str, Any]:
        """The fields of a record and a key, which outlive this code: the first release's layout."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]


R = TypeVar("R", bound=Recipe, default=Recipe, covariant=True)


@dataclass(frozen=True)
class FunctionRecipe(Recipe):
    """The call of a user's function (see ``runs.trainings``).

    ``arguments`` is canonical JSON without the seed, ``files`` has the names of declared inputs.
    What it reads is in its runs' records.
    """

    function: str
    arguments: str
    files: tuple[str, ...] = ()

    kind: ClassVar[str] = "function"

    @property
    def task(self) -> str:
        """The function's name."""
        return self.function

    @property
    def arm(self) -> str:
        """The arguments in words, such as ``mean, lr=1e-05``."""
        given = json.loads(self.arguments)
        named = [str(given.pop("arm"))] if "arm" in given else []
        return ", ".join([*named, *(f"{name}={value}" for name, value in given.items())])

    def layout(self) -> Mapping[str, Any]:
        """The fields among those of the first release's, which locks have digests of."""
        cut = dict.fromkeys(("train", "validation", "test"))
        data = {"task": self.function, "tokenizers": (), "cut": cut}
        return {
            "data": data | {"min_freq": 2, "max_length": 64},
            "model": None,
            "training": {**dataclasses.asdict(self), "code": ""},
            "table": {"init": "", "source": None, "trained": True},
            "positions": {"kind": "none", "multiplier": "one", "pe_scale": "one"},
        }


@dataclass(frozen=True)
class RunSpec(Generic[R]):
    """One replicate of one arm: everything that decides its result, and nothing else."""

    recipe: R
    seed: int

    def __hash__(self) -> int:
        """The hash of all fields, which is kept: a plan asks for it thousands of times."""
        known: int | None = self.__dict__.get("_hash")
        if known is None:  # no cached_property: its lock in Python 3.11 could outlive a fork
            known = hash((self.recipe, self.seed))
            object.__setattr__(self, "_hash", known)
        return known

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: another process hashes text otherwise."""
        return {"recipe": self.recipe, "seed": self.seed}

    @property
    def kind(self) -> str:
        """The name of the kind of run."""
        return self.recipe.kind

    def changed(self, **changes: Any) -> Self:
        """The run with other fields of its recipe."""
        return replace(self, recipe=replace(self.recipe, **changes))  # type: ignore[type-var]

    def without_seed(self) -> RunSpec[R]:
        """The run's arm: all that decides it but the seed."""
        return RunSpec(self.recipe.without_seed(), seed=0)

    @property
    def varies(self) -> bool:
        """Whether the recipe itself differs from seed to seed, as in what the run reads."""
        return self.recipe.without_seed() != self.recipe

    def layout(self) -> Mapping[str, Any]:
        """The recipe's layout, with the seed."""
        return {**self.recipe.layout(), "seed": self.seed}

    def as_dict(self) -> dict[str, Any]:
        """The layout as plain nested dicts, which the run's record holds."""
        return {name: _whole(value) for name, value in self.layout().items()}

    def digest(self) -> str:
        """Hex SHA-256 of the spec in canonical JSON."""
        return hashlib.sha256(canonical(self).encode()).hexdigest()

    @property
    def stack_key(self) -> tuple[object, ...]:
        """A key for stacking: runs with equal keys have tensors of the same shapes."""
        return (self.kind, self.recipe.stacking)


def _whole(value: Any) -> Any:
    is_spec = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return dataclasses.asdict(value) if is_spec else value


def canonical(spec: object) -> str:
    """Canonical JSON of a spec, or of specs in a mapping, without later fields at their default."""
    return json.dumps(_plain(spec), sort_keys=True, separators=(",", ":"))


def _plain(value: object) -> object:
    if isinstance(value, RunSpec):
        value = value.layout()
    if dataclasses.is_dataclass(value):
        return {
            member.name: _plain(content)
            for member in dataclasses.fields(value)
            if (content := getattr(value, member.name)) != member.default
            or "later" not in member.metadata
        }
    if isinstance(value, Mapping):
        return {name: _plain(content) for name, content in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(content) for content in value]
    return value
