"""Results: the page that is written from the papers' blessed references.

Figures in prose grow old with each blessing. This page has all of them, each read from a
``verdicts.json``, and a test fails where the committed page is not that of the references. The
README's table of findings is written too, and the first paper's statements with their claims.

    python benchmarks/results.py
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from records import table

from embinit.claims.records import AuditRecord, Blessed, ClaimRecord, ComparisonRecord
from embinit.report.document import FAILS, HERE, MIXED, Document, StatementCounts
from embinit.report.markdown import findings_as_markdown
from embinit.report.numbers import duration, span
from embinit.report.reading import read
from embinit.report.summary import controls_in_words, statement_of, tables
from embinit.report.verdicts import difference, means
from embinit.stats.statements import VERDICTS

ROOT = Path(__file__).parents[1]
TIERS = ("micro", "sample", "full")
"""The tiers that may have a reference."""

BEGIN, END = "<!-- findings: written by make results -->\n\n", "<!-- end of findings -->"
"""The marks around the README's table."""

REFERENCES, PAGE = "reports/reference", "docs/results.md"
STUDIES = "studies/reference/micro/verdicts.json"

ALIKE = {
    "multi30k-en-de": "micro-translation",
    "sst2-sentences": "micro-sentiment-plain",
    "mnli": "micro-inference",
}
"""The synthetic language's task that corresponds to a task on real text."""

FROZEN = (
    "A frozen random table of 64 numbers a word limits a small model more than one of 300 limits "
    "the paper's: on the synthetic language training the embeddings gains most of the score, in "
    "print little, and on real text something between."
)
REASONS = {
    "Standardizing BERT embeddings hurts": "Standardizing lowers their scale, which speeds short "
    "trainings of narrow models: there Xavier's loses at BERT's scale, too. What it takes from a "
    "published table, such as rows that tell how rare a word is, a synthetic one hardly has.",
    "On SST-2, T5 embeddings beat Xavier's and standardized T5": "The paper's own exception. What "
    "a published table knows of English words' sentiment can outweigh its scale; a table trained "
    "on the synthetic text knows less.",
    "On SST-2 and IWSLT2017, Xavier at BERT's sd beats Xavier": "The printed gain "
    "on SST-2 is half its standard deviation. Models 64 wide, trained on 2,000 sentences, are "
    "slower to leave a larger initialization.",
    "On MNLI, Xavier at BERT's sd equals Xavier": "As in the row before: what "
    "393,000 pairs even out, 6,000 do not.",
    "Standardized embeddings beat Xavier's": "GloVe puts words together that occur together, and "
    "in the synthetic sentiment task these are words of either label. On translation, where such "
    "words translate alike, standardized tables gain.",
    "Costs grow from BERT to GloVe to T5": "GloVe's two tables know nothing of each "
    "other. mT5's is one for both languages, which may make up for part of its larger scale.",
    "Shuffling pretrained embeddings hurts": "After the first of four epochs, models with mT5's "
    "table have learned so little that shuffling it costs less than the margin.",
    "Position encodings help frozen GloVe less": "Position encodings drown a frozen Xavier table "
    "64 wide, which is worse with them than without; GloVe's larger values stand above them.",
    "Position encodings help more than training the embeddings": FROZEN,
    "Without positions, training does not help standardized GloVe": FROZEN,
    "Frozen without positions, GloVe equals standardized GloVe": "The layers above must learn the "
    "scale of a frozen table; the paper's 20 epochs of 29,000 sentences give them the time.",
    "Position encodings cost standardized GloVe most word relations, not all": "A word "
    "of the synthetic language has few others near it, and keeps its nearest one under much noise. "
    "Among the words of English another is always near.",
}
"""The likely reason where a finding is decided against a paper's; none of them is tested."""

HEAD = """# Results

`make results` writes this page from the blessed reports in `reports/reference`.
`embinit report reports/reference/*/verdicts.json` makes a page with every claim.
`make retrain` trains 20 random runs of the synthetic language again and compares each digit.

"Replicates, 3 of 4, 1 undecided" means that of 4 settings that could be run 3 support the finding
and 1 is undecided ([rule](verdicts.md#findings)). The numbers are of the setting with the
median effect in margins. The synthetic language shows whether a mechanism works, not how large it
is in English.
"""


def page(documents: Sequence[Document]) -> str:
    """The page of some verdicts documents, one a tier, in Markdown."""
    sections = [HEAD]
    sections += ["## Findings\n", findings_as_markdown(documents)]
    for document in documents:
        verdicts = {claim.verdict for claim in document.claims}
        shown = [name for name in VERDICTS if name in verdicts]
        controls = controls_in_words(document.summary.controls)
        sections += [f"## `{document.session.tier}`\n", _session(document)]
        sections += [_whose(document.summary.statements, shown)]
        sections += [f"{controls[0].upper()}{controls[1:]}.\n"]
    sections += ["## Where it disagrees with the papers\n", _disagreements(documents)]
    sections += ["## Scores beside the printed ones\n", _levels(documents)]
    if len(documents) > 1:
        sections += ["## Synthetic language and real text\n", _beside(*documents[:2])]
    sections += ["## One side and both\n", _sides(read(ROOT / STUDIES))]
    if audits := {audit.id: audit for document in documents for audit in document.audits}:
        sections += ["## Audits of printed numbers\n", _audits(audits.values())]
    return "\n".join(sections)


def _session(document: Document) -> str:
    session, blessed = document.session, document.blessed
    wanted, trained = session.runs.wanted, session.runs.trained
    made = f"of which {trained} were trained in {duration(session.wall_seconds)}"
    seeds = span(one.n for claim in document.claims for one in claim.comparisons if not one.exact)
    rows = [
        ("Tier", f"`{session.tier}`, {seeds} seeds an arm"),
        ("Date", session.started[:10]),
        ("Machine", session.device),
        ("Runs", f"{wanted}, {made if trained else 'all read from the store: see the note'}"),
        ("Versions", ", ".join(f"{name} {one}" for name, one in session.versions.items())),
        ("Command", f"`{session.command}`"),
    ]
    if blessed is not None:
        rows.append(("Blessed", f"{blessed.when[:10]}, at revision `{_revision(blessed)}`"))
    rows += [("Note", note) for note in session.notes]
    earlier = Counter(
        (claim.blessed.when[:10], _revision(claim.blessed))
        for claim in document.claims
        if claim.blessed is not None
    )
    for (when, revision), number in sorted(earlier.items()):
        whose = f"{number} of the claims and controls"
        rows.append((whose, f"of another session, blessed {when}, at `{revision}`"))
    return table(("session", "value"), rows)


def _revision(blessed: Blessed) -> str:
    return (blessed.revision or "unknown")[:12]


def _whose(statements: Iterable[StatementCounts], shown: Sequence[str]) -> str:
    """One row a paper and origin: its claims by verdict, and how many were registered before."""
    rows, late = [], []
    for row in statements:
        name = f"{row.paper}: {row.whose}"
        counts = [str(row.verdicts[verdict]) for verdict in shown]
        rows.append((name, *counts, f"{row.beforehand} of {row.claims}"))
        late += [f"- {name}, {number}: {why}." for why, number in row.late.items()]
    made = table(("Statements", *shown, "preregistered"), rows)
    return "\n".join([made, *late, ""] if late else [made])


def _disagreements(documents: Sequence[Document]) -> str:
    """One row a finding that some data decide against the paper, with the likely reason."""
    against = (FAILS, HERE[FAILS], MIXED)
    rows = []
    for findings in tables(documents):
        for title, cells in findings.rows.items():
            found = [
                f"{cell.outcome} ({findings.columns[number]})"
                for number, cell in cells.items()
                if cell.outcome in against
            ]
            if found:
                rows.append((title, "; ".join(found), REASONS[title]))
    made = table(("finding", "outcome", "likely reason"), rows)
    return f"The reasons are likely ones, and none is tested.\n\n{made}"


def _levels(documents: Sequence[Document]) -> str:
    """One row an arm of which the paper prints a score: that, and the mean on each tier."""
    tiers = [document.session.tier for document in documents]
    rows: dict[Level, dict[str, Sequence[float]]] = {}
    for document, tier in zip(documents, tiers, strict=True):
        for level, values in _with_printed(document):
            row = rows.setdefault(level, dict.fromkeys(tiers, ()))
            row[tier] = max(values, row[tier], key=len)
    made = table(
        ("task", "embeddings", "arm", "printed", *(f"`{tier}`" for tier in tiers)),
        [
            (
                *(*names, f"{score:.1f}"),
                *(f"{fmean(one):.1f} ({len(one)})" if one else "" for one in row.values()),
            )
            for (*names, score), row in sorted(rows.items())
        ],
    )
    return f"Means, in BLEU and % accuracy, with the number of seeds.\n\n{made}"


Level = tuple[str, str, str, float]
"""The paper's task, whose embeddings, an arm, and its printed score."""


def _with_printed(document: Document) -> Iterator[tuple[Level, Sequence[float]]]:
    """The scores of arms, for each printed one that an arm has."""
    every = ((claim, one) for claim in document.claims for one in claim.comparisons)
    for claim, one in every:
        for printed in one.printed if one.metric in ("bleu", "accuracy") else ():
            sides = zip(one.values, (printed.left, printed.right), strict=True)
            for (arm, values), score in sides:
                if len({*values}) > 1 and not arm.startswith("("):  # no constant, no difference
                    known = [value for value in values if value is not None]
                    yield (printed.task, claim.source_label or "", arm, score), known


def _beside(made: Document, real: Document) -> str:
    """One row a difference that both tiers have, and how many point the same way."""
    of_made = {claim.id: claim for claim in made.claims}
    rows: dict[tuple[str, str], dict[str, str]] = {}
    same = {True: [], False: []}
    for claim in real.claims:
        task = ALIKE.get(claim.task, "")
        twin = of_made.get(claim.id.replace(f"-{claim.task}]", f"-{task}]"))
        if twin is None or not claim.trained or claim.control:
            continue
        for one, other in zip(twin.comparisons, claim.comparisons, strict=False):
            arms = (one.arms.left, one.arms.right)
            if arms[::-1] in rows or other.metric not in ("bleu", "accuracy"):
                continue
            row = rows.setdefault(arms, {})
            if task in row or one.metric != other.metric:
                continue
            alike = one.difference * other.difference > 0
            same[other.verdict != "UNDECIDED"].append(alike)
            pair = ", ".join(map(_in_words, (one, other)))
            row[task] = pair if alike else f"**{pair}**"
    differences = table(
        ("difference", *(f"`{task}`, `{name}`" for name, task in ALIKE.items())),
        [
            (" − ".join(arms), *(row.get(task, "") for task in ALIKE.values()))
            for arms, row in sorted(rows.items())
            if row
        ],
    )
    return (
        "Means, in BLEU and points; in brackets what is undecided there, bold where signs differ. "
        f"On real text MiniLM is in place of BERT. Of {len(same[True])} that real text decides "
        f"{sum(same[True])} point the same way, and of {len(same[False])} undecided ones "
        f"{sum(same[False])}.\n\n{differences}"
    )


def _sides(studies: Document) -> str:
    """What embeddings on one side say of embeddings on both, by claims on the same draws."""
    claims = [claim for claim in studies.claims if claim.family == "studies/sides"]
    rows = [
        (claim.statement, ", ".join(means(one)), difference(one), claim.verdict)
        for claim in claims
        for one in claim.comparisons
    ]
    made = table(("statement", "means", "difference", "verdict"), rows)
    return (
        "The paper puts pretrained embeddings on both sides of a translation model. With GloVe on "
        "the encoder alone, the decoder starts from Xavier in every arm; frozen, it keeps a random "
        "table. That is another experiment: it understates what unscaled GloVe costs, and lets "
        f"frozen GloVe beat Xavier's.\n\n{made}"
    )


def _in_words(comparison: ComparisonRecord) -> str:
    text = f"{comparison.difference:.1f}".replace("-", "−")
    return f"({text})" if comparison.verdict == "UNDECIDED" else text


def _audits(audits: Iterable[AuditRecord]) -> str:
    """One row an audit: what was checked, and the numbers that disagree."""
    rows = []
    for audit in audits:
        wrong = [one for one in audit.checks if not one.consistent]
        what = "; ".join(f"{one.what}: {one.printed}, not {one.computed}" for one in wrong)
        rows.append((f"`{audit.id}`", audit.statement, audit.verdict, what))
    return table(("Audit", "Statement", "Verdict", "Numbers that disagree"), rows)


STATEMENTS = "claims/embinit_papers/*/statements.toml"
HOW = ("faithful", "weakened", "missing")
"""How a statement of the paper is claimed: as it says, in part, or not."""


def statements(documents: Sequence[Document], entries: Sequence[Mapping[str, Any]]) -> str:
    """The paper's statements, the claims that test each, and their verdicts on each tier."""
    counts = Counter(entry["how"] for entry in entries)
    known = [(document.session.tier, document.claims) for document in documents]
    rows = [
        (
            entry["where"],
            entry["says"],
            ", ".join(f"`{one.partition('/')[2]}`" for one in entry["claims"]),
            *(_verdicts(entry, claims) for _, claims in known),
            f"{entry['how']}: {entry['why']}" if entry.get("why") else entry["how"],
        )
        for entry in entries
    ]
    summary = ", ".join(f"{counts[how]} {how}" for how in HOW)
    return (
        "# The paper's statements\n\n"
        "`make results` writes this page from `statements.toml` and the blessed reports. "
        f"Of {len(entries)} statements: {summary}. A cell counts the verdicts of the named claims "
        "in the experiments that the statement is about; a dash says that none was judged there."
        "\n\n"
        + table(("Where", "Statement", "Claims", *(f"`{tier}`" for tier, _ in known), "How"), rows)
    )


def _verdicts(entry: Mapping[str, Any], claims: Sequence[ClaimRecord]) -> str:
    """How many claims of a statement have each verdict, in its experiments, in words."""
    about = re.compile(entry.get("only", ""))
    counts = Counter(
        one.verdict
        for one in claims
        if statement_of(one) in entry["claims"] and about.match(one.experiment)
    )
    return ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name]) or "–"


def documents_of() -> list[Document]:
    """The verdicts of the references."""
    paths = [ROOT / REFERENCES / tier / "verdicts.json" for tier in TIERS]
    return [read(path) for path in paths if path.exists()]


def _named_once(row: str) -> str:
    """A row of findings, without the name of its embeddings where the title has it."""
    title, cells = row[:2] + row[2:].partition("|")[0], row[2:].partition("|")[2]
    if not cells:
        return row
    return f"{title}|" + re.sub(
        r" \((\w+)\)", lambda of: "" if f" {of[1]}" in title else of[0], cells
    )


def readme(documents: Sequence[Document], text: str) -> str:
    """The README with its table of findings written anew, each cell in short."""
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    short = re.sub(r"(\d+) of (\d+)", r"\1/\2", findings_as_markdown(documents, short=True))
    short = re.sub(r"inconclusive, (?:1 (undecided)|(\d+ undecided))", r"\1\2", short)
    short = short.replace("| finding |", "| |")
    short = "\n".join(map(_named_once, short.splitlines()))
    if len(alone := {*re.findall(r"( \([^|()]+\)) \|$", short, re.MULTILINE)}) == 1:
        of_all = alone.pop()  # the only embeddings of the last column stand in its head
        short = short.replace(f"{of_all} |\n", " |\n").replace(" |\n", f"{of_all} |\n", 1)
    return f"{before}{BEGIN}{short}\n\n{END}{after}"


def main() -> None:
    """Write the page of the references that are there, and the README's table."""
    documents = documents_of()
    (ROOT / PAGE).write_text(page(documents), encoding="utf-8")
    for path in ROOT.glob(STATEMENTS):
        entries = tomllib.loads(path.read_text("utf-8"))["statement"]
        path.with_name("STATEMENTS.md").write_text(statements(documents, entries), encoding="utf-8")
    print(f"{PAGE} has the results of {REFERENCES}")
    path = ROOT / "README.md"
    path.write_text(readme(documents, path.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
