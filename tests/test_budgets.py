"""Arms that are said to be of one size: counted before anything runs, and caught if they aren't."""

from __future__ import annotations

import pytest

from embinit.claims.run_checks import TOLERANCE, unequal
from embinit.lab.models.sizes import parameters_of
from embinit_papers.chung2021 import (
    SETTINGS,
    USUAL,
    coupled,
    experiments,
    over_output_widths,
    reinvested,
)
from embinit_studies.coupling import over_input_widths, wider


@pytest.fixture(params=sorted(SETTINGS))
def arms(request):
    return experiments(request.param)[0]


def test_arms_of_one_budget_pass(arms):
    """Coupled or not, however wide the output table: fine-tuning has as many parameters."""
    deep = reinvested(arms)[USUAL]
    fair = [
        arms[USUAL] >= coupled(arms)[USUAL],
        deep > coupled(arms)[USUAL],
        over_output_widths(arms) > 0,
        wider(arms)[USUAL] > coupled(wider(arms))[USUAL],
    ]
    assert unequal(fair, "finetuning") is None
    ours, theirs = (parameters_of(arm.runs()[0]).finetuning for arm in (deep, coupled(arms)[USUAL]))
    assert ours == pytest.approx(theirs, rel=TOLERANCE)


def test_unequal_arms_are_named_with_their_counts(arms):
    """Whichever comparison they are in, and wherever in a trend."""
    fair = arms[USUAL] >= coupled(arms)[USUAL]
    assert "at pretraining" in unequal([fair], "pretraining")
    deeper = reinvested(arms, too_many=1)[USUAL] > coupled(arms)[USUAL]
    said = unequal([fair, deeper], "finetuning")
    counts = [
        parameters_of(arm.runs()[0]).finetuning
        for arm in (reinvested(arms, too_many=1)[USUAL], coupled(arms)[USUAL])
    ]
    assert f"{min(counts):,} to {max(counts):,} parameters at finetuning" in said
    assert said.count("unequal budgets") == 1
    assert "E_in" in unequal([over_input_widths(arms) > 0], "finetuning")
