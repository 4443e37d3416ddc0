"""Two stores beside each other: are the same runs the same, to the last bit?

Runs are matched by their spec, whatever the stores call them, and compared in all that training
decides: measures, curves, outputs, tables, coverage, failure. A change of the code that should not
change any result is held to that::

    python benchmarks/stores.py OLD/store NEW/store

Exits with 1 where a run differs, or where one of the stores lacks it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from embinit.lab.specs import Evaluation, TablePretrainingSpec, TrainingSpec, TransferSpec
from embinit.runs.records import spec_of
from embinit.specs import canonical

COMPARED = (
    "measures",
    "curves",
    "tables",
    "positions",
    "coverage",
    "examples",
    "signature",
    "outputs",
    "references",
    "failure",
)


def main() -> int:
    """Compares two stores; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stores", type=Path, nargs=2)
    old, new = (records(path) for path in parser.parse_args().stores)
    print(f"{len(old)} and {len(new)} runs, {len(old.keys() & new.keys())} in both")
    faults = [f"only in one store: {spec}" for spec in sorted(old.keys() ^ new.keys())]
    for spec in sorted(old.keys() & new.keys()):
        differing = [
            name for name in COMPARED if _plain(old[spec], name) != _plain(new[spec], name)
        ]
        if differing:
            faults.append(f"{', '.join(differing)} differ: {spec}")
            for name in differing[:1]:
                print(name, _plain(old[spec], name)[:200], _plain(new[spec], name)[:200])
    for fault in faults:
        print(fault[:400])
    print(f"{len(faults)} differences")
    return 1 if faults else 0


def records(store: Path) -> dict[str, dict[str, Any]]:
    """A store's records by the canonical form of their spec."""
    found: dict[str, dict[str, Any]] = {}
    for path in store.glob("runs/*/*.json"):
        record = json.loads(path.read_bytes())["record"]
        found[canonical(spec_of(record["spec"], record.get("kind") or _kind(record["spec"])))] = (
            record
        )
    return found


def _kind(spec: Mapping[str, Any]) -> str:
    """The kind of a run whose record was written before records said it."""
    training = spec["training"]
    if training is None:
        return Evaluation.kind
    if "objective" in training:
        return TablePretrainingSpec.kind
    return TransferSpec.kind if "tasks" in training else TrainingSpec.kind


def _plain(record: Mapping[str, Any], name: str) -> str:
    return json.dumps(record.get(name), sort_keys=True)


if __name__ == "__main__":
    sys.exit(main())
