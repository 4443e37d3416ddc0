"""Compare verdicts with a baseline, a ``verdicts.json`` that somebody accepted.

What was found may be *lost*: a claim that was SUPPORTED is not any longer, states something else,
or is gone though all of its file was asked for. It is *weakened* where it is UNDECIDED, with fewer
seeds or with an effect that may still be what it was. Any other change has *moved*.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from embinit.claims.records import ClaimRecord, ComparisonRecord, State
from embinit.errors import InputError, counted
from embinit.report.document import Document, SessionRecord
from embinit.report.reading import read
from embinit.report.summary import DECIDED
from embinit.report.verdicts import difference, ends
from embinit.runs.instructions import TRIED
from embinit.stats.statements import Verdict

STATED = {"relation": "relation", "arms": "arms", "metric": "measure", "margin": "margin"}
"""What a comparison states, by its field, and what each is called."""

Pairs = Sequence[tuple[ClaimRecord, ClaimRecord]]
"""Claims, each in the baseline and now."""

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
    margin. A ``fault`` is a change that a session fails on.
    """

    kind: ChangeKind
    said: str
    old: ClaimRecord
    new: ClaimRecord | str
    margins: float = 0.0
    fault: bool = False

    def __str__(self) -> str:
        """Three lines: the change, then the numbers before and now."""
        now = self.new if isinstance(self.new, str) else _numbers(self.new)
        said = f"{self.kind}: {self.old.id} {self.said}"
        return f"{said}\n    before: {_numbers(self.old)}\n    now:    {now}"


@dataclass(frozen=True)
class Since:
    """The changes since a baseline; those of its claims that are ``left_out`` were not asked for.

    ``setting`` says with what else the runs were made, which moves numbers by itself; "" for
    nothing. ``in_words`` says what did not change, what was not compared, and for a replication how
    many verdicts hold.
    """

    changes: tuple[Change, ...]
    left_out: tuple[str, ...]
    setting: str
    in_words: str


def read_baseline(path: Path, tier: str) -> Document:
    """The baseline of a session of a tier; InputError for another tier's, or one without claims."""
    baseline = read(path, "make it by embinit bless, of a session's report")
    _require_tier(tier, baseline)
    if not (baseline.claims or baseline.audits):
        raise InputError("the baseline has no claims; make it by embinit bless")
    return baseline


def _require_tier(tier: str, baseline: Document) -> None:
    if tier != baseline.session.tier:
        raise InputError(f"tier {tier} can't be compared with tier {baseline.session.tier}")


def moved_margins(given: str | None) -> float:
    """Beyond how many margins a move is a fault, by the option ``moved=2``; InputError for others.

    ``moved`` alone is one margin; without the option no move is.
    """
    if given is None:
        return math.inf
    if found := re.fullmatch(r"moved(?:=(\d+(?:\.\d*)?))?", given):
        return float(found[1] or 1)
    raise InputError(f"{given!r} is nothing to fail on; say moved, or moved=2 for two margins")


def compare(
    document: Document, baseline: Document, strict: bool = False, most: float = math.inf
) -> Since:
    """What changed since a baseline, the gravest first; InputError for another tier's.

    What is lost is a fault, if ``strict`` what is weakened too, and a move beyond ``most`` margins.
    """
    _require_tier(document.session.tier, baseline)
    faults = {ChangeKind.LOST, ChangeKind.WEAKENED} if strict else {ChangeKind.LOST}
    now = document.by_id
    pairs = [(old, now[old.id]) for old in baseline.claims if old.id in now]
    untried = _untried(document, baseline)
    changes = [change for old, new in pairs for change in _changes(old, new, not untried)]
    absent = {one.id: _absent(one, document) for one in baseline.claims if one.id not in now}
    changes += [change for change in absent.values() if change is not None]
    changes = [replace(one, fault=one.kind in faults or one.margins > most) for one in changes]
    changes.sort(key=lambda change: [*ChangeKind].index(change.kind))
    left_out = tuple(name for name, change in absent.items() if change is None)
    unchanged = _unchanged(pairs, bool(changes), len(left_out), len(baseline.claims))
    in_words = _replication(pairs) or unchanged
    setting = _setting(document.session, baseline.session, untried)
    return Since(tuple(changes), left_out, setting, in_words)


def _compared(
    old: ClaimRecord, new: ClaimRecord
) -> list[tuple[ComparisonRecord, ComparisonRecord]]:
    """The comparisons of a claim, each in the baseline and now."""
    return [*zip(old.comparisons, new.comparisons, strict=False)]


def _unchanged(pairs: Pairs, changed: bool, left_out: int, claims: int) -> str:
    """That no verdict or no score changed, and how many claims were not compared."""
    alike = [
        (was.left_values, was.right_values) == (now.left_values, now.right_values)
        for old, new in pairs
        for was, now in _compared(old, new)
        if was.seeds == now.seeds
    ]
    where = "in what was compared" if left_out else "since the baseline"
    sentences = []
    if not changed:
        sentences.append(f"No {'changes' if all(alike) else 'verdict changed'} {where}.")
    if not all(alike):
        of = counted(len(alike), "comparison")
        sentences.append(f"The scores of {alike.count(False)} of {of} differ.")
    if left_out:
        of, verb = counted(claims, "claim"), "was" if left_out == 1 else "were"
        sentences.append(f"Of the baseline's {of}, {left_out} {verb} not asked for.")
    return " ".join(sentences)


def _replication(pairs: Pairs) -> str:
    """How many verdicts and means of a baseline hold on other data draws; "" if none was tried."""
    tried = [
        (old, new)
        for old, new in pairs
        if new.registration is not None and new.registration.state is State.REPLICATION
        if not old.control
    ]
    if not tried:
        return ""
    decided = [(old, new) for old, new in tried if old.verdict in DECIDED]
    turned = [new.verdict for old, new in decided if new.verdict != old.verdict]
    undecided = sum(verdict not in DECIDED for verdict in turned)
    differ = len(turned) - undecided
    said = [f"{len(decided) - len(turned)} of {counted(len(decided), 'decided verdict')} hold"]
    if undecided:
        said.append(f"{undecided} {'is' if undecided == 1 else 'are'} not decided here")
    if differ:
        said.append(f"{differ} {'differs' if differ == 1 else 'differ'}")
    within = [
        _contains(was, now.difference)
        for old, new in tried
        for was, now in _compared(old, new)
        if was.has_interval and now.difference is not None
    ]
    return (
        f"Replication: {', '.join(said)}; {sum(within)} of "
        f"{counted(len(within), 'mean difference')} lie in the baseline's intervals."
    )


def _untried(document: Document, baseline: Document) -> set[str]:
    """The vendors of processors on which neither embinit nor the baseline was tried."""
    here, before = (
        {machine.vendor for machine in one.session.machines} for one in (document, baseline)
    )
    return here - before - {*TRIED}


def _setting(here: SessionRecord, before: SessionRecord, untried: Collection[str]) -> str:
    """With what else than the baseline's the runs were made, in a sentence; "" for nothing."""
    pairs = zip(_made_with(here), _made_with(before), strict=True)
    differ = [f"{now} in place of {was}" for now, was in pairs if now and was and now != was]
    if not differ:
        return ""
    ends = "; this alone moves scores."
    if untried:
        vendors = " or ".join(sorted(untried))
        ends = f". embinit was not tried on processors of {vendors}: no change is a fault."
    return f"The runs were made with {', '.join(differ)}{ends}"


def _made_with(session: SessionRecord) -> list[str]:
    """What decides the last digits of a session's runs, in words; "" for what is not known."""
    versions = ((name, session.versions.get(name)) for name in COMPUTING)
    packages = (f"{name} {version}" if version else "" for name, version in versions)
    return [" and ".join(map(str, session.machines)), *packages]


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


def _changes(old: ClaimRecord, new: ClaimRecord, tried: bool) -> list[Change]:
    """The changes of a claim that has a verdict now; none is a fault on processors not ``tried``.

    A claim that states something else is lost on any.
    """
    if restated := _restated(old, new):
        kind = ChangeKind.MOVED if old.control else ChangeKind.LOST
        return [Change(kind, f"states something else: {restated}", old, new)]
    moved = [found for pair in _compared(old, new) if (found := _moved(*pair)) is not None]
    kind = ChangeKind.MOVED
    if new.verdict != old.verdict:
        size = max((margins for _, margins in moved), default=0.0)
        moved = [(f"was {old.verdict} and is {new.verdict}", size)]
        kind = _kind(old, new) if tried else kind
    return [Change(kind, said, old, new, size if tried else 0.0) for said, size in moved]


def _kind(old: ClaimRecord, new: ClaimRecord) -> ChangeKind:
    """The kind of a change of a claim's verdict."""
    if new.control:
        return ChangeKind.LOST if new.verdict is Verdict.NOT_RUN else ChangeKind.MOVED
    if old.verdict is not Verdict.SUPPORTED:
        return ChangeKind.MOVED
    if new.verdict is Verdict.UNDECIDED:
        # Not on fewer seeds, and the effect that it had is not possible any longer.
        gone = any(
            now.verdict is Verdict.UNDECIDED and now.n >= was.n and not _allows(now, was.difference)
            for was, now in _compared(old, new)
        )
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
        for was, now in _compared(old, new)
        for name, word in STATED.items()
        if getattr(was, name) != getattr(now, name)
        and not (name == "margin" and math.isclose(was.margin, now.margin))
    ]
    return "; ".join(changes)


def _same_within_the_margin(old: ClaimRecord, new: ClaimRecord) -> bool:
    """Whether an effect was shown to be there, was smaller than the margin, and still is.

    Such an effect is SUPPORTED and has NO EFFECT, in the end; which of the two is shown first
    depends on a machine's rounding. Both intervals lie within the margins, and each mean within the
    other's interval.
    """
    pairs = _compared(old, new)
    return bool(pairs) and all(
        not _contains(was, 0)
        and all(-one.margin < end < one.margin for one in (was, now) for end in ends(one))
        and _allows(was, now.difference)
        and _allows(now, was.difference)
        for was, now in pairs
    )


def _contains(comparison: ComparisonRecord, value: float) -> bool:
    low, high = ends(comparison)
    return low <= value <= high


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


def _moved(before: ComparisonRecord, after: ComparisonRecord) -> tuple[str, float] | None:
    """How a comparison's difference moved, in words and in margins; None where it did not."""
    if _allows(before, after.difference):
        return None
    distance = abs((after.difference or 0) - (before.difference or 0))
    size = distance / before.margin if before.margin else math.inf
    where = ", outside the earlier interval" if before.has_interval else ""
    by = f", {size:.3g} margins from where it was" if math.isfinite(size) else ""
    return f"differs from before{where}{by} ({after.arms.left} − {after.arms.right})", size


def _numbers(claim: ClaimRecord) -> str:
    """A claim's verdict with its numbers, or with why it has none."""
    effects = [f"{difference(one)}, {counted(one.n, 'seed')}" for one in claim.comparisons]
    return "; ".join([claim.verdict, *(effects or [claim.reason])])
