"""The second paper's experiments and settings."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from embinit.claims.audit import printed
from embinit.errors import InputError
from embinit.lab.measures import task_transfer
from embinit.papers import PAPERS
from embinit_papers.chung2021 import (
    LAYER_MARGIN,
    LAYER_MEASURES,
    MARGIN,
    SETTINGS,
    USUAL,
    accuracy,
    before_fine_tuning,
    coupled,
    experiments,
    numbers,
    over_output_widths,
    reinvested,
    transfer,
    transferring,
    with_output_width,
)
from embinit_papers.chung2021.counting import papers_parameters
from embinit_studies.coupling import from_vectors, wider

CLAIMS = Path(__file__).parents[1] / "claims/embinit_papers/chung2021"
CHUNG = PAPERS["chung2021"]


def arms(tier="micro", role="inference"):
    [one] = [one for one in experiments(tier) if one.role == role]
    return one


@pytest.mark.parametrize("tier", sorted(SETTINGS))
def test_a_tiers_experiments_are_one_set_of_runs(tier):
    """One pre-training serves every task, and every width of a trend that is the model's own."""
    first, *others = experiments(tier)
    assert others
    runs = {one.run(USUAL, 0) for one in (first, *others)}
    assert len(runs) == 1
    setting, everything = SETTINGS[tier], first
    assert setting.model.dim in setting.widths
    usual = with_output_width(everything, setting.model.dim)[USUAL].runs()[0]
    assert usual == everything[USUAL].runs()[0]
    assert len({run.recipe.model for run in over_output_widths(everything).runs()}) >= 4
    assert {one.model.table_width for one in from_vectors(tier)} == {setting.source_width}


def test_a_measure_has_its_margin():
    """The task's in both languages; a trend has it from end to end."""
    for one in transferring("micro"):
        assert one.margin == transfer(one).margin == MARGIN
        doublings = 5  # from 8 to 256
        for measured in (transfer, accuracy):
            assert over_output_widths(one, measured).margin == pytest.approx(MARGIN / doublings)
    for name in LAYER_MEASURES:
        assert before_fine_tuning(name)(arms()).margin == LAYER_MARGIN
    assert before_fine_tuning("masked_loss")(arms()).margin == 0


def test_transfer_is_the_tasks_own_in_the_other_language():
    arm = arms()
    assert transfer(arm).measure == task_transfer("inference")
    assert transfer(arm).measure.name == "inference_test"
    with pytest.raises(InputError, match="sst2 has no test in the other language"):
        transfer(arms("paper", "sentiment"))
    assert [one.role for one in transferring("paper")] == ["inference"]


def test_the_papers_two_models_are_printed_where_they_meet():
    arm, models = arms(), numbers()["xtreme"]
    coupled_score, decoupled_score = (
        float(models[name]["scores"]["xnli"][0]) for name in ("coupled", "decoupled")
    )
    [row] = CHUNG.printed(transfer(arm) >= transfer(coupled(arm)))
    assert (row.left, row.right) == (decoupled_score, coupled_score)
    assert (row.task, row.difference) == ("XNLI", pytest.approx(0.6))
    for other in (
        arm[USUAL] >= coupled(arm)[USUAL],
        transfer(wider(arm)) >= transfer(coupled(wider(arm))),
        transfer(reinvested(arm)) > transfer(coupled(arm)),
        transfer(arm) > transfer(arm).on_other_seeds(),
        over_output_widths(arm) > 0,
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
    for row in models:
        for count in (row["pretraining"], row["finetuning"]):
            assert count.endswith("M")
            printed(count)
    for row in tables["xtreme"].values():
        assert [len(score) for score in row["scores"].values()] == [1, 1, 1, 2, 2, 2]
        for score in (*row["scores"].values(), [row["average"]]):
            assert all(map(printed, score))


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
