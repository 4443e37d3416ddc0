"""The pytest plugin: the options, and a hook that waits for the first claim.

pytest loads this module in every session of every project, so it imports nothing but pytest and the
options; ``session.ClaimSession`` is loaded when a claim is collected or an option is given. Every
option is called ``--embinit-…``. A project that wants the short names lists them in its
configuration: ``embinit_short_options = ["tier", "seeds"]``, or ``["all"]``.
"""

from __future__ import annotations

import re
import sys
import time
from argparse import ArgumentError
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Literal

import pytest

from embinit.options import OPTIONS, SETTINGS, STRICT

if TYPE_CHECKING:
    from embinit.pytest_plugin.conclusion import Conclusion
    from embinit.pytest_plugin.session import ClaimSession

NAME = "embinit-claims"
RESULT = "embinit_result"
"""The attribute of a test's reports that holds what came of a claim (``items.ItemResult``)."""
CONTROL = "control"
"""The marker of a test with ``seeds`` that is a control, where the project has none so called."""
MARKER = f"{CONTROL}: embinit: what this test with seeds states must be found"
SHORT_OPTIONS = "embinit_short_options"
PHASES = ("setup", "call", "teardown")
"""A worker that crashed has its test reported as failed in none of them, with no result."""
COLLECTED: pytest.StashKey[dict[str, tuple[pytest.Item | pytest.Collector, ...]]] = (
    pytest.StashKey()
)
"""All that was found in each file and class, of which a test's id selects one."""
BEGAN: pytest.StashKey[float] = pytest.StashKey()
"""When the session began, by ``time.monotonic``: claims may be met long before all is loaded."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Adds the options, under short names too where the project asks for them."""
    parser.addini(
        SHORT_OPTIONS,
        "embinit's options that are there without their prefix: their names, or all",
        type="args",
    )
    for name, text in SETTINGS.items():
        kind: Literal["bool", "string"] = "bool" if name == STRICT else "string"
        parser.addini(name, text, type=kind)
    config = pluginmanager.get_plugin("pytestconfig")
    wanted = config.getini(SHORT_OPTIONS) if config is not None else []
    group = parser.getgroup("embinit", "embinit: test claims about training")
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
    """Loads the session at once where the project or the command line asks for it."""
    config.stash[BEGAN] = time.monotonic()
    if not any(re.match(rf"{CONTROL}\b", line) for line in config.getini("markers")):
        config.addinivalue_line("markers", MARKER)
    if _distributes(config):
        from embinit.pytest_plugin.claims_alone import take_over

        take_over(config)
    if _is_asked_for(config):
        claim_session(config)
    elif _distributes(config):
        config.pluginmanager.register(Controller(config))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """Ends a session of claims with a status of its own where an exception would end it."""
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
        from embinit.errors import status_of

        return status_of(error)


def _distributes(config: pytest.Config) -> bool:
    """Whether this is a controller of pytest-xdist."""
    return not hasattr(config, "workerinput") and config.getoption("dist", "no") != "no"


def _is_asked_for(config: pytest.Config) -> bool:
    given = any(
        config.getoption(f"embinit_{name.replace('-', '_')}") != settings.get("default")
        for name, settings in OPTIONS.items()
    )
    return given or any(map(config.getini, (SHORT_OPTIONS, *SETTINGS)))


def is_control(item: pytest.Item | pytest.Collector) -> bool:
    """Whether a test is marked as a control, by embinit's marker and not by the project's own."""
    ours = MARKER in item.config.getini("markers")
    return ours and item.get_closest_marker(CONTROL) is not None


def claim_session(config: pytest.Config) -> ClaimSession:
    """The plugin that holds the session's claims, loaded when it is first asked for."""
    loaded: ClaimSession | None = config.pluginmanager.get_plugin(NAME)
    if loaded is None:
        from embinit.pytest_plugin.session import ClaimSession

        loaded = ClaimSession(config)
        config.pluginmanager.register(loaded, NAME)
    return loaded


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Hands a claim to the session; other tests are left alone."""
    statements = sys.modules.get("embinit.claims.statements")
    stated = statements is not None and statements.Statement.of(metafunc.function) is not None
    if not stated and _takes_seeds(metafunc):
        from embinit.pytest_plugin.items import state_seeds

        state_seeds(metafunc)
        stated = True
    if stated:
        claim_session(metafunc.config).parametrise(metafunc)


def _takes_seeds(metafunc: pytest.Metafunc) -> bool:
    """Whether a test takes ``seeds``, and nobody gives it: no fixture, no parametrization."""
    item = metafunc.definition
    known = item._fixtureinfo
    wanted = "seeds" in known.argnames and "seeds" not in known.name2fixturedefs
    return wanted and "seeds" not in parametrized(item)


def parametrized(item: pytest.Item) -> set[str]:
    """The arguments that a test's marks ``parametrize`` give."""
    marks = item.iter_markers("parametrize")
    given = [mark.args[0] if mark.args else mark.kwargs.get("argnames", ()) for mark in marks]
    every = [names.split(",") if isinstance(names, str) else names for names in given]
    return {name.strip() for names in every for name in names}


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Has others run where a module of claims can't be imported, which alone would end pytest."""
    report = yield
    option = collector.config.option
    if report.failed and isinstance(collector, pytest.Module) and not option.collectonly:
        from embinit.pytest_plugin.claims_alone import text_of

        if "embinit" in text_of(collector.path):
            from embinit.pytest_plugin.items import explain  # it takes long to load

            if explain(report, collector):
                claim_session(collector.config)
                option.continue_on_collection_errors = True
                setattr(report, RESULT, "")  # a controller of pytest-xdist learns of claims by it
    if "embinit.claims.statements" in sys.modules and report.passed:
        collector.config.stash.setdefault(COLLECTED, {})[collector.nodeid] = tuple(report.result)
    return report


class Controller:
    """A controller of pytest-xdist, which learns of claims from its workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._crashes: list[pytest.TestReport] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Loads the session when a module of claims can't be imported."""
        if hasattr(report, RESULT):
            self._conclusion().pytest_collectreport(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Loads the session when a claim is reported, and tells it of workers that crashed."""
        if report.when not in PHASES:
            self._crashes.append(report)
        elif hasattr(report, RESULT):
            conclusion = self._conclusion()
            for early in (*self._crashes, report):
                conclusion.pytest_runtest_logreport(early)

    def _conclusion(self) -> Conclusion:
        """The session's conclusion, which learns of all later reports itself."""
        self._config.pluginmanager.unregister(self)
        return claim_session(self._config).conclusion
