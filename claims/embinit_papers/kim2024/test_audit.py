"""The audit of the paper's printed numbers against its own formulas and other tables.

Nothing is trained here. A disagreement says nothing about a finding; it says which printed numbers
can't be taken at their word.
"""

from __future__ import annotations

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

ENDS = ("min", "max")


def _with_torch():
    """Torch, which few of these audits need; so it is not loaded where claims are listed."""
    return pytest.importorskip(
        "torch", reason="embinit's own models need torch: pip install 'embinit[models]'"
    )


@pytest.fixture
def paper():
    """The paper's tables."""
    return numbers()


def cells(rows):
    """Each experiment of a table: its source, its task, its numbers."""
    return [(s, task, rows[s][task]) for s in SOURCES for task in TASKS]


def _model(source, task):
    """The paper's model with a source on a task, as the tier ``paper`` has it."""
    return of_paper(source, task).model


def label(init, source):
    """An arm as the paper writes it."""
    return INITS[init].label.format(source=LABELS[source])


def xavier_sigma(size, source, task):
    """sqrt(2 / (N + D)) for the encoder's vocabulary as Table 5 prints it."""
    return root(2 / (printed(size["vocabulary"][0]) + exactly(_model(source, task).dim)))


@audited(
    "kim2024/audit/xavier-width",
    says="Xavier's ranges and sigmas follow from the vocabularies and widths",
    where="Tables 2 and 5",
)
def test_xaviers_width_follows_from_its_shape(paper):
    checks = []
    for source, task, size in cells(paper["table_5"]):
        row = paper["tables_2_and_8"][source]["xavier"][task]
        sigma = xavier_sigma(size, source, task)
        shape = f"N = {size['vocabulary'][0]}, D = {_model(source, task).dim}"
        what = f"Xavier on {task} with {LABELS[source]}"
        checks += [
            agrees(f"{what}, sigma", row["sigma"], sigma, f"sqrt(2 / (N + D)), {shape}"),
            agrees(f"{what}, max", row["max"], sigma * root(3), f"sqrt(6 / (N + D)), {shape}"),
            agrees(f"{what}, min", row["min"], -sigma * root(3), f"-sqrt(6 / (N + D)), {shape}"),
        ]
    return checks


@audited(
    "kim2024/audit/standardised-ranges",
    says="The standardized tables' ranges follow from the raw ones by equation 1",
    where="Table 2 and eq. 1",
)
def test_equation_1_gives_the_standardised_ranges(paper):
    checks = []
    for source, task, size in cells(paper["table_5"]):
        raw = paper["tables_2_and_8"][source]["pretrained"][task]
        row = paper["tables_2_and_8"][source]["pretrained_xavier"][task]
        ratio = xavier_sigma(size, source, task) / printed(raw["sigma"])
        for end in ENDS:
            checks.append(
                agrees(
                    f"{label('pretrained_xavier', source)} on {task}, {end}",
                    row[end],
                    (printed(raw[end]) - printed(raw["mean"])) * ratio,
                    f"({raw[end]} - {raw['mean']}) * sqrt(2 / (N + D)) / {raw['sigma']}",
                )
            )
    return checks


@audited(
    "kim2024/audit/stretched-ranges",
    says="Stretched Xavier keeps its source's mean and sigma, and ranges over mean ± sigma·√3",
    where="Tables 2 and 8, eq. 4",
)
def test_equation_4_gives_the_stretched_ranges(paper):
    checks = []
    for source in ("bert", "t5"):
        for task in TASKS:
            raw = paper["tables_2_and_8"][source]["pretrained"][task]
            row = paper["tables_2_and_8"][source]["xavier_pretrained"][task]
            what = f"{label('xavier_pretrained', source)} on {task}"
            for name in ("mean", "sigma"):
                checks.append(agrees(f"{what}, {name}", row[name], printed(raw[name]), "Table 2"))
            for end, sign in (("min", -1), ("max", 1)):
                ends = printed(raw["mean"]) + sign * printed(raw["sigma"]) * root(3)
                arithmetic = f"{raw['mean']} {'-+'[sign > 0]} {raw['sigma']} * sqrt(3)"
                checks.append(agrees(f"{what}, {end}", row[end], ends, arithmetic))
    return checks


@audited(
    "kim2024/audit/table-6-caption",
    says="Table 6's Xavier row is that of the 5,893 rows in its caption",
    where="Table 6",
)
def test_table_6_has_the_rows_of_its_caption(paper):
    rows = paper["table_6"]["caption_rows"]
    row = paper["table_6"]["rows"]["xavier"]
    sigma = root(exactly(2) / (exactly(rows) + exactly(300)))
    return [
        agrees("Xavier, sigma", row["sigma"], sigma, f"sqrt(2 / ({rows} + 300))"),
        agrees("Xavier, max", row["max"], sigma * root(3), f"sqrt(6 / ({rows} + 300))"),
    ]


@audited(
    "kim2024/audit/table-6-encoder",
    says="Table 6's Xavier row is that of the German encoder vocabulary in Table 5",
    where="Tables 5 and 6",
)
def test_table_6_has_the_rows_of_the_encoder(paper):
    row = paper["table_6"]["rows"]["xavier"]
    size = paper["table_5"]["glove"]["multi30k"]
    sigma = xavier_sigma(size, "glove", "multi30k")
    said = f"N = {size['vocabulary'][0]}, D = 300"
    return [
        agrees("Xavier, sigma", row["sigma"], sigma, f"sqrt(2 / (N + D)), {said}"),
        agrees("Xavier, max", row["max"], sigma * root(3), f"sqrt(6 / (N + D)), {said}"),
    ]


@audited(
    "kim2024/audit/table-6-scaled",
    says="Table 6's scaled rows are its plain ones times √300",
    where="Table 6",
)
def test_table_6_scales_by_the_root_of_300(paper):
    rows = paper["table_6"]["rows"]
    return [
        agrees(
            f"{name} × √D, {part}",
            rows[f"{name}*sqrt(D)"][part],
            printed(rows[name][part]) * root(300),
            f"{rows[name][part]} * sqrt(300)",
        )
        for name in ("xavier", "glove", "glove_xavier")
        for part in ("min", "max", "mean", "sigma")
    ]


@audited(
    "kim2024/audit/table-6-standardised",
    says="Table 6's GloVe_Xavier row follows from its GloVe row by equation 1",
    where="Table 6 and eq. 1",
)
def test_table_6_standardises_by_equation_1(paper):
    rows = paper["table_6"]["rows"]
    raw, ratio = rows["glove"], printed(rows["xavier"]["sigma"]) / printed(rows["glove"]["sigma"])
    return [
        agrees(
            f"GloVe_Xavier, {end}",
            rows["glove_xavier"][end],
            (printed(raw[end]) - printed(raw["mean"])) * ratio,
            f"({raw[end]} - {raw['mean']}) * {rows['xavier']['sigma']} / {raw['sigma']}",
        )
        for end in ENDS
    ]


@audited(
    "kim2024/audit/tables-2-and-6",
    says="Tables 2 and 6 print the same tables for Multi30k with GloVe",
    where="Tables 2 and 6",
)
def test_tables_2_and_6_agree_on_multi30k(paper):
    two, six = paper["tables_2_and_8"]["glove"], paper["table_6"]["rows"]
    return [
        agrees(f"{init}, {part}", two[init]["multi30k"][part], printed(six[name][part]), "Table 6")
        for init, name in (
            ("xavier", "xavier"),
            ("pretrained", "glove"),
            ("pretrained_xavier", "glove_xavier"),
        )
        for part in ("min", "max", "mean", "sigma")
    ]


@audited(
    "kim2024/audit/equation-2",
    says="Table 6's row of the position encodings comes from equation 2, at some length",
    where="Table 6 and eq. 2",
)
def test_the_position_encodings_are_those_of_equation_2(paper):
    """Every length up to 6,000, as printed (base 1000, exponent j/D) and as Vaswani has it."""
    return [_best_length(paper, kind) for kind in ("equation-2", "sinusoidal")]


def _best_length(paper, kind):
    torch = _with_torch()
    from embinit.lab.tables.positions import table

    row = paper["table_6"]["rows"]["position_encoding"]
    places = table(kind, 6000, 300).double()
    counts = torch.arange(1, 6001, dtype=torch.float64) * 300
    mean = places.sum(dim=1).cumsum(0) / counts
    sigma = (places.square().sum(dim=1).cumsum(0) / counts - mean.square()).sqrt()
    stated = [printed(row[part]) for part in ("mean", "sigma")]
    off = torch.stack(
        [
            (torch.clamp(float(one.a) - values, min=0) + torch.clamp(values - float(one.b), min=0))
            / (float(one.b) - float(one.a))
            for one, values in zip(stated, (mean, sigma), strict=True)
        ]
    ).amax(dim=0)
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
def test_percentages_follow_from_counts(paper):
    four = paper["table_4"]
    asked, applicable = exactly(four["questions"]), exactly(four["applicable"])
    shares = [
        agrees(
            row["says"],
            row["percent"],
            exactly(row["correct"]) * 100 / applicable,
            f"{row['correct']} / {four['applicable']}",
        )
        for row in four["rows"]
        if row["correct"] is not None
    ]
    answered = agrees(
        "questions answered, A.2",
        "8.35",
        applicable * 100 / asked,
        f"{four['applicable']} / {four['questions']}",
    )
    return [*shares, answered]


@audited(
    "kim2024/audit/residual-analogies",
    says="The accuracy that section 5.1 gives GloVe_Xavier is Table 4's",
    where="Section 5.1 and Table 4",
)
def test_section_5_1_quotes_table_4(paper):
    [row] = [row for row in paper["table_4"]["rows"] if "Xavier-std & Pos" in row["says"]]
    return [
        agrees("GloVe_Xavier, section 5.1", "11.1", printed(row["percent"]), f"{row['says']}: 12.9")
    ]


@audited(
    "kim2024/audit/unscaled-positions",
    says="Positions said to leave analogies alone are the smaller part of the variance (our rule)",
    where="Tables 4 and 6",
)
def test_positions_that_change_nothing_are_small(paper):
    rows = paper["table_6"]["rows"]
    wave = rows["position_encoding"]["sigma"]
    places = printed(wave) ** 2
    checks = []
    for said, name in (("GloVe & Pos. Enc.", "glove"), ("GloVe × √D + PE", "glove*sqrt(D)")):
        sigma = rows[name]["sigma"]
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
def test_parameter_counts_are_the_models(paper):
    """Feed-forward 512 and an untied output: the paper leaves both out."""
    _with_torch()
    from embinit.lab.data.tasks import TASKS as DATA_SETS
    from embinit.lab.models.transformer import ModelShape

    checks = []
    for source, task, size in cells(paper["table_5"]):
        model = _model(source, task)
        encoder = printed(size["vocabulary"][0])
        decoder = printed(size["vocabulary"][1]) if len(size["vocabulary"]) > 1 else exactly(0)
        low, high = (
            ModelShape(
                model,
                encoder_vocabulary=int(first),
                decoder_vocabulary=int(second),
                outputs=int(second) or DATA_SETS[task].classes,
            ).parameters
            for first, second in ((encoder.a, decoder.a), (encoder.b, decoder.b))
        )
        checks.append(
            agrees(
                f"{task} with {LABELS[source]}",
                size["parameters"],
                between(low, high),
                f"N = {'/'.join(size['vocabulary'])}, D = {model.dim}, FF {model.feed_forward}",
            )
        )
    return checks


@audited(
    "kim2024/audit/whole-epochs",
    says="The mean best epochs are means over as many seeds as A.2 names",
    where="Tables 1 and 7, A.2",
)
def test_mean_epochs_are_means_of_whole_epochs(paper):
    """GloVe on MNLI was run twice for each setting of a grid (A.2)."""
    return [
        mean_of_whole_numbers(
            f"{label(init, source)} on {task} beside {LABELS[source]}, {name.replace('_', ', ')}",
            cell[name],
            2 if (source, task) == ("glove", "mnli") else paper["seeds"][task],
        )
        for source in SOURCES
        for init, row in paper["tables_1_and_7"][source].items()
        for task, cell in row.items()
        for name in ("epoch", "epoch_mismatched")
        if name in cell
    ]


@audited(
    "kim2024/audit/table-3-epochs",
    says="Table 3's mean epochs are means over the four seeds of Multi30k",
    where="Table 3, A.2",
)
def test_table_3_has_four_seeds(paper):
    return [
        mean_of_whole_numbers(
            f"{label(init, 'glove')}, {'trained' if cell['trained'] else 'frozen'}, "
            f"{'with' if cell['positions'] else 'without'} positions",
            cell["epoch"],
            paper["seeds"]["multi30k"],
        )
        for init, row in paper["table_3"].items()
        for cell in row
    ]


@audited(
    "kim2024/audit/tables-1-and-3",
    says="Table 3's rows with training and positions are Table 1's",
    where="Tables 1 and 3",
)
def test_tables_1_and_3_agree(paper):
    checks = []
    for init, row in paper["table_3"].items():
        [cell] = [cell for cell in row if cell["trained"] and cell["positions"]]
        one = paper["tables_1_and_7"]["glove"][init]["multi30k"]
        for what, text, other in (
            ("BLEU", one["score"][0], cell["bleu"][0]),
            ("sd of BLEU", one["score"][1], cell["bleu"][1]),
            ("epoch", one["epoch"], cell["epoch"]),
        ):
            checks.append(
                agrees(f"{label(init, 'glove')}, {what}", text, printed(other), f"Table 3: {other}")
            )
    return checks


@audited(
    "kim2024/audit/sentences",
    says="What the sections say of Tables 1, 3 and 7 is so in the tables",
    where="Sections 1, 5 and 6, A.3",
)
def test_sentences_hold_in_the_tables(paper):
    one = paper["tables_1_and_7"]
    checks = []

    def above(source, task, higher, lower):
        for name in ("matched", "mismatched") if task == "mnli" else ("score",):
            first, second = (one[source][init][task][name][0] for init in (higher, lower))
            names = f"{label(higher, source)} against {label(lower, source)}"
            what = f"{task}, {name}: {names}"
            true = float(first) > float(second)
            checks.append(Check(what, "above", f"{first} against {second}", "Tables 1 and 7", true))

    for task in TASKS:
        above("glove", task, "xavier", "pretrained")
        above("glove", task, "pretrained_xavier", "pretrained")
        above("glove", task, "pretrained_xavier", "xavier")
        above("bert", task, "pretrained", "pretrained_shuffled")
        above("t5", task, "pretrained", "pretrained_shuffled")
        above("t5", task, "xavier", "xavier_pretrained")
        if task != "multi30k":
            above("bert", task, "pretrained", "xavier")
            above("bert", task, "pretrained", "pretrained_xavier")
        if task != "sst2":
            above("t5", task, "pretrained_xavier", "pretrained")
    above("t5", "sst2", "pretrained", "pretrained_xavier")
    above("bert", "sst2", "xavier_pretrained", "xavier")
    above("bert", "iwslt2017", "xavier_pretrained", "xavier")
    return checks + _sentences_on_table_3(paper["table_3"])


def _sentences_on_table_3(three):
    """Positions alone gain more than training alone, and GloVe gains the least from positions."""
    gains = {}
    checks = []
    for init, row in three.items():
        bleu = {(cell["trained"], cell["positions"]): float(cell["bleu"][0]) for cell in row}
        training = bleu[True, False] - bleu[False, False]
        gains[init] = bleu[False, True] - bleu[False, False]
        found = f"{gains[init]:.1f} against {training:.1f} BLEU"
        true = gains[init] > training
        what = f"{label(init, 'glove')}: positions alone against training alone"
        checks.append(Check(what, "gain more", found, "Table 3", true))
    others = min(gains["xavier"], gains["pretrained_xavier"])
    found = f"{gains['pretrained']:.1f} against {others:.1f} BLEU and more"
    true = gains["pretrained"] < others
    return [*checks, Check("GloVe's gain from positions", "least", found, "Table 3", true)]
