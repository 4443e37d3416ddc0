"""The store returns what was put, whatever is interrupted."""

import dataclasses
import errno
import hashlib
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_experiment, make_result, python
from embinit.errors import InputError, OutputError
from embinit.files import writing as files
from embinit.runs.kept_runs import TEXTS, KeptRuns, keep_runs
from embinit.runs.results import RunResult
from embinit.runs.store import DamagedWarning, RecordError, Store

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
RUN = make_experiment().run("xavier", 0)


def scored(**measures):
    """A result with these measures."""
    return make_result(RUN, **measures)


@pytest.fixture
def store(tmp_path):
    """A store with one run."""
    store = Store(tmp_path / "store")
    store.put("ab12", scored(bleu=31.5))
    return store


def names(store):
    return sorted(path.name for path in store.path("ab12").parent.iterdir())


@settings(max_examples=40)
@given(
    measures=st.dictionaries(st.text(), NUMBERS, max_size=4),
    curve=st.lists(NUMBERS).map(tuple),
    texts=st.lists(st.text(), max_size=4).map(tuple),
)
def test_what_is_put_is_got(tmp_path_factory, measures, curve, texts):
    """JSON keeps every value, and the checksum is taken of what is read back."""
    store = Store(tmp_path_factory.mktemp("store"))
    result = RunResult(RUN, measures, curves={"loss": curve}, outputs=texts, failure=str(texts))
    store.put("ab12", result)
    assert "ab12" in store
    assert store.get("ab12", RUN) == result


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda content: b"", "Expecting value"),
        (lambda content: content[:-40], "line 1 column"),
        (lambda content: b'{"checksum": "x"}', "'record'"),
        (lambda content: b"\xff\xfe\xff", "decode"),
        (lambda content: b"[1]", "indices"),
        (lambda content: b"[" * 99_999, "recursion"),
        (lambda content: content.replace(b"31.5", b"41.5"), "its checksum does not match"),
        (lambda content: content.replace(b"31.5", b"NaN"), "NaN is not JSON"),
        (lambda content: content.replace(b'"key": "ab12"', b'"key": "ab34"'), "of run ab34"),
    ],
)
def test_a_damaged_record_is_reported_and_its_run_made_again(store, damage, said):
    """It is set aside, and never read."""
    path = store.path("ab12")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(DamagedWarning, match=rf"ab12\.json is damaged .*{said}.*moved to ab12\.d"):
        assert store.get("ab12", RUN) is None
    assert "ab12" not in store
    assert names(store) == ["ab12.damaged"]
    store.put("ab12", scored(bleu=2.0))
    assert store.get("ab12", RUN) == scored(bleu=2.0)


def test_another_runs_record_is_refused(store):
    """A whole record under a wrong name: its numbers are another seed's."""
    with pytest.warns(DamagedWarning, match="it is the record of another run"):
        assert store.get("ab12", dataclasses.replace(RUN, seed=9)) is None


def test_a_record_of_an_unknown_kind_is_passed_over(store):
    """Such as one that a package made which is no longer installed: it stays for when it is."""
    path = store.path("ab12")
    envelope = json.loads(path.read_text())
    envelope["record"]["kind"] = "unheard-of"
    text = json.dumps(envelope["record"], sort_keys=True)
    envelope["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(envelope))
    with pytest.warns(DamagedWarning, match="can't be used here: .*unheard-of.*passed over"):
        assert store.get("ab12") is None
    assert names(store) == ["ab12.json"]


def test_a_record_that_cant_be_opened_now_stays(store, monkeypatch):
    """As with too many open files: it may be whole, and its run isn't trained again unsaid."""

    def refuse(_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        with pytest.raises(RecordError, match=r"ab12\.json can't be read \(Too many open files"):
            store.get("ab12", RUN)
    assert store.get("ab12", RUN) == scored(bleu=31.5)


KILLED = """
import os, sys
from pathlib import Path
from builders import make_experiment, make_result
from embinit.files import writing
from embinit.runs.store import Store

def ends(name, real):
    def call(*given):
        if sys.argv[2] == name + " before":
            os._exit(9)
        real(*given)
        if sys.argv[2] == name + " after":
            os._exit(9)
    return call

writing.fsync = ends("fsync", os.fsync)
writing.os.replace = ends("replace", os.replace)
store = Store(Path(sys.argv[1]))
store.put("ab12", make_result(make_experiment().run("xavier", 0), bleu=2.0))
"""


@pytest.mark.parametrize(
    ("when", "bleu"), [("fsync before", 31.5), ("replace before", 31.5), ("replace after", 2.0)]
)
def test_a_kill_leaves_the_old_record_or_the_new_one(store, when, bleu):
    """The rename is the last step: until then the old record stays."""
    ended = python("-c", KILLED, store.root, when)
    assert ended.returncode == 9
    assert store.get("ab12", RUN) == scored(bleu=bleu)
    assert [*store] == ["ab12"]


WRITER = """
import sys
from pathlib import Path
from builders import make_experiment, make_result
from embinit.runs.store import Store

store, run = Store(Path(sys.argv[1])), make_experiment().run("xavier", 0)
for _ in range(200):
    store.put("ab12", make_result(run, bleu=float(sys.argv[2])))
    assert store.get("ab12", run) is not None
"""


def test_two_processes_may_write_the_same_run(store):
    """Each write is whole, whoever is last, and neither ever reads half of one."""
    command = [sys.executable, "-W", "error", "-c", WRITER, store.root]
    writers = [subprocess.Popen([*command, number]) for number in ("1", "2")]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert store.get("ab12", RUN).measures["bleu"] in (1.0, 2.0)
    assert names(store) == ["ab12.json"]


def test_a_full_disk_is_one_clear_error(store, monkeypatch):
    """What was stored before stays, and nothing half-written lies about."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "fsync", full)
    for key in ("ab12", "ab34"):
        with pytest.raises(OutputError, match=r"No space left.*--embinit-store"):
            store.put(key, scored(bleu=2.0))
    assert store.get("ab12") == scored(bleu=31.5)
    assert names(store) == ["ab12.json"]


def test_a_store_that_cannot_be_used_says_so(tmp_path):
    """A file in the directory's place, or none to read."""
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"can't be written.*--embinit-store"):
        Store(tmp_path / "file" / "store")
    with pytest.raises(InputError, match="no store of runs"):
        Store(tmp_path / "nowhere", write=False)


def test_a_store_that_is_only_read_is_left_as_it_is(store):
    """Nothing is made there, nothing moved, and nothing can be put."""
    store.put("ab34", scored(bleu=2.0))
    store.path("ab34").write_text("{")
    (store.root / "locks").rmdir()
    before = sorted(store.root.rglob("*"))
    reader = Store(store.root, write=False)
    assert reader.get("ab12", RUN) == scored(bleu=31.5)
    with pytest.warns(DamagedWarning, match="it was passed over"):
        assert reader.get("ab34", RUN) is None
    with pytest.raises(InputError, match="only to be read"):
        reader.put("ab56", scored(bleu=1.0))
    assert sorted(store.root.rglob("*")) == before


def test_a_lock_has_one_holder_and_dies_with_it(tmp_path):
    """A worker that is killed frees its stack."""
    store = Store(tmp_path)
    code = (
        "import sys, time; from pathlib import Path; from embinit.runs.store import Store\n"
        "with Store(Path(sys.argv[1])).try_lock('runs') as held:\n"
        "    print(held, flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout.readline().strip() == "True"
        with store.try_lock("runs") as held:
            assert not held
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        with store.try_lock("runs") as held:
            if held:
                return
        time.sleep(0.05)
    pytest.fail("the lock outlived its holder")


def test_kept_runs_are_a_store_of_their_own(tmp_path):
    """A clone has a report's runs, less their texts, and needs neither data nor training."""
    runs = [make_experiment().run("xavier", seed) for seed in range(3)]
    results = [make_result(run, outputs=("said",)) for run in runs]
    file = tmp_path / "runs.jsonl.xz"
    assert keep_runs(results[:2], file) == 2
    assert keep_runs(results[1:], file) == 3
    assert b"said" not in lzma.decompress(file.read_bytes())
    kept = KeptRuns(file)
    for result in results:
        name = kept.key(result.spec, tmp_path / "no data")
        without = dataclasses.replace(result, **dict.fromkeys(TEXTS, ()))
        assert kept.get(name, result.spec) == without
    assert kept.get("0" * 40) is None
    assert len([*kept]) == len(results)


@pytest.mark.parametrize("content", [b"", b"no xz", lzma.compress(b"{}"), lzma.compress(b"\xff")])
def test_a_damaged_file_of_kept_runs_is_refused(tmp_path, content):
    """It can't be made again by training, so it is named and nothing is overwritten."""
    file = tmp_path / "runs.jsonl.xz"
    file.write_bytes(content)
    for ask in (KeptRuns, lambda path: keep_runs([make_result(RUN)], path)):
        with pytest.raises(InputError, match="is no file of kept runs"):
            ask(file)
    assert file.read_bytes() == content
