"""The summary in Markdown: whatever a claim is called, it stays text, and a table a table."""

import html
import json
import re
from itertools import groupby
from typing import Any

import pytest

from documents import claim_of, typed
from embinit.files.typed import as_json
from embinit.report.baseline import compare
from embinit.report.markdown import as_markdown
from embinit.report.verdicts import not_beforehand
from test_report import make_claim, make_control, make_document

HOSTILE = (
    "\x1b[2J\u202e<img src=x onerror=a()> | [a](http://b.c) ![i](j) `d` *e* @f \n# g\n\n| h |\n"
)
OF_THE_SCHEMA = {"verdict", "relation", "expects", "state", "origin", "outcome", "data"}
"""The fields whose texts the schema lists, so that no document has others."""


def hostile(value: Any, name: str = "") -> Any:
    """A document with hostile text in front of each of its strings, and of its names."""
    if isinstance(value, str):
        return value if name in OF_THE_SCHEMA else HOSTILE + value
    if isinstance(value, list):
        return [hostile(part, name) for part in value]
    if isinstance(value, dict):
        return {key: hostile(part, key) for key, part in value.items()}
    return value


def full_document(claims: int) -> dict[str, Any]:
    """A document with all that Markdown shows: faults, findings, notes, locks, what was skipped."""
    registered = {"lock": "l", "digest": "d", "when": "w", "state": "changed", "differs": "x"}
    finding = {"says": "it is so", "claims": ["kim2024/finding-1/c0"]}
    paper = {"key": "kim2024", "citation": "Kim", "short": "Kim", "made": [], "findings": [finding]}
    notes = {"papers": [paper], "notes": ["a note"], "locks": [{"lock": "l", "digest": "d"}]}
    several = [make_claim(f"c{index}", family=f"p/{index}") for index in range(claims)]
    several += [make_claim("idle", "NOT RUN", registration=registered)]
    several += [make_control("wrong", "SUPPORTED"), make_claim("open", "UNDECIDED")]
    broke = [{"nodeid": "test_a.py::a", "id": "a", "reason": "no"}]
    document = as_json(make_document(several, **notes, unfinished="stopped"))
    return document | {"errors": broke, "skipped": broke}


@pytest.mark.parametrize("claims", [1, 21], ids=["open", "folded"])
def test_every_text_of_a_document_is_only_text(claims: int) -> None:
    """No tag, link, mention, heading or further cell, and no control character, wherever it is."""
    document = hostile(full_document(claims))
    before = json.loads(json.dumps(document))
    before["claims"][0] |= {"expects": "REFUTED"}
    before["claims"][-1] |= {"verdict": "SUPPORTED"}
    document = typed(document)
    text = as_markdown(document, compare(document, typed(before)))
    for shown in ("states something else", "weakened", "it is so", "a note", "skipped", "broke"):
        assert shown in text
    assert set(re.findall(r"<(\w+)", text)) <= {"details", "summary"}
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]|://|^# g", text, re.M)
    lines = [line for line in text.splitlines() if not line.startswith("<details>")]
    assert not re.search(r"(?<!\\)[\[\]`@!]", "\n".join(lines))
    tables = [[*rows] for found, rows in groupby(lines, lambda line: line.startswith("|")) if found]
    assert len(tables) > 1
    for rows in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


def test_an_address_in_a_claim_is_no_link() -> None:
    """GitHub makes one of what begins with a scheme or with www; the text reads as it did."""
    statement = "see https://a.example/#x, www.b.example and HTTP://c.example"
    text = as_markdown(make_document([make_claim("a", statement=statement)]))
    assert not re.search(r"(?i)://|www\.", text)
    assert statement in html.unescape(text).replace("\\", "")


def test_faults_stand_first() -> None:
    """A misbehaving control is what a reader of the page has to see."""
    text = as_markdown(make_document([make_claim("a"), make_control("planted", "SUPPORTED")]))
    assert text.index("**Not OK:**") < text.index("| verdict |")
    assert "control, not as expected, expects REFUTED" in text


def test_many_claims_registered_alike_are_told_in_a_line() -> None:
    """Two hundred lines of the same would hide the one that differs."""
    known = {"lock": "a/claims.lock", "digest": "d", "when": None}
    alike = {**known, "state": "afterwards", "differs": "its runs were there"}
    other = {**known, "state": "changed", "differs": "its margin is 2"}
    claims = [make_claim(f"c{index}", registration=alike) for index in range(9)]
    claims = [*map(claim_of, claims)]
    lines = not_beforehand([*claims, claim_of(make_claim("odd", registration=other))])
    assert lines[0] == "post hoc: 9 claims: its runs were there (a/claims.lock)"
    assert len(lines) == 2
    assert "odd" in lines[1]
    few = not_beforehand(claims[:2])
    ids = ", ".join(claim.id for claim in claims[:2])
    assert few == [f"post hoc: {ids}: its runs were there (a/claims.lock)"]
