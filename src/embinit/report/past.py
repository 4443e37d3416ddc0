"""The results of earlier sessions: ``history.jsonl``, one line a session, beside ``verdicts.json``.

A line holds the verdict and the effects of each claim that its session ran, so that a nightly run
of years stays small. ``embinit bless`` adds the blessed session to the baseline's history, and a
session that is held against a baseline shows that history too.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from embinit.errors import InputError, printable
from embinit.files.reading import parse_json
from embinit.files.schema import mismatch
from embinit.report.charts import History, history
from embinit.runs.store import DamagedWarning

NAME = "history.jsonl"

Session = Mapping[str, Any]

_NUMBER = {"type": ["number", "null"]}
_EFFECT = {"type": "array", "minItems": 3, "prefixItems": [_NUMBER] * 3, "items": False}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["started", "tier", "device", "claims"],
    "properties": {
        **{name: {"type": "string"} for name in ("started", "tier", "device")},
        "claims": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["verdict", "effects"],
                "properties": {
                    "verdict": {"type": "string"},
                    "effects": {"type": "array", "items": _EFFECT},
                },
            },
        },
    },
}
"""The JSON Schema of a line."""


class DamagedHistoryWarning(DamagedWarning):
    """A history, or lines of it, could not be read. The other lines count."""


def line_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The line of a session: what its verdicts document leaves in the history.

    Args:
        document: The verdicts document.
    """
    session = document["session"]
    return {
        "started": session["started"],
        "tier": session["tier"],
        "device": session["device"],
        "claims": {
            claim["id"]: {
                "verdict": claim["verdict"],
                "effects": [
                    [entry["difference"], *entry["interval"]] for entry in claim["comparisons"]
                ],
            }
            for claim in document["claims"]
            if claim["comparisons"]
        },
    }


def read(paths: Iterable[Path]) -> list[Session]:
    """The sessions in several histories, oldest first and each once.

    A missing file has no sessions. Damaged lines are passed over with a ``DamagedHistoryWarning``.

    Raises:
        InputError: A file can't be read.
    """
    return merged(map(_sessions, paths))


def readable(path: Path) -> list[Session] | None:
    """The sessions in a history; None, with a ``DamagedHistoryWarning``, where it can't be read."""
    try:
        return _sessions(path)
    except InputError as error:
        warnings.warn(f"{error}; it was left as it is", DamagedHistoryWarning, stacklevel=2)
        return None


def merged(histories: Iterable[Sequence[Session]]) -> list[Session]:
    """The sessions of several histories, oldest first and each once."""
    sessions = {session["started"]: session for history in histories for session in history}
    return [sessions[started] for started in sorted(sessions)]


def _sessions(path: Path) -> list[Session]:
    """The sessions in a history, in its order.

    Raises:
        InputError: The file can't be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(
            f"{path} can't be read ({error.strerror or error}); move it away"
        ) from error
    sessions, bad = [], []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            sessions.append(_session(line))
        except (ValueError, RecursionError) as error:
            bad.append((number, error))
    if bad:
        number, first = bad[0]
        more = f" and so are {len(bad) - 1:,} more lines" if len(bad) > 1 else ""
        told = (
            f"{path}, line {number}, is no session ({type(first).__name__}: {first}){more}: passed "
            "over; delete what is no session"
        )
        warnings.warn(printable(told), DamagedHistoryWarning, stacklevel=4)
    return sessions


def _session(line: bytes) -> Session:
    """The session in a line.

    Raises:
        ValueError: The line holds no session.
        RecursionError: It is nested too deeply.
    """
    session = parse_json(line)
    if reason := mismatch(session, SCHEMA):
        raise ValueError(reason)
    claims = {
        name: {
            "verdict": str(claim["verdict"]),
            "effects": [[mean, low, high] for mean, low, high in claim["effects"]],
        }
        for name, claim in session["claims"].items()
    }
    about = {name: str(session[name]) for name in ("started", "tier", "device")}
    return {**about, "claims": claims}


def lines(sessions: Sequence[Session]) -> str:
    """The text of a history with ``sessions``.

    A session without claims is left out, and so is one whose claims equal those of the session
    before.
    """
    kept: list[Session] = []
    for session in sorted(sessions, key=lambda session: str(session["started"])):
        if session["claims"] and (not kept or session["claims"] != kept[-1]["claims"]):
            kept.append(session)
    return "".join(printable(json.dumps(session, ensure_ascii=False)) + "\n" for session in kept)


def over_time(claim: Mapping[str, Any], place: int, sessions: Sequence[Session]) -> History | None:
    """The effect of one of a claim's comparisons over sessions.

    Sessions on another tier are left out, and so are those that judged the same runs again.

    Args:
        claim: The claim's entry in the verdicts document.
        place: The index of the comparison in the claim.
        sessions: The sessions, oldest first.

    Returns:
        The plot, or None where fewer than two sessions have the effect.
    """
    effects: list[tuple[str, str, float | None, Sequence[float | None]]] = []
    for session in sessions:
        entry = session["claims"].get(claim["id"]) if session["tier"] == claim["tier"] else None
        if entry is None or place >= len(entry["effects"]):
            continue
        mean, low, high = entry["effects"][place]
        effect = (mean, (low, high))
        if not effects or effects[-1][2:] != effect:
            effects.append((session["started"][:16].replace("T", " "), entry["verdict"], *effect))
    return history(effects)
