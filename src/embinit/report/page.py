"""The page and the document: verdicts.json and index.html.

What the page shows is put together here and written by ``template.html.j2``. Every text in the
document may come from a third-party claim, so the template escapes all of it. The page loads
nothing and needs no script. It has one of its own, which opens what a link leads to, and filters
and sorts the table of every claim; its policy forbids any other. A page of many claims is folded:
it leads with how they came out, and one family after another opens.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from embinit.claims.definitions import Origin, family_rank
from embinit.claims.paired_tests import VERDICTS, Relation, Verdict
from embinit.errors import InputError, OutputError, printable
from embinit.files.writing import held, write_together
from embinit.papers import Figure, PaperTable, Tier, papers_of
from embinit.papers import paper as find_paper
from embinit.registry import nearest
from embinit.report import baseline, numbers, past
from embinit.report.arms import (
    Arm,
    CoverageRow,
    Run,
    TaskRow,
    coverage_rows,
    gather,
    learning_curves,
    task_rows,
)
from embinit.report.charts import (
    HALF,
    LINE,
    Curves,
    Forest,
    History,
    Tick,
    curves,
    forest,
    margin_ticks,
)
from embinit.report.findings import FindingCount, Front, Row, by_tier, fronts, own_sd, sides
from embinit.report.templates import environment_of_pages
from embinit.report.verdicts import (
    WORDS_OF_STATE,
    Standing,
    bound,
    controls_left,
    deciding,
    deciding_p,
    is_too_weak,
    leaning,
    qualifications,
    qualified,
    standings,
)
from embinit.runs.kinds import kind_of

SCHEMA_VERSION = 1
UNFINISHED = "unfinished"
"""The folder for the report of an unfinished session, where a whole one has its place already."""

FOLD_FROM = 13
"""From so many claims on, families, their claims and the sections below them are closed."""

FULL_TIER = "paper"
"""The name of the tier with a paper's own sizes, where a paper has one."""


FIGURE_STYLE = (
    "text{font:11px sans-serif;fill:#59626c}.middle{text-anchor:middle}path{fill:none}"
    ".shade{fill:#e6f3ea}.axis,.tick{stroke:#b9bdc2}.zero{stroke:#1c2126;stroke-width:1.2}"
    ".margin{stroke:#835500;stroke-width:1.3;stroke-dasharray:4 3}.margin-text{fill:#835500}"
    ".dots{stroke:#2459a8;stroke-width:8;stroke-linecap:round;stroke-opacity:.72}"
    ".span{stroke:#1c2126;stroke-width:2}path.mean{fill:#1c2126}.card{fill:#fff}"
    ".title{font-size:14px;font-weight:bold;fill:#1c2126}.head{font-weight:bold;fill:#1c2126}"
    ".undecided .span{stroke-dasharray:3 2.5}.cross{stroke:#1c2126;stroke-width:2}"
    ".hollow{fill:#fff;stroke:#1c2126;stroke-width:1.6}"
)
"""How an image of its own looks: it stands where no style sheet of the page is."""

PITCH = 18.0
"""Between two comparisons of a finding's own image."""


@dataclass(frozen=True)
class Card:
    """All that the page shows of one claim.

    Attributes:
        claim: The claim's entry in the verdicts document.
        anchor: The page's fragment where the card stands.
        command: The command that runs the claim alone.
        forests: A plot of each comparison; None where there is nothing to draw.
        histories: Each comparison's effect over past sessions; None where fewer than two have it.
        curves: The arms' learning curves, if they have any.
        arms: The arms that the claim compares.
        failures: The runs that ended early, each with its reason.
        absent: The keys of runs that the store lacks.
        session: The number of its session on the page: 0 is the page's own, others stand beside.
    """

    claim: Mapping[str, Any]
    anchor: str
    command: str
    forests: tuple[Forest | None, ...]
    histories: tuple[History | None, ...]
    curves: Curves | None
    arms: tuple[Arm, ...]
    failures: tuple[str, ...]
    absent: tuple[str, ...]
    session: int = 0

    @property
    def deciding(self) -> Mapping[str, Any] | None:
        """The comparison that decides the claim; None where there is none."""
        return deciding(self.claim)

    @property
    def tabled(self) -> bool:
        """Whether the card's runs have statistics of their starting tables."""
        return any(arm.tables for arm in self.arms)


@dataclass(frozen=True)
class Family:
    """The claims of one family in the summary.

    Attributes:
        name: The family's name.
        cards: Its claims, controls last.
    """

    name: str
    cards: tuple[Card, ...]

    @property
    def ran(self) -> tuple[Card, ...]:
        """The family's claims that were run, without controls."""
        return tuple(
            card
            for card in self.cards
            if not card.claim["control"] and card.claim["verdict"] != "NOT RUN"
        )

    @property
    def checked(self) -> tuple[Card, ...]:
        """The family's controls that were run."""
        return tuple(
            card for card in self.cards if card.claim["control"] and not _was_not_run(card.claim)
        )

    @property
    def says(self) -> str:
        """The family's statement; its name where the document has none."""
        return self.cards[0].claim["family_says"] or self.name

    @property
    def anchor(self) -> str:
        """The page's fragment where the family's claims begin."""
        return _family_anchor(self.name, self.session)

    @property
    def session(self) -> int:
        """The number of its session on the page."""
        return self.cards[0].session

    @property
    def tally(self) -> dict[str, int]:
        """The family's count of claims by verdict, without controls."""
        findings = [card for card in self.cards if not card.claim["control"]]
        return {name: _tally(findings, name) for name in VERDICTS}

    @property
    def controls(self) -> tuple[int, int]:
        """The family's counts of controls: as expected, and run."""
        outcomes = [card.claim["as_expected"] for card in self.cards if card.claim["control"]]
        return outcomes.count(True), len(outcomes) - outcomes.count(None)

    @property
    def misbehaved(self) -> bool:
        """Whether one of the family's controls got the wrong verdict."""
        return any(card.claim["as_expected"] is False for card in self.cards)


def render(
    document: Mapping[str, Any],
    runs: Mapping[str, Run],
    before: Sequence[past.Session] = (),
    beside: Sequence[Mapping[str, Any]] = (),
    since: Sequence[str] | None = None,
) -> str:
    """The page as HTML text.

    Args:
        document: The verdicts document, which follows ``load_schema()``.
        runs: Runs by key. A run that is not among them costs the page its curves and tables.
        before: Earlier sessions, oldest first.
        beside: Documents of other tiers, which stand beside it: on the front, and claim by claim.
        since: What changed against a baseline, a line each; None where there is no baseline.

    Raises:
        InputError: The document has another schema version, or lacks a field that the schema
            requires.
    """
    version = document.get("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"verdicts document: schema_version is {version!r}, this embinit reads "
            f"{SCHEMA_VERSION}; run the claims again or use the embinit that wrote it"
        )
    try:
        sessions = [*before, past.line_of(document)]
        return printable(
            _environment()
            .get_template("template.html.j2")
            .render(vars(_page(document, runs, sessions, beside, since)))
        )
    except (KeyError, jinja2.UndefinedError) as error:
        raise InputError(
            f"verdicts document: a required field is absent ({error}); "
            "check it against embinit.report.load_schema()"
        ) from error


def write_report(
    document: Mapping[str, Any],
    runs: Mapping[str, Run],
    directory: Path,
    histories: Sequence[Path] = (),
    replace: bool = False,
    blessed: Mapping[str, Any] | None = None,
) -> Path:
    """Writes verdicts.json, index.html and history.jsonl, all or none.

    The session joins the directory's own history, where that can be read. Numbers that aren't
    finite become null. The
    document of an unfinished session doesn't replace that of a whole one: it goes into a folder
    ``unfinished`` beside it.

    Args:
        document: The verdicts document.
        runs: Runs by key.
        directory: Where the files go; it is made if need be.
        histories: Further histories whose sessions the page shows.
        replace: Whether the document of an unfinished session may replace that of a whole one.
        blessed: The baseline, of which the page tells what changed since.

    Returns:
        The page's path.

    Raises:
        OutputError: The files can't be written. What was there before is as it was.
        InputError: The document is not one.
    """
    document = _plain(document)
    try:
        if not replace and baseline.unfinished(document) and _has_whole(directory):
            directory = directory / UNFINISHED
            if directory.is_symlink():
                raise OutputError(f"{directory} is a link that leads out of the report; remove it")
        directory.mkdir(parents=True, exist_ok=True)
        with held(directory):
            _write(document, runs, directory, histories, blessed)
    except (FileExistsError, NotADirectoryError) as error:
        raise OutputError(
            f"{directory}: a file stands where the report should go; move it"
        ) from error
    except OSError as error:
        raise OutputError(
            f"the report in {directory} can't be written ({error.strerror or error}), and what was "
            "there is as it was; make room, or name another --embinit-report-dir"
        ) from error
    return directory / "index.html"


def _has_whole(directory: Path) -> bool:
    try:
        return not baseline.unfinished(baseline.read(directory / "verdicts.json"))
    except InputError:
        return False


def _write(
    document: Mapping[str, Any],
    runs: Mapping[str, Run],
    directory: Path,
    histories: Sequence[Path],
    blessed: Mapping[str, Any] | None,
) -> None:
    own = directory / past.NAME
    known = {path: past.readable(path) for path in (*histories, own)}
    since = None if blessed is None else [str(each) for each in baseline.changes(document, blessed)]
    page = render(document, runs, past.merged(filter(None, known.values())), since=since)
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    contents = {
        # Escapes of JSON, so that nobody's terminal is moved by a document that it shows.
        "verdicts.json": printable(text) + "\n",
        "index.html": page,
    }
    if (earlier := known[own]) is not None:  # what can't be read is not replaced
        contents[past.NAME] = past.lines([*earlier, past.line_of(document)])
    write_together(directory, contents)


@dataclass(frozen=True)
class Page:
    """The template's variables, each under its own name."""

    script: Markup
    script_digest: str
    session: Mapping[str, Any]
    tally: Mapping[str, int]
    fronts: Sequence[Front]
    ticks: Sequence[Tick]
    since: Sequence[str] | None
    headline: str
    lead: Sequence[FindingCount | str]
    standings: Sequence[Standing]
    families: Sequence[Family]
    beside: Sequence[tuple[Mapping[str, Any], Sequence[Family]]]
    folded: bool
    papers: Mapping[str, str]
    tier_says: Sequence[tuple[str, str]]
    full_tier_left: bool
    relations: Sequence[Relation]
    tasks: Sequence[TaskRow]
    late: tuple[int, int]
    followed: bool
    margins: Sequence[str]
    controls: Sequence[Card]
    arms: Sequence[Arm]
    calibration: Mapping[str, Any]
    sections: Sequence[Section]
    seeds: str
    distinct_controls: int
    methods: str
    audits: Sequence[Mapping[str, Any]]
    lacking: Sequence[str]
    misbehaved: Sequence[Card]
    not_run: Mapping[str, Sequence[Card]]
    coverage: Sequence[CoverageRow]
    signatures: Sequence[str]
    devices: Sequence[str]
    train_seconds: float
    used: int
    embeds: bool


def _embeds(used: Sequence[Run], claims: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the page speaks of embedding tables: where runs start from some, or claims do."""
    if used:
        return any(kind_of(run.spec).needs_models for run in used)
    return any(claim["source"] for claim in claims)


def _page(
    document: Mapping[str, Any],
    runs: Mapping[str, Run],
    sessions: Sequence[past.Session],
    beside: Sequence[Mapping[str, Any]],
    since: Sequence[str] | None,
) -> Page:
    """The page of a document."""
    claims, session = document["claims"], document["session"]
    cards = _cards(claims, runs, sessions)
    findings = [card for card in cards if not card.claim["control"]]
    controls = [card for card in cards if card.claim["control"]]
    families, used = _families(cards), _used(claims, runs)
    results = [run.result for run in used]
    told = [document, *beside]
    others = [_cards(each["claims"], {}, [], number) for number, each in enumerate(beside, start=1)]
    all_cards = [*cards, *itertools.chain(*others)]
    every = fronts(told)
    script, digest = _script()
    return Page(
        script=script,
        script_digest=digest,
        session=session,
        tally={name: _tally(findings, name) for name in VERDICTS},
        fronts=every,
        ticks=margin_ticks(),
        since=since,
        headline=headline(claims),
        lead=_lead(every, told),
        standings=standings(claims),
        families=families,
        beside=[
            (each["session"], _families(theirs))
            for each, theirs in zip(beside, others, strict=True)
        ],
        folded=len(all_cards) >= FOLD_FROM,
        papers={name: _citation(name) for name in _papers(document)},
        tier_says=list(
            dict.fromkeys((tier.name, tier.says) for each in told for tier in _tiers(each))
        ),
        full_tier_left=session["tier"] != FULL_TIER
        and any(FULL_TIER in paper.tiers for paper in papers_of(_papers(document))),
        relations=tuple(Relation),
        tasks=task_rows(used),
        late=_late(used),
        followed=any(past_effect is not None for card in cards for past_effect in card.histories),
        margins=_margins(claims),
        controls=controls,
        arms=list({arm.anchor: arm for card in cards for arm in card.arms}.values()),
        calibration=_calibration(),
        sections=_sections(document, used),
        seeds=_seeds_of_looks(claims),
        distinct_controls=len({_compared(card.claim) for card in controls}),
        methods=methods(document, used),
        audits=sorted(
            document.get("audits", []), key=lambda audit: audit["verdict"] != "INCONSISTENT"
        ),
        lacking=baseline.unfinished(document),
        misbehaved=[
            card
            for card in all_cards
            if card.claim["control"] and card.claim["as_expected"] is False
        ],
        not_run=_not_run(all_cards),
        coverage=coverage_rows(used),
        signatures=sorted({result.signature for result in results if result.signature}),
        devices=sorted({str(d) for result in results if (d := result.provenance.get("device"))}),
        train_seconds=math.fsum(result.seconds for result in results),
        used=len(used),
        embeds=_embeds(used, claims),
    )


@cache
def _script() -> tuple[Markup, str]:
    """The page's one script, and the digest by which its policy lets it run."""
    text = resources.files("embinit.report").joinpath("page.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), digest


def _was_not_run(claim: Mapping[str, Any]) -> bool:
    """Whether an entry stands with what was not run, for its reason."""
    expected = claim["as_expected"] or is_too_weak(claim)
    return claim["verdict"] == "NOT RUN" and not expected


def _not_run(cards: Sequence[Card]) -> dict[str, list[Card]]:
    """The claims that could not be run, by the reason."""
    reasons: dict[str, list[Card]] = {}
    for card in cards:
        if _was_not_run(card.claim):
            reasons.setdefault(card.claim["reason"], []).append(card)
    return reasons


def _seeds_of_looks(claims: Sequence[Mapping[str, Any]]) -> str:
    """How many seeds the looks at claims have, such as ``5, then 10``."""
    later = sorted({look["seeds"] for claim in claims for look in claim["looks"][1:]})
    return ", then ".join([_seeds(claims), *map(str, later)])


def _citation(key: str) -> str:
    known = find_paper(key)
    return key if known is None else known.citation


@dataclass(frozen=True)
class Section:
    """A paper's own part of the page.

    Attributes:
        paper: The paper's key.
        short: Its authors and year.
        methods: How its models are made, paragraph by paragraph.
        tables: Its tables beside ours, each with its curves if it is a figure.
        figures: Figures of its own.
    """

    paper: str
    short: str
    methods: tuple[str, ...]
    tables: tuple[tuple[PaperTable, Curves | None], ...]
    figures: tuple[Figure, ...]

    @property
    def anchor(self) -> str:
        """The page's fragment where the section begins."""
        return "paper-" + _slug(self.paper)


def _sections(document: Mapping[str, Any], used: Sequence[Run]) -> list[Section]:
    """The sections of all papers that have tables or figures on this tier."""
    tier = document["session"]["tier"]
    results = [run.result for run in used]
    sections = []
    for paper in papers_of(_papers(document)):
        if tier not in paper.tiers:
            continue
        tables = tuple(
            (table, curves(table.measure, table.curves, table.by) if table.curves else None)
            for table in paper.tables(tier, results)
        )
        figures = tuple(paper.figures(tier, results))
        if tables or figures:
            told = tuple(paper.methods(tier))
            sections.append(Section(paper.key, paper.short, told, tables, figures))
    return sections


def methods(document: Mapping[str, Any], runs: Sequence[Run]) -> str:
    """The text of a methods section: design, test, levels, measures and versions.

    Args:
        document: The verdicts document.
        runs: The runs that the verdicts rest on.
    """
    session, claims = document["session"], document["claims"]
    later = sorted({look["seeds"] for claim in claims for look in claim["looks"][1:]})
    families = {claim["family"] for claim in claims if not claim["control"]}
    versions = ", ".join(f"{name} {version}" for name, version in session["versions"].items())
    many = "one family" if len(families) == 1 else f"{len(families)} families"
    text = [
        f"Directional claims were tested with embinit on its {session['tier']} tier. Each arm was "
        f"trained with {_seeds(claims)} seeds. {_shared(runs, claims)}"
        "'Not worse' and 'alike' allow a margin that was registered "
        "before any run that it judges: at least twice the standard deviation of the baseline arm "
        f"over seeds. The claims belong to {many}; each shares out a level of 5 % evenly over its "
        "claims, counted beforehand. A claim is supported if all of its comparisons are, and "
        "refuted if the opposite of one is shown at the same level. A claim that one side is above "
        "the other has no effect if their difference is shown to be smaller than the margin on "
        "both sides. From three seeds on a decision had to stand without any one of them."
    ]
    compared = [entry for claim in claims for entry in claim["comparisons"] if not entry["exact"]]
    registered = sum(entry.get("spread") is not None for entry in compared)
    if registered:
        text.append(
            f"In {registered} of {len(compared)} comparisons the differences' standard deviation "
            "was pooled with one that was registered beforehand, on seeds that no claim uses, and "
            "taken to be no less than that."
        )
    late, trained = _late(runs)
    if late:
        text.append(
            f"Of {trained} trained runs {late} were best in their last epoch, so that their scores "
            "were still rising when training ended."
        )
    if later:
        text.append(
            f"What was undecided was looked at again, with up to {later[-1]} seeds. The looks "
            "spent a claim's level by Lan and DeMets's function of Pocock's type, fixed beforehand."
        )
    signatures = sorted({run.result.signature for run in runs if run.result.signature})
    if signatures:
        text.append(f"BLEU is sacreBLEU's ({'; '.join(signatures)}).")
    text.append(f"Device: {session['device']}. Versions: {versions}.")
    return " ".join(text)


def _shared(runs: Sequence[Run], claims: Sequence[Mapping[str, Any]]) -> str:
    """What arms of a seed have in common, and so how they were compared."""
    if _embeds(runs, claims):
        return (
            "Arms of a seed share the order of the data, dropout masks and all weights but the "
            "embedding tables, so arms were compared by a one-sided paired t test over seeds. "
        )
    return (
        "Arms were called with the same seeds, and compared by a one-sided paired t test over "
        "seeds. "
    )


def _tiers(document: Mapping[str, Any]) -> list[Tier]:
    """What a document's papers say of its tier."""
    name = document["session"]["tier"]
    return [one.tiers[name] for one in papers_of(_papers(document)) if name in one.tiers]


def _papers(document: Mapping[str, Any]) -> list[str]:
    entries = (*document["claims"], *document.get("audits", ()))
    return list(dict.fromkeys(entry["paper"] for entry in entries))


def _late(runs: Iterable[Run]) -> tuple[int, int]:
    """How many runs were best in their last epoch, and how many were trained for several."""
    best = [
        (run.result.measures["best_epoch"], epochs)
        for run in runs
        if (epochs := kind_of(run.spec).epochs(run.spec) or 0) > 1
        and "best_epoch" in run.result.measures
    ]
    return sum(epoch == epochs for epoch, epochs in best), len(best)


def _margins(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """The margins that comparisons allowed, each with its unit."""
    margins = {
        (comparison["unit"], comparison["margin"])
        for claim in claims
        for comparison in claim["comparisons"]
        if Relation(comparison["relation"]).uses_margin and comparison["margin"]
    }
    return [f"{numbers.plain(margin)} {unit}".rstrip() for unit, margin in sorted(margins)]


def _seeds(claims: Sequence[Mapping[str, Any]]) -> str:
    """How many seeds the first looks at claims have, such as ``5`` or ``3 to 5``."""
    first = sorted({claim["looks"][0]["seeds"] for claim in claims})
    return " to ".join(str(end) for end in dict.fromkeys((*first[:1], *first[-1:]))) or "0"


def _compared(claim: Mapping[str, Any]) -> tuple[Any, ...]:
    """A key that is equal for claims with the same comparisons of the same runs."""
    return tuple(
        (entry["metric"], entry["relation"], tuple(entry["runs"])) for entry in claim["comparisons"]
    ) or (claim["id"],)


def _outcome(standing: Standing, several: bool) -> str:
    of, claims = (f"of {standing.whose} ", "") if several else ("", " claims")
    count = standing.verdicts
    absent = count.get(Verdict.NOT_RUN, 0)
    ran = standing.claims - absent
    if not ran:
        return f"{of}none of {standing.claims}{claims} could be run"
    held = count.get(Verdict.SUPPORTED, 0)
    others = [
        f"{number} {words}"
        for verdict, words in (
            (Verdict.REFUTED, "refuted"),
            (Verdict.NO_EFFECT, "without effect"),
            (Verdict.UNDECIDED, "undecided"),
            (Verdict.NOT_RUN, "more not run"),
        )
        if (number := count.get(verdict, 0))
    ]
    holds = f"{of}{held} of {ran}{claims} {'holds' if held == 1 else 'hold'} here"
    return ", ".join([holds, *others])


def headline(claims: Sequence[Mapping[str, Any]]) -> str:
    """The session in one sentence, the paper's own statements first.

    Claims that were not run are left out of the denominators.
    """
    kinds = standings(claims)
    told = [_outcome(each, len(kinds) > 1) for each in kinds[:1]]
    if len(kinds) > 1:
        verdicts = sum((Counter(each.verdicts) for each in kinds[1:]), Counter())
        total = sum(each.claims for each in kinds[1:])
        told.append(_outcome(Standing("other statements", verdicts, 0, total, {}), True))
    words = "; ".join([*told, *qualifications(claims)]) or "no claims were put to the test"
    return f"{words[0].upper()}{words[1:]}; {_controls_told(claims)}."


def _controls_told(claims: Sequence[Mapping[str, Any]]) -> str:
    outcomes = [claim["as_expected"] for claim in claims if claim["control"]]
    if not outcomes:
        return "no controls"
    rest = controls_left(claims)
    return f"controls {outcomes.count(True)} of {len(outcomes)} as expected{rest}"


def _lead(
    every: Sequence[Front], documents: Sequence[Mapping[str, Any]]
) -> list[FindingCount | str]:
    """What the page says first: which findings hold on what, or else how many claims do."""
    told = by_tier(every)
    if not told:
        return [headline(documents[0]["claims"])]
    controls = _controls_told([claim for each in documents for claim in each["claims"]])
    return [*told, f"{controls[0].upper()}{controls[1:]}."]


@cache
def _calibration() -> dict[str, Any]:
    """How often a verdict errs, as ``benchmarks/calibration.py`` measured it.

    Of each error the largest rate over the kinds of claims is shown, for the statistic in use.
    """
    text = resources.files("embinit.report").joinpath("calibration.json").read_text("utf-8")
    measured: dict[str, Any] = json.loads(text)
    return measured


def _cards(
    claims: Sequence[Mapping[str, Any]],
    runs: Mapping[str, Run],
    sessions: Sequence[past.Session],
    session: int = 0,
) -> list[Card]:
    anchors = _anchors([claim["id"] for claim in claims], session)
    return [
        _card(claim, anchor, runs, sessions, session)
        for claim, anchor in zip(claims, anchors, strict=True)
    ]


def _card(
    claim: Mapping[str, Any],
    anchor: str,
    runs: Mapping[str, Run],
    sessions: Sequence[past.Session],
    session: int,
) -> Card:
    keys = list(dict.fromkeys(key for entry in claim["comparisons"] for key in entry["runs"]))
    arms = gather(keys, runs)
    return Card(
        claim=claim,
        anchor=anchor,
        command=numbers.rerun(claim["nodeid"], claim["tier"]),
        forests=tuple(forest(comparison) for comparison in claim["comparisons"]),
        histories=tuple(
            past.over_time(claim, index, sessions) for index in range(len(claim["comparisons"]))
        ),
        curves=learning_curves(arms),
        arms=arms,
        failures=tuple(
            f"{arm.label}, seed {run.spec.seed}: {run.result.failure}"
            for arm in arms
            for run in arm.runs
            if run.result.failure
        ),
        absent=tuple(key for key in keys if key not in runs),
        session=session,
    )


def _anchors(ids: Sequence[str], session: int) -> list[str]:
    """A fragment for each id, readable and the same in every session unless ids nearly agree."""
    anchors: dict[str, None] = {}
    for index, name in enumerate(ids):
        slug = _own("claim", session) + _slug(name)
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        choices = (slug, f"{slug}-{digest}", f"{slug}-{digest}-{index}")
        anchors[next(choice for choice in choices if choice not in anchors)] = None
    return list(anchors)


def _family_anchor(name: str, session: int) -> str:
    return _own("family", session) + _slug(name)


def _own(kind: str, session: int) -> str:
    """The beginning of the fragments of a session's claims or families; no name has a colon."""
    return f"{kind}:{session}:" if session else f"{kind}-"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-")


def _families(cards: Sequence[Card]) -> list[Family]:
    groups: dict[str, list[Card]] = {}
    for card in cards:
        groups.setdefault(card.claim["family"], []).append(card)
    return [
        Family(name, tuple(sorted(groups[name], key=lambda card: bool(card.claim["control"]))))
        for name in sorted(groups, key=family_rank)
    ]


def _tally(cards: Iterable[Card], verdict: str) -> int:
    return sum(card.claim["verdict"] == verdict for card in cards)


def _used(claims: Sequence[Mapping[str, Any]], runs: Mapping[str, Run]) -> list[Run]:
    keys = (key for claim in claims for entry in claim["comparisons"] for key in entry["runs"])
    return [runs[key] for key in dict.fromkeys(keys) if key in runs]


def figure_of(documents: Sequence[Mapping[str, Any]], name: str) -> str:
    """The figure of a finding in all sessions, or of a claim's deciding comparison, in SVG.

    Args:
        documents: Verdicts documents, one a tier. A claim is looked up in the first.
        name: The finding in the report's words, or the claim's id, with its experiment where there
            are several.

    Raises:
        InputError: There is neither, or nothing of it to draw.
    """
    claims = documents[0]["claims"]
    rows = {row.says: row for front in fronts(documents) for row in front.rows}
    for says, row in rows.items():
        if says.casefold() == name.casefold():
            return _figure_of_finding(row)
    found = [one for one in claims if name in (one["id"], one["id"].partition("[")[0])]
    if not found:
        known = nearest(name, [*rows, *(one["id"] for one in claims)])
        known = known or f"the findings are {', '.join(map(repr, rows))}"
        raise InputError(f"no finding and no claim {name!r} is among these verdicts: {known}")
    shown = deciding(found[0])
    drawn = None if shown is None else figure(shown)
    if drawn is None:
        raise InputError(f"{found[0]['id']} has no comparison to draw: {found[0]['reason']}")
    title = Markup.escape(printable(f"{found[0]['statement']}: {found[0]['verdict']}"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="160"><style>{FIGURE_STYLE}'
        f'</style><text class="title" y="16">{title}</text><g transform="translate(0 24)">{drawn}'
        "</g></svg>"
    )


def _figure_of_finding(row: Row) -> str:
    outcomes = [one for one in row.outcomes if one is not None and one.shown]
    if not outcomes:
        raise InputError(f"{row.says!r} has no comparison to draw: none of its claims ran")
    placed, floor = [], 26.0
    for one in outcomes:
        placed.append((one, floor))
        floor += PITCH * (len(one.lines) + 1)
    macros: Any = _environment().get_template("front.html.j2").module
    drawn = macros.figure(row.says, placed, margin_ticks(), FIGURE_STYLE, PITCH, floor)
    return printable(str(drawn)).strip()


def figure(comparison: Mapping[str, Any]) -> str | None:
    """A comparison's paired differences as an image of its own, in SVG; None without numbers.

    Args:
        comparison: The comparison's entry in the verdicts document.
    """
    plot = forest(comparison)
    if plot is None:
        return None
    macros: Any = _environment().get_template("parts.html.j2").module
    drawn = printable(str(macros.forest_plot(plot, comparison)))
    opened, _, rest = drawn[drawn.index("<svg") : drawn.index("</svg>")].partition(">")
    size = f'xmlns="http://www.w3.org/2000/svg" width="400" height="{plot.height}"'
    return f"{opened} {size}><style>{FIGURE_STYLE}</style>{rest}</svg>"


@cache
def _environment() -> jinja2.Environment:
    environment = environment_of_pages()
    environment.filters |= {"deciding_p": deciding_p, "leaning": leaning}
    environment.filters |= {
        "symbol": lambda relation: Relation(relation).symbol,
        "uses_margin": lambda relation: Relation(relation).uses_margin,
    }
    environment.filters |= {
        "qualified": qualified,
        "bound": bound,
        "points": numbers.points,
        "sides": sides,
        "own_sd": own_sd,
    }
    environment.filters |= {
        "family_anchor": _family_anchor,
        "front_anchor": lambda key: "findings-" + _slug(key),
    }
    environment.globals |= {"half": HALF, "line": LINE}
    environment.filters["origin"] = lambda name: Origin(name).in_words
    environment.filters["registered"] = lambda state: WORDS_OF_STATE.get(state, state)
    return environment


def _plain(value: Any) -> Any:
    """``value`` as strict JSON has it: no NaN, no infinity."""
    if isinstance(value, Mapping):
        return {str(name): _plain(content) for name, content in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(content) for content in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
