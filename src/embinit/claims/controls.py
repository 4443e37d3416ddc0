"""Controls: claims whose right verdict is known before anything is trained.

A positive control trains a setting that must be worse. If it isn't SUPPORTED, UNDECIDED and NO
EFFECT claims about its task say little. A negative control compares arms with themselves on other
seeds. It expects NO EFFECT, and uniformly distributed p-values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from embinit.claims.comparisons import Decision
from embinit.claims.definitions import Family, Tested, claim
from embinit.claims.experiments import Experiment
from embinit.stats.rule import constant
from embinit.stats.statements import Verdict

UNIFORM_LEVEL = 0.01
"""The level of the test that p-values of a negative control are uniform."""


def positive_control(
    family: Family,
    *,
    on: Tested | Experiment | Sequence[Tested | Experiment],
    worse: str,
    name: str = "control-positive",
) -> Callable[..., None]:
    """A positive control: the arm ``worse`` must be worse than the baseline.

    The metric says which way is worse. ``name`` is the last part of the id. Bind the test that it
    returns to a name that begins with ``test_``.
    """

    def test(arms: Experiment) -> None:
        ours, usual = arms[worse], arms[arms.baseline]
        if arms.metric.better == "down":
            assert ours > usual
        else:
            assert ours < usual

    return claim(
        f"{getattr(family, 'name', family)}/{name}",
        says=f"Control: {worse} is worse than the baseline",
        where="control",
        family=family,
        on=on,
        expects=Verdict.SUPPORTED,
    )(test)


def p_of_uniform(decisions: Iterable[Decision]) -> float:
    """The p of Kolmogorov and Smirnov's test that the p-values of comparisons are uniform.

    Each is that of a plain one-sided paired t: what makes a verdict more careful would push it up.
    Scores that don't vary have none, and are not uniform.
    """
    from scipy import stats  # it takes a second to load

    sides = [(np.array(row.left), np.array(row.right)) for row in decisions]
    if any(constant(left, right) for left, right in sides):
        return 0.0
    ps = [float(stats.ttest_rel(*pair, alternative="greater").pvalue) for pair in sides]
    return float(stats.kstest(ps, "uniform").pvalue)
