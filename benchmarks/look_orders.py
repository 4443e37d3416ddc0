"""Which order of looks decides most claims a minute: orders replayed on the runs of a store.

The store has all looks of the claims, such as that of a ``make claims`` without a budget. First all
first looks are taken, then those of controls, then the others in each of several orders:

- *in rounds*: by the chance to decide a second, and once through all looks before the next order;
- *one by one*: the same, and the order is made anew after each look;
- *shared*: a look also counts for each claim whose next look lacks no other run, as sessions do;
- *foreknown*: as though it were known which claims end and with which runs, always taking what
  decides most a second. No session can know, so it tells about how much an order could gain.

The time is that of one core: the seconds that the runs took, an arm's seeds on the mean::

    python benchmarks/look_orders.py .embinit/store [claims/kim2024 claims/chung2021]
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from embinit.claims.judging import Case, judge
from embinit.claims.next_looks import NextLook, by_worth, next_look
from embinit.claims.paired_tests import Verdict
from embinit.pytest_plugin.session import CASE
from embinit.runs.results import RunResult
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit.specs import RunSpec

SHARES = (0.7, 0.75, 0.8, 0.85, 0.875, 0.9)
"""The decided shares whose minutes are told."""

Order = Callable[[Sequence[NextLook]], Iterable[NextLook]]
"""From the next looks of all open claims to those that are taken before the next order."""


class Shown(Store):
    """A store of which only those runs are seen that were made by now."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, write=False)
        self.made: set[str] = set()

    def __contains__(self, key: str) -> bool:
        """Whether the run was made by now."""
        return key in self.made and self.holds(key)

    def holds(self, key: str) -> bool:
        """Whether the run was ever made."""
        return super().__contains__(key)

    def get(self, key: str) -> RunResult | None:
        """The run's result, once it is made."""
        return super().get(key) if key in self.made else None


@dataclass(frozen=True)
class Ending:
    """How a claim ends once every look is stored.

    Attributes:
        case: The claim.
        decided: Whether it is decided.
        runs: The runs that it has taken by then.
    """

    case: Case
    decided: bool
    runs: frozenset[RunSpec]


def worth_alone(look: NextLook) -> float:
    """The chance that the look decides its own claim, a second."""
    return look.chance / max(look.seconds, 1e-9)


def in_rounds(looks: Sequence[NextLook]) -> list[NextLook]:
    """All looks."""
    return sorted(looks, key=worth_alone, reverse=True)


def one_by_one(looks: Sequence[NextLook]) -> list[NextLook]:
    """The look that is worth most to its own claim."""
    return in_rounds(looks)[:1]


def shared(looks: Sequence[NextLook]) -> list[NextLook]:
    """The look that a session takes."""
    return by_worth(looks)[:1]


class Replay:
    """Claims whose looks are taken in an order.

    Attributes:
        minutes: The minutes of one core so far.
        decided: How many claims are decided by then, after each step: minutes and number.
    """

    def __init__(self, endings: Sequence[Ending], store: Path, seconds: Callable[[RunSpec], float]):
        self.endings, self._seconds = endings, seconds
        self.store = Shown(store)
        self.session = Session(self.store, None, "cpu")
        self._looks: dict[str, NextLook] = {}
        self.minutes = 0.0
        self.decided: list[tuple[float, int]] = []
        self.take(run for ending in endings for run in ending.case.runs())

    def take(self, runs: Iterable[RunSpec]) -> None:
        """Makes what is lacking of the runs."""
        for run in dict.fromkeys(runs):
            key = self.session.key(run)
            if key not in self.store.made:
                self.store.made.add(key)
                self.minutes += self._seconds(run) / 60
        self.decided.append((self.minutes, sum(map(self._is_decided, self.endings))))

    def _is_decided(self, ending: Ending) -> bool:
        claims = ending.case.claim.expects is None
        return claims and ending.decided and not self._lacks(ending.runs)

    def _lacks(self, runs: Iterable[RunSpec]) -> frozenset[RunSpec]:
        return frozenset(run for run in runs if self.session.key(run) not in self.store.made)

    def next_looks(self) -> list[NextLook]:
        """The next looks of what is open: those of controls, while there are such."""
        looks = []
        for ending in self.endings:
            look = self._looks.get(ending.case.id)
            if look is None or not look.is_next(self.session):
                look = next_look(ending.case, self.session)
            if look is not None:
                self._looks[ending.case.id] = look
                if all(self.store.holds(self.session.key(run)) for run in look.new):
                    looks.append(look)
        return [look for look in looks if look.case.claim.expects is not None] or looks

    def foreknown(self) -> list[NextLook]:
        """All runs that each claim lacks until its end: those of controls, while there are such."""
        lacking = [(ending, self._lacks(ending.runs)) for ending in self.endings]
        looks = [
            NextLook(
                ending.case,
                tuple(ending.runs),
                new,
                float(ending.decided),
                sum(map(self._seconds, new)),
            )
            for ending, new in lacking
            if new
        ]
        return [look for look in looks if look.case.claim.expects is not None] or looks

    def run(self, order: Order) -> None:
        """Takes all looks that sessions would take."""
        while looks := self.next_looks():
            for look in order(looks):
                self.take(look.runs)

    def run_foreknown(self) -> None:
        """Takes what decides most claims a second, all of a claim's looks at once."""
        while looks := self.foreknown():
            self.take(by_worth(looks)[0].runs)


def endings_of(cases: Iterable[Case], session: Session) -> Iterator[Ending]:
    """How the claims end, those left out that have no look."""
    for case in cases:
        judged = judge(case, session=session)
        runs = {run for each in judged.decisions for run in each.comparison.runs()}
        if judged.verdict is not Verdict.NOT_RUN:
            yield Ending(case, case.settled(judged.verdict), frozenset(runs))


def seconds_of(endings: Iterable[Ending], session: Session) -> Callable[[RunSpec], float]:
    """How long a run takes: the mean of its arm's seeds."""
    took: dict[RunSpec, list[float]] = defaultdict(list)
    for run in {run for ending in endings for run in ending.runs}:
        result = session.result(run)
        if result is not None:
            took[replace(run, seed=0)].append(float(result.provenance.get("seconds", 0.0)))
    means = {arm: sum(seconds) / len(seconds) for arm, seconds in took.items()}
    return lambda run: means.get(replace(run, seed=0), 0.0)


class Collected:
    """Takes the claims that pytest collects."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keeps them."""
        self.cases = [item.stash[CASE] for item in session.items if CASE in item.stash]


def minutes_until(decided: Sequence[tuple[float, int]], wanted: float) -> str:
    """When so many claims were decided, in minutes."""
    return next((f"{minutes:.1f}" for minutes, count in decided if count >= wanted), "never")


def main() -> None:
    """Print a table, a row an order."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("claims", nargs="*", default=["claims/kim2024", "claims/chung2021"])
    parsed = parser.parse_args()
    collected = Collected()
    with contextlib.redirect_stdout(sys.stderr):
        status = pytest.main(
            [*parsed.claims, "--collect-only", "-q", "-p", "no:randomly"], [collected]
        )
    if status:
        sys.exit(int(status))
    full = Session(Store(parsed.store, write=False), None, "cpu", may_train=False)
    endings = list(endings_of(collected.cases, full))
    seconds = seconds_of(endings, full)
    claims = sum(ending.case.claim.expects is None for ending in endings)
    print(f"{claims} claims, minutes of one core until a share is decided")
    print(f"| order | {' | '.join(f'{share:.1%}' for share in SHARES)} | all looks |")
    print("|---|" + "---|" * (len(SHARES) + 1))
    for name, order in {
        "in rounds": in_rounds,
        "one by one": one_by_one,
        "shared": shared,
        "foreknown": None,
    }.items():
        replay = Replay(endings, parsed.store, seconds)
        replay.run(order) if order else replay.run_foreknown()
        row = [minutes_until(replay.decided, share * claims) for share in SHARES]
        last = f"{replay.minutes:.1f} ({replay.decided[-1][1]} decided)"
        print(f"| {name} | {' | '.join(row)} | {last} |", flush=True)


if __name__ == "__main__":
    main()
