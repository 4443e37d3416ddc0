"""Sources read what the field's own formats hold, and refuse what is broken."""

from __future__ import annotations

import gzip
import os
import zipfile
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from embinit.errors import InputError
from embinit.sources import SOURCES
from embinit.sources.huggingface import HuggingFaceTable
from embinit.sources.text import TextVectors

DATA = os.environ.get("EMBINIT_DATA")
WORDS = ("the", ". . .", "Straße", "at name@domain.com", "dog", "cat")


def write(path: Path, text: bytes) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("vectors.txt", text)
    else:
        path.write_bytes(text)
    return path


def lines(table: torch.Tensor) -> bytes:
    rows = zip(WORDS, table.tolist(), strict=True)
    return "".join(f"{word} {' '.join(map(repr, row))}\n" for word, row in rows).encode()


@pytest.mark.parametrize("ending", [".txt", ".txt.gz", ".zip"])
@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 99),
    wanted=st.lists(st.sampled_from([*WORDS, "missing"]), unique=True, min_size=1),
)
def test_text_vectors_come_back_exactly(tmp_path_factory, ending, seed, wanted):
    """repr of a float32 reads back as itself, and a line is split from the right."""
    table = torch.randn(len(WORDS), 5, generator=torch.Generator().manual_seed(seed))
    path = write(tmp_path_factory.mktemp("v") / f"vectors{ending}", lines(table))
    source = TextVectors("mine", path)
    found = source.lookup(wanted)
    assert source.dim == 5
    assert source.words(99) == WORDS
    for word, row, known in zip(wanted, found.values, found.found.tolist(), strict=True):
        assert known == (word in WORDS)
        assert torch.equal(row, table[WORDS.index(word)] if known else torch.zeros(5))


GOOD = b"the 0.1 0.2 0.3\ndog 1 2 3\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + b"cat 1 nan 3\n", r":3: word 'cat' has a NaN"),
        (GOOD + b"cat 1 x 3\n", r":3: word 'cat' has something that is no number"),
        (GOOD + b"cat 1 2\n", r"\.txt:3|2 numbers where 3"),
        (GOOD + b"\xff\xfe 1 2 3\n", r":3: the word is not UTF-8"),
        (GOOD + b"bird 1 inf 3\n", r":3: word 'bird' has a NaN or an infinity"),
        (GOOD + b"bird 1 2,5 3\n", r":3: word 'bird' has something that is no number"),
        (GOOD + b"bird 0.5 1 2 3\n", r":3: more than the 3 numbers"),
        (b"", "is empty"),
    ],
)
def test_bad_text_vectors_are_named_by_line(tmp_path, text, message):
    """The thing, the place and the mend."""
    padded = b"".join(b"w%d 0.1 0.2 0.3\n" % number for number in range(20))
    source = TextVectors("mine", write(tmp_path / "v.txt", text))
    if b"cat 1 2\n" in text:
        source = TextVectors("mine", write(tmp_path / "v.txt", padded + b"cat 1 2\n"))
    with pytest.raises(InputError, match=message):
        source.lookup(["the"] * (source.dim > 0) + ["cat"])


def test_of_a_word_twice_the_first_counts(tmp_path):
    """As in every reader of these files."""
    source = TextVectors("mine", write(tmp_path / "v.txt", GOOD + b"the 9 9 9\n"))
    torch.testing.assert_close(source.lookup(["the"]).values[0], torch.tensor([0.1, 0.2, 0.3]))


@pytest.mark.parametrize("ending", [".txt.gz", ".zip"])
def test_a_truncated_archive_is_named(tmp_path, ending):
    """Half a file is no file."""
    path = write(tmp_path / f"v{ending}", GOOD * 500)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InputError, match=r"broken or cut short.*fetch it again"):
        TextVectors("mine", path).lookup(["the"])


def test_a_missing_source_says_where_to_put_it(tmp_path):
    """Nothing is fetched behind the user's back once a data directory is named."""
    for name in ("glove", "minilm", "t5"):
        with pytest.raises(InputError, match="--data-dir"):
            SOURCES[name](tmp_path)
    with pytest.raises(InputError, match="did you mean 'glove'"):
        SOURCES["glov"]


def tiny_model(kind: str):
    import transformers

    if kind == "bert":
        config = transformers.BertConfig(
            vocab_size=12,
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=8,
            max_position_embeddings=8,
        )
        return transformers.BertForMaskedLM(config)
    make = {"t5": transformers.T5Config, "mt5": transformers.MT5Config}[kind]
    model = {
        "t5": transformers.T5ForConditionalGeneration,
        "mt5": transformers.MT5ForConditionalGeneration,
    }[kind]
    return model(make(vocab_size=12, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2))


@pytest.mark.parametrize("kind", ["bert", "t5", "mt5"])
@pytest.mark.parametrize("form", ["safetensors", "shards", "bin"])
def test_only_the_embedding_table_is_read(tmp_path, monkeypatch, kind, form):
    """The oracle is the model's own input embedding."""
    model = tiny_model(kind)
    if form == "bin":
        model.config.save_pretrained(tmp_path)
        torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    else:
        model.save_pretrained(tmp_path, max_shard_size="1KB" if form == "shards" else "1GB")
    source = HuggingFaceTable("mine", str(tmp_path), frozenset({"en"}))
    assert torch.equal(source.table, model.get_input_embeddings().weight)
    assert source.dim == 8
    assert source.fingerprint()


def test_a_directory_without_a_table_says_so(tmp_path):
    """What is there is listed."""
    from safetensors.torch import save_file

    (tmp_path / "config.json").write_text('{"model_type": "bert", "hidden_size": 8}')
    source = HuggingFaceTable("mine", str(tmp_path), frozenset({"en"}))
    with pytest.raises(InputError, match=r"neither of model\.safetensors"):
        source.table  # noqa: B018
    save_file({"other.weight": torch.zeros(2, 2)}, tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"no single tensor.*other\.weight"):
        source.table  # noqa: B018


@pytest.mark.skipif(not DATA, reason="EMBINIT_DATA names no directory with real vectors")
def test_real_vectors():
    """Published widths and moments of the real files."""
    glove = SOURCES["glove"](Path(DATA))
    found = glove.lookup(["the", "dog", "zzqqx"])
    assert found.found.tolist() == [True, True, False]
    assert found.coverage([5, 3, 2]).token_share == 0.8
    minilm = SOURCES["minilm"](Path(DATA))
    assert minilm.table.shape == (30522, 384)
    assert minilm.table.float().std().item() == pytest.approx(0.056, abs=0.001)
    assert minilm.lookup(["the", "##ing", "zzqqx"]).found.tolist() == [True, True, False]
