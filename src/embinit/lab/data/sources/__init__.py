"""Sources of pre-trained vectors: which words of a vocabulary have a vector, and which one?"""

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
from embinit.runs.results import Coverage

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
