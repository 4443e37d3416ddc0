"""What earlier sessions found: ``history.jsonl``, one line a session, beside ``verdicts.json``.

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

from embinit.report.charts import History, history
from embinit.runs.store import DamagedWarning

NAME = "history.jsonl"

Session = Mapping[str, Any]


class DamagedHistoryWarning(DamagedWarning):
    """A line of a history could not be read and was passed over; the others count."""


def line_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a verdicts document."""
    session = document["session"]
    return {
        "started": session["started"],
        "tier": session["tier"],
        "device": session["device"],
        "claims": {
            claim["id"]: {
                "verdict": claim["verdict"],
                "effects": [[one["difference"], *one["interval"]] for one in claim["comparisons"]],
            }
            for claim in document["claims"]
            if claim["comparisons"]
        },
    }


def read(paths: Iterable[Path]) -> list[Session]:
    """The sessions in several histories, oldest first, each once; a missing file has none."""
    found: dict[str, Session] = {}
    for path in paths:
        for number, line in enumerate(_lines(path), start=1):
            try:
                session = _session(line)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                warnings.warn(
                    f"{path}, line {number}, is no session ({type(error).__name__}: {error}) and "
                    "was passed over; delete the line",
                    DamagedHistoryWarning,
                    stacklevel=2,
                )
            else:
                found[session["started"]] = session
    return [found[started] for started in sorted(found)]


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except FileNotFoundError:
        return []


def _session(line: bytes) -> Session:
    """A line as a session; any of several errors where it is none."""
    session = json.loads(line)
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
    """The sessions as a file has them; one that found nothing, or nothing new, is left out."""
    told: list[Session] = []
    for session in sessions:
        if session["claims"] and (not told or session["claims"] != told[-1]["claims"]):
            told.append(session)
    return "".join(json.dumps(session, ensure_ascii=False) + "\n" for session in told)


def over_time(claim: Mapping[str, Any], place: int, sessions: Sequence[Session]) -> History | None:
    """The effect of a claim's comparison number ``place`` over ``sessions``; None below two.

    Sessions on another tier say nothing of it, nor do those that judged the same runs again.
    """
    effects: list[tuple[str, str, float | None, Sequence[float | None]]] = []
    for session in sessions:
        found = session["claims"].get(claim["id"]) if session["tier"] == claim["tier"] else None
        if found is None or place >= len(found["effects"]):
            continue
        mean, low, high = found["effects"][place]
        effect = (mean, (low, high))
        if not effects or effects[-1][2:] != effect:
            effects.append((session["started"][:16].replace("T", " "), found["verdict"], *effect))
    return history(effects)
