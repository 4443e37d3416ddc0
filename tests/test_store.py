"""The store returns what was put, whatever is interrupted."""

from __future__ import annotations

import builtins
import dataclasses
import errno
import hashlib
import io
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_experiment, make_result
from embinit.errors import InputError, OutputError
from embinit.files import writing as files
from embinit.files.writing import write_atomically
from embinit.runs.progress import ProgressMonitor, heartbeats, sweep
from embinit.runs.results import RunName, RunResult
from embinit.runs.store import (
    DamagedRecordWarning,
    Store,
    UnknownKindWarning,
    UnreadableRecordError,
    UnreadableRecordWarning,
)


@pytest.fixture
def in_time():
    """Ends a test that waits for a pipe, which takes no time where none does."""

    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
RUN = make_experiment().run("xavier", 0)


def scored(**measures):
    """A result with these measures."""
    return make_result(RUN, **measures)


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
    assert store.get("ab12") == result


def test_a_record_of_an_unknown_kind_is_never_read(tmp_path):
    """Such as one that a package made which is no longer installed: it stays for when it is."""
    store = Store(tmp_path)
    record = scored(bleu=1.0).as_record() | {"kind": "unheard-of"}
    checksum = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    store.put("ab12", scored(bleu=1.0))
    store.path("ab12").write_text(json.dumps({"checksum": checksum, "record": record}))
    told = r"ab12\.json is of the kind 'unheard-of', whose package isn't installed here"
    kept = store.path("ab12").read_bytes()
    with pytest.warns(UnknownKindWarning, match=told):
        assert store.get("ab12") is None
    with pytest.warns(UnknownKindWarning, match=told):
        assert Store(tmp_path / "other").take(store) == {}
    assert store.path("ab12").read_bytes() == kept
    assert [path.name for path in store.path("ab12").parent.iterdir()] == ["ab12.json"]


@pytest.mark.parametrize("damage", [b"", b'{"checksum": "x"}', b"\xff\xfe", b"[1]"])
def test_a_damaged_record_is_reported_and_never_read(tmp_path, damage):
    """It is set aside, so that the run is trained again."""
    store = Store(tmp_path)
    store.put("ab12", scored(bleu=1.0))
    store.path("ab12").write_bytes(damage)
    with pytest.warns(DamagedRecordWarning, match="ab12"):
        assert store.get("ab12") is None
    assert "ab12" not in store
    assert store.path("ab12").with_suffix(".damaged").exists()


def test_a_changed_number_is_noticed(tmp_path):
    """The checksum covers the record's content."""
    store = Store(tmp_path)
    store.put("ab12", scored(bleu=31.5))
    path = store.path("ab12")
    path.write_text(path.read_text().replace("31.5", "41.5"))
    with pytest.warns(DamagedRecordWarning):
        assert store.get("ab12") is None


def test_an_interrupted_write_leaves_the_old_record(tmp_path, monkeypatch):
    """The rename is the last step: until then the old record stands, and nothing lies about."""
    store = Store(tmp_path)
    store.put("ab12", scored(bleu=1.0))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.put("ab12", scored(bleu=2.0))
    assert store.get("ab12") == scored(bleu=1.0)
    assert [path.name for path in store.path("ab12").parent.iterdir()] == ["ab12.json"]


def test_a_full_disk_is_one_clear_error(tmp_path, monkeypatch):
    """What was stored before stays."""
    store = Store(tmp_path)
    store.put("ab12", scored(bleu=1.0))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(InputError, match=r"No space left.*--embinit-store"):
        store.put("ab34", scored(bleu=2.0))
    assert store.get("ab12") == scored(bleu=1.0)
    assert store.get("ab34") is None


def test_a_store_that_cannot_be_made_says_so(tmp_path):
    """A file where the directory should be."""
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"can't be written.*--embinit-store"):
        Store(tmp_path / "file" / "store")


def test_a_lock_has_one_holder_and_dies_with_it(tmp_path):
    """A worker that is killed frees its cohort."""
    store = Store(tmp_path)
    code = (
        "import sys, time; from pathlib import Path; from embinit.runs.store import Store\n"
        "with Store(Path(sys.argv[1])).try_lock('cohort') as held:\n"
        "    print(held, flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout.readline().strip() == "True"
        with store.try_lock("cohort") as held:
            assert not held
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        with store.try_lock("cohort") as held:
            if held:
                return
        time.sleep(0.05)
    pytest.fail("the lock outlived its holder")


def test_stores_are_merged_and_compared(tmp_path):
    """What one lacks it takes; what both have is compared, and its own kept."""
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    for store, key, measures in (
        (here, "aa1", {"bleu": 30.0}),
        (here, "ab2", {"bleu": 31.0}),
        (here, "ab3", {"bleu": 31.0, "loss": 1.0}),
        (there, "aa1", {"bleu": 30.0}),
        (there, "ab2", {"bleu": 28.5}),
        (there, "ab3", {"bleu": 31.0}),
        (there, "cc4", {"bleu": 12.0}),
    ):
        store.put(key, scored(**measures))
    assert here.take(there) == {"aa1": 0.0, "ab2": 2.5, "ab3": math.inf}
    assert [*here] == ["aa1", "ab2", "ab3", "cc4"]
    assert here.get("cc4") == scored(bleu=12.0)
    assert here.get("ab2") == scored(bleu=31.0)
    damaged = there.path("cc4")
    damaged.write_text(damaged.read_text().replace("12.0", "13.0"))
    third = Store(tmp_path / "third")
    with pytest.warns(DamagedRecordWarning):
        third.take(there)
    assert [*third] == ["aa1", "ab2", "ab3"]


def test_what_is_written_can_be_read_by_others(tmp_path):
    """A report on a server, a store that two people share."""
    write_atomically(tmp_path / "one.json", "{}")
    assert (tmp_path / "one.json").stat().st_mode & 0o777 == 0o644


def test_records_that_were_swapped_are_set_aside(tmp_path):
    """Each has a valid checksum, and is another run's."""
    store = Store(tmp_path)
    store.put("ab12", scored(bleu=1.0))
    store.put("ab34", scored(bleu=2.0))
    one, other = store.path("ab12"), store.path("ab34")
    contents = one.read_bytes(), other.read_bytes()
    one.write_bytes(contents[1])
    other.write_bytes(contents[0])
    for key in ("ab12", "ab34"):
        with pytest.warns(DamagedRecordWarning, match="it is the record of run ab"):
            assert store.get(key) is None
    assert not [*store]


def test_a_record_of_before_keys_is_read(tmp_path):
    """Stores of older versions keep their worth."""
    store = Store(tmp_path)
    store.put("ab12", scored(bleu=1.0))
    envelope = json.loads(store.path("ab12").read_text())
    del envelope["key"]
    store.path("ab12").write_text(json.dumps(envelope))
    assert store.get("ab12") == scored(bleu=1.0)


def with_checksum(record) -> str:
    checksum = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    return json.dumps({"checksum": checksum, "record": record})


@pytest.mark.parametrize(
    "changes",
    [
        {"measures": {"bleu": math.nan}},
        {"measures": {"bleu": "31.5"}},
        {"measures": {"bleu": None}},
        {"measures": [1]},
        {"measures": None},
        {"curves": {"loss": ["1"]}},
        {"curves": {"loss": 1}},
        {"spec": None},
    ],
)
def test_a_record_with_a_valid_checksum_and_no_sense_is_set_aside(tmp_path, changes):
    """Otherwise its claims would break in this session and in every later one."""
    store = Store(tmp_path)
    store.put("ab12", scored(bleu=1.0))
    record = json.loads(store.path("ab12").read_text())["record"]
    store.path("ab12").write_text(with_checksum({**record, **changes}))
    assert [path for path, _ in store.verify()] == [store.path("ab12")]
    with pytest.warns(DamagedRecordWarning, match=r"was moved to ab12\.damaged"):
        assert store.get("ab12") is None
    store.put("ab12", scored(bleu=2.0))
    assert store.get("ab12") == scored(bleu=2.0)


@pytest.mark.parametrize("what", ["pipe", "directory", "loop"])
def test_what_is_no_file_is_set_aside(tmp_path, what, in_time):
    """IsADirectoryError and OSError escaped, and a pipe was waited for."""
    store = Store(tmp_path)
    store.put("ab12", scored(bleu=1.0))
    path = store.path("ab12")
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    elif what == "directory":
        path.mkdir()
    else:
        path.symlink_to(path)
    with pytest.warns(DamagedRecordWarning, match="ab12"):
        assert store.get("ab12") is None
    store.put("ab12", scored(bleu=2.0))
    assert store.get("ab12") == scored(bleu=2.0)


def test_a_store_is_read_from_where_nothing_can_be_written(tmp_path, monkeypatch):
    """Nothing is made there, nothing moved, and nothing can be put."""
    whole = Store(tmp_path / "store")
    whole.put("ab12", scored(bleu=1.0))
    whole.put("ab34", scored(bleu=2.0))
    whole.path("ab34").write_text("{")
    for name in ("locks", "sessions"):
        (whole.root / name).rmdir()
    before = sorted(whole.root.rglob("*"))
    store = Store(whole.root, write=False)
    assert store.get("ab12") == scored(bleu=1.0)
    with pytest.warns(DamagedRecordWarning, match="it was passed over"):
        assert store.get("ab34") is None
    with pytest.raises(InputError, match="only to be read"):
        store.put("ab56", scored(bleu=1.0))
    assert sorted(whole.root.rglob("*")) == before
    with pytest.raises(InputError, match="no store of runs"):
        Store(tmp_path / "nowhere", write=False)


def test_verify_looks_at_every_record_and_changes_nothing(tmp_path, capsys):
    """Whole records pass; each other file is named with its fault."""
    from embinit.commands.main import main

    store = Store(tmp_path / "store")
    for key in ("ab12", "ab34", "cd56"):
        store.put(key, scored(bleu=1.0))
    assert main(["runs", "--verify", "--store", str(store.root)]) == 0
    store.path("ab34").write_bytes(store.path("ab12").read_bytes())
    store.path("cd56").with_suffix(".damaged").write_text("")
    (store.root / "runs/ab/.ab12.json.x1").write_text("")
    before = sorted(store.root.rglob("*"))
    assert main(["runs", "--verify", "--store", str(store.root)]) == 1
    told = capsys.readouterr().out
    for fault in ("it is the record of run ab12", "set aside by an earlier", "may have been inter"):
        assert fault in told
    assert "3 records, 3 faults" in told
    assert sorted(store.root.rglob("*")) == before


@pytest.mark.parametrize("code", [errno.ENOTSUP, errno.ENOLCK, errno.EIO])
def test_a_file_system_without_locks_gets_a_clear_word(tmp_path, monkeypatch, code):
    """As network file systems are."""
    store = Store(tmp_path)

    def refuse(*_, **__):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    with pytest.raises(InputError, match=r"can't be locked.*on a local disk"), store.try_lock("a"):
        pass


def test_a_lock_that_has_no_room_is_unwritable_output(tmp_path, monkeypatch):
    """A disk that fills up is no file system without locks."""
    store = Store(tmp_path)

    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    with pytest.raises(OutputError, match=r"no room for a lock.*make room"), store.try_lock("a"):
        pass


def test_a_rename_is_made_durable(tmp_path, monkeypatch):
    """The directory is synced after the file's name is in it."""
    synced = []
    real = os.fsync
    monkeypatch.setattr(files.os, "fsync", lambda handle: (synced.append(handle), real(handle)))
    write_atomically(tmp_path / "a", "b")
    assert len(synced) == 2


PASSING = [
    *(OSError(code, os.strerror(code)) for code in (errno.EMFILE, errno.EIO, errno.ESTALE)),
    *(OSError(code, os.strerror(code)) for code in (errno.EINTR, errno.ENOMEM, errno.EACCES)),
    MemoryError(),
]


def fail_to_open(monkeypatch, path, error):
    """Lets every attempt to open a file raise ``error``."""
    real = builtins.open

    def refuse(file, *arguments, **options):
        if str(file) == str(path):
            raise error
        return real(file, *arguments, **options)

    monkeypatch.setattr(builtins, "open", refuse)
    monkeypatch.setattr(io, "open", refuse)


@pytest.mark.parametrize("error", PASSING, ids=repr)
def test_a_record_that_cant_be_read_now_stays(tmp_path, monkeypatch, error):
    """It was called damaged, moved away, trained again, and removed by the next pruning."""
    store = Store(tmp_path)
    store.put("ab12", scored(bleu=1.0))
    before = store.path("ab12").read_bytes()
    with monkeypatch.context() as patch:
        fail_to_open(patch, store.path("ab12"), error)
        with pytest.raises(UnreadableRecordError, match=r"ab12\.json can't be read .*may be whole"):
            store.get("ab12", RUN)
        assert "ab12" in store
        [(path, told)] = store.verify()
        assert path == store.path("ab12")
        assert told.startswith("can't be read (")
        with pytest.warns(UnreadableRecordWarning, match="ab12"):
            assert not [*store.results(["ab12"])]
    assert [each.name for each in store.path("ab12").parent.iterdir()] == ["ab12.json"]
    assert store.path("ab12").read_bytes() == before
    assert store.get("ab12", RUN) == scored(bleu=1.0)


def test_a_process_without_free_descriptors_sets_nothing_aside(tmp_path):
    """As when a training function leaves files open, with the limit that it then meets."""
    store = Store(tmp_path)
    store.put("ab12", scored(bleu=1.0))
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = os.open(tmp_path, os.O_RDONLY)
    os.close(used)
    resource.setrlimit(resource.RLIMIT_NOFILE, (used, most))
    try:
        with pytest.raises(UnreadableRecordError, match="Too many open files"):
            store.get("ab12")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (least, most))
    assert store.get("ab12") == scored(bleu=1.0)


@pytest.mark.parametrize("content", ["[" * 99_999, "x"], ids=["deep", "large"])
def test_what_was_not_read_whole_is_not_set_aside(tmp_path, monkeypatch, content):
    """A stack that is nearly spent raises the same as a text that is nested too deeply."""
    store = Store(tmp_path)
    store.path("ab12").parent.mkdir()
    store.path("ab12").write_text(content)
    if content == "x":
        with store.path("ab12").open("r+b") as file:
            file.truncate(1 << 36)  # a hole, which takes no room
    with pytest.raises(UnreadableRecordError, match=r"ab12.*(RecursionError|larger than 64 MiB)"):
        store.get("ab12")
    assert store.path("ab12").exists()


def test_a_result_that_could_not_be_read_back_is_not_kept(tmp_path, monkeypatch):
    """It would be trained again and again."""
    monkeypatch.setattr("embinit.runs.store.MOST_JSON_BYTES", 1000)
    with pytest.raises(ValueError, match="are the most"):
        Store(tmp_path).put("ab12", dataclasses.replace(scored(bleu=1.0), outputs=("x" * 999,)))


@pytest.mark.parametrize("rewritten", [{"key": "ab34"}, {"key": None}, {"key_checksum": None}])
def test_another_runs_record_is_refused(tmp_path, rewritten):
    """By its key's checksum, and where that is gone by the spec: its numbers are another arm's."""
    other = dataclasses.replace(RUN, seed=9)
    store = Store(tmp_path)
    store.put("ab12", dataclasses.replace(scored(bleu=2.0), spec=other))
    envelope = json.loads(store.path("ab12").read_text()) | {"key": "ab34"} | rewritten
    whole = {name: value for name, value in envelope.items() if value is not None}
    store.path("ab34").write_text(json.dumps(whole))
    with pytest.warns(DamagedRecordWarning, match="it is the record of another run"):
        assert store.get("ab34", RUN) is None
    assert store.get("ab12", other).measures == {"bleu": 2.0}


def test_a_store_leads_nowhere_else(tmp_path, capsys):
    """Pruning removed the files of whatever directory a link in the store named."""
    from embinit.commands.main import main

    store = Store(tmp_path / "store")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.json").write_text("{}")
    (mine / "1.json").write_text("{}")
    for place in ("runs/yy", "sessions", "failures", "runs"):
        path = store.root / place
        if path.is_dir():
            path.rename(tmp_path / place)
        path.symlink_to(mine)
        assert main(["runs", "--store", str(store.root), "--prune", "0"]) == 4
        assert "is a link that leads out of it" in capsys.readouterr().err
        with pytest.raises(InputError, match="is a link that leads out of it"):
            Store(store.root)
        sweep(store.root / "sessions")
        path.unlink()
        if (tmp_path / place).is_dir():
            (tmp_path / place).rename(path)
    assert sorted(each.name for each in mine.iterdir()) == ["1.json", "notes.json"]


def test_a_link_to_itself_costs_no_listing(tmp_path, capsys):
    """Looking whether it is a folder raised, and nothing of the store was shown."""
    from embinit.commands.main import main

    store = Store(tmp_path / "store")
    (store.root / "runs/zz").symlink_to("zz")
    assert main(["runs", "--store", str(store.root)]) == 0
    assert capsys.readouterr().out.startswith("0 runs")
    assert Store(store.root).root == store.root


@pytest.mark.parametrize("what", ["pipe", "device", "directory", "9" * 6000])
def test_a_format_that_is_no_file_is_told(tmp_path, what, in_time):
    """A pipe was waited for, and int() refuses so many digits by itself."""
    store = Store(tmp_path)
    path = store.root / "format"
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    elif what == "directory":
        path.mkdir()
    else:
        path.write_text(what)
    with pytest.raises(InputError, match=r"its file format (can't be read|should hold 1)"):
        Store(tmp_path)


def test_nothing_in_a_store_is_waited_for(tmp_path, in_time):
    """Neither failures nor marks nor plans."""
    store = Store(tmp_path)
    for name in ("failures/ab12.json", "sessions/1.json", "sessions/plan-1-1.json"):
        os.mkfifo(tmp_path / name)
    assert store.failure("ab12") is None
    assert store.failures() == []
    assert heartbeats(tmp_path / "sessions") == {}
    assert ProgressMonitor(tmp_path / "sessions", 1).look() is None


def test_a_failure_is_kept_with_its_run(tmp_path):
    """Its arm and seed, its traceback, and when it was; an older version's has its reason alone."""
    store = Store(tmp_path)
    store.tell_failure("ab12", "s", "no", "Traceback", RUN)
    (tmp_path / "failures/ab34.json").write_text('{"session": "s", "reason": "old"}')
    (tmp_path / "failures/ab56.json").write_text("[" * 99_999)
    new, old = store.failures()
    assert (new.key, new.reason, new.details, new.run) == (
        "ab12",
        "no",
        "Traceback",
        RunName.of(RUN),
    )
    assert new.when
    assert (old.reason, old.details, old.run) == ("old", "", None)
    assert store.failure("ab12", "s") == "no"
    assert store.failure("ab12", "t") is None
