"""The examples run as they are: what a stranger copies works."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
FILES = [f"examples/{path.name}" for path in sorted(EXAMPLES.glob("test_*.py"))]
PROJECTS = sorted(path.parent.name for path in EXAMPLES.glob("*/pyproject.toml"))


def run(*command, cwd=ROOT, **environment):
    """A command of this Python, in the checkout or in another folder."""
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("project", PROJECTS)
def test_each_project_of_its_own_is_judged(project, tmp_path):
    """Two of them where torch can't be loaded; their controls come out as they should."""
    home = shutil.copytree(EXAMPLES / project, tmp_path / project)
    without = tmp_path / "without"
    without.mkdir()
    if project != "pytorch":
        (without / "torch.py").write_text("raise ImportError('there is no torch here')\n")
    if project == "scikit_learn":
        pytest.importorskip("sklearn")
    path = os.pathsep.join([str(without), str(ROOT / "src")])
    few = ("--embinit-max-seeds=5",) if project == "pytorch" else ()
    ran = run(
        *("-m", "embinit", "run", *few, "-p", "no:playwright", "-p", "no:randomly"),
        cwd=home,
        PYTHONPATH=path,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    document = json.loads((home / "reports/latest/verdicts.json").read_text(encoding="utf-8"))
    assert all(claim["verdict"] != "NOT RUN" for claim in document["claims"])
    assert all(claim["as_expected"] is not False for claim in document["claims"])
    again = run("-m", "embinit", "runs", cwd=home, PYTHONPATH=path)
    assert again.returncode == 0, again.stderr
    assert "failed" not in again.stdout


def test_each_file_of_claims_trains_and_is_decided(tmp_path):
    """With two seeds, for speed: each claim is judged, no control misbehaves, nothing is missing.

    A refuted claim would be a result and no fault; what the claims come to is not asked here.
    """
    options = (f"--embinit-store={tmp_path / 'store'}", f"--embinit-report-dir={tmp_path}")
    ran = run("-m", "pytest", *FILES, "-q", "-p", "no:cacheprovider", "--embinit-seeds=2", *options)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    document = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    files = {claim["nodeid"].partition("::")[0] for claim in document["claims"]}
    assert files == set(FILES)
    assert all(claim["verdict"] != "NOT RUN" for claim in document["claims"])
    assert all(claim["as_expected"] is not False for claim in document["claims"])


def test_a_claim_is_judged_without_pytest(tmp_path):
    """The verdict is printed with its numbers."""
    ran = run(EXAMPLES / "judging.py", tmp_path / "store")
    assert ran.returncode == 0, ran.stderr
    assert "GloVe < Xavier: " in ran.stdout
    assert "2 seeds" in ran.stdout


def test_tables_are_described_without_training():
    """Xavier's sigma is that of its formula, and standardising gives GloVe's table the same."""
    ran = run(EXAMPLES / "tables.py")
    assert ran.returncode == 0, ran.stderr
    first, *inits, nearest = ran.stdout.splitlines()
    sigma = float(first.split()[-1])
    measured = {line.split()[0]: float(line.split()[2].rstrip(",")) for line in inits}
    assert sigma == pytest.approx((2 / (500 + 64)) ** 0.5, abs=5e-4)
    assert measured["pretrained_xavier"] == sigma < measured["pretrained"]
    assert nearest.startswith("nearest to ")
