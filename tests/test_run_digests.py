"""The digests of the papers' runs stand: a store that was filled by an earlier version is valid."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from embinit.papers import PAPERS
from test_claims import FOLDERS

REGISTERED = json.loads(Path(__file__).with_name("run_digests.json").read_text("utf-8"))
INITS = ("xavier", "normal", "pretrained")
INITS += ("pretrained_xavier", "pretrained_shuffled", "xavier_pretrained")


def digest_of(experiment) -> str:
    """One digest of the runs of the papers' inits, also frozen, unplaced and standardised."""
    settings = [experiment, experiment.without_positions()]
    settings += [experiment.frozen(), experiment.with_sigma(0.3)]
    runs = [one.run(init, seed) for one in settings for init in INITS for seed in (0, 5)]
    return hashlib.sha256("".join(run.digest() for run in runs).encode()).hexdigest()[:16]


@pytest.mark.parametrize("key", FOLDERS)
def test_the_digests_of_the_papers_runs_stand(key):
    """On every tier, on the draw of names without a number. A change leaves stored runs behind."""
    found = {
        f"{key}/{tier}/{one.name}": digest_of(replace(one, data_draws=None, claims_from=0))
        for tier in PAPERS[key].tiers
        for one in PAPERS[key].experiments(tier)
    }
    assert found == {name: one for name, one in REGISTERED.items() if name.startswith(f"{key}/")}
