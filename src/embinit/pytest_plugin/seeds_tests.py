"""Tests with the fixture ``seeds``: each becomes a claim, or a control where it is marked so."""

from __future__ import annotations

import pytest

from embinit.claims.seeds import stated_by
from embinit.pytest_plugin import CONTROL
from embinit.stats.statements import Verdict


def state(metafunc: pytest.Metafunc) -> None:
    """Makes a test with the fixture a claim."""
    test, item = metafunc.function, metafunc.definition
    expects = Verdict.SUPPORTED if item.get_closest_marker(CONTROL) else None
    stated_by(test, _home(item), test.__qualname__, expects)(test)


def _home(node: pytest.Item | pytest.Collector) -> str:
    """A node's file within its project, in dots."""
    path = node.path
    inside = path.is_relative_to(node.config.rootpath)
    known = path.relative_to(node.config.rootpath) if inside else path.relative_to(path.parent)
    return ".".join(known.with_suffix("").parts)
