"""One thread a process, as in training."""

import torch

torch.set_num_threads(1)

pytest_plugins = ["pytester"]
