"""A claim over a plain PyTorch loop: how large should position embeddings start?

A model of one layer learns to repeat what stands a few places back. The question is that of llm.c's
pull request 832, which compared normals of .01 and .02. About 30 s on two cores.
"""

import torch
from torch import nn
from torch.nn import functional

from embinit import Family, claim, experiment, positive_control, training

SYMBOLS, LENGTH, WIDTH, BACK = 12, 16, 32, 3


class Model(nn.Module):
    """One causal layer; the width of its position embeddings at the start is what we vary."""

    def __init__(self, std):
        super().__init__()
        self.tokens = nn.Embedding(SYMBOLS, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.layer = nn.TransformerEncoderLayer(
            WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
        )
        self.output = nn.Linear(WIDTH, SYMBOLS)
        nn.init.normal_(self.positions.weight, std=std)  # last, so that all else starts alike

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        hidden = self.tokens(ids) + self.positions.weight
        return self.output(self.layer(hidden, src_mask=mask, is_causal=True))


def batches(seed, count, size=32):
    """Random symbols; the target is the one that stands ``BACK`` places back."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        ids = torch.randint(SYMBOLS, (size, LENGTH), generator=generator)
        yield ids, ids.roll(BACK, dims=1)


def loss_of(model, ids, targets):
    scores = model(ids)[:, BACK:]
    return functional.cross_entropy(scores.flatten(0, 1), targets[:, BACK:].flatten())


@training(measures={"loss": "nats a symbol"})
def repeat(seed, tell, std, steps=50, lr=3e-3):
    """Trains on a fresh batch a step; the loss is that of batches that no step has seen."""
    torch.manual_seed(seed)
    model = Model(std)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for step, (ids, targets) in enumerate(batches(seed, steps)):
        loss = loss_of(model, ids, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            tell((step + 1) / steps, loss=loss.item())
    with torch.no_grad():
        held_out = [loss_of(model, *batch) for batch in batches(10**6, 8)]
    return {"loss": torch.stack(held_out).mean()}


positions = experiment(
    "positions",
    training=repeat,
    arms={
        "std .01": {"std": 0.01},
        "std .02": {"std": 0.02},
        "std 1": {"std": 1.0},
        "untrained": {"std": 0.02, "steps": 0},
    },
    baseline="std .02",
    margin=0.05,
)
MINE = Family("mine/positions", size=2, says="How wide position embeddings should start")


@claim(
    "mine/positions/wide-is-worse",
    says="Position embeddings from 1 end at a higher loss than from .02",
    family=MINE,
    on=positions,
)
def test_wide_positions_end_higher(arms):
    assert arms["std 1"] > arms["std .02"]


@claim(
    "mine/positions/narrower-is-no-worse",
    says="Position embeddings from .01 end no higher than from .02",
    family=MINE,
    on=positions,
)
def test_narrower_positions_end_no_higher(arms):
    assert arms["std .01"] <= arms["std .02"]


test_control = positive_control(MINE, on=positions, worse="untrained")
