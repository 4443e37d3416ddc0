"""Compare verdicts with a baseline, a ``verdicts.json`` that somebody accepted.

What was found may be *lost*: a claim that was SUPPORTED is not any longer, states something else,
or is gone though all of its file was asked for. It is *weakened* where it is UNDECIDED, with fewer
seeds or with an effect that may still be what it was. Any other change has *moved*.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from embinit.claims.records import ClaimRecord, ComparisonRecord, State
from embinit.errors import InputError, counted
from embinit.report.document import Document
from embinit.report.summary import DECIDED
from embinit.report.verdicts import difference
from embinit.runs.instructions import TRIED
from embinit.stats.statements import Verdict

STATED = {"relation": "relation", "arms": "arms", "metric": "measure", "margin": "margin"}
"""What a comparison states, by its field, and what each is called."""


COMPUTING = ("torch", "numpy")
"""The packages whose versions decide the last digits of the lab's runs."""


class ChangeKind(enum.StrEnum):
    """The kinds of changes, the gravest first."""

    LOST = "LOST"
    WEAKENED = "weakened"
    MOVED = "moved"


@dataclass(frozen=True)
class Change:
    """A change of a claim: its record in the baseline and now, or a text if it has none now.

    ``margins`` is by how many margins the mean difference moved: infinitely many where there is no
    margin.
    """

    kind: ChangeKind
    said: str
    old: ClaimRecord
    new: ClaimRecord | str
    margins: float = 0.0

    def __str__(self) -> str:
        """Three lines: the change, then the numbers before and now."""
        now = self.new if isinstance(self.new, str) else _numbers(self.new)
        said = f"{self.kind}: {self.old.id} {self.said}"
        return f"{said}\n    before: {_numbers(self.old)}\n    now:    {now}"


@dataclass(frozen=True)
class FailOn:
    """The kinds of changes that count as faults."""

    strict: bool = False
    moved: float = math.inf

    @classmethod
    def of(cls, given: str | None, strict: bool) -> FailOn:
        """From the options: ``moved=2``, or ``moved`` for one margin; InputError for others."""
        if given is None:
            return cls(strict)
        if found := re.fullmatch(r"moved(?:=(\d+(?:\.\d*)?))?", given):
            return cls(strict, float(found[1] or 1))
        raise InputError(f"{given!r} is nothing to fail on; say moved, or moved=2 for two margins")

    def includes(self, change: Change) -> bool:
        """Whether a change is a fault."""
        weakened = self.strict and change.kind is ChangeKind.WEAKENED
        return change.kind is ChangeKind.LOST or weakened or change.margins > self.moved


LOST_ALONE = FailOn()


@dataclass(frozen=True)
class Since:
    """The changes since a baseline that has ``claims`` claims; ``left_out`` were not asked for.

    ``setting`` says with what else the runs were made, which moves numbers by itself; "" for
    nothing. Of ``compared`` comparisons with the same seeds, ``renumbered`` have other numbers.
    ``replication`` says how many verdicts hold on other data draws; "" in other sessions.
    """

    changes: tuple[Change, ...]
    left_out: tuple[str, ...]
    claims: int
    setting: str = ""
    compared: int = 0
    renumbered: int = 0
    replication: str = ""

    @property
    def in_words(self) -> str:
        """That there are no changes, and how many claims were not compared."""
        left = len(self.left_out)
        if self.replication:
            return self.replication
        where = "in what was compared" if left else "since the baseline"
        sentences = [] if self.changes else [f"No changes {where}."]
        if self.renumbered:
            sentences = [] if self.changes else [f"No verdict changed {where}."]
            sentences.append(
                f"The scores of {self.renumbered} of {counted(self.compared, 'comparison')} differ."
            )
        if left:
            verb = "was" if left == 1 else "were"
            of = counted(self.claims, "claim")
            sentences.append(f"Of the baseline's {of}, {left} {verb} not asked for.")
        return " ".join(sentences)


def require_same_tier(tier: str, baseline: Document) -> None:
    """Refuses a baseline of another tier, which can't be compared (InputError)."""
    if tier != baseline.session.tier:
        raise InputError(f"tier {tier} can't be compared with tier {baseline.session.tier}")


def require_claims(baseline: Document) -> None:
    """Refuses a baseline in which nothing can be lost (InputError)."""
    if not (baseline.claims or baseline.audits):
        raise InputError("the baseline has no claims; make it by embinit bless")


def compare(document: Document, baseline: Document) -> Since:
    """What changed since a baseline, the gravest first; InputError for another tier's."""
    require_same_tier(document.session.tier, baseline)
    now = {claim.id: claim for claim in document.claims}
    changes: list[Change] = []
    left_out: list[str] = []
    known_vendor = _vendors(document) <= {*TRIED, *_vendors(baseline)}
    alike: list[bool] = []
    for old in baseline.claims:
        if (new := now.get(old.id)) is not None:
            found = _changes(old, new)
            if not known_vendor and not _restated(old, new):
                found = [replace(one, kind=ChangeKind.MOVED, margins=0.0) for one in found]
            changes += found
            alike += _same_numbers(old, new)
        elif (change := _absent(old, document)) is not None:
            changes.append(change)
        else:
            left_out.append(old.id)
    changes.sort(key=lambda change: [*ChangeKind].index(change.kind))
    return Since(
        tuple(changes),
        tuple(left_out),
        len(baseline.claims),
        _setting(document, baseline),
        len(alike),
        alike.count(False),
        _replication(baseline.claims, now),
    )


def _replication(before: Sequence[ClaimRecord], now: Mapping[str, ClaimRecord]) -> str:
    """How many verdicts and means of a baseline hold on other data draws; "" if none was tried."""
    pairs = [
        (old, new)
        for old in before
        if (new := now.get(old.id)) is not None
        and new.registration is not None
        and new.registration.state is State.REPLICATION
        and not old.control
    ]
    if not pairs:
        return ""
    decided = [(old, new) for old, new in pairs if old.verdict in DECIDED]
    turned = [new for old, new in decided if new.verdict != old.verdict]
    undecided = sum(new.verdict not in DECIDED for new in turned)
    within = [
        _contains(was, is_now.difference)
        for old, new in pairs
        for was, is_now in zip(old.comparisons, new.comparisons, strict=False)
        if was.has_interval and is_now.difference is not None
    ]
    differ = len(turned) - undecided
    said = (
        [f"{undecided} {'is' if undecided == 1 else 'are'} not decided here"] if undecided else []
    )
    said += [f"{differ} {'differs' if differ == 1 else 'differ'}"] if differ else []
    hold = f"{len(decided) - len(turned)} of {counted(len(decided), 'decided verdict')} hold"
    return (
        f"Replication: {', '.join([hold, *said])}; "
        f"{within.count(True)} of {counted(len(within), 'mean difference')} lie in the baseline's "
        "intervals."
    )


def _same_numbers(old: ClaimRecord, new: ClaimRecord) -> Iterator[bool]:
    """Whether the scores are equal in every digit, for each comparison of the same seeds."""
    for was, now in zip(old.comparisons, new.comparisons, strict=False):
        if was.seeds == now.seeds:
            yield (was.left_values, was.right_values) == (now.left_values, now.right_values)


def _vendors(document: Document) -> set[str]:
    return {machine.vendor for machine in document.session.machines}


def _setting(document: Document, baseline: Document) -> str:
    """With what else than the baseline's the runs were made, in a sentence; "" for nothing."""
    here, before = document.session, baseline.session
    pairs = [(here.made_on, before.made_on)]
    pairs += [(here.version(name), before.version(name)) for name in COMPUTING]
    differ = [f"{now} in place of {was}" for now, was in pairs if now and was and now != was]
    if not differ:
        return ""
    untried = _vendors(document) - {*TRIED, *_vendors(baseline)}
    ends = (
        f". No processor of {' or '.join(sorted(untried))} was tried, so no change is a fault."
        if untried
        else "; this alone moves scores."
    )
    return f"The runs were made with {', '.join(differ)}{ends}"


def _absent(old: ClaimRecord, document: Document) -> Change | None:
    """The change of a claim that has no verdict now; None for one that was not asked for."""
    guards = old.control and old.verdict is not Verdict.NOT_RUN
    for entries, word in ((document.errors, "ERROR"), (document.skipped, "SKIPPED")):
        for entry in entries:
            # A claim that can't be read does not know its experiments, nor a file its claims.
            same = entry.id is not None and entry.id in (old.id, old.id.partition("[")[0])
            if same or entry.nodeid in (old.nodeid, old.file):
                lost = guards or old.verdict is Verdict.SUPPORTED
                kind = ChangeKind.LOST if lost else ChangeKind.MOVED
                now = f"{word} {entry.reason}"
                return Change(kind, f"was {old.verdict} and is {word}", old, now)
    session, file = document.session, old.file
    end = "/" if file.endswith(".py") else "."  # of a module
    whole = any(
        place in (".", file) or file.startswith(place + end) for place in session.asked_whole or ()
    )
    if session.unfinished is not None or not whole:
        return None
    kind = ChangeKind.LOST if guards or not old.control else ChangeKind.MOVED
    now = f"no test of it was found in {file}"
    return Change(kind, f"was {old.verdict} and is gone", old, now)


def _changes(old: ClaimRecord, new: ClaimRecord) -> list[Change]:
    """The changes of a claim that has a verdict now."""
    if restated := _restated(old, new):
        kind = ChangeKind.MOVED if old.control else ChangeKind.LOST
        return [Change(kind, f"states something else: {restated}", old, new)]
    pairs = zip(old.comparisons, new.comparisons, strict=False)
    moved = [(said, _margins(*pair)) for pair in pairs if (said := _moved(*pair))]
    if new.verdict == old.verdict:
        return [Change(ChangeKind.MOVED, said, old, new, size) for said, size in moved]
    size = max((margins for _, margins in moved), default=0.0)
    said = f"was {old.verdict} and is {new.verdict}"
    return [Change(_kind(old, new), said, old, new, size)]


def _kind(old: ClaimRecord, new: ClaimRecord) -> ChangeKind:
    if new.control:
        return ChangeKind.LOST if new.verdict is Verdict.NOT_RUN else ChangeKind.MOVED
    if old.verdict is not Verdict.SUPPORTED:
        return ChangeKind.MOVED
    if new.verdict is Verdict.UNDECIDED:
        pairs = zip(old.comparisons, new.comparisons, strict=False)
        gone = any(_contradicts(*pair) for pair in pairs)
        return ChangeKind.LOST if gone else ChangeKind.WEAKENED
    small = new.verdict is Verdict.NO_EFFECT and _same_within_the_margin(old, new)
    return ChangeKind.MOVED if small else ChangeKind.LOST


def _restated(old: ClaimRecord, new: ClaimRecord) -> str:
    """How a claim states something else than it did, where both were run; "" if it doesn't."""
    before, after = old.comparisons, new.comparisons
    if old.expects != new.expects:
        return f"expects {new.expects or 'nothing'} in place of {old.expects or 'nothing'}"
    if before and after and len(before) != len(after):
        return f"{len(after)} comparisons in place of {len(before)}"
    changes = [
        f"{word} {getattr(now, name)} in place of {getattr(was, name)}"
        for was, now in zip(before, after, strict=False)
        for name, word in STATED.items()
        if getattr(was, name) != getattr(now, name)
        and not (name == "margin" and math.isclose(was.margin, now.margin))
    ]
    return "; ".join(changes)


def _margins(before: ComparisonRecord, after: ComparisonRecord) -> float:
    """By how many margins of the baseline a comparison's difference moved."""
    distance = abs((after.difference or 0) - (before.difference or 0))
    return distance / before.margin if before.margin else math.inf


def _contradicts(before: ComparisonRecord, after: ComparisonRecord) -> bool:
    """Whether a comparison is UNDECIDED on no fewer seeds, and its effect before isn't possible."""
    undecided = after.verdict is Verdict.UNDECIDED and after.n >= before.n
    return undecided and not _allows(after, before.difference)


def _same_within_the_margin(old: ClaimRecord, new: ClaimRecord) -> bool:
    """Whether an effect was shown to be there, was smaller than the margin, and still is.

    Such an effect is SUPPORTED and has NO EFFECT, in the end; which of the two is shown first
    depends on a machine's rounding. Both intervals lie within the margins, and each mean within the
    other's interval.
    """
    return bool(old.comparisons) and all(
        not _contains(was, 0)
        and all(map(_is_within, (was, now)))
        and _allows(was, now.difference)
        and _allows(now, was.difference)
        for was, now in zip(old.comparisons, new.comparisons, strict=False)
    )


def _is_within(comparison: ComparisonRecord) -> bool:
    (low, high), margin = comparison.interval, comparison.margin
    return low is not None and high is not None and -margin < low and high < margin


def _contains(comparison: ComparisonRecord, value: float) -> bool:
    low, high = comparison.interval
    return (low is None or low <= value) and (high is None or value <= high)


def _allows(comparison: ComparisonRecord, difference: float | None) -> bool:
    """Whether another difference lies in a comparison's interval, or is its number without one.

    A number without an interval has no spread, but its last digits are the machine's.
    """
    own = comparison.difference
    if own is None or difference is None:
        return own is difference
    if comparison.has_interval:
        return _contains(comparison, difference)
    values = [*comparison.left_values, *comparison.right_values]
    scale = max((abs(value) for value in values if value is not None), default=0.0)
    return math.isclose(own, difference, rel_tol=0.01, abs_tol=1e-6 * scale)


def _moved(before: ComparisonRecord, after: ComparisonRecord) -> str:
    """How a comparison's difference moved, in words; "" where it did not."""
    if _allows(before, after.difference):
        return ""
    where = ", outside the earlier interval" if before.has_interval else ""
    size, arms = _margins(before, after), after.arms
    by = f", {size:.3g} margins from where it was" if math.isfinite(size) else ""
    return f"differs from before{where}{by} ({arms.left} − {arms.right})"


def _numbers(claim: ClaimRecord) -> str:
    """A claim's verdict with its numbers, or with why it has none."""
    effects = [f"{difference(one)}, {counted(one.n, 'seed')}" for one in claim.comparisons]
    return "; ".join([claim.verdict, *(effects or [claim.reason])])
