"""Modern: do the first paper's findings hold in today's models? An exploratory paper of our own.

Kim et al. (2024) trained post-norm models with sinusoids added to the table. Here decoders predict
each next word of English-like text of the made language, in six architectures that lead from the
paper's to Llama's (Touvron et al. 2023):

- ``post-norm``: LayerNorm after each sub-layer, sinusoids added to the table times √D;
- ``post-norm-rotary``: the same, with rotary positions and nothing added;
- ``pre-norm``: the paper's positions, with LayerNorm before each sub-layer;
- ``llama``: RMSNorm before each sub-layer, rotary positions, SwiGLU, no biases, two tables;
- ``llama-tied``: the same, with one table for both ends;
- ``llama-normed``: ``llama`` with a norm right after lookup.

Each starts from the same tables: Xavier's, GloVe's as they are, standardised, and shuffled, and
Xavier's as wide as GloVe's. A wide table may also learn at ``RATE`` times the rate (Adam moves a
table by the rate, whatever its width). All losses are of held-out text, in nats a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from embinit.claims.comparisons import Quantity
from embinit.claims.definitions import Family
from embinit.claims.experiments import Experiment
from embinit.claims.registration import Registration
from embinit.errors import InputError
from embinit.registry import nearest
from embinit.runs.measures import measure
from embinit.specs import Cut, DataSpec, LanguageModelSpec, ModelSpec, PositionSpec

RATE = 8.0
"""What a wide table's learning rate is multiplied by: GloVe's is 7.7 times as wide as Xavier's."""

PAPERS = ModelSpec(64, 4, 2, 128, 0.0)
"""The paper's model without dropout."""

LLAMA = replace(
    PAPERS,
    attention="rotary",
    activation="silu",
    norm_position="pre",
    norm="rms",
    gated=True,
    bias=False,
)
"""A model as Llama's."""

ADDED = PositionSpec()
"""Sinusoids are added to the table times √D."""

NOTHING_ADDED = PositionSpec("none", "one")
"""The table is read as it is."""


@dataclass(frozen=True)
class Architecture:
    """How a decoder is built, and what is added to its table.

    Attributes:
        label: Its name for people.
        model: The model.
        positions: What is added to the table, which is multiplied before.
        margin: Its margin, in nats a word (``noise_floor.json``).
    """

    label: str
    model: ModelSpec
    positions: PositionSpec
    margin: float


ARCHITECTURES: Mapping[str, Architecture] = {
    "post-norm": Architecture("post-norm, sinusoids", PAPERS, ADDED, 0.06),
    "post-norm-rotary": Architecture(
        "post-norm, rotary",
        replace(PAPERS, attention="rotary"),
        replace(NOTHING_ADDED, multiplier=ADDED.multiplier),
        0.022,
    ),
    "pre-norm": Architecture(
        "pre-norm, sinusoids", replace(PAPERS, norm_position="pre"), ADDED, 0.03
    ),
    "llama": Architecture("Llama-like", LLAMA, NOTHING_ADDED, 0.038),
    "llama-tied": Architecture(
        "Llama-like, tied", replace(LLAMA, coupled=True), NOTHING_ADDED, 0.034
    ),
    "llama-normed": Architecture(
        "Llama-like, norm after lookup", replace(LLAMA, norm_after_sum=True), NOTHING_ADDED, 0.018
    ),
}
"""The architectures, from the paper's to today's."""

OLD = "post-norm"
"""The architecture that others are held against."""


REGISTERED = Registration(resources.files("embinit.papers.modern") / "registered.json")
"""What was measured for the claims beforehand, on seeds that none of them uses."""

WIDTH = Family(
    "modern/width",
    {"micro": 16},
    says="Width: finding 1, and what GloVe's table knows against it",
    registration=REGISTERED,
)
STREAM = Family(
    "modern/stream",
    {"micro": 11},
    says="Stream: finding 2, and what a wide table does to what the layers read",
    registration=REGISTERED,
)
STEP = Family(
    "modern/step",
    {"micro": 17},
    says="Step: Adam's, and whether it is all that width costs",
    registration=REGISTERED,
)
MEANING = Family(
    "modern/meaning",
    {"micro": 11},
    says="Meaning: finding 3, what the words' own vectors are worth",
    registration=REGISTERED,
)

PLANTED = 0.18
"""What sensitivity controls plant, in nats: as much as shuffling cost in post-norm beforehand."""


@dataclass(frozen=True)
class Decoder(Experiment):
    """An experiment on one architecture."""

    def drawn(self) -> Quantity:
        """The loss from Xavier's table."""
        return self["xavier"]

    def usual(self) -> Quantity:
        """The loss from a table of N(0, 0.02), the usual start of today's models."""
        return self["normal"]

    def stretched(self) -> Quantity:
        """The loss from Xavier's table, as wide as GloVe's."""
        return self["xavier_pretrained"]

    def raw(self) -> Quantity:
        """The loss from GloVe's table as it is."""
        return self["pretrained"]

    def standardised(self) -> Quantity:
        """The loss from GloVe's table, as wide as Xavier's."""
        return self["pretrained_xavier"]

    def shuffled(self) -> Quantity:
        """The loss from GloVe's table, in which each word has another word's vector."""
        return self["pretrained_shuffled"]

    def stepped(self) -> Decoder:
        """The same, with tables that learn at ``RATE`` times the rate."""
        changed = self.changed(f"at {RATE:g} × the rate", table_rate=RATE)
        assert isinstance(changed, Decoder)
        return changed

    def at_rate(self, rate: float) -> Decoder:
        """The same, where the whole model learns at another rate."""
        changed = self.with_training(f"at {rate:g}", lr=rate)
        assert isinstance(changed, Decoder)
        return changed

    def with_architecture(self, name: str) -> Decoder:
        """The same over as many seeds in another architecture.

        Args:
            name: A key of ``ARCHITECTURES``.

        Raises:
            InputError: There is no such architecture.
        """
        require_architecture(name)
        [other] = [each for each in experiments(self.tier) if each.name == name]
        return replace(other, seeds=self.seeds)


def require_architecture(name: str) -> None:
    """Refuses the name of no architecture.

    Raises:
        InputError: There is no such architecture.
    """
    if name not in ARCHITECTURES:
        raise InputError(
            f"there is no architecture {name!r}: {nearest(name, ARCHITECTURES)}"
            f"there are {', '.join(ARCHITECTURES)}"
        )


TEXT = DataSpec(
    "micro-text", ("whitespace", "whitespace"), Cut(4000, 400, 1), min_freq=1, max_length=32
)
"""4,000 sentences, and 400 held out."""

TRAINING = LanguageModelSpec(batch_size=32, epochs=2, lr=4e-3, mechanism=True)
"""How all are trained. docs/papers/modern.md says how the rate was chosen."""

TIERS: Mapping[str, str] = {
    "micro": "4,000 sentences that code makes from a seed; decoders 64 wide, with two layers.",
}


@cache
def experiments(tier: str) -> tuple[Decoder, ...]:
    """The tier's experiments: each architecture.

    Raises:
        KeyError: The paper has no such tier.
    """
    assert TIERS[tier]
    return tuple(
        Decoder(
            name=name,
            tier=tier,
            role=name,
            source="micro-glove",
            source_label="GloVe",
            data=TEXT,
            model=architecture.model,
            training=TRAINING,
            metric=measure("validation_loss"),
            seeds=3,
            most_seeds=12,
            margin=architecture.margin,
            source_role="glove",
            positions=architecture.positions,
            planted=PLANTED,
        )
        for name, architecture in ARCHITECTURES.items()
    )


def on(*names: str) -> Callable[[str], list[Experiment]]:
    """A function that gives a tier's experiments on some architectures; none means all.

    Raises:
        InputError: There is no such architecture.
    """
    for name in names:
        require_architecture(name)
    return lambda tier: [each for each in experiments(tier) if not names or each.name in names]
