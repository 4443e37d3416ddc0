"""The document of a session, ``verdicts.json``: what the page, the terminal and Markdown show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from embinit.claims.records import AuditRecord, Blessed, ClaimRecord, Count
from embinit.files.typed import Limits
from embinit.stats.statements import VERDICTS

SCHEMA_VERSION: Final = 2

SYNTHETIC, REAL = "synthetic language", "real text"
"""The two kinds of data."""

REPLICATES, FAILS, MIXED = "replicates", "does not replicate", "mixed"
INCONCLUSIVE, NOT_RUN = "inconclusive", "not run"
HERE = {REPLICATES: "as claimed here", FAILS: "opposite here"}
"""The words for what a synthetic language shows of a finding on published embeddings."""

Counts = Mapping[str, Count]


@dataclass(frozen=True, kw_only=True)
class FindingRecord:
    """A finding of a paper."""

    says: Annotated[str, "The finding in words."]
    claims: Annotated[tuple[str, ...], "The ids of its claims, without experiments."]
    published: Annotated[
        bool | None,
        "Whether only the published embeddings, or data of the paper's size, can show it.",
    ] = None


@dataclass(frozen=True, kw_only=True)
class PaperRecord:
    """What is known of a paper that claims are of."""

    key: Annotated[str, "The first part of its claims' ids."]
    citation: Annotated[str, "What it is, in words."]
    short: Annotated[str, "Its authors and year."]
    made: Annotated[tuple[str, ...], "The tiers whose data are made by code."]
    findings: Annotated[
        tuple[FindingRecord, ...], "What it finds; empty where each of its claims is a finding."
    ]


@dataclass(frozen=True, kw_only=True)
class LockRecord:
    """A lock of claims."""

    lock: Annotated[str, "The file with its folder."]
    digest: Annotated[str, "Of the whole file, SHA-256, 16 hexadecimal digits."]


@dataclass(frozen=True, kw_only=True)
class RunCounts:
    """How many runs (arm x seed) the claims wanted and where they came from."""

    wanted: Annotated[Count, "Different runs asked for."]
    trained: Annotated[Count, "Trained in this session."]
    stored: Annotated[Count, "Found in the store."]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine that made runs."""

    architecture: str
    vendor: Annotated[str, "The processor's vendor."]
    instructions: Annotated[str, "The instruction set that made pinned runs."]

    def __str__(self) -> str:
        """All that is known of it."""
        return f"{self.architecture} ({self.vendor}, {self.instructions})"


@dataclass(frozen=True, kw_only=True)
class SessionRecord:
    """Where, when and how the claims were put to the test."""

    papers: Annotated[
        tuple[PaperRecord, ...],
        "The claims' papers; those that nobody registered are not here.",
    ] = ()
    locks: Annotated[
        tuple[LockRecord, ...], "The locks of the claims; absent if no folder has one."
    ] = ()
    notes: Annotated[
        tuple[str, ...],
        "What is to be known of the runs, such as a function that gives two numbers for one seed "
        "on a GPU; absent where there is nothing.",
    ] = ()
    started: Annotated[
        str,
        Limits(format="date-time"),
        "When the session started, ISO 8601 with an offset from UTC.",
    ]
    wall_seconds: Annotated[
        float, Limits(minimum=0), "Seconds from the session's start to the last verdict."
    ]
    tier: Annotated[
        str,
        "How much of the data was used; a paper names its tiers (micro, sample, paper …).",
    ]
    device: Annotated[
        str, "What trained, as torch names it, with the model of a GPU where there is one."
    ]
    seeds: Annotated[Count, "The most replicates an arm may have in this session."]
    command: Annotated[str, "The command line that started the session."]
    runs: RunCounts
    versions: Annotated[
        Mapping[str, str],
        "Version by package name (embinit, python, torch, numpy, scipy, sacrebleu and others).",
    ]
    machines: Annotated[tuple[Machine, ...], "The machines that made the runs."] = ()
    data_dir_given: Annotated[
        bool, "Whether a data directory was named; its path is left out on purpose."
    ]
    asked_whole: Annotated[
        tuple[str, ...] | None,
        "The files, folders (from pytest's root directory) and modules all of whose tests were "
        "asked for: a claim of a baseline that they lack is gone. Empty where -k, -m or another "
        "option chose tests; absent in older documents.",
    ] = None
    unfinished: Annotated[
        str | None,
        "Why the session ended before each claim that was asked for had its verdict, such as an "
        "interrupt; null or absent for a whole one.",
    ] = None

    @property
    def made_on(self) -> str:
        """The machines that made the runs, in words; "" where an earlier version did not say."""
        return " and ".join(map(str, self.machines))

    def version(self, package: str) -> str:
        """A package with its version; "" where it is unknown."""
        version = self.versions.get(package)
        return f"{package} {version}" if version else ""


@dataclass(frozen=True, kw_only=True)
class Unjudged:
    """A test, or a file of tests, that has no verdict."""

    nodeid: Annotated[str, "What names it on pytest's command line."] = "a claim"
    id: Annotated[
        str | None,
        "The claim's or the audit's id, without an experiment where it could not be read; absent "
        "where a whole file or a worker broke.",
    ] = None
    reason: Annotated[str, "What it raised, or why it was skipped, in one line."] = (
        "it does not say why"
    )

    def __str__(self) -> str:
        """Its name, and why it has no verdict."""
        return f"{self.id or self.nodeid}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class ControlCounts:
    """How many controls came out as they should."""

    as_expected: Count
    not_as_expected: Count
    not_run: Count
    too_weak: Annotated[Count, "Those that have too few seeds to tell."]


@dataclass(frozen=True, kw_only=True)
class StatementCounts:
    """The claims of a paper with one author of the statement, which training decides or not."""

    paper: Annotated[str, "The paper's key."]
    whose: Annotated[str, "The author and what decides, in words."]
    claims: Annotated[Count, "How many there are."]
    verdicts: Annotated[Counts, "How many have each verdict."]
    beforehand: Annotated[Count, "How many were registered before their runs."]
    late: Annotated[Counts, "Why the others were not, each reason with its number."]


@dataclass(frozen=True, kw_only=True)
class FindingSummary:
    """What came of a finding."""

    paper: Annotated[str, "The paper's key."]
    says: Annotated[str, "The finding in words."]
    named: Annotated[bool, "Whether the paper names it."]
    data: Annotated[
        str, Limits(enum=[SYNTHETIC, REAL, ""]), "Empty for data of which nothing is known."
    ]
    outcome: Annotated[
        str,
        Limits(enum=[REPLICATES, FAILS, *HERE.values(), MIXED, INCONCLUSIVE, NOT_RUN]),
        "'not run' where none of its claims could be run; of those that could, 'inconclusive' "
        "where fewer than half are decided, else 'replicates' (all decided ones SUPPORTED), 'does "
        "not replicate' (none is) or 'mixed'.",
    ]
    sources: Annotated[tuple[str, ...], "The labels of the sources that were tried."] = field(
        default_factory=tuple
    )
    verdicts: Annotated[
        Counts,
        Limits(required=[*VERDICTS]),
        "How many of its settings, a task with a source, have each verdict.",
    ]
    claims: Annotated[tuple[str, ...], "The ids of its claims, with their experiments."]
    middle: Annotated[
        str | None,
        "The id of the decided claim whose effect, in margins, is the median one; null where "
        "nothing was run.",
    ]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """All that the report counts, computed once from the claims."""

    verdicts: Annotated[Counts, "How many claims have each verdict, without controls."]
    qualified: Annotated[
        Counts,
        "How many SUPPORTED claims hold only within their margin, by the words that say so.",
    ]
    controls: ControlCounts
    audits: Annotated[Counts, "How many audits have each verdict."]
    statements: tuple[StatementCounts, ...]
    findings: Annotated[
        tuple[FindingSummary, ...],
        "The findings of each paper; of one that names none, each claim is one.",
    ]


@dataclass(frozen=True, kw_only=True)
class Document:
    """What one session of claims found: every claim's verdict with the numbers behind it."""

    schema_version: Annotated[
        Literal[2],
        "The version of this schema; a reader refuses one that it doesn't know. Within a version "
        "fields are only added, and none that is added is required.",
    ]
    session: SessionRecord
    rule: Annotated[
        tuple[str, ...],
        "The rule that decided, in sentences; absent where an earlier rule did.",
    ] = ()
    claims: Annotated[tuple[ClaimRecord, ...], "The claims that were asked for, by their ids."]
    audits: Annotated[
        tuple[AuditRecord, ...], "What was checked in a paper's printed numbers without training."
    ] = field(default_factory=tuple)
    errors: Annotated[
        tuple[Unjudged, ...],
        "The claims and audits that broke before they had a verdict; absent where none did.",
    ] = ()
    skipped: Annotated[
        tuple[Unjudged, ...],
        "The claims, or files of them, that were collected and skipped by pytest's means; absent "
        "where none was.",
    ] = ()
    summary: Summary
    blessed: Annotated[Blessed | None, "Absent in a session's own file."] = None

    @property
    def ids(self) -> list[str]:
        """The ids of its claims and audits."""
        return [*(claim.id for claim in self.claims), *(audit.id for audit in self.audits)]

    @property
    def lacking(self) -> list[str]:
        """Why it lacks verdicts that were asked for; empty for a whole one."""
        stopped = self.session.unfinished
        reasons = [] if stopped is None else [f"the session is unfinished: {stopped}"]
        return reasons + [f"{one.nodeid} broke: {one.reason}" for one in self.errors]
