"""Experiments on a training function: arms are names, settings or a grid of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from embinit.claims.comparisons import Quantity
from embinit.claims.experiments import Experiment
from embinit.claims.roles import Role
from embinit.errors import InputError
from embinit.registry import nearest
from embinit.runs.measures import Measure
from embinit.runs.trainings import Training
from embinit.specs import RunSpec

SEEDS, MOST_SEEDS = 6, 20
"""The seeds of the first interim analysis, and of the last."""

OWN_TIERS: dict[str, None] = {}
"""The tiers that experiments of this process have sizes for."""

NOISE_FLOOR = "noise-floor"
"""The margin that comes from the baseline's noise floor, which ``claims.lock`` has."""


@dataclass(frozen=True, kw_only=True)
class FunctionExperiment(Experiment):
    """An experiment whose runs are calls of a training function.

    ``sizes`` are further arguments by tier. Its margin is NaN until the noise floor is measured,
    where it comes from that.
    """

    function: Training
    arms: Mapping[str, Mapping[str, Any]] = field(hash=False)
    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    wants_noise_floor: bool = False

    def __call__(self, tier: str) -> list[Experiment]:
        """The experiment on a tier."""
        given = self.sizes.get(tier)
        arms = self.with_arguments(" ", **given) if given else self
        return [arms.changed(tier=tier)]

    def __getitem__(self, arm: str) -> Quantity:
        """An arm's metric, one value a seed."""
        self._arguments(arm)
        return super().__getitem__(arm)

    def run(self, arm: str, index: int, role: Role = Role.CLAIM) -> RunSpec:
        """The spec of a role's replicate of an arm."""
        return RunSpec(self.function.spec(self._arguments(arm)), role.seed(index))

    def measure(self, given: str | Measure) -> Measure:
        """One of the function's measures."""
        return self.function.measure(given)

    def with_arguments(self, says: str = "", **arguments: Any) -> FunctionExperiment:
        """The same arms with other arguments; ``says`` is the change in words."""
        words = says or "with " + ", ".join(f"{name}={value}" for name, value in arguments.items())
        arms = {
            arm: self.function.arguments(arm, {**given, **arguments})
            for arm, given in self.arms.items()
        }
        return self.changed(words, arms=arms)

    def _arguments(self, arm: str) -> Mapping[str, Any]:
        if arm not in self.arms:
            raise InputError(
                f"{self.name} has no arm {arm!r}: {nearest(str(arm), self.arms)}it has "
                f"{', '.join(self.arms)}"
            )
        return self.arms[arm]


def experiment(
    name: str,
    *,
    training: Training,
    arms: Mapping[str, object] | Iterable[str],
    metric: str | Measure | None = None,
    margin: float | Literal["noise-floor"] = 0.0,
    baseline: str | None = None,
    seeds: int = SEEDS,
    most_seeds: int | None = MOST_SEEDS,
    sizes: Mapping[str, Mapping[str, Any]] | None = None,
) -> FunctionExperiment:
    """An experiment with a training function; InputError for unusable arguments.

    Args:
        name: What it is called in the ids of claims.
        training: The function that ``training`` decorates.
        arms: The arms by name: the function's arguments as a mapping, or a value for its argument
            ``arm``, which is the name where None or an ellipsis is given. Names alone will do.
        metric: The measure that arms are compared by; by default the function's first.
        margin: The smallest difference that matters, in the metric's unit; ``"noise-floor"`` for
            twice the sd of the baseline over seeds, which ``embinit register`` measures.
        baseline: The arm that others are compared with; by default the first.
        seeds: How many seeds the first interim analysis takes.
        most_seeds: How many the last one takes, for what is still UNDECIDED.
        sizes: Arguments of every arm by tier, such as ``{"ci": {"epochs": 1}, "real": {}}``.
    """
    if not isinstance(training, Training):
        raise InputError(f"{training!r} is not a training function; decorate it with @training(…)")
    given = dict(arms) if isinstance(arms, Mapping) else dict.fromkeys(arms)
    if not given:
        raise InputError(f"the experiment {name!r} has no arms; name at least two")
    known = {arm: training.arguments(arm, arguments) for arm, arguments in given.items()}
    number = _margin(margin)
    if baseline is not None and baseline not in known:
        raise InputError(
            f"the baseline {baseline!r} is not an arm of {name!r}: {nearest(baseline, known)}"
            f"it has {', '.join(known)}"
        )
    first = next(iter(training.measures.values()))
    made = FunctionExperiment(
        name=name,
        metric=first if metric is None else training.measure(metric),
        seeds=seeds,
        margin=number,
        baseline=baseline or next(iter(known)),
        most_seeds=None if most_seeds is None else max(seeds, most_seeds),
        function=training,
        arms=known,
        wants_noise_floor=margin == NOISE_FLOOR,
    )
    return replace(made, sizes=_sizes(made, {} if sizes is None else sizes))


def _sizes(made: FunctionExperiment, given: object) -> dict[str, dict[str, Any]]:
    """Sizes whose arguments the function takes, and whose tiers a session may ask for."""
    pairs = given.items() if isinstance(given, Mapping) else [("", given)]
    sizes: dict[str, dict[str, Any]] = {}
    for tier, arguments in pairs:
        if not isinstance(tier, str) or not tier or not isinstance(arguments, Mapping):
            raise InputError(
                f"the sizes of {made.name!r} are {given!r}; give every arm's arguments by tier, as "
                'in {"ci": {"epochs": 1}, "real": {"epochs": 30}}'
            )
        try:
            made.with_arguments(" ", **arguments)
        except InputError as error:
            raise InputError(f"the size {tier!r} of {made.name!r}: {error}") from None
        sizes[tier] = dict(arguments)
    OWN_TIERS.update(dict.fromkeys(sizes))
    return sizes


def _margin(given: object) -> float:
    """A margin as a number: NaN for the noise floor, until that is measured."""
    if given == NOISE_FLOOR:
        return math.nan
    if type(given) is not bool and isinstance(given, int | float) and 0 <= given < math.inf:
        return given
    raise InputError(
        f"a margin of {given!r} can't be used; give 0 or more, in the metric's unit, or "
        f"{NOISE_FLOOR!r}"
    )


def grid(**values: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """One arm for each combination of values, with names such as ``lr=0.1, depth=2``."""
    settings = (
        dict(zip(values, combination, strict=True))
        for combination in itertools.product(*values.values())
    )
    return {", ".join(f"{name}={value}" for name, value in one.items()): one for one in settings}
