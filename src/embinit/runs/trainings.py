"""Training functions: their measures, their arguments, and what they declare."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import json
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from embinit.code import code_of
from embinit.distributions import canonical_name, public_version
from embinit.errors import InputError
from embinit.registry import Registry, nearest
from embinit.runs.measures import Measure, lower_is_better
from embinit.specs import FunctionRecipe

if TYPE_CHECKING:
    from embinit.runs.results import RunResult

GIVEN = ("seed", "tell", "device")
"""What embinit passes: the seed, and where the function asks for them a callable and the device."""


@dataclass(frozen=True, eq=False)
class Training:
    """A training function, which takes ``seed`` and an arm's arguments.

    ``inputs`` are absolute paths of files and folders that decide the numbers. ``timeout`` is in
    seconds. The versions of distributions in ``any_version`` may change.
    """

    name: str
    function: Callable[..., Any]
    measures: Mapping[str, Measure]
    inputs: tuple[Path, ...] = ()
    process: bool = False
    timeout: float | None = None
    any_version: frozenset[str] = frozenset()
    deterministic: bool = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function itself."""
        return self.function(*args, **kwargs)

    @property
    def is_plain(self) -> bool:
        """Whether it is a plain function, which its module and its name tell."""
        return ":" in self.name

    @functools.cached_property
    def code(self) -> str:
        """A digest of its module's code, and of all of the user's that this imports."""
        return code_of(self.function.__module__, tests=False)

    @property
    def home(self) -> tuple[str, str]:
        """The name and the file of its module."""
        return self.function.__module__, inspect.getfile(inspect.unwrap(self.function))

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """The function's signature."""
        return inspect.signature(self.function)

    def measure(self, given: str | Measure) -> Measure:
        """One of its measures; InputError for any other."""
        if isinstance(given, Measure):
            return given
        if given not in self.measures:
            raise InputError(
                f"{self.name} has no measure {given!r}: {nearest(given, self.measures)}it has "
                f"{', '.join(self.measures)}"
            )
        return self.measures[given]

    def arguments(self, arm: str, given: object) -> dict[str, Any]:
        """The arguments of an arm; InputError where the function does not take them.

        What is given is a mapping of plain values. Any other value is the argument ``arm``, and so
        is the arm's name for None or an ellipsis. A function that takes ``arm`` gets the name where
        a mapping lacks it.
        """
        if given is None or given is ...:
            arguments: dict[str, Any] = {"arm": arm}
        elif isinstance(given, Mapping):
            arguments = dict(given)
            if "arm" in self.signature.parameters:
                arguments.setdefault("arm", arm)
        else:
            arguments = {"arm": given}
        try:
            self.signature.bind(**self.told(), **arguments)
        except TypeError as error:
            raise InputError(
                f"{self.name} can't be called for the arm {arm!r}: {error}; it takes "
                f"{self.signature}, and the seed is passed to it"
            ) from None
        for name, value in arguments.items():
            if not _is_plain(value):
                raise InputError(
                    f"the arm {arm!r} has {name}={value!r}, which is a {type(value).__name__}; "
                    "arguments are numbers, text, None, and lists or dicts of them"
                )
        return arguments

    def told(self) -> dict[str, Any]:
        """The arguments from embinit beside the arm's, as far as the function takes them."""
        return {name: None for name in GIVEN if name == "seed" or name in self.signature.parameters}

    def spec(self, arguments: Mapping[str, Any]) -> FunctionRecipe:
        """The recipe of a call, with arguments that the function has by default."""
        parameters = self.signature.parameters.values()
        defaults = {
            one.name: one.default
            for one in parameters
            if one.default is not one.empty and one.name not in GIVEN and _is_plain(one.default)
        }
        text = json.dumps({**defaults, **arguments}, sort_keys=True, ensure_ascii=False)
        return FunctionRecipe(self.name, text, tuple(path.name for path in self.inputs))


TRAININGS: Registry[Training] = Registry("training function", "embinit.trainings")


def training(
    *,
    measures: Mapping[str, str | Measure] | Sequence[str] = ("score",),
    inputs: Sequence[str | Path] = (),
    name: str | None = None,
    process: bool = False,
    timeout: float | None = None,
    versions: Mapping[str, str] | None = None,
    deterministic: bool = False,
    failed: Literal["worst"] | None = None,
) -> Callable[[Callable[..., Any]], Training]:
    """Makes a function a kind of training, whose runs are kept and judged; else InputError.

    Args:
        measures: The names of the numbers that it returns, each with its unit or as a ``Measure``.
        inputs: Files and folders that decide the numbers and can't be seen to be read, relative to
            the function's own file.
        name: Its name; by default the function's.
        process: Give each run a process of its own.
        timeout: End a run after so many seconds, in a process of its own, and record that.
        versions: Distributions whose versions may change, as in ``{"scikit-learn": "any"}``.
        deterministic: Its numbers don't change with the seed.
        failed: ``"worst"`` gives a NaN or an infinity the worst score of all runs of a comparison.
    """
    known, any_version = _measures(measures), _any_version({} if versions is None else versions)
    if failed is not None:
        known = {name: _failing(one, failed) for name, one in known.items()}
    if timeout is not None and not timeout > 0:
        raise InputError(f"a time limit of {timeout} s can't be kept; give more than 0")

    def decorate(function: Callable[..., Any]) -> Training:
        inner = inspect.unwrap(function)
        if not (inspect.isfunction(inner) or inspect.ismethod(inner)):
            raise InputError(
                f"a {type(inner).__name__} can't be a training function; write def train(seed, ...)"
                " that calls it"
            )
        own = name or function.__qualname__.rpartition(".")[2]
        try:
            inspect.signature(function).bind_partial(seed=0)
        except TypeError:
            raise InputError(
                f"the training function {own!r} takes no seed; write def {own}(seed, ...)"
            ) from None
        home = Path(inspect.getfile(inner)).parent
        made = Training(
            own,
            function,
            known,
            tuple((home / Path(path).expanduser()).absolute() for path in inputs),
            process or timeout is not None,
            timeout,
            any_version,
            deterministic,
        )
        return _registered(made)

    return decorate


def training_named(name: str) -> Training:
    """The training function of a name; a plain function's is found by its module and its name."""
    module, colon, function = name.partition(":")
    if colon and TRAININGS.registered(name) is None:
        with contextlib.suppress(ImportError, AttributeError):
            plain_training(operator.attrgetter(function)(importlib.import_module(module)))
    return TRAININGS[name]


def plain_training(function: Callable[..., Any]) -> Training:
    """A plain function as a training function; its one measure is the number that it returns.

    One that takes no seed, or that other processes can't find, is an InputError.
    """
    name = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    known = TRAININGS.registered(name)
    if known is not None and known.function is function:
        return known
    if "<" in name or inspect.ismethod(function):
        raise InputError(
            f"{getattr(function, '__name__', function)!r} is a lambda, a method, or made inside of "
            "another function; write it with def at the top of its module, where every process "
            "finds it"
        )
    return training(measures=["score"], name=name)(function)


def other_versions(results: Iterable[RunResult]) -> list[str]:
    """Warnings of runs made with other versions, where ``training(versions=…)`` allows them."""
    counts: Counter[tuple[str, str]] = Counter()
    for result in results:
        if result.spec.kind != FunctionRecipe.kind:
            continue
        recipe = cast(FunctionRecipe, result.spec.recipe)
        made = result.provenance.get("versions", {})
        known = TRAININGS.registered(recipe.function)
        for name in sorted(known.any_version) if known is not None else ():
            version = str(made.get(name, "")).partition("+")[0]
            if version and version != public_version(name):
                counts[name, version] += 1
    return [
        f"{count} run{'s were' if count > 1 else ' was'} made with {name} {version}; here is "
        f"{public_version(name)}"
        for (name, version), count in sorted(counts.items())
    ]


def _any_version(given: Mapping[str, str]) -> frozenset[str]:
    if not isinstance(given, Mapping) or any(version != "any" for version in given.values()):
        raise InputError(f'versions={given!r} can\'t be used; write {{"scikit-learn": "any"}}')
    for name in given:
        if not public_version(name):
            raise InputError(
                f"versions=: there is no distribution {name!r} installed; see pip list"
            )
    return frozenset(map(canonical_name, given))


def _registered(made: Training) -> Training:
    # An entry point of this name is this function, whose module is just being loaded.
    known = TRAININGS.registered(made.name)
    if known is not None and (known.home[1], known.function.__qualname__) != (
        made.home[1],
        made.function.__qualname__,
    ):
        lines = [
            f"{Path(one.home[1]).name}:{one.function.__code__.co_firstlineno}"
            for one in (known, made)
        ]
        raise InputError(
            f"two training functions are called {made.name!r} ({lines[0]} and {lines[1]}); "
            "give one of them another name: @training(name=…)"
        )
    TRAININGS.replace(made.name, made)
    return made


def _measures(given: Mapping[str, str | Measure] | Sequence[str]) -> dict[str, Measure]:
    pairs = given.items() if isinstance(given, Mapping) else [(name, "") for name in given]
    if isinstance(given, str) or not pairs:
        raise InputError('measures are names with units, as in {"accuracy": "% accuracy"}')
    return {
        name: unit
        if isinstance(unit, Measure)
        else Measure(name, unit, curve=name, better="down" if lower_is_better(name) else None)
        for name, unit in pairs
    }


def _failing(measure: Measure, failed: Literal["worst"]) -> Measure:
    """The measure with what a failed run counts; InputError where no number is the worst."""
    if failed != "worst":
        raise InputError(f"failed={failed!r} can't be used; write failed='worst', or leave it out")
    if measure.better is None:
        name = measure.name
        raise InputError(
            f"failed='worst' needs to know whether a high or a low {name} is worse: "
            f"measures={{{name!r}: Measure({name!r}, better='up')}}, or 'down'"
        )
    return replace(measure, failed=failed)


def _is_plain(value: object) -> bool:
    if isinstance(value, str | int | float | bool | None):
        return True
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_plain(part) for name, part in value.items())
    return isinstance(value, list | tuple) and all(map(_is_plain, value))
