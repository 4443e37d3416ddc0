"""The options of a session of claims, checked before anything is collected."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embinit.claims.roles import SEEDS_OF_A_ROLE
from embinit.errors import InputError, require_models
from embinit.options import INSTRUCTIONS, OPTIONS, REGISTER, STRICT
from embinit.papers import PAPERS, papers_of
from embinit.pytest_plugin import BEGAN
from embinit.pytest_plugin.claims_alone import TRAINERS
from embinit.report.baseline import read_baseline
from embinit.report.document import Document
from embinit.runs.instructions import VARIABLE, asked
from embinit.runs.machine import training_devices
from embinit.runs.session import Definition

SELECTING = re.compile(
    r"-[qvsxl]*[km]|--(deselect|ignore|ignore-glob|lf|last-failed|sw|stepwise)(=|$)"
)
"""pytest's options that leave out some of the tests in the files that are named."""


@contextlib.contextmanager
def unusable_ends(said: str = "") -> Iterator[None]:
    """A context in which an InputError ends the session before anything trains."""
    try:
        yield
    except InputError as error:
        raise pytest.UsageError(f"{said}{error}") from None


class SessionOptions:
    """The options of a session of claims, checked.

    A worker of pytest-xdist (``is_worker``) trains for itself. ``cluster`` is the address of the
    Ray cluster that trains (``on_ray``), None for a new one. ``registered_seeds`` is on how many
    seeds a session that judges nothing measures. ``most_seeds`` are those of the last
    interim analysis where an option gives them; --embinit-seeds alone is one analysis.
    """

    def __init__(self, config: pytest.Config) -> None:
        """Checks the options; InputError where one of them can't be used."""
        self.config = config
        self.started = time.time() - self.seconds
        self.blessed: Document | None = None
        self.tier, self.is_worker = str(self.option("tier")), hasattr(config, "workerinput")
        self.strict = bool(config.getini(STRICT))
        engine, _, address = str(self.option("engine")).partition(":")
        self.on_ray, self.cluster = engine == "ray", address or None
        registered = config.getini(REGISTER)
        self.registered_seeds = int(registered) if registered else None
        data = self.option("data-dir") or os.environ.get("EMBINIT_DATA")
        self.data_dir = Path(data).absolute() if data else None
        self.most_seeds: int | None = self.option("max-seeds") or self.option("seeds")
        self.command = self._command()
        self._check()

    def option(self, name: str) -> Any:
        """The value of one of embinit's options, named without the prefix ``--embinit-``."""
        return self.config.getoption(f"embinit_{name.replace('-', '_')}")

    @property
    def devices(self) -> list[str]:
        """The device of each trainer: one a core, or some for each GPU, and no more than ``-n``.

        A worker of pytest-xdist trains for itself, on one of them.
        """
        devices = training_devices(str(self.option("device")))
        if self.is_worker:
            number = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
            return [devices[number % len(devices)]]
        return devices[: self.config.stash.get(TRAINERS, len(devices))]

    def path(self, name: str) -> Path:
        """The path that an option names.

        It is relative to where pytest was called if the command line names it, and else to pytest's
        root directory.
        """
        called = self.config.invocation_params
        options = (f"--embinit-{name}", f"--{name}")
        named = any(str(argument).partition("=")[0] in options for argument in called.args)
        base = called.dir if named else self.config.rootpath
        given: str = os.path.expanduser(self.option(name))
        return (base / given).absolute()

    @property
    def asked_whole(self) -> list[str]:
        """The files, folders and modules all of whose tests were asked for, from pytest's root.

        What the ini file leaves out was asked for: only the command line selects.
        """
        called, root = self.config.invocation_params.dir, self.config.rootpath
        arguments = [*map(str, self.config.invocation_params.args)]
        if any(map(SELECTING.match, arguments)):
            return []
        asked = [given for given in self.config.args if given in arguments]
        if not asked and self.config.args_source is not pytest.Config.ArgsSource.INVOCATION_DIR:
            return ["."]
        places = []
        for given in asked or self.config.args:
            path = Path(os.path.abspath(called / given))
            if self.config.option.pyargs and not path.exists():
                places.append(given)  # a module
            elif path.is_relative_to(root) and "::" not in given:
                places.append(path.relative_to(root).as_posix())
        return places

    def _command(self) -> str:
        """The command line with embinit's options and paths alone: others may have secrets."""
        words = [str(given) for given in self.config.invocation_params.args]
        words = ["pytest", *filter(self.config.args.__contains__, words)]
        for name, settings in OPTIONS.items():
            given = self.option(name)
            for value in given if isinstance(given, list) else [given]:
                if value != settings.get("default"):
                    words.append(f"--embinit-{name}{'' if value is True else f'={value}'}")
        return shlex.join(words)

    def definitions(self) -> list[Definition]:
        """What every process defines before it trains; InputError for an option of no use."""
        given = self.config.hook.pytest_embinit_definitions(config=self.config)
        return [definition for some in given for definition in some]

    @property
    def ends(self) -> float:
        """When the budget ends, by ``time.monotonic``; never without a budget."""
        budget = self.option("budget")
        return math.inf if budget is None else self.config.stash[BEGAN] + 60 * budget

    def in_time(self, owed: float) -> bool:
        """Whether a budget has time for more than what is owed, which takes so many seconds."""
        return time.monotonic() + owed < self.ends

    @property
    def seconds(self) -> float:
        """The session's duration, whatever was done to the clock meanwhile."""
        return time.monotonic() - self.config.stash[BEGAN]

    def _check(self) -> None:
        papers_of(PAPERS)  # one that can't be loaded is reported before collection
        seeds, most = self.option("seeds"), self.option("max-seeds")
        if seeds is not None and seeds < 2:
            raise InputError(f"--embinit-seeds {seeds}: a paired test needs at least 2; 5 is usual")
        for name, count in (("seeds", seeds), ("max-seeds", most)):
            if count is not None and count > SEEDS_OF_A_ROLE:
                raise InputError(
                    f"--embinit-{name} {count}: at most {SEEDS_OF_A_ROLE}, where the seeds of "
                    "controls begin"
                )
        if (budget := self.option("budget")) is not None and not budget >= 0:  # nor NaN
            raise InputError(f"--embinit-budget {budget:g}: give minutes, 0 or more")
        if (self.registered_seeds or 2) < 2:  # None and 0 measure nothing
            raise InputError(
                f"{REGISTER} {self.registered_seeds}: a standard deviation needs 2 seeds, and 10 "
                "are usual; 0 measures nothing"
            )
        if self.option("engine") != "local" and not self.on_ray:
            raise InputError(
                f"--embinit-engine {self.option('engine')}: it is local, ray or ray:ADDRESS"
            )
        if self.option("baseline") is not None:
            try:
                self.blessed = read_baseline(self.path("baseline"), self.tier)
            except InputError as error:
                raise InputError(f"--embinit-baseline: {error}") from None
        if self.data_dir is not None and not os.path.isdir(self.data_dir):
            raise InputError(
                f"--embinit-data-dir {self.data_dir} is not a directory; name one that exists"
            )
        if named := self.config.getini(INSTRUCTIONS):
            environment = pytest.MonkeyPatch()
            environment.setenv(VARIABLE, named)
            self.config.add_cleanup(environment.undo)
        asked()
        self.definitions()
        for name in ("store", "report-dir"):  # absolute, for workers of pytest-xdist too
            setattr(self.config.option, f"embinit_{name.replace('-', '_')}", str(self.path(name)))
        if not self.is_worker:
            _check_folder(self.path("report-dir"))
        if not self.on_ray and self.option("device") != "cpu":
            _check_device(self.option("device"))


def _check_folder(folder: Path) -> None:
    """Refuses a folder for the report that can't be written, before anything trains."""
    known = next(path for path in (folder, *folder.parents) if path.exists())
    if not known.is_dir() or not os.access(known, os.W_OK):
        what = "can't be written" if known.is_dir() else "is no folder"
        raise InputError(f"--embinit-report-dir {folder}: {known} {what}; name another folder")


def _check_device(device: str) -> None:
    require_models()
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"--embinit-device {device} can't be used here ({reason}); try cpu"
        ) from None
