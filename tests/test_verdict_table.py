"""The closing table: ids whole at any width, and text of third parties as it stands."""

import re

import pytest

from documents import typed
from embinit.report.verdict_table import verdict_lines as lines_of

LONG = "kim2024/table-3/positions-gain-less-for-frozen-glove[glove-micro-translation]"
MEANS = "18.9 vs 31.0"
CHANGES = "not robust: changes without seed 4; needs about 3 more seeds"
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def comparison(verdict="SUPPORTED", difference=-12.14, p=0.004, **changes):
    values = {"left_values": [18.9], "right_values": [31.04], "margin": 2.0}
    return {"verdict": verdict, "difference": difference, "p": p, **values, **changes}


def entry(name="mine/finding/a[one]", verdict="SUPPORTED", *comparisons, **changes):
    of = {"comparisons": comparisons or (comparison(verdict),), "family_says": "Mine: a finding"}
    return {"id": name, "verdict": verdict, **of, **changes}


def control(verdict, expects):
    known = None if verdict in ("NOT RUN", "UNDECIDED") else verdict == expects
    of = {"control": True, "expects": expects, "as_expected": known}
    return entry("mine/finding/control", verdict, **of)


def absent(name, reason):
    return {**entry(name, "NOT RUN", reason=reason), "comparisons": ()}


AUDIT = {
    "id": "mine/audit/sums",
    "verdict": "INCONSISTENT",
    "checks": [{"consistent": True}, {"consistent": False}],
}


def verdict_lines(claims, audits, width, coloured):
    """The lines of a session of these claims."""
    return lines_of(typed({"claims": claims, "audits": audits}), width, coloured)


@pytest.mark.parametrize("coloured", [False, True])
@pytest.mark.parametrize("width", [40, 80, 160, None])
def test_every_id_stands_whole_at_the_beginning_of_a_line(width, coloured):
    """To be copied, however narrow the terminal."""
    claims = [entry(LONG), entry("mine/finding/b[x]", "REFUTED"), control("REFUTED", "REFUTED")]
    lines = [COLOUR.sub("", line) for line in verdict_lines(claims, [AUDIT], width, coloured)]
    for one in (*claims, AUDIT):
        assert [line for line in lines if line.split("  ")[0] == one["id"]]


def test_one_line_a_claim_where_the_terminal_is_wide_enough():
    """Else its numbers stand below its id, and no line but an id is wider than the terminal."""
    claims = [entry(LONG, "UNDECIDED")]
    [wide] = [line for line in verdict_lines(claims, [], 160, False) if "BLEU" in line]
    assert " ".join(wide.split()) == f"{LONG} UNDECIDED {MEANS} -12.1 BLEU 0.0040 1 seed"
    narrow = verdict_lines(claims, [AUDIT], 60, False)
    place = narrow.index(LONG)
    assert " ".join(narrow[place + 1].split()) == f"UNDECIDED {MEANS} -12.1 BLEU p 0.0040 1 seed"
    assert all(len(line) <= 60 for line in narrow if line != LONG)
    assert "\n".join(verdict_lines(claims, [], None, False)).isascii()


def test_controls_are_marked_and_what_misbehaves_stands_out():
    """A control's REFUTED is no bad news; its SUPPORTED may be."""
    verdicts = ("REFUTED", "SUPPORTED", "NOT RUN", "UNDECIDED")
    claims = [control(verdict, "REFUTED") for verdict in verdicts]
    lines = verdict_lines(claims, [], None, True)
    controls = [line for line in lines if "mine/finding/control" in line]
    assert "control, as expected" in controls[0]
    assert "\x1b[31m" not in controls[0]
    assert "control, not as expected, expects REFUTED" in controls[1]
    assert "\x1b[1;31mSUPPORTED" in controls[1]
    assert "control, not run" in controls[2]
    assert "control, too weak" in controls[3]
    assert COLOUR.sub("", lines[-1]) == (
        "0 SUPPORTED, 0 REFUTED, 0 NO EFFECT, 0 UNDECIDED, 0 NOT RUN; "
        "controls 1 of 4 as expected, 1 not run, 1 UNDECIDED"
    )


def test_the_comparison_that_decides_is_told():
    """Of those with the claim's verdict the one that speaks for it the least; exact has no p."""
    several = (
        comparison("SUPPORTED", 1.0, p=0.9),
        comparison("UNDECIDED", 2.0, p=0.1),
        comparison("UNDECIDED", 3.0, p=0.2),
    )
    claims = [
        entry("1", "UNDECIDED", *several),
        entry("2", "SUPPORTED", comparison(difference=0.5, unit="", p=0.0, exact=True)),
        entry("3", "SUPPORTED", comparison(difference=None, p=None)),
    ]
    lines = verdict_lines(claims, [], None, False)
    assert [" ".join(line.split()) for line in lines if re.match(r"\d  ", line)] == [
        "1 UNDECIDED 18.9 vs 31.0 3.00 BLEU 0.20 1 seed; the deciding one of 3",
        "2 SUPPORTED 18.9 < 31.0 0.500 exact",
        "3 SUPPORTED 18.9 < 31.0 – BLEU – 1 seed",
    ]


def test_p_is_the_statements_in_each_row_and_a_seed_that_all_hangs_on_is_named():
    """A column of two meanings can't be read."""
    small = comparison("NO EFFECT", 0.3, p=0.4, p_no_effect=0.003, level=0.95)
    equal = comparison("NO EFFECT", 0.0, unit="", p=0.5, exact=True)
    needs = {"hangs_on": 4, "interval": [-0.5, 6.5], "n": 6, "seeds_needed": 9}
    open_ = comparison("UNDECIDED", 3.0, p=0.01, **needs)
    claims = [
        entry("1", "NO EFFECT", small),
        entry("2", "NO EFFECT", equal),
        entry("3", "UNDECIDED", open_),
    ]
    lines = verdict_lines(claims, [], None, True)
    plain = [" ".join(COLOUR.sub("", line).split()) for line in lines]
    assert plain[0] == "claim verdict means difference [95 to 99 % interval] p"
    assert "1 NO EFFECT 18.9 vs 31.0 0.300 BLEU 0.40 1 seed; within 2 BLEU" in plain
    assert "2 NO EFFECT 18.9 vs 31.0 0.00 exact" in plain
    assert f"3 UNDECIDED 18.9 vs 31.0 3.00 [-0.50, 6.50] BLEU 0.010 1 seed; {CHANGES}" in plain
    assert sum("\x1b[35mNO EFFECT" in line for line in lines) == 2
    assert "0 SUPPORTED, 0 REFUTED, 2 NO EFFECT, 1 UNDECIDED" in COLOUR.sub("", lines[-1])


def test_why_claims_are_not_decided_is_told_once():
    """However many lack the same data, or scores that vary: then no seeds are asked for."""
    claims = [absent("a", "no data"), absent("b", "no data"), absent("c", "no vectors")]
    claims += [entry("d", "UNDECIDED", reason="the differences don't vary")]
    lines = verdict_lines(claims, [AUDIT], None, False)
    assert [line for line in lines if re.match(r"(NOT RUN|UNDECIDED) \(", line)] == [
        "NOT RUN (2): no data",
        "NOT RUN (1): no vectors",
        "UNDECIDED (1): the differences don't vary",
    ]
    assert "more seed" not in "".join(lines)
    assert lines[-1] == (
        "0 SUPPORTED, 0 REFUTED, 0 NO EFFECT, 1 UNDECIDED, 3 NOT RUN; no controls; "
        "0 of 1 checks of the papers' printed numbers agree"
    )


def test_families_stand_in_the_reports_order():
    """Findings, tables, what goes beyond, the audits; a family's controls are its last."""
    families = ("mine/beyond", "mine/table-1", "mine/finding-1")
    claims = [entry(f"{name}/a", family=name, family_says="") for name in families]
    claims += [{**control("REFUTED", "REFUTED"), "family": "mine/finding-1", "family_says": ""}]
    lines = verdict_lines(claims[::-1], [AUDIT], None, False)
    first = [line.split()[0] for line in lines if line]
    assert first[:10] == [
        "claim", "mine/finding-1", "mine/finding-1/a", "mine/finding/control", "mine/table-1",
        "mine/table-1/a", "mine/beyond", "mine/beyond/a", "Printed", "mine/audit/sums",
    ]  # fmt: skip
