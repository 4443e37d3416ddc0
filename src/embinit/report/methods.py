"""Write the paragraphs of the report's section Methods from a verdicts document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from embinit.report.numbers import finite, plain, short
from embinit.stats.statements import Relation, Verdict

EARLIER = "These verdicts were decided by an earlier rule, that of the day of their session."
DECIDED = (Verdict.SUPPORTED, Verdict.REFUTED, Verdict.NO_EFFECT)


def methods(document: Mapping[str, Any], signatures: Iterable[str] = ()) -> list[str]:
    """Design, test, margins, registration, interim analyses, sacreBLEU: a paragraph each."""
    claims = document["claims"]
    every = [each for entry in claims for each in entry["comparisons"]]
    compared = [each for each in every if not each["exact"]]
    paragraphs = [
        " ".join(_design(document, compared, len(every) - len(compared))),
        " ".join(_margins(compared)),
        " ".join(_registration(document["summary"])),
        " ".join(_interim(claims)),
    ]
    if told := "; ".join(signatures):
        paragraphs.append(f"BLEU is sacreBLEU's ({told}).")
    return [each for each in paragraphs if each]


def _design(
    document: Mapping[str, Any], compared: Sequence[Mapping[str, Any]], exact: int
) -> Iterator[str]:
    session = document["session"]
    seeds = sorted({each["n"] for each in compared})
    if compared:
        yield " ".join(document.get("rule", [EARLIER]))
        spreads = [each["spread"] for each in compared if each["spread"] is not None]
        known = sum("of" in each for each in spreads)
        pooled, others = len(spreads) - known, len(compared) - len(spreads)
        of_arms = f", {known} one of other arms," if known else ""
        yield (
            f"Of {len(compared)} comparisons of claims and controls, over {_range(seeds)} seeds "
            f"({session['tier']} tier), {pooled} have a preregistered variance{of_arms} and "
            f"{others} that of their own seeds alone."
        )
    if exact:
        yield f"{exact} comparisons are arithmetic on given tables, without a test."
    alphas = sorted({entry["alpha"] for entry in document["claims"]})
    if alphas:
        yield f"A claim's share of its family's 5 % is {_range(alphas, short)} here."
    yield (
        "Intervals cover the variation between seeds. They leave out what all seeds share: on real "
        "text the test set and the training data."
    )


def _margins(compared: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    allow = [each for each in compared if Relation(each["relation"]).uses_margin]
    state = [each for each in compared if each not in allow and finite(each["margin"])]
    if allow:
        yield (
            f"{len(allow)} of {len(compared)} comparisons ('not worse', 'alike') allow a margin, "
            f"{_in_sd(allow)}."
        )
    if state:
        yield (
            f"{len(state)} comparisons state a difference and have a margin too, {_in_sd(state)}: "
            "they have NO EFFECT where the difference is shown to be smaller than it on both sides."
        )


def _in_sd(comparisons: Iterable[Mapping[str, Any]]) -> str:
    """The least and the largest margin over the registered standard deviation, in words."""
    ratios = sorted(
        ratio
        for each in comparisons
        if each["spread"] is not None
        and "of" not in each["spread"]
        and (sd := finite(each["spread"]["sd"]))
        and (margin := finite(each["margin"])) is not None
        and (ratio := finite(margin / sd)) is not None
    )
    if not ratios:
        return "none of them with a registered standard deviation"
    return (
        f"which is {_range(ratios, lambda ratio: f'{ratio:.2g}')} times the registered standard "
        f"deviation of the difference ({len(ratios)} comparisons have one)"
    )


def _registration(summary: Mapping[str, Any]) -> Iterator[str]:
    statements = summary["statements"]
    claims = sum(each["claims"] for each in statements)
    if claims:
        beforehand = sum(each["beforehand"] for each in statements)
        yield f"{beforehand} of {claims} claims were registered before their runs."
        late: dict[str, int] = {}
        for each in statements:
            for reason, number in each["late"].items():
                late[reason] = late.get(reason, 0) + number
        for reason, number in late.items():
            yield f"{number}: {reason}."


def _interim(claims: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    several = [
        entry
        for entry in claims
        if not entry["control"] and entry["verdict"] in DECIDED and len(entry["looks"]) > 1
    ]
    early = [
        entry
        for entry in several
        if max(each["n"] for each in entry["comparisons"]) < entry["looks"][-1]["seeds"]
    ]
    if several:
        yield (
            f"{len(early)} of {len(several)} decided claims were decided before their last "
            "interim analysis. A claim that was stopped early tends to overstate its effect."
        )


def _range(values: Sequence[Any], form: Any = plain) -> str:
    """``3`` or ``3 to 20``, of sorted values."""
    return " to ".join(dict.fromkeys([form(each) for each in (*values[:1], *values[-1:])]))
