"""A test as a session reads it: its claim in its experiment, its names, its errors."""

from __future__ import annotations

import functools
import inspect
import json
import re
import traceback
import unittest
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from embinit.claims.definitions import Family, argument_of
from embinit.claims.experiments import Experiment
from embinit.claims.judging import Case, read
from embinit.claims.lock import nearest_lock
from embinit.claims.records import AuditRecord, ClaimRecord
from embinit.claims.seeds import NAME as SEEDS
from embinit.claims.seeds import SeedsClaim, SeedsExperiment, stated_by
from embinit.claims.statements import line_of
from embinit.errors import InputError, lacking_models, require_models
from embinit.files.typed import as_json, from_json
from embinit.pytest_plugin import RESULT, is_control
from embinit.pytest_plugin.claims_alone import text_of
from embinit.runs.kinds import kind_of
from embinit.runs.modules import Home
from embinit.stats.statements import Verdict

CASE: pytest.StashKey[Case] = pytest.StashKey()
"""A test's claim as it was read."""
UNREADABLE: pytest.StashKey[str] = pytest.StashKey()
"""Why a test's claim can't be read."""


@dataclass
class ItemResult:
    """The result of a claim's or an audit's test, which travels with the test's reports.

    ``home`` is the module, ``named`` its ``nodeid`` and ``id``; ``claim`` and ``audit`` are
    records of the document. ``lost`` has the keys of the runs that left no result, ``made`` the
    names of the records that the session has written.
    """

    home: Home
    named: dict[str, str]
    claim: ClaimRecord | None = None
    audit: AuditRecord | None = None
    failure: str = ""
    lost: Sequence[str] = ()
    unwritten: bool = False
    registered: bool = False
    made: Sequence[str] = ()

    @classmethod
    def of(cls, report: pytest.TestReport) -> ItemResult | None:
        """The result that a report holds; None for other tests' reports."""
        text = getattr(report, RESULT, None)
        return None if text is None else from_json(cls, json.loads(text))

    def attach(self, report: pytest.TestReport) -> None:
        """Lets a report hold the result, as text: pytest-xdist sends no numbers of numpy's."""
        setattr(report, RESULT, json.dumps(as_json(self)))


ITEM_RESULT: pytest.StashKey[ItemResult] = pytest.StashKey()
"""What came of a test so far."""


def parameter(item: pytest.Function) -> Experiment | None:
    """The experiment among a test's parameters, named after the others for ``seeds``; or None."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    known = next((value for value in params.values() if isinstance(value, Experiment)), None)
    if isinstance(known, SeedsExperiment):
        others = [part for part in item.callspec.id.split("-") if part != known.name]
        return replace(known, name="-".join(others) or known.name)
    return known


def experiments_name(function: Any, cls: type | None) -> str:
    """The name of the argument that takes a claim's experiment; InputError without one."""
    names = list(inspect.signature(function).parameters)
    if SeedsClaim.of(function) is not None:
        return SEEDS
    if cls is not None and names[:1] == ["self"]:
        return argument_of(functools.partial(function, None))
    return argument_of(function)


def bound(item: pytest.Function) -> Callable[..., None]:
    """A claim's test as it takes its experiment alone, with its other parameters as they are.

    Fixtures other than ``seeds`` aren't there when it is read, and are an InputError.
    """
    test: Callable[..., None] = item.obj
    if inspect.iscoroutinefunction(test):
        raise InputError("a claim is read and never awaited: write def in place of async def")
    if SeedsClaim.of(item.function) is None:
        return test
    if any(mark.kwargs.get("indirect") for mark in item.iter_markers("parametrize")):
        raise InputError(f"a test with {SEEDS} is called before fixtures run: remove indirect")
    others = {name: value for name, value in item.callspec.params.items() if name != SEEDS}
    taken = inspect.signature(test).parameters
    if lacking := [name for name in taken if name not in (SEEDS, *others)]:
        raise InputError(
            f"a test with {SEEDS} is called before fixtures run, so it cannot use the fixture "
            f"{' or '.join(lacking)}; make its value in the function that trains"
        )

    def alone(seeds: Experiment) -> None:
        test(**{SEEDS: seeds}, **others)

    alone.__dict__.update(item.function.__dict__)
    alone.__name__ = item.function.__name__
    return alone


def read_item(item: pytest.Function, family: Family, most_seeds: int | None = None) -> Case:
    """Reads the claim in its experiment, with ``most_seeds`` in place of the experiment's."""
    given = parameter(item)
    on_seeds = SeedsClaim.of(item.function) is not None
    if given is None or (len(item.callspec.params) > 1 and not on_seeds):
        raise InputError(
            "a claim can't be parametrised: name several experiments, or write several claims"
        )
    if most_seeds is not None:
        given = replace(given, most_seeds=most_seeds)
    case = read(bound(item), given, family, nearest_lock(item.path))
    # Without them it could not run, which is no result: a session of such claims must not pass.
    arms = (run for comparison in case.comparisons for run in comparison.arms())
    if not item.config.option.collectonly and any(
        getattr(kind_of(run), "needs_models", False) for run in arms
    ):
        require_models()
    return case


def cannot_be_read(item: pytest.Function, error: BaseException) -> None:
    """Lets a claim fail with one line when its turn comes, or be skipped if that is what it asks.

    What ends a session is raised.
    """
    if ends_session(error):
        raise error
    if isinstance(error, pytest.skip.Exception | unittest.SkipTest):
        item.add_marker(pytest.mark.skip(reason=str(error)))
    else:
        line = line_in(item.path, error)[0] or line_of(item.function, item.path)
        item.stash[UNREADABLE] = one_line(item, line, error)
    item.fixturenames.clear()  # it won't be called, and what it asks for may not be there


def ends_session(error: BaseException) -> bool:
    """Whether an error is meant for the session; pytest's other outcomes are for one test."""
    return isinstance(error, KeyboardInterrupt | pytest.exit.Exception)


def line_in(path: Path, error: BaseException) -> tuple[int | None, bool]:
    """The last line of a file that led to an error, if any, and whether it itself raised it."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno, True
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename) == path]
    return (own[-1].lineno, own[-1] is frames[-1]) if own else (None, False)


def one_line(node: pytest.Item | pytest.Collector, line: int, error: BaseException) -> str:
    """An error in one line: the node's file, the line, and what is wrong there."""
    if isinstance(error, ModuleNotFoundError):
        error = lacking_models(error) or error
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    what = text if isinstance(error, InputError) else f"{type(error).__name__}: {text}"
    if not isinstance(error, Exception):
        what = f"the claim's body raised {what}; it may skip, and else asserts comparisons alone"
    try:
        path = node.path.relative_to(node.config.rootpath)
    except ValueError:
        path = node.path
    return f"{path}:{line}: {what}"


def explain(report: pytest.CollectReport, module: pytest.Module) -> bool:
    """Ends the report of a module of claims that can't be imported with where and what is wrong.

    False for a module without claims.
    """
    call: pytest.CallInfo[object] | None = getattr(report, "call", None)
    error = None if call is None or call.excinfo is None else call.excinfo.value
    source = text_of(module.path)
    if error is None or not re.search(r"\bembinit\b", source) or "claim" not in source:
        return False
    if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
        error = error.__cause__
    number, raised_here = line_in(module.path, error)
    line = one_line(module, number or 1, error)
    # The line is not all of an error that comes from elsewhere, so pytest's account is kept.
    whole = isinstance(error, InputError) or raised_here
    report.longrepr = line if whole else f"{report.longreprtext}\n\n{line}"
    return True


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a report failed or was skipped, in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    skipped = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    text = str(skipped or (report.longreprtext if crash is None else crash.message))
    lines = [line.removeprefix("E ").strip() for line in text.splitlines() if line.strip()]
    last = crash is None and not report.skipped
    line = lines[-1 if last else 0] if lines else "it does not say why"
    return line.removeprefix("Failed: ").removeprefix("Skipped: ")


def argument(item: pytest.Function) -> str:
    """The test's node id as pytest's command line takes it.

    For a test of an installed package (``--pyargs``) pytest cuts its file's path short, so its
    module is named in the file's place.
    """
    outside = not item.path.is_relative_to(item.config.rootpath)
    if not (outside and item.config.option.pyargs):
        return item.nodeid
    return f"{item.module.__name__}::{item.nodeid.partition('::')[2]}"


def state_seeds(metafunc: pytest.Metafunc) -> None:
    """Makes a test with the fixture ``seeds`` a claim, or a control where it is marked so."""
    test, item = metafunc.function, metafunc.definition
    expects = Verdict.SUPPORTED if is_control(item) else None
    inside = item.path.is_relative_to(item.config.rootpath)
    home = item.path.relative_to(item.config.rootpath if inside else item.path.parent)
    name = ".".join(home.with_suffix("").parts)
    stated_by(test, name, test.__qualname__, expects)(test)
