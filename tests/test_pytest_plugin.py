"""Verdicts become outcomes, and the controller writes them down; nothing is trained here."""

from __future__ import annotations

import itertools
import json
from xml.etree import ElementTree

import jsonschema
import pytest

from builders import set_apart
from embinit import cli
from embinit.claims.comparisons import OTHER_SEEDS
from embinit.claims.lock import Lock
from embinit.claims.looks import Look, schedule
from embinit.claims.paired_tests import RegisteredSd, smallest_effect
from embinit.claims.pending_looks import PendingLook
from embinit.lab.data.sources import SOURCES
from embinit.pytest_plugin import look_order
from embinit.report import load_schema
from embinit.report.summary import summarise
from embinit.runs import progress, session
from embinit.runs.functions import TRAININGS
from embinit.runs.results import RunResult
from embinit_papers.kim2024.experiments import experiments

MARGIN = f"{experiments('micro')[0].margin:g}"

CLAIMS = """
from dataclasses import replace

from embinit.claims.definitions import Family, claim
from embinit.claims.paired_tests import Verdict
from embinit_papers.kim2024 import TRANSLATION, table1

MINE = Family("mine/finding", {"micro": 5})


def once(tier):
    own = table1("glove", tasks=TRANSLATION)(tier)
    return [replace(experiment, seeds=6, most_seeds=None) for experiment in own]


def stated(name, expects=None):
    return claim(
        f"mine/finding/{name}", says=name, family=MINE, experiments=once,
        expects=expects,
    )


@stated("holds")
def test_holds(experiment):
    assert experiment["pretrained"] < experiment["xavier"]


@stated("falls")
def test_falls(experiment):
    assert experiment["pretrained"] > experiment["xavier"]


@stated("open")
def test_open(experiment):
    assert experiment["pretrained_shuffled"].within(0.01) > experiment["xavier"]


@stated("small")
def test_small(experiment):
    assert experiment["pretrained_shuffled"] > experiment["xavier"]


@stated("missing")
def test_missing(experiment):
    assert experiment["xavier_pretrained"] > experiment["xavier"]


@stated("planted", Verdict.REFUTED)
def test_planted(experiment):
    assert experiment["pretrained"] > experiment["xavier"]


@stated("control-that-misbehaves", Verdict.REFUTED)
def test_misbehaving(experiment):
    assert experiment["pretrained"] < experiment["xavier"]
"""

SCORES = {"xavier": 40.0, "pretrained": 20.0, "pretrained_shuffled": 40.0}


@pytest.fixture
def suite(pytester, monkeypatch):
    """A suite whose runs are already there, all but one arm's: a score, and noise a seed."""

    def result(_, run):
        init = run.recipe.table.init
        noise = ((run.seed * 7 + len(init)) % 5) / 10
        return RunResult(run, {"bleu": SCORES[init] + noise}) if init in SCORES else None

    monkeypatch.setattr(session.Session, "result", result)
    monkeypatch.setattr(session.Session, "set_plan", lambda self, runs: None)
    monkeypatch.setattr(session.Session, "ensure", lambda self, runs: None)
    directory = pytester.mkdir("claims")
    (directory / "test_mine.py").write_text(CLAIMS)
    return pytester


def test_each_verdict_has_its_outcome(suite):
    """Passed, failed, xfailed, skipped; a control passes when it comes out as it should."""
    result = suite.runpytest_inprocess("claims", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=3, xfailed=1, skipped=1)
    document = json.loads((suite.path / "reports/latest/verdicts.json").read_text())
    jsonschema.validate(document, load_schema())
    verdicts = {entry["statement"]: entry["verdict"] for entry in document["claims"]}
    assert verdicts == {
        "holds": "SUPPORTED",
        "falls": "REFUTED",
        "open": "UNDECIDED",
        "small": "NO EFFECT",
        "missing": "NOT RUN",
        "planted": "REFUTED",
        "control-that-misbehaves": "SUPPORTED",
    }
    result.stdout.fnmatch_lines(["*GloVe > Xavier: REFUTED, difference -20* BLEU*6 seeds*"])
    result.stdout.fnmatch_lines(
        [f"*GloVe_Shuffled > Xavier: NO EFFECT, * within the margin {MARGIN} *"]
    )
    result.stdout.fnmatch_lines([f"mine/finding/small* NO EFFECT * within {MARGIN} *"])
    result.stdout.fnmatch_lines(["1 SUPPORTED, 1 REFUTED, 1 NO EFFECT, 1 UNDECIDED, 1 NOT RUN*"])
    [small] = [entry for entry in document["claims"] if entry["verdict"] == "NO EFFECT"]
    [comparison] = small["comparisons"]
    assert comparison["p_no_effect"] < comparison["alpha"] < comparison["p"]
    assert comparison["spread"] is comparison["smallest_effect"] is None
    page = (suite.path / "reports/latest/index.html").read_text()
    told = "1 SUPPORTED, 1 REFUTED, 1 NO EFFECT, 1 UNDECIDED, 1 NOT RUN"
    assert told in page


def test_a_finding_that_has_no_effect_now_is_lost(suite, capsys):
    """A claim that one side is above the other is not upheld where both are alike."""
    suite.runpytest_inprocess("claims", "-k", "small")
    blessed(suite, small="SUPPORTED")
    baseline = str(suite.path / "reference/verdicts.json")
    result = suite.runpytest_inprocess("claims", "-k", "small", "--embinit-baseline", baseline)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["LOST: *small* was SUPPORTED and is NO EFFECT"])
    latest = str(suite.path / "reports/latest/verdicts.json")
    assert cli.main(["check", latest, "--baseline", baseline]) == 1
    told = capsys.readouterr().out
    assert "NOT IN ORDER: mine/finding/small" in told
    assert "0 SUPPORTED, 0 REFUTED, 1 NO EFFECT, 0 UNDECIDED, 0 NOT RUN" in told


@pytest.fixture
def registered(suite, monkeypatch):
    """The suite with a spread registered for each of its differences."""
    monkeypatch.setattr(Lock, "spread", lambda self, comparison: RegisteredSd(2.0, 10))
    return suite


def test_what_claims_can_see_is_told_before_anything_trains(registered):
    """Their looks, and the smallest differences that those show; with -v for each claim."""
    argued = ("claims", "--embinit-max-seeds", "20")
    first, second, last = (
        f"{smallest_effect(0.01 * look.share, look.seeds, RegisteredSd(2.0, 10)):.3g}"
        for look in schedule(6, 20, 0.01)
    )
    head = [
        "embinit: 5 claims and 2 controls, seeds: 6, then 12, then 20",
        "the smallest differences that would be seen nine times in ten:",
        f"  {first} BLEU at the first look, {last} at the last (5 comparisons)",
        "a difference of one margin is expected to be seen by 4 claims with 6 seeds, "
        "1 claim at no look",
    ]
    result = registered.runpytest_inprocess(*argued)
    collected = next(n for n, line in enumerate(result.outlines) if line.startswith("collected"))
    assert result.outlines[collected + 1 : collected + 5] == head
    assert not [line for line in result.outlines if "no registered spread" in line]
    result = registered.runpytest_inprocess(*argued, "--collect-only", "-v")
    result.stdout.fnmatch_lines(head)
    result.stdout.fnmatch_lines(
        [
            "mine/finding/holds[[]glove-micro-translation[]]: 6, then 12, then 20 seeds; "
            f"sees {first}, then {second}, then {last} BLEU, the margin of {MARGIN} with 6 seeds",
            "mine/finding/open[[]*: *, the margin of 0.01 with more than 20 seeds",
        ]
    )
    result = registered.runpytest_inprocess(*argued, "--collect-only", "-q")
    assert not [line for line in result.outlines if "smallest differences" in line]


def test_what_is_told_is_what_the_document_has(registered):
    """From the same spreads, by the same levels."""
    registered.runpytest_inprocess("claims", "--embinit-max-seeds", "20", "-k", "holds")
    document = json.loads((registered.path / "reports/latest/verdicts.json").read_text())
    jsonschema.validate(document, load_schema())
    [comparison] = document["claims"][0]["comparisons"]
    assert comparison["spread"] == {"sd": 2.0, "seeds": 10}
    assert comparison["sd"] == 2.0
    seen = comparison["smallest_effect"]
    looks = schedule(6, 20, 0.01)
    effects = [smallest_effect(0.01 * one.share, one.seeds, RegisteredSd(2.0, 10)) for one in looks]
    assert [seen["first"], seen["last"]] == [effects[0], effects[-1]]


def test_a_worker_tells_its_controller_what_claims_can_see(pytester):
    """The controller of pytest-xdist reads no claim itself."""
    (pytester.mkdir("claims") / "test_mine.py").write_text(CLAIMS)
    result = pytester.runpytest_inprocess("claims", "-n", "2", "--embinit-no-train")
    told = [line for line in result.outlines if "claims and" in line]
    assert told == ["embinit: 5 claims and 2 controls, seeds: 6"]
    result.stdout.fnmatch_lines(["5 of 5 comparisons have no registered spread*"])
    assert not [*pytester.path.glob(".embinit/store/sessions/power*")]


def test_a_claim_that_could_not_run_is_a_lost_finding(suite, capsys):
    """Missing data must not pass for a finding that still holds."""
    suite.runpytest_inprocess("claims", "-k", "missing or holds")
    latest = suite.path / "reports/latest/verdicts.json"
    baseline = json.loads(latest.read_text())
    for entry in baseline["claims"]:
        entry["verdict"] = "SUPPORTED"
    (suite.path / "baseline.json").write_text(json.dumps(baseline))
    arguments = ["check", str(latest), "--baseline", str(suite.path / "baseline.json")]
    assert cli.main(arguments) == 1
    assert "was SUPPORTED and is NOT RUN" in capsys.readouterr().out


def test_a_claim_without_an_experiment_on_the_tier_is_left_out(suite):
    """Deselected, with and without workers; the others are told as ever."""
    path = suite.path / "claims/test_mine.py"
    path.write_text(
        CLAIMS.replace(
            "from embinit.claims.definitions",
            "from embinit_papers.kim2024 import only_on\nfrom embinit.claims.definitions",
        ).replace(
            "experiments=once,", 'experiments=only_on(once, "paper") if name == "open" else once,'
        )
    )
    result = suite.runpytest_inprocess("claims", "-k", "open or holds")
    result.assert_outcomes(passed=1, deselected=6)
    assert not [line for line in result.outlines if "empty parameter set" in line]


def blessed(suite, **verdicts):
    """A baseline from the suite's own report, with other verdicts for some statements."""
    cli.main(["bless", str(suite.path / "reports/latest"), "--to", str(suite.path / "reference")])
    path = suite.path / "reference/verdicts.json"
    document = json.loads(path.read_text())
    for entry in document["claims"]:
        entry["verdict"] = verdicts.get(entry["statement"], entry["verdict"])
    path.write_text(json.dumps(document))
    return document


def test_a_session_is_held_against_a_baseline(suite):
    """Lost findings fail even where pytest skips; what is in doubt or moved is told."""
    suite.runpytest_inprocess("claims", "-k", "holds or open or missing")
    document = blessed(suite)
    jsonschema.validate(document, load_schema())
    assert document["blessed"]["when"].startswith("20")
    argued = ("claims", "--embinit-baseline", "reference/verdicts.json", "-k")
    result = suite.runpytest_inprocess(*argued, "holds or open or missing")
    assert result.ret == 0
    assert not [line for line in result.outlines if line.startswith(("LOST", "moved"))]
    document["claims"][0]["comparisons"][0]["interval"] = [-1.0, 1.0]
    (suite.path / "reference/verdicts.json").write_text(json.dumps(document))
    result = suite.runpytest_inprocess(*argued, "holds")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["moved: mine/finding/holds* has a difference outside*", "*before: SUPPORTED; -20*"]
    )
    blessed(suite, open="SUPPORTED", missing="SUPPORTED")
    suite.runpytest_inprocess("claims", "-k", "holds or open or missing")
    blessed(suite, open="SUPPORTED", missing="SUPPORTED")
    result = suite.runpytest_inprocess(*argued, "holds or open")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["moved: *open* was SUPPORTED and is UNDECIDED"])
    result = suite.runpytest_inprocess(*argued, "missing")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["LOST: *missing* was SUPPORTED and is NOT RUN"])
    result = suite.runpytest_inprocess("claims", "--embinit-baseline", "nowhere.json")
    result.stderr.fnmatch_lines(["*--embinit-baseline: *nowhere.json does not exist*"])


def test_only_a_sound_report_is_blessed(suite, capsys):
    """A control that misbehaved, or nothing run, is no baseline; nothing is replaced."""
    arguments = ["bless", str(suite.path / "reports/latest"), "--to", str(suite.path / "to")]
    suite.runpytest_inprocess("claims")
    assert cli.main(arguments) == 4
    assert "not blessed: control mine/finding/control-that-misbehaves" in capsys.readouterr().err
    suite.runpytest_inprocess("claims", "-k", "missing")
    assert cli.main(arguments) == 4
    assert "not blessed: no claim is decided: 1 NOT RUN" in capsys.readouterr().err
    suite.runpytest_inprocess("claims", "-k", "planted")
    assert cli.main(arguments) == 4
    assert "no claim but controls in" in capsys.readouterr().err
    assert not (suite.path / "to").exists()


def test_a_baseline_is_replaced_by_no_less(suite, capsys):
    """Claims that a partial report lacks would be guarded no longer."""
    arguments = ["bless", str(suite.path / "reports/latest"), "--to", str(suite.path / "to")]
    suite.runpytest_inprocess("claims", "-k", "holds or falls")
    assert cli.main(arguments) == 0
    suite.runpytest_inprocess("claims", "-k", "holds")
    assert cli.main(arguments) == 4
    assert "1 claims of" in capsys.readouterr().err
    assert cli.main([*arguments, "--anyway"]) == 0
    old = json.loads((suite.path / "to/verdicts.json").read_text())
    old["session"]["tier"] = "sample"
    (suite.path / "to/verdicts.json").write_text(json.dumps(old))
    assert cli.main(arguments) == 4
    assert "tier micro can't be compared with tier sample" in capsys.readouterr().err


def test_a_paper_that_the_report_lacks_may_be_kept(suite, capsys):
    """With when it was blessed, until its own claims are blessed anew."""
    to = suite.path / "to/verdicts.json"
    arguments = ["bless", str(suite.path / "reports/latest"), "--to", str(to.parent)]
    suite.runpytest_inprocess("claims", "-k", "holds or falls")
    assert cli.main(arguments) == 0
    first = json.loads(to.read_text())
    theirs = [
        claim | {"paper": "theirs", "id": claim["id"].replace("mine", "theirs")}
        for claim in first["claims"]
    ]
    for claim in theirs:
        stood = {"state": "beforehand", "differs": "", "when": "2026-01-01"}
        claim["registration"] = {"lock": "theirs.lock", "digest": "0", **stood}
    then = {"when": "2026-01-01T00:00:00+00:00", "revision": "0" * 40}
    old = first | {"claims": theirs, "blessed": then}
    locks = [{"lock": name, "digest": "0"} for name in ("gone.lock", "theirs.lock")]
    old["session"] = first["session"] | {"locks": locks}
    to.write_text(json.dumps(old))
    suite.runpytest_inprocess("claims", "-k", "holds")
    for _ in range(2):  # the second keeps them from the first, and since when
        assert cli.main([*arguments, "--keep"]) == 0
        both = json.loads(to.read_text())
        jsonschema.validate(both, load_schema())
        [ours] = [claim for claim in both["claims"] if claim["paper"] != "theirs"]
        assert "holds" in ours["id"]
        kept = [claim for claim in both["claims"] if claim["paper"] == "theirs"]
        assert kept == [{"blessed": then, **claim} for claim in theirs]
        assert both["summary"] == summarise(both)
        assert both["session"]["locks"] == locks[1:]
    since = {name: both["blessed"][name] for name in ("when", "revision")}
    suite.runpytest_inprocess("claims", "-k", "falls")
    assert cli.main([*arguments, "--keep"]) == 4  # of its own paper a claim would be lost
    assert "not in" in capsys.readouterr().err
    to.write_text(json.dumps(both | {"session": both["session"] | {"notes": ["of then"]}}))
    for _ in range(2):
        assert cli.main([*arguments, "--keep-claims"]) == 0
        parts = json.loads(to.read_text())
        jsonschema.validate(parts, load_schema())
        [one, other] = [claim for claim in parts["claims"] if claim["paper"] != "theirs"]
        assert ("falls" in one["id"], "blessed" in one) == (True, False)
        assert ("holds" in other["id"], other["blessed"]) == (True, since)
        assert parts["session"]["notes"] == ["before: of then"]
    suite.runpytest_inprocess("claims", "-k", "holds")
    del old["blessed"]  # as a session writes it
    to.write_text(json.dumps(old))
    assert cli.main([*arguments, "--keep"]) == 0
    started = {"when": old["session"]["started"], "revision": None}
    kept = [one for one in json.loads(to.read_text())["claims"] if one["paper"] == "theirs"]
    assert [one["blessed"] for one in kept] == [started] * len(theirs)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("[]", "no verdicts document of schema_version 2"),
        ('{"schema_version": 2}', "lacks its session or its claims"),
        (None, "can't be read"),
    ],
)
def test_what_is_no_verdicts_file_is_refused(tmp_path, capsys, text, said):
    """By name, with what to do."""
    path = tmp_path / "v.json"
    path.mkdir() if text is None else path.write_text(text)
    assert cli.main(["check", str(path)]) == 4
    assert said in capsys.readouterr().err


def test_any_other_verdict_and_a_moved_table_are_told(suite, capsys):
    """Also from UNDECIDED to REFUTED, and where nothing is random; an idle control is lost."""
    suite.runpytest_inprocess("claims", "-k", "falls or planted")
    latest = suite.path / "reports/latest/verdicts.json"
    document = json.loads(latest.read_text())
    falls, _ = document["claims"]
    falls["verdict"] = "UNDECIDED"
    baseline = suite.path / "baseline.json"
    baseline.write_text(json.dumps(document))
    arguments = ["check", str(latest), "--baseline", str(baseline)]
    assert cli.main(arguments) == 0
    assert "was UNDECIDED and is REFUTED" in capsys.readouterr().out
    falls["verdict"] = "REFUTED"
    falls["comparisons"][0] |= {"exact": True, "difference": -21.0}
    baseline.write_text(json.dumps(document))
    assert cli.main(arguments) == 0
    assert "has another difference" in capsys.readouterr().out
    now = json.loads(latest.read_text())
    now["claims"][1] |= {"verdict": "NOT RUN", "as_expected": None, "reason": "no data"}
    latest.write_text(json.dumps(now))
    assert cli.main(["check", str(latest)]) == 1
    assert "planted[glove-micro-translation] was not run: no data" in capsys.readouterr().out
    assert cli.main(arguments) == 1
    assert "planted" in capsys.readouterr().out


CRASH = """
def test_crash():
    import os
    os._exit(1)
"""
AUDIT = """
from embinit.claims import audited
from embinit.claims.audit import agrees, exactly


@audited("mine/audit/one", says="one is one", where="here")
def test_audit():
    return [agrees("one", "1", exactly(1.0), "1")]
"""


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (CRASH + AUDIT, pytest.ExitCode.INTERNAL_ERROR),
        (AUDIT + CRASH, pytest.ExitCode.INTERNAL_ERROR),
        (CRASH, pytest.ExitCode.TESTS_FAILED),
    ],
    ids=["before", "after", "alone"],
)
def test_a_crashed_worker_is_an_error(pytester, text, status):
    """Not a refuted claim, which is what pytest's status 1 means where there are claims.

    A controller without options learns of them late; where there are none, nothing changes.
    """
    pytester.makepyfile(test_mine=text)
    done = pytester.runpytest_inprocess("-n", "1")
    assert done.ret == status


def test_junit_has_the_numbers_as_properties(suite):
    """For tools that read nothing else."""
    suite.runpytest_inprocess("claims", "-k", "holds", "--junit-xml", "j.xml")
    root = ElementTree.parse(suite.path / "j.xml").getroot()
    told = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert told["verdict"] == told["1.verdict"] == "SUPPORTED"
    assert told["1.statement"] == "GloVe < Xavier"
    assert float(told["1.low"]) < float(told["1.difference"]) < float(told["1.high"]) < 0
    assert told["1.seeds"] == "6"
    assert not [name for name in told if name.startswith("embinit")]


RERUN = """
from _pytest.runner import runtestprotocol


def pytest_runtest_protocol(item, nextitem):
    for last in (False, True):
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            if report.when == "call" and not last:
                report.outcome = "rerun"
            item.ihook.pytest_runtest_logreport(report=report)
    return True
"""


def test_a_claim_that_is_run_again_counts_once(suite):
    """As by pytest-rerunfailures; Holm's p is over claims, and a report counts them."""
    suite.makepyfile(rerun=RERUN)
    suite.syspathinsert()
    suite.runpytest_inprocess("claims", "-k", "falls", "-p", "rerun")
    document = json.loads((suite.path / "reports/latest/verdicts.json").read_text())
    assert [claim["statement"] for claim in document["claims"]] == ["falls"]


def test_more_seeds_are_trained_for_what_is_open(suite):
    """By the schedule that the file tells; what is decided keeps its first look."""
    result = suite.runpytest_inprocess("claims", "-k", "open or holds", "--embinit-max-seeds", "24")
    result.assert_outcomes(passed=1, xfailed=1)
    document = json.loads((suite.path / "reports/latest/verdicts.json").read_text())
    jsonschema.validate(document, load_schema())
    looks = [Look(**one) for one in document["claims"][0]["looks"]]
    assert looks == [*schedule(6, 24, 0.01)]
    assert [one.seeds for one in looks] == [6, 12, 24]
    told = {entry["statement"]: entry["comparisons"][0] for entry in document["claims"]}
    assert (told["holds"]["n"], told["open"]["n"]) == (6, 24)
    assert len(told["open"]["left_values"]) == len(told["open"]["seeds"]) == 24
    assert told["holds"]["alpha"] == pytest.approx(0.01 * looks[0].share)
    assert told["open"]["alpha"] == pytest.approx(0.01 * looks[2].share)
    suite.runpytest_inprocess(
        "claims", "-k", "open", "--embinit-max-seeds", "24", "--embinit-budget", "0"
    )
    document = json.loads((suite.path / "reports/latest/verdicts.json").read_text())
    assert document["claims"][0]["comparisons"][0]["n"] == 6
    result = suite.runpytest_inprocess("claims", "--embinit-max-seeds", "3")
    result.stderr.fnmatch_lines(
        ["*--embinit-max-seeds: at most 3 seeds, but the first look takes 6*"]
    )


def test_more_seeds_tell_what_was_too_coarse(suite, monkeypatch):
    """What the last look can see is asked of the last look that the options allow."""
    monkeypatch.setattr(Lock, "spread", lambda self, comparison: RegisteredSd(15.0, 10))
    planted = CLAIMS.replace("most_seeds=None", "most_seeds=None, planted=20.0")
    (suite.path / "claims" / "test_mine.py").write_text(planted)
    result = suite.runpytest_inprocess("claims", "-k", "holds", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*too coarse to tell: 6 seeds see *"])
    more = suite.runpytest_inprocess("claims", "-k", "holds", "--embinit-max-seeds", "96")
    more.assert_outcomes(passed=1)


def test_a_budget_ends_no_control(suite):
    """It is looked at until it is decided or has its last seeds; claims are not."""
    more = """

@stated("control-open", Verdict.SUPPORTED)
def test_open_control(experiment):
    assert experiment["pretrained_shuffled"].within(0.01) > experiment["xavier"]
"""
    (suite.path / "claims/test_mine.py").write_text(CLAIMS + more)
    argued = ("claims", "-k", "open", "--embinit-max-seeds", "12", "--embinit-budget", "0")
    suite.runpytest_inprocess(*argued)
    document = json.loads((suite.path / "reports/latest/verdicts.json").read_text())
    seeds = {entry["statement"]: entry["comparisons"][0]["n"] for entry in document["claims"]}
    assert seeds == {"open": 6, "control-open": 12}


@pytest.fixture
def judged(pytester, monkeypatch):
    """Judges claims on training functions in this process; their entries by statement."""
    monkeypatch.setattr(session, "training_devices", lambda device: ["cpu"])
    set_apart(monkeypatch, TRAININGS, empty=True)
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\naddopts = "-q"\n')

    def judge(claims, *arguments):
        pytester.mkdir("claims").joinpath("test_fits.py").write_text(claims)
        pytester.runpytest_inprocess("claims", *arguments)
        document = json.loads((pytester.path / "reports/latest/verdicts.json").read_text())
        return {entry["statement"]: entry for entry in document["claims"]}

    return judge


SHARED_LOOKS = """
import random
from embinit import Family, Verdict, claim, experiment, training

@training(measures={"accuracy": "%"})
def fit(seed, arm):
    noise = random.Random(f"{seed} {arm}").random()
    return {"plain": 70.0, "better": 70.9, "alike": 70.0}[arm] + noise

each = experiment("fits", training=fit, arms=["plain", "better", "alike"], seeds=3, most_seeds=24)
MINE = Family("mine/fits")

def stated(name, arm, expects=None):
    def test(arms):
        assert arms[arm] > arms["plain"]
    return claim(f"mine/fits/{name}", says=name, family=MINE, on=each, expects=expects)(test)

test_open = stated("open", "alike")
test_control = stated("control", "better", Verdict.SUPPORTED)
test_same_control = stated("same-control", "better", Verdict.SUPPORTED)
"""


def test_a_control_whose_next_look_another_has_trained_is_looked_at(judged):
    """Its runs are stored, so it is in no order of looks; past the budget it stayed open."""
    claims = judged(SHARED_LOOKS, "--embinit-budget", "0")
    seeds = {name: entry["comparisons"][0]["n"] for name, entry in claims.items()}
    assert seeds["control"] == seeds["same-control"] > seeds["open"] == 3


LOGGED = """
import pathlib, random
from embinit import Family, claim, experiment, training

@training(measures={"accuracy": "%"})
def fit(seed, arm):
    with pathlib.Path(__file__).with_name("log").open("a") as log:
        print(arm, seed, file=log)
    return 70.0 + random.Random(f"{seed} {arm}").random()
"""

OPEN_CLAIMS = (
    LOGGED
    + """
each = experiment(
    "fits", training=fit, arms=["plain", "less", "more"], seeds=3, most_seeds=12
)
MINE = Family("mine/fits")

def stated(arm):
    def test(arms):
        assert arms[arm] > arms["plain"]
    return claim(f"mine/fits/{arm}", says=arm, family=MINE, on=each)(test)

test_less = stated("less")
test_more = stated("more")
"""
)


def test_the_order_of_looks_is_that_of_what_is_stored(judged, pytester, monkeypatch):
    """After each look it is another one; the worthiest claim may be looked at twice in a row."""
    monkeypatch.setattr(
        look_order,
        "by_decisions_per_second",
        lambda looks: sorted(looks, key=lambda look: look.case.id, reverse=True),
    )
    judged(OPEN_CLAIMS)
    trained = [line.split() for line in (pytester.path / "claims/log").read_text().splitlines()]
    later = [arm for arm, seed in trained if arm != "plain" and int(seed) >= 3]
    assert later == ["more"] * 9 + ["less"] * 9


def test_progress_is_told_what_later_looks_are_expected_to_take(judged, monkeypatch):
    """First the first looks alone, since nothing is registered; at last, as is seen, all seeds."""
    told = []

    def publish_expected_runs(session, controller, runs):
        new = [run for run in runs if session.key(run) not in session.store]
        told.append({(run.recipe.arm, run.seed) for run in new})

    monkeypatch.setattr(progress, "publish_expected_runs", publish_expected_runs)
    judged(OPEN_CLAIMS)
    assert {seed for _, seed in told[0]} == {0, 1, 2}
    # Of one claim all seeds and of the other its first look, then of that one all seeds, too.
    assert {seed for arm, seed in told[1] if arm == "more"} == {0, 1, 2}
    assert {seed for arm, seed in told[1] if arm != "more"} == {*range(3, 12)}
    assert [len(runs) for runs in told] == [9, 21, 3, 9, 0]


ON_SEEDS = """
import random

def train(seed, tied=True):
    return 3.0 + (0.5 if tied else 0.0) + random.Random(f"{seed} {tied}").gauss(0, 0.1)

def test_untied_helps(seeds):
    assert seeds(train, tied=False) < seeds(train, tied=True)
"""


def test_the_order_of_looks_knows_the_margin_that_a_session_measures(judged, monkeypatch):
    """An arm against itself has NO EFFECT by it with twelve seeds, and so no look to come."""
    told = []
    monkeypatch.setattr(
        progress, "publish_expected_runs", lambda session, controller, runs: told.append({*runs})
    )
    claims = judged(ON_SEEDS)
    assert {entry["verdict"] for entry in claims.values()} == {"SUPPORTED", "NO EFFECT"}
    assert max(run.seed for runs in told for run in runs) == OTHER_SEEDS + 11


@pytest.mark.parametrize("wrong", ["raises", "is lost"])
def test_one_claims_next_look_ends_no_others(judged, monkeypatch, wrong):
    """Its error is its own; and runs that a store loses are not waited for."""
    pending_look = look_order.pending_look

    def next_but_for_one(case, *arguments):
        if "more" in case.id:
            raise ZeroDivisionError
        return pending_look(case, *arguments)

    if wrong == "raises":
        monkeypatch.setattr(look_order, "pending_look", next_but_for_one)
    else:
        monkeypatch.setattr(PendingLook, "is_next", lambda self, session: True)
    claims = judged(OPEN_CLAIMS)
    assert {entry["verdict"] for entry in claims.values()} == {"UNDECIDED"}
    assert [entry["comparisons"][0]["n"] for entry in claims.values()] == [12, 12]


CHEAP_AND_COSTLY = f"""{LOGGED}
cheap = experiment("cheap", training=fit, arms=["a", "b"], seeds=3, most_seeds=6)
costly = experiment("costly", training=fit, arms=["c", "d"], seeds=60, most_seeds=None)
MINE = Family("mine/fits")

@claim("mine/fits/costly", says="costly", family=MINE, on=costly)
def test_costly(arms):
    assert arms["c"] > arms["d"]

@claim("mine/fits/cheap", says="cheap", family=MINE, on=cheap)
def test_cheap(arms):
    assert arms["a"] > arms["b"]
"""


@pytest.mark.parametrize(
    ("minutes", "kinds"),
    [("60", ["cheap", "costly"]), ("1.5", ["cheap", "costly", "cheap"])],
)
def test_a_cheap_later_look_comes_before_a_costly_first_one(judged, pytester, minutes, kinds):
    """Though the costly claim is the first in its file, unless a budget has no time for both.

    Its 120 runs take two minutes, at a second each until one has told its own.
    """
    judged(CHEAP_AND_COSTLY, "--embinit-budget", minutes)
    trained = [line.split()[0] for line in (pytester.path / "claims/log").read_text().splitlines()]
    made = [
        kind for kind, _ in itertools.groupby("cheap" if a in "ab" else "costly" for a in trained)
    ]
    assert made == kinds


FAILING = """
import random
from embinit import Family, claim, experiment, training

@training(measures={"accuracy": "%"})
def fit(seed, arm):
    if arm == "broken" and seed >= 3:
        raise ValueError("no such seed")
    return 70.0 + random.Random(f"{seed} {arm}").random()

each = experiment("fits", training=fit, arms=["plain", "broken", "whole"], seeds=3, most_seeds=6)
MINE = Family("mine/fits")

def stated(arm):
    def test(arms):
        assert arms[arm] > arms["plain"]
    return claim(f"mine/fits/{arm}", says=arm, family=MINE, on=each)(test)

test_broken = stated("broken")
test_whole = stated("whole")
"""


def test_a_look_whose_runs_fail_is_not_taken_for_ever(judged, monkeypatch):
    """The others have their looks, though it is worth more."""
    monkeypatch.setattr(
        look_order,
        "by_decisions_per_second",
        lambda looks: sorted(looks, key=lambda look: look.case.id),
    )
    claims = judged(FAILING)
    assert claims["broken"]["verdict"] == "NOT RUN"
    assert claims["whole"]["comparisons"][0]["n"] == 6


def test_strict_makes_undecided_fail(suite):
    """Nobody has to take an open question for a pass."""
    suite.makeini("[pytest]\nembinit_strict = true\n")
    suite.runpytest_inprocess("claims", "-k", "open").assert_outcomes(failed=1)


def test_a_claim_alone_has_the_verdict_of_the_suite(suite):
    """Its share of alpha is registered, not counted."""
    suite.runpytest_inprocess("claims", "-k", "holds").assert_outcomes(passed=1)
    alone = json.loads((suite.path / "reports/latest/verdicts.json").read_text())["claims"][0]
    suite.runpytest_inprocess("claims")
    whole = json.loads((suite.path / "reports/latest/verdicts.json").read_text())["claims"]
    [same] = [entry for entry in whole if entry["id"] == alone["id"]]
    assert same["alpha"] == alone["alpha"] == 0.01
    assert same["comparisons"][0]["p"] == alone["comparisons"][0]["p"]


def test_a_broken_claim_is_no_refuted_one(suite):
    """An exception is an error of its own, with another exit status."""
    (suite.path / "claims/test_mine.py").write_text(
        CLAIMS.split('@stated("falls")')[0].replace('["xavier"]', '["xavir"]')
    )
    result = suite.runpytest_inprocess("claims")
    assert result.ret not in (0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--embinit-seeds", "1"], "*at least 2*"),
        (["--embinit-tier", "huge"], "*unknown tier 'huge': known are*"),
        (["--embinit-data-dir", "nowhere"], "*nowhere is not a directory*"),
        (["--embinit-source", "glove"], "*--embinit-source glove: write NAME=PATH*"),
        (["--embinit-source", "=file"], "*--embinit-source =file: write NAME=PATH*"),
        (
            ["--embinit-source", "a=file", "--embinit-source", "glove=nowhere"],
            "*glove=nowhere: */nowhere doesn't*",
        ),
        (["--embinit-device", "cuda:99"], "*cuda:99 can't be used here*"),
        (["--embinit-store", "file/store"], "*can't be written*--embinit-store*"),
    ],
)
def test_bad_options_end_the_session_before_it_starts(suite, arguments, message):
    """One clear error each, and pytest's usage status."""
    (suite.path / "file").write_text("the 1 2\n")
    result = suite.runpytest_inprocess("claims", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


PROBE = """
from embinit.claims.definitions import Family, claim
from embinit_papers.kim2024 import scaled, table4

MINE = Family("mine/table", {"sample": 1})


@claim("mine/table/a", says="a", family=MINE, experiments=table4)
def test_a(experiment):
    assert scaled(experiment, "sqrt(D)")["pretrained"].alike(experiment["pretrained"])
"""
VECTORS = "man 1 0 0\nwoman 1 1 0\nking 1 0 1\nqueen {} 1\n"


@pytest.fixture
def probed(pytester, monkeypatch):
    """Judges a claim on analogies with vectors of a file."""
    (pytester.mkdir("claims") / "test_mine.py").write_text(PROBE)
    questions = pytester.mkdir("analogies") / "questions-words.txt"
    questions.write_text(": family\nman woman king queen\n")

    def run(path, *arguments):
        with monkeypatch.context() as patch:
            set_apart(patch, SOURCES)
            given = ("--embinit-data-dir", ".", "--embinit-source", f"glove={path}")
            return pytester.runpytest_inprocess(
                "claims", "--embinit-tier", "sample", *given, *arguments
            )

    return run


def test_a_source_may_be_read_from_anywhere(pytester, probed):
    """--source reaches every worker, and other vectors under the name are other runs."""
    (pytester.path / "right.txt").write_text(VECTORS.format("1 1"))
    (pytester.path / "wrong.vec").write_text("5 3\n" + VECTORS.format("-1 -1") + "prince 1 1 1\n")
    for path, workers, percent in (("right.txt", "0", 100), ("wrong.vec", "1", 0)):
        done = probed(path, "-n", workers)
        done.assert_outcomes(passed=1)
        document = json.loads((pytester.path / "reports/latest/verdicts.json").read_text())
        [comparison] = document["claims"][0]["comparisons"]
        assert comparison["left_values"] == comparison["right_values"] == [percent] * 5


def test_a_source_of_a_new_name_is_read_where_claims_are_only_collected(pytester, probed):
    """It was refused as one that no claim reads: a session that only collects wants no runs."""
    mine = "experiments=lambda tier: [each.changed(source='mine') for each in table4(tier)]"
    (pytester.path / "claims/test_mine.py").write_text(PROBE.replace("experiments=table4", mine))
    (pytester.path / "right.txt").write_text(VECTORS.format("1 1"))
    done = probed("right.txt", "--embinit-source", "mine=right.txt", "--collect-only", "-q")
    assert done.ret == 0, done.stderr.str()


def test_a_named_source_that_is_broken_is_unusable_input(pytester, probed):
    """It was NOT RUN with status 0, like data that is missing."""
    (pytester.path / "broken.txt").write_text(VECTORS.format("1 1") + "prince 1 x 1\n")
    done = probed("broken.txt")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--embinit-source glove=*broken.txt: *broken.txt:5: *"])
    assert not (pytester.path / "reports").exists()


def test_check_fails_on_a_control_and_on_a_lost_finding(suite, capsys):
    """A refuted claim alone is a result; one that held in the baseline is a loss."""
    suite.runpytest_inprocess("claims", "-k", "not misbehaving")
    latest = suite.path / "reports/latest/verdicts.json"
    assert cli.main(["check", str(latest)]) == 0
    baseline = json.loads(latest.read_text())
    for entry in baseline["claims"]:
        entry["verdict"] = "SUPPORTED" if entry["statement"] == "falls" else entry["verdict"]
    (suite.path / "baseline.json").write_text(json.dumps(baseline))
    arguments = ["check", str(latest), "--baseline", str(suite.path / "baseline.json")]
    assert cli.main(arguments) == 1
    assert "was SUPPORTED and is REFUTED" in capsys.readouterr().out
    assert cli.main(["check", "nowhere.json"]) == 4
    baseline["session"]["tier"] = "sample"
    (suite.path / "baseline.json").write_text(json.dumps(baseline))
    assert cli.main(arguments) == 4
    assert "tier micro can't be compared with tier sample" in capsys.readouterr().err
    suite.runpytest_inprocess("claims")
    assert cli.main(["check", str(latest)]) == 1


BUDGETS = """
from embinit.claims.definitions import Family, claim
from embinit.claims.paired_tests import Verdict
from embinit_papers.chung2021 import USUAL, coupled, first_experiment, reinvested

MINE = Family("mine/sizes", {"micro": 1})


def stated(name, expects=None):
    return claim(
        f"mine/sizes/{name}", says=name, family=MINE, experiments=first_experiment,
        expects=expects, equal="finetuning",
    )


@stated("caught", Verdict.NOT_RUN)
def test_caught(experiment):
    assert reinvested(experiment, too_many=1)[USUAL] > coupled(experiment)[USUAL]


@stated("not-caught", Verdict.NOT_RUN)
def test_not_caught(experiment):
    assert experiment[USUAL] > coupled(experiment)[USUAL]


@stated("unfair")
def test_unfair(experiment):
    assert reinvested(experiment, too_many=1)[USUAL] > coupled(experiment)[USUAL]
"""


def test_unequal_budgets_are_caught_before_anything_is_wanted(suite, monkeypatch, capsys):
    """A control that is caught passes; a claim is NOT RUN; a control that isn't caught fails."""
    wanted = []
    monkeypatch.setattr(session.Session, "set_plan", lambda self, runs: wanted.extend(runs))
    monkeypatch.setattr(session.Session, "problem", lambda self, run: None)
    monkeypatch.setattr(
        session.Session,
        "result",
        lambda self, run: RunResult(run, {"sentiment_accuracy": 50.0 + (run.seed * 3) % 5}),
    )
    (suite.path / "claims/test_mine.py").write_text(BUDGETS)
    result = suite.runpytest_inprocess("claims")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    assert {run.recipe.model.layers for run in wanted} == {2}
    document = json.loads((suite.path / "reports/latest/verdicts.json").read_text())
    jsonschema.validate(document, load_schema())
    found = {one["statement"]: one for one in document["claims"]}
    assert {name: one["as_expected"] for name, one in found.items()} == {
        "caught": True,
        "not-caught": False,
        "unfair": None,
    }
    assert [found[name]["verdict"] for name in ("caught", "unfair")] == ["NOT RUN"] * 2
    assert "unequal budgets" in found["unfair"]["reason"]
    page = (suite.path / "reports/latest/index.html").read_text()
    assert "controls 1 of 2 as expected" in page
    assert cli.main(["check", str(suite.path / "reports/latest/verdicts.json")]) == 1
    told = capsys.readouterr().out
    assert "not-caught" in told


def test_a_control_that_lacks_its_data_is_no_proof_of_the_budget_check(suite, monkeypatch):
    """Whatever it expects, NOT RUN for want of data says nothing."""
    monkeypatch.setattr(session.Session, "problem", lambda self, run: "no data here")
    (suite.path / "claims/test_mine.py").write_text(BUDGETS)
    suite.runpytest_inprocess("claims")
    document = json.loads((suite.path / "reports/latest/verdicts.json").read_text())
    found = {one["statement"]: one["as_expected"] for one in document["claims"]}
    assert found == {"caught": True, "not-caught": None, "unfair": None}
