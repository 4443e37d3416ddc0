"""What names say: which way a score is better, a run's arm and seed, or a column's role."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

HIGHER = {
    *("accuracy", "acc", "top1", "f1", "auc", "auroc", "map", "map50", "map5095", "miou", "iou"),
    *("bleu", "chrf", "rouge", "rougel", "psnr", "reward", "return", "meanreward", "success"),
    *("aucroc", "rocauc", "aucpr", "prauc", "auprc", "f1score", "macrof1", "f1macro"),
}
LOWER = {
    *("loss", "ppl", "perplexity", "bpb", "bpc", "nll", "crossentropy", "wer", "cer", "eer"),
    *("mse", "rmse", "mae", "mape", "fid", "ece", "error", "err", "logloss"),
    *("errorrate", "bitsperbyte", "brier", "brierscore"),
}
"""Scores whose better side is known, by their whole names: loss_reduction is neither."""

_SPLIT = re.compile("((final|best|val|valid|validation|test|eval|dev|train)[-_/ ])+")

ROLES = {
    "status": "status state exitcode returncode error exception traceback crashed diverged failed "
    "oom killed",
    "run": "run runid trial trialid checkpoint ckpt uid id jobid",
    "step": "step globalstep trainstep epoch iter iteration t timestep timesteps totaltimesteps "
    "trainingiteration update samples frame frames envstep envsteps evaltimesteps tokens",
    "sd": "sd std stdev stddev",
    "count": "n nruns runs nseeds seeds count",
    "error": "sem se stderr standarderror ci ci95",
    "of rows": "metric metricname measure split subset phase task",
    "cells": "dataset datasetname data problem instance env envname environment game benchmark "
    "corpus",
    "fold": "fold foldid cvfold",
    # These only order what is offered.
    "likely cells": "datasetpath target competition competitionid series",
    "round": "round rounds",
    "method": "model modelname modelid modeltype method algorithm algo variant strategy arm "
    "approach system agent agenttype policy optimizer detector classifier calibrator ablation",
    "outcome": "correct iscorrect passed success solved resolved verified",
}
"""What columns of each role are called, without what lies before the last point or slash."""

_SEED = re.compile("(?<!^n)seed(?!s)|randomstate|rng$")
_COST = {
    *("gb", "mb", "gib", "mib", "memory", "mem", "vram", "time", "seconds", "secs", "duration"),
    *("times", "runtime", "latency", "fps", "throughput", "ms", "energy", "price", "cost", "usd"),
}
"""Words of what a run costs: such a column tells no arms apart, and is the last to be judged."""

_VALIDATION = re.compile("(^|[^a-z])val(id|idation)?([^a-z]|$)")

_BASE = {"base", "baseline", "control", "vanilla", "reference", "old"}

_NO_NAME = re.compile(
    r"\.|lightning_logs|version_\d+|checkpoint-\d+|wandb|(offline-)?run-\d{8}_\d{6}-.*|[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.*"
)
"""Parts of paths that tools make, and that name no arm."""

_IN_PATH = re.compile(
    r"(?:^|[-_., /]|(?<=[a-z]))(seed|rng)[-_= ]?(\d+)(?=$|[-_., /])|"
    r"(?:^|[-_., /])(s)(\d+)(?=$|[-_., /])|"
    r"(?:^|[-_., /])(rep|replicate|run|trial)[-_=]?(\d+)(?=$|[-_., /])",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(.*[^\W_])(?<!\de)[-_ /#]+\d+")
"""A name that ends in a number, as ``base-1``, but for ``adam-1e-3``."""


def plain(name: str) -> str:
    """The last part of a column's name: ``randomseed`` of ``config.Random Seed``."""
    return re.sub(r"[^a-z0-9]", "", re.split(r"[./]|^params_", name)[-1].lower())


def called(names: Iterable[str], role: str) -> list[str]:
    """The names that are called like a role, in the order of ``ROLES``."""
    first = {plain(name): name for name in [*names][::-1]}
    return [first[word] for word in ROLES[role].split() if word in first]


def is_spread(name: str) -> bool:
    """Whether a column has standard deviations by the last word of its name."""
    return re.split(r"[\W_]", name.lower())[-1] in ROLES["sd"].split()


def is_summary(name: str) -> bool:
    """Whether a column sums runs up by the first or the last word of its name."""
    words = re.split(r"[\W_]+", name.lower())
    sums = f"{ROLES['sd']} {ROLES['error']} mean avg average median min max"
    is_rank = words[0] == "rank" and len(words) > 1  # LoRA has a rank, too
    return is_rank or not {words[0], words[-1]}.isdisjoint(sums.split())


def is_seed(name: str) -> bool:
    """Whether a column pairs runs by its name."""
    return bool(_SEED.search(re.sub("[^a-z0-9]", "", name.lower())))


def is_setting(name: str) -> bool:
    """Whether a tracker wrote the column for a setting of its runs."""
    return bool(re.match(r"(args|config|params|hparams|param)[./_]", name))


def is_cost(name: str) -> bool:
    """Whether a column has what runs cost, such as ``peak_memory_gb``."""
    return not _COST.isdisjoint(re.split(r"[\W_]+", name.lower()))


def lower_is_better(metric: str) -> bool | None:
    """Whether lower numbers of a score are better; None where its whole name doesn't say."""
    parts = re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"\([A-Z]\)$", "", metric))
    words = parts.lower().split(",")[0]
    for name in (words, re.sub("[-_/ ](mean|avg|average)$", "", re.split("[./]", words)[-1])):
        whole = re.sub("[^a-z0-9]", "", name[found.end() if (found := _SPLIT.match(name)) else 0 :])
        if whole in HIGHER | LOWER:
            return whole in LOWER
    return None


def unlikely(name: str) -> tuple[bool, ...]:
    """Sorts names by what is likely meant.

    No training, no cost, of known direction, rather a test than a validation, a mean.
    """
    of_all = re.search("avg|average|mean|overall", name.lower())
    of_training, of_test = "train" in name.lower(), not re.search(_VALIDATION, name.lower())
    return of_training, is_cost(name), lower_is_better(name) is None, not of_test, not of_all


def sounds_lower(metric: str) -> bool:
    """Whether a word of a score's name is a cost's, or that of one which is better if lower."""
    words = {*re.split(r"[\W_]+", metric.lower())}
    turned = {"neg", "negative", "reduction", "gain", "fps", "throughput"}  # as in loss_reduction
    return turned.isdisjoint(words) and not (LOWER | _COST).isdisjoint(words)


def score_words(names: Iterable[str]) -> list[str]:
    """The known scores that names begin or end with."""
    words = [re.split(r"[\W_]+", name.lower()) for name in names]
    return sorted({end for of in words for end in (of[0], of[-1])} & (HIGHER | LOWER))


def parts_of(names: Sequence[str], metric: str | None) -> dict[str, tuple[str, str]]:
    """The score and the arm in names that have each score of each arm, as ACC_a, ROC_a, ACC_b.

    Those of a ``metric`` alone where it is named; empty where the names are no such product, or
    neither part has a known score.
    """
    if metric:
        of_metric = re.compile(rf"{re.escape(metric)}[_/. -](.+)|(.+)[_/. -]{re.escape(metric)}")
        matches = {name: of_metric.fullmatch(name) for name in names}
        arms = {name: (metric, of[1] or of[2]) for name, of in matches.items() if of}
        return arms if len(arms) > 1 else {}
    for pattern in (r"(.+?)[_/. -](.+)", r"(.+)[_/. -](.+?)"):
        found = {name: re.fullmatch(pattern, name) for name in names}
        pairs = {name: (of[1], of[2]) for name, of in found.items() if of}
        sides = [{*side} for side in zip(*pairs.values(), strict=True)]
        if len(pairs) == len(names) and min(map(len, sides), default=0) > 1:
            if len(sides[0]) * len(sides[1]) != len({*pairs.values()}):
                continue
            for at, side in enumerate(sides):
                if any(lower_is_better(word) is not None for word in side):
                    return {name: (pair[at], pair[1 - at]) for name, pair in pairs.items()}
    return {}


def baselines(arms: Iterable[str]) -> list[str]:
    """The arms that are called a baseline; those alone whose whole name says so, if there are."""
    named = [arm for arm in arms if _BASE & {*re.findall("[a-z]+", arm.lower())}]
    return [arm for arm in named if arm.lower() in _BASE] or named


def arm_and_seed(path: str) -> tuple[str, str]:
    """The arm and the seed that a run's path names, "" where there is none."""
    path = "/".join(part for part in path.split("/") if not _NO_NAME.fullmatch(part))
    met = [*_IN_PATH.finditer(path)]
    for group in (1, 3, 5):
        if of_kind := [found for found in met if found[group]]:
            last = of_kind[-1]
            arm = path[: last.start()] + path[last.end() :]
            return arm.strip("-_., /"), "" if group == 5 else last[group + 1]
    return path, ""


def unnumbered(name: str) -> str:
    """A name without the number that it ends in."""
    found = _NUMBERED.fullmatch(name)
    return found[1] if found else name


def by_numbers(names: Sequence[str]) -> tuple[dict[str, tuple[str, str]], bool]:
    """The arm and the seed of names that may number runs, as base-1, base-2, new-1; else none.

    Whether they surely do: their numbers follow a word such as seed or run.
    """
    for sure in (True, False):
        found = {name: arm_and_seed(name) if sure else (unnumbered(name), "") for name in names}
        arms = [arm for arm, _ in found.values()]
        if len({*arms}) < len(arms) and {"", *names}.isdisjoint(arms):
            return found, sure
    return {}, False
