"""Making a run by its function in a trainer, and what its answer is worth.

Whatever goes wrong is the run's own failure. A measure that isn't finite, or too large to be
compared, is left out of the result, which says so.
"""

from __future__ import annotations

import inspect
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from embinit.errors import InputError
from embinit.runs.functions.definition import Training, training_named
from embinit.runs.kinds import Cohort, Kind, RunContext, structured
from embinit.runs.results import AGAIN, RunResult, provenance
from embinit.runs.trainers.inputs import changes, digest_of_inputs, recorded, root_of, sealed
from embinit.runs.trainers.processes import RunFailed, TrainerEnded, Trainers, of_this_node
from embinit.runs.trainers.serving import Answer
from embinit.specs import FunctionRecipe, RunSpec

if TYPE_CHECKING:
    from embinit.runs.store_view import StoreView

LARGEST = 1e150
"""A measure beyond it has no square, and so no standard deviation."""
ALIKE = 1e-9
"""The relative difference up to which two numbers are the same: sums may be taken in any order."""
INPUTS = "inputs"
"""Where a run's provenance has what it was made from."""


def make(run: RunSpec[FunctionRecipe], context: RunContext) -> RunResult:
    """Makes a run by its function; RunFailed where it gave no numbers."""
    known, started = training_named(run.recipe.function), time.perf_counter()
    called = _call(known, run, context)
    measures = _checked(known, called.answer)
    finite = {name: value for name, value in measures.items() if abs(value) <= LARGEST}
    wrong = [f"{name} is {value:g}" for name, value in measures.items() if name not in finite]
    seconds, again = time.perf_counter() - started, None
    if context.twice:
        try:
            second = _call(known, run, replace(context, progress=lambda share: None))
            again = _apart(known, run.seed, measures, _checked(known, second.answer))
        except TrainerEnded:  # a killed process, or an interrupted session, says nothing of it
            raise
        except RunFailed as error:
            again = f"{known.name} fails when it is called again: {error}"
        else:
            called = called._replace(traced=second.traced)
    inputs = recorded(called.traced, known.home, known.inputs)
    about = provenance(context.device, seconds, inputs["versions"], pinned=False) | {INPUTS: inputs}
    return RunResult(
        run,
        finite,
        curves={
            k: values for k, values in called.curves.items() if all(map(math.isfinite, values))
        },
        failure=f"{'; '.join(wrong)}: return the worst score of such a run" if wrong else None,
        provenance=about | ({AGAIN: again} if context.twice else {}),
    )


def _call(known: Training, run: RunSpec[FunctionRecipe], context: RunContext) -> Answer:
    trainers: Trainers = context.trainers or of_this_node()
    trainer = trainers.of(known.home, context.device, alone=known.process)
    try:
        qualname = inspect.unwrap(known.function).__qualname__
        taken, arguments = [*known.told()], run.recipe.arguments
        request = known.name, qualname, arguments, run.seed, context.device, taken
        answer: Answer = trainer.ask(known.name, request, context.progress, known.timeout)
        return answer
    finally:
        if known.process:
            trainers.drop(trainer)


class FunctionKind(Kind[FunctionRecipe]):
    """Calls a user's function, which returns its measures."""

    recipe = FunctionRecipe
    needs_models = False
    traced = True

    def recipe_of(self, layout: Mapping[str, Any]) -> FunctionRecipe:
        """The recipe, which is the layout's ``training``."""
        plain = dict(layout["training"])
        if plain.pop("code", "") or plain.pop("versions", ()):
            raise InputError("an older version of embinit made it, and it says nothing of inputs")
        recipe: FunctionRecipe = structured(FunctionRecipe, plain)
        return recipe

    def source(self, run: RunSpec[FunctionRecipe]) -> str:
        """A digest of the function's module and of what it imports."""
        return f"{training_named(run.recipe.function).code} "

    def fingerprint(self, run: RunSpec[FunctionRecipe], data_dir: Path | None) -> str:
        """The names of the function's measures: what it reads is in its record."""
        return f"function/{'/'.join(sorted(training_named(run.recipe.function).measures))}"

    def check(self, run: RunSpec[FunctionRecipe], data_dir: Path | None) -> None:
        """Refuses a function that names a missing input."""
        for path in training_named(run.recipe.function).inputs:
            if not path.exists():
                raise InputError(
                    f"{path} doesn't exist, which {run.recipe.function} names as its input"
                )

    def check_key(self, run: RunSpec[FunctionRecipe]) -> str:
        """The function's name."""
        return run.recipe.function

    def make(self, cohort: Cohort[FunctionRecipe], context: RunContext) -> list[RunResult]:
        """Calls the function for one run after the other."""
        return [make(run, context) for run in cohort.runs]

    def sealed(self, result: RunResult, session: StoreView) -> tuple[str, RunResult]:
        """The digest of what a result was made from, and the result as the store keeps it."""
        inputs = sealed(
            result.provenance[INPUTS],
            session.trainers.surroundings.environ,
            session.name,
        )
        about = {**result.provenance, INPUTS: inputs}
        return digest_of_inputs(inputs), replace(result, provenance=about)

    def holds(self, result: RunResult, session: StoreView) -> bool:
        """Whether what a stored result was made from is as it was."""
        known = training_named(cast(FunctionRecipe, result.spec.recipe).function)
        inputs = result.provenance.get(INPUTS)
        if inputs is None or [*map(str, known.inputs)] != [
            str(root_of(known.home) / path) for path in inputs["declared"]
        ]:
            return False
        left = {n: v for n, v in inputs["versions"].items() if n not in known.any_version}
        found = changes(
            {**inputs, "versions": left},
            root_of(known.home),
            session.trainers.surroundings.environ,
            session.name,
            session.trainers.surroundings.directory,
        )
        return next(found, None) is None


KIND = FunctionKind()


def _apart(
    known: Training, seed: int, first: Mapping[str, float], second: Mapping[str, float]
) -> str | None:
    """What to tell of a function that was called twice with a seed; None where it is the same."""
    for name, value in first.items():
        pair = value, second[name]
        if str(pair[0]) != str(pair[1]) and not math.isclose(*pair, rel_tol=ALIKE):
            told = f"{name} {pair[0]:.6g} and {pair[1]:.6g} for {seed}"
            return f"{known.name} gives two numbers for one seed ({told}): seed it"
    return None


def changed(result: RunResult) -> str | None:
    """What a stored run was made from and is another now; None for a run of no function."""
    inputs = result.provenance.get(INPUTS)
    if inputs is None:
        return None
    found = changes(inputs, Path(inputs["root"]), os.environ, None)
    return next(found, "")


def untraced(results: Iterable[RunResult]) -> list[str]:
    """A warning for each function of whose inputs some can't be followed, with the mend."""
    told: dict[str, dict[str, None]] = {}
    for result in results:
        reasons: Sequence[str] = result.provenance.get(INPUTS, {}).get("untraced", ())
        if reasons:
            told.setdefault(result.spec.recipe.task, {}).update(dict.fromkeys(reasons))
    return [
        f"{name} {', '.join(reasons)}, which can't be followed: it is trained again in each "
        "session, unless @training(inputs=[…]) names what it depends on"
        for name, reasons in told.items()
    ]


def _checked(known: Training, answer: Any) -> dict[str, float]:
    """The answer as a number for each measure; RunFailed where it is anything else."""
    wanted = ", ".join(known.measures)
    what = answer if isinstance(answer, str) else type(answer).__name__
    if known.is_plain and not isinstance(answer, float):
        raise RunFailed(
            f"{known.name.rpartition(':')[2]} returned a {what}; return one "
            "number, or name several by @training(measures=…)"
        )
    if what == "NoneType":
        raise RunFailed(f"{known.name} returned nothing; return a number for each of: {wanted}")
    if isinstance(answer, float) and len(known.measures) == 1:
        answer = {wanted: answer}
    if not isinstance(answer, Mapping):
        raise RunFailed(
            f"{known.name} returned a {what}; return a dict with a number for each of: {wanted}"
        )
    missing = [name for name in known.measures if name not in answer]
    unknown = [str(name) for name in answer if name not in known.measures]
    if missing or unknown:
        told = [f"lacks {', '.join(missing)}"] if missing else []
        told += [f"has {', '.join(unknown)} that no measure is named after"] if unknown else []
        raise RunFailed(f"what {known.name} returned {' and '.join(told)}; its measures: {wanted}")
    for name, value in answer.items():
        if not isinstance(value, float):
            kind = value if isinstance(value, str) else "dict"
            raise RunFailed(f"{known.name} returned a {kind} as {name}, which is no number")
    return dict(answer)
