"""Bucketing loses and duplicates no example, and gives every seed the same shapes."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from embinit.lab.data.batching import Buckets, in_order

LENGTHS = st.lists(st.integers(1, 30), min_size=1, max_size=200)


@settings(max_examples=50)
@given(LENGTHS, st.integers(1, 17), st.integers(0, 5))
def test_every_example_once_an_epoch(lengths, batch_size, epoch):
    """A schedule is a partition: each example is in exactly one batch, and fits its padding."""
    sources = torch.tensor(lengths)
    targets = sources.flip(0)
    buckets = Buckets(sources, targets, batch_size)
    order = buckets.shuffle(torch.Generator().manual_seed(epoch))
    seen = []
    for batch in buckets.schedule(epoch):
        group, chosen = buckets.groups[batch.group], order[batch.group][batch.low : batch.high]
        assert 0 < len(chosen) <= batch_size
        assert int(sources[chosen].max()) <= group.source
        assert int(targets[chosen].max()) <= group.target
        seen += chosen.tolist()
    assert sorted(seen) == list(range(len(lengths)))


@settings(max_examples=30)
@given(LENGTHS, st.integers(1, 17))
def test_evaluation_reads_every_example_once(lengths, batch_size):
    """Batches in order of length are a partition too."""
    seen = torch.cat(list(in_order(torch.tensor(lengths), batch_size)))
    assert sorted(seen.tolist()) == list(range(len(lengths)))
