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


def add_controls(items: list[pytest.Item]) -> None:
    """Adds a control behind the tests of each file that take ``seeds``."""
    tests: dict[pytest.Module, list[Callable[..., None]]] = {}
    for item in items:
        module = item.getparent(pytest.Module)
        if module is not None and (test := _test(item)) is not None:
            tests.setdefault(module, []).append(test)
    for module, known in tests.items():
        control = control_of(known, _home(module))
        setattr(module.obj, CONTROL, control)
        last = max(i for i, item in enumerate(items) if item.getparent(pytest.Module) is module)
        items[last + 1 : last + 1] = module._genfunctions(CONTROL, control)


def _test(node: pytest.Item) -> Callable[..., None] | None:
    """A test with the fixture as it takes the experiment alone; None for any other."""
    if not isinstance(node, pytest.Function) or SeedsClaim.of(node.function) is None:
        return None
    with contextlib.suppress(InputError):  # it is told when its turn comes
        return bound(node)
    return None
