"""A user's function as a kind of run: any code that takes a seed and returns numbers.

The function is decorated by ``@training(measures={"accuracy": "% accuracy"})``. It is called in a
trainer, a process of its module alone, which notes what it reads: a record holds while that is as
it was.
"""

from embinit.runs.functions.calling import KIND, changed, changed_meanwhile, make, untraced
from embinit.runs.functions.definition import (
    TRAININGS,
    Training,
    other_versions,
    plain_training,
    training,
    training_named,
)
from embinit.runs.functions.state import Globals, all_globals, difference
from embinit.runs.trainers.processes import RunFailed, Surroundings, Trainers

__all__ = [
    "KIND",
    "TRAININGS",
    "Globals",
    "RunFailed",
    "Surroundings",
    "Trainers",
    "Training",
    "all_globals",
    "changed",
    "changed_meanwhile",
    "difference",
    "make",
    "other_versions",
    "plain_training",
    "training",
    "training_named",
    "untraced",
]
