"""One thread a process as in training, and the builders of embinit's own tests."""

import sys
from pathlib import Path

import torch
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

torch.set_num_threads(1)
settings.register_profile("studies", deadline=None)
settings.load_profile("studies")
