"""Write the paragraphs of the report's section Methods from a verdicts document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from embinit.errors import counted
from embinit.report.document import Document
from embinit.report.numbers import plain, short

EARLIER = "These verdicts were decided by an earlier rule, that of the day of their session."


def methods(document: Document, signatures: Iterable[str] = ()) -> Iterator[str]:
    """The rule, the seeds and levels, what intervals leave out, sacreBLEU: a paragraph each."""
    pairs = [pair for claim in document.claims for pair in claim.comparisons if not pair.exact]
    if pairs:
        pooled = sum(pair.spread is not None for pair in pairs)
        known = f", and {pooled} of them a variance that is pooled with a known one"
        yield " ".join(document.rule or [EARLIER])
        yield (
            f"The claims make {counted(len(pairs), 'comparison')} over "
            f"{_range([pair.n for pair in pairs])} seeds{known if pooled else ''}. A claim's share "
            f"of its family's 5 % is {_range([claim.alpha for claim in document.claims], short)}."
        )
    yield (
        "Intervals cover the variation between seeds. They leave out what all seeds share: on real "
        "text the test set and the training data. A claim that is decided early tends to "
        "overstate its effect."
    )
    if joined := "; ".join(signatures):
        yield f"BLEU is sacreBLEU's ({joined})."


def _range(values: Sequence[float], form: Callable[[float], str] = plain) -> str:
    """The least and the largest value: ``3`` or ``3 to 20``."""
    return " to ".join(dict.fromkeys([form(min(values)), form(max(values))]))
