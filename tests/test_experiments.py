"""The plan: every run once, the same for every worker, and arms of a seed together."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embinit.errors import InputError
from embinit.experiments import Cohort, plan
from embinit.tiers import arm_label, experiments, probes

TASKS = experiments("micro", ("glove", "t5"))
INITS = ("xavier", "pretrained", "pretrained_xavier", "xavier_pretrained")


@st.composite
def runs(draw):
    one = draw(st.sampled_from(TASKS))
    one = draw(st.sampled_from([one, one.frozen(), one.without_positions()]))
    return one.run(draw(st.sampled_from(INITS)), draw(st.integers(0, 4)))


@given(wanted=st.lists(runs(), max_size=60), most=st.integers(1, 16), data=st.data())
def test_every_run_is_planned_once_whatever_the_order(wanted, most, data):
    cohorts = plan(wanted, most)
    planned = [run for cohort in cohorts for run in cohort.runs]
    assert Counter(planned) == Counter(set(wanted))
    assert all(len(cohort.runs) <= most for cohort in cohorts)
    assert plan(data.draw(st.permutations(wanted)), most) == cohorts
    costs = [cohort.cost for cohort in cohorts]
    assert costs == sorted(costs, reverse=True)


@given(wanted=st.lists(runs(), min_size=1, max_size=40))
def test_arms_of_a_seed_train_together(wanted):
    """They share batches and dropout masks, so the fewest cohorts are one a seed and shape."""
    assert len(plan(wanted, 1000)) == len({(run.cohort_key, run.seed) for run in wanted})


def test_a_cohort_is_of_one_shape():
    with pytest.raises(InputError, match="must share"):
        Cohort((TASKS[0].run("xavier", 0), TASKS[1].run("xavier", 0)))


@given(run=runs(), seed=st.integers(5, 9))
def test_a_digest_names_everything_that_decides_a_run(run, seed):
    """Two specs with one digest would be one record for two runs."""
    changed = [
        replace(run, seed=seed),
        replace(run, table=replace(run.table, trained=not run.table.trained)),
        replace(run, positions=replace(run.positions, kind="equation-2")),
        replace(run, training=replace(run.training, lr=2e-3)),
        replace(run, model=replace(run.model, dropout=0.2)),
        replace(run, data=replace(run.data, min_freq=3)),
    ]
    assert len({one.digest() for one in [run, *changed]}) == 7
    assert replace(run).digest() == run.digest()


def test_xavier_is_one_run_for_all_sources():
    """Trained once, though every source is compared with it; a probe's arms name theirs."""
    glove, t5 = (one for one in experiments("micro", ("glove", "t5"), ("sentiment",)))
    assert glove.run("xavier", 0) == t5.run("xavier", 0)
    assert glove.run("pretrained", 0) != t5.run("pretrained", 0)
    assert glove.run("xavier_pretrained", 0) != t5.run("xavier_pretrained", 0)
    [probe] = probes("micro")
    assert probe.run("pretrained", 0).table.source == "micro-glove"


@pytest.mark.parametrize(
    ("init", "label"),
    [("xavier", "Xavier"), ("pretrained_xavier", "T5_Xavier"), ("xavier_pretrained", "Xavier_T5")],
)
def test_arms_are_named_as_the_paper_names_them(init, label):
    [one] = experiments("micro", ("t5",), ("sentiment",))
    assert arm_label(one.run(init, 0).as_dict()) == label
    assert one.label(init) == label
