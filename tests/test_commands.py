"""The commands around claims, as a new user meets them."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

import embinit
from builders import make_function_run, make_result, set_apart
from embinit import cli, commands, registry
from embinit.commands import STARTER, with_target
from embinit.errors import Status, printable
from embinit.options import OPTIONS
from embinit.runs.store import Store
from test_exit_codes import CLAIMS

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
    steps = ["cd 'My first'", "edit claims/test_first.py", "embinit register", "embinit run"]
    assert re.findall("|".join(steps), made.stdout) == steps
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
    assert "1 passed, 1 deselected, 1 xfailed" in picked.stdout
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


HOSTILE = "a\x1b[2J\u202eb\x9b"


def kept_function(code="c0de", seed=0, finished="2031-01-01T00:00:00+00:00", **changes):
    """The result of a function's run."""
    run = make_function_run()
    run = dataclasses.replace(run.changed(code=code), seed=seed)
    changes.setdefault("provenance", {"finished": finished})
    return dataclasses.replace(make_result(run, score=1.0), **changes)


def told(capsys, *arguments):
    """What ``embinit runs`` prints, in lines, after its status."""
    status = cli.main(["runs", *map(str, arguments)])
    out = capsys.readouterr()
    text = out.out + out.err
    assert printable(text) == text
    return status, text.splitlines()


def test_runs_of_old_code_are_told_apart(tmp_path, capsys):
    """Two runs of one arm and seed looked alike, and stood where their hashes do."""
    store = Store(tmp_path)
    for number, (code, seed, year) in enumerate(
        [("new", 1, 2032), ("old", 0, 2031), ("new", 0, 2032), ("old", 1, 2033)]
    ):
        store.put(f"{number}b", kept_function(code, seed, f"{year}-01-01"))
    status, lines = told(capsys, "--store", tmp_path)
    assert status == 0
    ends = [(line.split("seed ")[1][0], line.rpartition("  ")[2]) for line in lines[:-1]]
    current = [("0", "current code"), ("1", "current code")]
    assert ends == [*current, ("0", "older code"), ("1", "older code")]
    assert lines[0].startswith("1b  2031-01-01  ")
    assert lines[-1] == f"4 runs in {tmp_path}, 2 of older code"


def test_a_failed_run_is_shown_by_its_key(tmp_path, capsys):
    """The list printed a key that the command then did not know."""
    store = Store(tmp_path)
    run = kept_function(seed=3).spec
    store.tell_failure("ab12", "s", "no room", 'Traceback\n  File "f.py"\nnone', run)
    store.put("ab34", kept_function(measures={}, failure="the loss is no number"))
    _, lines = told(capsys, "--store", tmp_path)
    assert [line.split("  ")[2:] for line in lines[:-1]] == [
        [run.recipe.task, "a", "seed 0", "the loss is no number"],
        [run.recipe.task, "a", "seed 3", "failed: no room"],
    ]
    status, shown = told(capsys, "ab12", "--store", tmp_path)
    assert (status, shown[1:]) == (0, ["Traceback", '  File "f.py"', "none"])
    _, shown = told(capsys, "ab3", "--store", tmp_path)
    assert json.loads("\n".join(shown))["failure"] == "the loss is no number"
    assert told(capsys, "cd", "--store", tmp_path)[0] == 4


def test_what_is_in_a_store_moves_no_terminal(tmp_path, capsys):
    """Texts of records, of failures, and names of files; told() looks at each character."""
    root = tmp_path / HOSTILE
    store = Store(root)
    store.put("ab12", kept_function(failure=HOSTILE + "\n", provenance={"finished": HOSTILE}))
    store.tell_failure("cd34", "s", HOSTILE, HOSTILE, kept_function(code=HOSTILE).spec)
    (root / "runs/ab" / os.fsdecode(b"ab\xff.json")).write_text("{}")
    (root / f"runs/ab/ab{HOSTILE}.json").write_text("{}")
    for arguments in ((), ("ab",), ("cd34",)):
        status, lines = told(capsys, *arguments, "--store", root)
        assert (status, "\\u001b[2J" in "".join(lines)) == (0, True)
    assert told(capsys, HOSTILE, "--store", root)[0] == 4


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"record": 5}', "[" * 99_999, "null", "arguments", "directory"]
)
def test_a_damaged_record_is_a_line(tmp_path, content, capsys):
    """JSONDecodeError, TypeError, KeyError, RecursionError and IsADirectoryError escaped."""
    store = Store(tmp_path)
    path = store.path("ab12")
    if content == "arguments":
        run = make_function_run()
        odd = run.changed(arguments="{")
        store.put("ab12", dataclasses.replace(kept_function(), spec=odd))
    elif content == "directory":
        path.mkdir(parents=True)
    else:
        path.parent.mkdir()
        path.write_text(content)
    (tmp_path / "failures/cd34.json").write_text(content)
    before = sorted(tmp_path.rglob("*"))
    for arguments in ((), ("ab",)):
        status, lines = told(capsys, *arguments, "--store", tmp_path)
        assert status == 0
        assert lines[0].startswith("ab12  run record ")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("days", ["nan", "inf", "1e400", "x"])
def test_days_that_are_none_are_refused(tmp_path, days, capsys):
    Store(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main(["runs", "--store", str(tmp_path), "--prune", days])
    assert ended.value.code == 4


def test_pruning_tells_what_it_cant_remove(tmp_path, capsys):
    """A directory in a record's place ended it with a traceback."""
    store = Store(tmp_path)
    store.put("ab12", kept_function())
    store.path("ab34").mkdir()
    store.tell_failure("cd34", "s", "no", "", kept_function().spec)
    assert told(capsys, "--store", tmp_path, "--prune", "-1")[0] == 4
    assert told(capsys, "--store", tmp_path, "--prune", "1e300")[1] == [
        "0 runs removed, 1 failures and damaged records; 2 left"
    ]
    os.utime(store.path("ab12"), (1, 1))
    os.utime(store.path("ab34"), (1, 1))
    status, lines = told(capsys, "--store", tmp_path, "--prune", "1")
    assert status == 7
    assert "1 files can't be removed: " in lines[0]
    assert not store.path("ab12").exists()


def test_what_is_no_folder_and_no_paper_is_told(project):
    told = embinit_command(project, "run", "kim2042")
    assert told.returncode == 4
    assert "kim2042 is no folder of claims here, and no paper: known are " in (told.stderr)


def test_the_command_for_claims_that_lie_elsewhere_is_told(tmp_path, monkeypatch, capsys):
    """From a folder of the project, and from the one that it lies in."""
    claims = tmp_path / "my project/claims"
    (claims / "deep").mkdir(parents=True)
    (claims / "test_mine.py").touch()
    for here, there in {
        tmp_path: "'my project/claims'", claims: "../claims", claims / "deep": "../../claims"
    }.items():  # fmt: skip
        monkeypatch.chdir(here)
        assert cli.main(["list"]) == Status.UNUSABLE
        assert capsys.readouterr().err == (
            f"embinit: no folder claims is here; run embinit list {there}\n"
        )


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
    assert "{list,run,register,summary,new,judge,runs," in capsys.readouterr().out


@pytest.fixture
def run_in(tmp_path, monkeypatch):
    """Runs the claims of a text by ``embinit run`` in a child of this process."""
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "claims").mkdir()

    def run(text, *arguments):
        (tmp_path / "claims/test_mine.py").write_text(text)
        return cli.main(["run", *QUIET, *arguments])

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
    told = capfd.readouterr().out
    assert "unfinished: it was interrupted from the keyboard" in told
    assert re.search(r"^\d+ of 12 runs are stored; run again$", told, re.M)
    document = json.loads((tmp_path / "reports/latest/verdicts.json").read_bytes())
    assert "unfinished" in document["session"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_to_the_command_alone_is_passed_on(run_in, monkeypatch, name):
    """Else what trains would go on after it, or until it is signalled too."""
    monkeypatch.setattr(commands, "INTERRUPT_SECONDS", 0)
    text = "import os, signal, time\n\ndef test_it():\n    os.kill(os.getppid(), signal.{})\n"
    # What runs in the background of a shell ignores interrupts, and so do its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert run_in(text.format(name) + "    time.sleep(60)\n") == Status.INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("text", ["{}", "def test_it():\n    {}"], ids=["import", "test"])
def test_a_session_that_never_ends_is_no_success(run_in, capfd, text):
    """Any code of a claim may end the process, and with status 0."""
    assert run_in("import os\n\n" + text.format("os._exit(0)\n")) == Status.BROKEN
    [told] = capfd.readouterr().err.splitlines()
    assert told.startswith("embinit: pytest ended with status 0 before its session came to its end")


def test_a_machine_without_a_temporary_folder_is_told_in_a_line(run_in, monkeypatch, capfd):
    with monkeypatch.context() as here:
        here.setattr(tempfile, "tempdir", "nowhere")
        assert run_in("") == Status.UNWRITABLE
    assert capfd.readouterr().err.startswith("embinit: no temporary folder can be made: ")


def test_what_pytest_tells_without_a_session_is_a_success(run_in):
    assert run_in("", "--markers") == Status.IN_ORDER


def test_every_option_of_claims_goes_with_and_without_its_prefix(monkeypatch):
    """Whatever the project's configuration says; what is behind -- is pytest's as it stands."""
    given = []
    monkeypatch.setattr(commands, "run_pytest", lambda arguments: given.append(arguments) or 0)
    values = {"engine": "ray", "gpu-share": "0.5", "budget": "6.0"}
    for name, settings in OPTIONS.items():
        if name in commands.COMMANDS_OWN:
            continue
        value = "" if settings.get("action") == "store_true" else f"={values.get(name, '3')}"
        for command in ("run", "list", "register"):
            short = "embinit-" if (command, name) == ("register", "seeds") else ""
            assert cli.main([command, f"--{short}{name}{value}", str(Path(__file__))]) == 0
            assert cli.main([command, f"--embinit-{name}{value}", "--", f"--{name}"]) == 0
            assert f"--embinit-{name}{value}" in given[-2]
            assert f"--embinit-{name}{value}" in given[-1]
            assert given[-1][-1] == f"--{name}"


@pytest.mark.parametrize("option", ["--seeds=abc", "--engine=rya", "--budget=soon"])
def test_a_value_that_cannot_be_used_is_told_by_its_option(capsys, option):
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", option])
    assert ended.value.code == Status.UNUSABLE
    assert f"argument {option.partition('=')[0]}" in capsys.readouterr().err


def test_pytest_names_the_whole_option(pytester):
    """In most projects the short names are not there, and the documents use them."""
    done = pytester.runpytest_inprocess("--seeds=10", "-p", "no:cacheprovider")
    assert done.ret == Status.UNUSABLE
    done.stderr.fnmatch_lines(["*unrecognized arguments: --seeds=10*", "*--embinit-seeds*"])


def test_a_new_project_is_installed_from_where_embinit_was(tmp_path, monkeypatch):
    """No index has embinit unless it was installed from one, which PEP 610's file tells."""

    git = {"url": "https://a.org/b", "vcs_info": {"vcs": "git", "commit_id": "c0de"}}
    known = {
        None: f"embinit>={embinit.__version__}",
        json.dumps(git): "embinit @ git+https://a.org/b@c0de",
        '{"url": "file:///mine.whl", "archive_info": {}}': f"embinit @ {commands.PLACEHOLDER}",
    }
    for number, (told, line) in enumerate(known.items()):
        installed = SimpleNamespace(read_text={"direct_url.json": told}.get)
        monkeypatch.setattr(commands.metadata, "distribution", lambda name, it=installed: it)
        assert cli.main(["new", str(tmp_path / str(number))]) == 0
        assert (tmp_path / str(number) / "requirements.txt").read_text().splitlines()[-1] == line
    workflow = (tmp_path / "0/.github/workflows/claims.yml").read_text()
    assert "pip install -r requirements.txt" in workflow
    assert "pip install embinit" not in workflow + (tmp_path / "0/README.md").read_text()


@pytest.mark.parametrize(
    "name", ["n" * 300, "dangling", "dangling/in", "file", "file/in", "esc\x1b[31m", "line\nline",
             "linked", "outward"],
)  # fmt: skip
def test_a_folder_that_cannot_be_made_is_told_in_a_line(tmp_path, monkeypatch, capsys, name):
    """And nothing is written, least of all where a link leads."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    for folder, inner, target in (
        ("linked", "README.md", tmp_path / "nowhere"),
        ("outward", "claims", tmp_path / "outside"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / inner).symlink_to(target)
    (tmp_path / "outside").mkdir()
    before = sorted(tmp_path.rglob("*"))
    assert cli.main(["new", name]) == Status.UNUSABLE
    told = capsys.readouterr()
    assert len(told.err.splitlines()) == 1
    assert "\x1b" not in told.err
    assert told.out == ""
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture
def other_commands(monkeypatch):
    """Lets a test say which commands other packages name as entry points."""

    def of(**points):
        made = [EntryPoint(name, value, "embinit.commands") for name, value in points.items()]
        monkeypatch.setattr(registry.metadata, "entry_points", lambda group: made)
        set_apart(monkeypatch, cli.COMMANDS, empty=True)
        registry._points.cache_clear()
        registry._every_point.cache_clear()

    yield of
    registry._points.cache_clear()
    registry._every_point.cache_clear()


def test_another_packages_command_is_loaded_where_it_is_asked_for(
    other_commands, capsys, tmp_path, monkeypatch
):
    """embinit's own commands load none, or each would cost what the slowest package costs."""
    (tmp_path / "says.py").write_text(
        "def add(commands):\n"
        "    commands.add_parser('say').set_defaults(run=lambda parsed: print('said') or 0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    other_commands(say="says:add", broken="nowhere.at.all:add")
    Store(tmp_path / "store")
    assert cli.main(["verify", str(tmp_path / "store")]) == Status.IN_ORDER
    assert "says" not in sys.modules
    assert cli.main(["say"]) == Status.IN_ORDER
    assert capsys.readouterr().out.endswith("said\n")
    assert cli.main(["broken"]) == Status.UNUSABLE
    [line] = capsys.readouterr().err.splitlines()
    assert "command 'broken' is nowhere.at.all:add" in line
    assert "update that package, or uninstall it" in line
