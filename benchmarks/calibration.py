"""Calibration: how often the procedure that decides claims errs, and how often it finds an effect.

Simulates suites of one family of 20 claims, lets them be decided as a session would (each claim
with its share of alpha, one look or several, a spread registered on seeds of its own), and counts:

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
(exponential), or those of an arm that now and then fails to train (two of ten seeds lose five of
its standard deviations, one of ten loses ten). ``--candidates`` holds other statistics against the
one in use: it is how that was chosen.

All is done in numpy for speed; a sample of it is held against ``paired_tests.compare``.

    python benchmarks/calibration.py [--suites 2000] [--candidates] [--json FILE]
    python benchmarks/calibration.py --page

The second simulates nothing. From ``benchmarks/results/calibration.json`` it writes
``docs/calibration.md``, with all candidates, and what the report shows of the statistic in use.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from embinit.claims.looks import Look, schedule
from embinit.claims.paired_tests import RegisteredSd, Relation, Verdict, _sides, compare
from embinit.runs.results import versions

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results/calibration.json"
SHOWN = ROOT / "src/embinit/report/calibration.json"
PAGE = ROOT / "docs/calibration.md"
ALPHA = 0.05
SIZE = 20
SHARE = ALPHA / SIZE
REGISTERED = 10
"""How many seeds a spread is registered on."""

MARGIN = 2.0
"""In standard deviations of an arm's scores, as the noise floor sets it."""

SHARED = 4
"""How many claims share a control."""

WIDTHS = np.log2((8, 32, 64, 256))
SCHEDULES = {
    "5 seeds": schedule(5, None, SHARE),
    "3, 6, 12, 20 seeds": schedule(3, 20, SHARE),
}
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def failing(chance: float, loss: float) -> Draw:
    """Scores of an arm that loses ``loss`` standard deviations with ``chance``; mean 0, sd 1."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        lost = loss * (rng.random(shape) < chance)
        centred = rng.standard_normal(shape) - lost + loss * chance
        return np.asarray(centred / math.sqrt(1 + loss**2 * chance * (1 - chance)))

    return draw


SCORES: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy-tailed": lambda rng, shape: rng.standard_t(3, size=shape) / math.sqrt(3),
    "skewed up": lambda rng, shape: rng.exponential(size=shape) - 1,
    "skewed down": lambda rng, shape: 1 - rng.exponential(size=shape),
    "2 of 10 fail": failing(0.2, 5),
    "1 of 10 fails": failing(0.1, 10),
}
"""Scores with mean 0 and standard deviation 1."""


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
    """

    name: str
    scores: str = "normal"
    degrees: float | None = 8
    wide: float = 1.0
    some: int = SIZE


WORLDS = (
    World("all arms vary alike", degrees=None),
    World("variances differ (8 degrees)"),
    World("variances differ (3 degrees)", degrees=3),
    World("one arm three times as wide", wide=3),
    World("heavy-tailed", "heavy-tailed"),
    World("skewed up", "skewed up"),
    World("skewed down", "skewed down"),
    World("skewed up, three times as wide", "skewed up", wide=3),
    World("skewed down, three times as wide", "skewed down", wide=3),
    World("2 of 10 seeds fail by 5 sd", "2 of 10 fail"),
    World("1 of 10 seeds fails by 10 sd", "1 of 10 fails"),
    World("the same by 30 sd, in 3 of 20 claims", "1 of 10 fails", wide=3, some=3),
    World("the same by 30 sd, in every claim", "1 of 10 fails", wide=3),
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


Estimate = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, int]]
"""Gives the standard deviation of differences (…, n), given registered ones, and its degrees."""


def in_use(seen: np.ndarray, registered: np.ndarray) -> tuple[np.ndarray, int]:
    """Pooled with the registered spread, and never smaller than that."""
    sd, degrees = pooled(seen, registered)
    return np.maximum(sd, registered.std(axis=-1, ddof=1)), degrees


def pooled(seen: np.ndarray, registered: np.ndarray) -> tuple[np.ndarray, int]:
    """Pooled with the registered spread, even where the claim's own seeds vary less."""
    n, n0 = seen.shape[-1], registered.shape[-1]
    squares = (n - 1) * seen.var(axis=-1, ddof=1) if n > 1 else 0.0
    squares = squares + (n0 - 1) * registered.var(axis=-1, ddof=1)
    return np.sqrt(squares / (n + n0 - 2)), n + n0 - 2


def own(seen: np.ndarray, registered: np.ndarray) -> tuple[np.ndarray, int]:
    """A paired t: the claim's own seeds alone."""
    return seen.std(axis=-1, ddof=1), seen.shape[-1] - 1


CANDIDATES: dict[str, tuple[Estimate, bool]] = {
    "paired t": (own, False),
    "paired t, without any one seed": (own, True),
    "pooled": (pooled, False),
    "pooled, without any one seed": (pooled, True),
    "pooled, no smaller than registered": (in_use, False),
    "in use: both": (in_use, True),
}


def decide(
    values: np.ndarray,
    registered: np.ndarray,
    relation: Relation,
    looks: Sequence[Look],
    alpha: float,
    margin: float = MARGIN,
    estimate: Estimate = in_use,
    without_one: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Verdicts, look after look: 1 (SUPPORTED), -1 (REFUTED), 2 (NO EFFECT) or 0, and seeds."""
    supporting, opposing = _sides(relation, margin)
    within = [] if relation.uses_margin else _sides(Relation.ALIKE, margin)[0]

    def verdicts(seen: np.ndarray, level: float) -> np.ndarray:
        sd, degrees = estimate(seen, registered)
        reach = stats.t.isf(level, degrees) * sd / math.sqrt(seen.shape[-1])
        mean = seen.mean(axis=-1)

        def shown(bound: float, side: str) -> np.ndarray:
            return np.asarray((mean - bound if side == "greater" else bound - mean) >= reach)

        found = np.zeros(mean.shape, dtype=int)
        if within:
            found = np.where(np.all([shown(*each) for each in within], axis=0), 2, found)
        found = np.where(np.any([shown(*each) for each in opposing], axis=0), -1, found)
        return np.where(np.all([shown(*each) for each in supporting], axis=0), 1, found)

    verdict, seeds = np.zeros(values.shape[:-1], dtype=int), np.zeros(values.shape[:-1], dtype=int)
    for look in looks:
        seen, level = values[..., : look.seeds], alpha * look.share
        now = verdicts(seen, level)
        if without_one and look.seeds > 2:
            for index in range(look.seeds):
                now = np.where(verdicts(np.delete(seen, index, axis=-1), level) == now, now, 0)
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
    world: World, looks: Sequence[Look], count: int, seed: int, estimate: Estimate, one: bool
) -> dict[str, dict[str, float]]:
    """Family-wise rates of each error, as though all 20 claims were of one kind."""
    rates: dict[str, dict[str, float]] = {}
    most = looks[-1].seeds
    for kind, relation in KINDS.items():
        rng = np.random.default_rng((seed, most, len(looks)))
        null = suites(world, kind, rng, count, most + REGISTERED)
        values, registered = null[..., :most], null[..., most:]
        rates[kind] = {}
        for name, (verdict, edge) in edges(relation).items():
            found, _ = decide(
                values + edge, registered, relation, looks, SHARE, MARGIN, estimate, one
            )
            rates[kind][name] = round(float((found == verdict).any(axis=1).mean()), 4)
    return rates


def worst(rates: dict[str, dict[str, float]]) -> dict[str, float]:
    """The largest rate of each error over the kinds of claims."""
    names = ("supported", "refuted", "no_effect")
    return {name: max(kind.get(name, 0.0) for kind in rates.values()) for name in names}


def power(
    looks: Sequence[Look], count: int, seed: int, estimate: Estimate, one: bool
) -> dict[str, float]:
    """How often true effects are found, and the mean number of seeds; arms vary by 8 degrees."""
    most, world = looks[-1].seeds, World("")
    rng = np.random.default_rng((seed, 1, most))
    null = suites(world, "<", rng, count, most + REGISTERED)
    values, registered = null[..., :most], null[..., most:]
    row: dict[str, float] = {}
    for effect in (1, 2, 3, 4):
        moved = values - effect * math.sqrt(2)
        found, seeds = decide(
            moved, registered, Relation.BELOW, looks, SHARE, MARGIN, estimate, one
        )
        row[f"{effect} sd"] = round(float((found == 1).mean()), 3)
        row[f"{effect} sd, seeds"] = round(float(seeds.mean()), 1)
    for name, relation, wanted in (
        ("NO EFFECT of <", Relation.BELOW, 2),
        (">= where there is none", Relation.NOT_BELOW, 1),
        ("~ where there is none", Relation.ALIKE, 1),
    ):
        found, seeds = decide(values, registered, relation, looks, SHARE, MARGIN, estimate, one)
        row[name] = round(float((found == wanted).mean()), 3)
        row[f"{name}, seeds"] = round(float(seeds.mean()), 1)
    return row


def agrees(checked: int, seed: int) -> None:
    """Hold ``decide`` against what decides claims, on random differences near the edges."""
    rng = np.random.default_rng(seed)
    words = {Verdict.SUPPORTED: 1, Verdict.REFUTED: -1, Verdict.NO_EFFECT: 2, Verdict.UNDECIDED: 0}
    looks = SCHEDULES["3, 6, 12, 20 seeds"]
    for _ in range(checked):
        relation = Relation(rng.choice(list(Relation)))
        values = rng.standard_normal(20) + rng.uniform(-4, 4)
        registered = rng.standard_normal(REGISTERED)
        spread = RegisteredSd(float(registered.std(ddof=1)), REGISTERED)
        theirs = 0
        for look in looks:
            seen = values[: look.seeds]
            level = SHARE * look.share
            outcome = compare(seen, np.zeros(look.seeds), relation, level, MARGIN, spread=spread)
            theirs = theirs or words[outcome.verdict]
        found, _ = decide(values, registered, relation, looks, SHARE)
        if int(found) != theirs:
            raise SystemExit(f"decide says {found}, compare {theirs}: {relation}, {values}")


TEXT = """# Calibration: how often a verdict errs

`{command}` simulates suites of 20 claims in which the truth lies exactly at the edge of what each
claim, its opposite, or no effect excludes. It has them decided as a session decides them, and
counts the suites with at least one wrong verdict. {suites:,} suites, seed fixed, {versions}; every
figure is in `benchmarks/results/calibration.json`. Nominal is 5 %; the Monte-Carlo error of such a
rate is {error:.1f} points.

A suite is of one kind of claim (`<`, `>=`, `~`, a difference of differences, a trend over four
widths); the table shows the kind that errs most. Four claims at a time share their control. A
spread is registered on {registered} seeds of its own. Arms' variances are drawn from an inverse
chi-square with 8 degrees of freedom where nothing else is said.

| scores of the compared arms | looks | false SUPPORTED | false REFUTED | false NO EFFECT |
|---|---|---|---|---|
{errors}

- Each of the errors is held to 5 % by itself. A claim of several comparisons is SUPPORTED when all
  of them are, and falls with one, so each of k refutes, or shows no effect, at 1/k of its share.
- Where nothing is odd the rates lie well below 5 %. That is the price of two rules that hold the
  skewed cases: the registered spread is the least that is believed, and a decision has to stand
  without any one of its seeds.
- **What no rule holds**: an arm that fails in one seed of ten, and then by thirty standard
  deviations, in every claim of a family. Many a registered spread, and many a claim, then never
  meets a failure. Where three claims of twenty have such an arm, the rate is {some} with several
  looks; where all have, it is {every}.

How often a true effect is found, in standard deviations of the paired difference, with the mean
number of seeds that it takes; the margin is two standard deviations of an arm:

{power}

## The statistics that were held against it

Of each the largest rate of a false SUPPORTED or REFUTED, and of a false NO EFFECT, over all rows
above but the last two and over both schedules; then over those two. Then how often true effects are
found with several looks, and the mean number of seeds.

{candidates}
"""


def extract(document: dict[str, Any]) -> dict[str, Any]:
    """What the report shows: of the statistic in use, each error of the kind that errs most."""
    chosen = list(CANDIDATES)[-1]

    def rows(name: str) -> list[dict[str, Any]]:
        return [row for row in document[name] if row["statistic"] == chosen]

    return {
        "suites": document["suites"],
        "rows": [
            {"world": row["world"], "looks": row["looks"], **worst(row["rates"])}
            for row in rows("errors")
        ],
        "power": [
            {name: value for name, value in row.items() if name != "statistic"}
            for row in rows("power")
        ],
    }


def percent(rate: float) -> str:
    """A rate with one digit."""
    return f"{100 * rate:.1f} %"


def found_with_seeds(row: dict[str, Any], effect: str) -> str:
    """How often an effect is found, and with how many seeds."""
    return f"{100 * row[effect]:.0f} % ({row[f'{effect}, seeds']})"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))


def candidates(document: dict[str, Any]) -> str:
    """The table of all statistics that were simulated: their worst rates, and their power."""
    hard = [world.name for world in WORLDS[-2:]]
    rows = []
    for name in dict.fromkeys(row["statistic"] for row in document["errors"]):
        of_name = [row for row in document["errors"] if row["statistic"] == name]

        def highest(worlds: Sequence[str], of_name: list[dict[str, Any]] = of_name) -> list[str]:
            found = [worst(row["rates"]) for row in of_name if row["world"] in worlds]
            wrong = max(max(rates["supported"], rates["refuted"]) for rates in found)
            return [percent(wrong), percent(max(rates["no_effect"] for rates in found))]

        [power] = [
            row
            for row in document["power"]
            if row["statistic"] == name and row["looks"] == list(SCHEDULES)[-1]
        ]
        cells = [cell for world in hard for cell in highest([world])[:1]]
        usual = highest([world.name for world in WORLDS if world.name not in hard])
        found = [found_with_seeds(power, effect) for effect in ("1 sd", "2 sd", "NO EFFECT of <")]
        rows.append([name, *usual, *cells, *found])
    head = [
        "statistic",
        "false verdict",
        "false NO EFFECT",
        "by 30 sd, in 3 of 20",
        "in every claim",
    ]
    return table([*head, "finds 1 sd", "finds 2 sd", "NO EFFECT of <"], rows)


def page(document: dict[str, Any]) -> str:
    """The text of ``docs/calibration.md``."""
    shown = extract(document)
    sides = ("supported", "refuted", "no_effect")
    names = [name for name in shown["power"][0] if name != "looks" and "seeds" not in name]
    cells = [
        [
            row["looks"],
            *(
                f"{row[name]:.0%}".replace("%", " %") + f" ({row[name + ', seeds']})"
                for name in names
            ),
        ]
        for row in shown["power"]
    ]
    most = {row["world"]: max(row["supported"], row["refuted"]) for row in shown["rows"]}
    return TEXT.format(
        command=document["command"],
        suites=document["suites"],
        versions=", ".join(f"{name} {version}" for name, version in document["versions"].items()),
        error=100 * math.sqrt(ALPHA * (1 - ALPHA) / document["suites"]),
        registered=document["registered"],
        errors="\n".join(
            "| "
            + " | ".join([row["world"], row["looks"], *(percent(row[side]) for side in sides)])
            + " |"
            for row in shown["rows"]
        ),
        # The rows of several looks come last, so theirs are the rates that are named.
        some=percent(most[WORLDS[-2].name]),
        every=percent(most[WORLDS[-1].name]),
        power=table(["looks", *names], cells),
        candidates=candidates(document),
    )


def main() -> None:
    """Simulate, print tables, write JSON; or write the page."""
    parser = argparse.ArgumentParser(description="calibration of the verdicts")
    parser.add_argument("--suites", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=20240712)
    parser.add_argument(
        "--candidates", action="store_true", help="hold other statistics against it"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", action="store_true", help="write the page from the JSON")
    arguments = parser.parse_args()
    if arguments.page:
        document = json.loads(RESULTS.read_text(encoding="utf-8"))
        PAGE.write_text(page(document), encoding="utf-8")
        shown = json.dumps(extract(document), indent=1) + "\n"
        SHOWN.write_text(shown, encoding="utf-8")
        return
    agrees(300, arguments.seed)
    error = 1.96 * math.sqrt(ALPHA * (1 - ALPHA) / arguments.suites)
    print(f"{arguments.suites} suites of {SIZE} claims; 5 % is met up to {ALPHA + error:.2%}")
    chosen = list(CANDIDATES) if arguments.candidates else list(CANDIDATES)[-1:]
    rows: list[dict[str, object]] = []
    powers: list[dict[str, object]] = []
    for name in chosen:
        estimate, one = CANDIDATES[name]
        for plan, looks in SCHEDULES.items():
            for world in WORLDS:
                rates = errors(world, looks, arguments.suites, arguments.seed, estimate, one)
                highest = worst(rates)
                rows.append({"statistic": name, "looks": plan, "world": world.name, "rates": rates})
                listed = ", ".join(f"{what} {rate:.1%}" for what, rate in highest.items())
                print(f"{name} | {plan} | {world.name} | {listed}", flush=True)
            row = power(looks, arguments.suites, arguments.seed, estimate, one)
            powers.append({"statistic": name, "looks": plan, **row})
            print(f"{name} | {plan} | power {row}", flush=True)
    if arguments.json:
        known = {name: versions()[name] for name in ("python", "numpy", "scipy")}
        options = " --candidates" if arguments.candidates else ""
        document = {
            "command": f"python benchmarks/calibration.py --suites {arguments.suites}{options}",
            "seed": arguments.seed,
            "suites": arguments.suites,
            "registered": REGISTERED,
            "versions": known,
            "errors": rows,
            "power": powers,
        }
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
