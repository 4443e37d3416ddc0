"""Section 3.1: is Xavier's sigma, which depends on the vocabulary's size, the one to take?"""

from __future__ import annotations

from embinit_papers.kim2024 import TRANSLATION, claim, only_on, table1

GLOVE = only_on(table1("glove", tasks=TRANSLATION), "micro")


@claim(
    "kim2024/beyond/scale-not-vocabulary",
    says="Exploratory: a common sigma of 0.05 serves GloVe as well as Xavier's, the vocabulary's",
    where="beyond section 3.1",
    experiments=GLOVE,
)
def test_a_common_sigma_serves_as_well(experiment):
    assert experiment.with_sigma(0.05)["pretrained"] >= experiment["pretrained_xavier"]
