"""Documents of tests: parts of JSON, completed and typed."""

import json
from pathlib import Path
from typing import Any

import jsonschema

from embinit.claims.records import ClaimRecord, ComparisonRecord
from embinit.files.typed import as_json, from_json
from embinit.report import load_schema
from embinit.report.document import Document
from embinit.report.summary import summarised

COMPARISON = {
    "relation": "<", "arms": {"left": "GloVe", "right": "Xavier"}, "metric": "bleu",
    "metric_in_words": "BLEU", "unit": "BLEU", "alpha": 0.01, "n": 1, "seeds": [0],
    "left_values": [], "right_values": [], "difference": None, "interval": [None, None],
    "level": 0.99, "margin": 0.0, "p": None, "p_against": None, "p_no_effect": None,
    "seeds_needed": None, "hangs_on": None, "sd": None, "spread": None, "smallest_effect": None,
    "exact": False, "verdict": "SUPPORTED", "printed": [], "runs": {},
}  # fmt: skip
CLAIM = {
    "id": "mine/finding/a[one]", "nodeid": "claims/test_a.py::test_a", "verdict": "SUPPORTED",
    "control": False, "expects": None, "as_expected": None, "statement": "It is so",
    "paper": "mine", "place": "", "origin": "paper", "trained": True, "tier": "micro",
    "task": None, "source": None, "experiment": None, "metric": "bleu", "family": "mine/finding",
    "family_says": "", "alpha": 0.05, "looks": [{"seeds": 5, "share": 1.0}], "reason": "",
    "comparisons": [],
}  # fmt: skip
AUDIT = {"nodeid": "", "statement": "", "paper": "mine", "place": "", "checks": []}
CHECK = {"what": "", "printed": "", "computed": "", "arithmetic": "", "consistent": True}
LOCK = {"lock": "l", "digest": "d", "state": "beforehand", "differs": "", "when": None}
SESSION = {
    "started": "2026-11-21T01:46:34+00:00", "wall_seconds": 1.0, "tier": "micro", "device": "cpu",
    "seeds": 5, "command": "pytest", "runs": {"wanted": 0, "trained": 0, "stored": 0},
    "versions": {}, "data_dir_given": False,
}  # fmt: skip
NOTHING = {"as_expected": 0, "not_as_expected": 0, "not_run": 0, "too_weak": 0}
SUMMARY = {"verdicts": {}, "qualified": {}, "controls": NOTHING, "audits": {}}


def latest(root: Path | str = ".") -> dict[str, Any]:
    """The document of the last session in a project, which follows the schema."""
    document: dict[str, Any] = json.loads(Path(root, "reports/latest/verdicts.json").read_bytes())
    jsonschema.validate(document, load_schema())
    return document


def comparison_of(part: dict[str, Any]) -> ComparisonRecord:
    """A comparison; what a part of its JSON lacks is as in most claims."""
    return from_json(ComparisonRecord, COMPARISON | part)


def claim_of(part: dict[str, Any]) -> ClaimRecord:
    """A claim; what a part of its JSON lacks is as in most claims."""
    return from_json(ClaimRecord, _claim(part))


def typed(part: dict[str, Any]) -> Document:
    """A document; what a part of its JSON lacks is as in most, the summary is counted."""
    whole = {"schema_version": 2, "audits": []} | part
    whole["session"] = SESSION | part.get("session", {})
    whole["claims"] = [*map(_claim, part["claims"])]
    whole["audits"] = [*map(_audit, whole["audits"])]
    if "summary" in part:
        return from_json(Document, whole)
    empty = SUMMARY | {"statements": [], "findings": []}
    return summarised(from_json(Document, whole | {"summary": empty}))


def counted(part: dict[str, Any]) -> dict[str, Any]:
    """The summary of a document's JSON, counted anew."""
    lacking = {name: value for name, value in part.items() if name != "summary"}
    return as_json(typed(lacking).summary)


def _claim(part: dict[str, Any]) -> dict[str, Any]:
    claim = CLAIM | part
    if "registration" in part:
        claim["registration"] = LOCK | part["registration"]
    return claim | {"comparisons": [COMPARISON | one for one in claim["comparisons"]]}


def _audit(part: dict[str, Any]) -> dict[str, Any]:
    return AUDIT | part | {"checks": [CHECK | one for one in part["checks"]]}
