"""The audit of the paper's printed numbers against its own formulas and other tables.

Nothing is trained here. A disagreement says nothing about a finding; it says which printed numbers
can't be taken at their word.
"""

from __future__ import annotations

import numpy as np
import pytest

from embinit.claims.audit import (
    Check,
    agrees,
    audited,
    between,
    exactly,
    mean_of_whole_numbers,
    printed,
    root,
)
from embinit.lab.tables.recipes import INITS
from embinit_papers.kim2024 import TASKS, of_paper
from embinit_papers.kim2024.experiments import LABELS, SOURCES
from embinit_papers.kim2024.numbers import numbers

PAPER = numbers()
SCORES, WIDTHS, ROWS = PAPER["tables_1_and_7"], PAPER["tables_2_and_8"], PAPER["table_6"]["rows"]
CELLS = [(source, task) for source in SOURCES for task in TASKS]
PARTS = ("min", "max", "mean", "sigma")


def _needs_torch():
    """Skips an audit without torch, which few need; so it is not loaded where claims are listed."""
    pytest.importorskip(
        "torch", reason="embinit's own models need torch: pip install 'embinit[models]'"
    )


def label(init, source="glove"):
    """An arm as the paper writes it."""
    return INITS[init].label.format(source=LABELS[source])


def shape(source, task):
    """The encoder's vocabulary as Table 5 prints it, and the width of the model."""
    return PAPER["table_5"][source][task]["vocabulary"][0], of_paper(source, task).model.dim


def xavier_sigma(rows, dim):
    """sqrt(2 / (N + D)) for a printed N."""
    return root(2 / (printed(rows) + exactly(dim)))


def parts_agree(what, row, found):
    """Checks of a table's printed parts, each against a number and its arithmetic."""
    return [agrees(f"{what}, {part}", row[part], *of) for part, of in found.items()]


def xavier_parts(sigma, summed, where=""):
    """Xavier's sigma, and its ends, which are sigma * sqrt(3) from 0."""
    return {
        "sigma": (sigma, f"sqrt(2 / ({summed})){where}"),
        "max": (sigma * root(3), f"sqrt(6 / ({summed})){where}"),
        "min": (-sigma * root(3), f"-sqrt(6 / ({summed})){where}"),
    }


def standardised_ends(raw, sigma, said):
    """Equation 1: a raw table's ends less its mean, at another sigma."""
    ratio = sigma / printed(raw["sigma"])
    return {
        end: (
            (printed(raw[end]) - printed(raw["mean"])) * ratio,
            f"({raw[end]} - {raw['mean']}) * {said} / {raw['sigma']}",
        )
        for end in ("min", "max")
    }


@audited(
    "kim2024/audit/xavier-width",
    says="Xavier's ranges and sigmas follow from the vocabularies and widths",
    where="Tables 2 and 5",
)
def test_xaviers_width_follows_from_its_shape():
    checks = []
    for source, task in CELLS:
        rows, dim = shape(source, task)
        found = xavier_parts(xavier_sigma(rows, dim), "N + D", f", N = {rows}, D = {dim}")
        row = WIDTHS[source]["xavier"][task]
        checks += parts_agree(f"Xavier on {task} with {LABELS[source]}", row, found)
    return checks


@audited(
    "kim2024/audit/standardised-ranges",
    says="The standardized tables' ranges follow from the raw ones by equation 1",
    where="Table 2 and eq. 1",
)
def test_equation_1_gives_the_standardised_ranges():
    checks = []
    for source, task in CELLS:
        raw, row = (WIDTHS[source][init][task] for init in ("pretrained", "pretrained_xavier"))
        found = standardised_ends(raw, xavier_sigma(*shape(source, task)), "sqrt(2 / (N + D))")
        checks += parts_agree(f"{label('pretrained_xavier', source)} on {task}", row, found)
    return checks


@audited(
    "kim2024/audit/stretched-ranges",
    says="Stretched Xavier keeps its source's mean and sigma, and ranges over mean ± sigma·√3",
    where="Tables 2 and 8, eq. 4",
)
def test_equation_4_gives_the_stretched_ranges():
    checks = []
    for source, task in CELLS[len(TASKS) :]:  # but GloVe's
        raw, row = (WIDTHS[source][init][task] for init in ("pretrained", "xavier_pretrained"))
        mean, sigma = printed(raw["mean"]), printed(raw["sigma"])
        found = {
            "mean": (mean, "Table 2"),
            "sigma": (sigma, "Table 2"),
            "min": (mean - sigma * root(3), f"{raw['mean']} - {raw['sigma']} * sqrt(3)"),
            "max": (mean + sigma * root(3), f"{raw['mean']} + {raw['sigma']} * sqrt(3)"),
        }
        checks += parts_agree(f"{label('xavier_pretrained', source)} on {task}", row, found)
    return checks


def _table_6_is_xavier(sigma, summed, where=""):
    found = xavier_parts(sigma, summed, where)
    del found["min"]
    return parts_agree("Xavier", ROWS["xavier"], found)


@audited(
    "kim2024/audit/table-6-caption",
    says="Table 6's Xavier row is that of the 5,893 rows in its caption",
    where="Table 6",
)
def test_table_6_has_the_rows_of_its_caption():
    rows = PAPER["table_6"]["caption_rows"]
    return _table_6_is_xavier(root(exactly(2) / (exactly(rows) + exactly(300))), f"{rows} + 300")


@audited(
    "kim2024/audit/table-6-encoder",
    says="Table 6's Xavier row is that of the German encoder vocabulary in Table 5",
    where="Tables 5 and 6",
)
def test_table_6_has_the_rows_of_the_encoder():
    rows, dim = shape("glove", "multi30k")
    return _table_6_is_xavier(xavier_sigma(rows, dim), "N + D", f", N = {rows}, D = {dim}")


@audited(
    "kim2024/audit/table-6-scaled",
    says="Table 6's scaled rows are its plain ones times √300",
    where="Table 6",
)
def test_table_6_scales_by_the_root_of_300():
    checks = []
    for name in ("xavier", "glove", "glove_xavier"):
        plain = {part: ROWS[name][part] for part in PARTS}
        found = {part: (printed(x) * root(300), f"{x} * sqrt(300)") for part, x in plain.items()}
        checks += parts_agree(f"{name} × √D", ROWS[f"{name}*sqrt(D)"], found)
    return checks


@audited(
    "kim2024/audit/table-6-standardised",
    says="Table 6's GloVe_Xavier row follows from its GloVe row by equation 1",
    where="Table 6 and eq. 1",
)
def test_table_6_standardises_by_equation_1():
    sigma = ROWS["xavier"]["sigma"]
    found = standardised_ends(ROWS["glove"], printed(sigma), sigma)
    return parts_agree("GloVe_Xavier", ROWS["glove_xavier"], found)


@audited(
    "kim2024/audit/tables-2-and-6",
    says="Tables 2 and 6 print the same tables for Multi30k with GloVe",
    where="Tables 2 and 6",
)
def test_tables_2_and_6_agree_on_multi30k():
    same = {"xavier": "xavier", "pretrained": "glove", "pretrained_xavier": "glove_xavier"}
    checks = []
    for init, name in same.items():
        found = {part: (printed(ROWS[name][part]), "Table 6") for part in PARTS}
        checks += parts_agree(init, WIDTHS["glove"][init]["multi30k"], found)
    return checks


@audited(
    "kim2024/audit/equation-2",
    says="Table 6's row of the position encodings comes from equation 2, at some length",
    where="Table 6 and eq. 2",
)
def test_the_position_encodings_are_those_of_equation_2():
    """Every length up to 6,000, as printed (base 1000, exponent j/D) and as Vaswani has it."""
    return [_best_length(kind) for kind in ("equation-2", "sinusoidal")]


def _best_length(kind):
    _needs_torch()
    from embinit.lab.tables.positions import table

    row = ROWS["position_encoding"]
    places = table(kind, 6000, 300).double().numpy()
    counts = np.arange(1, 6001) * 300
    mean = places.sum(axis=1).cumsum() / counts
    sigma = np.sqrt((places**2).sum(axis=1).cumsum() / counts - mean**2)
    off = np.zeros(6000)
    for part, values in (("mean", mean), ("sigma", sigma)):
        low, high = (float(end) for end in (printed(row[part]).a, printed(row[part]).b))
        off = np.maximum(off, np.maximum(low - values, values - high) / (high - low))
    best = int(off.argmin())
    return Check(
        f"{kind}, D = 300",
        f"mean {row['mean']}, sigma {row['sigma']}",
        f"mean {mean[best]:.3f}, sigma {sigma[best]:.3f} at length {best + 1}",
        "the nearest of lengths 1 to 6,000",
        bool(off[best] == 0),
    )


@audited(
    "kim2024/audit/analogy-counts",
    says="The percentages of word analogies are those of their counts",
    where="Table 4 and A.2",
)
def test_percentages_follow_from_counts():
    four = PAPER["table_4"]
    counts = [(row["says"], row["percent"], row["correct"], "applicable") for row in four["rows"]]
    counts.append(("questions answered, A.2", "8.35", four["applicable"], "questions"))
    return [
        agrees(says, percent, exactly(part) * 100 / exactly(four[of]), f"{part} / {four[of]}")
        for says, percent, part, of in counts
        if part is not None
    ]


@audited(
    "kim2024/audit/residual-analogies",
    says="The accuracy that section 5.1 gives GloVe_Xavier is Table 4's",
    where="Section 5.1 and Table 4",
)
def test_section_5_1_quotes_table_4():
    [row] = [row for row in PAPER["table_4"]["rows"] if "Xavier-std & Pos" in row["says"]]
    return [
        agrees("GloVe_Xavier, section 5.1", "11.1", printed(row["percent"]), f"{row['says']}: 12.9")
    ]


@audited(
    "kim2024/audit/unscaled-positions",
    says="Positions said to leave analogies alone are the smaller part of the variance (our rule)",
    where="Tables 4 and 6",
)
def test_positions_that_change_nothing_are_small():
    wave = ROWS["position_encoding"]["sigma"]
    places = printed(wave) ** 2
    checks = []
    for said, name in (("GloVe & Pos. Enc.", "glove"), ("GloVe × √D + PE", "glove*sqrt(D)")):
        sigma = ROWS[name]["sigma"]
        share = places / (places + printed(sigma) ** 2)
        checks.append(
            Check(
                f"{said}: the positions' share of the variance",
                "no effect",
                f"a share of {float(share.mid):.3f}, to be below 0.5",
                f"{wave}² / ({wave}² + {sigma}²)",
                bool(share.b < 0.5),
            )
        )
    return checks


@audited(
    "kim2024/audit/parameters",
    says="The parameter counts are those of the models described",
    where="Table 5 and A.2",
)
def test_parameter_counts_are_the_models():
    """Feed-forward 512 and an untied output: the paper leaves both out."""
    _needs_torch()
    from embinit.lab.data.tasks import TASKS as DATA_SETS
    from embinit.lab.models.transformer import ModelShape

    checks = []
    for source, task in CELLS:
        model, size = of_paper(source, task).model, PAPER["table_5"][source][task]
        encoder, decoder = [*map(printed, size["vocabulary"]), exactly(0)][:2]
        low, high = (
            ModelShape(
                model,
                encoder_vocabulary=int(first),
                decoder_vocabulary=int(second),
                outputs=int(second) or DATA_SETS[task].classes,
            ).parameters
            for first, second in ((encoder.a, decoder.a), (encoder.b, decoder.b))
        )
        said = f"N = {'/'.join(size['vocabulary'])}, D = {model.dim}, FF {model.feed_forward}"
        what = f"{task} with {LABELS[source]}"
        checks.append(agrees(what, size["parameters"], between(low, high), said))
    return checks


@audited(
    "kim2024/audit/whole-epochs",
    says="The mean best epochs are means over as many seeds as A.2 names",
    where="Tables 1 and 7, A.2",
)
def test_mean_epochs_are_means_of_whole_epochs():
    """GloVe on MNLI was run twice for each setting of a grid (A.2)."""
    return [
        mean_of_whole_numbers(
            f"{label(init, source)} on {task} beside {LABELS[source]}, {name.replace('_', ', ')}",
            cell[name],
            2 if (source, task) == ("glove", "mnli") else PAPER["seeds"][task],
        )
        for source in SOURCES
        for init, row in SCORES[source].items()
        for task, cell in row.items()
        for name in ("epoch", "epoch_mismatched")
        if name in cell
    ]


@audited(
    "kim2024/audit/table-3-epochs",
    says="Table 3's mean epochs are means over the four seeds of Multi30k",
    where="Table 3, A.2",
)
def test_table_3_has_four_seeds():
    return [
        mean_of_whole_numbers(
            f"{label(init)}, {'trained' if cell['trained'] else 'frozen'}, "
            f"{'with' if cell['positions'] else 'without'} positions",
            cell["epoch"],
            PAPER["seeds"]["multi30k"],
        )
        for init, row in PAPER["table_3"].items()
        for cell in row
    ]


@audited(
    "kim2024/audit/tables-1-and-3",
    says="Table 3's rows with training and positions are Table 1's",
    where="Tables 1 and 3",
)
def test_tables_1_and_3_agree():
    checks = []
    for init, row in PAPER["table_3"].items():
        [three] = [cell for cell in row if cell["trained"] and cell["positions"]]
        one = SCORES["glove"][init]["multi30k"]
        pairs = zip((*one["score"], one["epoch"]), (*three["bleu"], three["epoch"]), strict=True)
        for what, (text, other) in zip(("BLEU", "sd of BLEU", "epoch"), pairs, strict=True):
            said = f"Table 3: {other}"
            checks.append(agrees(f"{label(init)}, {what}", text, printed(other), said))
    return checks


BUT_MULTI30K, BUT_SST2 = {*TASKS} - {"multi30k"}, {*TASKS} - {"sst2"}
ABOVE = (
    ("glove", "xavier", "pretrained", TASKS),
    ("glove", "pretrained_xavier", "pretrained", TASKS),
    ("glove", "pretrained_xavier", "xavier", TASKS),
    ("bert", "pretrained", "pretrained_shuffled", TASKS),
    ("t5", "pretrained", "pretrained_shuffled", TASKS),
    ("t5", "xavier", "xavier_pretrained", TASKS),
    ("bert", "pretrained", "xavier", BUT_MULTI30K),
    ("bert", "pretrained", "pretrained_xavier", BUT_MULTI30K),
    ("t5", "pretrained_xavier", "pretrained", BUT_SST2),
    ("t5", "pretrained", "pretrained_xavier", ("sst2",)),
    ("bert", "xavier_pretrained", "xavier", ("sst2", "iwslt2017")),
)
"""Which init the text puts above which, for which embeddings and on which tasks."""


@audited(
    "kim2024/audit/sentences",
    says="What the sections say of Tables 1, 3 and 7 is so in the tables",
    where="Sections 1, 5 and 6, A.3",
)
def test_sentences_hold_in_the_tables():
    checks = []
    for task in TASKS:
        for source, higher, lower in (cell[:3] for cell in ABOVE if task in cell[3]):
            what = f"{label(higher, source)} against {label(lower, source)}"
            for name in ("matched", "mismatched") if task == "mnli" else ("score",):
                first, second = (SCORES[source][one][task][name][0] for one in (higher, lower))
                found, true = f"{first} against {second}", float(first) > float(second)
                said = f"{task}, {name}: {what}"
                checks.append(Check(said, "above", found, "Tables 1 and 7", true))
    return checks + _sentences_on_table_3()


def _sentences_on_table_3():
    """Positions alone gain more than training alone, and GloVe gains the least from positions."""
    gains, checks = {}, []
    for init, row in PAPER["table_3"].items():
        bleu = {(cell["trained"], cell["positions"]): float(cell["bleu"][0]) for cell in row}
        training = bleu[True, False] - bleu[False, False]
        gains[init] = bleu[False, True] - bleu[False, False]
        found = f"{gains[init]:.1f} against {training:.1f} BLEU"
        what = f"{label(init)}: positions alone against training alone"
        checks.append(Check(what, "gain more", found, "Table 3", gains[init] > training))
    least = gains.pop("pretrained")
    others = min(gains.values())
    found, true = f"{least:.1f} against {others:.1f} BLEU and more", least < others
    return [*checks, Check("GloVe's gain from positions", "least", found, "Table 3", true)]
