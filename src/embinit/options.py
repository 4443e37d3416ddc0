"""The options of a session of claims, by their names without the prefix ``--embinit-``.

The pytest plugin adds them to pytest. ``embinit run``, ``list`` and ``register`` take them with and
without the prefix, and pass them on.
"""

from __future__ import annotations

from typing import Any

TOLD = "EMBINIT_TOLD"
"""The variable that names a file: a session writes there how far it is, for who waits for it."""

INTERRUPTED, CONCLUDED = "interrupted", "concluded"
"""What a session writes there."""

OPTIONS: dict[str, dict[str, Any]] = {
    "tier": {
        "default": "micro",
        "help": "size, of a paper or of an experiment's own sizes (default: micro)",
    },
    "claim": {
        "action": "append",
        "default": [],
        "metavar": "GLOB",
        "help": "only claims whose id fits, such as 'mine/finding-1/*'; repeatable (default: all)",
    },
    "list": {
        "action": "store_true",
        "default": False,
        "help": "with --collect-only: tell the claims by their ids, with what they state",
    },
    "data-dir": {
        "default": None,
        "help": "directory with real data and vectors (default: EMBINIT_DATA, else none)",
    },
    "source": {
        "action": "append",
        "default": [],
        "metavar": "NAME=PATH",
        "help": "read the source NAME from a file of vectors or a Hugging Face directory; "
        "repeatable (default: as it lies in the data directory)",
    },
    "worlds": {
        "default": None,
        "metavar": "FIRST[-LAST]",
        "help": "test claims that draw a world for each seed on other worlds than the registered "
        "ones, such as 9000-9019; their tables are made on the way (default: the registered ones)",
    },
    "device": {"default": "cpu", "help": "cpu, cuda, cuda:N (default: cpu)"},
    "engine": {
        "default": "local",
        "choices": ("local", "ray"),
        "help": "who trains: this machine's cores or GPU, or a Ray cluster (default: local)",
    },
    "ray-address": {
        "default": None,
        "metavar": "HOST:PORT",
        "help": "the Ray cluster that --embinit-engine ray trains on, or auto (default: one of "
        "this machine)",
    },
    "gpu-share": {
        "type": float,
        "default": 1.0,
        "help": "how much of a GPU a cohort takes with --embinit-engine ray, above 0 to 1 "
        "(default: 1)",
    },
    "seeds": {
        "type": int,
        "default": None,
        "help": "replicates per arm, and one look at them (default: the experiment's looks)",
    },
    "max-seeds": {
        "type": int,
        "default": None,
        "help": "look again at what is UNDECIDED, with twice the seeds each time, up to so many "
        "(default: the experiment's, 20 on micro)",
    },
    "budget": {
        "type": float,
        "default": None,
        "metavar": "MINUTES",
        "help": "begin no further look after so many minutes, save first looks and those of "
        "controls (default: no limit)",
    },
    "register": {
        "type": int,
        "default": None,
        "metavar": "SEEDS",
        "help": "judge nothing: write to claims.lock what the claims state, with the noise floors "
        "and spreads that it lacks, measured on so many seeds that no claim uses; 0 measures "
        "nothing",
    },
    "baseline": {
        "default": None,
        "metavar": "VERDICTS",
        "help": "a blessed verdicts.json: fail where one of its findings is lost, tell what moved",
    },
    "fail-on": {
        "default": None,
        "metavar": "moved[=MARGINS]",
        "help": "fail too where a difference moved from the baseline's by more margins than that, "
        "out of the interval that it had (default: moves are told; moved alone: 1)",
    },
    "store": {
        "default": ".embinit/store",
        "help": "where runs are kept (default: .embinit/store)",
    },
    "no-train": {
        "action": "store_true",
        "default": False,
        "help": "judge what the store has, and train nothing (default: train what it lacks)",
    },
    "report-dir": {
        "default": "reports/latest",
        "help": "where index.html and verdicts.json go (default: reports/latest)",
    },
    "replace-report": {
        "action": "store_true",
        "default": False,
        "help": "let the report of an interrupted or broken session replace a whole one (default: "
        "it goes into the folder unfinished beside it)",
    },
}
