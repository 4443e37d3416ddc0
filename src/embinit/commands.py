"""The commands around claims and scores: ``list``, ``run``, ``register``, ``judge`` and others."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from embinit.errors import InputError, OutputError, Status, is_unwritable
from embinit.judge_command import add_judge
from embinit.options import CONCLUDED, OPTIONS, TOLD
from embinit.runs_command import add_runs


def add_commands(commands: Any) -> None:
    """Adds the commands to the parser's."""
    _add_list(commands)
    _add_run(commands)
    _add_register(commands)
    _add_summary(commands)
    _add_new(commands)
    add_judge(commands)
    add_runs(commands)


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
    """Adds what names claims, and embinit's options, which go to pytest with their prefix."""
    command.add_argument(
        "target",
        help="first of all: a folder or file of claims, or the key of a paper, embinit's or an "
        "installed package's (default: claims)",
    )
    group = command.add_argument_group("options of claims, with the prefix or without it")
    own = command._option_string_actions
    for name, settings in OPTIONS.items():
        names = [each for each in (f"--{name}", f"--embinit-{name}") if each not in own]
        taken = {**settings, "default": None}
        if not {"action", "choices", "metavar"} & settings.keys():
            taken["metavar"] = name.upper()
        if name not in COMMANDS_OWN:
            group.add_argument(*names, dest=_dest(name), **taken)
    command.usage = f"{command.prog} [TARGET] [OPTION ...] [ARGUMENT OF PYTEST ...]"
    command.epilog = "Further arguments go to pytest, such as -n 4 or -v, and all behind --."


COMMANDS_OWN = ("list", "register")
"""Options that are commands themselves."""


def _dest(name: str) -> str:
    return f"embinit_{name.replace('-', '_')}"


def _given(parsed: argparse.Namespace) -> list[str]:
    """Embinit's options on the command line, as pytest takes them."""
    told = []
    for name in OPTIONS:
        value = getattr(parsed, _dest(name), None)
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                told.append(f"--embinit-{name}" + ("" if each is True else f"={each}"))
    return told


def _pytest(parsed: argparse.Namespace, *more: str) -> int:
    return run_pytest(
        [*_target(parsed.target, parsed.command), *_given(parsed), *more, *parsed.pytest]
    )


INTERRUPT_SECONDS = 2.0
"""After so many seconds an interrupt that pytest knows nothing of is sent to it, too."""


def run_pytest(arguments: Sequence[str]) -> int:
    """Runs pytest in a process of its own, since it warns of a plugin that was imported before.

    Signals are the child's to answer, which writes its report and ends. A terminal sends an
    interrupt to both; one that came to this process alone is passed on.

    Args:
        arguments: The arguments of pytest.

    Returns:
        pytest's status. It is never 0 where no session came to its end.

    Raises:
        OutputError: No temporary folder can be made.
    """
    try:
        temporary = tempfile.TemporaryDirectory(prefix="embinit-")
    except OSError as error:
        raise OutputError(f"no temporary folder can be made: {error}") from None
    with temporary as folder:
        told = Path(folder) / "told"
        with subprocess.Popen(
            [sys.executable, "-m", "pytest", *arguments], env={**os.environ, TOLD: str(told)}
        ) as child:

            def interrupt() -> None:
                if not told.exists():
                    child.send_signal(signal.SIGINT)

            def interrupted(number: int, frame: object) -> None:
                timer = threading.Timer(INTERRUPT_SECONDS, interrupt)
                timer.daemon = True
                timer.start()

            answers = {
                signal.SIGINT: interrupted,
                signal.SIGTERM: lambda number, frame: child.terminate(),
            }
            before = {number: signal.signal(number, answers[number]) for number in answers}
            try:
                status = status_of(child.wait())
            finally:
                for number, answer in before.items():
                    signal.signal(number, answer)
        if status == Status.IN_ORDER and not (told.exists() and told.read_text() == CONCLUDED):
            print(
                "embinit: pytest ended with status 0 before its session came to its end, as "
                "os._exit(0) in a file of claims ends it: no verdict counts",
                file=sys.stderr,
            )
            return Status.BROKEN
        return status


def status_of(returncode: int) -> int:
    """The status of a process that ended with ``returncode``; a signal interrupted it."""
    return returncode if returncode >= 0 else Status.INTERRUPTED


def _target(target: str, command: str) -> list[str]:
    """A folder, a file or a paper's claims as pytest takes them.

    Args:
        target: What names them.
        command: The command that is given it, for errors.

    Raises:
        InputError: There is none of that name.
    """
    if Path(target).exists():
        return [target]
    from embinit.papers import PAPERS

    if (module := PAPERS.module(target)) is None:
        if target == TARGET and (near := _folders_near()):
            commands = " or ".join(f"embinit {command} {shlex.quote(each)}" for each in near)
            raise InputError(f"no folder {target} is here; run {commands}")
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


def _folders_near() -> list[str]:
    """The folders of claims that lie in a folder above this one or right below it."""
    above = [Path(*[".."] * depth) for depth in range(1, len(Path.cwd().parts))]
    below = sorted(Path().glob(f"*/{TARGET}"))
    folders = (*(up / TARGET for up in above), *below)
    return [str(each) for each in folders if any(each.rglob("test_*.py"))][:3]


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
    listing = commands.add_parser(
        "list", allow_abbrev=False, help="the claims of a folder or a paper"
    )
    _add_target(listing)
    listing.set_defaults(run=_list)


def _list(parsed: argparse.Namespace) -> int:
    return _pytest(parsed, "--collect-only", "-qq", "--no-header", "--embinit-list")


def _add_run(commands: Any) -> None:
    run = commands.add_parser(
        "run", allow_abbrev=False, help="train what is missing, judge, and report"
    )
    _add_target(run)
    run.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    return _pytest(parsed)


def _add_register(commands: Any) -> None:
    registering = commands.add_parser(
        "register",
        allow_abbrev=False,
        help="freeze in claims.lock what must stand before anything trains",
    )
    registering.add_argument(
        "--seeds",
        type=int,
        default=10,
        help="measure the noise floors and spreads that it lacks on so many seeds that no claim "
        "uses; 0 measures nothing (default: 10)",
    )
    _add_target(registering)
    registering.set_defaults(run=_register)


def _register(parsed: argparse.Namespace) -> int:
    return _pytest(parsed, f"--embinit-register={parsed.seeds}")


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
    "requirements.txt": "requirements.txt.txt",
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
    folder: Path = parsed.folder
    if not str(folder).isprintable():
        raise InputError(f"{str(folder)!r} has signs that no terminal shows; name another folder")
    taken = [name for name in STARTER if os.path.lexists(folder / name)]
    if taken:
        raise InputError(f"{folder} has {', '.join(taken)} already; name another folder")
    inner = {parent for name in STARTER for parent in Path(name).parents} - {Path()}
    if links := sorted(str(each) for each in inner if os.path.islink(folder / each)):
        raise InputError(f"{folder} has links, {', '.join(links)}; name another folder")
    name = re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.lower()).strip("-") or "mine"
    try:
        for path, template in STARTER.items():
            text = resources.files("embinit.starter").joinpath(template).read_text("utf-8")
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            filled = text.replace("@NAME@", name).replace("@REQUIREMENT@", _requirement())
            (folder / path).write_text(filled, encoding="utf-8")
    except OSError as error:
        kind = OutputError if is_unwritable(error) else InputError
        raise kind(f"{folder} can't be written: {error.strerror or error}") from None
    print(f"{folder}: {', '.join(STARTER)}")
    print(f"next: cd {shlex.quote(str(folder))}, edit claims/test_first.py, then")
    print("  embinit register && embinit run")
    return 0


PLACEHOLDER = "git+https://github.com/OWNER/embinit"
"""Stands for where embinit is installed from, where that can't be told."""


def _requirement() -> str:
    """The line of a requirements file that installs this embinit, from where it was installed.

    pip writes a ``direct_url.json`` (PEP 610) unless it installed from an index. A path of this
    machine is no place for others to install from, so a placeholder stands there.
    """
    from embinit import __version__

    with contextlib.suppress(metadata.PackageNotFoundError):
        told = json.loads(metadata.distribution("embinit").read_text("direct_url.json") or "null")
        if told is None:
            return f"embinit>={__version__}"
        if vcs := told.get("vcs_info"):
            return f"embinit @ {vcs['vcs']}+{told['url']}@{vcs['commit_id']}"
    return (
        "# Put its repository, or a wheel's address or path in this project, in the place of this "
        f"one:\nembinit @ {PLACEHOLDER}"
    )


def write_file(path: Path, content: str) -> None:
    """Writes a file that the user asked for.

    Raises:
        OutputError: It can't be written.
    """
    from embinit.files.writing import write_atomically

    try:
        write_atomically(path, content)
    except OSError as error:
        raise OutputError(f"{path} can't be written: {error.strerror or error}") from None
