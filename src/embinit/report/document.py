"""Make the content of verdicts.json from judged claims and the runs in a store."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from embinit.claims.run_checks import repeated_otherwise
from embinit.papers import Paper, papers_of
from embinit.report.reading import SCHEMA_VERSION
from embinit.report.summary import summarise
from embinit.report.verdicts import locks_of, note_insensitive
from embinit.runs.functions import other_versions, untraced
from embinit.runs.results import RunResult, machines_of, versions
from embinit.runs.store import Store
from embinit.stats.statements import RULE


@dataclass(frozen=True)
class Circumstances:
    """The circumstances in which a session judged its claims."""

    tier: str
    device: str  # that trained, in words
    command: str
    started: float  # in seconds since the epoch
    seconds: float
    data_dir_given: bool
    seeds: int | None = None  # of the one interim analysis that an option asks for
    unfinished: str | None = None  # why it ended before each claim had its verdict
    asked_whole: Sequence[str] = ()  # files, folders and modules


def make_document(
    claims: list[dict[str, Any]],
    audits: list[dict[str, Any]],
    store: Store | None,
    circumstances: Circumstances,
    made: Set[str] = frozenset(),
    **absent: Sequence[dict[str, str]],
) -> tuple[dict[str, Any], dict[str, RunResult]]:
    """Make a session's document, and return it with the results of its claims' runs by key.

    Entries are sorted in place. ``made`` has the keys of what the session trained. ``absent`` are
    the tests without a verdict: ``errors`` and ``skipped``.
    """
    for entries in (claims, audits):
        entries.sort(key=lambda entry: entry["id"])
    note_insensitive(claims)
    papers = papers_of(entry["paper"] for entry in claims)
    keys = {key for entry in claims for pair in entry["comparisons"] for key in pair["runs"]}
    found = {} if store is None else {key: store.get(key) for key in sorted(keys)}
    results = {key: result for key, result in found.items() if result is not None}
    fresh = len(results.keys() & made)
    every = list(results.values())
    notes = [*untraced(every), *repeated_otherwise(every, on_cpu=False), *other_versions(every)]
    asked = (claim for claim in claims if claim["verdict"] == "SUPPORTED" and claim["reason"])
    notes += [f"{claim['id']}: {claim['reason']}" for claim in asked]
    locks = locks_of(claims)
    first = max((entry["looks"][0]["seeds"] for entry in claims), default=0)
    unfinished = circumstances.unfinished
    about = {
        **({"papers": [paper_entry(paper) for paper in papers]} if papers else {}),
        **({"locks": locks} if locks else {}),
        **({"notes": notes} if notes else {}),
        "started": datetime.fromtimestamp(circumstances.started, UTC).isoformat(),
        "wall_seconds": round(circumstances.seconds, 1),
        "tier": circumstances.tier,
        "device": circumstances.device,
        "seeds": circumstances.seeds or first,
        "command": circumstances.command,
        "runs": {"wanted": len(keys), "trained": fresh, "stored": len(keys) - fresh},
        "versions": versions(),
        **({"machines": machines} if (machines := machines_of(every)) else {}),
        "data_dir_given": circumstances.data_dir_given,
        "asked_whole": [*circumstances.asked_whole],
        **({} if unfinished is None else {"unfinished": unfinished}),
    }
    document: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "session": about}
    document |= {"rule": [*RULE], "claims": claims, "audits": audits}
    document |= {name: entries for name, entries in absent.items() if entries}
    return document | {"summary": summarise(document)}, results


def paper_entry(paper: Paper) -> dict[str, Any]:
    """The facts of a paper that a report needs."""
    return {
        "key": paper.key,
        "citation": paper.citation,
        "short": paper.short,
        "made": [tier.name for tier in paper.tiers.values() if tier.made],
        "findings": [
            {"says": row.says, "claims": list(row.claims), "published": row.published}
            for row in paper.findings
        ],
    }
