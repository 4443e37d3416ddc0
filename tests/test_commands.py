"""The commands around claims, as a new user meets them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import embinit
from embinit import cli
from embinit.commands import STARTER, with_target

SOURCE = str(Path(embinit.__file__).parents[1])


def embinit_command(cwd, *arguments):
    """Runs embinit as a user's shell would, whichever worker of pytest-xdist asks."""
    given = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "embinit", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**given, "PYTHONPATH": SOURCE},
    )


QUIET = ("-p", "no:playwright", "-p", "no:randomly", "-p", "no:cacheprovider")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A new project whose claims were run."""
    home = tmp_path_factory.mktemp("new")
    made = embinit_command(home, "new", "My first")
    assert made.returncode == 0, made.stderr
    ran = embinit_command(home / "My first", "run", *QUIET)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return home / "My first"


def test_a_new_project_passes_at_once(project):
    """Its claim holds and its controls come out as they should; nothing is left to fill in."""
    document = json.loads((project / "reports/latest/verdicts.json").read_text())
    assert {entry["id"]: entry["verdict"] for entry in document["claims"]}[
        "my-first/first/better-above-plain[first]"
    ] == "SUPPORTED"
    assert all(entry["as_expected"] is not False for entry in document["claims"])
    assert not [name for name in STARTER if re.search("@[A-Z]+@", (project / name).read_text())]
    assert cli.main(["new", str(project)]) == 4


def test_claims_are_listed_and_picked_by_their_ids(project):
    """Names of functions say little; ids are what the report and the baseline go by."""
    listed = embinit_command(project, "list", *QUIET).stdout
    assert "my-first/first/better-above-plain\n  The better arm is better\n  on first" in listed
    picked = embinit_command(project, "run", "--claim", "*/control-*", *QUIET)
    assert "2 passed, 1 deselected" in picked.stdout
    lost = embinit_command(project, "run", "--claim", "my-first/first/beter-above-plain", *QUIET)
    assert lost.returncode == 4
    assert "did you mean 'my-first/first/better-above-plain'?" in lost.stderr


def test_a_store_is_listed_shown_and_pruned(project, capsys):
    store = f"--store={project / '.embinit/store'}"
    assert cli.main(["runs", store]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "fit  better, examples=200  seed" in "\n".join(told)
    key = told[0].split()[0]
    assert cli.main(["runs", key, store]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "function"
    assert cli.main(["runs", "nokey", store]) == 4
    assert cli.main(["runs", "--prune", "30", store]) == 0
    assert f"{len(told) - 1} left" in capsys.readouterr().out
    assert cli.main(["runs", "--store", str(project / "nowhere")]) == 4


def test_what_is_no_folder_and_no_paper_is_told(project):
    told = embinit_command(project, "run", "kim2042")
    assert told.returncode == 4
    assert "kim2042 is no folder of claims here, and no paper: known are " in (told.stderr)


def test_a_value_for_pytest_is_no_target():
    """``embinit run -n 4`` runs the claims on four workers."""
    assert with_target(["run", "-n", "4"]) == ["run", "claims", "-n", "4"]
    assert with_target(["list", "kim2024"]) == ["list", "kim2024"]
    assert with_target(["runs"]) == ["runs"]


def test_the_version_and_the_help_are_told(capsys):
    with pytest.raises(SystemExit) as done:
        cli.main(["--version"])
    assert done.value.code == 0
    assert capsys.readouterr().out == f"embinit {embinit.__version__}\n"
    assert cli.main([]) == 4
    assert "{list,run,register,summary,new,runs," in capsys.readouterr().out
