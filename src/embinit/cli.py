"""The command line around ``pytest claims/``.

``embinit check`` says whether a suite's verdicts are in order. A refuted claim is a result and no
fault, so pytest's failure alone can't say whether a change may land. In order means: every control
came out as it should, and, with a baseline, no claim that was SUPPORTED there is REFUTED or NOT RUN
now. ``embinit bless`` makes a suite's report the baseline. ``embinit report`` merges the stores of
several machines or nights and judges what they hold together. ``embinit noise-floor`` measures what
the seeds alone do to each task, and proposes its margin.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from embinit.baseline import changes, read, wrong_controls
from embinit.errors import InputError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status: 0 in order, 1 not, 2 bad input."""
    parser = argparse.ArgumentParser(prog="embinit", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_check(commands)
    _add_bless(commands)
    _add_report(commands)
    _add_noise_floor(commands)
    parsed = parser.parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = parsed.run
    try:
        return command(parsed)
    except InputError as error:
        print(f"embinit: {error}", file=sys.stderr)
        return 2


def _add_check(commands: Any) -> None:
    check = commands.add_parser("check", help="are a suite's verdicts in order?")
    check.add_argument("verdicts", type=Path, help="a verdicts.json")
    check.add_argument("--baseline", type=Path, help="the verdicts.json to compare with")
    check.set_defaults(run=_check)


def _check(parsed: argparse.Namespace) -> int:
    latest = read(parsed.verdicts)
    faults = wrong_controls(latest)
    for change in changes(latest, read(parsed.baseline)) if parsed.baseline else ():
        if change.lost:
            faults.append(str(change))
        else:
            print(f"warning: {change}")
    for fault in faults:
        print(f"NOT IN ORDER: {fault}")
    counted = dict.fromkeys(("SUPPORTED", "REFUTED", "UNDECIDED", "NOT RUN"), 0)
    for claim in latest["claims"]:
        if not claim["control"]:
            counted[claim["verdict"]] += 1
    print(", ".join(f"{count} {verdict}" for verdict, count in counted.items()))
    return 1 if faults else 0


def _add_bless(commands: Any) -> None:
    bless = commands.add_parser("bless", help="make a suite's report the baseline")
    bless.add_argument("report", type=Path, nargs="?", default=Path("reports/latest"))
    bless.add_argument("--to", type=Path, default=Path("reports/reference"))
    bless.set_defaults(run=_bless)


def _bless(parsed: argparse.Namespace) -> int:
    from embinit.baseline import bless

    bless(parsed.report, parsed.to)
    print(f"{parsed.to} is the baseline now; commit it")
    return 0


def _add_report(commands: Any) -> None:
    report = commands.add_parser("report", help="judge what several stores hold together")
    report.add_argument(
        "--store", type=Path, action="append", required=True, help="a store to read; repeatable"
    )
    report.add_argument(
        "--into", type=Path, default=Path(".embinit/merged"), help="the store that gets all runs"
    )
    report.add_argument("claims", nargs="?", default="claims/", help="where the claims are")
    report.add_argument("pytest", nargs=argparse.REMAINDER, help="what else pytest is to be told")
    report.set_defaults(run=_report)


def _report(parsed: argparse.Namespace) -> int:
    import pytest

    from embinit.store import Store

    for path in parsed.store:
        if not (path / "runs").is_dir():
            raise InputError(f"{path} is no store of runs; name one that --store of pytest wrote")
    merged = Store(parsed.into)
    apart: dict[str, float] = {}
    for path in parsed.store:
        apart |= merged.take(Store(path))
    print(f"{len([*merged])} runs in {parsed.into}, from {len(parsed.store)} stores")
    if apart:
        differing = sum(one > 0 for one in apart.values())
        print(
            f"{len(apart)} runs are in several, {differing} of them with other measures, by up to "
            f"{max(apart.values()):.3g}; the first store's count"
        )
    arguments = [parsed.claims, "--store", str(parsed.into.absolute()), "--no-train"]
    return int(pytest.main([*arguments, *parsed.pytest]))


def _add_noise_floor(commands: Any) -> None:
    floor = commands.add_parser("noise-floor", help="what the seeds alone do, and margins from it")
    floor.add_argument("--tier", default="micro", help="micro, sample or paper (default: micro)")
    floor.add_argument("--data-dir", type=Path, help="directory with real data")
    floor.add_argument("--seeds", type=int, default=10, help="replicates (default: 10)")
    floor.add_argument("--task", help="only this task")
    floor.add_argument(
        "--effect",
        type=float,
        help="the difference to find, in the metric's unit (default: margin)",
    )
    floor.add_argument("--json", type=Path, help="write what was measured here too")
    floor.set_defaults(run=_noise_floor)


def _noise_floor(parsed: argparse.Namespace) -> int:
    import torch

    from embinit.noise_floor import as_json, measure
    from embinit.papers.kim2024 import FINDING_1, printed_deviations
    from embinit.tiers import experiments

    torch.set_num_threads(1)
    wanted = [
        one
        for one in experiments(parsed.tier, sources=("glove",))
        if parsed.task in (None, one.data.task)
    ]
    if not wanted:
        raise InputError(f"tier {parsed.tier} has no task {parsed.task!r}")
    alpha, floors = FINDING_1.share(parsed.tier), []
    for one in wanted:
        floor = measure(parsed.tier, one, parsed.seeds, parsed.data_dir)
        floors.append(floor)
        margin = floor.margin(printed_deviations(one) if parsed.tier != "micro" else ())
        effect = parsed.effect if parsed.effect is not None else margin
        seeds = floor.seeds_for(effect, alpha)
        print(
            f"{floor.task}, width {floor.width}: {floor.metric} mean {floor.mean:.2f}, "
            f"sd {floor.sd:.2f} over {floor.seeds} seeds, margin {margin:g}; a difference of "
            f"{effect:g} takes {'over 1000' if seeds is None else f'at most {seeds}'} seeds at "
            f"alpha {alpha:.2g} ({floor.seconds_a_run} s a run)",
            flush=True,
        )
    if parsed.json:
        parsed.json.write_text(as_json(floors), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
