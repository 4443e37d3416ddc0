"""The state of a session of claims, which its plugins share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from embinit.claims.judging import Case
from embinit.pytest_plugin.items import ItemResult
from embinit.pytest_plugin.registering import Registering
from embinit.report.reading import SCHEMA_VERSION
from embinit.runs.modules import Home


@dataclass
class SessionState:
    """The state of a session: collected claims and their results.

    ``errors`` are claims without a verdict. ``unfinished`` says why the session ended before each
    had one. ``unwritten``: a result or the report could not be written.
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

    def document(self, asked_whole: Sequence[str]) -> dict[str, Any]:
        """The verdicts document with little of the session itself."""
        lists = {"errors": self.errors, "skipped": self.skipped}
        return {
            "schema_version": SCHEMA_VERSION,
            "session": {"tier": self.tier, "asked_whole": asked_whole},
            "claims": self.verdicts,
            "audits": self.audits,
            **{name: entries for name, entries in lists.items() if entries},
        }
