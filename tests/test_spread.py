"""The variance over seeds is told apart: what examples share, and what is of single ones."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from builders import make_result
from embinit.papers.kim2024.experiments import experiments


@pytest.fixture(scope="module")
def spread():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
        return importlib.import_module("spread")


[ONE] = experiments("micro", ("glove",), ("sentiment",))


def drawn(examples, shared, seeds=400):
    """Runs whose examples are right with a chance that is a seed's own."""
    generator = np.random.default_rng(1)
    chances = generator.normal(0.8, shared, seeds)
    return [
        make_result(
            ONE.run("xavier", seed),
            outputs=[str(int(one)) for one in generator.random(examples) < chance],
            references=["1"] * examples,
        )
        for seed, chance in enumerate(chances)
    ]


@pytest.mark.parametrize(("examples", "shared"), [(100, 0.0), (100, 0.03), (1000, 0.03)])
def test_parts_are_those_that_were_drawn(spread, examples, shared):
    """Variances of the simulation: shared², and chance (1 - chance) / examples beside it."""
    freedom, whole, part = spread.parts_of(drawn(examples, shared), spread.accuracy)
    single = (0.8 * 0.2 - shared**2) / examples
    assert freedom == 399
    assert part == pytest.approx(1e4 * shared**2, rel=0.2, abs=0.5)
    assert whole - part == pytest.approx(1e4 * single, rel=0.2, abs=0.5)


def test_arms_count_by_their_degrees_of_freedom(spread):
    """A part is no less than nothing, though an estimate of it may be."""
    assert spread.pooled([(1, 4.0, -9.0), (3, 8.0, 1.0)]) == (7.0, 0.0)
    assert spread.pooled([(2, 4.0, 1.0), (2, 8.0, 3.0)]) == (6.0, 2.0)


def test_seeds_of_an_arm_are_one_row(spread, tmp_path, capsys, monkeypatch):
    """By task and number of examples; an arm with fewer seeds than four is left out."""
    from embinit.runs.store import Store

    store = Store(tmp_path)
    runs = [*drawn(20, 0.03, seeds=5), *drawn(30, 0.03, seeds=3)]
    for number, run in enumerate(runs):
        store.put(f"{number:040x}", run)
    monkeypatch.setattr("sys.argv", ["spread.py", str(tmp_path)])
    spread.main()
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[:4] for row in rows[2:]] == [[f"| {ONE.data.task}", "20", "1", "5"]]
