"""The pytest side: options, collection of claims, training on demand, verdicts as outcomes.

A claim test is parametrised over its experiments on the tier, read once at collection to learn
its runs, and decided when they are stored. SUPPORTED passes, REFUTED fails, UNDECIDED is an
expected failure (``--strict`` makes it fail), NOT RUN is skipped; a control passes when its verdict
is the one it expects. Verdicts travel with the reports, so that they reach the controller from any
worker, which writes ``verdicts.json`` and the HTML report.
"""

from __future__ import annotations

import contextlib
import datetime
import gc
import json
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embinit.claims.audit import Audit, Finding, finding_of
from embinit.claims.budgets import unequal
from embinit.claims.claim import ArmsOfExperiment, Claim, comparisons_of
from embinit.claims.comparisons import (
    OTHER_SEEDS,
    Comparison,
    Decider,
    Decision,
    read_by,
    verdict_of,
)
from embinit.claims.experiments import Experiment
from embinit.claims.looks import look, schedule
from embinit.claims.paired_tests import Verdict
from embinit.claims.statements import Statement
from embinit.data.sources import named_source
from embinit.errors import InputError
from embinit.papers.kim2024.experiments import TIERS, arm_label, experiments, pretrainings, tier
from embinit.pytest_plugin import progress_line
from embinit.report import baseline
from embinit.report.baseline import Change, changes
from embinit.report.verdicts import add_holm, audit_entry, claim_entry, properties
from embinit.runs import progress
from embinit.runs.machine import end_with
from embinit.runs.session import Session
from embinit.runs.store import DamagedWarning, Store
from embinit.specs import RunSpec

SESSION: pytest.StashKey[Session] = pytest.StashKey()
VERDICTS: pytest.StashKey[list[dict[str, Any]]] = pytest.StashKey()
AUDITS: pytest.StashKey[list[dict[str, Any]]] = pytest.StashKey()
COMPARISONS: pytest.StashKey[list[Comparison]] = pytest.StashKey()
UNEQUAL: pytest.StashKey[str | None] = pytest.StashKey()
STARTED: pytest.StashKey[float] = pytest.StashKey()
CLUSTER: pytest.StashKey[str] = pytest.StashKey()
PROPERTY = "embinit.verdict"
AUDIT_PROPERTY = "embinit.claims.audit"
MARK = "embinit.statement"
CONTROLLER = "embinit.controller"
CLUSTER_ADDRESS = "embinit.cluster"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("embinit", "embinit: claims that train models")
    group.addoption("--tier", default="micro", choices=sorted(TIERS), help="size (default: micro)")
    group.addoption(
        "--data-dir",
        default=None,
        help="directory with real data and vectors (default: EMBINIT_DATA, else none)",
    )
    group.addoption(
        "--source",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="read the source NAME from a file of vectors or a Hugging Face directory; repeatable "
        "(default: as it lies in the data directory)",
    )
    group.addoption("--device", default="cpu", help="cpu, cuda, cuda:N (default: cpu)")
    group.addoption(
        "--engine",
        default="local",
        choices=("local", "ray"),
        help="who trains: this machine's cores or GPU, or a Ray cluster (default: local)",
    )
    group.addoption(
        "--ray-address",
        default=None,
        metavar="HOST:PORT",
        help="the Ray cluster that --engine ray trains on, or auto (default: one of this machine)",
    )
    group.addoption(
        "--gpu-share",
        type=float,
        default=1.0,
        help="how much of a GPU a cohort takes with --engine ray, above 0 to 1 (default: 1)",
    )
    group.addoption(
        "--seeds", type=int, default=None, help="replicates per arm (default: the tier's, 5)"
    )
    group.addoption(
        "--max-seeds",
        type=int,
        default=None,
        help="look again at what is UNDECIDED, with twice the seeds each time, up to so many "
        "(default: look once)",
    )
    group.addoption(
        "--budget",
        type=float,
        default=None,
        metavar="MINUTES",
        help="begin no further look after so many minutes (default: no limit)",
    )
    group.addoption(
        "--baseline",
        default=None,
        metavar="VERDICTS",
        help="a blessed verdicts.json: fail where one of its findings is lost, tell what moved",
    )
    group.addoption(
        "--store", default=".embinit/store", help="where runs are kept (default: .embinit/store)"
    )
    group.addoption(
        "--no-train",
        action="store_true",
        help="judge what the store has, and train nothing (default: train what it lacks)",
    )
    group.addoption(
        "--report-dir",
        default="reports/latest",
        help="where index.html and verdicts.json go (default: reports/latest)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        end_with(os.getppid())
    else:
        progress.sweep(_marks(config))
    # Where warnings are errors, a damaged record must still be made again, a report still written.
    config.addinivalue_line("filterwarnings", "default::embinit.runs.store.DamagedWarning")
    config.stash[VERDICTS] = []
    config.stash[AUDITS] = []
    _broken.clear()
    config.stash[STARTED] = time.time()
    seeds = config.getoption("seeds")
    if seeds is not None and seeds < 2:
        raise pytest.UsageError(f"--seeds {seeds}: a paired test needs at least 2; 5 is usual")
    for name, most in (("seeds", seeds), ("max-seeds", config.getoption("max_seeds"))):
        if most is not None and most > OTHER_SEEDS:
            raise pytest.UsageError(
                f"--{name} {most}: at most {OTHER_SEEDS}, where the seeds of controls begin"
            )
    try:
        schedule(seeds or tier(config.getoption("tier")).seeds, config.getoption("max_seeds"))
    except InputError as error:
        raise pytest.UsageError(f"--max-seeds: {error}") from None
    if config.getoption("baseline") is not None:
        try:
            changes({**_tier_of(config), "claims": []}, baseline.read(_baseline(config)))
        except InputError as error:
            raise pytest.UsageError(f"--baseline: {error}") from None
    data_dir = _data_dir(config)
    if data_dir is not None and not data_dir.is_dir():
        raise pytest.UsageError(f"--data-dir {data_dir} is not a directory; name one that exists")
    _sources(config)
    device = str(config.getoption("device"))
    if _on_ray(config):
        _join_ray(config, device)
    elif device != "cpu":
        _check_device(device)


def pytest_unconfigure(config: pytest.Config) -> None:
    if CLUSTER in config.stash:
        from embinit.runs import ray_engine

        ray_engine.disconnect()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker whose it is, and which cluster trains."""
    node.workerinput[CONTROLLER] = os.getpid()
    if CLUSTER in node.config.stash:
        node.workerinput[CLUSTER_ADDRESS] = node.config.stash[CLUSTER]


def _controller(config: pytest.Config) -> int:
    """The process that shows this session's progress: the workers' one, else this."""
    return int(getattr(config, "workerinput", {}).get(CONTROLLER, os.getpid()))


def _baseline(config: pytest.Config) -> Path:
    return Path(config.rootpath / config.getoption("baseline"))


def _tier_of(config: pytest.Config) -> dict[str, Any]:
    return {"session": {"tier": config.getoption("tier")}}


def _changed(config: pytest.Config) -> list[Change]:
    """What became of the baseline's findings, where one was named."""
    if config.getoption("baseline") is None or hasattr(config, "workerinput"):
        return []
    latest = {**_tier_of(config), "claims": config.stash[VERDICTS]}
    return changes(latest, baseline.read(_baseline(config)))


def _check_device(device: str) -> None:
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise pytest.UsageError(
            f"--device {device} can't be used here ({reason}); try cpu"
        ) from None


def _on_ray(config: pytest.Config) -> bool:
    return bool(config.getoption("engine") == "ray")


def _join_ray(config: pytest.Config, device: str) -> None:
    """Join the cluster before anything else, and workers the controller's; see ``ray_engine``."""
    from embinit.runs import ray_engine

    share = config.getoption("gpu_share")
    if not 0 < share <= 1:
        raise pytest.UsageError(f"--gpu-share {share}: a share of one GPU is above 0 and up to 1")
    if config.option.collectonly or config.getoption("no_train"):
        return
    workerinput = getattr(config, "workerinput", {})
    try:
        config.stash[CLUSTER] = ray_engine.connect(
            workerinput.get(CLUSTER_ADDRESS, config.getoption("ray_address")), device
        )
    except InputError as error:
        raise pytest.UsageError(str(error)) from None


def _data_dir(config: pytest.Config) -> Path | None:
    named = config.getoption("data_dir") or os.environ.get("EMBINIT_DATA")
    return Path(named).absolute() if named else None


def _sources(config: pytest.Config) -> list[tuple[str, Path]]:
    """The pairs of name and path that --source gives."""
    try:
        return [named_source(given) for given in config.getoption("source")]
    except InputError as error:
        raise pytest.UsageError(str(error)) from None


def _session(config: pytest.Config) -> Session:
    """The worker's session, opened when the first claim is collected."""
    if SESSION not in config.stash:
        try:
            store = Store(config.rootpath / config.getoption("store"))
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
        data_dir, device = _data_dir(config), config.getoption("device")
        may_train = not config.getoption("no_train")
        where = (store, data_dir, device, _sources(config), may_train)
        if _on_ray(config):
            from embinit.runs.ray_engine import RaySession

            config.stash[SESSION] = RaySession(*where, gpu_share=config.getoption("gpu_share"))
        else:
            config.stash[SESSION] = Session(*where)
    return config.stash[SESSION]


def _replicated(found: Sequence[Experiment], config: pytest.Config) -> list[Experiment]:
    """The experiments with as many seeds as ``--seeds`` asks for."""
    seeds = config.getoption("seeds")
    return [replace(one, seeds=seeds or one.seeds) for one in found]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    claim = Claim.of(metafunc.function)
    if claim is None:
        return
    found = _replicated(claim.experiments(metafunc.config.getoption("tier")), metafunc.config)
    metafunc.parametrize("experiment", found, ids=[one.name for one in found], indirect=True)


@pytest.fixture
def experiment(request: pytest.FixtureRequest) -> ArmsOfExperiment:
    """The arms of the experiment that a claim is tested in."""
    return _arms(request.param, request.config)


def _has_no_experiment(item: pytest.Item) -> bool:
    """Whether pytest stands in for a claim that was parametrised with nothing."""
    if not isinstance(item, pytest.Function) or Claim.of(item.function) is None:
        return False
    return not isinstance(item.callspec.params["experiment"], Experiment)


def _experiment_of(item: pytest.Function) -> Experiment:
    one = item.callspec.params["experiment"]
    assert isinstance(one, Experiment)
    return one


def _arms(one: Experiment, config: pytest.Config) -> ArmsOfExperiment:
    name = config.getoption("tier")
    every = _replicated(experiments(name), config)
    others = {
        other.name.split("-", 1)[0]: other
        for other in (*every, *_replicated(pretrainings(name), config))
        if other.data.task == one.data.task
    }
    return ArmsOfExperiment(one, others, every)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Read every selected claim once, and plan the runs of all of them.

    A claim that has no experiment on this tier is deselected: there is nothing to run.
    """
    absent = [item for item in items if _has_no_experiment(item)]
    if absent:
        config.hook.pytest_deselected(items=absent)
        items[:] = [item for item in items if item not in absent]
    wanted: list[list[RunSpec]] = []
    for item in items:
        if not isinstance(item, pytest.Function) or Statement.of(item.function) is None:
            continue
        item.user_properties.append((MARK, ""))
        claim = Claim.of(item.function)
        if claim is None:
            continue
        one = _experiment_of(item)
        comparisons = comparisons_of(item.function, _arms(one, config))
        item.stash[COMPARISONS] = comparisons
        item.stash[UNEQUAL] = unequal(comparisons, claim.equal) if claim.equal else None
        if item.stash[UNEQUAL]:
            continue
        wanted.append([run for comparison in comparisons for run in comparison.runs()])
    if wanted and not config.option.collectonly:
        session = _session(config)
        # A claim that lacks one run can't be decided, so its others are trained for nothing.
        possible = [runs for runs in wanted if not any(map(session.problem, runs))]
        session.want(run for runs in possible for run in runs)
        progress.tell_plan(session, _controller(config))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    claim, audit = Claim.of(pyfuncitem.function), Audit.of(pyfuncitem.function)
    if audit is not None:
        _settle_audit(pyfuncitem, audit)
        return True
    if claim is None:
        return None
    config, comparisons = pyfuncitem.config, pyfuncitem.stash[COMPARISONS]
    session = _session(config)
    runs = [run for comparison in comparisons for run in comparison.runs()]
    caught = pyfuncitem.stash[UNEQUAL]
    problems = [caught] if caught else sorted(filter(None, map(session.problem, runs)))
    problems = list(dict.fromkeys(problems))
    alpha = claim.family.share(config.getoption("tier"))
    one, place = _experiment_of(pyfuncitem), (pyfuncitem.nodeid, config.getoption("tier"))
    looks = schedule(one.seeds, config.getoption("max_seeds"))
    if problems:
        reason = "; ".join(problems)
        decisions = [Decision(open_, None, (), (), reason, alpha) for open_ in comparisons]
    else:
        decisions = look(
            comparisons,
            looks,
            alpha,
            lambda runs: _ensure(config, runs),
            session.record,
            lambda more: _may_go_on(config, more),
        )
    verdict = verdict_of(decisions)
    entry = claim_entry(
        claim, one, *place, looks, decisions, alpha, session.key, session.record, bool(caught)
    )
    pyfuncitem.user_properties.append((PROPERTY, json.dumps(entry)))
    pyfuncitem.user_properties.extend(properties(entry))
    if not (caught and claim.expects is Verdict.NOT_RUN):
        _settle(pyfuncitem, claim, verdict, decisions, bool(config.getini("strict")))
    return True


def _ensure(config: pytest.Config, runs: list[RunSpec]) -> None:
    """Have ``runs`` stored; those of a later look join the plan first."""
    session = _session(config)
    planned = set(session.wanted)
    more = [run for run in runs if run not in planned]
    if not more:
        return session.ensure(runs)
    session.want([*session.wanted, *more])
    progress.tell_plan(session, _controller(config))
    with _helped(config):
        return session.ensure(runs)


def _may_go_on(config: pytest.Config, runs: list[RunSpec]) -> bool:
    """Whether a later look may begin: in time, and with runs that are stored or may be trained."""
    budget, session = config.getoption("budget"), _session(config)
    in_time = budget is None or time.time() - config.stash[STARTED] < 60 * budget
    return in_time and not any(map(session.problem, runs))


def _helped(config: pytest.Config) -> contextlib.AbstractContextManager[None]:
    """Others train the plan meanwhile: the other cores for a session alone, or the cluster."""
    helps = SESSION in config.stash and (_alone(config) or _on_ray(config))
    return _session(config).helped() if helps else contextlib.nullcontext()


def _alone(config: pytest.Config) -> bool:
    """Whether this process has no workers beside it, and is none."""
    return not hasattr(config, "workerinput") and not config.getoption("numprocesses", None)


def _settle_audit(item: pytest.Function, audit: Audit) -> None:
    """An inconsistent paper is a known result, which nothing here can mend: xfailed."""
    arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
    checks = item.function(**arguments)
    finding = finding_of(checks)
    item.user_properties.append(
        (AUDIT_PROPERTY, json.dumps(audit_entry(audit, item.nodeid, checks)))
    )
    if finding is Finding.INCONSISTENT:
        wrong = "\n".join(f"  {check}" for check in checks if not check.consistent)
        pytest.xfail(f"{audit.says}: {finding}\n{wrong}")


def _settle(
    item: pytest.Function,
    claim: Claim,
    verdict: Verdict,
    decisions: list[Decision],
    strict: bool,
) -> None:
    """Turn the verdict into pytest's outcome, with the numbers in the message."""
    said = f"{claim.says}: {verdict}\n" + "\n".join(f"  {decision}" for decision in decisions)
    if verdict is Verdict.NOT_RUN:
        pytest.skip(said)
    if claim.expects is not None:
        if verdict is not claim.expects:
            pytest.fail(f"a control must come out {claim.expects}\n{said}", pytrace=False)
        return
    if verdict is Verdict.UNDECIDED and not strict:
        pytest.xfail(said)
    if verdict is not Verdict.SUPPORTED:
        pytest.fail(said, pytrace=False)
    with read_by(Decider(decisions=decisions)):
        item.function(experiment=item.funcargs["experiment"])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if _collector is None:
        return
    told, ours = 0, False
    for name, value in report.user_properties:
        ours |= name == MARK
        if name in _collector:
            told += 1
            if report.when == "call":
                _collector[name].append(json.loads(str(value)))
    # A worker that crashed has its test reported as failed in no phase, with no properties.
    crashed = report.when not in ("setup", "call", "teardown")
    if report.failed and (crashed or (ours and not told)):
        _broken.append(report.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A claim that broke has no verdict: that is an error, never a refuted finding (exit 1).

    A finding of the baseline that was not run is lost too, though pytest only skipped it.
    """
    if _broken:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
    elif session.exitstatus == 0 and any(change.lost for change in _changed(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


_collector: dict[str, list[dict[str, Any]]] | None = None
_broken: list[str] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    global _collector
    config = session.config
    if hasattr(config, "workerinput"):
        with _helped(config):
            return (yield)
    _collector = {PROPERTY: config.stash[VERDICTS], AUDIT_PROPERTY: config.stash[AUDITS]}
    with progress_line.shown(config, _marks(config)), _helped(config):
        return (yield)


def _marks(config: pytest.Config) -> Path:
    """Where sessions tell what they plan and train."""
    return Path(config.rootpath / config.getoption("store")).absolute() / "sessions"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> Iterator[None]:
    """Verdicts come last, below what pytest tells of every test."""
    yield
    with warnings.catch_warnings():
        # pytest's own filters are those from before pytest_configure here.
        warnings.simplefilter("default", DamagedWarning)
        _conclude(terminalreporter, config)


def _conclude(terminalreporter: Any, config: pytest.Config) -> None:
    """Write the report, and tell the verdicts."""
    claims, audits = config.stash.get(VERDICTS, []), config.stash.get(AUDITS, [])
    if not (claims or audits) or hasattr(config, "workerinput"):
        return
    from embinit.report import past, write_report
    from embinit.report.verdict_table import clean, verdict_lines

    # statsmodels collects garbage once a family, and pytest at the end: not all of torch each time.
    gc.freeze()
    for entries in (claims, audits):
        entries.sort(key=lambda entry: entry["id"])
    add_holm(claims)
    store = Store(config.rootpath / config.getoption("store"))
    document = {
        "schema_version": 1,
        "session": _about(config, claims, store),
        "claims": claims,
        "audits": audits,
    }
    keys = {key for entry in claims for one in entry["comparisons"] for key in one["runs"]}
    records = {
        key: {"key": key, "label": arm_label(record["spec"]), **record}
        for key in keys
        if (record := store.get(key))
    }
    beside = [] if config.getoption("baseline") is None else [_baseline(config).parent / past.NAME]
    page = write_report(document, records, config.rootpath / config.getoption("report_dir"), beside)
    terminalreporter.section("verdicts")
    writer = config.get_terminal_writer()
    width = writer.fullwidth if terminalreporter.isatty else None
    for line in verdict_lines(claims, audits, width, writer.hasmarkup):
        terminalreporter.write_line(line)
    if config.getoption("baseline") is not None:
        terminalreporter.section("against the baseline")
        changed = _changed(config)
        for change in changed:
            said = f"{'LOST' if change.lost else 'moved'}: {change}"
            for line in said.splitlines():
                terminalreporter.write_line(clean(line))
        if not changed:
            terminalreporter.write_line("every verdict as it was, every effect where it was")
    terminalreporter.write_line(f"report: {page}")


def _device_told(config: pytest.Config) -> str:
    """What trained; the nodes of a cluster may have what this machine has not."""
    from embinit.runs.results import device_name

    device = str(config.getoption("device"))
    return f"{device} (Ray cluster)" if _on_ray(config) else device_name(device)


def _about(config: pytest.Config, claims: list[dict[str, Any]], store: Store) -> dict[str, Any]:
    from embinit.runs.results import versions

    started = config.stash[STARTED]
    keys = {key for entry in claims for one in entry["comparisons"] for key in one["runs"]}
    fresh = sum(
        store.path(key).stat().st_mtime >= started for key in keys if store.path(key).exists()
    )
    return {
        "started": datetime.datetime.fromtimestamp(started, datetime.UTC).isoformat(),
        "wall_seconds": round(time.time() - started, 1),
        "tier": config.getoption("tier"),
        "device": _device_told(config),
        "seeds": config.getoption("seeds") or tier(config.getoption("tier")).seeds,
        "command": " ".join(["pytest", *config.invocation_params.args]),
        "runs": {"wanted": len(keys), "trained": fresh, "stored": len(keys) - fresh},
        "versions": versions(),
        "data_dir_given": _data_dir(config) is not None,
    }


def pytest_report_header(config: pytest.Config) -> str:
    """What the claims will run as."""
    said = f"embinit: tier {config.getoption('tier')}, device {config.getoption('device')}"
    return f"{said}, Ray at {config.stash[CLUSTER]}" if CLUSTER in config.stash else said
