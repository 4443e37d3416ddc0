"""A module of claims that raises when it is imported: an error of its file, and others are run."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

import pytest

from embinit.errors import InputError
from embinit.pytest_plugin.items import line_in, one_line


def explain(report: pytest.CollectReport, module: pytest.Module) -> bool:
    """Ends the report of a module of claims with a line that says where and what is wrong.

    False for a module without claims.
    """
    call: pytest.CallInfo[object] | None = getattr(report, "call", None)
    error = None if call is None or call.excinfo is None else call.excinfo.value
    try:
        source = module.path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    if error is None or not re.search(r"\bembinit\b", source) or "claim" not in source:
        return False
    if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
        error = error.__cause__
    line = one_line(module, line_in(module.path, error) or 1, error)
    # The line is not all of an error that comes from elsewhere, so pytest's account is kept.
    whole = isinstance(error, InputError) or _ends_in(module.path, error)
    report.longrepr = line if whole else f"{report.longreprtext}\n\n{line}"
    return True


def _ends_in(path: Path, error: BaseException) -> bool:
    """Whether an error came about in a file itself, and not in what that calls."""
    if isinstance(error, SyntaxError):
        return error.filename == str(path)
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename) == path
