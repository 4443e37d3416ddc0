"""The commands around claims, as a new user meets them."""

import dataclasses
import json
import re
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import embinit
from builders import make_function_run, make_result, python, ran
from documents import latest
from embinit.commands import new, register
from embinit.commands.main import main
from embinit.commands.register import run_pytest
from embinit.errors import Status
from embinit.runs.store import Store
from embinit.runs.trainers.inputs import digest_of_file, interpreter
from projects import CLAIMS

ROOT = Path(__file__).parents[1]
SOURCE = str(Path(embinit.__file__).parents[1])
USUAL = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "PYTEST_PLUGINS": ""}
QUIET = ("-p", "no:playwright", "-p", "no:randomly", "-p", "no:cacheprovider")


def shell(cwd, *arguments):
    """Runs a module as a user's shell would, with the plugins that are installed."""
    return python("-m", *arguments, cwd=cwd, PYTHONPATH=SOURCE, **USUAL)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A new project whose claims were run."""
    home = tmp_path_factory.mktemp("new")
    made = shell(home, "embinit", "new", "My first")
    assert made.returncode == 0, made.stderr
    steps = ["cd 'My first'", "edit claims/test_first.py", "embinit register && pytest claims/"]
    assert re.findall("|".join(steps), made.stdout) == steps
    ran = shell(home / "My first", "pytest", "claims/", *QUIET)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return home / "My first"


def test_a_new_project_passes_at_once(project):
    """Its claim holds and its control is found; nothing is left to fill in."""
    document = latest(project)
    assert {
        entry["id"]: (entry["verdict"], entry["as_expected"]) for entry in document["claims"]
    } == {
        "my-first/first/better-above-plain[first]": ("SUPPORTED", None),
        "my-first/first/control-positive[first]": ("SUPPORTED", True),
    }
    assert not [name for name in new.STARTER if re.search("@[A-Z]+@", (project / name).read_text())]
    assert main(["new", str(project)]) == Status.UNUSABLE


UNHEARD = """
import atexit
import os
import sys
from embinit.commands.main import main
from embinit.runs import instructions
instructions.vendor = lambda: "Unheard"
atexit.register(lambda: print("made with", os.environ[instructions.VARIABLE]))
sys.exit(main(sys.argv[1:]))
"""


def test_runs_of_a_report_are_made_again(project, tmp_path):
    """Who doubts a table can make its numbers again; one that does not come out is named."""
    path = project / "reports/latest/verdicts.json"
    again = shell(project, "embinit", "check", str(path), "--retrain", "3", "--seed", "1")
    assert again.returncode == Status.OK, again.stdout + again.stderr
    assert re.search(r"3 of 3 runs made again, equal in every digit \(\d+ numbers", again.stdout)
    other = json.loads(path.read_text())
    for entry in other["claims"]:
        for pair in entry["comparisons"]:
            pair["left_values"] = [value + 1e-9 for value in pair["left_values"]]
    for machine in other["session"]["machines"]:
        machine["instructions"] = "compatible"
    (tmp_path / "other.json").write_text(json.dumps(other))
    every = shell(project, "embinit", "check", str(tmp_path / "other.json"), "--retrain", "99")
    assert every.returncode == Status.NOT_OK
    assert "DIFFERS: my-first/first/better-above-plain[first]: " in every.stdout
    given = ("-c", UNHEARD, "check", tmp_path / "other.json", "--retrain", "99")
    unheard = python(*given, cwd=project, PYTHONPATH=SOURCE, **USUAL)
    assert unheard.returncode == Status.OK, unheard.stderr
    assert "DIFFERS: " in unheard.stdout
    assert "not seen on processors of Unheard: no difference is a fault" in unheard.stdout
    assert "made with compatible" in unheard.stdout, "the report's set"
    for machine in other["session"]["machines"]:
        machine["vendor"] = "Unheard"
    (tmp_path / "theirs.json").write_text(json.dumps(other))
    theirs = shell(project, "embinit", "check", str(tmp_path / "theirs.json"), "--retrain", "99")
    assert theirs.returncode == Status.OK, theirs.stderr
    elsewhere = shell(tmp_path, "embinit", "check", str(path), "--retrain", "3")
    assert elsewhere.returncode == Status.UNUSABLE
    assert "in the folder where its session was started" in elsewhere.stderr


def test_git_ignores_what_a_session_writes(project):
    """Without a line in the project's own .gitignore; the accepted baseline is committed."""
    (project / ".gitignore").unlink()
    assert ran("git", "init", "-q", ".", cwd=project).returncode == 0
    shown = ran("git", "status", "--porcelain", "--untracked-files=all", cwd=project).stdout
    assert "claims/test_first.py" in shown
    assert ".embinit/" not in shown
    assert "reports/latest" not in shown


def test_a_new_project_is_installed_from_where_embinit_was(tmp_path, monkeypatch, capsys):
    """No index has embinit unless it was installed from one, which PEP 610's file says."""
    wheel = f"embinit-{embinit.__version__}-py3-none-any.whl"
    git = {"url": "https://a.org/b", "vcs_info": {"vcs": "git", "commit_id": "c0de"}}
    known = {
        None: f"embinit>={embinit.__version__}",
        json.dumps(git): "embinit @ git+https://a.org/b@c0de",
        '{"url": "https://a.org/c.whl", "archive_info": {}}': "embinit @ https://a.org/c.whl",
        '{"url": "file:///mine", "dir_info": {}}': f"./{wheel}",
    }
    for number, (origin, line) in enumerate(known.items()):
        installed = SimpleNamespace(read_text={"direct_url.json": origin}.get)
        monkeypatch.setattr(new.metadata, "distribution", lambda name, it=installed: it)
        assert main(["new", str(tmp_path / str(number))]) == 0
        assert (tmp_path / str(number) / "requirements.txt").read_text().splitlines()[-1] == line
        to_make = "make it in the new folder, and commit it:\n  pip wheel --no-deps file:///mine\n"
        assert (to_make in capsys.readouterr().out) == line.startswith("./")


def test_the_workflow_of_a_new_project_is_that_of_the_docs_and_runs(project):
    """Green after ``embinit bless``; red when the claim is lost, or when half of its effect is."""
    text = (project / ".github/workflows/claims.yml").read_text()
    assert f"```yaml\n{text}```" in (ROOT / "docs/ci.md").read_text()
    steps = yaml.safe_load(text)["jobs"]["claims"]["steps"]
    given = [line.split() for step in steps if (line := step.get("run", ""))]
    asked = [[*line, *QUIET] for line in given if line[0] == "pytest"]
    asked += [line for line in given if line[:2] == ["embinit", "check"]]

    def job(rate):
        test = project / "claims/test_first.py"
        kept = test.read_text()
        test.write_text(kept.replace('"better": 0.85', f'"better": {rate}'))
        ran = [shell(project, *line) for line in asked]
        test.write_text(kept)
        return [(one.returncode, one.stdout) for one in ran]

    assert shell(project, "embinit", "bless").returncode == 0
    assert [status for status, _ in job(0.85)] == [0, 0]
    [(status, lost), _] = job(0.55)
    assert (status, "LOST" in lost) == (1, True)
    [(status, _), (checked, fallen)] = job(0.76)
    assert (status, checked, "NOT OK: moved" in fallen) == (0, 1, True)


@pytest.mark.parametrize("name", ["dangling/in", "file", "file/in"])
def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, monkeypatch, capsys, name):
    """And nothing is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    assert main(["new", name]) == Status.UNUSABLE
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


def kept_function(seed=0, finished="2031-01-01T00:00:00+00:00", **changes):
    """The result of a function's run."""
    run = dataclasses.replace(make_function_run(), seed=seed)
    changes.setdefault("provenance", {"finished": finished})
    return dataclasses.replace(make_result(run, score=1.0), **changes)


@pytest.fixture
def runs(tmp_path, capsys):
    """``embinit runs`` on a store: its status and its lines."""

    def run(*arguments):
        status = main(["runs", *map(str, arguments), "--store", str(tmp_path)])
        out = capsys.readouterr()
        return status, (out.out + out.err).splitlines()

    return run


def test_a_store_is_listed_and_shown(runs, tmp_path):
    """A line a run, with its failure where it has one; records by the beginning of their keys."""
    assert runs()[0] == Status.UNUSABLE  # no store is there
    store, whole = Store(tmp_path), kept_function()
    store.put("ab12", whole)
    store.put("ab34", kept_function(seed=1, measures={}, failure="the loss is no number"))
    status, [line, diverged, total] = runs()
    assert (status, total) == (0, f"2 runs in {tmp_path}")
    assert line.startswith("ab12  2031-01-01  ")
    said = [whole.spec.recipe.task, "a", "seed 1", "the loss is no number"]
    assert diverged.split("  ")[2:] == said
    assert json.loads("\n".join(runs("ab1")[1]))["kind"] == "function"
    assert runs("nokey")[0] == Status.UNUSABLE


def test_runs_that_hold_are_counted_and_what_changed_is_said(runs, tmp_path):
    """Without a look at the user's code: by the files that the records name."""
    store, data = Store(tmp_path), tmp_path / "data.csv"
    data.write_text("1")
    others = (
        "asked", "times", "modes", "lists", "modules", "names", "declared", "variables",
        "versions", "entry points",
    )  # fmt: skip
    nothing = {name: {} for name in others}
    for seed, digest in enumerate((digest_of_file(str(data)), "0ther", "0ther")):
        made = {"root": str(tmp_path), "untraced": [], "files": {"data.csv": digest}, **nothing}
        made["python"] = interpreter()
        about = {"finished": "2031-01-01", "inputs": made}
        store.put(f"{seed}b.{digest}", kept_function(seed, provenance=about))
    _, lines = runs()
    assert [line.rpartition("  ")[2] for line in lines[1:3]] == ["data.csv was changed"] * 2
    assert lines[3] == "mine.trained: 1 run holds; 2 don't: data.csv was changed"
    assert lines[4] == f"3 runs in {tmp_path}"


@pytest.mark.parametrize("content", ["{", "[]", "null"])
def test_a_damaged_record_is_a_line(runs, tmp_path, content):
    path = Store(tmp_path).path("ab12")
    path.parent.mkdir()
    path.write_text(content)
    for arguments, expected in (((), Status.NOT_OK), (("ab",), Status.OK)):
        status, lines = runs(*arguments)
        assert status == expected
        assert lines[0].startswith("ab12  ")


def test_the_version_and_the_help_are_printed(capsys):
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert done.value.code == 0
    assert capsys.readouterr().out == f"embinit {embinit.__version__}\n"
    assert main([]) == Status.UNUSABLE
    assert "{new,judge,register,check,bless,report,runs,prepare" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "claims", "more"),
    [
        ([], "claims", []),
        (["-n", "4"], "claims", ["-n", "4"]),
        (["mine", "--seeds", "3", "-v"], "mine", ["-v"]),
        (["--tier=nano", "--", "--tier", "x"], "claims", ["--embinit-tier=nano", "--tier", "x"]),
    ],
)
def test_register_passes_arguments_on(monkeypatch, tmp_path, capsys, given, claims, more):
    """With embinit's own prefix whatever the project; what is behind -- as it stands."""
    passed = []
    monkeypatch.chdir(tmp_path)
    assert main(["register", *given]) == Status.UNUSABLE
    assert capsys.readouterr().err.startswith(f"embinit: {claims} does not exist; name a folder")
    Path(claims).mkdir()
    monkeypatch.setattr(register, "run_pytest", lambda arguments: passed.extend(arguments) or 0)
    assert main(["register", *given]) == 0
    seeds = 3 if "--seeds" in given else 10
    assert passed == ["-o", f"embinit_register={seeds}", claims, *more]


@pytest.fixture
def run_in(tmp_path, monkeypatch):
    """Runs the claims of a text in a child of this process."""
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "claims").mkdir()

    def run(text, *arguments):
        (tmp_path / "claims/test_mine.py").write_text(text)
        return run_pytest(["claims", *QUIET, *arguments])

    return run


def test_an_interrupt_leaves_a_report_and_says_what_is_kept(run_in, tmp_path, capfd):
    """A terminal interrupts both processes; the one in front used to kill the other at once."""
    (tmp_path / "conftest.py").write_text(
        "import os, signal\n\n"
        "def pytest_runtest_logreport(report):\n"
        "    if report.when == 'setup':\n"
        "        os.kill(os.getppid(), signal.SIGINT)\n"
        "        raise KeyboardInterrupt\n"
    )
    assert run_in(CLAIMS) == Status.INTERRUPTED
    out = capfd.readouterr().out
    assert "unfinished: it was interrupted from the keyboard" in out
    assert re.search(r"^\d+ of 12 runs are stored; run again$", out, re.M)
    document = latest(tmp_path)
    assert "unfinished" in document["session"]


def test_an_end_of_the_command_is_the_end_of_its_child(run_in):
    text = "import os, signal, time\n\ndef test_it():\n    os.kill(os.getppid(), signal.SIGTERM)\n"
    before = signal.getsignal(signal.SIGTERM)
    assert run_in(text + "    time.sleep(60)\n") == Status.INTERRUPTED
    assert signal.getsignal(signal.SIGTERM) == before


def test_what_pytest_prints_without_a_session_is_a_success(run_in):
    assert run_in("", "--markers") == Status.OK
