"""The second paper's experiments, settings and printed numbers."""

from __future__ import annotations

from itertools import chain
from types import SimpleNamespace

import pytest
import torch

from embinit.claims.audit import printed
from embinit.errors import InputError
from embinit.lab.data.microcosm.draws import draw_set
from embinit.lab.measures import PROBE_MIX
from embinit.papers import PAPERS
from embinit_papers.chung2021 import (
    PRINTED,
    SETTINGS,
    cost,
    each_task,
    experiments,
    measured,
    numbers,
    on_average,
    over_output_widths,
    score,
    shapes,
    where_shown,
)
from embinit_papers.chung2021.counting import papers_parameters
from embinit_papers.chung2021.setting import average
from embinit_studies import two_languages
from embinit_studies.two_languages import from_vectors

CHUNG = PAPERS["chung2021"]


@pytest.mark.parametrize("tier", sorted(SETTINGS))
def test_a_tiers_experiments_are_one_set_of_runs(tier):
    """One pre-training serves every task, and the output width that is the model's own."""
    first, *others = experiments(tier)
    runs = {one.run("normal", 0) for one in (first, *others)}
    assert len(runs) == 1
    widths = {run.recipe.model for run in over_output_widths(first, score).runs()}
    assert len(widths) == 3
    assert shapes.narrow_input(first).model in widths
    source_width = two_languages.SETTINGS[tier].source_width
    assert {one.model.table_width for one in from_vectors(tier)} == {source_width}


@pytest.mark.usefixtures("data_draws")
def test_draws_of_trials_deviations_and_claims_never_meet():
    """Else a claim would be tested on what it was chosen or registered on."""
    [one] = on_average("micro")
    sets = [one.data_draws, one.registering_draws, range(5201, 5207)]  # choosing.md has the last
    assert [len(draws) for draws in sets] == [20, 10, 6]
    assert len({*chain(*sets)}) == 36
    known = [draw_set(draws[0]) for draws in sets]
    assert known == ["pre-training claiming", "pre-training registering", "free"]


def test_a_measure_has_its_margin():
    """The task's from end to end of a trend; a layer's own."""
    [one] = on_average("paper")
    assert score(one).margin == cost(one, 1).margin == SETTINGS["paper"].margin
    doublings = 4.584962500721156  # log2(24)
    assert over_output_widths(one, score).margin == pytest.approx(score(one).margin / doublings)
    assert measured(one, PROBE_MIX).margin == 1
    with pytest.raises(InputError, match="no task of paper is fine-tuned without 5 layers"):
        cost(one, 5)


def test_what_lacks_its_control_is_not_asked():
    """A claim on what pre-training does not teach would be about noise."""
    assert where_shown("masked words")("micro") == on_average("micro")
    assert where_shown("layers", each_task)("micro") == []
    assert where_shown("layers", each_task)("paper") == each_task("paper")


def test_the_average_is_over_tasks_and_languages_or_there_is_none():
    """As the paper's Avg; a run that lacks one score has no average of the others."""

    result = SimpleNamespace(
        measures={"a_accuracy": 80.0, "a_test": 60.0, "b_accuracy": 50.0, "b_test": 40.0}
    )
    assert average(("a", "b")).of(result) == 57.5
    assert average(("a", "c")).of(result) is None


def test_the_papers_models_are_printed_where_they_meet():
    """Each arm of the average by its row, and no other measure or arm."""
    [one] = on_average("paper")
    assert set(PRINTED) == set(numbers()["xtreme"])
    deep, plain = shapes.reinvested_in_layers(one), shapes.coupled(one)
    [row] = CHUNG.printed(score(deep) > score(plain))
    assert (row.left, row.right, row.difference) == (66.2, 62.3, 3.9)
    for other in (
        score(shapes.deeper(one)) > score(one),
        measured(one, PROBE_MIX) > measured(plain, PROBE_MIX),
        over_output_widths(one, score) > 0,
        score(one) > score(one).on_other_seeds(),
    ):
        assert CHUNG.printed(other) == []


def test_the_papers_numbers_are_whole():
    """An audit of a cell that is absent or unreadable would compare nothing."""
    tables = numbers()
    for row in tables["table_1"]:
        for name in ("vocabulary", "parameters", "embeddings", "share"):
            printed(row[name])
    models = [*tables["xtreme"].values(), *tables["tables_12_and_13"].values()]
    assert (len(tables["table_1"]), len(models)) == (5, 18)
    for count in (row[phase] for row in models for phase in ("pretraining", "finetuning")):
        assert count.endswith("M")
        printed(count)
    for row in tables["xtreme"].values():
        assert [len(texts) for texts in row["scores"].values()] == [1, 1, 1, 2, 2, 2]
        for texts in (*row["scores"].values(), [row["average"]]):
            assert all(map(printed, texts))


def test_the_papers_count_is_that_of_bert_without_its_pooler():
    """The library's own mBERT, whose tensors are made without values, has as many parameters."""
    transformers = pytest.importorskip("transformers")
    row = numbers()["xtreme"]["coupled"]
    with torch.device("meta"):
        model = transformers.BertModel(
            transformers.BertConfig(vocab_size=120_000), add_pooling_layer=False
        )
    counts = papers_parameters(row, 120_000)
    assert counts.finetuning == counts.pretraining == model.num_parameters()
