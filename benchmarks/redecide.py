"""Stored scores decided anew: which verdicts of a document are others by the present rule.

Nothing is trained, and each claim keeps its seeds, margin, level and registered deviation. What the
earlier rule decided at an early interim analysis may be UNDECIDED here, though more seeds would
have been trained by the present one.

    python benchmarks/redecide.py studies/reference/micro/verdicts.json
"""

from __future__ import annotations

import argparse
from pathlib import Path

from embinit.claims.records import ClaimRecord, ComparisonRecord
from embinit.report.document import Document
from embinit.report.reading import read
from embinit.stats.rule import decide
from embinit.stats.statements import Evidence, KnownSd, Verdict, verdict_of


def turned(document: Document) -> dict[str, tuple[str, str]]:
    """The ids whose verdict is another by the present rule, with the verdicts before and after."""
    known = [claim for claim in document.claims if claim.comparisons]
    pairs = {claim.id: (claim.verdict, again(claim)) for claim in known}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def again(claim: ClaimRecord) -> Verdict:
    """The verdict of a claim by the present rule."""
    return verdict_of([_decided(pair, len(claim.comparisons)) for pair in claim.comparisons])


def _decided(pair: ComparisonRecord, of: int) -> Verdict:
    known = pair.spread and KnownSd(pair.spread.sd, pair.spread.seeds, pair.spread.of or "")
    evidence = Evidence(
        pair.left_values,
        pair.right_values,
        pair.relation,
        pair.alpha,
        pair.margin,
        not pair.exact,
        pair.alpha / of,
        known,
    )
    return decide(evidence).verdict


def main() -> None:
    """Prints what turns."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verdicts", type=Path)
    document = read(parser.parse_args().verdicts)
    for name, (before, after) in (changed := turned(document)).items():
        print(f"{name}: {before} -> {after}")
    print(f"{len(changed)} of {len(document.claims)} verdicts are others by the present rule")


if __name__ == "__main__":
    main()
