"""Result files as tools, agents and people leave them: each is judged, asked about, or refused.

No file here may lead to a wrong "keep" (status 0), and every command that a question offers works.
"""

import functools
import itertools
import json
import math
import re
import shlex

import pytest

from embinit.commands.main import main

KEEP, DISCARD, AGAIN, REFUSED = 0, 1, 8, 4
LOW = (2.01, 2.03, 1.98, 2.02, 1.99, 2.0)
HIGH = (3.0, 3.02, 2.97, 3.01, 2.99, 3.03)
SAME = (3.01, 2.98, 3.02, 2.99, 3.0, 3.03)
EIGHT = (3.0, 3.02, 2.97, 3.01, 2.99, 3.03, 2.98, 3.0)


def rows(head, line, base=HIGH, new=LOW, end=""):
    """A table of two arms; ``line`` has {arm}, {seed} and {score}."""
    runs = [("base", s, v) for s, v in enumerate(base)] + [("new", s, v) for s, v in enumerate(new)]
    return (
        "\n".join([head, *(line.format(arm=a, seed=s, score=v) for a, s, v in runs)]) + "\n" + end
    )


def steps(head, line, ends, every=10):
    """A table of steps; the loss of each run falls to its end."""
    lines = [head]
    for arm, values in ends.items():
        count = 8 if arm == "new" else 3
        for seed, end in enumerate(values):
            for step in range(count + 1):
                at, loss = every * step * 8 // count, end + (1 - step / count)
                lines.append(line.format(arm=arm, seed=seed, step=at, score=loss))
    return "\n".join(lines)


def chart(run, metric="loss"):
    """A chart of W&B: three steps, of which the last alone is lower for the new arm."""
    names = [run.format(arm=arm, seed=seed) for arm, seed, _ in RUNS]
    ends = [f"{name} - {metric}{end}" for name in names for end in ("", "__MIN", "__MAX")]
    lines = [",".join(["Step", *ends])]
    for step, sign in ((0, -1), (10, -1), (20, 1)):
        cells = (f"{9 + sign * v},{-9 * sign * v},{9 * sign * v}" for *_, v in RUNS)
        lines.append(",".join([str(step), *cells]))
    return "\n".join(lines)


def jsonl(objects):
    return "\n".join(map(json.dumps, objects))


def helm(metric, mean):
    """An entry of a stats.json."""
    sums = {"count": 8, "sum": 8 * mean, "mean": mean, "variance": 1e-4, "stddev": 0.01}
    return {"name": {"name": metric, "split": "test"}} | sums


two = functools.partial(rows, "arm,loss", "{arm},{score}")
seeded = functools.partial(rows, "arm,seed,loss", "{arm},{seed},{score}")
RUNS = [(a, s, v) for a, side in (("base", HIGH), ("new", LOW)) for s, v in enumerate(side)]
SLICES = "arm,slice,loss\n" + "".join(f"{a},{'cafebd'[s]},{v}\n" for a, s, v in RUNS)
SEARCH = "number,{0}lr,{0}optimizer,loss\n" + "".join(
    f"{s},0.{(7 * s + 3) % 11},{a},{v}\n" for a, s, v in RUNS
)
AGENT = (
    "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n"
    "a1\t1.2901\t40.1\tkeep\tbaseline\nb2\t1.2880\t40.1\tkeep\twider MLP\n"
)
MARKDOWN = "Results:\n\n| arm | **loss** |\n|:--|--:|\n" + "".join(
    f"| {a} | **{v}** |\n" for a, _, v in RUNS
)
SHIFTED = tuple(v - d for v, d in zip(EIGHT, (5e-3, 7e-3, 4e-3, 6e-3) * 2, strict=True))
"""Lower than EIGHT seed by seed, which only pairs show."""

paired = functools.partial(rows, line="{arm},{seed},{score}", base=EIGHT, new=SHIFTED)
FEW = [(f"x{k}", s, 3 + math.sin(9 * k + s * s) / 99) for k in range(14) for s in (0, 1)]
FEW += [(a, s, v) for a, s, v in RUNS if s < 2]
SHIFTS = [(a, s, s + d) for a, d in (("base", 1), ("new", 99)) for s in range(3)]
SHIFTS += [
    (f"x{k}", s, k + s + 1 + math.sin(97 * k * k + 31 * s * s + k * s))
    for k in range(8)
    for s in range(3)
]
LOSSES = [3 + math.exp(-n / 4) + math.sin(n * n) / 99 for n in range(20)]
LONG = (3.012345, 2.998321, 3.023411, 2.987123, 3.001239, 3.019992)
CURVES = {"base": (3.27866, 3.2787), "new": (3.27864, 3.2787)}
FAR = {"base": HIGH, "new": LOW}
STD = ["--metric", "std"]
TWO_MEANS = json.dumps({arm: {"acc": {"mean": 91.2, "std": 0.3, "n": 3}, "loss": {"mean": 0.3,
    "std": 0, "n": 3}} for arm in ("adamw", "muon")})  # fmt: skip
PAIRED = ["--by", "arm", "--metric", "loss"]
CASES = [
    # Tables of runs, in all forms.
    ("csv", "r.csv", seeded()),
    ("tsv", "r.tsv", rows("arm\tloss", "{arm}\t{score}")),
    ("durations", "r.csv", "arm,duration,loss\n" + "".join(
     f"{a},0 days 00:04:5{s % 3}.1,{v}\n" for a, s, v in RUNS)),
    ("durations of MLflow", "r.csv", "arm,Duration,loss\n" + "".join(
     f"{a},{30 + s % 3}.1min,{v}\n" for a, s, v in RUNS)),
    ("semicolons", "r.csv", rows("arm;loss", "{arm};{score}")),
    ("worse", "r.csv", two(LOW, HIGH), [], DISCARD, "discard new: higher by 1.00"),
    ("no difference", "r.csv", two(HIGH, SAME), [], DISCARD, "discard"),
    ("inside the margin", "r.csv", two(), ["--margin", "1.2"], DISCARD, "discard new: no effect"),
    ("three runs", "r.csv", two(HIGH[:3], LOW[:3]), [], AGAIN,
     "undecided: 3 more of each to the first analysis, at 6"),
    ("markdown", "r.md", MARKDOWN),
    ("json", "r.json", json.dumps([{"arm": a, "loss": v} for a, _, v in RUNS])),
    ("json lines", "r.jsonl", jsonl({"arm": a, "m": {"loss": v}} for a, _, v in RUNS)),
    ("json of lists", "r.json", json.dumps({"base": LOW, "new": HIGH}), [], REFUSED,
     "embinit judge r.json --higher"),
    ("json of lists a row", "r.json",
     json.dumps([{"config": "base", "losses": HIGH, "loss": 0}, {"config": "new", "losses": LOW}]),
     ["--metric", "losses", "--lower"]),
    ("json of runs by arm", "r.json",
     json.dumps({a: [{"loss": v} for v in s] for a, s in (("base", HIGH), ("new", LOW))})),
    ("json of runs by arm, and a name", "r.json", json.dumps(
        {"base": [{"loss": v} for v in HIGH], "new": [{"loss": v} for v in LOW], "project": "x"})),
    ("json of a project", "r.json", json.dumps(
        {"project": {"id": 7}, "runs": [{"arm": a, "losses": [v]} for a, _, v in RUNS]}),
     ["--metric", "losses", "--lower"]),
    ("means", "r.csv", "arm,mean,sd,n\nbase,3.0,0.02,8\nnew,2.0,0.02,8\n", ["--lower"]),
    ("means of two", "r.md",
     "|arm|loss_mean|loss_std|n|\n|-|-|-|-|\n|base|3|.02|2|\n|new|2|.02|2|\n", [], AGAIN,
     "scores from `loss_mean`, lower is better"),
    ("helm, one model", "stats.json", json.dumps([helm(m, v) for m, v in (("em", .1), ("f1", .9))]),
     [], REFUSED, "which columns name the arm and the score?"),
    ("helm, two models", "stats.json", json.dumps(
     [{"model": a} | helm("em", v) for a, v in (("base", .1), ("new", .9))]), ["--higher"], REFUSED,
     "embinit judge stats.json --by model --metric mean --higher"),
    ("helm, two metrics of models", "stats.json", json.dumps(
     [{"model": a} | helm(m, .9) for a in ("base", "new") for m in ("em", "f1")]), [], REFUSED,
     "embinit judge stats.json --by model --metric mean --where name.name=f1 --higher"),
    ("counts", "r.csv", "arm,passed\nbase,42/50\nnew,49/50\n", ["--higher"], REFUSED,
     "embinit judge r.csv --higher --of runs"),
    ("per cent", "r.csv", "arm,acc\n" + "".join(f"{a},{v * 10} %\n" for a, _, v in RUNS),
     ["--baseline", "new"], KEEP, "keep base"),
    ("two ways that pair", "r.csv",
     "arm,seed,budget,loss\n" + "".join(f"{a},{s % 3},{s // 3},{v}\n" for a, s, v in RUNS),
     [*PAIRED, "--seed", "seed,budget"]),
    # What tools write.
    ("wandb", "wandb.csv", rows("Name,State,Created,config.lr,Random Seed,eval/loss",
     "r{arm}{seed},finished,2026,{arm},{seed},{score}"), ["--by", "lr", "--metric", "loss"]),
    ("mlflow", "mlflow.csv", rows("Run ID,Name,Status,params.arm,params.seed,metrics.val_loss",
     "x{seed},n,FINISHED,{arm},{seed},{score}")),
    ("wandb, still running", "wandb.csv", rows("Name,State,arm,loss", "n,finished,{arm},{score}",
     end="n,running,new,0.2\n"), ["--by", "arm"], REFUSED, "its State is 'running'"),
    ("chart of wandb", "chart.csv", chart("{arm}-seed{seed}")),
    ("chart of wandb, numbered", "chart.csv", chart("{arm}-{seed}"), [], REFUSED,
     "embinit judge chart.csv --names runs\n"),
    ("chart of wandb, groups", "chart.csv", chart("method: {arm}{seed}"), [], REFUSED,
     "give one row a run:\n  arm,seed,score\n  base,0,0.801\n"),
    ("tasks and their average", "r.csv", rows("arm,seed,mnli,sst2,avg",
     "{arm},{seed},{score},{score}1,{score}05"), [], REFUSED,
     "choose one:\n  embinit judge r.csv --by arm --metric avg --higher\n"),
    ("wandb, other columns that vary", "wandb.csv", rows("Name,Created,Runtime,arm,seed,loss",
     "r{seed}{arm},2026-01-0{seed}T10:00:00.000Z,3{seed}{seed},{arm},{seed},{score}"),
     ["--by", "arm", "--metric", "loss"], KEEP, "paired t-test"),
    ("an index and a column an arm", "r.csv", ",base,new\n" + "\n".join(
     f"{n},{b},{v}" for n, (b, v) in enumerate(zip(HIGH, LOW, strict=True))), [], REFUSED,
     "embinit judge r.csv --columns arms --higher\n"),
    ("a column a run of an arm", "r.csv", ",".join(["metric", *(f"{a}_s{s}" for a, s, _ in RUNS)])
     + "\n" + ",".join(["loss", *(str(v) for *_, v in RUNS)]), [], REFUSED,
     "embinit judge r.csv --columns arms --higher\n"),
    ("no row where", "r.csv", rows("arm,split,loss", "{arm},test,{score}"),
     ["--where", "split=tets"], REFUSED, "embinit judge r.csv --where split=test\n"),
    ("all settings but", "r.csv", two(), ["--by", "!arm"], REFUSED, "no setting that varies but"),
    *((f"a setting that nobody named, {steps}", "r.csv", f"arm,lr,seed,acc,{steps}\n" + "".join(
     f"{a},{lr},{s},{v * lr + e},{e},r{a}{lr}{s}\n" if steps == "epoch,run" else
     f"{a},{lr},{s},{v * lr + e},3\n" for lr in (1, 3) for a, s, v in RUNS
     for e in ((1, 2, 3) if steps == "epoch,run" else (3,))), ["--most", "3"], REFUSED,
     "embinit judge r.csv --by arm,lr --baseline 'base, 1' --most 3\n")
     for steps in ("epoch", "epoch,run")),
    ("curves on two tasks", "r.csv", "arm,config.task,run,step,loss\n" + "".join(
     f"{a},{t},{a}{t}{s},{at},{v}\n" for t in "xy" for a, s, v in RUNS for at in (1, 2)), [],
     REFUSED, "embinit judge r.csv --by arm,config.task --baseline 'base, x'\n"),
    ("numbers are settings, too", "r.csv", "arm,lr,seed,acc\n" + "".join(
     f"{a},{lr},{s},{v * lr}\n" for lr in (1, 3) for a, s, v in RUNS), ["--by", "!seed"],
     REFUSED, "embinit judge r.csv --by arm,lr --baseline 'base, 1'\n"),
    ("names of runs are no settings", "r.csv",
     "Name,seed,lr,loss\n" + "".join(f"{a}{s},{s},{len(a) / 10},{v}\n" for a, s, v in RUNS),
     ["--by", "!seed"], REFUSED, "embinit judge r.csv --by lr --baseline 0.3\n"),
    ("an arm's column as the run's", "r.csv", two(), ["--id", "arm"], REFUSED,
     "arm is the score or tells arms apart: leave out --id"),
    # Agents: one run a row, and a crash is 0.000000.
    ("agent", "results.tsv", AGENT, [], REFUSED,
     "embinit judge results.tsv --by description --metric val_bpb\n"),
    ("agent, crashed", "results.tsv", AGENT + "c3\t0.000000\t0\tcrash\tfaster\n", [], REFUSED,
     "embinit judge results.tsv --by description --metric val_bpb\n"),
    ("crashed rows", "results.tsv", AGENT + "c3\t0.000000\t0\tkeep\twider MLP\n", [], REFUSED,
     "--by description --metric val_bpb --crashed worst"),
    ("six crashes", "r.csv", two(HIGH, (0.0,) * 6), [], DISCARD,
     "discard new: r.csv:8: its score is an exact 0"),
    ("crashed, worst", "r.csv", two(end="new,nan\n"),
     ["--crashed", "worst"], KEEP,
     "1 crashed run of new got the worst score of all, 3.03 (r.csv:14)"),
    ("crashed, dropped", "r.csv", two(end="new,nan\n"), ["--crashed", "drop"]),
    # Steps of runs.
    ("steps", "h.csv", steps("config,run,step,loss", "{arm},{seed},{step},{score}", CURVES), [],
     AGAIN, "of 4 runs"),
    ("steps without runs", "h.csv", steps("config,step,loss", "{arm},{step},{score}", CURVES), [],
     AGAIN, "of 4 runs"),
    ("steps and seeds", "h.csv", steps("arm,seed,_step,loss", "{arm},{seed},{step},{score}", FAR)),
    ("epochs of one run an arm", "h.csv", steps("arm,epoch,loss", "{arm},{step},{score}",
     {"base": HIGH[:1], "new": LOW[:1]}), [], REFUSED, "embinit judge h.csv --step epoch\n"),
    ("ended early", "h.csv", steps("arm,seed,step,loss", "{arm},{seed},{step},{score}", FAR)
     + "\nnew,9,0,1.0\n", [], REFUSED, "it ended at step 0, and others of new at 80"),
    ("a run without a point", "h.csv", steps("arm,seed,step,loss,state",
     "{arm},{seed},{step},{score},ok", FAR) + "\nnew,9,0,,crashed\n", [], REFUSED,
     "h.csv:80: its state is 'crashed'"),
    ("steps that start elsewhere", "h.csv", "arm,step,loss\n" + "".join(
        f"{a},{at},{3 + at / 99}\n" for a in ("base", "new") for at in (0, 10, 20, 5, 15, 25)),
     [], REFUSED, "h.csv:5: step starts again: which column names runs, or tells arms apart?"),
    # Seeds.
    ("one arm doesn't vary", "r.csv", two(HIGH, (2.0,) * 6), [], AGAIN,
     "the scores of new don't vary"),
    ("a seed twice", "r.csv", seeded(end="new,5,2.0\n"), [],
     REFUSED, "r.csv:14: the arm 'new' has seed 5 twice (before at r.csv:13)"),
    ("a seed for all", "r.csv", rows("arm,seed,loss", "{arm},42,{score}"), [], REFUSED,
     "--unpaired"),
    ("a seed for all, unpaired", "r.csv", rows("arm,seed,loss", "{arm},42,{score}"),
     ["--unpaired"]),
    *((f"paired by {name}", "r.csv", paired(f"arm,{name},loss"), [], KEEP, "paired t-test")
      for name in ("random_state", "Data Seed", "seed.value", "rng")),
    ("what could pair", "r.csv", paired("arm,fold,loss"), [], REFUSED,
     "embinit judge r.csv --seed fold\n"),
    ("what is said to pair", "r.csv", paired("arm,fold,loss"), ["--seed", "fold"], KEEP,
     "paired t-test"),
    ("no seed in common", "r.csv", rows("arm,seed,loss", "{arm},{arm}{seed},{score}"), [], KEEP,
     "seeds pair nothing"),
    ("seeds of pandas", "r.csv", paired("arm,seed,loss").replace("new,", "new,0").replace(
     ",2.9", ".0,2.9"), [], AGAIN, ""),
    ("an arm of other seeds", "r.csv", seeded(end="x,7,3.1\nx,8,3.2\n")),
    # Two runs of many arms, and the noise that is pooled.
    ("two runs", "r.csv", "\n".join(["arm,loss", *(f"{a},{v}" for a, _, v in FEW)]), [], AGAIN,
     "to the next analysis: 4 more of base"),
    ("two seeds", "r.csv", "\n".join(["arm,seed,loss", *(f"{a},{s},{v}" for a, s, v in FEW)]), [],
     AGAIN, "to the next analysis: 4 more of base"),
    ("differences that don't vary", "r.csv", "\n".join(
     ["arm,seed,reward", *(f"{a},{s},{v}" for a, s, v in SHIFTS)]), [], REFUSED,
     "embinit judge r.csv --one-unit"),
    ("differences that don't vary, of arms that do", "r.csv", "arm,seed,acc\n" + "".join(
     f"{a},{s},{v + d}\n" for a, d in (("base", 0), ("new", 2)) for s, v in enumerate(LOW)),
     ["--higher", "--most", "6"], KEEP, "Welch's t-test, since paired differences don't vary"),
    ("means of seeds", "r.csv", rows("arm,seed,mean,std,n", "{arm},{seed},{score},.5,100", HIGH,
     SAME), ["--lower"], DISCARD, "12 runs: base 6, new 6"),
    # Runs that failed, by other columns.
    *((f"{column}: {badly}", "r.csv", rows(f"arm,loss,{column}", f"{{arm}},{{score}},{well}",
       end=f"new,2.0,{badly}\n"), [], REFUSED, f"r.csv:14: its {column} is '{badly}'")
      for column, well, badly in (("status", "done", "preempted"),
        ("status", "keep", "checks_failed"), ("exit_code", "0", "137"),
        ("diverged", "False", "True"), ("error", "", "CUDA out of memory"))),
    # What is no set of runs.
    ("a file twice", "r.csv", two(EIGHT * 2), [], REFUSED,
     "r.csv:10: the rows of r.csv:2 on are there again, in order"),
    ("the same text in other columns", "r.csv",
     "a,b,loss\n" + "".join(f'"{a}","{b}",{v + seed / 99}\n' for seed in range(6)
     for a, b, v in [("base", "z", 3.0), ("x, y", "z", 2.0), ("x", "y, z", 5.0)]),
     ["--by", "a,b"], KEEP, "keep '\"x, y\", z'; discard 'x, \"y, z\"'"),
    ("one number under two names", "r.jsonl",
     jsonl({"arm": a, "m": {"loss": v}, "m.loss": 9.0} for a, _, v in RUNS), [], REFUSED,
     "r.jsonl:1: broken or cut short (ValueError: 2 entries of a run are called 'm.loss'"),
    ("one name twice in an object", "r.jsonl", '{"arm": "a", "loss": 1, "loss": 2}\n', [], REFUSED,
     "2 entries of a run are called 'loss'; rename all but one"),
    ("one arm under two names", "r.csv", two(EIGHT, EIGHT), [], DISCARD,
     "the scores are the same, run by run"),
    *((f"steps called {head.split(',')[1]}", "h.csv", steps(head, line, FAR), [], REFUSED, text)
      for head, line, text in (
        ("arm,logged,loss", "{arm},{step},{score}", "--by arm --metric loss --step logged\n"),
        ("arm,file,seed,loss", "{arm},c-{step}.pt,{seed},{score}",
     "--by arm --metric loss --step file\n"),
        )),
    ("steps of no name that start again", "h.csv", "arm,at,loss\n" + "".join(
        f"{a},{at},{3 + at / 99}\n" for a, steps in (("base", (1, 5, 20, 2, 9, 31)),
        ("new", (3, 7, 40, 4, 11, 55))) for at in steps), [], REFUSED,
     "--by arm --metric loss --unpaired"),
    ("steps of no name", "h.csv", two(LOSSES, [v - 1 for v in LOSSES]), [], REFUSED,
     "h.csv:2: scores depend on their order"),
    ("one run's steps", "h.csv", steps("arm,at,loss", "{arm},{step},{score}", {"new": HIGH[:1]}),
     [], REFUSED, "which columns name the arm and the score?"),
    ("sizes", "r.csv", rows("arm,width,loss", "{arm},{seed}0,{score}"), [], REFUSED,
     "embinit judge r.csv --seed width\n"),
    ("an arm that ended early", "h.csv", steps("arm,seed,step,loss", "{arm},{seed},{step},{score}",
     {"new": LOW}) + "\n" + steps("", "base,{seed},{step},{score}", {"x": HIGH}, 5)),
    ("too many", "r.csv", two(range(2000)), [], REFUSED, "one a run and not one a step"),
    # What can't be read as it stands.
    ("two columns", "r.csv", "arm,loss,loss\na,1,2\n", [], REFUSED, "2 columns are called 'loss'"),
    ("a column that is the same", "r.csv", rows("arm,optimizer,loss", "gpt,{arm},{score}"), [],
     KEEP, "arms from `optimizer`"),
    ("two settings", "r.csv", rows("model,method,loss", "m{seed},{arm},{score}"), [], REFUSED,
     "--by method --metric loss --seed model\n"),
    ("two columns of a name", "r.csv", rows("arm,a.loss,b.loss", "{arm},1,{score}"),
     ["--metric", "loss"], REFUSED, "embinit judge r.csv --metric a.loss"),
    ("two scores", "r.csv", "arm,loss,val_loss\na,1,2\n", [], REFUSED,
     "there is no noise to measure"),
    ("no arm", "r.csv", "lr,wd,loss\n1,2,3\n", [], REFUSED,
     "which columns name the arm and the score?"),
    ("decimal commas", "r.csv", rows("arm;loss", "{arm};{score}").replace(".", ","), [], KEEP,
     "keep new: lower by 1.00"),
    ("a comma that may part thousands", "r.csv", "arm;loss\na;3,271\n", [], REFUSED,
     "write a number alone"),
    ("underscores", "r.csv", "arm,loss\na,1_000\n", [], REFUSED, "'1_000', which is no number"),
    ("mixed units", "r.csv", "arm,acc\na,83 %\na,0.84\n", [], REFUSED, "write all alike"),
    ("means without n", "r.csv", "arm,mean,sd\na,3,1\n", [], REFUSED,
     "choose one:\n  embinit judge r.csv --n 3\n"),
    ("a short row", "r.csv", "arm,loss\na,1\nb\n", [], REFUSED, "r.csv:3 has 1 cells"),
    ("no runs", "r.csv", "arm,loss\n", [], REFUSED, "has no row"),
    ("nothing", "r.csv", "", [], REFUSED, "has no row"),
    ("a broken line of json", "r.jsonl", jsonl([{"arm": "a", "loss": 1}] * 2) + "\n{", [], REFUSED,
     "r.jsonl:3: broken or cut short"),
    ("metric called std", "r.csv", rows("arm,seed,std", "{arm},{seed},{score}"), [*STD, "--lower"]),
    ("broken json", "r.json", '[{"arm": 1', [], REFUSED, "broken or cut short"),
    ("two tables", "r.md", MARKDOWN + "\n" + MARKDOWN, [], REFUSED, "has 2 tables"),
    ("a paper's table", "r.tex", "\\begin{tabular}{lc}\na & 1\n", [], REFUSED, "is LaTeX, which"),
    ("a filter on arms", "r.csv", two(), ["--by", "arm", "--where", "arm=new"], AGAIN,
     "6 runs: new 6"),
    ("a curve's option", "r.csv", two(), ["--last", "3"], REFUSED, "has one number a run"),
    ("a count of none", "r.csv", "arm,passed\nbase,0/50\nnew,9/50\n", ["--higher"], REFUSED,
     "of the items of a test set"),
    ("no baseline left", "r.csv", two((float("nan"),) * 6), [], REFUSED, "r.csv:2: loss is 'nan'"),
    ("a log twice", "r.csv", "arm,loss\n" + "".join(
        f"{a},{v + i / 81}\n" for a, v in (("base", 3), ("new", 2.9)) for i in (0, 1, 2, 0, 1, 2)),
     [], REFUSED, "has all that r.csv:2 has, to the last digit"),
    ("mean ± sd", "r.md", "|arm|acc|\n|-|-|\n|a|83.1 ± 0.4|\n", [], REFUSED,
     "embinit judge r.md --n 3\n"),
    # Other forms of tables.
    ("quotes and a mark", "r.csv", "\ufeff" + rows('"arm","Name","eval/loss"',
     '"{arm}","x{seed}","{score}"'), ["--by", "arm"], REFUSED,
     "embinit judge r.csv --by arm --unpaired"),
    ("utf-16", "r.csv", two().encode("utf-16")),
    ("compressed", "r.csv.gz", b"\x1f\x8b\x08\x00", [], REFUSED, "save it as a table in UTF-8"),
    ("utf-16 without a mark", "r.csv", two().encode("utf-16-le"), [], REFUSED, "it is no text"),
    ("returns alone", "r.csv", two().replace("\n", "\r")),
    ("lines in a cell", "r.csv", 'arm,note,loss\na,"x\ny",1\na,z,q\n', [], REFUSED, "r.csv:4: "),
    ("spaces", "r.txt", rows("arm    loss", "{arm}   {score}")),
    ("commas in .tsv", "r.tsv", two()),
    ("comments", "r.csv", "# by me, with lr=3\n#\n" + two()),
    ("names in a comment", "r.csv", "# " + two()),
    ("comments among runs", "r.csv", two(new=()) + "# now with wd, lr\n" + two(base=())[9:], [],
     KEEP, "1 line with # skipped"),
    ("a run that is commented out", "r.csv", two(end="#new,9.0\n"), [], KEEP,
     "12 runs: base 6, new 6"),
    # Cells of a design, trials of a search, and rows of two metrics are no runs of an arm.
    ("a design", "r.csv", "arm,route,noise,f1\n" + "".join(
        f"{a},{r},{n},{f}\n" for a, v in (("base", .2), ("new", .4))
        for r, n, f in (("ab", "low", v), ("ab", "high", v + .03), ("ba", "low", v - .02),
                        ("ba", "high", v + .01))), [], REFUSED, "--seed route,noise\n"),
    ("slices", "r.csv", SLICES, [], REFUSED, "--by arm --metric loss --seed slice\n"),
    ("slices, unpaired", "r.csv", SLICES, ["--unpaired"], REFUSED,
     "embinit judge r.csv --by arm --metric loss --unpaired\n"),
    ("a search", "r.csv", SEARCH.format(""), [], REFUSED,
     "rows of one arm differ in number and lr"),
    ("optuna's names", "r.csv", SEARCH.format("params_"), [], REFUSED,
     "--by params_optimizer --metric loss --unpaired\n"),
    ("arms by a part of the settings", "r.csv", SEARCH.format("params_").replace("lr", "model"),
     ["--by", "params_optimizer"], REFUSED, "--by params_optimizer --unpaired\n"),
    ("deviations", "r.csv", rows("arm,seed,auc_std", "{arm},{seed},{score}"),
     ["--metric", "auc_std"], REFUSED, "is a higher or a lower auc_std better?"),
    ("two metrics in a column", "r.csv", "arm,fold,result,auc,logloss\n" + "".join(
        f"{a},{s},{v},{v if s > 3 else ''},{v if s < 4 else ''}\n" for a, s, v in RUNS),
     ["--metric", "result", "--seed", "fold"], REFUSED, "is a higher or a lower result better?"),
    ("scores that are equal now and then", "r.csv", "arm,seed,acc,f1,auc\n" + "".join(
        f"{a},{s},{v},{v if s > 3 else 2},{v if s < 2 else 2}\n" for a, s, v in RUNS),
     ["--metric", "acc"], DISCARD, "discard new"),
    ("one arm with seeds", "r.csv", "seed,test_f1\n1,.92\n2,.93\n3,.91\n", [], AGAIN, "2 degrees"),
    ("a baseline that failed", "r.csv", "arm,loss,status\nbase,,failed\nnew,2,ok\nnew,3,ok\n",
     ["--crashed", "drop"], REFUSED, "a run that crashed, and base has no other; take"),
    ("runs called #1", "r.csv", rows("#,arm,loss", "#{seed},{arm},{score}"), [], REFUSED,
     "embinit judge r.csv --by arm --metric loss --seed '#'\n"),
    ("comments alone", "r.csv", "# arm,loss\n# base,3\n", [], REFUSED, "r.csv has no row"),
    ("arms under comments", "n.txt", "# base\n3.0\n3.1\n# new\n2.0\n2.1\n", [], REFUSED,
     "n.txt may have several arms, since # is among the numbers"),
    ("a comment at the end", "n.txt", "3.0\n3.1\n3.2\n# 3 runs\n", [], AGAIN, "2 degrees"),
    ("comment on noise", "n.txt", "# ten runs\n3.0\n3.1\n3.2\n", [], AGAIN, "2 degrees"),
    ("names again", "r.csv", two(new=()) + two(base=())),
    ("blank lines", "r.csv", two().replace("\n", "\n\n,\n")),
    ("bold runs", "r.md", MARKDOWN.replace("| new | **2.0** |", "| **new** | **2.0** |"), [], KEEP,
     "12 runs: base 6, new 6"),
    ("json by arm and seed", "r.json", json.dumps({"runs": {a: {f"seed{s}": v for b, s, v in RUNS
     if a == b} for a in ("base", "new")}}), ["--lower"], KEEP, "paired t-test"),
    ("json by arm", "r.json", json.dumps({a: {"mean": m, "std": 0.02, "n": 8} for a, m in
     (("base", 3), ("new", 2))}), ["--lower"]),
    ("json by arm, part and seed", "r.json", json.dumps({a: {part: {str(s): v + 9 * (part == "b")
     for b, s, v in RUNS if a == b} for part in "ab"} for a in ("base", "new")}), [], REFUSED,
     "  embinit judge r.json --by arm --metric value --cells arm_2 --higher\n"),
    ("json by run", "r.json", json.dumps({f"id{a}{s}": {"arm": a, "loss": v} for a, s, v in RUNS})),
    ("an index", "r.csv", "at,arm,loss\n" + "".join(f"{2 * s},base,{b}\n{2 * s + 1},new,{n}\n"
     for s, (b, n) in enumerate(zip(HIGH, LOW, strict=True))), [], REFUSED,
     "embinit judge r.csv --by arm --metric loss\n"),
    # Fewer runs than --most discard nothing that all of them would not.
    *((f"{len(adamw)} of 3 runs", "r.csv", rows("optimizer,seed,val_accuracy",
       "{arm},{seed},{score}", adamw, sgd), ["--baseline", "base", "--most", "3"], AGAIN, "")
      for adamw, sgd in (((.781, .79), (.783, .789)), ((.781, .79, .785), (.783, .789, .788)))),
    ("names with commas", "r.csv", 'model,"size,mb",seed,"acc,none"\n' + "".join(
     f"a,{size},{s},{s / 9 + size}\n" for size in (1, 2) for s in range(3)),
     ["--by", "model,size,mb", "--metric", "acc,none", "--baseline", "a, 1"], AGAIN,
     "arms from `model, size,mb`, scores from `acc,none`, higher is better"),
    # Each is a row of its arm: judged together, a loss would be a run of an accuracy.
    *((f"means of two metrics by arm: {text}", "r.json", TWO_MEANS, [], REFUSED, text)
      for text in ("which metric is judged?", " --where metric=acc --baseline adamw\n")),
    ("means of one of two metrics", "r.json", TWO_MEANS,
     ["--where", "metric=acc", "--baseline", "adamw", "--higher"], DISCARD, "adamw 3, muon 3"),
    # Names that number runs, and those that don't.
    ("numbered", "r.csv", rows("Name,State,loss", "{arm}-{seed},finished,{score}"), [], REFUSED,
     "embinit judge r.csv --names runs\n"),
    ("seeds in names", "r.csv", rows("Name,loss", "{arm}_seed4{seed},{score}"), [], KEEP,
     "paired t-test"),
    ("names of no number", "r.csv", rows("Name,State,loss", "{arm}{seed}-x,finished,{score}"), [],
     REFUSED, "which arm is the baseline: base0-x or base1-x"),
    *((f"not numbered: {a}", "r.csv", f"name,loss\n{a}\n", [], REFUSED, text) for a, text in (
     ("gpt-3,3\ngpt-4,3.1\nllama-2,3.2\nllama-3,3.3", "--names arms --baseline gpt-3\n"),
     ("sgd-1e-1,3\nsgd-1e-2,3.1\nadam-1e-1,3.2\nadam-1e-2,3.3", "which arm is the baseline"))),
    ("trials in names", "r.csv", rows("Name,loss", "{arm}-trial7{seed}"+",{score}"), [], KEEP,
     "12 runs: base 6, new 6"),
    *((f"settings: {high}, {low}", "r.csv", rows("name,loss", "{arm}-{seed},{score}").replace(
       "base-", f"{high}-").replace("new-", f"{low}-"), ["--baseline", f"{high}-0"], REFUSED,
       f"--names arms --baseline {high}-0\n") for high, low in (("lr", "wd"), ("bs",
     "num_layers"))),
    ("settings of two kinds", "r.json", json.dumps({"lr-1": HIGH, "lr-2": SAME, "wd-1": LOW}),
     ["--lower"], REFUSED, "embinit judge r.json --baseline lr-1 --lower"),
    # Rows that are no runs.
    ("rows of means", "r.csv", seeded(end="base,mean,3\nnew,mean,2\n"), [], REFUSED,
     "r.csv:14: its seed is 'mean'; take the row out"),
    ("a total", "r.csv", seeded(end="Total,,30.1\n"), [], REFUSED,
     "r.csv:14: its seed is ''; take the row out"),
    ("an arm called mean", "r.csv", two().replace("base", "mean"), [], REFUSED,
     "embinit judge r.csv --baseline mean\n"),
    ("merged cells", "r.csv", two().replace("\nbase", "\n", 3), [], REFUSED,
     "arm is empty; write a name, such as none"),
    ("several metrics", "r.csv", rows("arm,metric,value", "{arm},loss,{score}", end="new,acc,1\n"),
     [], REFUSED, "embinit judge r.csv --where metric=loss\n"),
    ("a copy in another order", "r.csv", seeded(base=LONG, new=LONG[::-1]), [], DISCARD,
     "equal on average"),
    ("copies in another order", "r.csv", two(LONG + LONG[::-1]), [], REFUSED,
     "has all that r.csv:7 has, to the last digit"),
    *((f"a few numbers alike, of {n}", "r.csv", rows("arm,acc", "{arm},{score}",
       [k / n for k in (90, 91, 92)], [k / n for k in (91, 90, 92)]), [], DISCARD, "discard new")
      for n in (1, 97)),
    ("a step of each run", "r.csv", rows("config,id,step,loss",
     "{arm},{arm}{seed},{seed}0,{score}")),
    # What is no run, no arm or no score, by its numbers.
    ("checkpoints", "r.csv", rows("arm,checkpoint,loss", "{arm},checkpoint-{seed}000,{score}"), [],
     REFUSED, "embinit judge r.csv --step checkpoint\n"),
    ("trials", "r.csv", rows("arm,trial,loss", "{arm},{seed},{score}")),
    ("questions of one model", "r.csv", rows("model,question,rating", "{arm},{seed},{score}"), [],
     REFUSED, "rows of one arm differ in question"),
    ("points of a design", "r.csv", rows("arm,temperature,loss", "{arm},0.{seed}5,{score}"), [],
     REFUSED, "rows of one arm differ in temperature"),
    ("seeds of two kinds", "r.csv", "arm,train_seed,eval_seed,loss\n" + "".join(
     f"{a},{s // 3},{s % 3},{v}\n" for a, s, v in RUNS), [], REFUSED,
     "embinit judge r.csv --seed train_seed --cells eval_seed\n"),
    ("one seed by two names", "r.csv", rows("arm,train_seed,data_seed,loss",
     "{arm},{seed},{seed},{score}"), [], KEEP, "paired t-test"),
    ("splits and metrics", "r.csv", "arm,seed,split,metric,value\n" + "".join(
     f"{a},{s},{split},{metric},{v}\n" for a, s, v in RUNS for split in ("train", "val")
     for metric in ("acc", "loss")), [], REFUSED,
     "embinit judge r.csv --where split=val,metric=acc\n"),
    ("tasks in each run", "r.csv", "arm,seed,task,acc\n" + "".join(
     f"{a},{s},{task},{v + len(task)}\n" for a, s, v in RUNS for task in ("arc", "mmlu")), [],
     REFUSED, "choose one:\n  embinit judge r.csv --cells task\n"),
    ("rates in each cell", "r.csv", "arm,seed,lr,loss\n" + "".join(
     f"{a},{s},{lr},{v + lr}\n" for a, s, v in RUNS for lr in (.1, .01)), [], REFUSED,
     "embinit judge r.csv --cells lr\n"),
    ("steps beside columns of arms", "r.csv", "step,base,new\n" + "".join(
     f"{s}0,{b},{n}\n" for s, (b, n) in enumerate(zip(HIGH, LOW, strict=True))),
     ["--columns", "arms"], REFUSED, "embinit judge r.csv --step step --columns arms --higher\n"),
    ("columns of arms and metrics", "r.csv", "seed,a_acc,a_loss,b_acc,b_loss\n" + "".join(
     f"{s},{b},{n},{b},{n}\n" for s, (b, n) in enumerate(zip(HIGH, LOW, strict=True))), [],
     REFUSED, "  embinit judge r.csv --metric acc --columns arms --baseline a\n"),
    ("columns of metrics and arms", "r.csv", "ACC_A,ROC_A,ACC_B,ROC_B\n" + "".join(
     f"{b},{b + 9},{n},{n + 9}\n" for b, n in zip(HIGH, LOW, strict=True)), [], REFUSED,
     "choose one:\n  embinit judge r.csv --metric ACC --columns arms --baseline A\n"),
    ("a mean below columns of arms", "r.csv", "seed,base,new\n0,3,2\n1,3.1,2.1\nmean,3.05,2.05\n",
     [], REFUSED, "its seed is 'mean'; take the row out"),
    ("json by metric and arm", "r.json", json.dumps({m: {"base": HIGH, "new": LOW} for m in
     ("acc", "loss")}), [], REFUSED, "--where metric=acc --columns arms\n"),
    ("an error in the last digit", "r.csv", "arm,acc\nbase,0.801(4)\nnew,0.832(3)\n", [], REFUSED,
     "'0.801(4)', which is no number"),
    ("a run that was resumed", "r.jsonl", jsonl({"run": f"{a}-{s}", "step": at, "loss": v}
     for a, s, v in RUNS for at in (0, 10, 20, 10, 20)), [], REFUSED,
     "step starts again: which column names runs, or tells arms apart?"),
    # What runs cost, what they are tested on, and their folds tell no arms apart.
    ("a night of trials", "r.tsv", "commit\tval_bpb\tmemory_gb\tdescription\n" + "".join(
     f"{n}a{n}\t{v}\t{10 + n // 3}.0\t{name}\n" for n, (v, name) in enumerate(zip(HIGH, (
     "baseline", "swa", "XSA-4", "wider", "GPTQ-lite", "warmdown 9"), strict=True))), [], REFUSED,
     "choose one:\n  embinit judge r.tsv --by description --metric val_bpb\n"),
    ("data sets next to arms", "r.csv", "model,dataset_name,iteration,accuracy\n" + "".join(
     f"{a},{d},{s}.0,{d - v}\n" for d in (9, 8) for a, s, v in RUNS), [], REFUSED,
     "choose one:\n  embinit judge r.csv --seed iteration --cells dataset_name"),
    ("problems next to arms", "r.csv", "Algorithm,Problem,Indicator,ExecutionId,Value\n" + "".join(
     f"{a},ZDT{d},HV,{s},{v + d}\n" for a in ("base", "new") for d in (1, 2)
     for b, s, v in RUNS if a == b), [], REFUSED,
     "choose one:\n  embinit judge r.csv --cells Problem --higher\n"),
    ("frames", "r.csv", "agent,seed,frame,reward\n" + "".join(
     f"a,{s},{at},{at + v}\n" for s, v in enumerate(HIGH) for at in (0, 20000)), [], AGAIN,
     "rows are steps (frame) of 6 runs"),
    ("sizes and methods", "r.csv", "Size,A,B\n" + "".join(
     f"{s} x {s},{b},{n}\n" for s, (b, n) in enumerate(zip(HIGH, LOW, strict=True))), [], REFUSED,
     "choose one:\n  embinit judge r.csv --cells Size --columns arms --baseline A --higher\n"),
    ("mean (sd) of data sets and methods", "r.csv", ",MLP,FCN\nA,8.4(0.7),6.7(0.6)\n"
     "B,9.7(0.2),8.4(0.1)\nC,7.8(0.1),8.3(0.2)\n", [], REFUSED, "choose one:\n  embinit judge "
     "r.csv --by arm --metric value --where row=A --columns arms --n 3 --baseline MLP --higher\n"),
    *(("splits of a search", "r.csv", "param_C,mean_fit_time," + ",".join(
       f"split{s}_test_score" for s in range(6)) + ",rank_test_score\nbase,9," + ",".join(
       map(str, LOW)) + ",2\nnew,8," + ",".join(map(str, HIGH)) + ",1\n", given, status, text)
      for given, status, text in ((["--higher"], REFUSED, "judge r.csv --seed fold --higher\n"),
      (["--higher", "--seed", "fold"], KEEP, "folds share most of their training data"))),
    # Of columns that could be meant, likely ones come first, and each command says what it reads.
    ("rates on data sets", "r.csv", "dataset,rate,seed,acc\n" + "".join(
     f"{d},{.1 if a == 'base' else .5},{s},{d / 9 + v}\n" for d in (1, 2) for a, s, v in RUNS), [],
     REFUSED, "choose one:\n  embinit judge r.csv --by rate --metric acc --cells dataset "),
    ("answers and their time", "r.csv", "model,question,latency,correct\n" + "".join(
     f"{a},q{s},{v},{v > 3}\n" for a, s, v in RUNS), [], REFUSED,
     "  embinit judge r.csv --by model --metric correct --seed question --higher --of items\n"
     "    # 12 items: base 6, new 6; arms from `model`, scores from `correct`, higher is better\n"),
    ("a score of unknown direction", "r.csv", "policy,seed,energy_mj,hit_rate\n" + "".join(
     f"{a},{s},{9 - v},{v}\n" for a, s, v in RUNS), [], REFUSED,
     "hit_rate --higher\n    # 12 runs: base 6, new 6; arms from `policy`, scores "
     "from `hit_rate`, higher is better\n  embinit judge r.csv --by policy --metric hit_rate "
     "--lower\n"),
    ("folds of one model", "r.csv", "fold,n_train,auc,loss\n" + "".join(
     f"{s},{90 + s // 3},{v},{9 - v}\n" for n in (1, 2) for a, s, v in RUNS if a == "base"), [],
     REFUSED, "choose one:\n  embinit judge r.csv --by n_train --metric auc "),
    ("folds and columns of arms", "r.csv", "fold,loss_base,loss_new\n" + "".join(
     f"{n},{b},{v}\n" for n, (b, v) in enumerate(zip(HIGH, LOW, strict=True), 1)),
     ["--columns", "arms", "--metric", "loss", "--seed", "fold"], KEEP, "base 6, new 6"),
    ("rounds", "r.csv", "method,share,seed,round,loss\n" + "".join(
     f"{a},{share},{s},{at},{v - at / 9}\n" for a, s, v in RUNS for share in (0, 1)
     for at in (0, 1)), [], REFUSED, "choose one:\n  embinit judge r.csv --by method,share "),
    ("tests before validations", "r.csv", "arm,val_acc,test_acc\n" + "".join(
     f"{a},{v},{v}\n" for a, _, v in RUNS), [], REFUSED,
     "choose one:\n  embinit judge r.csv --by arm --metric test_acc\n"),
    ("a deviation of another score", "r.csv", "arm,new.auc_mean,old.auc_std,new.auc_std\n"
     "base,.8,.3,.01\nnew,.9,.3,.02\n", ["--metric", "new.auc_mean", "--n", "6"], KEEP,
     "\nbase  0.8000  0.01"),
    # What orders commands decides nothing: here such columns have other roles.
    ("sizes of a test set", "r.csv", "model,acc_mean,acc_std,n_test\nbase,.8,.03,100\n"
     "new,.82,.03,100\n", [], REFUSED, "of how many runs are mean and deviation"),
    ("how runs were selected", "r.csv", "arm,metric,seed,loss\n" + "".join(
     f"{a},auc,{s},{v}\n{a},acc,{s},{v}\n" for a, s, v in RUNS), ["--where", "metric=auc"], KEEP,
     "scores from `loss`, lower is better"),
    ("a deviation without a level", "r.csv", "arm,eval/acc,acc_std,n\nbase,.8,.01,6\n"
     "new,.83,.01,6\n", [], KEEP, "12 runs: base 6, new 6"),
    ("rounds of each run", "r.csv", "arm,seed,round,acc\n" + "".join(
     f"{a},{s},1,{v}\n{a},{s},2,.5\n" for a, s, v in RUNS), [], REFUSED, "has seed 0 twice"),
    ("whether runs passed", "r.csv", "arm,seed,passed,loss\n" + "".join(
     f"{a},{s},{s != 3},{v}\n" for a, s, v in RUNS), [], KEEP, "scores from `loss`"),
    ("counts of other numbers of trials", "r.csv", "model,seed,correct,n\n" + "".join(
     f"{a},{s},{90 + s if a == 'base' else 150 + s},{100 if a == 'base' else 200}\n"
     for a, s, _ in RUNS), [], REFUSED, "is a higher or a lower correct better?"),
    ("two ids next to columns of arms", "r.csv", "run.id,exp.id,seed,base,new\n" + "".join(
     f"{n},{n + 5},{n},{b},{v}\n" for n, (b, v) in enumerate(zip(LOW, HIGH, strict=True))),
     ["--higher"], KEEP, "12 runs: base 6, new 6"),
    ("data as arms, next to a number", "r.csv", "data,seed,best_epoch,loss\n" + "".join(
     f"{a},{s},{s % 2},{v}\n" for a, s, v in RUNS), [], KEEP, "arms from `data`"),
    ("named folds of curves", "r.csv", "arm,fold,epoch,loss\n" + "".join(
     f"{a},f{s},{at},{v - at}\n" for a, s, v in RUNS for at in (0, 1)), [], REFUSED,
     "rows of one arm differ in fold"),
    ("named folds", "r.csv", "arm,seed,fold,loss\n" + "".join(
     f"{a},{s},f{s},{v}\n" for a, s, v in RUNS), [], KEEP, "paired t-test"),
    # But they are asked about where arms differ in them.
    ("a data set of each arm", "r.csv", "model,dataset,seed,loss\n" + "".join(
     f"{a},{'easy' if a == 'new' else 'hard'},{s},{v}\n" for a, s, v in RUNS), [], REFUSED,
     "which columns name the arm and the score?"),
    *((f"{name} in each arm", "r.csv", f"arm,{name},loss\n" + "".join(
       f"{a},{(.02, 1.5)[s % 2]},{v}\n" for a, s, v in RUNS), [], REFUSED, f"arm differ in {name}")
      for name in ("init_std", "memory_decay")),
    ("columns of some scores of some arms", "r.csv", "seed,a_acc,a_loss,b_acc\n" + "".join(
     f"{s},{v},{v},{v + 1}\n" for s, v in enumerate(HIGH)), ["--columns", "arms"], REFUSED,
     "has columns of acc and loss; leave those of one"),
    ("columns of one score", "r.csv", "seed,loss_base,loss_new\n" + "".join(
     f"{s},{b},{n}\n" for s, (b, n) in enumerate(zip(EIGHT, SHIFTED, strict=True))),
     ["--metric", "loss", "--columns", "arms"], KEEP, "paired t-test"),
    ("an arm whose name ends in std", "r.csv", "seed,base,large_std\n" + "".join(
     f"{s},{b},{n}\n" for s, (b, n) in enumerate(zip(EIGHT, SHIFTED, strict=True))),
     ["--columns", "arms", "--lower"], KEEP, "keep large_std"),
    ("cells of other numbers of runs", "r.csv", "data,A,B\nx,84.1 ± 0.3 / 3,85 ± 0.3 / 50\n",
     ["--columns", "arms"], REFUSED, "other numbers of runs in B: leave it out"),
    ("a perplexity", "r.csv", rows("arm,wiki_word_ppl", "{arm},{score}"), [], REFUSED,
     "choose one:\n  embinit judge r.csv --lower\n"),
    ("words about a run", "r.jsonl", jsonl({"arm": a, "seed": s, "loss": v, "mixers": ["mha", a]}
     for a, s, v in RUNS), PAIRED, KEEP, "12 runs: base 6, new 6"),
    ("lists with their means", "r.json", json.dumps({"runs": [{"arm": a, "seeds": [*range(6)],
     "losses": of, "mean": sum(of) / 6, "std": 2} for a, of in (("base", HIGH), ("new", LOW))]}),
     ["--lower"], KEEP, "paired t-test"),
    ("rows that lack a seed", "r.jsonl", jsonl([*({"task": "pretrain", "arm": a, "seed": s,
     "loss": v} for a, s, v in RUNS), *({"task": "speed", "arm": a, "fps": 9} for a in "ab" * 9)]),
     PAIRED, REFUSED, "embinit judge r.jsonl --by arm --metric loss --where task=pretrain\n"),
    # Units.
    ("mean (sd)", "r.csv", rows("arm,acc", "{arm},{score} (0.02)"), [], REFUSED,
     "r.csv:3 can't be used: give one row an arm, with mean, sd, and n"),
    ("means without a count", "r.csv", "arm,acc_mean,acc_std\nbase,.7,.01\nnew,.8,.01\n", [],
     REFUSED, "choose one:\n  embinit judge r.csv --n 3\n    # 6 runs: base 3, new 3; "),
    ("means with a count for all", "r.csv", "arm,acc,acc_std\nbase,.7,.01\nnew,.8,.01\n",
     ["--n", "6", "--metric", "acc"], KEEP, "12 runs: base 6, new 6"),
    ("a count twice", "r.csv", "arm,acc_mean,acc_std,n\nbase,.7,.01,3\nnew,.8,.01,3\n",
     ["--n", "6"], REFUSED, "leave out --n"),
    ("a count of runs", "r.csv", rows("arm,seed,acc,acc_std", "{arm},{seed},{score},0.1"),
     ["--n", "6", "--metric", "acc"], REFUSED, "has runs in its rows: leave out --n"),
    ("standard errors", "r.csv", "arm,mean,stderr,n\na,3,.1,8\n", [], REFUSED,
     "means and stderr; give columns sd and n"),
    *((f"as {cell}", "r.csv", f'arm,acc\na,"{cell}"\n', [], REFUSED, "write a number alone")
      for cell in ("1,234.5", "3.2 s", "0.91*")),
    ("a share and per cent", "r.csv", rows("arm,acc", "{arm},{score}", (0.8, 0.81, 0.79),
     (80, 82, 83)), [], REFUSED, "scores go from 0.79 (base) to 83 (new)"),
    ("successes", "r.csv", rows("arm,success", "{arm},{score}", [n < 2 for n in range(20)],
     [n < 15 for n in range(20)]), ["--higher"], REFUSED, "embinit judge r.csv --higher --of runs"),
    ("successes of seeds", "r.csv", rows("arm,seed,success", "{arm},0,{score}", [0] * 9, [1] * 9),
     [], REFUSED, "embinit judge r.csv --unpaired --of items"),
    ("a huge loss", "r.csv", two(new=(*LOW[:5], 1e12)), [], REFUSED,
     "scores go from 1.98 (new) to 1e+12 (new)"),
    ("a seed without a partner", "r.csv", seeded(end="new,99,2.1\n"), [], KEEP,
     "paired t-test without runs that lack a partner"),
    # The noise alone, and beside a table.
    ("noise in a file", "r.csv", two(), ["--noise", "8.txt", *PAIRED], KEEP, "runs made before"),
    ("noise and seeds", "r.csv", seeded(), ["--noise", "8.txt", *PAIRED], KEEP,
     "seeds pair nothing"),
    ("noise", "noise.txt", "\n".join(map(str, EIGHT)), [], AGAIN, "6 runs"),
    ("noise in numbered names", "r.csv", two(HIGH[:2], LOW[:2]), ["--noise", "names.csv", *PAIRED],
     KEEP, "of runs made before, 7 degrees of freedom"),
    ("noise's deviation", "n.csv", "sd,n\n0.02,8\n", ["--margin", "0.02"], AGAIN, "takes"),
    ("its deviation", "r.csv", two(HIGH[:2], LOW[:2]), ["--noise", "sd.csv"], KEEP,
     "standard deviation 0.02, of runs made before, 7 degrees of freedom"),
    ("its deviation and no baseline", "r.csv", two(LOW, ()), ["--noise", "sd.csv"], REFUSED,
     "give the baseline's runs"),
    ("one arm", "r.csv", "arm,loss\n" + "".join(f"a,{v}\n" for v in EIGHT + LOW),
     ["--margin", "0.3"], AGAIN, "a difference of 0.3 takes"),
]  # fmt: skip


def case(name, file, text, arguments=(), status=KEEP, message="keep new"):
    return pytest.param(file, text, arguments, status, message, id=name)


@pytest.mark.parametrize(
    ("name", "text", "arguments", "status", "message"), [case(*entry) for entry in CASES]
)
def test_a_result_file_is_judged_or_refused(
    tmp_path, monkeypatch, capsys, name, text, arguments, status, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    (tmp_path / "sd.csv").write_text("sd,n\n0.02,8\n")
    (tmp_path / "8.txt").write_text("\n".join(map(str, EIGHT)))
    names = "".join(f"base-{n},{v}\n" for n, v in enumerate(EIGHT))
    (tmp_path / "names.csv").write_text("arm,loss\n" + names)
    found = main(["judge", name, *arguments])
    out, error = capsys.readouterr()
    assert (found, message in out + error) == (status, True), out + error
    assert max(map(len, (out + error).splitlines())) < 300
    for line in re.findall(r"^  embinit (judge .*)", error, re.M):
        assert main(shlex.split(line)) in (KEEP, DISCARD, AGAIN), line


def test_a_table_of_too_many_readings_is_shown(tmp_path, monkeypatch, capsys):
    """Commands are looked for a few seconds; then the columns are printed, and what to name."""
    monkeypatch.setattr("embinit.commands.judge.MOST_SECONDS", 0.0)
    (tmp_path / "r.csv").write_text("a,b,c,d\nx,u,1,2\ny,v,2,3\n")
    assert main(["judge", str(tmp_path / "r.csv")]) == REFUSED
    shown = capsys.readouterr().err
    assert "  c  1, 2\n" in shown
    assert shown.endswith("name columns by --by, --metric and --seed\n")


@pytest.mark.parametrize("sums", [(), ("mean",), ("mean", "std"), ("avg", "sem", "max", "ci95")])
@pytest.mark.parametrize(
    "run", ["acc_s{}", "acc_seed{}", "acc/run{}", "s{}_acc", "acc/{}", "acc_{}"]
)
@pytest.mark.parametrize("scores", [("acc",), ("acc", "f1")])
def test_columns_of_numbered_runs_are_runs_of_one_score(
    tmp_path, monkeypatch, capsys, run, sums, scores
):
    """A mean, a deviation or another score in a run's place would change the verdict."""
    monkeypatch.chdir(tmp_path)
    names = [run.format(n) for n in range(42, 45)] + [f"acc_{name}" for name in sums]
    heads = [name.replace("acc", score) for score in scores for name in names]
    cells = {"base": (0.7, 0.72, 0.71), "new": (0.8, 0.83, 0.81)}
    lines = [[arm, *[*map(str, v), *["0.5"] * len(sums)] * len(scores)] for arm, v in cells.items()]
    text = "\n".join(map(",".join, [["config", *heads], *lines]))
    (tmp_path / "r.csv").write_text(text)
    found, read = main(["judge", "r.csv"]), capsys.readouterr()
    if found == REFUSED:
        line = re.findall(r"^  embinit (judge .*)", read.err, re.M)[0]
        found, read = main(shlex.split(line)), capsys.readouterr()
    assert found == AGAIN, read
    assert "6 runs: base 3, new 3; arms from `config`, scores from `acc`, higher" in read.out
    assert all(f"acc_{name}" in read.out.split("without", 1)[-1] for name in sums)


def grid(head, seeds=True):
    """Two models at two rates, one of which has two warm-ups; each run has a name, one a note."""
    lines = [head if seeds else head.replace("seed,", "")]
    for model, (lr, warmup), seed in itertools.product(
        ("bert", "roberta"), (("2e-05", 0.06), ("2e-05", 0.1), ("5e-05", 0.06)), (42, 43, 44)
    ):
        n = len(lines)
        score = f"{0.8 + len(model) / 99 + math.sin(n * n) / 99:.5f}"
        cell = {
            "run_name": f"{model}-lr{lr}-w{warmup}-s{seed}", "Name": f"x{n * n}-y", "lr": lr,
            "Created": f"2026-11-{n:02}T10:00:0{n % 9}.000Z", "model": model, "seed": seed,
            "warmup_ratio": warmup, "use_llrd": str(warmup > 0.06).lower(), "decay": 0.01,
            "eval_accuracy": score, "eval_loss": f"{1 - n * n % 17 / 99:.5f}",
            "notes": "restarted after OOM" if n == 5 else "",
        }  # fmt: skip
        lines.append(",".join(str(cell[name]) for name in lines[0].split(",")))
    return "\n".join(lines)


@pytest.mark.parametrize("seeds", [True, False])
def test_the_level_that_has_the_baseline_is_that_of_the_arms(tmp_path, monkeypatch, capsys, seeds):
    """A data set that counts as an arm is kept for being easy; both levels look alike in JSON."""
    monkeypatch.chdir(tmp_path)
    scores = {"base": [0.8, 0.81, 0.83], "swa": [0.85, 0.87, 0.86]}
    nested = {
        task: {arm: [score + more for score in of] for arm, of in scores.items()}
        for task, more in (("cifar", 0.1), ("svhn", 0.01))
    }
    if seeds:
        nested = {
            task: {arm: {str(at): score for at, score in enumerate(of)} for arm, of in arms.items()}
            for task, arms in nested.items()
        }
    (tmp_path / "r.json").write_text(json.dumps(nested))
    assert main(["judge", "r.json", "--higher"]) == REFUSED
    line = re.findall(r"^  embinit (judge .*)", capsys.readouterr().err, re.M)[0]
    assert main(shlex.split(line)) in (AGAIN, KEEP)
    out = capsys.readouterr().out
    assert out.startswith("6 runs: base 3, swa 3;")
    assert "a run's score is its mean over 2 of arm" in out
    assert re.search(r"swa +0\.915", out)


OWN = "run_name,model,lr,warmup_ratio,seed,eval_accuracy,eval_loss,notes"
EXPORT = "Name,Created,model,lr,warmup_ratio,use_llrd,decay,seed,eval_accuracy,eval_loss"


@pytest.mark.parametrize("seeds", [True, False])
@pytest.mark.parametrize("head", [OWN, EXPORT, OWN.replace("model,", "")])
@pytest.mark.parametrize(
    "given", ["", "--metric eval_loss", "--by !seed", "--by lr --margin 0.1", "--where lr=2e-5"]
)
def test_no_suggestion_pools_settings_or_makes_each_run_an_arm(
    tmp_path, monkeypatch, capsys, head, seeds, given
):
    """Runs of two settings that count as one arm's make a verdict on neither; an arm of one run
    has no noise, so that the advice would be to train everything again."""
    monkeypatch.chdir(tmp_path)
    names = head.split(",")
    text = grid(head, seeds)
    if "model" not in names:
        text = "\n".join(line for line in text.splitlines() if not line.startswith("roberta"))
    (tmp_path / "r.csv").write_text(text)
    arguments = given.replace("!seed", "!seed" if seeds else "!eval_loss").split()
    status = main(["judge", "r.csv", *arguments])
    error = capsys.readouterr().err
    offered = [shlex.split(line) for line in re.findall(r"^  embinit (judge .*)", error, re.M)]
    assert (status, bool(offered)) == (REFUSED, True), error
    for line in offered:
        options = dict(itertools.pairwise(line))
        assert main(line) in (KEEP, DISCARD, AGAIN), line
        read = capsys.readouterr().out.splitlines()[0]
        options_of_columns = [options.get(f"--{name}", "") for name in ("by", "cells", "where")]
        told = {*re.findall(r"\w+", " ".join([read, *options_of_columns]))}
        # The one is read off the other, or is the same in all rows that are left.
        if "use_llrd" in told or "lr=5e-05" in line:
            told.add("warmup_ratio")
        assert {"model", "lr", "warmup_ratio"} & {*names} <= told, line
        assert {"run_name", "Name", "Created", "notes", "seed", "decay"}.isdisjoint(told), line
        assert options["--metric"] in ("eval_accuracy", "eval_loss"), line
        assert "--unpaired" not in line
        assert "run_name" not in options.get("--seed", "")
        assert "!" in given or {*arguments} - {"lr"} <= {*line}, line
    if "!" in given:
        out = re.findall(r"no settings, but ids, dates or notes: (.*)\)", error)
        assert out == [
            " and ".join(n for n in ("run_name", "Name", "Created", "notes") if n in names)
        ]


@pytest.mark.parametrize("lr", ["2e-5", "2e-05", "0.00002", "2.0E-5"])
def test_where_compares_numbers_as_numbers(tmp_path, monkeypatch, capsys, lr):
    """A tool writes 2e-05 for the 2e-5 that its user typed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text(grid(OWN))
    more = ["--by", "model", "--metric", "eval_accuracy", "--baseline", "bert"]
    more += ["--no-worse", "0.005", "--most", "3"]
    assert main(["judge", "r.csv", *more, "--where", f"lr={lr},warmup_ratio=.06"]) == KEEP
    assert "6 runs: bert 3, roberta 3" in capsys.readouterr().out
    # What is offered for a value that is not there keeps the other filters, and the options.
    assert main(["judge", "r.csv", *more, "--where", "lr=3e-5,warmup_ratio=0.06"]) == REFUSED
    offered = re.findall(r"^  embinit judge (.*)", capsys.readouterr().err, re.M)
    assert offered
    for line in map(shlex.split, offered):
        assert {*more} <= {*line}
        assert line[line.index("--where") + 1] in (
            "lr=2e-05,warmup_ratio=0.06", "lr=5e-05,warmup_ratio=0.06",
        )  # fmt: skip


def test_ids_dates_and_notes_that_are_no_settings_are_named(tmp_path, monkeypatch, capsys):
    """One note must not make a run an arm of its own, and a left-out column must not be silent."""
    monkeypatch.chdir(tmp_path)
    head = "run_name,model,seed,Created,notes,eval_accuracy"
    (tmp_path / "r.csv").write_text(
        "\n".join(
            line for line in grid(head).splitlines() if "2e-05-w0.06" in line or "model" in line
        )
    )
    found = main(["judge", "r.csv", "--by", "!seed", "--baseline", "bert", "--most", "3"])
    out = capsys.readouterr().out
    assert found in (KEEP, DISCARD, AGAIN)
    assert "6 runs: bert 3, roberta 3" in out
    assert "no settings, but ids, dates or notes: run_name and Created" in out
