"""Folders of runs: logs of Trainer, Lightning, TensorBoard, W&B, SB3, Ultralytics or one's own.

Paths name arms and seeds; settings that a tool wrote next to its log are columns.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.files.reading import reading, regular
from embinit.scores.arms import cells
from embinit.scores.asking import Ask
from embinit.scores.names import (
    arm_and_seed,
    called,
    is_seed,
    is_setting,
    lower_is_better,
    unlikely,
    unnumbered,
)
from embinit.scores.rows import Table, flat, listed, one_of, table_of, table_of_entries
from embinit.scores.shapes import is_number

TRAINER, LIGHTNING, TENSORBOARD = "trainer_state.json", "metrics.csv", "events.out.tfevents.*"
KERAS = "training.log"  # as the pages on CSVLogger name it
KINDS = (TRAINER, LIGHTNING, TENSORBOARD, "monitor.csv", "*.monitor.csv", "*.jsonl", "*.csv", KERAS)
OBJECTS = ("all_results.json", "metrics.json", "results.json")
"""The logs that are looked for, in this order; a run's later kinds are left alone."""

SUMMARY = "wandb-summary.json"
"""What W&B wrote at a run's end, in a folder that has just the run's files."""

SETTINGS = (
    *("hparams.yaml", "args.yaml", ".hydra/config.yaml", "files/config.yaml"),
    *("config.json", "args.json", "params.json"),
)
"""Files of settings that Lightning, Ultralytics, Hydra, W&B and people's own scripts write."""

_SETTINGS_NAMES = tuple(Path(name).name for name in SETTINGS)

SETTING = "hparams."
"""How the names of their columns begin."""

Entry = tuple[str, Mapping[str, Any]]
"""The place of what a run logged at once, and its numbers by name."""


def table_of_runs(root: Path, metric: str | None) -> Table:
    """The table of the steps of a folder's runs; one of their arms without a log has no score."""
    if harness := [path for path in sorted(root.rglob("results_*.json")) if path.is_file()]:
        return _of_harness(root, harness)
    logs, empty = _logs(root)
    if not logs:
        there = listed([path.name for path in sorted(root.iterdir())] or ["nothing"], 5)
        kinds = ", ".join((TRAINER, LIGHTNING, TENSORBOARD, SUMMARY, "results.json"))
        mend = f"name the folder above the runs, each with {kinds}, or steps as CSV or JSON lines"
        raise InputError(f"{root} has no log of a run (it has {there}); {mend}")
    named = {}
    for run in [*logs, *empty]:
        path = run.with_suffix("") if run.is_file() else run
        named[run] = arm_and_seed(path.relative_to(root).as_posix())
    made = {run: _settings(run, root) for run in named}
    _add_settings_in(logs, made, metric)
    combined = {tuple((k, v) for k, v in made[run].items() if not is_seed(k)) for run in logs}
    if len({named[run] for run in logs}) == len(logs) and 1 < len(combined) < len(logs):
        named |= {run: ("", seed) for run, (_, seed) in named.items()}  # names just number runs
    of_arms = {named[run][0] for run in logs}
    arms = {*map(unnumbered, of_arms)}
    others = [run for run in empty if unnumbered(named[run][0]) not in arms]
    varied = []  # settings in which runs of an arm differ
    for key in dict.fromkeys(itertools.chain(*made.values())):
        if len({(named[run][0], made[run].get(key, "")) for run in logs}) > len(of_arms):
            varied.append(key)
    seeds = [*filter(is_seed, varied)]
    entries: list[Entry] = []
    for folder in sorted(named.keys() - others):
        arm, seed = named[folder]
        settings = {key: made[folder].get(key, "") for key in varied}
        is_told = len(of_arms) == 1 and len(seeds) < len(varied)  # settings tell arms apart
        roles = {} if is_told else {"arm": arm or root.name or "runs"}
        roles |= {"seed": seed or "".join(settings[key] for key in seeds[:1]), "uid": str(folder)}
        roles |= {SETTING + key: settings[key] for key in varied if key not in seeds}
        steps = _steps(logs.get(folder, [])) or [(str(folder), {"step": 0})]
        entries += [(place, {**logged, **roles}) for place, logged in steps]
    notes = [f"no run, since there is no log: {listed(map(str, others), 3)}"] if others else []
    table = table_of_entries(str(root), entries, notes)
    # Other metrics may be called like columns of tables: a seed, a state, a deviation.
    kept = [n for n in table.columns if n in (*roles, "step")]
    kept.append(_logged(table, kept) if metric is None else one_of(table, "metric", metric))
    return table._replace(columns={n: table.columns[n] for n in kept})


def _logged(table: Table, roles: Sequence[str]) -> str:
    """The only number that was logged, but for steps; a question of several."""
    others = [n for n in table.columns if n not in roles and not called([n], "step")]
    logged = [n for n in others if is_number(table.columns[n])]
    if len(logged) == 1:
        return logged[0]
    likely = sorted(logged, key=lambda n: (*unlikely(n), "val" not in n.lower()))
    choices = [{"metric": name} for name in likely[:3]]
    raise Ask(f"{table.name}: which of what was logged is judged?", choices, table)


def _of_harness(root: Path, files: Sequence[Path]) -> Table:
    """The tasks of files of lm-evaluation-harness, each file a run of the arm of its folder."""
    entries: list[Entry] = []
    for path in files:
        arm, seed = arm_and_seed(path.parent.relative_to(root).as_posix().strip("."))
        run = {"model": arm} if arm else {}
        run |= {"seed": seed} if seed else {}
        entries += [(place, cells | run) for place, cells in table_of(path).entries()]
    return table_of_entries(str(root), entries)


def _add_settings_in(
    logs: Mapping[Path, Sequence[Path]], made: Mapping[Path, dict[str, str]], metric: str | None
) -> None:
    """Adds settings from the file of the scores: texts, seeds, and numbers that runs share."""
    ends = {run: of[0] for run, of in logs.items() if of[0].name in OBJECTS}
    found = {run: dict(entry) for run, log in ends.items() for _, entry in _of_object(log)}
    for name in dict.fromkeys(itertools.chain(*found.values())):
        texts = [entry.get(name, "") for entry in found.values()]
        few = 2 * len({*texts}) <= len(texts) and lower_is_better(name) is None and name != metric
        if few or is_seed(name) or is_setting(name) or not is_number(texts):
            for run, entry in found.items():
                made[run][name] = entry.get(name, "").strip('"')


def _settings(run: Path, root: Path) -> dict[str, str]:
    """The settings next to a run's log or above it, those of blocks inside by both names."""
    found: dict[str, Any] = {}
    places = [place for place in (*reversed(run.parents), run) if place.is_relative_to(root)]
    for path in filter(Path.is_file, (place / name for place in places for name in SETTINGS)):
        with reading(path):
            text = regular(path).read_text("utf-8")
            made = flat(json.loads(text)) if path.suffix == ".json" else _of_yaml(text)
        if path.parent.name == "files":  # W&B has the value of each, and notes of its own
            own = {n for n in made if n.startswith("_wandb.")}
            made = {n.replace(".value", "", 1): value for n, value in made.items() if n not in own}
        found |= made
    for name in ("name", "save_dir", "project"):  # the folder that Ultralytics saves to
        found.pop(name, None)
    texts = {n: v if isinstance(v, str) else json.dumps(v) for n, v in found.items()}
    return {name: text for name, text in texts.items() if not isinstance(found[name], list)}


def _of_yaml(text: str) -> dict[str, str]:
    """Names with their values; a line that is further in is of the block above it."""
    found, above = {}, list[tuple[int, str]]()
    for line in text.splitlines():
        if entry := re.fullmatch(r"( *)([\w./-]+):(?: +(.*))?", line):
            above = [parent for parent in above if parent[0] < len(entry[1])]
            above.append((len(entry[1]), entry[2]))
            if entry[3]:
                found[".".join(name for _, name in above)] = entry[3].strip()
    return found


def _logs(root: Path) -> tuple[dict[Path, list[Path]], list[Path]]:
    """The logs of each run's folder, and the folders next to runs that have none.

    A folder with several tables has a run in each.
    """
    inside = sorted(root.rglob("*"))
    folders = [place for place in inside if place.is_dir() and place.name[0] != "."]
    for link in filter(Path.is_symlink, folders):
        if not link.resolve().is_relative_to(root.resolve()):
            raise InputError(f"{link} is a link to a folder elsewhere; copy the runs, or remove it")
    found: dict[Path, list[Path]] = {}
    for kind in (*KINDS, *OBJECTS, SUMMARY):
        taken = {*found}
        of_kind = [log for log in inside if log.match(kind) and taken.isdisjoint(log.parents)]
        for log in sorted(of_kind, key=lambda log: _checkpoint(log.parent)):
            run = log.parent
            inside_run = kind == TRAINER and _checkpoint(run) < math.inf
            if run != root and (inside_run or kind == SUMMARY):
                run = run.parent
            if kind[:2] == "*." and sum(other.parent == run for other in of_kind) > 1:
                run = log
            # Trainer's last state has all that those before have.
            found[run] = [log] if kind == TRAINER else [*found.get(run, []), log]
    objects = [] if found else [log for log in inside if log.match("*.json")]
    hidden = [any(part[0] == "." for part in log.relative_to(root).parts) for log in objects]
    objects = [*itertools.compress(objects, map(operator.not_, hidden))]
    if len(objects) > 1 and {*_SETTINGS_NAMES}.isdisjoint(log.name for log in objects):
        alike = all(_is_like(log, objects[0]) for log in objects)
        found = {log: [log] for log in objects} if alike else {}
    above = {parent for run in found for parent in (run, *run.parents)}
    near = {run.parent for run in found if run != root}
    next_to = [place for place in folders if place.parent in near and not place.is_symlink()]
    return found, [place for place in next_to if place not in above]


def _is_like(log: Path, first: Path) -> bool:
    """Whether a file has an object with the names of the first file's, and without lists."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        one, other = (json.loads(regular(path).read_bytes()) for path in (log, first))
        if isinstance(one, dict) and isinstance(other, dict):
            lists = any(isinstance(value, list) for value in flat(one).values())
            return not lists and one.keys() == other.keys()
    return False


def _checkpoint(folder: Path) -> float:
    """The step of a folder such as ``checkpoint-500``; infinity for any other."""
    found = re.fullmatch(r"checkpoint-(\d+)", folder.name)
    return float(found[1]) if found else math.inf


def _steps(logs: Sequence[Path]) -> list[Entry]:
    """The steps of a run's logs in order, each with what was last logged there.

    InputError where a log ends at a step that it had before, with other values, and went beyond.
    """
    steps: dict[str, Entry] = {}
    again = dict[str, str]()  # the last step of a log, where it was there before, and its place
    readers = {".csv": _of_table, ".jsonl": _of_table, ".json": _of_object, ".log": _of_table}
    for log in logs:
        place, step, other = "", "", False
        for place, entry in readers.get(log.suffix, _of_tensorboard)(log):
            logged = {"step": 0} | {name: cell for name, cell in entry.items() if cell != ""}
            step = str(logged["step"])
            _, before = steps.get(step, (place, {}))
            other = any(before.get(name, cell) != cell for name, cell in logged.items())
            steps[step] = place, {**before, **logged}
        again |= {step: place} if other else {}
    numbers, _, _ = cells([*steps], [place for place, _ in steps.values()], "step")
    for step, number in zip(steps, numbers, strict=True):
        if step in again and number < max(numbers):
            raise InputError(
                f"{again[step]}: step {step} is there again, and the steps before it go on to "
                f"{max(numbers):g}: are these two trainings? Leave the rows of one"
            )
    in_order = sorted(zip(numbers, steps.values(), strict=True), key=operator.itemgetter(0))
    return [entry for _, entry in in_order]


def _of_table(log: Path) -> Iterator[Entry]:
    """The rows of a table, which may have the numbers of their own log call alone.

    SB3's monitor has an episode a row, with its reward, its length and the seconds.
    """
    table, total = table_of(log), 0.0
    step, *_ = [*called(table.columns, "step"), ""]
    measure, *_ = [*called(table.columns, "of rows"), ""]
    monitor = {*table.columns} == {"r", "l", "t"}
    for at, (place, entry) in enumerate(table.entries()):
        if measure:  # such as the split: a step has a row for each
            entry = {n if n == step else f"{entry[measure]}/{n}": v for n, v in entry.items()}
        if monitor:
            total += float(entry["l"])
            yield place, {"step": total, "reward": entry["r"]}
        else:
            yield place, {**entry, "step": entry[step] if step else at}


def _of_object(log: Path) -> Iterator[Entry]:
    """The steps of Trainer's state, or the numbers that another tool wrote at the end."""
    with reading(log, "let the tool write it again"):
        found = json.loads(regular(log).read_bytes())
        if log.name == SUMMARY:  # names with _ are W&B's own
            step = found.get("_step", 0)
            found = {"step": step} | {n: v for n, v in found.items() if n[:1] != "_"}
        for entry in found["log_history"] if log.name == TRAINER else [flat(found)]:
            yield str(log), {name: json.dumps(value) for name, value in entry.items()}


def _of_tensorboard(log: Path) -> Iterator[Entry]:
    """The scalars of an event file whose every record is whole and has its checksum."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.tensorflow_stub import errors, pywrap_tensorflow
        from tensorboard.util.tensor_util import make_ndarray
    except ModuleNotFoundError:
        mend = "pip install tensorboard to read it"
        raise InputError(f"{log} is an event file of TensorBoard: {mend}") from None
    with reading(log, "copy it again, or take out the run and say so"):
        reader = pywrap_tensorflow.PyRecordReader_New(str(regular(log)))
        with reader.file_handle, contextlib.suppress(errors.OutOfRangeError):  # the file's end
            while True:
                reader.GetNext()
                event = Event.FromString(reader.record())
                for value in event.summary.value:
                    number = value.simple_value if value.HasField("simple_value") else None
                    if value.HasField("tensor"):
                        array = make_ndarray(value.tensor)
                        number = array.item() if array.size == 1 else None
                    if type(number) in (int, float):
                        yield str(log), {"step": event.step, value.tag: number}
