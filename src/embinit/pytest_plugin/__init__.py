"""The pytest plugin: the options, and a hook that waits for the first claim.

pytest loads this module in every session of every project in the environment. So it imports nothing
but pytest. ``session.ClaimSession``, which does the work, is loaded when a claim is collected, when
one of embinit's options is given, or when the project asks for them in its configuration.

Every option is called ``--embinit-…``. A project that wants the short names lists them in its
pytest configuration: ``embinit_short_options = ["tier", "seeds"]``, or ``["all"]``.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import traceback
from argparse import ArgumentError
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from embinit.pytest_plugin.session import ClaimSession

NAME = "embinit-claims"
MARK = "embinit.statement"
NAMED = "embinit.named"
SHORT_OPTIONS = "embinit_short_options"
STRICT = "embinit_strict"
CONTROLLER = "embinit.controller"
UNUSABLE = "embinit.unusable"
PHASES = ("setup", "call", "teardown")
"""A worker that crashed has its test reported as failed in none of them, with no properties."""
STARTED: pytest.StashKey[float] = pytest.StashKey()
"""When the session began: claims may be met, and trained, long before all is loaded."""
BEGAN: pytest.StashKey[float] = pytest.StashKey()
"""The same on the clock that never goes backwards, which times are measured on."""

OPTIONS: dict[str, dict[str, Any]] = {
    "tier": {
        "default": "micro",
        "help": "size, of a paper or of an experiment's own sizes (default: micro)",
    },
    "claim": {
        "action": "append",
        "default": [],
        "metavar": "GLOB",
        "help": "only claims whose id fits, such as 'mine/finding-1/*'; repeatable (default: all)",
    },
    "list": {
        "action": "store_true",
        "default": False,
        "help": "with --collect-only: tell the claims by their ids, with what they state",
    },
    "data-dir": {
        "default": None,
        "help": "directory with real data and vectors (default: EMBINIT_DATA, else none)",
    },
    "source": {
        "action": "append",
        "default": [],
        "metavar": "NAME=PATH",
        "help": "read the source NAME from a file of vectors or a Hugging Face directory; "
        "repeatable (default: as it lies in the data directory)",
    },
    "device": {"default": "cpu", "help": "cpu, cuda, cuda:N (default: cpu)"},
    "engine": {
        "default": "local",
        "choices": ("local", "ray"),
        "help": "who trains: this machine's cores or GPU, or a Ray cluster (default: local)",
    },
    "ray-address": {
        "default": None,
        "metavar": "HOST:PORT",
        "help": "the Ray cluster that --embinit-engine ray trains on, or auto (default: one of "
        "this machine)",
    },
    "gpu-share": {
        "type": float,
        "default": 1.0,
        "help": "how much of a GPU a cohort takes with --embinit-engine ray, above 0 to 1 "
        "(default: 1)",
    },
    "seeds": {
        "type": int,
        "default": None,
        "help": "replicates per arm, and one look at them (default: the experiment's looks)",
    },
    "max-seeds": {
        "type": int,
        "default": None,
        "help": "look again at what is UNDECIDED, with twice the seeds each time, up to so many "
        "(default: the experiment's, 20 on micro)",
    },
    "budget": {
        "type": float,
        "default": None,
        "metavar": "MINUTES",
        "help": "begin no further look after so many minutes (default: no limit)",
    },
    "register": {
        "type": int,
        "default": None,
        "metavar": "SEEDS",
        "help": "judge nothing: measure how far each difference varies, on so many seeds that no "
        "claim uses, and register that",
    },
    "freeze": {
        "default": None,
        "choices": ("claims", "noise-floors"),
        "help": "judge nothing: write claims.lock, with the noise floors that margins come from "
        "or with the claims too; --embinit-register says on how many seeds",
    },
    "baseline": {
        "default": None,
        "metavar": "VERDICTS",
        "help": "a blessed verdicts.json: fail where one of its findings is lost, tell what moved",
    },
    "fail-on": {
        "default": None,
        "metavar": "moved[=MARGINS]",
        "help": "fail too where a difference moved from the baseline's by more margins than that, "
        "out of the interval that it had (default: moves are told; moved alone: 1)",
    },
    "store": {
        "default": ".embinit/store",
        "help": "where runs are kept (default: .embinit/store)",
    },
    "no-train": {
        "action": "store_true",
        "default": False,
        "help": "judge what the store has, and train nothing (default: train what it lacks)",
    },
    "report-dir": {
        "default": "reports/latest",
        "help": "where index.html and verdicts.json go (default: reports/latest)",
    },
    "replace-report": {
        "action": "store_true",
        "default": False,
        "help": "let the report of an interrupted or broken session replace a whole one (default: "
        "it goes into the folder unfinished beside it)",
    },
}


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Adds the options, under short names too where the project asks for them."""
    parser.addini(
        SHORT_OPTIONS,
        "embinit's options that are there without their prefix: their names, or all",
        type="args",
        default=[],
    )
    parser.addini(STRICT, "a claim that is UNDECIDED or NOT RUN fails", type="bool", default=False)
    config = pluginmanager.get_plugin("pytestconfig")
    wanted = config.getini(SHORT_OPTIONS) if config is not None else []
    group = parser.getgroup("embinit", "embinit: claims that train models")
    for name, settings in OPTIONS.items():
        short = [f"--{name}"] if name in wanted or "all" in wanted else []
        dest = f"embinit_{name.replace('-', '_')}"
        try:
            group.addoption(f"--embinit-{name}", *short, dest=dest, **settings)
        except (ArgumentError, ValueError) as error:
            raise pytest.UsageError(
                f"{SHORT_OPTIONS} asks for --{name}, which another plugin has ({error}); list the "
                "others there, or leave that plugin out with -p no:NAME"
            ) from None


def pytest_configure(config: pytest.Config) -> None:
    """Loads the session at once where the project or the command line asks for it.

    Raises:
        pytest.UsageError: One of the options can't be used.
    """
    config.stash[STARTED], config.stash[BEGAN] = time.time(), time.monotonic()
    if _distributes(config):
        config.pluginmanager.register(UnusableInWorkers())
    if _is_asked_for(config):
        claim_session(config)
    elif _distributes(config):
        config.pluginmanager.register(Controller(config))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """Ends a session of claims with a status of its own where an exception would end it.

    Python would end with 1, as though a claim was refuted.
    """
    try:
        result = yield
        if config.pluginmanager.has_plugin(NAME):
            sys.stdout.flush()
        return result
    except (BrokenPipeError, pytest.UsageError):
        raise  # pytest answers these itself
    except Exception as error:
        if not config.pluginmanager.has_plugin(NAME) or hasattr(config, "workerinput"):
            raise  # a worker's controller learns of it
        from embinit.errors import Status, is_unwritable

        if not is_unwritable(error):
            traceback.print_exc()
            return Status.BROKEN
        # What is still buffered would be written, and fail, once more.
        with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        with contextlib.suppress(OSError):
            print(f"embinit: the output can't be written: {error}", file=sys.stderr)
        return Status.UNWRITABLE


def _distributes(config: pytest.Config) -> bool:
    """Whether this is a controller of pytest-xdist, started with ``-n`` or with ``--tx``."""
    if hasattr(config, "workerinput"):
        return False
    by_tx = bool(config.getoption("tx", None)) and config.getoption("dist", "no") != "no"
    return bool(config.getoption("numprocesses", None)) or by_tx


def _is_asked_for(config: pytest.Config) -> bool:
    given = any(
        config.getoption(f"embinit_{name.replace('-', '_')}") != settings["default"]
        for name, settings in OPTIONS.items()
    )
    return given or bool(config.getini(SHORT_OPTIONS))


def claim_session(config: pytest.Config) -> ClaimSession:
    """The plugin that holds the session's claims, loaded when it is first asked for.

    Raises:
        pytest.UsageError: One of the options can't be used.
    """
    loaded: ClaimSession | None = config.pluginmanager.get_plugin(NAME)
    if loaded is None:
        from embinit.pytest_plugin.session import ClaimSession

        loaded = ClaimSession(config)
        config.pluginmanager.register(loaded, NAME)
    return loaded


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Hands a claim to the session; other tests are left alone."""
    statements = sys.modules.get("embinit.claims.statements")
    if statements is not None and statements.Statement.of(metafunc.function) is not None:
        claim_session(metafunc.config).parametrise(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Makes a failed test of a module of claims that can't be imported, where claims are run."""
    report = yield
    if (
        report.failed
        and isinstance(collector, pytest.Module)
        and not collector.config.option.collectonly
    ):
        from embinit.pytest_plugin.unloadable import Unloadable

        failing = Unloadable.of(report, collector)
        if failing is not None:
            claim_session(collector.config)
            made = pytest.CollectReport(report.nodeid, "passed", None, [failing])
            made.sections = report.sections
            return made
    return report


class UnusableInWorkers:
    """Ends a session of pytest-xdist as one process would end it that can't use its options."""

    def __init__(self) -> None:
        self._told: str | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Keeps what a worker could not use."""
        self._told = getattr(node, "workeroutput", {}).get(UNUSABLE, self._told)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        """Tells it.

        Raises:
            pytest.UsageError: There is something.
        """
        result = yield
        if self._told is not None:
            raise pytest.UsageError(self._told)
        return result


class Controller:
    """Waits for a worker's first claim in a controller of pytest-xdist, which collects nothing."""

    def __init__(self, config: pytest.Config) -> None:
        """Waits in the session of ``config``."""
        self._config = config
        self._crashes: list[pytest.TestReport] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tells a worker whose it is, so that its plan is found here."""
        node.workerinput[CONTROLLER] = os.getpid()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Loads the session when a claim is reported, and tells it of workers that crashed."""
        if report.when not in PHASES:
            self._crashes.append(report)
        elif any(name == MARK for name, _ in report.user_properties):
            self._config.pluginmanager.unregister(self)
            session = claim_session(self._config)
            session.begin()
            session.tell_outlook()
            for early in (*self._crashes, report):
                session.pytest_runtest_logreport(early)
