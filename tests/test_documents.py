"""Verdict documents come in whole or as one error, go out together, and say what they lack."""

import copy
import json
import re
from pathlib import Path

import pytest

from documents import counted
from embinit.claims.lock import Lock
from embinit.commands.main import main
from embinit.errors import InputError, Status
from embinit.files.schema import mismatch
from embinit.report import load_schema
from embinit.report.reading import read

REFERENCE = Path(__file__).parents[1] / "reports/reference/micro/verdicts.json"
WHOLE = json.loads(REFERENCE.read_bytes())
SUPPORTED = [one for one in WHOLE["claims"] if one["verdict"] == "SUPPORTED" and not one["control"]]
SMALL = WHOLE | {"claims": SUPPORTED[:2]}
SMALL["summary"] = counted(SMALL)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("claims", 0, "verdict"), "MAYBE", "/claims/0/verdict: 'MAYBE' is not one of"),
        (("session", "tier"), None, "/session/tier: None is not of type 'string'"),
        (("claims", 1, "comparisons", 0, "p"), 1.5, "/claims/1/comparisons/0/p: 1.5 is greater"),
        (("claims",), "x" * 999, "/claims: 'xxx"),
    ],
    ids=str,
)
def test_a_departure_from_the_schema_has_its_place(path, value, message):
    """In one short line, however long the value is."""
    document = holder = copy.deepcopy(SMALL)
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    reason = mismatch(document, load_schema())
    assert reason.startswith(message)
    assert len(reason) < 250


def test_what_a_merge_doubled_is_refused_by_name(tmp_path):
    """The last of two keys or claims won, and nobody was told."""
    path, text = tmp_path / "verdicts.json", json.dumps(SMALL)
    claim, lock = SMALL["claims"][0]["id"], '{"schema_version": 1, "noise_floors": {}, "claims": {'
    twice = f'"{claim}": {{"registered": ""}}'
    for content, said in (
        (
            text.replace('"claims": [', '"claims": [], "claims": [', 1),
            "key 'claims' is there twice",
        ),
        (text.replace('"margin": ', '"margin": 9, "margin": ', 1), "key 'margin' is there twice"),
        (json.dumps({**SMALL, "claims": SMALL["claims"] * 2}), f"has the id {claim!r} twice"),
    ):
        path.write_text(content)
        with pytest.raises(InputError, match=re.escape(said)):
            read(path)
    path = tmp_path / "claims.lock"
    path.write_text(f'{lock}{twice}, {twice}}}, "differences": {{}}}}')
    with pytest.raises(InputError, match=re.escape(f"the key {claim!r} is there twice")):
        _ = Lock(path).document


def test_what_makes_a_missing_document_is_said(tmp_path, monkeypatch, capsys):
    """A baseline is made by bless, and a session's document by pytest."""
    monkeypatch.chdir(tmp_path)
    Path("v.json").write_text(json.dumps(SMALL))
    for arguments, mend in (
        (["check", "no.json"], "run pytest claims/"),
        (["report", "no.json"], "run pytest claims/"),
        (["bless", "."], "run pytest claims/"),
        (["check", "v.json", "--baseline", "no.json"], "make it by embinit bless"),
        (["report", "v.json", "--markdown", "--baseline", "no.json"], "make it by embinit bless"),
    ):
        assert main(arguments) == Status.UNUSABLE
        assert f".json can't be read: No such file or directory; {mend}" in capsys.readouterr().err
