"""The layout of checkpoints: their embedding tables, and the architecture's use of them.

Tables are known by their tensors' names, as transformers has them, so that no model is built. What
happens after the look-up (a multiplier, a norm, added positions) follows from the configuration and
from the tensors that are there.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, NamedTuple

from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.checkpoints import (
    INPUT_TABLES,
    POSITIONS,
    check_table,
    ending,
    input_tables,
    weights,
)
from embinit.lab.inspection.measures import equal

Tensors = Mapping[str, Tensor]
Config = Mapping[str, Any]

HEADS = weights(
    "lm_head embed_out lm_head.decoder predictions.decoder generator_lm_head vocab_projector "
    "pred_layer.proj"
)
HEADS_BY_WHOLE_NAME = weights("output decoder")
"""Names of heads that are too common to match the end of a name."""

NORMS_AFTER_LOOKUP = weights(
    "embeddings.LayerNorm embeddings.norm word_embeddings_layernorm layernorm_embedding"
)
SQRT_D = ("gemma", "gemma2", "gemma3", "gemma3_text", "paligemma", "t5gemma", "recurrent_gemma")
"""Architectures that multiply rows by √D without a setting for it."""

OWN_SCALE = ("t5", "mt5", "umt5", "longt5", "switch_transformers")
"""Architectures whose tables start at sigma 1."""

MOST_FACTOR = 1e9
"""The largest factor that is accepted from a configuration, whose square is finite."""

HEADED = ("ForCausalLM", "LMHeadModel", "ForMaskedLM", "ForConditionalGeneration", "ForPreTraining")


Side = Literal["input", "output"]


class Table(NamedTuple):
    """A table (N, D), and the names of the tensors that hold it."""

    names: tuple[str, ...]
    values: Tensor


@dataclass(frozen=True)
class Subject:
    """The subject of an inspection: its tables, and what the architecture makes of them."""

    name: str
    tables: Mapping[Side, Table]  # an output table where one is stored that is not the input table
    kind: Literal["model", "tensor", "vectors"] = "tensor"
    names: Mapping[int, str] = field(default_factory=dict)  # the token or word of each row
    pad: int | None = None  # the padding row
    model_type: str = ""  # "" where there is no configuration
    head_equal: bool = False  # whether an output table is stored that equals the input table
    positions: Tensor | None = None  # (L, D), learned, added to the rows
    multiplier: float = 1.0  # of a row after the look-up
    any_scale: bool = False  # whether a norm follows the look-up, or the rows start at sigma 1
    tied: bool | None = None  # what the configuration says of output and input table
    headed: bool = False  # whether the architecture has an output table
    vocabulary: int | None = None  # the configured number of tokens
    declared_sigma: float | None = None  # the configured sigma of new weights

    @property
    def ids(self) -> int:
        """The number of rows that the tokens' ids need; 0 where they are not known."""
        return max(self.names, default=-1) + 1


def subject_in(
    location: str, tensors: Tensors, config: Config, named: str | None = None
) -> Subject:
    """Finds a checkpoint's tables; ``config`` is empty where there is none.

    InputError if no tensor, or more than one, can be the input table, and none is ``named``.
    """
    text = _text_config(config)
    vocabulary = text.get("vocab_size", config.get("vocab_size"))
    inputs = _input_table(location, tensors, vocabulary, named)
    table = tensors[inputs[0]]
    check_table(location, inputs[0], table)
    dim = table.shape[1]

    def first(names: Iterable[str]) -> str | None:
        return next((name for name in names if tensors[name].shape[1:] == (dim,)), None)

    whole = [name for name in HEADS_BY_WHOLE_NAME if name in tensors]
    head = first(ending(tensors, HEADS) + whole)
    positions = first(name for name in ending(tensors, POSITIONS) if tensors[name].numel())
    tables: dict[Side, Table] = {"input": Table(tuple(inputs), table)}
    if head is not None:
        check_table(location, head, tensors[head])
        if equal(table, tensors[head]):
            tables["input"] = Table((*inputs, head), table)
        else:
            tables["output"] = Table((head,), tensors[head])
    model_type = str(config.get("model_type", ""))
    tied = text.get("tie_word_embeddings", config.get("tie_word_embeddings"))
    architectures = config.get("architectures")
    architecture = architectures[0] if isinstance(architectures, list) and architectures else ""
    return Subject(
        location,
        tables,
        model_type=model_type,
        head_equal=head is not None and "output" not in tables,
        positions=None if positions is None else tensors[positions],
        multiplier=_multiplier(model_type, text, dim),
        any_scale=bool(ending(tensors, NORMS_AFTER_LOOKUP)) or model_type in OWN_SCALE,
        tied=None if tied is None else bool(tied),
        headed=str(architecture).endswith(HEADED),
        vocabulary=vocabulary if isinstance(vocabulary, int) else None,
        declared_sigma=_declared_sigma(text, config),
    )


def _text_config(config: Config) -> Config:
    """The text part of a configuration, where a model reads other inputs too."""
    for name in ("text_config", "llm_config", "language_config", "decoder"):
        inner = config.get(name)
        if isinstance(inner, dict) and ("vocab_size" in inner or "hidden_size" in inner):
            return inner
    return config


def _input_table(
    location: str, tensors: Tensors, vocabulary: object, named: str | None
) -> list[str]:
    """The names of the input table and of its copies."""
    there = _some(sorted(tensors)) or "no tensor"
    if named is not None:
        if named not in tensors:
            raise InputError(f"{location} has no tensor {named!r}; it has {there}")
        return [named]
    fitting = input_tables(tensors, vocabulary)
    if len({tensors[name].shape for name in fitting}) == 1:
        return fitting
    tables = fitting or [name for name, tensor in tensors.items() if tensor.ndim == 2]
    if len(tables) == 1 and not vocabulary:
        return tables
    if not tables:
        raise InputError(
            f"{location} has no table of two dimensions, but {there}; name another file"
        )
    reason = (
        f"no tensor named like an input table ({', '.join(INPUT_TABLES)})"
        if vocabulary and not fitting
        else "several tables that could be the input table"
    )
    shapes = _some(f"{name} ({' x '.join(map(str, tensors[name].shape))})" for name in tables)
    raise InputError(
        f"{location} has {reason}: {shapes}; name one, as in: "
        f"embinit inspect {shlex.quote(location)} --tensor {shlex.quote(tables[0])}"
    )


def _some(names: Iterable[str]) -> str:
    (*shown,) = islice(names, 9)
    return ", ".join(shown[:8]) + " …" * (len(shown) > 8)


def _multiplier(model_type: str, text: Config, dim: int) -> float:
    """What a row is multiplied by; InputError for a factor that no model could have."""
    if model_type in SQRT_D or text.get("scale_embedding") is True:
        return math.sqrt(dim)
    for key in ("embedding_multiplier", "scale_emb"):
        value = text.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            if not 1 / MOST_FACTOR <= value <= MOST_FACTOR:
                raise InputError(f"config.json: {key} is {value:g}, which is no factor; mend it")
            return float(value)
    return 1.0


def _declared_sigma(text: Config, config: Config) -> float | None:
    for part in (text, config):
        for key in ("initializer_range", "init_std"):
            if isinstance(part.get(key), float) and part[key] > 0:
                return float(part[key])
    return None
