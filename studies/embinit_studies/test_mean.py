"""Mean: the paper says that a variance *and a mean* out of range hurt; here the mean alone is."""

from __future__ import annotations

from embinit.claims import claim
from embinit.lab.tables.recipes import INITS, Init
from embinit_studies import MEAN
from embinit_studies.repairs import TIMES, tables


def shifted(shape, special, generator):
    """Xavier's table, all of whose values are moved by ``TIMES`` of its standard deviations.

    Args:
        shape: The table's, (N, D).
        special: Which rows stay zero, (N,), bool.
        generator: The random stream of Xavier's values.
    """
    table = INITS["xavier"](shape, special, generator)
    table[~special] += TIMES * table[~special].std()
    return table


INITS.register("xavier_shifted", Init("xavier_shifted", f"Xavier + {TIMES} σ", False, shifted))


@claim(
    "studies/mean/costs",
    says="Xavier's values, moved by eight standard deviations, train worse",
    where="beyond section 1",
    family=MEAN,
    experiments=tables(),
)
def test_a_shifted_mean_costs(experiment):
    own = experiment.changed(sigma=None)
    assert own["xavier_shifted"] < own["xavier"]
