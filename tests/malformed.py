"""Valid files of each format that embinit reads, and ways to spoil them.

A reader gives one InputError of one line. ``test_malformed.py`` tries a few cases, and
``benchmarks/reliability.py`` as many as asked for.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save

from builders import make_experiment, make_result
from embinit.errors import InputError
from embinit.lab.data import cache
from embinit.lab.data.sources.opening import open_source
from embinit.lab.data.tasks import TASKS
from embinit.lab.specs import Cut
from embinit.runs.store import Store

WORDS = ("the", "dog", "Straße", "cat", "a", "1990s", "it's", "Haus")
DIM = 4
TABLE = torch.randn(len(WORDS), DIM, generator=torch.Generator().manual_seed(5000))
RUN = make_experiment().run("xavier", 0)

Files = dict[str, bytes]
Mutation = tuple[str, int, int, bytes]

TOKENS = (b"\0", b" ", b"\n", b"\t", b"\xff", b"nan", b"1e999", b"99999999999", b"null", b'"')
KINDS = ("cut", "flip", "insert", "delete", "zero", "double", "replace")


def spoil(content: bytes, mutation: Mutation) -> bytes:
    """One mutation. The two numbers are positions, as shares of 65,536 of the content."""
    kind, first, second, token = mutation
    low, high = sorted(round(share * len(content) / 65535) for share in (first, second))
    replaced = {
        "cut": (low, len(content), b""),
        "flip": (low, low + 1, bytes(byte ^ 1 << second % 8 for byte in content[low : low + 1])),
        "insert": (low, low, token),
        "delete": (low, low + 1 + second % 40, b""),
        "zero": (low, min(high, low + 64), bytes(min(high - low, 64))),
        "double": (high, high, content[low:high]),
        "replace": (low, low + len(token), token),
    }
    start, end, new = replaced[kind]
    return content[:start] + new + content[end:]


def text(header: bool, words: Sequence[str] = WORDS, table: torch.Tensor = TABLE) -> bytes:
    rows = zip(words, table.tolist(), strict=True)
    lines = "".join(f"{word} {' '.join(map(repr, row))}\n" for word, row in rows)
    return ((f"{len(words)} {table.shape[1]}\n" if header else "") + lines).encode()


def binary(words: Sequence[str] = WORDS, table: torch.Tensor = TABLE, end: bytes = b"\n") -> bytes:
    rows = (struct.pack(f"<{len(row)}f", *row) for row in table.tolist())
    body = (word.encode() + b" " + row + end for word, row in zip(words, rows, strict=True))
    return b"%d %d\n" % tuple(table.shape) + b"".join(body)


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(zipfile.ZipInfo("v.txt"), text(False))
    return buffer.getvalue()


def arrays() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, words=np.array(WORDS), vectors=TABLE.numpy())
    return buffer.getvalue()


def saved(content: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


KEY = "embeddings.word_embeddings.weight"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def model(form: str = "safetensors") -> Files:
    """A BERT's directory."""
    table = {KEY: torch.cat([torch.zeros(len(SPECIAL), DIM), TABLE])}
    weights = {"bin": {"pytorch_model.bin": saved(table)}}
    return {
        "config.json": json.dumps({"model_type": "bert", "hidden_size": DIM}).encode(),
        "vocab.txt": "\n".join([*SPECIAL, *WORDS, ""]).encode(),
        "tokenizer_config.json": b'{"tokenizer_class": "BertTokenizer", "do_lower_case": false}',
    } | weights.get(form, {"model.safetensors": save(table)})


def look_up(path: Path) -> None:
    """All words, and one that is missing."""
    source = open_source("mine", path)
    vectors = source.lookup([*WORDS, "no such word"])
    assert vectors.values.shape == (len(WORDS) + 1, source.dim)
    assert vectors.values.isfinite().all()
    assert source.fingerprint()


def load_task(path: Path) -> None:
    TASKS["sst2"].fingerprint(path)
    splits = TASKS["sst2"].load(path, Cut())
    assert splits.train
    assert splits.validation


SST2 = b"label\tsentence\n" + b"".join(b"%d\tphrase %d\n" % (n % 2, n) for n in range(6))
PREPARED = {
    "version": cache.VERSION,
    "tasks": {"sst2": "abc"},
    "sources": {"glove": {"fingerprint": "a", "dim": 3, "tokenizer": "spacy", "languages": ["en"]}},
    "data": {"ab": "cd.safetensors"},
    "vectors": {},
}


def open_prepared(path: Path) -> None:
    cache.open_directory.cache_clear()
    directory = cache.open_directory(path)
    assert directory is not None
    directory.source("glove")


@functools.cache
def record() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        store.put("ab12", make_result(RUN, bleu=31.5))
        return store.path("ab12").read_bytes()


def from_store(path: Path) -> None:
    store = Store(path)
    assert store.get("ab12", RUN) is not None or "ab12" not in store


@dataclass(frozen=True)
class Reader:
    """A reader of a directory and the files that it is tried on."""

    files: Callable[[], Files]
    read: Callable[[Path], None]


def _vectors(name: str, content: Callable[[], bytes]) -> Reader:
    return Reader(lambda: {name: content()}, lambda folder: look_up(folder / name))


READERS: Mapping[str, Reader] = {
    "GloVe text": _vectors("v.txt", lambda: text(False)),
    "word2vec text": _vectors("v.vec", lambda: text(True)),
    "text in gzip": _vectors("v.txt.gz", lambda: gzip.compress(text(True), mtime=0)),
    "text in zip": _vectors("v.zip", zipped),
    "word2vec binary": _vectors("v.bin", binary),
    "NumPy arrays": _vectors("v.npz", arrays),
    "model, safetensors": Reader(model, look_up),
    "model, PyTorch": Reader(lambda: model("bin"), look_up),
    "labelled text": Reader(lambda: {"sst2/train.tsv": SST2, "sst2/dev.tsv": SST2}, load_task),
    "prepared index": Reader(lambda: {cache.INDEX: json.dumps(PREPARED).encode()}, open_prepared),
    "run record": Reader(lambda: {"runs/ab/ab12.json": record()}, from_store),
}


def outcome(reader: Reader, folder: Path, which: int, changes: Sequence[Mutation]) -> str:
    """Spoils one file of a reader's: ``right``, the line that refuses it, or ``set aside``."""
    files = reader.files()
    name = sorted(files)[which % len(files)]
    files[name] = functools.reduce(spoil, changes, files[name])
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    refusal = ""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            reader.read(folder)
        except InputError as error:
            refusal = str(error)
    if refusal:
        assert changes, f"a valid file was refused: {refusal}"
        assert len(refusal.splitlines()) == 1, refusal
        return f"refused: {refusal}"
    return "set aside" if warned and reader.read is from_store else "right"
