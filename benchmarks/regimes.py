"""Regimes: how much, how long and how gently ``micro`` trains, by what that decides a minute.

A candidate is a setting of one of Kim et al.'s tasks: training examples, epochs, learning rate,
batch size, sizes of model, validation and test split, and how often opinions deny. Each is judged
on seeds from 5000 on, which no claim uses, by arms that no choice can favour:

- *Xavier*, whose spread over seeds is the noise, and which must neither be at chance nor at 100 %;
- *A/A*: Xavier's even seeds against its odd ones, which must not differ;
- *planted falsehoods*: Xavier stretched to GloVe's width, and Xavier without positions. Both must
  fare worse than Xavier, and by much.

What is told of a candidate: CPU seconds a run (in cohorts as a session has them; run it with both
cores busy), each arm's mean and standard deviation, the planted effects in standard deviations, and
``decided``. The claims' own effects are not looked at, so a reference distribution stands for them:
0, 1/16, 1/8, 1/4, 1/2 and 1 of each planted effect. A claim of such an effect, of two arms with the
arms' pooled deviation, is looked at with 5, 10 and 20 seeds, at critical value ``CRITICAL``. It is
decided where the difference is beyond 0, or inside of the margin on both sides (NO EFFECT). The
margin is here a tenth of the larger planted effect, whatever the spread: one of twice the spread
would let a noisy setting decide by calling larger differences none. ``decided`` is the mean share
of these claims that are decided by then. ``a minute`` is the share after the last look over the
minutes that a claim's two arms take until it is decided, or given up after 20 seeds.

    python benchmarks/regimes.py translation --seeds 4   every candidate, Xavier and stretched
    python benchmarks/regimes.py translation --best 3 --seeds 8   all arms of the best ones
    python benchmarks/regimes.py chosen --seeds 20   all arms of the registered settings
    python benchmarks/regimes.py figure   docs/regime.svg, from what was kept

What was trained is kept in ``benchmarks/results/regimes.json``, and not trained again. Under
``arms`` it has the mean and standard deviation of each arm at the registered settings, by measure.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from scipy import stats

from embinit.claims.experiments import Experiment
from embinit.claims.noise_floor import FIRST_SEED
from embinit.data.microcosm import OPINIONS, OpinionWeights
from embinit.data.preparation import prepare
from embinit.data.tasks import TASKS
from embinit.data.tasks.microcosm import PLAIN_OPINIONS, MicrocosmTask, judge
from embinit.papers.kim2024.experiments import experiments
from embinit.report.charts import Axis
from embinit.runs.measures import MEASURES, over_epochs
from embinit.runs.plan import plan
from embinit.runs.results import RunResult
from embinit.runs.session import results_of
from embinit.specs import Cut, TrainingSpec

HERE = Path(__file__).parent
KEPT = HERE / "results" / "regimes.json"
FIGURE = HERE.parent / "docs" / "regime.svg"
LARGEST = (8000, 2000, 1000)
"""The sizes of the splits that candidates are cut from."""

LOOKS = (5, 10, 20)
CRITICAL = 3.3
"""About the quantile of t at alpha .0025, with 8 to 16 degrees of freedom of a prior."""

FRACTIONS = (0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
"""Of a planted effect: the reference distribution of effects."""


@dataclass(frozen=True)
class Candidate:
    """A setting of a task.

    Attributes:
        train: How many training examples there are.
        epochs: How many epochs a run is trained for.
        lr: The learning rate.
        batch_size: How many examples a batch has.
        validation: The size of the validation split.
        test: The size of the test split.
        layers: How many layers the encoder has, and the decoder where there is one.
        feed_forward: The width of the feed-forward layers.
        opinions: Of sentiment, how often one says an adjective, denies one, does both, or says two.
    """

    train: int
    epochs: int
    lr: float
    batch_size: int = 32
    validation: int = 2000
    test: int = 400
    layers: int = 1
    feed_forward: int = 128
    opinions: OpinionWeights = OPINIONS

    def of(self, experiment: Experiment) -> Experiment:
        """The experiment in this setting."""
        assert experiment.model is not None
        training = cast(TrainingSpec, experiment.training)
        task = cast(MicrocosmTask, TASKS[experiment.data.task])
        if experiment.role == "sentiment":
            # Whichever task the tier has, a candidate's text is drawn under this name.
            task = replace(TASKS["micro-sentiment"], write=partial(judge, weights=self.opinions))
        larger = f"{task.name}-larger"
        if self.opinions != OPINIONS:
            larger = f"{task.name}-{ratio(self.opinions)}-larger"
        if larger not in TASKS:
            TASKS.register(larger, replace(task, sizes=LARGEST))
        cut = Cut(self.train, self.validation, self.test)
        return replace(
            experiment,
            data=replace(experiment.data, task=larger, cut=cut),
            model=replace(experiment.model, layers=self.layers, feed_forward=self.feed_forward),
            training=replace(
                training,
                epochs=self.epochs,
                lr=self.lr,
                batch_size=self.batch_size,
                validation_bleu=False,
            ),
        )


def arms(experiment: Experiment) -> dict[str, tuple[Experiment, str]]:
    """Xavier and the planted falsehoods: each arm's setting and init, by name."""
    return {
        "xavier": (experiment, "xavier"),
        "stretched": (experiment, "xavier_pretrained"),
        "unplaced": (experiment.without_positions(), "xavier"),
    }


def train(registered: Experiment, wanted: Mapping[str, Sequence[int]]) -> dict[str, list[Run]]:
    """What is kept of the seeds wanted of each arm."""
    known = arms(registered)
    specs = {
        arm: [known[arm][0].run(known[arm][1], seed) for seed in seeds]
        for arm, seeds in wanted.items()
    }
    made = {}
    for cohort in plan([run for runs in specs.values() for run in runs]):
        prepare(cohort.runs[0].data, None)  # text is drawn once a process; it isn't training
        started = time.process_time()
        results = results_of(cohort, None, "cpu")
        seconds = (time.process_time() - started) / len(cohort.runs)
        for result in results:
            made[result.spec] = measured(result, registered.metric.name) | {"seconds": seconds}
    return {arm: [made[run] for run in runs] for arm, runs in specs.items()}


Run = dict[str, float]
"""What is kept of a run: measures by name, and its share of its cohort's CPU seconds."""


def measured(result: RunResult, metric: str) -> Run:
    """A run's score, the mean of its curve where that is followed, its losses, its best epoch."""
    mean = over_epochs(MEASURES[metric])
    measures = [MEASURES[name] for name in (metric, "validation_loss", "best_epoch")]
    values = {measure.name: measure.of(result) for measure in (*measures, mean)}
    return {name: round(value, 5) for name, value in values.items() if value is not None}


Values = Mapping[str, Sequence[Run]]
"""What is kept of each arm's runs."""


def summary(candidate: Candidate, metric: str, runs: Values) -> dict[str, Any]:
    """What is told of a candidate (see the module)."""
    scores = {arm: [run[metric] for run in of_arm] for arm, of_arm in runs.items()}
    spread = {arm: statistics.stdev(values) for arm, values in scores.items()}
    xavier = scores["xavier"]
    # Single deviations of few seeds are noise themselves, so effects are told in the pooled one.
    pooled = math.sqrt(statistics.fmean(sd**2 for sd in spread.values()))
    effects = {
        arm: statistics.fmean(xavier) - statistics.fmean(values)
        for arm, values in scores.items()
        if arm != "xavier"
    }
    seconds = statistics.fmean(run["seconds"] for of_arm in runs.values() for run in of_arm)
    margin = max(effects.values()) / 10
    claims = [share * effect for effect in effects.values() for share in FRACTIONS]
    by_look = [statistics.fmean(decided(e, pooled, margin, n) for e in claims) for n in LOOKS]
    taken, before = 0.0, 0.0
    for seeds, last in zip(LOOKS, [0, *by_look], strict=False):
        taken += (seeds - before) * (1 - last)
        before = seeds
    half = len(xavier) // 2
    apart = statistics.fmean(xavier[0::2]) - statistics.fmean(xavier[1::2])
    last = [run["best_epoch"] == candidate.epochs for run in runs["xavier"]]
    return {
        "seeds": len(xavier),
        "seconds": seconds,
        "mean": {arm: statistics.fmean(values) for arm, values in scores.items()},
        "sd": spread,
        "pooled sd": pooled,
        "best at the last": statistics.fmean(last),
        "a/a": apart / (spread["xavier"] * math.sqrt(2 / half)) if half else None,
        "effect/sd": {arm: effect / pooled for arm, effect in effects.items()},
        "smallest": {n: smallest(pooled, n) for n in LOOKS},
        "margin": margin,
        "decided": dict(zip(map(str, LOOKS), by_look, strict=True)),
        "a minute": by_look[-1] / (2 * taken * seconds / 60),
    }


def decided(effect: float, sd: float, margin: float, seeds: int) -> float:
    """The probability that a claim on two arms is decided at a look with ``seeds`` seeds."""
    error = sd * math.sqrt(2 / seeds)
    beyond = CRITICAL * error
    inside = margin - beyond
    if inside >= beyond:
        return 1.0
    estimate = stats.norm(effect, error)
    within = max(0.0, float(estimate.cdf(inside) - estimate.cdf(-inside))) if inside > 0 else 0.0
    return float(estimate.sf(beyond) + estimate.cdf(-beyond)) + within


def smallest(sd: float, seeds: int) -> float:
    """The smallest effect that so many seeds show in four of five cases."""
    return (CRITICAL + 0.84) * sd * math.sqrt(2 / seeds)


CANDIDATES: dict[str, list[Candidate]] = {
    "translation": [
        Candidate(1200, 5, 3e-3, validation=200),
        Candidate(2400, 5, 1.5e-3, validation=200),
        Candidate(4800, 3, 2e-3, batch_size=64, validation=200),
        Candidate(3600, 3, 2e-3, validation=200),
        Candidate(2400, 4, 2e-3, batch_size=24, validation=200),
        Candidate(2400, 3, 2e-3, batch_size=16, validation=200),
        Candidate(1600, 4, 2e-3, batch_size=16, validation=200),
    ],
    "sentiment": [
        Candidate(1200, 4, 3e-3),
        Candidate(4800, 2, 1.5e-3),
        Candidate(6000, 3, 1e-3),
        Candidate(4800, 2, 1.5e-3, feed_forward=256),
        Candidate(4800, 2, 1.5e-3, layers=2),
        Candidate(6000, 2, 1.5e-3, batch_size=48),
        Candidate(2400, 2, 1.5e-3, batch_size=16),
        Candidate(4800, 1, 1.5e-3, batch_size=16),
        Candidate(2400, 3, 1.5e-3, batch_size=16),
        Candidate(4800, 2, 1e-3),
        Candidate(3600, 2, 1.5e-3),
        Candidate(4800, 2, 1.2e-3),
        Candidate(4800, 2, 2e-3),
        Candidate(4800, 4, 2e-3),
        Candidate(3600, 2, 3e-3),
        Candidate(4000, 2, 2e-3),
        Candidate(2400, 2, 1.5e-3, 16, opinions=(9, 3, 0, 2)),
        Candidate(2400, 2, 1.5e-3, 16, opinions=PLAIN_OPINIONS),
        Candidate(1600, 2, 1.5e-3, 16, opinions=PLAIN_OPINIONS),
        Candidate(3600, 2, 1.5e-3, 24, opinions=PLAIN_OPINIONS),
        Candidate(2400, 2, 1.5e-3, 16, opinions=(9, 1, 4, 2)),
        Candidate(2400, 2, 1.5e-3, 16, opinions=(9, 2, 2, 2)),
        Candidate(2400, 2, 1.5e-3, 16, opinions=(9, 0, 2, 2)),
        Candidate(1200, 2, 1.5e-3, 16, opinions=(9, 0, 2, 2)),
        Candidate(1200, 2, 1.5e-3, 16, opinions=(9, 0, 0, 2)),
        Candidate(600, 2, 1.5e-3, 16, opinions=(9, 0, 0, 2)),
    ],
    "inference": [
        Candidate(1500, 4, 2e-3, batch_size=24),
        Candidate(6000, 2, 1e-3, batch_size=24),
        Candidate(6000, 2, 1.5e-3),
        Candidate(6000, 2, 2e-3, batch_size=48),
        Candidate(4800, 2, 1e-3, batch_size=16),
        Candidate(3000, 3, 1e-3, batch_size=16),
        Candidate(4000, 3, 7e-4, batch_size=16),
        Candidate(3000, 4, 7e-4, batch_size=16, validation=1000),
    ],
}


def main() -> None:
    """Train and judge, or draw what was kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=[*CANDIDATES, "chosen", "figure"])
    parser.add_argument("--seeds", type=int, default=4, help="how many seeds an arm has then")
    parser.add_argument("--best", type=int, help="only as many candidates, the best ones")
    options = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"arms": [], "candidates": []}
    if options.what == "figure":
        FIGURE.write_text(figure(kept["candidates"]))
    elif options.what == "chosen":
        for registered in experiments("micro", ["glove"]):
            kept["arms"] = measure_chosen(registered, options.seeds, kept["arms"])
            write(kept)
    else:
        try_candidates(options.what, options.seeds, options.best, kept)


def write(kept: Mapping[str, Any]) -> None:
    """Write what was trained, a line an entry."""
    parts = []
    for name, entries in kept.items():
        lines = ",\n".join(json.dumps(entry) for entry in entries)
        parts.append(f'"{name}": [\n{lines}\n]')
    KEPT.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def measure_chosen(
    registered: Experiment, seeds: int, known: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """``known`` with the arms of a registered experiment anew: mean and deviation by measure."""
    task = registered.data.task
    wanted = {arm: range(FIRST_SEED, FIRST_SEED + seeds) for arm in arms(registered)}
    told = [entry for entry in known if entry["task"] != task]
    for arm, runs in train(registered, wanted).items():
        for name in runs[0]:
            values = [run[name] for run in runs]
            told.append(
                {
                    "task": task,
                    "arm": arm,
                    "measure": name,
                    "mean": round(statistics.fmean(values), 5),
                    "sd": round(statistics.stdev(values), 5),
                    "seeds": seeds,
                }
            )
            print(*told[-1].values(), flush=True)
    return told


def try_candidates(role: str, seeds: int, best: int | None, kept: dict[str, Any]) -> None:
    """Train what is lacking of a role's candidates, and tell each one's summary."""
    [registered] = experiments("micro", ["glove"], [role])
    metric = registered.metric.name
    known = {
        remembered(entry): entry["runs"] for entry in kept["candidates"] if entry["role"] == role
    }
    others = [entry for entry in kept["candidates"] if entry["role"] != role]
    chosen: Sequence[Candidate] = CANDIDATES[role]
    wanted = ["xavier", "stretched"]
    if best is not None:
        ranked = sorted(known, key=lambda one: -summary(one, metric, known[one])["a minute"])
        chosen, wanted = ranked[:best], list(arms(registered))
    for candidate in chosen:
        runs = known.setdefault(candidate, {})
        lacking = {
            arm: range(FIRST_SEED + len(runs.get(arm, ())), FIRST_SEED + seeds) for arm in wanted
        }
        if any(lacking.values()):
            for arm, made in train(candidate.of(registered), lacking).items():
                runs.setdefault(arm, []).extend(made)
            ours = [{"role": role, "candidate": asdict(c), "runs": r} for c, r in known.items()]
            write(kept | {"candidates": others + ours})
        tell(candidate, summary(candidate, metric, runs))


def remembered(entry: Mapping[str, Any]) -> Candidate:
    """The candidate of what was kept; JSON makes a list of a tuple."""
    fields = entry["candidate"]
    return Candidate(**fields | {"opinions": tuple(fields.get("opinions", OPINIONS))})


COLUMNS, PANEL, TALL, LEFT, TOP = 3, 250.0, 210.0, 44.0, 34.0


def figure(entries: Sequence[Mapping[str, Any]]) -> str:
    """The share of reference claims decided, over minutes, as SVG: a panel a task.

    A line is a candidate, with a dot after 5, 10 and 20 seeds; the registered one is dark.
    """
    shapes = []
    for column, role in enumerate(CANDIDATES):
        [registered] = experiments("micro", ["glove"], [role])
        left = LEFT + column * (PANEL + 12)
        of_role = [entry for entry in entries if entry["role"] == role]
        lines = []
        for entry in of_role:
            candidate = remembered(entry)
            told = summary(candidate, registered.metric.name, entry["runs"])
            minutes = [2 * seeds * told["seconds"] / 60 for seeds in LOOKS]
            lines.append((candidate, list(zip(minutes, told["decided"].values(), strict=True))))
        most = max(minutes for _, points in lines for minutes, _ in points)
        across, up = Axis(0, 1.05 * most, left, left + PANEL - 20), Axis(0, 1, TOP + TALL, TOP)
        shapes.append(_text(left, TOP - 12, role, "start", "bold"))
        shapes += [
            f'<line x1="{left}" x2="{left + PANEL - 20}" y1="{tick.at}" y2="{tick.at}" '
            'stroke="#ddd"/>' + ("" if column else _text(left - 6, tick.at + 4, tick.text, "end"))
            for tick in up.ticks(5)
        ]
        shapes += [_text(tick.at, TOP + TALL + 16, tick.text) for tick in across.ticks(4)]
        for candidate, points in sorted(lines, key=lambda line: is_registered(line[0], registered)):
            colour = "#14406b" if is_registered(candidate, registered) else "#9db7cf"
            at = [(across.at(x), up.at(y)) for x, y in points]
            path = " ".join(f"{x},{y}" for x, y in at)
            shapes.append(f'<polyline points="{path}" fill="none" stroke="{colour}"/>')
            title = described(candidate)
            shapes += [
                f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"><title>{title}</title></circle>'
                for x, y in at
            ]
    width = LEFT + COLUMNS * (PANEL + 12)
    shapes.append(_text(width / 2, TOP + TALL + 38, "CPU minutes a claim of two arms takes"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {TOP + TALL + 48:g}" '
        'font-family="sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(shapes) + "\n</svg>\n"
    )


def is_registered(candidate: Candidate, registered: Experiment) -> bool:
    """Whether the tier has the candidate's setting."""
    training = cast(TrainingSpec, registered.training)
    task = cast(MicrocosmTask, TASKS[registered.data.task])
    sizes = (candidate.train, candidate.validation, candidate.test)
    model = registered.model
    assert model is not None
    return (
        sizes == task.sizes
        and (candidate.epochs, candidate.lr) == (training.epochs, training.lr)
        and candidate.batch_size == training.batch_size
        and (candidate.layers, candidate.feed_forward) == (model.layers, model.feed_forward)
        and candidate.opinions == getattr(task.write, "keywords", {}).get("weights", OPINIONS)
    )


def described(candidate: Candidate) -> str:
    """The fields of a candidate, by name; opinions only where they aren't those of other text."""
    fields = {name: f"{value:g}" for name, value in asdict(candidate).items() if name != "opinions"}
    if candidate.opinions != OPINIONS:
        fields["opinions"] = ratio(candidate.opinions)
    return ", ".join(f"{name} {value}" for name, value in fields.items())


def ratio(weights: OpinionWeights) -> str:
    """The weights of opinions in a few characters, such as 9:3:6:2."""
    return ":".join(f"{weight:g}" for weight in weights)


def _text(x: float, y: float, text: str, anchor: str = "middle", weight: str = "normal") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}">{text}</text>'


def tell(candidate: Candidate, told: Mapping[str, Any]) -> None:
    """Print a candidate's line."""
    size = described(candidate)
    means = " ".join(f"{told['mean'][arm]:5.1f} ± {told['sd'][arm]:4.1f}" for arm in told["mean"])
    effects = " ".join(f"{value:5.1f}" for value in told["effect/sd"].values())
    shares = " ".join(f"{100 * value:3.0f}" for value in told["decided"].values())
    print(
        f"{size:45} n {told['seeds']:2} {told['seconds']:4.2f} s | {means} | in sd {effects} | "
        f"last {100 * told['best at the last']:3.0f} % a/a {told['a/a']:4.1f} | "
        f"margin {told['margin']:4.1f} | % {shares} | {told['a minute']:5.2f} a minute",
        flush=True,
    )


if __name__ == "__main__":
    main()
