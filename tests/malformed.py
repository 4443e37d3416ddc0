"""Valid files of each format that embinit reads, ways to spoil them, and what a reader owes them.

A reader owes the right content or one InputError of one line. The right content is that of the
format's own reader: gensim's for vectors, NumPy's for arrays, safetensors' for tables.
``test_malformed.py`` tries a few cases, and ``benchmarks/reliability.py`` as many as asked for.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import struct
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import make_experiment, make_result
from embinit.errors import InputError
from embinit.lab.data import cache
from embinit.lab.data.sources import open_source
from embinit.lab.data.tasks import TASKS
from embinit.lab.specs import Cut
from embinit.runs.store import Store

WORDS = ("the", "dog", "Straße", "cat", "a", "1990s", "it's", "Haus")
DIM = 4
TABLE = torch.randn(len(WORDS), DIM, generator=torch.Generator().manual_seed(5000))
SECONDS = 10.0
RUN = make_experiment().run("xavier", 0)

Files = dict[str, bytes]
Mutation = tuple[str, int, int, bytes]

TOKENS = (
    b"\0", b" ", b"\n", b"\t", b"\r\n", b"\xff", b"\xef\xbb\xbf", b"_", b"-", b".", b"e", b"nan",
    b"inf", b"1e999", b"1e39", b"0", b"-1", b"1_0", b"99999999999", b"4294967297", b"1" * 5000,
    b"null", b"[" * 3000, b"{}", b'"', b",", b"\xed\xa0\x80", b"../x", b"\x1b[2J", b"\xe2\x80\xae",
)  # fmt: skip
KINDS = (
    "cut", "flip", "insert", "delete", "zero", "swap lines", "double", "join", "digits", "replace",
)  # fmt: skip
mutations = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.integers(0, 2**16 - 1),
        st.integers(0, 2**16 - 1),
        st.sampled_from(TOKENS),
    ),
    min_size=0,
    max_size=3,
)


def spoil(content: bytes, mutation: Mutation) -> bytes:
    """One mutation. The two numbers are positions, as shares of 65,536 of the content."""
    kind, first, second, token = mutation
    low, high = sorted(round(share * len(content) / 65535) for share in (first, second))
    if kind == "cut":
        return content[:low]
    if kind == "flip":
        at = min(low, max(0, len(content) - 1))
        return (
            content[:at]
            + bytes(b ^ 1 << second % 8 for b in content[at : at + 1])
            + content[at + 1 :]
        )
    if kind == "insert":
        return content[:low] + token + content[low:]
    if kind == "delete":
        return content[:low] + content[low + 1 + second % 40 :]
    if kind == "zero":
        return content[:low] + bytes(min(high - low, 64)) + content[low + min(high - low, 64) :]
    if kind == "double":
        return content[:high] + content[low:]
    if kind == "replace":
        return content[:low] + token + content[low + len(token) :]
    lines = content.split(b"\n")
    one, other = first % len(lines), second % len(lines)
    if kind == "swap lines":
        lines[one], lines[other] = lines[other], lines[one]
        return b"\n".join(lines)
    if kind == "join":
        return b"\n".join(lines[: one + 1]) + b"\n".join(lines[one + 1 :])
    return _other_digits(content, low, token)


def _other_digits(content: bytes, start: int, token: bytes) -> bytes:
    """Another token in place of the next digits, as in a header that claims another size."""
    at = next((i for i in range(start, len(content)) if content[i : i + 1].isdigit()), len(content))
    end = at
    while content[end : end + 1].isdigit():
        end += 1
    return content[:at] + token + content[end:]


def text(header: bool) -> bytes:
    rows = zip(WORDS, TABLE.tolist(), strict=True)
    lines = "".join(f"{word} {' '.join(map(repr, row))}\n" for word, row in rows)
    return ((f"{len(WORDS)} {DIM}\n" if header else "") + lines).encode()


def binary() -> bytes:
    rows = (struct.pack(f"<{DIM}f", *row) for row in TABLE.tolist())
    body = (word.encode() + b" " + row + b"\n" for word, row in zip(WORDS, rows, strict=True))
    return f"{len(WORDS)} {DIM}\n".encode() + b"".join(body)


@functools.cache
def fasttext() -> bytes:
    from gensim.models import FastText
    from gensim.models.fasttext import save_facebook_model

    model = FastText(
        [list(WORDS)] * 3, vector_size=DIM, min_count=1, epochs=1, workers=1, bucket=9, seed=3
    )
    with tempfile.TemporaryDirectory() as folder:
        save_facebook_model(model, f"{folder}/v.bin")
        return Path(folder, "v.bin").read_bytes()


def zipped(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def arrays() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, words=np.array(WORDS), vectors=TABLE.numpy())
    return buffer.getvalue()


KEY = "embeddings.word_embeddings.weight"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def model(form: str) -> Files:
    from safetensors.torch import save

    table = torch.cat([torch.zeros(len(SPECIAL), DIM), TABLE])
    files = {
        "config.json": json.dumps({"model_type": "bert", "hidden_size": DIM}).encode(),
        "vocab.txt": "\n".join([*SPECIAL, *WORDS, ""]).encode(),
        "tokenizer_config.json": b'{"tokenizer_class": "BertTokenizer", "do_lower_case": false}',
    }
    if form == "bin":
        buffer = io.BytesIO()
        torch.save({KEY: table}, buffer)
        return files | {"pytorch_model.bin": buffer.getvalue()}
    if form == "shards":
        index = json.dumps({"weight_map": {KEY: "shard.safetensors"}}).encode()
        return files | {
            "model.safetensors.index.json": index,
            "shard.safetensors": save({KEY: table}),
        }
    return files | {"model.safetensors": save({KEY: table})}


def look_up(path: Path) -> tuple[Any, ...]:
    """What a source has for all words, the missing ones among them."""
    source = open_source("mine", path)
    vectors = source.lookup([*WORDS, "no such word"])
    assert vectors.values.shape == (len(WORDS) + 1, source.dim)
    assert vectors.values.isfinite().all()
    assert source.fingerprint()
    return tuple(
        tuple(row) if known else None
        for row, known in zip(vectors.values.tolist(), vectors.found.tolist(), strict=True)
    )


def gensim_has(path: Path) -> tuple[Any, ...]:
    """What gensim reads from word2vec's formats, with a header or without."""
    from gensim.models import KeyedVectors

    header = b"".join(path.read_bytes()[:40].split(b"\n")[:1]).split()
    read = KeyedVectors.load_word2vec_format(
        str(path), binary=path.name.startswith("v.bin"), no_header=len(header) > 2
    )
    return tuple(
        tuple(read[word].tolist()) if word in read.key_to_index else None
        for word in (*WORDS, "no such word")
    )


def numpy_has(path: Path) -> tuple[Any, ...]:
    with np.load(path, allow_pickle=False) as packed:
        words, vectors = packed["words"].tolist(), packed["vectors"]
    rows: dict[str, Any] = {}
    for word, row in zip(words, vectors, strict=True):
        rows.setdefault(word, tuple(row.astype(np.float32).tolist()))
    return tuple(rows.get(word) for word in (*WORDS, "no such word"))


def safetensors_has(path: Path) -> tuple[Any, ...]:
    from safetensors.torch import load_file

    name = "model.safetensors" if (path / "model.safetensors").exists() else "shard.safetensors"
    table = load_file(path / name)[KEY].float()
    ids = {word: row for row, word in enumerate((path / "vocab.txt").read_text().split("\n"))}
    return tuple(
        tuple(table[ids[word]].tolist()) if word in ids else None
        for word in (*WORDS, "no such word")
    )


def load_task(name: str, path: Path) -> tuple[Any, ...]:
    TASKS[name].fingerprint(path)
    splits = TASKS[name].load(path, Cut())
    assert splits.train
    assert splits.validation
    return tuple(tuple(split) for split in (splits.train, splits.validation, splits.test))


SST2 = b"label\tsentence\n" + b"".join(b"%d\tphrase %d\n" % (n % 2, n) for n in range(6))
PREPARED = {
    "version": cache.VERSION,
    "tasks": {"sst2": "abc"},
    "sources": {"glove": {"fingerprint": "a", "dim": 3, "tokenizer": "spacy", "languages": ["en"]}},
    "data": {"ab": "cd.safetensors"},
    "vectors": {},
}


def open_prepared(path: Path) -> tuple[Any, ...]:
    cache.open_directory.cache_clear()
    directory = cache.open_directory(path)
    assert directory is not None
    source = directory.source("glove")
    text_there = directory.text_fingerprint("sst2")
    assert text_there is None or isinstance(text_there, str)
    return () if source is None else (source.dim, source.tokenizer)


@functools.cache
def record() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        store.put("ab12", make_result(RUN, bleu=31.5))
        return store.path("ab12").read_bytes()


def from_store(path: Path) -> tuple[Any, ...]:
    store = Store(path)
    found = store.get("ab12", RUN)
    assert found is not None or "ab12" not in store
    return () if found is None else (dict(found.measures),)


@dataclass(frozen=True)
class Reader:
    """A reader, the files that it is tried on, and another reader of the same format as oracle.

    Attributes:
        single: Whether ``read`` takes the file, not its directory.
        strict: Whether what the oracle refuses must be refused.
        warns: Whether damage is a warning and set aside, as in a store.
    """

    files: Callable[[], Files]
    read: Callable[[Path], tuple[Any, ...]]
    oracle: Callable[[Path], tuple[Any, ...]] | None = None
    single: bool = False
    strict: bool = False
    warns: bool = False


def _vectors(name: str, content: Callable[[], bytes], **more: Any) -> Reader:
    return Reader(lambda: {name: content()}, look_up, single=True, **more)


READERS: Mapping[str, Reader] = {
    "GloVe text": _vectors("v.txt", lambda: text(False), oracle=gensim_has),
    "word2vec text": _vectors("v.vec", lambda: text(True), oracle=gensim_has),
    "text in gzip": _vectors("v.txt.gz", lambda: gzip.compress(text(True), mtime=0)),
    "text in zip": _vectors("v.zip", lambda: zipped("v.txt", text(False))),
    "word2vec binary": _vectors("v.bin", binary, oracle=gensim_has),
    "fastText binary": _vectors("v.bin", fasttext),
    "NumPy arrays": _vectors("v.npz", arrays, oracle=numpy_has, strict=True),
    "model, safetensors": Reader(
        lambda: model("safetensors"), look_up, oracle=safetensors_has, strict=True
    ),
    "model, shards": Reader(lambda: model("shards"), look_up, oracle=safetensors_has, strict=True),
    "model, PyTorch": Reader(lambda: model("bin"), look_up),
    "labelled text": Reader(
        lambda: {"sst2/train.tsv": SST2, "sst2/dev.tsv": SST2},
        functools.partial(load_task, "sst2"),
    ),
    "prepared index": Reader(lambda: {cache.INDEX: json.dumps(PREPARED).encode()}, open_prepared),
    "run record": Reader(lambda: {"runs/ab/ab12.json": record()}, from_store, warns=True),
}


def outcome(reader: Reader, folder: Path, which: int, changes: Sequence[Mutation]) -> str:
    """Spoils one file of a reader's, reads it, and says how that went.

    Args:
        reader: The reader.
        folder: An empty folder.
        which: Chooses the file that is spoilt.
        changes: The mutations.

    Returns:
        ``right``, ``refused``, ``set aside``, or ``unlike`` for what was read and the oracle
        refuses or lacks, such as words with spaces, or one row that is narrower now.

    Raises:
        AssertionError: What was read is wrong, or the message isn't one line.
        Exception: It escaped.
    """
    files = reader.files()
    name = sorted(files)[which % len(files)]
    whole = files[name]
    files[name] = functools.reduce(spoil, changes, whole)
    for each, content in files.items():
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).write_bytes(content)
    path = folder / name if reader.single else folder
    started, refusal, read = time.process_time(), "", ()
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            read = reader.read(path)
    except InputError as error:
        refusal = str(error)
    assert time.process_time() - started < SECONDS
    if refusal:
        assert files[name] != whole, f"a valid file was refused: {refusal}"
        assert len(refusal.splitlines()) == 1, refusal
        return "refused"
    if told and reader.warns:
        return "set aside"
    if reader.oracle is None:
        return "right"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            right = reader.oracle(path)
    except Exception:
        assert not reader.strict, "read what the oracle refuses"
        return "unlike"
    differing = [pair for pair in zip(read, right, strict=True) if None not in pair]
    assert all(ours == theirs for ours, theirs in differing), "read otherwise than by the oracle"
    return "right" if read == right else "unlike"


def spoilt(reader: Reader, cases: int) -> None:
    """Tries a reader on so many spoilt files, the same ones every time.

    Raises:
        AssertionError: What was read is wrong, or the message isn't one line.
        Exception: It escaped.
    """

    @settings(
        max_examples=cases,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(which=st.integers(0, 5), changes=mutations)
    def tried(which: int, changes: list[Mutation]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            outcome(reader, Path(folder), which, changes)

    tried()
