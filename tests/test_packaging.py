"""What a stranger gets: a wheel with the claims in it, a licence, and one version."""

import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

import embinit
from builders import python
from documents import latest

ROOT = Path(__file__).parents[1]
HOME = ROOT / "claims/embinit_papers"
PAPERS = sorted(path.parent.name for path in HOME.glob("*/claims.lock"))


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, unpacked, built by the back end itself: no network, no environment."""
    directory = tmp_path_factory.mktemp("wheel")
    made = python("-m", "hatchling", "build", "-t", "wheel", "-d", directory)
    assert made.returncode == 0, made.stdout + made.stderr
    [built] = directory.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(directory / "unpacked")
    return directory / "unpacked"


def test_the_wheel_has_each_papers_folder(wheel):
    """The same files as in the checkout, under the same import name."""
    assert PAPERS
    for paper in PAPERS:
        shipped = wheel / "embinit_papers" / paper
        files = (path for path in (HOME / paper).iterdir() if path.is_file())
        ours = {path.name: path.read_bytes() for path in files}
        assert {path.name: path.read_bytes() for path in shipped.iterdir()} == ours
        assert {"paper.py", "claims.lock"} <= ours.keys()
        assert any(name.startswith("test_") for name in ours)


def test_the_wheel_has_embinit_and_the_papers_alone(wheel):
    """No study and no test of embinit's own is installed with it."""
    there = {path.name for path in wheel.iterdir() if path.suffix != ".dist-info"}
    assert there == {"embinit", "embinit_papers"}


def test_the_metadata_say_version_and_licence(wheel):
    """The version stands in ``embinit/__init__.py`` alone."""
    [path] = wheel.glob("*.dist-info/METADATA")
    metadata = message_from_string(path.read_text(encoding="utf-8"))
    assert metadata["Version"] == embinit.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert (path.parent / "licenses/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_shipped_claims_run_in_an_empty_folder(wheel, tmp_path):
    """``pytest --pyargs`` finds all of them by name; the audit trains nothing."""
    papers = [f"embinit_papers.{paper}" for paper in PAPERS]
    asked = ("-m", "pytest", "-q", "--pyargs", *papers, "-k", "test_audit")
    ran = python(*asked, cwd=tmp_path, PYTHONPATH=str(wheel))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    document = latest(tmp_path)
    assert {audit["paper"] for audit in document["audits"]} == {*PAPERS}


def test_an_installed_embinit_runs_the_clones_claims(wheel):
    """``pip install ./embinit`` brings a second copy of the papers, which is not in the way."""
    asked = ("-m", "pytest", "-q", "claims/", "-k", "finding_1", "--collect-only")
    ran = python(*asked, PYTHONPATH=str(wheel))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "test_finding_1.py::" in ran.stdout


def test_every_extra_and_tool_is_pinned(project):
    """``constraints.txt`` has a version of each package that the project names."""
    extras = project["project"]["optional-dependencies"].values()
    named = [*project["project"]["dependencies"], *(name for extra in extras for name in extra)]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()[1:]
    pinned = {_canonical(line.partition("==")[0]) for line in lines}
    wanted = {_canonical(name.partition(">")[0].partition("[")[0]) for name in named}
    assert wanted - pinned == {"embinit"}


def _canonical(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def test_the_versions_of_python_are_told_alike(project):
    """Classifiers and the workflow name the same versions, the oldest being what is required."""
    classifiers = project["project"]["classifiers"]
    start = "Programming Language :: Python :: 3."
    minors = [one.removeprefix(start) for one in classifiers if one.startswith(start)]
    workflow = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    listed = ", ".join(f'"3.{minor}"' for minor in minors)
    assert f"python: [{listed}]" in workflow
    assert project["project"]["requires-python"] == f">=3.{minors[0]}"
