"""Collect what the HTML page shows; ``template.html.j2`` writes it.

Every text may come from a third-party claim, so the template escapes all of it. The page loads
nothing and has no script; its policy forbids any. Counts are the document's ``summary``.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2

from embinit.claims.records import ClaimRecord, ComparisonRecord, Consistency
from embinit.errors import counted, printable
from embinit.files.typed import as_json
from embinit.files.writing import write_atomically, writing
from embinit.papers import Tier, papers_of
from embinit.report import charts, numbers, summary, verdicts
from embinit.report.baseline import Since
from embinit.report.document import Document, FindingSummary
from embinit.runs.results import RunResult

OPEN_UP_TO = 12
"""Up to so many claims are shown open; more are folded, each by itself."""


@dataclass(frozen=True)
class DocumentView:
    """One of the page's documents, the ``number``-th, with the results of its runs by key."""

    number: int
    document: Document
    results: Mapping[str, RunResult]

    def anchor(self, claim: ClaimRecord) -> str:
        """The id of a claim's place on the page, which may have the claim in other documents."""
        slug = re.sub(r"[^A-Za-z0-9._]+", "-", claim.id).strip("-")
        return f"claim:{self.number}:{slug}" if self.number else f"claim-{slug}"

    @property
    def signatures(self) -> list[str]:
        """How sacreBLEU was called in its runs."""
        pairs = [pair for claim in self.document.claims for pair in claim.comparisons]
        known = {key for pair in pairs for key in pair.runs} & self.results.keys()
        return sorted({self.results[key].signature for key in known} - {""})

    @property
    def name(self) -> str:
        """The kind of data and the tier."""
        tier = verdicts.tier_in_words(self.document.session)
        data = next((one.data for one in self.document.summary.findings), "")
        return f"{data} ({tier})" if data and tier else data or tier

    @property
    def papers(self) -> dict[str, str]:
        """The short names of its papers by key; tests of one's own belong to none."""
        return {one.key: one.short for one in self.document.session.papers}

    @property
    def tiers(self) -> list[Tier]:
        """What its papers say of its tier."""
        name = self.document.session.tier
        return [paper.tiers[name] for paper in papers_of(self.papers) if name in paper.tiers]

    @property
    def tested(self) -> list[ComparisonRecord]:
        """The comparisons that a test decides: all but exact ones."""
        return [pair for one in self.document.claims for pair in one.comparisons if not pair.exact]

    @property
    def controls(self) -> list[ClaimRecord]:
        """Its controls, those that misbehaved first."""
        controls = [claim for claim in self.document.claims if claim.control]
        return sorted(controls, key=lambda claim: claim.as_expected is not False)

    def lines(self, finding: FindingSummary) -> list[charts.Line]:
        """The comparisons of a finding for its plot."""
        lines = (charts.line_of(self.document.by_id[name]) for name in finding.claims)
        return [line for line in lines if line is not None]

    @property
    def command(self) -> str:
        """The command that trains all claims again; "" without any."""
        if not (files := [claim.file for claim in self.document.claims]):
            return ""
        sign = "/" if files[0].endswith(".py") else "."  # of a module
        place = os.path.commonpath([file.replace(sign, "/") for file in files]).replace("/", sign)
        if sign == "/" and not place.endswith(".py"):
            place = f"{place or '.'}/"
        return numbers.rerun(self.document.session, place)

    def command_of(self, finding: FindingSummary) -> str:
        """The command that trains the files of a finding's claims again; "" without any."""
        files = dict.fromkeys(self.document.by_id[name].file for name in finding.claims)
        return numbers.rerun(self.document.session, *files) if files else ""


def render(
    document: Document,
    results: Mapping[str, RunResult],
    others: Sequence[Document] = (),
    since: Since | None = None,
) -> str:
    """Render the report as HTML text; ``results`` has the runs of the curves by key.

    ``others`` are documents of other tiers, ``since`` what changed since a baseline (None without
    one).
    """
    documents = [document, *others]
    sessions = [DocumentView(number, one, results) for number, one in enumerate(documents)]
    every = [(one, claim) for one in sessions for claim in one.document.claims]
    audits = {audit.id: audit for one in documents for audit in one.audits}
    template = _environment().get_template("template.html.j2")
    page = template.render(
        sessions=sessions,
        several=len(sessions) > 1,
        tables=summary.tables(documents),
        lists=summary.lists(documents),
        embeds=any(claim.source for _, claim in every),
        folded=len(every) > OPEN_UP_TO,
        misbehaved=[(one, claim) for one, claim in every if claim.as_expected is False],
        lacking=[lack for one in documents for lack in one.lacking],
        # Once each, those that disagree first.
        audits=sorted(audits.values(), key=lambda one: one.verdict is Consistency.CONSISTENT),
        since=since,
    )
    return printable(page)


def write_report(
    document: Document,
    results: Mapping[str, RunResult],
    directory: Path,
    since: Since | None = None,
) -> Path:
    """Write verdicts.json and index.html, and return the path of the page.

    OutputError if it can't be written.
    """
    page = render(document, results, since=since)
    # Control characters are written as JSON's escapes, so that no terminal obeys them.
    text = json.dumps(as_json(document), indent=1, ensure_ascii=False, allow_nan=False)
    mend = "; make room, or name another --embinit-report-dir"
    with writing(f"the report in {directory}", mend):
        directory.mkdir(parents=True, exist_ok=True)
        write_atomically(directory / "verdicts.json", printable(text) + "\n")
        write_atomically(directory / "index.html", page)
    return directory / "index.html"


@cache
def _environment() -> jinja2.Environment:
    """The template's environment: everything is escaped, and nothing may be absent."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("embinit.report", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for module in (charts, numbers, verdicts, summary):
        for name, one in inspect.getmembers(module, inspect.isfunction):
            if name[0] != "_" and one.__module__ == module.__name__:
                environment.filters[name] = one
    environment.globals |= {
        "counted": counted,
        "half": charts.HALF,
        "line": charts.LINE,
        "margin_ticks": charts.MARGIN_TICKS,
        "missing": numbers.MISSING,
    }
    return environment
