"""Claims without pytest: the same verdicts, as rows, as images, as a report."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import embinit
from embinit import Family, InputError, Results, a_a, claim, experiment, judge_all, training
from embinit.report import load_schema
from test_report import make_claim, make_comparison, make_document


@training(measures={"accuracy": "% accuracy"})
def fitted(seed, arm):
    """Half a point of noise, and five for the tuned arm."""
    import random

    return 80 + random.Random(f"{seed} {arm}").random() + (5 if arm == "tuned" else 0)


tried = experiment("tried", training=fitted, arms=["plain", "tuned"], baseline="plain", margin=1)
MINE = Family("mine/tried", size=1, says="Tuning")


@claim("mine/tried/tuned-above-plain", says="Tuning helps", family=MINE, on=tried)
def tuning_helps(arms):
    """The claim."""
    assert arms["tuned"] > arms["plain"]


same = a_a(MINE, on=tried)


def test_claims_are_judged_shown_and_reported(tmp_path: Path) -> None:
    """The document is what every reader of verdicts.json takes, and nothing is trained twice."""
    results = judge_all(tuning_helps, same, store=tmp_path / "store")
    jsonschema.validate(results.document, load_schema())
    verdicts = {row["id"]: row["verdict"] for row in results.rows()}
    assert verdicts["mine/tried/tuned-above-plain[tried]"] == "SUPPORTED"
    assert "mine/tried/tuned-above-plain" in str(results)
    page = results.write(tmp_path / "report")
    assert page.exists()
    again = judge_all(tuning_helps, store=tmp_path / "store", train=False)
    assert again.document["session"]["runs"]["trained"] == 0
    assert again.rows()[0]["difference"] == results.rows()[-1]["difference"]
    known = Results.read(page.parent / "verdicts.json")
    assert known.rows() == json.loads(json.dumps(results.rows()))
    assert embinit.judge_all is judge_all


def test_a_data_frame_has_a_row_for_each_comparison() -> None:
    """Also for a claim that was not run, which has no numbers."""
    pandas = pytest.importorskip("pandas")
    two = make_claim("two", comparisons=[make_comparison(), make_comparison()])
    frame = Results(
        make_document([two, make_claim("idle", "NOT RUN", comparisons=[])])
    ).data_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["comparison"].tolist()[:2] == [1, 2]
    assert frame["verdict"].tolist() == ["SUPPORTED", "SUPPORTED", "NOT RUN"]
    assert frame["difference"].isna().tolist() == [False, False, True]


def test_bad_input_says_what_and_how_to_mend(tmp_path: Path) -> None:
    """A function that is no claim, a file that is no document."""
    with pytest.raises(InputError, match="is no claim; decorate it"):
        judge_all(print, store=tmp_path)
    with pytest.raises(InputError, match=r"name a verdicts\.json"):
        Results.read(__file__)


def test_a_notebook_shows_a_mistake_in_one_line_and_results_in_another() -> None:
    """IPython's own account of an error has the code of every frame, and no code is at fault."""
    results = Results(make_document([make_claim("x")]))
    assert repr(results).startswith("<Results: 1 SUPPORTED, 0 REFUTED")
    assert len(repr(results)) < 200
    with pytest.raises(InputError) as caught:
        Results.read(__file__)
    render = getattr(caught.value, "_render_traceback_")  # noqa: B009 - IPython's protocol
    assert render() == [f"InputError: {caught.value}"]
