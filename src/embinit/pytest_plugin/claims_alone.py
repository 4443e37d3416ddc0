"""Whether a session asks for claims alone, by the paths that it names: then xdist has no workers.

With ``-n 4`` one process then plans and judges, and four train. Other tests go to pytest-xdist's
workers, as in any project. It is decided before anything is collected.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from pathlib import Path

import pytest

from embinit.options import REGISTER

TRAINERS: pytest.StashKey[int] = pytest.StashKey()
"""How many trainers ``-n`` asks for, in a session of claims alone."""

FOLDER, LOCK = "claims", "claims.lock"


def take_over(config: pytest.Config) -> None:
    """Takes the workers from pytest-xdist where a session asks for claims alone."""
    option = config.option
    if asks_for_claims_alone(config):
        config.stash[TRAINERS] = len(option.tx)
        option.numprocesses, option.dist, option.tx = None, "no", []


def asks_for_claims_alone(config: pytest.Config) -> bool:
    """Whether every path that is asked for is in a folder of claims, or ``embinit register`` asks.

    That is a folder called ``claims`` with a test file that mentions embinit or ``seeds``, or one
    with a ``claims.lock``, in itself or a folder of its, all of whose test files mention embinit.
    """
    if config.getini(REGISTER):
        return True
    return bool(config.args) and all(_is_of_claims(config, path) for path in config.args)


def _is_of_claims(config: pytest.Config, given: str) -> bool:
    name = given.partition("::")[0]
    path = Path(os.path.abspath(config.invocation_params.dir / name))
    if config.option.pyargs and not path.exists():
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(name)
            path = Path(spec.origin).parent if spec is not None and spec.origin else path
    folder = path if path.is_dir() else path.parent
    root = config.rootpath if folder.is_relative_to(config.rootpath) else folder
    named = FOLDER in (folder.name, *folder.relative_to(root).parts)
    within = path if named else folder
    files = (file for pattern in config.getini("python_files") for file in within.rglob(pattern))
    texts = map(text_of, [within] if within.is_file() else files)  # read as they are asked
    if named:
        return any("embinit" in text or "seeds" in text for text in texts)
    locked = (folder / LOCK).exists() or any(folder.glob(f"*/{LOCK}"))
    return locked and path.exists() and all("embinit" in text for text in texts)


def text_of(file: Path) -> str:
    """A file's text; "" for what can't be read, or is no text."""
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
