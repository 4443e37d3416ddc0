"""Margins of the papers stand on noise floors that were measured, and that their locks have."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embinit.claims.lock import NAME, Lock
from embinit.papers import PAPERS
from embinit_papers.kim2024.effects import learnt
from embinit_papers.kim2024.printed import printed_deviations
from embinit_papers.settings import margin_for

PAPERS_HOME = Path(__file__).parents[1] / "claims/embinit_papers"


@pytest.mark.usefixtures("worlds")
@pytest.mark.parametrize("tier", PAPERS["kim2024"].tiers)
def test_every_margin_is_what_the_noise_floor_gives(tier: str) -> None:
    """Measured where there is a measurement, printed where the paper has its task."""
    lock = Lock(PAPERS_HOME / "kim2024" / NAME)
    wanted = PAPERS["kim2024"].noise(tier)
    floors = [lock.noise_floor(each.experiment) for each in wanted]
    kept = [key for key in lock.document["noise_floors"] if f" on {tier} " in key]
    assert len(kept) == sum(floor is not None for floor in floors)
    for one, floor in zip((each.experiment for each in wanted), floors, strict=True):
        printed = printed_deviations(one) if tier != "micro" else []
        if floor is None:
            assert tier in ("paper", "full"), one.task
            assert one.margin == margin_for(*printed), one.task
            continue
        assert (floor["metric"], floor["unit"]) == (one.metric.name, one.metric.unit)
        assert one.margin == floor["margin"] == margin_for(floor["sd"], *printed)
        if tier != "paper":  # there it is the printed one
            assert one.learns == pytest.approx(learnt(one, floor["mean"]), abs=0.051)


@given(st.lists(st.floats(0.001, 50), min_size=1, max_size=4))
def test_a_margin_in_points_is_twice_the_deviation_in_half_units(deviations: list[float]) -> None:
    """Never less than twice the largest, less than half a unit more."""
    margin = margin_for(*deviations)
    assert margin == round(2 * margin) / 2
    assert -1e-9 <= margin - 2 * max(deviations) < 0.5
