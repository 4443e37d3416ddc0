"""A cluster trains what a machine would: the same runs under the same names, whatever is lost."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import python
from embinit.errors import InputError
from embinit.runs import ray_engine
from embinit.runs.engines import TrainerTask, answer
from embinit.runs.kinds import RunContext, Stack
from embinit.runs.ray_engine import RayEngine, connect
from embinit.runs.store import Store
from embinit_papers.kim2024.experiments import experiments
from test_session import write_claims

pytestmark = pytest.mark.nightly

FUNCTIONS = """
import os
import random

from helper import SCALE

from embinit import Family, claim, experiment, training

MINE = Family("mine/f", size=3)


@training(measures={"score": "points"})
def fit(seed, arm, tell, top=9):
    for step in range(4):
        tell((step + 1) / 4, score=random.random())
    return SCALE * {"low": 1, "high": top}[arm] + random.random()


@training(measures=["score"], timeout=120)
def apart(seed, arm):
    return SCALE * {"low": 1, "high": 9}[arm] + random.random()


@training(measures=["score"])
def breaks(seed, arm):
    if arm == "low":
        raise RuntimeError("boom")
    return random.random()


on = [
    experiment(fn.name, training=fn, arms=["low", "high"], margin=1.0, seeds=4, most_seeds=None)
    for fn in (fit, apart, breaks)
]


@claim("mine/f/above", says="High is above low", family=MINE, on=on)
def test_above(arms):
    assert arms["high"] > arms["low"]
"""
ANALYSES = ("-k", "test_a", "--embinit-seeds", "2", "--embinit-max-seeds", "4")
RAY = "--embinit-engine=ray:"
RUNS = 4 * (1 + 1 + 1)

STACKS = """
import embinit.runs.plan

embinit.runs.plan.FEW_ARMS = 0  # a stack for each seed, so that every node gets one
"""
WATCH = """
from pathlib import Path

from embinit.runs.session import Session
from embinit.runs.store import Store

put = Store.put


def noted(self, key, result):
    with Path(__file__).with_name("puts").open("a") as file:
        print(key, file=file)
    return put(self, key, result)


Store.put = noted
Session.here = None  # what trains here is no cluster
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one place each, all processes of this machine."""
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": ray_engine.OBJECT_BYTES}
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        made = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
        made.add_node(**node)
        yield made
        made.shutdown()


def suite(root: Path, conftest: str = STACKS) -> Path:
    (root / "claims").mkdir(parents=True)
    (root / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (root / "conftest.py").write_text(conftest)
    write_claims(root, epochs=10)
    return root


def run(root: Path, *arguments: str, status: tuple[int, ...] = (0, 1)) -> dict[str, Any]:
    """Run a suite to its end; its verdicts document."""
    done = python("-m", "pytest", "-p", "no:cacheprovider", "claims", *arguments, cwd=root)
    assert done.returncode in status, done.stdout + done.stderr
    return dict(json.loads((root / "reports/latest/verdicts.json").read_text()))


def decided(document: dict[str, Any]) -> dict[str, Any]:
    """Verdicts, values and the names of runs."""
    return {
        entry["id"]: [
            (one["verdict"], one["left_values"], one["right_values"], sorted(one["runs"]))
            for one in entry["comparisons"]
        ]
        for entry in document["claims"]
    }


def puts(root: Path) -> list[str]:
    path = root / "puts"
    return path.read_text().split() if path.exists() else []


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one machine decides."""
    return decided(run(suite(tmp_path_factory.mktemp("local")), *ANALYSES))


def test_a_cluster_comes_to_the_verdicts_of_one_machine(cluster, local, tmp_path):
    """The later analysis's runs too; the session itself trains nothing."""
    there = suite(tmp_path, STACKS + WATCH)
    far = run(there, *ANALYSES, RAY + cluster.address)
    assert decided(far) == local
    assert far["session"]["runs"] == {"wanted": RUNS, "trained": RUNS, "stored": 0}
    assert far["session"]["device"] == "cpu (Ray cluster)"
    assert sorted(puts(there)) == list(Store(there / ".embinit/store"))


def test_a_users_function_gives_the_runs_of_one_machine(tmp_path):
    """To the last bit and under the same names, with their failures and curves."""
    near, far = (suite(tmp_path / name) for name in ("near", "far"))
    for root in (near, far):
        (root / "claims/test_mine.py").write_text(FUNCTIONS)
        (root / "claims/helper.py").write_text("SCALE = 2\n")
    documents = [run(near, status=(3,)), run(far, "--embinit-engine", "ray", status=(3,))]
    assert documents[1]["session"]["device"] == "cpu (Ray cluster)"
    verdicts, others = (
        {one["id"]: (one["verdict"], one["reason"]) for one in document["claims"]}
        for document in documents
    )
    assert verdicts == others
    assert verdicts["mine/f/above[breaks]"][0] == "NOT RUN"
    assert "RuntimeError: boom (test_mine.py:" in verdicts["mine/f/above[breaks]"][1]
    runs, same = (
        {key: (store.read(key).measures, store.read(key).curves) for key in store}
        for store in (Store(root / ".embinit/store") for root in (near, far))
    )
    assert runs == same
    assert len(runs) == 2 * 2 * 4 + 4


def test_a_cluster_without_a_gpu_is_told(cluster):
    """Tasks that need one would wait for ever."""
    with pytest.raises(InputError, match=r"^--embinit-device cuda: no node .* has a GPU"):
        connect(cluster.address, "cuda")


def test_a_task_answers_what_its_input_is_at_fault_for(tmp_path):
    """Raised, it would arrive as Ray's own error."""
    [one] = experiments("sample", ("glove",), ("sentiment",))
    task = TrainerTask(Stack((one.run("xavier", 0),)), ("0" * 40,), RunContext(tmp_path))
    kind, reason, details = answer(task.sent)
    assert (kind, "sst2/train.tsv.gz" in reason) == ("failed", True)
    assert "in make_apart" in details


def test_a_stack_takes_a_core_or_a_gpu(monkeypatch):
    """Ray keeps to what a task says that it needs."""
    monkeypatch.setattr(RayEngine, "_watch", lambda self: None)
    for device, slots, gpus in (("cuda", 9, 1), ("cpu", 65, 0)):
        engine = RayEngine(device)
        engine._resources = {"CPU": 64.0, "GPU": 8.0}
        assert (engine.slots, engine.needs["num_gpus"]) == (slots, gpus)


def test_without_ray_its_name_is_told(pytester, monkeypatch):
    """One line, and what to install."""
    monkeypatch.setitem(sys.modules, "ray", None)
    done = pytester.runpytest("--embinit-engine", "ray")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: *isn't installed; pip install ray"])
