"""``embinit prepare``: tokenize text and look up vectors, for use on another machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from embinit.commands.arguments import add_data_dir
from embinit.errors import InputError, printable


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    prepare = commands.add_parser(
        "prepare", help="tokenize text and look up vectors for another machine"
    )
    prepare.add_argument("--tier", default="sample", help="micro, sample, full or paper")
    add_data_dir(prepare)
    prepare.add_argument(
        "--source",
        "--embinit-source",
        dest="source",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="as --embinit-source of pytest",
    )
    prepare.add_argument("--to", type=Path, required=True, help="the new data directory")
    prepare.set_defaults(run=_prepare)


def _prepare(parsed: argparse.Namespace) -> int:
    from embinit.lab.data.cache import make_directory
    from embinit.lab.data.preparation import write
    from embinit.lab.data.sources.opening import named_source
    from embinit.lab.experiments import ModelExperiment
    from embinit.lab.specs import DataSpec
    from embinit.papers import with_tier
    from embinit.runs.kinds import kind_of

    for given in parsed.source:
        named_source(given)()
    data_dir = parsed.data_dir.absolute() if parsed.data_dir else None
    wanted: dict[DataSpec, dict[str | None, None]] = {}
    every = (
        experiment
        for paper in with_tier(parsed.tier)
        for experiment in paper.experiments(parsed.tier)
    )
    for experiment in every:
        if not isinstance(experiment, ModelExperiment) or experiment.model is None:
            continue  # what trains no model reads no prepared text
        run = experiment.run(experiment.baseline, 0)
        for data in kind_of(run).reads(run):
            wanted.setdefault(data, {})
        wanted[experiment.data][experiment.source] = None
    to, ready = make_directory(parsed.to.absolute()), 0
    for number, (spec, sources) in enumerate(wanted.items(), start=1):
        for source in sources or (None,):
            about = f"[{number}/{len(wanted)}] {spec.task}" + (f" with {source}" if source else "")
            try:
                write(spec, [source] if source else [], data_dir, to)
            except InputError as error:
                print(printable(f"{about}: left out, {error}"), flush=True)
            else:
                ready += 1
                print(f"{about}: ready", flush=True)
    if not ready:
        raise InputError(f"nothing of tier {parsed.tier} could be prepared")
    print(printable(f"train with --embinit-data-dir {parsed.to}"))
    return 0
