"""Controls: what must be found, what must look like chance, and what follows where it isn't so."""

from types import SimpleNamespace

import numpy as np
import pytest

from documents import claim_of
from embinit import Family, Verdict, claim, experiment, positive_control, training
from embinit.claims.controls import UNIFORM_LEVEL, p_of_uniform
from embinit.claims.judging import Case, Judgement
from embinit.claims.judging import read as read_claim
from embinit.files.typed import as_json
from embinit.report.faults import wrong_controls
from embinit.report.making import with_insensitive_noted
from embinit.report.markdown import as_markdown
from embinit.report.verdict_table import verdict_lines
from test_report import make_claim, make_control, make_document

MINE = Family("mine/f", 1)


@training(measures={"accuracy": "%", "loss": "nats"})
def fit(seed, arm):
    """Never called: these claims are read alone."""


def arms(metric):
    [one] = experiment("fits", training=fit, arms=["usual", "untrained"], metric=metric)("micro")
    return one


def stated(expects):
    def test(arms):
        assert arms["usual"] > arms["usual"].on_other_seeds()

    on = [arms("accuracy")]
    return claim("mine/f/a", says="It", family=MINE, on=on, expects=expects)(test)


def judgement(expects, verdict, *pairs):
    case = read_claim(stated(expects), arms("accuracy"))
    decisions = [SimpleNamespace(left=a, right=b, verdict=verdict, reason="") for a, b in pairs]
    return Judgement(case, tuple(decisions or [SimpleNamespace(verdict=verdict, reason="")]))


@pytest.mark.parametrize(("metric", "symbol"), [("accuracy", "<"), ("loss", ">")])
def test_a_positive_control_is_worse_by_the_metrics_own_direction(metric, symbol):
    """A user names an arm, and no relation that could be turned round by mistake."""
    case = read_claim(positive_control(MINE, on=[arms(metric)], worse="untrained"), arms(metric))
    assert isinstance(case, Case)
    assert [str(comparison) for comparison in case.comparisons] == [f"untrained {symbol} usual"]
    assert (case.claim.id, case.claim.expects) == ("mine/f/control-positive", Verdict.SUPPORTED)


@pytest.mark.parametrize(
    ("expects", "expected"),
    [
        (Verdict.SUPPORTED, {"SUPPORTED": True, "REFUTED": False, "NO EFFECT": False}),
        (Verdict.REFUTED, {"SUPPORTED": False, "REFUTED": True, "NO EFFECT": False}),
        (None, {}),
    ],
)
def test_a_positive_control_is_found_or_not_or_has_too_few_seeds(expects, expected):
    """UNDECIDED is no proof of a fault, and must not keep a user from a baseline."""
    for verdict in Verdict:
        judged = judgement(expects, verdict)
        assert judged.as_expected is expected.get(verdict)
        assert judged.is_too_weak == (expects is not None and verdict is Verdict.UNDECIDED)


def test_p_values_of_arms_against_themselves_are_uniform_at_the_level_that_is_said():
    """By simulation; a difference on every task is seen, and so are scores that don't vary."""
    random = np.random.default_rng(1)
    failed = 0
    for _ in range(400):
        pairs = random.normal(size=(5, 2, 6))
        failed += not judgement(Verdict.NO_EFFECT, Verdict.UNDECIDED, *pairs).as_expected
    assert failed <= 400 * 3 * UNIFORM_LEVEL
    shifted = pairs + np.array([3.0, 0.0])[:, None]
    judged = judgement(Verdict.NO_EFFECT, Verdict.SUPPORTED, *shifted)
    assert judged.as_expected is False
    assert "5 p-values of arms against themselves" in judged.reason
    for fixed in (0.0, 1.0):
        still = judgement(None, Verdict.UNDECIDED, ([fixed] * 6, [1.0] * 6))
        assert p_of_uniform(still.decisions) == 0


KNOWN = {"SUPPORTED": True, "UNDECIDED": None, "NO EFFECT": False}
"""What a positive control's verdict says of it."""


@pytest.mark.parametrize("verdict", ["UNDECIDED", "NO EFFECT", "REFUTED", "SUPPORTED"])
@pytest.mark.parametrize("control", KNOWN)
def test_what_finds_nothing_says_so_where_its_control_finds_nothing(verdict, control):
    """In the document, on the terminal and in Markdown; another task's claim says nothing.

    Too few seeds for a control keep nobody from a baseline.
    """
    claims = [
        make_claim("a", verdict),
        make_claim("b", verdict, id="mine/f/b", task="another"),
        make_control("c", control, expects="SUPPORTED", as_expected=KNOWN[control]),
    ]
    noted = with_insensitive_noted([*map(claim_of, claims)])
    lacks = control != "SUPPORTED" and verdict in ("UNDECIDED", "NO EFFECT")
    assert ["not sensitive: the control" in claim.reason for claim in noted] == [lacks, 0, 0]
    document = make_document([*map(as_json, noted)])
    for text in ("\n".join(verdict_lines(document, None, False)), as_markdown(document)):
        assert ("not sensitive" in text) == lacks
    assert bool(wrong_controls(document)) == (KNOWN[control] is False)
