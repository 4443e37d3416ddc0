"""As in embinit's own tests, whose helpers these use: one thread, checked shapes, no deadline."""

import sys
from pathlib import Path

import torch
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import shape_checks

shape_checks.install()

torch.set_num_threads(1)
settings.register_profile("studies", deadline=None)
settings.load_profile("studies")
