"""Arms of a comparison: inits and vectors, and the small models that start from their tables.

Vectors bring their tokenizer and their width, and the model has both of them. So each set of
vectors is compared with Xavier at its own tokenizer and width too.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from embinit.errors import InputError
from embinit.lab.data.sources import SOURCES, open_source
from embinit.lab.data.sources.base import SourceEntry
from embinit.lab.specs import (
    Cut,
    DataSpec,
    ModelRecipe,
    ModelRun,
    ModelSpec,
    PositionSpec,
    TableSpec,
    TrainingSpec,
)
from embinit.lab.tables.recipes import INITS
from embinit.specs import RunSpec
from embtables.checkpoints import is_hub_id, local_directory
from embtables.given import GivenTask

DEFAULT_INITS = ("xavier", "pretrained", "pretrained_xavier")
HEAD_WIDTH = 48
"""The width of an attention head that is aimed at."""

ATTENTION_IN_WORDS = {
    "relative": "each distance has a learned bias in attention",
    "rotary": "attention turns queries and keys by their positions",
    "untied": "attention scores positions apart from the words, and none are added",
}
"""The kinds of attention in words, for the notes on labels."""

MOST_WIDE = 1024
"""The largest width of vectors, since a wider model would not be small."""

DEFAULT_WIDTH = 128
"""The models' width where no vectors are given."""

_ENDINGS = (".gz", ".zip", ".txt", ".vec", ".bin", ".npz")


@dataclass(frozen=True)
class Settings:
    """The small models and their training, alike for all starts.

    Attributes:
        layers: How many layers the encoder has, and the decoder where there is one.
        feed_forward: The width of the feed-forward layers.
        epochs: How many epochs a model is trained for.
        batch_size: How many examples a batch has.
        lr: The learning rate.
        most_train: The most training examples; others are left out by a fixed sample.
        most_held_out: The most examples of the validation and of the test split.
        max_length: The longest example, in tokens.
        positions: The kind of positions that are added to the rows.
        attention: How attention knows positions beside them: ``plain``, not at all; ``rotary`` and
            others of ``specs.ModelSpec``. With ``untied`` positions are scored apart, and none are
            added. With several, every start is compared with each. By default positions are told
            once and twice, since no task of ``starts`` rules the latter out with trained tables.
            Rotary positions need an even width; starts of an odd one are not compared with them.
        multiplier: What the table's rows are multiplied by after the look-up.
        tokenizer: The tokenizer of word vectors; None for spaCy's where it is installed.
    """

    layers: int = 1
    feed_forward: int = 512
    epochs: int = 4
    batch_size: int = 32
    lr: float = 5e-4
    most_train: int = 4000
    most_held_out: int = 1000
    max_length: int = 64
    positions: str = "sinusoidal"
    attention: Sequence[str] = ("plain", "rotary")
    multiplier: str = "sqrt(D)"
    tokenizer: str | None = None

    def words(self) -> str:
        """The tokenizer of word vectors."""
        if self.tokenizer is not None:
            return self.tokenizer
        return "spacy" if importlib.util.find_spec("spacy") else "whitespace"


@dataclass(frozen=True)
class GivenVectors:
    """A set of vectors that the user named.

    Attributes:
        given: What the user wrote.
        title: The name for people.
        name: The name in specs, which is another one for other content.
        path: The file or directory.
        dim: D, their width.
        words: The name of their tokenizer.
    """

    given: str
    title: str
    name: str
    path: Path
    dim: int
    words: str


@dataclass(frozen=True)
class Arm:
    """An arm of a comparison: one start of the tables and positions.

    Attributes:
        label: The name for people.
        init: The init's name.
        vectors: The vectors that the table is made of; None where it needs none.
        sigma: The sigma that the table is standardised to; None keeps the init's.
        spec: The run of seed 0.
        attention: The positions inside attention.
    """

    label: str
    init: str
    vectors: GivenVectors | None
    sigma: float | None
    spec: ModelRun = field(repr=False)
    attention: str = "plain"

    @property
    def turns(self) -> bool:
        """Whether rotary positions fit its width, which must be even."""
        return self.spec.recipe.architecture.dim % 2 == 0

    def run(self, seed: int) -> ModelRun:
        """The run of a seed."""
        return replace(self.spec, seed=seed)


def open_vectors(given: Sequence[str], language: str, settings: Settings) -> list[GivenVectors]:
    """Opens the vectors and registers each under a name of its own.

    Args:
        given: Files or directories, or ids on the Hub.
        language: The language that they are taken to be of.
        settings: The tokenizer of word vectors.

    Raises:
        InputError: They are missing or broken, have no words, or are too wide.
    """
    opened: list[GivenVectors] = []
    for each in dict.fromkeys(given):
        path = _path(each)
        source = open_source(_title(path), path, frozenset({language}))
        source.check()
        if source.dim > MOST_WIDE:
            raise InputError(
                f"{each} has vectors of width {source.dim:,}; the models that are compared are as "
                f"wide as their vectors, and {MOST_WIDE:,} is the most"
            )
        title = _title(path)
        if any(title == other.title for other in opened):
            title = f"{path.absolute().parent.name}/{title}"
        name = f"{_title(path)}-{source.fingerprint()[:12]}"
        words = f"hf:{name}" if source.tokenizer.startswith("hf:") else settings.words()
        register(name, path, language)
        opened.append(GivenVectors(each, title, name, path, source.dim, words))
    return opened


def register(name: str, path: Path, language: str) -> None:
    """Registers the vectors at ``path`` as the source ``name``, for this process."""
    languages = frozenset({language})
    entry = SourceEntry(lambda _: open_source(name, path, languages), languages)
    SOURCES.replace(name, entry)


def _path(given: str) -> Path:
    path = Path(given).expanduser()
    if path.suffix == ".safetensors" and path.is_file():
        if (path.parent / "config.json").is_file():
            return path.parent.absolute()
        raise InputError(
            f"{given} has rows and no words; name the model's directory, with its config.json and "
            "tokenizer"
        )
    return local_directory(given if is_hub_id(given) else path).absolute()


def _title(path: Path) -> str:
    name = path.name
    while name.endswith(_ENDINGS):
        name = name[: name.rindex(".")]
    return name or path.name


def arms_of(
    task: GivenTask, vectors: Sequence[GivenVectors], inits: Sequence[str], settings: Settings
) -> list[Arm]:
    """The arms: each init with each set of vectors, or at each width where it needs none.

    With several kinds of attention each of these comes with each of them that its width allows.

    Args:
        task: The task.
        vectors: The vectors.
        inits: Names of inits, each perhaps with ``@`` and the sigma to standardise to.
        settings: The models and their training.

    Raises:
        InputError: An init or a kind of attention is unknown, an init needs vectors, or fewer than
            two starts come of it.
    """
    from embinit.lab.models.attention import ATTENTION

    if isinstance(settings.attention, str):
        raise InputError(f"attention is {settings.attention!r}; give kinds, such as ('plain',)")
    kinds = dict.fromkeys(settings.attention)
    for kind in kinds:
        ATTENTION[kind]
    shapes = dict.fromkeys((each.words, each.dim) for each in vectors)
    if not vectors:
        shapes = {(settings.words(), DEFAULT_WIDTH): None}
    arms: dict[ModelRun, Arm] = {}
    for given in inits:
        name, sigma = _init(given)
        init = INITS[name]
        if init.needs_source and not vectors:
            raise InputError(f"init {name!r} needs vectors; name them with --vectors")
        at = "" if sigma is None else f" at sigma {sigma:g}"
        if init.needs_source:
            for each in vectors:
                spec = _spec(
                    task, each.words, each.dim, TableSpec(name, each.name, sigma=sigma), settings
                )
                label = init.label.format(source=each.title) + at
                arms.setdefault(spec, Arm(label, name, each, sigma, spec))
            continue
        for words, dim in shapes:
            spec = _spec(task, words, dim, TableSpec(name, None, sigma=sigma), settings)
            label = init.label + at
            if len(shapes) > 1:
                label += f" ({dim} wide, {_words_of(words, vectors)})"
            arms.setdefault(spec, Arm(label, name, None, sigma, spec))
    every = [
        _with_attention(arm, attention, several=len(kinds) > 1)
        for attention in kinds
        for arm in arms.values()
        if attention != "rotary" or arm.turns
    ]
    if not every:
        raise InputError(
            "rotary positions need an even width, which no start has; name another --attention"
        )
    if len(every) < 2:
        raise InputError(
            "there is one start, and nothing to compare it with; name more --vectors, --inits or "
            "--attention"
        )
    return every


def _with_attention(arm: Arm, attention: str, *, several: bool) -> Arm:
    """An arm with a kind of attention, which its label names where there are several."""
    label = f"{arm.label} + {attention}" if several and attention != "plain" else arm.label
    spec = arm.spec.changed(model=replace(arm.spec.recipe.architecture, attention=attention))
    if attention == "untied":
        spec = spec.changed(positions=replace(spec.recipe.positions, kind="none"))
    return replace(arm, label=label, spec=spec, attention=attention)


def _words_of(words: str, vectors: Sequence[GivenVectors]) -> str:
    """A tokenizer's name for people."""
    titles = [each.title for each in vectors if each.words == words]
    return f"{titles[0]}'s pieces" if words.startswith("hf:") else "words"


def _init(given: str) -> tuple[str, float | None]:
    name, at, told = given.partition("@")
    if not at:
        return name, None
    try:
        sigma = float(told)
    except ValueError:
        sigma = -1.0
    if not 0 < sigma < float("inf"):
        raise InputError(f"--inits {given}: {told!r} is no sigma; write it as in {name}@0.05")
    return name, sigma


def _spec(task: GivenTask, words: str, dim: int, table: TableSpec, settings: Settings) -> ModelRun:
    translates = task.kind == "translation"
    data = DataSpec(
        task=task.name,
        tokenizers=(words, settings.words()) if translates else (words,),
        cut=Cut(settings.most_train, settings.most_held_out, settings.most_held_out),
        max_length=settings.max_length,
    )
    model = ModelSpec(dim, _heads(dim), settings.layers, settings.feed_forward)
    training = TrainingSpec(settings.batch_size, settings.epochs, settings.lr)
    positions = PositionSpec(settings.positions, settings.multiplier)
    return RunSpec(ModelRecipe(data, model, training, table, positions), seed=0)


def _heads(dim: int) -> int:
    """The number of heads whose width is nearest to ``HEAD_WIDTH`` by ratio.

    Heads of a model of an even width have an even one, as rotary positions need.
    """
    divisors = (heads for heads in range(1, dim + 1) if dim % heads == 0)
    known = (heads for heads in divisors if dim % 2 or dim // heads % 2 == 0)
    return min(known, key=lambda heads: abs(math.log(dim / heads / HEAD_WIDTH)))
