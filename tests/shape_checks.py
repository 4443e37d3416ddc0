"""The type checker of the test run: tensors alone, by beartype.

It checks at each call the annotations that have a tensor, shape and type included. It leaves the
others alone: mypy checks them, tests put stand-ins where a protocol is asked for, and beartype
reads the properties of an object (so the files of a source) to tell whether it fits a protocol.
"""

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

Function = TypeVar("Function", bound=Callable[..., object])


def check_tensors(function: Function) -> Function:
    """Checks the arguments and results of ``function`` that are annotated as tensors."""
    hints = function.__annotations__
    function.__annotations__ = {name: hints[name] for name in hints if "Tensor" in str(hints[name])}
    return beartype(function) if function.__annotations__ else function


def install() -> None:
    """Lets every function and dataclass of ``CHECKED`` be checked that is imported from now on."""
    install_import_hook(CHECKED, f"{__name__}.{check_tensors.__name__}")
