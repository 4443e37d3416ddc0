"""Sources read what the field's own formats hold, and refuse what is broken."""

from __future__ import annotations

import gzip
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

import malformed
from builders import set_apart
from embinit.errors import InputError
from embinit.files import writing as files
from embinit.lab.data.sources import SOURCES
from embinit.lab.data.sources.arrays import ArrayVectors
from embinit.lab.data.sources.base import ByLanguage
from embinit.lab.data.sources.opening import NamedSource, open_source
from embinit.lab.data.sources.text import TextVectors
from embinit.lab.data.sources.word2vec import Word2VecBinary
from tiny_models import DIM, as_bin, model_directory, sharded

DATA = os.environ.get("EMBINIT_DATA")
WORDS = ("the", ". . .", "Straße", "at name@domain.com", "dog", "cat")


def write(path: Path, text: bytes | dict[str, np.ndarray]) -> Path:
    if isinstance(text, dict):
        np.savez(path, **text)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(text))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("vectors.txt", text)
    else:
        path.write_bytes(text)
    return path


QUOTED = b"".join(b"b'w%d' 0.1 0.2 0.3\n" % number for number in range(20))
GOOD = b"the 0.1 0.2 0.3\ndog 1 2 3\n"
WELL = malformed.binary(["the", "dog"], torch.ones(2, 3), b"")
WORD = {"words": np.array(["a"])}

BAD = {
    "v.txt": [
        (GOOD + b"cat 1 nan 3\n", r":3: word 'cat' has a NaN"),
        (GOOD + b"cat 1 x 3\n", r":3: word 'cat' has something that is no number"),
        (b"w 1 2 3\n" * 20 + b"cat 1 2\n", r":21: 2 numbers where 3"),
        (GOOD + b"\xff\xfe 1 2 3\n", r":3: the word is not UTF-8"),
        (GOOD + b"bird 1 2,5 3\n", r":3: word 'bird' has something that is no number"),
        (GOOD + b"bird 0.5 1 2 3\n", r":3: more than the 3 numbers"),
        # Two files without a line's end between them: both words would have no vector.
        (GOOD + b"end 0.4 0.5 0.6first 0.7 0.8 0.9\n", r":3: more than the 3.*joined of two"),
        (GOOD + b"cat 1_0 2 3\n", r":3: word 'cat' has something that is no number"),
        (GOOD + b"cat 1 1e39 3\n", r":3: word 'cat' has a NaN or an infinity"),
        (GOOD + b"cat  0.1 0.2 0.3\n", r":3: two spaces"),
        (b"one\ntwo\n", r":1: no numbers; write a word"),
        (b"1 100000000\nthe 1 2\n", r":1: 100000000 numbers a word are more than the 65536"),
        (b"1 0\nthe 1 2\n", r":1: no numbers"),
        (b"", "is empty"),
        (b"3 3\n" + GOOD, r":1: the header says 3 words, 2 follow.*cut short"),
        (b"2 4\n" + GOOD, r":2: 3 numbers where 4 are due"),
        (b"2 2\n" + GOOD, r":2: more than the 2 numbers"),
        (QUOTED + b"b'h\\xff' 1 2 3\n", r":21: the word is not UTF-8"),
        (QUOTED + b"b'h\\x' 1 2 3\n", r":21: b'h\\x' is no bytes literal"),
        (QUOTED + b"b'half 1 2 3\n", r":21: b'half is no bytes literal"),
    ],
    "v.bin": [
        (b"", "byte 0: no header"),
        (b"PK\x03\x04" + bytes(99), "byte 0: no header.*by its directory"),
        (struct.pack("<i", 793712314) + bytes(99), "byte 0: no header.*take fastText's .vec file"),
        (b"0 3\n", "byte 0: no header"),
        (WELL[:-1], "byte 20: the file ends in word 2 of the 2.*cut short"),
        (WELL[:22], "byte 20: the file ends in word 2"),
        (b"1 3\n" + WELL[4:], "byte 20: more follows the 1 words"),
        (WELL.replace(b"dog", b"d\xffg"), "byte 20: the word is not UTF-8"),
        (WELL[:-4] + struct.pack("<f", float("nan")), "byte 20: word 'dog' has a NaN"),
    ],
    "v.npz": [
        (WORD, r"has 'words', not 'words' and 'vectors'; .*numpy\.savez"),
        (WORD | {"vectors": np.ones((2, 3))}, r"\(1,\).*\(2, 3\); they must be"),
        (WORD | {"vectors": np.ones((1, 3), int)}, "int64"),
        (WORD | {"vectors": np.full((1, 2), np.nan)}, "row 0: word 'a' has a NaN"),
        # Objects could run code, so they are not read at all.
        ({"words": np.array(["a"], object), "vectors": np.ones((1, 2))}, "allow_pickle"),
    ],
}


@pytest.mark.parametrize(
    ("name", "content", "message"), [(name, *bad) for name, those in BAD.items() for bad in those]
)
def test_bad_vectors_are_named_by_their_place(tmp_path, name, content, message):
    """The line, the byte or the row and the mend, whether the word is wanted or not."""
    place = rf"v\.bin, {message}" if name == "v.bin" else message
    with pytest.raises(InputError, match=place):
        open_source("mine", write(tmp_path / name, content)).lookup(["the", "cat"])


def in_quotes(text: bytes) -> bytes:
    """A GloVe file whose words were written as Python's bytes literals."""
    pairs = (line.rsplit(b" ", 3) for line in text.splitlines())
    return b"".join(b" ".join([repr(w).encode(), *row]) + b"\n" for w, *row in pairs)


def test_words_written_as_bytes_literals_are_decoded(tmp_path):
    """As in some of deepset's German files; GloVe adds its own word for the unknown."""
    words = ["straße", "it's", '"', "'\"", "back\\slash", "b'", ". . .", *"abcdefghijklm"]
    text = "".join(f"{word} {row}.5 1 2\n" for row, word in enumerate(words)).encode()
    path = write(tmp_path / "v.txt", in_quotes(text) + b"<unk> 0 0 0\n")
    assert b"b'stra\\xc3\\x9fe' 0.5" in path.read_bytes()
    found = TextVectors("mine", path).lookup([*words, "<unk>"])
    assert found.found.all()
    assert found.values[:-1, 0].tolist() == [row + 0.5 for row in range(len(words))]


def test_one_word_without_quotes_makes_quotes_part_of_words(tmp_path):
    """A real word may look like a literal; only a file of nothing else is taken for one."""
    source = TextVectors("mine", write(tmp_path / "v.txt", b"b'it' 1 2 3\nthe 1 2 3\n"))
    assert source.lookup(["b'it'", "it"]).found.tolist() == [True, False]


# What neither format can write in a word: white space, half a surrogate pair, a byte-order mark.
letter = st.characters(
    exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"], exclude_characters="\ufeff"
)
word = st.text(letter, min_size=1)
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw):
    dim = draw(st.integers(1, 5))
    words = draw(st.lists(word, min_size=1, max_size=25, unique=True))
    rows = draw(st.lists(st.tuples(*[finite] * dim), min_size=len(words), max_size=len(words)))
    return words, torch.tensor(rows)


def same(source, words, table):
    found = source.lookup([*words[::-1], "no such word"])
    assert source.dim == table.shape[1]
    assert found.found.tolist() == [True] * len(words) + [False]
    assert torch.equal(found.values, torch.cat([table.flip(0), torch.zeros(1, source.dim)]))


@pytest.mark.parametrize("ending", [".txt", ".txt.gz", ".zip", ".vec"])
@settings(max_examples=20)
@given(drawn=tables())
def test_text_vectors_come_back_exactly(tmp_path_factory, ending, drawn):
    """repr of a float32 reads back as itself; and gensim's files, which have a header, are read."""
    from gensim.models import KeyedVectors

    words, table = drawn
    path = tmp_path_factory.mktemp("v") / f"vectors{ending}"
    if ending == ".vec":
        vectors = KeyedVectors(table.shape[1])
        vectors.add_vectors(words, table.numpy())
        vectors.save_word2vec_format(str(path), binary=False, sort_attr=None)
    else:
        write(path, malformed.text(False, words, table))
    same(open_source("mine", path), words, table)


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("ending", [".bin", ".bin.gz"])
@settings(max_examples=20)
@given(drawn=tables(), chunk=st.integers(16, 60))
def test_binary_vectors_come_back_exactly(tmp_path_factory, ending, end, drawn, chunk):
    """With and without newlines, wherever the pieces end that it is read in; gensim agrees."""
    from gensim.models import KeyedVectors

    words, table = drawn
    path = write(tmp_path_factory.mktemp("v") / f"v{ending}", malformed.binary(words, table, end))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CHUNK", chunk)
        same(open_source("mine", path), words, table)
    read = KeyedVectors.load_word2vec_format(str(path), binary=True)
    assert read.index_to_key == words
    assert torch.equal(torch.from_numpy(read.vectors), table)


def test_large_binary_vectors_are_read_in_constant_memory(tmp_path):
    """What isn't wanted isn't kept: 60 MB are read in less than 8."""
    import tracemalloc

    rows = struct.pack("<300f", *[0.5] * 300)
    with (tmp_path / "v.bin").open("wb") as file:
        file.write(b"50000 300\n")
        file.writelines(b"w%d %s\n" % (number, rows) for number in range(50_000))
    tracemalloc.start()
    found = Word2VecBinary("mine", tmp_path / "v.bin").lookup(["w0", "w49999", "w50000"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.found.tolist() == [True, True, False]
    assert peak < 8 << 20


def test_of_a_word_twice_the_first_counts(tmp_path):
    source = TextVectors("mine", write(tmp_path / "v.txt", GOOD + b"the 9 9 9\n"))
    torch.testing.assert_close(source.lookup(["the"]).values[0], torch.tensor([0.1, 0.2, 0.3]))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_arrays_come_back_by_their_words(tmp_path, kind):
    """Words of any script, with spaces or without; numbers as float32."""
    table = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(kind)
    path = tmp_path / "elmo.npz"
    np.savez(path, words=np.array(WORDS), vectors=table)
    source = open_source("mine", path)
    found = source.lookup(["Straße", "missing", "the"])
    assert isinstance(source, ArrayVectors)
    assert source.dim == 5
    assert found.found.tolist() == [True, False, True]
    assert torch.equal(found.values[0], torch.tensor(table[2].astype(np.float32)))
    assert found.values.dtype == torch.float32


def test_a_missing_source_says_where_to_put_it(tmp_path):
    """Nothing is fetched behind the user's back once a data directory is named."""
    missing = ("glove", "glove-de", "glove-de-en", "word2vec", "fasttext", "elmo", "minilm", "t5")
    for name in missing:
        with pytest.raises(InputError, match="--embinit-data-dir"):
            SOURCES[name](tmp_path)
    with pytest.raises(InputError, match="did you mean 'glove'"):
        SOURCES["glov"]
    with pytest.raises(InputError, match=r"source 'mine': .*nowhere\.txt doesn't exist"):
        open_source("mine", tmp_path / "nowhere.txt")


GERMAN, ENGLISH = b"b'und' 1 2 3\nb'die' 4 5 6\n", b"and 7 8 9\ndie 9 9 9\n"


@pytest.fixture
def data_dir(tmp_path):
    """A data directory with the published word vectors' names."""
    (tmp_path / "vectors").mkdir()
    write(tmp_path / "vectors/glove-de.txt.gz", GERMAN)
    write(tmp_path / "vectors/glove.840B.300d.txt", ENGLISH)
    write(tmp_path / "vectors/GoogleNews-vectors-negative300.bin.gz", WELL)
    write(tmp_path / "vectors/crawl-300d-2M.vec.zip", b"2 3\n" + GOOD)
    write(tmp_path / "vectors/elmo.vec", b"2 3\n" + GOOD)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "word", "numbers"),
    [
        ("glove", "and", [7, 8, 9]),
        ("glove-de", "und", [1, 2, 3]),
        ("word2vec", "dog", [1, 1, 1]),
        ("fasttext", "dog", [1, 2, 3]),
        ("elmo", "dog", [1, 2, 3]),
    ],
)
def test_published_vectors_are_found_by_their_names(data_dir, name, word, numbers):
    source = SOURCES[name](data_dir)
    assert source.lookup([word]).values.tolist() == [numbers]
    assert source.languages == {"de" if name == "glove-de" else "en"} == SOURCES[name].languages
    assert (source.name, source.tokenizer) == (name, "spacy")


def test_each_side_has_the_vectors_of_its_language(data_dir):
    """``die`` is a word of both."""
    source = SOURCES["glove-de-en"](data_dir)
    assert (source.dim, source.languages) == (3, {"de", "en"})
    assert source.lookup(["die", "and"], "de").values.tolist() == [[4, 5, 6], [0, 0, 0]]
    english = SOURCES["glove"](data_dir)
    assert english.lookup(["die", "and"], "en").values.tolist() == [[9, 9, 9], [7, 8, 9]]
    with pytest.raises(InputError, match=r"glove\.840B.*the file has 2 words, where 2,190,000"):
        source.lookup(["die", "and"], "en")  # here no part stands in for the whole
    for language in (None, "fr"):
        with pytest.raises(InputError, match="ask for one of de, en"):
            source.lookup(["die"], language)
    before = source.fingerprint()
    write(data_dir / "vectors/glove-de.txt.gz", GERMAN * 2)
    assert SOURCES["glove-de-en"](data_dir).fingerprint() != before


def test_sources_of_two_widths_are_no_source_by_language(data_dir):
    """One table has one width; and one tokenizer cuts both sides."""
    write(data_dir / "two.txt", b"and 1 2\n")
    wide, narrow = SOURCES["glove"](data_dir), open_source("two", data_dir / "two.txt")
    with pytest.raises(InputError, match=r"more than one width \(en: 3, de: 2\)"):
        ByLanguage("both", {"en": wide, "de": narrow})
    other = TextVectors("other", wide.path, tokenizer="whitespace")
    with pytest.raises(InputError, match="more than one tokenizer"):
        ByLanguage("both", {"en": wide, "de": other})


def test_a_path_stands_for_a_name(data_dir, monkeypatch):
    """A known name keeps its languages, a new one is English; what is made of it follows."""
    set_apart(monkeypatch, SOURCES)
    path = write(data_dir / "mine.txt", b"die 0 0 1\n")
    for name, languages in (("glove-de", {"de"}), ("mbert", {"de", "en"}), ("new", {"en"})):
        NamedSource(name, path)()
        source = SOURCES[name](None)
        assert (source.name, source.languages) == (name, languages)
    for both in ("glove-de-en", "glove-en-de"):
        assert SOURCES[both](data_dir).lookup(["die"], "de").values.tolist() == [[0, 0, 1]]


@pytest.mark.parametrize("stored", [Path, sharded, as_bin, lambda path: sharded(as_bin(path))])
@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("architecture", ["bert", "t5", "llama"])
def test_only_the_embedding_table_is_read(tmp_path, architecture, bare, stored):
    """The oracle is the model's own input embedding. Without a head, tensors have no prefix."""
    import transformers

    directory = model_directory(architecture, tmp_path)
    model = transformers.AutoModel.from_pretrained(directory)
    if bare:
        model.save_pretrained(directory)
    source = open_source("mine", stored(directory))
    assert torch.equal(source.table, model.get_input_embeddings().weight)
    assert source.dim == DIM
    assert source.fingerprint()


def test_a_directory_without_a_table_says_so(tmp_path):
    directory = model_directory("bert", tmp_path)
    save_file({"other.weight": torch.zeros(2, 2)}, directory / "model.safetensors")
    with pytest.raises(InputError, match=r"no single tensor.*other\.weight"):
        open_source("mine", directory).check()


@pytest.mark.skipif(not DATA, reason="EMBINIT_DATA names no directory with real vectors")
def test_real_vectors():
    glove = SOURCES["glove"](Path(DATA))
    found = glove.lookup(["the", "dog", "zzqqx"])
    assert found.found.tolist() == [True, True, False]
    covered = found.coverage([5, 3, 2])
    assert covered.tokens_found == 0.8 * covered.tokens
    minilm = SOURCES["minilm"](Path(DATA))
    assert minilm.table.shape == (30522, 384)
    assert minilm.table.float().std().item() == pytest.approx(0.056, abs=0.001)
    assert minilm.lookup(["the", "##ing", "zzqqx"]).found.tolist() == [True, True, False]
