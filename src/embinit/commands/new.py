"""``embinit new``: create a project with a claim, a control and a CI workflow."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from embinit.errors import InputError, OutputError, is_unwritable, printable

STARTER = {
    "claims/test_first.py": "test_first.py.txt",
    "pyproject.toml": "pyproject.toml.txt",
    "requirements.txt": "requirements.txt.txt",
    "README.md": "README.md.txt",
    ".gitignore": "gitignore.txt",
    ".github/workflows/claims.yml": "claims.yml.txt",
}
"""The files of a new project, and what they are made from."""


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    new = commands.add_parser(
        "new", help="create a project with a claim, a control and a CI workflow"
    )
    new.add_argument("folder", type=Path, help="the new folder")
    new.set_defaults(run=_new)


def _new(parsed: argparse.Namespace) -> int:
    folder: Path = parsed.folder
    taken = [name for name in STARTER if os.path.lexists(folder / name)]
    if taken:
        raise InputError(f"{folder} has {', '.join(taken)} already; name another folder")
    name = re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.lower()).strip("-") or "mine"
    requirement, wheel = _requirement()
    try:
        for path, template in STARTER.items():
            text = resources.files("embinit.starter").joinpath(template).read_text("utf-8")
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            filled = text.replace("@NAME@", name).replace("@REQUIREMENT@", requirement)
            (folder / path).write_text(filled, encoding="utf-8")
    except OSError as error:
        kind = OutputError if is_unwritable(error) else InputError
        raise kind(f"{folder} can't be written: {error.strerror or error}") from None
    print(printable(f"{folder}: {', '.join(STARTER)}"))
    print(f"next: cd {printable(shlex.quote(str(folder)))}, edit claims/test_first.py, then")
    print("  embinit register && pytest claims/ -n 4 && embinit bless")
    if wheel:
        print("requirements.txt names a wheel; make it in the new folder, and commit it:")
        print(printable(f"  {wheel}"))
    return 0


def _requirement() -> tuple[str, str]:
    """The line of a requirements file that installs this embinit, and what has to be done for it.

    pip writes a ``direct_url.json`` (PEP 610) unless it installed from an index. A path of this
    machine is no place for others to install from, so a wheel in the project is named instead.
    """
    from embinit import __file__ as package
    from embinit import __version__

    origin: Any = {"url": Path(package).parents[2].as_uri()}  # a clone that isn't installed
    with contextlib.suppress(metadata.PackageNotFoundError):
        origin = json.loads(metadata.distribution("embinit").read_text("direct_url.json") or "null")
    if origin is None:
        return f"embinit>={__version__}", ""
    url = origin["url"]
    if vcs := origin.get("vcs_info"):
        return f"embinit @ {vcs['vcs']}+{url}@{vcs['commit_id']}", ""
    if not url.startswith("file:"):
        return f"embinit @ {url}", ""
    return f"./embinit-{__version__}-py3-none-any.whl", f"pip wheel --no-deps {shlex.quote(url)}"
