"""Findings: how groups of claims came out, and how sure one can be. The report's front.

A paper names its findings, each a group of claims. The claims of a paper that names none are told
by family. A claim that is weaker than the paper's statement stands beside it and isn't counted, nor
is one of ours where there are the paper's. A row counts verdicts and never averages over unlike
things: its numbers are those of the decided comparison whose effect, in margins, is the middle one,
and rather of one that states a difference than of one that allows a margin.

How sure one can be is a rule after GRADE (Guyatt et al. 2008, BMJ 336:924). Evidence is *high* to
begin with, and goes down by a step for each of these reasons, by two for a made language and where
more than half of the claims are open:

- *bias*: a claim was not registered beforehand, or a control failed, or none says anything;
- *inconsistency*: decided claims disagree with each other, or tiers do;
- *indirectness*: a made language stands for real text; one task, or one source, for all;
- *imprecision*: a third of the claims or more are open, or the middle one hangs on a seed or has
  an interval on both sides of its margin;
- *selection*: the direction was read off the data that it is tested on (explored, not confirmed).
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from embinit.claims.definitions import OF_THE_PAPER, Origin, family_rank
from embinit.claims.paired_tests import Relation, Verdict
from embinit.claims.registration_status import BEFOREHAND
from embinit.report import numbers
from embinit.report.charts import Line, drawable, effect_in_margins, in_margins, line_of
from embinit.report.numbers import finite
from embinit.report.verdicts import bound, deciding, qualified

CERTAINTIES = ("very low", "low", "moderate", "high")
"""How sure one can be, in words, least first."""

LARGE = 3.0
"""From so many margins on an effect is told as large."""

OPEN_SHARE = 1 / 3
"""From this share of open claims on a finding is imprecise."""

EXPLORED = "Exploratory"
"""How the statement of a claim begins whose direction was read off the data."""

MADE = "micro-"
"""How the name of a task begins whose text code makes."""

Entry = Mapping[str, Any]

Shown = tuple[Entry, Mapping[str, Any]]
"""A claim's entry with the comparison that is shown for it."""


@dataclass(frozen=True)
class Outcome:
    """How a finding came out in one session.

    Attributes:
        tier: The session's tier.
        kind: What its data are, in words; "" where the paper has no made ones.
        claims: The entries of its claims.
        certainty: One of ``CERTAINTIES``.
        reasons: Why it is not *high*.
        whose: Whose statements its claims are, in brackets, where the finding's others are the
            paper's; "" where they are, too.
        session: The number of the session among those that are told.
    """

    tier: str
    kind: str
    claims: tuple[Entry, ...]
    certainty: str
    reasons: tuple[str, ...]
    whose: str = ""
    session: int = 0

    @property
    def counts(self) -> Counter[str]:
        """How many of its claims have each verdict."""
        return Counter(str(each["verdict"]) for each in self.claims)

    @property
    def shown(self) -> list[Shown]:
        """Its claims with the comparisons that are shown for them, largest effect first."""
        return _shown(self.claims)

    @property
    def middle(self) -> Shown | None:
        """The decided claim whose effect, in margins, is the middle one."""
        return _middle(self.shown)

    @property
    def lines(self) -> list[Line]:
        """Its comparisons for the plot."""
        return [
            line_of(number, comparison, str(entry["verdict"]), _told(entry, comparison))
            for number, (entry, comparison) in enumerate(self.shown)
        ]

    @property
    def numbers(self) -> str:
        """Both sides' means in the middle comparison with their unit; "" where nothing ran."""
        if self.middle is None:
            return ""
        return f"{sides(self.middle[1])} {self.middle[1]['unit']}".strip()

    @property
    def difference(self) -> str:
        """The middle comparison's experiment, and its difference with the interval."""
        if self.middle is None:
            return ""
        entry, comparison = self.middle
        told = f"{_where(entry)}: {_difference(comparison)}"
        allows = bound(entry) if Relation(comparison["relation"]).uses_margin else ""
        return f"{told}, {allows}" if allows else told

    @property
    def share(self) -> float | None:
        """The difference as a share of what the baseline learns above guessing, where known."""
        return None if self.middle is None else _share(*self.middle)

    @property
    def settings(self) -> str:
        """On how many tasks and sources its claims ran, in words."""
        return _settings([each for each, _ in self.shown])

    @property
    def ran(self) -> int:
        """How many of its claims were run."""
        return sum(self.counts.values()) - self.counts[Verdict.NOT_RUN]

    @property
    def decided(self) -> int:
        """How many of them are decided."""
        return self.ran - self.counts[Verdict.UNDECIDED]

    @property
    def upheld(self) -> int:
        """How many are supported."""
        return self.counts[Verdict.SUPPORTED]

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
            if number := self.counts[verdict]:
                told.append(f"{number} {words}")
        if number := sum(qualified(each).startswith("worse") for each in self.claims):
            told[0] += f" ({number} of them worse by less than the margin)"
        drawn = any(each.get("trained", True) for each in self.claims)
        return f"{', '.join(told)}{self.whose}{'' if drawn else ' (arithmetic)'}"

    @property
    def size(self) -> str:
        """How large the middle effect is, in words."""
        known = None if self.middle is None else effect_in_margins(self.middle[1])
        if self.middle is None or known is None:
            return ""
        if Relation(self.middle[1]["relation"]).uses_margin:
            return ""
        reach = abs(known)
        return "by a lot" if reach >= LARGE else "" if reach >= 1 else "by less than a margin"

    @property
    def word(self) -> str:
        """What was shown, in a word or two."""
        if not self.decided:
            return "not decided" if self.ran else "not run"
        decided = "" if self.decided > self.ran - self.decided else " where decided"
        if self.upheld == self.decided:
            return f"holds{decided}"
        if self.upheld:
            return "holds in part"
        none = self.counts[Verdict.NO_EFFECT] == self.decided
        return f"makes little or no difference{decided}" if none else "does not hold"

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


@dataclass(frozen=True)
class Front:
    """The findings of one paper.

    Attributes:
        key: The paper's key.
        citation: What it is.
        short: Its authors and year.
        tiers: The tiers of the sessions, and what each is.
        rows: Its findings.
        of_families: Whether they are its families, since it names none.
    """

    key: str
    citation: str
    short: str
    tiers: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    of_families: bool


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
        rows = []
        for each in groups:
            outcomes = tuple(
                _outcome(one, paper, each["claims"], number) for number, one in enumerate(documents)
            )
            whose = _whose(outcomes) if paper["findings"] else ""
            if paper["findings"] and not whose:
                outcomes = tuple(one and replace(one, whose=_whose([one])) for one in outcomes)
            rows.append(Row(f"{each['says']}{whose}", outcomes))
        rows = [_agreeing(row) for row in rows if any(row.outcomes)]
        if rows:
            tiers = tuple((each["session"]["tier"], _kind(paper, each)) for each in documents)
            short, named = paper.get("short", key), bool(paper["findings"])
            found.append(Front(key, paper["citation"], short, tiers, tuple(rows), not named))
    return found


def _whose(outcomes: Iterable[Outcome | None]) -> str:
    """Whose statement a paper's finding is, in brackets; "" where it is the paper's."""
    known = (entry for each in outcomes if each is not None for entry in each.claims)
    told = {str(Origin.OURS): " (ours)", str(Origin.SUMMARY): " (a summary's)"}
    origins = {str(entry.get("origin")) for entry in known}
    return told.get(origins.pop(), "") if len(origins) == 1 else ""


def _kind(paper: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """What a tier's data are, in words; "" where the paper has no made ones."""
    if _is_made(paper, document):
        return "made languages"
    return "real text" if paper["made"] else ""


def _is_made(paper: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    """Whether a tier's data are made: as its paper says, or else since its tasks are our own."""
    if paper["made"]:
        return document["session"]["tier"] in paper["made"]
    claims = (each for each in document["claims"] if each["paper"] == paper["key"])
    return any(str(each["task"] or "").startswith(MADE) for each in claims)


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
    document: Mapping[str, Any], paper: Mapping[str, Any], ids: Iterable[str], session: int
) -> Outcome | None:
    wanted = set(ids)
    every = [entry for entry in document["claims"] if entry["paper"] == paper["key"]]
    claims = [each for each in every if not each["control"] and _statement(each) in wanted]
    if paper["findings"]:
        claims = [each for each in claims if not each.get("weaker_than")]
        own = [each for each in claims if each.get("origin", Origin.PAPER) in OF_THE_PAPER]
        claims = own or claims
    if not claims:
        return None
    tier = document["session"]["tier"]
    families = {each["family"] for each in claims}
    controls = [each for each in every if each["control"] and each["family"] in families]
    reasons = _reasons(_is_made(paper, document), claims, controls)
    return Outcome(
        tier=tier,
        kind=_kind(paper, document),
        claims=tuple(claims),
        certainty=CERTAINTIES[max(0, len(CERTAINTIES) - 1 - sum(reasons.values()))],
        reasons=tuple(reasons),
        session=session,
    )


def _shown(claims: Iterable[Entry]) -> list[Shown]:
    pairs = [(each, one) for each in claims if (one := deciding(each)) is not None]
    return sorted(pairs, key=lambda pair: -(effect_in_margins(pair[1]) or 0.0))


def _middle(shown: Sequence[Shown]) -> Shown | None:
    decided = [pair for pair in shown if pair[0]["verdict"] != Verdict.UNDECIDED] or list(shown)
    # A tie has no interval, and one that allows a margin is about no effect.
    decided = [pair for pair in decided if drawable(pair[1]["interval"])] or decided
    stated = [pair for pair in decided if not Relation(pair[1]["relation"]).uses_margin]
    decided = stated or decided
    return decided[len(decided) // 2] if decided else None


def _reasons(made: bool, claims: Sequence[Entry], controls: Sequence[Entry]) -> dict[str, int]:
    """Why one can't be sure, each reason with its steps."""
    counts, middle = Counter(str(each["verdict"]) for each in claims), _middle(_shown(claims))
    reasons: dict[str, int] = {}
    if any(each.get("registration", {}).get("state") != BEFOREHAND for each in claims):
        reasons["not all registered beforehand"] = 1
    known = [each for each in controls if each["as_expected"] is not None]
    if any(each["as_expected"] is False for each in known):
        reasons["a control failed"] = 1
    elif not known and any(each.get("trained", True) for each in claims):
        reasons["no control says anything"] = 1
    if made:
        reasons["a made language stands for real text"] = 2
    decided = {name for name in counts if name not in (Verdict.UNDECIDED, Verdict.NOT_RUN)}
    if len(decided) > 1:
        reasons["settings disagree"] = 1
    hangs = middle is not None and middle[1].get("hangs_on") is not None
    share = (counts[Verdict.UNDECIDED] + counts[Verdict.NOT_RUN]) / len(claims)
    if share > 1 / 2:
        reasons["most is open"] = 2
    elif hangs or share >= OPEN_SHARE:
        reasons["much is open"] = 1
    elif middle is not None and _crosses(middle[1]):
        reasons["the interval crosses the margin"] = 1
    tasks, sources = ({each[name] for each in claims if each[name]} for name in ("task", "source"))
    if len(tasks) == 1 or len(sources) == 1:
        reasons["on one task" if len(tasks) == 1 else "with one source"] = 1
    if any(str(each["statement"]).startswith(EXPLORED) for each in claims):
        reasons["explored, not confirmed"] = 1
    return reasons


def _crosses(comparison: Mapping[str, Any]) -> bool:
    """Whether the interval has both what matters and what is too small to: its margin within."""
    ends = [in_margins(comparison, end) or 0.0 for end in drawable(comparison["interval"])]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    beyond = (-1.0,) if Relation(comparison["relation"]).uses_margin else (-1.0, 1.0)
    return any(low < bound < high for bound in beyond)


def _agreeing(row: Row) -> Row:
    """The row, less sure where its sessions disagree."""
    known = [each for each in row.outcomes if each is not None and each.decided]
    if len({(each.upheld > 0, each.upheld < each.decided) for each in known}) < 2:
        return row

    def less(outcome: Outcome | None) -> Outcome | None:
        if outcome is None or not outcome.decided:
            return outcome
        lower = CERTAINTIES[max(0, CERTAINTIES.index(outcome.certainty) - 1)]
        return replace(outcome, certainty=lower, reasons=(*outcome.reasons, "tiers disagree"))

    return replace(row, outcomes=tuple(map(less, row.outcomes)))


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
    left, right = drawable(comparison["left_values"]), drawable(comparison["right_values"])
    # A trend stands against nothing.
    means = [statistics.fmean(each) for each in (left, right if any(right) else []) if each]
    if not means:
        return ""
    places = min(numbers.decimals(means), 2 if max(map(abs, means)) >= 1 else 6)
    return between.join(numbers.number(mean, places) for mean in means)


def own_sd(comparison: Mapping[str, Any]) -> float | None:
    """The standard deviation of a comparison's own differences; None below two seeds."""
    pairs = zip(comparison["left_values"], comparison["right_values"], strict=False)
    apart = [known[0] - known[1] for pair in pairs if len(known := drawable(pair)) == 2]
    return statistics.stdev(apart) if len(apart) > 1 else None


def _difference(comparison: Mapping[str, Any]) -> str:
    known = comparison
    places = numbers.decimals([known["difference"], *known["interval"]])
    told = numbers.number(known["difference"], places)
    if not comparison["exact"] and drawable(known["interval"]):
        told += f" {numbers.interval(known['interval'], places)}"
    return f"{told} {numbers.points(comparison['unit'])}".strip()


def _share(entry: Entry, comparison: Mapping[str, Any]) -> float | None:
    learns, difference = finite(entry.get("learns")), finite(comparison["difference"])
    if not learns or difference is None or comparison["metric"] != entry.get("metric"):
        return None
    return difference / learns


def _told(entry: Entry, comparison: Mapping[str, Any]) -> str:
    words = qualified(entry) or str(entry["verdict"])
    name = _statement(entry).rpartition("/")[2]
    return f"{name}, {_where(entry)}: {_difference(comparison)}, {words}"


def _where(entry: Entry) -> str:
    """The experiment's name, without the tier, which the row has."""
    where = str(entry["experiment"] or entry["task"] or entry["place"])
    return where.replace(f"-{entry['tier']}-", "-").removeprefix(f"{entry['tier']}-")


@dataclass(frozen=True)
class FindingCount:
    """The count of findings by outcome, on one kind of data.

    Attributes:
        kind: The data, in words.
        parts: How many came out in one way, in words, with the names of those that are named.
        surest: How sure one can be of the surest of them; "" where none is decided.
    """

    kind: str
    parts: tuple[tuple[str, tuple[str, ...]], ...]
    surest: str


def by_tier(every: Sequence[Front]) -> list[FindingCount]:
    """The count of findings by outcome on each kind of data, where papers have made ones.

    Args:
        every: The papers' findings.
    """
    kinds: dict[str, list[tuple[Outcome, str]]] = {}
    for row in (row for front in every for row in front.rows):
        for each in filter(None, row.outcomes):
            if each.kind and each.ran:
                kinds.setdefault(each.kind, []).append((each, row.says))
    return [_count(kind, kinds[kind]) for kind in sorted(kinds, key="real text".__ne__)]


def _count(kind: str, told: Sequence[tuple[Outcome, str]]) -> FindingCount:
    groups = {"holds": "hold", "holds where decided": "in what is decided"}
    groups |= {"holds in part": "in part", "not decided": "are open", "does not hold": "do not"}
    named: dict[str, list[str]] = {word: [] for word in groups}
    for outcome, says in told:
        named.setdefault(outcome.word, []).append(f"'{says}'")
    known = [outcome.certainty for outcome, _ in told if outcome.decided]
    parts = []
    for word, names in named.items():
        if names or word == "holds":
            said = groups.get(word, word if len(names) == 1 else word.replace("makes", "make"))
            if len(names) == 1:
                said = said.replace("are", "is").replace("do not", "does not")
            count = f"{len(names)} of {len(told)} findings" if word == "holds" else str(len(names))
            against = word.startswith(("does", "makes"))
            listed = tuple(names) if against or kind == "real text" else ()
            parts.append((f"{count} {said}", listed))
    return FindingCount(kind, tuple(parts), max(known, key=CERTAINTIES.index, default=""))
