"""Should position embeddings start at half the sigma of token embeddings? A port of a paired claim.

llm.c's pull request 832 compared N(0, .01²) with N(0, .02²) for GPT-2's position embeddings: 124M
parameters, TinyShakespeare, 500 steps of 4 x 64 tokens, ten seeds that differ in the weights alone.
All ten ended at a lower validation loss from .01 (paired t-test, p = .0014). Here Adam's settings
and the batches' shape are the same, and seeds share the order of the text; the model and the text
are small, and steps are half as many.
"""

import pydoc_data.topics

import torch
from gpt2 import CONTEXT, GPT2, WIDTH, ids_of_text

from embinit import Family, Verdict, claim, experiment, training

BATCH = 4
PER_STEP = BATCH * CONTEXT
# llm.c's rate for a width of 768; the rate times the width is kept.
RATE = 1e-4 * 768 / WIDTH


def batches():
    """The text as batches, in an order that all runs share: held-out ones, and those to train on.

    The sections of the reference differ, so a held-out end would be another kind of text.
    """
    ids = ids_of_text()
    pieces = ids[: len(ids) // PER_STEP * PER_STEP].view(-1, BATCH, CONTEXT)
    order = torch.randperm(len(pieces), generator=torch.Generator().manual_seed(0))
    return pieces[order[: len(pieces) // 10]], pieces[order[len(pieces) // 10 :]]


@training(measures={"loss": "nats a word"}, inputs=[pydoc_data.topics.__file__])
def gpt2(seed, tell, position_sigma, steps=250):
    """The seed draws the weights and nothing else; the loss is that of a held-out tenth."""
    torch.manual_seed(seed)
    held_out, train = batches()
    model = GPT2(position_sigma)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    for step in range(steps):
        loss = model.loss(train[step % len(train)])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            tell((step + 1) / steps, loss=loss.item())
    with torch.no_grad():
        return {"loss": torch.stack([model.loss(each) for each in held_out]).mean()}


positions = experiment(
    "positions",
    training=gpt2,
    arms={
        "positions .01": {"position_sigma": 0.01},
        "positions .02": {"position_sigma": 0.02},
        "positions .2": {"position_sigma": 0.2},
    },
    baseline="positions .02",
    margin=0.01,  # nats a word: one percent of perplexity
    seeds=10,  # the pull request's
    most_seeds=10,
    sizes={"paper": {"steps": 500}},
)
PORT = Family("llm.c-832/positions", size=1, says="How position embeddings start", origin="paper")


@claim(
    "llm.c-832/positions/narrow-below-wide",
    says="Position embeddings from N(0, .01²) end at a lower loss than from N(0, .02²)",
    where="llm.c, pull request 832",
    family=PORT,
    on=positions,
)
def test_narrow_positions_end_lower(arms):
    assert arms["positions .01"] < arms["positions .02"]


@claim(
    "llm.c-832/positions/control-falsehood",
    says="Control: position embeddings ten times as wide as token embeddings end lower",
    where="control",
    family=PORT,
    on=positions,
    expects=Verdict.REFUTED,
)
def test_very_wide_positions_end_lower(arms):
    assert arms["positions .2"] < arms["positions .02"]
