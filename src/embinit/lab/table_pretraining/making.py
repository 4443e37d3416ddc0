"""The making of the microcosm's tables, of the shipped ones and of those of other data draws."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import torch

from embinit.errors import InputError
from embinit.files.writing import held
from embinit.lab.data.microcosm.lexicon import TARGET_LANGUAGE, language_digest, synonym_groups
from embinit.lab.data.microcosm.writer import unlabelled
from embinit.lab.data.sources.assets import TrainedTable, save_table
from embinit.lab.data.sources.microcosm import (
    PREFIX,
    TABLES,
    draws_directory,
    load_table_of_draw,
    table_path,
)
from embinit.lab.draws import at_draw, split_draw
from embinit.lab.table_pretraining.corpus import Corpus
from embinit.lab.table_pretraining.glove import train_glove
from embinit.lab.table_pretraining.language_model import train_table
from embinit.lab.table_pretraining.masked_language_model import MaskedLanguageModel
from embinit.lab.table_pretraining.skip_gram import train_fasttext, train_word2vec
from embinit.lab.table_pretraining.span_corruption import SpanCorruptionModel
from embinit.lab.table_pretraining.two_way_language_model import TwoWayLanguageModel
from embinit.lab.tables.diagnostics import neighbour_purity

SENTENCES = 60_000
SECONDS: Mapping[str, int] = {
    "glove": 18,
    "bert": 168,
    "t5": 238,
    "word2vec": 27,
    "fasttext": 42,
    "elmo": 171,
    "glove-target": 15,
    "mbert": 360,
    "mt5": 560,
}
"""About how long a table takes on one core, from which the time that is left is estimated."""


def make_assets(
    directory: Path,
    only: Sequence[str] | None = None,
    sentences: int = SENTENCES,
    effort: float = 1.0,
    seed: int = 0,
    draws: Sequence[int] = (0,),
) -> None:
    """Trains tables and writes each as ``micro-<name>.safetensors``, or with its draw's number.

    A table of a draw is kept in half precision, and stays if it is there already, whole and made
    of the same text with the same effort and seed. ``effort`` multiplies passes and steps; 1 takes
    a few minutes a table on one core. The draw's number is added to the seed; settings were chosen
    on draw 0. ``only`` None means all tables.
    """

    def steps(usual: int) -> int:
        return max(2, round(usual * effort))

    def elmo(corpus: Corpus, seed: int) -> TrainedTable:
        of_passes = math.ceil(5 * effort * len(corpus.ids) / TwoWayLanguageModel.batch)
        return train_table(TwoWayLanguageModel, corpus, max(1, of_passes), seed=seed)

    of_pairs = partial(train_glove, epochs=max(1, round(50 * effort)))
    trainers: dict[str, Callable[..., TrainedTable]] = {
        "glove": of_pairs,
        "bert": partial(train_table, MaskedLanguageModel, steps=steps(8000)),
        "t5": partial(train_table, SpanCorruptionModel, steps=steps(10_000)),
        "word2vec": partial(train_word2vec, epochs=max(1, round(50 * effort))),
        "fasttext": partial(train_fasttext, epochs=max(1, round(50 * effort))),
        "elmo": elmo,
        "glove-target": of_pairs,
        # As many steps a language as the tables of one language have.
        "mbert": partial(train_table, MaskedLanguageModel, steps=steps(16_000)),
        "mt5": partial(train_table, SpanCorruptionModel, steps=steps(20_000)),
    }
    made_with = {"sentences": str(sentences), "effort": f"{effort:g}"}
    torch.set_num_threads(1)  # more would change the order of sums, and so the tables
    directory.mkdir(parents=True, exist_ok=True)

    @lru_cache(maxsize=1)
    def corpus(draw: int, languages: tuple[str, ...]) -> Corpus:
        targets = (language == TARGET_LANGUAGE for language in languages)
        texts = (unlabelled(sentences, draw, target) for target in targets)
        return Corpus.read([sentence for text in texts for sentence in text])

    names = [(name, draw) for draw in draws for name in only or trainers]
    wanted = [
        (name, draw)
        for name, draw in names
        if not _is_made(name, draw, directory, {**made_with, "seed": str(seed + draw)})
    ]
    kept = f"; {len(names) - len(wanted)} are there already" if len(wanted) < len(names) else ""
    print(f"tables to make: {len(wanted)}{kept}", flush=True)
    started, done, whole = time.monotonic(), 0, sum(SECONDS[name] for name, _ in wanted)
    for number, (name, draw) in enumerate(wanted, 1):
        table = trainers[name](corpus(draw, TABLES[name]), seed=seed + draw)
        path = directory / f"{at_draw(PREFIX + name, draw)}.safetensors"
        if draw:
            of = {"world": str(draw), "language": language_digest(draw)}
            table = replace(table, record={**table.record, **made_with, **of})
        save_table(table, path, torch.float16 if draw else torch.float32)
        done += SECONDS[name]
        left = (time.monotonic() - started) / done * (whole - done) / 60
        print(
            f"{path}: {described(table, draw)}; {number} of {len(wanted)}, {left:.0f} min left",
            flush=True,
        )


def _is_made(name: str, draw: int, directory: Path, made_with: Mapping[str, str]) -> bool:
    """Whether a table of a draw is there, whole and made the same way."""
    source = at_draw(PREFIX + name, draw)
    for path in (directory / f"{source}.safetensors", table_path(source)):
        try:
            record = load_table_of_draw(source, path).record
        except InputError:
            continue
        if draw and made_with.items() <= record.items():
            return True
    return False


def described(table: TrainedTable, draw: int) -> str:
    """A table's description: its sigma, and the share of words next to a synonym, if any."""
    groups, said = synonym_groups(draw), f"sigma {table.sigma:.4g}"
    members = torch.tensor([groups.get(word, -1) for word in table.words])
    if not (members >= 0).any():
        return said
    return f"{said}, nearest neighbour is a synonym {neighbour_purity(table.values, members):.1%}"


def make_table(name: str) -> None:
    """Trains a draw's table, such as ``micro-glove@9003``, unless another process has made it."""
    base, draw = split_draw(name)
    folder = draws_directory()
    mark = folder / f".{name}"
    mark.mkdir(parents=True, exist_ok=True)
    with held(mark):
        if not table_path(name).exists():
            make_assets(folder, [base.removeprefix(PREFIX)], draws=[draw])
    with contextlib.suppress(OSError):
        mark.rmdir()
