"""The plugin in projects that are not embinit's: light, out of the way, and beside other plugins.

What trains here is tiny, and most tests share one store, so that hardly anything is trained twice.
"""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from documents import latest
from embinit import Session, Store, judge
from embinit.claims.entries import claim_record
from embinit.files.typed import as_json
from embinit.options import OPTIONS, SETTINGS
from embinit.papers import printed_for

CLAIMS = """
from dataclasses import replace

from embinit import Family, claim
from embinit_papers.kim2024.experiments import experiments
from embinit.lab.specs import Cut

MINE = Family("mine/finding", {"micro": 3})


def small(tier):
    return [
        replace(
            one,
            most_seeds=None,
            data_draws=None,
            model=replace(one.model, layers=1, feed_forward=16),
            training=replace(one.training, epochs=1),
            data=replace(one.data, cut=Cut(train=200, validation=50)),
        )
        for one in experiments(tier, ("glove",), ("sentiment",))
    ]


def stated(name):
    return claim(f"mine/finding/{name}", says=name, family=MINE, experiments=small)


@stated("wider")
def test_wider(experiment):
    assert experiment["pretrained"].sigma > experiment["xavier"].sigma


@stated("better")
def test_better(experiment):
    assert experiment["pretrained"] < experiment["xavier"]
    assert experiment["pretrained"].within(20).alike(experiment["xavier"])
"""
RUNS = 2 * 2


def write_claims(root: Path, text: str = CLAIMS) -> None:
    (root / "claims").mkdir(exist_ok=True)
    (root / "claims/test_mine.py").write_text(text)


OWN_TIER = """
from embinit.papers import PAPERS, Paper, Tier

PAPERS.register("mine", Paper("mine", "Me (2026)", "Me 2026", {"nano": Tier("nano")}, list))
"""

OF_TWO_PAPERS = """
from test_mine import MINE, claim, small
from embinit_papers.kim2024 import table1


def on_micro(tier):
    assert tier == "nano"
    return small("micro")


@claim("mine/finding/a", says="a", family=MINE, experiments=on_micro)
def test_mine(experiment):
    assert experiment["pretrained"] < experiment["xavier"]


@claim("chung2021/finding/b", says="b", family=MINE, experiments=table1("glove"))
def test_theirs(experiment):
    assert experiment["pretrained"] < experiment["xavier"]
"""


def test_a_tier_of_one_paper_leaves_the_others_claims_out(pytester):
    """They have nothing to run there; no other code of the paper is asked."""
    pytester.makeconftest(OWN_TIER)
    write_claims(pytester.path)
    (pytester.path / "claims/test_two.py").write_text(OF_TWO_PAPERS)
    options = ("claims/test_two.py", "--embinit-tier", "nano", "--collect-only", "-q")
    done = pytester.runpytest_subprocess(*options)
    done.stdout.fnmatch_lines(["*test_two.py::test_mine*", "1/2 tests collected (1 deselected)*"])
    done = pytester.runpytest_subprocess(*options[:1], "--embinit-tier", "nana")
    done.stderr.fnmatch_lines(["*unknown tier 'nana'*"])


def numbers(document: dict) -> dict[str, list]:
    """What decides each claim, and to what it came."""
    return {
        entry["id"]: [entry["verdict"], *((c["left_values"], c["p"]) for c in entry["comparisons"])]
        for entry in document["claims"]
    }


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that several tests share; the first of them trains."""
    return tmp_path_factory.mktemp("shared") / "store"


@pytest.fixture(scope="module")
def judged(store: Path, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The claims as ``judge`` decides them, without pytest: their entries by id."""
    path = tmp_path_factory.mktemp("judged") / "claims_of_mine.py"
    path.write_text(CLAIMS)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    [experiment] = module.small("micro")
    experiment = module.replace(experiment, seeds=2)
    session = Session(Store(store), None, "cpu")
    entries = []
    for test in (module.test_wider, module.test_better):
        judgement = judge(test, experiment, session)
        node = f"claims/test_mine.py::{test.__name__}[{experiment.name}]"
        entries.append(as_json(claim_record(judgement, node, session.key, printed_for)))
    assert len(session.made) == RUNS
    return {entry["id"]: entry for entry in entries}


TELL = """
import json
import sys
from pathlib import Path


def pytest_sessionfinish(session):
    config = session.config
    if hasattr(config, "workerinput"):
        return
    groups = [*config._parser._groups, config._parser._anonymous]
    options = {name for group in groups for one in group.options for name in one.names()}
    fixtures = vars(getattr(session, "_fixturemanager", config))
    names = ("_arg2fixturedefs", "_arg2node2fixturedefs")  # before pytest 9.1, and since
    seen = {
        "options": sorted(options),
        "dests": sorted(vars(config.option)),
        "inis": sorted(config._parser._inidict),
        "fixtures": sorted({name for one in names for name in fixtures.get(one, ())}),
        "markers": sorted(line.split(":")[0] for line in config.getini("markers")),
        "modules": sorted(sys.modules),
    }
    Path("seen.json").write_text(json.dumps(seen))
"""


def seen_by(pytester: pytest.Pytester, *arguments: str) -> dict[str, set[str]]:
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)
    done.assert_outcomes(passed=1)
    seen = json.loads((pytester.path / "seen.json").read_text())
    return {name: set(found) for name, found in seen.items()}


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "1")], ids=["alone", "xdist"])
def test_a_project_without_claims_hardly_notices(pytester, monkeypatch, workers):
    """Of our names a marker alone lacks the prefix; nothing but the options is imported.

    Not even by a test that looks at each name of each module, as those do that freeze the time.
    """
    monkeypatch.delenv("PYTEST_PLUGINS")
    pytester.makeconftest(TELL)
    pytester.makepyfile("""
        import sys

        def test_trivial():
            for name, module in [*sys.modules.items()]:
                if name.startswith("embinit"):
                    assert [getattr(module, one) for one in dir(module)]
    """)
    ours = seen_by(pytester, *workers, "-p", "embinit.pytest_plugin")
    without = seen_by(pytester, *workers)
    added = {name: ours[name] - without[name] for name in ours}
    assert {f"--embinit-{name}" for name in OPTIONS} == added["options"]
    assert {f"embinit_{name.replace('-', '_')}" for name in OPTIONS} == added["dests"]
    assert added["inis"] == {"embinit_short_options", *SETTINGS}
    assert workers or "tmp_path" in ours["fixtures"]
    assert (added["fixtures"], added["markers"]) == (set(), {"control"})
    plugin = "embinit.pytest_plugin"
    asked = {f"{plugin}.claims_alone"} if workers else set()  # whether -n is for claims alone
    assert added["modules"] == {"embinit", "embinit.options", plugin, *asked}
    assert "torch" not in ours["modules"]
    assert not (pytester.path / ".embinit").exists()
    assert not (pytester.path / "reports").exists()


def test_short_names_are_there_where_they_are_asked_for(pytester):
    """All of them or a few; the prefixed names stay, and the rest remain the project's."""
    pytester.makepyfile("def test_trivial():\n    pass\n")
    every = ("--tier=micro", "--embinit-seeds=3", "--seeds=2", "--no-train", "--store=here")
    pytester.makeini("[pytest]\nembinit_short_options = all\n")
    done = pytester.runpytest_inprocess(*every)
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["embinit: tier micro, device cpu"])
    pytester.makeini("[pytest]\nembinit_short_options = tier seeds\n")
    pytester.runpytest_inprocess("--tier=micro", "--seeds=2").assert_outcomes(passed=1)
    done = pytester.runpytest_inprocess("--no-train")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*unrecognized arguments: --no-train*"])
    pytester.makeini("[pytest]\n")
    done = pytester.runpytest_inprocess("--tier=micro")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*unrecognized arguments: --tier=micro*"])


OWN_OPTIONS = """
def pytest_addoption(parser):
    parser.addoption("--device", default="none")
    parser.addoption("--seeds", type=int, default=0)
    parser.addoption("--tier", default="none")
    parser.addini("strict_seeds", "theirs")
"""
OWN_TEST = """
import pytest


@pytest.fixture
def experiment(request):
    return request.config.getoption("--device"), request.config.getoption("--seeds")


def test_theirs(experiment, pytestconfig):
    assert experiment == ("gpu0", 99)
    assert pytestconfig.getoption("tier") == "gold"
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_a_projects_own_options_stay_its_own(pytester, workers, store, judged):
    """Though they are called as our short names are, and a fixture as our claims' parameter."""
    pytester.makeconftest(OWN_OPTIONS)
    pytester.makepyfile(test_theirs=OWN_TEST)
    write_claims(pytester.path)
    theirs = ("--device", "gpu0", "--seeds", "99", "--tier", "gold")
    done = pytester.runpytest_inprocess(
        *theirs, "--embinit-seeds=2", f"--embinit-store={store}", *workers
    )
    assert done.ret in (0, 1)
    assert not [line for line in done.outlines if "test_theirs" in line and "FAILED" in line]
    assert sum(done.parseoutcomes().get(name, 0) for name in ("passed", "failed", "xfailed")) == 3
    assert numbers(latest()) == numbers({"claims": judged.values()})


FIRST_REPORT = """
import sys
from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    # In the controller, when the first report comes: nothing of embinit's session is there before.
    if not Path("first").exists():
        Path("first").write_text(str("embinit.pytest_plugin.session" in sys.modules))
"""


def test_a_controller_without_options_learns_of_claims_from_its_workers(
    pytester, monkeypatch, judged
):
    """It collects nothing, yet verdicts and report come, and every run is counted."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # of the worker that runs this test
    write_claims(pytester.path, CLAIMS.replace("epochs=1),", "epochs=1),\n            seeds=2,"))
    pytester.makeconftest(
        "import os\nif 'PYTEST_XDIST_WORKER' not in os.environ:\n"
        + "".join(f"    {line}\n" if line else "\n" for line in FIRST_REPORT.splitlines())
    )
    done = pytester.runpytest_subprocess("-n", "1")
    assert (pytester.path / "first").read_text() == "False"
    document = latest()
    assert document["session"]["runs"] == {"wanted": RUNS, "trained": RUNS, "stored": 0}
    assert numbers(document) == numbers({"claims": judged.values()})
    assert (pytester.path / "reports/latest/index.html").exists()
    output = "\n".join(done.outlines)
    assert re.search(r"^=+ verdicts =+$", output, re.MULTILINE)


def test_judge_decides_as_the_plugin_does(pytester, store, judged):
    """The same entry to the last number, from the same runs, of which none is made again."""
    write_claims(pytester.path)
    pytester.runpytest_inprocess("claims", "--embinit-seeds=2", f"--embinit-store={store}")
    document = latest()
    assert document["session"]["runs"]["trained"] == 0
    assert {entry["id"]: entry for entry in document["claims"]} == json.loads(json.dumps(judged))
