"""Results: the pages that are written from the blessed references, the papers' and the studies'.

Figures in prose grow old with each blessing. These pages have all of them, each read from its
tier's ``verdicts.json``, and a test fails where a committed page is not that of its reference.

    python benchmarks/results.py
"""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from embinit.errors import InputError
from embinit.report.baseline import read
from embinit.report.verdicts import standings

ROOT = Path(__file__).parents[1]
PAGES = {"micro": "results.md", "sample": "results-sample.md"}
"""The page of each tier that has a reference."""


class Home(NamedTuple):
    """Whose results they are.

    Attributes:
        reference: The folder of the references, one a tier.
        pages: The folder of the pages.
        docs: The way from a page to ``docs/``.
    """

    reference: str
    pages: str
    docs: str


PAPERS = Home("reports/reference", "docs", "")
STUDIES = Home("studies/reference", "studies", "../docs/")
COLUMNS = ("SUPPORTED", "REFUTED", "NO EFFECT", "UNDECIDED", "NOT RUN")
"""The verdicts in the order in which they are counted."""
SIGNS = {"<=": "≤", ">=": "≥", "~": "≈"}
"""How a relation is written; ``<`` and ``>`` stay as they are."""

Document = Mapping[str, Any]

HEAD = """# Results on `{tier}`

Every figure of this page is read from `{reference}/{tier}/verdicts.json`, the blessed report.
`make results` writes the page, and a test fails if it is not that of the committed reference.
{beside}
[Verdicts]({docs}verdicts.md) says what each verdict means, and [Statistics]({docs}statistics.md)
how it is reached.

A difference is the mean over seeds of the left side minus the right side. Its interval is two-sided
at the level that the claim's share of alpha leaves, so it is wider than a 95 % interval.
"""
BESIDE = {
    "micro": "Those on real text, cut to what a CPU can train on, are in [Results on `sample`]"
    "(results-sample.md).",
    "sample": "Its claims are those whose text and vectors were there and whose looks were taken; "
    "[On real text]({docs}real-text.md)\nsays what they mean, and what was measured before.",
}
"""What a tier's page says of the other."""


def page(document: Document, home: Home = PAPERS) -> str:
    """The page of a verdicts document, in Markdown."""
    claims = document["claims"]
    shown = [name for name in COLUMNS if any(one["verdict"] == name for one in claims)]
    tier = document["session"]["tier"]
    beside = BESIDE[tier].format(docs=home.docs)
    head = HEAD.format(tier=tier, beside=beside, reference=home.reference, docs=home.docs)
    sections = [head, _session(document), "## Whose statements\n", _whose(claims, shown)]
    sections += ["## Claims by family\n", _counts(claims, shown)]
    if audits := document.get("audits"):
        sections += ["## Audits of printed numbers\n", _audits(audits)]
    sections.append("## Every claim\n")
    sections += [_family(name, members) for name, members in _by_family(claims)]
    return "\n".join(sections)


def _session(document: Document) -> str:
    session, blessed = document["session"], document.get("blessed") or {}
    runs = session["runs"]
    started = datetime.datetime.fromisoformat(session["started"])
    minutes, seconds = divmod(round(session["wall_seconds"]), 60)
    rows = [
        ("Tier", f"`{session['tier']}`, {_seeds(document['claims'])}"),
        ("Date", f"{started:%Y-%m-%d}"),
        ("Machine", session["device"]),
        ("Runs", f"{runs['wanted']}, of which {runs['trained']} were trained in this session"),
        ("Time", f"{minutes} min {seconds} s"),
        ("Versions", ", ".join(f"{name} {one}" for name, one in session["versions"].items())),
        ("Command", f"`{session['command']}`"),
    ]
    if blessed:
        rows.append(("Blessed", f"{blessed['when'][:10]}, at revision `{_revision(blessed)}`"))
    for kept in blessed.get("kept", ()):
        since = f"{kept['when'][:10]}, at revision `{_revision(kept)}`"
        rows.append((", ".join(kept["papers"]), f"of an earlier session, blessed {since}"))
    return _table(("", ""), rows)


def _seeds(claims: Iterable[Document]) -> str:
    """The fewest and the most seeds that a comparison has."""
    numbers = [one["n"] for claim in claims for one in claim["comparisons"] if not one["exact"]]
    few, most = min(numbers, default=0), max(numbers, default=0)
    return f"{few} seeds an arm" if few == most else f"{few} to {most} seeds an arm"


def _revision(blessed: Document) -> str:
    return str(blessed["revision"] or "unknown")[:12]


def _whose(claims: Sequence[Document], shown: Sequence[str]) -> str:
    """One row a paper and origin: its claims by verdict, and how many were registered before."""
    rows, late = [], []
    for paper, of_paper in _grouped(claims, "paper"):
        for each in standings(of_paper):
            counts = [str(each.verdicts.get(name, 0)) for name in shown]
            rows.append((f"{paper}: {each.whose}", *counts, each.registered))
            late += [
                f"- {paper}, {number} of {each.whose}: {why}." for why, number in each.late.items()
            ]
    table = _table(("Statements", *shown, "registered beforehand"), rows)
    return "\n".join([table, *late, ""] if late else [table])


def _counts(claims: Sequence[Document], shown: Sequence[str]) -> str:
    """One row a family and one a paper: its findings by verdict, and its controls."""
    rows = []
    for paper, of_paper in _grouped(claims, "paper"):
        for name, members in _by_family(of_paper):
            says = members[0]["family_says"] or name
            rows.append((f"[{says}](#{_anchor(name)})", *_tally(members, shown)))
        rows.append((f"**{paper}, together**", *_tally(of_paper, shown)))
    return _table(("Family", *shown, "Controls as expected"), rows)


def _tally(claims: Sequence[Document], shown: Sequence[str]) -> list[str]:
    found = Counter(one["verdict"] for one in claims if not one["control"])
    controls = [one["as_expected"] for one in claims if one["control"]]
    right = sum(one is True for one in controls)
    return [*(str(found[name]) for name in shown), f"{right} of {len(controls)}"]


def _audits(audits: Sequence[Document]) -> str:
    """One row an audit: what was checked, and the numbers that disagree."""
    rows = []
    for audit in audits:
        wrong = [one for one in audit["checks"] if not one["consistent"]]
        what = "; ".join(f"{one['what']}: {one['printed']}, not {one['computed']}" for one in wrong)
        rows.append((f"`{audit['id']}`", audit["statement"], audit["verdict"], what))
    return _table(("Audit", "Statement", "Verdict", "Numbers that disagree"), rows)


def _family(name: str, claims: Sequence[Document]) -> str:
    """The family's claims, one row a comparison; what repeats from the row above is left out."""
    rows = []
    before = ""
    for claim in claims:
        identity, _, experiment = claim["id"].partition("[")
        about = f"`{identity}` {claim['statement']} ({claim['place']})"
        first = (about if identity != before else "", experiment.rstrip("]"), claim["verdict"])
        before = identity
        told = [_comparison(one) for one in claim["comparisons"]] or [(claim["reason"], "", "", "")]
        rows += [
            (*(first if number == 0 else ("", "", "")), *numbers)
            for number, numbers in enumerate(told)
        ]
    head = ("Claim", "Experiment", "Verdict", "Comparison", "Difference", "Interval", "Seeds")
    share = f"Each claim is decided at alpha = {100 * claims[0]['alpha']:.2g} %.\n"
    return f"### {name}\n\n{share}\n{_table(head, rows)}"


def _comparison(one: Document) -> tuple[str, str, str, str]:
    sign = SIGNS.get(one["relation"], one["relation"])
    arms = f"{one['arms']['left']} {sign} {one['arms']['right']}"
    interval = "exact" if one["exact"] else f"[{', '.join(map(_number, one['interval']))}]"
    seeds, hangs_on = str(one["n"]), one.get("hangs_on")
    if hangs_on is not None:
        seeds += f", hangs on seed {hangs_on}"
    effect = f"{_number(one['difference'])} {one['unit']}".strip()
    if (fair := one.get("adjusted")) is not None:
        effect += f", adjusted {_number(fair['difference'])}"
    return arms, effect, interval, seeds


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return format(value, "+.0f" if abs(value) >= 1000 else "+.3g").replace("-", "−")


def _by_family(claims: Iterable[Document]) -> Iterator[tuple[str, list[Document]]]:
    return _grouped(claims, "family")


def _grouped(claims: Iterable[Document], key: str) -> Iterator[tuple[str, list[Document]]]:
    ordered = sorted(claims, key=lambda one: (one[key], one["id"]))
    for name, members in itertools.groupby(ordered, key=lambda one: one[key]):
        yield name, list(members)


def _anchor(heading: str) -> str:
    """The anchor that Python-Markdown gives a heading."""
    return heading.replace("/", "").lower()


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def document_of(folder: Path) -> Document:
    """The verdicts of a reference's folder, which has its tier's name.

    Raises:
        InputError: They are of another tier, or there is no page for it.
    """
    document = read(folder / "verdicts.json")
    tier = document["session"]["tier"]
    if folder.name != tier or tier not in PAGES:
        raise InputError(
            f"{folder} has verdicts of tier {tier}; bless them with TIER={tier}"
            + ("" if tier in PAGES else f", and give {tier} a page in PAGES")
        )
    return document


def main() -> None:
    """Write the pages of the references that are there."""
    for home in (PAPERS, STUDIES):
        for folder in sorted((ROOT / home.reference).iterdir()):
            document = document_of(folder)
            path = ROOT / home.pages / PAGES[folder.name]
            path.write_text(page(document, home), encoding="utf-8")
            print(f"{path} has the results of {folder}")


if __name__ == "__main__":
    main()
