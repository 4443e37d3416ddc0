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


MAIN = "from embinit.commands.main import main\n"
JUDGED = "'judge', '--lower', 'base=3.27,3.28', 'new=3.26,3.27'"


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        (f"{MAIN}main([])", "torch"),
        (f"{MAIN}assert main([{JUDGED}]) == 8", "torch embinit.lab embinit_papers"),
        ("from embinit import INITS, Init, claim, experiment\n"
         "assert INITS['pretrained_xavier'].label.format(source='GloVe') == 'GloVe_Xavier'",
         "torch"),
        (f"{MAIN}import embinit.report.page", "jsonschema"),
    ],
    ids=["help", "judge", "inits", "page"],
)  # fmt: skip
def test_what_takes_long_to_import_is_imported_where_it_is_needed(code, absent):
    """A command's help, a verdict on scores, an init's description: none of them makes a table.

    A document is checked against its schema where it is read alone.
    """
    checked = f"import sys\n{code}\nassert sys.modules.keys().isdisjoint({absent.split()})"
    ran = python("-c", checked)
    assert ran.returncode == 0, ran.stderr
