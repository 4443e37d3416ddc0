"""Repairs of a large-sigma table, one for each cause of its cost.

- ``scale``: a LayerNorm (of Llama-like models an RMSNorm) after table + positions;
- ``ratio``: positions that are scaled as the table's sigma is;
- ``step``: the table's learning rate, scaled alike, for Adam moves a table by the learning rate,
  whatever its sigma.

All combinations of them are a factorial, whose contrasts tell what each cause costs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from embinit.claims.comparisons import Quantity
from embinit.errors import InputError
from embinit.lab.experiments import ModelExperiment
from embinit.registry import require

REPAIRS = ("scale", "ratio", "step")
"""The repairs: of the two causes that Kim et al. (2024) name, and of a third."""


def combinations_of(repairs: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """All combinations of some repairs: none, single ones, pairs, and on to all."""
    return tuple(
        chosen
        for number in range(len(repairs) + 1)
        for chosen in itertools.combinations(repairs, number)
    )


def repaired(wide: ModelExperiment, repairs: Sequence[str], times: float) -> ModelExperiment:
    """The same experiment on a large-sigma table, with some repairs.

    Args:
        wide: The experiment whose table is wide, and whose positions are as strong as usual.
        repairs: Some of ``REPAIRS``, in any order.
        times: How many times wider than usual the table is.

    Raises:
        InputError: There is no such repair.
    """
    for name in repairs:
        require("repair", name, REPAIRS)
    if "scale" in repairs:
        wide = wide.with_model("+ scale", norm_after_sum=True)
    if "ratio" in repairs:
        wide = wide.changed("+ ratio", positions=replace(wide.positions, pe_scale=f"{times:g}"))
    if "step" in repairs:
        wide = wide.changed("+ step", table_rate=times)
    return wide


def factorial_contrast(
    arm: Callable[..., Quantity], repairs: Sequence[str], causes: Sequence[str]
) -> Quantity:
    """A contrast over all combinations of some repairs, one value a seed.

    Of one cause it is the main effect of its repair: what it adds to the metric, on the mean over
    the combinations of the others. Of several it is their interaction: by how much one's effect is
    larger where the others are repaired, halved for each of them. All effects are on one scale: of
    two or three repairs, the main effects and the threefold interaction sum to what all together
    add.

    Args:
        arm: Gives the metric with the repairs that it is called with.
        repairs: The repairs that there are.
        causes: The causes, at least one, each once.

    Raises:
        InputError: There is no such cause, one is named twice, or none is named.
    """
    if not causes:
        raise InputError(f"name at least one of the causes {', '.join(repairs)}")
    for name in causes:
        require("repair", name, repairs)
    if len(set(causes)) < len(causes):
        raise InputError(f"a cause is named twice in {', '.join(causes)}")
    terms = []
    for chosen in combinations_of(repairs):
        sign = math.prod(1 if cause in chosen else -1 for cause in causes)
        terms += [
            replace(term, weight=sign * term.weight / 2 ** (len(repairs) - 1))
            for term in arm(*chosen).terms
        ]
    kind = "effect" if len(causes) == 1 else "interaction"
    label = f"{kind} of {' × '.join(causes)}"
    return replace(arm(*causes), terms=tuple(terms), label=label)
