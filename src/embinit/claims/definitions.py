"""Claims: directional statements with a citation, stated as comparisons over arms.

A claim is a test function that takes an ``experiment`` and asserts how its arms compare::

    @claim(id="…", says="…", where="Table 1", family=FINDING_1, experiments=table1("glove"))
    def test_raw_glove_fares_worse_than_xavier(experiment):
        assert experiment["pretrained"] < experiment["xavier"]

It is read twice. At collection it runs with nothing trained, only to learn which comparisons it
makes and so which runs it wants; when those are in the store it runs again, and the comparisons
decide. A claim never trains, and states its comparisons positively: no ``not``, no ``or``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from embinit.claims.comparisons import Comparison, Reader, read_by
from embinit.claims.experiments import Experiment
from embinit.claims.paired_tests import Verdict
from embinit.claims.registration import Registration
from embinit.claims.statements import Statement
from embinit.errors import InputError


@dataclass(frozen=True)
class Family:
    """Claims that share one alpha.

    A claim's share is alpha / size, however many claims of the family are run. So a claim that is
    run alone gets the verdict that it gets in the whole suite. A test compares the sizes with the
    claims that are collected.

    Attributes:
        name: The family's name, after its paper's (``paper/finding-1``).
        size: How many claims it has on each tier, fixed before any run.
        says: What its claims state together, for people.
        alpha: The level that its claims share.
        registration: What was measured for its claims beforehand; None where nothing was.
    """

    name: str
    size: Mapping[str, int]
    says: str = ""
    alpha: float = 0.05
    registration: Registration | None = None

    def share(self, tier: str) -> float:
        """This family's alpha for one claim on ``tier``.

        Raises:
            InputError: The family has no size for that tier.
        """
        try:
            return self.alpha / self.size[tier]
        except KeyError:
            raise InputError(
                f"family {self.name!r} has no size for tier {tier!r}; register one beside "
                f"{', '.join(self.size)}"
            ) from None


def family_rank(family: str) -> tuple[int, str]:
    """A sort key for families.

    A paper's findings stand first, then its tables and figures, then what goes beyond them.
    """
    kinds = ("finding", "table", "figure")
    name = family.rpartition("/")[2]
    rank = next((index for index, kind in enumerate(kinds) if name.startswith(kind)), len(kinds))
    return rank, family


@dataclass(frozen=True)
class Claim(Statement):
    """A directional statement, and the experiments in which it is tested.

    Attributes:
        family: The claims that it shares one alpha with.
        experiments: Gives the experiments of a tier.
        expects: For controls alone, the verdict that shows the machinery right: REFUTED for a
            planted falsehood, SUPPORTED for a planted effect, NO EFFECT for an arm against itself,
            which may stay UNDECIDED too, and NOT RUN for arms whose unequal budget must be caught.
        equal: The phase at which all arms must have equally many parameters; if they do not, the
            claim is NOT RUN.
    """

    family: Family
    experiments: Callable[[str], Sequence[Experiment]]
    expects: Verdict | None = None
    equal: str | None = None

    def expects_verdict(self, verdict: Verdict) -> bool:
        """Whether a control with this verdict came out as it should."""
        if self.expects is Verdict.NO_EFFECT and verdict is Verdict.UNDECIDED:
            return True
        return verdict is self.expects


claim = Claim
"""The decorator's name, as a claim reads."""


def comparisons_of(test: Callable[..., None], experiment: Experiment) -> list[Comparison]:
    """Every comparison that a claim makes; nothing is trained for it.

    Raises:
        InputError: The claim makes none, or one that can't be made, such as of an unknown arm.
    """
    with read_by(Reader()) as reader:
        try:
            test(experiment=experiment)
        except AssertionError as error:
            raise InputError(
                "it asserts something that is false before any run: a claim asserts comparisons of "
                "arms alone, and none with 'not'"
            ).with_traceback(error.__traceback__) from None
    if not reader.met:
        raise InputError(f"{getattr(test, '__name__', test)} asserts no comparison of arms")
    return reader.met
