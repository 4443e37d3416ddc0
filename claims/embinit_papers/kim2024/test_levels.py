"""Levels: whether Xavier scores here what it scores in print, where the setting is the paper's own.

No vectors of a source are needed for it: five of Table 1's twelve cells, and Table 3's first rows.
"""

from __future__ import annotations

from embinit_papers.kim2024 import claim, no_vectors, only_on, stands_for, table1, table3
from embinit_papers.kim2024.numbers import numbers


def as_in_print(tier):
    """The experiments whose Xavier is one of Table 1's: all of ``paper``, five of ``full``."""
    ours = only_on(table1("glove", "bert", "t5", full=("sst2",)), "paper", "full")
    return [
        *ours(tier),
        *no_vectors("t5", "bert", task="sst2")(tier),
        *no_vectors("glove", "bert", task="multi30k")(tier),
    ]


def xavier_of_table_3(tier):
    """GloVe's experiment on Multi30k, from German; ``full`` has it without vectors."""
    return only_on(table3, "paper")(tier) + no_vectors("glove", task="multi30k")(tier)


@claim(
    "kim2024/levels/xavier",
    says="Xavier's mean score is the printed one",
    where="Table 1",
    experiments=as_in_print,
)
def test_xavier_scores_what_is_printed(experiment):
    [task] = stands_for(experiment)
    cell = numbers()["tables_1_and_7"][experiment.source_role]["xavier"][task]
    mean, _ = cell.get("score") or cell["matched"]
    assert experiment["xavier"].alike(float(mean))


@claim(
    "kim2024/levels/table-3",
    says="Xavier's mean BLEU is the printed one, trained or frozen, with positions or without",
    where="Table 3",
    experiments=xavier_of_table_3,
)
def test_xaviers_rows_of_table_3_are_as_printed(experiment):
    for row in numbers()["table_3"]["xavier"]:
        setting = experiment if row["trained"] else experiment.frozen()
        setting = setting if row["positions"] else setting.without_positions()
        assert setting["xavier"].alike(float(row["bleu"][0]))
