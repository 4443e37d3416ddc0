"""Write the paragraphs of the report's section Methods from a verdicts document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from embinit.errors import counted
from embinit.report.numbers import plain, short

EARLIER = "These verdicts were decided by an earlier rule, that of the day of their session."


def methods(document: Mapping[str, Any], signatures: Iterable[str] = ()) -> Iterator[str]:
    """The rule, the seeds and levels, what intervals leave out, sacreBLEU: a paragraph each."""
    claims = document["claims"]
    compared = [pair for entry in claims for pair in entry["comparisons"] if not pair["exact"]]
    if compared:
        pooled = sum(pair["spread"] is not None for pair in compared)
        known = f", and {pooled} of them a variance that is pooled with a known one"
        yield " ".join(document.get("rule", [EARLIER]))
        yield (
            f"The claims make {counted(len(compared), 'comparison')} over "
            f"{_range([pair['n'] for pair in compared])} seeds{known if pooled else ''}. A claim's "
            f"share of its family's 5 % is {_range([entry['alpha'] for entry in claims], short)}."
        )
    yield (
        "Intervals cover the variation between seeds. They leave out what all seeds share: on real "
        "text the test set and the training data. A claim that is decided early tends to "
        "overstate its effect."
    )
    if joined := "; ".join(signatures):
        yield f"BLEU is sacreBLEU's ({joined})."


def _range(values: Sequence[Any], form: Any = plain) -> str:
    """The least and the largest value: ``3`` or ``3 to 20``."""
    return " to ".join(dict.fromkeys([form(min(values)), form(max(values))]))
