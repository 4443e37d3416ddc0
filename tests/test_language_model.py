"""Language models as a kind of run, and their extension by new tokens."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from embinit.data.microcosm import FUNCTION_WORDS, lexicon
from embinit.data.preparation import prepare
from embinit.data.tokenizers import pieces_of, tokenizer
from embinit.data.vocabulary import EOS, PAD
from embinit.errors import InputError
from embinit.models.causal_language_model import CausalTransformer
from embinit.models.starting import Start
from embinit.runs import language_model
from embinit.runs.kinds import kind_of
from embinit.runs.language_model import extension
from embinit.runs.language_model import vectors as closed_form
from embinit.runs.language_model.training import LanguageModelTraining, area, gradient_norms
from embinit.runs.language_model.vectors import cooccurrences, word_vectors
from embinit.runs.plan import Cohort, plan
from embinit.runs.results import RunResult
from embinit.specs import (
    Cut,
    DataSpec,
    ExtensionSpec,
    LanguageModelSpec,
    ModelSpec,
    PositionSpec,
    RunSpec,
    TableSpec,
)
from embinit.tables.extension.methods import METHODS

TODAY: dict[str, Any] = {
    "norm": "rms",
    "norm_position": "pre",
    "attention": "rotary",
    "activation": "silu",
    "gated": True,
    "bias": False,
    "coupled": True,
}
MODELS: dict[str, ModelSpec] = {
    # Odd sizes, so that runs lie across the vectors of a CPU.
    "today": ModelSpec(20, 2, 2, 27, 0.0, **TODAY),
    "untied": ModelSpec(20, 2, 1, 27, 0.1, **{**TODAY, "coupled": False}),
    "older": ModelSpec(24, 3, 2, 31, 0.1, activation="gelu", norm_after_sum=True),
}
BASE = LanguageModelSpec(16, 2, 5e-3)


def text(task: str, tokenizer: str = "whitespace", train: int = 75) -> DataSpec:
    return DataSpec(task, (tokenizer, tokenizer), Cut(train, 37, 1), 1, 32)


def plain(model: str, seed: int = 5000, **recipe: Any) -> RunSpec:
    positions = PositionSpec("learned" if model == "older" else "none", "one")
    return RunSpec(
        text("micro-text"),
        MODELS[model],
        replace(BASE, **recipe),
        TableSpec("normal", None),
        positions,
        seed,
    )


def extended(method: str, seed: int = 5000, model: str = "today", **recipe: Any) -> RunSpec:
    return RunSpec(
        text("micro-text", "whitespace/2"),
        MODELS[model],
        ExtensionSpec(BASE, text("micro-more-text"), BASE, method, **recipe),
        TableSpec("normal", None),
        PositionSpec("none", "one"),
        seed,
    )


def numbers(result: RunResult) -> tuple[Any, ...]:
    return result.measures, result.curves, result.tables, result.failure


@pytest.mark.parametrize("model", MODELS)
def test_a_language_model_has_the_same_bits_in_any_cohort(model):
    runs = [
        replace(plain(model, seed), table=TableSpec(init, None, trained))
        for seed in (5000, 5001, 5002)
        for init, trained in (("normal", True), ("xavier", True), ("xavier", False))
    ]
    for chosen in (runs, runs[4:1:-1]):
        together = language_model.train(Cohort(tuple(chosen)))
        for index in (0, 2):
            alone = language_model.train(Cohort((chosen[index],)))
            assert numbers(together[index]) == numbers(alone[0])


def test_an_extension_has_the_same_bits_in_any_cohort_and_on_a_base_that_is_kept():
    runs = [extended(m, seed) for seed in (5000, 5001) for m in ("noise", "focus", "zero")]
    together = [numbers(result) for result in extension.train(Cohort(tuple(runs)))]
    again = extension.train(Cohort((runs[4],)))
    assert numbers(again[0]) == together[4]
    extension._bases.clear()
    for index in (0, 5):
        alone = extension.train(Cohort((runs[index],)))
        assert numbers(alone[0]) == together[index]
        extension._bases.clear()


def test_a_cohort_holds_all_methods_and_one_training():
    assert len(plan([extended(m) for m in ("noise", "mean", "zero", "wechsel", "focus")])) == 1
    other = replace(extended("mean").training, training=replace(BASE, lr=1e-3))
    assert len(plan([extended("noise"), replace(extended("mean"), training=other)])) == 2


def test_a_language_model_learns_and_its_loss_is_that_of_all_words():
    [result] = language_model.train(Cohort((plain("today", epochs=6),)))
    losses = result.curves["validation_loss"]
    assert len(losses) == 7
    words = len(prepare(plain("today").data, None).vocabularies["encoder"].words)
    # Small logits at the start: as good as a guess among all words.
    assert losses[0] == pytest.approx(math.log(words), abs=0.1)
    assert losses[-1] < losses[0] - 0.4
    assert result.measures["loss_area"] == pytest.approx(area(list(losses)))
    assert result.failure is None


def test_the_validation_loss_weighs_new_and_old_words():
    [result] = extension.train(Cohort((extended("subtokens"),)))
    texts = extension.texts_of(extended("subtokens"), None)
    split = texts.other.validation
    share = float((split.inputs >= texts.old).sum() / split.lengths.sum())
    assert share > 0
    curves = result.curves
    for whole, new, old in zip(
        curves["validation_loss"], curves["new_token_loss"], curves["old_token_loss"], strict=True
    ):
        assert whole == pytest.approx(share * new + (1 - share) * old, rel=1e-5)


@pytest.mark.parametrize("model", ["today", "untied"])
def test_every_arm_starts_from_its_seeds_base_and_its_methods_rows(model):
    run = extended("subtokens", model=model)
    [base] = extension.bases_of([run], None, "cpu", lambda share: None)
    texts, rows = extension.texts_of(run, None), extension.extended_rows(run, base, None)
    table = base.parameters[extension.TABLE]
    for made, pieces in zip(rows[extension.TABLE], texts.pieces, strict=True):
        if pieces:
            torch.testing.assert_close(made, table[list(pieces)].mean(dim=0))
    assert (extension.OUTPUT in rows) == (model == "untied")
    words = [each for each, pieces in zip(texts.new, texts.pieces, strict=True) if pieces]
    first = texts.new.index(words[0])
    known = texts.base.vocabularies["encoder"].words
    had = [piece for piece in pieces_of(words[0], 2) if piece in known]
    assert [known[piece] for piece in texts.pieces[first]] == had != []


def test_the_mean_row_bounds_what_old_words_lose():
    """Hewitt 2021: log(1 + m/V) for every state, so for the mean loss on old words too."""
    [result] = extension.train(Cohort((extended("mean"),)))
    run = extended("mean")
    texts = extension.texts_of(run, None)
    [base] = extension.bases_of([run], None, "cpu", lambda share: None)
    # The same sentences through the base alone, with no new rows at all: -1e9 logits.
    hidden = replace(run, training=replace(run.training, method="zero"))
    begun = Start([hidden], texts.other, None)
    trainer = LanguageModelTraining(
        begun,
        begun.model(CausalTransformer),
        BASE,
        "cpu",
        first_new=texts.old,
        prepared=lambda model: extension._carry(
            model, [base], [extension.extended_rows(run, base, None)]
        ),
    )
    trainer.model.no_bias[..., texts.old :] = -1e9
    trainer.validate()
    without = float(trainer.old_losses[0])
    bound = math.log(1 + len(texts.new) / texts.old)
    assert without < result.measures["old_token_start_loss"] <= without + bound + 1e-5


def test_near_copies_are_alike_and_zero_rows_have_the_largest_gradient():
    runs = [extended(m) for m in ("mean_resizing", "zero", "noise")]
    copies, zero, noise = extension.train(Cohort(tuple(runs)))
    assert copies.measures["start_likeness"] > 0.999
    assert zero.measures["gradient_norm"] > 2 * noise.measures["gradient_norm"]
    assert zero.measures["kept_gradient"] == pytest.approx(
        min(100.0, 100 / zero.measures["gradient_norm"])
    )


def test_clipping_scales_each_runs_gradient_to_the_norm_of_one():
    runs = tuple(plain("today", seed, clip=0.01) for seed in (5000, 5001))
    begun = Start(runs, prepare(runs[0].data, None), None)
    trainer = LanguageModelTraining(
        begun, begun.model(CausalTransformer), runs[0].recipe(LanguageModelSpec), "cpu"
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


def test_cooccurrences_count_pairs_within_the_window():
    ids = torch.tensor([[7, 8, 9, EOS, PAD], [8, 7, EOS, PAD, PAD]])
    counts = cooccurrences(ids, 10)
    assert counts[7, 8] == 2
    assert counts[7, 9] == counts[9, 7] == 1
    assert counts[EOS].sum() == counts[PAD].sum() == 0


def test_words_of_one_context_have_one_vector():
    generator = torch.Generator().manual_seed(0)
    left = torch.randint(10, 20, (4000, 1), generator=generator)
    twin = torch.randint(6, 8, (4000, 1), generator=generator)
    other = torch.full((4000, 1), 8)
    sentences = torch.cat((left, twin, torch.full((4000, 1), EOS)), dim=1)
    alone = torch.cat((other, torch.full((4000, 1), 9), torch.full((4000, 1), EOS)), dim=1)
    vectors = word_vectors(torch.cat((sentences, alone)), 21, 12)
    unit = torch.nn.functional.normalize(vectors, dim=1)
    assert unit[6] @ unit[7] > 0.9
    assert abs(float(unit[6] @ unit[8])) < 0.1
    assert not vectors[20].any()


def test_the_leading_directions_of_many_words_are_those_of_the_whole_decomposition(monkeypatch):
    """But for their signs, which no distance or rotation knows."""
    frequency = torch.distributions.Categorical(1 / torch.arange(1.0, 301.0))
    ids = frequency.sample((400, 12)) + 5
    whole = word_vectors(ids, 305, 20)
    monkeypatch.setattr(closed_form, "WHOLE", 100)
    leading = word_vectors(ids, 305, 20)
    torch.testing.assert_close(leading @ leading.T, whole @ whole.T)
    assert torch.equal(word_vectors(ids, 305, 20), leading)


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


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_that_needs_no_donor_can_be_an_arm(method):
    tied = bool({"donor", "head"} & METHODS[method].needs)
    if "vectors_" in method:
        pytest.skip("the helper's vectors are not as wide as the model")
    if tied:
        with pytest.raises(InputError, match="needs"):
            extension.check(extended(method), None)
        return
    extension.check(extended(method), None)
    [base] = extension.bases_of([extended("mean")], None, "cpu", lambda share: None)
    rows = extension.extended_rows(extended(method), base, None)[extension.TABLE]
    assert rows.isfinite().all()


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"data": text("micro-sentiment")}, "not text"),
        ({"table": TableSpec("pretrained", "micro-glove")}, "without a source"),
        ({"training": replace(extended("mean").training, output_method="mean")}, "one table"),
        ({"training": replace(extended("mean").training, method="meen")}, "did you mean"),
        ({"data": text("micro-more-text")}, "no word"),
        ({"data": replace(text("micro-text"), max_length=20)}, "max_length"),
    ],
)
def test_what_can_not_be_extended_is_named(changes, match):
    with pytest.raises(InputError, match=match):
        extension.check(replace(extended("mean"), **changes), None)


def test_runs_are_described_and_counted():
    run = replace(plain("today"), data=replace(plain("today").data, most_words=100))
    assert "next words" in kind_of(run).describe(run).training
    assert kind_of(run).parameters(run)["training"] > 100 * 20
    assert "micro-more-text" in kind_of(extended("mean")).describe(extended("mean")).training
    assert extended("zero", output_method="mean").training.label == "zero, mean"
