"""The options of a session of claims, by their names without the prefix ``--embinit-``.

What few sessions need is set in pytest's configuration, or for one session by ``-o``.
"""

from __future__ import annotations

from typing import Any

REGISTER, WORLDS = "embinit_register", "embinit_worlds"
STRICT, DEBUG = "embinit_strict", "embinit_debug"

SETTINGS = {
    REGISTER: "judge nothing: embinit register sets it, to the number of seeds that it trains",
    WORLDS: "judge claims that have a data draw for each seed on other draws than the registered "
    "ones, FIRST or FIRST-LAST, such as 9000-9019; their tables are trained first",
}
"""The settings that are no options."""

SWITCHES = {
    STRICT: "a claim that is UNDECIDED or NOT RUN fails",
    DEBUG: "call the first run of each arm in this process, where breakpoint() and -s work; store "
    "and judge nothing",
}
"""Those that are true or false, false by default."""

OPTIONS: dict[str, dict[str, Any]] = {
    "tier": {
        "default": "micro",
        "help": "how much is trained: a tier of a paper or of an experiment (default: micro)",
    },
    "data-dir": {
        "default": None,
        "help": "directory with real data and vectors (default: EMBINIT_DATA, else none)",
    },
    "source": {
        "action": "append",
        "default": [],
        "metavar": "NAME=PATH",
        "help": "read the embeddings NAME from a file of vectors or a Hugging Face directory; "
        "repeatable (default: from the data directory)",
    },
    "device": {"default": "cpu", "help": "cpu, cuda, cuda:N (default: cpu)"},
    "engine": {
        "default": "local",
        "metavar": "local|ray[:ADDRESS]",
        "help": "who trains: this machine, a Ray cluster at host:port or auto, or a new Ray "
        "cluster on this machine (default: local)",
    },
    "seeds": {
        "type": int,
        "default": None,
        "help": "seeds per arm, in one interim analysis (default: the experiment's)",
    },
    "max-seeds": {
        "type": int,
        "default": None,
        "help": "add seeds to claims that are UNDECIDED, twice as many each time, up to this "
        "number (default: the experiment's, 20 on micro)",
    },
    "budget": {
        "type": float,
        "default": None,
        "metavar": "MINUTES",
        "help": "start no later interim analysis after this time; the first ones, and those of "
        "controls, are always made (default: no limit)",
    },
    "baseline": {
        "default": None,
        "metavar": "VERDICTS",
        "help": "an accepted verdicts.json: fail if one of its findings is lost, and print what "
        "changed",
    },
    "store": {
        "default": ".embinit/store",
        "help": "where runs are stored (default: .embinit/store)",
    },
    "no-train": {
        "action": "store_true",
        "default": False,
        "help": "judge the stored runs and train nothing (default: train what is missing)",
    },
    "report-dir": {
        "default": "reports/latest",
        "help": "where index.html and verdicts.json go (default: reports/latest)",
    },
}
