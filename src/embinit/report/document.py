"""The document of a session, ``verdicts.json``: what the page, the terminal and Markdown show."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from embinit.claims.records import AuditRecord, Blessed, ClaimRecord, Count, NodeId, Size
from embinit.files.typed import Limits
from embinit.papers import Finding
from embinit.stats.statements import VERDICTS

SCHEMA_VERSION: Final = 2

SYNTHETIC, REAL, OWN_SIZE = "synthetic language", "real text", "the paper's size"
"""The kinds of data: made by code, cut to a CPU, and as large as the paper's."""

REPLICATES, FAILS, MIXED = "replicates", "does not replicate", "mixed"
INCONCLUSIVE, NOT_RUN = "inconclusive", "not run"
NOT_TESTABLE = "not testable at this size"
HERE = {REPLICATES: "as claimed here", FAILS: "opposite here"}
"""The words for what a synthetic language shows of a finding on published embeddings."""

Counts = Mapping[str, Count]


@dataclass(frozen=True, kw_only=True)
class PaperRecord:
    """What is known of a paper that claims are of."""

    key: Annotated[str, "The first part of its claims' ids."]
    citation: str
    short: Annotated[str, "Its authors and year."]
    made: Annotated[tuple[str, ...], "The tiers whose data are made by code."]
    findings: Annotated[tuple[Finding, ...], "Empty where each of its claims is a finding."]
    own_size: Annotated[tuple[str, ...], "The tiers whose data are as large as the paper's."] = ()


@dataclass(frozen=True, kw_only=True)
class LockRecord:
    """A lock of claims."""

    lock: Annotated[str, "The file with its folder."]
    digest: Annotated[str, "Of the whole file, SHA-256, 16 hexadecimal digits."]


@dataclass(frozen=True, kw_only=True)
class RunCounts:
    """How many runs (arm x seed) the claims wanted and where they came from."""

    wanted: Count
    trained: Annotated[Count, "Trained in this session."]
    stored: Annotated[Count, "Found in the store."]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine that made runs."""

    architecture: str
    vendor: Annotated[str, "The processor's vendor."]
    instructions: Annotated[str, "The instruction set of the lab's runs."]

    def __str__(self) -> str:
        """All that is known of it."""
        return f"{self.architecture} ({self.vendor}, {self.instructions})"


@dataclass(frozen=True, kw_only=True)
class SessionRecord:
    """Where, when and how the claims were put to the test."""

    papers: Annotated[tuple[PaperRecord, ...], "The claims' papers, of those registered."] = ()
    locks: Annotated[tuple[LockRecord, ...], "The locks of the claims."] = ()
    notes: Annotated[tuple[str, ...], "What is to be known of the runs."] = ()
    started: Annotated[str, Limits(format="date-time"), "ISO 8601 with an offset from UTC."]
    wall_seconds: Annotated[Size, "From the session's start to the last verdict."]
    tier: Annotated[str, "How much of the data was used, by a paper's or one's own name."]
    device: Annotated[str, "What trained, as torch names it, with the model of a GPU."]
    seeds: Annotated[Count, "The most replicates an arm may have in this session."]
    command: Annotated[str, "The command line that started the session."]
    runs: RunCounts
    versions: Annotated[Mapping[str, str], "Version by package name."]
    machines: Annotated[tuple[Machine, ...], "Those that made the runs."] = ()
    data_dir_given: Annotated[bool, "Whether a data directory was named; its path is left out."]
    asked_whole: Annotated[
        tuple[str, ...] | None,
        "The files, folders (from pytest's root directory) and modules all of whose tests were "
        "asked for: a claim of a baseline that they lack is gone. Absent in older documents.",
    ] = None
    unfinished: Annotated[
        str | None,
        Limits(type=["string", "null"]),
        "Why it ended before each claim had its verdict.",
    ] = None


@dataclass(frozen=True, kw_only=True)
class Unjudged:
    """A test, or a file of tests, that has no verdict; without an id where it wasn't read."""

    nodeid: NodeId = "a claim"
    id: str | None = None
    reason: Annotated[str, "What it raised, or why it was skipped."] = "it does not say why"

    def __str__(self) -> str:
        """Its name, and why it has no verdict."""
        return f"{self.id or self.nodeid}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class ControlCounts:
    """How many controls came out as they should, and how many say nothing."""

    as_expected: Count
    not_as_expected: Count
    not_run: Count
    too_weak: Annotated[Count, "Those that have too few seeds to tell."]


@dataclass(frozen=True, kw_only=True)
class StatementCounts:
    """The claims of a paper with one author of the statement, which training decides or not."""

    paper: Annotated[str, "The paper's key."]
    whose: Annotated[str, "The author and what decides, in words."]
    claims: Count
    verdicts: Counts
    beforehand: Annotated[Count, "How many were registered before their runs."]
    late: Annotated[Counts, "Why the others were not, each reason with its number."]


@dataclass(frozen=True, kw_only=True)
class FindingSummary:
    """What came of a finding."""

    paper: Annotated[str, "The paper's key."]
    says: str
    named: Annotated[bool, "Whether the paper names it."]
    data: Annotated[
        str, Limits(enum=[SYNTHETIC, REAL, OWN_SIZE, ""]), "Empty where nothing is known of it."
    ]
    outcome: Annotated[
        str,
        Limits(
            enum=[REPLICATES, FAILS, *HERE.values(), MIXED, INCONCLUSIVE, NOT_RUN, NOT_TESTABLE]
        ),
    ]
    sources: Annotated[tuple[str, ...], "Labels of those tried."] = field(default_factory=tuple)
    verdicts: Annotated[Counts, Limits(required=[*VERDICTS]), "How many of its settings have each."]
    claims: Annotated[tuple[str, ...], "The ids of its claims, with their experiments."]
    middle: Annotated[str | None, "The id of the decided claim of the median effect in margins."]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """All that the report counts, computed once from the claims."""

    verdicts: Annotated[Counts, "How many claims have each verdict, without controls."]
    qualified: Annotated[Counts, "How many SUPPORTED claims hold only within their margin."]
    controls: ControlCounts
    audits: Annotated[Counts, "How many audits have each verdict."]
    statements: tuple[StatementCounts, ...]
    findings: Annotated[tuple[FindingSummary, ...], "Each claim of a paper that names none."]


@dataclass(frozen=True, kw_only=True)
class Document:
    """What one session of claims found: every claim's verdict with the numbers behind it."""

    schema_version: Annotated[Literal[2], "Within a version only optional fields are added."]
    session: SessionRecord
    rule: Annotated[tuple[str, ...], "The rule that decided; absent where an earlier one did."] = ()
    claims: tuple[ClaimRecord, ...]
    audits: tuple[AuditRecord, ...] = field(default_factory=tuple)
    errors: Annotated[tuple[Unjudged, ...], "What broke before it had a verdict."] = ()
    skipped: Annotated[tuple[Unjudged, ...], "What pytest's means skipped."] = ()
    summary: Summary
    blessed: Blessed | None = None

    @functools.cached_property
    def by_id(self) -> Mapping[str, ClaimRecord]:
        """Its claims and controls by id."""
        return {claim.id: claim for claim in self.claims}

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
