"""How wide should a decoder's weights start? Claims of OLMo 2 (arXiv 2501.00656, section 3.2).

OLMo 2 draws all weights from N(0, .02²). The models before it made them narrower from layer to
layer, and their authors say that gradients then change more from layer to layer, and training has
more spikes. A start of .006 was tried on the way and given up.
"""

import math
import pydoc_data.topics

import torch
from olmo import CONTEXT, LAYERS, Decoder, ids_of_text

from embinit import Family, Verdict, claim, experiment, training

BATCH = 4
PER_STEP = BATCH * CONTEXT


def batches():
    """The text as batches, in an order that all runs share: held-out ones, then the others."""
    ids = ids_of_text()
    pieces = ids[: len(ids) // PER_STEP * PER_STEP].view(-1, BATCH, CONTEXT)
    order = torch.randperm(len(pieces), generator=torch.Generator().manual_seed(0))
    return pieces[order[: len(pieces) // 10]], pieces[order[len(pieces) // 10 :]]


def growth(model, ids):
    """How much the gradient changes a layer: |ln(first / last)| over the layers."""
    states = model.states(ids[:, :-1])
    loss = model.loss(ids, states)
    gradients = torch.autograd.grad(loss, states)
    return abs(math.log(gradients[0].norm() / gradients[-1].norm())) / LAYERS


@training(
    measures={"loss": "nats a word", "growth": "e-folds a layer"},
    files=[pydoc_data.topics.__file__],
)
def decoder(seed, tell, steps=250, rate=3e-3, **start):
    """The seed draws the weights and nothing else; the loss is that of a held-out tenth."""
    torch.manual_seed(seed)
    held_out, train = batches()
    model = Decoder(**start)
    first = growth(model, train[0])
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), fused=True)
    for step in range(steps):
        loss = model.loss(train[step % len(train)])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 49:
            tell((step + 1) / steps, loss=loss.item())
    with torch.no_grad():
        held_out = torch.stack([model.loss(each) for each in held_out]).mean()
    return {"loss": held_out, "growth": first}


starts = experiment(
    "starts",
    training=decoder,
    arms={
        "N(0, .02²)": {},
        "N(0, .006²)": {"sigma": 0.006},
        "by depth": {"by_depth": True},
        "a tenth of the rate": {"rate": 3e-4},
    },
    baseline="N(0, .02²)",
    margin=0.02,  # nats a word: two percent of perplexity
    seeds=5,
    most_seeds=20,
)
LOSS = Family("olmo2/loss", size=2, says="Which start ends at the lower loss", origin="paper")
GRADIENTS = Family(
    "olmo2/gradients",
    size=1,
    says="Which start keeps gradients alike in all layers",
    origin="paper",
)


@claim(
    "olmo2/loss/narrow-costs",
    says="A start of .006 ends at a higher loss than one of .02",
    where="OLMo, pull request 285",
    family=LOSS,
    on=starts,
)
def test_a_narrow_start_costs(arms):
    assert arms["N(0, .006²)"] > arms["N(0, .02²)"]


@claim(
    "olmo2/loss/one-width-is-as-good",
    says="One width for all layers ends no higher than widths that fall by depth",
    where="section 3.2",
    family=LOSS,
    on=starts,
)
def test_one_width_for_all_layers_is_as_good(arms):
    assert arms["N(0, .02²)"] <= arms["by depth"]


@claim(
    "olmo2/gradients/one-width-keeps-them",
    says="With one width for all layers gradients change less from layer to layer",
    where="section 3.2",
    family=GRADIENTS,
    on=starts,
)
def test_one_width_keeps_gradients_alike(arms):
    assert arms["N(0, .02²)"].measured_by("growth") < arms["by depth"].measured_by("growth")


@claim(
    "olmo2/loss/control-falsehood",
    says="Control: a tenth of the rate ends lower",
    where="control",
    family=LOSS,
    on=starts,
    expects=Verdict.REFUTED,
)
def test_a_tenth_of_the_rate_ends_lower(arms):
    assert arms["a tenth of the rate"] < arms["N(0, .02²)"]
