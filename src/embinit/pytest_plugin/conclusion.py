"""The plugin that concludes: it collects the verdicts, sets the status, and writes the report."""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from embinit.errors import InputError, OutputError, Status, is_unwritable, printable
from embinit.files.writing import make_ignored
from embinit.options import LATEST
from embinit.pytest_plugin import PHASES, RESULT
from embinit.pytest_plugin.claims_alone import TRAINERS
from embinit.pytest_plugin.items import ItemResult, reason_of
from embinit.pytest_plugin.session_options import SessionOptions
from embinit.pytest_plugin.training import TrainingPlugin
from embinit.report.baseline import Since, compare
from embinit.report.document import Document, RunCounts, SessionRecord, Unjudged
from embinit.report.faults import faults, faults_of_session
from embinit.report.verdicts import not_beforehand
from embinit.runs.kept_runs import open_store
from embinit.runs.modules import load_modules
from embinit.runs.results import RunResult
from embinit.stats.statements import Verdict


class Conclusion:
    """The conclusion of a session of claims, in the process that the user called."""

    def __init__(self, options: SessionOptions, training: TrainingPlugin) -> None:
        self._options, self._training = options, training
        self._results: dict[str, ItemResult] = {}
        self._errors: dict[str, Unjudged] = {}  # tests of claims without a verdict
        self._skipped: dict[str, Unjudged] = {}
        self._unfinished: str | None = None  # why the session ended before each had one
        self._unwritten = False  # a result or the report could not be written
        self._reported = self._at_fault = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collects the verdicts from the reports; a claim without a verdict is broken."""
        result, crashed = ItemResult.of(report), report.when not in PHASES
        self._reported |= result is not None or crashed
        if result is None:
            if crashed:
                _note(self._errors, {"nodeid": report.nodeid}, reason_of(report))
            return
        module, file = result.home
        self._training.modules[module, file] = None
        self._results[result.named["nodeid"]] = result
        self._unwritten |= result.unwritten
        decided = result.registered or result.claim is not None or result.audit is not None
        # What fails before or after a claim's own test is no verdict either.
        if report.failed and (result.failure or not decided or report.when != "call"):
            _note(self._errors, result.named, result.failure or reason_of(report))
        if report.skipped and not decided and not self._training.registration:
            _note(self._skipped, result.named, reason_of(report))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that can't be collected may have claims, which then have no verdict."""
        if report.failed:
            self._reported |= hasattr(report, RESULT)
            _note(self._errors, {"nodeid": report.nodeid}, reason_of(report))
        blessed = self._options.blessed
        known = () if blessed is None else (claim.file for claim in blessed.claims)
        if report.skipped and report.nodeid in known:
            self._reported = True
            _note(self._skipped, {"nodeid": report.nodeid}, reason_of(report))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Keeps why the session was interrupted."""
        self._unfinished = str(excinfo.value) or "it was interrupted from the keyboard"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Sets pytest's exit status, to one of ``embinit.errors.Status``."""
        self._training.close()
        stopped = session.shouldfail or session.shouldstop
        # Where nothing but other tests is there, pytest's own status stands.
        asked = self._training.cases or self._reported or self._options.blessed is not None
        if self._unfinished is None and stopped and asked:
            self._unfinished = str(stopped)
        session.exitstatus = self._status(session.exitstatus)
        yield
        if self._unwritten:  # the summary has tried to write the report
            session.exitstatus = self._status(session.exitstatus)

    def _status(self, status: int) -> int:
        """What the session ends with, where pytest itself would end with ``status``."""
        if status in (Status.BROKEN, Status.UNUSABLE):
            return status
        if self._unfinished is not None:
            return Status.INTERRUPTED
        if self._unwritten:
            return Status.UNWRITABLE
        if self._errors:
            return Status.BROKEN
        # Where all that was asked for is skipped, or gone, pytest knows of no test.
        whole = status in (Status.OK, Status.NOT_OK, Status.NOTHING)
        judges = not (self._training.registration or self._options.config.option.collectonly)
        self._at_fault = whole and judges and bool(faults(self._outcome[0], self._since))
        return Status.NOT_OK if self._at_fault else status

    @functools.cached_property
    def _since(self) -> Since | None:
        """What changed since the baseline; None without one."""
        blessed, strict = self._options.blessed, self._options.strict
        return None if blessed is None else compare(self._outcome[0], blessed, strict)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Iterator[None]:
        """Writes the report and prints the verdicts, below pytest's own summary."""
        yield
        try:
            if (registration := self._training.registration) is not None:
                terminalreporter.section("registered")
                for line in [*registration.write()] or ["nothing was registered"]:
                    terminalreporter.write_line(printable(line))
            elif self._reported or self._at_fault:
                self._conclude(terminalreporter)
        except Exception as error:
            if not (isinstance(error, OutputError) or is_unwritable(error)):
                raise
            self._unwritten = True
            terminalreporter.write_line(printable(f"NOT WRITTEN: {error}"), red=True)

    @functools.cached_property
    def _outcome(self) -> tuple[Document, dict[str, RunResult]]:
        """The session's document, and the results of its claims' runs by key."""
        from embinit.report.making import make_document
        from embinit.runs.results import device_name, versions

        options, device = self._options, str(self._options.option("device"))
        # What claims register, here where no claim was collected.
        load_modules(self._training.modules)
        try:
            # A disk that is full can be read.
            store = open_store(options.path("store"), write=False)
        except InputError:
            store = None  # nothing was trained
        session = SessionRecord(
            started=datetime.fromtimestamp(options.started, UTC).isoformat(),
            wall_seconds=round(options.seconds, 1),
            tier=options.tier,
            # The nodes of a cluster may have what this machine has not.
            device=f"{device} (Ray cluster)" if options.on_ray else device_name(device),
            seeds=options.option("seeds") or 0,
            command=options.command,
            runs=RunCounts(wanted=0, trained=0, stored=0),  # counted from the claims
            versions=versions(),
            data_dir_given=options.data_dir is not None,
            asked_whole=tuple(options.asked_whole),
            unfinished=self._unfinished,
        )
        results = self._results.values()
        return make_document(
            claims=[result.claim for result in results if result.claim is not None],
            audits=[result.audit for result in results if result.audit is not None],
            store=store,
            session=session,
            made={name for result in results for name in result.made},
            errors=self._errors.values(),
            skipped=self._skipped.values(),
        )

    def _conclude(self, terminalreporter: Any) -> None:
        """Prints the verdicts, and writes the report; OutputError where it can't."""
        from embinit.report import write_report

        options = self._options
        # pytest calls gc.collect(), which would walk all of torch's objects.
        gc.freeze()
        document, results = self._outcome
        self._print_verdicts(terminalreporter, document)
        if (report := options.path("report-dir")) == options.config.rootpath / LATEST:
            make_ignored(report)
        page = write_report(document, results, report, self._since)
        failed = sum(result.failure is not None for result in results.values())
        failed += len({name for result in self._results.values() for name in result.lost})
        runs = document.session.runs
        terminalreporter.write_line(
            f"compared runs: {runs.trained} trained, {runs.stored} reused, {failed} failed"
        )
        terminalreporter.write_line(printable(f"report: {page}"))

    def _print_verdicts(self, terminalreporter: Any, document: Document) -> None:
        """Prints the table of verdicts, and then what a reader must know of them."""
        from embinit.report.verdict_table import clean, verdict_lines

        def tell(line: str, **markup: bool) -> None:
            terminalreporter.write_line(clean(line), **markup)

        terminalreporter.section("verdicts")
        writer = self._options.config.get_terminal_writer()
        width = writer.fullwidth if terminalreporter.isatty else None
        for line in verdict_lines(document, width, writer.hasmarkup):
            terminalreporter.write_line(line)
        for line in not_beforehand(document.claims):
            tell(line)
        for lock in document.session.locks:
            tell(f"{lock.lock} {lock.digest}")
        if (since := self._since) is not None:
            terminalreporter.section("against the baseline")
            if since.setting:
                tell(since.setting)
            for change in since.changes:
                for line in str(change).splitlines():
                    tell(line, red=change.fault)
            if since.in_words:
                tell(since.in_words)
        shown = {claim.reason for claim in document.claims if claim.verdict is Verdict.NOT_RUN}
        for word, entries in (("ERROR", document.errors), ("SKIPPED", document.skipped)):
            for entry in entries:
                if entry.reason not in shown:  # the table says so already
                    tell(f"{word} {entry}", red=True)
        for fault in faults_of_session(document):
            tell(f"NOT OK: {fault}", red=True)
        for note in (*document.session.notes, *self._training.troubles):
            tell(note, yellow=True)
        if self._unfinished is not None:
            tell(f"unfinished: {self._unfinished}", red=True)
            if (reached := self._training.reached) is not None:
                tell(f"{reached.stored} are stored; run again")

    def pytest_report_header(self) -> str:
        """The line in pytest's header: tier, device and cluster."""
        options, cluster = self._options, self._training.cluster
        asked, there = options.config.stash.get(TRAINERS, 0), len(options.devices)
        header = f"embinit: tier {options.tier}, device {options.option('device')}"
        header += f" (-n {asked}, but there is room for {there})" if asked > there else ""
        return header + (f", Ray at {cluster}" if cluster else "")


def _note(entries: dict[str, Unjudged], named: dict[str, str], reason: str) -> None:
    """Adds an entry, once for each test."""
    entries.setdefault(named["nodeid"], Unjudged(**named, reason=reason))
