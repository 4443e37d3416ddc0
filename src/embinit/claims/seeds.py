"""The fixture ``seeds``: it gives a test arms of any function, and makes the test a claim.

From ``assert seeds(train, tied=False) < seeds(train, tied=True)`` the rest is derived: id and
sentence from the test, family from the file. The margin is the one that ``within`` gives. A test
that is marked as a control must come out SUPPORTED.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from embinit.claims.comparisons import Quantity
from embinit.claims.definitions import Claim, Family
from embinit.claims.experiments import Experiment
from embinit.claims.functions import MOST_SEEDS, SEEDS, experiment
from embinit.errors import InputError
from embinit.runs.measures import Measure
from embinit.runs.trainings import Training, plain_training
from embinit.stats.statements import Verdict

NAME = "seeds"
"""The fixture's name, and that of the experiment where a test is not parametrised."""


@dataclass(frozen=True, kw_only=True)
class SeedsExperiment(Experiment):
    """An experiment whose arms are calls of functions, each made when the test names it."""

    pools_noise = True

    @property
    def task(self) -> str:
        """Nothing: each arm has a function of its own."""
        return ""

    def __call__(self, *given: Any, **arguments: Any) -> Quantity:
        """An arm: what one function returns, one number a seed.

        The function takes ``seed`` and the arguments, which are plain values, and returns a number.
        One that ``training`` decorates may return several; its first measure is compared. A
        function that other processes would not find is an InputError.
        """
        if len(given) != 1:
            raise InputError(
                "seeds takes one function, and its arguments by name, as in seeds(train, lr=0.1)"
            )
        known = given[0] if isinstance(given[0], Training) else plain_training(given[0])
        listed = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        label = f"{known.name.rpartition(':')[2]}({listed})"
        made = experiment(self.name, training=known, arms={label: arguments}, seeds=self.seeds)
        return made.changed(tier=self.tier)[label]


class SeedsClaim(Claim):
    """A claim that a test states by the fixture ``seeds``."""


def on_seeds(tier: str) -> Sequence[Experiment]:
    """The one experiment of such a test, on any tier."""
    return [
        SeedsExperiment(
            name=NAME, tier=tier, metric=Measure("score"), seeds=SEEDS, most_seeds=MOST_SEEDS
        )
    ]


def stated_by(
    test: Callable[..., Any], home: str, name: str, expects: Verdict | None = None
) -> SeedsClaim:
    """The claim of a test with the fixture, or its control; ``home`` is its file, in dots."""
    *classes, own = name.split(".")
    words = own.removeprefix("test_").replace("_", " ").strip()
    statement = (inspect.getdoc(test) or words[:1].upper() + words[1:]).splitlines()[0]
    return SeedsClaim(
        f"{home}/{NAME}/{'.'.join([*classes, words.replace(' ', '-')])}",
        statement.rstrip("."),
        family=Family(f"{home}/{NAME}", says=f"Claims of {home}"),
        experiments=on_seeds,
        expects=expects,
    )
