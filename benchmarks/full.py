"""The tier ``full`` on a machine with a GPU and nothing else: one command, a few minutes at a time.

Beforehand, on a machine with the data, the network and embinit (.dev must be ignored by git, and is
carried along; about 25 MiB)::

    echo /.dev/ >> .git/info/exclude
    .venv/bin/python benchmarks/full.py prepare DATA_DIR .dev

On the bare machine (Python 3.12 and PyTorch, no network), from the root of the repository. ``OUT``
names the folder that is brought back; ``--slots`` takes slots (1) and units of them (1a)::

    python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade \\
      --target /tmp/site .dev/whl/*.whl && export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 \\
      PYTHONPATH=/tmp/site:$PWD/.dev/site:$PWD/src:$PWD/claims && \\
    python3 benchmarks/full.py run .dev/ready.tar.xz --slots 1 --seconds 560

What comes back is log.jsonl (a line for each run, and each stack's measured seconds beside the
estimated ones) and store.tgz.00, .01 and so on, packed after each stack. A run's key has the
versions of torch and numpy, so ``keep`` files what came back under the keys of the machine that
judges; each record says what made it. First register what no claim uses, then judge::

    .venv/bin/python benchmarks/full.py keep FOLDER ... --data DATA_DIR --to STORES
    embinit register kim2024 --tier full --seeds 10 --data-dir DATA_DIR \\
      --store STORES/registering -k "bert-sst2 or t5-sst2"
    pytest claims/ --tier full --data-dir DATA_DIR --store STORES/claims --no-train

``run --done FOLDER ...`` takes along what earlier calls brought back, and trains none of it again.

A rehearsal on a CPU: ``prepare DATA_DIR .dev --tiny``, then ``run .dev/ready.tar.xz --tiny``.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embinit.claims.roles import Role
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import Cut
from embinit.runs.instructions import restart_pinned
from embinit.specs import RunSpec
from embinit_papers.kim2024.changes import blind, with_missing_at_xavier
from embinit_papers.kim2024.experiments import FULL, experiments, without_vectors

WHEELS = [
    "attrs",
    "typing-extensions",
    "cattrs==26.2.1",
    "jsonschema==4.26.0",
    "jsonschema-specifications==2025.9.1",
    "referencing==0.37.0",
    "rpds-py==0.30.0",
]
"""What embinit needs and the bare machine lacks (or may have too old)."""

PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
MOST_CARRIED = 40 * 2**20
PIECE, MOST_PIECES = 15 * 2**20, 7
"""Eight files of 16 MiB come back; one of them is the log."""

SECONDS = {
    "glove-sst2": (2.0, 8),
    "bert-sst2": (3.0, 8),
    "t5-sst2-no-vectors": (4.6, 8),
    "bert-sst2-no-vectors": (9.0, 8),
    "glove-multi30k-en-de": (16.5, 45),
    "glove-multi30k-de-en-no-vectors": (16.5, 45),
    "bert-multi30k-en-de": (21.7, 30),
    "bert-multi30k-de-en-no-vectors": (57.0, 40),
}
"""Estimated seconds of a run and of a stack on an H200 in float32 (benchmarks/README.md)."""

SLOWER = {"H100": 1.15, "cpu": 0.0}
"""By a part of the device's name: what the estimates are multiplied by. A CPU only rehearses."""

STORES = ("claims", "registering")
STACK = 15
SPARE = 10.0
"""The most runs of a stack, and the seconds that packing may take after it."""

GLOVE = ("xavier", "pretrained", "pretrained_xavier")
BERT = (*GLOVE, "pretrained_shuffled", "xavier_pretrained")
PRINTED = ("xavier", "xavier_pretrained")


@dataclass(frozen=True)
class Part:
    """Runs of one setting, in the order in which they are trained."""

    unit: str  # what is asked for by itself: a slot's number, with a letter where it has several
    runs: tuple[RunSpec, ...]
    run_seconds: float  # the estimate for a run on an H200
    stack_seconds: float  # what each stack costs, without its runs
    registering: bool = False  # no claim uses their seeds


def part(
    unit: str,
    settings: Sequence[ModelExperiment],
    inits: Sequence[str],
    indices: Iterable[int],
    role: Role = Role.CLAIM,
) -> Part:
    """The runs of some arms of settings of one experiment, seed by seed."""
    runs = tuple(one.run(init, i, role) for i in indices for one in settings for init in inits)
    return Part(unit, runs, *SECONDS[settings[0].name], registering=role is Role.REGISTRATION)


def parts() -> list[Part]:
    """Every part of every slot, the most valuable first."""
    every = (*experiments(FULL.name), *without_vectors(FULL.name))
    one = {setting.name: setting for setting in every}
    xavier, mbert = one["glove-multi30k-de-en-no-vectors"], one["bert-multi30k-de-en-no-vectors"]
    sst2, minilm, multi30k = one["glove-sst2"], one["bert-sst2"], one["glove-multi30k-en-de"]
    table_3 = [setting for setting in four(multi30k) if setting is not multi30k]
    registering = range(10), Role.REGISTRATION
    return [
        *(part(unit, four(xavier), ["xavier"], s) for unit, s in units("1", 6, 3)),
        part("2", [minilm], BERT, *registering),
        part("2", [minilm], BERT, range(12)),
        part("3a", [one["t5-sst2-no-vectors"]], PRINTED, *registering),
        part("3a", [one["t5-sst2-no-vectors"]], PRINTED, range(12)),
        part("3b", [one["bert-sst2-no-vectors"]], PRINTED, *registering),
        part("3b", [one["bert-sst2-no-vectors"]], PRINTED, range(12)),
        part("4", [sst2], GLOVE, range(12)),
        part("4", [with_missing_at_xavier(sst2)], GLOVE[1:], range(8)),
        part("4", [sst2], ["xavier"], range(12), Role.SECOND_HALF),
        part("4", [blind(sst2)], ["xavier"], range(12)),
        *(part(unit, [multi30k], GLOVE, s) for unit, s in units("5", 8, 4)),
        *(part(unit, table_3, GLOVE, s) for unit, s in units("6", 6, 2)),
        *(part(u, [one["bert-multi30k-en-de"]], BERT, s) for u, s in units("7", 6, 3)),
        *(part(unit, [mbert], PRINTED, s) for unit, s in units("9", 6, 3)),
        *(part(u, [setting], GLOVE, s) for u, s in units("10", 8, 4) for setting in both(multi30k)),
        *(part("10c", [setting], GLOVE, range(12)) for setting in both(sst2)),
    ]


def four(usual: ModelExperiment) -> list[ModelExperiment]:
    """Table 3's settings: with and without positions, trained and frozen."""
    frozen = usual.frozen()
    return [usual, usual.without_positions(), frozen, frozen.without_positions()]


def both(usual: ModelExperiment) -> tuple[ModelExperiment, ModelExperiment]:
    """In float32, and in TF32."""
    return usual, usual.with_training("in TF32", precision="tf32")


def units(slot: str, seeds: int, at_once: int) -> Iterator[tuple[str, range]]:
    """A slot's units, each with ``at_once`` of its seeds."""
    for letter, first in zip("abcdef", range(0, seeds, at_once), strict=False):
        yield slot + letter, range(first, first + at_once)


def chosen(names: Sequence[str], every: Sequence[Part]) -> list[Part]:
    """The parts of the slots and units of those names, in the order of the names."""
    known = [(name, part) for part in every for name in {part.unit, part.unit.rstrip("abcd")}]
    if unknown := {*names} - {*dict(known)}:
        sys.exit(f"there is no slot {', '.join(sorted(unknown))}; there are {sorted(dict(known))}")
    return [part for name in names for of, part in known if of == name]


def tiny(part: Part) -> Part:
    """The same part with data, models and numbers of runs that a CPU trains in a second."""
    runs = []
    for run in part.runs[: len({one.without_seed() for one in part.runs})]:
        recipe = run.recipe
        cut = Cut(48, 6, 6) if len(recipe.data.tokenizers) == 2 else Cut(48, 6)
        changed = replace(
            recipe,
            data=replace(recipe.data, cut=cut, max_length=16),
            model=replace(recipe.model, layers=1, feed_forward=16),
            training=replace(recipe.training, epochs=1),
        )
        runs.append(replace(run, recipe=changed))
    return replace(part, runs=tuple(runs))


TOKENIZERS = {
    "t5-small": ("t5.spiece.model", "spiece.model", "t5", {}),
    "bert-base-uncased": ("bert-base-uncased.vocab.txt", "vocab.txt", "bert", {}),
    "bert-base-multilingual-cased": (
        "bert-base-multilingual-cased.vocab.txt",
        "vocab.txt",
        "bert",
        {"do_lower_case": False},
    ),
}
"""By a model's directory: the tokenizer's file in ``tokenizers/``, its usual name, the model's
type, and the tokenizer's settings."""


def with_tokenizers(data: Path, to: Path) -> Path:
    """A data directory with a model's directory for each tokenizer whose model is not there."""
    (to / "vectors").mkdir(parents=True)
    for path in (*data.iterdir(), *(data / "vectors").iterdir()):
        if path != data / "vectors":
            (to / path.relative_to(data)).symlink_to(path)
    for name, (file, own, kind, settings) in TOKENIZERS.items():
        model = to / "vectors" / name
        if not model.exists():
            model.mkdir()
            shutil.copy(data / "tokenizers" / file, model / own)
            (model / "config.json").write_text(json.dumps({"model_type": kind}))
            (model / "tokenizer_config.json").write_text(json.dumps(settings))
    return to


def prepare(data: Path, to: Path, small: bool = False, wheels: bool = True) -> None:
    """Writes what is carried: token ids and vectors, wheels, and embinit's metadata."""
    from embinit.lab.data.cache import make_directory
    from embinit.lab.data.preparation import write

    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        every = with_tokenizers(data.absolute(), Path(scratch, "data"))
        writer = make_directory(Path(scratch, "ready"))
        runs = [run for part in parts() for run in (tiny(part) if small else part).runs]
        # Without vectors of a file first; the stand-ins of the claims are made there.
        sources = {(run.recipe.data, run.recipe.table.source): None for run in runs}
        for spec, source in sources:
            began = time.process_time()
            write(spec, [source] if source in ("glove", "minilm") else [], every, writer)
            print(f"{spec.task} {spec.tokenizers} {source}: {time.process_time() - began:.1f} s")
        with tarfile.open(to / "ready.tar.xz", "w:xz") as packed:
            packed.add(writer.root, ".")
    if wheels:
        command = f"{sys.executable} -m pip download -q --no-deps --only-binary=:all: --dest"
        options = [*command.split(), str(to / "whl"), "--python-version", "3.12"]
        options += [option for name in PLATFORMS for option in ("--platform", name)]
        subprocess.run([*options, "--implementation", "cp", *WHEELS], check=True)
    installed = importlib.metadata.distribution("embinit")
    site = to / "site" / f"embinit-{installed.version}.dist-info"
    site.mkdir(parents=True, exist_ok=True)
    for name in ("METADATA", "entry_points.txt"):
        (site / name).write_text(installed.read_text(name) or "")
    sizes = {path: path.stat().st_size for path in sorted(to.rglob("*")) if path.is_file()}
    for path, size in sizes.items():
        print(f"{size / 2**20:7.2f} MiB  {path.relative_to(to)}")
    if sum(sizes.values()) > MOST_CARRIED:
        sys.exit(f"{sum(sizes.values()):,} bytes are more than the {MOST_CARRIED:,} that travel")


class Trained:
    """The stores of what is trained, and the packs and the log that are brought back."""

    def __init__(self, out: Path, root: Path) -> None:
        from embinit.runs.store import Store

        out.mkdir(parents=True, exist_ok=True)
        self.out, self.root = out, root
        self.stores = {name: Store(root / name) for name in STORES}
        self.began = time.monotonic()
        (out / "log.jsonl").write_text("")

    @property
    def seconds(self) -> float:
        """The seconds since the beginning."""
        return time.monotonic() - self.began

    def say(self, **facts: Any) -> None:
        """Adds a line to the log."""
        line = json.dumps({"at": round(self.seconds, 1), **facts})
        print(line, flush=True)
        with (self.out / "log.jsonl").open("a") as log:
            log.write(f"{line}\n")

    def pack(self) -> None:
        """Packs all records so far, in pieces."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=3) as tar:
            for path in sorted(self.root.glob("*/runs/*/*.json")):
                tar.add(path, path.relative_to(self.root))
        content = packed.getvalue()
        pieces = [content[at : at + PIECE] for at in range(0, len(content), PIECE)]
        if len(pieces) > MOST_PIECES:
            self.say(failed=f"{len(content):,} bytes of records are more than come back")
        for number, piece in enumerate(pieces[:MOST_PIECES]):
            part = self.out / f"store.part.{number:02}"
            part.write_bytes(piece)
            part.replace(self.out / f"store.tgz.{number:02}")


def fitting(left: float, part: Part, pace: float) -> int:
    """How many runs of a part fit into the seconds that are left."""
    room = left - SPARE - part.stack_seconds * pace
    return int(room / max(part.run_seconds * pace, 1e-6)) if room > 0 else 0


def train(part: Part, data: Path, device: str, seconds: float, pace: float, to: Trained) -> float:
    """Trains a part, stack by stack, and stores each stack as it ends.

    Returned are the measured seconds over those that were estimated, of the last stack.
    """
    import torch

    from embinit.runs.kinds import RunContext, Stack, kind_of
    from embinit.runs.store import key_of

    store = to.stores["registering" if part.registering else "claims"]
    todo = [run for run in part.runs if key_of(run, data) not in store]
    while todo:
        fit = fitting(seconds - to.seconds, part, pace)
        if fit < min(3, len(todo)):
            to.say(unit=part.unit, left_out=len(todo), because="no time")
            break
        _, alike = next(itertools.groupby(todo, key=lambda run: run.stack_key))
        stack = tuple(itertools.islice(alike, min(STACK, fit)))
        began = to.seconds
        results = kind_of(stack[0]).make(Stack(stack), RunContext(data, device))
        for run, result in zip(stack, results, strict=True):
            store.put(key_of(run, data), result)
            to.say(unit=part.unit, **_log_line(run, result))
        took, wanted = to.seconds - began, part.run_seconds * len(stack) + part.stack_seconds
        peak = torch.cuda.max_memory_allocated() / 2**30 if device != "cpu" else 0.0
        sizes = {"stack": len(stack), "registering": part.registering, "peak_gib": round(peak, 1)}
        times = {"seconds": round(took, 1), "estimated": round(wanted * pace, 1)}
        to.say(unit=part.unit, **sizes, **times)
        to.pack()
        if device != "cpu":
            torch.cuda.reset_peak_memory_stats()
            pace = took / wanted
        todo = todo[len(stack) :]
    return pace


def _log_line(run: RunSpec, result: Any) -> dict[str, Any]:
    """A run for the log: its arm, its seed and its main scores."""
    names, recipe = ("accuracy", "bleu", "validation_loss", "best_epoch"), run.recipe
    return {
        "arm": f"{recipe.table.init} of {recipe.table.source}",
        "trained": recipe.table.trained,
        "positions": recipe.positions.kind,
        "precision": recipe.training.precision,
        "seed": run.seed,
        "scores": {name: round(x, 4) for name, x in result.measures.items() if name in names},
        "failure": result.failure,
    }


def run(ready: Path, todo: Sequence[Part], device: str, seconds: float, to: Trained) -> None:
    """Trains parts in their order. One that fails is reported, and the next one begins."""
    import torch

    data = to.root / "ready"
    with tarfile.open(ready) as packed:
        packed.extractall(data, filter="data")
    name = "cpu" if device == "cpu" else torch.cuda.get_device_name()
    pace = next((times for key, times in SLOWER.items() if key in name), 1.0)
    to.say(device=name, torch=torch.__version__, python=sys.version.split()[0])
    to.pack()  # what earlier calls brought back
    for part in todo:
        try:
            pace = train(part, data, device, seconds, pace, to)
        except Exception as error:
            to.say(unit=part.unit, failed=f"{type(error).__name__}: {error}"[:600])
            to.pack()


def unpack(folders: Iterable[Path], to: Path) -> None:
    """Unpacks the stores of folders that were brought back."""
    for folder in folders:
        content = b"".join(path.read_bytes() for path in sorted(folder.glob("store.tgz.*")))
        with tarfile.open(fileobj=io.BytesIO(content)) as packed:
            packed.extractall(to, filter="data")


def keep(folders: Iterable[Path], data: Path, to: Path) -> None:
    """Files records that were brought back under the keys that their runs have here.

    One that was trained on other data, or by other code, is left out.
    """
    from embinit.runs.kinds import kind_of
    from embinit.runs.store import Store, key_of, run_key

    with tempfile.TemporaryDirectory() as scratch:
        unpack(folders, Path(scratch))
        for name in STORES:
            theirs, ours = Store(Path(scratch, name)), Store(to / name)
            kept = 0
            for key in theirs:
                if (result := theirs.get(key)) is None:
                    continue
                spec, made_by = result.spec, result.provenance["versions"]
                names = sorted(kind_of(spec).distributions)
                versions = [f"{library} {made_by[library]}" for library in names]
                if run_key(spec, kind_of(spec).fingerprint(spec, data), versions) == key:
                    ours.put(key_of(spec, data), result)
                    kept += 1
            print(f"{name}: kept {kept} of {len(list(theirs))} records")


def main(arguments: Sequence[str] | None = None) -> None:
    """Prepares, or runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    preparing, running = commands.add_parser("prepare"), commands.add_parser("run")
    keeping = commands.add_parser("keep")
    keeping.add_argument("folders", nargs="+", type=Path)
    keeping.add_argument("--data", type=Path, required=True)
    keeping.add_argument("--to", type=Path, required=True)
    preparing.add_argument("data", type=Path)
    preparing.add_argument("to", type=Path)
    preparing.add_argument("--no-wheels", action="store_true")
    running.add_argument("ready", type=Path)
    running.add_argument("--slots", nargs="+", default=[], help="default: all")
    running.add_argument("--seconds", type=float, default=560)
    running.add_argument("--done", nargs="*", type=Path, default=[])
    running.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "out")))
    for command in (preparing, running):
        command.add_argument("--tiny", action="store_true")
    given = parser.parse_args(arguments)
    if given.command == "prepare":
        prepare(given.data, given.to, given.tiny, not given.no_wheels)
        return
    if given.command == "keep":
        keep(given.folders, given.data.absolute(), given.to)
        return
    todo = chosen(given.slots, parts()) if given.slots else parts()
    if given.tiny:
        todo = [tiny(part) for part in todo]
    with tempfile.TemporaryDirectory() as root:
        unpack(given.done, Path(root))
        to = Trained(given.out, Path(root))
        run(given.ready, todo, "cpu" if given.tiny else "cuda", given.seconds, to)


if __name__ == "__main__":
    restart_pinned()
    main()
