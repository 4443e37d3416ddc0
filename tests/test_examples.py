"""The examples run as they are: what a stranger copies works."""

import json
import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from builders import python
from documents import latest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
FILES = [f"examples/{path.name}" for path in sorted(EXAMPLES.glob("test_*.py"))]
PROJECTS = sorted(path.parent.name for path in EXAMPLES.glob("*/pyproject.toml"))


WITHOUT_TORCH = ("subprocess",)
SMALL = {
    "pytorch": ("--embinit-max-seeds=6",),
    "llm_c_positions": ("--embinit-seeds=2",),
    "third_paper": ("--embinit-seeds=2",),
}
"""What makes seconds of an example. Two seeds decide too little for its controls to be asked."""

SHORTER = {"llm_c_positions": ("claims/test_positions.py", "steps=250", "steps=5")}
"""A setting that is changed in the copy of an example."""


def described(project):
    """The project's own table of its pyproject.toml."""
    text = (EXAMPLES / project / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


def folder_of_claims(project):
    """A package's claims lie beside what it trains."""
    return "src" if (EXAMPLES / project / "src").is_dir() else "claims"


def copied(project, folder):
    """A copy of an example, as it is committed."""
    ignored = shutil.ignore_patterns(".embinit", "reports")
    return shutil.copytree(EXAMPLES / project, folder / project, ignore=ignored)


def installed(home):
    """What pip would install of an example that is a package: its modules and entry points."""
    if not (home / "src").is_dir():
        return []
    project = described(home.name)
    about = home / "src" / f"{project['name']}-{project['version']}.dist-info"
    about.mkdir()
    name = f"Name: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\n{name}")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{point} = {where}" for point, where in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines))
    return [str(home / "src")]


@pytest.mark.nightly
@pytest.mark.parametrize("project", PROJECTS)
def test_each_project_of_its_own_is_judged(project, tmp_path):
    """One of them where torch can't be loaded; controls that could tell come out as they should."""
    home = copied(project, tmp_path)
    if project in SHORTER:
        name, long, short = SHORTER[project]
        text = (home / name).read_text(encoding="utf-8")
        assert long in text
        (home / name).write_text(text.replace(long, short), encoding="utf-8")
    without = tmp_path / "without"
    without.mkdir()
    if project in WITHOUT_TORCH:
        (without / "torch.py").write_text("raise ImportError('there is no torch here')\n")
    path = os.pathsep.join([str(without), str(ROOT / "src"), *installed(home)])
    small = SMALL.get(project, ())
    command = ("-m", "pytest", folder_of_claims(project), *small)
    ran = python(*command, cwd=home, PYTHONPATH=path)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    document = latest(home)
    assert document["claims"]
    assert all(claim["verdict"] != "NOT RUN" for claim in document["claims"])
    if "--embinit-seeds=2" not in small:
        assert all(claim["as_expected"] is not False for claim in document["claims"])
    again = python("-m", "embinit", "runs", cwd=home, PYTHONPATH=path)
    assert again.returncode == 0, again.stderr
    assert "failed" not in again.stdout


def test_a_paper_of_another_package_is_found_by_its_name(tmp_path):
    """In any folder: its claims are in its package."""
    home = copied("third_paper", tmp_path)
    path = os.pathsep.join([str(ROOT / "src"), *installed(home)])
    cwd = tmp_path / "empty"
    cwd.mkdir()
    asked = ("-m", "pytest", "--pyargs", "takase2023", "--collect-only", "-q")
    listed = python(*asked, cwd=cwd, PYTHONPATH=path)
    assert listed.returncode == 0, listed.stdout + listed.stderr
    assert "test_small_embeddings.py::" in listed.stdout


@pytest.mark.parametrize("project", PROJECTS)
def test_each_project_says_how_to_run_it(project):
    """Its README fits a page, and installs what its pyproject.toml asks for."""
    text = (EXAMPLES / project / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert f"pytest {folder_of_claims(project)}/ -n 2" in text
    [command] = re.findall(r"^pip install (.*?)(?:  .*)?$", text, flags=re.MULTILINE)
    own_package = (EXAMPLES / project / "src").is_dir()
    wanted = ["."] if own_package else described(project)["dependencies"]
    assert [word.strip('"') for word in command.split()] == wanted


def test_the_port_was_registered_before_its_runs():
    """No line of its lock says that the claim's runs had been seen by then."""
    path = EXAMPLES / "llm_c_positions/claims/claims.lock"
    lines = json.loads(path.read_text(encoding="utf-8"))["claims"]
    assert "llm.c-832/positions/narrow-below-wide[positions] on micro" in lines
    assert not [line for line in lines.values() if "afterwards" in line]


@pytest.mark.nightly
def test_each_file_of_claims_trains_and_is_decided(tmp_path):
    """With two seeds, for speed: each claim is judged and no control misbehaves."""
    options = (f"--embinit-store={tmp_path / 'store'}", f"--embinit-report-dir={tmp_path}")
    asked = ("-m", "pytest", *FILES, "-q", "-p", "no:cacheprovider", "--embinit-seeds=2")
    ran = python(*asked, *options)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    document = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    files = {claim["nodeid"].partition("::")[0] for claim in document["claims"]}
    assert files == set(FILES)
    assert all(claim["verdict"] != "NOT RUN" for claim in document["claims"])
    assert all(claim["as_expected"] is not False for claim in document["claims"])


@pytest.mark.nightly
def test_a_claim_is_judged_without_pytest(tmp_path):
    """The verdict is printed with its numbers."""
    ran = python(EXAMPLES / "judging.py", tmp_path / "store")
    assert ran.returncode == 0, ran.stderr
    assert "GloVe < Xavier: " in ran.stdout
    # Two, or twice as many until they decide: that hangs on digits, which machines don't share.
    assert re.search(r", (2|4|8|16) seeds", ran.stdout)


def test_a_loop_of_trials_ends_by_the_statuses_that_it_is_told():
    """A trial of nothing, and one of what nobody could miss."""
    path = str(ROOT / "src")
    nothing = python("examples/trials.py", "1", PYTHONPATH=path)
    assert nothing.stdout.startswith("0 of 1 changes kept, "), nothing.stderr
    helps = python("examples/trials.py", "1", "9", PYTHONPATH=path)
    assert helps.stdout.startswith("1 of 1 changes kept, "), helps.stderr


@pytest.mark.nightly
def test_a_golden_curve_is_kept_to_or_it_is_told(tmp_path):
    """The curve's end refutes a training that learns at less than half of the rate."""
    home = copied("golden_curve", tmp_path)
    claims = home / "claims/test_curve.py"
    claims.write_text(claims.read_text("utf-8").replace("lr=0.05", "lr=0.02"), "utf-8")
    ran = python("-m", "pytest", "claims", cwd=home, PYTHONPATH=str(ROOT / "src"))
    assert ran.returncode == 1, ran.stdout + ran.stderr
    document = latest(home)
    verdicts = [claim["verdict"] for claim in document["claims"] if not claim["control"]]
    assert "REFUTED" in verdicts
