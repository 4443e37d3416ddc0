"""Spoils files of every format that embinit reads, and counts how its readers take it.

    python benchmarks/fuzz.py --cases 10000

The cases are those of ``tests/test_fuzz_readers.py``, drawn by hypothesis, more of them. What a
reader read wrong, or raised other than an InputError, is printed with its mutations, and the status
is 1. The table of counts goes to the terminal, and as JSON to ``--json``.
"""

from __future__ import annotations

import argparse
import json
import logging
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import malformed

READERS = malformed.READERS

OUTCOMES = ("right", "refused", "set aside", "unlike", "WRONG", "ESCAPED")


def fuzz(name: str, cases: int, first: int) -> Counter[str]:
    """Tries one reader on ``cases`` spoilt files; ``first`` seeds the draw."""
    reader, counts = READERS[name], Counter[str]()

    @seed(first)
    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(which=st.integers(0, 5), changes=malformed.mutations)
    def tried(which: int, changes: list[malformed.Mutation]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = malformed.outcome(reader, Path(folder), which, changes)
            except Exception as error:
                result = "WRONG" if isinstance(error, AssertionError) else "ESCAPED"
                print(f"{name}: {type(error).__name__}: {error!s:.200}\n  {which} {changes!r:.400}")
            counts[result] += 1

    tried()
    return counts


def main() -> int:
    """Runs the command line; 1 if anything escaped or was read wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000, help="over all readers")
    parser.add_argument("--reader", action="append", choices=list(READERS))
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--json", type=Path, help="write the counts here")
    parsed = parser.parse_args()
    logging.disable()  # gensim tells what it reads
    readers = parsed.reader or list(READERS)
    print(f"{'':20}" + "".join(f"{outcome:>11}" for outcome in OUTCOMES) + f"{'seconds':>11}")
    every: dict[str, Counter[str]] = {}
    for name in readers:
        started = time.process_time()
        every[name] = fuzz(name, -(-parsed.cases // len(readers)), parsed.seed)
        counts = "".join(f"{every[name][outcome]:11}" for outcome in OUTCOMES)
        print(f"{name:20}{counts}{time.process_time() - started:11.1f}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    total = sum(every.values(), Counter[str]())
    print(f"{sum(total.values())} cases, {dict(total)}, at most {peak:.0f} MiB in all")
    if parsed.json:
        parsed.json.write_text(json.dumps({"counts": every, "peak_mib": round(peak)}, indent=1))
    return 1 if total["WRONG"] or total["ESCAPED"] else 0


if __name__ == "__main__":
    sys.exit(main())
