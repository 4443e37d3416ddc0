"""A user's function as a kind of run: any code that takes a seed and returns numbers.

The function is decorated by ``@training(measures={"accuracy": "% accuracy"})``. Its code and all
that it names, its arguments and the files that it declares are part of a run's key.
"""

from embinit.runs.functions.calling import KIND, RunFailed, make
from embinit.runs.functions.definition import (
    TRAININGS,
    Training,
    fingerprint,
    other_versions,
    plain_training,
    training,
    training_named,
)

__all__ = [
    "KIND",
    "TRAININGS",
    "RunFailed",
    "Training",
    "fingerprint",
    "make",
    "other_versions",
    "plain_training",
    "training",
    "training_named",
]
