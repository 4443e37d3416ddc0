"""``python -m embinit.lab.table_pretraining make``: train the microcosm's tables."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import torch

from embinit.errors import InputError, Status
from embinit.lab.data.microcosm import language_digest, synonym_groups, unlabelled
from embinit.lab.data.sources.assets import TrainedTable, save_table
from embinit.lab.data.sources.microcosm import (
    PREFIX,
    TABLES,
    load_world_table,
    table_path,
    worlds_directory,
)
from embinit.lab.table_pretraining.corpus import Corpus
from embinit.lab.table_pretraining.glove import train_glove
from embinit.lab.table_pretraining.masked_language_model import train_masked_language_model
from embinit.lab.table_pretraining.skip_gram import train_fasttext, train_word2vec
from embinit.lab.table_pretraining.span_corruption import train_span_corruption
from embinit.lab.table_pretraining.two_way_language_model import train_two_way_language_model
from embinit.lab.tables.diagnostics import neighbour_purity
from embinit.registry import at_world

SENTENCES = 60_000
SECONDS: Mapping[str, int] = {
    "glove": 18,
    "bert": 168,
    "t5": 238,
    "word2vec": 27,
    "fasttext": 42,
    "elmo": 171,
}
"""About how long a table takes on one core, by which the time that is left is told."""


def make_assets(
    directory: Path,
    only: Sequence[str] | None = None,
    sentences: int = SENTENCES,
    effort: float = 1.0,
    seed: int = 0,
    worlds: Sequence[int] = (0,),
) -> None:
    """Trains tables and writes each as ``micro-<name>.safetensors``, or with its world's number.

    A table of a world is kept in half precision, and isn't trained again if it is there already,
    whole and made of the same text with the same effort and seed.

    Args:
        directory: Where to write them. It is made if there is none.
        only: Some of ``TABLES``; None means all.
        sentences: How many sentences to train on.
        effort: A factor for the passes and steps; 1 takes a few minutes a table on one core.
        seed: The seed of each training, to which the world's number is added.
        worlds: The numbers of the worlds; 0 is the language that settings were chosen on.
    """
    trainers: dict[str, Callable[..., TrainedTable]] = {
        "glove": partial(train_glove, epochs=max(1, round(50 * effort))),
        "bert": partial(train_masked_language_model, steps=max(2, round(8000 * effort))),
        "t5": partial(train_span_corruption, steps=max(2, round(10_000 * effort))),
        "word2vec": partial(train_word2vec, epochs=max(1, round(50 * effort))),
        "fasttext": partial(train_fasttext, epochs=max(1, round(50 * effort))),
        "elmo": partial(train_two_way_language_model, epochs=5 * effort),
    }
    made_with = {"sentences": str(sentences), "effort": f"{effort:g}"}
    torch.set_num_threads(1)  # more would change the order of sums, and so the tables
    directory.mkdir(parents=True, exist_ok=True)

    @lru_cache(maxsize=1)
    def corpus(world: int) -> Corpus:
        return Corpus.read(unlabelled(sentences, world))

    names = [(name, world) for world in worlds for name in only or trainers]
    wanted = [
        (name, world)
        for name, world in names
        if not _is_made(name, world, directory, {**made_with, "seed": str(seed + world)})
    ]
    kept = f"; {len(names) - len(wanted)} are there already" if len(wanted) < len(names) else ""
    print(f"tables to make: {len(wanted)}{kept}", flush=True)
    for (name, world), left in _with_time_left(wanted):
        table = trainers[name](corpus(world), seed=seed + world)
        path = directory / f"{at_world(PREFIX + name, world)}.safetensors"
        if world:
            of = {"world": str(world), "language": language_digest(world)}
            table = replace(table, record={**table.record, **made_with, **of})
        save_table(table, path, torch.float16 if world else torch.float32)
        print(f"{path}: {described(table, world)}; {left()}", flush=True)


def _is_made(name: str, world: int, directory: Path, made_with: Mapping[str, str]) -> bool:
    """Whether a table of a world is there, whole and made the same way."""
    source = at_world(PREFIX + name, world)
    for path in (directory / f"{source}.safetensors", table_path(source)):
        try:
            record = load_world_table(source, path).record
        except InputError:
            continue
        if world and made_with.items() <= record.items():
            return True
    return False


def described(table: TrainedTable, world: int) -> str:
    """A table's description: its sigma, and the share of words next to a synonym."""
    groups = synonym_groups(world)
    members = torch.tensor([groups.get(word, -1) for word in table.words])
    purity = neighbour_purity(table.values, members)
    return f"sigma {table.sigma:.4g}, nearest neighbour is a synonym {purity:.1%}"


def _with_time_left(
    wanted: Sequence[tuple[str, int]],
) -> Iterator[tuple[tuple[str, int], Callable[[], str]]]:
    """Each table to make, with what tells, once it is made, how long the others will take."""
    started, done = time.monotonic(), 0
    whole = sum(SECONDS[name] for name, _ in wanted)
    for number, (name, world) in enumerate(wanted, 1):
        done += SECONDS[name]

        def left(done: int = done, number: int = number) -> str:
            minutes = (time.monotonic() - started) / done * (whole - done) / 60
            return f"{number} of {len(wanted)}, {minutes:.0f} min left"

        yield (name, world), left


def worlds_of(text: str) -> range:
    """The worlds that an argument names: a number, or the first and the last of several."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?", text)
    worlds = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
    if not worlds:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of a world; write one as 9003, or several as 9003-9009"
        )
    return worlds


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: Those after the program's name; None means the process's own.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(
        prog="python -m embinit.lab.table_pretraining", description=__doc__
    )
    commands = parser.add_subparsers(required=True)
    make = commands.add_parser("make", help="train the microcosm's tables")
    make.add_argument(
        "--worlds",
        nargs="+",
        type=worlds_of,
        default=[range(1)],
        help="numbers such as 9003 or 9003-9009 (default: 0, the language without a number)",
    )
    make.add_argument(
        "--directory",
        type=Path,
        help="where to write them (default: the package for world 0, else EMBINIT_WORLDS or "
        ".embinit/worlds)",
    )
    make.add_argument("--only", nargs="+", choices=TABLES)
    make.add_argument("--sentences", type=int, default=SENTENCES)
    make.add_argument("--effort", type=float, default=1.0, help="share of the steps")
    make.add_argument("--seed", type=int, default=0)
    given = vars(parser.parse_args(arguments))
    given["worlds"] = [world for worlds in given["worlds"] for world in worlds]
    if given["directory"] is None:
        shipped = table_path(PREFIX + TABLES[0]).parent
        given["directory"] = worlds_directory() if any(given["worlds"]) else shipped
    try:
        make_assets(**given)
    except InputError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return Status.UNUSABLE
    except OSError as error:
        said = f"a table can't be written: {error.strerror}; what was made is kept: make room"
        print(f"{parser.prog}: {given['directory']}: {said}", file=sys.stderr)
        return Status.UNWRITABLE
    return Status.IN_ORDER


if __name__ == "__main__":
    sys.exit(main())
