"""Claims: directional statements with a citation, stated as comparisons over arms.

A claim is a test function that takes its experiment and asserts how arms compare. At collection it
runs with nothing trained, to learn which comparisons it makes and which runs it wants; when those
are in the store it runs again, and the comparisons decide.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from embinit.claims.comparisons import Comparison, Reader, read_by
from embinit.claims.experiments import Experiment
from embinit.claims.statements import Statement
from embinit.errors import InputError
from embinit.registry import require
from embinit.stats.statements import Verdict


class Origin(StrEnum):
    """The author of a claim's statement."""

    PAPER = "paper"
    ABSTRACT = "abstract"
    SUMMARY = "summary"
    OURS = "ours"

    @property
    def in_words(self) -> str:
        """The author for people."""
        return _IN_WORDS[self]


_IN_WORDS = {
    Origin.PAPER: "the paper's own",
    Origin.ABSTRACT: "its abstract's own",
    Origin.SUMMARY: "a summary's, not the paper's,",
    Origin.OURS: "our own",
}


@dataclass(frozen=True)
class Family:
    """A group of claims with one origin that share one error rate.

    A claim's share is alpha / size, however many claims of the family are run, so a claim that is
    run alone gets the verdict that it gets in the whole suite.
    """

    name: str  # ``paper/finding-1``
    # How many claims it has (by tier), fixed before any run; None counts those of the folder.
    size: Mapping[str, int] | int | None = None
    says: str = ""  # what its claims state together
    alpha: float = 0.05
    origin: Origin | str | None = None  # whose statements its claims are

    def __post_init__(self) -> None:
        """Takes the origin's name for the origin; InputError for an unknown one."""
        if self.origin is not None:
            require("origin", self.origin, [known.value for known in Origin])
            object.__setattr__(self, "origin", Origin(self.origin))

    def share(self, tier: str) -> float:
        """The alpha of one claim on ``tier``; InputError if the family has no size there."""
        size = self.size_on(tier)
        if size is None:
            raise InputError(
                f"family {self.name!r} has no size; say how many claims it has: Family(…, size=…)"
            )
        if size < 1:
            raise InputError(f"family {self.name!r} can't have {size} claims; count them")
        return self.alpha / size

    def size_on(self, tier: str) -> int | None:
        """The number of claims on ``tier``; None if embinit counts them."""
        if self.size is None or isinstance(self.size, int):
            return self.size
        if tier not in self.size:
            raise InputError(
                f"family {self.name!r} has no size for tier {tier!r}; name one next to "
                f"{', '.join(self.size)}"
            )
        return self.size[tier]


def family_rank(family: str) -> tuple[int, str]:
    """A sort key for families: findings first, then tables, figures, and what goes beyond them."""
    kinds = ("finding", "table", "figure")
    name = family.rpartition("/")[2]
    rank = next((index for index, kind in enumerate(kinds) if name.startswith(kind)), len(kinds))
    return rank, family


Tested = Callable[[str], Sequence[Experiment]]
"""The experiments of a tier."""


@dataclass(frozen=True, kw_only=True)
class Claim(Statement):
    """A statement about arms, with the experiments that test it.

    ``experiments`` gives those of a tier. ``expects`` is for controls alone, the verdict that shows
    the machinery right. ``equal`` is the phase at which all arms must have equally many parameters,
    or the claim is NOT RUN.
    """

    family: Family
    experiments: Tested
    expects: Verdict | None = None
    equal: str | None = None

    @property
    def origin(self) -> Origin:
        """Who makes the statement: the paper, its abstract, a summary, or embinit's authors."""
        return Origin(self.family.origin or Origin.OURS)

    def __post_init__(self) -> None:
        """Checks what was given, else InputError; experiments may be named in a list, too."""
        super().__post_init__()
        if not isinstance(self.family, Family):
            raise InputError(
                f"{self.id} has no family: give it one, as in family=Family('mine/finding-1')"
                if self.family is None
                else f"the family of {self.id} is {self.family!r}; give it a Family"
            )
        if self.where and self.expects is None and self.family.origin is None:
            raise InputError(
                f"{self.id} is from {self.where!r}, and its family {self.family.name!r} doesn't "
                f"say whose statements it has: give it an origin, {', '.join(Origin)}"
            )
        given: object = self.experiments
        if given is None:
            raise InputError(
                f"{self.id} has no experiments to be tested in; name one: claim(…, on=…)"
            )
        if not callable(given):
            object.__setattr__(self, "experiments", _on_each(given))


def _on_each(given: object) -> Tested:
    """The experiments of a tier where one is named, or several, each on all tiers or by tier."""
    several = [given] if isinstance(given, Experiment) else given
    if not isinstance(several, list | tuple) or not several:
        raise InputError(
            f"a claim is tested on experiments, not on {given!r}; see embinit.experiment"
        )

    def every(tier: str) -> Sequence[Experiment]:
        made = (one(tier) if callable(one) else [one] for one in several)
        return [*itertools.chain.from_iterable(made)]

    return every


@dataclass(frozen=True)
class Misstated(Statement):
    """Stands in for a claim whose decorator can't be used; its test fails with the reason.

    An exception in a decorator would end the import of its module, and so cost all claims there.
    """

    error: InputError = field(kw_only=True)

    def __post_init__(self) -> None:
        """Checks nothing: what is wrong is known."""


def claim(
    id: str,
    says: str | None = None,
    where: str = "",
    *,
    family: Family | None = None,
    experiments: Tested | None = None,
    on: Tested | Experiment | Sequence[Tested | Experiment] | None = None,
    expects: Verdict | None = None,
    equal: str | None = None,
) -> Statement:
    """A decorator that makes a test function a claim; its arguments describe the claim.

    ``on`` names ``experiments`` in short: what ``experiment`` made, or several. What can't be used,
    such as an id of another form, fails this claim alone when it is read.
    """
    try:
        if says is None:
            raise InputError(f"{id} states nothing; say it in a sentence: claim(…, says='…')")
        return Claim(
            id,
            says,
            where,
            family=family,  # type: ignore[arg-type]
            experiments=experiments if on is None else on,  # type: ignore[arg-type]
            expects=expects,
            equal=equal,
        )
    except InputError as error:
        return Misstated(str(id), "", error=error)


def claim_of(test: object) -> Claim:
    """The claim that a function was decorated with; InputError without a usable one."""
    stated = Statement.of(test)
    if isinstance(stated, Misstated):
        raise stated.error
    if not isinstance(stated, Claim):
        raise InputError(
            f"{getattr(test, '__name__', test)} is not a claim; decorate it: "
            "@claim(id, says=…, family=…, on=…)"
        )
    return stated


def argument_of(test: Callable[..., Any]) -> str:
    """The name of a claim's one argument, its experiment; InputError where it takes other ones."""
    names = list(inspect.signature(test).parameters)
    if len(names) != 1:
        taken = f"takes {', '.join(names)}" if names else "takes nothing"
        raise InputError(
            f"a claim takes one argument, its experiment, as in def test_it(arms); this one {taken}"
        )
    return names[0]


def comparisons_of(test: Callable[..., None], experiment: Experiment) -> list[Comparison]:
    """Every comparison that a claim makes, without training; InputError for none.

    While a claim is read each of them is true, and ``not``, ``or`` or ``if`` would hide a branch.
    So it is read once more with each of them false, and must then fail at it.
    """
    arguments = {argument_of(test): experiment}
    with read_by(Reader()) as reader:
        try:
            test(**arguments)
        except AssertionError as error:
            raise InputError(
                "it asserts something that is false before any run: a claim asserts comparisons of "
                "arms alone, and none with 'not'"
            ).with_traceback(error.__traceback__) from None
    for comparison, line in reader.made.items():
        if comparison not in reader.met:
            raise InputError(f"line {line}: {comparison} is compared and never asserted")
    if not reader.met:
        raise InputError(f"{getattr(test, '__name__', test)} asserts no comparison of arms")
    for place, comparison in enumerate(reader.met):
        with read_by(Reader(false_at=place)) as prober:
            try:
                test(**arguments)
                fails = False
            except AssertionError:
                fails = len(prober.met) == place + 1
        if not fails:
            raise InputError(
                f"line {reader.made[comparison]}: if {comparison} is false, the claim does not "
                "fail there: a claim asserts comparisons joined by 'and' alone, without 'or', "
                "'if', 'try' or a function around one"
            )
    return reader.met
