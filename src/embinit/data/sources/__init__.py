"""Sources: where pre-trained vectors come from.

A source answers one question: given a vocabulary, which of its words have a vector, and what are
these vectors? Scaling, shuffling and completing them is the work of an init.
"""

from embinit.data.coverage import Coverage
from embinit.data.sources import huggingface as huggingface
from embinit.data.sources import microcosm as microcosm
from embinit.data.sources.base import SOURCES, ByLanguage, Source, Vectors
from embinit.data.sources.opening import (
    is_named_here,
    named_source,
    open_source,
    use_source,
)

__all__ = [
    "SOURCES",
    "ByLanguage",
    "Coverage",
    "Source",
    "Vectors",
    "is_named_here",
    "named_source",
    "open_source",
    "use_source",
]
