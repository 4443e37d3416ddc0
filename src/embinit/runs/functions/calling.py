"""Calling a training function: here or in a process of its own, and what its answer is worth.

Whatever goes wrong is the run's own failure. A measure that isn't finite, or too large to be
compared, is left out of the result, which says so.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import math
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from embinit.errors import InputError
from embinit.runs.functions.definition import Training, fingerprint, training_named
from embinit.runs.kinds import Cohort, Description, Kind, RunContext
from embinit.runs.machine import end_with, limit_threads
from embinit.runs.results import AGAIN, RunResult, provenance
from embinit.runs.structure import structured
from embinit.specs import FunctionRecipe, RunSpec

POLL_SECONDS = 0.05
LONGEST_POLL = 1.0
"""Seconds: where more have passed between two polls, the machine slept or this process stood still,
and the function most likely with it."""
LARGEST = 1e150
"""A measure beyond it has no square, and so no spread."""
ALIKE = 1e-9
"""The relative difference up to which two numbers are the same: sums may be taken in any order."""


class RunFailed(InputError):
    """A run that gave no numbers. The text says why, in one line."""


class _Left(BaseException):
    """A call of ``os._exit`` within a function, which would take the session with it."""


class Told:
    """Called by a function with its progress and curves while it trains."""

    def __init__(self, progress: Callable[[float], None]) -> None:
        self.curves: dict[str, list[float]] = {}
        self._progress = progress

    def __call__(self, share: float | None = None, **numbers: float) -> None:
        """Tells the share of the work that is done, 0 to 1, and the next point of each curve."""
        if share is not None:
            self._progress(min(max(float(share), 0.0), 1.0))
        for name, number in numbers.items():
            value = _number(number)
            if value is None:
                raise TypeError(f"the curve {name!r} was told {number!r}, which is no number")
            self.curves.setdefault(name, []).append(value)


def make(run: RunSpec[FunctionRecipe], context: RunContext) -> RunResult:
    """Makes a run by its function; RunFailed where it gave no numbers."""
    recipe = run.recipe
    known, started = training_named(recipe.function), time.perf_counter()
    call = _in_process if known.process else _here
    answer, curves = call(known, recipe, run.seed, context)
    measures = _checked(known, answer)
    finite = {name: value for name, value in measures.items() if abs(value) <= LARGEST}
    wrong = [f"{name} is {value:g}" for name, value in measures.items() if name not in finite]
    about = provenance(context.device, time.perf_counter() - started, known.distributions)
    if context.twice:
        silent = replace(context, progress=lambda share: None)
        try:
            again = _checked(known, call(known, recipe, run.seed, silent)[0])
        except Exception as error:
            about[AGAIN] = f"{known.name} fails when it is called again: {error}"
        else:
            about[AGAIN] = _apart(known, run.seed, measures, again)
    return RunResult(
        run,
        finite,
        curves={name: values for name, values in curves.items() if all(map(math.isfinite, values))},
        failure="; ".join(wrong) or None,
        provenance=about,
    )


class FunctionKind(Kind[FunctionRecipe]):
    """Calls a user's function, which returns its measures."""

    recipe = FunctionRecipe
    needs_models = False
    checks_seeds = True  # and its recipe tells the distributions that its code names

    def recipe_of(self, layout: Mapping[str, Any]) -> FunctionRecipe:
        """The recipe, which is the layout's ``training``."""
        recipe: FunctionRecipe = structured(FunctionRecipe, layout["training"])
        return recipe

    def fingerprint(self, run: RunSpec[FunctionRecipe], data_dir: Path | None) -> str:
        """A digest of the files that the function names."""
        return fingerprint(run.recipe)

    def check_key(self, run: RunSpec[FunctionRecipe]) -> str:
        """The function's name."""
        return run.recipe.function

    def describe(self, run: RunSpec[FunctionRecipe]) -> Description:
        """The function and its arguments."""
        recipe = run.recipe
        return Description(f"the function {recipe.function}", recipe.arm or "no arguments")

    def make(self, cohort: Cohort[FunctionRecipe], context: RunContext) -> list[RunResult]:
        """Calls the function for one run after the other."""
        return [make(run, context) for run in cohort.runs]


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


def _here(
    known: Training, recipe: FunctionRecipe, seed: int, context: RunContext
) -> tuple[Any, Mapping[str, list[float]]]:
    told, process, limit = Told(context.progress), os.getpid(), sys.getrecursionlimit()
    passed = {"seed": seed, "tell": told, "device": context.device}
    given = {name: passed[name] for name in known.told()}
    staying = contextlib.nullcontext() if known.process else _staying()
    with _seeded(seed, known.uses_torch), _descriptors(), staying:
        try:
            answer = known.function(**given, **json.loads(recipe.arguments))
        except BaseException as error:
            if os.getpid() == process and not isinstance(error, Exception | KeyboardInterrupt):
                raise RunFailed(f"{known.name} {_ended_by(error)}") from None
            raise
        finally:
            sys.setrecursionlimit(limit)
            if os.getpid() != process:
                os._exit(1)  # a child that the function forked must not go on as this process
    return answer, told.curves


def _ended_by(error: BaseException) -> str:
    """What a function did whose error is no ``Exception``, such as pytest's outcomes."""
    if isinstance(error, SystemExit):
        return f"called sys.exit({error.code!r})"
    if isinstance(error, _Left):
        return f"called os._exit({error})"
    first = next(iter(str(error).splitlines()), "")
    return f"raised {type(error).__name__}: {first}".removesuffix(": ")


@contextlib.contextmanager
def _staying() -> Iterator[None]:
    """Lets ``os._exit`` end the call in the place of this process; a forked child's does end it."""
    leave, process = os._exit, os.getpid()

    def stay(status: int) -> NoReturn:
        if os.getpid() == process:
            raise _Left(status)
        leave(status)

    os._exit = stay
    try:
        yield
    finally:
        os._exit = leave


@contextlib.contextmanager
def _descriptors() -> Iterator[None]:
    """Opens the three standard streams again that a function closes or turns elsewhere."""
    kept: dict[int, int] = {}
    for stream in range(3):
        with contextlib.suppress(OSError):  # it was closed before
            kept[stream] = os.dup(stream)
    try:
        yield
    finally:
        for stream, copy in kept.items():
            with contextlib.suppress(OSError):
                os.dup2(copy, stream)
                os.close(copy)


@contextlib.contextmanager
def _seeded(seed: int, torch_too: bool) -> Iterator[None]:
    """Seeds the global generators, and leaves the process as it was."""
    import numpy as np

    limit_threads(load=torch_too and importlib.util.find_spec("torch") is not None)
    torch: Any = sys.modules.get("torch")
    directory, environment, path = os.getcwd(), dict(os.environ), list(sys.path)
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    rng = torch.get_rng_state() if torch is not None else None
    streams = sys.stdin, sys.stdout, sys.stderr
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002, the global generator is what functions forget
    if torch is not None:
        torch.manual_seed(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        if rng is not None:
            torch.set_rng_state(rng)
        os.chdir(directory)
        sys.path[:] = path
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)


def _in_process(
    known: Training, recipe: FunctionRecipe, seed: int, context: RunContext
) -> tuple[Any, Mapping[str, list[float]]]:
    with tempfile.TemporaryDirectory(prefix="embinit-run-", ignore_cleanup_errors=True) as folder:
        job = Path(folder) / "job"
        passed = (known.home, sys.path, os.getpid(), recipe, seed, context.device)
        job.write_bytes(pickle.dumps(passed))
        output = Path(folder) / "output"
        with output.open("wb") as stream:
            child = subprocess.Popen(
                [sys.executable, "-m", "embinit.runs.functions", str(job)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, **_environment(context.device)},
                start_new_session=True,
            )
            try:
                _wait(child, known, Path(folder) / "share", context)
            finally:
                _end(child)
        answer = Path(folder) / "answer.json"
        if not answer.exists():
            raise RunFailed(f"{known.name}'s process ended with {child.returncode}{_tail(output)}")
        document = json.loads(answer.read_text(encoding="utf-8"))
        if "failure" in document:
            raise RunFailed(document["failure"])
        return document["answer"], document["curves"]


def _environment(device: str) -> dict[str, str]:
    """One thread a process, as each core has a process of its own; the package's own folder."""
    source = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH", ""))))
    threads = {"OMP_NUM_THREADS": "1"} if device == "cpu" else {}
    return {**threads, "PYTHONPATH": path}


def _wait(
    child: subprocess.Popen[bytes], known: Training, share: Path, context: RunContext
) -> None:
    taken, last = 0.0, time.monotonic()
    while child.poll() is None:
        time.sleep(POLL_SECONDS)
        now = time.monotonic()
        taken, last = taken + min(now - last, LONGEST_POLL), now
        with contextlib.suppress(OSError, ValueError):
            context.progress(float(share.read_text()))
        if known.timeout is not None and taken > known.timeout:
            raise RunFailed(f"{known.name} took longer than its {known.timeout:g} s and was ended")


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends the process with all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _tail(output: Path) -> str:
    text = output.read_bytes()[-4000:].decode("utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = "".join(c for c in lines[-1] if c.isprintable()) if lines else ""
    return f": {last[:300]}" if last else ""


def answer_job(job: Path) -> None:
    """Calls the function that a job file names, and writes the answer beside it."""
    from embinit.runs.modules import load_module
    from embinit.runs.session import failure_reason

    home, path, parent, recipe, seed, device = pickle.loads(job.read_bytes())
    end_with(parent, group=True)
    sys.path[:] = path
    share = job.with_name("share")

    def progress(done: float) -> None:
        share.write_text(str(done))

    document: dict[str, Any]
    try:
        load_module(*home)
        fingerprint(recipe)
        known = training_named(recipe.function)
        answer, curves = _here(known, recipe, seed, RunContext(None, device, progress))
        answer = _checked(known, answer)
        document = {"answer": answer, "curves": curves}
    except Exception as error:
        document = {"failure": failure_reason(error)}
    temporary = job.with_name("answer.tmp")
    temporary.write_text(json.dumps(document), encoding="utf-8")
    temporary.replace(job.with_name("answer.json"))


def _checked(known: Training, answer: Any) -> dict[str, float]:
    """The answer as a number for each measure; RunFailed where it is anything else."""
    wanted = ", ".join(known.measures)
    if known.is_plain and _number(answer) is None:
        raise RunFailed(
            f"{known.name.rpartition(':')[2]} returned a {type(answer).__name__}; return one "
            "number, or name several by @training(measures=…)"
        )
    if answer is None:
        raise RunFailed(f"{known.name} returned nothing; return a number for each of: {wanted}")
    if not isinstance(answer, Mapping) and len(known.measures) == 1 and _number(answer) is not None:
        answer = {wanted: answer}
    if not isinstance(answer, Mapping):
        raise RunFailed(
            f"{known.name} returned a {type(answer).__name__}; return a dict with a number for "
            f"each of: {wanted}"
        )
    missing = [name for name in known.measures if name not in answer]
    unknown = [str(name) for name in answer if name not in known.measures]
    if missing or unknown:
        told = [f"lacks {', '.join(missing)}"] if missing else []
        told += [f"has {', '.join(unknown)} that no measure is named after"] if unknown else []
        raise RunFailed(f"what {known.name} returned {' and '.join(told)}; its measures: {wanted}")
    numbers: dict[str, float] = {}
    for name, value in answer.items():
        number = _number(value)
        if number is None:
            raise RunFailed(
                f"{known.name} returned a {type(value).__name__} as {name}, which is no number"
            )
        numbers[name] = number
    return numbers


def _number(value: Any) -> float | None:
    if isinstance(value, str | bytes) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None
