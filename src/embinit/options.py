"""The options of a session of claims, by their names without the prefix ``--embinit-``.

What few sessions need is set in pytest's configuration, or for one session by ``-o``.
"""

from __future__ import annotations

from typing import Any

REGISTER, WORLDS = "embinit_register", "embinit_worlds"

SETTINGS = {
    REGISTER: "judge nothing: embinit register sets it, to the seeds that it measures on",
    WORLDS: "test claims that draw a world for each seed on other worlds than the registered ones, "
    "FIRST or FIRST-LAST, such as 9000-9019; their tables are trained first",
}
"""The settings that are no options."""

OPTIONS: dict[str, dict[str, Any]] = {
    "tier": {
        "default": "micro",
        "help": "size, of a paper or of an experiment's own sizes (default: micro)",
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
    "device": {"default": "cpu", "help": "cpu, cuda, cuda:N (default: cpu)"},
    "engine": {
        "default": "local",
        "metavar": "local|ray[:ADDRESS]",
        "help": "who trains: this machine's cores or GPU, or a Ray cluster, that at host:port or "
        "auto, or a new one of this machine (default: local)",
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
    "baseline": {
        "default": None,
        "metavar": "VERDICTS",
        "help": "a blessed verdicts.json: fail where one of its findings is lost, show what moved",
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
    "debug": {
        "action": "store_true",
        "default": False,
        "help": "make the first run of each arm in this process, where breakpoint() and -s work; "
        "store and judge nothing (default: train in processes of the functions' own)",
    },
    "report-dir": {
        "default": "reports/latest",
        "help": "where index.html and verdicts.json go (default: reports/latest)",
    },
}
