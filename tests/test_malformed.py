"""A malformed file is one InputError that names it and how to mend it; no pickle runs."""

import json
import os
import pickle
from pathlib import Path

import pytest
import torch

import malformed
from embinit.errors import InputError
from embinit.files import reading as outside
from embinit.lab.data.sources.opening import NamedSource, named_source, open_source

GOOD = b"the 0.1 0.2 0.3\ndog 1 2 3\n"
CUT = ("cut", 30_000, 65_535, b"")
JUNK = [("cut", 0, 0, b""), ("insert", 0, 0, b"\0\xff no such format")]


@pytest.mark.parametrize("name", malformed.READERS)
def test_a_file_is_read_and_a_spoilt_one_is_refused_by_name(name, tmp_path):
    reader = malformed.READERS[name]
    assert malformed.outcome(reader, tmp_path / "whole", 0, []) == "right"
    files = reader.files()
    largest = max(files, key=lambda name: len(files[name]))
    for number, changes in enumerate((JUNK, [CUT])):
        outcome = malformed.outcome(
            reader, tmp_path / f"{number}", sorted(files).index(largest), changes
        )
        if (name, number) == ("labelled text", 1):
            continue  # fewer lines are a file too
        assert outcome == "set aside" or outcome.startswith("refused: "), outcome
        assert outcome == "set aside" or Path(largest).name in outcome, outcome


@pytest.mark.parametrize("head", [b"\xef\xbb\xbf", b"\xef\xbb\xbf2 3\n", b""])
def test_a_byte_order_mark_is_no_word_and_words_may_hold_spaces(tmp_path, head):
    """GloVe 840B has words with spaces, and an empty one."""
    more = b"" if b"2" in head else b". . . 1 2 3\n 4 5 6\n"
    (tmp_path / "v.txt").write_bytes(head + GOOD + more)
    words = ("the", "dog", ". . .", "")[: 4 if more else 2]
    assert open_source("mine", tmp_path / "v.txt").lookup(words).found.all()


def bert(directory: Path, **files: bytes) -> Path:
    directory.mkdir(exist_ok=True)
    for name, content in (malformed.model() | files).items():
        (directory / name.replace("__", ".")).write_bytes(content)
    return directory


INTEGERS = malformed.save({malformed.KEY: torch.ones(13, 4, dtype=torch.int8)})
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 90868376\n"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"model__safetensors": LFS}, r"model\.safetensors: broken.*SafetensorError.*again"),
        ({"config__json": b"{"}, r"config\.json is not JSON.*JSONDecodeError"),
        ({"config__json": b"[1]"}, r"config\.json is no model's configuration"),
        ({"vocab__txt": b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"}, "tokenizer.*knows no words"),
        ({"tokenizer__json": b"{}"}, "the tokenizer .*broken or cut short"),
        ({"model__safetensors": INTEGERS}, "so it is quantised or no plain table; name"),
    ],
)
def test_a_broken_model_is_one_error(tmp_path, files, message):
    source = open_source("mine", bert(tmp_path / "model", **files))
    with pytest.raises(InputError, match=message):
        (source.dim, source.fingerprint(), source.lookup(["the", "ninth"]))


class Runs:
    """Pickled, it is a call that makes a directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize(
    "make",
    [lambda bad: pickle.dumps(bad), lambda bad: malformed.saved({malformed.KEY: bad})],
    ids=["plain", "torch"],
)
def test_no_pickle_runs(tmp_path, make):
    model = bert(tmp_path / "model")
    (model / "model.safetensors").unlink()
    (model / "pytorch_model.bin").write_bytes(make(Runs(tmp_path / "ran")))
    with pytest.raises(InputError, match=r"model"):
        open_source("mine", model).lookup(["the"])
    assert not (tmp_path / "ran").exists()


def test_a_models_code_is_never_asked_for(tmp_path, monkeypatch):
    """With auto_map, transformers asks on the terminal; `y` ran the directory's code."""
    ran = tmp_path / "ran"
    auto = {"auto_map": {"AutoTokenizer": ["own.Own", None]}, "tokenizer_class": "Own"}
    config = {"model_type": "own", "hidden_size": 4, "auto_map": {"AutoConfig": "own.OwnConfig"}}
    code = f"import os\nos.mkdir({str(ran)!r})\nfrom transformers import BertTokenizer as Own\n"
    files = {"config__json": config, "tokenizer_config__json": auto}
    texts = {name: json.dumps(content).encode() for name, content in files.items()}
    model = bert(tmp_path / "model", own__py=code.encode(), **texts)
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(InputError, match=r"the tokenizer .*model"):
        open_source("mine", model).lookup(["the"])
    assert not ran.exists()


def test_json_from_outside_has_no_nan(tmp_path):
    """Python's json reads NaN and 1e999, which no other reader does."""
    for number in ("NaN", "1e999"):
        (tmp_path / "a.json").write_text(f'{{"a": {number}}}')
        with pytest.raises(InputError, match=r"a\.json is not JSON.*mend it"):
            outside.read_json(tmp_path / "a.json", "mend it")


@pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.npz", "v.zip"])
def test_a_named_source_is_opened_at_once(tmp_path, name):
    """What is named and broken is a fault, not data that happen to be missing."""
    (tmp_path / name).write_bytes(b"one\n")
    with pytest.raises(InputError, match=rf"--embinit-source glove=.*{name}"):
        named_source(f"glove={tmp_path / name}")
    model = bert(tmp_path / "model")
    assert named_source(f"bert={model}") == NamedSource("bert", model)
