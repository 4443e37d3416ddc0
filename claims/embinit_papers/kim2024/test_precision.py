"""Precision: whether products may be in TF32, which a GPU multiplies faster than float32.

No shipped experiment is in TF32 before this is shown. Only ``full`` asks for it: it takes a GPU.
"""

from __future__ import annotations

from embinit_papers.kim2024 import claim, only_on, table1


@claim(
    "kim2024/precision/tf32-alike",
    says="Xavier, GloVe and GloVe_Xavier score in TF32 what they score in float32",
    where="findings 1 and 3",
    experiments=only_on(table1("glove", full=("sst2", "multi30k")), "full"),
)
def test_tf32_scores_what_float32_does(experiment):
    in_tf32 = experiment.with_training("in TF32", precision="tf32")
    for init in ("xavier", "pretrained", "pretrained_xavier"):
        assert in_tf32[init].alike(experiment[init])
