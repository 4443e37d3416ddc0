"""Controls in a line each: claims that show whether the tests can say no.

::

    test_a_a = a_a(MINE, on=tokens)
    test_falsehood = falsehood(test_mean_beats_noise)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from embinit.claims.comparisons import Comparison
from embinit.claims.definitions import Family, Misstated, claim, claim_of, comparisons_of
from embinit.claims.experiments import Experiment
from embinit.claims.paired_tests import Relation, Verdict
from embinit.errors import InputError

_OPPOSITE = {Relation.ABOVE: Relation.BELOW, Relation.BELOW: Relation.ABOVE}


def a_a(
    family: Family,
    *,
    on: Callable[[str], Sequence[Experiment]] | Sequence[Any],
    arm: str | None = None,
    name: str = "control-a-a",
) -> Callable[..., None]:
    """A control: an arm against itself on other seeds, which must not be decided.

    Args:
        family: The family whose claims it watches.
        on: The experiment, or several.
        arm: The arm; by default the experiment's baseline.
        name: The last part of its id.

    Returns:
        The test, to be bound to a name that begins with ``test_``.
    """

    def test(arms: Experiment) -> None:
        ours = arms[arm or arms.baseline]
        assert ours > ours.on_other_seeds()

    return claim(
        f"{getattr(family, 'name', family)}/{name}",
        says=f"Control: {arm or 'the baseline'} differs from itself on other seeds",
        where="control",
        family=family,
        on=on,
        expects=Verdict.NO_EFFECT,
    )(test)


def falsehood(
    claim_test: Callable[..., None], *, name: str = "control-falsehood"
) -> Callable[..., None]:
    """A control: the opposite of a claim, which must be REFUTED where the claim holds.

    Args:
        claim_test: A claim of ``<`` and ``>`` alone.
        name: The last part of its id.

    Returns:
        The test, to be bound to a name that begins with ``test_``.

    """

    def test(arms: Experiment) -> None:
        for comparison in comparisons_of(claim_test, arms):
            assert _opposite(comparison)

    try:
        stated = claim_of(claim_test)
    except InputError as error:
        return Misstated(name, "", error=InputError(f"it has no opposite: {error}"))(test)
    return claim(
        f"{stated.family.name}/{name}",
        says=f"Control: the opposite of '{stated.says}'",
        where="control",
        family=stated.family,
        experiments=stated.experiments,
        expects=Verdict.REFUTED,
    )(test)


def _opposite(comparison: Comparison) -> Comparison:
    if comparison.relation not in _OPPOSITE:
        raise InputError(
            f"{comparison} has no opposite that a test could refute; take one of < or >"
        )
    return replace(comparison, relation=_OPPOSITE[comparison.relation])
