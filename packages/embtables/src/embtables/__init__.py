"""Tools for the embedding tables of models: inspect them, extend them, compare starts, fill them.

``put_into`` is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embtables.put import put_into

__version__ = "0.1.0"
__all__ = ["put_into"]


def __getattr__(name: str) -> Any:
    """Loads ``put_into`` from its module."""
    if name != "put_into":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from embtables.put import put_into

    return put_into
