"""Calibration: how often a rule errs in a family of 20 claims, and how often it finds an effect.

Simulates the candidates, scenarios and criteria of ``benchmarks/rule_protocol.md``, which says what
each is, and applies its choice.

    python benchmarks/calibration.py --public FILE.csv [--families 4000]
    python benchmarks/calibration.py --page
    python benchmarks/calibration.py --lone

The first writes ``benchmarks/results/calibration.json``; the file of public runs has columns
``config`` and ``val_loss``. The second prints the tables of ``docs/verdicts.md`` from it, the third
the page's figures of claims that share no arm: a lone test's power, and half the deviation.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from records import table, written
from scipy import special

from embinit.runs.results import versions
from embinit.stats.interim import schedule

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results/calibration.json"
SIZE, SHARED, REGISTERED, SEED = 20, 4, 10, 20261127
ALPHA = 0.05
ANALYSES = schedule(3, 20, ALPHA / SIZE)
EFFECTS = {"1 sd": 1.0, "1.5 sd": 1.5, "2 sd": 2.0, "3 sd": 3.0}
MARGIN = math.sqrt(2)
"""Within which a claim without an effect is to be shown, in sds of the difference."""

DEVICES = {"registered": "FMSL", "none": "SAXL"}
"""The devices that do anything, by where the variance comes from."""

OWN = "own variance"
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Scores of mean 0 and deviation 1 whose logarithm has deviation 1."""
    return (rng.lognormal(size=shape) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)


def sometimes(chance: float, gap: float, rng: np.random.Generator, shape: Any) -> np.ndarray:
    """Normal scores of mean 0 of an arm that succeeds by a gap with some chance."""
    return rng.standard_normal(shape) + gap * ((rng.random(shape) < chance) - chance)


def arms(draw: Draw, differ: bool, rng: np.random.Generator, families: int, n: int) -> np.ndarray:
    """(families, 20, n) differences of mean 0; four claims at a time share a normal control."""

    def scores(draw: Draw, claims: int) -> np.ndarray:
        variance = rng.chisquare(8, (families, claims, 1)) / 8 if differ else 1.0
        return draw(rng, (families, claims, n)) / np.sqrt(variance)

    control = scores(np.random.Generator.standard_normal, SIZE // SHARED)
    return scores(draw, SIZE) - np.repeat(control, SHARED, axis=1)


def resampled(groups: Sequence[Any], pairs: bool, rng: Any, families: int, n: int) -> np.ndarray:
    """The same of real differences (``pairs`` draws two groups, and takes their difference)."""

    def drawn() -> np.ndarray:
        which = rng.integers(len(groups), size=(families, SIZE))
        sizes = np.array([len(group) for group in groups])
        padded = np.zeros((len(groups), sizes.max()))
        for row, group in zip(padded, groups, strict=True):
            row[: len(group)] = np.asarray(group) - np.mean(group)
        place = (rng.random((families, SIZE, n)) * sizes[which][..., None]).astype(int)
        return padded[which[..., None], place]

    return drawn() - drawn() if pairs else drawn()


def stored_differences(tier: str) -> list[np.ndarray]:
    """Differences of two arms of one experiment, of twelve or more seeds that both have."""
    document = json.loads((ROOT / f"reports/reference/{tier}/verdicts.json").read_text("utf-8"))
    known: dict[Any, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for entry in document["claims"]:
        for pair in entry["comparisons"]:
            for side in () if pair["exact"] else ("left", "right"):
                scores = zip(pair["seeds"], pair[f"{side}_values"], strict=True)
                known[entry["experiment"], pair["metric"]][pair["arms"][side]].update(scores)
    found = []
    for experiment in known.values():
        for one, other in itertools.combinations(experiment.values(), 2):
            common = [seed for seed in one if seed in other]
            differences = np.array([one[seed] - other[seed] for seed in common])
            if len(common) >= 12 and differences.std() > 0:
                found.append(differences)
    return found


def public_runs(path: Path) -> list[list[float]]:
    """The losses of each configuration of eight or more runs."""
    runs = defaultdict(list)
    with path.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            runs[row["config"]].append(float(row["val_loss"]))
    return [losses for losses in runs.values() if len(losses) >= 8]


def scenarios(public: Path) -> Iterator[tuple[str, float | None, float, Any]]:
    """Name, limit (None for what is assumed), registered over true deviation, and draw."""
    normal: Draw = np.random.Generator.standard_normal
    yield "normal", 0.05, 1.0, partial(arms, normal, False)
    yield "normal, variances differ", 0.05, 1.0, partial(arms, normal, True)
    heavy: Draw = lambda rng, shape: rng.standard_t(3, size=shape)  # noqa: E731
    yield "t with 3 degrees", 0.05, 1.0, partial(arms, heavy, False)
    yield "lognormal", 0.05, 1.0, partial(arms, lognormal, False)
    for tier, name in (("micro", "synthetic tier"), ("sample", "real-text tier")):
        yield f"real: {name}", 0.05, 1.0, partial(resampled, stored_differences(tier), False)
    yield "real: public runs", 0.05, 1.0, partial(resampled, public_runs(public), True)
    for gap, chance in itertools.product((3, 5, 10), (0.1, 0.2)):
        odd = partial(arms, partial(sometimes, chance, gap), False)
        yield f"{chance:.0%} of seeds by {gap} sd", None if gap == 10 else 0.1, 1.0, odd
    yield "half the deviation registered", 0.1, 0.5, partial(arms, normal, False)
    yield "twice the deviation registered", 0.1, 2.0, partial(arms, normal, False)


def bounds(
    seen: np.ndarray, least: np.ndarray | None, level: float
) -> tuple[np.ndarray, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Means with all seeds and without each, and how far they must lie above and below a bound.

    The latter for each rule, with its devices as its name; L is up to who reads them.
    """
    n = seen.shape[-1]
    ns = np.array([n] + [n - 1] * n)
    middle = seen.mean(axis=-1, keepdims=True)
    away = seen - middle
    left_out = np.concatenate([np.zeros_like(middle), away], axis=-1)
    # Sums of powers give the moments without each seed.
    squares = (away**2).sum(axis=-1, keepdims=True) - left_out**2
    cubes = (away**3).sum(axis=-1, keepdims=True) - left_out**3
    moved = -left_out / ns
    second = np.maximum(squares / ns - moved**2, 1e-24)
    skew = (cubes / ns - 3 * moved * squares / ns + 2 * moved**3) / second**1.5
    variance, own = second * ns / (ns - 1), -special.stdtrit(ns - 1, level)
    found = {}
    source = "none" if least is None else "registered"
    for rule in subsets(DEVICES[source].replace("L", "")):
        deviation, bound = np.sqrt(variance), own
        if least is not None:
            more, floor = REGISTERED - 1, least[..., None]
            pooled = ((ns - 1) * variance + more * floor**2) / (ns - 1 + more)
            most = special.fdtri(n - 1, more, 0.9) if "F" in rule else math.inf
            dropped = variance[..., :1] > most * floor**2
            deviation = np.where(dropped, np.maximum(deviation, floor), np.sqrt(pooled))
            deviation = np.maximum(deviation, floor if "M" in rule else 0.0)
            bound = np.where(dropped, own, -special.stdtrit(ns - 1 + more, level))
        lean, assumed = (1 + 2 * bound**2) / (6 * np.sqrt(ns)), 1.5 * ("A" in rule)
        skewed = skew if "S" in rule else np.zeros_like(skew)
        error = deviation / np.sqrt(ns)
        if "X" in rule and n < 6:
            error = error + np.inf
        found[rule] = tuple(
            np.where(
                error > 1e-11, (bound + lean * np.maximum(way * skewed, assumed)) * error, np.inf
            )
            for way in (-1, 1)
        )
    return middle + moved, found


def subsets(devices: str) -> list[str]:
    """Every subset of devices, the empty one first."""
    sizes = range(len(devices) + 1)
    return ["".join(s) for size in sizes for s in itertools.combinations(devices, size)]


def simulate(draw: Any, times: float, source: str, families: int, rng: Any) -> Iterator[Any]:
    """Of each interim analysis the means of a family's claims, and what each rule must pass."""
    values = draw(rng, families, ANALYSES[-1].seeds + REGISTERED)
    least = times * values[..., -REGISTERED:].std(axis=-1, ddof=1)
    for analysis in ANALYSES:
        level = analysis.share * ALPHA / SIZE
        known = least if source == "registered" else None
        yield bounds(values[..., : analysis.seeds], known, level)


def without_any(shown: np.ndarray, robust: bool) -> np.ndarray:
    """Whether each claim's mean is shown: with all seeds, and where ``robust`` without each."""
    return shown.all(axis=-1) if robust else shown[..., 0]


def rates(draw: Any, times: float, source: str, families: int) -> dict[str, float]:
    """Of each rule the share of families with a claim shown above its mean, or below."""
    rng = np.random.default_rng(SEED)
    wrong: dict[str, np.ndarray] = defaultdict(lambda: np.zeros((2, families), dtype=bool))
    for mean, found in simulate(draw, times, source, families, rng):
        for rule, (above, below) in found.items():
            for robust in (False, True):
                name = rule + "L" * robust
                for side, shown in enumerate((mean >= above, mean <= -below)):
                    wrong[name][side] |= without_any(shown, robust).any(axis=-1)
    return {rule: float(sides.mean(axis=-1).max()) for rule, sides in wrong.items()}


def power(source: str, families: int) -> dict[str, dict[str, list[float]]]:
    """Of each rule how often analyses show effects, and none to lie within a margin."""
    rng, unit = np.random.default_rng(SEED + 1), math.sqrt(2)
    normal = partial(arms, np.random.Generator.standard_normal, False)
    done: dict[str, Any] = defaultdict(lambda: defaultdict(lambda: False))
    table: dict[str, Any] = defaultdict(lambda: defaultdict(list))
    for mean, found in simulate(normal, 1.0, source, families, rng):
        for rule, (above, below) in found.items():
            shown = {name: mean + unit * effect >= above for name, effect in EFFECTS.items()}
            inside = (mean + unit * MARGIN >= above) & (mean - unit * MARGIN <= -below)
            for name, seen in (shown | {"none": inside}).items():
                for robust in (False, True):
                    key = rule + "L" * robust
                    done[key][name] = done[key][name] | without_any(seen, robust)
                    table[key][name].append(round(float(done[key][name].mean()), 4))
    return table


def lone(claims: int = 20_000) -> Iterator[str]:
    """Power of a test that is its file's only one, and errors of claims that share no arm."""
    normal: Draw = np.random.Generator.standard_normal
    for name, effect in EFFECTS.items():
        values = np.random.default_rng(SEED).standard_normal((claims, 1, 20)) + effect
        found, shown = np.zeros((claims, 1), dtype=bool), []
        for analysis in schedule(6, 20, ALPHA):
            mean, by_rule = bounds(values[..., : analysis.seeds], None, analysis.share * ALPHA)
            found |= (mean >= by_rule["S"][0]).all(axis=-1)
            shown.append(f"{100 * found.mean():.0f}")
        yield f"{name}: {', '.join(shown)} %"
    independent = lambda rng, families, n: normal(rng, (families, SIZE, n))  # noqa: E731
    half = rates(independent, 0.5, "registered", claims // 5)["SL"]
    yield f"half the deviation registered: {100 * half:.1f} %"


def of_candidate(by_rule: Mapping[str, Mapping[str, Any]], devices: str) -> dict[str, Any]:
    """What a candidate has with registered seeds, and with none."""
    if devices == OWN:
        return dict.fromkeys(DEVICES, by_rule["none"][""])
    order = {s: "".join(d for d in known if d in devices) for s, known in DEVICES.items()}
    return {source: by_rule[source][rule] for source, rule in order.items()}


def mean_power(by_source: Mapping[str, Mapping[str, Sequence[float]]]) -> float:
    """The one number of the protocol, in percent."""
    every = [share for table in by_source.values() for found in table.values() for share in found]
    return 100 * float(np.mean(every))


def excess(document: Mapping[str, Any], devices: str) -> dict[str, float]:
    """By how many points a candidate's rates exceed their limits, where by more than chance."""
    over = {}
    for scenario, limit in document["limits"].items():
        for source, rate in of_candidate(document["rates"][scenario], devices).items():
            if limit is not None:
                error = math.sqrt(limit * (1 - limit) / document["families"])
                if rate > limit + 2 * error:
                    over[f"{scenario}, {source}"] = round(100 * (rate - limit), 2)
    return over


def chosen(document: Mapping[str, Any]) -> str:
    """The candidate that the protocol chooses."""
    candidates = [*subsets("FMSALX"), OWN]
    over = {rule: sum(excess(document, rule).values()) for rule in candidates}
    least = min(over.values())
    admitted = [rule for rule in candidates if over[rule] <= (least + 1 if least else 0)]
    found = {rule: mean_power(of_candidate(document["power"], rule)) for rule in admitted}
    best = max(admitted, key=lambda rule: found[rule])
    devices = {rule: 0 if rule == OWN else len(rule) for rule in admitted}
    for fewer in sorted(admitted, key=lambda rule: (-devices[rule], -found[rule])):
        saved = devices[best] - devices[fewer]
        if saved > 0 and found[fewer] > found[best] - 2 * saved:
            best = fewer
    return best


def tables(document: Mapping[str, Any]) -> list[str]:
    """Error rates and power of the chosen rule and of a plain paired t."""
    compared = {"chosen": document["chosen"], "plain": ""}
    columns = [f"{rule}, {source}" for rule in compared for source in ("registered", "own")]
    errors, powers = [], []
    for scenario, limit in document["limits"].items():
        cells = []
        for rule in compared.values():
            over = excess(document, rule)
            for source, rate in of_candidate(document["rates"][scenario], rule).items():
                cell = f"{100 * rate:.1f}"
                cells.append(f"**{cell}**" if f"{scenario}, {source}" in over else cell)
        errors.append([scenario, "assumed" if limit is None else f"{limit:.0%}", *cells])
    for effect in (*EFFECTS, "none"):
        found = [of_candidate(document["power"], rule) for rule in compared.values()]
        cells = [by_effect[effect] for by_source in found for by_effect in by_source.values()]
        percents = [", ".join(f"{100 * share:.0f}" for share in cell) for cell in cells]
        powers.append(["no effect" if effect == "none" else effect, *percents])
    return [table(["scenario", "limit", *columns], errors), table(["effect", *columns], powers)]


def main() -> None:
    """Simulates, prints the candidates, writes the results; or prints their tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--public", type=Path, help="a table of public runs")
    parser.add_argument("--families", type=int, default=4000)
    parser.add_argument("--page", action="store_true", help="print the tables of the results")
    parser.add_argument("--lone", action="store_true", help="claims that share no arm")
    given = parser.parse_args()
    if given.lone:
        print(*lone(), sep="\n")
        return
    if given.page:
        print("\n".join(tables(json.loads(RESULTS.read_text("utf-8")))), end="")
        return
    document: dict[str, Any] = {
        "families": given.families,
        "versions": {name: versions()[name] for name in ("python", "numpy", "scipy")},
        "limits": {},
        "rates": {},
        "power": {source: power(source, given.families) for source in DEVICES},
    }
    for name, limit, times, draw in scenarios(given.public):
        document["limits"][name] = limit
        document["rates"][name] = {s: rates(draw, times, s, given.families) for s in DEVICES}
        print(name, flush=True)
    document["chosen"] = chosen(document)
    written(RESULTS, document)
    for rule in [*subsets("FMSALX"), OWN]:
        power_of = mean_power(of_candidate(document["power"], rule))
        print(f"{rule or 'plain'}: power {power_of:.1f}, over {excess(document, rule) or 'none'}")
    print("chosen:", document["chosen"] or "plain")


if __name__ == "__main__":
    main()
