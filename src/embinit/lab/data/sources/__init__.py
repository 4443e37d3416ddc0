"""Sources of pre-trained vectors.

A source answers one question: given a vocabulary, which of its words have a vector, and what are
these vectors? Scaling, shuffling and completing them is the work of an init.
"""

from embinit.lab.data.sources import huggingface as huggingface
from embinit.lab.data.sources import microcosm as microcosm
from embinit.lab.data.sources.base import SOURCES, ByLanguage, Source, Vectors
from embinit.lab.data.sources.opening import (
    NamedSource,
    is_named_here,
    named_source,
    open_source,
    use_source,
)
from embinit.runs.coverage import Coverage

__all__ = [
    "SOURCES",
    "ByLanguage",
    "Coverage",
    "NamedSource",
    "Source",
    "Vectors",
    "is_named_here",
    "named_source",
    "open_source",
    "use_source",
]
