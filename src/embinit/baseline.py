"""Holding a suite's verdicts against a blessed one: what was lost, what moved, what is new.

A baseline is a ``verdicts.json`` that somebody looked at and blessed. A finding is lost when a
claim that was SUPPORTED is REFUTED or NOT RUN now. It is in doubt when the claim is UNDECIDED now,
or a mean difference has left the interval that it had.
"""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.store import write_atomically

LOST = ("REFUTED", "NOT RUN")
Document = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """A claim that no longer is what it was; ``lost`` is a fault, the rest a warning."""

    id: str
    lost: bool
    said: str
    before: str
    now: str

    def __str__(self) -> str:
        return f"{self.id} {self.said}\n    before: {self.before}\n    now:    {self.now}"


def read(path: Path) -> dict[str, Any]:
    """A verdicts document; InputError if it is missing or not one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; run pytest claims/ first") from None
    except ValueError as error:
        raise InputError(f"{path} is no JSON ({error}); run pytest claims/ again") from None
    if not isinstance(document, dict) or document.get("schema_version") != 1:
        raise InputError(f"{path} is no verdicts document of schema_version 1")
    return document


def wrong_controls(document: Document) -> list[str]:
    """Controls that came out other than they should."""
    return [
        f"control {claim['id']} is {claim['verdict']}, not {claim['expects']}"
        for claim in document["claims"]
        if claim["control"] and claim["verdict"] != claim["expects"]
    ]


def changes(latest: Document, baseline: Document) -> list[Change]:
    """What became of the baseline's findings, the lost ones first; claims not asked for are left.

    InputError if the two are of different tiers, which can't be compared.
    """
    tiers = [document["session"]["tier"] for document in (latest, baseline)]
    if tiers[0] != tiers[1]:
        raise InputError(f"tier {tiers[0]} can't be compared with tier {tiers[1]}")
    now = {claim["id"]: claim for claim in latest["claims"]}
    found = [
        change
        for claim in baseline["claims"]
        if not claim["control"] and claim["id"] in now
        for change in _changes(claim, now[claim["id"]])
    ]
    return sorted(found, key=lambda change: not change.lost)


def _changes(old: Document, new: Document) -> list[Change]:
    was, is_now = old["verdict"], new["verdict"]
    numbers = (_numbers(old), _numbers(new))
    if was == "SUPPORTED" and is_now != was:
        return [Change(new["id"], is_now in LOST, f"was {was} and is {is_now}", *numbers)]
    moved = [
        said
        for before, after in zip(old["comparisons"], new["comparisons"], strict=False)
        if before["arms"] == after["arms"] and (said := _moved(before, after))
    ]
    return [Change(new["id"], False, said, *numbers) for said in moved]


def _moved(before: Document, after: Document) -> str:
    low, high = before["interval"]
    mean = after["difference"]
    inside = mean is None or ((low is None or low <= mean) and (high is None or mean <= high))
    # Two statistics of one table differ by rounding at most, and their interval is a point.
    if inside or before["exact"]:
        return ""
    arms = f"{after['arms']['left']} − {after['arms']['right']}"
    return f"has a difference outside the interval that it had ({arms})"


def _numbers(claim: Document) -> str:
    told = [
        f"{_plain(one['difference'])} {one['unit']} "
        f"[{_plain(one['interval'][0])}, {_plain(one['interval'][1])}], {one['n']} seeds"
        for one in claim["comparisons"]
    ]
    return "; ".join([claim["verdict"], *told]) if told else f"{claim['verdict']} {claim['reason']}"


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4g}"


def bless(report: Path, to: Path) -> None:
    """Make a suite's report (a folder with both its files) the baseline in ``to``.

    The baseline says when it was blessed and at which revision, beside the session's own record of
    machine and versions. InputError if a control misbehaved, a claim has no verdict at all, or a
    file is missing.
    """
    document, page = read(report / "verdicts.json"), report / "index.html"
    if not page.exists():
        raise InputError(f"{page} does not exist; run pytest claims/ again")
    if wrong := wrong_controls(document):
        raise InputError(f"not blessed: {'; '.join(wrong)}")
    if not any(claim["verdict"] != "NOT RUN" for claim in document["claims"]):
        raise InputError(f"not blessed: nothing in {report} was run")
    document["blessed"] = {
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "revision": _revision(),
    }
    to.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(to / "index.html", page.read_text(encoding="utf-8"))
    write_atomically(to / "verdicts.json", text + "\n")


def _revision() -> str | None:
    """The commit that is checked out, with a plus where files differ from it; None without git."""
    try:
        head, changed = (
            subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.strip() + ("+" if changed.strip() else "")
