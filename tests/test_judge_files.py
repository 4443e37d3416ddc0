"""Small files of every kind that ``embinit judge`` reads or refuses, each with the right answer."""

from __future__ import annotations

import json
import math

import pytest

from embinit.commands.main import main
from embinit.errors import Status

KEEP, DISCARD, AGAIN = Status.IN_ORDER, Status.NOT_IN_ORDER, Status.RUN_AGAIN

BASE = (3.0113, 3.0041, 2.9924, 3.0069, 2.9857, 3.0012, 2.9963, 3.0088)
NEW = (2.8021, 2.8094, 2.7936, 2.7871, 2.8043, 2.7968, 2.8102, 2.7915)
LIKE = (3.0034, 2.9921, 3.0079, 2.9888, 3.0102, 2.9957, 3.0061, 2.9969)
SHIFTED = (3.0062, 2.9982, 2.9887, 3.0003, 2.9811, 2.9946, 2.9925, 3.0036)
"""Lower than BASE by 0.005 seed by seed, which is seen in pairs alone."""

BETTER, ALIKE, PAIRS = ({"base": BASE, "new": new} for new in (NEW, LIKE, SHIFTED))


def table(head, form, arms=BETTER):
    """A line of names, and one a run: ``a`` is its arm, ``i`` its place, ``v`` its score."""
    of = [form.format(a=a, i=i, v=v) for a, each in arms.items() for i, v in enumerate(each)]
    return "\n".join([head, *of])


def losses(arms):
    return table("config,loss", "{a},{v}", arms)


def pairs(column, arms=PAIRS):
    return table(f"config,{column},loss", "{a},{i},{v}", arms)


def state(column, well, badly):
    """A table whose last run failed."""
    text = table(f"config,val_loss,{column}", f"{{a}},{{v}},{well}")
    return text.removesuffix(well) + badly


def steps(head, form, every=(1, 4), runs=1):
    """The losses of runs that end alike; those of the second arm are logged more often."""
    lines = [head]
    for arm, often in zip("ab", every, strict=True):
        for run, n in ((run, n) for run in range(runs) for n in range(20 * often)):
            loss = 3 + math.exp(-n / often / 4) + math.sin((7 * n + run + often) ** 2) / 99
            lines.append(form.format(a=arm, r=run, t=100 * n // often, v=round(loss, 5)))
    return "\n".join(lines)


def markdown(head, form, arms=BETTER):
    first, *rest = table(head, form, arms).splitlines()
    rule = "|".join("---" for _ in first.split("|")[1:-1])
    return "\n".join(["What came out:", "", first, f"|{rule}|", *rest, "", "More words."])


FEW = {f"x{k}": [round(3 + math.sin(9 * k + i * i) / 99, 5) for i in range(2)] for k in range(14)}
FEW |= {"base": BASE[:2], "new": NEW[:2]}
BY_ARM = {name: [*values] for name, values in BETTER.items()}
ROWS = [{"config": name, "val_loss": v} for name, values in BETTER.items() for v in values]
COUNTS = "config,passed\nbase,40/80\nnew,{}\n"

ANSWERS = {
    "csv": (losses(BETTER), "", KEEP, "keep new"),
    "tsv": (table("config\tval_loss", "{a}\t{v}"), "", KEEP, "keep new"),
    "higher": (table("config,accuracy", "{a},{v}"), "", DISCARD, "REFUTED: discard new"),
    "alike": (losses(ALIKE), "", DISCARD, "discard new"),
    "alike in a margin": (
        losses(ALIKE), "--margin .03", DISCARD, "NO EFFECT",
    ),
    "less than the margin": (
        losses(BETTER), "--margin .3", DISCARD, "NO EFFECT: discard new",
    ),
    "constant": ("config,loss\n" + "a,2\n" * 6 + "b,1\n" * 6, "", AGAIN, "don't vary"),
    "one is constant": (losses({"a": BASE, "b": (1,) * 8}), "", AGAIN, "don't vary"),
    "constant pairs": (
        pairs("seed", {"a": (1, 3, 2, 9, 5, 7), "b": (0.5, 2.5, 1.5, 8.5, 4.5, 6.5)}),
        "", AGAIN, "differences don't vary",
    ),
    "seed": (pairs("seed"), "", KEEP, "seed by seed"),
    "Random Seed": (pairs("Random Seed"), "", KEEP, "by seed"),
    "config.seed": (pairs("config.seed"), "", KEEP, "by seed"),
    "random_state": (pairs("random_state"), "", KEEP, "by seed"),
    "seed.value": (pairs("seed.value"), "", KEEP, "by seed"),
    "--unpaired": (pairs("seed"), "--unpaired", AGAIN, "Welch"),
    "fold": (
        pairs("fold"), "", AGAIN,
        "fold has the same values in each arm, and pairs nothing without --seed",
    ),
    "--seed fold": (pairs("fold"), "--seed fold", KEEP, "by seed"),
    "no common seed": (table("config,seed,loss", "{a},{a}{i},{v}"), "", KEEP, "seeds pair nothing"),
    "two that pair": (
        table("config,fold,budget,loss", "{a},{i},7,{v}", PAIRS),
        "--seed fold,budget", KEEP, "by seed",
    ),
    "steps": (steps("config,run,step,loss", "{a},{r},{t},{v}", runs=2), "", None, "(n=2)"),
    "_step": (steps("config,seed,_step,loss", "{a},{r},{t},{v}", runs=2), "", None, "(n=2)"),
    "Epoch #": (steps("config,Epoch #,loss", "{a},{t},{v}"), "", AGAIN, "(n=1)"),
    "run's last number": (
        steps("config,run,step,loss", "{a},{r},{t},{v}", runs=2), "--last 5", None, "(n=2)",
    ),
    "Markdown": (markdown("| config | val_loss |", "| {a} | **{v}** |"), "", KEEP, "keep new"),
    "Markdown's seeds": (
        markdown("| config | seed | val_loss |", "| {a} | {i} | {v} |", PAIRS), "", KEEP, "by seed",
    ),
    "mean, sd, n": ("config,loss_mean,loss_sd,n\na,3,.01,8\nb,2.9,.01,8", "", KEEP, "keep b"),
    "means of seeds": (
        table("config,seed,mean,std,n", "{a},{i},{v},.5,100", ALIKE), "--lower", DISCARD, "(n=8)",
    ),
    "counts": (COUNTS.format("79/80"), "", KEEP, "Fisher"),
    "few counts": (COUNTS.format("45/80"), "", AGAIN, "Fisher"),
    "one number": ("config,loss\na,3.1\nb,2.9", "", AGAIN, "one number an arm"),
    "JSON of lists": (json.dumps(BY_ARM), "--lower", KEEP, "keep new"),
    "JSON of runs": (json.dumps({"results": ROWS}), "", KEEP, "keep new"),
    "JSON lines": ("\n".join(map(json.dumps, ROWS)), "", KEEP, "keep new"),
    "MLflow": (
        table("Run ID,status,params.lr,metrics.val_loss", "{a}{i},FINISHED,{a},{v}"),
        "--by lr --metric val_loss", KEEP, "keep new",
    ),
    "W&B": (
        table('"Name","State","Seed","lr","loss"', '"{a}{i}","finished","{i}","{a}","{v}"', PAIRS),
        "--by lr", KEEP, "by seed",
    ),
    "an agent's results.tsv": (
        table("commit\tval_bpb\tmemory_gb\tstatus\tdescription", "{a}{i}\t{v}\t44\tkeep\t{a}")
        + "\nf00\t0.000000\t0.0\tcrash\tlarger",
        "", KEEP, "discard larger",
    ),
    "one arm alone": (losses({"a": BASE}), "--margin .01", AGAIN, "takes"),
    "two runs of many arms": (losses(FEW), "--baseline base", KEEP, "keep new"),
    "two seeds of many arms": (
        pairs("seed", FEW), "--baseline base", KEEP, "13 degrees",
    ),
}  # fmt: skip

REFUSED = {
    "zero": (losses(BETTER | {"new": (*NEW, "0.000000")}), "r.csv:18: its score is an exact 0"),
    "nan": (losses(BETTER | {"new": (*NEW, "nan")}), "r.csv:18: loss is 'nan'"),
    "an empty cell": (losses(BETTER | {"new": (*NEW, "")}), "r.csv:18: loss is ''"),
    "State": (state("State", "finished", "crashed"), "r.csv:17: its State is 'crashed'"),
    "preempted": (state("status", "done", "preempted"), "its status is 'preempted'"),
    "checks_failed": (state("status", "keep", "checks_failed"), "its status is 'checks_failed'"),
    "exit code": (state("exit_code", "0", "137"), "its exit_code is '137'"),
    "diverged": (state("diverged", "False", "True"), "its diverged is 'True'"),
    "error": (state("error", "", "CUDA out of memory"), "its error is 'CUDA out of memory'"),
    "copies": (table("config,loss", "{a},{v}\n{a},{v}"), "'base' has each number twice or more"),
    "a file twice": (losses({"a": BASE * 2, "b": NEW}), "twice or more"),
    "one under two names": (losses({"a": BASE, "b": BASE[::-1]}), "'b' has the numbers of 'a'"),
    "a seed twice": (table("config,seed,loss", "{a},4,{v}"), "has the seed 4 twice (before at"),
    "steps of another name": (steps("config,pos,loss", "{a},{t},{v}"), "pos rises in each arm"),
    "steps of a seed": (steps("config,seed,k,loss", "{a},{r},{t},{v}", runs=2), "k rises in each"),
    "checkpoints": (steps("config,file,loss", "{a},ckpt-{t}.pt,{v}"), "file rises in each arm"),
    "no step": (steps("config,loss", "{a},{v}"), "scores depend on their order"),
    "sizes": (table("config,width,loss", "{a},{i}00,{v}"), "width rises in each arm"),
    "one run's steps": (steps("run,k,loss", "{a},{t},{v}", every=(1, 1)), "k rises in each arm"),
    "ended early": (
        steps("config,run,step,loss", "{a},{r},{t},{v}", runs=2).rsplit("\n", 40)[0],
        "it ended at step 975, and others at 1975",
    ),
    "a sd without n": ("config,loss_mean,loss_sd\na,3,.01\nb,2.9,.01", "add a column n"),
    "mean and sd in a cell": ("config,loss\na,3 ± 0.1\nb,2 ± 0.1", "give columns mean, sd and n"),
    "decimal commas": ("config;loss\na;3,1\nb;2,9", "write 3.27 for 3,27"),
    "two metrics": (table("config,loss,eval_loss", "{a},{v},{v}"), "there are loss, eval_loss"),
    "a column twice": (table("config,loss,loss", "{a},{v},{v}"), "2 columns are called 'loss'"),
    "no arms": (table("lr,val_loss", "{a},{v}"), "name the columns that tell arms apart by --by"),
    "a cell too many": ("config,loss\na,3.1,4\nb,2.9", "r.csv:2 has 3 cells"),
    "% in some": ("config,acc\na,91%\nb,0.92", "write all alike"),
    "W&B's chart": ("Step,a - loss,a - loss__MIN\n1,2,3", "is a chart of W&B"),
    "two tables": (markdown("|config|loss|", "|{a}|{v}|") + "\n|a|b|\n|-|-|\n|1|2|\n", "2 tables"),
    "JSON of words": (json.dumps(["a", "b"]), "value is 'a', which is no number"),
    "nothing": ("\n", "is empty"),
    "names alone": ("config,loss\n", "has no row"),
    "too many": (losses({"a": range(2000)}), "one a run and not one a step"),
}  # fmt: skip


def judged(tmp_path, monkeypatch, capsys, text, *options):
    """The status, and what was printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text(text)
    status = main(["judge", "r.csv", *options])
    out, error = capsys.readouterr()
    return status, out + error


@pytest.mark.parametrize("name", ANSWERS)
def test_a_file_has_the_right_answer(tmp_path, monkeypatch, capsys, name):
    text, options, wanted, says = ANSWERS[name]
    status, out = judged(tmp_path, monkeypatch, capsys, text, *options.split())
    assert status == wanted if wanted is not None else status in (AGAIN, DISCARD), out
    assert says in out, out
    assert max(map(len, out.splitlines())) < 300


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_answer_is_a_line_with_its_place_and_mend(tmp_path, monkeypatch, capsys, name):
    text, says = REFUSED[name]
    status, out = judged(tmp_path, monkeypatch, capsys, text)
    assert (status, len(out.splitlines())) == (Status.UNUSABLE, 1), out
    assert "r.csv" in out
    assert says in out
