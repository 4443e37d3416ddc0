"""What a run of a user's function was made from, with digests, and whether that is still so."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from embinit.code import HEX, digest_of, digest_of_source

PRESENT = "present"
"""In the place of a digest: the file was asked for, and not read."""
LINK = "link to "
"""In the place of a digest, before where the link leads: that was asked for."""
DOCUMENTED = "with docstrings "
"""Before a digest of code that reads its docstrings."""
MOST_FILES = 1000
"""Beyond so many files, those of one folder have one digest."""
FEW = 10
ROOT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini")
IGNORED = frozenset({"__pycache__", ".pytest_cache", ".embinit"})
"""What tools write into any folder."""

Inputs = Mapping[str, Any]


def root_of(home: tuple[str, str]) -> Path:
    """The folder that a module is imported from."""
    name, file = home
    return Path(os.path.abspath(file)).parents[name.count(".")]


def project_of(home: tuple[str, str]) -> Path:
    """The folder of a module's project: its root, or above that the first with a mark."""
    root = root_of(home)
    above = (each for each in (root, *root.parents) if any((each / m).exists() for m in ROOT_MARKS))
    return next(above, root)


def asked_for(found: os.stat_result) -> str:
    """What counts of a file that was asked for, and not read: that it is there, and its size."""
    return f"{PRESENT}, {found.st_size} bytes" if stat.S_ISREG(found.st_mode) else PRESENT


def target_of(path: str) -> str | None:
    """Where a link leads, as a record has it; None for what is no link."""
    try:
        return LINK + os.readlink(path)
    except OSError:
        return None


def signature(found: os.stat_result) -> tuple[int, ...]:
    """What changes with a file's content."""
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev


_DIGESTS: dict[str, tuple[tuple[int, ...], str]] = {}


def digest_of_file(path: str) -> str | None:
    """The digest of a file's content, read once while it stays as it is; None for a missing one."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return "no file"
    known = _DIGESTS.get(path)
    if known is None or known[0] != signature(found):
        with open(path, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()[:HEX]
        known = _DIGESTS[path] = signature(found), digest
    return known[1]


def digest_of_names(folder: str) -> str | None:
    """The digest of a folder's list; None for a missing one."""
    try:
        return digest_of("\n".join(sorted(set(os.listdir(folder)) - IGNORED)))
    except OSError:
        return None


def digest_of_tree(folder: str, deep: bool = False) -> str:
    """The digest of all files in a folder, with ``deep`` in the folders within it too."""
    lines = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - IGNORED) if deep else []
        inner = os.path.relpath(place, folder)
        lines += [f"{inner}/{n} {digest_of_file(os.path.join(place, n))}" for n in sorted(names)]
    return digest_of("\n".join(lines))


def digest_declared(path: str) -> str | None:
    """The digest of a file or a folder that ``training(inputs=…)`` names."""
    return digest_of_tree(path, deep=True) if os.path.isdir(path) else digest_of_file(path)


def recorded(
    traced: Mapping[str, Any], home: tuple[str, str], declared: tuple[Path, ...]
) -> dict[str, Any]:
    """A record's inputs from what a trainer has read; ``variables`` are names until sealed."""
    root, project = str(root_of(home)), str(project_of(home)) + os.sep

    def told(path: str) -> str:
        return os.path.relpath(path, root) if path.startswith(project) else path

    files, folders = dict(traced["files"]), {}
    if len(files) > MOST_FILES:
        within = defaultdict(list)
        for path, digest in files.items():
            if digest is not None and not digest.startswith((PRESENT, LINK)):
                within[os.path.dirname(path)].append(path)
        for folder, paths in within.items():
            if len(paths) > FEW:
                folders[told(folder)] = digest_of_tree(folder)
                files = {path: files[path] for path in files.keys() - set(paths)}
    from embinit.distributions import distributions_of, versions_of  # they take long to load

    libraries = {each for name in traced["imports"] for each in distributions_of(name)}
    versions = versions_of(libraries - {"pytest", "embinit", "hypothesis"})
    return {
        "root": root,
        "files": {told(path): digest for path, digest in sorted(files.items())},
        "lists": {told(path): digest for path, digest in traced["folders"].items()},
        "folders": folders,
        "modules": {told(path): each for path, each in traced["modules"].items()},
        "home": told(os.path.abspath(home[1])),
        "directory": traced["directory"] and told(traced["directory"]),
        "variables": traced["variables"],
        "versions": dict(each.split(" ", 1) for each in versions),
        "declared": {told(path): digest_declared(path) for path in map(str, declared)},
        "untraced": [] if declared else traced["untraced"],
        "state": {
            name: json.dumps(each, sort_keys=True) for name, each in traced["states"].items()
        },
    }


def sealed(inputs: Inputs, environ: Mapping[str, str], secret: bytes, session: str) -> Inputs:
    """A record's inputs as the store keeps them: with no value of a variable or a global name."""
    return {
        **inputs,
        "variables": {name: seal(environ.get(name), secret) for name in inputs["variables"]},
        "state": {name: seal(text, secret) for name, text in inputs["state"].items()},
        **({"session": session} if inputs["untraced"] else {}),
    }


def seal(value: str | None, secret: bytes) -> str | None:
    """A keyed digest of a value, which nobody can guess without the store; None for none."""
    if value is None:
        return None
    text = value.encode(errors="surrogatepass")
    return hmac.new(secret, text, "sha256").hexdigest()[:HEX]


def digest_of_inputs(inputs: Inputs) -> str:
    """The digest by which a record is kept beside others of its key, the same in every store.

    Globals follow from the code, and are sealed by each store's own secret.
    """
    named = {name: each for name, each in inputs.items() if name not in ("root", "state")}
    return digest_of(json.dumps(named, sort_keys=True))


def changes(
    inputs: Inputs,
    root: Path,
    environ: Mapping[str, str],
    secret: bytes,
    session: str | None,
    directory: str = "",
) -> Iterator[str]:
    """What of a record's inputs is another now, in words."""
    if inputs["untraced"] and inputs.get("session") != session:
        yield f"it {inputs['untraced'][0]}, which can't be followed"

    def at(path: str) -> str:
        return os.path.normpath(os.path.join(root, path))

    if directory and inputs["directory"] and at(inputs["directory"]) != directory:
        yield f"it was run in {inputs['directory']}"
    for path, digest in inputs["files"].items():
        if digest is not None and digest.startswith(LINK):
            if target_of(at(path)) != digest:
                yield f"{path} leads elsewhere"
        elif digest is None or digest.startswith(PRESENT):
            here = asked_for(os.stat(at(path))) if os.path.exists(at(path)) else None
            if (here is None) != (digest is None):
                yield f"{path} is {'gone' if digest else 'new'}"
            elif digest not in (None, PRESENT, here):
                yield f"{path} has another size"
        elif digest_of_file(at(path)) != digest:
            yield f"{path} was changed"
    for part, digest_at, said in (
        ("lists", digest_of_names, "the list of {} was changed"),
        ("folders", digest_of_tree, "files in {} were changed"),
        ("declared", digest_declared, "{} was changed"),
    ):
        for path, digest in inputs[part].items():
            if digest_at(at(path)) != digest:
                yield said.format(path)
    for path, (raw, code) in inputs["modules"].items():
        if _other_code(at(path), raw, code, path != inputs["home"]):
            yield f"the code of {path} was changed"
    for name, digest in inputs["variables"].items():
        if seal(environ.get(name), secret) != digest:
            yield f"the variable {name} was changed"
    yield from other_versions_of(inputs["versions"])


def other_versions_of(versions: Mapping[str, str]) -> Iterator[str]:
    """The distributions whose versions are others here, in words."""
    from embinit.distributions import versions_of

    here = dict(each.split(" ", 1) for each in versions_of(versions))
    for name, version in versions.items():
        if here.get(name) != version:
            yield f"{name} was {version} and is {here.get(name, 'missing')}"


def _other_code(path: str, raw: str, code: str, tests: bool) -> bool:
    try:
        content = Path(path).read_bytes()
    except OSError:
        return True
    if digest_of(content) == raw:
        return False
    return not path.endswith(".py") or code_digest(content, tests, DOCUMENTED in code) != code


def code_digest(content: bytes, tests: bool, documented: bool) -> str:
    """The digest of a module's code, as a record has it."""
    prefix = DOCUMENTED if documented else ""
    return prefix + digest_of_source(content, tests, documented)
