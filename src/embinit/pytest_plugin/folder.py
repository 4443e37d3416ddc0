"""The claims of a whole folder, whichever of them are run.

A claim's share of alpha must not depend on ``-k`` or on which files are named, so files next to
those of the collected claims are read too.
"""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from embinit.claims.definitions import Claim, Family, Misstated
from embinit.claims.seeds import SeedsClaim
from embinit.claims.statements import Statement, line_of
from embinit.errors import InputError
from embinit.pytest_plugin import COLLECTED
from embinit.pytest_plugin.claims_alone import text_of

_DECORATED = re.compile(r"^[ \t]*@(?:\w+\.)?claim\b", re.MULTILINE)


@dataclass(frozen=True)
class Folder:
    """The claims of a folder.

    ``counts`` leaves controls out. ``homes`` has the files and lines of each id. ``unread`` can't
    be read, or have another's id. ``tests`` has those of the collected files.
    """

    counts: dict[str, int]
    homes: dict[str, list[str]]
    unread: int = 0
    tests: tuple[pytest.Function, ...] = ()

    @classmethod
    def of(cls, items: Iterable[pytest.Item], count: Callable[[Claim], int]) -> Folder:
        """The folders of all tests collected; ``count`` gives how many experiments a claim has."""
        items = list(items)
        functions = [*_whole(items)]
        claims = [item for item in functions if Claim.of(item.function) is not None]
        broken: dict[Path, int] = {}
        unread = 0
        counts: dict[str, int] = defaultdict(int)
        homes: dict[str, list[str]] = defaultdict(list)
        met = set()
        for item in (*functions, *_beside(claims, broken)):
            statement = Statement.of(item.function)
            key = (item.path, item.cls, item.originalname or item.name)
            if key in met and isinstance(statement, SeedsClaim) and statement.expects is None:
                counts[statement.family.name] += 1  # it is parametrised
            if statement is None or key in met:
                continue
            met.add(key)
            known = homes[statement.id]
            known.append(f"{item.path.name}:{line_of(item.function, item.path)}")
            if isinstance(statement, Misstated):
                unread += 1
            if not isinstance(statement, Claim) or statement.expects is not None:
                continue
            if len(known) > 1:
                unread += count(statement)
            else:
                counts[statement.family.name] += count(statement)
        unread += sum(broken.values())
        return cls(dict(counts), dict(homes), unread, tuple(functions))

    def family(self, claim: Claim, tier: str) -> Family:
        """The claim's family with its size; InputError for an id or a size that can't be."""
        homes = self.homes.get(claim.id, ())
        if len(homes) > 1:
            raise InputError(
                f"the id {claim.id!r} is given to {len(homes)} claims ({', '.join(homes)}); give "
                "each its own"
            )
        family, counted = claim.family, self.counts.get(claim.family.name, 0)
        size = family.size_on(tier)
        if size is None:
            # A claim that can't be read may be of this family, and takes a share of its alpha.
            return family.counted(max(counted + self.unread, 1))
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
    every = (each for module in modules if module is not None for each in _below(module))
    for each in (*functions, *every):
        if isinstance(each, pytest.Function) and each.nodeid not in met:
            met.add(each.nodeid)
            yield each


def _below(node: pytest.Item | pytest.Collector) -> Iterator[pytest.Item]:
    """All tests of a file or a class, whichever of them are run."""
    if isinstance(node, pytest.Item):
        yield node
    else:
        known = node.config.stash.get(COLLECTED, {}).get(node.nodeid)
        for each in node.collect() if known is None else known:
            yield from _below(each)


def _beside(
    claims: Iterable[pytest.Function], broken: dict[Path, int]
) -> Iterable[pytest.Function]:
    """The tests of files next to those of claims; unloadable ones are added to ``broken``."""
    modules = {item.path: item.getparent(pytest.Module) for item in claims}
    for folder in dict.fromkeys(path.parent for path in modules):
        known = next(module for path, module in modules.items() if path.parent == folder)
        if known is None or known.parent is None:
            continue
        patterns = known.config.getini("python_files")
        for path in sorted(folder.glob("*.py")):
            fits = any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns)
            if path not in modules and path not in broken and fits and "claim" in text_of(path):
                yield from _collected(known.parent, path, broken)


def _collected(
    parent: pytest.Collector, path: Path, broken: dict[Path, int]
) -> list[pytest.Function]:
    """The functions of a file; none where it can't be loaded, which pytest tells when it is run."""
    try:
        module = pytest.Module.from_parent(parent, path=path)
        return [each for each in module.collect() if isinstance(each, pytest.Function)]
    except Exception:
        broken[path] = len(_DECORATED.findall(text_of(path)))
        return []
    except pytest.skip.Exception:
        return []
