"""From a table to arms: a row is a run, as W&B, MLflow and agents write them, or a run's step.

A row may also have a mean, a standard deviation and a count of runs.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from embinit.errors import InputError, counted
from embinit.runs.measures import lower_is_better
from embinit.scores.arms import CRASHED, NOTHING, Arms, Score, arms_of, cells
from embinit.scores.checks import called_steps, counts, pairing, require_one_a_run, rising
from embinit.scores.names import by_numbers
from embinit.scores.rows import NUMBER, VALUE, Table, listed, one_of
from embinit.stats.power import MOST_SEEDS

NAMES = {
    # Columns that tell arms apart: all settings, else one name.
    "setting": "arm config method model variant group condition setting algorithm optimizer",
    "name": "description experiment experimentname name run runname commit",
    "run": "run runid runname id name trial trialid uid rep replicate",
    # Settings that a search tries; no arms by themselves, since logs of steps have some too.
    "tried": "lr lrate learningrate wd wdecay weightdecay dropout batchsize bs momentum clip "
    "gradclip temperature imgsize imagesize hidden hiddensize hiddendim nlayers numlayers",
    "step": "step globalstep trainstep epoch iter iters iteration it t tokens batch batches "
    "samples examples update updates frames timestep timesteps totaltimesteps steps epochs round "
    "generation nupdates numupdates tokensseen envsteps numenvsteps numtimesteps",
    "fold": "fold cvfold repeat index idx",
    # Columns that say whether a run has a result: by a state, or by a text.
    "status": "crashed diverged aborted killed oom timedout exitcode exitstatus returncode rc "
    "status state runstatus",
    "text": "error exception traceback failed",
    "sd": "sd std stdev stddev variance var",
    "count": "n runs seeds nseeds nruns count",
    "score": "accuracy acc score f1 bleu reward return auc auroc map rouge success passed",
    "any": "metric result mean",
    "error": "stderr sem se standarderror ci ci95",
    # Columns whose name says that lower is better, and that are no score.
    "time": "time runtime walltime duration elapsed seconds latency error",
    # Columns of tables that have a row for each of several numbers of a run.
    "kind": "metric metricname measure key split subset phase",
}
"""What columns are called, without what lies before the last point or slash."""

TOTALS = {"mean", "avg", "average", "median", "total", "sum", "std", "min", "max", "overall"}
"""What rows are called that sum up others."""

SEED = re.compile("(?<!n)seed(?!s)|randomstate|rng$")
"""A column whose name contains this pairs runs."""

MEAN = re.compile("mean|avg|average")
FAILED = re.compile(CRASHED.pattern + r"|^(true|yes|[-+.\d]+)$", re.IGNORECASE)
NO_FAILURE = (*NOTHING, "0", "0.0", "false", "no", "ok")
ENDED_EARLY = 0.9
"""A run ended early whose last step is below this share of the last step of any."""


def read(
    table: Table,
    by: str | None = None,
    metric: str | None = None,
    seed: str | None = None,
    paired: bool = True,
    last: int | None = None,
    fewest: int = 2,
) -> Arms:
    """The arms of a table. Commas separate several columns of ``by``, and of ``seed``.

    The score of a run of steps is the mean of the ``last`` points, or the last one. Names that end
    in numbers are runs of arms if there are the ``fewest`` arms or more.
    """
    rows = _rows(table, by, metric, seed, paired)
    _require_runs(rows)
    score = rows.score
    guess = f"arms: {', '.join(rows.by) or 'one'}; scores: {score}"
    notes = [guess] if table.columns.keys() - {score, *rows.by} else []
    step = next(iter(called(rows.free, "step")), "")
    summary = [] if any(rows.seeds) else _summary(rows)
    named = summary or (_of_steps(rows, step, 1 if last is None else last) if step else [])
    if named and not summary:
        notes.append(f"rows are steps ({step}) of {len(named)} runs; one number each is judged")
    elif last is not None:
        raise InputError(f"{table.name} has one number a run: leave out --last")
    elif not named:
        notes += [] if seed else _require_no_steps(rows, paired)
        named = _scores(rows)
    alone = (fewest == 1 or not by) and len({*rows.arms}) == len(named)
    numbered = {} if not alone or any(rows.seeds) else by_numbers([arm for arm, _ in named], fewest)
    if numbered:
        notes.append(f"numbers at the ends of names number runs: {named[0][0]} is one")
        runs = [(*numbered[arm], run) for arm, run in named]
        named = [(arm, run._replace(seed=seed)) for arm, seed, run in runs]
    elif alone and len(named) > 2:
        notes.append("each run is an arm of its own; --by COLUMNS names what tells arms apart")
    if not paired:
        named = [(arm, run._replace(seed="")) for arm, run in named]
    arms = arms_of(named, "" if score == VALUE else score, [*notes, *table.notes])
    if not summary:
        require_one_a_run(arms.scores)
    return replace(arms, of_noise=bool(summary and called([score], "sd")))


def is_seed(name: str) -> bool:
    """Whether a column pairs runs by its name."""
    return bool(SEED.search(re.sub("[^a-z0-9]", "", name.lower())))


def plain(name: str) -> str:
    """The last part of a column's name: ``randomseed`` of ``config.Random Seed``."""
    return re.sub(r"[^a-z0-9]", "", re.split(r"[./]|^params_", name)[-1].lower())


def called(columns: Iterable[str], *roles: str) -> list[str]:
    """The columns that are called like one of some roles, in the order of ``NAMES``."""
    first = {plain(name): name for name in [*columns][::-1]}
    return [first[name] for role in roles for name in NAMES[role].split() if name in first]


class _Rows(NamedTuple):
    """A table with the arm and the seed of each row, "" for none.

    ``by`` are the columns that tell arms apart, ``free`` those of no role.
    """

    table: Table
    score: str
    by: Sequence[str]
    free: Sequence[str]
    arms: Sequence[str]
    seeds: Sequence[str]

    def failures(self, found: Sequence[str]) -> Sequence[str]:
        """Why the run of each row has no result, also by columns of states; "" for no reason."""
        for name in called(self.free, "text", "status"):
            texts, state = self.table.columns[name], called([name], "status")
            known = {text for text in {*texts} if text.lower() not in NO_FAILURE}
            bad = {t for t in known if (FAILED.search(t) if state else not NUMBER.fullmatch(t))}
            if bad:
                pairs = zip(texts, found, strict=True)
                found = [f"its {name} is {t[:40]!r}" if t in bad else why for t, why in pairs]
        return found


def _rows(
    table: Table, by: str | None, metric: str | None, seed: str | None, paired: bool
) -> _Rows:
    """The table's rows by the roles of its columns, which are named or guessed."""
    if any(name.endswith("__MIN") for name in table.columns):
        raise InputError(f"{table.name} is a chart of W&B; export its table of runs")
    if list(table.columns) == [VALUE]:
        by = metric = seed = None

    if not table.places:
        raise InputError(f"{table.name} has no row; give a line of names, and one for each run")

    def columns(names: str) -> list[str]:
        parts = map(str.strip, names.split(","))
        return [one_of(table.name, name, table.columns) for name in parts]

    score = metric_of(table, metric)
    arms = columns(by) if by else _arms(table, score)
    seeds = columns(seed) if seed else []
    if not seeds and paired:
        others = [name for name in table.columns if name not in (score, *arms)]
        seeds = [*filter(is_seed, others)]
    free = [name for name in table.columns if name not in (score, *arms, *seeds)]
    pairs = table.texts(seeds)
    # 3 is pandas's 3.0; seeds that lack all parts are none.
    seed_of = {pair: re.sub(r"\.0(?=,|$)", "", pair.strip(", ")) for pair in {*pairs}}
    names = table.texts(arms) if arms else [Path(table.name).stem] * len(pairs)
    return _Rows(table, score, arms, free, names, [*map(seed_of.__getitem__, pairs)])


def _require_runs(rows: _Rows) -> None:
    """InputError where rows are of several metrics, of no arm, or sum up others."""
    table, arms, seeds = rows.table, {*rows.arms}, {*rows.seeds}
    for name in called(rows.free, "kind"):
        if len(kinds := {*table.columns[name]}) > 1:
            there = f"{table.name} has rows of {listed(sorted(kinds), 3)}"
            raise InputError(f"{there}; keep the rows of one {name}, or name it by --by")
    if mixed := _mixed(rows):
        what = f"{rows.score} is {mixed[0]} in some rows and {mixed[1]} in others"
        raise InputError(f"{table.name}: {what}; keep the rows of one, or judge that column")
    for arm in arms:
        if not arm.strip(", "):
            place, by = table.places[rows.arms.index(arm)], ", ".join(rows.by)
            raise InputError(f"{place}: {by} is empty; write a name, such as none")
    for total in filter(lambda text: text.lower() in TOTALS, arms | seeds):
        if total in seeds or (len(arms) < len(rows.arms) and rows.arms.count(total) == 1):
            place = table.places[(rows.seeds if total in seeds else rows.arms).index(total)]
            raise InputError(f"{place} is a row of {total}; take it out")


def _require_no_steps(rows: _Rows, paired: bool) -> list[str]:
    """InputError where rows seem to be steps; a note on what has the same values in each arm."""
    unnamed = {*rows.free} - {*called(rows.free, "run", "step")}
    others = {name: rows.table.columns[name] for name in rows.free if name in unnamed}
    runs = [*_grouped(zip(rows.arms, rows.seeds, strict=True)).values()] if others else []
    if other := called_steps(others, runs):
        mend = f"call it step, or pair by it with --seed {other!r}"
        what = f"{other} rises in each arm as steps of a run do"
        raise InputError(f"{rows.table.name}: {what}; {mend}")
    tried = [
        name for name in called(rows.free, "setting", "tried") if _differs(others[name], rows.arms)
    ]
    if tried and paired:
        what = f"rows of one arm differ in {listed(tried, 3)}"
        mend = "name by --by what tells arms apart, or judge with --unpaired if they are alike"
        raise InputError(f"{rows.table.name}: {what}; {mend}")
    same = pairing(others, runs) if paired and not any(rows.seeds) else []
    if same and not called(same, "fold") and not any(counts(others[name]) for name in same):
        what = f"{listed(same, 3)} {'is' if len(same) == 1 else 'are'} the same in each arm"
        mend = "or judge with --unpaired if each row is a run of its own"
        there = f"{rows.table.name}: {what}; pair by it with --seed {','.join(same)!r}"
        raise InputError(f"{there}, {mend}")
    pairs = "has the same values in each arm, and pairs nothing without --seed"
    return [f"{listed(same, 3)} {pairs}"] if same else []


def _differs(texts: Sequence[str], arms: Sequence[str]) -> bool:
    """Whether rows of one arm have different texts."""
    return len({*zip(arms, texts, strict=True)}) > len({*arms})


def _mixed(rows: _Rows) -> list[str]:
    """The other scores of which a score's column has some rows each, and so all of its rows."""
    texts, found = rows.table.columns[rows.score], {}
    for name in rows.free:
        if lower_is_better(name) or higher_is_better(name):
            pairs = zip(texts, rows.table.columns[name], strict=True)
            same = [one == other for one, other in pairs if one]
            if any(same) and not all(same):
                found[name] = same
    return [*found] if found and all(map(any, zip(*found.values(), strict=True))) else []


def _grouped(keys: Iterable[Any]) -> dict[Any, list[int]]:
    """The rows of each key."""
    found = defaultdict(list)
    for at, key in enumerate(keys):
        found[key].append(at)
    return found


def _scores(rows: _Rows) -> list[tuple[str, Score]]:
    """The score of each row."""
    table = rows.table
    values, crashed, trials = cells(table.columns[rows.score], table.places, rows.score)
    why = rows.failures(crashed)
    runs = map(Score._make, zip(values, table.places, rows.seeds, why, trials, strict=True))
    scores = [*zip(rows.arms, runs, strict=True)]
    if not {0.0, 1.0}.issuperset(values) or any(trials) or any(why):
        return scores
    if any(rows.seeds) and len({*zip(rows.arms, rows.seeds, strict=True)}) < len(values):
        return scores
    # Failures and successes are counts, unless seeds have several: those aren't independent.
    counts = {arm: [values[row] for row in of] for arm, of in _grouped(rows.arms).items()}
    return [(arm, Score(sum(v) / len(v), table.name, of=len(v))) for arm, v in counts.items()]


def _of_steps(rows: _Rows, step: str, last: int) -> list[tuple[str, Score]]:
    """One number of each run's points; none of a table whose rows are no steps.

    Steps that start again are another run's. A run that ended early has crashed.
    """
    table, name = rows.table, rows.score
    failures = rows.failures([""] * len(table.places))
    # Other rows logged something else.
    filled = [row for row, text in enumerate(table.columns[name]) if text]
    places = [table.places[row] for row in filled]

    def numbers(column: str) -> dict[int, float]:
        texts = [table.columns[column][row] for row in filled]
        return dict(zip(filled, cells(texts, places, column)[0], strict=True))

    steps, values = numbers(step), numbers(name)
    most = max(steps.values(), default=0.0)
    keys = zip(rows.arms, rows.seeds, table.texts(called(rows.free, "run")), strict=True)
    named, longest = [], 0
    for (arm, seed, run), logged in _grouped(keys).items():
        at = [row for row in logged if row in values]
        parts = rising(steps, at)
        again = len({steps[part[0]] for part in parts}) > 1
        if 1 < len(parts) < len(at) and (seed or run or again):
            mend = "name the column that numbers the runs by --seed"
            raise InputError(f"{table.places[parts[1][0]]}: {step} starts again; {mend}")
        for points in parts or [[]]:
            place = table.places[(points or logged)[0]]
            odd = [values[row] for row in points if not math.isfinite(values[row])]
            why = next(filter(None, (failures[row] for row in logged)), "")
            if not why and (odd or not points):
                why = f"{name} is {odd[0]}" if odd else f"it has no {name}"
            elif points and not 0 < last <= len(points):
                mend = f"give --last 1 to {len(points)}"
                raise InputError(f"{place} has {counted(len(points), 'point')}; {mend}")
            elif not why and steps[points[-1]] < ENDED_EARLY * most:
                why = f"it ended at step {steps[points[-1]]:g}, and others at {most:g}"
            ends = [values[row] for row in points[-last:]]
            value = statistics.fmean(ends) if ends else math.nan
            named.append((arm, Score(value, place, seed, why)))
            longest = max(longest, len(points))
    return named if longest > 1 or Path(table.name).is_dir() else []


def _summary(rows: _Rows) -> list[tuple[str, Score]]:
    """Runs that have the mean and standard deviation of each row; none of another table.

    Their mean is 0 where the table has only standard deviations.
    """
    table, score = rows.table, rows.score
    alone, count = called([score], "sd"), called(rows.free, "count")
    stem = MEAN.sub("", plain(score))
    named = [n for n in rows.free if plain(n) in [stem + sd for sd in NAMES["sd"].split()]]
    sd = alone or named or called(rows.free, "sd")
    spread = sd or (called(rows.free, "error") if count else [])
    if not spread or not (alone or count or stem != plain(score)):
        return []
    if not sd or not count:
        mend = "give columns sd and n (sd is a standard error times the root of n)"
        raise InputError(f"{table.name} has means and {spread[0]}; {mend}")
    made: dict[str, list[Score]] = {}
    of = [cells(table.columns[name], table.places, name)[0] for name in (score, sd[0], count[0])]
    if plain(sd[0]).endswith(("variance", "var")):
        of[1] = [math.sqrt(variance) if variance >= 0 else math.nan for variance in of[1]]
    for place, arm, mean, deviation, runs in zip(table.places, rows.arms, *of, strict=True):
        n = int(runs) if runs in range(1, MOST_SEEDS + 1) else 0
        if not n or math.isnan(mean) or (n > 1 and not deviation >= 0) or arm in made:
            mend = f"give one row an arm, with mean, sd, and n from 1 to {MOST_SEEDS}"
            raise InputError(f"{place} can't be used: {mend}")
        # Evenly spaced numbers that have this mean and standard deviation.
        unit = deviation / statistics.stdev(range(n)) if n > 1 else 0.0
        around = (unit * (i - (n - 1) / 2) for i in range(n))
        made[arm] = [Score(away if alone else mean + away, place) for away in around]
    return [(arm, run) for arm, runs in made.items() for run in runs]


def metric_of(table: Table, metric: str | None) -> str:
    """The column of the score: the one that was named, or the only one that can be it."""
    if metric is not None or VALUE in table.columns:
        return one_of(table.name, metric or VALUE, table.columns)
    known = []
    for name in table.columns:
        score = lower_is_better(name) or higher_is_better(name) or called(_parts(name), "any")
        known += [name] if score and not called(_parts(name), "time", "sd", "error") else []
    if not known and called(table.columns, "count"):
        known = called(table.columns, "sd")
    if len(known) == 1:
        return known[0]
    there = f"there are {listed(known or table.columns)}; a row is a run"
    raise InputError(f"{table.name}: name the column that is judged by --metric; {there}")


def higher_is_better(name: str) -> bool:
    """Whether a score's name says that higher numbers are better."""
    return bool(called(_parts(name), "score")) and not called(_parts(name), "sd", "error")


def _parts(name: str) -> set[str]:
    return {*re.findall("[a-z0-9]+", name.lower()), plain(name)}


def _arms(table: Table, score: str) -> list[str]:
    """The columns that tell arms apart, by their names; none where all of them number runs."""
    # HELM calls the column of metrics name.name.
    known = {score, "name.name", *called(table.columns, "sd", "count")}
    columns = [name for name in table.columns if name not in known and not is_seed(name)]
    settings, names = called(columns, "setting"), called(columns, "name")
    if columns and not settings + names:
        there = f"there are {listed(table.columns)}"
        raise InputError(f"{table.name}: name the columns of the arms by --by; {there}")
    varied = [name for name in settings + names if len({*table.columns[name]}) > 1]
    return [name for name in varied if name in settings] or (varied + settings + names)[:1]
