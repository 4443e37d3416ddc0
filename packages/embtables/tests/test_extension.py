"""New rows are what their formulas say, and an extended model is the old one and more."""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from embinit.errors import InputError
from embinit.lab.data.stored_tensors import MemoryTensor
from embinit.lab.tables.inits import xavier_sigma
from embtables import extension as extension_module
from embtables.cli import main
from embtables.extension import METHODS, Extension, Helpers, extend, mathematics
from embtables.extension.methods import (
    AlignedVectors,
    MethodInput,
    _nearest_by_softmax,
    ofa,
    wechsel,
)
from embtables.extension.tokens import aligned, token_vectors
from embtables.extension.writing import by_rows
from embtables.inspection import inspect
from tiny_models import (
    ARCHITECTURES,
    DIM,
    ROWS,
    TABLES,
    TIED,
    WORDS,
    change,
    configurations,
    model_directory,
    tokenizer,
    transformers,
)

DATA = os.environ.get("EMBINIT_DATA")
OLD, WIDTH, NEW, SPACE = 60, 12, 7, 9
METHOD_NAMES = tuple(METHODS)


def generator(seed=5000):
    return torch.Generator().manual_seed(seed)


def drawn(*shape, seed=5000):
    return torch.randn(*shape, generator=generator(seed))


def method_input(seed=5000, side="input", rotation=None, pieces=None) -> MethodInput:
    """A random input with all that any method needs; ``rotation`` turns the model's rows."""
    draw = generator(seed)
    table = torch.randn(OLD, WIDTH, generator=draw) + 0.3
    head = torch.randn(NEW, WIDTH, generator=draw)
    vectors = AlignedVectors(
        torch.randn(OLD, SPACE, generator=draw),
        torch.randn(NEW, SPACE, generator=draw),
        torch.arange(OLD) < 40,
    )
    donor = AlignedVectors(
        torch.randn(OLD, SPACE, generator=draw),
        torch.randn(NEW, SPACE, generator=draw),
        torch.arange(OLD) % 3 > 0,
    )
    if pieces is None:
        counts = torch.randint(1, 5, (NEW,), generator=draw).tolist()
        pieces = tuple(
            tuple(torch.randint(OLD, (count,), generator=draw).tolist()) for count in counts
        )
    if rotation is not None:
        table, head = table @ rotation, head @ rotation
    return MethodInput(
        side, table, len(pieces), pieces, generator(seed + 1), 0.02, vectors, donor, head
    )


def same_width(given_input: MethodInput) -> MethodInput:
    """Vectors as wide as the table, for the methods that take them as rows."""
    old, new = drawn(OLD, WIDTH), drawn(NEW, WIDTH, seed=5001)
    return dataclasses.replace(
        given_input, vectors=AlignedVectors(old, new, torch.ones(OLD, dtype=torch.bool))
    )


def made(name, given_input):
    wide = name.startswith("vectors_")
    return METHODS[name](same_width(given_input) if wide else given_input)


@pytest.mark.parametrize("name", METHOD_NAMES)
@pytest.mark.parametrize("side", ["input", "output"])
def test_rows_are_the_weights_times_the_table_and_drawn_alike(name, side):
    """What a method says it combined is what the row is; the same seed gives the same row."""
    given_input = method_input(side=side)
    first, again = made(name, given_input), made(name, method_input(side=side))
    assert first.values.shape == (NEW, WIDTH)
    assert torch.equal(first.values, again.values)
    if first.weights is not None:
        combined = mathematics.rows(given_input.table, first.weights)
        assert torch.allclose(first.values, combined.expand(NEW, -1), atol=1e-5)
        if METHODS[name].hull:
            dense = first.weights.to_dense()
            assert bool((dense >= 0).all())
            assert torch.allclose(dense.sum(dim=1), torch.ones(len(dense)), atol=1e-5)
    assert METHODS[name].hull <= (first.weights is not None)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), name=st.sampled_from([n for n in METHODS if METHODS[n].hull]))
def test_rows_in_the_hull_never_change_the_greedy_answer(seed, name):
    """H e_new is a mean of old logits, so it is at most the largest of them, for any state h."""
    given_input = method_input(seed)
    new = made(name, given_input).values
    states = 10 * torch.randn(50, WIDTH, generator=generator(seed + 2))
    largest = (states @ given_input.table.T).max(dim=1).values
    assert bool(((states @ new.T).max(dim=1).values <= largest + 1e-3).all())


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 30), scale=st.floats(0.1, 20))
def test_the_mean_row_bounds_the_divergence(seed, count, scale):
    """Hewitt 2021, by Jensen: exp(h mu) <= Z / V, so KL = log(Z' / Z) <= log(1 + m / V)."""
    table = method_input(seed).table
    given_input = method_input(seed, pieces=((),) * count)
    new = METHODS["mean"](given_input).values
    states = scale * torch.randn(40, WIDTH, generator=generator(seed + 2)).double()
    old = (states @ table.double().T).logsumexp(dim=1)
    both = (states @ torch.cat([table, new]).double().T).logsumexp(dim=1)
    assert bool((both - old <= math.log1p(count / OLD) + 1e-6).all())


NOT_TURNED = {"noise", "columns", "vectors_xavier", "vectors_balanced"}


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10_000), name=st.sampled_from([n for n in METHODS if n not in NOT_TURNED])
)
def test_methods_turn_with_the_table(seed, name):
    """No method but those that draw or scale by column knows the axes of the table."""
    rotation, _ = torch.linalg.qr(drawn(WIDTH, WIDTH, seed=seed))
    straight = made(name, method_input(seed)).values @ rotation
    turned = made(name, method_input(seed, rotation=rotation)).values
    assert torch.allclose(straight, turned, atol=2e-4)


@pytest.mark.parametrize("name", ["subtokens", "subtokens_weighted", "edge_piece"])
@pytest.mark.parametrize("side", ["input", "output"])
def test_a_single_piece_is_copied_bit_for_bit(name, side):
    """A token that the old tokenizer has whole keeps its row."""
    given_input = method_input(side=side, pieces=((3,), (7,)))
    assert torch.equal(METHODS[name](given_input).values, given_input.table[[3, 7]])


def test_pieces_weigh_as_their_formulas_say():
    """By hand: three pieces weigh 1/3 each; 1/6, 2/6, 3/6 to the last; the last alone."""
    for side, order in (("input", [0, 1, 2]), ("output", [2, 1, 0])):
        given_input = method_input(side=side, pieces=((4, 9, 2),))
        rows = given_input.table[[4, 9, 2]][order]
        expected = {
            "subtokens": rows.mean(dim=0),
            "subtokens_weighted": (rows[0] + 2 * rows[1] + 3 * rows[2]) / 6,
            "edge_piece": rows[2],
        }
        for name, row in expected.items():
            assert torch.allclose(METHODS[name](given_input).values[0], row, atol=1e-6)


def test_averages_shrink_by_the_root_of_the_pieces_and_norms_can_be_matched():
    """K incoherent rows have a mean 1/sqrt(k) as long; the matched row has the median norm."""
    wide = torch.randn(400, 512, generator=generator())
    pieces = tuple(tuple(range(4 * number, 4 * number + 4)) for number in range(50))
    given_input = MethodInput("input", wide, 50, pieces, generator())
    lengths = METHODS["subtokens"](given_input).values.norm(dim=1)
    assert lengths.mean() == pytest.approx(math.sqrt(512 / 4), rel=0.03)
    matched = METHODS["subtokens_normed"](given_input).values.norm(dim=1)
    assert torch.allclose(matched, wide.norm(dim=1).median().expand(50), rtol=1e-5)


def test_drawn_rows_have_the_moments_that_they_are_drawn_with():
    """Noise has sigma sqrt(D); c = 1 has the table's covariance; columns their own sigma."""
    table = drawn(300, WIDTH) @ drawn(WIDTH, WIDTH, seed=1) + 2
    given_input = MethodInput("input", table, 20_000, ((),) * 20_000, generator(), 0.05)
    length = METHODS["noise"](given_input).values.norm(dim=1)
    assert length.pow(2).mean().sqrt() == pytest.approx(0.05 * math.sqrt(WIDTH), rel=0.02)
    new = METHODS["covariance"](given_input).values.numpy()
    covariance = np.cov(table.numpy().T, bias=True)
    assert np.allclose(np.cov(new.T), covariance, atol=0.05 * np.abs(covariance).max())
    assert np.allclose(new.mean(axis=0), table.mean(dim=0), atol=0.1)
    new = METHODS["columns"](given_input).values
    assert torch.allclose(new.std(dim=0), table.std(dim=0, correction=0), rtol=0.05)


def test_transformers_default_makes_near_copies_as_transformers_does():
    """N(mean, 1e-9 covariance): 3.2e-5 of the old spread, so any two rows are one direction."""
    table = drawn(200, WIDTH) + 1
    given_input = MethodInput("input", table, 500, ((),) * 500, generator())
    ours = METHODS["mean_resizing"](given_input).values
    ratio = (ours - table.mean(dim=0)).norm() / math.sqrt(500)
    spread = (table - table.mean(dim=0)).norm() / math.sqrt(200)
    assert ratio / spread == pytest.approx(math.sqrt(1e-9), rel=0.1)
    assert mathematics.cosines(ours, ours).min() > 0.999999
    # transformers itself, where its covariance is positive definite
    torch.manual_seed(5000)
    model = transformers.GPT2LMHeadModel(configurations()["gpt2"][1])
    with torch.no_grad():
        weight = model.transformer.wte.weight
        weight.copy_(drawn(ROWS, DIM) + 1)
    old = weight.detach().clone()
    model.resize_token_embeddings(ROWS + 500, mean_resizing=True)
    theirs = model.transformer.wte.weight.detach()[ROWS:] - old.mean(dim=0)
    given_input = MethodInput("input", old, 500, ((),) * 500, generator())
    ours = METHODS["mean_resizing"](given_input).values - old.mean(dim=0)
    # Where its check of the covariance fails, all of its rows are the mean itself.
    length = theirs.norm().item()
    assert length < 1e-4 or ours.norm().item() == pytest.approx(length, rel=0.05)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 12))
def test_sparsemax_is_the_nearest_point_of_the_simplex(seed, size):
    """It sums to 1 and satisfies the conditions of the projection; two scores in closed form."""
    scores = 2 * torch.randn(3, size, generator=generator(seed)).double()
    share = mathematics.sparsemax(scores)
    assert torch.allclose(share.sum(dim=1), torch.ones(3).double())
    gradient = scores - share  # equal on the support, and no larger outside of it
    on = torch.where(share > 1e-9, gradient, -torch.inf).max(dim=1, keepdim=True).values
    assert bool((gradient <= on + 1e-9).all())
    a, b = 0.3, 0.9
    two = mathematics.sparsemax(torch.tensor([[a, b]]).double())
    assert two[0, 0].item() == pytest.approx((1 + a - b) / 2)


def test_wechsel_of_the_same_tokens_at_temperature_zero_is_the_identity():
    """FIELD's oracle: each token is its own nearest."""
    vectors = drawn(OLD, SPACE)
    space = AlignedVectors(vectors, vectors, torch.ones(OLD, dtype=torch.bool))
    weights, known = _nearest_by_softmax(space, temperature=1e-4)
    assert bool(known.all())
    assert torch.allclose(weights.to_dense(), torch.eye(OLD), atol=1e-5)


def test_wechsel_weighs_as_its_formula_says():
    """softmax(cos / 0.1) over the ten nearest, with numpy."""
    given_input = method_input()
    space = given_input.vectors
    old, new = space.old.numpy(), space.new.numpy()
    cosine = (new @ old.T) / np.linalg.norm(new, axis=1)[:, None] / np.linalg.norm(old, axis=1)
    nearest = np.argsort(-cosine, axis=1)[:, :10]
    for number, ids in enumerate(nearest):
        weight = np.exp(cosine[number, ids] / 0.1)
        row = (weight / weight.sum()) @ given_input.table.numpy()[ids]
        assert np.allclose(wechsel(given_input).values[number], row, atol=1e-5)


def test_ofa_at_full_width_is_wechsel():
    """Without a narrower factor only the weights are left."""
    given_input = method_input()
    full = ofa(given_input, rank=WIDTH).values
    assert torch.equal(full, wechsel(given_input).values)
    narrow = ofa(given_input, rank=3).values
    assert int(torch.linalg.matrix_rank(narrow, atol=1e-4)) == 3


def test_focus_combines_shared_tokens_alone():
    """Tokens that the new tokenizer lacks have no weight."""
    given_input = method_input()
    weights = METHODS["focus"](given_input).weights.to_dense()
    assert not weights[:, ~given_input.vectors.shared].any()
    assert bool((weights[:, given_input.vectors.shared].sum(dim=1) > 0.999).all())


def test_the_hull_reaches_what_lies_in_it():
    """A vector between two old ones is made of them."""
    old = torch.eye(SPACE).repeat(2, 1) + 0.01 * drawn(2 * SPACE, SPACE)
    target = 0.25 * old[2] + 0.75 * old[5]
    weights = mathematics.simplex_fit(target, old[[2, 5, 7]], steps=2000)
    assert torch.allclose(weights, torch.tensor([0.25, 0.75, 0.0]), atol=1e-3)


def test_matching_pursuit_in_an_orthonormal_basis_takes_the_inner_products():
    """FIELD's oracle: coefficients are inner products, taken in the order of their size."""
    basis, _ = torch.linalg.qr(drawn(SPACE, SPACE))
    target = drawn(1, SPACE, seed=1)
    ids, values = mathematics.matching_pursuit(target, basis, 4)
    products = (basis @ target[0]).numpy()
    order = np.argsort(-np.abs(products))[:4]
    assert ids[0].tolist() == order.tolist()
    assert np.allclose(values[0], products[order], atol=1e-5)


def test_matching_pursuit_of_enough_rows_is_exact():
    """K at the rank or above reconstructs, so coefficients carry a linear map over."""
    given_input = method_input()
    donor = given_input.donor
    theirs = given_input.table @ drawn(WIDTH, SPACE, seed=3)
    combination = torch.rand(NEW, OLD, generator=generator()) * donor.shared
    moved = dataclasses.replace(
        given_input, donor=AlignedVectors(theirs, combination @ theirs, donor.shared)
    )
    weights = METHODS["omp"](moved).weights
    assert torch.allclose(mathematics.rows(theirs, weights), moved.donor.new, atol=1e-3, rtol=1e-3)


def test_the_nearest_shared_row_has_all_the_weight_where_it_is_the_row_itself():
    """FIELD's oracle of common interpolation."""
    given_input = method_input()
    donor = given_input.donor
    ids = donor.shared.nonzero()[:NEW, 0]
    same = dataclasses.replace(
        given_input, donor=AlignedVectors(donor.old, donor.old[ids], donor.shared)
    )
    assert torch.equal(METHODS["nearest"](same).values, given_input.table[ids])


def test_procrustes_recovers_a_rotated_and_moved_table():
    """E = E' R + shift exactly: the donor's rows become the model's."""
    given_input = method_input()
    rotation, _ = torch.linalg.qr(drawn(WIDTH, WIDTH, seed=4))
    theirs = (given_input.table - 1.5) @ rotation.T
    truth = drawn(NEW, WIDTH, seed=5)
    shared = given_input.donor.shared
    moved = dataclasses.replace(
        given_input, donor=AlignedVectors(theirs, (truth - 1.5) @ rotation.T, shared)
    )
    assert torch.allclose(METHODS["procrustes"](moved).values, truth, atol=1e-4)


def test_vectors_get_the_sigma_that_they_are_named_for():
    """Old and new vectors together are standardised, so the new ones' own sigma is near it."""
    given_input = same_width(method_input())
    for name, sigma in (
        ("vectors_xavier", xavier_sigma(OLD + NEW, WIDTH)),
        ("vectors_balanced", 1 / math.sqrt(2 * WIDTH)),
    ):
        new = METHODS[name](given_input).values
        every = torch.cat([given_input.vectors.old, given_input.vectors.new])
        expected = (given_input.vectors.new - every.mean()) * sigma / every.std()
        assert torch.allclose(new, expected, atol=1e-5)


def test_repaired_rows_have_the_heads_direction_and_the_tables_norm():
    """NeMo's formula."""
    given_input = method_input()
    new = METHODS["repair"](given_input).values
    root = given_input.table.pow(2).sum(dim=1).mean().sqrt()
    assert torch.allclose(new.norm(dim=1), root.expand(NEW), rtol=1e-4)
    own = torch.nn.functional.cosine_similarity(new, given_input.head)
    assert torch.allclose(own, torch.ones(NEW), atol=1e-5)


def test_a_token_that_the_method_does_not_know_is_drawn_and_told():
    """No piece, no vector, no row of the donor: the fallback of WECHSEL, FOCUS and OFA."""
    given_input = method_input(pieces=((3,), (), (4, 5)))
    result = METHODS["subtokens"](given_input)
    assert result.known.tolist() == [True, False, True]
    assert result.values[1].norm() > 0
    empty = method_input()
    empty.vectors.new[2] = 0
    assert METHODS["wechsel"](empty).known.tolist().count(False) == 1


def test_a_tokens_vector_is_the_mean_of_the_words_that_have_it():
    """Weighted by one over the rank, with numpy."""
    cut = tokenizer()
    vectors = drawn(4, 5)
    words = ["w3", "w4", "w3 w4", "unheard"]
    found = token_vectors(words, vectors, cut, ROWS)
    row = cut.get_vocab()["w3"]
    expected = (vectors[0] / 1 + vectors[2] / 3) / (1 + 1 / 3)
    assert torch.allclose(found[row], expected, atol=1e-6)
    assert not found[cut.get_vocab()["w9"]].any()
    assert not found[cut.get_vocab()["[UNK]"]].any()


def test_two_spaces_are_aligned_by_a_dictionary(tmp_path):
    """A rotated copy of a space comes back."""
    vectors = torch.nn.functional.normalize(drawn(30, 6), dim=1)
    rotation, _ = torch.linalg.qr(drawn(6, 6, seed=2))
    ours = [f"a{number}" for number in range(30)]
    theirs = [f"b{number}" for number in range(30)]
    pairs = "".join(f"{a}\t{b}\n" for a, b in zip(ours[:12], theirs[:12], strict=True))
    (tmp_path / "pairs.tsv").write_text(pairs)
    back = aligned(ours, vectors, theirs, vectors @ rotation, tmp_path / "pairs.tsv")
    assert torch.allclose(back, vectors, atol=1e-5)
    with pytest.raises(InputError, match="no pair of words is known"):
        aligned(ours, vectors, theirs, vectors, None)


# --- whole models


def load(directory: Path):
    """The model, loaded strictly: nothing is missing, unexpected or of another shape."""
    architecture = json.loads((directory / "config.json").read_text())["model_type"]
    make, _ = configurations()[architecture]
    model, told = make.from_pretrained(directory, output_loading_info=True)
    assert not told["missing_keys"]
    assert not told["unexpected_keys"]
    assert not told["mismatched_keys"]
    return model.eval()


def logits(model, ids):
    more = {"decoder_input_ids": ids} if model.config.model_type == "t5" else {}
    with torch.no_grad():
        return model(input_ids=ids, **more).logits


def token_file(tmp_path: Path, tokens=("w3 w4", "w7 w8 w9", "brand-new")) -> Path:
    path = tmp_path / "tokens.txt"
    path.write_text("\n".join(tokens) + "\n")
    return path


def old_logits(architecture, directory):
    ids = torch.tensor([[5, 9, 12, 40, 7]])
    return ids, logits(load(directory), ids)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("method", ["subtokens", "mean", "covariance"])
def test_an_extended_model_loads_and_answers_as_before(architecture, method, tmp_path):
    """Old tokens' logits don't change; ties and types stay; rows, config and tokenizer agree."""
    directory = model_directory(architecture, tmp_path)
    if architecture == "bert":
        change(directory, cls_predictions_bias=lambda bias: drawn(ROWS))
    ids, before = old_logits(architecture, directory)
    to = tmp_path / "new"
    extension = extend(directory, to, tokens=token_file(tmp_path), method=method)
    model = load(to)
    after = logits(model, ids)
    assert after.shape[-1] == ROWS + 3 == model.config.vocab_size
    assert torch.allclose(after[..., :ROWS], before, atol=1e-6)
    assert torch.isfinite(after).all()
    table, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    assert (table.data_ptr() == head.data_ptr()) is (architecture in TIED)
    assert extension.tied is (architecture in TIED)
    new = transformers.AutoTokenizer.from_pretrained(to)
    assert new.convert_tokens_to_ids(["w3 w4", "brand-new"]) == [ROWS, ROWS + 2]
    assert len(new) == len(table)
    if method == "mean":
        # A padding row of zeros is no part of the mean.
        assert math.log1p(3 / ROWS) <= extension.kl_bound <= math.log1p(3 / (ROWS - 1))
        divergence = after.double().logsumexp(-1) - before.double().logsumexp(-1)
        assert bool((divergence <= extension.kl_bound + 1e-6).all())
        assert extension.hull
    if method == "subtokens":
        rows = load_file(directory / "model.safetensors")
        [name] = [n for n in rows if n.replace(".", "_").endswith(TABLES[architecture])]
        pieces = transformers.AutoTokenizer.from_pretrained(directory).encode(
            "w3 w4", add_special_tokens=False
        )
        known = [row for row in pieces if row != WORDS.index("[UNK]")]
        if architecture != "qwen2":  # whose tokenizer cuts all text into bytes
            assert known == [WORDS.index("w3"), WORDS.index("w4")]
            assert extension.made[0].of == (("w3", 0.5), ("w4", 0.5))
            assert torch.allclose(table[ROWS], rows[name][known].mean(dim=0), atol=1e-7)
        assert extension.made[2].made_by == "columns"
        assert not extension.hull
    # the pad row stays as it was, zero where it was zero
    assert torch.equal(table[0], load(directory).get_input_embeddings().weight[0])
    found = inspect(to).findings
    assert not {each.name for each in found} & {
        *("ids-beyond-table", "rows-unlike-config", "tie-broken", "head-rows-differ")
    }


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradients_of_new_rows_are_as_those_of_old_ones(architecture, tmp_path):
    """A row of the old rows' norm gets a gradient of their size (section 4: 1 / rms)."""
    directory = model_directory(architecture, tmp_path)
    extend(directory, tmp_path / "new", tokens=token_file(tmp_path), method="covariance")
    model = load(tmp_path / "new")
    ids = torch.tensor([[5, ROWS, 12, ROWS + 1, 7]])
    output = model(input_ids=ids, labels=ids)
    output.loss.backward()
    assert output.loss.item() < math.log(ROWS + 3) + 1.5
    length = model.get_input_embeddings().weight.grad.norm(dim=1)
    ratio = length[[ROWS, ROWS + 1]].mean() / length[[5, 12, 7]].mean()
    assert 0.3 < ratio < 3


def test_the_greedy_answer_of_a_whole_model_stays(tmp_path):
    """Rows in the hull, with a bias that is combined alike: the largest logit stays the largest."""
    directory = model_directory("bert", tmp_path)
    change(
        directory,
        cls_predictions_bias=lambda bias: drawn(ROWS),
        word_embeddings_weight=lambda table: table + drawn(ROWS, DIM) * 0.3,
    )
    ids, before = old_logits("bert", directory)
    tokens = token_file(tmp_path, ("w3 w4", "w100 w101 w102", "w9 w200"))
    for number, method in enumerate(("subtokens", "subtokens_weighted", "edge_piece", "mean")):
        to = tmp_path / f"new{number}"
        assert extend(directory, to, tokens=tokens, method=method).hull
        assert torch.equal(logits(load(to), ids).argmax(-1), before.argmax(-1))


@pytest.mark.parametrize("architecture", ["llama", "bert", "t5"])
def test_another_tokenizer_takes_the_place(architecture, tmp_path):
    """Shared tokens keep their rows wherever they went; ids in the configurations follow."""
    directory = model_directory(architecture, tmp_path)
    words = ["w9", "w5", "[UNK]", "new1", "[PAD]", *WORDS[40:90], "new2"]
    tokenizer(words).save_pretrained(tmp_path / "tokenizer")
    to = tmp_path / "new"
    extension = extend(directory, to, tokenizer=tmp_path / "tokenizer", method="columns")
    old, new = load(directory), load(to)
    assert new.config.vocab_size == len(words) == extension.rows
    assert new.config.pad_token_id == 4
    table = new.get_input_embeddings().weight
    for row, word in enumerate(words):
        if word in WORDS:
            assert torch.equal(table[row], old.get_input_embeddings().weight[WORDS.index(word)])
    assert [each.token for each in extension.made] == ["new1", "new2"]
    assert extension.kept == len(words) - 2


def test_vectors_of_words_place_new_tokens(tmp_path):
    """By fastText-like vectors a new word starts at the token that is nearest to it."""
    directory = model_directory("gpt2", tmp_path)
    vectors = drawn(100, 8)
    words = [*WORDS[2:101], "fresh"]
    vectors[99] = vectors[10] * 1.01
    lines = [f"{w} {' '.join(map(str, v))}" for w, v in zip(words, vectors.tolist(), strict=True)]
    (tmp_path / "v.txt").write_text("\n".join(lines))
    tokens = token_file(tmp_path, ("fresh",))
    for method in ("wechsel", "focus", "hull", "ofa"):
        to = tmp_path / method
        helpers = Helpers(vectors=tmp_path / "v.txt")
        report = extend(directory, to, tokens=tokens, method=method, helpers=helpers)
        table = load(to).get_input_embeddings().weight
        assert mathematics.cosines(table[ROWS:], table[:ROWS]).argmax() == WORDS.index(words[10])
        if method != "ofa":
            assert report.made[0].of[0][0] == words[10]


def test_a_donor_gives_its_rows(tmp_path):
    """A donor that is the model rotated, and has the new token: procrustes gives the truth."""
    directory = model_directory("llama", tmp_path)
    donor = tmp_path / "donor"
    shutil.copytree(directory, donor)
    tokenizer((*WORDS, "fresh")).save_pretrained(donor)
    rotation, _ = torch.linalg.qr(drawn(DIM, DIM))
    truth = 0.02 * drawn(1, DIM, seed=9)
    extra = {"vocab_size": ROWS + 1}
    change(
        donor,
        config=extra,
        model_embed_tokens_weight=lambda table: torch.cat([table, truth]) @ rotation,
        lm_head_weight=lambda head: torch.cat([head, truth]),
    )
    tokens = token_file(tmp_path, ("fresh",))
    for method, limit in (("procrustes", 1e-4), ("omp", 1e-2)):
        to = tmp_path / method
        extend(directory, to, tokens=tokens, method=method, helpers=Helpers(donor=donor))
        row = load(to).get_input_embeddings().weight[ROWS:].detach()
        if method == "procrustes":
            assert torch.allclose(row, truth, atol=limit)
        assert torch.isfinite(row).all()


def test_repair_mends_rows_and_leaves_all_others(tmp_path):
    """Of an untied model from the head's direction; of a tied one from mean and covariance."""
    for architecture in ("llama", "gpt2"):
        directory = model_directory(architecture, tmp_path)

        def spoil(table):
            table[5], table[6] = 0, table[6] * 1e-6
            return table

        change(directory, **{TABLES[architecture]: spoil})
        to = tmp_path / f"{architecture}-mended"
        report = extend(directory, to, repair=True)
        old, new = load(directory), load(to)
        before, after = (m.get_input_embeddings().weight.detach() for m in (old, new))
        kept = [row for row in range(ROWS) if row not in (5, 6)]
        assert torch.equal(before[kept], after[kept])
        assert [row.row for row in report.made] == [5, 6]
        assert not inspect(to).findings
        heads = [m.get_output_embeddings().weight.detach() for m in (old, new)]
        if architecture == "llama":
            assert report.method == "repair"
            assert torch.equal(*heads)
            cosine = torch.nn.functional.cosine_similarity(after[5], heads[0][5], dim=0)
            assert cosine == pytest.approx(1, abs=1e-5)
        else:
            assert report.method == "covariance"
        with pytest.raises(InputError, match="no row to repair"):
            extend(to, tmp_path / "again", repair=True)


def planted(fault):
    """Plants a fault of rows into a table."""

    def spoil(table):
        table[290:293] = {
            "non-finite": lambda: torch.tensor(math.nan),
            "zero-rows": lambda: torch.tensor(0.0),
            "near-zero-rows": lambda: table[290:293] * 1e-6,
            "rows-alike": lambda: table.mean(0) + 1e-9 * drawn(3, DIM),
            "copies": lambda: table[20].clone(),
        }[fault]()
        return table

    return spoil


@pytest.mark.parametrize(
    ("architecture", "side"), [("llama", "input"), ("llama", "output"), ("gpt2", "input")]
)
@pytest.mark.parametrize(
    "fault", ["non-finite", "zero-rows", "near-zero-rows", "rows-alike", "copies"]
)
def test_the_mend_that_inspect_advises_mends(architecture, side, fault, tmp_path):
    """One finding for the same rows, on either table; after its mend there is none."""
    directory = model_directory(architecture, tmp_path)
    name = "lm_head_weight" if side == "output" else TABLES[architecture]
    change(directory, **{name: planted(fault)})
    [found] = inspect(directory).findings
    assert (found.name, found.side) == (fault.replace("copies", "rows-alike"), side)
    assert "embtables extend MODEL --repair --to DIR" in found.mend
    report = extend(directory, tmp_path / "mended", repair=True)
    assert not inspect(tmp_path / "mended").findings
    assert report.stays == ()
    old, new = (load_file(each / "model.safetensors") for each in (directory, tmp_path / "mended"))
    [table] = [each for each in old if each.replace(".", "_").endswith(name)]
    assert all(torch.equal(old[each], new[each]) for each in old if each != table)
    assert torch.equal(old[table][:290], new[table][:290])  # the row that was copied, too
    if side == "output":
        length = new[table].norm(dim=1)
        assert 0.3 < float(length[290:293].mean() / length[:290].mean()) < 3


def test_a_resized_model_without_a_tokenizer_is_repaired(tmp_path):
    """As transformers resizes: ten rows that are nearly the mean row, in both tables."""
    directory = model_directory("llama", tmp_path)
    model = transformers.LlamaForCausalLM.from_pretrained(directory)
    model.resize_token_embeddings(ROWS + 10)
    model.save_pretrained(tmp_path / "resized")
    before = inspect(tmp_path / "resized").findings
    assert [(each.name, each.side) for each in before] == [
        ("rows-alike", "input"),
        ("rows-alike", "output"),
    ]
    assert all("long where the median is" in each.what for each in before)
    report = extend(tmp_path / "resized", tmp_path / "mended", repair=True)
    assert [row.row for row in report.made] == list(range(ROWS, ROWS + 10))
    assert all(set(row.norms) == {"input", "output"} for row in report.made)
    assert report.stays == ()
    assert not inspect(tmp_path / "mended").findings
    assert load(tmp_path / "mended").get_input_embeddings().weight.shape[0] == ROWS + 10


def test_a_repair_says_what_stays(tmp_path, capsys):
    """The mean row for each of three rows makes them copies of each other."""
    directory = change(
        model_directory("gpt2", tmp_path), transformer_wte_weight=planted("zero-rows")
    )
    to = tmp_path / "mended"
    command = ["extend", str(directory), "--repair", "--method", "mean", "--to", str(to)]
    capsys.readouterr()
    assert main(command) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "embtables inspect still warns of: rows-alike (input): 3 rows in 1 group" in out
    assert json.loads((to / "extension.json").read_text())["stays"]


def test_ids_beyond_the_table_are_mended_as_inspect_advises(tmp_path):
    """The tokenizer has tokens that the table has no rows for: each gets a row of its own."""
    directory = model_directory("llama", tmp_path)
    unfit_tokenizer(directory)
    assert "--tokenizer MODEL --method covariance" in inspect(directory).findings[0].mend
    extend(directory, tmp_path / "mended", tokenizer=directory, method="covariance")
    assert not inspect(tmp_path / "mended").findings


def test_an_encoder_without_a_head_has_no_answers(tmp_path, capsys):
    """What no logits follow from is not told of greedy answers."""
    directory = model_directory("bert", tmp_path)
    weights = {
        name: tensor
        for name, tensor in load_file(directory / "model.safetensors").items()
        if not name.startswith("cls.")
    }
    save_file(weights, directory / "model.safetensors")
    change(directory, config={"architectures": ["BertModel"]})
    command = ["extend", str(directory), "--tokens", str(token_file(tmp_path)), "--method", "mean"]
    capsys.readouterr()
    assert main([*command, "--to", str(tmp_path / "new")]) == 0
    out = capsys.readouterr().out
    assert "in the hull of the old ones" in out
    assert "answer" not in out


def test_padding_rows_that_new_tokens_fall_into_are_made_too(tmp_path):
    """Transformers leaves them untrained: the table does not grow, and nothing is drawn."""
    directory = model_directory("qwen2", tmp_path)
    tokenizer(WORDS[:298]).save_pretrained(directory)
    change(directory, **{TABLES["qwen2"]: lambda table: torch.cat([table[:298], 0 * table[:2]])})
    tokens = token_file(tmp_path)
    report = extend(directory, tmp_path / "new", tokens=tokens, method="covariance")
    table = load(tmp_path / "new").get_input_embeddings().weight
    assert [row.row for row in report.made] == [298, 299, 300]
    assert len(table) == 301
    assert bool((table[298:].norm(dim=1) > 0.05).all())
    wide = extend(directory, tmp_path / "wide", tokens=tokens, method="mean", multiple=64)
    assert wide.rows == 320
    assert wide.spare == 19
    assert len(load(tmp_path / "wide").get_output_embeddings().weight) == 320


def in_shards(directory: Path) -> Path:
    weights = load_file(directory / "model.safetensors")
    (directory / "model.safetensors").unlink()
    names = sorted(weights)
    files = {n: f"model-{i % 2 + 1:05}-of-00002.safetensors" for i, n in enumerate(names)}
    for file in set(files.values()):
        save_file({n: weights[n] for n in names if files[n] == file}, directory / file)
    index = {"metadata": {}, "weight_map": files}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    return directory


def in_pytorchs_form(directory: Path) -> Path:
    torch.save(load_file(directory / "model.safetensors"), directory / "pytorch_model.bin")
    (directory / "model.safetensors").unlink()
    return directory


@pytest.mark.parametrize("stored", [in_shards, in_pytorchs_form])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_shards_types_and_other_files_are_kept(stored, dtype, tmp_path):
    """Old rows are copied bit for bit in their type; stale weights of other forms are left out."""
    directory = model_directory("llama", tmp_path)
    weights = {
        name: value.to(dtype) for name, value in load_file(directory / "model.safetensors").items()
    }
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    stored(directory)
    (directory / "README.md").write_text("about")
    (directory / "tf_model.h5").write_bytes(b"old")
    (directory / "1_Pooling").mkdir()
    (directory / "1_Pooling/config.json").write_text("{}")
    to = tmp_path / "new"
    report = extend(directory, to, tokens=token_file(tmp_path))
    read = {}
    for file in to.glob("*.safetensors"):
        read |= load_file(file)
    assert read.keys() == weights.keys()
    for name, value in weights.items():
        assert read[name].dtype == dtype
        assert torch.equal(read[name][: len(value)], value)
    load(to)
    assert (to / "README.md").read_text() == "about"
    assert (to / "1_Pooling/config.json").exists()
    assert report.left_out == ("tf_model.h5",)
    assert not (to / "tf_model.h5").exists()
    shards = json.loads((to / "extension.json").read_text())
    assert [row["token"] for row in shards["made"]] == ["w3 w4", "w7 w8 w9", "brand-new"]


def test_every_method_writes_a_model_that_loads(tmp_path):
    """All of them, through the command line where they need nothing else."""
    directory = model_directory("gemma", tmp_path)
    lines = [
        f"{w} {' '.join(map(str, v))}"
        for w, v in zip(WORDS, drawn(ROWS, DIM).tolist(), strict=True)
    ]
    (tmp_path / "v.txt").write_text("\n".join(lines))
    for name in METHODS:
        to = tmp_path / name
        arguments = ["extend", str(directory), "--to", str(to), "--method", name]
        arguments += ["--tokens", str(token_file(tmp_path))]
        arguments += ["--vectors", str(tmp_path / "v.txt"), "--donor", str(directory)]
        status = main(arguments)
        if name == "repair":
            assert status == 4
            assert not to.exists()
        else:
            assert status == 0, name
            assert load(to).config.vocab_size == ROWS + 3


def listing(path: Path):
    return sorted(each.name for each in path.iterdir())


def no_weights(directory):
    (directory / "model.safetensors").unlink()


def half_written(directory):
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def is_quantised(directory):
    change(directory, config={"quantization_config": {"quant_method": "gptq"}})


def is_adapter(directory):
    no_weights(directory)
    (directory / "adapter_config.json").write_text("{}")


def other_config(directory):
    change(directory, config={"vocab_size": 299})


def unknown_table(directory):
    change(directory, add={"model.memory.slots": drawn(ROWS, 5)})


def unfit_tokenizer(directory):
    tokenizer((*WORDS, "beyond")).save_pretrained(directory)


def no_tokenizer(directory):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (directory / name).unlink()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_weights, "neither of model.safetensors"),
        (half_written, "not fully covered"),
        (is_quantised, "quantised; extend the checkpoint before"),
        (is_adapter, "LoRA.*merge"),
        (other_config, "mend vocab_size"),
        (unknown_table, r"'model.memory.slots' has 300 rows too.*not known"),
        (unfit_tokenizer, "1 ids beyond the table's 300 rows"),
        (no_tokenizer, "llama has no tokenizer; put its files there"),
    ],
)
def test_bad_models_are_one_error_and_leave_nothing(spoil, message, tmp_path):
    """The mend is named, and neither the directory nor a part of it appears."""
    directory = model_directory("llama", tmp_path)
    spoil(directory)
    tokens = token_file(tmp_path)
    before = listing(tmp_path)
    with pytest.raises(InputError, match=message):
        extend(directory, tmp_path / "new", tokens=tokens)
    assert listing(tmp_path) == before


def test_bad_arguments_are_one_error_and_leave_nothing(tmp_path, capsys):
    """Tokens that exist, that are there twice, no tokens, a full directory, methods in want."""
    directory = model_directory("llama", tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("kept")
    good, to = token_file(tmp_path), tmp_path / "new"
    files = {"known": "w3\nnew", "twice": "a\na", "empty": "\n", "bytes": b"\xff\xfe\x00"}
    for name, text in files.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    before = listing(tmp_path)
    for message, arguments in {
        r"1 of its tokens exist already, such as 'w3' \(id 5\); leave": {"tokens": "known"},
        "'a' more than once": {"tokens": "twice"},
        "has no tokens; write one a line": {"tokens": "empty"},
        "not UTF-8": {"tokens": "bytes"},
        "can't be read": {"tokens": "nothing"},
        "no directory; name one that holds a tokenizer": {"tokenizer": "nothing"},
        "name one of --tokens": {},
    }.items():
        named = {key: tmp_path / value for key, value in arguments.items()}
        with pytest.raises(InputError, match=message):
            extend(directory, to, **named)
    for message, arguments in {
        "unknown extension method 'subtoken': did you mean 'subtokens'": {"method": "subtoken"},
        "--vectors": {"method": "wechsel"},
        "--donor": {"method": "omp"},
        "take covariance": {"method": "repair"},
        "give 1 or more": {"multiple": 0},
    }.items():
        with pytest.raises(InputError, match=message):
            extend(directory, to, tokens=good, **arguments)
    with pytest.raises(InputError, match="exists already; name a new directory"):
        extend(directory, tmp_path / "full", tokens=good)
    assert listing(tmp_path) == before
    assert listing(tmp_path / "full") == ["file"]
    command = ["extend", str(directory), "--tokens", str(tmp_path / "known"), "--to", str(to)]
    capsys.readouterr()  # transformers draws a bar as it writes the models
    assert main(command) == 4
    assert capsys.readouterr().err.startswith("embtables: ")


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    """Neither where the room is counted beforehand, nor where it ends in the middle."""
    directory, tokens = model_directory("llama", tmp_path), token_file(tmp_path)
    before = listing(tmp_path)
    usage = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
        with pytest.raises(InputError, match=r"its disk has 0 MB left; make room"):
            extend(directory, tmp_path / "new", tokens=tokens)
    assert listing(tmp_path) == before

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(extension_module, "write_configs", full)
        with pytest.raises(InputError, match="No space left on device; nothing is left of it"):
            extend(directory, tmp_path / "new", tokens=tokens)
    assert listing(tmp_path) == before


def test_a_number_too_large_for_the_type_is_named():
    """A float16 table can't hold a row of 1e6."""
    stored = MemoryTensor("wte", torch.zeros(3, 4, dtype=torch.float16))
    with pytest.raises(InputError, match=r"row 3 of 'wte' is too large for F16"):
        by_rows(stored, [0, 1, 2, -1], {3: torch.full((4,), 1e6)})


@pytest.mark.skipif(not DATA, reason="EMBINIT_DATA names no directory with real vectors")
def test_minilm_gets_real_words(tmp_path):
    """The real tokenizer cuts a new word into pieces, of which its row is the mean."""
    source = Path(DATA) / "vectors/minilm-l6"
    tokens = token_file(tmp_path, ("covid", "electroencephalography"))
    report = extend(source, tmp_path / "new", tokens=tokens)
    assert isinstance(report, Extension)
    assert report.made[0].of == (("co", 0.5), ("##vid", 0.5))
    assert report.rows == 30_524
    names = {finding.name for finding in inspect(tmp_path / "new").findings}
    assert names <= {"special-tokens-apart"}
    glove = Path(DATA) / "vectors/glove.840B.300d.subset.txt.gz"
    (tmp_path / "words").write_text("Jacket\n")
    report = extend(
        source,
        tmp_path / "by-glove",
        tokens=tmp_path / "words",
        method="wechsel",
        helpers=Helpers(vectors=glove),
    )
    assert report.rows == 30_523


def hub_cache(cache: Path, name: str, model: Path) -> None:
    """Puts a model into a cache as the Hub's client lays it out: blobs, and links to them."""
    folder = cache / f"models--{name.replace('/', '--')}"
    snapshot = folder / "snapshots" / ("5" * 40)
    for made in (folder / "refs", folder / "blobs", snapshot):
        made.mkdir(parents=True)
    (folder / "refs/main").write_text("5" * 40)
    for number, path in enumerate(sorted(model.iterdir())):
        shutil.copyfile(path, folder / "blobs" / str(number))
        (snapshot / path.name).symlink_to(Path("../../blobs") / str(number))


def test_a_model_on_the_hub_is_extended_from_its_cache(tmp_path, monkeypatch):
    """An id gives what its directory gives, and the links of the cache become files."""
    directory = model_directory("gpt2", tmp_path / "gpt2")
    hub_cache(tmp_path / "hub", "them/gpt2", directory)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("embtables.checkpoints.hub_reachable", lambda: False)
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("w1w2\nw3w4\n")
    status = main(
        [
            "extend",
            "them/gpt2",
            "--tokens",
            str(tokens),
            "--to",
            str(tmp_path / "by-id"),
            "--method",
            "mean",
        ]
    )
    assert status == 0
    extend(directory, tmp_path / "by-path", tokens=tokens, method="mean")
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert not (tmp_path / "by-id" / name).is_symlink()
        assert (tmp_path / "by-id" / name).read_bytes() == (
            tmp_path / "by-path" / name
        ).read_bytes()


def test_a_model_that_is_nowhere_is_one_clear_error(tmp_path, monkeypatch, capsys):
    """Neither here nor in the cache: nothing is written."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("embtables.checkpoints.hub_reachable", lambda: False)
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("w1w2\n")
    to = tmp_path / "to"
    assert main(["extend", "them/none", "--tokens", str(tokens), "--to", str(to)]) == 4
    assert "them/none is no path here and can't be fetched" in capsys.readouterr().err
    assert not to.exists()
