"""One thread a process as in training, checked shapes, no test that a busy machine can fail.

A session within a test loads embinit and pytest-xdist and no other plugin, and starts no helpers:
each process costs a second or two, most of it for plugins that have no part in the test.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from embinit.runs.instructions import variables

os.environ |= variables()  # before torch is loaded: tests train in their own process

import pytest
import scipy.stats  # noqa: F401, pytester forgets what a session in it imported first, numpy can't
import torch
import torch._dynamo  # optimizers import it; pytester forgets that, and torch can't have it twice
from hypothesis import HealthCheck, settings

import shape_checks

shape_checks.install()

from embinit_papers.settings import DATA_DRAWS  # noqa: E402, what it imports is checked
from projects import session  # noqa: E402, F401, a fixture

DATA_DRAWS.clear()  # one language for all seeds takes less time; test_draws has many

torch.set_num_threads(1)
# Named one by one: Hypothesis' own defaults depend on the variable CI.
usual = settings(
    settings.get_profile("default"),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize=bool(os.environ.get("EMBINIT_DERANDOMIZE")),
)
settings.register_profile("embinit", usual, max_examples=20)
settings.register_profile("nightly", usual, max_examples=100)
settings.load_profile("nightly" if os.environ.get("EMBINIT_NIGHTLY") else "embinit")

pytest_plugins = ["pytester"]
# It imports Ray, which the extra nightly brings.
collect_ignore = [] if os.environ.get("EMBINIT_NIGHTLY") else ["test_ray_engine.py"]


USERS = ("CI", "BUILD_NUMBER", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "PYTEST_ADDOPTS", "TZ")
"""Variables that change what pytest or embinit prints, and no test's subject unless it sets one."""


@pytest.fixture(scope="session", autouse=True)
def one_environment() -> Iterator[None]:
    """Sessions within tests see nothing of the user's terminal, settings and other plugins."""
    with pytest.MonkeyPatch.context() as patch:
        for name in (*USERS, *(name for name in os.environ if name.startswith("EMBINIT_"))):
            patch.delenv(name, raising=False)
        patch.setenv("COLUMNS", "80")
        path = (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))  # claims use builders
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path)))
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.setenv("PYTEST_PLUGINS", "embinit.pytest_plugin,xdist.plugin")
        yield


@pytest.fixture(autouse=True)
def light_sessions(what_embinit_registers_stays: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session within a test neither starts helpers nor waits for the disk, unless a test asks."""
    monkeypatch.setattr("embinit.runs.machine.cores", lambda: 1)
    monkeypatch.setattr("embinit.files.writing.fsync", lambda handle: None)


@pytest.fixture
def data_draws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The papers' experiments as they are claimed: each seed of micro is a data draw of its own."""
    from embinit.lab.data.microcosm.draws import CLAIMING
    from embinit_papers.chung2021 import setting
    from embinit_studies import two_languages

    monkeypatch.setitem(DATA_DRAWS, "micro", CLAIMING)
    cached = (setting.experiments, two_languages.experiments)
    for experiments in cached:
        experiments.cache_clear()
    yield
    for experiments in cached:
        experiments.cache_clear()


def homes_of_entries() -> dict[tuple[str, str], str]:
    """The modules that registered what embinit's registries have, by registry and name."""
    from embinit.registry import Registry

    modules = [module for name, module in sys.modules.items() if name.startswith("embinit.")]
    return {
        (registry._noun, name): home
        for module in modules
        for registry in vars(module).values()
        if isinstance(registry, Registry)
        for name, home in registry._homes.items()
    }


@pytest.fixture(autouse=True)
def what_embinit_registers_stays() -> Iterator[None]:
    """A test that replaces a built-in entry gives later tests' runs other keys: see set_apart."""
    mine = [key for key, home in homes_of_entries().items() if home.startswith("embinit.")]
    yield
    after = homes_of_entries()
    homes = {key: after.get(key, "") for key in mine}
    assert {key: home for key, home in homes.items() if not home.startswith("embinit.")} == {}
