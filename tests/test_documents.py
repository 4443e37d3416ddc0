"""Verdict documents come in whole or as one error, go out together, and say what they lack."""

from __future__ import annotations

import copy
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embinit.commands.main import main
from embinit.errors import InputError, OutputError, Status, printable
from embinit.files import writing as files
from embinit.files.schema import mismatch
from embinit.report import baseline, load_schema, render, write_report
from embinit.report.summary import summarise

REFERENCE = Path(__file__).parents[1] / "reports/reference/micro/verdicts.json"
WHOLE = json.loads(REFERENCE.read_bytes())
SMALL = {
    **WHOLE,
    "claims": [
        claim
        for claim in WHOLE["claims"]
        if claim["verdict"] == "SUPPORTED" and not claim["control"]
    ][:2],
}
SMALL["summary"] = summarise(SMALL)

values = st.one_of(
    st.sampled_from([None, True, "", "x", 0, 1, -1, 0.5, 1e308, [], {}, [[]], {"a": 1}]),
    st.text(max_size=3),
)


def places(value: object) -> list[tuple[object, ...]]:
    """The path of every value in a JSON document."""
    paths: list[tuple[object, ...]] = []
    for name, each in value.items() if isinstance(value, dict) else enumerate(value):
        inner = places(each) if isinstance(each, (dict, list)) else []
        paths += [(name,), *((name, *path) for path in inner)]
    return paths


PLACES = places(SMALL)


@st.composite
def spoilt(draw):
    """The document with one value gone or another."""
    document = copy.deepcopy(SMALL)
    *path, last = draw(st.sampled_from(PLACES))
    holder = document
    for name in path:
        holder = holder[name]
    if isinstance(holder, dict) and draw(st.booleans()):
        del holder[last]
    else:
        holder[last] = draw(values)
    return document


@st.composite
def grown(draw):
    """The document with a further field in one of its objects, as a later embinit may write."""
    document = copy.deepcopy(SMALL)
    holder = document
    for name in draw(st.sampled_from([(), *PLACES])):
        if not isinstance(holder[name], dict):
            break
        holder = holder[name]
    holder["of a later version"] = draw(values)
    return document


@settings(max_examples=40, derandomize=True, database=None)
@given(grown())
def test_fields_of_a_later_version_are_passed_over(document):
    """But for ``versions``, every field of which is a package's version."""
    document["session"]["versions"].pop("of a later version", None)
    assert mismatch(document, load_schema()) == ""


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("claims", 0, "verdict"), "MAYBE", "/claims/0/verdict: 'MAYBE' is not one of"),
        (("session", "tier"), None, "/session/tier: None is not of type 'string'"),
        (("claims", 1, "comparisons", 0, "p"), 1.5, "/claims/1/comparisons/0/p: 1.5 is greater"),
        (("claims",), "x" * 999, "/claims: 'xxx"),
    ],
    ids=str,
)
def test_a_departure_from_the_schema_has_its_place(path, value, told):
    """In one short line, however long the value is."""
    document = holder = copy.deepcopy(SMALL)
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    reason = mismatch(document, load_schema())
    assert reason.startswith(told)
    assert len(reason) < 250


def test_a_document_is_checked_where_it_is_read_alone():
    """The package takes a quarter of a second to import."""
    modules = "embinit.commands.main, embinit.report.page"
    code = f"import sys, {modules}; assert 'jsonschema' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@settings(max_examples=40, derandomize=True, database=None)
@given(document=spoilt(), role=st.sampled_from(["latest", "baseline"]))
def test_check_gives_a_status_and_no_traceback(tmp_path_factory, document, role):
    """Whatever is spoilt in a document: one line, and the status of unusable input."""
    folder = tmp_path_factory.mktemp("check")
    (folder / "bad.json").write_text(json.dumps(document))
    (folder / "good.json").write_text(json.dumps(SMALL))
    latest, held = ("bad", "good") if role == "latest" else ("good", "bad")
    arguments = [
        "check",
        str(folder / f"{latest}.json"),
        "--baseline",
        str(folder / f"{held}.json"),
    ]
    status = main(arguments)
    # 4 may also say that the two are of different tiers.
    expected = (4,) if mismatch(document, load_schema()) else (0, 1, 2, 3, 4)
    assert status in expected


@pytest.mark.parametrize("content", ["[" * 99_999, '{"a": NaN}', "null", "\0", '{"session": null}'])
def test_what_is_no_document_is_one_error(tmp_path, content, capsys):
    """Status 4, which means unusable input."""
    path = tmp_path / "verdicts.json"
    path.write_text(content)
    assert main(["check", str(path)]) == 4
    assert len(capsys.readouterr().err.splitlines()) == 1


HOSTILE = "a\x1b[2J\x00\x07\x85\x9b\u202eb\u2028c\u2066\ud800\r"


def test_nobody_elses_control_characters_are_shown(tmp_path):
    """In the page, in the documents, in an error; and the documents read back the same."""
    document = copy.deepcopy(SMALL)
    for claim in document["claims"]:
        claim["statement"] = claim["place"] = claim["family_says"] = HOSTILE
    page = write_report(document, {}, tmp_path)
    for path in (page, tmp_path / "verdicts.json"):
        text = path.read_text("utf-8")
        assert printable(text) == text
        assert not set(text) & set("\x00\x07\x1b\x85\x9b\r\u2028\u202e\u2066")
    assert baseline.read(tmp_path / "verdicts.json")["claims"][0]["statement"] == HOSTILE
    assert str(InputError(HOSTILE)) == printable(HOSTILE) == str(InputError(printable(HOSTILE)))
    assert "\\u001b[2J" in page.read_text("utf-8")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_an_unfinished_session_never_replaces_a_whole_one(tmp_path, capsys):
    """It says so, it isn't in order, and it can't be blessed."""
    part = copy.deepcopy(SMALL)
    part["session"]["unfinished"] = "interrupted by the keyboard"
    broke = {**copy.deepcopy(SMALL), "errors": [{"nodeid": "claims/test_a.py::b", "reason": "no"}]}
    for document in (part, broke):
        jsonschema.validate(document, load_schema())
    first = write_report(part, {}, tmp_path)
    assert first == tmp_path / "index.html"
    assert main(["check", str(tmp_path / "verdicts.json")]) == Status.INTERRUPTED
    assert "the session is unfinished: interrupted by the keyboard" in capsys.readouterr().out
    with pytest.raises(InputError, match="not blessed: the session is unfinished"):
        baseline.bless(tmp_path, tmp_path / "to")
    assert write_report(SMALL, {}, tmp_path) == first
    before = contents(tmp_path)
    (tmp_path / "unfinished").symlink_to(tmp_path.parent)
    with pytest.raises(OutputError, match="unfinished is a link that leads out of the report"):
        write_report(part, {}, tmp_path)
    (tmp_path / "unfinished").unlink()
    for document in (part, broke):
        assert write_report(document, {}, tmp_path) == tmp_path / "unfinished/index.html"
        assert contents(tmp_path) == before
    assert main(["check", str(tmp_path / "unfinished/verdicts.json")]) == Status.BROKEN
    assert "claims/test_a.py::b broke: no" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["n" * 300, "es\x1bc", "li\nne"])
def test_the_name_of_a_blessed_folder_is_told_in_a_line(tmp_path, capsys, name):
    """It may be too long for the system, or move the terminal."""
    write_report(SMALL, {}, tmp_path)
    status = main(["bless", str(tmp_path), "--to", str(tmp_path / name)])
    assert status == (Status.UNWRITABLE if len(name) == 300 else Status.IN_ORDER)
    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err
    assert len(told.err.splitlines()) == (len(name) == 300)
    assert main(["check", str(tmp_path / "nosuch" / name)]) == Status.UNUSABLE
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_failed_blessing_leaves_the_baseline(tmp_path, monkeypatch):
    """It is replaced whole or not at all."""
    write_report(SMALL, {}, tmp_path / "report")
    baseline.bless(tmp_path / "report", tmp_path / "to")
    before = contents(tmp_path / "to")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(InputError, match=r"not blessed: .*No space left.*as it was"):
        baseline.bless(tmp_path / "report", tmp_path / "to")
    assert contents(tmp_path / "to") == before


def test_a_page_is_escaped_as_a_whole():
    """Also what comes from runs and from the template."""
    document = copy.deepcopy(SMALL)
    document["session"]["command"] = HOSTILE
    assert printable(page := render(document, {})) == page


def test_controls_alone_are_not_blessed(tmp_path):
    """A baseline of them would guard no claim."""
    controls = [claim for claim in WHOLE["claims"] if claim["control"]]
    alone = {**WHOLE, "claims": controls}
    write_report(alone | {"summary": summarise(alone)}, {}, tmp_path)
    with pytest.raises(InputError, match="not blessed: no claim but controls in"):
        baseline.bless(tmp_path, tmp_path / "to")


@pytest.mark.parametrize("since", ["nan", "1e400", "-inf", "soon"])
def test_a_time_that_is_none_is_refused(tmp_path, since, capsys):
    """int() raises other errors for it."""
    write_report(SMALL, {}, tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["check", str(tmp_path / "verdicts.json"), f"--since={since}"])
    assert ended.value.code == Status.UNUSABLE
    assert f"invalid finite value: {since!r}" in capsys.readouterr().err
