"""Tests with the fixture ``seeds``: each becomes a claim, and their file has a control."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from embinit.claims.seeds import SeedsClaim, control_of, stated_by
from embinit.errors import InputError
from embinit.pytest_plugin.items import bound

CONTROL = "test_control_a_a_of_seeds"


def state(metafunc: pytest.Metafunc) -> None:
    """Makes a test with the fixture a claim."""
    test = metafunc.function
    stated_by(test, _home(metafunc.definition), test.__qualname__)(test)


def _home(node: pytest.Item | pytest.Collector) -> str:
    """A node's file within its project, in dots."""
    path = node.path
    inside = path.is_relative_to(node.config.rootpath)
    known = path.relative_to(node.config.rootpath) if inside else path.relative_to(path.parent)
    return ".".join(known.with_suffix("").parts)


def add_control(module: pytest.Module, items: list[pytest.Item | pytest.Collector]) -> None:
    """Adds the control of a file whose tests have the fixture.

    Args:
        module: The file.
        items: What was collected of it.
    """
    tests = [test for item in items if (test := _test(item)) is not None]
    if not tests or hasattr(module.obj, CONTROL):
        return
    setattr(module.obj, CONTROL, control_of(tests, _home(module)))
    items += [each for each in module.collect() if each.name.partition("[")[0] == CONTROL]


def _test(node: pytest.Item | pytest.Collector) -> Callable[..., None] | None:
    """A test with the fixture as it takes the experiment alone; None for any other."""
    if not isinstance(node, pytest.Function) or SeedsClaim.of(node.function) is None:
        return None
    with contextlib.suppress(InputError):  # it is told when its turn comes
        return bound(node)
    return None
