"""Wrong shapes fail: without these, annotations that nobody checks would look the same."""

from __future__ import annotations

import pytest
import torch
from jaxtyping import TypeCheckError

from embinit.lab.data.sources import Vectors
from embinit.lab.table_pretraining.encoder import padding_mask
from embinit.lab.tables.diagnostics import pe_share
from embinit.lab.tables.positions import KINDS, table


def test_arguments_that_do_not_fit_each_other_are_refused() -> None:
    """A letter stands for one size in a call. Broadcasting would hide the mistake."""
    with pytest.raises(TypeCheckError, match="pe"):
        pe_share(torch.zeros(3, 2), torch.zeros(4, 3))


def test_the_type_of_numbers_is_checked() -> None:
    """Ids are whole numbers."""
    with pytest.raises(TypeCheckError, match="ids"):
        padding_mask(torch.zeros(2, 3), 0)


def test_a_result_of_another_shape_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes may come from arguments that are numbers."""
    monkeypatch.setitem(KINDS._entries, "none", lambda length, dim, *_: torch.zeros(dim, length))
    with pytest.raises(TypeCheckError, match="return value"):
        table("none", 3, 2)


def test_fields_of_dataclasses_are_checked() -> None:
    """So is what a source answers, whoever wrote the source."""
    with pytest.raises(TypeCheckError, match="found"):
        Vectors(torch.zeros(3, 2), torch.zeros(2, dtype=torch.bool))
