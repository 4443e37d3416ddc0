"""``python -m embinit.lab.table_pretraining make``: train the microcosm's tables again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from embinit.lab.data.microcosm import synonym_groups, unlabelled
from embinit.lab.data.sources.assets import TrainedTable, save_table
from embinit.lab.table_pretraining.corpus import Corpus
from embinit.lab.table_pretraining.glove import train_glove
from embinit.lab.table_pretraining.masked_language_model import train_masked_language_model
from embinit.lab.table_pretraining.skip_gram import train_fasttext, train_word2vec
from embinit.lab.table_pretraining.span_corruption import train_span_corruption
from embinit.lab.table_pretraining.two_way_language_model import train_two_way_language_model
from embinit.lab.tables.diagnostics import neighbour_purity

SENTENCES = 60_000
NAMES = ("glove", "bert", "t5", "word2vec", "fasttext", "elmo")


def make_assets(
    directory: Path,
    only: list[str] | None = None,
    sentences: int = SENTENCES,
    effort: float = 1.0,
    seed: int = 0,
) -> None:
    """Trains the microcosm's tables and writes them as ``micro-<name>.safetensors``.

    Args:
        directory: Where to write them. It is made if there is none.
        only: Some of ``NAMES``; None means all.
        sentences: How many sentences to train on.
        effort: A factor for the passes and steps; 1 takes a few minutes a table on one core.
        seed: The seed of each training.
    """
    trainers: dict[str, Callable[[Corpus], TrainedTable]] = {
        "glove": partial(train_glove, epochs=max(1, round(50 * effort)), seed=seed),
        "bert": partial(train_masked_language_model, steps=max(2, round(8000 * effort)), seed=seed),
        "t5": partial(train_span_corruption, steps=max(2, round(10_000 * effort)), seed=seed),
        "word2vec": partial(train_word2vec, epochs=max(1, round(50 * effort)), seed=seed),
        "fasttext": partial(train_fasttext, epochs=max(1, round(50 * effort)), seed=seed),
        "elmo": partial(train_two_way_language_model, epochs=5 * effort, seed=seed),
    }
    torch.set_num_threads(1)  # more would change the order of sums, and so the tables
    corpus = Corpus.read(unlabelled(sentences))
    directory.mkdir(parents=True, exist_ok=True)
    groups = synonym_groups()
    for name in only or trainers:
        table = trainers[name](corpus)
        path = directory / f"micro-{name}.safetensors"
        save_table(table, path)
        members = torch.tensor([groups.get(word, -1) for word in table.words])
        purity = neighbour_purity(table.values, members)
        print(f"{path}: sigma {table.sigma:.4g}, nearest neighbour is a synonym {purity:.1%}")


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
    assets = Path(__file__).parents[1] / "data" / "assets"
    make.add_argument("--directory", type=Path, default=assets, help="where to write them")
    make.add_argument("--only", nargs="+", choices=NAMES)
    make.add_argument("--sentences", type=int, default=SENTENCES)
    make.add_argument("--effort", type=float, default=1.0, help="share of the steps")
    make.add_argument("--seed", type=int, default=0)
    make_assets(**vars(parser.parse_args(arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
