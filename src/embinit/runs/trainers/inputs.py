"""What a run of a user's function was made from, with digests, and whether that is still so."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from embinit.code import HEX, digest_of, digest_of_source, is_own_file, spec_of

NO_FILE = "no file"
"""In the place of a digest: a folder, a pipe or a device."""
LIBRARY = "a library"
"""In the place of a module's file: it isn't the project's."""
MOST_FILES = 1000
"""How many files a function may read, to have each in its records."""
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
    above = (one for one in (root, *root.parents) if any((one / m).exists() for m in ROOT_MARKS))
    return next(above, root)


def state_of(path: str) -> str | None:
    """What counts of a file that was asked for, and not read; None for a missing one."""
    link = f"link to {os.readlink(path)} " if os.path.islink(path) else ""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return link or None
    return f"{link}{found.st_size} bytes" if stat.S_ISREG(found.st_mode) else f"{link}no file"


def place_of(name: str) -> str:
    """The project's file that a module's name leads to, LIBRARY, or "" where there is none."""
    spec = spec_of(name)
    if spec is None or spec.origin is None:
        return ""
    own = spec.has_location and is_own_file(spec.origin)
    return os.path.abspath(spec.origin) if own else LIBRARY


_DIGESTS: dict[str, tuple[tuple[int, ...], str]] = {}


def digest_of_file(path: str) -> str | None:
    """The digest of a file's content, read once while it stays as it is; None for a missing one."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return NO_FILE
    seen = found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev
    known = _DIGESTS.get(path)
    if known is None or known[0] != seen:
        with open(path, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()[:HEX]
        known = _DIGESTS[path] = seen, digest
    return known[1]


def digest_of_names(folder: str) -> str | None:
    """The digest of a folder's list; None for a missing one."""
    try:
        return digest_of("\n".join(sorted(set(os.listdir(folder)) - IGNORED)))
    except OSError:
        return None


def digest_declared(path: str) -> str | None:
    """The digest of a file, or of all files in a folder, that ``training(inputs=…)`` names."""
    if not os.path.isdir(path):
        return digest_of_file(path)
    lines = []
    for place, folders, names in os.walk(path):
        folders[:] = sorted(set(folders) - IGNORED)
        inner = os.path.relpath(place, path)
        lines += [f"{inner}/{n} {digest_of_file(os.path.join(place, n))}" for n in sorted(names)]
    return digest_of("\n".join(lines))


def recorded(
    traced: Mapping[str, Any], home: tuple[str, str], declared: tuple[Path, ...]
) -> dict[str, Any]:
    """A record's inputs from what a trainer has read; ``variables`` are names until sealed."""
    from embinit.distributions import distributions_of, versions_of  # they take long to load

    root, project = str(root_of(home)), str(project_of(home)) + os.sep

    def shortened(path: str) -> str:
        return os.path.relpath(path, root) if f"{path}/".startswith(project) else path

    files, untraced = traced["files"], [] if declared else [*traced["untraced"]]
    if len(files) > MOST_FILES:
        untraced += [] if declared else [f"reads more than {MOST_FILES} files"]
        files = {
            path: digest
            for path, digest in files.items()
            if declared and not any(map(Path(path).is_relative_to, declared))
        }
    libraries = {library for name in traced["imports"] for library in distributions_of(name)}
    versions = versions_of(libraries - {"pytest", "embinit", "hypothesis"})
    by_path = {part: traced[part] for part in ("asked", "lists", "modules")} | {"files": files}
    return {
        **{
            part: {shortened(path): known for path, known in sorted(paths.items())}
            for part, paths in by_path.items()
        },
        "root": root,
        "names": {name: shortened(path) for name, path in sorted(traced["names"].items())},
        "home": shortened(os.path.abspath(home[1])),
        "directory": shortened(traced["directory"]),
        "variables": traced["variables"],
        "versions": dict(text.split(" ", 1) for text in versions),
        "declared": {shortened(path): digest_declared(path) for path in map(str, declared)},
        "untraced": untraced,
    }


def sealed(inputs: Inputs, environ: Mapping[str, str], session: str) -> Inputs:
    """A record's inputs as the store keeps them: with no value of a variable."""
    return {
        **inputs,
        "variables": {name: seal(environ.get(name)) for name in inputs["variables"]},
        **({"session": session} if inputs["untraced"] else {}),
    }


@functools.cache
def seal(value: str | None) -> str | None:
    """A digest of a value that takes long to guess: a password stays secret; None for none."""
    if value is None:
        return None
    text = value.encode(errors="surrogatepass")
    return hashlib.scrypt(text, salt=b"embinit", n=2**12, r=8, p=1, dklen=HEX // 2).hex()


def digest_of_inputs(inputs: Inputs) -> str:
    """The digest by which a record is kept with others of its key."""
    named = {name: value for name, value in inputs.items() if name != "root"}
    return digest_of(json.dumps(named, sort_keys=True))


def changes(
    inputs: Inputs,
    root: Path,
    environ: Mapping[str, str],
    session: str | None,
    directory: str = "",
) -> Iterator[str]:
    """What of a record's inputs is another now, in words; ``directory`` is a session's own."""
    if "names" not in inputs:
        yield "an older version of embinit made it"
        return
    if inputs["untraced"] and inputs.get("session") != session:
        yield f"it {inputs['untraced'][0]}, which can't be followed"

    def at(path: str) -> str:
        return os.path.normpath(os.path.join(root, path))

    if directory:
        if inputs["directory"] and at(inputs["directory"]) != directory:
            yield f"it was run in {inputs['directory']}"
        for name, path in inputs["names"].items():
            if place_of(name) != (path and at(path)):
                yield f"import {name} leads elsewhere"
    for part, digest_at, said in CHECKS:
        for path, digest in inputs[part].items():
            if digest_at(at(path)) != digest:
                yield said.format(path)
    for path, (raw, code) in inputs["modules"].items():
        if digest_of_file(at(path)) != raw and _code_at(at(path), path != inputs["home"]) != code:
            yield f"the code of {path} was changed"
    for name, digest in inputs["variables"].items():
        if seal(environ.get(name)) != digest:
            yield f"the variable {name} was changed"
    yield from other_versions_of(inputs["versions"])


CHECKS = (
    ("files", digest_of_file, "{} was changed"),
    ("asked", state_of, "{} was added, removed or changed"),
    ("lists", digest_of_names, "the list of {} was changed"),
    ("declared", digest_declared, "{} was changed"),
)
"""The parts of a record that have digests of paths, how these are made, and what to say."""


def other_versions_of(versions: Mapping[str, str]) -> Iterator[str]:
    """The distributions whose versions are others here, in words."""
    from embinit.distributions import versions_of

    here = dict(text.split(" ", 1) for text in versions_of(versions))
    for name, version in versions.items():
        if here.get(name) != version:
            yield f"{name} was {version} and is {here.get(name, 'missing')}"


def _code_at(path: str, tests: bool) -> str | None:
    try:
        return code_digest(Path(path).read_bytes(), tests)
    except OSError:
        return None


def code_digest(content: bytes, tests: bool) -> str:
    """The digest of a module's code; docstrings are in it where the module reads its own."""
    return digest_of_source(content, tests, documented=b"__doc__" in content)
