"""The layout of checkpoints: their embedding tables, and the architecture's use of them.

Tables are known by their tensors' names, as the models of transformers name them, so that no model
is built. What happens after the look-up (a multiplier, a norm, added positions) and before the
loss (a final norm, a factor of the logits) follows from the configuration and from which tensors
are there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from embinit.errors import InputError
from embinit.lab.data.stored_tensors import StoredTensor

INPUT_TABLES = (
    "shared.weight",
    "embed_tokens.weight",
    "wte.weight",
    "word_embeddings.weight",
    "embed_in.weight",
    "tok_embeddings.weight",
    "word_embedding.weight",
    "embeddings.weight",
    "embedding.weight",
)
"""Names of input tables; tables that others are copies of come first."""

HEADS = (
    "lm_head.weight",
    "embed_out.weight",
    "lm_head.decoder.weight",
    "predictions.decoder.weight",
    "generator_lm_head.weight",
    "vocab_projector.weight",
    "pred_layer.proj.weight",
)
HEADS_BY_WHOLE_NAME = ("output.weight", "decoder.weight")
"""Names of heads that are too common to match the end of a name."""

BIASES = (
    "lm_head.bias",
    "lm_head.decoder.bias",
    "embed_out.bias",
    "predictions.bias",
    "predictions.decoder.bias",
    "generator_lm_head.bias",
    "vocab_projector.bias",
    "pred_layer.proj.bias",
    "final_logits_bias",
)
POSITIONS = ("position_embeddings.weight", "wpe.weight", "embed_positions.weight")
NORMS_AFTER_LOOKUP = (
    "embeddings.LayerNorm.weight",
    "embeddings.norm.weight",
    "word_embeddings_layernorm.weight",
    "layernorm_embedding.weight",
)
FINAL_NORMS = (
    "decoder.final_layer_norm.weight",
    "predictions.transform.LayerNorm.weight",
    "lm_head.layer_norm.weight",
    "model.norm.weight",
    "ln_f.weight",
    "final_layer_norm.weight",
    "final_layernorm.weight",
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
    """The layout of a checkpoint's tensors that have a row or a value for each token.

    Attributes:
        model_type: The architecture's name; ``""`` where there is no configuration.
        table: The name of the input table.
        copies: Further tensors that hold the same table.
        head: The name of the output table; None where none is stored.
        biases: One value a token each.
        positions: The learned positions that are added to the rows; None where there are none.
        final_norm: The gain of the norm before the head; None where none was found.
        gain_offset: What the architecture adds to that gain.
        multiplier: The factor of a row after the look-up.
        normed: Whether a norm follows the look-up, or the sum with the positions.
        logit_factor: The factor of the logits.
        tied: Whether the configuration says that head and table are one; None where it says
            nothing.
        headed: Whether the architecture has a head.
        own_scale: Whether the architecture's tables start at sigma 1.
        vocabulary: The configured number of rows; None where it says nothing.
        declared_sigma: The configured sigma of new weights; None where it says nothing.
    """

    model_type: str
    table: str
    copies: tuple[str, ...] = ()
    head: str | None = None
    biases: tuple[str, ...] = ()
    positions: str | None = None
    final_norm: str | None = None
    gain_offset: float = 0.0
    multiplier: float = 1.0
    normed: bool = False
    logit_factor: float = 1.0
    tied: bool | None = None
    headed: bool = False
    own_scale: bool = False
    vocabulary: int | None = None
    declared_sigma: float | None = None


def text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The text part of a configuration, where a model reads other inputs too."""
    for name in ("text_config", "llm_config", "language_config", "decoder"):
        inner = config.get(name)
        if isinstance(inner, dict) and ("vocab_size" in inner or "hidden_size" in inner):
            return inner
    return config


def layout(
    location: str,
    tensors: Mapping[str, StoredTensor],
    config: Mapping[str, Any],
    named: str | None = None,
) -> Layout:
    """Finds a checkpoint's tables.

    Args:
        location: Where the checkpoint is, for errors.
        tensors: Its tensors by name.
        config: Its configuration; empty where there is none.
        named: The input table's name, where the user gave it.

    Raises:
        InputError: No tensor, or more than one, can be the input table.
    """
    text = text_config(config)
    vocabulary = text.get("vocab_size", config.get("vocab_size"))
    table, copies = _input_table(location, tensors, vocabulary, named)
    rows, dim = tensors[table].shape
    model_type = str(config.get("model_type", ""))
    tied = text.get("tie_word_embeddings", config.get("tie_word_embeddings"))
    head = _head(tensors, dim)
    own_scale = model_type in OWN_SCALE
    architectures = config.get("architectures")
    architecture = architectures[0] if isinstance(architectures, list) and architectures else ""
    return Layout(
        model_type=model_type,
        table=table,
        copies=copies,
        head=head,
        biases=tuple(
            name for name in _ending(tensors, BIASES) if tensors[name].shape in ((rows,), (1, rows))
        ),
        positions=next(
            (n for n in _ending(tensors, POSITIONS) if tensors[n].shape[1:] == (dim,)), None
        ),
        final_norm=next(
            (n for n in _ending(tensors, FINAL_NORMS) if tensors[n].shape == (dim,)), None
        ),
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


def _ending(tensors: Iterable[str], endings: Iterable[str]) -> list[str]:
    """The names with one of the endings, in the order of the endings."""
    names = list(tensors)
    return [name for end in endings for name in names if name == end or name.endswith(f".{end}")]


def _input_table(
    location: str,
    tensors: Mapping[str, StoredTensor],
    vocabulary: object,
    named: str | None,
) -> tuple[str, tuple[str, ...]]:
    if named is not None:
        if named not in tensors:
            raise InputError(
                f"{location} has no tensor {named!r}; it has {', '.join(sorted(tensors)[:8])} …"
            )
        if len(tensors[named].shape) != 2:
            raise InputError(
                f"{location}: {named!r} has shape {tensors[named].shape} and is no table; name "
                "one of two dimensions"
            )
        return named, ()
    every = [n for n in _ending(tensors, INPUT_TABLES) if len(tensors[n].shape) == 2]
    every = list(dict.fromkeys(name for name in every if not _ending([name], POSITIONS)))
    fitting = [name for name in every if tensors[name].shape[0] == vocabulary] or every
    if not fitting:
        only = [name for name, tensor in tensors.items() if len(tensor.shape) == 2]
        if len(only) == 1 and not vocabulary:
            return only[0], ()
        raise InputError(
            f"{location}: no tensor is named like an input table ({', '.join(INPUT_TABLES)}); "
            f"name it with --tensor; there are {', '.join(sorted(tensors)[:8])} …"
        )
    first, *others = fitting
    shape = tensors[first].shape
    if any(tensors[name].shape != shape for name in others):
        raise InputError(
            f"{location} has several tables that could be the input table "
            f"({', '.join(fitting)}); name one with --tensor"
        )
    return first, tuple(others)


def _head(tensors: Mapping[str, StoredTensor], dim: int) -> str | None:
    names = _ending(tensors, HEADS) + [n for n in HEADS_BY_WHOLE_NAME if n in tensors]
    return next((name for name in names if tensors[name].shape[1:] == (dim,)), None)


def _multiplier(model_type: str, text: Mapping[str, Any], dim: int) -> float:
    if model_type in SQRT_D or text.get("scale_embedding") is True:
        return math.sqrt(dim)
    return _factor(text, "embedding_multiplier") or _factor(text, "scale_emb") or 1.0


def _logit_factor(own_scale: bool, headless: bool, text: Mapping[str, Any], dim: int) -> float:
    if own_scale and text.get("scale_decoder_outputs", headless):
        return 1 / math.sqrt(dim)
    if (scaling := _factor(text, "logits_scaling")) is not None:
        return 1 / scaling
    return _factor(text, "logit_scale") or 1.0


def _factor(text: Mapping[str, Any], key: str) -> float | None:
    """A multiplier or divisor of a configuration; None where it isn't set.

    Raises:
        InputError: It is no factor that a model could have.
    """
    value = text.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 1 / MOST_FACTOR <= value <= MOST_FACTOR:
        raise InputError(f"config.json: {key} is {value:g}, which is no factor; mend it")
    return float(value)


def _declared_sigma(text: Mapping[str, Any], config: Mapping[str, Any]) -> float | None:
    for each in (text, config):
        for key in ("initializer_range", "init_std"):
            if isinstance(each.get(key), float) and each[key] > 0:
                return float(each[key])
    return None
