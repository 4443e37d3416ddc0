"""Objectives and their scales: what each loses, hides or sums, and the tables they shipped."""

from __future__ import annotations

import functools
import math
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from embinit.errors import InputError
from embinit.lab.data.microcosm.lexicon import synonym_groups
from embinit.lab.data.microcosm.writer import unlabelled
from embinit.lab.data.sources.base import SOURCES
from embinit.lab.specs import Cut
from embinit.lab.table_pretraining.corpus import Corpus
from embinit.lab.table_pretraining.encoder import relative_buckets
from embinit.lab.table_pretraining.german import make_german
from embinit.lab.table_pretraining.glove import (
    RATE,
    _step,
    cooccurrences,
    start,
    train_glove,
    weights,
)
from embinit.lab.table_pretraining.language_model import train_table
from embinit.lab.table_pretraining.masked_language_model import (
    MASK_PROBABILITY,
    UNMASKED,
    MaskedLanguageModel,
    mask_tokens,
)
from embinit.lab.table_pretraining.optimizers import OPTIMIZERS
from embinit.lab.table_pretraining.runs import pretrain
from embinit.lab.table_pretraining.skip_gram import train_fasttext, train_word2vec
from embinit.lab.table_pretraining.span_corruption import SpanCorruptionModel, cut_spans
from embinit.lab.table_pretraining.two_way_language_model import TwoWayLanguageModel
from embinit.lab.tables.diagnostics import neighbour_purity
from embinit_studies.table_pretraining import pretrainings
from test_init import generator

TRAININGS = {
    "glove": functools.partial(train_glove, dim=8, epochs=1),
    "bert": functools.partial(train_table, MaskedLanguageModel, steps=3, dim=8, batch=8),
    "t5": functools.partial(train_table, SpanCorruptionModel, steps=3, dim=8, batch=8),
    "word2vec": functools.partial(train_word2vec, dim=8, epochs=1),
    "fasttext": functools.partial(train_fasttext, dim=8, epochs=1),
    "elmo": functools.partial(train_table, TwoWayLanguageModel, steps=3, dim=8, batch=8),
}
"""Short trainings by the tables that they make."""

some = settings(max_examples=40)
texts = st.lists(
    st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=14).map(" ".join),
    min_size=1,
    max_size=6,
)


@some
@given(texts, st.integers(1, 12))
def test_cooccurrences_equal_a_naive_count(sentences, window):
    """Summing by distance over the whole corpus is a double loop over the words of a sentence."""
    corpus = Corpus.read(sentences)
    naive = torch.zeros(len(corpus.words), len(corpus.words), dtype=torch.float64)
    for sentence in sentences:
        words = [corpus.words.index(word) for word in sentence.split()]
        for i, one in enumerate(words):
            for j, other in enumerate(words):
                if 0 < abs(i - j) <= window:
                    naive[one, other] += 1 / abs(i - j)
    torch.testing.assert_close(cooccurrences(corpus, window), naive)


@some
@given(st.integers(1, 5), st.floats(0.1, 30), st.integers(0, 2**31))
def test_glove_steps_follow_the_gradient_of_its_loss(dim, count, seed):
    """From AdaGrad's squares of 1, a first step is -rate x half the gradient of equation 8.

    The loss of a pair that occurs ``count`` times is written out, and differentiated by torch.
    """
    found = start(2, dim, generator(seed))
    before = [tensor.clone().requires_grad_() for tensor in found]
    words, contexts, word_biases, context_biases = before
    error = words[0] @ contexts[1] + word_biases[0] + context_biases[1] - math.log(count)
    (min(1.0, count / 10) ** 0.75 * error**2).backward()
    squares = [torch.ones_like(tensor) for tensor in before]
    pair = (torch.tensor([0]), torch.tensor([1]), torch.tensor([math.log(count)]))
    _step(found, squares, *pair, weights(torch.tensor([count])))
    for after, began, square in zip(found, before, squares, strict=True):
        torch.testing.assert_close(after, began.detach() - RATE * began.grad / 2)
        torch.testing.assert_close(square, 1 + (began.grad / 2) ** 2)


def test_skip_gram_does_not_depend_on_the_hash_seed() -> None:
    """Python's own hash of a word changes from process to process; the tables don't."""
    make = (
        "import sys; from embinit.lab.data.microcosm.writer import unlabelled\n"
        "from embinit.lab.table_pretraining.corpus import Corpus\n"
        "from embinit.lab.table_pretraining.skip_gram import train_fasttext, train_word2vec\n"
        "for train in (train_word2vec, train_fasttext):\n"
        "    table = train(Corpus.read(unlabelled(60)), dim=8, epochs=1)\n"
        "    sys.stdout.buffer.write(table.values.numpy().tobytes())\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    elsewhere = subprocess.check_output([sys.executable, "-c", make], env=environment)
    corpus = Corpus.read(unlabelled(60))
    here = [train(corpus, dim=8, epochs=1) for train in (train_word2vec, train_fasttext)]
    assert elsewhere == b"".join(table.values.numpy().tobytes() for table in here)


@pytest.mark.parametrize("train", [train_word2vec, train_fasttext])
def test_skip_gram_learns_synonyms(train, monkeypatch):
    """From text alone. A random table has a synonym next to 1 % of the words."""
    table = train(Corpus.read(unlabelled(12_000)), dim=16, epochs=20)
    groups = synonym_groups()
    members = torch.tensor([groups.get(word, -1) for word in table.words])
    assert neighbour_purity(table.values, members) > 0.5
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(InputError, match=r"isn't installed; pip install gensim"):
        train(Corpus.read(unlabelled(3)))


def test_fasttext_words_share_their_grams():
    """A word's vector has those of its n-grams: words with one stem are alike from the start."""
    stems = ["kadobe", "misuto", "perila", "golunu"]
    sentences = [f"{stem}{end}" for stem in stems for end in ("ra", "si")] * 3
    corpus = Corpus.read(sentences)
    rows = train_fasttext(corpus, dim=64, epochs=1).values
    rows = rows / rows.norm(dim=1, keepdim=True)
    alike = rows @ rows.T
    same = torch.tensor([[a[:6] == b[:6] for b in corpus.words] for a in corpus.words])
    other = ~same
    same &= ~torch.eye(len(corpus.words), dtype=torch.bool)
    assert alike[same].min() > alike[other].max()


def test_each_direction_knows_only_what_it_has_read():
    """A word's change reaches what is guessed behind it, and on the way back what is before it."""
    torch.manual_seed(0)
    model = TwoWayLanguageModel(Corpus.read(["ab cd ef"]), 8)
    ids, other = torch.tensor([[0, 1, 2, 0]]), torch.tensor([[0, 2, 2, 0]])
    for first, second, read in zip(model(ids), model(other), (1, 2), strict=True):
        changed = (first - second).abs().amax(dim=2)[0] > 1e-7
        assert changed.tolist() == [position > read for position in range(5)]


@some
@given(st.integers(2, 300), st.integers(0, 2**31))
def test_cut_spans_lose_nothing(length, seed):
    """Each sentinel stands in both halves, so putting the spans back gives the text again."""
    first = 1000
    tokens = list(range(length))
    left, taken = cut_spans(tokens, first, np.random.default_rng(seed))
    places = [i for i, token in enumerate(taken) if token >= first]
    assert [taken[i] for i in places] == list(range(first, first + len(places)))
    assert [token for token in left if token >= first] == [taken[i] for i in places[:-1]]
    spans = {taken[a]: taken[a + 1 : b] for a, b in pairwise(places)}
    assert all(spans.values())
    assert [t for token in left for t in spans.get(token, [token])] == tokens
    assert places[-1] == len(taken) - 1
    cut = sum(map(len, spans.values()))
    assert cut == min(max(round(0.15 * length), 1), length - 1)
    assert all(min(pair) < first for pair in pairwise(left))


@some
@given(st.integers(0, 2**31), st.integers(2, 500))
def test_masking_keeps_what_it_does_not_ask_for(seed, size):
    """What is not chosen is seen as it was; what is chosen is the target; padding is neither."""
    ids = torch.randint(size + 1, (8, 12), generator=generator(seed))
    seen, targets = mask_tokens(ids, size, generator(seed))
    asked = targets != UNMASKED
    assert torch.equal(seen[~asked], ids[~asked])
    assert torch.equal(targets[asked], ids[asked])
    assert not asked[ids == size].any()
    assert not (seen[asked] == size).any()


def test_share_that_is_masked():
    """15 % are asked for, of which 80 % hidden, 10 % other words and 10 % left; 5 sigma bounds."""
    size, ids = 1000, torch.arange(1000).repeat(200, 1)
    seen, targets = mask_tokens(ids, size, generator(0))
    asked = targets != UNMASKED
    assert asked.float().mean().item() == pytest.approx(MASK_PROBABILITY, abs=0.004)
    hidden = (seen[asked] == size + 1).float().mean().item()
    left = (seen[asked] == ids[asked]).float().mean().item()
    assert hidden == pytest.approx(0.8, abs=0.012)
    assert left == pytest.approx(0.1, abs=0.009)


@pytest.mark.parametrize("both_ways", [True, False])
def test_relative_buckets_equal_the_library_s(both_ways):
    """An outside oracle: the T5 of the transformers package."""
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    distance = torch.arange(150)[None, :] - torch.arange(140)[:, None]
    theirs = t5.T5Attention._relative_position_bucket(distance, bidirectional=both_ways)
    assert torch.equal(relative_buckets(140, 150, both_ways), theirs)


@pytest.mark.parametrize("name", TRAININGS)
def test_training_depends_on_its_seed_alone(name):
    """Each training forks torch's generator, and so neither sees nor leaves global randomness."""
    corpus, train = Corpus.read(unlabelled(100)), TRAININGS[name]
    torch.manual_seed(54321)
    first = train(corpus)
    torch.manual_seed(12345)
    state = torch.get_rng_state()
    assert torch.equal(first.values, train(corpus).values)
    assert torch.equal(state, torch.get_rng_state())


def stepped(optimizer: str, scale: float, steps: int = 1) -> float:
    """The root mean square of the last of ``steps`` steps of a (8, 4) table of that sigma."""
    model = torch.nn.Embedding(8, 4)
    table, gradient = torch.randn(2, 8, 4, generator=generator(1))
    step = OPTIMIZERS[optimizer](model, 0.1, steps)
    for _ in range(steps):
        with torch.no_grad():
            model.weight.copy_(scale * table / table.square().mean().sqrt())
        before = model.weight.detach().clone()
        model.weight.grad = gradient.clone()
        step()
        assert model.weight.grad is None
    return (model.weight.detach() - before).square().mean().sqrt().item()


@some
@given(st.floats(0.05, 20.0), st.sampled_from([1, 150]))
def test_only_the_parameter_scale_ties_steps_to_the_table(scale, steps):
    """Adafactor's steps are proportional to the table; but for the table's they still are."""
    usual = stepped("adafactor", 1, steps)
    assert stepped("adafactor", scale, steps) == pytest.approx(scale * usual, rel=1e-3)
    # What a matrix of sigma 1/sqrt(D) takes, whatever the table's sigma is.
    other = stepped("adafactor-but-for-the-table", scale, steps)
    assert other == pytest.approx(usual / 2, rel=1e-2)


@pytest.mark.parametrize("model", [MaskedLanguageModel, SpanCorruptionModel])
def test_a_table_starts_at_the_sigma_asked(model):
    corpus = Corpus.read(unlabelled(1000))
    one, ten = (
        train_table(model, corpus, 1, dim=32, batch=4, rate=0.0, start=start).sigma
        for start in (0.3, 3.0)
    )
    assert one == pytest.approx(0.3, rel=0.15)
    assert ten == pytest.approx(10 * one, rel=1e-4)


def recipe(family: str, seed: int = 0, **changes):
    """A short pre-training's run."""
    [one] = [one for one in pretrainings("micro") if one.name.startswith(family)]
    one = replace(one, data=replace(one.data, cut=Cut(train=300)))
    return one.with_training("", steps=4, **changes).run("pretrained", seed)


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("t5", {}),
        ("t5", {"start": 0.5}),
        ("t5", {"relative": False}),
        ("bert", {"optimizer": "adafactor-but-for-the-table"}),
        ("bert", {"relative": True}),
    ],
    ids=str,
)
def test_a_pretraining_run_is_the_training_that_makes_the_assets(family, changes):
    """The spec's settings reach the trainer, and the table that comes out is measured."""
    run = recipe(family, seed=3, **changes)
    train = partial(train_table, {"t5": SpanCorruptionModel, "bert": MaskedLanguageModel}[family])
    batch = {"t5": 16, "bert": 32}[family]
    corpus = Corpus.read(unlabelled(300))
    table = train(corpus, steps=4, batch=batch, seed=3, rate=run.recipe.training.rate, **changes)
    result = pretrain(run)
    assert result.measures["sigma"] == pytest.approx(table.values.std().item(), rel=1e-6)
    assert result.measures["loss"] == float(table.record["loss"]) > 0
    assert result.tables["encoder"].rows == len(corpus.words)
    assert result.spec == run
    if changes:
        usual = train(corpus, steps=4, batch=batch, seed=3, rate=run.recipe.training.rate)
        assert usual.sigma != table.sigma


def test_corpus_orders_words_and_pads_behind():
    corpus = Corpus.read(["b a b", "c"])
    assert corpus.words == ("b", "a", "c")
    assert corpus.ids.tolist() == [[0, 1, 0], [2, 3, 3]]
    with pytest.raises(InputError, match="no words"):
        Corpus.read([" "])


@pytest.mark.parametrize("name", TRAININGS)
def test_assets_are_what_their_record_says(name):
    """The shipped table covers the language, has the recorded sigma, and knows some synonyms."""
    source = SOURCES[f"micro-{name}"](None)
    words = [*synonym_groups(), "unheard-of"]
    vectors = source.lookup(words)
    assert source.dim == 64
    assert vectors.values.shape == (len(words), 64)
    assert vectors.found.tolist() == [True] * (len(words) - 1) + [False]
    assert not vectors.values[-1].any()
    table = source.table  # type: ignore[attr-defined]
    assert table.sigma == pytest.approx(float(table.record["sigma"]), rel=1e-5)
    assert {"objective", "steps", "sentences", "seed", "torch"} <= set(table.record)
    groups = synonym_groups()
    members = torch.tensor([groups.get(word, -1) for word in table.words])
    assert neighbour_purity(table.values, members) > 10 / len(groups) * 5
    assert source.fingerprint() == SOURCES[f"micro-{name}"](None).fingerprint()


def write_multi30k(root, english, german, more=""):
    """Writes parallel text, with ``more`` on either side of the training split."""
    (root / "multi30k").mkdir()
    for side, text in (("en", english), ("de", german)):
        for split in ("train", "val", "test_2016_flickr"):
            (root / f"multi30k/{split}.{side}").write_text(text + more * (split == "train"))


def test_german_vectors_are_of_words_that_occur_twice_and_give_way_to_published_ones(tmp_path):
    """One's own are a stand-in: the German side takes them only for want of others."""
    (tmp_path / "vectors").mkdir()
    write_multi30k(tmp_path, 3 * "a dog runs\n", 3 * "ein Hund rennt\n", "einmal\n")
    (tmp_path / "vectors/glove.840B.300d.txt").write_text("dog " + " ".join(["1"] * 300) + "\n")
    with pytest.raises(InputError, match=r"table_pretraining german"):
        SOURCES["glove-en-de"](tmp_path)
    path = make_german(tmp_path, epochs=1)
    words = [line.split()[0] for line in path.read_text("utf-8").splitlines()]
    assert sorted(words) == ["ein", "hund", "rennt"]
    own = SOURCES["glove-en-de"](tmp_path)
    found = own.lookup(["hund", "einmal"], "de")
    assert found.found.tolist() == [True, False]
    (tmp_path / "vectors/glove-de.txt").write_text("hund " + " ".join(["2"] * 300) + "\n")
    assert SOURCES["glove-en-de"](tmp_path).lookup(["hund"], "de").values[0, 0] == 2


def test_german_vectors_without_text_are_one_error(tmp_path):
    """It names the data that would do; a broken text is no missing one."""
    with pytest.raises(InputError, match="has no German text; put multi30k"):
        make_german(tmp_path)
    write_multi30k(tmp_path, "one\ntwo\n", "eins\n")
    (tmp_path / "iwslt2017").mkdir()
    with pytest.raises(InputError, match=r"multi30k/.*\.de"):
        make_german(tmp_path)
