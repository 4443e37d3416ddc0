"""Language models as a kind of run."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from language_models import MODELS, numbers, plain

from embinit.lab.data.microcosm import FUNCTION_WORDS, lexicon
from embinit.lab.data.preparation import prepare
from embinit.lab.data.tokenizers import tokenizer
from embinit.lab.models.initial_state import InitialState
from embinit.lab.specs import TableSpec
from embinit.runs.kinds import Cohort, kind_of
from embinit_studies.language_model import runs as language_model
from embinit_studies.language_model.model import CausalTransformer
from embinit_studies.language_model.training import LanguageModelTraining, area, gradient_norms


@pytest.mark.parametrize("model", MODELS)
def test_a_language_model_has_the_same_bits_in_any_cohort(model):
    runs = [
        plain(model, seed).changed(table=TableSpec(init, None, trained))
        for seed in (5000, 5001, 5002)
        for init, trained in (("normal", True), ("xavier", True), ("xavier", False))
    ]
    for chosen in (runs, runs[4:1:-1]):
        together = language_model.train(Cohort(tuple(chosen)))
        for index in (0, 2):
            alone = language_model.train(Cohort((chosen[index],)))
            assert numbers(together[index]) == numbers(alone[0])


def test_a_language_model_learns_and_its_loss_is_that_of_all_words():
    [result] = language_model.train(Cohort((plain("today", epochs=6),)))
    losses = result.curves["validation_loss"]
    assert len(losses) == 7
    words = len(prepare(plain("today").recipe.data, None).vocabularies["encoder"].words)
    # Small logits at the start: as good as a guess among all words.
    assert losses[0] == pytest.approx(math.log(words), abs=0.1)
    assert losses[-1] < losses[0] - 0.4
    assert result.measures["loss_area"] == pytest.approx(area(list(losses)))
    assert result.failure is None


def test_clipping_scales_each_runs_gradient_to_the_norm_of_one():
    runs = tuple(plain("today", seed, clip=0.01) for seed in (5000, 5001))
    initial = InitialState(runs, prepare(runs[0].recipe.data, None), None)
    trainer = LanguageModelTraining(
        initial, initial.model(CausalTransformer), runs[0].recipe.training, "cpu"
    )
    seen: list[torch.Tensor] = []
    update = trainer.before_update

    def kept() -> None:
        update()
        grads = [p.grad for p in trainer.model.parameters() if p.grad is not None]
        seen.append(gradient_norms(grads))

    trainer.before_update = kept  # type: ignore[method-assign]
    trainer.train_epoch(0)
    assert torch.stack(seen).max() <= 0.01 * (1 + 1e-5)
    assert trainer.first_norm.min() > 0.01


def test_gradient_norms_are_those_of_torch():
    generator = torch.Generator().manual_seed(1)
    grads = [torch.randn(3, *shape, generator=generator) for shape in ((5, 7), (1, 4), (11,))]
    for run, norm in enumerate(gradient_norms(grads)):
        flat = torch.cat([each[run].flatten() for each in grads])
        torch.testing.assert_close(norm, flat.norm())


def test_pieces_make_up_their_word_and_function_words_stay_whole():
    cut = tokenizer("whitespace/2", "micro-source")
    words = [word for part in lexicon().source.values() for group in part for word in group]
    pieces = cut.tokenize(words)
    assert ["".join(each).replace("@@", "") for each in pieces] == words
    share = sum(len(each) > 1 for each in pieces) / len(words)
    assert 0.08 < share < 0.17
    for name in FUNCTION_WORDS:
        word = lexicon().source_function[name]
        assert cut.tokenize([word]) == [[word]]


def test_runs_are_described_and_counted():
    run = plain("today").changed(data=replace(plain("today").recipe.data, most_words=100))
    assert "next words" in kind_of(run).describe(run).training
    assert kind_of(run).parameters(run)["training"] > 100 * 20


def test_a_tables_rate_follows_one_that_changes():
    """The first step of Adam is the rate itself, so it shows."""
    runs = [
        plain("untied", epochs=1, warm_up=0.3).changed(table=TableSpec("normal", None, rate=rate))
        for rate in (1.0, 4.0)
    ]
    initial = InitialState(runs, prepare(runs[0].recipe.data, None), None)
    trainer = LanguageModelTraining(
        initial, initial.model(CausalTransformer), runs[0].recipe.training, "cpu"
    )
    table = trainer.model.stack.encoder_embedding.table
    before, steps = table.detach().clone(), []

    def after_step(number: int) -> None:
        steps.append((table.detach() - before).abs().amax(dim=(1, 2)))
        LanguageModelTraining.before_step(trainer, number)

    trainer.before_step = after_step
    trainer.train_epoch(0)
    first = steps[1]
    rate = runs[0].recipe.training.lr / (0.3 * trainer.buckets.steps)
    assert first.tolist() == pytest.approx([rate, 4 * rate], rel=1e-3)
