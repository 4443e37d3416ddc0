"""What a run of a user's function was made from, with digests, and whether that is still so."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import platform
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from embinit.code import digest_of_source, is_own_file, spec_of
from embinit.digests import HEX, digest_of

NO_FILE = "no file"
"""In the place of a digest: a folder, a pipe or a device."""
LIBRARY = "a library"
"""In the place of a module's file: it isn't the project's."""
MOST_FILES = 1000
"""How many files a function may read without declaring any, to have each in its records."""
ROOT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini")
TOOLS = frozenset({"embinit", "hypothesis", "pytest"})
"""Distributions that train nothing."""
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


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def state_of(path: str) -> str | None:
    """What counts of a file that was asked for, and not read; None for a missing one."""
    link = f"link to {os.readlink(path)} " if os.path.islink(path) else ""
    if (found := _stat(path)) is None:
        return link or None
    if stat.S_ISREG(found.st_mode):  # code that is loaded counts by itself
        return f"{link}code" if path.endswith((".py", ".pyc")) else f"{link}{found.st_size} bytes"
    return f"{link}no file"


def time_of(path: str) -> int | None:
    """When a file was changed, in nanoseconds; None for a missing one."""
    return found.st_mtime_ns if (found := _stat(path)) else None


def mode_of(path: str) -> int | None:
    """What a file's owner may do with it; None for a missing one."""
    return found.st_mode & stat.S_IRWXU if (found := _stat(path)) else None


@functools.cache
def interpreter() -> str:
    """The Python that runs, with what of its flags and locale changes results."""
    encoding = io.TextIOWrapper(io.BytesIO()).encoding
    name, version = platform.python_implementation(), platform.python_version()
    return f"{name} {version} (optimization {sys.flags.optimize}, encoding {encoding})"


def place_of(name: str, anew: bool = False) -> str:
    """The project's file that a module's name leads to, LIBRARY, or "" where there is none."""
    spec = spec_of(name, anew)
    if spec is None or spec.origin is None:
        return ""
    own = spec.has_location and is_own_file(spec.origin)
    return os.path.abspath(spec.origin) if own else LIBRARY


_DIGESTS: dict[str, tuple[tuple[int, ...], str]] = {}


def digest_of_file(path: str) -> str | None:
    """The digest of a file's content, read once while it stays as it is; None for a missing one."""
    if (found := _stat(path)) is None:
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
    """The digest of a folder's list, which tells folders from files; None for a missing one."""
    try:
        with os.scandir(folder) as entries:
            names = [f"{e.name}{'/' * e.is_dir()}" for e in entries if e.name not in IGNORED]
        return digest_of("\n".join(sorted(names)))
    except OSError:
        return None


def digest_declared(path: str) -> str | None:
    """The digest of a file, or of a folder with all below, that ``training(inputs=…)`` names."""
    if not os.path.isdir(path):
        return digest_of_file(path)
    lines, seen = [], set()
    for place, folders, names in os.walk(path, followlinks=True):
        true = os.path.realpath(place)
        folders[:] = [] if true in seen else sorted(set(folders) - IGNORED)
        seen.add(true)
        inner = os.path.relpath(place, path)
        lines += [f"{inner}/{n} {digest_of_file(os.path.join(place, n))}" for n in sorted(names)]
        lines.append(inner)
    return digest_of("\n".join(lines))


CHECKS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "files": (digest_of_file, "{} was changed"),
    "asked": (state_of, "{} was added, removed or changed"),
    "times": (time_of, "the time of {} is another"),
    "modes": (mode_of, "the rights to {} are others"),
    "lists": (digest_of_names, "the list of {} was changed"),
    "declared": (digest_declared, "{} was changed"),
}
"""The parts of a record that have answers by path, how they are found, and what to say."""


def recorded(
    traced: Mapping[str, Any], home: tuple[str, str], declared: tuple[Path, ...]
) -> dict[str, Any]:
    """A record's inputs from what a trainer has read; ``variables`` are names until sealed."""
    root, project = str(root_of(home)), str(project_of(home)) + os.sep

    def shortened(path: str) -> str:
        return os.path.relpath(path, root) if f"{path}/".startswith(project) else path

    files = {
        path: digest
        for path, digest in traced["files"].items()
        if not any(map(Path(path).is_relative_to, declared))
    }
    untraced = [] if declared else [*traced["untraced"]]
    if len(files) > MOST_FILES and not declared:
        untraced, files = [*untraced, f"reads more than {MOST_FILES} files"], {}
    by_path = {part: traced[part] for part in (*CHECKS, "modules")} | {
        "files": files,
        "declared": {path: digest_declared(path) for path in map(str, declared)},
    }
    return {
        **{part: traced[part] for part in ("python", "documented", "variables", "entry points")},
        **{
            part: {shortened(path): known for path, known in sorted(paths.items())}
            for part, paths in by_path.items()
        },
        "root": root,
        "names": {name: shortened(path) for name, path in sorted(traced["names"].items())},
        "home": shortened(os.path.abspath(home[1])),
        "directory": shortened(traced["directory"]),
        "versions": _versions(traced),
        "untraced": untraced,
    }


def _versions(traced: Mapping[str, Any]) -> dict[str, str | None]:
    """The distributions that were loaded for the project, or asked for, with their contents."""
    from embinit.distributions import (  # they take long to load
        canonical_name,
        distributions_of,
        with_requirements,
    )

    def of(packages: list[str]) -> set[str]:
        found = (distributions_of(package) or (package,) for package in packages)
        return {name for names in found for name in names} - TOOLS

    names = with_requirements(of(traced["imports"]), of(traced["loaded"]))
    names |= {canonical_name(name) for name in traced["distributions"]}
    return {name: _content_of(name) for name in sorted(names)}


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
    if "python" not in inputs:
        yield "an older version of embinit made it, whose records have less"
        return
    if inputs["untraced"] and inputs.get("session") != session:
        yield f"it {inputs['untraced'][0]}, which can't be followed"

    def at(path: str) -> str:
        return os.path.normpath(os.path.join(root, path))

    if directory:
        if inputs["directory"] and at(inputs["directory"]) != directory:
            yield f"it was run in {inputs['directory']}"
        for name, path in inputs["names"].items():
            foreign = path in ("", LIBRARY)  # a file of the project may come before a library's
            found = place_of(name, anew=foreign)
            # The function may have made the path by which it finds a module that isn't found here.
            if (found or foreign) and found != (path if foreign else at(path)):
                yield f"import {name} leads elsewhere"
    for part, (answer_at, said) in CHECKS.items():
        for path, answer in inputs[part].items():
            if answer_at(at(path)) != answer:
                yield said.format(path)
    for path, (raw, code) in inputs["modules"].items():
        if digest_of_file(at(path)) != raw and code != _code_at(
            at(path), path != inputs["home"], inputs["documented"]
        ):
            yield f"the code of {path} was changed"
    for name, digest in inputs["variables"].items():
        if seal(environ.get(name)) != digest:
            yield f"the variable {name} was changed"
    if inputs["python"] != interpreter():
        yield f"{inputs['python']} made it, and here is {interpreter()}"
    yield from other_versions_of(inputs["versions"])
    if inputs["entry points"]:
        from embinit.distributions import entry_points_of

        for group, digest in inputs["entry points"].items():
            if entry_points_of(group) != digest:
                yield f"the entry points {group} are others"


def other_versions_of(versions: Mapping[str, str | None]) -> Iterator[str]:
    """The distributions that are others here, in words."""
    for name, content in versions.items():
        if (found := _content_of(name)) != content:
            was, here = (text.split()[0] if text else "missing" for text in (content, found))
            if was == here:
                yield f"the files of {name} {was} were changed"
            else:
                yield f"{name} was {was} and is {here}"


def _content_of(name: str) -> str | None:
    """A distribution's content, or a module's that is in none, as ``digest_declared`` has it."""
    from embinit.distributions import content_of

    if (content := content_of(name)) is not None:
        return content
    spec = spec_of(name, anew=True)
    if spec is None or not spec.has_location:
        return None
    path = str(spec.origin)
    whole = os.path.dirname(path) if spec.submodule_search_locations else path
    return f"unversioned {digest_declared(whole)}"


def _code_at(path: str, tests: bool, documented: bool) -> str | None:
    try:
        return digest_of_source(Path(path).read_bytes(), tests, documented)
    except OSError:
        return None
