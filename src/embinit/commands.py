"""The commands around claims: ``list``, ``run``, ``register``, ``summary``, ``new``, ``runs``."""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embinit.errors import InputError, OutputError, Status

if TYPE_CHECKING:
    from embinit.runs.results import RunResult
    from embinit.runs.store import Store


def add_commands(commands: Any) -> None:
    """Adds the commands to the parser's."""
    _add_list(commands)
    _add_run(commands)
    _add_register(commands)
    _add_summary(commands)
    _add_new(commands)
    _add_runs(commands)


def with_target(arguments: Sequence[str]) -> list[str]:
    """The arguments with a target behind ``run``, ``list`` and ``register``, if none stands there.

    Else a value for pytest, such as the 4 of ``-n 4``, would be taken for it.
    """
    command, *rest = arguments
    if command in ("run", "list", "register") and (not rest or rest[0].startswith("-")):
        return [command, TARGET, *rest]
    return [command, *rest]


TARGET = "claims"
"""Where a project's claims are."""


def _add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "target",
        help="first of all: a folder or file of claims, or the key of a paper, embinit's or an "
        "installed package's (default: claims)",
    )
    command.add_argument(
        "--claim",
        action="append",
        default=[],
        metavar="GLOB",
        help="only claims whose id fits, such as 'mine/finding-1/*'; repeatable",
    )
    command.epilog = "Further arguments go to pytest, such as -n 4 or --embinit-tier sample."


def _pytest(parsed: argparse.Namespace, *more: str) -> int:
    # A process of its own, since pytest warns of a plugin that was imported before.
    given = [f"--embinit-claim={each}" for each in parsed.claim]
    command = [sys.executable, "-m", "pytest", *_target(parsed.target), *given, *more]
    return status_of(subprocess.run([*command, *parsed.pytest], check=False).returncode)


def status_of(returncode: int) -> int:
    """The status of a process that ended with ``returncode``; a signal interrupted it."""
    return returncode if returncode >= 0 else Status.INTERRUPTED


def _target(target: str) -> list[str]:
    """A folder, a file or a paper's claims as pytest takes them.

    Raises:
        InputError: There is none of that name.
    """
    if Path(target).exists():
        return [target]
    from embinit.papers import PAPERS

    if (module := PAPERS.module(target)) is None:
        raise InputError(
            f"{target} is no folder of claims here, and no paper: known are {', '.join(PAPERS)}; "
            "embinit new DIR makes a folder of claims"
        )
    if (package := _claims_beside(module)) is None:
        raise InputError(
            f"{target} is a paper of {module}, which ships no claims; put them into the same "
            "package, or name their folder"
        )
    return ["--pyargs", package]


def _claims_beside(module: str) -> str | None:
    """The package that a paper's module is in, or is; None without claims there.

    Args:
        module: The module's name. It is not loaded.
    """
    top, *below = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))).joinpath(*below)
    if below and not folder.is_dir():
        folder, below = folder.parent, below[:-1]
    return ".".join([top, *below]) if any(folder.rglob("test_*.py")) else None


def _add_list(commands: Any) -> None:
    listing = commands.add_parser("list", help="the claims of a folder or a paper")
    _add_target(listing)
    listing.set_defaults(run=_list)


def _list(parsed: argparse.Namespace) -> int:
    return _pytest(parsed, "--collect-only", "-qq", "--no-header", "--embinit-list")


def _add_run(commands: Any) -> None:
    run = commands.add_parser("run", help="train what is missing, judge, and report")
    _add_target(run)
    run.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    return _pytest(parsed)


def _add_register(commands: Any) -> None:
    registering = commands.add_parser(
        "register", help="freeze in claims.lock what must stand before anything trains"
    )
    _add_target(registering)
    registering.add_argument(
        "--seeds",
        type=int,
        default=10,
        help="measure noise floors and spreads on so many seeds that no claim uses; 0 measures "
        "nothing (default: 10)",
    )
    registering.set_defaults(run=lambda parsed: register(parsed, "claims"))


def register(parsed: argparse.Namespace, what: str, *options: str) -> int:
    """Writes the lock of a folder of claims.

    Args:
        parsed: The command line, with the target and the seeds.
        what: What is written: ``claims``, or ``noise-floors`` alone.
        options: Options of pytest.

    Raises:
        InputError: There is no such folder, or one seed is too few.
    """
    if parsed.seeds == 1 or parsed.seeds < 0:
        raise InputError(f"--seeds {parsed.seeds}: a spread needs at least 2; 10 are usual")
    measured = [f"--embinit-register={parsed.seeds}"] if parsed.seeds else []
    parsed.claim = getattr(parsed, "claim", [])
    return _pytest(parsed, f"--embinit-freeze={what}", *measured, *options)


def _add_summary(commands: Any) -> None:
    summary = commands.add_parser("summary", help="a suite's verdicts as Markdown")
    summary.add_argument(
        "verdicts", type=Path, nargs="?", default=Path("reports/latest/verdicts.json")
    )
    summary.add_argument("--baseline", type=Path, help="the verdicts.json to compare with")
    add_fail_on(summary)
    summary.set_defaults(run=_summary)


def add_fail_on(command: argparse.ArgumentParser) -> None:
    """Adds the option that makes a move from the baseline a fault."""
    command.add_argument(
        "--fail-on",
        metavar="moved[=MARGINS]",
        help="a difference that moved from the baseline's by more margins is not in order either "
        "(default: it is told; moved alone: 1)",
    )


def _summary(parsed: argparse.Namespace) -> int:
    from embinit.report.baseline import read, size_in_margins
    from embinit.report.markdown import as_markdown

    before = None if parsed.baseline is None else read(parsed.baseline)
    moved = size_in_margins(parsed.fail_on) if parsed.fail_on else None
    print(as_markdown(read(parsed.verdicts), before, moved), end="")
    return 0


STARTER = {
    "claims/test_first.py": "test_first.py.txt",
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    ".gitignore": "gitignore.txt",
    ".github/workflows/claims.yml": "claims.yml.txt",
}
"""The files of a new project, and what they are made from."""


def _add_new(commands: Any) -> None:
    new = commands.add_parser("new", help="start a project with a claim of its own")
    new.add_argument("folder", type=Path, help="where to; it is made")
    new.set_defaults(run=_new)


def _new(parsed: argparse.Namespace) -> int:
    from embinit import __version__

    folder: Path = parsed.folder
    taken = [name for name in STARTER if (folder / name).exists()]
    if taken:
        raise InputError(f"{folder} has {', '.join(taken)} already; name another folder")
    name = re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.lower()).strip("-") or "mine"
    try:
        for path, template in STARTER.items():
            text = resources.files("embinit.starter").joinpath(template).read_text("utf-8")
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            filled = text.replace("@NAME@", name).replace("@VERSION@", __version__)
            (folder / path).write_text(filled, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{folder} can't be written: {error.strerror or error}") from None
    print(f"{folder}: {', '.join(STARTER)}")
    print(f"next: cd {folder} && embinit run")
    return 0


def _add_runs(commands: Any) -> None:
    runs = commands.add_parser("runs", help="what a store has: lists, shows or prunes it")
    runs.add_argument("key", nargs="?", help="show the runs whose keys begin so")
    runs.add_argument("--store", type=Path, default=Path(".embinit/store"))
    runs.add_argument(
        "--prune",
        type=float,
        metavar="DAYS",
        help="remove runs that were finished more than DAYS ago, failures and damaged records",
    )
    runs.set_defaults(run=_runs)


def _runs(parsed: argparse.Namespace) -> int:
    from embinit.runs.store import Store

    if not (parsed.store / "runs").is_dir():
        raise InputError(f"{parsed.store} is no store of runs; name one with --store")
    store = Store(parsed.store, write=parsed.prune is not None)
    if parsed.prune is not None:
        return _prune(store, parsed.prune)
    keys = [key for key in store if key.startswith(parsed.key or "")]
    if parsed.key:
        if not keys:
            raise InputError(f"{parsed.store} has no run whose key begins with {parsed.key!r}")
        for key in keys:
            print(json.dumps(json.loads(store.path(key).read_bytes())["record"], indent=1))
        return 0
    for key in keys:
        result = store.get(key)
        print(f"{key[:12]}  " + ("of a kind that is not installed here" if result is None else
                                 _line(result)))  # fmt: skip
    for key, reason in _failures(store):
        print(f"{key[:12]}  failed: {reason}")
    print(f"{len(keys)} runs in {store.root}")
    return 0


def _line(result: RunResult) -> str:
    spec = result.spec
    arm = getattr(spec.training, "label", None) or spec.table.init
    measures = ", ".join(f"{name} {value:.4g}" for name, value in [*result.measures.items()][:4])
    failure = f", {result.failure}" if result.failure else ""
    finished = str(result.provenance.get("finished", ""))[:10]
    return f"{finished}  {spec.data.task}  {arm}  seed {spec.seed}  {measures}{failure}"


def _failures(store: Store) -> Iterator[tuple[str, str]]:
    for path in sorted((store.root / "failures").glob("*.json")):
        if (reason := store.failure(path.stem)) is not None:
            yield path.stem, reason


def write_file(path: Path, content: str) -> None:
    """Writes a file that the user asked for.

    Raises:
        OutputError: It can't be written.
    """
    from embinit.data.files import write_atomically

    try:
        write_atomically(path, content)
    except OSError as error:
        raise OutputError(f"{path} can't be written: {error.strerror or error}") from None


def _prune(store: Store, days: float) -> int:
    if not days >= 0:
        raise InputError(f"--prune {days}: give a number of days, 0 or more")
    oldest = time.time() - datetime.timedelta(days=days).total_seconds()
    old = [path for path in store.root.glob("runs/*/*.json") if path.stat().st_mtime < oldest]
    broken = [*store.root.glob("runs/*/*.damaged"), *store.root.glob("failures/*.json")]
    for path in (*old, *broken):
        path.unlink(missing_ok=True)
    print(
        f"{len(old)} runs removed, {len(broken)} failures and damaged records; {len([*store])} left"
    )
    return 0
