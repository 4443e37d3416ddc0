"""The summary in Markdown: whatever a claim is called, it stays text, and a table a table."""

from __future__ import annotations

import html
import re

from embinit.report.markdown import LARGEST, as_markdown
from embinit.report.verdicts import not_beforehand
from test_report import HOSTILE, make_claim, make_control, make_document


def test_hostile_text_is_only_text() -> None:
    """No tag, no link, no further cell and no line of its own, in a table or in a folded title."""
    names = dict.fromkeys(("statement", "task", "experiment", "family_says", "reason"), HOSTILE)
    several = [make_claim(f"c{index}", family=f"p/{index}", **names) for index in range(21)]
    for claims in (several[:1], several):
        text = as_markdown(make_document([*claims, make_claim("idle", "NOT RUN", **names)]))
        assert set(re.findall(r"<(\w+)", text)) <= {"details", "summary"}
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}


def test_an_address_in_a_claim_is_no_link() -> None:
    """GitHub makes one of what begins with a scheme or with www; the text reads as it did."""
    says = "see https://a.example/#x, www.b.example and HTTP://c.example"
    text = as_markdown(make_document([make_claim("a", statement=says)]))
    assert not re.search(r"(?i)://|www\.", text)
    assert says in html.unescape(text).replace("\\", "")


def test_faults_stand_first_and_nothing_is_too_large() -> None:
    """A misbehaving control is what a reader of the page has to see; GitHub takes up to 1 MiB."""
    text = as_markdown(make_document([make_claim("a"), make_control("planted", "SUPPORTED")]))
    assert text.index("**Not in order:**") < text.index("| verdict |")
    assert "control, **not as expected**" in text
    huge = make_document([make_claim("a", statement="x" * LARGEST)])
    assert len(as_markdown(huge).encode()) < 1000


def test_many_claims_registered_alike_are_told_in_a_line() -> None:
    """Two hundred lines of the same would hide the one that differs."""
    known = {"lock": "a/claims.lock", "digest": "d", "when": None}
    alike = {**known, "state": "afterwards", "differs": "its runs were there"}
    other = {**known, "state": "changed", "differs": "its margin is 2"}
    claims = [make_claim(f"c{index}", registration=alike) for index in range(9)]
    lines = not_beforehand([*claims, make_claim("odd", registration=other)])
    assert lines[0] == "registered afterwards: 9 claims: its runs were there (a/claims.lock)"
    assert len(lines) == 2
    assert "odd" in lines[1]
    few = not_beforehand(claims[:2])
    ids = ", ".join(claim["id"] for claim in claims[:2])
    assert few == [f"registered afterwards: {ids}: its runs were there (a/claims.lock)"]
