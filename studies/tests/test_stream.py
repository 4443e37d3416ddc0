"""How much of the residual stream is the embedding, and each layer's gradient at the first step."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from language_models import TODAY, text

from embinit.lab.data.preparation import prepare
from embinit.lab.models.initial_state import InitialState
from embinit.lab.specs import Cut, ModelRecipe, ModelSpec, PositionSpec, TableSpec
from embinit.runs.kinds import Cohort
from embinit.specs import RunSpec
from embinit_studies.language_model import LanguageModelSpec
from embinit_studies.language_model.model import CausalTransformer
from embinit_studies.language_model.runs import train
from embinit_studies.language_model.stream import embedding_shares
from embinit_studies.language_model.training import (
    SPIKE_WINDOW,
    LanguageModelTraining,
    largest_spike,
)


def runs(*sigmas: float, mechanism: bool = True, **model) -> tuple[RunSpec, ...]:
    """Small decoders whose tables are of these widths."""
    return tuple(
        RunSpec(
            ModelRecipe(
                replace(text("micro-more-text"), cut=Cut(48, 20, 1)),
                replace(ModelSpec(32, 2, 2, 64, 0.0, **TODAY), coupled=False, **model),
                LanguageModelSpec(batch_size=16, epochs=1, lr=3e-3, mechanism=mechanism),
                TableSpec("normal", None, sigma=sigma),
                PositionSpec("none", "one"),
            ),
            5000,
        )
        for sigma in sigmas
    )


@functools.cache
def results(*wanted: RunSpec):
    return train(Cohort(wanted))


@given(
    st.lists(st.tuples(st.floats(0.1, 9), st.floats(0, 9)), min_size=1, max_size=5),
    st.integers(0, 4),
)
def test_what_is_added_at_right_angles_leaves_its_share_of_the_energy(lengths, padding):
    """|e|² / (|e|² + |a|²) on the mean over words; padding is left out."""
    words = [torch.tensor([[e, 0.0], [e, a]]) for e, a in lengths]
    words += [torch.tensor([[1.0, 0.0], [0.0, 1.0]])] * padding
    before, after = torch.stack(words, dim=1)
    real = torch.arange(len(words))[None] < len(lengths)
    shares = embedding_shares([before[None], after[None]], real)
    expected = sum(e**2 / (e**2 + a**2) for e, a in lengths) / len(lengths)
    assert shares[0].item() == pytest.approx(1.0, abs=1e-5)
    assert shares[1].item() == pytest.approx(expected, abs=1e-5)


def test_each_run_has_the_shares_that_it_has_alone():
    states = [torch.randn(3, 7, 5) for _ in range(4)]
    real = torch.rand(3, 7) > 0.3
    real[:, 0] = True
    together = embedding_shares(states, real)
    for run in range(3):
        alone = embedding_shares([state[run : run + 1] for state in states], real[run : run + 1])
        assert torch.equal(together[:, run], alone[:, 0])


@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_it_changes_no_other_number_and_is_the_same_in_any_cohort(norm_position):
    wanted = runs(0.02, 0.5, norm_position=norm_position)
    plain = results(*runs(0.02, 0.5, mechanism=False, norm_position=norm_position))
    for run, (result, without) in enumerate(zip(results(*wanted), plain, strict=True)):
        kept = {name: result.curves[name] for name in without.curves}
        assert kept == without.curves
        new = set(result.measures) - set(without.measures)
        # An epoch of three steps is too short for a spike.
        assert new == {"first_layer_gradient_norm", "embedding_share", "embedding_share_after"}
        assert {n: result.measures[n] for n in without.measures} == without.measures
        [alone] = results(wanted[run])
        assert alone.curves == result.curves


def test_a_wide_table_keeps_the_stream_of_a_pre_norm_model_and_starves_its_layers():
    """The layers read normed states, so what they add is as large whatever the table's width."""
    narrow, middle, wide = results(*runs(0.2, 1.0, 5.0))
    shares = [each.curves["embedding_share"] for each in (narrow, middle, wide)]
    assert all(each[0] == pytest.approx(1.0, abs=1e-5) for each in shares)
    assert shares[0][-1] < shares[1][-1] < shares[2][-1]
    norms = [each.measures["first_layer_gradient_norm"] for each in (narrow, middle, wide)]
    assert norms[0] > norms[1] > norms[2]


def test_with_a_norm_after_lookup_the_width_is_no_matter_at_the_start():
    """But for the epsilon, the first gradients are the same."""
    narrow, wide = results(*runs(0.2, 2.0, norm_after_sum=True))
    for name in ("layer_gradient_norm", "embedding_share"):
        assert wide.curves[name] == pytest.approx(narrow.curves[name], rel=1e-3)


def test_layer_norms_are_autograds():
    """Of the first step's batch: against each layer's own gradients, before they are clipped."""
    wanted = runs(0.02, 0.5)
    initial = InitialState(wanted, prepare(wanted[0].recipe.data, None), None)
    trainer = LanguageModelTraining(
        initial, initial.model(CausalTransformer), wanted[0].recipe.training, "cpu"
    )
    seen = []
    before_update = trainer.before_update

    def noted() -> None:
        seen.append(
            [
                torch.cat([each.grad.flatten(1) for each in layer.parameters()], dim=1).norm(dim=1)
                for layer in trainer.model.stack.encoder_layers
            ]
        )
        before_update()

    trainer.before_update = noted
    trainer.train_epoch(0)
    torch.testing.assert_close(trainer.layer_norms, torch.stack(seen[0]))


@given(st.lists(st.floats(-50, 50), max_size=60), st.floats(-50, 50))
def test_a_spike_is_measured_from_the_mean_before_it(losses, offset):
    """Against numpy's sliding windows; what all losses have in common is no spike."""
    spike = largest_spike(losses)
    if len(losses) <= SPIKE_WINDOW:
        assert spike is None
        return
    means = np.lib.stride_tricks.sliding_window_view(losses[:-1], SPIKE_WINDOW).mean(axis=1)
    assert spike == pytest.approx((np.array(losses[SPIKE_WINDOW:]) - means).max(), abs=1e-9)
    assert largest_spike([loss + offset for loss in losses]) == pytest.approx(spike, abs=1e-9)


def test_a_loss_that_falls_has_no_spike_and_one_that_is_no_number_has_none_to_tell():
    assert largest_spike([1 / step for step in range(1, 40)]) < 0
    assert largest_spike([1.0] * 20 + [math.nan] + [1.0] * 20) is None


def test_each_steps_loss_is_the_one_that_was_learnt():
    """Two epochs, two runs: against the losses themselves."""
    wanted = tuple(
        run.changed(training=replace(run.recipe.training, batch_size=4, epochs=2))
        for run in runs(0.02, 0.5)
    )
    initial = InitialState(wanted, prepare(wanted[0].recipe.data, None), None)
    trainer = LanguageModelTraining(
        initial, initial.model(CausalTransformer), wanted[0].recipe.training, "cpu"
    )
    seen, losses = [], trainer.losses

    def noted(*batch):
        summed, counted = losses(*batch)
        if torch.is_grad_enabled():
            seen.append((summed / counted).detach())
        return summed, counted

    trainer.losses = noted
    trainer.run(lambda share: None)
    assert len(seen) > SPIKE_WINDOW
    for run in range(2):
        told = trainer.step_losses_of(run)
        assert told == pytest.approx([float(each[run]) for each in seen], abs=1e-3)
        assert trainer.measures_of(run)["loss_spike"] == largest_spike(told)
