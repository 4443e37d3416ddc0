"""Orders of looks are replayed on stored runs: each ends where a session ends."""

from __future__ import annotations

import importlib
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from builders import make_experiment, make_result
from embinit.claims.definitions import Family, claim
from embinit.claims.judging import read
from embinit.runs.session import Session
from embinit.runs.store import Store

EFFECTS = {"pretrained": -30.0, "xavier_pretrained": -2.0, "pretrained_shuffled": 0.0}
NOISE = {"pretrained_shuffled": 15.0}
SECONDS = {"xavier": 1.0, "pretrained": 1.0, "xavier_pretrained": 2.0, "pretrained_shuffled": 40.0}


@pytest.fixture(scope="module")
def orders():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
        return importlib.import_module("look_orders")


def stated(arm):
    each = make_experiment(seeds=3, most_seeds=12)

    @claim(f"mine/looks/{arm}", says=arm, family=Family("mine/looks", size=1), on=each)
    def test(experiment):
        assert experiment[arm] < experiment["xavier"]

    return read(test, each)


CASES = [stated(arm) for arm in EFFECTS]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """All seeds of all arms."""
    root = tmp_path_factory.mktemp("store")
    session = Session(Store(root), None, "cpu")
    for case in CASES:
        for run in case.comparisons[0].with_seeds(12).runs():
            init = run.table.init
            noise = np.random.default_rng((run.seed, len(init))).normal()
            score = 70.0 + EFFECTS.get(init, 0.0) + NOISE.get(init, 1.0) * noise
            result = make_result(run, accuracy=score)
            took = {"seconds": 60 * SECONDS[init]}
            session.store.put(session.key(run), replace(result, provenance=took))
    return root


@pytest.fixture
def replay(orders, store):
    full = Session(Store(store, write=False), None, "cpu", may_train=False)
    endings = [*orders.endings_of(CASES, full)]
    return orders.Replay(endings, store, orders.seconds_of(endings, full))


def test_every_order_ends_where_a_session_does(orders, replay, store):
    """With the same runs, and so the same claims decided; the first looks come first."""
    full = Session(Store(store, write=False), None, "cpu", may_train=False)
    taken = {run for ending in replay.endings for run in ending.runs}
    minutes = sum(SECONDS[run.table.init] for run in taken)
    decided = [ending.case.id for ending in replay.endings if ending.decided]
    assert decided == [CASES[0].id, CASES[1].id]
    for order in (orders.in_rounds, orders.one_by_one, orders.shared, None):
        again = orders.Replay(replay.endings, store, orders.seconds_of(replay.endings, full))
        assert again.decided == [(pytest.approx(3 * sum(SECONDS.values())), 1)]
        again.run(order) if order else again.run_foreknown()
        assert (again.minutes, again.decided[-1][1]) == (pytest.approx(minutes), len(decided))
        assert all(one <= two for one, two in itertools.pairwise(again.decided))


def test_orders_differ_where_a_look_makes_the_others_worth_something_else(orders):
    """In rounds the second look is taken though it has become poor; and sharing counts for two."""
    runs = [replace(CASES[0].runs()[0], seed=seed) for seed in range(3)]

    def look(case, seeds, chance, seconds):
        new = frozenset(runs[seed] for seed in seeds)
        return orders.NextLook(case, tuple(new), new, chance, seconds)

    alone, one, two = (
        look(case, seeds, chance, 1.0)
        for case, seeds, chance in zip(CASES, ({0}, {1, 2}, {1, 2}), (0.9, 0.6, 0.6), strict=True)
    )
    assert orders.in_rounds([one, alone, two]) == [alone, one, two]
    assert orders.one_by_one([one, alone, two]) == [alone]
    assert orders.shared([one, alone, two]) == [one]


def test_a_share_that_is_not_reached_has_no_minutes(orders):
    """The minutes are those of the first step that reaches it."""
    decided = [(1.0, 2), (2.5, 4), (3.0, 4)]
    assert [orders.minutes_until(decided, wanted) for wanted in (2, 3.2, 5)] == [
        "1.0",
        "2.5",
        "never",
    ]


def test_a_claim_that_is_not_run_has_no_ending(orders, tmp_path):
    """An empty store decides nothing."""
    empty = Session(Store(tmp_path), None, "cpu", may_train=False)
    assert [*orders.endings_of(CASES, empty)] == []


def test_a_look_that_the_store_lacks_is_not_taken(replay):
    """A store whose session had a budget ends there."""
    assert CASES[2].id in {look.case.id for look in replay.next_looks()}
    lacking = [run for run in CASES[2].comparisons[0].with_seeds(6).runs() if run.seed == 5]
    hidden = {replay.session.key(run) for run in lacking}
    holds = replay.store.holds
    replay.store.holds = lambda key: key not in hidden and holds(key)
    assert CASES[2].id not in {look.case.id for look in replay.next_looks()}
