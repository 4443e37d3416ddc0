"""The claims of all tests of the collected files, whichever of them are run.

A claim's share of alpha must not depend on ``-k``, or on which of a file's tests are named.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace

import pytest

from embinit.claims.definitions import Claim, Family, Misstated
from embinit.claims.statements import Statement, line_of
from embinit.errors import InputError
from embinit.pytest_plugin import COLLECTED


class Files:
    """The collected files; ``tests`` has all that are in them."""

    def __init__(self, items: Iterable[pytest.Item], without: Set[object]) -> None:
        """Counts their claims; functions ``without`` an experiment don't count."""
        self.tests = [*_whole(items)]
        # Of a family by file, without controls, and those unreadable or of another's id.
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._unread: Counter[str] = Counter()
        # The file and line of each function of an id.
        self._homes: dict[str, dict[object, str]] = defaultdict(dict)
        for item in self.tests:
            if (statement := Statement.of(item.function)) is None:
                continue
            file, homes = item.nodeid.partition("::")[0], self._homes[statement.id]
            function = (file, item.cls, item.originalname or item.name)
            homes.setdefault(function, f"{item.path.name}:{line_of(item.function, item.path)}")
            if isinstance(statement, Misstated):
                self._unread[file] += 1
            elif isinstance(statement, Claim) and statement.expects is None:
                known = self._counts[statement.family.name]
                is_first = function == next(iter(homes))
                (known if is_first else self._unread)[file] += item.function not in without

    def family(self, claim: Claim, tier: str) -> Family:
        """The claim's family with its size; InputError for an id or a size that can't be."""
        homes = [*self._homes[claim.id].values()]
        if len(homes) > 1:
            raise InputError(
                f"the id {claim.id!r} is given to {len(homes)} claims ({', '.join(homes)}); give "
                "each its own"
            )
        family, files = claim.family, self._counts[claim.family.name]
        size, counted = family.size_on(tier), files.total()
        if size is None and len(files) > 1:  # one of them may be run alone
            raise InputError(
                f"family {family.name!r} has claims in {', '.join(sorted(files))}: say how many it "
                f"has in all, as in Family({family.name!r}, size={counted})"
            )
        if size is None:
            # A claim that can't be read may be of this family, and takes a share of its alpha.
            size = max(counted + sum(self._unread[file] for file in files), 1)
            return replace(family, size=size)
        if counted > size:
            raise InputError(
                f"family {family.name!r} has {counted} claims on tier {tier}, and its size there "
                f"is {size}; each would be judged at more than its share: make the size {counted}"
            )
        return family


def _whole(items: Iterable[pytest.Item]) -> Iterator[pytest.Function]:
    """The collected tests, and those of their files that a test's id left out."""
    met: set[str] = set()
    functions = [item for item in items if isinstance(item, pytest.Function)]
    modules = dict.fromkeys(item.getparent(pytest.Module) for item in functions)
    every = (test for module in modules if module is not None for test in _below(module))
    for test in (*functions, *every):
        if isinstance(test, pytest.Function) and test.nodeid not in met:
            met.add(test.nodeid)
            yield test


def _below(node: pytest.Item | pytest.Collector) -> Iterator[pytest.Item]:
    """All tests of a file or a class, whichever of them are run."""
    if isinstance(node, pytest.Item):
        yield node
    else:
        known = node.config.stash.get(COLLECTED, {}).get(node.nodeid)
        for child in node.collect() if known is None else known:
            yield from _below(child)
