"""Tables 2 and 8: the sources' sigmas, in their order and as printed.

The printed sigmas are asked for on ``paper`` alone: a part of a source or of the training text
makes another table.
"""

from __future__ import annotations

import math

from embinit.lab.measures import table_statistic
from embinit.runs.measures import Measure
from embinit_papers.kim2024 import TRANSLATION, claim, of_source, only_on, stands_for, table1
from embinit_papers.kim2024.numbers import numbers


def of_published(query):
    """A query's experiments on published tables: the synthetic language's are embinit's own."""
    return only_on(query, "sample", "paper")


@claim(
    "kim2024/table-2/wider-than-xavier",
    says="A pre-trained table has a larger sigma than Xavier's",
    where="Table 2",
    experiments=of_published(table1()),
)
def test_pretrained_tables_are_wider_than_xavier(experiment):
    assert experiment["pretrained"].sigma > experiment["xavier"].sigma


@claim(
    "kim2024/table-2/variance-orders-above-xavier",
    says="The variance of GloVe's and T5's tables is over two orders of magnitude above Xavier's",
    where="section 1, Table 2",
    experiments=of_published(table1("glove", "t5")),
)
def test_variances_are_orders_of_magnitude_above_xavier(experiment):
    arms = (experiment[init].measured_by(ORDERS) for init in ("pretrained", "xavier"))
    pretrained, xavier = arms
    assert pretrained - xavier > 2


@claim(
    "kim2024/table-2/glove-wider-than-bert",
    says="GloVe's table has a larger sigma than BERT's",
    where="Table 2",
    experiments=of_published(table1("glove", tasks=TRANSLATION)),
)
def test_glove_is_wider_than_bert(experiment):
    assert experiment["pretrained"].sigma > of_source(experiment, "bert")["pretrained"].sigma


@claim(
    "kim2024/table-2/t5-wider-than-glove",
    says="T5's table has a larger sigma than GloVe's",
    where="Table 2",
    experiments=of_published(table1("t5", tasks=TRANSLATION)),
)
def test_t5_is_wider_than_glove(experiment):
    assert experiment["pretrained"].sigma > of_source(experiment, "glove")["pretrained"].sigma


def _orders(result):
    sigma = table_statistic("sigma").of(result)
    return 2 * math.log10(sigma) if sigma else None


ORDERS = Measure(
    "variance orders",
    "orders of magnitude",
    "log10 of the table's variance",
    None,
    True,
    read=_orders,
)


STATISTICS = {"minimum": "min", "maximum": "max", "mean": "mean", "sigma": "sigma"}


def as_printed(experiment, init):
    """The claim's comparisons: each statistic against the printed one, within its rounding."""
    [task] = stands_for(experiment)
    family = experiment.name.split("-", 1)[0]
    row = numbers()["tables_2_and_8"][family][init][task]
    for statistic, name in STATISTICS.items():
        rounding = 0.5 * 10.0 ** -len(row[name].partition(".")[2])
        ours = experiment[init].measured_by(table_statistic(statistic))
        assert ours.within(rounding).alike(float(row[name]))


@claim(
    "kim2024/table-2/raw-statistics",
    says="The pre-trained table's range, mean and sigma are the printed ones",
    where="Table 2",
    experiments=only_on(table1(), "paper"),
)
def test_raw_tables_are_as_printed(experiment):
    as_printed(experiment, "pretrained")


@claim(
    "kim2024/table-2/standardised-statistics",
    says="The standardized table's range, mean and sigma are the printed ones",
    where="Table 2",
    experiments=only_on(table1(), "paper"),
)
def test_standardised_tables_are_as_printed(experiment):
    as_printed(experiment, "pretrained_xavier")


@claim(
    "kim2024/table-8/stretched-statistics",
    says="The range, mean and sigma of Xavier stretched to a source are the printed ones",
    where="Table 8",
    family="kim2024/table-2",
    experiments=only_on(table1("bert", "t5"), "paper"),
)
def test_stretched_tables_are_as_printed(experiment):
    as_printed(experiment, "xavier_pretrained")
