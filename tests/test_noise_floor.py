"""Margins on the synthetic language are a share of what its baselines learn, as registered."""

import math

import pytest

from embinit.claims.lock import NAME, Lock
from embinit.papers import PAPERS
from test_claims import FOLDERS, OF_PAPERS

GUESSING = {"translation": 0, "sentiment": 50, "inference": 100 / 3}


def learnt(key):
    """What each registered baseline scores above guessing, with its experiment and measure."""
    lock = Lock(FOLDERS[key] / NAME)
    for experiment, measure in PAPERS[key].noise("micro"):
        task = measure.name.split("_")[0] if key == "chung2021" else experiment.role
        if task in GUESSING:
            entry = lock.noise_floor(experiment, measure)
            assert entry["seeds"] == 10
            yield experiment, entry["mean"] - GUESSING[task]


def twentieth(points):
    """A twentieth, rounded up to half a unit."""
    return math.ceil(points / 20 * 2) / 2


@pytest.mark.usefixtures("data_draws")
@pytest.mark.parametrize("key", ["kim2024", "studies", "chung2021"])
def test_a_margin_is_a_twentieth_of_what_the_baseline_learns(key):
    """Of its own setting's; in the second paper of the least, over all tasks in both languages."""
    found = list(learnt(key))
    assert found
    if key == "chung2021":
        least = min(points for _, points in found)
        found = [(one, least) for one in PAPERS[key].experiments("micro")]
    for experiment, points in found:
        assert experiment.margin == twentieth(points), experiment.name


@pytest.mark.parametrize("tier", ["sample", "paper", "full"])
def test_a_task_on_real_text_has_a_margin_of_one(tier):
    """1 BLEU or 1 point, whatever the source."""
    for key in OF_PAPERS:
        if tier in PAPERS[key].tiers:
            trained = [one for one in PAPERS[key].experiments(tier) if one.model]
            assert {one.margin for one in trained} == {1.0}
