"""Shapes of pre-trained models: layers dropped and removed, budgets, and further measures."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from embinit.errors import InputError
from embinit.lab.data.preparation import prepare
from embinit.lab.data.vocabulary import EOS, PAD
from embinit.lab.measures import (
    NEIGHBOURS_FALL,
    NEIGHBOURS_LAST_STEP,
    NEIGHBOURS_UPPER,
    cost_of_removal,
    over_languages,
)
from embinit.lab.models.initial_state import InitialState
from embinit.lab.models.layer_probes import mix_accuracy, neighbour_accuracy, sentence_vectors
from embinit.lab.models.masked_language_model import Masked
from embinit.lab.models.sizes import ABOVE, BELOW, count_parameters, deepened, widened
from embinit.lab.specs import ModelSpec
from embinit.lab.transfer.frozen import FURTHER
from embinit.lab.transfer.stacks import check, train
from embinit.runs.kinds import Stack, kind_of
from test_transfer import TEXT, TRANSFER, masked_model, run_of

[TASK] = TRANSFER.tasks
REMOVING = replace(TRANSFER, tasks=(TASK, replace(TASK, role="less", removed_layers=1)))


def test_layers_dropped_after_pre_training_are_layers_removed_in_each_fine_tuning():
    """Pre-training is the same, and a fine-tuning doesn't know who took the layers away."""
    runs = (
        run_of(training=REMOVING, layers=3),
        run_of(training=replace(TRANSFER, dropped_layers=1), layers=3),
    )
    [removed], [dropped] = (train(Stack((run,))) for run in runs)
    assert removed.measures["masked_loss"] == dropped.measures["masked_loss"]
    for name in ("accuracy", "test"):
        assert removed.measures[f"less_{name}"] == dropped.measures[f"sentiment_{name}"]
    assert removed.measures["less_accuracy"] != removed.measures["sentiment_accuracy"]
    for curve in ("probe_by_layer", "retrieval_by_layer"):
        assert removed.curves[curve][:3] == dropped.curves[curve]
    counts = [kind_of(run).parameters(run) for run in runs]
    assert counts[0]["finetuning less"] == counts[1]["finetuning"] < counts[0]["finetuning"]
    assert counts[0]["pretraining"] == counts[1]["pretraining"]
    assert removed.measures["finetuning_less_parameters"] == counts[1]["finetuning"]


def test_further_measures_change_no_other():
    """``test_bits.py`` has that they don't depend on the stack."""
    runs = (run_of(training=replace(TRANSFER, tasks=(), further=more)) for more in (FURTHER, ()))
    [further], [fewer] = (train(Stack((run,))) for run in runs)
    assert fewer.measures.items() < further.measures.items()
    assert 0 < further.measures["masked_accuracy"] < 100
    assert len(further.curves["neighbours_by_layer"]) == 3


def test_masked_words_are_predicted_where_their_logit_is_the_largest():
    """Of each run, whichever head it has; a place without a label counts for nobody."""
    model = masked_model(12, 20, 8)
    ids, places = torch.randint(6, 23, (1, 40, 6)), torch.randint(0, 6, (1, 40, 3))
    labels = torch.randint(6, 23, (1, 120))
    labels[:, ::3] = -100
    found, counted = model.right(Masked(ids, places, labels))
    for head, read, layer in model(ids, places):
        logits = read @ layer.weight + layer.bias
        for run, of_run in zip(head.runs.tolist(), logits, strict=True):
            assert found[run] == (of_run.argmax(dim=-1) == labels[0]).sum()
    assert counted.tolist() == [80]


@given(seed=st.integers(0, 99), pairs=st.integers(2, 12))
def test_a_neighbour_is_the_nearest_after_the_languages_mean_difference(seed, pairs):
    """As numpy finds it pair by pair, whatever one language adds to all of its sentences."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(pairs, 4))
    second = first + rng.normal(size=(pairs, 4)) + 9
    moved = first + np.mean(second - first, axis=0)
    distances = ((moved[:, None] - second[None]) ** 2).sum(axis=-1)
    right = np.mean(distances.argmin(axis=1) == np.arange(pairs))
    found = neighbour_accuracy(torch.tensor(np.concatenate((first, second)))[None])
    assert float(found[0]) == pytest.approx(100 * right)


def test_sentences_without_marks_are_means_over_words_alone():
    """Ends and separators are left out of the mean, and still read by the layers."""
    data = prepare(TEXT, None)
    model = InitialState((run_of(0),), data, None).model()
    bare = sentence_vectors(model, data.test, 8, marks=False)
    ids = data.test.inputs[:1].long()
    words = (ids[0] != PAD) & (ids[0] != EOS)
    for vectors, state in zip(bare, model.states(ids[None]), strict=True):
        torch.testing.assert_close(vectors[0, 0], state[0][words].mean(dim=0))


def test_a_probe_on_a_mix_finds_the_layer_that_tells():
    """Of three layers one has the label, in a form that no linear probe reads; then none has."""
    generator = torch.Generator().manual_seed(0)
    train_states, test_states = torch.randn(2, 3, 400, 6, generator=generator)
    labels, answers = (
        (states[1, :, 0] * states[1, :, 1] > 0).long() for states in (train_states, test_states)
    )
    stacked = [states[:, None] for states in (train_states, test_states)]
    read, other = (
        float(mix_accuracy(stacked[0], labels, stacked[1], truth, 2, [generator]))
        for truth in (answers, answers.roll(1))
    )
    assert read > 80
    assert abs(other - 50) < 12


@given(dim=st.sampled_from([24, 48]), words=st.integers(300, 5000), layers=st.integers(2, 6))
def test_a_grown_model_is_near_its_budget_or_there_is_none(dim, words, layers):
    """Layers keep all widths; heads keep their width and the tables theirs."""
    small = ModelSpec(dim, 6, layers, 4 * dim, norm_after_sum=True, input_width=4)
    budget = count_parameters(replace(small, input_width=dim), words, 20).finetuning
    for grown in (deepened, widened):
        try:
            found = grown(small, words, 20, budget)
        except InputError:
            continue
        count = count_parameters(found, words, 20).finetuning
        assert 1 - BELOW <= count / budget <= 1 + ABOVE
        assert found.dim // found.heads == dim // 6
        assert found.feed_forward == 4 * found.dim
        assert found.input_width == 4
        assert (found.output_width or found.dim) == dim
        assert (found.layers > layers) != (found.heads > 6)


def test_bad_shapes_are_named_before_anything_trains():
    """Each is one error that names the number and what to choose."""
    for run, said in (
        (run_of(dim=18, heads=4), "D=18 is not a multiple of 4 heads"),
        (run_of(training=REMOVING, layers=1), "of 1 layers 0 are dropped and 1 removed"),
        (run_of(training=replace(REMOVING, dropped_layers=1)), "together 1 or fewer"),
        (run_of(training=replace(TRANSFER, dropped_layers=-1)), "numbers from 0 on"),
        (run_of(training=replace(TRANSFER, further=("guess",))), "'guess' is no further measure"),
        (run_of(training=replace(TRANSFER, further=("mixed-probes",), probes=())), "needs probes"),
    ):
        with pytest.raises(InputError, match=said):
            check(run, None)


def test_measures_are_read_off_the_layers():
    """On the paper's figure 2, E_out = H: the upper third, the fall before the last, the last."""
    result = SimpleNamespace(
        curves={"neighbours_by_layer": [0, 35, 38, 53, 58, 67, 72, 75, 76, 74, 71, 68, 50]},
        measures={"a_accuracy": 80.0, "a_test": 60.0, "b_accuracy": 70.0, "b_test": 60.0},
    )
    values = [one.of(result) for one in (NEIGHBOURS_UPPER, NEIGHBOURS_FALL, NEIGHBOURS_LAST_STEP)]
    assert values == [65.75, 8, 18]
    assert over_languages("a").of(result) == 70
    assert cost_of_removal("a", "b").of(result) == 5
    assert over_languages("c").of(result) is cost_of_removal("a", "c").of(result) is None
