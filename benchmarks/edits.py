"""Makes some 780 edits of a user's suite; no claim that became false may stay green.

    python benchmarks/edits.py --jobs 2 --json benchmarks/results/edits.json

`edits.toml` has the forms of which edits are made. Each edit has a test of its own, which is
SUPPORTED in a first session. Then a constant, a helper, a file, a variable, a fixture or the test
changes, and a second session judges again. Edits share a project, 24 at a time, each in a folder of
its own; those of a baseline have a project each. An edit makes the claim false, but for harmless
ones. What came of it is

- *right*: trained again, with the new verdict; after a harmless edit, nothing was trained
- *reported*: the test fails with an error instead of a verdict, or the session by its baseline
- *named*: green with the old numbers, but a line names the function whose input isn't followed
- *stale*: green with the old numbers; *wrong green*: green with others, or with status 0
- *needless*: trained again after a harmless edit; *false alarm*: fails after one
- *not judged*: the first session didn't support the claim

The status is 1 where an edit is stale, a wrong green, a false alarm or not judged.
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import cycle, product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from records import written

FORMS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
TEMPLATES = FORMS["templates"]
FAULTS = {"stale", "wrong green", "false alarm", "not judged"}
POOL = 24
PLACES = ["function", "import", "cache"]
REFERENCE = "reference/verdicts.json"
LIBRARIES = "user/lib/python{}.{}/site-packages".format(*sys.version_info)

Files = dict[str, str | None]
"""Texts of files, or after ``>>>`` code that writes one; None is no file. What begins with SITE/
is in a folder of libraries, and with HOME/ in the user's home.
"""


@dataclass(frozen=True)
class Edit:
    """An edit: a folder's files, and what it writes where it doesn't change ``VALUE`` alone.

    ``variables`` are those of both sessions, which it then has for itself.
    """

    kind: str
    name: str
    files: Files
    after: Files | None = None
    harmless: bool = False
    variables: dict[str, list[str]] = field(default_factory=dict)


def claim_file(style: str, top: str, body: str, relation: str = ">") -> str:
    """A test file: its claim is that 5.0 is better than 0.0."""
    left, right = ("5.0", "0.0") if ">" in relation else ("0.0", "5.0")
    decorator = TEMPLATES["decorator"] if style == "training" else ""
    function = TEMPLATES["function"].format(top=top, body=body, decorator=decorator)
    return function + TEMPLATES[style].format(left=left, right=right, relation=relation)


def code_edits() -> Iterator[Edit]:
    """Constants and helpers, in the test file, in a module, and in a package."""
    places = ["test", "lib", "pkg"]
    forms = [("constants", *form) for form in product(FORMS["constants"].items(), places)]
    lookups = {name: ("K = VALUE", found) for name, found in FORMS["lookups"].items()}
    forms += [("constants", *form) for form in product(lookups.items(), ["lib"])]
    forms += [("helpers", *form) for form in product(FORMS["helpers"].items(), places[1:])]
    styles = cycle(["seeds", "training"])
    for kind, (name, (definition, expression)), place in forms:
        package: Files = {
            "pkgNUM/__init__.py": "from .inner import *",
            "pkgNUM/inner.py": definition,
        }
        top, expression, files = {
            "test": (definition, expression.replace("M.", ""), {}),
            "lib": ("import libNUM as M", expression, {"libNUM.py": definition}),
            "pkg": ("import pkgNUM.inner as M", expression, package),
        }[place]
        test = claim_file(next(styles), top, f"v = {expression}")
        yield Edit(kind, f"{name}, in {place}", {"test_NUM.py": test, **files})


def placed(place: str, top: str, read: str) -> tuple[str, str]:
    """Where something is read: what stands at the top, and what in the function."""
    cached = f"@functools.cache\ndef load():\n    {read}\n    return v"
    at_import = read.replace("\n    ", "\n")
    return {
        "function": (top, read),
        "import": (f"{top}\n{at_import}", "pass"),
        "cache": (f"{top}\n{cached}", "v = load()"),
    }[place]


def input_edits() -> Iterator[Edit]:
    """Files and variables, read in the function, at import, and by a cached loader."""
    styles = cycle(["seeds", "training"])
    needed = {name: (form[0] or "import os").split()[1] for name, form in FORMS["files"].items()}
    there = [name for name, module in needed.items() if find_spec(module.partition(".")[0])]
    forms = [("files", name, *FORMS["files"][name]) for name in there]
    forms += [("environment", name, *form, None) for name, form in FORMS["environment"].items()]
    for (kind, name, top, read, data), place in product(forms, PLACES):
        top, body = placed(place, top, read.replace("DATA", 'HERE / "dataNUM"'))
        files = {"test_NUM.py": claim_file(next(styles), top, body), "dataNUM": data}
        yield Edit(kind, f"{name}, in the {place}", files)


def kind_edits() -> Iterator[Edit]:
    """Edits of kinds that raise no event, and state that a run leaves to the next."""
    styles = cycle(["seeds", "training"])
    for kind, forms in FORMS["kinds"].items():
        there = {n: form for n, form in forms.items() if find_spec(form.get("needs", "os"))}
        for (name, form), place in product(there.items(), PLACES):
            top, body = placed(place, form.get("top", ""), form["read"])
            files = {"test_NUM.py": claim_file(next(styles), top, body), **form.get("files", {})}
            yield Edit(kind, f"{name}, in the {place}", files)
    for name, (body, variable, *values) in FORMS["python"].items():
        files = {"test_NUM.py": claim_file(next(styles), "", body)}
        yield Edit("python", name, files, variables={variable: values})
    for (name, (top, body)), relation in product(FORMS["between"].items(), [">", ">=", "<=", "<"]):
        before = {"test_NUM.py": claim_file(next(styles), top, "v = 1.0", relation)}
        after = {"test_NUM.py": claim_file(next(styles), top, body, relation)}
        yield Edit("state between runs", f"{name}, {relation}", before, after)


def other_edits() -> Iterator[Edit]:
    """Fixtures and their like that set a value, arms that are equal, and what changes nothing."""
    styles = cycle(["seeds", "training"])
    targets = [*FORMS["targets"].items()]
    states = [*product(FORMS["state"].items(), targets[:2])]
    states += [(("autouse fixture", FORMS["state"]["autouse fixture"]), one) for one in targets[2:]]
    for state, target in states:
        (name, (conftest, head)), (what, (top, body, statement)) = state, target
        style = "class" if name == "class fixture" else next(styles)
        files: Files = {
            "test_NUM.py": claim_file(style, f"{top}\n{head}", body),
            "conftest.py": f"import os\n{top}\n{conftest}\n",
            **FORMS["module"],
        }
        after = {n: (text or "").replace("SET\n", f"{statement}\n") for n, text in files.items()}
        # A conftest.py that sets what training reads is refused, whichever value it sets.
        before = after | ({"conftest.py": ""} if "conftest" in name else {})
        yield Edit("state", f"{name}, sets a {what}", before, after)
    for name, (top, body, conftest) in FORMS["conftest"].items():
        test = claim_file(next(styles), top, body)
        before = {"test_NUM.py": test, "conftest.py": "", **FORMS["module"]}
        yield Edit("conftest", name, before, before | {"conftest.py": conftest})
    for (name, bug), relation in product(FORMS["arms"].items(), [">", ">=", "<=", "<"]):
        style = next(styles)
        bodies = ("v = 1.0", f"v = 1.0\n    {bug}")
        before, after = ({"test_NUM.py": claim_file(style, "", b, relation)} for b in bodies)
        yield Edit("arms", f"{name}, {relation}", before, after)
    read = "READ = float((HERE / 'dataNUM').read_text()) * float(os.environ['EDIT_NUM'])"
    body = "v = READ * libNUM.K * pkgNUM.K"
    ordinary = claim_file("seeds", f"import libNUM, pkgNUM\n{read}", body)
    project: Files = {"test_NUM.py": ordinary, **FORMS["project"]}
    for name, form in FORMS["harmless"].items():
        yield Edit("harmless", name, project, changed(project, *form), harmless=True)


def changed(files: Files, name: str, old: str | None = None, new: str | None = None) -> Files:
    """A file with another text, under another name (``old``), or none."""
    if new is None:
        return {name: None} if old is None else {name: None, old: files[name]}
    return {name: (files.get(name) or "").replace(old or "", new, 1 if old else -1)}


def baseline_edits() -> Iterator[Edit]:
    """Findings that are lost or restated after they were blessed, and those that are kept."""
    for kind in ("baseline", "kept"):
        for name, form in FORMS[kind].items():
            after = changed(FORMS["blessed"], *form)
            yield Edit("baseline", name, FORMS["blessed"], after, harmless=kind == "kept")


class Answer(http.server.BaseHTTPRequestHandler):
    """Answers an edit's number with its value."""

    values: dict[str, float] = {}  # noqa: RUF012

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(self.values[self.path[1:]]).encode())

    def log_message(self, *_: object) -> None:
        pass


@dataclass(frozen=True)
class Session:
    """A session: its status and output, the tests that failed, and the claims by their tests."""

    status: int
    output: str
    failed: str
    claims: dict[str, Any]

    def verdict(self, test: str) -> str:
        return self.claims[test]["verdict"] if test in self.claims else ""

    def scores(self, test: str) -> list[list[float]]:
        comparisons = self.claims[test]["comparisons"] if test in self.claims else ()
        return [one[side] for one in comparisons for side in ("left_values", "right_values")]


def write(folder: Path, files: Files, number: str = "", value: float = 1.0, port: int = 0) -> None:
    """Writes the files of an edit's folder."""
    replaced = {"VALUE": str(value), "NUM": number, "PORT": str(port)}
    for name, content in files.items():
        path = folder / name.replace("NUM", number)
        if name.startswith(("SITE/", "HOME/")):
            places = {"SITE": LIBRARIES, "HOME": "home"}
            path = folder.parent / places[name[:4]] / name[5:].replace("NUM", number)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for old, new in replaced.items():
            content = content and content.replace(old, new)
        if content is not None and content.startswith(">>> "):
            exec(content.removeprefix(">>> "), {"path": path, "install": install})
        elif content is not None:
            path.write_text(content)


def install(path: Path, version: str, text: str, entry_points: str = "") -> None:
    """Installs a library of one module, in place of an older version."""
    for old in path.parent.glob(f"{path.stem}-*.dist-info"):
        shutil.rmtree(old)
    about = path.parent / f"{path.stem}-{version}.dist-info"
    about.mkdir(parents=True)
    path.write_text(text)
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {path.stem}\nVersion: {version}\n"
    )
    (about / "RECORD").write_text(f"{path.name},,\n")
    (about / "top_level.txt").write_text(f"{path.stem}\n")
    if entry_points:
        (about / "entry_points.txt").write_text(entry_points)


def called(folder: Path, variables: dict[str, str], *command: str) -> tuple[int, str]:
    """Runs a module of this Python in a folder; its status and output."""
    kept = {n: v for n, v in os.environ.items() if n != "CI" and not n.startswith("EMBINIT")}
    kept |= {"OMP_NUM_THREADS": "1"} | variables
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    arguments = [sys.executable, "-m", *command]
    done = subprocess.run(arguments, cwd=folder, env=kept, text=True, timeout=900, **pipes)
    return done.returncode, done.stdout


def session(folder: Path, variables: dict[str, str], *arguments: str) -> Session:
    """Runs pytest on a project."""
    shutil.rmtree(folder / "reports", ignore_errors=True)
    (folder / "junit.xml").unlink(missing_ok=True)
    options = ("-q", "-p", "no:cacheprovider", "--junitxml=junit.xml", *arguments)
    status, output = called(folder, variables, "pytest", *options)
    known = (folder / "junit.xml").exists()
    cases = ElementTree.parse(folder / "junit.xml").iter("testcase") if known else ()
    bad = [c.attrib for c in cases if {child.tag for child in c} & {"failure", "error"}]
    failed = " ".join(f"{case['classname']}.{case['name']}" for case in bad)
    claims = {}
    for path in (folder / "reports").rglob("verdicts.json"):
        for claim in json.loads(path.read_text())["claims"]:
            claims[claim["nodeid"].rpartition("::")[2].partition("[")[0]] = claim
    return Session(status, output, failed, claims)


def outcome(edit: Edit, number: str, first: Session, second: Session, trained: bool) -> str:
    """What came of an edit."""
    test = f"test_{number}"
    if first.verdict(test) != "SUPPORTED" or number in first.failed:
        return "not judged"
    if edit.harmless:
        if second.verdict(test) != "SUPPORTED" or number in second.failed:
            return "false alarm"
        return "needless" if trained else "right"
    if number in second.failed:
        return "right" if second.verdict(test) in ("REFUTED", "NO EFFECT") else "reported"
    if first.scores(test) != second.scores(test):
        return "wrong green"
    return "named" if f"train{number} " in first.output + second.output else "stale"


def records(folder: Path, number: str) -> dict[str, int]:
    """When each record of an edit's function was written."""
    store = (folder / ".embinit/store").rglob("*.json")
    return {p.name: p.stat().st_mtime_ns for p in store if f"train{number}" in p.read_text()}


def pooled(edits: Sequence[tuple[str, Edit]], port: int, keep: Path) -> list[str]:
    """The outcomes of edits that share a project."""
    folder = Path(tempfile.mkdtemp(prefix="edits-", dir=keep))
    (folder / "pytest.ini").write_text("[pytest]\n")
    sessions, written = [], []
    for turn, value in enumerate((1.0, -1.0)):
        variables = {"PYTHONUSERBASE": str(folder / "user"), "HOME": str(folder / "home")}
        paths = os.pathsep.join([str(folder / LIBRARIES), os.environ.get("PYTHONPATH", ".")])
        variables |= {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        for number, edit in edits:
            variables |= {name: values[turn] for name, values in edit.variables.items()}
            mine = 1.0 if edit.harmless else value
            files = edit.files if value > 0 or edit.after is None else edit.after
            write(folder / number, files, number, mine, port)
            Answer.values[number] = mine
            # What a fixture sets is set so from the start.
            variables |= {f"EDIT_{number}": str(mine), f"SET{number}": "1.0"}
        sessions.append(session(folder, variables, "-k", "not control", "--ignore=user"))
        (folder / f"output{value}.txt").write_text(sessions[-1].output)
        written.append([records(folder, number) for number, _ in edits])
    trained = [not before.items() <= after.items() for before, after in zip(*written, strict=True)]
    return [
        outcome(edit, number, *sessions, again)
        for (number, edit), again in zip(edits, trained, strict=True)
    ]


def bless(keep: Path) -> Path:
    """A project with a baseline, with which its edits begin."""
    folder = keep / "blessed"
    write(folder, {**FORMS["blessed"], "pytest.ini": "[pytest]\n"})
    first = session(folder, {})
    status, output = called(folder, {}, "embinit", "bless", "--to", "reference")
    if status or first.status:
        raise SystemExit(f"the baseline's session: {first.output}{output}")
    return folder


def compared(edit: Edit, blessed: Path, keep: Path) -> str:
    """The outcome of an edit of a project that has a baseline, by a session and by a check."""
    folder = Path(tempfile.mkdtemp(prefix="edits-", dir=keep))
    shutil.copytree(blessed, folder, dirs_exist_ok=True)
    write(folder, edit.after or {})
    second = session(folder, {}, f"--embinit-baseline={REFERENCE}")
    check = ("check", "reports/latest/verdicts.json", "--baseline", REFERENCE)
    status, output = called(folder, {}, "embinit", *check)
    (folder / "output.txt").write_text(f"{edit.name}\n{second.output}\n{status}: {output}")
    if edit.harmless:
        return "false alarm" if second.status or status else "right"
    return "reported" if second.status and status else "wrong green"


def judged(edits: Sequence[Edit], jobs: int, keep: Path) -> list[str]:
    """The outcome of each edit."""
    numbered = [(f"e{i:03}", edit) for i, edit in enumerate(edits)]
    shared = [one for one in numbered if one[1].kind not in ("baseline", "python")]
    pools = [shared[i : i + POOL] for i in range(0, len(shared), POOL)]
    pools += [[one] for one in numbered if one[1].kind == "python"]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with ThreadPoolExecutor(jobs) as executor:
        together = [executor.submit(pooled, pool, server.server_port, keep) for pool in pools]
        alone = [edit for _, edit in numbered if edit.kind == "baseline"]
        blessed = bless(keep) if alone else keep
        found = list(executor.map(lambda edit: compared(edit, blessed, keep), alone))
        results = [result for pool in together for result in pool.result()]
    server.shutdown()
    server.server_close()
    order = [edit for pool in pools for _, edit in pool] + alone
    by_edit = dict(zip(map(id, order), results + found, strict=True))
    return [by_edit[id(edit)] for edit in edits]


def all_edits() -> list[Edit]:
    """All edits, those of a baseline last."""
    return [*code_edits(), *input_edits(), *other_edits(), *kind_edits(), *baseline_edits()]


def main() -> int:
    """Makes the edits, and prints what went wrong and what came of each kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="edits whose kind and name match this pattern")
    parser.add_argument("--jobs", type=int, default=1, help="sessions at a time")
    parser.add_argument("--json", type=Path, help="a file for the counts")
    parser.add_argument("--keep", type=Path, help="a folder in which the projects stay")
    given = parser.parse_args()
    edits = [edit for edit in all_edits() if re.search(given.only, f"{edit.kind}: {edit.name}")]
    start = time.time()
    with tempfile.TemporaryDirectory() as folder:
        keep = given.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        outcomes = judged(edits, given.jobs, keep)
    kinds: dict[str, Counter[str]] = {}
    for i, (edit, found) in enumerate(zip(edits, outcomes, strict=True)):
        kinds.setdefault(edit.kind, Counter())[found] += 1
        if found in FAULTS or found == "named":
            print(f"{found}: e{i:03} {edit.kind}, {edit.name}")
    seconds = round(time.time() - start)
    print(written(given.json, {"edits": len(edits), "seconds": seconds, "kinds": kinds}))
    return int(any(found in FAULTS for found in outcomes))


if __name__ == "__main__":
    sys.exit(main())
