"""Claims are read without training, and families have the size that they were registered with."""

import functools
import importlib.util
import math
import re
from collections import Counter
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from builders import make_result
from embinit.claims.audit import Audit
from embinit.claims.comparisons import Comparison, trend
from embinit.claims.definitions import Claim, Family, Origin, claim, claim_of, comparisons_of
from embinit.claims.judging import judge, read
from embinit.claims.lock import NAME, Lock, difference_key
from embinit.claims.statements import Statement
from embinit.errors import InputError
from embinit.lab.measures import table_statistic
from embinit.lab.quantities import rank_correlation
from embinit.lab.specs import PositionSpec
from embinit.papers import PAPERS
from embinit.runs.measures import MEASURES
from embinit.stats.statements import KnownSd, Relation, Verdict
from embinit_papers.kim2024 import (
    changes,
    everywhere,
    of_source,
    scaled,
    trained_for_times,
    twice_as_deep,
    with_shuffled_positions,
    with_sinusoidal_positions,
)
from embinit_papers.kim2024.experiments import experiments, probes
from embinit_studies.changes import (
    with_faint_positions,
    with_norm_after_sum,
    with_orthogonal_positions,
    with_positions_in_attention,
)
from embinit_studies.table_pretraining import pretrainings

ROOT = Path(__file__).parents[1]
OF_PAPERS = {path.parent.name: path.parent for path in ROOT.glob("claims/*/*/paper.py")}
FOLDERS = {**OF_PAPERS, "studies": ROOT / "studies/embinit_studies"}


def functions(*papers):
    for path in (path for key in papers or FOLDERS for path in FOLDERS[key].glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"claims_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from vars(module).values()


def collected():
    for function in functions():
        if (found := Claim.of(function)) is not None:
            yield function, found


def named_nothing():
    """A claim that forgets to assert."""

    def test_nothing(experiment):
        pass

    return test_nothing


SEEDS = 5
[TRANSLATION] = experiments("micro", ("glove",), ("translation",))
EPOCHS = TRANSLATION.training.epochs


@pytest.fixture
def arms():
    return replace(TRANSLATION, seeds=SEEDS)


def test_mismatched_accuracy_keeps_the_margin():
    """Unlike other measures, which have none: it is the task's metric on other text."""
    [one] = experiments("micro", ("glove",), ("inference",))
    arm = one["xavier"]
    other = arm.measured_by("test_accuracy", keep_margin=True)
    assert (other.measure, other.unit) == (MEASURES["test_accuracy"], "% accuracy")
    assert other.margin == (other - other).margin == arm.margin > 0
    values = other.values(lambda run: make_result(run, accuracy=50.0, test_accuracy=40.0))
    assert values == [40.0] * one.seeds
    assert arm.measured_by("test_accuracy").margin == arm.best_epoch.margin == 0


@pytest.mark.parametrize("tier", PAPERS["kim2024"].tiers)
def test_families_have_their_registered_size(tier):
    """A share of alpha is only honest if the family is as large as it says."""
    sizes, families = Counter(), {}
    for _, found in collected():
        if tier in found.family.size:
            name = found.family.name
            size = found.family.size[tier]
            assert families.setdefault(name, size) == size
            sizes[name] += len(found.experiments(tier)) if found.expects is None else 0
    assert sizes == families


def test_a_claims_share_is_alpha_by_the_tiers_size():
    """Of this family's own alpha; a tier without a size has no share, and 0 claims are none."""
    family = Family("wide", {"micro": 4, "sample": 8}, alpha=0.1)
    assert (family.share("micro"), family.share("sample")) == (0.1 / 4, 0.1 / 8)
    assert Family("wide", {"micro": 4}).share("micro") == 0.05 / 4
    with pytest.raises(InputError, match=r"'wide' has no size for tier 'paper'.*micro, sample$"):
        family.share("paper")
    for size, said in ((None, "has no size; say how many"), (0, "can't have 0 claims")):
        with pytest.raises(InputError, match=said):
            Family("mine", size).share("micro")


@pytest.mark.parametrize("tier", ["micro", "sample", "paper"])
def test_each_task_that_trains_has_one_positive_control(tier):
    """Without one nothing shows that a claim that finds nothing could have found something."""
    claimed, controlled = set(), Counter()
    for test, entry in collected():
        known = PAPERS[entry.paper].tiers if entry.paper in PAPERS else ()
        for one in entry.experiments(tier) if tier in known else ():
            case = read(test, one)
            if any(side.trained for pair in case.comparisons for side in (pair.left, pair.right)):
                setting = (entry.paper, one.task, one.metric.name)
                if entry.expects is None:
                    claimed.add(setting)
                elif entry.expects is not Verdict.NOT_RUN:
                    controlled[setting] += 1
    assert claimed == set(controlled)


def test_the_page_of_claims_is_true():
    page = (ROOT / "claims/embinit_papers/README.md").read_text()
    page = page.split("\n## On real text")[0]
    parts = {part.split()[0]: part.splitlines() for part in page.split("\n### ")[1:]}
    tables = {
        paper: [line for line in lines if line.startswith("| ") and "`" in line]
        for paper, lines in parts.items()
    }
    ids = {paper: re.findall(r"`([^`]+)`", "\n".join(rows)) for paper, rows in tables.items()}
    listed = Counter(f"{paper}/{id}" for paper in ids for id in ids[paper])
    there = [Claim.of(one) or Audit.of(one) for one in functions(*OF_PAPERS)]
    assert listed == Counter(one.id for one in there if one is not None)
    named = {row.split("|")[1].partition(":")[0].strip() for row in tables["kim2024"]}
    numbered = {*(f"Table {n}" for n in range(1, 9)), *(f"Finding {n}" for n in (1, 2, 3))}
    assert numbered | {"Figure 1"} <= named


def test_the_studies_page_lists_each_claim_once():
    page = (ROOT / "studies/README.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `studies/")]
    listed = Counter(re.match(r"\| `([^`]+)`", row)[1] for row in rows)
    there = [one.id for function in functions("studies") if (one := Claim.of(function)) is not None]
    assert listed == Counter(there)


def test_a_claim_is_read_whole_without_a_run(arms):
    """Every comparison is met, since each counts as true while it is read."""

    def stated(experiment):
        assert experiment["pretrained"] < experiment["xavier"]
        without = experiment.without_positions()
        gain = experiment["xavier"] - without["xavier"]
        assert gain > experiment["pretrained"] - without["pretrained"]
        assert experiment["xavier"].alike(experiment["xavier"].on_other_seeds())

    first, second, third = comparisons_of(stated, arms)
    assert len(set(first.runs())) == 10
    assert len(set(second.runs())) == 20
    assert {run.seed for run in third.runs()} == {*range(5), *range(1000, 1005)}
    assert str(first) == "GloVe < Xavier"


def test_a_claim_reaches_the_other_experiments_of_its_tier():
    every = experiments("micro", ("glove", "t5"))
    others = {one.source_role: one for one in every if one.role == "translation"}
    arms, whole = others["glove"], experiments("micro")
    names = ("seeds", "most_seeds", "data_draws", "registering_draws", "claims_from")
    of_seeds = {name: getattr(arms, name) for name in names}
    t5 = replace(others["t5"], **of_seeds)
    assert t5 != others["t5"]  # its own claims have other draws
    for here in (arms, of_source(arms, "t5"), scaled(arms, "sqrt(D)"), arms.frozen()):
        assert everywhere(here) == [replace(one, **of_seeds) for one in whole]
    for here in (arms, of_source(arms, "glove"), scaled(arms, "sqrt(D)")):
        assert of_source(here, "t5")["pretrained"].label == "mT5"
        assert of_source(here, "t5") == t5
    fewer = replace(arms, seeds=2)
    assert of_source(fewer, "t5") == replace(t5, seeds=2)
    assert {one.seeds for one in everywhere(fewer)} == {2}
    with pytest.raises(InputError, match="no experiment with source 'elmo' on this task"):
        of_source(arms, "elmo")
    with pytest.raises(InputError, match="source 't5' first"):
        of_source(scaled(arms, "one"), "t5")


def differing(*differences):
    """Records in which GloVe is off Xavier by this much in BLEU and sigma, seed by seed."""

    def record(run):
        off = differences[run.seed] if run.recipe.table.init == "pretrained" else 0.0
        return make_result(run, bleu=20 + off, sigma=0.5 + off)

    return record


RANGE = r"BLEU \[.*\], 98 % interval, p ="


@pytest.mark.parametrize(
    ("differences", "relation", "margin", "line"),
    [
        ((1, 2, 1, 2, 1), ">=", 3, r"SUPPORTED, difference \+1\.4 {} \d\S+, 5 seeds, margin 3"),
        ((8, 9, 8, 9, 8), "<=", 3, r"REFUTED, difference \+8\.4 {} 1, 5 seeds, margin 3"),
        (
            (1, 5, -1, 3, 2), ">", 0.5,
            r"UNDECIDED, difference \+2 {} 0\.0074, 5 seeds, not robust: changes without seed 0, "
            r"about 14 seeds would decide",
        ),
        (
            (1, 5, -1, 3, 2), ">", 12,
            r"NO EFFECT, difference \+2 {} 0\.0074, 5 seeds, within the margin 12 \(p = .*\)",
        ),
        (
            (1, 1, 1, 4, 5), ">", 5,
            r"SUPPORTED, difference \+2\.4 {} 0\.0015, 5 seeds, not NO EFFECT, since it changes "
            r"without seed 3",
        ),
        (
            (1, 3, 1, 3, 0.5), ">", 1,
            r"UNDECIDED, difference \+1\.7 {} 0\.00\d+, 5 seeds, not robust: changes without seed "
            r"1, about \d+ seeds would decide",
        ),
        (
            (1, -1, 1, -1, 0.1), ">=", 1e-3,
            r"UNDECIDED, difference \+0\.02 {} 0\.\d+, 5 seeds, margin 0\.001, over 1000 needed; "
            r"the smallest margin that 5 resolve is \d\.\d+",
        ),
    ],
)  # fmt: skip
def test_a_decision_is_one_line(arms, differences, relation, margin, line):
    sides = arms["pretrained"].within(margin), arms["xavier"]
    comparison = Comparison(sides[0], Relation(relation), sides[1], KnownSd(1.2, 10))
    text = str(comparison.decide(differing(*differences), 0.01))
    symbol = Relation(relation).symbol
    assert re.fullmatch(f"GloVe {symbol} Xavier: {line.replace('{}', RANGE)}", text), text


def test_equal_differences_are_exact_only_where_nothing_is_trained(arms):
    """Next to a trained arm a printed number is no less open to chance, so that nothing shows."""
    for comparison in (arms["pretrained"] < arms["xavier"], arms["pretrained"] < 20):
        decision = comparison.decide(differing(*[-1.0] * 5), 0.01)
        assert (decision.verdict, decision.outcome.p) == (Verdict.UNDECIDED, 1)
        assert not decision.outcome.exact
        assert "difference -1 BLEU, 5 seeds: the differences don't vary" in str(decision)
    near = arms["pretrained"].sigma.within(0.5).alike(0.5).decide(differing(*[0.25] * 5), 0.01)
    assert str(near) == "GloVe ≈ 0.5: SUPPORTED, difference +0.25, margin 0.5"
    done = (arms["pretrained"].sigma < arms["xavier"].sigma).decide(differing(*[-0.1] * 5), 0.01)
    assert (done.verdict, done.outcome.exact, done.reason) == (Verdict.SUPPORTED, True, "")


def test_one_comparison_refutes_at_the_whole_of_alpha(arms):
    """Its part is smaller only as one of several."""
    comparison, record = arms["pretrained"] < arms["xavier"], differing(9.0, 9.2, 8.9, 9.1, 9.0)
    assert comparison.decide(record, 0.001).verdict is Verdict.REFUTED
    assert comparison.decide(record, 0.001, of=100_000).verdict is Verdict.UNDECIDED


def test_a_missing_measure_is_not_run(arms):
    comparison = arms["pretrained"] < arms["xavier"]
    decision = comparison.decide(make_result, 0.01)
    assert decision.verdict is Verdict.NOT_RUN
    assert "GloVe has no BLEU from seeds 0, 1, 2, 3, 4" in str(decision)
    assert decision.failed
    lost = {("pretrained", 3), ("xavier", 1)}
    decision = comparison.decide(
        lambda run: (
            None if (run.recipe.table.init, run.seed) in lost else make_result(run, bleu=1.0)
        ),
        0.01,
    )
    assert str(decision) == (
        "GloVe < Xavier: NOT RUN (GloVe has no BLEU from seeds 3; Xavier has no BLEU from seeds 1)"
    )
    assert not decision.failed  # nobody made those runs, as in a session that may not train
    assert (decision.left, decision.right, decision.alpha) == ((), (), 0.01)
    assert decision.verdict is Verdict.NOT_RUN


NO_NUMBER = [
    (lambda arm: arm == 1.0, "Xavier == … can't be tested; write .alike(…)"),
    (lambda arm: arm != 1.0, "Xavier != … can't be tested; say which way: < or >"),
    (bool, "Xavier alone can't be tested; compare it"),
    (float, "Xavier as a number can't be tested"),
    (abs, "abs of Xavier can't be tested; write .alike(…)"),
    (lambda arm: arm - 2, "Xavier - 2 can't be tested; compare a difference with a number"),
    (lambda arm: 2 + arm, "a sum with Xavier can't be tested"),
    (lambda arm: -arm, "-Xavier can't be tested; compare it the other way round"),
    (lambda arm: arm / 2, "a product or quotient with Xavier can't be tested"),
    (list, "each seed of Xavier alone can't be tested"),
    (lambda arm: True | (arm > 1), "(Xavier > 1) with &, |, ^ or ~ can't be tested"),
]
"""What can't be done with an arm: before it is trained nothing is known of it."""


@pytest.mark.parametrize(
    ("use", "message"),
    [
        *((lambda arms, use=use: use(arms["xavier"]), re.escape(said)) for use, said in NO_NUMBER),
        (lambda arms: arms["xavir"].runs(), ".*did you mean 'xavier'"),
        (lambda arms: arms["xavier"].sigma < arms["xavier"],
         r".* by sigma, Xavier by bleu: compare like with like$"),
        (lambda arms: arms["xavier"].sigma - arms["xavier"], ".*like with like"),
        (lambda arms: of_source(arms.without_positions(), "bert"), ".*source 'bert' first"),
        (lambda arms: comparisons_of(named_nothing(), arms),
         "test_nothing asserts no comparison of arms"),
        (lambda arms: comparisons_of(functools.partial(named_nothing()), arms),
         r"functools\.partial\(.*asserts no comparison of arms"),
        (lambda arms: bool(arms["xavier"] < arms["pretrained"]), ".*belongs in a claim"),
        (lambda arms: Claim("x", says="", where="", family=Family("x", {}),
                            experiments=lambda tier: []), ".*paper/part/name"),
        (lambda arms: arms["xavier"] < "Xavier",
         "Xavier is compared with 'Xavier'; compare it with an arm"),
        (lambda arms: arms["xavier"] < math.inf, "Xavier is compared with inf; give a"),
        (lambda arms: judge(named_nothing(), arms, None),
         r"test_nothing is not a claim; decorate it: @claim\("),
        (lambda arms: rank_correlation([(arms["pretrained"], arms["xavier"])] * 2),
         ".*at least 3 pairs"),
        *((lambda arms, margin=margin: arms["xavier"].within(margin), r"Xavier.within\(.*finite")
          for margin in (math.nan, math.inf, -1, 0, "2%", True)),
        *((lambda arms, widths=widths: trend([(x, arms["xavier"]) for x in widths], "width"),
           f"a trend takes at least 3 different values above 0, not {listed}$")
          for widths, listed in (((), "none"), ((1, 2, 2), "1, 2, 2"), ((0, 1, 2), "0, 1, 2"))),
    ],
)  # fmt: skip
def test_what_a_claim_must_not_do(arms, use, message):
    with pytest.raises(InputError, match=f"^{message}"):
        use(arms)


def test_an_arm_is_the_same_as_itself_alone(arms):
    arm = arms["xavier"]
    assert arm == arm
    assert not arm != arm  # noqa: SIM202


@given(seed=st.integers(0, 999))
def test_the_dose_response_is_scipys_spearman(seed):
    """Of sigma beside the base's, and of the loss in margins, over experiments, seed by seed."""
    first = replace(experiments("micro")[0], seeds=SEEDS)
    every = [one for one in everywhere(first) if one.source_role in ("glove", "t5")]
    random = np.random.default_rng(seed)
    values = {}

    def record(run):
        key = (run.recipe.data.task, run.recipe.table.init, run.recipe.table.source, run.seed)
        if key not in values:
            values[key] = {name: random.uniform(1, 9) for name in ("bleu", "accuracy", "sigma")}
        return make_result(run, **values[key])

    quantity = rank_correlation([(arms["pretrained"], arms["xavier"]) for arms in every])
    found = quantity.values(record)
    assert len(found) == 5
    for seed_, rho in enumerate(found):
        doses, losses = [], []
        for one in every:
            large, base = (
                record(one.run(init, seed_)).measures for init in ("pretrained", "xavier")
            )
            doses.append(np.log(large["sigma"] / base["sigma"]))
            losses.append((base[one.metric.name] - large[one.metric.name]) / one.margin)
        assert rho == pytest.approx(stats.spearmanr(doses, losses).statistic)
    assert len(set(quantity.runs())) == 5 * 6 + 5 * 3
    decision = (quantity > 0).decide(record, 0.01)
    assert decision.right == (0.0,) * 5


def test_a_rank_correlation_needs_its_pairs(arms):
    """Two pairs are always in order; a missing run is missing; a constant ranks nothing."""
    pair = (arms["pretrained"], arms["xavier"])
    fewer = rank_correlation([pair] * 3).with_seeds(2)
    assert {run.seed for run in fewer.runs()} == {0, 1}
    assert rank_correlation([pair] * 3).values(lambda run: None) == [None] * 5
    whole = {"bleu": 1.0, "sigma": 1.0}
    for init in ("pretrained", "xavier"):
        without_width = None if init == "xavier" else 0.0
        for bleu, sigma, rho in (
            (1, None, None),
            (None, 1, None),
            (1, 0, without_width),
            (1, 1, 0),
        ):
            given = {name: x for name, x in (("bleu", bleu), ("sigma", sigma)) if x is not None}

            def record(run, init=init, given=given):
                return make_result(run, **(given if run.recipe.table.init == init else whole))

            assert rank_correlation([pair] * 3).values(record) == [rho] * 5


def test_a_rank_correlation_is_no_difference(arms):
    rho = rank_correlation([(arms["pretrained"], arms["xavier"])] * 3)
    assert {run.seed for run in rho.on_other_seeds().runs()} == set(range(1000, 1005))
    assert (rho.random, rho.measure.name, rho.margin, rho.terms) == (
        True, "rank_correlation", 0, (),
    )  # fmt: skip
    with pytest.raises(InputError, match=r"^a rank correlation is compared with a number"):
        rho - rho
    with pytest.raises(InputError, match=r"^a rank correlation has no other measure"):
        rho.measured_by("sigma", keep_margin=True)


def test_a_printed_number_is_a_quantity(arms):
    """The same in every seed, with no run of its own; the margin is its rounding."""
    comparison = arms["pretrained"].sigma.within(0.005).alike(0.37)
    assert str(comparison) == "GloVe ≈ 0.37"
    for sigma, verdict in ((0.374, Verdict.SUPPORTED), (0.376, Verdict.REFUTED)):
        decision = comparison.decide(functools.partial(make_result, sigma=sigma), 0.01)
        assert decision.verdict is verdict
    assert set(comparison.runs()) == set(arms["pretrained"].runs())


@pytest.mark.parametrize(
    ("change", "label", "part", "value"),
    [
        (lambda arms: arms.with_sigma(0.5), "at sigma 0.5", "table.sigma", 0.5),
        (lambda arms: arms.with_layers(6), "with 6 layers", "model.layers", 6),
        (twice_as_deep, "with 2 layers", "model.layers", 2),
        (with_norm_after_sum, "with LayerNorm after the sum", "model.norm_after_sum", True),
        (lambda arms: trained_for_times(arms, 3), "for 3 × the epochs",
         "training.epochs", 3 * EPOCHS),
        (lambda arms: arms.frozen(), "frozen", "table.trained", False),
        (lambda arms: arms.without_positions(), "without positions", "positions.kind", "none"),
        (with_shuffled_positions, "with shuffled positions", "positions.kind", "shuffled"),
        (with_orthogonal_positions, "+ PE apart", "positions.kind", "apart"),
        (with_faint_positions, "+ faint PE", "positions.kind", "faint"),
        (lambda arms: with_positions_in_attention(arms, "rotary"), "with rotary positions",
         "model.attention", "rotary"),
        (lambda arms: scaled(arms, "one", "two"), "× 1 (PE × two)",
         "positions", PositionSpec("sinusoidal", "one", "two")),
    ],
)  # fmt: skip
def test_a_changed_setting_is_said_and_is_another_run(arms, change, label, part, value):
    changed = change(arms)["pretrained"]
    assert changed.label == f"GloVe {label}"
    assert {attrgetter(part)(run.recipe) for run in changed.runs()} == {value}
    assert not set(changed.runs()) & set(arms["pretrained"].runs())


def test_longer_training_is_counted_in_epochs(arms):
    longer = trained_for_times(arms, 3)
    assert changes.epochs(longer) == longer.training.epochs == 3 * arms.training.epochs


def test_a_probe_is_read_with_a_multiplier_and_positions():
    [probe] = probes("micro")
    read = with_sinusoidal_positions(scaled(probe, "sqrt(D)"))
    assert read["pretrained"].label == "GloVe × √D + PE"
    assert read.positions == PositionSpec("sinusoidal", "sqrt(D)")
    louder = scaled(probe, "one", "sigma_p/sigma_x")
    assert louder["pretrained"].label == "GloVe (PE × sigma_p/sigma_x)"
    assert louder.positions == PositionSpec("none", "one", "sigma_p/sigma_x")


def test_a_width_that_was_trained_is_left_to_the_seeds():
    """A given table's sigma is a number; that of one pre-trained here varies with the seed."""
    [t5] = [one for one in pretrainings("micro") if one.source == "micro-t5"]
    assert t5["pretrained"].random
    other = t5.with_training("from BERT's start", start=0.02)["pretrained"]
    assert other.random
    assert other.label == "T5 from BERT's start"
    assert other.terms[0].experiment.training.start == 0.02
    [given] = experiments("micro", ("t5",), ("sentiment",))
    assert not given["pretrained"].sigma.random
    trained = given["pretrained"]
    assert trained.random
    for fixed in (trained.sigma, trained.pe_share, trained.measured_by(table_statistic("mean"))):
        assert not fixed.random
    [probe] = probes("micro")
    read = probe["pretrained"]
    assert not read.random
    assert (trained - read).random


@given(
    xs=st.lists(st.sampled_from([2.0**n for n in range(12)]), min_size=3, max_size=6, unique=True),
    seed=st.integers(0, 99),
)
def test_a_trend_is_the_slope_of_a_regression(xs, seed):
    """scipy's, over log2 of x, one a seed; a trend less a trend is their difference."""
    [one] = experiments("micro", ("glove",), ("translation",))
    rng = np.random.default_rng(seed)
    scores = {x: rng.normal(50, 5, 3) for x in xs}
    arms = [(x, one.with_sigma(x)["xavier"].with_seeds(3)) for x in xs]

    def record(run):
        return make_result(run, bleu=scores[run.recipe.table.sigma][run.seed])

    found = trend(arms, "sigma")
    slopes = [
        stats.linregress(np.log2(xs), [scores[x][number] for x in xs]).slope for number in range(3)
    ]
    assert found.values(record) == pytest.approx(slopes, abs=1e-9)
    assert (found - found).values(record) == pytest.approx([0, 0, 0], abs=1e-9)
    assert found.unit == "BLEU a doubling"
    assert len({run.digest() for run in found.runs()}) == 3 * len(xs)
    assert (found > 0).left.label.startswith("slope over sigma = ")


def test_a_claim_that_is_false_before_any_run_says_so(arms):
    def test_denied(experiment):
        assert experiment["pretrained"] < experiment["xavier"] and 1 > 2  # noqa: PT018

    said = (
        "^it asserts something that is false before any run: a claim asserts comparisons of arms "
        "alone, and none with 'not'$"
    )
    with pytest.raises(InputError, match=said) as caught:
        comparisons_of(test_denied, arms)
    assert [entry.name for entry in caught.traceback][-1] == "test_denied"
    assert caught.value.__suppress_context__


MINE = Family("mine/f", 1)
PAPERS_OWN = Family("mine/f", 1, origin="paper")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"family": None}, "mine/f/a has no family: give it one"),
        ({"family": "mine"}, "the family of mine/f/a is 'mine'; give it a Family"),
        ({}, "mine/f/a has no experiments to be tested in; name one"),
        ({"experiments": 7}, "a claim is tested on experiments, not on 7"),
        ({"on": []}, "a claim is tested on experiments, not on []"),
        ({"says": None}, "mine/f/a states nothing; say it in a sentence"),
    ],
)
def test_a_claim_that_is_misstated_is_told_when_it_is_read(given, message):
    @claim("mine/f/a", **({"says": "It holds", "family": MINE} | given))
    def test_it(arms):
        assert arms["high"] > arms["low"]

    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        claim_of(test_it)
    assert Statement.of(test_it).id == "mine/f/a"


def test_a_claim_keeps_what_it_is_given():
    one, other, *_ = experiments("micro", ("glove",))

    def on(tier):
        return [other] if tier == "micro" else []

    for tried, expected in ((one, [one]), ([one, on], [one, other]), (on, [other])):

        @claim("mine/f/a", says="It holds", where="Table 9", family=PAPERS_OWN, on=tried)
        def test_it(arms):
            assert arms["pretrained"] < arms["xavier"]

        stated = claim_of(test_it)
        assert (stated.id, stated.says, stated.where) == ("mine/f/a", "It holds", "Table 9")
        assert list(stated.experiments("micro")) == expected
    stated = claim_of(claim("mine/f/a", says="It holds", family=MINE, on=one, equal="steps")(on))
    assert (stated.where, stated.equal) == ("", "steps")


def micro(tier):
    return experiments("micro", ("glove",), ("sentiment",))


def test_a_statement_that_stands_somewhere_is_somebodys():
    """A citation without an author would be read as the paper's."""
    stated = claim("mine/f/a", says="It", where="Table 1", family=MINE, on=micro)
    with pytest.raises(InputError, match=r"is from 'Table 1'.*give it an origin, paper, abstr"):
        claim_of(stated(micro))
    with pytest.raises(InputError, match=r"there is no origin 'papers': did you mean 'paper'"):
        Family("mine/f", 1, origin="papers")
    assert claim_of(claim("mine/f/a", says="It", family=MINE, on=micro)(micro)).origin == "ours"
    for origin in Origin:
        family = Family("mine/f", 1, origin=origin)
        found = claim_of(claim("mine/f/a", says="It", where="T", family=family, on=micro)(micro))
        assert found.origin is origin


def test_a_family_of_the_paper_has_the_papers_statements_alone():
    """What a summary adds, and what we do, takes no share of the alpha of what it says."""
    origins = {}
    for _, entry in collected():
        if entry.expects is None:
            origins.setdefault(entry.family.name, set()).add(entry.origin)
    assert all(len(found) == 1 for found in origins.values())
    assert {"paper", "summary", "ours"} == {one for [one] in origins.values()}
    for name in ("finding-1", "finding-2", "finding-3", "table-1", "table-3", "figure-1"):
        assert origins[f"kim2024/{name}"] == {"paper"}
    assert origins["kim2024/shuffled-positions"] == origins["kim2024/next-checks"] == {"summary"}


def test_a_margin_that_noise_covers_tells_nothing(tmp_path):
    """No difference of 0 would show it, so the claim is NOT RUN; a negative control is run."""
    lock = Lock(tmp_path / NAME)
    [one] = micro("micro")
    one = replace(one, seeds=3, most_seeds=20, margin=1.0)
    family = Family("mine/f", 1)

    def reads(test, expects=None):
        stated = claim("mine/f/a", says="a", family=family, on=one, expects=expects)
        return read(stated(test), one, lock=lock)

    def alike(arms):
        assert arms["pretrained"] >= arms["xavier"]

    def same(arms):
        assert arms["xavier"] > arms["xavier"].on_other_seeds()

    key = difference_key(one["pretrained"] >= one["xavier"])
    lock.write({"differences": {key: {"sd": 0.5, "seeds": 10}}})
    assert reads(alike).obstacle is None
    lock.write({"differences": {key: {"sd": 3.0, "seeds": 10}}})
    assert re.match(
        r"underpowered: its margin is 1 % accuracy, and the smallest that 20 seeds resolve "
        r"is [12]\.\d+$",
        reads(alike).obstacle,
    )
    assert reads(same, Verdict.NO_EFFECT).obstacle is None
