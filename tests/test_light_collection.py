"""Claims are collected and listed without torch, which takes longer to load than all the rest."""

import os
from pathlib import Path

import pytest

from builders import python
from test_claims import OF_PAPERS

HEAVY = ("torch", "transformers", "spacy", "datasets", "pandas", "statsmodels", "gensim")

TELL = """
import os, sys
from pathlib import Path

def pytest_unconfigure(config):
    file = Path(os.environ["TOLD"]) / str(os.getpid())
    file.write_text("\\n".join(sys.modules))
"""
"""A plugin that writes down what its process of pytest has imported."""


def imported(tmp_path: Path, *command: str) -> set[str]:
    """What the processes of pytest that a command starts have imported."""
    (tmp_path / "tell.py").write_text(TELL)
    folder = tmp_path / "told"
    folder.mkdir()
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    # pytest-randomly loads the seeders of all packages, thinc's and so torch among them.
    addopts = "-p no:randomly -p no:cacheprovider -p tell"
    variables = {"TOLD": str(folder), "PYTHONPATH": path, "PYTEST_ADDOPTS": addopts}
    done = python(*command, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    files = list(folder.iterdir())
    assert files, "no process of pytest told anything"
    return {name for file in files for name in file.read_text().splitlines()}


@pytest.mark.parametrize(
    "options",
    [
        ("-q",),
        (),
        ("-q", "-n", "2"),
        ("-q", "--tier", "sample"),
        ("-q", "--tier", "full"),
        ("-q", "--tier", "paper"),
    ],
    ids=" ".join,
)
def test_every_claim_is_collected_without_torch(tmp_path, options):
    """Labels, arms and budgets come from light modules, whatever the tier and the verbosity."""
    modules = imported(tmp_path, "-m", "pytest", "claims", "--collect-only", *options)
    assert modules >= {f"embinit_papers.{key}" for key in OF_PAPERS}
    assert {name for name in HEAVY if name in modules} == set()
    assert "-q" not in options or "scipy.optimize" not in modules


@pytest.mark.parametrize(
    "code",
    [
        "from embinit.commands.main import main\nmain([])",
        "from embinit import INITS, Init, claim, experiment\n"
        "assert INITS['pretrained_xavier'].label.format(source='GloVe') == 'GloVe_Xavier'",
    ],
    ids=["help", "inits"],
)
def test_nothing_else_loads_torch_before_a_table_is_made(code):
    """Neither the command's help nor an init's description."""
    checked = f"import sys\n{code}\nassert 'torch' not in sys.modules, 'torch is loaded'"
    ran = python("-c", checked)
    assert ran.returncode == 0, ran.stderr
