"""One mistake is one failed test with its line and its mend; all other claims are decided."""

import fnmatch
import re
from pathlib import Path
from textwrap import indent

import pytest

from builders import set_apart
from documents import latest
from embinit.lab.data.sources import SOURCES
from embinit.lab.tables.inits import INITS
from projects import GOOD, HOLDS, OTHER, stated

CLAIM = "@claim('mine/f/other', says='s', family=MINE, on=on)"
BODY = f"    {HOLDS}\n"


@pytest.fixture
def judged(session):
    """Runs claims, of which the good one must be decided: what pytest did, and all by their ids."""

    def run(text, *arguments, status=3):
        done, document = session(text, *arguments)
        output = done.stdout.str()
        assert "INTERNALERROR" not in output
        assert "Traceback" not in output
        assert done.ret == status, output
        verdicts = {entry["id"].partition("[")[0]: entry for entry in document["claims"]}
        assert verdicts["mine/f/good"]["verdict"] == "SUPPORTED"
        done.stdout.fnmatch_lines(["*report: *index.html"])
        return done, verdicts

    return run


GOES_ON = "the claim does not fail there: a claim asserts comparisons joined by 'and' alone"
BODIES = [
    ("assert not arms['high'] >= arms['low']  # here", "none with 'not'"),
    ("assert arms['high'] > arms['low'] or arms['high'] < arms['low']  # here", GOES_ON),
    ("if arms['high'] > arms['low']:  # here\n        assert arms['low'] > 0", GOES_ON),
    ("assert any(arms[a] > 0 for a in ('low', 'high'))  # here", GOES_ON),
    ("assert max(arms['high'], arms['low']) > 2  # here", GOES_ON),
    ("try:\n        assert arms['high'] > 2  # here\n    except AssertionError:\n        pass",
     GOES_ON),
    ("with suppress(Exception):\n        assert arms['high'] > 2  # here", GOES_ON),
    ("assert abs(arms['high'] - arms['low']) < 2  # here", "write .alike(…), within"),
    ("assert arms['high'] > 2\n    arms['low'] < 3  # here", "compared and never asserted"),
    ("assert arms['hihg'] > 2  # here", "has no arm 'hihg': did you mean 'high'? it has low"),
    ("assert arms['high'].measured_by('los') < 2  # here", "did you mean 'loss'?"),
    ("assert arms['high'] > float('nan')  # here", "give a finite number"),
    ("assert arms['high'].within(float('nan')) >= arms['low']  # here", "above 0, in points"),
    ("assert (arms['high'] >= arms['low']).within(1)  # here", "a margin goes on an arm, as"),
    ("assert arms['high'].within(1) >= arms['low'].within(2)  # here", "has two margins"),
    ("assert arms['high'].mean() > 2  # here", "arms are compared by their"),
]  # fmt: skip
MORE = [
    (f"{CLAIM}  # here\ndef test_other():\n    assert 1\n", "this one takes nothing"),
    (f"{CLAIM}  # here\ndef test_other(arms, tmp_path):\n{BODY}", "takes arms, tmp_path"),
    (f"@pytest.mark.parametrize('arms', [1])\n{CLAIM}\ndef test_other(arms):\n{BODY}",
     "a claim can't be parametrised"),
    (f"@claim('mine/f/other', says='s', on=on)  # here\ndef test_other(arms):\n{BODY}",
     "mine/f/other has no family: give it one"),
    ("test_control = positive_control('mine', on=on, worse='low')  # here\n",
     "the id 'mine/control-positive' must read paper/part/name"),
    ("test_control = positive_control(MINE, on=5, worse='low')  # here\n",
     "a claim is tested on experiments, not on 5"),
    ("test_control = helping.with_helpers(MINE, on)  # here\n", "scores has no arm 'hihg'"),
    ("from embinit_papers.kim2024 import table1\n\n"
     "@claim('mine/f/other', says='s', family=MINE, on=table1('glove', tasks=('sst2',)))\n"
     "def test_other(arms):\n    assert arms['xavier'].measured_by('acuracy') > 5  # here\n",
     "unknown measure 'acuracy': did you mean 'accuracy'?"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "said"),
    [*((stated("other", body), said) for body, said in BODIES), *MORE],
    ids=lambda text: text.strip().partition("#")[0][-40:],
)
def test_what_cannot_be_judged_is_refused_alone_at_its_line(judged, pytester, more, said):
    """Another claim would be judged than the one that is written.

    The line of a control is that which makes it, whatever file its test is written in.
    """
    pytester.makepyfile(
        helping="from embinit import positive_control\n\ndef with_helpers(family, on):\n"
        "    return positive_control(family, on=on, worse='hihg')\n"
    )
    pytester.syspathinsert()
    text = f"{GOOD}\nimport helping\n\n\n{more}"
    done, verdicts = judged(text)
    done.assert_outcomes(passed=1, failed=1)
    assert [*verdicts] == ["mine/f/good"]
    place = f"(test_mine.py:|line ){line_of_here(text)}: " if "# here" in text else ""
    assert re.search(f"{place}.*{re.escape(said)}", done.stdout.str())


@pytest.mark.parametrize(
    ("body", "outcome", "said"),
    [
        ("pytest.skip('no GPU')", "skipped", "no GPU"),
        ("pytest.importorskip('nosuch')", "skipped", "could not import 'nosuch'*"),
        ("pytest.xfail('known')", "failed", "the claim's body raised XFailed: known; it may skip*"),
        ("pytest.fail('no')", "failed", "the claim's body raised Failed: no; it may skip*"),
        ("raise SystemExit(0)", "failed", "the claim's body raised SystemExit: 0; it may skip*"),
    ],
)
def test_an_outcome_in_a_claims_body_is_that_tests_alone(judged, body, outcome, said):
    """A claim that skips is skipped; whatever else it raises is one line, and no session's end."""
    text = GOOD + stated("other", f"{body}  # here\n{BODY}")
    done, verdicts = judged(text, status=0 if outcome == "skipped" else 3)
    done.assert_outcomes(passed=1, **{outcome: 1})
    assert "mine/f/other" not in verdicts
    [entry] = latest()["skipped" if outcome == "skipped" else "errors"]
    place = "" if outcome == "skipped" else f"claims/test_mine.py:{line_of_here(text)}: "
    assert fnmatch.fnmatch(entry["reason"], place + said)


@pytest.mark.parametrize(
    ("asserts", "said"),
    [
        ("assert arms['high'] > len(seen)", "high > 3 now, and high > 1"),
        ("assert all(arms['high'] > n for n in ((1,) if len(seen) > 3 else (1, 2)))", "nothing *"),
    ],
)
def test_what_a_claim_asserts_may_not_change_between_its_readings(judged, asserts, said):
    """It would be green for what was never judged."""
    seen = "seen = vars(MINE).setdefault('seen', [])\n    seen.append(0)\n"
    done, _ = judged(GOOD + stated("other", f"{seen}    {asserts}"))
    done.stdout.fnmatch_lines([f"it asserts {said} when it was read: *"])


PLAIN = """for arm in ("low", "high"):
        assert arms[arm] > 0 and arms[arm] < 20
    assert 0 < arms["low"] < arms["high"], "in order"
    assert all(arms[arm] > 0 for arm in ("low", "high"))
    if arms.tier == "micro":
        assert helper(arms)


def helper(arms):
    return arms["high"] > 2 and arms["high"] > 3
"""


def test_every_plain_conjunction_is_accepted(judged):
    """Loops, chains, all and helpers are conjunctions too."""
    done, verdicts = judged(GOOD + stated("other", PLAIN), status=0)
    done.assert_outcomes(passed=2)
    assert len(verdicts["mine/f/other"]["comparisons"]) == 10


BROKEN_MODULES = {
    "a wrong baseline": (
        "experiment('more', training=fit, arms=['low', 'high'], baseline='hihg')",
        "the baseline 'hihg' is not an arm of 'more': did you mean 'high'?",
    ),
    "another error": ("Family(nmae='mine/h')", "TypeError: "),
    "a package that is nowhere": ("import nowhere_at_all", "ModuleNotFoundError: No module named"),
    "no Python": ("def :", "SyntaxError: invalid syntax"),
}


@pytest.mark.parametrize(("mistake", "said"), BROKEN_MODULES.values(), ids=[*BROKEN_MODULES])
def test_a_module_that_raises_is_one_error(judged, mistake, said):
    """pytest would end the session before any test, and every claim would be lost."""
    mistake, own = (re.sub(r"\bfit\b", "fit_z", text) for text in (mistake, GOOD))
    broken = own.replace("mine/f", "mine/z").replace("\n\n@claim", f"\n{mistake}\n\n@claim")
    Path("claims/test_z.py").write_text(broken)
    done, verdicts = judged(GOOD, *(("-n", "2") if mistake == "def :" else ("-k", "good")))
    done.assert_outcomes(passed=1, errors=1)
    line = broken.splitlines().index(mistake) + 1
    assert f"claims/test_z.py:{line}: {said}" in done.stdout.str()
    [error] = latest()["errors"]
    assert error["nodeid"] == "claims/test_z.py"
    assert error["reason"].startswith(f"claims/test_z.py:{line}: {said}")
    assert verdicts["mine/f/good"]["alpha"] == pytest.approx(0.05 / 9)


def test_an_error_in_a_helper_keeps_what_pytest_reports_of_it(session, pytester):
    """The module's own line is not all of it."""
    pytester.syspathinsert()
    pytester.makepyfile(helper_that_raises="1 / 0")
    done, _ = session(f"import helper_that_raises\n{GOOD}")
    said = ["helper_that_raises.py:1: in <module>*", "claims/test_mine.py:1: ZeroDivisionError*"]
    done.stdout.fnmatch_lines(said)


def test_a_module_that_raises_alone_is_broken_and_listing_it_is_an_error(session):
    """So ``embinit list`` does not pass over its claims."""
    done, _ = session(text := f"{GOOD}\n1 / 0\n")
    assert done.ret == 3
    done.stdout.fnmatch_lines(["report: *index.html"])
    assert session(text, "--collect-only")[0].ret == pytest.ExitCode.INTERRUPTED


def test_a_method_may_be_a_claim(judged):
    """It takes its experiment alone, beside self."""
    method = indent(OTHER.replace("(arms)", "(self, arms)"), "    ")
    done, verdicts = judged(f"{GOOD}\n\nclass TestScores:\n{method}", status=0)
    done.assert_outcomes(passed=2)
    assert verdicts["mine/f/other"]["verdict"] == "SUPPORTED"


def test_an_id_belongs_to_one_claim(judged):
    """In one file or in two: the verdicts of both would stand under it."""
    twice = GOOD + OTHER
    Path("claims/test_more.py").write_text(
        twice.replace("mine/f/good", "mine/f/third")
        .replace("def fit", "def fit_more")
        .replace("training=fit", "training=fit_more")
    )
    done, verdicts = judged(twice)
    done.assert_outcomes(passed=2, failed=2)
    assert "mine/f/other" not in verdicts
    done.stdout.fnmatch_lines(["*the id 'mine/f/other' is given to 2 claims (test_mine.py:*"])


@pytest.mark.parametrize("selected", [(), ("-k", "other")], ids=["all", "-k"])
@pytest.mark.parametrize(
    ("size", "said"),
    [
        (", size=1", "has 2 claims on tier micro, and its size there is 1; *size 2"),
        ("", "has claims in claims/test_mine.py, claims/test_more.py: say how many it has in all*"),
    ],
)
def test_a_family_in_two_files_has_the_size_of_both(session, selected, size, said):
    """Whatever -k says: three claims at 5 % each are 15 %."""
    few, more = (stated(name).replace("MINE", "FEW") for name in ("other", "more"))
    few, more = (text.replace("mine/f/", "mine/few/") for text in (few, more))
    Path("claims/test_more.py").write_text(f"from test_mine import FEW, claim, on\n{more}")
    done, _ = session(f'{GOOD}\nFEW = Family("mine/few"{size})\n{few}', *selected)
    done.assert_outcomes(
        **({"failed": 1, "deselected": 2} if selected else {"failed": 2, "passed": 1})
    )
    done.stdout.fnmatch_lines([f"*family 'mine/few' {said}"])


@pytest.mark.parametrize(
    ("other", "selected", "status"),
    [(OTHER, (), 0), (OTHER, ("-k", "good"), 0), (OTHER.replace(" family=MINE,", ""), (), 3)],
    ids=["all", "-k", "unread"],
)
def test_a_family_without_a_size_is_counted_in_its_file(judged, other, selected, status):
    """So a claim alone is judged at the level that it has in the suite.

    A claim that can't be read may be of the family: what is judged keeps within its share.
    """
    _, verdicts = judged((GOOD + other).replace(", size=9", ""), *selected, status=status)
    assert verdicts["mine/f/good"]["alpha"] == pytest.approx(0.05 / 2)


FAILING = """

@training(measures=["score"])
def breaks(seed, arm):
    if arm == "low":
        raise RuntimeError("boom")  # here
    return 5 + random.random()


broken = experiment("broken", training=breaks, arms=["low", "high", "more"], seeds=6)


@claim("mine/f/broken", says="A run that raises", family=MINE, on=broken)
def test_broken(arms):
    assert arms["high"] > arms["low"]


@claim("mine/f/beside", says="Arms that don't", family=MINE, on=broken)
def test_beside(arms):
    assert arms["high"] > 2
"""


def test_a_run_that_raises_fails_its_own_claims_alone(judged):
    """It is no refutation; table and report come, and say why. A later session tries again.

    Two failures alike end its arm: a missing import must not cost the time of six runs.
    """
    text = GOOD + FAILING
    done, verdicts = judged(text, "-n", "1")
    done.assert_outcomes(passed=2, failed=1)
    assert verdicts["mine/f/beside"]["verdict"] == "SUPPORTED"
    assert verdicts["mine/f/broken"]["verdict"] == "NOT RUN"
    reason = verdicts["mine/f/broken"]["reason"]
    assert reason.startswith(f"RuntimeError: boom (test_mine.py:{line_of_here(text)}): arm 'low'")
    done.stdout.fnmatch_lines(["RuntimeError: boom (*", "not decided: A run that raises"])
    done.stdout.fnmatch_lines(
        ["*a failed run*", '*test_mine.py", line *, in breaks', "RuntimeError: boom"]
    )
    assert reason.endswith("arm 'low', seeds 0, 1; 4 other runs not made")
    [error] = latest()["errors"]
    assert error["reason"] == reason
    done.stdout.fnmatch_lines(["compared runs: * 2 failed"])
    assert done.stdout.str().count(reason) == 2  # by pytest, and in the table of verdicts
    done, _ = judged(
        text.replace('raise RuntimeError("boom")', "return random.random() ** 2"), status=0
    )
    done.assert_outcomes(passed=3)


SIZED = GOOD.replace("def fit(seed, arm):", "def fit(seed, arm, top=9):").replace(
    "seeds=6)", "seeds=6, sizes={'ci-size': {'top': 8}, 'real-size': {'top': 20}})"
).replace('"high": 9}', '"high": top}')  # fmt: skip


def test_a_tier_may_be_an_experiments_own(judged):
    """No paper has it. The sizes of a user's experiment are called as the user calls them."""
    _, verdicts = judged(SIZED, "--embinit-tier", "real-size", "-n", "1", status=0)
    [entry] = verdicts["mine/f/good"]["comparisons"]
    assert entry["difference"] == pytest.approx(19, abs=1)
    assert verdicts["mine/f/good"]["tier"] == "real-size"


def test_a_claim_without_an_experiment_on_the_tier_is_told(session):
    """pytest alone would say that it was deselected, and not why."""
    done, _ = session(GOOD.replace("on=on)", "on=lambda tier: [])"))
    assert done.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    done.stdout.fnmatch_lines(["embinit: 1 left out, with no experiment on tier micro"])


OWN_INIT = """
from dataclasses import replace

from builders import small_experiment
from embinit import Family, claim
from embinit.lab.specs import Cut
from embinit.lab.tables.inits import INITS, Init, pretrained

INITS.register("doubled", Init("doubled", "{source}_Doubled", True,
                               lambda v, s, g: pretrained(v * 2, s, g)))
small = small_experiment("sentiment", Cut(train=64, validation=32), epochs=1)
small = replace(small, seeds=6, most_seeds=None)


@claim("mine/f/good", says="s", family=Family("mine/f", size=1), on=small)
def test_good(experiment):
    assert experiment["doubled"].sigma > experiment["pretrained"].sigma
"""


def test_an_init_of_a_module_of_claims_is_known_to_workers_and_controller(session, monkeypatch):
    """The controller collects nothing, and yet names the arms in the report."""
    set_apart(monkeypatch, INITS)
    done, _ = session(OWN_INIT, "-n", "1")
    assert done.ret == 0, done.stdout.str()
    assert "GloVe_Doubled" in Path("reports/latest/index.html").read_text()


def line_of_here(text):
    [line] = [number for number, one in enumerate(text.splitlines(), 1) if "# here" in one]
    return line


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        ("--embinit-source", "golve=vectors.txt", "*golve=…: no claim reads a source 'golve'*"),
        (
            "--embinit-tier",
            "real-sise",
            "*unknown tier 'real-sise': did you mean 'real-size'? known are micro, *, ci-size, *",
        ),
        ("--embinit-report-dir", "vectors.txt/x", "*-report-dir *vectors.txt is no folder*"),
    ],
)
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "-n 1"])
def test_a_misspelt_option_is_told_before_anything_trains(
    session, monkeypatch, option, given, said, workers
):
    """With what there is: the tiers of the user's own experiments among them."""
    set_apart(monkeypatch, SOURCES)
    Path("vectors.txt").write_text("a 1.0 2.0\n")
    done, _ = session(SIZED, option, given, *workers)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "INTERNALERROR" not in done.stdout.str()
    done.stderr.fnmatch_lines([said])
    assert not [*Path(".embinit/store/runs").rglob("*.json")]


UNFOLLOWED = """

@training(measures=["score"])
def restless(seed, arm):
    import subprocess
    subprocess.run(["true"], check=True)
    return {"low": 1, "high": 9}[arm] + random.random()


@claim("mine/f/other", says="s", family=MINE,
       on=experiment("restless", training=restless, arms=["low", "high"], seeds=6))
def test_other(arms):
    assert arms["high"] > arms["low"]
"""


def test_what_cannot_be_followed_of_a_function_is_printed(judged):
    done, _ = judged(GOOD + UNFOLLOWED, status=0)
    pattern = "restless starts a program (true), which can't be followed: it is trained again*"
    done.stdout.fnmatch_lines(["*verdicts*", pattern])
