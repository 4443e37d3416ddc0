"""Tasks: a data set with its metric, as plain text until a vocabulary turns it into ids."""

from embinit.data.tasks import labelled as labelled
from embinit.data.tasks import microcosm as microcosm
from embinit.data.tasks import parallel as parallel
from embinit.data.tasks import sentences as sentences
from embinit.data.tasks import text as text
from embinit.data.tasks.base import TASKS, Example, Splits, Task

__all__ = ["TASKS", "Example", "Splits", "Task"]
