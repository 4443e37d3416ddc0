"""Mean: the paper says that a variance *and a mean* out of range hurt; here the mean alone is."""

from __future__ import annotations

from embinit_studies import claim
from embinit_studies.repairs import SHIFTED, tables


@claim(
    "studies/mean/costs",
    says="Xavier's values, moved by eight standard deviations, train worse",
    where="beyond section 1",
    experiments=tables(),
)
def test_a_shifted_mean_costs(experiment):
    own = experiment.changed(sigma=None)
    assert own[SHIFTED.name] < own["xavier"]
