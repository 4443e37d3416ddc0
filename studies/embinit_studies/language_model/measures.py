"""Measures of language-model runs besides the validation loss."""

from __future__ import annotations

from embinit.runs.measures import Measure

START_LOSS = Measure("start_loss", "nats a word", "validation loss at the start", "down")
LOSS_AREA = Measure("loss_area", "nats a word", "mean validation loss while it trains", "down")
NEW_TOKEN_LOSS = Measure(
    "new_token_loss", "nats a word", "loss on new tokens", "down", curve="new_token_loss"
)
NEW_TOKEN_START_LOSS = Measure(
    "new_token_start_loss", "nats a word", "loss on new tokens at the start", "down"
)
OLD_TOKEN_START_LOSS = Measure(
    "old_token_start_loss", "nats a word", "loss on old tokens at the start", "down"
)
BASE_LOSS = Measure("base_loss", "nats a word", "validation loss before new tokens", "down")
GRADIENT_NORM = Measure("gradient_norm", "", "gradient norm at step 0")
FIRST_LAYER_GRADIENT_NORM = Measure(
    "first_layer_gradient_norm", "", "the first layer's gradient norm at step 0"
)
EMBEDDING_SHARE = Measure(
    "embedding_share", "share", "the embedding's share of the last state, at the start"
)
EMBEDDING_SHARE_AFTER = Measure(
    "embedding_share_after", "share", "the embedding's share of the last state, trained"
)
LOSS_SPIKE = Measure(
    "loss_spike", "nats a word", "the largest rise of a step's training loss", "down"
)
KEPT_GRADIENT = Measure("kept_gradient", "%", "what clipping leaves of the first gradient", "up")
LIKENESS = Measure("likeness", "cosine", "mean cosine between new rows", "down")
