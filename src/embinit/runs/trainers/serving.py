"""The trainer's side: a process that calls the functions of a module, or makes tasks."""

from __future__ import annotations

import contextlib
import json
import operator
import os
import random
import signal
import sys
import time
import traceback
import types
import warnings
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from embinit.errors import InputError
from embinit.runs.machine import end_with
from embinit.runs.modules import Home, load_module
from embinit.runs.trainers.tracing import Tracer

TELL_SECONDS = 0.05
"""How often the share that is done is sent."""


class Told:
    """Called by a function with its progress and curves while it trains."""

    def __init__(self, progress: Callable[[float], None]) -> None:
        self.curves: dict[str, list[float]] = {}
        self._progress, self._last = progress, 0.0

    def __call__(self, share: float | None = None, **numbers: float) -> None:
        """Tells the share of the work that is done, 0 to 1, and the next point of each curve."""
        if share and (share >= 1 or time.monotonic() - self._last > TELL_SECONDS):
            self._last = time.monotonic()
            self._progress(min(max(float(share), 0.0), 1.0))
        for name, number in numbers.items():
            value = as_number(number)
            if value is None:
                raise TypeError(f"the curve {name!r} got {number!r}, which is no number")
            self.curves.setdefault(name, []).append(value)


class Answer(NamedTuple):
    """What a call gave: its answer, its curves, and what its process has read."""

    answer: Any
    curves: dict[str, list[float]]
    traced: dict[str, Any]


def as_number(value: Any) -> float | None:
    """A number of any library as a float; None for what is none."""
    if isinstance(value, str | bytes) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None


def plain(answer: Any) -> Any:
    """A function's answer as plain data: a number, or some by name; of all else the type's name."""
    if isinstance(answer, Mapping):
        return {str(name): plain(value) for name, value in answer.items()}
    number = as_number(answer)
    return type(answer).__name__ if number is None else number


def serve(channel: int, parent: int, home: Home | None) -> None:
    """Answers calls of a module's functions, or makes tasks, until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the session's to answer
    end_with(parent)
    del sys.argv[1:]
    connection = Connection(channel)
    try:
        answer = _answerer(home)
    except BaseException as error:
        connection.send(
            ("failed", _reason(home[0] if home else "a trainer", error), traceback.format_exc())
        )
        return
    with contextlib.suppress(EOFError):
        while True:
            request = connection.recv()
            connection.send(answer(request, lambda share: connection.send(("share", share))))
    os.kill(0, signal.SIGKILL)  # with it ends what functions have started


def _answerer(home: Home | None) -> Callable[..., tuple[Any, ...]]:
    if home is not None:
        return Calls(home)
    from embinit.runs.engines import answer

    return answer


class Calls:
    """Calls of the functions of a module, which is loaded first; all that they read is traced."""

    def __init__(self, home: Home) -> None:
        self._home, self._seed = home, 0
        self._tracer = Tracer(home, self._seed_library)
        self._tracer.start()
        load_module(*home)
        self._tracer.active = False

    def __call__(self, request: Any, progress: Callable[[float], None]) -> tuple[Any, ...]:
        """What comes of a call: done or failed."""
        name, qualname, arguments, seed, device, taken = request
        tell, process, tracer = Told(progress), os.getpid(), self._tracer
        passed = {"seed": seed, "tell": tell, "device": device}
        kept = os.getcwd(), dict(os.environ), list(sys.path), (sys.stdin, sys.stdout, sys.stderr)
        progress(0.0)  # from here on its time is limited
        tracer.active, failed = True, None
        try:
            function = _function(name, qualname, self._home)
            self._seed_all(seed)
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                answer = function(**{n: passed[n] for n in taken}, **json.loads(arguments))
            made = plain(answer)
        except BaseException as error:
            failed = _reason(name, error), "".join(traceback.format_exception(error))
        finally:
            if os.getpid() != process:
                os._exit(1)  # a child that the function forked must not go on as this process
            _put_back(kept, tracer)
        if (file := tracer.changed_module()) is not None:
            failed = f"{os.path.basename(file)} was changed while the session ran: run again", ""
        if failed is not None:
            return "failed", *failed
        return "done", Answer(made, tell.curves, tracer.inputs())

    def _seed_all(self, seed: int) -> None:
        """Seeds the global generators; those of libraries that come later as they are loaded."""
        self._seed = seed
        random.seed(seed)
        for name in ("numpy", "torch"):
            if (module := sys.modules.get(name)) is not None:
                self._seed_library(module)

    def _seed_library(self, module: types.ModuleType) -> None:
        if module.__name__ == "numpy":
            import numpy as np

            np.random.seed(self._seed % 2**32)  # noqa: NPY002, functions forget the global one
        elif module.__name__ == "torch":
            module.set_num_threads(1)
            module.manual_seed(self._seed)


def _put_back(kept: Any, tracer: Tracer) -> None:
    """Leaves the process as it was, for later runs."""
    tracer.active = False
    directory, environment, path, streams = kept
    os.chdir(directory)
    sys.path[:] = path
    sys.stdin, sys.stdout, sys.stderr = streams
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # the function closed it
            continue
    if dict(os.environ) != environment:
        os.environ.clear()
        os.environ.update(environment)


def _function(name: str, qualname: str, home: tuple[str, str]) -> Callable[..., Any]:
    """The function of a name: one that ``training`` decorates, or a plain one of the module."""
    registry = sys.modules.get("embinit.runs.trainings")
    if registry is not None and (known := registry.TRAININGS.registered(name)) is not None:
        return known.function  # type: ignore[no-any-return]
    module = sys.modules.get("__embinit_main__" if home[0] == "__main__" else home[0])
    try:
        found = operator.attrgetter(qualname)(module)
    except AttributeError:
        raise InputError(
            f"{qualname} isn't there where {home[0]} is imported alone; write it with def at the "
            "top of its module, where every process finds it"
        ) from None
    return getattr(found, "function", found)  # type: ignore[no-any-return]


def _reason(name: str, error: BaseException) -> str:
    from embinit.runs.results import failure_reason

    if isinstance(error, SystemExit):
        return f"{name} called sys.exit({error.code!r})"
    if not isinstance(error, Exception):
        first = next(iter(str(error).splitlines()), "")
        return f"{name} raised {type(error).__name__}: {first}".removesuffix(": ")
    return failure_reason(error)
