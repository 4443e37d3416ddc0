"""The command ``embinit``: its parser and its exit status."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from embinit import __version__
from embinit.commands import judge, new, prepare, register, runs, verdicts
from embinit.errors import InputError, OutputError, Status, close_output, lacking_models, status_of
from embinit.registry import Registry

COMMANDS: Registry[Callable[[Any], None]] = Registry("command", "embinit.commands")
"""Further commands: for each a function that adds it to the parser's."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line, the process's by default, and returns an ``embinit.errors.Status``."""
    try:
        status = _run(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
        return status
    except InputError as error:
        line = str(error).replace("\n", "\\n")  # one of a path
        print(f"embinit: {line}", file=sys.stderr)
        return Status.UNWRITABLE if isinstance(error, OutputError) else Status.UNUSABLE
    except ModuleNotFoundError as error:
        if (lacking := lacking_models(error)) is None:
            raise
        print(f"embinit: {lacking}", file=sys.stderr)
        return Status.UNUSABLE
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    except BrokenPipeError:
        close_output()
        return Status.INTERRUPTED
    except Exception as error:
        return status_of(error)


def _run(given: list[str]) -> int:
    place = given.index("--") if "--" in given else len(given)
    given, behind = given[:place], given[place + 1 :]
    parser, commands = _parsers(given[0] if given else "")
    if not given:
        parser.print_help()
        return Status.UNUSABLE
    parsed, rest = parser.parse_known_args(given)
    if parsed.command != "register" and (unknown := [*rest, *behind]):
        commands[parsed.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    parsed.pytest, parsed.behind = rest, behind
    command: Callable[[argparse.Namespace], int] = parsed.run
    return command(parsed)


class Parser(argparse.ArgumentParser):
    """A parser that ends with the status of all unusable input."""

    def error(self, message: str) -> NoReturn:
        """Prints the usage and the error, and ends."""
        self.print_usage(sys.stderr)
        self.exit(Status.UNUSABLE, f"{self.prog}: error: {message}\n")


def _parsers(asked: str) -> tuple[Parser, Mapping[str, Parser]]:
    """The parser, and that of each command: with the entry points' one ``asked``, or all for ""."""
    parser = Parser(prog="embinit", description="Test claims about training.")
    parser.add_argument("--version", action="version", version=f"embinit {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for module in (new, judge, register, verdicts, runs, prepare):
        module.add(commands)
    if asked not in commands.choices:
        for name in [asked] if asked in COMMANDS else COMMANDS:
            COMMANDS[name](commands)
    return parser, commands.choices
