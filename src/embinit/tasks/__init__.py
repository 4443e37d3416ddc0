"""Tasks: a data set with its metric, as plain text until a vocabulary turns it into ids."""

from embinit.tasks import labelled as labelled
from embinit.tasks import microcosm as microcosm
from embinit.tasks import parallel as parallel
from embinit.tasks import text as text
from embinit.tasks.base import TASKS, Cut, Example, Splits, Task

__all__ = ["TASKS", "Cut", "Example", "Splits", "Task"]
