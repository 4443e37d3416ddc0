"""The plan: every run once, the same for every worker, and arms of a seed together."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import embinit
from embinit.errors import InputError
from embinit.runs.kinds import Stack
from embinit.runs.plan import FEW_ARMS, TrainingPlan
from embinit_papers.kim2024 import test_audit
from embinit_papers.kim2024.experiments import experiments, probes
from embinit_papers.kim2024.printed import numbers

TASKS = experiments("micro", ("glove", "t5"))
INITS = ("xavier", "pretrained", "pretrained_xavier", "xavier_pretrained")


@st.composite
def runs(draw):
    one = draw(st.sampled_from(TASKS))
    one = draw(st.sampled_from([one, one.frozen(), one.without_positions()]))
    return one.run(draw(st.sampled_from(INITS)), draw(st.integers(0, 4)))


def plan(wanted, most):
    """The stacks of a plan, as they are taken."""
    made = TrainingPlan(most)
    made.add(wanted)
    return [*iter(made.take, None)]


@given(wanted=st.lists(runs(), max_size=60), most=st.integers(1, 16))
def test_every_run_is_planned_once(wanted, most):
    """Stacks follow the order in which runs are wanted."""
    stacks = plan(wanted, lambda _: most)
    planned = [run for stack in stacks for run in stack.runs]
    assert Counter(planned) == Counter(set(wanted))
    assert all(len(stack.runs) <= most for stack in stacks)
    places = [min(map(wanted.index, stack.runs)) for stack in stacks]
    assert places == sorted(places)


@pytest.mark.parametrize("most", range(1, 14))
def test_a_crowd_is_cut_into_even_parts(most):
    """Twelve runs of a seed go into the fewest stacks that hold them."""
    one = TASKS[0]
    settings = (one, one.frozen(), one.without_positions())
    crowd = [setting.run(init, 0) for setting in settings for init in INITS]
    sizes = [len(stack.runs) for stack in plan(crowd, lambda _: most)]
    by_key = Counter(run.stack_key for run in crowd)
    assert len(sizes) == sum(-(-count // most) for count in by_key.values())
    assert max(sizes) <= most


@given(wanted=st.lists(runs(), min_size=1, max_size=40), times=st.sampled_from([1, 2, 3]))
def test_arms_of_a_seed_train_together(wanted, times):
    """They share batches and dropout masks; where a seed has few, the few of all seeds do."""
    arms = Counter((run.stack_key, run.seed) for run in set(wanted))
    many = {one for one, count in arms.items() if count >= FEW_ARMS * times}
    few = {key for (key, _), count in arms.items() if count < FEW_ARMS * times}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("embinit.runs.plan.MOST_RUNS", 1000)
        stacks = plan(wanted, lambda _: 1000 * times)
    assert len(stacks) == len(many) + len(few)
    for stack in stacks:
        seeds = {(run.stack_key, run.seed) for run in stack.runs}
        assert seeds.isdisjoint(many) or len(seeds) == 1


def test_a_stack_is_of_one_shape():
    with pytest.raises(InputError, match="must share"):
        Stack((TASKS[0].run("xavier", 0), TASKS[1].run("xavier", 0)))


def test_xavier_is_one_run_for_all_sources():
    """Trained once, though every source is compared with it; a probe's arms name theirs."""
    glove, t5 = (one for one in experiments("micro", ("glove", "t5"), ("sentiment",)))
    assert glove.run("xavier", 0) == t5.run("xavier", 0)
    assert glove.run("pretrained", 0) != t5.run("pretrained", 0)
    assert glove.run("xavier_pretrained", 0) != t5.run("xavier_pretrained", 0)
    [probe] = probes("micro")
    assert probe.run("pretrained", 0).recipe.table.source == "micro-glove"


def test_the_papers_settings_are_table_5s():
    """Twelve experiments, each with the batch, epochs, width, heads, rate and seeds printed."""
    paper = numbers()
    found = experiments("paper")
    assert len(found) == 12
    for one in found:
        family, task = one.name.split("-")[:2]
        row = paper["table_5"][family][task]
        translates = one.role == "translation"
        assert (one.training.epochs, one.training.batch_size) == (row["epochs"], row["batch_size"])
        assert one.training.lr == (2e-4 if translates else 1e-4)
        # A.2's widths and heads; translation has mBERT and mT5 (base) for BERT and T5 (small).
        wide = 512 if family == "t5" and not translates else 768
        assert (one.model.dim, one.model.heads) == ((300, 10) if family == "glove" else (wide, 8))
        assert (one.model.layers, one.model.feed_forward) == (3, 512)
        assert one.data.min_freq == (5 if task == "iwslt2017" else 2)
        assert (one.seeds, one.most_seeds) == (paper["seeds"][task], 10)
        assert one.data.whole is not None
        assert len(one.data.tokenizers) == len(row["vocabulary"])
        assert one.data.task == (f"{task}-de-en" if translates else task)


def test_the_models_are_as_large_as_table_5_prints():
    """At one of the vocabularies that round to the printed ones. No other feed-forward width is."""
    checks = test_audit.test_parameter_counts_are_the_models()
    assert [check for check in checks if not check.consistent] == []
    assert len(checks) == len(experiments("paper"))


def test_kinds_of_runs_have_limits_of_their_own():
    """What fits of one kind says nothing of another."""
    [narrow] = experiments("micro", ("glove",), ("sentiment",))
    [wide] = [one for one in experiments("sample", ("glove",)) if one.data.task == "sst2-sentences"]
    wanted = [
        one.with_sigma(0.1 + number).run("xavier", 0)
        for one in (narrow, wide)
        for number in range(7)
    ]
    stacks = plan(wanted, lambda run: 7 if run.recipe.model.dim == 64 else 2)
    sizes = sorted((stack.runs[0].recipe.model.dim, len(stack.runs)) for stack in stacks)
    assert sizes == [(64, 7), (300, 1), (300, 2), (300, 2), (300, 2)]


def test_the_engine_names_no_idea_of_the_lab():
    """The import contract can't see an idea; these live in embinit.lab, or with a paper."""
    home = Path(embinit.__file__).parent
    engine = [path for path in home.glob("*/**/*.py") if not path.is_relative_to(home / "lab")]
    text = "".join(path.read_text("utf-8") for path in [*engine, home / "specs.py"])
    ideas = r"\b\w*worlds?\b|data_draw|\b(?:at|on|split)_draw|\.sigma\b|pe_share|best_epoch\("
    ideas += r"|planted|\blearns =|rank_corr"
    assert len(engine) > 50
    assert set(re.findall(ideas, text)) == set()
