"""What the section Security of docs/options.md says: claims are code, everything else is data."""

import json
import re
from importlib import metadata
from pathlib import Path

import pytest

from embinit import registry
from embinit.commands.main import main
from embinit.errors import InputError, Status
from embinit.registry import Registry
from embinit.report import write_report
from embinit.report.reading import read
from embinit.runs.store import Store

ROOT = Path(__file__).parents[1]
WHOLE = read(ROOT / "reports/reference/micro/verdicts.json")


def test_commands_that_judge_nothing_import_no_claims(tmp_path, monkeypatch, capsys):
    """Somebody else's report or store is looked at without their code."""
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, tmp_path / "claims"):
        folder.mkdir(exist_ok=True)
        for name in ("conftest.py", "test_mine.py", "claims.py", "embinit_plugin.py"):
            (folder / name).write_text("open('ran', 'w').close()\nraise SystemExit\n")
    write_report(WHOLE, {}, tmp_path / "reports/latest")
    Store(tmp_path / ".embinit/store")
    assert main(["check", "reports/latest/verdicts.json"]) == Status.OK
    assert main(["bless"]) == Status.OK
    assert main(["runs"]) == Status.OK
    assert not list(tmp_path.rglob("ran"))


@pytest.fixture
def things(monkeypatch):
    """A registry whose entry points are those that a test names."""

    def of(*points):
        made = [metadata.EntryPoint(name, value, "mine.things") for name, value in points]
        monkeypatch.setattr(registry.metadata, "entry_points", lambda group: made)
        registry._points.cache_clear()
        return Registry("thing", "mine.things")

    yield of
    registry._points.cache_clear()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("nowhere.at.all:THING", "ModuleNotFoundError: No module named 'nowhere'"),
        ("json:NOTHING", "AttributeError"),
        ("raises_at_import:THING", "ZeroDivisionError"),
        ("re:_MAXCACHE", "no thing"),
    ],
)
def test_a_package_that_cannot_be_loaded_is_one_error(things, tmp_path, monkeypatch, value, said):
    """Its name is told, and other names are not touched by it."""
    (tmp_path / "raises_at_import.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    known = things(("bad", value), ("good", "json:JSONDecoder"))
    assert known["good"] is json.JSONDecoder
    with pytest.raises(InputError, match=re.escape(said)) as raised:
        known["bad"]
    assert value in str(raised.value)


def test_a_name_of_two_packages_is_refused(things):
    """One of them won, and nobody was told; a built-in's name was ignored."""
    known = things(("a", "json:JSONDecoder"), ("a", "re:Pattern"))
    with pytest.raises(InputError, match="thing 'a' of json is also named by module re"):
        known["a"]
    own = things(("b", "json:JSONDecoder"))
    own._keep("b", json.JSONEncoder, "embinit.lab.data.sources.text")
    with pytest.raises(InputError, match="thing 'b' of embinit is also named by module json"):
        own["b"]
    own.replace("b", json.JSONEncoder)
    assert own["b"] is json.JSONEncoder  # --embinit-source says which is meant
    assert things(("c", "json:loads"), ("c", "json:loads"))["c"] is json.loads


def test_an_entry_point_is_loaded_when_its_name_is_asked_for_alone(things, monkeypatch, tmp_path):
    text = f"open({str(tmp_path / 'ran')!r}, 'w').close()\nTHING = []"
    (tmp_path / "leaves_a_file.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    known = things(("late", "leaves_a_file:THING"), ("other", "json:loads"))
    assert "late" in known
    assert [*known] == ["late", "other"]
    assert known["other"] is json.loads
    assert not (tmp_path / "ran").exists()
    assert known["late"] == []
    assert (tmp_path / "ran").exists()
