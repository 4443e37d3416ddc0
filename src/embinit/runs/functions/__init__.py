"""A user's function as a kind of run: any code that takes a seed and returns numbers.

The function is decorated by ``@training(measures={"accuracy": "% accuracy"})``. It is called in a
trainer, a process of its module alone, which notes what it reads: a record holds while that is as
it was.
"""

from embinit.runs.functions.calling import (
    INPUTS,
    KIND,
    changed,
    changed_meanwhile,
    untraced,
)
from embinit.runs.functions.definition import (
    TRAININGS,
    Training,
    other_versions,
    plain_training,
    training,
    training_named,
)

__all__ = [
    "INPUTS",
    "KIND",
    "TRAININGS",
    "Training",
    "changed",
    "changed_meanwhile",
    "other_versions",
    "plain_training",
    "training",
    "training_named",
    "untraced",
]
