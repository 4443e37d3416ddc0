"""Findings: how groups of claims came out, and how sure one can be. The report's front.

A paper names its findings, each a group of claims. The claims of a paper that names none are told
by family. A row counts verdicts and never averages over unlike things: its numbers are those of
the decided comparison whose effect, in margins, is the middle one.

How sure one can be is a rule after GRADE (Guyatt et al. 2008, BMJ 336:924). Evidence is *high* to
begin with, and goes down by a step for each of these reasons, by two for a made language:

- *bias*: a claim was not registered beforehand, or a control failed, or none was run;
- *inconsistency*: decided claims disagree with each other, or tiers do;
- *indirectness*: a made language stands for real text; one task, or one source, for all;
- *imprecision*: a third of the claims or more are open, or the middle one hangs on a seed;
- *selection*: the direction was read off the data that it is tested on (explored, not confirmed).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from embinit.claims.definitions import family_rank
from embinit.claims.paired_tests import Relation, Verdict
from embinit.claims.registration_status import BEFOREHAND
from embinit.report import numbers
from embinit.report.charts import LARGEST
from embinit.report.numbers import finite
from embinit.report.verdicts import deciding, qualified

CERTAINTIES = ("very low", "low", "moderate", "high")
"""How sure one can be, in words, least first."""

LARGE = 3.0
"""From so many margins on an effect is told as large."""

OPEN_SHARE = 1 / 3
"""From this share of open claims on a finding is imprecise."""

TICKS = (-30, -10, -3, -1, 0, 1, 3, 10, 30)
REACH = 40.0
"""The axis of the front's plots, in margins, and its end."""

HALF = 110.0
"""Half of the axis in SVG units."""

LINE = 11.0
"""The height of a comparison's line in SVG units."""

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """A comparison on a finding's plot, in SVG units. To the right is the way that is claimed.

    Attributes:
        verdict: Its claim's verdict.
        y: The height.
        mean: Where the effect stands.
        low: Where the interval begins.
        high: Where it ends.
        says: The comparison in words.
    """

    verdict: str
    y: float
    mean: float
    low: float
    high: float
    says: str


@dataclass(frozen=True)
class Outcome:
    """How a finding came out in one session.

    Attributes:
        tier: The session's tier.
        kind: What its data are, in words; "" where the paper has no made ones.
        counts: How many of its claims have each verdict.
        numbers: The middle comparison: both sides' means, and their unit; "" where nothing ran.
        difference: Its difference with the interval, in points or the metric's unit.
        share: The difference as a share of what the baseline learns above guessing; None where
            that is not known.
        margins: The difference in margins, as claimed; None for one that has no margin.
        allows: Whether its claim allows a margin, as "no worse" does.
        where: The experiment of the middle comparison.
        settings: On how many tasks and sources the claims ran, in words.
        certainty: One of ``CERTAINTIES``.
        reasons: Why it is not *high*.
        lines: Its comparisons for the plot, largest effect first.
        anchor: The family of its first claim.
    """

    tier: str
    kind: str
    counts: Mapping[str, int]
    numbers: str
    difference: str
    share: float | None
    margins: float | None
    allows: bool
    where: str
    settings: str
    certainty: str
    reasons: tuple[str, ...]
    lines: tuple[Line, ...]
    anchor: str

    @property
    def ran(self) -> int:
        """How many of its claims were run."""
        return sum(self.counts.values()) - self.counts.get(Verdict.NOT_RUN, 0)

    @property
    def decided(self) -> int:
        """How many of them are decided."""
        return self.ran - self.counts.get(Verdict.UNDECIDED, 0)

    @property
    def upheld(self) -> int:
        """How many are supported."""
        return self.counts.get(Verdict.SUPPORTED, 0)

    @property
    def tally(self) -> str:
        """The count of verdicts in words."""
        if not self.ran:
            return "not run"
        told = [f"{self.upheld} of {self.ran} upheld"]
        for verdict, words in (
            (Verdict.REFUTED, "refuted"),
            (Verdict.NO_EFFECT, "without effect"),
            (Verdict.UNDECIDED, "open"),
            (Verdict.NOT_RUN, "not run"),
        ):
            if number := self.counts.get(verdict, 0):
                told.append(f"{number} {words}")
        return ", ".join(told)

    @property
    def size(self) -> str:
        """How large the middle effect is, in words."""
        if self.margins is None:
            return ""
        if self.allows:
            return ""
        reach = abs(self.margins)
        return "by a lot" if reach >= LARGE else "" if reach >= 1 else "by less than a margin"

    @property
    def word(self) -> str:
        """What was shown, in a word or two."""
        if not self.decided:
            return "not decided" if self.ran else "not run"
        if self.upheld == self.decided > self.ran - self.decided:
            return "holds"
        if self.upheld:
            return "holds in part"
        none = self.counts.get(Verdict.NO_EFFECT, 0) == self.decided
        return "makes little or no difference" if none else "does not hold"

    @property
    def sentence(self) -> str:
        """What was shown, worded by how sure one can be and by how large it is."""
        if not self.decided:
            return self.word[0].upper() + self.word[1:]
        stem = self.word.replace("does not hold", "not hold") if self.certainty == "low" else ""
        told = {
            "high": self.word,
            "moderate": f"probably {self.word}",
            "low": f"may {stem.replace('holds', 'hold').replace('makes', 'make')}",
            "very low": f"very uncertain; here it {self.word}",
        }[self.certainty]
        size = self.size if self.word == "holds" else ""
        return f"{told[0].upper()}{told[1:]}{', ' + size if size else ''}"


@dataclass(frozen=True)
class Row:
    """A finding on the report's front.

    Attributes:
        says: The finding.
        outcomes: How it came out in each session; None where that has none of its claims.
    """

    says: str
    outcomes: tuple[Outcome | None, ...]

    @property
    def certainty(self) -> str:
        """How sure one can be by the session that says most."""
        known = [each.certainty for each in self.outcomes if each is not None and each.decided]
        return max(known, key=CERTAINTIES.index, default=CERTAINTIES[0])


@dataclass(frozen=True)
class Front:
    """The findings of one paper.

    Attributes:
        key: The paper's key.
        citation: What it is.
        short: Its authors and year.
        tiers: The tiers of the sessions, and what each is.
        rows: Its findings.
    """

    key: str
    citation: str
    short: str
    tiers: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]


def fronts(documents: Sequence[Mapping[str, Any]]) -> list[Front]:
    """The findings of all papers of some sessions, side by side.

    Args:
        documents: Verdicts documents, one a tier. What a paper's findings are is told by the first
            of them that knows it.
    """
    papers: dict[str, Mapping[str, Any]] = {}
    for document in documents:
        for each in document["session"].get("papers", ()):
            papers.setdefault(each["key"], each)
    counts = Counter(entry["paper"] for document in documents for entry in document["claims"])
    found = []
    for key, _ in counts.most_common():
        paper = papers.get(key, {"key": key, "citation": key, "findings": [], "made": []})
        groups = paper["findings"] or _families(documents, key)
        rows = [
            Row(says, tuple(_outcome(document, paper, claims) for document in documents))
            for says, claims in ((each["says"], each["claims"]) for each in groups)
        ]
        rows = [_agreeing(row) for row in rows if any(row.outcomes)]
        if rows:
            tiers = tuple((each["session"]["tier"], _kind(paper, each)) for each in documents)
            found.append(Front(key, paper["citation"], paper.get("short", key), tiers, tuple(rows)))
    return found


def _kind(paper: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """What a tier's data are, in words; "" where the paper has no made ones."""
    if not paper["made"]:
        return ""
    return "made languages" if document["session"]["tier"] in paper["made"] else "real text"


def _families(documents: Sequence[Mapping[str, Any]], paper: str) -> list[dict[str, Any]]:
    """A paper's families as findings, for one that names none."""
    groups: dict[str, dict[str, Any]] = {}
    for document in documents:
        for entry in sorted(document["claims"], key=lambda entry: family_rank(entry["family"])):
            if entry["paper"] == paper and not entry["control"]:
                says = entry["family_says"] or entry["family"]
                group = groups.setdefault(entry["family"], {"says": says, "claims": []})
                group["claims"].append(_statement(entry))
    return list(groups.values())


def _statement(entry: Entry) -> str:
    return str(entry["id"]).partition("[")[0]


def _outcome(
    document: Mapping[str, Any], paper: Mapping[str, Any], ids: Iterable[str]
) -> Outcome | None:
    wanted = set(ids)
    every = [entry for entry in document["claims"] if entry["paper"] == paper["key"]]
    claims = [each for each in every if not each["control"] and _statement(each) in wanted]
    if not claims:
        return None
    tier = document["session"]["tier"]
    shown = [(each, one) for each in claims if (one := deciding(each)) is not None]
    shown.sort(key=lambda pair: -(_margins(pair[1]) or 0.0))
    decided = [pair for pair in shown if pair[0]["verdict"] != Verdict.UNDECIDED]
    middle = (decided or shown)[len(decided or shown) // 2] if shown else None
    counts = Counter(str(each["verdict"]) for each in claims)
    families = {each["family"] for each in claims}
    controls = [each for each in every if each["control"] and each["family"] in families]
    reasons = _reasons(paper, tier, claims, controls, counts, middle)
    return Outcome(
        tier=tier,
        kind=_kind(paper, document),
        counts=counts,
        numbers="" if middle is None else f"{sides(middle[1])} {middle[1]['unit']}".strip(),
        difference="" if middle is None else _difference(middle[1]),
        share=None if middle is None else _share(*middle),
        margins=None if middle is None else _margins(middle[1]),
        allows=middle is not None and Relation(middle[1]["relation"]).uses_margin,
        where="" if middle is None else _where(middle[0]),
        settings=_settings([each for each, _ in shown]),
        certainty=CERTAINTIES[max(0, len(CERTAINTIES) - 1 - sum(reasons.values()))],
        reasons=tuple(reasons),
        lines=tuple(_line(number, *pair) for number, pair in enumerate(shown)),
        anchor=claims[0]["family"],
    )


def _reasons(
    paper: Mapping[str, Any],
    tier: str,
    claims: Sequence[Entry],
    controls: Sequence[Entry],
    counts: Mapping[str, int],
    middle: tuple[Entry, Mapping[str, Any]] | None,
) -> dict[str, int]:
    """Why one can't be sure, each reason with its steps."""
    reasons: dict[str, int] = {}
    if any(each.get("registration", {}).get("state") != BEFOREHAND for each in claims):
        reasons["not all registered beforehand"] = 1
    known = [each for each in controls if each["as_expected"] is not None]
    if any(each["as_expected"] is False for each in known):
        reasons["a control failed"] = 1
    elif not known and any(each.get("trained", True) for each in claims):
        reasons["no control was run"] = 1
    if tier in paper["made"]:
        reasons["a made language stands for real text"] = 2
    decided = {name for name in counts if name not in (Verdict.UNDECIDED, Verdict.NOT_RUN)}
    if len(decided) > 1:
        reasons["settings disagree"] = 1
    open_, ran = counts.get(Verdict.UNDECIDED, 0), sum(counts.values())
    hangs = middle is not None and middle[1].get("hangs_on") is not None
    if hangs or open_ + counts.get(Verdict.NOT_RUN, 0) >= OPEN_SHARE * ran:
        reasons["much is open"] = 1
    tasks, sources = ({each[name] for each in claims if each[name]} for name in ("task", "source"))
    if len(tasks) < 2 or len(sources) == 1:
        reasons["on one task" if len(tasks) < 2 else "with one source"] = 1
    if any(str(each["statement"]).startswith("Exploratory") for each in claims):
        reasons["explored, not confirmed"] = 1
    return reasons


def _agreeing(row: Row) -> Row:
    """The row, less sure where its sessions disagree."""
    words = {each.word for each in row.outcomes if each is not None and each.decided}
    if len(words) < 2:
        return row

    def less(outcome: Outcome | None) -> Outcome | None:
        if outcome is None or not outcome.decided:
            return outcome
        lower = CERTAINTIES[max(0, CERTAINTIES.index(outcome.certainty) - 1)]
        return replace(outcome, certainty=lower, reasons=(*outcome.reasons, "tiers disagree"))

    return replace(row, outcomes=tuple(map(less, row.outcomes)))


def _margins(comparison: Mapping[str, Any]) -> float | None:
    """A difference over its margin, above 0 the way that is claimed; None without a margin."""
    difference = finite(comparison["difference"])
    return None if difference is None else _in_margins(comparison, difference)


def _in_margins(comparison: Mapping[str, Any], value: float) -> float | None:
    margin = finite(comparison["margin"])
    if not margin:
        return None
    below = comparison["relation"] in (Relation.BELOW, Relation.NOT_ABOVE)
    return (-value if below else value) / margin


def _known(values: Iterable[object]) -> list[float]:
    """The values that can be reckoned with."""
    every = (finite(value) for value in values)
    return [value for value in every if value is not None and abs(value) < LARGEST]


def _settings(claims: Sequence[Entry]) -> str:
    """On how many tasks and sources claims ran, in words."""
    told = []
    for name in ("task", "source"):
        number = len({each[name] for each in claims if each[name]})
        if number:
            told.append(f"{number} {name}{'' if number == 1 else 's'}")
    return ", ".join(told)


def sides(comparison: Mapping[str, Any], between: str = " for ") -> str:
    """Both sides' means, such as ``11.3 for 82.5``; a trend's alone, "" for none.

    Args:
        comparison: The comparison's entry.
        between: What stands between them.
    """
    left, right = _known(comparison["left_values"]), _known(comparison["right_values"])
    # A trend stands against nothing.
    means = [statistics.fmean(each) for each in (left, right if any(right) else []) if each]
    if not means:
        return ""
    places = min(numbers.decimals(means), 2 if max(map(abs, means)) >= 1 else 6)
    return between.join(numbers.number(mean, places) for mean in means)


def own_sd(comparison: Mapping[str, Any]) -> float | None:
    """The standard deviation of a comparison's own differences; None below two seeds."""
    pairs = zip(comparison["left_values"], comparison["right_values"], strict=False)
    apart = [known[0] - known[1] for pair in pairs if len(known := _known(pair)) == 2]
    return statistics.stdev(apart) if len(apart) > 1 else None


def _difference(comparison: Mapping[str, Any]) -> str:
    fair = comparison.get("adjusted") or comparison
    places = numbers.decimals([fair["difference"], *fair["interval"]])
    told = numbers.number(fair["difference"], places)
    if not comparison["exact"]:
        told += f" {numbers.interval(fair['interval'], places)}"
    told = f"{told} {numbers.points(comparison['unit'])}".strip()
    return told if fair is comparison else f"{told}, adjusted"


def _share(entry: Entry, comparison: Mapping[str, Any]) -> float | None:
    learns, difference = finite(entry.get("learns")), finite(comparison["difference"])
    if not learns or difference is None or comparison["metric"] != entry.get("metric"):
        return None
    return difference / learns


def _line(number: int, entry: Entry, comparison: Mapping[str, Any]) -> Line:
    open_ends = zip(comparison["interval"], (-math.inf, math.inf), strict=True)
    known = [end if (own := finite(each)) is None else own for each, end in open_ends]
    ends = sorted(_at(_in_margins(comparison, each)) for each in known)
    if comparison["exact"]:
        ends = [_at(_margins(comparison))] * 2
    where = _where(entry)
    words = qualified(entry) or str(entry["verdict"])
    return Line(
        str(entry["verdict"]),
        round((number + 0.5) * LINE, 1),
        _at(_margins(comparison)),
        ends[0],
        ends[1],
        f"{where}: {_difference(comparison)}, {words}",
    )


def _where(entry: Entry) -> str:
    """The experiment's name, without the tier, which the row has."""
    where = str(entry["experiment"] or entry["task"] or entry["place"])
    return where.replace(f"-{entry['tier']}-", "-").removeprefix(f"{entry['tier']}-")


def _at(margins: float | None) -> float:
    """Where a difference in margins stands; the axis is linear near 0 and logarithmic beyond."""
    value = 0.0 if margins is None else max(-REACH, min(REACH, margins))
    return round(HALF * (1 + math.asinh(value) / math.asinh(REACH)), 1)


def by_tier(every: Sequence[Front]) -> list[str]:
    """A sentence for each kind of data, where papers have made ones: how many findings hold there.

    Args:
        every: The papers' findings.
    """
    kinds: dict[str, list[Outcome]] = {}
    for front in every:
        for row in front.rows:
            for each in filter(None, row.outcomes):
                if each.kind and each.ran:
                    kinds.setdefault(each.kind, []).append(each)
    return [
        f"On {kind} {sum(each.word == 'holds' for each in outcomes)} of {len(outcomes)} findings "
        f"hold, {sum(each.word == 'holds in part' for each in outcomes)} in part."
        for kind, outcomes in kinds.items()
    ]


def ticks() -> list[tuple[float, str]]:
    """The axis' ticks and their labels."""
    return [(_at(float(tick)), numbers.plain(tick)) for tick in TICKS]
