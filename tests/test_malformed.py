"""Whatever is wrong with a file from outside is one InputError, or its right content."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import malformed
from embinit.errors import InputError
from embinit.files import reading as outside
from embinit.files.writing import digest, open_lines
from embinit.lab.data.sources import NamedSource, named_source, open_source
from embinit.lab.data.tasks import TASKS
from embinit.lab.specs import Cut


@pytest.mark.parametrize("name", malformed.READERS)
def test_a_spoilt_file_is_read_right_or_refused(name, tmp_path):
    """A whole one is read as by its oracle; a spoilt one right, or it is one InputError."""
    reader = malformed.READERS[name]
    assert malformed.outcome(reader, tmp_path, 0, []) == "right"
    malformed.spoilt(reader, 6 if name.startswith("model") else 25)


GOOD = b"the 0.1 0.2 0.3\ndog 1 2 3\n"


def text(tmp_path: Path, content: bytes, name: str = "v.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        # Two files without a line's end between them: both words would have no vector.
        (GOOD + b"end 0.4 0.5 0.6first 0.7 0.8 0.9\n", r":3: more than the 3.*joined of two"),
        (GOOD + b"bird 1 0.1 0.2 0.3\n", r":3: more than the 3"),
        # What Python takes for a number and nobody else does.
        (GOOD + b"cat 1_0 2 3\n", r":3: word 'cat' has something that is no number"),
        (GOOD + b"cat 1 2 3\t\n", r":3: word 'cat' has something that is no number"),
        (GOOD + b"cat 1 1e39 3\n", r":3: word 'cat' has a NaN or an infinity"),
        (GOOD + b"cat  0.1 0.2 0.3\n", r":3: two spaces"),
        (b"one\ntwo\n", r":1: no numbers; write a word"),
        # Sizes that a header only claims.
        (b"1 100000000\nthe 1 2\n", r":2: 2 numbers where 100000000 are due"),
        (b"1 1000000000000000000000\nthe 1 2\n", r"v\.txt:"),
        (b"1 0\nthe 1 2\n", r":1: no numbers"),
        (b"9" * 5000 + b" 3\nthe 1 2 3\n", r"v\.txt:"),
        (b"the" + b" 1" * 70_000 + b"\n", r":1: 70000 numbers a word are more"),
    ],
)
def test_text_that_was_read_wrong_is_refused(tmp_path, content, message):
    """Each is one line with the place and the mend."""
    with pytest.raises(InputError, match=message) as error:
        open_source("mine", text(tmp_path, content)).lookup(["the", "dog", "cat", "end", "first"])
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("head", [b"", b"2 3\n"])
def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path, head):
    """Some editors write one; with a header and without."""
    source = open_source("mine", text(tmp_path, b"\xef\xbb\xbf" + head + GOOD))
    assert source.lookup(["the", "dog"]).found.all()


def test_a_word_may_hold_spaces_or_be_empty(tmp_path):
    """GloVe 840B has both."""
    source = open_source("mine", text(tmp_path, GOOD + b". . . 1 2 3\n 4 5 6\n"))
    assert source.words(9) == ("the", "dog", ". . .", "")


def archive(name: str, content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as packed:
        packed.writestr(name, content)
    return buffer.getvalue()


def with_flag(content: bytes, offset: int, central: int, value: int) -> bytes:
    """A zip archive with another number in its local and its central header."""
    changed = bytearray(content)
    at = content.index(b"PK\x01\x02")
    struct.pack_into("<H", changed, offset, value)
    struct.pack_into("<H", changed, at + central, value)
    return bytes(changed)


ZIPPED = archive("v.txt", GOOD)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.zip", with_flag(ZIPPED, 6, 8, 1), "asks for a password; unpack it"),
        ("v.zip", with_flag(ZIPPED, 8, 10, 99), "broken or cut short.*compression.*fetch it again"),
        ("v.zip", archive("v.txt", GOOD, zipfile.ZIP_LZMA)[:60], "broken or cut short"),
        ("v.gz", b"\x1f\x8b\x08\x00 no gzip at all", r"v\.gz:1: broken or cut short"),
        ("v.gz", gzip.compress(GOOD, mtime=0)[:-9], r"v\.gz:\d: broken or cut short"),
    ],
    # An archive has the time in it, and workers must have the same ids.
    ids=["locked", "other packing", "cut zip", "no gzip", "cut gzip"],
)
def test_broken_archives_are_one_error(tmp_path, name, content, message):
    """zipfile has RuntimeError, NotImplementedError and LZMAError beside its own."""
    with pytest.raises(InputError, match=message):
        open_source("mine", text(tmp_path, content, name)).lookup(["the"])


@pytest.mark.parametrize("ending", ["gz", "zip"])
def test_a_line_without_end_is_not_held(tmp_path, ending, monkeypatch):
    """A small archive of one line of gigabytes."""
    monkeypatch.setattr("embinit.files.writing.MOST_LINE_BYTES", 1 << 16)
    content = b"a" * (1 << 24)
    packed = gzip.compress(content, mtime=0) if ending == "gz" else archive("v.txt", content)
    path = text(tmp_path, packed, f"v.{ending}")
    with pytest.raises(InputError, match=r":1: the line is longer than 65,536 bytes"):
        open_source("mine", path).lookup(["a"])


def test_what_is_no_file_is_one_error(tmp_path):
    """A directory, and nothing at all."""
    for reader in (digest, lambda path: list(open_lines(path))):
        with pytest.raises(InputError, match="it is a directory; name a file"):
            reader(tmp_path)
        with pytest.raises(InputError, match="can't be read: No such file"):
            reader(tmp_path / "missing")


def arrays(tmp_path: Path, **given: object) -> Path:
    np.savez(tmp_path / "v.npz", **given)
    return tmp_path / "v.npz"


def test_arrays_beyond_float32_and_words_that_are_no_text(tmp_path):
    """Neither a warning nor an error of NumPy's own."""
    wide = arrays(tmp_path, words=np.array(["a"]), vectors=np.array([[1e300]]))
    with pytest.raises(InputError, match="row 0: word 'a' has a NaN or an infinity"):
        open_source("mine", wide).lookup(["a"])
    half = arrays(tmp_path, words=np.array(["\ud800"]), vectors=np.ones((1, 2)))
    with pytest.raises(InputError, match="row 0: broken"):
        open_source("mine", half).lookup(["a"])


VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog", "cat"]


def bert(directory: Path, table: torch.Tensor | None = None, **files: bytes) -> Path:
    """A model's directory that BERT's tokenizer can be loaded from."""
    directory.mkdir(exist_ok=True)
    config = {"model_type": "bert", "hidden_size": 4, "vocab_size": 8}
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    (directory / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    table = torch.arange(32.0).view(8, 4) if table is None else table
    save_file({"embeddings.word_embeddings.weight": table}, directory / "model.safetensors")
    for name, content in files.items():
        (directory / name.replace("__", ".")).write_bytes(content)
    return directory


KEY = "embeddings.word_embeddings.weight"


def test_a_shard_lies_in_the_models_own_directory(tmp_path, monkeypatch):
    """A file of its name in the current directory was read, under the right fingerprint."""
    model = bert(tmp_path / "model")
    (model / "model.safetensors").rename(model / "shard.safetensors")
    index = model / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {KEY: "shard.safetensors"}}))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    save_file({KEY: torch.full((8, 4), -9.0)}, elsewhere / "shard.safetensors")
    monkeypatch.chdir(elsewhere)
    source = open_source("mine", model)
    assert source.fingerprint() == digest(model / "shard.safetensors")
    assert source.lookup(["the"]).values.tolist() == [[20, 21, 22, 23]]
    for name in ("../elsewhere/shard.safetensors", str(elsewhere / "shard.safetensors"), 7, ""):
        index.write_text(json.dumps({"weight_map": {KEY: name}}))
        with pytest.raises(InputError, match="names no file of the model's own directory"):
            open_source("mine", model).fingerprint()


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 90868376\n"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"model__safetensors": LFS}, r"model\.safetensors: broken.*SafetensorError.*again"),
        ({"model__safetensors": b""}, r"model\.safetensors: broken"),
        ({"config__json": b"{"}, r"config\.json is no JSON.*JSONDecodeError"),
        ({"config__json": b"[1]"}, r"config\.json is no model's configuration"),
        ({"config__json": b"[" * 99_999}, r"config\.json is no JSON.*RecursionError"),
        ({"config__json": b"\xff\xfe"}, r"config\.json is no JSON"),
        ({"config__json": b'{"model_type": []}'}, r"config\.json is no model's configuration"),
        (
            {"config__json": b'{"model_type": "bert", "hidden_size": "4"}'},
            r"hidden_size is 4, which is no width|broken",
        ),
        (
            {"config__json": b'{"model_type": "bert", "hidden_size": 8}'},
            r"table is 4 wide and config\.json says 8",
        ),
        ({"vocab__txt": b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"}, "tokenizer.*knows no words"),
        (
            {"vocab__txt": ("\n".join([*VOCABULARY, "ninth"]) + "\n").encode()},
            r"table has 8 rows, and the tokenizer's id of 'ninth' is 8",
        ),
        ({"tokenizer__json": b"{}"}, "the tokenizer .*broken or cut short"),
    ],
)
def test_broken_models_are_one_error(tmp_path, files, message):
    """212 of 287 ended the session, as 15 kinds of exception."""
    source = open_source("mine", bert(tmp_path / "model", **files))
    with pytest.raises(InputError, match=message):
        (source.dim, source.fingerprint(), source.lookup(["the", "ninth"]))


@pytest.mark.parametrize(
    "table",
    [
        torch.ones(8, 4, dtype=torch.int8),
        torch.ones(8, 4, dtype=torch.bool),
        torch.ones(8, 4).to(torch.float8_e4m3fn),
        torch.ones(0, 4),
        torch.ones(8),
    ],
)
@pytest.mark.parametrize("form", ["safetensors", "bin"])
def test_a_tensor_that_is_no_table_of_floats_is_refused(tmp_path, table, form):
    """Quantised numbers were read as though they were plain ones."""
    model = bert(tmp_path / "model", table)
    if form == "bin":
        (model / "model.safetensors").unlink()
        torch.save({KEY: table}, model / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"must be an \(N, D\) table of floats; take"):
        open_source("mine", model).lookup(["the"])


class Runs:
    """Pickled, it is a call that makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: b"",
        lambda path: b"no file of torch's",
        lambda path: pickle.dumps(Runs(path)),
        lambda path: saved({KEY: Runs(path)}),
        lambda path: saved([torch.ones(2)]),
        lambda path: saved({7: torch.ones(2)}),
        lambda path: saved({KEY: torch.ones(1).expand(30_000, 30_000)}),
        lambda path: saved({KEY: torch.ones(8, 4)})[:-200],
        lambda path: saved({KEY: torch.ones(8, 4)}, legacy=True),
    ],
)
def test_no_pickle_runs_and_none_escapes(tmp_path, make):
    """weights_only refuses code; what it raises has ten kinds."""
    model = bert(tmp_path / "model")
    (model / "model.safetensors").unlink()
    (model / "pytorch_model.bin").write_bytes(make(tmp_path / "ran"))
    with pytest.raises(InputError, match=r"model"):
        open_source("mine", model).lookup(["the"])
    assert not (tmp_path / "ran").exists()


def saved(content: object, legacy: bool = False) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer, _use_new_zipfile_serialization=not legacy)
    return buffer.getvalue()


def test_a_models_code_is_never_asked_for(tmp_path, monkeypatch):
    """With auto_map, transformers asks on the terminal; `y` ran the directory's code."""
    model = bert(tmp_path / "model")
    config = {"model_type": "own", "hidden_size": 4, "auto_map": {"AutoConfig": "own.OwnConfig"}}
    (model / "config.json").write_text(json.dumps(config))
    auto = {"auto_map": {"AutoTokenizer": ["own.Own", None]}, "tokenizer_class": "Own"}
    (model / "tokenizer_config.json").write_text(json.dumps(auto))
    ran = tmp_path / "ran"
    (model / "own.py").write_text(
        f"import os\nos.mkdir({str(ran)!r})\nfrom transformers import BertTokenizer as Own\n"
    )
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(InputError, match=r"the tokenizer .*model"):
        open_source("mine", model).lookup(["the"])
    assert not ran.exists()


@pytest.mark.parametrize(
    ("task", "name", "content"),
    [
        ("sst2", "sst2/dev.tsv", "label\tsentence\n"),
        ("sst2", "sst2/train.tsv", "label\tsentence\n"),
        ("multi30k-en-de", "multi30k/val.en", "\n\n"),
    ],
)
def test_a_split_without_examples_is_named(tmp_path, task, name, content):
    """It was `max() arg is an empty sequence`."""
    (tmp_path / "sst2").mkdir()
    (tmp_path / "multi30k").mkdir()
    for split in ("train", "dev"):
        (tmp_path / f"sst2/{split}.tsv").write_text("label\tsentence\n1\tgood\n")
    for split in ("train", "val", "test_2016_flickr"):
        for side in ("en", "de"):
            (tmp_path / f"multi30k/{split}.{side}").write_text("a\nb\n")
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=rf"{Path(name).name} has no example.*fetch it again"):
        TASKS[task].load(tmp_path, Cut())


def test_json_from_outside_has_no_nan(tmp_path):
    """Python's json reads NaN and 1e999, which no other reader does."""
    for number in ("NaN", "-Infinity", "1e999"):
        path = text(tmp_path, f'{{"a": {number}}}'.encode(), "a.json")
        with pytest.raises(InputError, match=r"a\.json is no JSON.*mend it"):
            outside.read_json(path, "mend it")


@pytest.mark.parametrize(
    ("name", "content"),
    [("v.txt", b"one\n"), ("v.bin", b"x"), ("v.npz", b"x"), ("v.zip", b"x"), ("v.txt", b"a 1 x\n")],
)
def test_a_source_that_is_named_is_looked_at(tmp_path, name, content):
    """What is named and broken is a fault, not data that happen to be missing."""
    path = text(tmp_path, content, name)
    with pytest.raises(InputError, match=rf"--embinit-source glove=.*{name}"):
        named_source(f"glove={path}")
    model = bert(tmp_path / "model", model__safetensors=LFS)
    with pytest.raises(InputError, match=r"--embinit-source bert=.*SafetensorError"):
        named_source(f"bert={model}")
    assert named_source(f"bert={bert(tmp_path / 'model')}") == NamedSource(
        "bert", tmp_path / "model"
    )
