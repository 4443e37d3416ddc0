"""Comparing a suite's verdicts with a baseline: what was lost, and what moved.

A baseline is a ``verdicts.json`` that somebody read and accepted. A finding is lost when a claim
that was SUPPORTED is REFUTED, NO EFFECT or NOT RUN now, or when a control that ran is not run now.
It is not lost where the effect is the same and was shown before to lie between zero and the margin:
then the last digits decide whether it is SUPPORTED or has NO EFFECT. A claim has moved when it has
another verdict otherwise, or when a mean difference lies outside the interval that it had.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from embinit.claims.registration_status import CHANGED
from embinit.errors import InputError, OutputError, printable
from embinit.files.reading import read_json, reading
from embinit.files.schema import check_document
from embinit.files.writing import write_atomically
from embinit.report.summary import summarise
from embinit.report.verdicts import is_too_weak

SCHEMA_VERSION = 2
LOST = ("REFUTED", "NO EFFECT", "NOT RUN")
Document = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """A change of a claim since the baseline: what it is, and the numbers before and now.

    One that lost a finding is a fault; any other is a warning. ``margins`` is by how many margins
    the mean difference moved: infinitely many where there is no margin.
    """

    id: str
    lost: bool
    said: str
    before: str
    now: str
    margins: float = 0.0

    def __str__(self) -> str:
        """Three lines: the change, then the numbers before and now."""
        return f"{self.id} {self.said}\n    before: {self.before}\n    now:    {self.now}"


def read(path: Path) -> dict[str, Any]:
    """Reads a verdicts document.

    Raises:
        InputError: The file is missing, is no verdicts document, or has another schema version.
    """
    again = "run pytest claims/ again"
    with reading(path, f"name a verdicts.json, or {again}"):
        if not path.exists():
            raise InputError(f"{path} does not exist; run pytest claims/ first")
    document = read_json(path, f"name a verdicts.json, or {again}")
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(document, dict) or type(version) is not int or version < 1:
        raise InputError(
            f"{path} is no verdicts document of schema_version {SCHEMA_VERSION}; {again}"
        )
    if version != SCHEMA_VERSION:
        older = (
            "run pytest claims/ again (stored runs are not trained again), and embinit bless where "
            "it is a baseline"
        )
        raise InputError(
            f"{path} is of schema_version {version}, and this embinit reads {SCHEMA_VERSION}; "
            f"{'upgrade it' if version > SCHEMA_VERSION else older}"
        )
    if not {"session", "claims"} <= document.keys():
        raise InputError(f"{path} lacks its session or its claims; {again}")
    check_document(path, document, load_schema(), "verdicts document", again)
    return document


def load_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of verdicts.json."""
    text = resources.files("embinit.report").joinpath("verdicts.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def unfinished(document: Document) -> list[str]:
    """Why a session's document lacks verdicts that were asked for; empty for a whole one."""
    stopped = document["session"].get("unfinished")
    reasons = [] if stopped is None else [f"the session is unfinished: {stopped}"]
    broke = [
        f"{entry.get('nodeid', 'a claim')} broke: {entry.get('reason', 'it does not say why')}"
        for entry in document.get("errors", ())
    ]
    return reasons + broke


def faults(
    document: Document, baseline: Document | None = None, moved: float | None = None
) -> list[str]:
    """The faults of a session's document, a sentence each; empty where all is in order.

    Args:
        document: The session's verdicts document.
        baseline: The baseline, of whose findings none may be lost.
        moved: By how many margins a difference may move from the baseline's; None for any move.

    Raises:
        InputError: The two are of different tiers.
    """
    since = [] if baseline is None else changes(document, baseline)
    lost = [str(change) for change in since if is_fault(change, moved)]
    return [*unfinished(document), *faults_of_session(document), *lost]


def faults_of_session(document: Document) -> list[str]:
    """The faults of a whole session, whatever its baseline has, a sentence each."""
    changed = [
        f"{claim['id']} is not as registered in {known['lock']}: {known['differs']}"
        for claim in document["claims"]
        if (known := claim.get("registration")) is not None and known["state"] == CHANGED
    ]
    return [*nothing_decided(document), *wrong_controls(document), *changed]


def size_in_margins(given: str) -> float:
    """The margins that a difference may move by, from an option: ``moved=2``, or ``moved``.

    Raises:
        InputError: It says anything else.
    """
    word, equals, size = given.partition("=")
    with contextlib.suppress(ValueError):
        if word == "moved" and (margins := float(size if equals else 1)) >= 0:
            return margins
    raise InputError(f"{given!r} is nothing to fail on; say moved, or moved=2 for two margins")


def is_fault(change: Change, moved: float | None) -> bool:
    """Whether a change lost a finding, or moved a difference by more margins than ``moved``."""
    return change.lost or (moved is not None and change.margins > moved)


def nothing_decided(document: Document) -> list[str]:
    """That a session asked for claims and none of them has a verdict that training gave."""
    verdicts = [claim["verdict"] for claim in document["claims"] if not claim["control"]]
    if not verdicts or any(verdict not in ("UNDECIDED", "NOT RUN") for verdict in verdicts):
        return []
    counts = (f"{verdicts.count(each)} {each}" for each in dict.fromkeys(verdicts))
    return [f"no claim is decided: {', '.join(counts)}"]


def wrong_controls(document: Document) -> list[str]:
    """The controls that came out other than expected or were not run, a sentence each reason."""
    wrong: dict[str, list[str]] = {}
    for claim in document["claims"]:
        if claim["control"] and not claim["as_expected"] and not is_too_weak(claim):
            idle = claim["as_expected"] is None
            is_now = f"is {claim['verdict']}, not {claim['expects']}"
            if claim["expects"] == "NO EFFECT":
                is_now = f"is not as expected: {claim['reason']}"
            wrong.setdefault(f"was not run: {claim['reason']}" if idle else is_now, []).append(
                claim["id"]
            )
    return [
        f"control {ids[0]}{f' (and {len(ids) - 1} more)' if ids[1:] else ''} {said}"
        for said, ids in wrong.items()
    ]


def has_claims_of(document: Document | None, file: str) -> bool:
    """Whether a document has claims of a file, which pytest's name of the file tells."""
    claims = () if document is None else document["claims"]
    return any(claim["nodeid"].partition("::")[0] == file for claim in claims)


def changes(latest: Document, baseline: Document) -> list[Change]:
    """The changes of a session's claims since the baseline, lost findings first.

    Claims that the session did not ask for are left out. One that broke or was skipped was asked
    for, and has changed: it is an ERROR now, or SKIPPED.

    Raises:
        InputError: The two are of different tiers, which can't be compared.
    """
    tiers = [document["session"]["tier"] for document in (latest, baseline)]
    if tiers[0] != tiers[1]:
        raise InputError(f"tier {tiers[0]} can't be compared with tier {tiers[1]}")
    now = {claim["id"]: claim for claim in latest["claims"]}
    changed = [
        change
        for claim in baseline["claims"]
        for change in (
            _changes(claim, now[claim["id"]]) if claim["id"] in now else _absent(claim, latest)
        )
    ]
    return sorted(changed, key=lambda change: not change.lost)


def _absent(old: Document, latest: Document) -> list[Change]:
    """The change of a claim that was asked for and has no verdict now."""
    for name, word in (("errors", "ERROR"), ("skipped", "SKIPPED")):
        for entry in latest.get(name, ()):
            # A claim that can't be read does not know its experiments, nor a file its claims.
            same = old["id"].partition("[")[0] if "[" not in entry.get("id", "[") else old["id"]
            place, _, _ = old["nodeid"].partition("::")
            if entry.get("id") == same or entry.get("nodeid") in (old["nodeid"], place):
                ran = old["control"] and old["verdict"] != "NOT RUN"
                said = f"was {old['verdict']} and is {word}"
                now = f"{word} {entry.get('reason', '')}"
                lost = ran or old["verdict"] == "SUPPORTED"
                return [Change(old["id"], lost, said, _numbers(old), now)]
    return []


def _changes(old: Document, new: Document) -> list[Change]:
    was, is_now = old["verdict"], new["verdict"]
    numbers = (_numbers(old), _numbers(new))
    moved = [
        (said, _margins(before, after))
        for before, after in zip(old["comparisons"], new["comparisons"], strict=False)
        if before["arms"] == after["arms"] and (said := _moved(before, after))
    ]
    if is_now == was:
        return [Change(new["id"], False, said, *numbers, margins) for said, margins in moved]
    lost = was == "SUPPORTED" and is_now in LOST
    if is_now == "NO EFFECT" and _same_within_the_margin(old, new):
        lost = False
    if new["control"]:
        lost = is_now == "NOT RUN"
    size = max((margins for _, margins in moved), default=0.0)
    return [Change(new["id"], lost, f"was {was} and is {is_now}", *numbers, size)]


def _margins(before: Document, after: Document) -> float:
    """By how many margins of the baseline a comparison's difference moved."""
    distance = abs((after["difference"] or 0) - (before["difference"] or 0))
    return distance / before["margin"] if before["margin"] else math.inf


def _same_within_the_margin(old: Document, new: Document) -> bool:
    """Whether an effect was shown to be there, was smaller than the margin, and still is.

    Such an effect is SUPPORTED and has NO EFFECT, in the end; which of the two is shown first
    depends on a machine's rounding. Both intervals lie within the margins, and each mean within the
    other's interval.
    """
    before, after = old["comparisons"], new["comparisons"]
    return (
        bool(before)
        and len(before) == len(after)
        and all(
            (was["arms"], was["margin"]) == (now["arms"], now["margin"])
            and not _contains(was["interval"], 0)
            and all(map(_within, (was, now)))
            and not (_moved(was, now) or _moved(now, was))
            for was, now in zip(before, after, strict=True)
        )
    )


def _within(comparison: Document) -> bool:
    low, high = comparison["interval"]
    margin = comparison["margin"]
    return None not in (low, high, margin) and -margin < low and high < margin


def _contains(interval: Sequence[float | None], value: float) -> bool:
    low, high = interval
    return (low is None or low <= value) and (high is None or value <= high)


def _moved(before: Document, after: Document) -> str:
    """How a comparison's difference moved, in words; "" where it did not."""
    mean, arms = after["difference"], f"{after['arms']['left']} − {after['arms']['right']}"
    if before["exact"]:
        # Statistics of tables have no spread, but their last digits are the machine's.
        same = math.isclose(mean or 0, before["difference"] or 0, rel_tol=0.01, abs_tol=1e-4)
        return "" if same else f"has another difference ({arms})"
    if mean is None or _contains(before["interval"], mean):
        return ""
    size = _margins(before, after)
    by = f", {size:.3g} margins from where it was" if math.isfinite(size) else ""
    return f"has a difference outside the interval that it had{by} ({arms})"


def _numbers(claim: Document) -> str:
    effects = [
        f"{_plain(one['difference'])} {one['unit']} "
        f"[{', '.join(map(_plain, one['interval']))}], {one['n']} seeds"
        for one in claim["comparisons"]
    ]
    return (
        "; ".join([claim["verdict"], *effects])
        if effects
        else f"{claim['verdict']} {claim['reason']}"
    )


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4g}"


def bless(report: Path, to: Path, anyway: bool = False, keep: bool = False) -> None:
    """Makes a suite's report the baseline: one ``verdicts.json`` in ``to``, small enough for git.

    Args:
        report: The folder that a session of claims wrote.
        to: The baseline's folder; it is made if need be.
        anyway: Whether to replace a baseline of another tier, or one with claims that the report
            lacks, which nothing would guard any longer.
        keep: Whether the replaced baseline's claims and audits stay that the report lacks.

    Raises:
        InputError: A control misbehaved or was not run, the session is unfinished, nothing was
            decided, ``verdicts.json`` is missing, or the old baseline is not to be replaced.
        OutputError: The baseline can't be written; it is as it was.
    """
    document = read(report / "verdicts.json")
    if lacking := unfinished(document):
        raise InputError(f"not blessed: {'; '.join(lacking)}; run pytest claims/ again")
    if wrong := [*nothing_decided(document), *wrong_controls(document)]:
        raise InputError(f"not blessed: {'; '.join(wrong)}")
    if all(claim["control"] for claim in document["claims"]):
        raise InputError(f"not blessed: no claim but controls in {report} was run")
    when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    if os.path.exists(to / "verdicts.json") and (keep or not anyway):
        old = read(to / "verdicts.json")
        changes(document, old)  # refuses another tier
        if keep:
            document = _with_kept(document, old)
        have = {claim["id"] for claim in document["claims"]}
        gone = [claim["id"] for claim in old["claims"] if claim["id"] not in have]
        if gone and not anyway:
            raise InputError(
                f"not blessed: {len(gone)} claims of {to} are not in {report}, such as {gone[0]}; "
                "run them all, keep them by --keep, or bless --anyway"
            )
    try:
        to.mkdir(parents=True, exist_ok=True)
        write_atomically(
            to / "verdicts.json",
            compact({**document, "blessed": {"when": when, "revision": _revision()}}),
        )
    except OSError as error:
        raise OutputError(
            f"not blessed: {to} can't be written ({error.strerror or error}), and is as it was; "
            "make room, or name another --to"
        ) from error


def _with_kept(document: Document, old: Document) -> dict[str, Any]:
    """The document with what the old baseline alone has; each such claim says since when."""
    # A session's own document is not blessed: then its session says when.
    blessed = old.get("blessed") or {"when": old["session"]["started"], "revision": None}
    have = {entry["id"] for entry in (*document["claims"], *document.get("audits", ()))}

    def kept(name: str) -> list[dict[str, Any]]:
        return [entry for entry in old.get(name, ()) if entry["id"] not in have]

    left = {"claims": [{"blessed": blessed, **each} for each in kept("claims")]}
    left |= {"audits": kept("audits")}
    merged = dict(document) | {
        name: sorted([*document.get(name, ()), *entries], key=lambda entry: str(entry["paper"]))
        for name, entries in left.items()
        if entries
    }
    merged["session"] = {**document["session"], **_session_of_both(document, old, left["claims"])}
    return merged | {"summary": summarise(merged)}


def _session_of_both(
    document: Document, old: Document, kept: Sequence[Document]
) -> dict[str, list[Any]]:
    """The locks, papers and notes of a session with those of the claims that were kept."""
    new, before = document["session"], old["session"]
    in_use = {(one.get("registration") or {}).get("lock") for one in kept}
    locks = {one["lock"]: one for one in before.get("locks", ()) if one["lock"] in in_use}
    locks |= {one["lock"]: one for one in new.get("locks", ())}
    papers = {one["key"]: one for each in (before, new) for one in each.get("papers", ())}
    notes = [*new.get("notes", ())]
    if kept:
        notes += [f"before: {note.removeprefix('before: ')}" for note in before.get("notes", ())]
    both = {"locks": [locks[name] for name in sorted(locks)], "papers": [*papers.values()]}
    return {name: values for name, values in (both | {"notes": notes}).items() if values}


def compact(document: Document) -> str:
    """A verdicts document as a baseline keeps it: one line for each claim and each audit.

    A claim that did not change is the same line in the next blessing, so that a diff shows what
    moved. The keys of runs are left out, since the store that they name is not in git.
    """
    claims = [
        {**claim, "comparisons": [{**entry, "runs": []} for entry in claim["comparisons"]]}
        for claim in document["claims"]
    ]
    slim = {**document, "claims": claims}
    members = []
    for name, value in slim.items():
        if isinstance(value, list) and value:
            entries = ",\n".join(map(_one_line, value))
            members.append(f"{_one_line(name)}: [\n{entries}\n]")
        else:
            members.append(f"{_one_line(name)}: {_one_line(value)}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def _one_line(value: Any) -> str:
    return printable(json.dumps(value, ensure_ascii=False, allow_nan=False))


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
