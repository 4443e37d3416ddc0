"""Calibration: how often the procedure that decides claims errs, and how often it finds an effect.

Simulates suites of one family of 20 claims, lets them be decided as a session would (each claim
with its share of alpha, one look or several, a spread registered on ten seeds of its own, on three,
or on none), and counts:

- *false SUPPORTED*: the truth lies at the edge of what the claim excludes (no difference for ``<``,
  a loss of exactly the margin for ``>=`` …), which is where erring is likeliest. Family-wise: at
  least one of the 20 is SUPPORTED. Nominal: 5 %.
- *false REFUTED*, *false NO EFFECT*: the same for the opposite, and for a difference of exactly the
  margin.
- *power*: how often a single true effect is SUPPORTED, and how often no effect is found to be none,
  with the mean number of seeds that this takes.

Claims of each kind (``<``, ``>=``, ``~``, a difference of differences, a trend) compare arms. Four
claims at a time share their control, as arms share Xavier. Arms vary alike, or by variances from a
scaled inverse chi-square; scores are normal, heavy-tailed (t with 3 degrees of freedom), skewed
(exponential), lognormal, or those of an arm that "gets it" on some seeds and not on others. The gap
between the two is told in standard deviations of the control, and so is ``wide``. A registered
spread may be half or twice the true one. ``--candidates`` holds other rules against the one in use:
it is how that was chosen.

All is done in numpy for speed; a sample of it is held against ``paired_tests.compare``.

    python benchmarks/calibration.py [--suites 1000] [--candidates] [--json FILE]
    python benchmarks/calibration.py --page

The second simulates nothing. From ``benchmarks/results/calibration.json`` it writes
``docs/calibration.md``.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from embinit.claims.looks import Look, schedule
from embinit.claims.paired_tests import (
    ASSUMED_SKEWNESS,
    CONTRADICTED,
    ENOUGH_REGISTERED,
    FEWEST_SEEDS,
    RegisteredSd,
    Relation,
    Verdict,
    _sides,
    compare,
)
from embinit.runs.results import versions

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results/calibration.json"
PAGE = ROOT / "docs/calibration.md"
ALPHA = 0.05
SIZE = 20
SHARE = ALPHA / SIZE
REGISTERED = (10, 3, 0)
"""How many seeds a spread is registered on: the papers' claims, few, and a user's own."""

MARGIN = 2.0
"""In standard deviations of an arm's scores, as the noise floor sets it."""

SHARED = 4
"""How many claims share a control."""

WIDTHS = np.log2((8, 32, 64, 256))
SCHEDULES = {
    "6 seeds": schedule(6, None, SHARE),
    "3, 6, 12, 20 seeds": schedule(3, 20, SHARE),
}
SEVERAL = list(SCHEDULES)[-1]
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def gets_it(chance: float, gap: float) -> Draw:
    """Scores of mean 0 that lie higher by ``gap`` with ``chance``, and vary by 1 on either side."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        higher = gap * (rng.random(shape) < chance)
        return np.asarray(rng.standard_normal(shape) + higher - gap * chance)

    return draw


def lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Scores of mean 0 and standard deviation 1 whose logarithm is normal with deviation 1."""
    drawn = rng.lognormal(size=shape) - math.exp(0.5)
    return np.asarray(drawn / math.sqrt((math.e - 1) * math.e))


SCORES: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy-tailed": lambda rng, shape: rng.standard_t(3, size=shape) / math.sqrt(3),
    "skewed up": lambda rng, shape: rng.exponential(size=shape) - 1,
    "skewed down": lambda rng, shape: 1 - rng.exponential(size=shape),
    "lognormal": lognormal,
    "half, by 10": gets_it(0.5, 10),
    "fifth, by 5": gets_it(0.2, 5),
    "fifth, by 10": gets_it(0.2, 10),
    "tenth, by 10": gets_it(0.1, 10),
    "all but a tenth, by 10": gets_it(0.9, 10),
}
"""Scores with mean 0."""


@dataclass(frozen=True)
class World:
    """How the arms of a suite vary.

    Attributes:
        name: Its name in the table.
        scores: The scores of the arms that are compared; the control's are normal.
        degrees: Degrees of freedom of the inverse chi-square that arms' variances are drawn from;
            None means that all vary alike.
        wide: How many times the control's deviation the compared arms have.
        some: How many of the 20 claims have such an arm; the others' scores are normal.
        registered: How many times the true spread is registered.
        most: The highest rate of an error that the rule is to have, family-wise.
    """

    name: str
    scores: str = "normal"
    degrees: float | None = 8
    wide: float = 1.0
    some: int = SIZE
    registered: float = 1.0
    most: float = 0.1


WORLDS = (
    World("all arms vary alike", degrees=None, most=ALPHA),
    World("variances differ (8 degrees)", most=ALPHA),
    World("variances differ (3 degrees)", degrees=3, most=ALPHA),
    World("one arm three times as wide", wide=3, most=ALPHA),
    World("heavy-tailed", "heavy-tailed", most=ALPHA),
    World("skewed up, three times as wide", "skewed up", wide=3, most=ALPHA),
    World("skewed down, three times as wide", "skewed down", wide=3, most=ALPHA),
    World("lognormal, three times as wide", "lognormal", wide=3),
    World("half the spread is registered", registered=0.5),
    World("twice the spread is registered", registered=2),
    World("an arm gets it in 5 of 10 seeds, by 10 sd", "half, by 10"),
    World("in 2 of 10, by 5 sd", "fifth, by 5"),
    World("in 2 of 10, by 10 sd", "fifth, by 10"),
    World("in 1 of 10, by 10 sd", "tenth, by 10"),
    World("the same, in 3 of 20 claims", "tenth, by 10", some=3),
    World("an arm fails in 1 of 10 seeds, by 10 sd", "all but a tenth, by 10"),
)

KINDS: dict[str, Relation] = {
    "<": Relation.BELOW,
    ">=": Relation.NOT_BELOW,
    "~": Relation.ALIKE,
    "difference of differences": Relation.BELOW,
    "trend": Relation.ABOVE,
}


def deviations(
    world: World, rng: np.random.Generator, shape: tuple[int, ...], wide: float
) -> np.ndarray:
    """Standard deviations of arms."""
    if world.degrees is None:
        return np.full(shape, wide)
    return np.asarray(wide / np.sqrt(rng.chisquare(world.degrees, shape) / world.degrees))


def suites(world: World, kind: str, rng: np.random.Generator, count: int, n: int) -> np.ndarray:
    """(count, 20, n) differences of mean 0: what claims of a kind compare, seed by seed."""
    odd, normal = SCORES[world.scores], SCORES["normal"]

    def arms(draw: Draw, wide: float, shared: bool) -> np.ndarray:
        claims = SIZE // SHARED if shared else SIZE
        scores = deviations(world, rng, (count, claims, 1), wide) * draw(rng, (count, claims, n))
        return np.repeat(scores, SHARED, axis=1) if shared else scores

    compared, control = arms(odd, world.wide, False), arms(normal, 1.0, True)
    if world.some < SIZE:
        compared[:, world.some :] = arms(normal, 1.0, False)[:, world.some :]
    if kind == "difference of differences":
        return compared - control - (arms(normal, 1.0, False) - arms(normal, 1.0, True))
    if kind == "trend":
        weights = (WIDTHS - WIDTHS.mean()) / ((WIDTHS - WIDTHS.mean()) ** 2).sum()
        others = [arms(normal, 1.0, False) for _ in WIDTHS[1:]]
        slopes = sum(w * each for w, each in zip(weights, (*others, compared), strict=True))
        return np.asarray(slopes)
    return compared - control


@dataclass(frozen=True)
class Rule:
    """How differences are decided upon.

    Attributes:
        pooled: Whether a registered spread is pooled, and is the least that is believed.
        without_one: Whether a decision has to stand without any one of its seeds.
        skewed: Whether a bound is moved by the skewness of the claim's own differences.
        assumed: The skewness that differences are taken to have at least.
        enough: How many registered seeds spare a claim that, and let it be decided early.
        fewest: How many seeds decide at the earliest where there are fewer.
        contradicted: The level of the F-test that drops a registered spread; None drops none.
    """

    pooled: bool = True
    without_one: bool = True
    skewed: bool = True
    assumed: float = ASSUMED_SKEWNESS
    enough: int = ENOUGH_REGISTERED
    fewest: int = FEWEST_SEEDS
    contradicted: float | None = CONTRADICTED


IN_USE = Rule()
FORMER = Rule(skewed=False, assumed=0, fewest=0, contradicted=None)
RULES = {
    "paired t": replace(FORMER, pooled=False, without_one=False),
    "pooled, without any one seed": FORMER,
    "the same, and skewness": replace(FORMER, skewed=True),
    "in use": IN_USE,
    "in use, as though none were registered": replace(IN_USE, enough=1000),
}


class Estimate(NamedTuple):
    """Means of differences with all seeds, then without each, and what lies within chance.

    Attributes:
        mean: The means.
        above: How far above a bound a mean has to lie to be shown above it.
        below: How far below.
    """

    mean: np.ndarray
    above: np.ndarray
    below: np.ndarray


def estimate(
    seen: np.ndarray, sd: np.ndarray, registered: int, level: float, rule: Rule
) -> Estimate:
    """What a rule makes of differences (…, n) at one look.

    Args:
        seen: The differences.
        sd: The registered standard deviations.
        registered: How many seeds those were registered on; 0 for none.
        level: The level of the look.
        rule: The rule.
    """
    n = seen.shape[-1]
    without = rule.without_one and n > 2
    ns = np.array([n] + [n - 1] * n * without)
    middle = seen.mean(axis=-1, keepdims=True)
    away = seen - middle
    left_out = np.concatenate([np.zeros_like(middle), away], axis=-1)[..., : len(ns)]
    # Sums of powers give the moments without each seed.
    squares = (away**2).sum(axis=-1, keepdims=True) - left_out**2
    cubes = (away**3).sum(axis=-1, keepdims=True) - left_out**3
    moved = -left_out / ns
    spread = np.maximum(squares / ns - moved**2, 1e-24)
    skew = (cubes / ns - 3 * moved * squares / ns + 2 * moved**3) / spread**1.5
    variance = spread * ns / (ns - 1)
    deviation, bound = np.sqrt(variance), -special.stdtrit(ns - 1, level)
    if rule.pooled and registered:
        least, more = sd[..., None], registered - 1
        pooled = np.sqrt(((ns - 1) * variance + more * least**2) / (ns - 1 + more))
        dropped = np.zeros(least.shape, dtype=bool)
        if rule.contradicted is not None:
            most = special.fdtri(n - 1, more, 1 - rule.contradicted)
            dropped = variance[..., :1] > most * least**2
        deviation = np.maximum(np.where(dropped, deviation, pooled), least)
        bound = np.where(dropped, bound, -special.stdtrit(ns - 1 + more, level))
    few = registered < rule.enough
    lean = (1 + 2 * bound**2) / (6 * np.sqrt(ns))
    assumed = rule.assumed if few else 0.0
    up, down = (
        bound + lean * np.maximum(side * skew if rule.skewed else 0.0, assumed) for side in (-1, 1)
    )
    up, down = (np.broadcast_to(each, skew.shape) for each in (up, down))
    if few and n < rule.fewest:
        up, down = np.full_like(up, np.inf), np.full_like(down, np.inf)
    error = deviation / np.sqrt(ns)
    return Estimate(middle + moved, up * error, down * error)


def estimates(
    values: np.ndarray, registered: np.ndarray, times: float, looks: Sequence[Look], rule: Rule
) -> list[Estimate]:
    """What a rule makes of differences at each look, with their spread registered."""
    sd = np.zeros(values.shape[:-1])
    if registered.shape[-1]:
        sd = times * registered.std(axis=-1, ddof=1)
    return [
        estimate(values[..., : look.seeds], sd, registered.shape[-1], SHARE * look.share, rule)
        for look in looks
    ]


def decide(
    found: Sequence[Estimate], relation: Relation, looks: Sequence[Look], moved: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Verdicts, look after look: 1 (SUPPORTED), -1 (REFUTED), 2 (NO EFFECT) or 0, and seeds.

    Args:
        found: What was made of the differences at each look.
        relation: What is stated.
        looks: The looks.
        moved: What is added to the differences.
    """
    supporting, opposing = _sides(relation, MARGIN)
    within = [] if relation.uses_margin else _sides(Relation.ALIKE, MARGIN)[0]
    verdict = np.zeros(found[0].mean.shape[:-1], dtype=int)
    seeds = np.zeros(verdict.shape, dtype=int)
    for look, (mean, above, below) in zip(looks, found, strict=True):

        def shown(
            bound: float,
            side: str,
            mean: np.ndarray = mean + moved,
            above: np.ndarray = above,
            below: np.ndarray = below,
        ) -> np.ndarray:
            beyond = mean - bound >= above if side == "greater" else bound - mean >= below
            return np.asarray(beyond)

        each = np.zeros(mean.shape, dtype=int)
        if within:
            each = np.where(np.all([shown(*side) for side in within], axis=0), 2, each)
        each = np.where(np.any([shown(*side) for side in opposing], axis=0), -1, each)
        each = np.where(np.all([shown(*side) for side in supporting], axis=0), 1, each)
        now = np.where((each == each[..., :1]).all(axis=-1), each[..., 0], 0)
        seeds = np.where(verdict == 0, look.seeds, seeds)
        verdict = np.where(verdict == 0, now, verdict)
    return verdict, seeds


def edges(relation: Relation) -> dict[str, tuple[int, float]]:
    """For each error its verdict, and the true mean at which it is likeliest."""
    if relation is Relation.ALIKE:
        return {"supported": (1, MARGIN), "refuted": (-1, MARGIN)}
    if relation is Relation.NOT_BELOW:
        return {"supported": (1, -MARGIN), "refuted": (-1, -MARGIN)}
    wrong = MARGIN if relation is Relation.ABOVE else -MARGIN
    return {"supported": (1, 0.0), "refuted": (-1, 0.0), "no_effect": (2, wrong)}


def errors(
    world: World, looks: Sequence[Look], registered: int, count: int, seed: int, rule: Rule
) -> dict[str, dict[str, float]]:
    """Family-wise rates of each error, as though all 20 claims were of one kind."""
    rates: dict[str, dict[str, float]] = {}
    most = looks[-1].seeds
    for kind, relation in KINDS.items():
        rng = np.random.default_rng((seed, most, len(looks)))
        null = suites(world, kind, rng, count, most + registered)
        found = estimates(null[..., :most], null[..., most:], world.registered, looks, rule)
        rates[kind] = {}
        for name, (wrong, edge) in edges(relation).items():
            verdict, _ = decide(found, relation, looks, edge)
            rates[kind][name] = round(float((verdict == wrong).any(axis=1).mean()), 4)
    return rates


def worst(rates: dict[str, dict[str, float]]) -> dict[str, float]:
    """The largest rate of each error over the kinds of claims."""
    names = ("supported", "refuted", "no_effect")
    return {name: max(kind.get(name, 0.0) for kind in rates.values()) for name in names}


def power(
    looks: Sequence[Look], registered: int, count: int, seed: int, rule: Rule
) -> dict[str, float]:
    """How often true effects are found, and the mean number of seeds; arms vary by 8 degrees."""
    most = looks[-1].seeds
    rng = np.random.default_rng((seed, 1, most))
    null = suites(World(""), "<", rng, count, most + registered)
    found = estimates(null[..., :most], null[..., most:], 1.0, looks, rule)
    wanted = [
        (f"{effect:g} sd", Relation.BELOW, 1, -effect * math.sqrt(2))
        for effect in (1, 1.5, 2, 3, 4)
    ]
    wanted += [
        ("NO EFFECT of <", Relation.BELOW, 2, 0.0),
        (">= where there is none", Relation.NOT_BELOW, 1, 0.0),
        ("~ where there is none", Relation.ALIKE, 1, 0.0),
    ]
    row: dict[str, float] = {}
    for name, relation, right, moved in wanted:
        verdict, seeds = decide(found, relation, looks, moved)
        row[name] = round(float((verdict == right).mean()), 3)
        row[f"{name}, seeds"] = round(float(seeds.mean()), 1)
    return row


def agrees(checked: int, seed: int) -> None:
    """Hold ``decide`` against what decides claims, on random differences near the edges."""
    rng = np.random.default_rng(seed)
    words = {Verdict.SUPPORTED: 1, Verdict.REFUTED: -1, Verdict.NO_EFFECT: 2, Verdict.UNDECIDED: 0}
    looks = SCHEDULES[SEVERAL]
    for _ in range(checked):
        relation = Relation(rng.choice(list(Relation)))
        scores = SCORES[str(rng.choice(list(SCORES)))]
        seeds = int(rng.choice(REGISTERED))
        drawn = scores(rng, (20 + seeds,)) * rng.uniform(0.2, 2)
        values, registered, times = drawn[:20] + rng.uniform(-4, 4), drawn[20:], rng.uniform(0.3, 2)
        spread = RegisteredSd(float(times * registered.std(ddof=1)), seeds) if seeds else None
        theirs = 0
        for look in looks:
            seen = values[: look.seeds]
            level = SHARE * look.share
            outcome = compare(seen, np.zeros(look.seeds), relation, level, MARGIN, spread=spread)
            theirs = theirs or words[outcome.verdict]
        found, _ = decide(estimates(values, registered, times, looks, IN_USE), relation, looks)
        if int(found) != theirs:
            raise SystemExit(
                f"decide says {found}, compare {theirs}: {relation}, {values}, {spread}"
            )


TEXT = """# Calibration: how often a verdict errs

`{command}` simulates suites of 20 [claims](glossary.md#statistics) in which the truth lies
exactly at the edge of what each claim, its opposite, or no effect excludes. It has them decided
as a session decides them, and counts the suites with at least one wrong verdict. {suites:,}
suites, seed fixed, {versions}; every figure is in `benchmarks/results/calibration.json`. Nominal
is 5 %; the Monte-Carlo error of such a rate is {error:.1f} points.

A suite is of one kind of claim (`<`, `>=`, `~`, a difference of differences, a trend over four
widths); the table shows the kind that errs most. Four claims at a time share their control. A
spread is registered on ten seeds of its own, as those of the papers' claims are, on three, or not
at all, as your own claims begin.

Arms' variances are drawn from an inverse chi-square with 8 degrees of freedom where nothing else is
said. A gap "by 10 sd" is ten standard deviations of the
control.

The rule is to keep a false verdict (SUPPORTED or REFUTED) and a false NO EFFECT to 5 % each where
scores are normal, heavy-tailed, or skewed and three times as wide, and to 10 % in the other worlds.
What exceeds that is set in **bold**. Each cell has the larger rate of a false SUPPORTED and a false
REFUTED, then that of a false NO EFFECT.

{errors}

- Each of the errors is held by itself. A claim of several comparisons is SUPPORTED when all of them
  are, and falls with one, so each of k refutes, or shows no effect, at 1/k of its share.
- Where nothing is odd the rates lie well below 5 %. That is the price of what holds the skewed
  cases: the registered spread is the least that is believed, a decision has to stand without any
  one of its seeds, and a bound is moved outwards by the skewness of the claim's own differences.
- **What is assumed**: in a family where *every* claim has an arm that now and then fails, or gets
  it, by ten standard deviations, many a registered spread and many a claim never meets it. What
  wasn't seen can't be reckoned with. With ten registered seeds the rate is {tenth} where it happens
  on one seed of ten, and {fifth} on one of five; where three claims of twenty have such an arm it
  is {some}.
- **Without registered seeds** the rate is {unregistered} where every claim has an arm that gets it
  on one seed of five, by ten standard deviations. `embinit register` is the mend: it also finds
  smaller effects with fewer seeds.

How often a true effect is found, in standard deviations of the paired difference, with the mean
number of seeds that it takes; the margin is two standard deviations of an arm:

{power}

Other rules were tried on the same suites; `benchmarks/results/calibration.json` has their rates.
"""


def percent(rate: float, most: float = 1.0) -> str:
    """A rate with one digit, in bold where it is more than the rule is to have."""
    text = f"{100 * rate:.1f} %"
    return f"**{text}**" if rate > most else text


def found_with_seeds(row: dict[str, Any], effect: str) -> str:
    """How often an effect is found, and with how many seeds."""
    return f"{100 * row[effect]:.0f} % ({row[f'{effect}, seeds']})"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))


def in_words(registered: int) -> str:
    """How many seeds a spread is registered on."""
    return f"{registered} registered" if registered else "none registered"


def page(document: dict[str, Any]) -> str:
    """The page: how often the rule in use errs."""
    rates = {
        (row["rule"], row["registered"], row["looks"], row["world"]): worst(row["rates"])
        for row in document["errors"]
    }

    def wrong(registered: int, looks: str, world: str) -> float:
        found = rates["in use", registered, looks, world]
        return max(found["supported"], found["refuted"])

    def cell(registered: int, looks: str, world: World) -> str:
        none = rates["in use", registered, looks, world.name]["no_effect"]
        false = wrong(registered, looks, world.name)
        return f"{percent(false, world.most)}, {percent(none, world.most)}"

    def in_use(world: str, registered: int = REGISTERED[0]) -> str:
        return percent(wrong(registered, SEVERAL, world))

    shown = [row for row in document["power"] if row["rule"] == "in use"]
    effects = [name for name in shown[0] if f"{name}, seeds" in shown[0]]
    powers = [
        [row["looks"], in_words(row["registered"]), *(found_with_seeds(row, e) for e in effects)]
        for row in shown
    ]
    return TEXT.format(
        command=document["command"],
        suites=document["suites"],
        versions=", ".join(f"{name} {version}" for name, version in document["versions"].items()),
        error=100 * math.sqrt(ALPHA * (1 - ALPHA) / document["suites"]),
        errors=table(
            ["scores of the compared arms", "looks", *map(in_words, REGISTERED)],
            [
                [world.name, looks, *(cell(registered, looks, world) for registered in REGISTERED)]
                for looks in SCHEDULES
                for world in WORLDS
            ],
        ),
        tenth=in_use("an arm fails in 1 of 10 seeds, by 10 sd"),
        fifth=in_use("in 2 of 10, by 10 sd"),
        some=in_use("the same, in 3 of 20 claims"),
        unregistered=in_use("in 2 of 10, by 10 sd", 0),
        power=table(["looks", "spread", *effects], powers),
    )


def main() -> None:
    """Simulate, print tables, write JSON; or write the page."""
    parser = argparse.ArgumentParser(description="calibration of the verdicts")
    parser.add_argument("--suites", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20240712)
    parser.add_argument("--candidates", action="store_true", help="hold other rules against it")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", action="store_true", help="write the page from the JSON")
    arguments = parser.parse_args()
    if arguments.page:
        document = json.loads(RESULTS.read_text(encoding="utf-8"))
        PAGE.write_text(page(document), encoding="utf-8")
        return
    agrees(300, arguments.seed)
    error = 1.96 * math.sqrt(ALPHA * (1 - ALPHA) / arguments.suites)
    print(f"{arguments.suites} suites of {SIZE} claims; 5 % is met up to {ALPHA + error:.2%}")
    chosen = RULES if arguments.candidates else {"in use": IN_USE}
    rows: list[dict[str, object]] = []
    powers: list[dict[str, object]] = []
    # One look is simulated for the rule in use alone.
    for name, registered, plan in product(chosen, REGISTERED, SCHEDULES):
        if name != "in use" and plan != SEVERAL:
            continue
        named = {"rule": name, "registered": registered, "looks": plan}
        looks, drawn = SCHEDULES[plan], (registered, arguments.suites, arguments.seed)
        for world in WORLDS:
            rates = errors(world, looks, *drawn, chosen[name])
            rows.append({**named, "world": world.name, "rates": rates})
            listed = ", ".join(f"{what} {rate:.1%}" for what, rate in worst(rates).items())
            print(f"{name} | {registered} | {plan} | {world.name} | {listed}", flush=True)
        row = power(looks, *drawn, chosen[name])
        powers.append({**named, **row})
        print(f"{name} | {registered} | {plan} | power {row}", flush=True)
    if arguments.json:
        known = {name: versions()[name] for name in ("python", "numpy", "scipy")}
        options = " --candidates" if arguments.candidates else ""
        document = {
            "command": f"python benchmarks/calibration.py --suites {arguments.suites}{options}",
            "seed": arguments.seed,
            "suites": arguments.suites,
            "versions": known,
            "errors": rows,
            "power": powers,
        }
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
