"""Chung et al. (2021), *Rethinking embedding coupling in pre-trained language models*.

ICLR 2021, arXiv 2010.12821. The families by section with their sizes, so that a claim's share of
alpha is fixed before anything is trained; the report's rows; and what claims compare. Settings are
in ``setting``, the shapes of models in ``shapes``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import resources
from typing import Any

from embinit.claims.comparisons import Comparison, Quantity, trend
from embinit.claims.definitions import Family
from embinit.claims.roles import Role
from embinit.errors import InputError
from embinit.lab.experiments import ModelExperiment
from embinit.lab.measures import (
    MASKED_ACCURACY,
    NEIGHBOURS_FALL,
    NEIGHBOURS_LAST_STEP,
    NEIGHBOURS_UPPER,
    PROBE_MIX,
    cost_of_removal,
)
from embinit.papers import Finding, Printed
from embinit.runs.measures import Measure
from embinit_papers.chung2021 import shapes
from embinit_papers.chung2021.setting import AVERAGE, SETTINGS, USUAL, experiments, shown, without
from embinit_papers.settings import claim_in


def _section(number: str, sizes: Mapping[str, int], says: str) -> Family:
    says = f"Section {number}: {says}"
    return Family(f"chung2021/section-{number}", sizes, says, origin="paper")


FAMILIES = (
    _section("4", {"micro": 4, "paper": 4}, "decoupling, and narrower tables"),
    _section("5", {"micro": 2, "paper": 6}, "wider output tables, and reinvested parameters"),
    _section("6.1", {"micro": 2, "paper": 2}, "masked words predicted"),
    _section("6.2", {"paper": 5}, "which layers fine-tuning needs"),
    _section("6.3", {"paper": 3}, "how well the upper layers translate"),
)
claim = claim_in(FAMILIES)


def _row(says: str, *claims: str, untestable: tuple[str, ...] = ()) -> Finding:
    return Finding(says, tuple(f"chung2021/{claim}" for claim in claims), True, untestable)


FINDINGS = (
    _row("Decoupling alone changes little", "section-4/decoupling-alike"),
    _row("A narrow input costs no more than a narrow output",
         "section-4/narrow-input-not-below-narrow-output"),
    _row("Narrow tables cost", "section-4/narrow-output-costs", "section-4/narrow-input-costs",
         "section-5/narrow-input-below-coupled"),
    _row("A wider output table improves fine-tuning", "section-5/wider-output-improves"),
    _row("Wider or decoupled output tables predict more masked words",
         "section-6.1/wider-output-predicts-better", "section-6.1/decoupled-predicts-better"),
    _row("Saved input parameters gain more in width, most in layers",
         "section-5/reinvested-in-width-above-coupled",
         "section-5/reinvested-in-layers-above-coupled", "section-5/layers-above-width",
         untestable=("micro",)),
    _row("A wider output table keeps the upper layers general", "section-6.2/removal-costs-more",
         "section-6.2/mixed-probes-improve", "section-6.3/upper-layers-translate",
         "section-6.3/flatter-fall", untestable=("micro",)),
)  # fmt: skip
"""The report's rows: each statement that ``micro`` asks, and the two that it can't show."""

MEASURES = {
    "masked words": (MASKED_ACCURACY,),
    "probes": (PROBE_MIX,),
    "translations": (NEIGHBOURS_UPPER, NEIGHBOURS_FALL, NEIGHBOURS_LAST_STEP),
}
"""What is measured before fine-tuning, by its control."""

MARGIN = 1.0
"""The margin of measures before fine-tuning: one answer in a hundred."""


def on_average(tier: str) -> list[ModelExperiment]:
    """The experiment on the mean over tasks, for statements on the average and on encoders."""
    return [experiment for experiment in experiments(tier) if experiment.role == AVERAGE]


def each_task(tier: str) -> list[ModelExperiment]:
    """The experiments on each task, for statements on all of them."""
    return [experiment for experiment in experiments(tier) if experiment.role != AVERAGE]


def where_shown(
    control: str, of: Callable[[str], list[ModelExperiment]] = on_average
) -> Callable[[str], list[ModelExperiment]]:
    """A tier's experiments where trials found the control of what is asked, else none."""
    return lambda tier: of(tier) if shown(control, tier) else []


def score(arms: ModelExperiment) -> Quantity:
    """The arm's fine-tuned accuracy: mean over languages, and over tasks in ``on_average``."""
    return arms[USUAL]


def measured(arms: ModelExperiment, measure: Measure) -> Quantity:
    """A measure of the arm's encoder before fine-tuning."""
    return arms[USUAL].measured_by(measure).with_margin(MARGIN)


def cost(arms: ModelExperiment, layers: int) -> Quantity:
    """The accuracy lost in fine-tuning without the last layers, in percent.

    InputError for a number of layers that no task of the tier is fine-tuned without.
    """
    setting = SETTINGS[arms.tier]
    if layers not in setting.removed:
        raise InputError(
            f"no task of {arms.tier} is fine-tuned without {layers} layers; name one of "
            f"{', '.join(map(str, setting.removed))}"
        )
    role = setting.roles[-1]
    return arms[USUAL].measured_by(cost_of_removal(role, without(role, layers)), keep_margin=True)


def over_output_widths(arms: ModelExperiment, of: Any) -> Quantity:
    """The trend over E_out at a narrow input: the change of ``of(arms)`` with each doubling."""
    widths = shapes.output_widths(arms)
    return trend([(width, of(shapes.narrow_input(arms, width))) for width in widths], "E_out")


@cache
def numbers() -> dict[str, Any]:
    """The numbers of the paper's tables, as printed."""
    text = resources.files("embinit_papers.chung2021").joinpath("numbers.json").read_text("utf-8")
    known: dict[str, Any] = json.loads(text)
    return known


def _wide(arms: ModelExperiment) -> ModelExperiment:
    return shapes.narrow_input(arms, shapes.output_widths(arms)[-1])


PRINTED = {
    "coupled": shapes.coupled,
    "decoupled": lambda arms: arms,
    "narrow output": shapes.narrow_output,
    "narrow input": shapes.narrow_input,
    "both narrow": lambda arms: shapes.narrow_input(arms, shapes.narrow(arms)),
    "narrow input, wide output": _wide,
    "layers added and dropped": shapes.layers_added,
    "reinvested in width": shapes.reinvested_in_width,
    "reinvested in layers": shapes.reinvested_in_layers,
}
"""The arms by the names of ``numbers.json``."""


def printed(comparison: Comparison) -> list[Printed]:
    """The averages over XTREME's tasks of two arms' models, else nothing."""
    names = [_as_printed(side) for side in (comparison.left, comparison.right)]
    if not all(names):
        return []
    left, right = (float(numbers()["xtreme"][name]["average"]) for name in names)
    return [Printed("XTREME, average", left, right, round(left - right, 4))]


def _as_printed(side: Quantity) -> str:
    """The paper's model that an arm of the average is; "" for others and other measures."""
    if len(side.terms) != 1 or side.measure.name != AVERAGE:
        return ""
    [term] = side.terms
    if term.role != Role.CLAIM:
        return ""
    return _printed_arms().get(term.experiment.run(term.init, 0).without_seed(), "")


@cache
def _printed_arms() -> dict[Any, str]:
    found = {}
    for arms in (arms for tier in SETTINGS for arms in on_average(tier)):
        for name, shape in PRINTED.items():
            with suppress(InputError):  # no size of this tier has the budget
                found[shape(arms).run(USUAL, 0).without_seed()] = name
    return found
