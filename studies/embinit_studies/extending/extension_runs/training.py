"""Training of extension runs: the base, the new tokens' rows, and training on other text.

The base is trained on the run's text. The words of another text that the base's vocabulary lacks
become tokens: their rows are made by an extension method (``embtables.extension.methods``) from the
base's own rows, and the model is trained on the other text. All arms of a seed extend the same
base, which is trained once a process.

A word's pieces are those that the base's tokenizer cuts it into. Word vectors are those of the two
texts (``vectors``): the other text's, rotated onto the first one's by the words that both have.
"""

from __future__ import annotations

import functools
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from embtables.extension.mathematics import procrustes
from embtables.extension.methods import METHODS, AlignedVectors, MethodInput
from jaxtyping import Float, Int32
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.preparation import PreparedData, Split, data_fingerprint, prepare
from embinit.lab.data.tokenizers import piece_letters, pieces_of
from embinit.lab.data.vocabulary import Vocabulary
from embinit.lab.models.initial_state import InitialState
from embinit.lab.specs import DataSpec
from embinit.lab.tables import initial_tables
from embinit.lab.tables.diagnostics import table_statistics
from embinit.lab.tables.inits import NORMAL_SIGMA
from embinit.lab.training.stacked import Progress
from embinit.randomness import stream
from embinit.runs.kinds import Cohort
from embinit.runs.results import RunResult, provenance
from embinit.runs.table_statistics import TableStatistics
from embinit.specs import RunSpec
from embinit_studies.extending.extension_runs import ExtensionRecipe
from embinit_studies.extending.extension_runs.vectors import word_vectors
from embinit_studies.language_model.model import (
    CausalLanguageModel,
    CausalTransformer,
    require_usable,
)
from embinit_studies.language_model.runs import require_text, train_parts
from embinit_studies.language_model.training import LanguageModelTraining

ZERO = "zero"
"""The method that leaves new rows zero."""

MOST_BASES = 64
"""The most base models that a process caches."""

TABLE, OUTPUT = "stack.encoder_embedding.table", "output_table"


def fingerprint(run: RunSpec[ExtensionRecipe], data_dir: Path | None) -> str:
    """Digests of the run's inputs besides its spec: the texts."""
    others = (data_fingerprint(data, data_dir) for data in other_texts(run))
    return "/".join([initial_tables.fingerprint(run, data_dir), *others])


def other_texts(run: RunSpec[ExtensionRecipe]) -> tuple[DataSpec, ...]:
    """The data of the run besides its base's text."""
    recipe = run.recipe.training
    return (recipe.text,) if recipe.helper is None else (recipe.text, recipe.helper)


def check(run: RunSpec[ExtensionRecipe], data_dir: Path | None) -> None:
    """Reads both texts, so that bad input is named before any training.

    Raises:
        InputError: A text is missing or does not fit, or the method can't be used here.
    """
    require_usable(run.recipe.architecture)
    recipe = run.recipe.training
    for data in (run.recipe.data, recipe.text):
        require_text(data, data_dir)
    if run.recipe.data.max_length != recipe.text.max_length:
        raise InputError(f"{run.recipe.data.task} and {recipe.text.task} must have one max_length")
    if recipe.helper is not None and recipe.helper.vocabulary != recipe.text:
        raise InputError(f"the helper's text must have the vocabulary of {recipe.text.task}")
    if run.recipe.table.source is not None:
        raise InputError("a base that is extended starts from an init without a source")
    if run.recipe.architecture.coupled and recipe.output_method:
        raise InputError("a tied model has one table: leave output_method out")
    if run.recipe.architecture.input_width not in (None, run.recipe.architecture.dim):
        raise InputError("an extended model's tables are as wide as the model: no input_width")
    for name in filter(None, (recipe.method, recipe.output_method)):
        if name == ZERO:
            continue
        needs = METHODS[name].needs
        if "donor" in needs or ("head" in needs and run.recipe.architecture.coupled):
            raise InputError(
                f"method {name!r} needs {', '.join(sorted(needs))}, which this model lacks"
            )
    texts = texts_of(run, data_dir)
    if not texts.new:
        raise InputError(
            f"{recipe.text.task} has no word that {run.recipe.data.task} lacks; cut words into "
            "pieces there (tokenizer whitespace/2), or take other text"
        )


@dataclass(frozen=True)
class Texts:
    """The base's text and the other text of an extension.

    Attributes:
        base: The base's text.
        other: The other text, in the ids of the extended vocabulary.
        new: The new words, in the order of their ids, which follow the base's.
        pieces: For each of them the ids of its pieces that the base has.
        mapping: The extended vocabulary's ids of the other text's words.
    """

    base: PreparedData
    other: PreparedData
    new: tuple[str, ...]
    pieces: tuple[tuple[int, ...], ...]
    mapping: Int32[Tensor, "N"]

    @property
    def old(self) -> int:
        """V, the number of the base's tokens."""
        return len(self.base.vocabularies["encoder"].words)


def texts_of(run: RunSpec[ExtensionRecipe], data_dir: Path | None) -> Texts:
    """Both texts of a run, and the new tokens."""
    return _texts(run.recipe.data, run.recipe.training.text, data_dir)


@functools.lru_cache(maxsize=8)
def _texts(base_spec: DataSpec, other_spec: DataSpec, data_dir: Path | None) -> Texts:
    base, other = prepare(base_spec, data_dir), prepare(other_spec, data_dir)
    known, words = base.vocabularies["encoder"], other.vocabularies["encoder"].words
    new = tuple(word for word in words if word not in known.ids)
    counts = dict(zip(words, other.vocabularies["encoder"].counts, strict=True))
    extended = Vocabulary((*known.words, *new), (*known.counts, *(counts[word] for word in new)))
    mapping = torch.tensor([extended.ids[word] for word in words], dtype=torch.int32)

    def mapped(split: Split) -> Split:
        return replace(split, inputs=mapping[split.inputs.long()])

    return Texts(
        base,
        replace(
            other,
            vocabularies={"encoder": extended},
            train=mapped(other.train),
            validation=mapped(other.validation),
            test=mapped(other.test),
        ),
        new,
        tuple(_pieces(word, base_spec.tokenizers[0], known) for word in new),
        mapping,
    )


def _pieces(word: str, tokenizer: str, known: Vocabulary) -> tuple[int, ...]:
    letters = piece_letters(tokenizer)
    pieces = [] if letters is None else pieces_of(word, letters)
    return tuple(known.ids[piece] for piece in pieces if piece in known.ids)


@functools.lru_cache(maxsize=8)
def _space(
    base: DataSpec, other: DataSpec, helper: DataSpec | None, width: int, data_dir: Path | None
) -> AlignedVectors:
    """Vectors of old and new tokens, aligned to the space of the base's text.

    A word that both texts have stands where the other text, or the helper's, puts it.
    """
    texts = _texts(base, other, data_dir)
    old, words = texts.old, texts.old + len(texts.new)
    inputs = texts.other.train.inputs
    if helper is not None:
        inputs = texts.mapping[prepare(helper, data_dir).train.inputs.long()]
    first = word_vectors(texts.base.train.inputs, old, width)
    second = word_vectors(inputs, words, width)
    shared = (second[:old].norm(dim=1) > 0) & (first.norm(dim=1) > 0)
    second = second @ procrustes(second[:old][shared], first[shared])
    return AlignedVectors(torch.where(shared[:, None], second[:old], first), second[old:], shared)


@dataclass(frozen=True)
class Base:
    """A trained base model.

    Attributes:
        parameters: Its parameters by name, without the run axis, on the CPU.
        loss: Its validation loss, in nats a word of its own text.
    """

    parameters: dict[str, Tensor]
    loss: float


_bases: OrderedDict[object, Base] = OrderedDict()


def _base_key(run: RunSpec[ExtensionRecipe], data_dir: Path | None, device: str) -> object:
    recipe = run.recipe.training.base
    return (run.changed(training=recipe), data_dir, device)


def bases_of(
    runs: Sequence[RunSpec[ExtensionRecipe]], data_dir: Path | None, device: str, progress: Progress
) -> list[Base]:
    """Each run's base model, trained unless this process has cached it."""
    keys = [_base_key(run, data_dir, device) for run in runs]
    missing = {key: run for key, run in zip(keys, runs, strict=True) if key not in _bases}
    if missing:
        specs = [run.changed(training=run.recipe.training.base) for run in missing.values()]
        initial = InitialState(specs, prepare(specs[0].recipe.data, data_dir), data_dir)
        recipe = runs[0].recipe.training.base
        trainer = LanguageModelTraining(initial, initial.model(CausalTransformer), recipe, device)
        trainer.run(progress)
        for index, key in enumerate(missing):
            parameters = {
                name: value.detach()[index].cpu().clone()
                for name, value in trainer.model.named_parameters()
            }
            _bases[key] = Base(parameters, float(trainer.curves.validation_loss[-1][index]))
    found = [_bases[key] for key in keys]
    while len(_bases) > MOST_BASES:
        _bases.popitem(last=False)
    return found


def extended_rows(
    run: RunSpec[ExtensionRecipe], base: Base, data_dir: Path | None
) -> dict[str, Float[Tensor, "m D"]]:
    """The new tokens' rows for each table of a run's base, by the table's name."""
    recipe, texts = run.recipe.training, texts_of(run, data_dir)
    space = _space(run.recipe.data, recipe.text, recipe.helper, recipe.helper_width, data_dir)
    rows: dict[str, Tensor] = {}
    # The output table first, since repair takes its rows.
    for name in (OUTPUT, TABLE):
        if name not in base.parameters:
            continue
        table = base.parameters[name]
        side: Literal["input", "output"] = "input" if name == TABLE else "output"
        method = recipe.method if side == "input" else recipe.output_method or recipe.method
        if method == ZERO:
            rows[name] = torch.zeros(len(texts.new), table.shape[1])
            continue
        method_input = MethodInput(
            side,
            table,
            len(texts.new),
            texts.pieces,
            stream(run.seed, f"extension/{side}"),
            NORMAL_SIGMA,
            vectors=space,
            head=rows.get(OUTPUT),
        )
        rows[name] = METHODS[method](method_input).values
    return rows


def train(
    cohort: Cohort[ExtensionRecipe],
    data_dir: Path | None = None,
    device: str = "cpu",
    progress: Progress = lambda share: None,
    sharers: int = 1,
) -> list[RunResult]:
    """Trains the cohort's runs: base models, new rows, and further training.

    Returns:
        The runs' results, in the cohort's order.

    Raises:
        InputError: Not even one run has room.
    """
    base = cohort.runs[0].recipe.training.base
    return train_parts(cohort, base, _train, data_dir, device, progress, sharers)


def _train(
    cohort: Cohort[ExtensionRecipe], data_dir: Path | None, device: str, progress: Progress
) -> list[RunResult]:
    started, first = time.perf_counter(), cohort.runs[0]
    bases = bases_of(cohort.runs, data_dir, device, lambda share: progress(share / 2))
    texts = texts_of(first, data_dir)
    made = [
        extended_rows(run, base, data_dir) for run, base in zip(cohort.runs, bases, strict=True)
    ]
    initial = InitialState(cohort.runs, texts.other, data_dir)
    trainer = LanguageModelTraining(
        initial,
        initial.model(CausalTransformer),
        first.recipe.training.training,
        device,
        "/extension",
        texts.old,
        functools.partial(_carry, bases=bases, made=made),
    )
    trainer.run(lambda share: progress((1 + share) / 2))
    # A run's share of the cohort's time, not what it would take alone.
    seconds = (time.perf_counter() - started) / len(cohort.runs)
    told = provenance(device, seconds)
    table = trainer.model.stack.encoder_embedding.table.detach().cpu()
    return [
        RunResult(
            spec=run,
            measures=trainer.measures_of(number)
            | {
                "base_loss": bases[number].loss,
                "start_likeness": likeness(made[number][TABLE]),
                "likeness": likeness(table[number, texts.old :]),
            },
            curves=trainer.curves_of(number),
            tables={"encoder": _statistics(bases[number], made[number])},
            examples={name: len(getattr(texts.other, name)) for name in ("train", "validation")},
            failure=trainer.failure_of(number),
            provenance=told,
        )
        for number, run in enumerate(cohort.runs)
    ]


def _statistics(base: Base, made: dict[str, Tensor]) -> TableStatistics:
    table = torch.cat((base.parameters[TABLE], made[TABLE]))
    special = torch.zeros(len(table), dtype=torch.bool)
    special[0] = True
    return table_statistics(table, special)


@torch.no_grad()
def _carry(
    model: CausalLanguageModel, bases: Sequence[Base], made: Sequence[dict[str, Tensor]]
) -> None:
    """Loads each run's base parameters, and the new rows of its tables."""
    for name, value in model.named_parameters():
        for run, (base, rows) in enumerate(zip(bases, made, strict=True)):
            old = base.parameters[name]
            value[run].copy_(torch.cat((old, rows[name])) if name in rows else old)


def likeness(rows: Float[Tensor, "m D"]) -> float:
    """The mean cosine between two different rows, which is 0 with a zero row."""
    count = len(rows)
    if count < 2:
        return 0.0
    unit = torch.nn.functional.normalize(rows.double(), dim=1)
    total = unit.sum(dim=0).square().sum() - unit.square().sum()
    return float(total / (count * (count - 1)))
