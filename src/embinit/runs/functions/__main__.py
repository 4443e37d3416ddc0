"""The process of a run that has one of its own: ``python -m embinit.runs.functions JOB``."""

import sys
from pathlib import Path

from embinit.runs.functions.calling import answer_job

if __name__ == "__main__":
    answer_job(Path(sys.argv[1]))
