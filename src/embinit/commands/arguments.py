"""An argument that several commands take."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def add_data_dir(command: argparse.ArgumentParser) -> None:
    """Adds the directory of real text."""
    command.add_argument(
        "--data-dir",
        "--embinit-data-dir",  # what messages name
        dest="data_dir",
        type=Path,
        default=os.environ.get("EMBINIT_DATA") or None,
        help="directory with real text (default: the variable EMBINIT_DATA)",
    )
