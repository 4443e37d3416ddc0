"""Arms that are said to be of one size: counted before anything runs, and caught if they aren't."""

import pytest

from embinit.claims.run_checks import unequal
from embinit.errors import InputError
from embinit.lab.models.sizes import ABOVE, BELOW, parameters_of
from embinit_papers.chung2021 import SETTINGS, on_average, over_output_widths, score
from embinit_papers.chung2021 import shapes as shape
from embinit_studies import two_languages
from embinit_studies.two_languages import over_input_widths


@pytest.fixture(params=sorted(SETTINGS))
def arms(request):
    [one] = on_average(request.param)
    return one


def finetuning(arms):
    return parameters_of(score(arms).runs()[0]).finetuning


def test_arms_of_one_budget_pass(arms):
    """Coupled or not, however wide the output table: fine-tuning has as many parameters."""
    fair = [
        score(arms) >= score(shape.coupled(arms)),
        score(shape.layers_added(arms)) < score(shape.narrow_input(arms)),
        over_output_widths(arms, score) > 0,
    ]
    assert unequal(fair, "finetuning") is None
    budget = finetuning(shape.coupled(arms))
    assert 1 - BELOW <= finetuning(shape.reinvested_in_layers(arms)) / budget <= 1 + ABOVE
    if arms.tier == "micro":
        with pytest.raises(InputError, match="choose other widths"):
            shape.reinvested_in_width(arms)
    else:
        assert 1 - BELOW <= finetuning(shape.reinvested_in_width(arms)) / budget <= 1 + ABOVE


def test_unequal_arms_are_named_with_their_counts(arms):
    """Whichever comparison they are in, and wherever in a trend."""
    fair = score(arms) >= score(shape.coupled(arms))
    assert "at pretraining" in unequal([fair], "pretraining")
    narrow = score(shape.narrow_input(arms)) > score(shape.coupled(arms))
    said = unequal([fair, narrow], "finetuning")
    counts = [finetuning(one(arms)) for one in (shape.narrow_input, shape.coupled)]
    assert f"{min(counts):,} to {max(counts):,} parameters at finetuning" in said
    assert said.count("unequal budgets") == 1
    studied = two_languages.experiments(arms.tier)[0]
    assert "E_in" in unequal([over_input_widths(studied) > 0], "finetuning")


def test_the_papers_sizes_have_the_papers_shapes():
    """23 layers, H = 1024 and 11 layers added, as it has them for the same budgets."""
    [arms] = on_average("paper")
    deep, wide = shape.reinvested_in_layers(arms).model, shape.reinvested_in_width(arms).model
    assert (deep.layers, deep.dim, deep.input_width) == (23, 768, 128)
    assert (wide.layers, wide.dim, wide.heads, wide.output_width) == (12, 1024, 16, 768)
    added = shape.layers_added(arms)
    assert (added.model.layers, added.training.dropped_layers) == (23, 11)
    assert arms.model.dropout == 0
    assert shape.output_widths(arms) == (128, 768, 3072)
