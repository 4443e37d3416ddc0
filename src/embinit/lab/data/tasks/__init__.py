"""Tasks: a data set with its metric, as plain text until a vocabulary turns it into ids."""

from embinit.lab.data.tasks import labelled as labelled
from embinit.lab.data.tasks import microcosm as microcosm
from embinit.lab.data.tasks import parallel as parallel
from embinit.lab.data.tasks import sentences as sentences
from embinit.lab.data.tasks import text as text
from embinit.lab.data.tasks.base import TASKS, Example, Splits, Task

__all__ = ["TASKS", "Example", "Splits", "Task"]
