"""Outcomes of pytest for verdicts, and their messages."""

from __future__ import annotations

import inspect

import pytest

from embinit.claims.audit import Audit, Finding, finding_of
from embinit.claims.comparisons import Decider, read_by
from embinit.claims.entries import audit_entry
from embinit.claims.judging import Judgement
from embinit.errors import lacking_models, printable
from embinit.pytest_plugin.items import ITEM_RESULT, argument, bound
from embinit.stats.statements import Verdict


def settle_audit(item: pytest.Function, audit: Audit) -> None:
    """Makes an audit; an inconsistent one is an expected failure, as it is the paper's."""
    taken = inspect.signature(item.obj).parameters
    try:
        checks = item.obj(**{name: item.funcargs[name] for name in taken})
    except ModuleNotFoundError as error:
        if (lacking := lacking_models(error)) is None:
            raise
        pytest.fail(str(lacking), pytrace=False)
    finding = finding_of(checks)
    item.stash[ITEM_RESULT].audit = audit_entry(audit, argument(item), checks)
    if finding is Finding.INCONSISTENT:
        wrong = "\n".join(f"  {check}" for check in checks if not check.consistent)
        told = printable(f"{audit.says}: {finding}\n{wrong}")
        raise pytest.xfail.Exception(told, pytrace=False)


def settle(item: pytest.Function, judgement: Judgement, strict: bool) -> None:
    """Turns the verdict into pytest's outcome, with the numbers in the message."""
    claim, verdict, told = judgement.case.claim, judgement.verdict, printable(str(judgement))
    if judgement.failures:
        lines = [*judgement.failures, f"not decided: {claim.says}"]
        pytest.fail(printable("\n".join(lines)), pytrace=False)
    if judgement.case.unequal and claim.expects is Verdict.NOT_RUN:
        return
    if verdict is Verdict.NOT_RUN:
        (pytest.fail if strict else pytest.skip)(told)
    if judgement.is_too_weak and not strict:
        raise pytest.xfail.Exception(f"too weak to come out {claim.expects}\n{told}", pytrace=False)
    if claim.expects is not None:
        if not judgement.as_expected:
            pytest.fail(f"a control must come out {claim.expects}\n{told}", pytrace=False)
        return
    if verdict is Verdict.UNDECIDED and not strict:
        raise pytest.xfail.Exception(told, pytrace=False)
    if verdict is not Verdict.SUPPORTED:
        pytest.fail(told, pytrace=False)


def read_again(item: pytest.Function, judgement: Judgement) -> None:
    """Runs a supported claim's test; InputError for other assertions than those judged."""
    with read_by(Decider(decisions=judgement.decisions)) as decider:
        bound(item)(judgement.case.experiment)
    decider.raise_problem()
