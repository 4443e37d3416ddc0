"""One mistake is one failed test with its line and its mend; all other claims are decided."""

import fnmatch
import json
import re

import pytest

from builders import set_apart
from embinit.lab.data.sources import SOURCES
from embinit.lab.tables.inits import INITS
from embinit.runs.trainings import TRAININGS

CLAIMS = """
import random

from embinit import Family, Verdict, claim, experiment, training


@training(measures={"score": "points", "loss": "nats"})
def fit(seed, arm):
    more = random.random() * (0.5 if arm == "low" else 1)
    return {"score": {"low": 1, "high": 9}[arm] + more, "loss": 1.0 + random.random()}


on = experiment("scores", training=fit, arms=["low", "high"], margin=1.0, seeds=6)
MINE = Family("mine/f", size=9)


@claim("mine/f/good", says="High is above low", family=MINE, on=on)
def test_good(arms):
    assert arms["high"] > arms["low"]
"""
OTHER = """

@claim("mine/f/other", says="Stated wrongly", family=MINE, on=on)
def test_other(arms):
"""
CLAIM = "@claim('mine/f/other', says='s', family=MINE, on=on)"
BODY = "    assert arms['high'] > arms['low']\n"


@pytest.fixture
def judged(pytester, monkeypatch):
    """Runs claims, of which the good one must be decided, and gives what was told."""
    set_apart(monkeypatch, TRAININGS, empty=True)
    pytester.mkdir("claims")

    def run(text, *arguments, status=3, verdict="SUPPORTED", good=True):
        (pytester.path / "claims/test_mine.py").write_text(text)
        done = pytester.runpytest_inprocess("claims", "-p", "no:cacheprovider", *arguments)
        output = done.stdout.str()
        assert "INTERNALERROR" not in output
        assert "Traceback" not in output
        assert done.ret == status, output
        document = json.loads((pytester.path / "reports/latest/verdicts.json").read_text())
        verdicts = {entry["id"].partition("[")[0]: entry for entry in document["claims"]}
        assert not good or verdicts["mine/f/good"]["verdict"] == verdict
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
    (
        f"@pytest.mark.parametrize('arms', [1])\n{CLAIM}\ndef test_other(arms):\n{BODY}",
        "a claim can't be parametrised",
    ),
    (
        f"@claim('mine/f/other', says='s', on=on)  # here\ndef test_other(arms):\n{BODY}",
        "mine/f/other has no family: give it one",
    ),
    (
        "test_control = positive_control('mine', on=on, worse='low')  # here\n",
        "the id 'mine/control-positive' must read paper/part/name",
    ),
    (
        "test_control = positive_control(MINE, on=5, worse='low')  # here\n",
        "a claim is tested on experiments, not on 5",
    ),
    ("test_control = helping.with_helpers(MINE, on)  # here\n", "scores has no arm 'hihg'"),
    (
        "from embinit_papers.kim2024 import table1\n\n"
        "@claim('mine/f/other', says='s', family=MINE, on=table1('glove', tasks=('sst2',)))\n"
        "def test_other(arms):\n    assert arms['xavier'].measured_by('acuracy') > 5  # here\n",
        "unknown measure 'acuracy': did you mean 'accuracy'?",
    ),
]


@pytest.mark.parametrize(
    ("more", "said"),
    [*((f"{OTHER}    {body}\n", said) for body, said in BODIES), *MORE],
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
    imports = "import helping\nfrom contextlib import suppress\nimport pytest\n"
    text = f"{CLAIMS}\n{imports}from embinit import positive_control\n\n\n{more}"
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
        ("sys.exit(0)", "failed", "the claim's body raised SystemExit: 0; it may skip*"),
    ],
)
def test_an_outcome_in_a_claims_body_is_that_tests_alone(judged, pytester, body, outcome, said):
    """A claim that skips is skipped; whatever else it raises is one line, and no session's end."""
    text = f"import sys\n\nimport pytest\n{CLAIMS}{OTHER}    {body}  # here\n{BODY}"
    done, verdicts = judged(text, status=0 if outcome == "skipped" else 3)
    done.assert_outcomes(passed=1, **{outcome: 1})
    assert "mine/f/other" not in verdicts
    document = json.loads((pytester.path / "reports/latest/verdicts.json").read_text())
    [entry] = document["skipped" if outcome == "skipped" else "errors"]
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
    text = f"{CLAIMS}{OTHER}    seen = vars(MINE).setdefault('seen', [])\n    seen.append(0)\n"
    done, _ = judged(f"{text}    {asserts}\n")
    done.stdout.fnmatch_lines([f"it asserts {said} when it was read: *"])


PLAIN = """
    for arm in ("low", "high"):
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
    done, verdicts = judged(CLAIMS + OTHER + PLAIN, status=0)
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
def test_a_module_that_raises_is_one_error(judged, pytester, mistake, said):
    """pytest would end the session before any test, and every claim would be lost."""
    mistake, own = (re.sub(r"\bfit\b", "fit_z", text) for text in (mistake, CLAIMS))
    broken = own.replace("mine/f", "mine/z").replace("\n\n@claim", f"\n{mistake}\n\n@claim")
    (pytester.path / "claims/test_z.py").write_text(broken)
    done, verdicts = judged(CLAIMS, *(("-n", "2") if mistake == "def :" else ("-k", "good")))
    done.assert_outcomes(passed=1, errors=1)
    line = broken.splitlines().index(mistake) + 1
    assert f"claims/test_z.py:{line}: {said}" in done.stdout.str()
    [error] = json.loads((pytester.path / "reports/latest/verdicts.json").read_text())["errors"]
    assert error["nodeid"] == "claims/test_z.py"
    assert error["reason"].startswith(f"claims/test_z.py:{line}: {said}")
    assert verdicts["mine/f/good"]["alpha"] == pytest.approx(0.05 / 9)


def test_an_error_in_a_helper_keeps_what_pytest_reports_of_it(pytester, monkeypatch):
    """The module's own line is not all of it."""
    set_apart(monkeypatch, TRAININGS, empty=True)
    monkeypatch.syspath_prepend(pytester.path)
    pytester.makepyfile(helper_that_raises="1 / 0")
    text = f"import helper_that_raises\n{CLAIMS}"
    pytester.mkdir("claims").joinpath("test_mine.py").write_text(text)
    done = pytester.runpytest_inprocess("claims")
    said = ["helper_that_raises.py:1: in <module>*", "claims/test_mine.py:1: ZeroDivisionError*"]
    done.stdout.fnmatch_lines(said)


def test_a_module_that_raises_alone_is_broken_and_listing_it_is_an_error(pytester, monkeypatch):
    """So ``embinit list`` does not pass over its claims."""
    set_apart(monkeypatch, TRAININGS, empty=True)
    pytester.mkdir("claims").joinpath("test_mine.py").write_text(f"{CLAIMS}\n1 / 0\n")
    done = pytester.runpytest_inprocess("claims")
    assert done.ret == 3
    done.stdout.fnmatch_lines(["report: *index.html"])
    done = pytester.runpytest_inprocess("claims", "--collect-only")
    assert done.ret == pytest.ExitCode.INTERRUPTED


def test_claims_that_cannot_be_read_count_in_families_without_a_size(judged):
    """They may be of that family. What is judged beside them keeps within its share of alpha."""
    other = f"\n\n@claim('mine/f/other', says='s', on=on)\ndef test_other(arms):\n{BODY}"
    _, verdicts = judged(CLAIMS.replace(", size=9", "") + other)
    assert verdicts["mine/f/good"]["alpha"] == pytest.approx(0.05 / 2)


def test_a_method_may_be_a_claim(judged):
    """It takes its experiment alone, beside self."""
    text = CLAIMS + (
        "\n\nclass TestScores:\n"
        "    @claim('mine/f/other', says='s', family=MINE, on=on)\n"
        "    def test_other(self, arms):\n        assert arms['high'] > arms['low']\n"
    )
    done, verdicts = judged(text, status=0)
    done.assert_outcomes(passed=2)
    assert verdicts["mine/f/other"]["verdict"] == "SUPPORTED"


def test_an_id_belongs_to_one_claim(judged, pytester):
    """In one file or in two: the verdicts of both would stand under it."""
    twice = CLAIMS + OTHER + "    assert arms['high'] > 2\n"
    (pytester.path / "claims/test_more.py").write_text(
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
def test_a_family_in_two_files_has_the_size_of_both(judged, pytester, selected, size, said):
    """Whatever -k says: three claims at 5 % each are 15 %."""
    text = CLAIMS + (
        f'\n\nFEW = Family("mine/few"{size})\n'
        '\n\n@claim("mine/few/a", says="a", family=FEW, on=on)\ndef test_other(arms):\n'
        "    assert arms['high'] > 2\n"
    )
    (pytester.path / "claims/test_more.py").write_text(
        "from test_mine import FEW, claim, on\n\n\n"
        '@claim("mine/few/b", says="b", family=FEW, on=on)\ndef test_more(arms):\n'
        "    assert arms['high'] > 3\n"
    )
    (pytester.path / "claims/test_mine.py").write_text(text)
    done = pytester.runpytest_inprocess("claims", *selected, "-p", "no:cacheprovider")
    done.assert_outcomes(
        **({"failed": 1, "deselected": 2} if selected else {"failed": 2, "passed": 1})
    )
    done.stdout.fnmatch_lines([f"*family 'mine/few' {said}"])


@pytest.mark.parametrize("selected", [(), ("-k", "good")], ids=["all", "-k"])
def test_a_family_without_a_size_is_counted_in_its_file(judged, selected):
    """So a claim alone is judged at the level that it has in the suite."""
    text = CLAIMS.replace(", size=9", "") + OTHER + "    assert arms['high'] > 2\n"
    _, verdicts = judged(text, *selected, status=0)
    assert verdicts["mine/f/good"]["alpha"] == 0.025


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


def test_a_run_that_raises_fails_its_own_claims_alone(judged, pytester):
    """It is no refutation; table and report come, and say why. A later session tries again.

    Two failures alike end its arm: a missing import must not cost the time of six runs.
    """
    text = CLAIMS + FAILING
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
    done.stdout.fnmatch_lines(["compared runs: * 2 failed"])
    assert done.stdout.str().count(reason) == 2  # by pytest, and in the table of verdicts
    done, _ = judged(
        text.replace('raise RuntimeError("boom")', "return random.random() ** 2"), status=0
    )
    done.assert_outcomes(passed=3)


SIZED = CLAIMS.replace("def fit(seed, arm):", "def fit(seed, arm, top=9):").replace(
    "seeds=6)", "seeds=6, sizes={'ci-size': {'top': 8}, 'real-size': {'top': 20}})"
).replace('"high": 9}', '"high": top}')  # fmt: skip


def test_a_tier_may_be_an_experiments_own(judged):
    """No paper has it. The sizes of a user's experiment are called as the user calls them."""
    _, verdicts = judged(SIZED, "--embinit-tier", "real-size", "-n", "1", status=0)
    [entry] = verdicts["mine/f/good"]["comparisons"]
    assert entry["difference"] == pytest.approx(19, abs=1)
    assert verdicts["mine/f/good"]["tier"] == "real-size"


def test_a_claim_without_an_experiment_on_the_tier_is_told(pytester, monkeypatch):
    """pytest alone would say that it was deselected, and not why."""
    set_apart(monkeypatch, TRAININGS, empty=True)
    text = CLAIMS.replace("on=on)", "on=lambda tier: [])")
    pytester.mkdir("claims").joinpath("test_mine.py").write_text(text)
    done = pytester.runpytest_inprocess("claims", "-p", "no:cacheprovider")
    assert done.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    done.stdout.fnmatch_lines(["embinit: 1 left out, with no experiment on tier micro"])


OWN_INIT = """
from dataclasses import replace

from embinit import Family, claim
from embinit_papers.kim2024 import table1
from embinit.lab.specs import Cut
from embinit.lab.tables.inits import INITS, Init, pretrained

INITS.register("doubled", Init("doubled", "{source}_Doubled", True,
                               lambda v, s, g: pretrained(v * 2, s, g)))


def small(tier):
    return [
        replace(
            one, seeds=6, most_seeds=None, data_draws=None,
            model=replace(one.model, layers=1, feed_forward=16),
            training=replace(one.training, epochs=1),
            data=replace(one.data, cut=Cut(train=64, validation=32)),
        )
        for one in table1("glove", tasks=("sst2",))(tier)
    ]


@claim("mine/f/good", says="s", family=Family("mine/f", size=1), experiments=small)
def test_good(experiment):
    assert experiment["doubled"].sigma > experiment["pretrained"].sigma
"""


def test_an_init_of_a_module_of_claims_is_known_to_workers_and_controller(pytester, monkeypatch):
    """The controller collects nothing, and yet names the arms in the report."""
    set_apart(monkeypatch, INITS)
    pytester.mkdir("claims")
    (pytester.path / "claims/test_mine.py").write_text(OWN_INIT)
    done = pytester.runpytest_inprocess("claims", "-n", "1", "-p", "no:cacheprovider")
    assert done.ret == 0, done.stdout.str()
    assert "GloVe_Doubled" in (pytester.path / "reports/latest/index.html").read_text()


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
    judged, pytester, monkeypatch, option, given, said, workers
):
    """With what there is: the tiers of the user's own experiments among them."""
    set_apart(monkeypatch, SOURCES)
    (pytester.path / "vectors.txt").write_text("a 1.0 2.0\n")
    (pytester.path / "claims/test_mine.py").write_text(SIZED)
    done = pytester.runpytest_inprocess("claims", option, given, *workers)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "INTERNALERROR" not in done.stdout.str()
    done.stderr.fnmatch_lines([said])
    assert not [*(pytester.path / ".embinit/store/runs").rglob("*.json")]


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
    done, _ = judged(CLAIMS + UNFOLLOWED, status=0)
    pattern = "restless starts a program (true), which can't be followed: it is trained again*"
    done.stdout.fnmatch_lines(["*verdicts*", pattern])
