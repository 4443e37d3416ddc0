"""A user's function as a kind of run: any code that takes a seed and returns numbers.

It is called in a trainer, a process of its module alone, which notes what it reads: a record holds
while that is as it was. Whatever goes wrong is the run's own failure. A measure that isn't finite,
or too large to be compared, is left out of the result, which says so.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from embinit.errors import InputError
from embinit.runs.kinds import Kind, RunContext, Stack, kind_of, structured, unheard
from embinit.runs.results import AGAIN, RunResult, provenance
from embinit.runs.trainers.inputs import changes, digest_of_inputs, recorded, root_of, sealed
from embinit.runs.trainers.processes import RunFailed, TrainerEnded, of_this_node
from embinit.runs.trainers.serving import Answer
from embinit.runs.trainings import Training, training_named
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
    called, before = _call(known, run, context)
    finite = {name: value for name, value in called.answer.items() if abs(value) <= LARGEST}
    wrong = [f"{name} is {value:g}" for name, value in called.answer.items() if name not in finite]
    seconds, arm = time.perf_counter() - started, run.recipe
    after_others = any(other.recipe != arm for other in before)
    about: dict[str, Any] = {}
    if arm not in context.checked and (context.twice or after_others):
        if after_others:
            context.checked.add(arm)
        about[AGAIN], called = _again(known, run, context, called, before)
    inputs = recorded(called.traced, known.home, known.inputs) | {"process": known.process}
    return RunResult(
        run,
        finite,
        curves={
            k: values for k, values in called.curves.items() if all(map(math.isfinite, values))
        },
        failure="; ".join(wrong) or None,
        provenance=provenance(context.device, seconds, inputs["versions"], pinned=False)
        | {INPUTS: inputs, **about},
    )


def _call(
    known: Training, run: RunSpec[FunctionRecipe], context: RunContext, hash_seed: str = ""
) -> tuple[Answer, Sequence[RunSpec[FunctionRecipe]]]:
    """The answer of a call, a number for each measure, and the runs that its process made before.

    With a ``hash_seed`` it is made in a new process.
    """
    trainers, alone = context.trainers or of_this_node(), known.process or bool(hash_seed)
    trainer = trainers.of(known.home, context.device, alone, hash_seed or "0")
    before = [*trainer.made]
    trainer.made.append(run)
    try:
        qualname = inspect.unwrap(known.function).__qualname__
        taken, arguments = [*known.told()], run.recipe.arguments
        request = known.name, qualname, arguments, run.seed, context.device, taken
        answer: Answer = trainer.ask(known.name, request, context.progress, known.timeout)
        return answer._replace(answer=_checked(known, answer.answer)), before
    finally:
        if alone:
            trainers.drop(trainer)


def _in_words(run: RunSpec[FunctionRecipe]) -> str:
    """A call, such as ``train(seed=0, lr=0.1)``."""
    given = {"seed": run.seed, **json.loads(run.recipe.arguments)}
    told = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"{run.recipe.task.rpartition(':')[2]}({told})"


def _again(
    known: Training,
    run: RunSpec[FunctionRecipe],
    context: RunContext,
    first: Answer,
    before: Sequence[RunSpec[FunctionRecipe]],
) -> tuple[str | None, Answer]:
    """Makes a run again in a new process, with another hash seed: what is wrong, and the answer.

    Where it differs, a third call, with the first's hash seed, says why.
    """
    silent = replace(context, progress=unheard)
    try:
        second, _ = _call(known, run, silent, hash_seed="1")
        if (apart := _apart(first, second)) is None:
            return None, second
        third, _ = _call(known, run, silent, hash_seed="0")
        name, was, new = apart
        numbers = f"({name} {was:.6g} and {new:.6g} for {run.seed})"
        if _apart(first, third) is None:
            why = "differ by Python's hash seed: is a set or hash() in use? Sort the set"
            return f"{known.name}'s numbers {why} {numbers}", second
        if before and _apart(second, third) is None:
            return (
                f"{_in_words(run)} gave {name} {new:.6g} in a new process and {was:.6g} "
                f"after {_in_words(before[-1])}: something is kept between runs; let each run have "
                "a process of its own: @training(process=True)"
            ), second
    except TrainerEnded:  # a killed process, or an interrupted session, says nothing of it
        raise
    except RunFailed as error:
        return f"{known.name} fails when it is called again: {error}", first
    return f"{known.name} gives two numbers for one seed {numbers}: seed it", second


def _apart(one: Answer, other: Answer) -> tuple[str, float, float] | None:
    """The first measure in which two answers differ, with its numbers; None where they don't."""
    for name, was in one.answer.items():
        new = other.answer[name]
        if str(was) != str(new) and not math.isclose(was, new, rel_tol=ALIKE):
            return name, was, new
    return None


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

    def make(self, stack: Stack[FunctionRecipe], context: RunContext) -> list[RunResult]:
        """Calls the function for one run after the other."""
        return [make(run, context) for run in stack.runs]

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
        return next(_changes(result, session), None) is None


def _changes(result: RunResult, session: StoreView) -> Iterator[str]:
    """What a stored result was made from and is another now, in words."""
    known = training_named(cast(FunctionRecipe, result.spec.recipe).function)
    inputs, root = result.provenance.get(INPUTS), root_of(known.home)
    if inputs is None or inputs.get("process") != known.process:
        yield "it was made in a process with others, or in one of its own"
    elif {*map(str, known.inputs)} != {str(root / path) for path in inputs["declared"]}:
        yield "other inputs are declared"
    else:
        left = {n: v for n, v in inputs["versions"].items() if n not in known.any_version}
        there = session.trainers.surroundings
        now = {**inputs, "versions": left}
        yield from changes(now, root, there.environ, session.name, there.directory)


def changed_meanwhile(runs: Iterable[RunSpec], session: StoreView) -> str | None:
    """What changed since some stored runs were made or looked up; None where nothing did."""
    distinct = {}
    for run in runs:
        if kind_of(run).traced and (result := session.result(run)) is not None:
            distinct[run.recipe.task, session.name_of(run).partition(".")[2]] = result
    found = (change for result in distinct.values() for change in _changes(result, session))
    change = next(found, None)
    return change and f"{change} while the session ran: run again"


KIND = FunctionKind()


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
    if isinstance(answer, float) and len(known.measures) == 1:
        answer = {wanted: answer}
    elif known.is_plain or not isinstance(answer, Mapping):
        what = answer if isinstance(answer, str) else type(answer).__name__
        given = "nothing" if what == "NoneType" else f"a {what}"
        mend = "one number, or name several by @training(measures=…)"
        if not known.is_plain:
            form = "a number" if len(known.measures) == 1 else "a dict with a number"
            mend = f"{form} for each of: {wanted}"
        raise RunFailed(f"{known.name.rpartition(':')[2]} returned {given}; return {mend}")
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
