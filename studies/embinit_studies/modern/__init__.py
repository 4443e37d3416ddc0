"""Modern: do the first paper's findings hold in today's models? An exploratory study of our own.

Kim et al. (2024) trained post-norm models with sinusoids added to the table. Here decoders predict
each next word of English-like text of the synthetic language, in six architectures that lead from
the paper's to Llama's (Touvron et al. 2023):

- ``post-norm``: LayerNorm after each sub-layer, sinusoids added to the table times √D;
- ``post-norm-rotary``: the same, with rotary positions and nothing added;
- ``pre-norm``: the paper's positions, with LayerNorm before each sub-layer;
- ``llama``: RMSNorm before each sub-layer, rotary positions, SwiGLU, no biases, two tables;
- ``llama-tied``: the same, with one table for both ends;
- ``llama-normed``: ``llama`` with a norm right after lookup.

Each starts from the same tables: Xavier's, GloVe's unscaled, standardised and shuffled, and
Xavier's at GloVe's sigma. A large-sigma table may also have ``Setting.times`` the learning rate
(Adam moves a table by the learning rate, whatever its sigma). All losses are of held-out text, in
nats a word.

On ``sample`` they read English text of the data directory, and GloVe's vectors
are the published ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from embinit.claims.comparisons import Quantity
from embinit.claims.definitions import Family
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import Cut, DataSpec, ModelSpec, PositionSpec
from embinit.registry import require
from embinit.runs.measures import measure
from embinit_papers.settings import pick
from embinit_studies.language_model import LanguageModelSpec
from embinit_studies.repairs import REPAIRS, factorial_contrast, repaired

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
"""A model like Llama."""

ADDED = PositionSpec()
"""Added positions: sinusoids on the table times √D."""

NOTHING_ADDED = PositionSpec("none", "one")
"""No added positions, and no multiplier."""


@dataclass(frozen=True)
class Architecture:
    """The architecture of a causal language model, and its added positions.

    Attributes:
        label: Its name for people.
        model: The model.
        positions: What is added to the table, which is multiplied before.
    """

    label: str
    model: ModelSpec
    positions: PositionSpec


ARCHITECTURES: Mapping[str, Architecture] = {
    "post-norm": Architecture("post-norm, sinusoids", PAPERS, ADDED),
    "post-norm-rotary": Architecture(
        "post-norm, rotary",
        replace(PAPERS, attention="rotary"),
        replace(NOTHING_ADDED, multiplier=ADDED.multiplier),
    ),
    "pre-norm": Architecture("pre-norm, sinusoids", replace(PAPERS, norm_position="pre"), ADDED),
    "llama": Architecture("Llama-like", LLAMA, NOTHING_ADDED),
    "llama-tied": Architecture("Llama-like, tied", replace(LLAMA, coupled=True), NOTHING_ADDED),
    "llama-normed": Architecture(
        "Llama-like, norm after lookup", replace(LLAMA, norm_after_sum=True), NOTHING_ADDED
    ),
}
"""The architectures, from the paper's to today's."""

FURTHER = ("post-norm-rotary", "llama-normed")
"""The architectures that were tested on real text later; ``REAL_TEXT`` has the others."""

OLD = "post-norm"
"""The baseline architecture."""


WIDTH = Family(
    "modern/width",
    {"micro": 16},
    says="Width: finding 1, and what GloVe's table knows against it",
    origin="ours",
)
STREAM = Family(
    "modern/stream",
    {"micro": 11},
    says="Stream: finding 2, and what a wide table does to what the layers read",
    origin="ours",
)
STEP = Family(
    "modern/step",
    {"micro": 17},
    says="Step: Adam's, and whether it is all that width costs",
    origin="ours",
)
MEANING = Family(
    "modern/meaning",
    {"micro": 11},
    says="Meaning: finding 3, what the words' own vectors are worth",
    origin="ours",
)
REAL_TEXT = Family(
    "modern/real-text",
    {"sample": 17},
    says="Real text: width, the step and meaning, with published vectors",
    origin="ours",
)

REAL_TEXT_FURTHER = Family(
    "modern/real-text-further",
    {"sample": 11},
    says="Real text, further: rotary post-norm, and a norm right after lookup",
    origin="ours",
)
REPAIRED = Family(
    "modern/repaired",
    {"micro": 27},
    says="Repaired: width's causes, taken apart in each architecture",
    origin="ours",
)


@dataclass(frozen=True)
class Decoder(ModelExperiment):
    """An experiment on one architecture."""

    def xavier(self) -> Quantity:
        """The loss from Xavier's table."""
        return self["xavier"]

    def normal(self) -> Quantity:
        """The loss from a table of N(0, 0.02), today's usual init."""
        return self["normal"]

    def xavier_pretrained(self) -> Quantity:
        """The loss from Xavier's table at GloVe's sigma."""
        return self["xavier_pretrained"]

    def pretrained(self) -> Quantity:
        """The loss from GloVe's unscaled table."""
        return self["pretrained"]

    def pretrained_xavier(self) -> Quantity:
        """The loss from GloVe's table at Xavier's sigma."""
        return self["pretrained_xavier"]

    def pretrained_shuffled(self) -> Quantity:
        """The loss from GloVe's table, in which each word has another word's vector."""
        return self["pretrained_shuffled"]

    def with_scaled_table_rate(self) -> Decoder:
        """The same with the tables' learning rate multiplied by GloVe's sigma over Xavier's."""
        times = SETTINGS[self.tier].times
        return self.changed(f"at {times:g} × the rate", table_rate=times)

    @property
    def repairs(self) -> tuple[str, ...]:
        """The repairs that a large-sigma table can have in the architecture.

        There is no ratio where no position is added, and no scale where the architecture has a norm
        after the look-up.
        """
        assert self.model is not None
        there = {"scale": not self.model.norm_after_sum, "ratio": self.positions.kind != "none"}
        return tuple(name for name in REPAIRS if there.get(name, True))

    def repaired(self, *repairs: str) -> Decoder:
        """The same with some repairs of a large-sigma table.

        Raises:
            InputError: There is no such repair, or the architecture can't have it.
        """
        for name in repairs:
            require("repair", name, self.repairs)
        changed = repaired(self, repairs, SETTINGS[self.tier].times)
        assert isinstance(changed, Decoder)
        return changed

    def effect(self, arm: Callable[[Decoder], Quantity], *causes: str) -> Quantity:
        """The main effect of a cause's repair on a large-sigma table's loss, or an interaction.

        Args:
            arm: The large-sigma arm: ``Decoder.xavier_pretrained`` or ``Decoder.pretrained``.
            causes: The causes (``repairs.factorial_contrast``).

        Raises:
            InputError: There is no such cause here, or none is named.
        """
        return factorial_contrast(
            lambda *repairs: arm(self.repaired(*repairs)), self.repairs, causes
        )

    def at_rate(self, rate: float) -> Decoder:
        """The same at another learning rate."""
        return self.with_training(f"at {rate:g}", lr=rate)

    def with_architecture(self, name: str) -> Decoder:
        """The same in another architecture, with as many seeds.

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
    require("architecture", name, ARCHITECTURES)


@dataclass(frozen=True)
class Setting:
    """The setting of a tier.

    Attributes:
        says: What its text and its decoders are, for people.
        text: The text.
        source: The source of GloVe's vectors, which are as wide as the models.
        sizes: The models' sizes, where they are not those of ``PAPERS``.
        training: How all are trained. README.md says how the rate was chosen.
        times: How many times wider GloVe's table is than Xavier's, and so the factor of its rate.
        margins: Each architecture's margin, in nats a word (``claims.lock`` has
            those of ``micro``, README.md the others).
        planted: What sensitivity controls plant, in nats: as much as shuffling GloVe's rows cost in
            post-norm beforehand.
    """

    says: str
    text: DataSpec
    source: str
    sizes: Mapping[str, Any]
    training: LanguageModelSpec
    times: float
    margins: Mapping[str, float]
    planted: float


SETTINGS: Mapping[str, Setting] = {
    "micro": Setting(
        says="4,000 sentences that code makes from a seed; decoders 64 wide, with two layers.",
        text=DataSpec(
            "micro-text", ("whitespace", "whitespace"), Cut(4000, 400, 1), min_freq=1, max_length=32
        ),
        source="micro-glove",
        sizes={},
        training=LanguageModelSpec(batch_size=32, epochs=2, lr=4e-3, mechanism=True),
        times=8.0,
        margins={
            "post-norm": 0.06,
            "post-norm-rotary": 0.022,
            "pre-norm": 0.03,
            "llama": 0.038,
            "llama-tied": 0.034,
            "llama-normed": 0.018,
        },
        planted=0.18,
    ),
    "sample": Setting(
        says="4,000 English captions and premises, and published GloVe vectors; decoders 300 wide, "
        "with two layers.",
        text=DataSpec(
            "en-text",
            ("spacy", "spacy"),
            Cut(4000, 500, 1),
            min_freq=2,
            max_length=32,
            most_words=3000,
        ),
        source="glove",
        sizes={"dim": 300, "heads": 10, "feed_forward": 600},
        training=LanguageModelSpec(
            batch_size=32, epochs=2, lr=1e-3, precision="bfloat16", mechanism=True
        ),
        times=16.0,
        # Twice the deviation of Xavier's table on seeds 5000 and 5001, pooled over those of the
        # first family.
        margins=dict.fromkeys(ARCHITECTURES, 0.025),
        planted=0.13,
    ),
}
"""The setting of each tier."""


@cache
def experiments(tier: str) -> tuple[Decoder, ...]:
    """The tier's experiments: each of its architectures.

    Raises:
        KeyError: The paper has no such tier.
    """
    setting = SETTINGS[tier]
    return tuple(
        Decoder(
            name=name,
            tier=tier,
            role=name,
            source=setting.source,
            source_label="GloVe",
            data=setting.text,
            model=replace(ARCHITECTURES[name].model, **setting.sizes),
            training=setting.training,
            metric=measure("validation_loss"),
            seeds=3,
            most_seeds=12,
            margin=margin,
            source_role="glove",
            positions=ARCHITECTURES[name].positions,
            planted=setting.planted,
        )
        for name, margin in setting.margins.items()
    )


def in_architectures(*names: str) -> Callable[[str], list[ModelExperiment]]:
    """A query for ``micro``'s experiments on some architectures; none means all.

    Raises:
        InputError: There is no such architecture.
    """
    return pick(experiments, "micro", name=_known(names))


def on_real_text(*names: str) -> Callable[[str], list[ModelExperiment]]:
    """A query for ``sample``'s experiments on some architectures.

    None means all but ``FURTHER``.

    Raises:
        InputError: There is no such architecture.
    """
    chosen = names or tuple(name for name in ARCHITECTURES if name not in FURTHER)
    return pick(experiments, "sample", name=_known(chosen))


def _known(names: Sequence[str]) -> Sequence[str]:
    for name in names:
        require_architecture(name)
    return names
