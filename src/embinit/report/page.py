"""Collect what the HTML page shows; ``template.html.j2`` writes it.

Every text may come from a third-party claim, so the template escapes all of it. The page loads
nothing and has no script; its policy forbids any. Counts are the document's ``summary``.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any

import jinja2

from embinit.claims.definitions import Origin
from embinit.errors import InputError, OutputError, printable
from embinit.files.writing import without_nan, write_atomically
from embinit.papers import Tier, papers_of
from embinit.report import numbers, summary, verdicts
from embinit.report.arms import gather, learning_curves
from embinit.report.baseline import Since, compare
from embinit.report.charts import (
    HALF,
    LINE,
    Curves,
    Forest,
    Line,
    forest,
    line_of,
    margin_ticks,
)
from embinit.report.methods import methods
from embinit.report.reading import SCHEMA_VERSION, unfinished
from embinit.runs.results import RunResult
from embinit.stats.statements import Relation

OPEN_UP_TO = 12
"""Up to so many claims are shown open; more are folded, each by itself."""


@dataclass(frozen=True)
class Card:
    """A claim's entry with its anchor, a plot for each comparison, its curves and failed runs."""

    claim: Mapping[str, Any]
    anchor: str
    forests: tuple[Forest | None, ...]
    curves: Curves | None
    failures: tuple[str, ...]


@dataclass(frozen=True)
class Session:
    """One document on the page, with its claims and controls by id."""

    document: Mapping[str, Any]
    cards: Mapping[str, Card]
    tiers: tuple[Tier, ...]
    methods: tuple[str, ...]

    @property
    def name(self) -> str:
        """The kind of data and the tier."""
        tier = f"{self.document['session']['tier']} tier"
        data = next((one["data"] for one in self.document["summary"]["findings"]), "")
        return f"{data} ({tier})" if data else tier

    @property
    def families(self) -> list[tuple[str, list[Card]]]:
        """Each family's statement with its claims, without controls."""
        claims = [card.claim for card in self.cards.values() if not card.claim["control"]]
        return [
            (says, [self.cards[claim["id"]] for claim in of_family])
            for says, of_family in verdicts.by_family(claims).items()
        ]

    @property
    def controls(self) -> list[Card]:
        """Its controls, those that misbehaved first."""
        controls = [card for card in self.cards.values() if card.claim["control"]]
        return sorted(controls, key=lambda card: card.claim["as_expected"] is not False)

    def lines(self, finding: Mapping[str, Any]) -> list[tuple[str, Line]]:
        """The comparisons of a finding for its plot, each with its card's anchor."""
        shown: list[tuple[str, Line]] = []
        for name in finding["claims"]:
            card = self.cards[name]
            if (one := verdicts.deciding(card.claim)) is not None:
                says = f"{name}: {verdicts.difference(one)}, {card.claim['verdict']}"
                line = line_of(len(shown), one, card.claim["verdict"], says)
                shown += [] if line is None else [(card.anchor, line)]
        return shown

    def examples(self, finding: Mapping[str, Any]) -> list[Card]:
        """The cards of the claims whose numbers a finding shows."""
        claims = {name: card.claim for name, card in self.cards.items()}
        return [self.cards[one["id"]] for one in summary.examples(finding, claims)]


def render(
    document: Mapping[str, Any],
    results: Mapping[str, RunResult],
    others: Sequence[Mapping[str, Any]] = (),
    since: Since | None = None,
) -> str:
    """The page as HTML text, with curves of the runs whose ``results`` are given by key.

    ``others`` are documents of other tiers, ``since`` what changed since a baseline (None without
    one). InputError if a document has another schema version, or lacks a field.
    """
    documents = [document, *others]
    for each in documents:
        if each.get("schema_version") != SCHEMA_VERSION:
            raise InputError(
                f"verdicts document: schema_version is {each.get('schema_version')!r}, this "
                f"embinit reads {SCHEMA_VERSION}; run the claims again"
            )
    try:
        page = _environment().get_template("template.html.j2")
        return printable(page.render(_variables(documents, results, since)))
    except (KeyError, jinja2.UndefinedError) as error:
        raise InputError(
            f"verdicts document: a required field is absent ({error}); "
            "check it against embinit.report.load_schema()"
        ) from error


def write_report(
    document: Mapping[str, Any],
    results: Mapping[str, RunResult],
    directory: Path,
    blessed: Mapping[str, Any] | None = None,
) -> Path:
    """Writes verdicts.json and index.html, and returns the page's path.

    InputError if the document is none, OutputError if it can't be written.
    """
    document = without_nan(document)
    since = None if blessed is None else compare(document, blessed)
    page = render(document, results, since=since)
    # Control characters are written as JSON's escapes, so that no terminal obeys them.
    text = printable(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)) + "\n"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        write_atomically(directory / "verdicts.json", text)
        write_atomically(directory / "index.html", page)
    except (FileExistsError, NotADirectoryError) as error:
        raise OutputError(f"{directory} is a file; move it, the report goes there") from error
    except OSError as error:
        raise OutputError(
            f"the report in {directory} can't be written ({error.strerror or error}); make room, "
            "or name another --embinit-report-dir"
        ) from error
    return directory / "index.html"


def _variables(
    documents: Sequence[Mapping[str, Any]],
    results: Mapping[str, RunResult],
    since: Since | None,
) -> dict[str, Any]:
    """The template's variables."""
    first, session = documents[0], documents[0]["session"]
    compared = [each for entry in first["claims"] for each in entry["comparisons"]]
    keys = dict.fromkeys(key for each in compared for key in each["runs"])
    used = [results[key] for key in keys if key in results]
    signatures = sorted({result.signature for result in used if result.signature})
    sessions = [
        Session(
            document,
            _cards(document["claims"], {} if number else results, number),
            tuple(_tiers(document)),
            tuple(methods(document, () if number else signatures)),
        )
        for number, document in enumerate(documents)
    ]
    tables = summary.tables(documents)
    audits = {audit["id"]: audit for each in documents for audit in each.get("audits", ())}
    every = [card for one in sessions for card in one.cards.values()]
    return {
        "session": session,
        "sessions": sessions,
        "several": len(sessions) > 1,
        "tables": tables,
        "lists": summary.lists(tables),
        "embeds": any(card.claim["source"] for card in every),
        "synthetic": any(
            summary.SYNTHETIC in name for table in tables for _, name in table.columns
        ),
        "ticks": margin_ticks(),
        "since": since,
        "folded": len(every) > OPEN_UP_TO,
        "misbehaved": [card for card in every if card.claim["as_expected"] is False],
        "lacking": [each for document in documents for each in unfinished(document)],
        "notes": [
            f"{one.name}: {note}" if len(sessions) > 1 else note
            for one in sessions
            for note in one.document["session"].get("notes", ())
        ],
        # Once each, those that disagree first.
        "audits": sorted(audits.values(), key=lambda audit: audit["verdict"] != "INCONSISTENT"),
        "devices": sorted({str(d) for one in used if (d := one.provenance.get("device"))}),
        "train_seconds": math.fsum(one.seconds for one in used),
        "used": len(used),
    }


def _tiers(document: Mapping[str, Any]) -> Iterable[Tier]:
    """What a document's papers say of its tier."""
    name = document["session"]["tier"]
    keys = dict.fromkeys(entry["paper"] for entry in document["claims"])
    return (paper.tiers[name] for paper in papers_of(keys) if name in paper.tiers)


def _cards(
    claims: Sequence[Mapping[str, Any]], results: Mapping[str, RunResult], session: int
) -> dict[str, Card]:
    anchors = _anchors([claim["id"] for claim in claims], session)
    return {
        claim["id"]: _card(claim, anchor, results)
        for claim, anchor in zip(claims, anchors, strict=True)
    }


def _card(claim: Mapping[str, Any], anchor: str, results: Mapping[str, RunResult]) -> Card:
    arms = gather(claim["comparisons"], results)
    failures = (
        f"{arm.label}, seed {result.spec.seed}: {result.failure}"
        for arm in arms
        for result in arm.results
        if result.failure
    )
    plots = tuple(forest(comparison) for comparison in claim["comparisons"])
    return Card(claim, anchor, plots, learning_curves(arms), tuple(failures))


def _anchors(ids: Sequence[str], session: int) -> list[str]:
    """An anchor for each id; readable, and the same in every session unless ids nearly agree."""
    anchors: dict[str, None] = {}
    for name in ids:
        slug = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-")
        slug = f"claim:{session}:{slug}" if session else f"claim-{slug}"
        choices = chain([slug], (f"{slug}-{number}" for number in count(2)))
        anchors[next(choice for choice in choices if choice not in anchors)] = None
    return list(anchors)


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
    for module in (numbers, verdicts, summary):
        functions = inspect.getmembers(module, inspect.isfunction)
        environment.filters |= {name: one for name, one in functions if name[0] != "_"}
    environment.filters |= {
        "symbol": lambda relation: Relation(relation).symbol,
        "origin": lambda name: Origin(name).in_words,
        "registered": verdicts.WORDS_OF_STATE.__getitem__,
    }
    environment.globals |= {
        "half": HALF,
        "line": LINE,
        "as_claimed": summary.AS_CLAIMED,
        "missing": numbers.MISSING,
        "decimals": numbers.decimals,
        "rerun": numbers.rerun,
    }
    return environment
