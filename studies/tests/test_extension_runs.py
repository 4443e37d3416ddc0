"""Extension of language models by new tokens, as a kind of run."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from embtables.extension.methods import METHODS
from language_models import BASE, MODELS, numbers, plain, text

from builders import make_result, set_apart
from embinit.errors import InputError
from embinit.lab.data.tokenizers import pieces_of
from embinit.lab.data.vocabulary import EOS, PAD
from embinit.lab.models.initial_state import InitialState
from embinit.lab.specs import ModelRecipe, PositionSpec, TableSpec
from embinit.runs.kinds import Cohort, kind_of, own_code
from embinit.runs.plan import plan
from embinit.runs.store import Store
from embinit.specs import RunSpec
from embinit_studies.extending.extension_runs import ExtensionKind, ExtensionSpec
from embinit_studies.extending.extension_runs import training as extension
from embinit_studies.extending.extension_runs import vectors as closed_form
from embinit_studies.extending.extension_runs.vectors import cooccurrences, word_vectors
from embinit_studies.language_model import LanguageModelKind
from embinit_studies.language_model.model import CausalTransformer
from embinit_studies.language_model.training import LanguageModelTraining


def extended(method: str, seed: int = 5000, model: str = "today", **recipe: Any) -> RunSpec:
    return RunSpec(
        ModelRecipe(
            text("micro-text", "whitespace/2"),
            MODELS[model],
            ExtensionSpec(BASE, text("micro-more-text"), BASE, method, **recipe),
            TableSpec("normal", None),
            PositionSpec("none", "one"),
        ),
        seed,
    )


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
    other = replace(extended("mean").recipe.training, training=replace(BASE, lr=1e-3))
    assert len(plan([extended("noise"), extended("mean").changed(training=other)])) == 2


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
    hidden = run.changed(training=replace(run.recipe.training, method="zero"))
    initial = InitialState([hidden], texts.other, None)
    trainer = LanguageModelTraining(
        initial,
        initial.model(CausalTransformer),
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
        (
            {"training": replace(extended("mean").recipe.training, output_method="mean")},
            "one table",
        ),
        ({"training": replace(extended("mean").recipe.training, method="meen")}, "did you mean"),
        ({"data": text("micro-more-text")}, "no word"),
        ({"data": replace(text("micro-text"), max_length=20)}, "max_length"),
    ],
)
def test_what_can_not_be_extended_is_named(changes, match):
    with pytest.raises(InputError, match=match):
        extension.check(extended("mean").changed(**changes), None)


def test_runs_are_described():
    assert "micro-more-text" in kind_of(extended("mean")).describe(extended("mean")).training
    assert extended("zero", output_method="mean").recipe.arm == "zero, mean"


@pytest.mark.parametrize(
    ("name", "kind", "run"),
    [
        ("language-model", LanguageModelKind, plain("today")),
        ("extension", ExtensionKind, extended("focus", output_method="wechsel")),
    ],
)
def test_a_kind_comes_by_its_name_and_its_runs_have_no_code_in_their_keys(name, kind, run):
    """As runs of embinit's own kinds: ``RESULTS_VERSION`` stands for the code of the studies."""
    assert run.kind == name
    assert isinstance(kind_of(run), kind)
    assert own_code(run) == ""


def test_a_method_of_somebody_else_is_in_the_key(monkeypatch):
    """Else a changed method would be taken for what was stored."""
    set_apart(monkeypatch, METHODS)
    METHODS.register("mine", replace(METHODS["mean"], make=lambda method_input: None))
    assert own_code(extended("mine"))


@pytest.mark.parametrize("run", [plain("today", mechanism=True), extended("mean")])
def test_a_record_is_read_back(tmp_path, run):
    """Its recipe is that of the kind that the entry point brings."""
    Store(tmp_path).put("ab12", make_result(run, validation_loss=2.0))
    found = Store(tmp_path).get("ab12")
    assert found is not None
    assert found.spec == run
