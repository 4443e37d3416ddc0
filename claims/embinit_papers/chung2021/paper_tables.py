"""The paper's tables in the report: scores by arm and by layer, with parameter counts."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, cast

from embinit.lab.draws import ANY_WORLD
from embinit.lab.measures import task_accuracy, task_transfer
from embinit.lab.specs import TransferSpec, recipe_of
from embinit.lab.tables.recipes import INITS
from embinit.papers import PaperTable, by_arm, mean_and_spread
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult
from embinit.specs import RunSpec
from embinit_papers.chung2021 import SETTINGS, USUAL, Setting

Arm = list[RunResult]


def methods(tier: str) -> list[str]:
    """The methods on a tier, paragraph by paragraph."""
    setting = SETTINGS[tier]
    masking, model, text = setting.pretraining, setting.model, setting.text
    tasks = " and ".join(
        f"{task.data} ({task.training.epochs} epochs at "
        f"{'a rate that falls from ' if task.training.falls else ''}{task.training.lr:g})"
        for task in setting.tasks
    )
    last = [task.data for task in setting.tasks if task.training.falls]
    times = sorted({task.times for task in setting.tasks})
    across = [task.data for task in setting.tasks if task.transfers]
    return [
        "Encoders in BERT's way (learned positions, LayerNorm after the sum, GELU, post-LN; "
        f"{model.dim} wide, {model.layers} layers, feed-forward {model.feed_forward}, dropout "
        f"{model.dropout:g}) were pre-trained on {text.task} by guessing {masking.share:.0%} of "
        f"its words, hidden as in BERT: {text.cut.train:,} sentences, each in one of two "
        f"languages, over a joint vocabulary of {text.most_words:,} words, for {masking.epochs} "
        f"epochs in batches of {masking.batch_size} at a rate of {masking.lr:g} that rises over a "
        "tenth of the steps and falls to zero.",
        "The input table (E_in wide) and the output table (E_out wide) are one (coupled) or two; a "
        "linear layer leads from E_in to the model's width where they differ, and a dense layer "
        "with GELU and LayerNorm leads to E_out. The output table and that layer are thrown away, "
        f"and the rest is fine-tuned, with a linear layer on the mean over words, on {tasks}; each "
        "score is that of the epoch that was best on the task's validation split"
        + (f", but on {' and '.join(last)} that of the last epoch. " if last else ". ")
        + (
            f"It is a mean over {' or '.join(map(str, times))} fine-tunings of the same encoder, "
            "which differ in that layer's start, in order and in dropout. "
            if times[-1] > 1
            else ""
        )
        + (
            f"The other language's score on {' and '.join(across)} is taken at the same epoch, "
            "which is chosen without it."
            if across
            else "No task has labels in the other language: transfer shows in retrieval alone."
        ),
        "Before fine-tuning each layer's mean over a sentence's words was read: by ridge "
        f"regression on {' and '.join(name for name, _ in setting.probes)}, and by looking up each "
        "sentence's translation by cosine among all, both ways, each language's mean taken off. A "
        "drop is the best layer's figure less the last one's.",
        "A trend is the least-squares slope over the width's doublings, one a seed. From end to "
        "end its margin is that of an arm. Arms of a seed "
        "share the order of the text, the hidden words, and the starting values of all tensors "
        "that have the same shape in both.",
        "Parameters are counted by building the model; fine-tuning has neither the output table "
        "nor the layer to it. Arms said to be of equal budget differ by at most 1 %, or their "
        "claim is not run; what a narrow input table frees is reinvested in whole layers, and the "
        "rest in feed-forward width.",
    ]


def paper_tables(tier: str, results: Sequence[RunResult]) -> list[PaperTable]:
    """The paper's tables of runs on a tier.

    Args:
        tier: The tier.
        results: The results of runs, of any paper and arm.

    Returns:
        Budgets and scores by arm, then probes and retrieval layer by layer for each E_out; empty
        if nothing was run.
    """
    setting = SETTINGS[tier]
    texts = (setting.text, setting.text.in_world(ANY_WORLD))
    arms = by_arm(
        result
        for result in results
        if getattr(result.spec.without_seed().recipe, "data", None) in texts
    )
    ordered = sorted(arms.values(), key=lambda arm: _order(arm[0].spec, setting))
    if not ordered:
        return []
    return [
        _budgets(ordered, setting),
        _scores(ordered, setting),
        *_layers(ordered, setting, "probe", "Right by a linear probe, %"),
        *_layers(ordered, setting, "retrieval", "Translations found, %"),
    ]


def _changes(run: RunSpec, setting: Setting) -> dict[str, Any]:
    """The settings of the arm's model and pre-training that differ from the usual arm's."""
    usual, model = asdict(setting.model), asdict(recipe_of(run).architecture)
    changes = {
        name: value
        for name, value in model.items()
        if value != usual[name] and name not in ("heads", "feed_forward")
    }
    epochs = cast(TransferSpec, recipe_of(run).training).pretraining.epochs
    if epochs != setting.pretraining.epochs:
        changes["epochs"] = epochs
    return changes


def _order(run: RunSpec, setting: Setting) -> tuple[object, ...]:
    changes = _changes(run, setting)
    ranked = ("coupled", "dim", "layers", "output_width", "input_width", "epochs")
    first = min((ranked.index(name) for name in changes), default=-1)
    numbers = (float(changes.get(name) or 0) for name in ranked)
    init = recipe_of(run).table.init
    return (init != USUAL, first, *numbers, init)


def _name(run: RunSpec, setting: Setting) -> str:
    """An arm's name in words."""
    says: dict[str, Callable[[Any], str]] = {
        "coupled": lambda _: "coupled",
        "dim": lambda dim: f"{dim} wide",
        "layers": lambda layers: f"{layers} layers",
        "output_width": lambda width: f"E_out {width}",
        "input_width": lambda width: f"E_in {width}",
        "epochs": lambda epochs: (
            f"{epochs} epochs of pre-training" if epochs else "not pre-trained"
        ),
    }
    changes = _changes(run, setting)
    words = [say(changes[name]) for name, say in says.items() if name in changes]
    if recipe_of(run).table.init != USUAL:
        words.insert(0, INITS[recipe_of(run).table.init].label.format(source=setting.source_label))
    return ", ".join(words) or "usual: two tables as wide as the model"


def _budgets(arms: Sequence[Arm], setting: Setting) -> PaperTable:
    rows = []
    for arm in arms:
        measures = arm[0].measures
        counts = [int(measures[f"{phase}_parameters"]) for phase in ("pretraining", "finetuning")]
        rows.append((_name(arm[0].spec, setting), *(f"{count:,}" for count in counts)))
    head = ("arm", "parameters at pre-training, here", "parameters at fine-tuning, here")
    return PaperTable("Parameter budgets", head, tuple(rows))


def _scores(arms: Sequence[Arm], setting: Setting) -> PaperTable:
    columns: dict[str, str | Measure] = {"masked loss": "masked_loss"}
    for task in setting.tasks:
        columns[f"{task.role}, %"] = task_accuracy(task.role)
        if task.transfers:
            columns[f"{task.role}, other language, %"] = task_transfer(task.role)
    for name, title in (("probe", "probes"), ("retrieval", "retrieval")):
        columns[f"{title}, last layer, %"] = f"{name}_last"
        columns[f"{title}, drop"] = f"{name}_drop"
    rows = tuple(
        (_name(arm[0].spec, setting), *(mean_and_spread(arm, what) for what in columns.values()))
        for arm in arms
    )
    return PaperTable("Scores by arm", ("arm", *(f"{title}, here" for title in columns)), rows)


def _output_width(run: RunSpec, setting: Setting) -> int | None:
    """E_out of an arm that differs from the usual one in that alone; None for other arms."""
    changes = _changes(run, setting)
    if recipe_of(run).table.init != USUAL or set(changes) - {"output_width"}:
        return None
    return int(changes.get("output_width") or setting.model.dim)


def _layers(arms: Sequence[Arm], setting: Setting, name: str, title: str) -> list[PaperTable]:
    """Curves over layers, one an E_out, as a figure and as a table."""
    by_width = sorted(
        (width, [curve for result in arm if (curve := result.curves.get(f"{name}_by_layer"))])
        for arm in arms
        if (width := _output_width(arm[0].spec, setting)) is not None
    )
    curves = tuple((f"E_out {width}", tuple(runs)) for width, runs in by_width if runs)
    if not curves:
        return []
    layers = range(setting.model.layers + 1)
    rows = tuple(
        (label, *(f"{statistics.fmean(run[layer] for run in runs):.1f}" for layer in layers))
        for label, runs in curves
    )
    head = ("", *(f"layer {layer}, here" for layer in layers))
    return [PaperTable(f"{title}, layer by layer", head, rows, curves, measure=title, by="layer")]
