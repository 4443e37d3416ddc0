"""Why a run failed, in one line."""

from __future__ import annotations

import traceback
from pathlib import Path

from embinit.code import is_own_file
from embinit.errors import InputError


def failure_reason(error: Exception) -> str:
    """Why a run failed, in one line: the error, and the line of the user's code that raised it."""
    if isinstance(error, InputError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_own_file(frame.filename)] or frames
    text = str(error).strip().splitlines() or [""]
    told = f"{type(error).__name__}: {text[0]}".removesuffix(": ")
    return f"{told} ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else told
