"""The plugin that judges: each claim when its turn comes, with the verdict as pytest's outcome."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Generator

import pytest

from embinit.claims.audit import Audit
from embinit.claims.comparisons import Reader, read_by
from embinit.claims.entries import audit_record, claim_record, properties
from embinit.claims.judging import Judgement, broken, judge_case
from embinit.claims.records import Consistency
from embinit.claims.registering import Registration
from embinit.errors import InputError, lacking_models, printable
from embinit.papers import noise_floors, printed_for
from embinit.pytest_plugin.items import CASE, ITEM_RESULT, UNREADABLE, ItemResult, bound
from embinit.pytest_plugin.session_options import SessionOptions
from embinit.pytest_plugin.training import TrainingPlugin
from embinit.runs.functions import changed_meanwhile
from embinit.runs.session import Session
from embinit.stats.statements import Verdict


class Judging:
    """The judging of a session's claims."""

    def __init__(self, options: SessionOptions, training: TrainingPlugin) -> None:
        self._options, self._training = options, training

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Judges a claim or makes an audit (True); every other test is left to pytest."""
        audit = Audit.of(pyfuncitem.function)
        if audit is not None:
            settle_audit(pyfuncitem, audit, pyfuncitem.stash[ITEM_RESULT])
            return True
        if UNREADABLE in pyfuncitem.stash:
            pytest.fail(printable(pyfuncitem.stash[UNREADABLE]), pytrace=False)
        if CASE not in pyfuncitem.stash:
            return None
        if self._training.registration is not None:
            register(pyfuncitem, self._training.registration, self._training.session)
            return True
        result = pyfuncitem.stash[ITEM_RESULT]
        judgement = self._judge(pyfuncitem, result)
        record = claim_record(
            judgement, result.named["nodeid"], self._training.session.name_of, printed_for
        )
        result.claim, result.failure = record, "; ".join(judgement.failures)
        pyfuncitem.user_properties.extend(properties(record))
        settle(pyfuncitem, judgement, self._options.strict)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Lets the report of a claim or an audit hold what came of it."""
        report = yield
        if ITEM_RESULT in item.stash:
            item.stash[ITEM_RESULT].attach(report)
        return report

    def _judge(self, item: pytest.Function, result: ItemResult) -> Judgement:
        """Judges a claim. What goes wrong there is the claim's, and never the session's."""
        case = item.stash[CASE]
        try:
            session = self._training.session
            self._training.analyses.wait(case)
            judgement = judge_case(case, session, may_go_on=False)
            runs = [run for decision in judgement.decisions for run in decision.comparison.runs()]
            result.unwritten = session.is_unwritten
            kept = [run for run in runs if session.is_stored(run)]
            stored = [known for run in kept if (known := session.result(run)) is not None]
            result.made = sorted(session.made & {*map(session.name_of, kept)})
            if lost := [run for run in runs if run in session.details]:
                result.lost = [*map(session.key, lost)]
                item.add_report_section("call", "a failed run", session.details[lost[0]])
            if differs := (
                changed_meanwhile([*runs, *case.runs()], session)
                or self._training.globals.difference(stored)
            ):
                raise InputError(differs)
            if judgement.verdict is Verdict.SUPPORTED and case.claim.expects is None:
                read_again(item, judgement)
            return judgement
        except Exception as error:
            return broken(case, error)


def register(item: pytest.Function, registration: Registration, session: Session) -> None:
    """Measures and freezes what a claim needs beforehand; the verdict is for another session."""
    case = item.stash[CASE]
    floors = noise_floors(case.claim.paper, case.experiment.tier)
    runs = registration.runs(case, floors)
    if problems := sorted({problem for run in runs if (problem := session.problem(run))}):
        pytest.skip("; ".join(problems))
    session.ensure(runs)
    if failures := session.failures(runs):
        pytest.fail(f"a run failed: {'; '.join(failures)}", pytrace=False)
    try:
        lacking = registration.register(bound(item), case, floors, session)
    except InputError as error:
        pytest.fail(str(error), pytrace=False)
    if lacking is not None:
        pytest.skip(lacking)
    item.stash[ITEM_RESULT].registered = True


def settle_audit(item: pytest.Function, audit: Audit, result: ItemResult) -> None:
    """Makes an audit; an inconsistent one is an expected failure, as it is the paper's."""
    taken = inspect.signature(item.obj).parameters
    try:
        checks = item.obj(**{name: item.funcargs[name] for name in taken})
    except ModuleNotFoundError as error:
        if (lacking := lacking_models(error)) is None:
            raise
        pytest.fail(str(lacking), pytrace=False)
    record = result.audit = audit_record(audit, result.named["nodeid"], checks)
    if record.verdict is Consistency.INCONSISTENT:
        wrong = "\n".join(f"  {check}" for check in checks if not check.consistent)
        text = printable(f"{audit.says}: {record.verdict}\n{wrong}")
        raise pytest.xfail.Exception(text, pytrace=False)


def settle(item: pytest.Function, judgement: Judgement, strict: bool) -> None:
    """Turns the verdict into pytest's outcome, with the numbers as its reason."""
    claim, verdict, text = judgement.case.claim, judgement.verdict, printable(str(judgement))
    if judgement.failures:
        lines = [*judgement.failures, f"not decided: {claim.says}"]
        pytest.fail(printable("\n".join(lines)), pytrace=False)
    if judgement.case.unequal and claim.expects is Verdict.NOT_RUN:
        return
    if verdict is Verdict.NOT_RUN:
        (pytest.fail if strict else pytest.skip)(text)
    if judgement.is_too_weak and not strict:
        raise pytest.xfail.Exception(f"too weak to come out {claim.expects}\n{text}", pytrace=False)
    if claim.expects is not None:
        if not judgement.as_expected:
            pytest.fail(f"a control must come out {claim.expects}\n{text}", pytrace=False)
        return
    if verdict is Verdict.UNDECIDED and not strict:
        raise pytest.xfail.Exception(text, pytrace=False)
    if verdict is not Verdict.SUPPORTED:
        pytest.fail(text, pytrace=False)


def read_again(item: pytest.Function, judgement: Judgement) -> None:
    """Runs a supported claim's test; InputError for other assertions than those judged."""
    with read_by(Reader()) as reader:
        bound(item)(judgement.case.experiment)
    stated = [comparison.statement for comparison in reader.met]
    judged = [decision.comparison.statement for decision in judgement.decisions]
    for now, was in itertools.zip_longest(stated, judged, fillvalue=("nothing more",)):
        if now != was:
            raise InputError(
                f"it asserts {now[0]} now, and {was[0]} when it was read: a claim may not depend "
                "on values that tests change"
            )
