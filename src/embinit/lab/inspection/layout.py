"""The layout of checkpoints: their embedding tables, and the architecture's use of them.

Tables are known by their tensors' names, as transformers has them, so that no model is built. What
happens after the look-up (a multiplier, a norm, added positions) and before the loss (a final norm,
a factor of the logits) follows from the configuration and from the tensors that are there.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embinit.errors import InputError
from embinit.lab.data.stored_tensors import StoredTensor

Tensors = Mapping[str, StoredTensor]
Config = Mapping[str, Any]


def _weights(names: str) -> tuple[str, ...]:
    return tuple(f"{name}.weight" for name in names.split())


INPUT_TABLES = _weights(
    "shared embed_tokens wte word_embeddings embed_in tok_embeddings word_embedding embeddings "
    "embedding"
)
"""Names of input tables; tables that others are copies of come first."""

HEADS = _weights(
    "lm_head embed_out lm_head.decoder predictions.decoder generator_lm_head vocab_projector "
    "pred_layer.proj"
)
HEADS_BY_WHOLE_NAME = _weights("output decoder")
"""Names of heads that are too common to match the end of a name."""

POSITIONS = _weights("position_embeddings wpe embed_positions")
NORMS_AFTER_LOOKUP = _weights(
    "embeddings.LayerNorm embeddings.norm word_embeddings_layernorm layernorm_embedding"
)
FINAL_NORMS = _weights(
    "decoder.final_layer_norm predictions.transform.LayerNorm lm_head.layer_norm model.norm ln_f "
    "final_layer_norm final_layernorm"
)
SQRT_D = ("gemma", "gemma2", "gemma3", "gemma3_text", "paligemma", "t5gemma", "recurrent_gemma")
"""Architectures that multiply rows by √D without a setting for it."""

OWN_SCALE = ("t5", "mt5", "umt5", "longt5", "switch_transformers")
"""Architectures whose tables start at sigma 1, and whose tied logits are divided by sqrt(D)."""

MOST_FACTOR = 1e9
"""The largest factor that is accepted from a configuration, whose square is finite."""

HEADED = ("ForCausalLM", "LMHeadModel", "ForMaskedLM", "ForConditionalGeneration", "ForPreTraining")


@dataclass(frozen=True)
class Layout:
    """The names of a checkpoint's tables, and what the architecture makes of them."""

    table: str = ""
    model_type: str = ""  # "" where there is no configuration
    copies: tuple[str, ...] = ()  # further tensors that hold the same table
    head: str | None = None
    positions: str | None = None  # the learned ones that are added to the rows
    final_norm: str | None = None  # the gain of the norm before the head
    gain_offset: float = 0.0  # what the architecture adds to that gain
    multiplier: float = 1.0  # of a row after the look-up
    normed: bool = False  # whether a norm follows the look-up, or the sum with the positions
    logit_factor: float = 1.0
    tied: bool | None = None  # what the configuration says of head and table
    headed: bool = False  # whether the architecture has a head
    own_scale: bool = False  # whether the architecture's tables start at sigma 1
    vocabulary: int | None = None
    declared_sigma: float | None = None  # the configured sigma of new weights


def layout(location: str, tensors: Tensors, config: Config, named: str | None = None) -> Layout:
    """Finds a checkpoint's tables; ``config`` is empty where there is none.

    InputError if no tensor, or more than one, can be the input table, and none is ``named``.
    """
    text = _text_config(config)
    vocabulary = text.get("vocab_size", config.get("vocab_size"))
    table, copies = _input_table(location, tensors, vocabulary, named)
    dim = tensors[table].shape[1]
    model_type = str(config.get("model_type", ""))
    own_scale = model_type in OWN_SCALE
    tied = text.get("tie_word_embeddings", config.get("tie_word_embeddings"))
    heads = _ending(tensors, HEADS) + [name for name in HEADS_BY_WHOLE_NAME if name in tensors]
    head = next((name for name in heads if tensors[name].shape[1:] == (dim,)), None)
    positions, norms = _ending(tensors, POSITIONS), _ending(tensors, FINAL_NORMS)
    architectures = config.get("architectures")
    architecture = architectures[0] if isinstance(architectures, list) and architectures else ""
    return Layout(
        table,
        model_type,
        copies,
        head,
        positions=next((name for name in positions if tensors[name].shape[1:] == (dim,)), None),
        final_norm=next((name for name in norms if tensors[name].shape == (dim,)), None),
        gain_offset=1.0 if "gemma" in model_type else 0.0,
        multiplier=_multiplier(model_type, text, dim),
        normed=bool(_ending(tensors, NORMS_AFTER_LOOKUP)),
        logit_factor=_logit_factor(own_scale, head is None, text, dim),
        tied=None if tied is None else bool(tied),
        headed=str(architecture).endswith(HEADED),
        own_scale=own_scale,
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


def _ending(tensors: Iterable[str], endings: Iterable[str]) -> list[str]:
    """The names with one of the endings, in the order of the endings."""
    names = list(tensors)
    return [name for end in endings for name in names if name == end or name.endswith(f".{end}")]


def _input_table(
    location: str, tensors: Tensors, vocabulary: object, named: str | None
) -> tuple[str, tuple[str, ...]]:
    """The name of the input table, and those of its copies."""
    there = _some(sorted(tensors))
    if named is not None:
        if named not in tensors:
            raise InputError(f"{location} has no tensor {named!r}; it has {there}")
        if len(tensors[named].shape) != 2:
            raise InputError(
                f"{location}: {named!r} has shape {tensors[named].shape} and is no table; name "
                "one of two dimensions"
            )
        return named, ()
    every = [
        name
        for name in dict.fromkeys(_ending(tensors, INPUT_TABLES))
        if len(tensors[name].shape) == 2 and not _ending([name], POSITIONS)
    ]
    fitting = [name for name in every if tensors[name].shape[0] == vocabulary] or every
    if len({tensors[name].shape for name in fitting}) == 1:
        return fitting[0], tuple(fitting[1:])
    tables = fitting or [name for name, tensor in tensors.items() if len(tensor.shape) == 2]
    if len(tables) == 1 and not vocabulary:
        return tables[0], ()
    if not tables:
        raise InputError(
            f"{location} has no table of two dimensions, but {there or 'no tensor'}; name another "
            "file"
        )
    reason = (
        f"no tensor named like an input table ({', '.join(INPUT_TABLES)})"
        if vocabulary and not fitting
        else "several tables that could be the input table"
    )
    shapes = [f"{name} ({' x '.join(map(str, tensors[name].shape))})" for name in tables]
    raise InputError(
        f"{location} has {reason}: {_some(shapes)}; name one, as in: "
        f"embinit inspect {shlex.quote(location)} --tensor {shlex.quote(tables[0])}"
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + " …" * (len(names) > 8)


def _multiplier(model_type: str, text: Config, dim: int) -> float:
    if model_type in SQRT_D or text.get("scale_embedding") is True:
        return math.sqrt(dim)
    return _factor(text, "embedding_multiplier") or _factor(text, "scale_emb") or 1.0


def _logit_factor(own_scale: bool, headless: bool, text: Config, dim: int) -> float:
    if own_scale and text.get("scale_decoder_outputs", headless):
        return 1 / math.sqrt(dim)
    if (scaling := _factor(text, "logits_scaling")) is not None:
        return 1 / scaling
    return _factor(text, "logit_scale") or 1.0


def _factor(text: Config, key: str) -> float | None:
    """A multiplier or divisor of a configuration, if set; InputError if no model could have it."""
    value = text.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 1 / MOST_FACTOR <= value <= MOST_FACTOR:
        raise InputError(f"config.json: {key} is {value:g}, which is no factor; mend it")
    return float(value)


def _declared_sigma(text: Config, config: Config) -> float | None:
    for part in (text, config):
        for key in ("initializer_range", "init_std"):
            if isinstance(part.get(key), float) and part[key] > 0:
                return float(part[key])
    return None
