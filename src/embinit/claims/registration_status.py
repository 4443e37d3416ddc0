"""The registration status of a claim: beforehand, afterwards, changed, or absent."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from embinit.claims.comparisons import Comparison, Quantity
from embinit.claims.judging import Case
from embinit.claims.lock import Entry, digest_of_content
from embinit.claims.records import RegistrationRecord, State
from embinit.specs import canonical
from embinit.stats.statements import KnownSd


def registration_record(case: Case) -> RegistrationRecord | None:
    """How a claim compares with its line in its lock; None where there is no lock."""
    lock, entry = case.lock, case.line
    if not lock.exists:
        return None
    state, differs = (State.ABSENT, "") if entry is None else _state(case, entry)
    return RegistrationRecord(
        lock=f"{lock.path.parent.name}/{lock.path.name}",
        digest=lock.digest,
        state=state,
        differs=differs,
        when=None if entry is None else entry["registered"],
    )


def _state(case: Case, entry: Entry) -> tuple[State, str]:
    """How a claim compares with its line, and how it changed or why it counts as post hoc."""
    differs = difference(entry, frozen(case))
    if differs and case.replicated is not None:
        differs = difference(entry, frozen(case.replicated))
        if not differs:
            return State.REPLICATION, "on other data draws"
    if differs:
        return State.CHANGED, differs
    afterwards = str(entry.get("afterwards", ""))
    return State.AFTERWARDS if afterwards else State.BEFOREHAND, afterwards


def registered(before: Case, case: Case, seen: bool) -> Entry:
    """A claim's line as it is to be written; one that still fits stays as it was ``before``.

    Where its runs are stored (``seen``), it says so, and why it was registered so late before.
    """
    entry, now = before.line, frozen(case)
    differences = () if entry is None else (difference(entry, now), *_moved(before, case))
    differs = "; ".join(filter(None, differences))
    if entry is not None and not differs:
        return dict(entry)
    former = "" if entry is None else entry.get("afterwards", "")
    reasons = (former, differs or "its runs were there when it was registered")
    afterwards = {"afterwards": "; ".join(filter(None, reasons))} if seen else {}
    return {"registered": time.strftime("%Y-%m-%d"), **afterwards, **now}


def frozen(case: Case) -> dict[str, Any]:
    """The statement of a claim that must be fixed beforehand.

    The code of a training function is no part of it: runs of another code are other runs.
    """
    claim, tier = case.claim, case.experiment.tier
    entry: dict[str, Any] = {
        "family": claim.family.name,
        "claims": claim.family.size_on(tier),
        "alpha": claim.family.alpha,
        "looks": [*case.seeds_of_analyses()],
        "states": [_stated(comparison) for comparison in case.comparisons],
    }
    more = {"replicates": case.experiment.replicates, "expects": str(claim.expects or "")}
    return entry | {name: value for name, value in more.items() if value}


NAMED_UP_TO = 5
"""So many claims that stand alike otherwise than registered are named; of more the number."""


def named(ids: Sequence[str]) -> str:
    """Claims in words: their ids, or how many they are."""
    return ", ".join(ids) if len(ids) <= NAMED_UP_TO else f"{len(ids)} claims"


def difference(registered: Entry, now: Entry) -> str:
    """The difference of a claim from its line, in words; "" without one."""
    found = []
    before, after = registered.get("states", []), now["states"]
    if [state["says"] for state in before] != [state["says"] for state in after]:
        found.append(f"it states {_quoted(after)}, registered was {_quoted(before)}")
    else:
        for old, new in zip(before, after, strict=True):
            for name in ("margin", "measure"):
                if old.get(name) != new.get(name):
                    found.append(
                        f"{new['says']}: {name} {_value(new.get(name))}, "
                        f"registered was {_value(old.get(name))}"
                    )
            if old.get("arms") != new.get("arms"):
                found.append(f"{new['says']}: its arms have other settings")
    for name, words in (
        ("family", "its family is {}"),
        ("claims", "its family's size is {}"),
        ("alpha", "its family's level is {}"),
        ("looks", "its interim analyses have {} seeds"),
        ("replicates", "its seeds have {}"),
        ("expects", "it expects {}"),
    ):
        if registered.get(name) != now.get(name):
            found.append(
                f"{words.format(_value(now.get(name)))}, registered was "
                f"{_value(registered.get(name))}"
            )
    return "; ".join(dict.fromkeys(found))


def _quoted(states: Iterable[Entry]) -> str:
    return " and ".join(f"'{state['says']}'" for state in states)


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", then ".join(map(str, value))
    return "none" if value is None else str(value)


def _stated(comparison: Comparison) -> dict[str, Any]:
    return {
        "says": str(comparison),
        "measure": comparison.left.measure.name,
        "margin": comparison.left.margin,
        "arms": digest_of_content([_arms(comparison.left), _arms(comparison.right)]),
    }


def _moved(before: Case, case: Case) -> list[str]:
    """The sds of a claim that are others than before, in words."""
    pairs = zip(before.comparisons, case.comparisons, strict=True)
    return [
        f"{now}: standard deviation {_in_words(now.known_sd)}, registered was "
        f"{_in_words(known.known_sd)}"
        for known, now in pairs
        if now.known_sd != known.known_sd
    ]


def _in_words(sd: KnownSd | None) -> str:
    return "none" if sd is None else f"{sd.sd:g} over {sd.seeds} seeds"


def _arms(quantity: Quantity) -> list[object]:
    if quantity.parts:
        return [[_arms(part) for part in group] for group in quantity.parts]
    terms = [
        [
            term.weight,
            canonical(term.run(0).without_seed()),
            term.role.seed(0),
            quantity.measure.name,
        ]
        for term in quantity.terms
    ]
    return [*terms, quantity.shift]
