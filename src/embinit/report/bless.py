"""Accept a report's verdicts as the baseline."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import subprocess
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from embinit.claims.records import Blessed
from embinit.errors import InputError, counted, printable
from embinit.files.typed import as_json
from embinit.files.writing import write_atomically, writing
from embinit.report.baseline import ChangeKind, compare
from embinit.report.document import Document
from embinit.report.faults import nothing_decided, wrong_controls
from embinit.report.making import locks_of
from embinit.report.reading import read
from embinit.report.summary import summarised


def bless(report: Path, to: Path, anyway: bool = False, keep: bool = False) -> list[str]:
    """Write a report's ``verdicts.json`` to ``to`` as the baseline, small enough for git.

    A baseline of another tier, or one with claims that the report lacks, is replaced ``anyway`` or
    not at all; ``keep`` keeps those claims and their audits. Returns what was lost or weakened
    since the replaced one, in words. InputError if the report is no sound one or the old baseline
    is not to be replaced; OutputError if it can't be written, and is as it was.
    """
    document = read(report / "verdicts.json")
    if lacking := document.lacking:
        raise InputError(f"not blessed: {'; '.join(lacking)}; run pytest claims/ again")
    if wrong := [*nothing_decided(document), *wrong_controls(document)]:
        raise InputError(f"not blessed: {'; '.join(wrong)}")
    if all(claim.control for claim in document.claims):
        raise InputError(f"not blessed: no claim but controls in {report} was run")
    lines = []
    if os.path.exists(to / "verdicts.json"):
        with contextlib.suppress(InputError) if anyway else contextlib.nullcontext():
            old = read(to / "verdicts.json", "embinit bless --anyway replaces it")
            if keep:
                document = _with_kept(document, old)
            since = compare(document, old)
            gone = [claim.id for claim in old.claims if claim.id not in document.by_id]
            if gone and not anyway:
                raise InputError(
                    f"not blessed: {report} lacks {counted(len(gone), 'claim')} of {to}, such as "
                    f"{gone[0]}; run them all, keep them by --keep, or bless --anyway"
                )
            lines = [str(one) for one in since.changes if one.kind is not ChangeKind.MOVED]
            lines += [
                f"{ChangeKind.LOST}: {name} was not asked for, and goes" for name in since.left_out
            ]
    when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    document = replace(document, blessed=Blessed(when=when, revision=_revision()))
    mend = ", and is as it was; make room, or name another --to"
    with writing(f"not blessed: {to}", mend):
        to.mkdir(parents=True, exist_ok=True)
        write_atomically(to / "verdicts.json", compact(document))
    return lines


def _with_kept(document: Document, old: Document) -> Document:
    """The document with the old baseline's further claims and audits, which have its date."""
    # A session's own document is not blessed: then its session says when.
    blessed = old.blessed or Blessed(when=old.session.started, revision=None)
    have = {*document.ids}
    kept = [
        replace(claim, blessed=claim.blessed or blessed)
        for claim in old.claims
        if claim.id not in have
    ]
    audits = [audit for audit in old.audits if audit.id not in have]
    new, claims = document.session, sorted([*document.claims, *kept], key=attrgetter("paper"))
    papers = {one.key: one for session in (old.session, new) for one in session.papers}
    notes = [f"before: {note.removeprefix('before: ')}" for note in old.session.notes if kept]
    return summarised(
        replace(
            document,
            session=replace(
                new,
                locks=locks_of(claims),
                papers=tuple(papers.values()),
                notes=(*new.notes, *notes),
            ),
            claims=tuple(claims),
            audits=tuple(sorted([*document.audits, *audits], key=attrgetter("paper"))),
            # A rule that did not decide those that were kept is left out.
            rule=document.rule if not kept or old.rule == document.rule else (),
        )
    )


def compact(document: Document) -> str:
    """A verdicts document as a baseline keeps it: one line for each claim and each audit.

    A claim that did not change is the same line in the next blessing, so that a diff shows what
    moved. The keys of runs are left out, since the store that they name is not in git.
    """
    claims = tuple(
        replace(claim, comparisons=tuple(replace(pair, runs=()) for pair in claim.comparisons))
        for claim in document.claims
    )
    members = [
        f"{_one_line(name)}: " + ("[\n" + ",\n".join(map(_one_line, value)) + "\n]")
        if isinstance(value, list) and value
        else f"{_one_line(name)}: {_one_line(value)}"
        for name, value in as_json(replace(document, claims=claims)).items()
    ]
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
