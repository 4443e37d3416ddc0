"""The instruction set that runs are made with: one on every x86-64 processor, so numbers are too.

Libraries choose their code by what the processor offers, and other code rounds otherwise. They
read these variables when they are loaded, so a process is pinned before it starts.
"""

from __future__ import annotations

import functools
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from embinit.errors import InputError

VARIABLE = "EMBINIT_INSTRUCTIONS"
"""The variable that names a set in ``SETS``; pytest's setting ``embinit_instructions`` fills it."""

_AVX2 = {
    # PyTorch's own code, which is all that differs on processors of AMD.
    "ATEN_CPU_CAPABILITY": "avx2",
    # MKL's products on processors of Intel, and oneDNN's in bfloat16.
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}

SETS: Mapping[str, Mapping[str, str]] = {
    # Some set MKL_CBWR for the sake of speed on processors of AMD; it changes the last digits.
    "avx2": _AVX2 | {"MKL_CBWR": ""},
    # All that MKL promises for processors of two vendors: SSE2, in 1.2 to 1.6 times the time.
    "compatible": _AVX2 | {"MKL_CBWR": "COMPATIBLE"},
    "native": {},
}
"""The variables of each set. ``native`` leaves the choice to the libraries."""

TRIED = ("AuthenticAMD", "GenuineIntel")
"""The vendors on whose processors the papers' claims were judged: nearly all verdicts agreed."""

EQUAL: Mapping[str, tuple[str, ...]] = {"avx2": TRIED[:1], "compatible": TRIED, "native": TRIED[:1]}
"""The vendors on whose processors each set gave equal numbers."""


def asked() -> str:
    """The set that is asked for, "" for none; InputError for one that is not in ``SETS``."""
    name = os.environ.get(VARIABLE, "")
    if name and name not in SETS:
        raise InputError(
            f"{VARIABLE.lower()} {name!r}: there is no such instruction set; name "
            f"one of {', '.join(SETS)}"
        )
    return name


def instructions(pinned: bool = True) -> str:
    """The set of runs: of the lab's, which are ``pinned`` unless asked otherwise, or of others.

    "" where nothing was asked for other runs. Only x86-64 has another set than ``native``.
    """
    name = asked() or ("avx2" if pinned else "")
    return name if _is_x86() or not name else "native"


def variables(pinned: bool = True) -> Mapping[str, str]:
    """The environment variables that a process which makes such runs starts with."""
    return SETS.get(instructions(pinned), {})


def is_pinned() -> bool:
    """Whether this process can make the lab's runs: it was started with their variables."""
    if any(os.environ.get(name) != value for name, value in variables().items()):
        return False
    torch = sys.modules.get("torch")
    loaded = "" if torch is None else torch.backends.cpu.get_cpu_capability()
    return not (variables() and loaded.startswith("AVX512"))


def restart_pinned() -> None:
    """Starts this program again with the variables of the lab's runs, unless it has them."""
    if not is_pinned():
        arguments = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, arguments, {**os.environ, **variables()})


def _is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


@functools.cache
def vendor() -> str:
    """The processor's vendor as it names itself, such as ``AuthenticAMD``; "" where unknown."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if "vendor_id" in line), "")


def machine(pinned: bool = True) -> dict[str, str]:
    """What of this machine decides the last digits: architecture, vendor and instruction set."""
    made_by = {"architecture": platform.machine(), "vendor": vendor()}
    return {**made_by, "instructions": instructions(pinned) or "native"}
