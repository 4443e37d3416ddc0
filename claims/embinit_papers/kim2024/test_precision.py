"""Precision: whether products may be in TF32, which a GPU multiplies faster than float32.

No shipped experiment is in TF32 until this is shown. It takes a GPU: ``full`` has its runs.
"""

from __future__ import annotations

from embinit.claims import claim
from embinit_papers.kim2024 import PRECISION, only_on, table1

MULTI30K = only_on(table1("glove", full=("multi30k",)), "full")


@claim(
    "kim2024/precision/tf32-alike",
    says="What GloVe costs, and what standardizing it gains, is the same in TF32 and in float32",
    where="findings 1 and 3",
    family=PRECISION,
    experiments=MULTI30K,
)
def test_effects_are_alike_in_tf32(experiment):
    narrow = experiment.with_training("in TF32", precision="tf32")
    for arm, base in (("pretrained", "xavier"), ("pretrained_xavier", "xavier")):
        assert (narrow[arm] - narrow[base]).alike(experiment[arm] - experiment[base])
