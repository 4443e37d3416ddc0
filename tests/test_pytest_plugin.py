"""Verdicts become outcomes, and the controller writes them down; nothing is trained here."""

import itertools
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from documents import counted, latest
from embinit.claims.judging import NextAnalysis
from embinit.claims.lock import Lock
from embinit.commands.main import main
from embinit.lab.tables import initial_tables
from embinit.report import load_schema
from embinit.runs import engines, session
from embinit.runs.results import RunResult
from embinit.stats.interim import Analysis, schedule
from embinit.stats.power import smallest_effect
from embinit.stats.statements import KnownSd
from embinit_papers.kim2024.experiments import experiments

MARGIN = f"{experiments('micro')[0].margin:g}"


def stated(name, says, expects=None):
    """The text of a claim, or of a control."""
    test = f"test_{name.replace('-', '_')}(experiment)"
    return f"\n\n@stated({name!r}, {expects})\ndef {test}:\n    assert {says}\n"


CLAIMS = """
from dataclasses import replace

from embinit.claims.definitions import Family, claim
from embinit.stats.statements import Verdict
from embinit_papers.kim2024 import TRANSLATION, table1

MINE = Family("mine/finding", {"micro": 5})


def once(tier):
    own = table1("glove", tasks=TRANSLATION)(tier)
    return [replace(experiment, seeds=6, most_seeds=None) for experiment in own]


def stated(name, expects):
    given = dict(family=MINE, experiments=once, expects=expects)
    return claim(f"mine/finding/{name}", says=name, **given)
"""
OPEN = 'experiment["pretrained_shuffled"].within(0.01) > experiment["xavier"]'
CLAIMS += (
    stated("holds", 'experiment["pretrained"] < experiment["xavier"]')
    + stated("falls", 'experiment["pretrained"] > experiment["xavier"]')
    + stated("open", OPEN)
    + stated("small", 'experiment["pretrained_shuffled"] > experiment["xavier"]')
    + stated("missing", 'experiment["xavier_pretrained"] > experiment["xavier"]')
    + stated("planted", 'experiment["pretrained"] > experiment["xavier"]', "Verdict.REFUTED")
    + stated("misbehaving", 'experiment["pretrained"] < experiment["xavier"]', "Verdict.REFUTED")
)
VERDICTS = {
    "holds": "SUPPORTED", "falls": "REFUTED", "open": "UNDECIDED", "small": "NO EFFECT",
    "missing": "NOT RUN", "planted": "REFUTED", "misbehaving": "SUPPORTED",
}  # fmt: skip
SCORES = {"xavier": 40.0, "pretrained": 20.0, "pretrained_shuffled": 40.0}


@pytest.fixture
def suite(pytester, monkeypatch):
    """A suite whose runs take no time, and all but one arm's can be made: a score, and noise."""

    def result(run):
        init = run.recipe.table.init
        noise = ((run.seed * 7 + len(init)) % 5) / 10
        return RunResult(run, {"bleu": SCORES[init] + noise})

    real = session.Session.problem

    def problem(self, run):
        return real(self, run) if run.recipe.table.init in SCORES else "no vectors here"

    monkeypatch.setattr(
        engines.TrainerTask, "make", lambda self, *more: [*map(result, self.what.runs)]
    )
    monkeypatch.setattr(session.Session, "problem", problem)
    directory = pytester.mkdir("claims")
    (directory / "test_mine.py").write_text(CLAIMS)
    return pytester


def test_each_verdict_has_its_outcome(suite):
    """Passed, failed, xfailed, skipped; a control passes when it comes out as it should."""
    result = suite.runpytest_inprocess("claims", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=3, xfailed=1, skipped=1)
    claims = by_statement(latest())
    assert {says: entry["verdict"] for says, entry in claims.items()} == VERDICTS
    counts = "1 SUPPORTED, 1 REFUTED, 1 NO EFFECT, 1 UNDECIDED, 1 NOT RUN"
    for line in (
        "*GloVe > Xavier: REFUTED, difference -20* BLEU*6 seeds*",
        f"*GloVe_Shuffled > Xavier: NO EFFECT, * within the margin {MARGIN}*",
        f"mine/finding/small* NO EFFECT * within {MARGIN} *",
        f"{counts}*",
    ):
        result.stdout.fnmatch_lines([line])
    [comparison] = claims["small"]["comparisons"]
    assert comparison["p_no_effect"] < comparison["alpha"] < comparison["p"]
    assert comparison["spread"] is comparison["smallest_effect"] is None
    assert counts in Path("reports/latest/index.html").read_text()


def test_what_claims_can_see_is_told_before_anything_trains(suite, monkeypatch):
    """Their analyses, and the smallest differences that those show; the document has the same."""
    monkeypatch.setattr(Lock, "registered_sd", lambda self, comparison: KnownSd(2.0, 10))
    argued = ("claims", "--embinit-max-seeds", "20")
    effects = [
        smallest_effect(0.01 * analysis.share, analysis.seeds, KnownSd(2.0, 10))
        for analysis in schedule(6, 20, 0.01)
    ]
    first, second, last = (f"{effect:.3g}" for effect in effects)
    head = ["embinit: 5 claims and 2 controls, seeds: 6, then 12, then 20"]
    result = suite.runpytest_inprocess(*argued, "--collect-only", "-v")
    result.stdout.fnmatch_lines(head)
    result.stdout.fnmatch_lines(
        [
            "mine/finding/holds[[]glove-micro-translation[]]: differences found with 90 % power, "
            f"in BLEU: {first} with 6 seeds, {second} with 12 seeds, {last} with 20 seeds; "
            f"the margin, {MARGIN} BLEU, needs 12 seeds",
            "mine/finding/open[[]*: *; the margin, 0.01 BLEU, needs more than 20 seeds",
        ]
    )
    assert not Path(".embinit").exists()
    result = suite.runpytest_inprocess(*argued, "-k", "holds")
    collected = next(n for n, line in enumerate(result.outlines) if line.startswith("collected"))
    assert result.outlines[collected + 1].startswith("embinit: ")
    document = latest()
    [comparison] = document["claims"][0]["comparisons"]
    assert comparison["spread"] == {"sd": 2.0, "seeds": 10}
    seen = comparison["smallest_effect"]
    assert [seen["first"], seen["last"]] == [effects[0], effects[-1]]


def by_statement(document):
    """The entries of its claims, by what they state."""
    return {entry["statement"]: entry for entry in document["claims"]}


def blessed(suite, **verdicts):
    """A baseline from the suite's own report, with other verdicts for some statements."""
    main(["bless", "reports/latest", "--to", "reference"])
    path = Path("reference/verdicts.json")
    document = json.loads(path.read_text())
    for entry in document["claims"]:
        entry["verdict"] = verdicts.get(entry["statement"], entry["verdict"])
    path.write_text(json.dumps(document))
    return document


def test_a_session_is_compared_with_a_baseline(suite):
    """Lost findings fail even where pytest skips; what is weakened fails where all must hold."""
    suite.runpytest_inprocess("claims", "-k", "holds or open or missing")
    document = blessed(suite)
    assert document["blessed"]["when"].startswith("20")
    blessed(suite, open="SUPPORTED", missing="SUPPORTED")
    argued = ("claims", "--embinit-baseline", "reference/verdicts.json", "-k")
    checked = ["check", "reports/latest/verdicts.json", "--baseline", "reference/verdicts.json"]
    weakened = "weakened: *open* was SUPPORTED and is UNDECIDED"
    for selected, status, said, strict in (
        ("holds or open", 0, weakened, []),
        ("holds or open", 1, weakened, ["--strict"]),
        ("missing", 1, "LOST: *missing* was SUPPORTED and is NOT RUN", []),
    ):
        ini = f"embinit_strict={bool(strict)}"
        result = suite.runpytest_inprocess(*argued, selected, "-o", ini)
        assert (result.ret, main([*checked, *strict])) == (status, status)
        result.stdout.fnmatch_lines([said, "Of the baseline's 3 claims, * w* not asked for."])
    result = suite.runpytest_inprocess("claims", "--embinit-baseline", "nowhere.json")
    result.stderr.fnmatch_lines(
        ["*--embinit-baseline: *nowhere.json can't be read: No such file*make it by embinit bless*"]
    )


def test_only_a_sound_report_is_blessed(suite, capsys):
    """A control that misbehaved, or nothing run, is no baseline; nor one that has less."""
    arguments = ["bless", "reports/latest", "--to", "to"]
    for selected, said in (
        ("claim or mine", "not blessed: control mine/finding/misbehaving"),
        ("missing", "not blessed: no claim is decided: 1 NOT RUN"),
        ("planted", "no claim but controls in"),
    ):
        suite.runpytest_inprocess("claims", "-k", selected)
        assert main(arguments) == 4
        assert said in capsys.readouterr().err
    assert not Path("to").exists()
    suite.runpytest_inprocess("claims", "-k", "holds or falls")
    assert main(arguments) == 0
    suite.runpytest_inprocess("claims", "-k", "holds")
    assert main(arguments) == 4
    assert "lacks 1 claim of" in capsys.readouterr().err
    old = Path("to/verdicts.json")
    old.write_text(old.read_text().replace('"margin": ', '"margin": 9'))
    assert main([*arguments, "--anyway"]) == 0
    out = capsys.readouterr().out
    assert re.search("LOST: .*holds.* states something else: margin", out)
    assert re.search("LOST: .*falls.* was not asked for, and goes", out)


def test_a_paper_that_the_report_lacks_may_be_kept(suite):
    """With when it was blessed, until its own claims are blessed anew; so may single claims."""
    to = Path("to/verdicts.json")

    def bless(selected, *options):
        suite.runpytest_inprocess("claims", "-k", selected)
        for _ in range(2):  # the second keeps what the first kept, and since when
            arguments = ["bless", "reports/latest", "--to", str(to.parent)]
            assert main([*arguments, *options]) == 0
        document = json.loads(to.read_text())
        jsonschema.validate(document, load_schema())
        mine = {one["statement"]: one for one in document["claims"] if one["paper"] == "mine"}
        return document, mine, [one for one in document["claims"] if one["paper"] == "theirs"]

    first, _, _ = bless("holds or falls")
    stood = {"lock": "theirs.lock", "digest": "0", "state": "beforehand", "differs": ""}
    of_theirs = {
        "paper": "theirs", "family": "theirs/finding",
        "registration": {**stood, "when": "2026-01-01"},
    }  # fmt: skip
    theirs = [
        claim | of_theirs | {"id": claim["id"].replace("mine", "theirs")}
        for claim in first["claims"]
    ]
    then = {"when": "2026-01-01T00:00:00+00:00", "revision": "0" * 40}
    locks = [{"lock": name, "digest": "0"} for name in ("gone.lock", "theirs.lock")]
    session = first["session"] | {"locks": locks}
    to.write_text(json.dumps(first | {"claims": theirs, "blessed": then, "session": session}))
    both, mine, kept = bless("holds", "--keep")
    assert [*mine] == ["holds"]
    assert kept == [{"blessed": then, **claim} for claim in theirs]
    assert both["summary"] == counted(both)
    assert both["session"]["locks"] == locks[1:]
    to.write_text(json.dumps(both | {"session": both["session"] | {"notes": ["of then"]}}))
    parts, mine, _ = bless("falls", "--keep")
    since = {name: both["blessed"][name] for name in ("when", "revision")}
    assert ("blessed" in mine["falls"], mine["holds"]["blessed"]) == (False, since)
    assert parts["session"]["notes"] == ["before: of then"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, "is not JSON") for text in ("{", "[" * 99_999, '{"a": NaN}', "\0")),
        ('{"a": ' + "9" * 400 + "}", "99999999999999999999 is too large a number"),
        ("null", "is of schema_version None"),
        ('{"schema_version": 2}', "'session' is a required property"),
    ],
)
def test_what_is_no_verdicts_file_is_refused(tmp_path, capsys, text, said):
    """In one line, by name, with what to do."""
    path = tmp_path / "v.json"
    path.write_text(text)
    assert main(["check", str(path)]) == 4
    error = capsys.readouterr().err
    assert (said in error, len(error.splitlines())) == (True, 1)


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


@pytest.mark.parametrize("text", [CRASH + AUDIT, AUDIT + CRASH], ids=["before", "after"])
def test_a_crashed_worker_is_an_error(pytester, text):
    """Not a refuted claim, which is what pytest's status 1 means where there are claims."""
    pytester.makepyfile(test_mine=text)
    assert pytester.runpytest_inprocess("-n", "1").ret == pytest.ExitCode.INTERNAL_ERROR


def test_junit_has_the_numbers_as_properties(suite):
    """For tools that read nothing else."""
    suite.runpytest_inprocess("claims", "-k", "holds", "--junit-xml", "j.xml")
    root = ElementTree.parse("j.xml").getroot()
    values = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert values["verdict"] == values["1.verdict"] == "SUPPORTED"
    assert values["1.statement"] == "GloVe < Xavier"
    assert float(values["1.low"]) < float(values["1.difference"]) < float(values["1.high"]) < 0
    assert values["1.seeds"] == "6"
    assert not [name for name in values if name.startswith("embinit")]


def test_more_seeds_are_trained_for_what_is_open(suite):
    """By the schedule that the file tells; what is decided keeps its first analysis."""
    result = suite.runpytest_inprocess("claims", "-k", "open or holds", "--embinit-max-seeds", "24")
    result.assert_outcomes(passed=1, xfailed=1)
    document = latest()
    analyses = [Analysis(**one) for one in document["claims"][0]["looks"]]
    assert analyses == [*schedule(6, 24, 0.01)]
    assert [one.seeds for one in analyses] == [6, 12, 24]
    claims = by_statement(document)
    [holds], [undecided] = (claims[name]["comparisons"] for name in ("holds", "open"))
    assert (holds["n"], undecided["n"]) == (6, 24)
    assert len(undecided["left_values"]) == len(undecided["seeds"]) == 24
    assert holds["alpha"] == pytest.approx(0.01 * analyses[0].share)
    assert undecided["alpha"] == pytest.approx(0.01 * analyses[2].share)
    budget = ("--embinit-budget", "0", "--embinit-store", "fresh")
    suite.runpytest_inprocess("claims", "-k", "open", "--embinit-max-seeds", "24", *budget)
    [entry] = latest()["claims"]
    assert entry["comparisons"][0]["n"] == 6
    assert entry["reason"] == "the interim analysis at 12 seeds was not reached"
    result = suite.runpytest_inprocess("claims", "--embinit-max-seeds", "3")
    result.stderr.fnmatch_lines(
        ["*--embinit-max-seeds: at most 3 seeds, but the first interim analysis takes 6*"]
    )


def test_a_budget_ends_no_control(suite):
    """It is looked at until it is decided or has its last seeds; claims are not."""
    more = stated("control-open", OPEN, "Verdict.SUPPORTED")
    Path("claims/test_mine.py").write_text(CLAIMS + more)
    argued = ("claims", "-k", "open", "--embinit-max-seeds", "12", "--embinit-budget", "0")
    suite.runpytest_inprocess(*argued)
    claims = by_statement(latest()).items()
    seeds = {says: entry["comparisons"][0]["n"] for says, entry in claims}
    assert seeds == {"open": 6, "control-open": 12}


LOGGED = """
import pathlib, random
from embinit import Family, claim, experiment, training

@training(measures={"accuracy": "%"})
def fit(seed, arm):
    with pathlib.Path(__file__).with_name("log").open("a") as log:
        print(arm, seed, file=log)
    return 70.0 + random.Random(f"{seed} {arm}").random()
"""


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
    ("minutes", "kinds"), [("60", ["cheap", "costly"]), ("1.5", ["cheap", "costly", "cheap"])]
)
def test_a_cheap_later_analysis_comes_before_a_costly_first_one(session, minutes, kinds):
    """Though the costly claim is the first in its file, unless a budget has no time for both."""
    session(CHEAP_AND_COSTLY, "--embinit-budget", minutes)
    trained = Path("claims/log").read_text().splitlines()
    made = itertools.groupby("cheap" if line[0] in "ab" else "costly" for line in trained)
    assert [kind for kind, _ in made] == kinds


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


def test_an_analysis_whose_runs_fail_is_not_taken_for_ever(session, monkeypatch):
    """The others have their analyses, though it is first."""
    monkeypatch.setattr(NextAnalysis, "seconds", property(lambda analysis: analysis.case.id))
    claims = by_statement(session(FAILING)[1])
    assert claims["broken"]["verdict"] == "NOT RUN"
    assert claims["whole"]["comparisons"][0]["n"] == 6


def test_strict_makes_undecided_fail(suite):
    """Nobody has to take an open question for a pass."""
    suite.makeini("[pytest]\nembinit_strict = true\n")
    suite.runpytest_inprocess("claims", "-k", "open").assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--embinit-seeds", "1"], "*at least 2*"),
        (["--embinit-budget", "-3"], "*--embinit-budget -3: give minutes*"),
        (["--embinit-budget", "nan"], "*--embinit-budget nan: give minutes*"),
        (["--embinit-data-dir", "nowhere"], "*nowhere is not a directory*"),
        (["--embinit-source", "=file"], "*--embinit-source =file: write NAME=PATH*"),
        (["--embinit-source", "glove=nowhere"], "*glove=nowhere: */nowhere doesn't*"),
        (["--embinit-device", "cuda:99"], "*cuda:99 can't be used here*"),
        (["--embinit-store", "file/store"], "*can't be written*--embinit-store*"),
    ],
)
def test_bad_options_end_the_session_before_it_starts(suite, arguments, message):
    """One clear error each, and pytest's usage status."""
    Path("file").write_text("the 1 2\n")
    result = suite.runpytest_inprocess("claims", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


PROBE = """
from dataclasses import replace
from embinit.claims.definitions import Family, claim
from embinit_papers.kim2024 import scaled, table4
from embinit_papers.kim2024.experiments import experiments

MINE = Family("mine/table", {"sample": 1})
[SMALL] = experiments("micro", ("glove",), ("sentiment",))


def of_few_words(tier):
    return [replace(one, data=replace(one.data, vocabulary=SMALL.data)) for one in table4(tier)]


@claim("mine/table/a", says="a", family=MINE, experiments=of_few_words)
def test_a(experiment):
    assert scaled(experiment, "sqrt(D)")["pretrained"].alike(experiment["pretrained"])
"""
VECTORS = "{0} 1 0 0\n{1} 1 1 0\n{2} 1 0 1\n{3} {at} 1\n"


@pytest.fixture
def probed(pytester):
    """Judges a claim on analogies with vectors of a file."""
    (pytester.mkdir("claims") / "test_mine.py").write_text(PROBE)
    questions = pytester.mkdir("analogies") / "questions-words.txt"
    [small] = experiments("micro", ("glove",), ("sentiment",))
    words = initial_tables.prepare(small.data, None).vocabularies["encoder"].words[10:14]
    questions.write_text(f": family\n{' '.join(words)}\n")

    def run(path, text, at, *arguments):
        (pytester.path / path).write_text(text.format(*words, at=at))
        given = ("--embinit-data-dir", ".", "--embinit-source", f"glove={path}")
        return pytester.runpytest_subprocess(
            "claims", "--embinit-tier", "sample", *given, *arguments
        )

    return run


def test_a_source_may_be_read_from_anywhere(pytester, probed):
    """--source reaches every worker, and other vectors under the name are other runs."""
    other = f"5 3\n{VECTORS}prince 1 1 1\n"
    for path, text, at, workers in (
        ("mine.txt", VECTORS, "1 1", "0"),
        ("other.vec", other, "-1 -1", "1"),
    ):
        done = probed(path, text, at, "-n", workers)
        done.assert_outcomes(passed=1)
        document = latest()
        assert document["session"]["runs"] == {"wanted": 10, "trained": 10, "stored": 0}


def test_a_named_source_that_is_broken_is_unusable_input(pytester, probed):
    """It was NOT RUN with status 0, like data that is missing."""
    done = probed("broken.txt", f"{VECTORS}prince 1 x 1\n", "1 1")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--embinit-source glove=*broken.txt: *broken.txt:5: *"])
    assert not (pytester.path / "reports").exists()


def test_check_fails_on_a_control(suite, capsys):
    """A refuted claim alone is a result; a control that misbehaves or wasn't run is a fault."""
    path = Path("reports/latest/verdicts.json")
    suite.runpytest_inprocess("claims", "-k", "not misbehaving")
    document = latest()
    assert main(["check", str(path)]) == 0
    lacks = {"verdict": "NOT RUN", "as_expected": None, "reason": "no data"}
    by_statement(document)["planted"] |= lacks
    path.write_text(json.dumps(document))
    assert main(["check", str(path)]) == 1
    assert "planted[glove-micro-translation] was not run: no data" in capsys.readouterr().out
    suite.runpytest_inprocess("claims")
    assert main(["check", str(path)]) == 1
    document["session"]["tier"] = "sample"
    Path("baseline.json").write_text(json.dumps(document))
    assert main(["check", str(path), "--baseline", "baseline.json"]) == 4
    assert "tier micro can't be compared with tier sample" in capsys.readouterr().err


BUDGETS = """
from embinit.claims.definitions import Family, claim
from embinit.stats.statements import Verdict
from embinit_papers.chung2021 import USUAL, on_average
from embinit_papers.chung2021.shapes import coupled, narrow_input

MINE = Family("mine/sizes", {"micro": 1})


def stated(name, expects):
    given = dict(family=MINE, experiments=on_average, expects=expects, equal="finetuning")
    return claim(f"mine/sizes/{name}", says=name, **given)
"""
UNEQUAL = "narrow_input(experiment)[USUAL] > coupled(experiment)[USUAL]"
BUDGETS += (
    stated("caught", UNEQUAL, "Verdict.NOT_RUN")
    + stated("not-caught", "experiment[USUAL] > coupled(experiment)[USUAL]", "Verdict.NOT_RUN")
    + stated("unfair", UNEQUAL)
)


def test_unequal_budgets_are_caught_before_anything_is_wanted(suite, monkeypatch):
    """A control that is caught passes; a claim is NOT RUN; a control that isn't caught fails."""
    wanted = []

    def made(run):
        wanted.append(run)
        scores = ("sentiment_accuracy", "sentiment_test", "inference_accuracy", "inference_test")
        return RunResult(run, dict.fromkeys(scores, 50.0 + int(run.digest(), 16) % 5))

    monkeypatch.setattr(session.Session, "problem", lambda self, run: None)
    monkeypatch.setattr(
        engines.TrainerTask, "make", lambda self, *more: [*map(made, self.what.runs)]
    )
    Path("claims/test_mine.py").write_text(BUDGETS)
    result = suite.runpytest_inprocess("claims")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    assert {run.recipe.model.layers for run in wanted} == {2}
    found = by_statement(latest())
    assert {name: one["as_expected"] for name, one in found.items()} == {
        "caught": True,
        "not-caught": False,
        "unfair": None,
    }
    assert [found[name]["verdict"] for name in ("caught", "unfair")] == ["NOT RUN"] * 2
    assert "unequal budgets" in found["unfair"]["reason"]
    assert main(["check", "reports/latest/verdicts.json"]) == 1


def test_a_control_that_lacks_its_data_is_no_proof_of_the_budget_check(suite, monkeypatch):
    """Whatever it expects, NOT RUN for want of data says nothing."""
    monkeypatch.setattr(session.Session, "problem", lambda self, run: "no data here")
    Path("claims/test_mine.py").write_text(BUDGETS)
    suite.runpytest_inprocess("claims")
    found = {says: one["as_expected"] for says, one in by_statement(latest()).items()}
    assert found == {"caught": True, "not-caught": None, "unfair": None}
