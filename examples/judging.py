"""A claim judged without pytest: train what is missing, and print the verdict.

Run it by ``python examples/judging.py [STORE]``.
"""

import sys
from dataclasses import replace
from pathlib import Path

from embinit.claims import Family, claim, judge
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit_papers.kim2024 import table1

OWN = Family("example/judging", {"micro": 1}, origin="paper")


@claim(
    "example/judging/wide-below-xavier",
    says="GloVe's vectors as they are fare worse than Xavier",
    where="Table 1",
    family=OWN,
    experiments=table1("glove", tasks=("sst2",)),
)
def wide_below_xavier(experiment):
    """The claim, as pytest would collect it under a name that starts with ``test``."""
    assert experiment["pretrained"] < experiment["xavier"]


def main(store):
    """Judge the claim, first with two seeds an arm, and with more until it is decided."""
    session = Session(Store(store), data_dir=None, device="cpu")
    for experiment in table1("glove", tasks=("sst2",))("micro"):
        judgement = judge(wide_below_xavier, replace(experiment, seeds=2), session)
        print(judgement)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ".embinit/store"))
