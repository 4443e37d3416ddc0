"""An init's table in anybody's model: the right rows, and nothing else changed."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models
from torch import nn

import embtables
from embinit.errors import InputError
from embinit.lab.data.sources import SOURCES
from embinit.lab.tables.inits import INITS, xavier_sigma
from embtables.initialisation import initialise_embedding, spelled
from tiny_models import ARCHITECTURES, DIM, ROWS, TIED, configurations, tokenizer

WORDS = ["apple", "bird", "Cat", "dog", "élan"]
TOKENS = [f"w{number}" for number in range(1, ROWS - 2)]


@pytest.fixture
def vectors(tmp_path):
    """A file of vectors, the value of whose every column is the word's number."""

    def write(words=WORDS, dim=8):
        path = tmp_path / "vectors.txt"
        lines = [" ".join([word, *[f"{n}.5"] * dim]) for n, word in enumerate(words, 1)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


def test_marks_of_pieces_are_no_letters():
    """A token is looked up by what it spells."""
    assert [spelled(token) for token in ("Ġcat", "▁cat", "##cat", "cat", "▁", "##", "Ġ")] == [
        "cat", "cat", "cat", "cat", "▁", "##", "Ġ",
    ]  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(
    marks=st.lists(st.sampled_from(["", "Ġ", "▁", "##"]), min_size=5, max_size=5),
    order=st.permutations(range(5)),
    more=st.integers(0, 3),
    seed=st.integers(5000, 9000),
)
def test_each_row_has_its_own_tokens_vector(tmp_path_factory, marks, order, more, seed):
    """Whatever the order and the marks; rows without a token are drawn, not left."""
    path = tmp_path_factory.mktemp("vectors") / "v.txt"
    path.write_text("".join(f"{w} {n} {n}\n" for n, w in enumerate(WORDS)), encoding="utf-8")
    rows = {marks[n] + WORDS[n]: row for n, row in enumerate(order)}
    table = nn.Embedding(5 + more, 2)
    before = table.weight.detach().clone()
    report = initialise_embedding(table, "pretrained", rows, path, seed=seed)
    for number, row in enumerate(order):
        assert table.weight[row].tolist() == [number, number]
    assert report.missing == ()
    assert len(report.found) == 5
    assert not (table.weight[5:] == before[5:]).any()


def test_a_words_lower_case_is_looked_up_where_the_word_has_no_vector(vectors):
    """And its own form first: 'Cat' is in the file, 'Bird' is not, 'cat' is nowhere."""
    table = nn.Embedding(4, 8)
    report = initialise_embedding(
        table, "pretrained", ["Cat", "Bird", "cat", "##DOG"], vectors(), seed=5000
    )
    assert report.found == ("Cat", "Bird", "##DOG")
    assert report.missing == ("cat",)
    assert table.weight[[0, 1, 3], 0].tolist() == [3.5, 2.5, 4.5]


def test_a_tokenizer_of_byte_pairs_spells_its_bytes(vectors):
    """Ã©lan is élan in UTF-8, byte by byte."""
    bytes_of = {"[U]": 0, "ĠÃ©lan": 1, "Ġbird": 2}
    pairs = Tokenizer(models.WordLevel(bytes_of, unk_token="[U]"))
    pairs.decoder = decoders.ByteLevel()
    table = nn.Embedding(3, 8)
    report = initialise_embedding(table, "pretrained", pairs, vectors(), seed=5000)
    assert report.found == ("ĠÃ©lan", "Ġbird")
    assert table.weight[1:, 0].tolist() == [5.5, 2.5]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_models_table_alone_is_changed(architecture, vectors):
    """A tied head stays tied and has the new rows; one of its own, and all else, stay as it is."""
    make, config = configurations()[architecture]
    torch.manual_seed(5000)
    model = make(config)
    before = copy.deepcopy(model)
    state = torch.random.get_rng_state()
    report = initialise_embedding(
        model, "pretrained_xavier", tokenizer(), vectors(TOKENS, DIM), seed=5000
    )
    assert torch.equal(torch.random.get_rng_state(), state)
    table, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    assert (head is table) == (architecture in TIED) == bool(report.shared)
    old = {each.data_ptr(): name for name, each in model.named_parameters()}
    assert len(old) == len([*before.parameters()])
    for (name, now), was in zip(model.named_parameters(), before.parameters(), strict=True):
        assert torch.equal(now, was) == (now is not table), name
    assert set(report.found) == set(TOKENS)
    assert report.sigma == pytest.approx(xavier_sigma(ROWS, DIM), rel=1e-4)
    pad = model.get_input_embeddings().padding_idx
    assert pad is None or not table[pad].any()
    ids = torch.randint(3, ROWS, (1, 5))
    given = {"decoder_input_ids": ids} if architecture == "t5" else {}
    assert model(input_ids=ids, **given).logits.isfinite().all()


def test_what_is_drawn_hangs_on_the_seed_alone():
    """And it is what the init itself makes, so that arms of a seed are paired."""
    made = []
    for seed in (5000, 5000, 5001):
        table = nn.Embedding(20, 64, dtype=torch.bfloat16)
        torch.manual_seed(len(made))
        report = initialise_embedding(table, "xavier", [f"w{row}" for row in range(20)], seed=seed)
        assert report.found == ()
        assert len(report.missing) == 20
        made.append(table.weight.detach().clone())
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])


@pytest.mark.parametrize("init", [name for name in INITS if INITS[name].needs_source])
def test_every_init_takes_a_registered_source(init):
    """A padding row stays zero, and takes no part in the statistics."""
    source = SOURCES["micro-glove"](None)
    words = ["<pad>", *list(source.table.words)[:60], "unheard-of"]
    table = nn.Embedding(len(words), source.dim, padding_idx=0)
    report = initialise_embedding(table, init, words, "micro-glove", seed=5000)
    assert report.missing == ("unheard-of",)
    assert not table.weight[0].any()
    assert report.sigma == pytest.approx(table.weight[1:].std().item(), rel=1e-5)


class Two(nn.Module):
    """A module that does not say which of its embeddings is the table."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(5, 8), nn.Embedding(9, 8)


def test_what_cannot_be_put_is_told(vectors):
    """Before anything of the model is changed."""
    table = nn.Embedding(5, 8)
    before = table.weight.detach().clone()
    path = vectors()
    for model, init, tokens, given_vectors, said in (
        (table, "pretraned", WORDS, path, "did you mean 'pretrained'"),
        (table, "pretrained", WORDS, None, "init 'pretrained' needs vectors; name a file"),
        (table, "pretrained", WORDS, path.parent / "no.txt", "no.txt doesn't exist"),
        (nn.Embedding(5, 9), "pretrained", WORDS, path, "of width 8, the model's table is 9 wide"),
        (table, "pretrained", ["a"], path, "none of the vocabulary's .* has a vector"),
        (table, "xavier", [*WORDS, "more"], None, "has 5 rows and 'more' has row 5; resize"),
        (table, "xavier", "words", None, "tokens are str; give a tokenizer"),
        (table, "xavier", [1, 2], None, "tokens are list; give a tokenizer"),
        (Two(), "xavier", WORDS, None, "Two has 2 embeddings, .* give the embedding itself"),
        (nn.Linear(2, 2), "xavier", WORDS, None, "Linear has 0 embeddings"),
        (nn.Embedding(5, 8, device="meta"), "xavier", WORDS, None, "on meta; load the model"),
    ):
        with pytest.raises(InputError, match=said):
            initialise_embedding(model, init, tokens, given_vectors, seed=5000)
    assert torch.equal(table.weight, before)


def test_it_is_told_in_a_line(vectors):
    model = nn.Sequential(nn.Embedding(6, 8), nn.Linear(8, 6, bias=False))
    model[1].weight = model[0].weight
    report = embtables.initialise_embedding(
        model, "pretrained", [*WORDS, "moon"], vectors(), seed=5000
    )
    assert str(report).endswith("; 5 of 6 tokens have a vector; the same table is in 1")
