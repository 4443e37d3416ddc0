"""Sources of pre-trained vectors: which words of a vocabulary have a vector, and which one?"""

from embinit.lab.data.sources import microcosm as microcosm
from embinit.lab.data.sources import opening as opening
from embinit.lab.data.sources.base import SOURCES as SOURCES
from embinit.lab.data.sources.base import Source as Source
from embinit.lab.data.sources.base import Vectors as Vectors
