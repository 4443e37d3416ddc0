"""Whether ``-n`` counts trainers or pytest-xdist's workers: by the paths that are named alone."""

from types import SimpleNamespace

import pytest

from embinit.options import REGISTER
from embinit.pytest_plugin.claims_alone import asks_for_claims_alone
from projects import GOOD

OURS, THEIRS = "from embinit import claim\n", "def test_theirs():\n    pass\n"


@pytest.fixture
def asks(tmp_path):
    """Whether claims alone are asked for, in a project that has tests too."""
    for name, text in {
        "claims/test_a.py": OURS,
        "claims/deep/test_b.py": THEIRS,
        "tests/test_a.py": THEIRS,
        "studies/mine/test_a.py": OURS,
        "studies/mine/claims.lock": "",
        "both/test_a.py": OURS,
        "both/test_b.py": THEIRS,
        "both/claims.lock": "",
        "both/.venv/test_c.py": THEIRS,
        "units/test_a.py": "def test_theirs(seeds):\n    pass\n",
        "units/claims.lock": "",
        "unlocked/test_a.py": OURS,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def ask(*paths, pyargs=False, register=""):
        settings = {REGISTER: register, "python_files": ["test_*.py"]}
        config = SimpleNamespace(
            args=paths,
            option=SimpleNamespace(pyargs=pyargs),
            rootpath=tmp_path,
            invocation_params=SimpleNamespace(dir=tmp_path),
            getini=settings.get,
        )
        return asks_for_claims_alone(config)

    return ask


@pytest.mark.parametrize(
    ("alone", "asked"),
    [
        (True, ["claims", "claims/test_a.py::test_a", "studies",
                "studies/mine/test_a.py::test_a claims"]),
        (False, ["claims/deep/test_b.py::test_theirs", "tests", "claims tests", "both",
                 "both/test_a.py", "units", "units/test_a.py::test_theirs", "unlocked", ".", "",
                 "nowhere"]),
    ],
)  # fmt: skip
def test_paths_say_whether_claims_alone_are_asked_for(asks, alone, asked):
    """A folder of tests that has a lock, too, keeps pytest-xdist's workers, and so does another
    project's folder that is called claims."""
    assert [paths for paths in asked if asks(*paths.split()) is not alone] == []


def test_installed_claims_and_registering_are_claims_alone(asks):
    assert asks("embinit_papers.kim2024", pyargs=True)
    assert not asks("json", pyargs=True)
    assert not asks("no.such.module", pyargs=True)
    assert asks("tests", register="10")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (("-n", "100"), "embinit: tier micro, device cpu (-n 100, but there is room for 2)"),
        (("-n", "2"), "embinit: tier micro, device cpu"),
        (("-n", "auto", "--dist", "loadfile"), "embinit: tier micro, device cpu"),
        (("-n", "0"), "embinit: tier micro, device cpu"),
        (("-p", "no:xdist"), "embinit: tier micro, device cpu"),
    ],
)
def test_claims_have_trainers_and_no_workers(session, pytester, monkeypatch, given, line):
    """However many are asked for, as many as there are cores train, and one process judges."""
    monkeypatch.setattr("embinit.runs.machine.cores", lambda: 2)
    pytester.makeini("[pytest]\nembinit_short_options = all\nfilterwarnings = error\n")
    done, _ = session(GOOD, *given)
    done.assert_outcomes(passed=1)
    assert line in done.outlines
    assert "bringing up" not in done.stdout.str()
