"""Printed numbers as intervals: rounding never makes a paper inconsistent, a wrong digit does."""

import functools
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents import latest
from embinit.claims.audit import (
    Check,
    Consistency,
    agrees,
    audited,
    between,
    consistency,
    exactly,
    mean_of_whole_numbers,
    printed,
    root,
)
from embinit.errors import InputError
from embinit_papers.kim2024.printed import numbers


@given(value=st.floats(-1e4, 1e4), decimals=st.integers(0, 4))
def test_a_number_agrees_with_its_own_rounding(value, decimals):
    text = f"{value:.{decimals}f}"
    assert agrees("x", text, exactly(value), "itself").consistent


@given(units=st.integers(-9999, 9999), decimals=st.integers(0, 4), off=st.integers(2, 50))
def test_two_units_in_the_last_digit_disagree(units, decimals, off):
    wrong = Decimal(units + off).scaleb(-decimals)
    assert not agrees("x", f"{wrong:f}", exactly(units / 10**decimals), "itself").consistent


@given(
    vocabulary=st.integers(1000, 99_999),
    dim=st.sampled_from([300, 512, 768]),
    decimals=st.integers(2, 4),
)
def test_rounded_inputs_are_forgiven(vocabulary, dim, decimals):
    """What is computed from a rounded N still meets what was computed from the true one."""
    stated = f"{(2 / (vocabulary + dim)) ** 0.5:.{decimals}f}"
    computed = root(2 / (printed(f"{vocabulary / 1000:.1f}k") + exactly(dim)))
    assert agrees("sigma", stated, computed, "sqrt(2 / (N + D))").consistent


@given(epochs=st.lists(st.integers(1, 20), min_size=1, max_size=9), decimals=st.integers(0, 2))
def test_true_means_of_whole_numbers_pass(epochs, decimals):
    text = f"{Decimal(sum(epochs)) / len(epochs):.{decimals}f}"
    assert mean_of_whole_numbers("epoch", text, len(epochs)).consistent


@pytest.mark.parametrize(("text", "count"), [("11.67", 4), ("1.3", 5), ("9.5", 3), ("18.9", 4)])
def test_impossible_means_are_found(text, count):
    check = mean_of_whole_numbers("epoch", text, count)
    assert not check.consistent
    low, high = (float(part) for part in check.computed.split(", "))
    assert low < float(text) < high


def test_an_interval_meets_at_its_ends():
    assert agrees("x", "0.5", between(0.55, 0.7), "").consistent
    assert not agrees("x", "0.5", between(0.5501, 0.7), "").consistent


def test_one_wrong_check_makes_an_audit_inconsistent():
    good, bad = (Check("x", "1", "1", "", consistent) for consistent in (True, False))
    assert consistency([good]) is Consistency.CONSISTENT
    assert consistency([good, bad]) is Consistency.INCONSISTENT


@pytest.mark.parametrize(
    ("use", "given", "said"),
    [
        *((printed, text, "is not a number as papers print it")
          for text in ("", "x", "1,5", "1.2.3", "7.8K", "nan")),
        (consistency, [], "at least one check"),
        (functools.partial(audited, says="", where=""), "mine", "must read paper/part/name"),
    ],
)  # fmt: skip
def test_what_is_no_number_no_check_and_no_id_is_said(use, given, said):
    with pytest.raises(InputError, match=said):
        use(given)


AUDITS = """
from embinit.claims.audit import agrees, audited, exactly


@audited("mine/audit/sum", says="A sum <b>is</b> right", where="here")
def test_sum(tmp_path):
    return [agrees("1 + 1", "2", exactly(1) + 1, "1 + 1")]


@audited("mine/audit/product", says="A product is right", where="here")
def test_product():
    return [agrees("2 x 3", "5", exactly(2) * 3, "2 x 3 <i>"), agrees("2 x 2", "4", exactly(4), "")]
"""


def test_audits_are_told_and_written_down(pytester):
    """CONSISTENT passes, INCONSISTENT is xfailed with its arithmetic; both are in the report."""
    (pytester.mkdir("claims") / "test_mine.py").write_text(AUDITS)
    result = pytester.runpytest_inprocess("claims", "-p", "no:cacheprovider", "-rx")
    result.assert_outcomes(passed=1, xfailed=1)
    result.stdout.fnmatch_lines(["*2 x 3: printed 5 DISAGREES with 6 (2 x 3 <i>)*"])
    verdicts = {entry["id"]: entry["verdict"] for entry in latest()["audits"]}
    assert verdicts == {"mine/audit/product": "INCONSISTENT", "mine/audit/sum": "CONSISTENT"}
    page = (pytester.path / "reports/latest/index.html").read_text()
    assert "A sum &lt;b&gt;is&lt;/b&gt; right" in page
    assert "1 of 2 checks agree" in page


def test_the_papers_numbers_are_whole():
    """Every number of the tables is one that can be read, and no cell is absent."""
    paper = numbers()

    def walk(value, name=""):
        if isinstance(value, dict):
            for key, part in value.items():
                if key not in ("citation", "short", "note", "says"):
                    yield from walk(part, key)
        elif isinstance(value, list):
            for part in value:
                yield from walk(part, name)
        else:
            yield name, value

    texts = [value for _, value in walk(paper) if isinstance(value, str)]
    assert len(texts) > 400
    for text in texts:
        printed(text)
    inits = {"xavier", "pretrained", "pretrained_xavier", "pretrained_shuffled"}
    assert set(paper["tables_1_and_7"]["bert"]) == inits | {"xavier_pretrained"}
    for row in paper["tables_1_and_7"].values():
        for cells in row.values():
            assert list(cells) == ["sst2", "mnli", "multi30k", "iwslt2017"]
