"""Shared by tests and claims: nothing here but what every pytest run of the project needs.

The plugin (options, the ``experiment`` fixture, verdicts) comes with the package.
"""

import sys
from pathlib import Path

# pip install ./embinit brings a copy of the papers. Here the clone's own files are meant.
sys.path.insert(0, str(Path(__file__).parent / "claims"))
