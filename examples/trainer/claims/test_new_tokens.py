"""How should the rows of added tokens start? Claims over a Hugging Face Trainer.

A small GPT-2 from a configuration reads that red things are warm and square things are flat. Then
``red_square`` and 24 more become tokens of their own, as a tokenizer is extended for a domain, and
the model is fine-tuned on a few sentences with them. Nothing is downloaded.
"""

import copy
import functools
import itertools
import random
import tempfile

import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from embinit import Family, a_a, claim, experiment, falsehood, training
from embtables.extension import METHODS
from embtables.extension.methods import MethodInput

COLOURS = {"red": "warm", "blue": "cold", "grey": "dull", "pink": "soft", "green": "fresh"}
SHAPES = {"square": "flat", "ball": "round", "stick": "long", "dot": "small", "hill": "high"}
OLD = [*COLOURS, *COLOURS.values(), *SHAPES, *SHAPES.values(), "is", "and", "."]
NEW = [f"{colour}_{shape}" for colour, shape in itertools.product(COLOURS, SHAPES)]
IDS = {token: number for number, token in enumerate([*OLD, *NEW])}


def sentences(draw, count, joined):
    """Such as ``red square is warm and flat .``; with ``joined`` tokens it begins ``red_square``.

    The loss is taken on what the thing is like, which its name says.
    """
    examples = []
    for _ in range(count):
        colour, shape = draw.choice([*COLOURS]), draw.choice([*SHAPES])
        name = [f"{colour}_{shape}"] if joined else [colour, shape]
        ids = [IDS[token] for token in [*name, "is", COLOURS[colour], "and", SHAPES[shape], "."]]
        hidden = len(name) + 1
        examples.append({"input_ids": ids, "labels": [-100] * hidden + ids[hidden:]})
    return examples


def extend(model, method, seed):
    """Adds rows for the new tokens, made by one of embinit's methods, or zero rows."""
    table = model.get_input_embeddings().weight.detach().clone()
    pieces = tuple(tuple(IDS[piece] for piece in token.split("_")) for token in NEW)
    generator = torch.Generator().manual_seed(seed)
    method_input = MethodInput("input", table, len(NEW), pieces, generator)
    rows = torch.zeros(len(NEW), table.shape[1])
    if method != "zero":
        rows = METHODS[method](method_input).values
    model.resize_token_embeddings(len(IDS), mean_resizing=False)
    # The output table is the input table, so this sets both.
    model.get_input_embeddings().weight.data[len(OLD) :] = rows


class Told(TrainerCallback):
    """Passes the Trainer's log on to embinit: the share that is done, and the loss's curve."""

    def __init__(self, tell):
        self.tell = tell

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            self.tell(state.global_step / state.max_steps, loss=float(logs["loss"]))


def fit(model, examples, seed, epochs, lr, callbacks=()):
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            num_train_epochs=epochs,
            learning_rate=lr,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=100,
            seed=seed,
            logging_steps=2,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
        )
        trainer = Trainer(model, arguments, train_dataset=examples, callbacks=[*callbacks])
        trainer.train()
    return trainer


@functools.lru_cache(maxsize=1)
def pretrained(seed):
    """The model that knows the pieces; the arms of a seed share it."""
    torch.manual_seed(seed)
    sizes = {"n_positions": 8, "n_embd": 32, "n_layer": 2, "n_head": 2}
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=len(OLD), bos_token_id=None, eos_token_id=None, **sizes)
    )
    fit(model, sentences(random.Random(seed), 400, joined=False), seed, epochs=3, lr=1e-2)
    return model


@training(measures={"loss": "nats a word"})
def fine_tuned(seed, tell, rows, examples=100, epochs=2):
    """Adds the tokens and fine-tunes; the loss is that of sentences that it has not seen."""
    model = copy.deepcopy(pretrained(seed))
    extend(model, rows, seed)
    draw = random.Random(f"new {seed}")
    few, others = sentences(draw, examples, joined=True), sentences(draw, 400, joined=True)
    trainer = fit(model, few, seed, epochs, lr=1e-3, callbacks=[Told(tell)])
    return {"loss": trainer.evaluate(others)["eval_loss"]}


tokens = experiment(
    "new-tokens",
    training=fine_tuned,
    arms={
        "noise": {"rows": "noise"},
        "zero": {"rows": "zero"},
        "mean": {"rows": "mean"},
        "pieces": {"rows": "subtokens"},
    },
    margin=0.05,
)
TOKENS = Family("trainer/new-tokens", size=3, says="How rows of added tokens should start")


@claim(
    "trainer/new-tokens/pieces-below-noise",
    says="New tokens that start as the mean of their pieces end at a lower loss than from noise",
    family=TOKENS,
    on=tokens,
)
def test_pieces_end_lower_than_noise(arms):
    assert arms["pieces"] < arms["noise"]


@claim(
    "trainer/new-tokens/mean-no-worse-than-noise",
    says="New tokens that all start as the mean row end no higher than from noise",
    family=TOKENS,
    on=tokens,
)
def test_the_mean_is_no_worse_than_noise(arms):
    assert arms["mean"] <= arms["noise"]


@claim(
    "trainer/new-tokens/zero-no-worse-than-noise",
    says="New tokens that start as zero end no higher than from noise",
    family=TOKENS,
    on=tokens,
)
def test_zero_is_no_worse_than_noise(arms):
    assert arms["zero"] <= arms["noise"]


test_a_a = a_a(TOKENS, on=tokens)
test_falsehood = falsehood(TOKENS, on=tokens)
