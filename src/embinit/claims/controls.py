"""Controls in a line each, such as ``test_a_a = a_a(MINE, on=tokens)``.

They show whether the tests can say no, and yes. None of them rests on a claim of the family: it
would call the family wrong where the finding is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from embinit.claims.definitions import Family, claim
from embinit.claims.experiments import Experiment
from embinit.claims.paired_tests import Verdict
from embinit.errors import InputError

On = Callable[[str], Sequence[Experiment]] | Sequence[Any]
Control = Callable[..., None]


def a_a(family: Family, *, on: On, arm: str | None = None, name: str = "control-a-a") -> Control:
    """A control: an arm against itself on other seeds, which must have no effect.

    The arm is by default the experiment's baseline, and ``name`` the last part of the id. Bind the
    test that it returns to a name that begins with ``test_``.
    """

    def test(arms: Experiment) -> None:
        ours = arms[arm or arms.baseline]
        assert ours > ours.on_other_seeds()

    says = f"Control: {arm or 'the baseline'} differs from itself on other seeds"
    return _control(family, on, name, says, Verdict.NO_EFFECT, test)


def falsehood(
    family: Family,
    *,
    on: On,
    by: float | None = None,
    arm: str | None = None,
    name: str = "control-falsehood",
) -> Control:
    """A control: a loss claimed as a gain, which must be REFUTED.

    ``by`` is how much is lost, in the metric's unit: by default two margins.
    """

    def test(arms: Experiment) -> None:
        ours = arms[arm or arms.baseline]
        lost = 2 * ours.margin if by is None else by
        if not lost > 0:
            raise InputError(
                f"{arms.name} has no margin yet, two of which would be lost; say how much is, as "
                "in falsehood(…, by=0.5)"
            )
        assert ours.lowered(lost) > ours.on_other_seeds()

    lower = "two margins" if by is None else f"{by:g}"
    says = f"Control: {arm or 'the baseline'}, {lower} lower, is above itself on other seeds"
    return _control(family, on, name, says, Verdict.REFUTED, test)


def planted(family: Family, *, on: On, small: bool = False, name: str = "") -> Control:
    """A control: a (``small``) loss that the experiment plants, which must be found."""

    def test(arms: Experiment) -> None:
        assert arms.finds_planted(small)

    size, most = ("small", "smallest") if small else ("large", "largest")
    says = f"Control: a loss as {size} as the {most} that the paper prints here is found"
    return _control(family, on, name or f"control-planted-{size}", says, Verdict.SUPPORTED, test)


def _control(
    family: Family, on: On, name: str, says: str, expects: Verdict, test: Control
) -> Control:
    whole = f"{getattr(family, 'name', family)}/{name}"
    return claim(whole, says=says, where="control", family=family, on=on, expects=expects)(test)
