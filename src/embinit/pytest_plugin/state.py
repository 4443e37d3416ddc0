"""The state of a session of claims, which its plugins share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from embinit.claims.judging import Case
from embinit.pytest_plugin.items import ItemResult
from embinit.pytest_plugin.registering import Registering
from embinit.report.baseline import SCHEMA_VERSION
from embinit.runs.modules import Home


@dataclass
class SessionState:
    """The state of a session: collected claims and their results.

    Attributes:
        tier: The tier's name.
        registering: What is registered, in a session that judges nothing.
        cases: The claims that were read in this process.
        modules: The modules of claims, which register inits and the like.
        results: What came of the tests of claims and audits, by node id.
        errors: The claims that broke, and so have no verdict: their entries in the document.
        skipped: The claims that were collected and skipped, and so have none either.
        unfinished: Why the session ended before each claim had its verdict; None if it did not.
        reported: Whether a claim was reported, so that there is something to conclude.
        unwritten: Whether a result or the report could not be written.
    """

    tier: str
    registering: Registering
    cases: list[Case] = field(default_factory=list)
    modules: dict[Home, None] = field(default_factory=dict)
    results: dict[str, ItemResult] = field(default_factory=dict)
    errors: list[dict[str, str]] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    unfinished: str | None = None
    reported: bool = False
    unwritten: bool = False

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        """The claims' entries in the verdicts document."""
        return [each.verdict for each in self.results.values() if each.verdict is not None]

    @property
    def audits(self) -> list[dict[str, Any]]:
        """The audits' entries there."""
        return [each.audit for each in self.results.values() if each.audit is not None]

    def document(self) -> dict[str, Any]:
        """The verdicts document without what is told of the session itself."""
        lists = {"errors": self.errors, "skipped": self.skipped}
        return {
            "schema_version": SCHEMA_VERSION,
            "session": {"tier": self.tier},
            "claims": self.verdicts,
            "audits": self.audits,
            **{name: entries for name, entries in lists.items() if entries},
        }
