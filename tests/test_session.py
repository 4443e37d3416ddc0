"""One process plans for all trainers; who is killed loses only what it held."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from pathlib import Path

import pytest

from builders import python, set_apart, small_experiment
from documents import latest
from embinit.errors import InputError
from embinit.lab.data.sources import SOURCES
from embinit.lab.data.sources.opening import NamedSource
from embinit.lab.specs import Cut
from embinit.lab.tables import initial_tables
from embinit.runs.engines import Processes, TrainerTask
from embinit.runs.kinds import Making, RunContext, Stack
from embinit.runs.ray_engine import RayEngine
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit.runs.trainers import processes
from embinit.runs.trainers.processes import Surroundings

CLAIMS = """
from dataclasses import replace

from embinit.claims.definitions import Family, claim
from embinit.lab.specs import Cut
from embinit_papers.kim2024.experiments import experiments

MINE = Family("mine/finding", {"micro": 4})


def small(tier):
    return [
        replace(
            one,
            seeds=3,
            most_seeds=None,
            data_draws=None,
            model=replace(one.model, layers=1, feed_forward=16),
            training=replace(one.training, epochs=EPOCHS),
            data=replace(one.data, cut=Cut(train=300, validation=100)),
        )
        for one in experiments(tier, ("glove", "t5"), ("sentiment",))
    ]


@claim("mine/finding/a", says="a", family=MINE, experiments=small)
def test_a(experiment):
    assert experiment["pretrained"] < experiment["xavier"]


@claim("mine/finding/b", says="b", family=MINE, experiments=small)
def test_b(experiment):
    assert experiment.frozen()["pretrained"].alike(experiment.frozen()["xavier"])
"""
RUNS = 3 * (2 + 2 + 1 + 1)


def small_runs(arms=("xavier", "pretrained"), seeds=(0, 1)):
    one = small_experiment("sentiment", Cut(train=200, validation=50), epochs=1)
    return [one.run(arm, seed) for seed in seeds for arm in arms]


@pytest.fixture
def seeds_apart(monkeypatch):
    """A stack for each seed, however few its arms."""
    monkeypatch.setattr("embinit.runs.plan.FEW_ARMS", 0)


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.mkdir("claims")
    pytester.makeini("[pytest]\n")
    write_claims(pytester.path, epochs=1)
    return pytester


def write_claims(root: Path, epochs: int) -> None:
    source = CLAIMS.replace("EPOCHS", str(epochs))
    (root / "claims" / "test_mine.py").write_text(source)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]


def run(suite: pytest.Pytester, *arguments: str) -> dict[str, object]:
    """Run a suite to its end; its verdicts document."""
    done = suite.runpytest_inprocess(*arguments)
    assert done.ret in (0, 1), done.stdout.str()
    return latest(suite.path)


def decided(document):
    values = itemgetter("verdict", "left_values", "right_values")
    return {entry["id"]: [*map(values, entry["comparisons"])] for entry in document["claims"]}


def test_any_number_of_trainers_comes_to_the_same_verdicts(suite, monkeypatch):
    """No -n, -n 2 and a claim alone, each from an empty store; then no -n from that of two."""
    plain = run(suite, "claims", "--embinit-store", "plain")
    assert plain["session"]["runs"] == {"wanted": RUNS, "trained": RUNS, "stored": 0}
    assert len(decided(plain)) == 4
    with monkeypatch.context() as patch:
        patch.setattr("embinit.runs.machine.cores", lambda: 2)
        shared = run(suite, "claims", "-n", "2", "--embinit-store", "shared")
    assert shared["session"]["runs"] == plain["session"]["runs"]
    assert decided(shared) == decided(plain)
    node = plain["claims"][0]["nodeid"]
    alone = decided(run(suite, node, "--embinit-store", "alone"))
    assert alone == {name: decided(plain)[name] for name in alone}
    assert len(alone) == 1
    again = run(suite, "claims", "--embinit-store", "shared")
    assert again["session"]["runs"] == {"wanted": RUNS, "trained": 0, "stored": RUNS}
    assert decided(again) == decided(plain)


def test_progress_is_told_while_models_train(suite):
    """Though pytest captures what tests print."""
    often = "from embinit.pytest_plugin import training\n\ntraining.LINE_SECONDS = 0.05\n"
    suite.makeconftest(often)
    asked = ("-m", "pytest", "-p", "no:cacheprovider", "claims", "-k", "test_b", "-n", "1")
    done = python(*asked, cwd=suite.path, CI="")
    left = r"(estimating|(about \d+ min|under a minute) left)"
    lines = re.findall(
        rf"embinit: (\d) of (\d) claims judged, \d+ of \d+ runs stored, {left}", done.stdout
    )
    judged = [int(line[0]) for line in lines]
    assert judged == sorted(judged)
    assert (judged[0], {line[1] for line in lines}) == (0, {"2"})


def records(root: Path) -> list[Path]:
    return sorted((root / ".embinit/store/runs").glob("*/*.json"))


def wait_for(condition, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.02)


def living():
    """The processes that live, each with the one that has started it."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = stat.read_text().rsplit(")", 1)[1].split()[:2]
            if state != "Z":
                found[int(stat.parent.name)] = int(parent)
    return found


def started_by(process: int) -> list[int]:
    """The living processes that a process has started."""
    return [child for child, parent in living().items() if parent == process]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
def test_a_killed_session_goes_on_where_it_was(suite):
    """kill -9 of a trainer costs nothing but time, of the session what was in training."""
    root = suite.path
    write_claims(root, epochs=8)
    suite.makeconftest("from embinit.runs import machine\n\nmachine.cores = lambda: 2\n")
    with (root / "log").open("w") as log:
        session = subprocess.Popen(command("claims", "-n", "2"), cwd=root, stdout=log, stderr=log)
    wait_for(lambda: len(started_by(session.pid)) == 2)
    os.kill(started_by(session.pid)[0], signal.SIGKILL)
    wait_for(lambda: len(records(root)) >= 2 and len(started_by(session.pid)) == 2)
    trainers = started_by(session.pid)
    session.kill()
    session.wait()
    wait_for(lambda: living().keys().isdisjoint(trainers))
    before = {path: path.stat().st_mtime_ns for path in records(root)}
    assert 2 <= len(before) < RUNS
    resumed = run(suite, "claims")
    assert resumed["session"]["runs"]["trained"] == RUNS - len(before)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(records(root)) == RUNS
    assert len(decided(resumed)) == 4


def test_a_stack_in_other_hands_is_left_to_them(tmp_path, seeds_apart):
    """Who finds a stack taken trains another, and then waits for its result."""
    runs = small_runs()
    first, second = (Session(Store(tmp_path), None, "cpu") for _ in range(2))
    first.want(runs)
    taken = first.take()
    worker = threading.Thread(target=second.ensure, args=(runs,))
    worker.start()
    others = [run for run in runs if run not in taken.what.runs]
    wait_for(lambda: all(first.key(run) in first.store for run in others))
    assert not any(first.key(run) in first.store for run in taken.what.runs)
    assert worker.is_alive()
    first.train(taken, first.here)
    worker.join()
    first.ensure(runs)
    assert (len(first.made), len(second.made)) == (2, 2)


def two_processes() -> Processes:
    return Processes(["cpu", "cpu"], Surroundings())


def test_processes_train_for_a_session(tmp_path, seeds_apart):
    """They are started when there is work, and are gone at the end."""
    runs = small_runs()
    session, engine = Session(Store(tmp_path), None, "cpu"), two_processes()
    before = started_by(os.getpid())
    with session.trained_by(engine):
        assert started_by(os.getpid()) == before
        session.ensure(runs)
        assert len(started_by(os.getpid())) == len(before) + 2
    assert started_by(os.getpid()) == before
    assert (len(session.made), session.troubles) == (len(runs), [])


def test_a_trainer_says_why_it_made_nothing():
    """An error of another process has its reason and its traceback, and the process goes on."""
    [run] = small_runs(arms=("xavier",), seeds=(0,))
    task = TrainerTask(Stack((run,)), ("0" * 40,), RunContext(None))
    trainer = processes.Trainer(None, Surroundings(), "cpu")
    for _ in range(2):
        with pytest.raises(processes.RunFailed, match=r": it has other .+ every machine$") as error:
            trainer.ask("a trainer", task.sent, lambda share: None)
        assert "make_apart" in error.value.__notes__[0]
    trainer.end()


def make_slowly(name: str) -> None:
    """Makes a file, after a while."""
    time.sleep(0.1)
    Path(name).touch()


def test_who_asks_a_cluster_for_a_table_has_it_then(tmp_path, monkeypatch):
    """One process of this machine makes them all, and another's answer says nothing."""
    monkeypatch.setattr(RayEngine, "_watch", lambda self: None)
    engine, lacking = RayEngine("cpu"), []

    def ask(path: Path) -> None:
        engine.make(0, TrainerTask(Making(str(path), make_slowly), (), RunContext(None)), print)
        lacking.extend([] if path.exists() else [path])

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(ask, (tmp_path / str(number) for number in range(6))))
    engine.close()
    assert (lacking, len([*tmp_path.iterdir()])) == ([], 6)


def test_what_a_killed_trainer_trained_is_trained_again_once(tmp_path, monkeypatch):
    """Whatever kills it twice is named as the failure of what it trained."""
    [run] = small_runs(arms=("xavier",), seeds=(0,))
    session = Session(Store(tmp_path), None, "cpu")
    monkeypatch.setattr(processes, "CODE", "import os; os.kill(os.getpid(), 9)")
    with session.trained_by(two_processes()):
        session.ensure([run])
    assert session.failure(run) == "a trainer's process ended with -9"
    assert session.troubles == [f"{session.failure(run)}; what it trained was begun again"]


def test_a_run_says_that_no_process_can_be_started(tmp_path, monkeypatch):
    [run] = small_runs(arms=("xavier",), seeds=(0,))
    session = Session(Store(tmp_path), None, "cpu")

    def refuse(*given, **named):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(processes.subprocess, "Popen", refuse)
    with session.trained_by(two_processes()):
        session.ensure([run])
    assert session.failure(run).startswith("no process can be started that trains: [Errno 11]")


def test_no_train_trains_nothing_whatever_is_lost(tmp_path):
    """Neither a run that was never there nor one that was damaged meanwhile."""
    runs = small_runs(seeds=(0,))
    first = Session(Store(tmp_path), None, "cpu")
    first.want(runs)
    first.ensure(runs)
    idle = Session(Store(tmp_path), None, "cpu", may_train=False)
    idle.want(runs)
    idle.ensure(runs)
    [more] = small_runs(arms=("xavier",), seeds=(1,))
    assert "without --embinit-no-train" in idle.problem(more)
    with pytest.raises(InputError, match="without --embinit-no-train they are trained again"):
        idle.ensure([more])
    assert not idle.made


def test_sessions_that_plan_otherwise_share_runs(tmp_path):
    """Stacks that overlap are no reason to train a run twice."""
    runs = small_runs(arms=("xavier", "pretrained", "pretrained_shuffled"), seeds=(0,))
    one, other = (Session(Store(tmp_path), None, "cpu") for _ in range(2))
    one.want(runs[:2])
    other.want(runs[1:])
    mine, rest = one.take(), other.take()
    assert set(mine.what.runs) == set(runs[:2])
    assert rest.what.runs == (runs[2],)
    for work in (mine, rest):
        work.locks.close()
    assert other.take().what.runs == (runs[1],)


def test_nothing_is_trained_for_a_claim_that_lacks_a_run(suite):
    """One of its sources is missing, so its other arms would decide nothing."""
    path = suite.path / "claims/test_mine.py"
    path.write_text(
        path.read_text().replace(
            'experiment["pretrained"] < experiment["xavier"]',
            'experiment["pretrained"] < elsewhere(experiment)["xavier_pretrained"]',
        )
        + """

def elsewhere(experiment):
    return replace(experiment, source="glove")
"""
    )
    document = run(suite, "claims", "-k", "test_a")
    assert {entry["verdict"] for entry in document["claims"]} == {"NOT RUN"}
    assert "needs a data directory" in document["claims"][0]["reason"]
    assert not records(suite.path)


def test_a_source_without_the_vocabularys_words_costs_its_own_runs_alone(tmp_path, monkeypatch):
    """The arms that read no vectors are trained, in whatever stack they were to be."""
    set_apart(monkeypatch, SOURCES)
    (tmp_path / "other.txt").write_text("zyzzyva " + " ".join(["0.5"] * 64) + "\n")
    xavier, pretrained = small_runs(seeds=(0,))
    sources = [NamedSource(pretrained.recipe.table.source, tmp_path / "other.txt")]
    session = Session(Store(tmp_path), None, "cpu", sources)
    session.want([xavier, pretrained])
    session.ensure([xavier, pretrained])
    assert session.result(xavier) is not None
    assert session.failure(xavier) is None
    assert "has none of the" in session.failure(pretrained)


def test_a_file_that_changes_within_a_process_is_read_again(tmp_path, monkeypatch):
    """Else the old vectors would be trained with and kept under the key of the new ones."""
    set_apart(monkeypatch, SOURCES)
    [pretrained] = small_runs(arms=("pretrained",), seeds=(50,))
    data, source = pretrained.recipe.data, pretrained.recipe.table.source
    words = initial_tables.prepare(data, None).vocabularies["encoder"].words[10:14]
    path, known = tmp_path / "mine.txt", []
    for number in (0.5, 2.25):
        path.write_text("".join(f"{word}{f' {number}' * 64}\n" for word in words))
        session = Session(Store(tmp_path), None, "cpu", [NamedSource(source, path)])
        vectors = initial_tables.look_up(source, data, "encoder", None)
        known.append((session.key(pretrained), float(vectors.values[vectors.found].max())))
    (first, smaller), (second, larger) = known
    assert first != second
    assert (smaller, larger) == (0.5, 2.25)


def test_stores_of_two_machines_make_one_report(suite):
    """Each has some of the runs; copied together they decide, and nothing is trained."""
    suite.makeini("[pytest]\nfilterwarnings = error")
    for store, which in (("one", "test_a"), ("two", "test_b")):
        run(suite, "claims", "-k", which, "--embinit-store", store)
    judged = ("claims", "--embinit-store", "one", "--embinit-no-train", "-rs")
    done = suite.runpytest_inprocess(*judged)
    assert done.parseoutcomes()["skipped"] == 2
    done.stdout.fnmatch_lines(
        ["*the store one lacks runs; without --embinit-no-train they are trained*"]
    )
    subprocess.run(["cp", "-a", "two/runs", "one/"], cwd=suite.path, check=True)
    document = run(suite, *judged)
    assert document["session"]["runs"] == {"wanted": RUNS, "trained": 0, "stored": RUNS}
    assert "NOT RUN" not in {entry["verdict"] for entry in document["claims"]}
    assert {one["n"] for e in document["claims"] for one in e["comparisons"]} == {3}
