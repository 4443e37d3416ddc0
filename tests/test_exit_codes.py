"""What a session ends with means one thing, and its document says what it lacks."""

import json
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from embinit.commands.main import main
from embinit.errors import Status
from embinit.pytest_plugin.session_options import SessionOptions
from embinit.report.reading import read
from projects import CLAIMS, GOOD, HOLDS, LAST, OTHER, stated

ROOT = Path(__file__).parents[1]
RAISES = """
def pytest_runtest_logreport(report):
    if report.when == "call" and "test_other" in report.nodeid:
        raise KeyboardInterrupt
"""


@pytest.fixture
def whole(session, pytester):
    """The document of a session in order, which is the baseline of others."""
    _, document = session()
    Path("blessed.json").write_text(json.dumps(document))
    return document


BASELINE = "--embinit-baseline=blessed.json"
CHECK = ["check", "reports/latest/verdicts.json"]
CHANGES = [*CHECK, "--baseline", "blessed.json"]


def test_each_status_is_documented():
    """A table in one place, and pytest's own numbers mean what they mean there."""
    text = (ROOT / "docs/options.md").read_text()
    rows = dict(re.findall(r"^\| (\d) \| ([a-z ]+) \|", text, re.M))
    names = {str(int(status)): status.name.lower().replace("_", " ") for status in Status}
    assert {number: name.split()[0] for number, name in rows.items()} == {
        number: name.split()[0] for number, name in names.items()
    }
    own = {status.value for status in Status} - {Status.UNWRITABLE, Status.RUN_AGAIN}
    assert own <= {code.value for code in pytest.ExitCode}
    assert {Status.UNWRITABLE, Status.RUN_AGAIN}.isdisjoint(code.value for code in pytest.ExitCode)


MISREAD = GOOD + stated("other", HOLDS.replace("high", "hihg")) + LAST
REFUTED = GOOD + stated("other", HOLDS.replace(">", "<")) + LAST


def test_a_damaged_record_is_reported_and_made_again_where_warnings_are_errors(session, pytester):
    """It is found while runs are planned, in no test of its own."""
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    session()
    damaged = min(Path(".embinit/store/runs").glob("*/*.json"))
    damaged.write_text("{")
    done, document = session()
    assert (done.ret, document["session"]["runs"]["trained"]) == (Status.OK, 1)
    done.stdout.fnmatch_lines(["*DamagedWarning: run record *and the run will be trained again*"])


def test_a_refuted_claim_is_status_1_and_a_whole_document(session):
    done, _ = session(REFUTED)
    assert done.ret == Status.NOT_OK
    assert read(Path("reports/latest/verdicts.json")).lacking == []
    assert main(CHECK) == Status.OK


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "-n 1"])
def test_a_claim_that_broke_stands_in_the_document_and_is_lost(session, whole, capsys, workers):
    """It was absent, so that check and baseline said nothing."""
    done, after = session(MISREAD, BASELINE, *workers)
    assert done.ret == Status.BROKEN
    [error] = after["errors"]
    assert error["id"] == "mine/f/other[scores]"
    assert error["nodeid"] == whole["claims"][2]["nodeid"]
    assert "has no arm 'hihg'" in error["reason"]
    done.stdout.fnmatch_lines(
        ["LOST: mine/f/other?scores? was SUPPORTED and is ERROR", "ERROR mine/f/other?scores?: *"]
    )
    assert main(CHECK) == Status.BROKEN
    assert "1 ERROR" in capsys.readouterr().out
    assert main(CHANGES) == Status.BROKEN
    assert "other[scores] was SUPPORTED and is ERROR" in capsys.readouterr().out
    assert main(["bless"]) == Status.UNUSABLE
    assert f"not blessed: {error['nodeid']} broke: " in capsys.readouterr().err
    assert "This session is incomplete." in Path("reports/latest/index.html").read_text()


FIT = "    return {"
CONTROLLED = CLAIMS + '\n\ntest_control = positive_control(MINE, on=on, worse="low")\n'


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ("seed == 1 and arm == 'low'", "low has no score from seeds 1 (score is nan)"),
        ("arm == 'high'", "high has no score from seeds 0, 1, 2, 3, 4, 5 (score is nan)"),
        ("True", "(score is nan)"),
    ],
    ids=["one seed", "one arm", "all"],
)
@pytest.mark.parametrize("ini", ["", "embinit_strict = true"], ids=["", "strict"])
def test_a_run_that_diverges_is_never_green(session, pytester, when, reason, ini):
    """It was skipped, and the session ended with 0, as though nobody had asked for its claims."""
    Path("pytest.ini").write_text(f"[pytest]\n{ini}\n")
    diverges = f"    if {when}:\n        return {{'score': float('nan'), 'loss': 1.0}}\n{FIT}"
    done, document = session(CONTROLLED.replace(FIT, diverges))
    assert done.ret == Status.BROKEN
    claims = [entry for entry in document["claims"] if not entry["control"]]
    assert {entry["verdict"] for entry in claims} == {"NOT RUN"}
    assert all(reason in entry["reason"] for entry in document["errors"][:1])
    assert main(CHECK) == Status.BROKEN


def test_a_session_that_decides_nothing_is_never_green(session, pytester, capsys):
    """A store that was moved away leaves a session that may not train with nothing."""
    done, document = session(CONTROLLED, "--embinit-no-train")
    assert {entry["verdict"] for entry in document["claims"]} == {"NOT RUN"}
    assert done.ret == Status.NOT_OK
    done.stdout.fnmatch_lines(
        [
            "NOT OK: no claim is decided: 3 NOT RUN",
            "NOT OK: control mine/f/control-positive* was not run: *",
        ]
    )
    assert main(CHECK) == Status.NOT_OK
    assert "no claim is decided: 3 NOT RUN" in capsys.readouterr().out
    assert main(["bless", "reports/latest"]) == Status.UNUSABLE


LACKS = """

@training(measures={"score": "points"}, inputs=["lacking.csv"])
def reads(seed, arm):
    return 0


@claim(
    "mine/f/lacks", says="High is above low there", family=MINE,
    on=experiment("lacks", training=reads, arms=["low", "high"], margin=1.0),
)
def test_lacks(arms):
    assert arms["high"] > arms["low"]
"""


def test_what_was_not_run_fails_a_strict_session(session, pytester):
    """Otherwise it is skipped, where other claims are decided."""
    done, document = session(CLAIMS + LACKS)
    assert done.ret == Status.OK
    [skipped] = [entry for entry in document["claims"] if entry["verdict"] == "NOT RUN"]
    assert "lacking.csv doesn't exist" in skipped["reason"]
    Path("pytest.ini").write_text("[pytest]\nembinit_strict = true\n")
    assert session(CLAIMS + LACKS)[0].ret == Status.NOT_OK


SKIPS = {
    "mark": CLAIMS.replace('@claim("mine/f/ot', '@pytest.mark.skip("slow")\n@claim("mine/f/ot'),
    "fixture": CLAIMS + """

@pytest.fixture(autouse=True)
def of_some(request):
    if "other" in request.node.name:
        pytest.skip("slow")
""",
}  # fmt: skip


@pytest.mark.parametrize(
    ("how", "workers"), [("mark", ()), ("fixture", ()), ("fixture", ("-n", "1"))]
)
def test_a_claim_that_is_skipped_is_told_and_lost(session, whole, capsys, how, workers):
    """It vanished from the document, and every verdict was said to be as it was."""
    assert workers or session(SKIPS[how])[0].ret == Status.OK
    done, document = session(SKIPS[how], BASELINE, *workers)
    assert done.ret == Status.NOT_OK
    [skipped] = document["skipped"]
    assert (skipped["id"], skipped["reason"]) == ("mine/f/other[scores]", "slow")
    done.stdout.fnmatch_lines(["SKIPPED mine/f/other?scores?: slow"])
    done.stdout.fnmatch_lines(["LOST: mine/f/other?scores? was SUPPORTED and is SKIPPED"])
    assert main(CHANGES) == Status.NOT_OK
    assert "other[scores] was SUPPORTED and is SKIPPED" in capsys.readouterr().out


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "-n 1"])
def test_a_file_that_is_skipped_loses_its_claims(session, whole, workers):
    """An optional package that went missing is no reason for a finding to hold."""
    text = f"import pytest\n\npytest.importorskip('nowhere_at_all')\n{CLAIMS}"
    done, document = session(text, BASELINE, *workers)
    assert done.ret == Status.NOT_OK
    assert "could not import 'nowhere_at_all'" in document["skipped"][0]["reason"]
    lost = [line for line in done.outlines if line.startswith("LOST: mine/f/")]
    assert len(lost) == 3


LOST_LAST = "LOST: mine/f/last[scores] was SUPPORTED and is gone"
NOT_ASKED_FOR = "No changes in what was compared. Of the baseline's 3 claims, 1 was not asked for."


@pytest.mark.parametrize(
    ("text", "arguments", "status", "said"),
    [
        (CLAIMS, (), 0, "No changes since the baseline."),
        (GOOD + OTHER, (), 1, LOST_LAST),
        (GOOD + OTHER, ("-n", "1"), 1, LOST_LAST),
        (CLAIMS.replace("mine/f/last", "mine/f/end"), (), 1, LOST_LAST),
        ("def test_of_nothing():\n    pass", (), 1, LOST_LAST),
        ("", (), 1, LOST_LAST),
        (CLAIMS.replace(HOLDS, f"{HOLDS} * 2"), (), 3, "is ERROR"),
        (GOOD + OTHER + LAST.replace(" > ", " >= "), (), 1,
         "LOST: mine/f/last[scores] states something else: relation >= in place of >"),
        (CLAIMS, ("-k", "not last"), 0, NOT_ASKED_FOR),
        (GOOD + OTHER, ("-k", "not last"), 0, NOT_ASKED_FOR),
        (GOOD + OTHER, ("--collect-only",), 0, ""),
        (GOOD + OTHER, ("nowhere",), 4, ""),
        ("def test_of_nothing():\n    assert 0", (), 1, LOST_LAST),
        ("def test_of_nothing():\n    assert 0", ("-x",), 2, ""),
    ],
)  # fmt: skip
def test_what_is_gone_or_states_something_else_fails(
    session, whole, capsys, text, arguments, status, said
):
    """It was "no changes since the baseline", and status 0."""
    done, _ = session(text, BASELINE, *arguments)
    assert done.ret == status
    assert said in done.stdout.str()
    if "report: " in done.stdout.str():
        assert main(CHANGES) == status
        assert said in capsys.readouterr().out
    else:  # the report of before stays
        assert json.loads(Path("reports/latest/verdicts.json").read_bytes()) == whole


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ((), ["."]),
        (("claims",), ["claims"]),
        (("claims/", "claims/test_mine.py"), ["claims", "claims/test_mine.py"]),
        (("claims/test_mine.py::test_good", "claims/test_b.py"), ["claims/test_b.py"]),
        (("--pyargs", "papers.mine"), ["papers.mine"]),
        (("claims", "-k", "good"), []),
        (("claims", "-m", "not slow"), []),
        (("claims", "--deselect", "claims/test_mine.py::test_good"), []),
        (("claims", "--ignore", "claims/test_mine.py"), []),
        (("claims", "--lf"), []),
        (("claims", "--sw"), []),
        (("claims", "-x", "--ff", "-v"), ["claims"]),
    ],
)
def test_what_was_asked_for_whole(pytester, arguments, asked):
    """The files and folders of which no option leaves out a test."""
    config = pytester.parseconfig(*arguments)
    assert SessionOptions.asked_whole.fget(SimpleNamespace(config=config)) == asked


def test_a_session_from_elsewhere_writes_below_pytests_root(pytester, monkeypatch):
    """From / it wrote /.embinit and /reports. A path on the command line is relative to there."""
    file = pytester.makepyfile("")
    monkeypatch.chdir("/")
    config = pytester.parseconfig(str(file), "--embinit-report-dir=here")
    options = SimpleNamespace(
        config=config, given={}, option=lambda name: getattr(config.option, f"embinit_{name}")
    )
    assert SessionOptions.path(options, "store") == pytester.path / ".embinit/store"
    options.option = lambda name: "here"
    assert SessionOptions.path(options, "report-dir") == Path("/here")


@pytest.mark.usefixtures("whole")
def test_a_fall_fails_where_that_is_asked_for(session, capsys):
    """An effect of 8 margins that is 4 now is SUPPORTED all the same."""
    done, _ = session(CLAIMS.replace('"high": 9', '"high": 5'), BASELINE)
    assert done.ret == Status.OK
    done.stdout.fnmatch_lines(
        ["moved: * differs from before, outside *, 4 margins from where it was*"]
    )
    for size, status in (("", 1), ("=3.5", 1), ("=4.5", 0)):
        failing = [*CHANGES[1:], "--fail-on", f"moved{size}"]
        assert main(["check", *failing]) == status
        assert ("NOT OK: moved: mine/f/good" in capsys.readouterr().out) == bool(status)
        assert main(["report", "--markdown", *failing]) == 0
        summary = capsys.readouterr().out
        assert ("**Not OK:**" in summary) == bool(status)
        assert "4 margins from where it was" in summary


def test_what_is_nothing_to_fail_on_is_one_line(session, capsys):
    """A gate that nothing can fail would be green by default."""
    session()
    for given in ("lost", "moved=x", "moved=-1", "moved=nan", ""):
        assert main([*CHECK, f"--fail-on={given}"]) == Status.UNUSABLE
        assert "is nothing to fail on; say moved" in capsys.readouterr().err


def test_an_interrupted_session_says_so(session, pytester, capsys):
    """13 claims were replaced by 0, and check said 0."""
    session()
    Path("conftest.py").write_text(RAISES)
    done, cut = session()
    assert done.ret == Status.INTERRUPTED
    done.stdout.fnmatch_lines(["unfinished: it was interrupted from the keyboard"])
    assert cut["session"]["unfinished"] == "it was interrupted from the keyboard"
    assert len(cut["claims"]) < 3
    assert main(CHECK) == Status.INTERRUPTED
    said = "the session is unfinished: it was interrupted from the keyboard"
    assert f"NOT OK: {said}" in capsys.readouterr().out
    assert main(["bless"]) == Status.UNUSABLE
    assert f"not blessed: {said}" in capsys.readouterr().err


def test_a_session_that_stops_at_the_first_failure_is_unfinished(session):
    done, document = session(REFUTED, "-x")
    assert done.ret == Status.INTERRUPTED
    assert "stopping after 1 failures" in document["session"]["unfinished"]


def test_a_session_without_claims_ends_as_pytest_does(pytester):
    """Though it asks for embinit's options: other tools, such as mutmut, read pytest's statuses."""
    pytester.makepyfile("def test_first():\n    assert 0\n\ndef test_second():\n    assert 0\n")
    done = pytester.runpytest_inprocess("-x", "--embinit-tier", "sample", "-p", "no:cacheprovider")
    done.stdout.fnmatch_lines(["*stopping after 1 failures*"])
    assert done.ret == pytest.ExitCode.TESTS_FAILED


def test_a_file_that_cannot_be_collected_is_no_refutation(session, pytester):
    """Its claims have no verdict; pytest itself would end with 1."""
    Path("claims/test_z.py").write_text("import nowhere_at_all")
    done, document = session(CLAIMS, "--continue-on-collection-errors")
    assert done.ret == Status.BROKEN
    [error] = document["errors"]
    assert error["nodeid"] == "claims/test_z.py"
    assert "No module named 'nowhere_at_all'" in error["reason"]
    done, document = session()
    assert done.ret == Status.INTERRUPTED


@pytest.mark.parametrize(
    ("arguments", "usage", "error"),
    [
        ("check", "[--baseline BASELINE]", "the following arguments are required: verdicts\n"),
        ("frobnicate", "[--version]", "argument command: invalid choice: 'frobnicate'"),
        ("check a --frobnicate", "[--baseline BASELINE]", "unrecognized arguments: --frobnicate\n"),
        ("judge base=1,2 --low", "[--by COLUMNS]", "unrecognized arguments: --low\n"),
    ],
)
def test_a_wrong_command_is_unusable_input(arguments, usage, error, capsys):
    """With the usage of the command; argparse would end with 2, which means interrupted."""
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    assert ended.value.code == Status.UNUSABLE
    command = f"embinit {arguments.split()[0]}".removesuffix(" frobnicate")
    printed = capsys.readouterr().err
    assert printed.startswith(f"usage: {command} [-h] {usage}")
    assert f"\n{command}: error: {error}" in printed


def run_apart(pytester: pytest.Pytester, most: int = -1) -> subprocess.CompletedProcess[str]:
    """A session in a process where no file may grow beyond a size, as though a disk were full."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    pytester.mkdir("claims").joinpath("test_mine.py").write_text(CLAIMS)
    command = [sys.executable, "-m", "pytest", "claims", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, timeout=240)


def test_an_error_in_the_report_is_no_refutation(pytester):
    """Python ends with 1 where an exception ends it."""
    Path("conftest.py").write_text(
        "import embinit.report.verdict_table as table\ntable.verdict_lines = lambda *_: 1 / 0\n"
    )
    done = run_apart(pytester)
    assert done.returncode == Status.BROKEN, done.stderr
    assert "ZeroDivisionError" in done.stderr


def test_runs_that_cannot_be_kept_are_told_once_and_are_no_refutation(pytester):
    done = run_apart(pytester, most=9)
    assert done.returncode == Status.UNWRITABLE, done.stdout + done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("NOT RUN (")]
    assert len(said) == 1
    assert said[0].count("a run could not be kept in") == 1
    assert "make room, or name another directory with --embinit-store: arm 'high'" in said[0]


def test_a_report_that_cannot_be_written_is_told_and_is_no_refutation(pytester):
    """The verdicts are told all the same, and the report before it stands."""
    report = pytester.path / "reports/latest"
    report.mkdir(parents=True)
    (report / "verdicts.json").write_text("old")
    done = run_apart(pytester, most=2000)
    assert done.returncode == Status.UNWRITABLE, done.stdout + done.stderr
    for said in ("NOT WRITTEN: the report in", "File too large", "mine/f/good[scores]"):
        assert said in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert [path.name for path in report.iterdir()] == ["verdicts.json"]
    assert (report / "verdicts.json").read_text() == "old"
