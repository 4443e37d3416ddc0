"""One thread a process as in training, checked shapes, no test that a busy machine can fail."""

import scipy.stats  # noqa: F401, pytester forgets what a session in it imported first, numpy can't
import torch
from hypothesis import Phase, settings

import shape_checks

shape_checks.install()

torch.set_num_threads(1)
settings.register_profile("embinit", deadline=None)
settings.register_profile(
    "mutations",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile("embinit")

pytest_plugins = ["pytester"]
