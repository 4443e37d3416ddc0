"""The type checker of the test run: tensors alone, by beartype.

It checks at each call the annotations that have a tensor, shape and type included. It leaves the
others alone: mypy checks them, tests put stand-ins where a protocol is asked for, and beartype
reads the properties of an object (so the files of a source) to tell whether it fits a protocol.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import TypeVar

from beartype import beartype
from jaxtyping import install_import_hook

CHECKED = (
    "embinit.lab.data.batching",
    "embinit.lab.data.preparation",
    "embinit.lab.data.sources.assets",
    "embinit.lab.data.sources.base",
    "embinit.lab.data.vocabulary",
    "embinit.lab.models",
    "embinit.lab.evaluation.analogies",
    "embinit.lab.training.scoring",
    "embinit.lab.training.stacked",
    "embinit.lab.table_pretraining",
    "embinit.lab.training.stacks",
    "embinit.lab.transfer.stacks",
    "embinit.lab.tables",
)
"""Modules with annotated tensors. A call costs 50 µs more, and other modules make millions."""

PLUGIN = "embinit.pytest_plugin"
Function = TypeVar("Function", bound=Callable[..., object])


def check_tensors(function: Function) -> Function:
    """Checks the arguments and results of ``function`` that are annotated as tensors."""
    hints = function.__annotations__
    function.__annotations__ = {name: hints[name] for name in hints if "Tensor" in str(hints[name])}
    return beartype(function) if function.__annotations__ else function


@functools.cache
def install() -> None:
    """Lets every function and dataclass of ``CHECKED`` be checked, once a process.

    This works for what is imported from now on. pytest has imported the plugin already, as an entry
    point, and with it other modules. So these are imported again, and the plugin's module is run
    again in place, since pytest holds that module.
    """
    install_import_hook(CHECKED, f"{__name__}.{check_tensors.__name__}")
    for name in [name for name in sys.modules if name.startswith("embinit.") and name != PLUGIN]:
        del sys.modules[name]
    plugin = sys.modules.get(PLUGIN)
    if plugin is not None:
        for name in [name for name in vars(plugin) if not name.startswith("__")]:
            delattr(plugin, name)
        importlib.reload(plugin)
