"""The options of a session of claims, by their names without the prefix ``--embinit-``.

What few sessions need is set in pytest's configuration, or for one session by ``-o``.
"""

from __future__ import annotations

from typing import Any

REGISTER, WORLDS = "embinit_register", "embinit_worlds"
INSTRUCTIONS = "embinit_instructions"
STRICT = "embinit_strict"

LATEST = "reports/latest"
"""The folder of the report, from pytest's root directory."""

SETTINGS = {
    REGISTER: "judge nothing; embinit register sets this to the number of seeds to train",
    WORLDS: "judge claims with a data draw per seed on these data draws: FIRST, FIRST-LAST, or "
    "several such as 9000-9011,9100-9107; missing embeddings are trained first",
    INSTRUCTIONS: "the instruction set of all training: avx2, compatible or native (default: "
    "avx2 for the papers' models, native for functions of yours)",
    STRICT: "tests of UNDECIDED and NOT RUN claims fail: true or false (default: false)",
}
"""The settings that are no options; only ``STRICT`` is true or false."""

OPTIONS: dict[str, dict[str, Any]] = {
    "tier": {
        "default": "micro",
        "help": "how much data and training: a tier of a paper or experiment (default: micro)",
    },
    "data-dir": {
        "help": "directory with real text and word vectors (default: the variable EMBINIT_DATA)",
    },
    "source": {
        "action": "append",
        "default": [],
        "metavar": "NAME=PATH",
        "help": "read the embeddings NAME from a file of vectors or a Hugging Face directory; "
        "repeatable (default: from the data directory)",
    },
    "device": {"default": "cpu", "help": "cpu, cuda (all GPUs) or cuda:N (default: cpu)"},
    "engine": {
        "default": "local",
        "metavar": "local|ray[:ADDRESS]",
        "help": "where to train: this machine (local), a new Ray cluster (ray), or a running "
        "Ray cluster (ray:auto, ray:HOST:PORT) (default: local)",
    },
    "seeds": {
        "type": int,
        "help": "judge once, with this number of seeds per arm (default: the experiment's numbers)",
    },
    "max-seeds": {
        "type": int,
        "help": "add seeds to UNDECIDED claims up to this number, about doubling it each time "
        "(default: the experiment's maximum, 20 on micro)",
    },
    "budget": {
        "type": float,
        "metavar": "MINUTES",
        "help": "add no more seeds after this time; every claim and control still gets its first "
        "seeds (default: no limit)",
    },
    "baseline": {
        "metavar": "VERDICTS",
        "help": "an accepted verdicts.json: print what changed, and fail if a claim is lost",
    },
    "store": {
        "default": ".embinit/store",
        "help": "the folder of stored runs (default: .embinit/store)",
    },
    "no-train": {
        "action": "store_true",
        "default": False,
        "help": "judge the stored runs and train nothing (default: train missing runs)",
    },
    "report-dir": {
        "default": LATEST,
        "help": "the folder for index.html and verdicts.json (default: reports/latest)",
    },
}
