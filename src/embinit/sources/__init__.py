"""Sources: where pre-trained vectors come from.

A source answers one question: given a vocabulary, which of its words have a vector, and which
vectors? What becomes of them (scaled, shuffled, completed) is an init's business.
"""

from embinit.sources import huggingface as huggingface
from embinit.sources import microcosm as microcosm
from embinit.sources.base import SOURCES, ByLanguage, Coverage, Source, Vectors
from embinit.sources.opening import named_source, open_source, use_source

__all__ = [
    "SOURCES",
    "ByLanguage",
    "Coverage",
    "Source",
    "Vectors",
    "named_source",
    "open_source",
    "use_source",
]
