"""One thread a process, as in training, and no test that a busy machine can fail."""

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("embinit", deadline=None)
settings.load_profile("embinit")

pytest_plugins = ["pytester"]
