"""The analysis of ``starts``: what each keeps of words and positions, its scores, and ranks.

The claims on ``starts`` compare arms, and say which way. This tells how much: from the runs that
they train (and from others, which it trains where the store lacks them) each start's mean, what it
costs against the best of its task (Hsu's multiple comparisons with the best, ``embtables.best``),
and a figure. Starts are ranked twice: on seeds from 5000 on, which were explored, and on the
claims' own; once at the task's rate, and once each at its own best rate of the explored seeds. What
a start does to words and positions before any training needs no seeds but one.

    python analysis.py STORE --from 5000   seeds that no claim uses
    python analysis.py STORE               the claims' own
    python analysis.py STORE --starts untied [--from 5000]   some starts alone

What was told before of arms that the store lacks is kept. ``analysis_real_text.py`` has real text.

It writes ``results/starts.json``, ``scores.svg``, and the tables of ``README.md``, and of
embtables' ``which-start.md`` in a checkout of both.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from embtables.best import Scores, compare_with_best
from torch import Tensor
from torch.nn import functional as F

from embinit.claims.comparisons import Quantity
from embinit.claims.pilot import FIRST_SEED
from embinit.lab.data.microcosm import antonym_group, lexicon, synonym_groups
from embinit.lab.data.preparation import prepare
from embinit.lab.data.tasks import TaskDefinition
from embinit.lab.data.tasks.microcosm import MicrocosmTask, judge
from embinit.lab.data.vocabulary import Vocabulary
from embinit.lab.models.initial_state import multiplier, position_table
from embinit.lab.specs import recipe_of
from embinit.lab.tables.initial_tables import make_initial_tables
from embinit.randomness import stream
from embinit.report.charts import Axis
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit.specs import RunSpec
from embinit_studies.arms import compute_line, compute_of, mean_of, runs_of, told_of, train
from embinit_studies.pages import Values, best_bold, estimate, spread, svg, table, text, write_parts
from embinit_studies.starts import (
    BASELINE,
    STARTS,
    StartExperiment,
    experiments,
)
from embinit_studies.starts.sums import read_off, relations_kept

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "starts.json"
PAGES = (HERE / "README.md", HERE.parents[2] / "packages/embtables/docs/which-start.md")
SCRIPT = "starts/analysis.py"

ERROR = 0.05
"""The error of each ranking."""

HALVES = ("explored", "confirmed")
"""Seeds from 5000 on, and the claims' own."""

COLOURS = {"trained": "#1f6f8b", "frozen": "#c0562f"}

RATES = (0.5, 1.0, 2.0, 4.0)
"""The learning rates that are searched, over the registered one."""


def rate_kind(kind: str, times: float) -> str:
    """The kind of arms at a multiple of the learning rate, with trained or frozen tables."""
    return f"{'' if kind == 'trained' else f'{kind}, '}rate {times:g}"


LONGER = 4
"""The factor of epochs in runs that show the effect of training time alone."""

MORE = MicrocosmTask("micro-sentiment-four-times", "classification", 2, judge, (9600, 2000, 400))
"""Sentiment with four times as many sentences."""

ON_SENTIMENT = ("xavier", "standardised", "centred", "equal-rows", "shuffled", "norms")
"""The starts that explain what happens on sentiment."""

TUNED = {"trained": "tuned", "frozen": "frozen, tuned"}
"""The kinds of arms with each start at its best learning rate, with trained and frozen tables."""

FURTHER = {
    **{rate_kind(kind, times): 3 for kind in COLOURS for times in RATES},
    "more seeds": 12,
    "longer": 5,
    "more": 5,
}
"""The kinds of arms on explored seeds alone, with their number of seeds."""


def kinds_of(experiment: StartExperiment) -> dict[str, StartExperiment]:
    """An experiment with trained and with frozen tables."""
    return {"trained": experiment, "frozen": experiment.frozen()}


def arms_of(experiment: StartExperiment) -> dict[str, dict[str, Quantity]]:
    """Every start of an experiment, trained and frozen."""
    return {
        kind: {name: of_kind.start(name) for name in STARTS}
        for kind, of_kind in kinds_of(experiment).items()
    }


def further_arms_of(experiment: StartExperiment) -> dict[str, dict[str, Quantity]]:
    """Arms on explored seeds alone: other rates, and on sentiment more seeds and epochs."""
    further = {
        rate_kind(kind, times): {name: of_kind.at_rate_times(times).start(name) for name in STARTS}
        for kind, of_kind in kinds_of(experiment).items()
        for times in RATES
    }
    if experiment.role == "sentiment":
        long = experiment.for_epochs(LONGER)
        further["more seeds"] = {name: experiment.start(name) for name in ON_SENTIMENT}
        further["longer"] = {name: long.start(name) for name in ON_SENTIMENT}
        more = replace(experiment, data=replace(experiment.data, task=MORE.name))
        further["more"] = {name: more.start(name) for name in ON_SENTIMENT}
    return further


def best_rate(told: Mapping[str, Mapping[str, Values]], kind: str, name: str) -> float | None:
    """The best learning rate on explored seeds, over the task's; None unless all are known.

    Args:
        told: A task's arms on explored seeds alone.
        kind: Whether tables are trained or frozen.
        name: The start.
    """
    means = {times: mean_of(told.get(rate_kind(kind, times), {}), name) for times in RATES}
    known = {times: mean for times, mean in means.items() if mean is not None}
    return max(known, key=known.__getitem__) if len(known) == len(RATES) else None


def best_rates(further: Mapping[str, Any]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Each task's best rate of each start, over the task's, by the kinds of tuned arms."""
    return {
        role: {
            tuned: {name: best_rate(told, kind, name) for name in STARTS}
            for kind, tuned in TUNED.items()
        }
        for role, told in further.items()
    }


def at_best_rates(half: Mapping[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
    """A half's scores, without the tuned ones of starts whose best rate was another one then."""
    now, then = best_rates(further), half.get("rates", {})

    def stands(role: str, kind: str, name: str) -> bool:
        if kind not in TUNED.values():
            return True
        rates = [of.get(role, {}).get(kind, {}).get(name) for of in (now, then)]
        return rates[0] is not None and rates[0] == rates[1]

    return {
        role: {
            kind: {name: values for name, values in arms.items() if stands(role, kind, name)}
            for kind, arms in of_role.items()
        }
        for role, of_role in half["scores"].items()
    }


def tuned_arms_of(
    experiment: StartExperiment, told: Mapping[str, Mapping[str, Values]]
) -> dict[str, dict[str, Quantity]]:
    """Every start at the rate that was best for it on explored seeds, trained and frozen."""
    return {
        TUNED[kind]: {
            name: of_kind.at_rate_times(times).start(name)
            for name in STARTS
            if (times := best_rate(told, kind, name)) is not None
        }
        for kind, of_kind in kinds_of(experiment).items()
    }


def every_arm_of(
    experiment: StartExperiment, further: Mapping[str, Any]
) -> dict[str, dict[str, Quantity]]:
    """All kinds of arms; those at best rates as far as these are known."""
    tuned = tuned_arms_of(experiment, further.get(experiment.role, {}))
    return arms_of(experiment) | further_arms_of(experiment) | tuned


def sums_of(experiment: StartExperiment) -> dict[str, dict[str, float]]:
    """What is left of words and positions in each start's sums, for the first explored seed."""
    data = prepare(experiment.data, None)
    vocabulary = data.vocabularies["encoder"]
    groups = synonym_groups()
    kinds = torch.tensor([groups.get(word, -1) for word in vocabulary.words])
    counts = torch.tensor(vocabulary.counts, dtype=torch.float64)
    told = {}
    for name in STARTS:
        [given] = experiment.start(name).runs_of(FIRST_SEED)
        run = RunSpec(recipe_of(given), given.seed)
        start = make_initial_tables(run, data, None)["encoder"]
        ordinary = ~start.special
        positions = position_table(run, int(data.train.lengths.max()), start)
        words = start.values[ordinary] * multiplier(run)
        energy = words.double().square().sum(dim=1) / (words.shape[1] / 2)
        read = read_off(words, positions, kinds[ordinary], stream(run.seed, "probe"))
        told[name] = {
            "R a word": energy.mean().item(),
            "R a token": (energy @ counts[ordinary] / counts.sum()).item(),
            "relations": relations_kept(words, positions, stream(run.seed, "relations")),
            "position": read.position,
            "word": read.word,
            "kind": read.kind,
            **adjectives(start.values, vocabulary),
        }
    return {name: {key: round(v, 4) for key, v in of.items()} for name, of in told.items()}


def adjectives(table_of: Tensor, vocabulary: Vocabulary) -> dict[str, float]:
    """The mean cosines of a table's adjectives with their synonyms and with their antonyms.

    Rows are centred by the mean of the words.
    """
    known = [
        (vocabulary.ids[word], group)
        for group, words in enumerate(lexicon().source["adjective"])
        for word in words
        if word in vocabulary.ids
    ]
    rows = table_of.double()
    centred = rows - rows[~vocabulary.special].mean(dim=0)
    units = F.normalize(centred[[row for row, _ in known]], dim=1)
    groups = torch.tensor([group for _, group in known])
    cosines, other = units @ units.T, ~torch.eye(len(known), dtype=torch.bool)
    opposite = torch.tensor([antonym_group(group) for _, group in known])
    pairs = {
        "synonyms": (groups[:, None] == groups) & other,
        "antonyms": opposite[:, None] == groups,
    }
    return {name: cosines[chosen].mean().item() for name, chosen in pairs.items()}


def measured(
    session: Session,
    seeds: Mapping[str, Sequence[int]],
    before: Mapping[str, Any],
    further: Mapping[str, Any],
) -> dict[str, Any]:
    """The scores of each start on each task, one value a seed.

    Args:
        session: Has the results.
        seeds: The seeds of each kind of arms.
        before: What was told of the same seeds before, which is kept of arms that were not run.
        further: What was told of explored seeds alone, from which the best rates are.
    """

    def found(role: str, kind: str, arms: Mapping[str, Quantity]) -> dict[str, list[float]]:
        return told_of(arms, session, seeds[kind], before.get(role, {}).get(kind, {}))

    return {
        experiment.role: {
            kind: found(experiment.role, kind, arms)
            for kind, arms in every_arm_of(experiment, further).items()
            if kind in seeds
        }
        for experiment in experiments("micro")
    }


def main() -> None:
    """Trains what the store lacks, and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--no-train", action="store_true", help="train nothing")
    parser.add_argument("--starts", nargs="+", choices=STARTS, help="train these alone")
    options = parser.parse_args()
    explored = options.first >= FIRST_SEED
    kinds = [*TUNED, *TUNED.values()]
    seeds = {kind: range(options.first, options.first + options.seeds) for kind in kinds}
    of_further = {kind: range(FIRST_SEED, FIRST_SEED + of) for kind, of in FURTHER.items()}
    define = [TaskDefinition(MORE)]
    session = Session(Store(options.store), None, "cpu", define, may_train=not options.no_train)
    told = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    further = told.get("further", {})
    train(session, wanted(seeds, further, options.starts))
    if explored:
        if not options.starts:
            train(session, wanted(of_further, further, None))
        further = told["further"] = measured(session, of_further, further, {})
        told["sums"] = {each.role: sums_of(each) for each in experiments("micro")}
    for half in HALVES:
        if half in told:
            told[half]["scores"] = at_best_rates(told[half], further)
    half, of = HALVES[not explored], list(seeds["trained"])
    before = told.get(half, {})
    kept = before["scores"] if before.get("seeds") == of else {}
    told[half] = {
        "seeds": of,
        "scores": measured(session, seeds, kept, further),
        "rates": best_rates(further),
    }
    runs = wanted(seeds, further, None) + (wanted(of_further, further, None) if explored else [])
    counted = told.setdefault("compute", {})
    counted[half] = compute_of(session, runs, counted.get(half))
    save(told)


def wanted(
    seeds: Mapping[str, Sequence[int]], further: Mapping[str, Any], only: Sequence[str] | None
) -> list[RunSpec]:
    """The runs of the starts' arms on their seeds.

    Args:
        seeds: The seeds of each kind of arms.
        further: What was told of explored seeds alone, from which the best rates are.
        only: The starts; None for all.
    """
    arms = [
        (kind, arm)
        for experiment in experiments("micro")
        for kind, of_kind in every_arm_of(experiment, further).items()
        for name, arm in of_kind.items()
        if only is None or name in only
    ]
    return [run for kind, arm in arms for run in runs_of([arm], seeds.get(kind, ()))]


def save(told: Mapping[str, Any]) -> None:
    """Saves the measurements, and writes the pages."""
    RESULTS.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    write(told)


class Cost(NamedTuple):
    """The interval of a start's cost against the best.

    Attributes:
        candidate: Whether it may be the best.
        low: The least that it costs.
        high: The most that it costs.
    """

    candidate: bool
    low: float
    high: float


ALONE = Cost(True, 0.0, 0.0)
"""The cost of the only start that is left."""


RULED_OUT = Cost(False, 0.0, math.inf)
"""The cost of a start that an earlier half rules out."""


def ranking(scores: Mapping[str, Values]) -> dict[str, Cost]:
    """The cost of each start against the best, with simultaneous bounds."""
    bounds = compare_with_best([Scores.of(each) for each in scores.values()], ERROR)
    return {
        name: Cost(candidate, low, high)
        for name, candidate, low, high in zip(
            scores, bounds.candidates, bounds.low, bounds.high, strict=True
        )
    }


def over_all(scores: Mapping[str, Mapping[str, Mapping[str, Values]]], kind: str) -> dict[str, Any]:
    """Each start's mean over the tasks, seed by seed, in margins of the task."""
    margins = {each.role: each.margin for each in experiments("micro")}
    names = [
        name for name in STARTS if all(name in of_task.get(kind, {}) for of_task in scores.values())
    ]
    return {
        name: [
            statistics.fmean(of_seed)
            for of_seed in zip(
                *([v / margins[role] for v in of[kind][name]] for role, of in scores.items()),
                strict=True,
            )
        ]
        for name in names
    }


def write(told: Mapping[str, Any]) -> None:
    """Writes the figure, and the pages' tables."""
    tables = {"sums": sums_table(told["sums"])} if "sums" in told else {}
    half = next((told[each] for each in reversed(HALVES) if each in told), None)
    if half is not None:
        if all(of.get(TUNED["trained"]) for of in half["scores"].values()):
            (HERE / "scores.svg").write_text(figure(half["scores"]), "utf-8")
        tables["seeds"] = [seeds_line(told)]
        tables["compute"] = [compute_line(told["compute"])] if "compute" in told else []
        tables["answer"] = answer_table(half["scores"], TWICE, "what attention adds")
        tables["apart"] = answer_table(half["scores"], INSTEAD, "what scoring them apart gains")
        for kind in (*TUNED, *TUNED.values()):
            tables[f"scores {kind}"] = scores_table(half["scores"], kind)
    for kind, tuned in TUNED.items():
        tables[f"ranking {kind}"] = ranking_table(told, kind)
        tables[f"ranking {tuned}"] = ranking_table(told, tuned)
    if "further" in told:
        for kind in TUNED:
            tables[f"rates {kind}"] = rates_table(told["further"], kind)
        tables["sentiment"] = sentiment_table(told)
    for page in PAGES:
        write_parts(page, SCRIPT, tables)


def seeds_line(told: Mapping[str, Any]) -> str:
    """The seeds of both halves, in words."""
    words = [
        f"{half}: seeds {told[half]['seeds'][0]} to {told[half]['seeds'][-1]}"
        for half in HALVES
        if half in told
    ]
    return f"{'; '.join(words).capitalize()}."


def label(name: str) -> str:
    """The name for people of a start of ``micro``."""
    return STARTS[name].told("GloVe")


def sums_table(told: Mapping[str, Any]) -> list[str]:
    """The table of what is left in each start's sums, averaged over tasks."""

    def mean(name: str, key: str) -> float:
        return statistics.fmean(of_task[name][key] for of_task in told.values())

    rows = [
        [
            label(name),
            f"{mean(name, 'R a word'):.2f}",
            f"{mean(name, 'R a token'):.2f}",
            f"{100 * mean(name, 'relations'):.0f}",
            *(f"{mean(name, key):.0f}" for key in ("position", "word", "kind")),
            *(
                f"{told['sentiment'][name][key]:.2f}".replace("-", "−")
                for key in ("synonyms", "antonyms")
            ),
        ]
        for name in STARTS
    ]
    head = ["start", "R a word", "R a token", "relations kept", "position read", "word read"]
    return table([*head, "meaning read", "synonyms", "antonyms"], rows)


def scores_table(scores: Mapping[str, Any], kind: str) -> list[str]:
    """Mean and standard deviation of each start on each task."""
    rows = []
    for name in STARTS:
        found = [of_task.get(kind, {}).get(name) for of_task in scores.values()]
        if all(found):
            rows.append([label(name), *map(spread, found)])
    return table(["start", *scores], rows)


TWICE = {"xavier": "xavier-both", "standardised": "both", "bert": "bert-both"}
"""Starts with added positions, and the same with positions in attention too."""

INSTEAD = {"xavier": "xavier-untied", "standardised": "untied", "bert": "bert-untied"}
"""Starts with added positions, and the same with positions scored apart, and not added."""


def answer_table(scores: Mapping[str, Any], pairs: Mapping[str, str], says: str) -> list[str]:
    """The table of starts with added positions and the gains of others, at best learning rates."""
    rows = []
    for name, twice in pairs.items():
        cells = []
        for kind in TUNED.values():
            for of in scores.values():
                before, after = of.get(kind, {}).get(name), of.get(kind, {}).get(twice)
                if before is None or after is None:
                    cells.append("–")
                    continue
                gains = [b - a for a, b in zip(before, after, strict=True)]
                cells.append(f"{statistics.fmean(before):.0f}, {estimate(gains).told()}")
        rows.append([label(name), *cells])
    head = [f"{role}, {kind}" for kind in TUNED for role in scores]
    return table([f"positions added alone, and {says}", *head], rows)


def rankings(
    halves: Sequence[Mapping[str, Mapping[str, Values]]],
) -> dict[str, dict[str, Cost]]:
    """The rankings of each column: chosen on the first half, and confirmed on the next.

    Starts that a half rules out are no longer compared in the next one.

    Args:
        halves: Each half's columns, and in each the starts with their scores, one a seed.
    """
    left: dict[str, dict[str, Cost]] = {}
    for every in halves:
        for column, of in every.items():
            known = left.get(column)
            chosen = {
                name: values
                for name, values in of.items()
                if known is None or (name in known and known[name].candidate)
            }
            out = [name for name, cost in (known or {}).items() if not cost.candidate]
            compared = ranking(chosen) if len(chosen) > 1 else dict.fromkeys(chosen, ALONE)
            left[column] = compared | dict.fromkeys(out, RULED_OUT)
    return left


def costs_table(left: Mapping[str, Mapping[str, Cost]], labels: Mapping[str, str]) -> list[str]:
    """The costs of rankings, a column each; starts that none compares are left out."""
    rows = []
    for name, label_of_one in labels.items():
        costs = [of.get(name) for of in left.values()]
        if any(cost not in (None, RULED_OUT) for cost in costs):
            rows.append([label_of_one, *map(cost_cell, costs)])
    return table(["start", *left], rows)


def ranking_table(told: Mapping[str, Any], kind: str) -> list[str]:
    """The table of starts that may be the best, by task and over all."""
    halves = [
        {role: of.get(kind, {}) for role, of in scores.items()}
        | {"over all, margins": over_all(scores, kind)}
        for scores in (told[half]["scores"] for half in HALVES if half in told)
    ]
    return costs_table(rankings(halves), {name: label(name) for name in STARTS})


def cost_cell(cost: Cost | None) -> str:
    """A start's cost in a table; a star for one that may be the best."""
    if cost is None:
        return "not tried"
    if cost is RULED_OUT:
        return "–"
    if cost == ALONE:
        return "★ alone"
    return f"{'★ ' if cost.candidate else ''}{cost.low:.1f} to {cost.high:.1f}"


def rates_table(scores: Mapping[str, Any], kind: str) -> list[str]:
    """The means by learning rate on the same explored seeds, the highest bold.

    Args:
        scores: What was told of explored seeds alone.
        kind: Whether tables are trained or frozen.
    """
    rows = []
    for name in STARTS:
        of_rates = [
            [of.get(rate_kind(kind, times), {}) for times in RATES] for of in scores.values()
        ]
        means = [[mean_of(each, name) for each in of_task] for of_task in of_rates]
        if any(mean is not None for of_task in means for mean in of_task):
            rows.append([label(name), *(" / ".join(best_bold(of_task)) for of_task in means)])
    return table(["start", *scores], rows)


def sentiment_table(told: Mapping[str, Any]) -> list[str]:
    """The differences from Xavier on sentiment, with intervals, and after longer training."""
    further = told["further"]["sentiment"]

    def against(of: Mapping[str, Values], name: str) -> str:
        if name not in of or BASELINE not in of or name == BASELINE:
            return "–"
        gaps = [a - b for a, b in zip(of[name], of[BASELINE], strict=True)]
        return estimate(gaps).told()

    halves = [half for half in HALVES if half in told]
    rows = [
        [
            label(name),
            against(further.get("more seeds", {}), name),
            *(against(told[half]["scores"]["sentiment"]["trained"], name) for half in halves[1:]),
            against(further.get("longer", {}), name),
            against(further.get("more", {}), name),
        ]
        for name in ON_SENTIMENT
        if name != BASELINE
    ]
    head = ["against Xavier", f"{FURTHER['more seeds']} explored seeds", *halves[1:]]
    longer = f"{LONGER} × the epochs, {FURTHER['longer']} explored seeds"
    return table([*head, longer, f"4 × the sentences, {FURTHER['more']} explored seeds"], rows)


def figure(scores: Mapping[str, Any]) -> str:
    """A panel a task: each start at its best rate with its interval, trained and frozen."""
    names = [
        name
        for name in STARTS
        if all(name in of.get(TUNED["trained"], {}) for of in scores.values())
    ]
    parts, left, wide, row, top = [], 275, 210, 24, 56
    for number, (kind, colour) in enumerate(COLOURS.items()):
        parts.append(f'<circle cx="{left + 80 * number}" cy="16" r="4" fill="{colour}"/>')
        parts.append(text(left + 80 * number + 8, 20, kind))
    bottom = top + row * len(names)
    for number, (role, of) in enumerate(scores.items()):
        every = {
            (kind, name): estimate(of[tuned][name])
            for kind, tuned in TUNED.items()
            for name in names
            if name in of.get(tuned, {})
        }
        low = max(0.0, min(each.low for each in every.values()) - 2)
        high = min(100.0, max(each.high for each in every.values()) + 2)
        x0 = left + number * (wide + 20)
        axis = Axis(low, high, x0, x0 + wide)
        unit = "BLEU" if role == "translation" else "% accuracy"
        parts.append(text(x0 + wide / 2, 42, f"{role}, {unit}", "middle"))
        for tick in axis.ticks(4):
            parts.append(
                f'<line x1="{tick.at:.1f}" x2="{tick.at:.1f}" y1="50" y2="{bottom}" stroke="#ddd"/>'
            )
            parts.append(text(tick.at, bottom + 16, tick.text, "middle"))
        for index, name in enumerate(names):
            y = top + 10 + row * index
            if not number:
                parts.append(text(left - 10, y + 4, label(name), "end"))
            for offset, (kind, colour) in zip((-4, 4), COLOURS.items(), strict=True):
                if (kind, name) in every:
                    mean, start, stop = every[kind, name]
                    ends = [min(max(value, low), high) for value in (start, stop)]
                    at = [axis.at(value) for value in (*ends, mean)]
                    parts.append(
                        f'<line x1="{at[0]:.1f}" x2="{at[1]:.1f}" y1="{y + offset}" '
                        f'y2="{y + offset}" stroke="{colour}" stroke-width="2"/>'
                        f'<circle cx="{at[2]:.1f}" cy="{y + offset}" r="3.5" fill="{colour}"/>'
                    )
    title = "Scores by start at its best rate, trained and frozen, with 95 % intervals"
    return svg(left + 3 * (wide + 20), bottom + 26, parts, title)


if __name__ == "__main__":
    main()
