"""What was measured for the second paper, arm by arm and layer by layer, with parameter counts."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from embinit.claims.comparisons import OTHER_SEEDS, measured_in
from embinit.papers import Beside
from embinit.papers.chung2021 import SETTINGS, Setting
from embinit.papers.kim2024.experiments import arm_label
from embinit.specs import canonical

Record = Mapping[str, Any]


def methods(tier: str) -> str:
    """How the second paper's models are made and read, as a methods section has it."""
    setting = SETTINGS[tier]
    masking, model, text = setting.pretraining, setting.model, setting.text
    tasks = " and ".join(
        f"{task.data} ({task.training.epochs} epochs at {task.training.lr:g})"
        for task in setting.tasks
    )
    across = [task.data for task in setting.tasks if task.transfers]
    said = [
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
        "score is that of the epoch that was best on the task's validation split. "
        + (
            f"The other language's score on {' and '.join(across)} is taken at that epoch, which "
            "was chosen without it."
            if across
            else "No task has labels in the other language: transfer shows in retrieval alone."
        ),
        "Before fine-tuning each layer's mean over a sentence's words was read: by ridge "
        f"regression on {' and '.join(name for name, _ in setting.probes)}, and by looking up each "
        "sentence's translation by cosine among all, both ways, each language's mean taken off. A "
        "drop is the best layer's figure less the last one's.",
        "A trend is the least-squares slope over the width's doublings, one a seed. Arms of a seed "
        "share the order of the text, the hidden words, and the starting values of all tensors "
        "that have the same shape in both.",
        "Parameters are counted by building the model; fine-tuning has neither the output table "
        "nor the layer to it. Arms said to be of equal budget differ by at most 1 %, or their "
        "claim is not run; what a narrow input table frees is reinvested in whole layers, and the "
        "rest in feed-forward width.",
    ]
    return "\n\n".join(said)


def beside(tier: str, records: Iterable[Record]) -> list[Beside]:
    """Budgets and scores by arm, what each layer tells by E_out; empty if nothing was run."""
    setting = SETTINGS[tier]
    mine = [
        record
        for record in records
        if record["spec"]["data"].get("task") == setting.text.task
        and record["spec"]["seed"] < OTHER_SEEDS
    ]
    arms: dict[str, list[Record]] = {}
    for record in mine:
        spec = {name: part for name, part in record["spec"].items() if name != "seed"}
        arms.setdefault(canonical(spec), []).append(record)
    ordered = sorted(arms.values(), key=lambda found: _order(found[0], setting))
    if not ordered:
        return []
    by_width = [found for found in ordered if _output_width(found[0], setting) is not None]
    return [
        _budgets(ordered, setting),
        _scores(ordered, setting),
        *_layers(by_width, setting, "probe", "Right by a linear probe, %"),
        *_layers(by_width, setting, "retrieval", "Translations found, %"),
    ]


def _changes(record: Record, setting: Setting) -> dict[str, Any]:
    """What of the arm's model and pre-training is not the usual."""
    usual = asdict(setting.model)
    found = {
        name: value
        for name, value in record["spec"]["model"].items()
        if value != usual[name] and name not in ("heads", "feed_forward")
    }
    epochs = record["spec"]["training"]["pretraining"]["epochs"]
    if epochs != setting.pretraining.epochs:
        found["epochs"] = epochs
    return found


def _order(record: Record, setting: Setting) -> tuple[object, ...]:
    changes = _changes(record, setting)
    places = ("coupled", "dim", "layers", "output_width", "input_width", "epochs")
    first = min((places.index(name) for name in changes), default=-1)
    table = record["spec"]["table"]["init"]
    return (table != "normal", first, *(float(changes.get(name) or 0) for name in places), table)


def _name(record: Record, setting: Setting) -> str:
    """An arm in words."""
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
    changes = _changes(record, setting)
    said = [say(changes[name]) for name, say in says.items() if name in changes]
    init = record["spec"]["table"]["init"]
    if init != "normal":
        said.insert(0, arm_label(record["spec"]))
    return ", ".join(said) or "usual: two tables as wide as the model"


def _measured(records: Sequence[Record], measure: str) -> str:
    values = [value for one in records if (value := measured_in(one, measure)) is not None]
    if not values:
        return "–"
    mean = f"{statistics.fmean(values):.1f}"
    if len(values) == 1:
        return mean
    return f"{mean} ± {statistics.stdev(values):.1f} ({len(values)})"


def _budgets(arms: Sequence[Sequence[Record]], setting: Setting) -> Beside:
    rows = []
    for records in arms:
        measures = records[0]["measures"]
        counts = [int(measures[f"{phase}_parameters"]) for phase in ("pretraining", "finetuning")]
        rows.append((_name(records[0], setting), *(f"{count:,}" for count in counts)))
    head = ("arm", "parameters at pre-training, here", "parameters at fine-tuning, here")
    return Beside("Parameter budgets", head, tuple(rows))


def _scores(arms: Sequence[Sequence[Record]], setting: Setting) -> Beside:
    columns = {"masked loss": "masked_loss"}
    for task in setting.tasks:
        columns[f"{task.role}, %"] = f"{task.role}_accuracy"
        if task.transfers:
            columns[f"{task.role}, other language, %"] = f"{task.role}_test"
    for name, title in (("probe", "probes"), ("retrieval", "retrieval")):
        columns[f"{title}, last layer, %"] = f"{name}_last"
        columns[f"{title}, drop"] = f"{name}_drop"
    rows = tuple(
        (_name(records[0], setting), *(_measured(records, one) for one in columns.values()))
        for records in arms
    )
    return Beside("Scores by arm", ("arm", *(f"{title}, here" for title in columns)), rows)


def _output_width(record: Record, setting: Setting) -> int | None:
    """E_out of an arm that differs from the usual one in that alone, None of others."""
    changes = _changes(record, setting)
    if record["spec"]["table"]["init"] != "normal" or set(changes) - {"output_width"}:
        return None
    return int(changes.get("output_width") or setting.model.dim)


def _layers(
    arms: Sequence[Sequence[Record]], setting: Setting, name: str, title: str
) -> list[Beside]:
    """A curve over the layers for each E_out, as a figure and as a table."""
    found = sorted(
        (width, [curve for one in records if (curve := one["curves"].get(f"{name}_by_layer"))])
        for records in arms
        if (width := _output_width(records[0], setting)) is not None
    )
    curves = tuple((f"E_out {width}", tuple(runs)) for width, runs in found if runs)
    if not curves:
        return []
    layers = range(setting.model.layers + 1)
    rows = tuple(
        (label, *(f"{statistics.fmean(run[layer] for run in runs):.1f}" for layer in layers))
        for label, runs in curves
    )
    head = ("", *(f"layer {layer}, here" for layer in layers))
    return [Beside(f"{title}, layer by layer", head, rows, curves, measure=title, by="layer")]
