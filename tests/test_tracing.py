"""A record holds while what made it is as it was, and what can't be followed is said."""

import base64
import hashlib
import importlib
import os
import sys
import time
from dataclasses import replace

import pytest

from builders import make_experiment, python, set_apart
from embinit.code import code_of, digest_of_source
from embinit.distributions import content_of
from embinit.lab.data.tasks import TASKS
from embinit.libraries import UNSEEN
from embinit.runs.kinds import own_code
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit.runs.trainers import inputs
from embinit.runs.trainers.processes import Surroundings, Trainers
from embinit.runs.trainings import TRAININGS, plain_training, training
from embinit.specs import RunSpec
from test_benchmarks import load

EDITS = load("edits")
HERE = "import os, pathlib\nH = pathlib.Path(__file__).parent\n"


class Project:
    """A folder whose module ``mine`` or ``test_1`` is trained in sessions over one store."""

    def __init__(self, root, monkeypatch):
        self.root = root
        self.store = Store(root / ".embinit")
        self.environ = {**os.environ, "HOME": str(root.parent / "home")}
        self._sessions = []
        monkeypatch.syspath_prepend(root)
        monkeypatch.chdir(root)

    def write(self, **files):
        names = (name.replace("__", "/").replace("_dot_", ".") for name in files)
        EDITS.write(self.root, dict(zip(names, files.values(), strict=True)))

    def edited(self, edit, value, **given):
        """The run of an edit's function, whose files have a value."""
        self.environ["EDIT_1"] = str(value)
        EDITS.write(self.root, edit.files, "1", value)
        return self._run("test_1", "train1", {"good": 1.0}, **given)

    def module(self, top, body, **given):
        """The run of a function with that body, in a module that begins so."""
        lines = "\n    ".join(body.splitlines())
        self.write(mine_dot_py=f"{HERE}{top}\n\ndef train(seed):\n    {lines}\n    return v\n")
        return self._run("mine", "train", {}, **given)

    def _run(self, module, function, arguments, **given):
        names = {"__name__": module}  # this process loads nothing of what the trainer does
        exec(compile(f"def {function}(seed): ...", self.root / f"{module}.py", "exec"), names)
        name = f"{module}:{function}"
        make = training(name=name, **given) if given else plain_training
        return RunSpec(make(names[function]).spec(arguments), 0)

    @property
    def session(self):
        importlib.invalidate_caches()  # a new process would find modules anew
        session = Session(self.store, None, "cpu")
        path = [str(self.root), *sys.path]
        session.trainers = Trainers(replace(Surroundings(), environ=self.environ, path=path))
        self._sessions.append(session)
        return session

    def train(self, run):
        """The result of a run in a session of its own; None where it failed."""
        session = self.session
        session.ensure([run])
        self.failure = session.failure(run)
        return session.result(run)

    def holds(self, run):
        return self.session.is_stored(run)

    def close(self):
        for session in self._sessions:
            session.trainers.end()


@pytest.fixture
def project(tmp_path, monkeypatch):
    set_apart(monkeypatch, TRAININGS)
    made = Project(tmp_path / "project", monkeypatch)
    yield made
    made.close()


def untraced(result):
    return result.provenance["inputs"]["untraced"]


USUAL = {
    "open", "runpy", "pandas", "torch.from_file", "os.listdir", "symlink read", "exists", "size",
    "symlink pointed elsewhere", "file deleted", "os.getenv", "getmtime",
    "st_mtime", "os.access, executable", "st_mode", "entry's size", "entry is a folder",
    "find_spec, own", "namespace package", "symlink", "link", "getsource", "docstring by pydoc",
    "class by its name", "own decorator, fixture", "variable", "module beside its kind",
    "line's number",
}  # fmt: skip
"""Forms of reading for each part of a record, none of which may be untraced."""

APART = {"urllib", "by /proc/self/cwd", "a name that is no text"}
"""Forms that need a server, a certain folder, or leave a file open."""

TIMED = {
    "gzip", "zipfile", "file made if missing", "getmtime", "st_mtime", "checkpoint resumed",
    "folder made, file dropped in", "template of jinja2", "bytecode alone",
}  # fmt: skip
"""Forms whose files have a time that counts, or can't be put back by writing them again."""


def reading():
    """The edits of what ``benchmarks/edits.py`` reads in a function, but from other libraries."""
    for edit in (*EDITS.input_edits(), *EDITS.kind_edits()):
        name, _, place = edit.name.rpartition(", in the ")
        if place == "function" and name not in APART and "SITE/" not in "".join(edit.files):
            yield pytest.param(edit, id=f"{edit.kind}: {name}")


@pytest.mark.parametrize("edit", [*reading()])
def test_a_record_holds_while_what_was_read_is_as_it_was(project, edit):
    """Whatever the way of reading; what was made before holds again when all is put back."""
    run = project.edited(edit, 1.0)
    before = project.train(run)
    assert before is not None, project.failure
    followed = not untraced(before)
    assert followed or edit.name.rpartition(", in the ")[0] not in USUAL
    assert project.holds(run) is followed
    project.edited(edit, -1.0)
    assert not project.holds(run)
    assert project.train(run).measures != before.measures
    project.edited(edit, 1.0)
    if edit.name.rpartition(", in the ")[0] not in TIMED:
        assert project.holds(run) is followed


def test_large_libraries_lose_nothing(project):
    """They look at the machine and read much while they are loaded; only the project's count."""
    body = "transformers.PreTrainedModel\nfor n in range(2):\n    torch.save(n, 'm')\n"
    run = project.module("import torch, transformers", f"{body}    torch.load('m')\nv = 1.0")
    made = project.train(run).provenance["inputs"]
    assert not made["untraced"]
    assert [name for name, place in made["names"].items() if place.endswith(".py")] == ["mine"]
    assert project.holds(run)


def test_a_time_counts_only_where_it_is_asked_for(project):
    """A fresh clone changes all times."""
    body = "v = float(os.path.exists('d.txt')) + os.path.getsize('d.txt')"
    project.write(d_dot_txt="1")
    project.train(run := project.module("import io", body))
    os.utime("d.txt", (5, 5))
    assert project.holds(run)


def test_python_counts(project, monkeypatch):
    """Its version, flags and encoding change numbers, and so do a time zone and a hash seed."""
    run = project.module("", "v = 1.0")
    project.train(run)
    assert project.holds(run)
    for name in ("TZ", "PYTHONHASHSEED"):
        project.environ[name] = "3"
        assert not project.holds(run)
        del project.environ[name]
    monkeypatch.setattr(inputs, "interpreter", lambda: "CPython 3.99")
    assert not project.holds(run)


def test_a_function_that_asks_where_it_runs_is_made_again_elsewhere(project, monkeypatch, tmp_path):
    """One that doesn't holds wherever pytest was called."""
    for body, holds in (("v = float(len(os.getcwd()))", False), ("v = 1.0", True)):
        monkeypatch.chdir(project.root)
        run = project.module("", body)
        project.train(run)
        assert project.holds(run)
        (tmp_path / "elsewhere").mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert project.holds(run) is holds


def test_a_declared_folder_counts_with_linked_and_empty_folders(project):
    """It is the remedy for what can't be followed, so that it must not miss anything itself."""
    project.write(data__a_dot_txt="1", linked__b_dot_txt="1")
    (project.root / "data/link").symlink_to("../linked")
    (project.root / "linked/loop").symlink_to("../data")
    run = project.module("", "v = 1.0", inputs=["data"])
    project.train(run)
    assert project.holds(run)
    project.write(linked__b_dot_txt="2")
    assert not project.holds(run)
    project.write(linked__b_dot_txt="1")
    assert project.holds(run)
    (project.root / "data/empty").mkdir()
    assert not project.holds(run)


LOSES = {  # what can't be followed of a form of benchmarks/edits.toml, or of a top and a body
    "sqlite3": "opens a database",
    "SharedMemory": "uses shared memory",
    "os.open in a folder": "reads by a folder's descriptor",
    "subprocess.run": "starts a program (cat)",
    "items": "reads the whole environment",
    "extended attribute": "reads a file's extended attributes",
    "ctypes": "calls C's own functions",
    "file replaced atomically": "changes s1, which it reads",
    ("", "os.listdir('.')\nopen(f'{seed}.out', 'w').close()"): "where it writes",
    ("", "if (p := os.fork()) == 0: os._exit(0)\nos.waitpid(p, 0)"): "forks a process",
    ("import multiprocessing as m", "m.get_context('spawn').Process().start()"): "starts processes",
    ("import socket", "socket.socket().connect_ex(('127.0.0.1', 9))"): "uses the network",
    ("", "os.mkfifo('p')\nos.open('p', os.O_RDONLY | os.O_NONBLOCK)"): "reads a pipe",
}


@pytest.mark.parametrize("form", LOSES, ids=str)
def test_what_cannot_be_followed_is_trained_again_unless_it_is_declared(project, form):
    """Its numbers may be old in any later session; the record says why it isn't used."""

    def run(**given):
        if isinstance(form, tuple):
            return project.module(form[0], f"{form[1]}\nv = 1.0", **given)
        [edit] = (one.values[0] for one in reading() if one.id.partition(": ")[2] == form)
        return project.edited(edit, 1.0, **given)

    session = project.session
    session.ensure([made := run()])
    assert LOSES[form] in " ".join(untraced(session.result(made))), session.failure(made)
    assert session.is_stored(made), "it holds in the session that made it"
    assert not project.holds(made)
    (project.root / "p").unlink(missing_ok=True)
    project.write(data__a_dot_txt="1")
    assert not untraced(project.train(made := run(inputs=["data"])))
    if form != "file replaced atomically":
        assert project.holds(made)
        project.write(data__b_dot_txt="1")
        assert not project.holds(made)


def test_of_what_a_run_wrote_itself_only_a_cache_is_an_input(project):
    """A cache that it finds missing, makes and reads, which a later run finds; a folder."""
    body = """
import tempfile
if not os.path.exists('cache'):
    with open('cache', 'w') as f: f.write('7')
os.makedirs('out', exist_ok=True)
with open('out/log', 'w') as f: f.write('9')
with tempfile.TemporaryDirectory() as d, open(d + '/x', 'w+') as f: os.listdir(d)
v = float(open('cache').read())"""
    run = project.module("", body)
    made = project.train(run).provenance["inputs"]
    assert not {"out", "out/log"} & made["files"].keys()
    assert not made["lists"]
    assert project.holds(run)
    (project.root / "cache").write_text("8")
    assert not project.holds(run)


def test_comments_tests_and_claims_train_nothing(project):
    """A new test is no other training, and neither is a claim, a fixture or another file."""
    edits = [edit for edit in EDITS.other_edits() if edit.harmless]
    project.train(run := project.edited(edits[0], 1.0))
    needless = []
    for edit in edits:
        project.edited(edit, 1.0)
        EDITS.write(project.root, edit.after, "1", 1.0)
        needless += [] if project.holds(run) else [edit.name]
    assert needless == ["unused function of a module"]
    source = b"def test_k(): return 1\ndef train(seed): return test_k()\n"
    changed = source.replace(b"return 1", b"return 2")
    assert digest_of_source(source, tests=False) != digest_of_source(changed, tests=False)


def test_variables_count_and_their_values_are_nowhere(project, monkeypatch):
    """Those that the project reads, also by a library's or the standard library's code."""
    project.environ["TOKEN"] = "s3cr3t-value"
    monkeypatch.setenv("TOKEN", "")
    run = project.module("T = os.environ['TOKEN']", "v = float('OTHER' in os.environ)")
    result = project.train(run)
    known = UNSEEN  # which always count
    assert set(result.provenance["inputs"]["variables"]) == {"TOKEN", "OTHER"} | known
    assert project.holds(run)
    project.environ["OTHER"] = "1"
    assert not project.holds(run)
    del project.environ["OTHER"]
    project.environ["TOKEN"] = "another"
    assert not project.holds(run)
    stored = b"".join(p.read_bytes() for p in project.root.rglob("*") if p.is_file())
    assert b"s3cr3t-value" not in stored


def test_a_library_counts_by_its_version(project, monkeypatch):
    run = project.module("import numpy, pytest", "v = float(numpy.ones(1)[0])")
    made = project.train(run).provenance["inputs"]
    assert list(made["versions"]) == ["numpy"]
    assert project.holds(run)
    known = inputs.other_versions_of
    monkeypatch.setattr(inputs, "other_versions_of", lambda names: known(dict.fromkeys(names, "9")))
    assert not project.holds(run)
    run = project.module(
        "import numpy, pytest", "v = float(numpy.ones(1)[0])", versions={"numpy": "any"}
    )
    assert project.holds(run)


def test_a_function_that_reads_many_files_declares_their_folder(project, monkeypatch):
    monkeypatch.setattr(inputs, "MOST_FILES", 3)
    for number in range(4):
        project.write(**{f"many__{number}_dot_txt": "1"})
    body = "v = sum(float(p.read_text()) for p in (H / 'many').iterdir())"
    assert untraced(project.train(project.module("", body))) == ["reads more than 3 files"]
    run = project.module("", body, inputs=["many"])
    assert not project.train(run).provenance["inputs"]["files"]
    assert project.holds(run)
    project.write(many__3_dot_txt="2")
    assert not project.holds(run)


def test_code_that_changes_meanwhile_fails_the_run(project):
    """Its process has the old code, and the next session the new."""
    run = project.module("", "open(H / 'mine.py', 'a').write('X = 1\\n')\nv = 1.0")
    assert project.train(run) is None
    assert project.failure == "mine.py was changed while the session ran: run again"


def test_a_function_that_ends_its_process_costs_one_run(project):
    """The trainer is started anew, and the next run is made."""
    run = project.module(
        "", "import ctypes\nif seed == 0: print('bye', flush=True); ctypes.string_at(0)\nv = 1.0"
    )
    session = project.session
    session.ensure([run, other := replace(run, seed=1)])
    assert session.failure(run) == "mine:train's process ended with -11: bye"
    assert session.result(other).measures == {"score": 1.0}


def test_trainers_end_with_their_process(project):
    """And with them what a function has started."""
    project.module("import subprocess", "v = float(subprocess.Popen(['sleep', '99']).pid)")
    code = f"""
import sys, os
sys.path.insert(0, {str(project.root)!r})
from pathlib import Path
from embinit import Session, Store
from embinit.runs.trainings import plain_training
from embinit.specs import RunSpec
import mine
session = Session(Store(Path({str(project.root / "other")!r})), None, "cpu")
run = RunSpec(plain_training(mine.train).spec({{}}), 0)
session.ensure([run])
print(int(session.result(run).measures["score"]), flush=True)
os.kill(os.getpid(), 9)
"""
    done = python("-c", code)
    end = time.monotonic() + 30
    while os.path.exists(f"/proc/{int(done.stdout)}") and time.monotonic() < end:
        time.sleep(0.1)
    assert not os.path.exists(f"/proc/{int(done.stdout)}")


def test_what_embinit_ships_has_no_code_in_its_keys():
    """``RESULTS_VERSION`` stands for it; so stored runs of its inits and tasks keep their keys."""
    # In a process of its own, since other tests register what isn't embinit's.
    code = """
from embinit.lab.data.tasks import TASKS
from embinit.runs.kinds import KINDS
from embinit.lab.tables import positions
from embinit.lab.tables.inits import INITS

for known in (INITS, TASKS, KINDS, positions.KINDS):
    assert len(list(known)) > 1
    assert {known.code(name) for name in known} == {""}
"""
    assert python("-c", code).returncode == 0
    assert own_code(make_experiment().run("xavier", 0)) == ""


def test_an_own_entrys_module_and_what_it_imports_are_in_a_runs_key(project, monkeypatch):
    """Before, a changed init got the old results from the store, without a word."""
    set_apart(monkeypatch, TASKS)
    run = make_experiment().run("xavier", 0)

    def code(top, helper):
        project.write(helper_dot_py=helper)
        project.module(f"{top}\nimport helper, numpy", "v = 1.0")
        exec(
            "TASKS.replace(name, 1)", {"TASKS": TASKS, "name": run.recipe.task, "__name__": "mine"}
        )
        assert own_code(run) == code_of("mine")
        return own_code(run)

    first = code("K = 1", "L = 1")
    assert first.split()[1] == "numpy"
    assert code("K = 1  # more", "L = 1") == first
    assert len({first, code("K = 2", "L = 1"), code("K = 1", "L = 2")}) == 3


@pytest.mark.parametrize("itself", ["edited-1.0.dist-info/RECORD,,\n", ""])
def test_an_installed_module_counts_by_what_it_has_now(itself, tmp_path, monkeypatch):
    """Whoever edits a library where it is installed changes neither its version nor its RECORD."""
    monkeypatch.syspath_prepend(tmp_path)
    about, module = tmp_path / "edited-1.0.dist-info", tmp_path / "edited.py"
    about.mkdir()
    module.write_text("K = 1")
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"K = 1").digest()).decode().rstrip("=")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: edited\nVersion: 1.0\n")
    (about / "RECORD").write_text(f"edited.py,sha256={digest},5\n{itself}")

    def content(written):
        os.utime(module, (written, written))
        content_of.cache_clear()
        return content_of("edited")

    before = content(0)
    assert content(4e9) == before  # copied with a new time
    module.write_text("K = 2")
    assert content(4e9) != before
    assert content_of("missing-distribution") is None
