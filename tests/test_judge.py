"""``embinit judge``: a verdict on numbers that exist, and one clear line on those that can't be."""

import json
import math
import os
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders import ran
from embinit.commands.main import main
from embinit.errors import Status
from embinit.scores.arms import Score, arms_of, worst_of
from embinit.scores.judging import Plan, judge
from embinit.scores.names import arm_and_seed, lower_is_better
from embinit.stats.statements import Verdict

BASE, NEW = (3.2791, 3.2776, 3.2779), (3.2754, 3.2756, 3.2769)
OLD = (0.801, 0.797, 0.805, 0.799, 0.803, 0.8)
BETTER_BY_A_LITTLE = (0.812, 0.806, 0.815, 0.809, 0.811, 0.808)
BETTER = "new=1.0,1.1,0.9,1.05,0.95,1.02,1.0,0.97"
WORSE = "base=3.0,3.1,2.9,3.05,2.95,3.02,3.0,2.97"
SHIFTED = "base=1.0,1.2,0.8,1.1,0.9,1.0", "new=1.3,1.5,1.1,1.4,1.2,1.3"
NIGHTLY = pytest.mark.nightly


def judged(capsys, *arguments):
    """The status, and what was printed on either stream."""
    status = main(["judge", *map(str, arguments)])
    out, error = capsys.readouterr()
    return status, out + error


def words(**arms):
    return [f"{name}={','.join(map(str, values))}" for name, values in arms.items()]


def arms(**sides):
    return arms_of((arm, Score(v, "")) for arm, side in sides.items() for v in side)


def test_a_plain_case_says_what_was_read_the_difference_and_its_level_in_45_words(tmp_path, capsys):
    """More words are not read; fewer would hide a column that was taken for another."""
    rows = [f"{arm},{v}" for arm, of in (("base", OLD), ("new", BETTER_BY_A_LITTLE)) for v in of]
    (tmp_path / "r.csv").write_text("\n".join(["config,val_acc", *rows]))
    status, out = judged(capsys, tmp_path / "r.csv")
    assert status == Status.OK
    assert out.splitlines() == [
        "12 runs: base 6, new 6; arms from `config`, scores from `val_acc`, higher is better",
        "keep new: higher by 0.0093",
        "arm   mean     sd       difference",
        "base  0.80083  0.00286",
        "new   0.81017  0.00319  0.00933 (0.00509 to 0.01363)",
        "96.4 % interval, Welch's t-test; analyses at 6, 12, 24",
    ]
    assert len(out.split()) <= 45


def test_three_numbers_an_arm_say_how_many_more_decide(capsys):
    """The runs to the next analysis decide in one of four cases, so the total is there, too."""
    status, out = judged(capsys, *words(base=BASE, new=NEW), "--lower", "--margin", "0.002")
    assert status == Status.RUN_AGAIN
    assert out.splitlines()[:2] == [
        "6 runs: base 3, new 3; lower is better",
        "undecided: 3 more of each to the first analysis, at 6, which may decide such a difference "
        "(or --most 3, if these are all)",
    ]
    assert "margin 0.002" in out
    # With all runs that there are, the only analysis has the whole level.
    status, out = judged(capsys, *words(base=BASE, new=NEW), "--lower", "--most", "3")
    assert (status, "90 % interval" in out) == (Status.OK, True)
    assert "keep new: lower by 0.0022 (it rests on one run" in out


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        ((WORSE, BETTER, "--lower"), Status.OK, "keep new: lower by 2.0"),
        ((WORSE, BETTER, "--higher"), Status.NOT_OK, "discard new: lower by 2.0"),
        ((WORSE, BETTER, "--metric", "val_loss"), Status.OK, "lower is better"),
        ((*SHIFTED, "--higher"), Status.OK, "keep new"),
        ((*SHIFTED, "--higher", "--trials", "100"), Status.RUN_AGAIN, "100 trials share 5 %"),
        (("base=1,2", "new=2,3,4,5", "--higher"), Status.RUN_AGAIN,
         "4 more of base and 2 more of new"),
        (("base=1,1,1", "new=2,2,2", "--higher", "--most", "3"), 8, "undecided (the scores of new"),
        (("base=2,2.1,2.2", "new=2.1,2.2,2.4", "--higher", "--most", "3"), 8,
         "undecided: not shown by 3 runs; about 17 new ones of each are needed"),
        (("base=2,2.1,2.2", "a=2.1,2.2,2.4", "b=1,1.1,1.2", "--higher", "--most", "3"), 8,
         "discard b; undecided a\nnew runs that are needed: about 21 of a, and of the baseline"),
        (("base=5.1,5.3,4.9", "a=5.3,5.5,5.0", "b=5.2,5.3,5.1", "--higher"), Status.RUN_AGAIN,
         "3 more of base, a and b (or --most 3, if these are all)"),
        (("base=2.1,2.2,2.4", "new=2,2.1,2.2", "--higher", "--most", "3"), 1, "discard new: not"),
        (("a=.87,.86,.88", "b=.52,.5,.51", "--higher", "--no-worse", ".5", "--most", "3"), 4,
         "0.5 is a large margin where a has 0.87: are both in one unit?"),
        (("a=.8,.81,.79", "b=.3,.31,.29", "--higher", "--no-worse", ".6", "--one-unit"), 8, "gate"),
        (("base=1", "new=2", "--higher"), Status.RUN_AGAIN, "shows nothing of the noise"),
        (("base=1", "a=2", "b=3", "c=4", "d=5", "e=6", "--higher"), 8,
         "5 more of base, a, b, c, d and 1 more"),
        ((WORSE, BETTER, "--lower", "--trials", "1000"), Status.OK, "1000 trials share 5 %"),
        (("base=1,1,1,1,1,1", "new=2,2,2,2,2,2", "--higher"), Status.RUN_AGAIN, "don't vary"),
        (("base=1,1.1,.9,1,1.05,.95,1,1", "new=1,1.1,.9,1,1.05,.95,1,9", "--higher"), 8, "4 more"),
        (("base=1,2,3,4,5,6", "new=3.8,4.8,5.8,6.8,7.8,8.8", "--higher"), 8, "without one of its"),
        (("base=40/50", "new=41/50", "--higher", "--of", "runs"), 8, "Fisher's exact test"),
        (("base=49/50", "new=39/50", "--higher", "--of", "runs"), 1, "discard new: lower by 0.20"),
        (("base=9/50", "new=49/50", "--higher", "--of", "items"), 8, "another seed may differ"),
        (("base=.5,.6,.55", "new=.7,.72,.69", "--higher", "--most", "3", "--items", "1000"), 0,
         "standard error of at most 0.021"),
        (("base=1,2,3", "new=1,2,3", "--higher"), Status.NOT_OK, "the scores are the same"),
        (("p=78.2", "ours=77.9,78.4,78", "--higher", "--most", "3", "--printed", "p"), 1,
         "p is a printed number, whose own noise is unknown"),
        (("p=70±0.4/5", "ours=77.9,78.4,78", "--higher", "--most", "3"), 0, "8 runs: p 5, ours 3"),
    ],
)  # fmt: skip
def test_the_status_says_keep_discard_or_run_again(capsys, arguments, status, text):
    """The way to judge few runs as they are is printed until it is taken."""
    found, out = judged(capsys, *arguments)
    assert (found, text in out, "nan" in out) == (status, True, False), out
    assert "--most" not in arguments or "(or --most" not in out


QUESTIONS = [
    ((WORSE, BETTER), "is a higher or a lower score better?", 2),
    (("base=74/80", "new=79/80", "--higher"), "items of a test set", 2),
    (("paper=78.2", "ours=77.9,78.4,78", "--higher"), "printed somewhere", 2),
    (("base=78.2±.3", "ours=77.9,78.4,78", "--higher"), "of how many runs", 3),
    (("base=1,2", "new=1,nan", "--lower"), "a run that crashed counts against its arm", 2),
    (("base=1,2", "new=1,,2", "--lower"), "new, number 2: value is ''", 2),
    (("base=1,2", "new=0,2", "--lower"), "its score is an exact 0, outside the range", 3),
    (("base=1,2", "new=40,90", "--lower"), "scores go from 1 (base) to 90 (new)", 1),
    (("base=1,2", "new=1,2", "--lower", "--by", "config"), "has no column 'config'", 0),
    (("base=1,2", "new=1,2", "--lower", "--baseline", "bse"), "did you mean 'base'?", 2),
]


@pytest.mark.parametrize(("arguments", "text", "count"), QUESTIONS)
def test_every_command_that_a_question_offers_works(capsys, arguments, text, count):
    """A mend that ends in another error sends its reader in a circle."""
    status, out = judged(capsys, *arguments)
    assert (status, text in out) == (Status.UNUSABLE, True), out
    offered = re.findall(r"^  embinit judge (.*)", out, re.M)
    assert len(offered) == count, out
    for line in offered:
        assert judged(capsys, *shlex.split(line))[0] in (0, 1, 8), line


def per_run(head, line, base=OLD, new=BETTER_BY_A_LITTLE, more=("",)):
    """A table of two arms of six runs, with a row for each of ``more`` and run."""
    sides = ("base", base), ("new", new)
    runs = [(arm, seed, v) for arm, of in sides for seed, v in enumerate(of)]
    texts = (line.format(arm=a, seed=s, score=v, more=m) for a, s, v in runs for m in more)
    return "\n".join([head, *texts])


KINDS = {
    "words": (None, [*words(base=OLD, new=BETTER_BY_A_LITTLE), "--higher"]),
    "rows": (per_run("config,val_acc", "{arm},{score}"), []),
    "seeds": (per_run("config,seed,val_acc", "{arm},{seed},{score}"), []),
    "points": (per_run("config,seed,step,val_acc", "{arm},{seed},{more},{score}", more="0123"), []),
    "cells": (per_run("config,seed,set,val_acc", "{arm},{seed},{more},{score}{more}", more="01"),
              ["--cells", "set"]),
    "columns": ("seed,base,new\n" + "\n".join(
        f"{n},{a},{b}" for n, (a, b) in enumerate(zip(OLD, BETTER_BY_A_LITTLE, strict=True))),
        ["--higher"]),
    "means": ("config,val_acc\nbase,0.801 ± 0.003\nnew,0.81 ± 0.003", ["--n", "6"]),
    "counts": ("config,passed\nbase,40/50\nnew,45/50", ["--higher", "--of", "runs"]),
    "items": (per_run("config,seed,val_acc", "{arm},{seed},{score}", (0, 0, 0, 0, 0, 1),
                      (1, 1, 1, 1, 0, 1)), ["--of", "items"]),
    "beside noise": (per_run("config,val_acc", "{arm},{score}"), ["--noise", "noise.txt"]),
    "noise alone": ("\n".join(map(str, OLD)), []),
    "gate": (per_run("config,seed,val_acc", "{arm},{seed},{score}"), ["--no-worse", "0.01"]),
}  # fmt: skip
SAYS = {
    "--by": "arms from `config`", "--metric": "scores from `val_acc`", "--seed": "paired|McNemar",
    "--unpaired": "(Welch|unpaired|Student|Fisher)", "--baseline": "(?m)^arm.*\nbase ",
    "--higher": "higher is better", "--step": "rows are steps", "--columns": "a column is an arm",
    "--last": "one number each is judged",
}  # fmt: skip
"""What is printed of an option that says what was read anyway."""
OPTIONS = [
    "--by config", "--by !seed", "--metric val_acc", "--metric val_loss", "--seed seed",
    "--unpaired", "--id seed", "--id config", "--step step", "--step seed", "--cells seed",
    "--where config=base", "--columns arms", "--columns runs", "--names runs", "--names arms",
    "--n 4", "--baseline base", "--baseline new", "--higher", "--lower", "--margin 0.001",
    "--no-worse 0.001", "--noise noise.txt", "--printed base", "--printed none", "--of runs",
    "--of items", "--items 100", "--items 0", "--crashed worst", "--crashed drop",
    "--crashed keep", "--one-unit", "--alpha 0.01", "--trials 10", "--most 6", "--most 3",
    "--last 1", "--last 2", "--markdown", "--json",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_no_option_is_ignored(tmp_path, monkeypatch, capsys, kind):
    """Each changes what is printed, is named there, or is refused: else one trusts what isn't."""
    monkeypatch.chdir(tmp_path)
    noise = np.random.default_rng(0).normal(0.8, 0.003, 12)
    Path("noise.txt").write_text("\n".join(f"{v:.4f}" for v in noise))
    text, given = KINDS[kind]
    if text is not None:
        Path("r.csv").write_text(text)
        given = ["r.csv", *given]
    status, plain = judged(capsys, *given)
    assert status in (0, 1, 8), plain
    for option in OPTIONS:
        name, *_ = option.split()
        apart = {"--lower", "--higher"}, {"--margin", "--no-worse"}, {"--seed", "--unpaired"}
        if name in given or any(pair <= {name, *given} for pair in apart):
            continue  # once, or argparse refuses it
        status, out = judged(capsys, *given, *option.split())
        said = name in SAYS and re.search(SAYS[name], out)
        assert status == Status.UNUSABLE or out != plain or said, option


@pytest.mark.parametrize(
    ("new", "status"),
    [
        (OLD, Status.OK),
        ([v - 0.001 for v in OLD[1:] + OLD[:1]], Status.OK),
        ([v - 0.03 for v in OLD[1:] + OLD[:1]], Status.NOT_OK),
        ([v - 0.02 for v in OLD[1:] + OLD[:1]], Status.RUN_AGAIN),
    ],
)
def test_a_gate_is_green_where_nothing_is_worse_and_red_where_something_is(capsys, new, status):
    """It is for CI: an unchanged score must pass, and one that fell by more than D must not."""
    found, out = judged(capsys, *words(base=OLD, new=new), "--higher", "--no-worse", "0.02")
    assert found == status, out


def test_several_arms_share_alpha_and_make_a_table_by_effect(capsys):
    given = [WORSE, "a|b_c=3.0,3.1,2.9,3.05,2.95,3.02,3.0,2.98", BETTER, "--lower"]
    _, plain = judged(capsys, *given)
    assert "98.2 % interval, Welch's t-test; 2 trials share 5 %" in plain
    assert [line.split()[0] for line in plain.splitlines()[3:6]] == ["base", "new", "a|b_c"]
    _, table = judged(capsys, *given, "--markdown")
    assert r"| a\|b\_c | 3.00 | 0.0" in table
    assert "| new | 1.00 | 0.0613 | −2.00" in table
    _, text = judged(capsys, *given, "--json")
    found = [(arm["verdict"], arm["decision"]) for arm in json.loads(text)["arms"]]
    assert found == [("UNDECIDED", "discard"), ("SUPPORTED", "keep")]
    many = [f"arm{n}={n + 1},{n + 2}" for n in range(200)]
    assert max(map(len, judged(capsys, *many, "--lower", "--one-unit")[1].splitlines())) < 300


def test_a_discarded_arm_of_several_has_its_reason(capsys):
    """UNDECIDED next to discard was a riddle, and said the same at a last analysis."""
    arms = "base=5.1,5.3,4.9,5.0,5.2,4.8", "a=5.5,5.4,4.8,5.6,5.1,5.2", "b=4.5,4.9,4.4,5.2,4.7,5.1"
    _, out = judged(capsys, *arms, "--higher")
    assert re.search(r"^b .* not shown to be better$", out, re.M)


def test_noise_that_was_measured_lets_two_runs_decide(tmp_path, capsys):
    noise = tmp_path / "noise.txt"
    noise.write_text("\n".join(map(str, np.random.default_rng(0).normal(3, 0.01, 10))))
    new = ("new=2.90,2.91", "--lower", "--noise", noise)
    assert judged(capsys, *new)[0] == Status.OK
    assert judged(capsys, WORSE.split(",")[0], *new)[0] == Status.RUN_AGAIN  # base is one run alone
    # One run is never kept, however low.
    status, out = judged(capsys, "new=2.9", "--lower", "--noise", noise)
    assert status == Status.RUN_AGAIN
    assert "1 more of new" in out
    # A third run never undoes what two decide: none of them has to be left out.
    assert judged(capsys, "new=2.978,2.99,2.984", "--lower", "--noise", noise)[0] == Status.OK
    # A change that does nothing is given up early.
    status, out = judged(capsys, "new=3.0,3.001", "--lower", "--noise", noise)
    assert status == Status.NOT_OK
    assert "not shown to be better" in out
    # Noise that new runs don't have is not used, and that is said.
    out = judged(capsys, "new=2.98,2.99,9", "--lower", "--noise", noise)[1]
    assert "noise: estimated from these runs, since noise varies less than other runs" in out
    # Eight runs count with their degrees of freedom; alone they print what they can show.
    noise.write_text("\n".join(noise.read_text().splitlines()[:8]))
    assert "7 degrees of freedom" in judged(capsys, *new)[1]
    status, out = judged(capsys, "--noise", noise, "--margin", "0.02")
    assert status == Status.RUN_AGAIN
    assert "a difference of 0.02 takes" in out


def test_the_noise_is_pooled_over_arms_that_vary_alike():
    rng = np.random.default_rng(1)
    sides = {f"arm{n}": rng.normal(n, 1, 4) for n in range(8)}
    sides = {"base": (0.0, 1.0), "new": (10.0, 11.0)} | sides
    (found, *_) = judge(arms(**sides), Plan(lower=False))
    assert found.verdict is Verdict.SUPPORTED
    assert "of 8 other arms, 24 degrees of freedom" in found.noise
    # The arm that varies otherwise is judged by its own runs, and not pooled.
    odd = sides | {"arm0": (0.0, 0.0, 0.0, 90.0)}
    found, first, *_ = judge(arms(**odd), Plan(lower=False))
    assert "of 7 other arms, 21 degrees of freedom (without arm0)" in found.noise
    assert "since arm0 varies more than other runs" in first.noise
    # Nothing is pooled where many do.
    many = sides | {f"arm{n}": rng.normal(0, 9.0**n, 4) for n in range(8)}
    found, *_ = judge(arms(**many), Plan(lower=False))
    assert "as do too many arms" in found.noise
    assert found.verdict is Verdict.UNDECIDED


RUNS = st.lists(st.tuples(st.floats(-9, 9), st.floats(0.5, 0.6)), min_size=6, max_size=9)


@given(RUNS, st.randoms())
def test_what_pairs_runs_is_the_seed_whatever_their_order(runs, random):
    """Pairs show a difference that is small next to what the runs of an arm differ by."""
    numbers, shifts = zip(*runs, strict=True)
    # Pairs that don't vary, or but for one, decide nothing.
    assume(np.std(numbers) > 0.1 and len({round(shift, 6) for shift in shifts}) > 2)
    named = [("base", Score(v, "", str(seed))) for seed, v in enumerate(numbers)]
    named += [("new", Score(sum(run), "", str(seed))) for seed, run in enumerate(runs)]
    random.shuffle(named)
    (found,) = judge(arms_of(named), Plan(lower=False), "base")
    assert (found.paired, found.verdict) == (True, Verdict.SUPPORTED)
    loose = arms_of((arm, run._replace(seed="")) for arm, run in named)
    assert not judge(loose, Plan(lower=False), "base")[0].paired


METRICS = {
    True: ["eval/loss", "val_bpb", "perplexity", "valLoss"],
    False: ["accuracy", "metrics/mAP50-95(B)", "mIoU", "acc,none"],
    None: ["mlogloss", "loss_reduction", "acc_norm,none", "runtime", "neg_mean_squared_error", ""],
}


@pytest.mark.parametrize("lower", METRICS)
def test_a_metrics_whole_name_says_which_way_is_better(lower):
    """One word of it must not: loss_reduction is no loss."""
    assert [one for one in METRICS[lower] if lower_is_better(one) is not lower] == []


LOWER = ["base=1,2", "new=1,3", "--lower"]
BAD_WORDS = [
    (["base=1,2", "new=1,1e60", "--lower"], "number 2: 1e60 can't be compared; give up to 1e+50"),
    (["base=1,2", "new=1,x"], "new, number 2: value is 'x', which is no number"),
    ([], "give arms, as in base=3.28,3.27"),
    (["base=1,2", "nothing.csv"], "'nothing.csv' is neither an arm nor a file"),
    (["..", "."], "'..' is one of several files; give arms, as in new=3.27,3.28, or one file"),
    ([*LOWER, "--margin", "-1"], "a margin of -1 can't be used"),
    ([*LOWER, "--last", "3"], "has one number a run: leave out --last"),
    ([*LOWER, "--of", "runs"], "no arm has one count of successes: leave out --of"),
    (["base=1,-2", "new=1,3", "--lower", "--items", "9"], "--items is for shares of items"),
    ([*LOWER, "--printed", "new"], "'new' is no arm of one number: leave out --printed"),
    ([*LOWER, "--names", "runs"], "no names that end in numbers: leave out --names"),
    ([*LOWER, "--n", "3"], "no mean ± sd: leave out --n"),
    ([*LOWER, "--most", "1"], "--most 1 can't be judged"),
    (["base=1,2", "Base=1,3", "--lower"], "differ in capitals alone"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_WORDS)
def test_what_cannot_be_judged_is_one_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    status, out = judged(capsys, *arguments)
    assert (status, len(out.splitlines())) == (Status.UNUSABLE, 1)
    assert message in out


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1.0, 1e9, 1e49])
def test_scores_may_have_any_size(factor):
    """What is decided is the same, and the numbers are in the scores' own unit."""
    sides = ([n * size for n in range(1, 8)] for size in (factor, 1.0))
    found, plain = (judge(arms(base=v[:6], new=v[1:]), Plan(lower=False))[0] for v in sides)
    assert found.verdict is plain.verdict is Verdict.UNDECIDED
    assert found.outcome.difference == pytest.approx(factor)
    wanted = [end * factor for end in plain.outcome.interval]
    assert found.outcome.interval == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize(
    ("path", "arm", "seed"),
    [
        ("base-seed3", "base", "3"),
        ("base/s3", "base", "3"),
        ("resnet-s50-seed3", "resnet-s50", "3"),
        ("gpt-s-0", "gpt-s-0", ""),
        ("base/run3", "base", ""),
        ("lr0.3-s1", "lr0.3", "1"),
        ("seed3", "", "3"),
    ],
)
def test_a_path_names_an_arm_and_a_seed(path, arm, seed):
    assert arm_and_seed(path) == (arm, seed)


def trainer_log(folder: Path, losses: list[float]) -> None:
    """A state as Trainer writes it: its own file is made by the nightly test."""
    folder.mkdir(parents=True)
    history = [{"epoch": i, "step": 10 * i, "eval_loss": loss} for i, loss in enumerate(losses)]
    (folder / "trainer_state.json").write_text(json.dumps({"log_history": history}))


def test_runs_of_a_folder_have_their_arm_and_seed_in_their_names(tmp_path, capsys):
    for seed in range(6):
        trainer_log(tmp_path / f"base-seed{seed}", [3.0, 2.0 + seed / 9])
        trainer_log(tmp_path / f"new/s{seed}/checkpoint-20", [3.0, 9.0])
        trainer_log(tmp_path / f"new/s{seed}/checkpoint-100", [3.0, 1.5 + seed / 9 + seed**2 / 99])
    status, out = judged(capsys, tmp_path, "--metric", "eval/loss")
    assert status == Status.OK
    assert "paired t-test" in out
    assert "lower is better" in out
    assert "new   1.87" in out
    assert "base  2.278" in out
    assert "new   2.43" in judged(capsys, tmp_path, "--metric", "eval_loss", "--last", 2)[1]
    assert (
        "has 2 points; give --last 1 to 2"
        in judged(capsys, tmp_path, "--metric", "eval_loss", "--last", 3)[1]
    )


def test_each_metric_that_a_folder_logged_may_be_meant(tmp_path, capsys):
    """Steps and clocks are logged, too, and are no first guess; names may end in settings."""
    for seed in range(3):
        for tied in ("false", "true"):
            folder = tmp_path / f"tied={tied},seed={seed}"
            folder.mkdir()
            text = "".join(f"{n},{n},{1e9 + n},{seed + n}\n" for n in range(3))
            (folder / "log.csv").write_text("Step,epoch,Wall time,Value\n" + text)
    status, out = judged(capsys, tmp_path, "--higher")
    offered = re.findall(r"^  embinit judge (.*)", out, re.M)
    assert (status, "--metric Value --baseline tied=false" in offered[0]) == (Status.UNUSABLE, True)
    for line in offered:
        assert judged(capsys, *shlex.split(line))[0] in (0, 1, 8), line
        assert "--metric Step" not in line


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda home: None, "has no log of a run (it has nothing); name the folder above the runs"),
        (
            lambda home: trainer_log(home / "a", []),
            "has no column 'eval_loss': it has step, arm, seed and uid",
        ),
        (lambda home: (home / "trainer_state.json").write_text("{"), "let the tool write it again"),
        (
            lambda home: (home / "metrics.csv").write_text("step,eval_loss\n1,x\n"),
            "metrics.csv:2: eval_loss is 'x', which is no number",
        ),
        (
            lambda home: trainer_log(home / "a", [1.0, math.nan]),
            "trainer_state.json: eval_loss is nan: a run that crashed",
        ),
    ],
)
def test_a_bad_folder_is_one_line(tmp_path, capsys, make, message):
    make(tmp_path)
    status, out = judged(capsys, tmp_path, "--metric", "eval_loss")
    assert status == Status.UNUSABLE
    assert message in out


@pytest.mark.parametrize("log", ["training.log", "history.csv"])
def test_a_log_of_two_trainings_is_not_judged_by_the_longer_one(tmp_path, capsys, log):
    """Keras appends to its log: a second fit, of fewer epochs, left the first one's last score."""
    for seed in range(6):
        for arm, shift in (("base", 3.0), ("new", 1.5)):
            lines = [f"{epoch},{shift + (seed + 1) / (epoch + 9)}" for epoch in range(4)]
            (home := tmp_path / f"{arm}-s{seed}").mkdir()
            (home / log).write_text("\n".join(["epoch,eval_loss", *lines, ""]))
    given = (tmp_path, "--metric", "eval_loss")
    assert judged(capsys, *given)[0] == Status.OK
    with (home / log).open("a") as file:  # resumed at epoch 2, it ends where the first one did
        file.write("2,1.6\n3,1.7\n")
    assert judged(capsys, *given)[0] == Status.OK
    with (home / log).open("a") as file:
        file.write("0,9.0\n1,nan\n")
    status, out = judged(capsys, *given)
    assert status == Status.UNUSABLE
    assert f"{home / log}:9: step 1 is there again, and the steps before it go on to 3" in out
    (home / log).write_text("epoch,eval_loss\n0,2.0\n1,1.6\n2,nan\n3,1.5\n")
    assert f"{home / log}:4: eval_loss is nan" in judged(capsys, *given)[1]


def test_a_part_of_a_columns_name_is_answered_with_the_column(tmp_path, capsys):
    (tmp_path / "r.csv").write_text("optimizer,seed,val_accuracy\na,0,0.1\nb,0,0.2\n")
    out = judged(capsys, tmp_path / "r.csv", "--by", "optimizer", "--metric", "acc")[1]
    assert "--metric val_accuracy" in out
    out = judged(capsys, tmp_path / "r.csv", "--by", "optimizer", "--metric", "bleu")[1]
    assert "it has optimizer, seed and val_accuracy" in out
    assert "nothing there" not in out


def test_a_run_that_ended_early_or_has_no_log_is_not_judged_by_what_it_has(tmp_path, capsys):
    for seed in range(6):
        for arm, shift in (("base", 3.0), ("new", 1.5)):
            trainer_log(tmp_path / f"{arm}-{seed}", [4.0, 3.5, shift + seed / 99])
    given = (tmp_path, "--metric", "eval_loss", "--names", "runs")
    (tmp_path / "plots").mkdir()
    assert judged(capsys, *given)[0] == Status.OK
    (tmp_path / "figures").mkdir()
    (tmp_path / ".cache").mkdir()
    status, out = judged(capsys, *given)
    assert status == Status.OK
    assert "no run, since there is no log: " in out
    assert "figures" in out
    assert "numbers at the ends of names number runs: base-0 is one" in out
    assert ".cache" not in out
    (tmp_path / "figures").rmdir()
    (tmp_path / "new-6").mkdir()
    assert "new-6: it has no eval_loss" in judged(capsys, *given)[1]
    assert "1 crashed run of new left out" in judged(capsys, *given, "--crashed", "drop")[1]
    trainer_log(tmp_path / "new-7", [4.0, 1.0])
    (tmp_path / "new-6").rmdir()
    status, out = judged(capsys, *given)
    assert status == Status.UNUSABLE
    assert "new-7/trainer_state.json: it ended at step 10, and others of new at 20" in out
    assert "1.0" not in out
    (tmp_path / "new-7/trainer_state.json").unlink()
    os.symlink(tmp_path / "new-5", tmp_path / "new-8")
    os.symlink(tmp_path.parent, tmp_path / "new-9")
    assert "new-9 is a link to a folder elsewhere" in judged(capsys, *given)[1]


def test_a_folder_of_numbered_runs_is_the_noise_of_one_arm(tmp_path, capsys):
    for seed in range(6):
        trainer_log(tmp_path / f"noise/base-{seed}", [4.0, 3 + seed / 99])
        for arm, shift in (("base", 0.0), ("new", -1.0)):
            trainer_log(tmp_path / f"runs/{arm}-{seed}", [4.0, 3 + shift + seed**2 / 999])
    given = ("--noise", tmp_path / "noise", "--metric", "eval_loss")
    assert "of runs made before, 5 degrees of freedom" in judged(capsys, *given)[1]
    status, out = judged(capsys, tmp_path / "runs", *given, "--names", "runs")
    assert status == Status.OK
    assert "of runs made before, 5 degrees of freedom" in out


@pytest.mark.parametrize(
    "files",
    [
        {"a/config.json": {"lr": 0.1}, "b/config.json": {"lr": 0.2}},
        {"a.json": {"acc": 0.1}, "b.json": {"loss": 0.2}},
        {"a.json": {"acc": 0.1}, ".ipynb_checkpoints/a.json": {"acc": 0.1}},
        {"a.json": {"acc": [0.1]}, "b.json": {"acc": [0.2]}},
    ],
)
def test_files_that_are_no_runs_are_not_judged(tmp_path, capsys, files):
    """Settings, files of other names, hidden copies and curves."""
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    status, out = judged(capsys, tmp_path, "--higher")
    assert (status, "has no log of a run" in out) == (Status.UNUSABLE, True), out


LAYOUTS = {
    "hydra": (["--metric", "acc"], lambda n, arm, seed, v: {
        f"2026-01-01/10-00-00/{n}/.hydra/config.yaml": f"method: {arm}\nseed: {seed}\n",
        f"2026-01-01/10-00-00/{n}/metrics.json": {"acc": v, "loss": {"train": 1 + v}}}),
    "hydra and lightning": ([], lambda n, arm, seed, v: {
        f"multirun/2026-01-01/{n}/.hydra/config.yaml": f"method: {arm}\nseed: {seed}\n",
        f"multirun/2026-01-01/{n}/lightning_logs/version_0/metrics.csv":
            f"epoch,val_acc\n0,0.5\n1,{v}\n"}),
    # A row has the numbers of its own log call alone; the last of a step's numbers counts.
    "lightning's logger": (["--metric", "val_acc", "--last", "2"], lambda n, arm, seed, v: {
        f"{arm}/s{seed}/metrics.csv": "step,std,log_seed,val_acc\n2,,,nan\n"
        + "".join(f"{t},,{'' if t else seed},{v - 2 + t}\n{t},1.0,,\n" for t in range(3))}),
    "an object a run": (["--metric", "acc"], lambda n, arm, seed, v: {
        f"{arm}-seed{seed}/all_results.json": {"acc": v, "loss": {"train": 1 + v}}}),
    "an object a run, by any name": ([], lambda n, arm, seed, v: {
        f"{arm}_seed{seed}.json": {"acc": v}}),
    # A step that has a line for each split is two measures: the last line isn't the score.
    "lines of two splits": (["--metric", "val/acc"], lambda n, arm, seed, v: {
        f"{arm}-seed{seed}/log.jsonl": "".join(
            f'{{"split": "{s}", "step": 0, "acc": {a}}}\n' for s, a in (("val", v), ("z", -v)))}),
    # A script dates its folders and writes what it was given next to what came out.
    "settings in two files": (["--metric", "acc", "--by", "method"], lambda n, arm, seed, v: {
        f"2026-01-{n + 1:02}_10-00-00/{name}.json": {"method": arm, "lr": len(arm), "seed": seed}
        | ({"acc": v, "epoch": 3} if name == "results" else {})
        for name in (("config", "results") if n % 2 else ("results",))}),
    "wandb": ([], lambda n, arm, seed, v: {
        f"wandb/run-20260101_1200{n:02}-x{n}/logs/debug.log": "",
        f"wandb/run-20260101_1200{n:02}-x{n}/files/config.yaml":
            f"_wandb:\n  value:\n    start_time: {n}\n"
            f"method:\n  value: {arm}\nseed:\n  value: {seed}\n",
        f"wandb/run-20260101_1200{n:02}-x{n}/files/wandb-summary.json":
            {"acc": v, "_step": 9, "_runtime": n}}),
    "stable-baselines3": ([], lambda n, arm, seed, v: {
        f"{arm}/s{seed}/monitor.csv": f'#{{"t_start": 1}}\nr,l,t\n0,5,1\n{v},5,2\n'}),
    "ultralytics": (["--metric", "metrics/mAP50(B)"], lambda n, arm, seed, v: {
        f"train{n}/args.yaml": f"model: {arm}\nseed: {seed}\nsave_dir: x/{n}\n",
        f"train{n}/results.csv": f"  epoch,  metrics/mAP50(B),  loss\n 1, 0.1, 9\n 2, {v}, 8\n"}),
    "lm-evaluation-harness": (["--cells", "task"], lambda n, arm, seed, v: {
        f"{arm}/seed{seed}/results_2026-01-01.json": {
            "results": {t: {"acc,none": v, "acc_stderr,none": 1} for t in "ab"},
            "versions": {}, "config": {"random_seed": 0}, "model_name": "m"}}),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_folders_are_read_as_tools_leave_them(tmp_path, capsys, layout):
    """Settings tell arms apart where names only number runs; a run whose scores are gone is asked
    about, since it may be the one that failed."""
    options, files = LAYOUTS[layout]
    for n in range(12):
        score = 0.8 + 0.01 * (n // 6) + math.sin(n * n) / 999
        for name, content in files(n, ("base", "new")[n // 6], n % 6, score).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content))
    inside = [*tmp_path.iterdir()]
    for folder in (tmp_path, *(inside if len(inside) == 1 else [])):
        status, out = judged(capsys, folder, *options)
        assert (status, "keep new" in out, "paired t-test" in out) == (Status.OK, True, True), out
    path.unlink()
    status, out = judged(capsys, tmp_path, *options)
    assert status == Status.UNUSABLE or "11 runs: " in out, out


def test_event_files_of_tensorboard_are_read(tmp_path, capsys):
    from torch.utils.tensorboard import SummaryWriter

    for seed in range(6):
        for arm, shift in (("base", 0.0), ("new", -0.5)):
            with SummaryWriter(str(tmp_path / f"{arm}-seed{seed}")) as writer:
                for step in range(20):
                    loss = 3 + shift - step / 20 + math.sin(7 * seed**2 + step + 9 * shift) / 50
                    writer.add_scalar("eval/loss", loss, step)
    status, out = judged(capsys, tmp_path, "--metric", "eval_loss", "--last", 3)
    assert status == Status.OK
    assert "keep new" in out
    assert "paired t-test" in out
    log = next((tmp_path / "new-seed5").iterdir())
    whole = log.read_bytes()
    for damaged in (whole[:-5], whole[:-7] + bytes([whole[-7] ^ 255]) + whole[-6:]):
        log.write_bytes(damaged)
        status, out = judged(capsys, tmp_path, "--metric", "eval_loss")
        assert (status, len(out.splitlines())) == (Status.UNUSABLE, 1)
        assert "broken or cut short" in out
    log.unlink()
    os.mkfifo(log)
    assert "no regular file" in judged(capsys, tmp_path, "--metric", "eval_loss")[1]


@NIGHTLY
def test_what_trainer_wrote_is_read(tmp_path, capsys):
    pytest.importorskip("accelerate")
    import torch
    from transformers import Trainer, TrainingArguments

    class Line(torch.nn.Module):
        def __init__(self, start: float) -> None:
            super().__init__()
            self.slope = torch.nn.Parameter(torch.tensor(start))

        def forward(self, x, labels):
            return {"loss": ((self.slope * x - labels) ** 2).mean(), "logits": self.slope * x}

    for arm, start in (("base", 4.0), ("new", 1.5)):
        for seed in range(6):
            rng = np.random.default_rng(seed)
            data = [{"x": float(x), "labels": float(x + rng.normal())} for x in rng.normal(size=32)]
            arguments = TrainingArguments(
                str(tmp_path / f"{arm}_seed{seed}"), num_train_epochs=1, learning_rate=0.01,
                eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True,
                disable_tqdm=True, seed=seed,
            )  # fmt: skip
            trainer = Trainer(Line(start), arguments, train_dataset=data, eval_dataset=data)
            trainer.train()
            trainer.save_state()
    capsys.readouterr()
    status, out = judged(capsys, tmp_path, "--metric", "eval/loss")
    assert status == Status.OK
    assert "keep new" in out


@given(
    st.booleans(), st.floats(0.1, 9),
    st.lists(st.floats(0.1, 9), min_size=1, max_size=4),
)  # fmt: skip
def test_a_crashed_run_gets_no_better_score_than_its_own(lower, own, others):
    """Else a run that ended at a loss of 50 would be told to have the others' worst, 3.3."""
    runs = [("base", Score(value, "here")) for value in others]
    runs += [("new", Score(1.0, "here")), ("new", Score(own, "here", crashed="FAIL"))]
    known = arms_of(runs)
    settled = known.settled("worst", lower, worst_of(lower, known))
    assert settled.scores["new"][-1].value == (max if lower else min)(own, 1.0, *others)


@pytest.mark.parametrize(
    ("score", "statuses"),
    [("85 + noise / 2", {0}), ("85 + 0.01 + noise / 2 + other / 20", {0, 8}), ("84 + noise", {1})],
)
def test_the_gate_of_the_docs_compares_two_commits(tmp_path, score, statuses):
    """The recipe is run as it is printed: a refactoring is green, and a worse score is red."""
    page = (Path(__file__).parents[1] / "docs/ci.md").read_text("utf-8")
    [recipe] = re.findall(r"```bash\n(git worktree .*?)```", page, re.S)
    script = (
        "import random, sys\nnoise, other = (random.Random(n + sys.argv[1]).gauss(0, 0.2) "
        "for n in 'ab')\nprint(round({}, 4))\n"
    )
    home = tmp_path / "repository"
    home.mkdir()
    git = "git -c user.name=x -c user.email=x@x"
    for text in ("85 + noise / 2", score + "  # again"):
        (home / "train.py").write_text(script.format(text.replace("# again", "")))
        (home / "note").write_text(text)
        steps = f"git init -q; git add -A; {git} commit -qm x"
        assert ran("sh", "-ec", steps, cwd=home).returncode == 0
    shell = f'embinit() {{ {sys.executable} -m embinit "$@"; }}\n'
    shell += f'python() {{ {sys.executable} "$@"; }}\n'
    done = ran("bash", "-c", shell + recipe, cwd=home)
    assert done.returncode in statuses, done.stdout + done.stderr
