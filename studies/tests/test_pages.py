"""Tables of the studies' pages: how a number is told."""

from __future__ import annotations

from embinit_studies.pages import Estimate, best_bold


def test_an_estimate_has_no_minus_zero():
    """A mean that rounds to zero has no sign."""
    assert Estimate(-0.04, -0.36, 0.04).told() == "0.0 (−0.4 to 0.0)"


def test_the_best_of_means_is_bold_and_what_is_missing_a_dash():
    """The largest, or the smallest where less is better."""
    assert best_bold([1.0, None, 2.25]) == ["1.0", "–", "**2.2**"]
    assert best_bold([1.0, 2.25], min, 3) == ["**1.000**", "2.250"]
    assert best_bold([None, None]) == ["–", "–"]
