"""Tools for the embedding tables of models: inspect them, extend them, compare starts, fill them.

``initialise_embedding`` is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embtables.initialisation import initialise_embedding

__version__ = "0.1.0"
__all__ = ["initialise_embedding"]


def __getattr__(name: str) -> Any:
    """Loads ``initialise_embedding`` from its module."""
    if name != "initialise_embedding":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from embtables.initialisation import initialise_embedding

    return initialise_embedding
