"""A module of claims that raises when it is imported: one failed test, and others are run.

pytest itself ends a session that has such a module before any test. Here a mistake costs the claims
of its own file alone.
"""

from __future__ import annotations

import re
import traceback
from pathlib import Path

import pytest

from embinit.errors import InputError
from embinit.pytest_plugin.items import ITEM_RESULT, ItemResult, line_in, told

_DECORATED = re.compile(r"^[ \t]*@(?:\w+\.)?claim\b", re.MULTILINE)


class Unloadable(pytest.Item):
    """Fails in the place of a module's claims, with a ``line`` that says what is wrong."""

    def __init__(self, *, line: str, text: str, claims: int, **given: object) -> None:
        super().__init__(**given)  # type: ignore[arg-type]
        self.line, self.claims, self._text = line, claims, text
        home = (self.path.stem, str(self.path))
        named = {"nodeid": self.parent.nodeid if self.parent else self.nodeid}
        self.stash[ITEM_RESULT] = ItemResult(home, named)

    @classmethod
    def of(cls, report: pytest.CollectReport, module: pytest.Module) -> Unloadable | None:
        """The failing test in place of a module of claims that can't be collected; else None."""
        call: pytest.CallInfo[object] | None = getattr(report, "call", None)
        error = None if call is None or call.excinfo is None else call.excinfo.value
        try:
            source = module.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        if error is None or not re.search(r"\bembinit\b", source) or "claim" not in source:
            return None
        if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
            error = error.__cause__
        line = told(module, line_in(module.path, error) or 1, error)
        # The line is not all of an error that comes from elsewhere, so pytest's account is kept.
        told_whole = isinstance(error, InputError) or _ends_in(module.path, error)
        text = line if told_whole else f"{line}\n\n{report.longreprtext}"
        made: Unloadable = cls.from_parent(
            module, name="module", line=line, text=text, claims=decorated(source)
        )
        return made

    def runtest(self) -> None:
        """Fails with what is wrong."""
        pytest.fail(self._text, pytrace=False)

    def reportinfo(self) -> tuple[object, int | None, str]:  # type: ignore[override]
        """The file, for pytest."""
        return self.path, None, self.nodeid


def _ends_in(path: Path, error: BaseException) -> bool:
    """Whether an error came about in a file itself, and not in what that calls."""
    if isinstance(error, SyntaxError):
        return error.filename == str(path)
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename) == path


def decorated(source: str) -> int:
    """The number of claims in a file, by its text."""
    return len(_DECORATED.findall(source))
