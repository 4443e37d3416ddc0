"""An init of your own, and two claims about it. About 10 s on two cores.

Run it by ``pytest examples/test_own_init.py``.
"""

from embinit.claims import Family, Verdict, claim
from embinit.lab.tables.inits import INITS, Init, pretrained
from embinit_papers.kim2024 import blind, table1


def unit_rows(vectors, special, generator):
    """Each word's vector divided by its own length.

    Args:
        vectors: The source's vectors (N, D), float32.
        special: Which rows stay zero (N,), bool.
        generator: The random stream of the embedding; this init draws nothing from it.
    """
    lengths = vectors.norm(dim=1, keepdim=True).clamp_min(1e-12)
    return pretrained(vectors / lengths, special, generator)


INITS.register("unit_rows", Init("unit_rows", "{source}_Unit_Rows", True, unit_rows))

# Two claims share 5 %. A control is no claim: it has no part in the count.
OWN = Family("example/init", {"micro": 2}, says="Rows of one length repair a wide table")
sentiment = table1("glove", tasks=("sst2",))


@claim(
    "example/init/unit-rows-repair",
    says="GloVe's rows, each of length 1, fare better than the rows as they are",
    family=OWN,
    experiments=sentiment,
)
def test_unit_rows_repair_a_wide_table(experiment):
    assert experiment["unit_rows"] > experiment["pretrained"]


@claim(
    "example/init/unit-rows-not-below-xavier",
    says="GloVe's rows, each of length 1, fare no worse than Xavier",
    family=OWN,
    experiments=sentiment,
)
def test_unit_rows_are_not_below_xavier(experiment):
    assert experiment["unit_rows"] >= experiment["xavier"]


@claim(
    "example/init/control-blind",
    says="Control: a model that can't tell words apart is worse",
    where="control",
    family=OWN,
    experiments=sentiment,
    expects=Verdict.SUPPORTED,
)
def test_control_a_blind_model_is_worse(experiment):
    assert blind(experiment)["xavier"] < experiment["xavier"]
