"""``claims.lock``: margins from the noise floor, and claims held against what was registered."""

import json
import math
import re
import statistics
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from builders import make_experiment, set_apart
from documents import latest
from embinit import Family, InputError, claim, experiment, training
from embinit.claims import Claim, read
from embinit.claims.lock import NAME, Lock, nearest_lock
from embinit.claims.registering import noise_floor
from embinit.claims.registration_status import difference, frozen, registration_record
from embinit.claims.roles import Role
from embinit.commands import register
from embinit.commands.main import main
from embinit.lab.evaluation.analogies import evaluate
from embinit.lab.quantities import rank_correlation
from embinit.lab.specs import ModelSpec
from embinit.papers import PAPERS
from embinit.runs.trainings import TRAININGS
from embinit.stats.power import rounded_up
from embinit_papers.kim2024.experiments import probes
from test_claims import FOLDERS, functions

CLAIMS = """
import random
from embinit import Family, claim, experiment, positive_control, training

@training(measures={"accuracy": "%"})
def fit(seed, arm):
    usual = {"plain": 70.0, "better": 75.0, "poor": 65.0}[arm]
    return usual + random.Random(f"{seed} {arm}").random()

each = experiment("fits", training=fit, margin="noise-floor", arms=["plain", "better", "poor"],
                  seeds=6, most_seeds=None)
MINE = Family("mine/fits")

@claim("mine/fits/no-worse", says="Better is no worse", family=MINE, on=each)
def test_no_worse(arms):
    assert arms["better"] >= arms["plain"]

@claim("mine/fits/above", says="Better is above", family=MINE, on=each)
def test_above(arms):
    assert arms["better"] > arms["plain"]

test_control = positive_control(MINE, on=each, worse="poor")
"""


@pytest.fixture
def project(pytester, monkeypatch):
    """A folder of claims, one of which needs the noise floor; it has no lock yet.

    Its sessions are in this process, for speed, and train in it alone.
    """
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\naddopts = "-q -p no:playwright"\n')
    pytester.mkdir("claims").joinpath("test_fits.py").write_text(CLAIMS)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    set_apart(monkeypatch, TRAININGS, empty=True)
    return pytester.path


@pytest.fixture
def embinit(project, pytester, monkeypatch, capsys):
    """The command line, whose sessions of pytest are in this process: status and output."""

    def in_process(arguments):
        return pytester.runpytest_inprocess(*arguments, "-p", "no:randomly").ret

    monkeypatch.setattr(register, "run_pytest", in_process)

    def run(command, *arguments):
        """The command, or a session of pytest."""
        capsys.readouterr()
        given = [command, *map(str, arguments)]
        status = in_process(["claims", *given[1:]]) if command == "run" else main(given)
        printed = capsys.readouterr()
        return SimpleNamespace(returncode=status, stdout=printed.out, stderr=printed.err)

    return run


def change(project, old, new):
    path = project / "claims/test_fits.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def judged(embinit, project, *arguments):
    """The claims' entries after a session, by their ids' last parts."""
    ran = embinit("run", *arguments)
    document = latest(project)
    claims = {re.search(r"([\w-]+)\[", claim["id"])[1]: claim for claim in document["claims"]}
    return ran, document, claims


def lock_of(project):
    return json.loads((project / "claims" / NAME).read_text())


def test_a_margin_from_the_noise_floor_is_measured_once_and_kept_in_the_lock(embinit, project):
    """Until then only what needs a margin is NOT RUN, and says which command to run."""
    ran, document, claims = judged(embinit, project)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert claims["no-worse"]["verdict"] == "NOT RUN"
    assert claims["no-worse"]["reason"].endswith("not measured yet: run embinit register claims")
    assert claims["above"]["verdict"] == "SUPPORTED"
    assert "locks" not in document["session"]
    assert "registration" not in claims["above"]

    measured = embinit("register", "claims", "--seeds", "6")
    assert measured.returncode == 0, measured.stdout + measured.stderr
    [(key, floor)] = lock_of(project)["noise_floors"].items()
    assert key.startswith("fits on micro ")
    values = [
        json.loads(path.read_text())["record"]
        for path in (project / ".embinit/store/runs").rglob("*.json")
    ]
    seeds = range(Role.REGISTRATION.seed(0), Role.REGISTRATION.seed(6))
    own = [
        result["measures"]["accuracy"]
        for result in values
        if result["spec"]["seed"] in seeds and "plain" in result["spec"]["training"]["arguments"]
    ]
    assert len(own) == 6
    assert floor["sd"] == pytest.approx(statistics.stdev(own), rel=1e-4)
    assert 2 * floor["sd"] <= floor["margin"] <= 2.2 * floor["sd"]
    line = f"baseline noise of fits on micro: accuracy, sd {floor['sd']:.3g} % over 6 seeds, margin"
    assert f"{line} {floor['margin']:g}" in measured.stdout

    _, _, claims = judged(embinit, project)
    assert claims["no-worse"]["verdict"] == "SUPPORTED"
    assert claims["no-worse"]["comparisons"][0]["margin"] == floor["margin"]

    before = (project / "claims" / NAME).read_bytes()
    again = embinit("register", "claims", "--seeds", "6")
    assert "baseline noise of" not in again.stdout
    assert (project / "claims" / NAME).read_bytes() == before
    change(project, "70.0", "71.0")
    embinit("register", "claims", "--seeds", "6")
    [changed] = lock_of(project)["noise_floors"].values()
    assert changed["code"] != floor["code"]


def test_registering_some_claims_keeps_the_sds_that_others_rest_on(embinit, project):
    """The two arms' difference is two claims', and would be another on other seeds."""
    embinit("register", "--seeds", "3")
    before = lock_of(project)
    embinit("register", "--seeds", "2", "-k", "above")
    assert lock_of(project)["differences"] == before["differences"]
    embinit("register", "--seeds", "2")
    assert lock_of(project) == before
    embinit("register", "--seeds", "4", "-k", "above")
    after = lock_of(project)["differences"]
    assert sorted(entry["seeds"] for entry in after.values()) == [3, 4]


def test_an_sd_that_is_measured_once_runs_are_seen_is_registered_afterwards(embinit, project):
    """It is pooled with theirs, and who has seen them may choose on how many seeds."""
    change(project, 'margin="noise-floor"', "margin=1.0")
    embinit("register", "--seeds", "0", "-k", "above")
    embinit("run", "-k", "above")
    embinit("register", "--seeds", "3", "-k", "above")
    [first] = lock_of(project)["differences"].values()
    key = "mine/fits/above[fits] on micro"
    line = lock_of(project)["claims"][key]
    why = f"better > plain: standard deviation {first['sd']:g} over 3 seeds, registered was none"
    assert line["afterwards"] == why
    embinit("register", "--seeds", "4", "-k", "above")
    [second] = lock_of(project)["differences"].values()
    line = lock_of(project)["claims"][key]
    measured = f"better > plain: standard deviation {second['sd']:g} over 4 seeds"
    assert line["afterwards"] == f"{why}; {measured}, registered was {first['sd']:g} over 3 seeds"
    _, _, claims = judged(embinit, project, "-k", "above")
    assert claims["above"]["registration"]["state"] == "afterwards"


def test_what_is_registered_is_held_against_every_session(embinit, project):
    """Beforehand, changed, and registered anew when its runs were seen."""
    made = embinit("register", "--seeds", "3")
    assert made.returncode == 0, made.stdout + made.stderr
    text = (project / "claims" / NAME).read_text()
    lock = lock_of(project)
    assert len(lock["claims"]) == 3
    assert len(lock["differences"]) == 2  # of the two arms, and of one with itself
    assert not [line for line in lock["claims"].values() if "afterwards" in line]
    assert len(text.splitlines()) == 3 + 2 + 1 + 3 + 4

    ran, document, claims = judged(embinit, project)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert {claim["registration"]["state"] for claim in claims.values()} == {"beforehand"}
    assert claims["above"]["comparisons"][0]["spread"]["seeds"] == 3
    [named] = document["session"]["locks"]
    assert named == {"lock": f"claims/{NAME}", "digest": Lock(project / "claims" / NAME).digest}
    assert f"claims/{NAME} {named['digest']}" in ran.stdout
    page = (project / "reports/latest/index.html").read_text()
    assert named["digest"] in page
    assert "post hoc" not in page
    # Nothing here has an embedding, and the page doesn't speak of any.
    words = re.sub(r"<style>.*?</style>", "", page, flags=re.S).lower()
    for foreign in ("embedding", "dropout", "sinusoid", "xavier", "glove", "position enc"):
        assert foreign not in words, foreign

    change(
        project, 'assert arms["better"] > arms["plain"]', 'assert arms["plain"] < arms["better"]'
    )
    ran, _, claims = judged(embinit, project)
    assert claims["above"]["registration"]["state"] == "changed"
    reason = "it states 'plain < better', registered was 'better > plain'"
    assert f"not as registered: mine/fits/above[fits]: {reason} (claims/{NAME})" in ran.stdout
    assert claims["no-worse"]["registration"]["state"] == "beforehand"
    verdicts = str(project / "reports/latest/verdicts.json")
    checked = embinit("check", verdicts)
    assert checked.returncode == 1
    assert "NOT OK: mine/fits/above[fits] is not as registered" in checked.stdout

    again = embinit("register", "--seeds", "0")
    assert f"post hoc: mine/fits/above[fits] on micro: {reason}" in again.stdout
    ran, _, claims = judged(embinit, project)
    assert claims["above"]["registration"]["state"] == "afterwards"
    assert f"post hoc: mine/fits/above[fits]: {reason}" in ran.stdout
    page = (project / "reports/latest/index.html").read_text()
    assert "post hoc" in page
    assert embinit("check", verdicts).returncode == 0

    change(
        project, 'assert arms["plain"] < arms["better"]', 'assert arms["better"] > arms["plain"]'
    )
    embinit("register", "--seeds", "0")
    back = "it states 'better > plain', registered was 'plain < better'"
    line = lock_of(project)["claims"]["mine/fits/above[fits] on micro"]
    assert line["afterwards"] == f"{reason}; {back}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<<<<<<< HEAD\n{}", "is not JSON (JSONDecodeError"),
        ('{"schema_version": 1}', "is no lock of claims: /: 'noise_floors' is a required property"),
        (
            '{"schema_version": 2, "noise_floors": {}, "differences": {}, "claims": {}}',
            "has schema version 2, and this embinit knows 1; use the embinit that wrote it",
        ),
    ],
)
def test_a_lock_that_cant_be_read_is_one_clear_line(embinit, project, text, said):
    """Nothing is trained for it."""
    (project / "claims" / NAME).write_text(text)
    for command in ("run", "register"):
        ran = embinit(command)
        assert (ran.returncode, said in ran.stderr) == (4, True)
        assert command == "register" or len(ran.stderr.strip().splitlines()) == 1
        assert not (project / ".embinit/store/runs").exists()
        assert "already" not in ran.stdout  # nothing says that all is well


def test_a_baseline_without_noise_has_no_noise_floor(embinit, project):
    """The margin is then to be given as a number; the claims on it fail, and nothing is written."""
    change(project, ' + random.Random(f"{seed} {arm}").random()', "")
    ran = embinit("register", "claims", "--seeds", "3")
    assert ran.returncode == 3  # as where a claim breaks: nothing was judged
    assert "nothing was registered" in ran.stdout
    assert "3 of 3 seeds of 'plain' gave accuracy, 1 of them different" in ran.stdout
    assert not (project / "claims" / NAME).exists()


def test_a_papers_noise_floors_are_measured_with_its_claims(embinit, project, monkeypatch):
    """Of what the paper names, and once."""
    one = replace(probes("micro")[0].with_positions("sinusoidal"), baseline="pretrained")
    mine = replace(PAPERS["kim2024"], key="mine", noise=lambda tier: [(one, one.metric)])
    monkeypatch.setattr("embinit.papers.paper", {"mine": mine}.get)
    (project / "claims/test_fits.py").write_text(
        "from embinit import Family, claim\n"
        "from embinit_papers.kim2024.experiments import probes\n"
        "on = [probes('micro')[0].with_positions('sinusoidal')]\n"
        "@claim('mine/fits/above', says='a', family=Family('mine/fits'), on=on)\n"
        "def test_above(arms):\n"
        "    assert arms['pretrained'] > arms['pretrained_shuffled']\n"
    )
    ran = embinit("register", "--seeds", "3")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count(f"baseline noise of {one.name} on micro") == 1
    floor = Lock(project / "claims" / NAME).noise_floor(one)
    results = [evaluate(run, None) for run in noise_floor(one, one.metric, 3).runs]
    assert floor["sd"] == pytest.approx(statistics.stdev(map(one.metric.of, results)), rel=1e-4)
    assert floor["margin"] == rounded_up(2 * floor["sd"])
    before = (project / "claims" / NAME).read_bytes()
    assert "baseline noise of" not in embinit("register", "--seeds", "3").stdout
    assert (project / "claims" / NAME).read_bytes() == before


def test_bad_commands_are_told(embinit):
    assert embinit("register", "--seeds", 1).returncode == 4
    assert embinit("register", "--seeds", -1).returncode == 4
    assert "nowhere does not exist; name a folder" in embinit("register", "nowhere").stderr


def test_margins_that_cant_be_used_are_refused(monkeypatch):
    set_apart(monkeypatch, TRAININGS, empty=True)
    made = training(measures=["score"])(lambda seed, arm: 0.0)
    for margin in (-1, math.inf, math.nan, "noise floor", None):
        with pytest.raises(InputError, match="can't be used; give 0 or more"):
            experiment("mine", training=made, arms=["a", "b"], margin=margin)
    [found] = experiment("mine", training=made, arms=["a", "b"], margin="noise-floor")("micro")
    assert math.isnan(found["a"].margin)


def test_the_lock_is_the_nearest_within_the_project(tmp_path):
    """Beside the claims, or above them up to the project's root; never above that."""
    (tmp_path / NAME).write_text("")
    home = tmp_path / "project"
    (home / "claims/deep").mkdir(parents=True)
    (home / "pyproject.toml").write_text("")
    beside = home / "claims/deep/claims.lock"
    path = home / "claims/deep/test_it.py"
    assert nearest_lock(path).path == beside
    (home / "claims" / NAME).write_text("")
    assert nearest_lock(path).path == home / "claims" / NAME
    beside.write_text("")
    assert nearest_lock(path).path == beside


def test_a_difference_names_what_changed():
    """Each field that is frozen has words of its own; equal lines have none."""
    state = {"says": "a > b", "measure": "m", "margin": 1.0, "arms": "x"}
    entry = {"family": "f", "claims": 2, "alpha": 0.05, "looks": [5, 10], "states": [state]}
    assert difference(entry, entry) == ""
    for changed, said in [
        ({"states": [{**state, "margin": 2.0}]}, "a > b: margin 2.0, registered was 1.0"),
        ({"states": [{**state, "arms": "y"}]}, "a > b: its arms have other settings"),
        ({"states": [state, state]}, "it states 'a > b' and 'a > b', registered was 'a > b'"),
        ({"looks": [5]}, "its interim analyses have 5 seeds, registered was 5, then 10"),
        ({"claims": 3}, "its family's size is 3, registered was 2"),
        ({"alpha": 0.1}, "its family's level is 0.1, registered was 0.05"),
        ({"expects": "REFUTED"}, "it expects REFUTED, registered was none"),
    ]:
        assert said in difference(entry, {**entry, **changed})


def test_a_rank_correlation_is_locked_with_all_of_its_arms():
    """Its statement is the same words whatever is ranked, so the arms' digest has to tell."""

    def locked(**changes):
        one = make_experiment(**changes)
        pairs = [
            (one[init], one["xavier"]) for init in ("pretrained", "xavier_pretrained", "normal")
        ]

        @claim(
            "mine/one/ranked", says="It falls", family=Family("mine/one", 1), on=lambda tier: [one]
        )
        def test_ranked(arms):
            assert rank_correlation(pairs) > 0

        return frozen(read(test_ranked, one))

    assert difference(locked(), locked()) == ""
    other = locked(model=ModelSpec(64, 2, 1, 32))
    assert difference(locked(), other).endswith("its arms have other settings")


def test_a_new_arm_next_to_a_stored_baseline_is_preregistered(embinit, project):
    """The baseline's runs tell nothing of it; once both sides were trained, it is post hoc."""
    change(project, 'margin="noise-floor"', "margin=1.0")
    change(project, '"poor": 65.0}', '"poor": 65.0, "new": 72.0}')
    assert judged(embinit, project)[0].returncode == 0
    change(project, '"better", "poor"]', '"better", "poor", "new"]')
    more = """
@claim("mine/fits/{0}", says="New", family=MINE, on=each)
def test_{0}(arms):
    assert arms["new"] > arms["plain"]
"""
    with (project / "claims/test_fits.py").open("a") as file:
        file.write(more.format("first"))
    assert embinit("register", "--seeds", "0").returncode == 0
    lines = lock_of(project)["claims"]
    assert "afterwards" not in lines["mine/fits/first[fits] on micro"]
    assert "afterwards" in lines["mine/fits/above[fits] on micro"]
    _, _, claims = judged(embinit, project)
    assert claims["first"]["registration"]["state"] == "beforehand"
    with (project / "claims/test_fits.py").open("a") as file:
        file.write(more.format("again"))
    embinit("register", "--seeds", "0")
    assert "afterwards" in lock_of(project)["claims"]["mine/fits/again[fits] on micro"]


@pytest.mark.usefixtures("data_draws")
@pytest.mark.parametrize("paper", FOLDERS)
def test_the_papers_claims_stand_as_they_are_registered(paper):
    """A statement, a margin, a family's size or analyses that change are registered anew, in sight.

    Those whose runs had been seen by then say so in their lines. Where data is missing, claims on
    real text aren't registered. Each line is a claim's.
    """
    lock = Lock(FOLDERS[paper] / NAME)
    left = set(lock.document["claims"])
    for test in functions(paper):
        claim = Claim.of(test)
        tiers = () if claim is None else PAPERS[paper].tiers
        for setting in (one for tier in tiers for one in claim.experiments(tier)):
            case = read(test, setting, lock=lock)
            now = registration_record(case)
            message = f"{case.id}: {now.differs}; run embinit register claims --seeds 0"
            may_lack = ("absent",) if setting.tier != "micro" else ()
            assert now.state in ("afterwards", "beforehand", *may_lack), message
            left.discard(case.key)
    assert left == set()
