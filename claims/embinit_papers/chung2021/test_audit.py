"""The audit of the paper's printed numbers against its own settings and other numbers.

Nothing is trained here. A disagreement says nothing about a finding; it says which printed numbers
can't be taken at their word.
"""

from __future__ import annotations

from embinit.claims.audit import Check, agrees, audited, exactly, printed
from embinit_papers.chung2021 import numbers
from embinit_papers.chung2021.counting import papers_parameters

PAPER = numbers()
WORDS = 120_000
"""The multilingual vocabulary of section 3."""


def counts_of(name, row, words, nearest):
    """Checks a model's two printed counts against ``nearest`` of those in millions."""
    counts = papers_parameters(row, words)
    checks = []
    for phase in ("pretraining", "finetuning"):
        millions, text = getattr(counts, phase) / 1e6, row[phase]
        what = f"{name} (Table {row['tables']}), {phase}"
        agree = text == f"{nearest(millions)}M"
        checks.append(Check(what, text, f"{millions:.1f}M", in_words(row, words), agree))
    return checks


def in_words(row, words):
    """A model's widths and depth, by which its parameters are counted."""
    added = f" and {row['added']} added" if row["added"] else ""
    output = row["output"] or "coupled"
    return (
        f"{words:,} words, H = {row['dim']}, E_in = {row['input']}, E_out = {output}, "
        f"{row['layers']} layers{added}"
    )


def mean(values):
    """The mean of numbers, each of them an interval."""
    return sum(values[1:], start=values[0]) / len(values)


@audited(
    "chung2021/audit/embedding-shares",
    says="The embeddings' shares of the parameters follow from vocabularies and widths",
    where="section 1, Table 1",
)
def test_shares_of_embeddings_follow_from_their_shapes():
    checks = []
    for row in PAPER["table_1"]:
        table = printed(row["vocabulary"]) * exactly(row["dim"])
        share = 100 * printed(row["embeddings"]) / printed(row["parameters"])
        shape = f"{row['vocabulary']} x {row['dim']}"
        quotient = f"{row['embeddings']} / {row['parameters']}"
        checks += [
            agrees(f"{row['model']}, embeddings", row["embeddings"], table, shape),
            agrees(f"{row['model']}, share in %", row["share"], share, quotient),
        ]
    return checks


@audited(
    "chung2021/audit/parameters",
    says="The multilingual models have the parameters that are printed",
    where="Tables 2 to 6",
)
def test_parameters_are_the_models():
    """Counts are printed without what follows the point: mBERT's 177.6M are 177M."""
    checks = [c for name, row in PAPER["xtreme"].items() for c in counts_of(name, row, WORDS, int)]
    narrow, wide = PAPER["xtreme"]["narrow input"], PAPER["xtreme"]["narrow output"]
    fewer = 100 * (1 - printed(narrow["finetuning"]) / printed(wide["finetuning"]))
    quotient = f"1 - {narrow['finetuning']} / {wide['finetuning']}"
    checks.append(agrees("fewer parameters in %, section 4", "43", fewer, quotient))
    return checks


@audited(
    "chung2021/audit/parameters-in-english",
    says="The English and the factorised models have the parameters that are printed",
    where="Tables 12 and 13",
)
def test_parameters_in_english_are_the_models():
    """The English counts are rounded, with 30,000 words; the multilingual ones as in Table 2."""
    checks = []
    for name, row in PAPER["tables_12_and_13"].items():
        nearest = int if row["words"] == WORDS else round
        checks += counts_of(name, row, row["words"], nearest)
    return checks


@audited(
    "chung2021/audit/averages",
    says="The averages are means over the six tasks, of EM and F1 where there are two",
    where="Tables 2 to 6",
)
def test_averages_are_means_over_tasks():
    checks = []
    for name, row in PAPER["xtreme"].items():
        scores = row["scores"].values()
        average = mean([mean([*map(printed, score)]) for score in scores])
        arithmetic = f"({' + '.join('/'.join(score) for score in scores)}) / 6"
        what = f"{name} (Table {row['tables']}), average"
        checks.append(agrees(what, row["average"], average, arithmetic))
    return checks
