"""What a spec asks of a table reaches both sides of a translation, and the measures of a table."""

import math
from dataclasses import replace

import pytest
import torch

from builders import set_apart, small_experiment
from embinit.lab.data.preparation import prepare
from embinit.lab.data.sources import SOURCES
from embinit.lab.data.sources.base import ByLanguage, SourceEntry, Vectors
from embinit.lab.data.sources.opening import NamedSource
from embinit.lab.data.vocabulary import MASK
from embinit.lab.evaluation.analogies import evaluate
from embinit.lab.models.initial_state import InitialState
from embinit.lab.models.layers import no_dropout
from embinit.lab.specs import Cut
from embinit.lab.tables import initial_tables
from embinit.lab.tables.initial_tables import make_initial_tables
from embinit.lab.tables.positions import sinusoidal
from embinit.lab.training.stacks import StackTraining
from embinit.runs.kinds import Stack
from embinit_papers.kim2024 import scaled
from embinit_papers.kim2024.experiments import probes

SIDES = ("encoder", "decoder")


def small():
    return small_experiment("translation", Cut(96, 20, 20), epochs=1, batch_size=32)


@pytest.mark.parametrize("side", SIDES)
def test_each_side_reads_its_table_times_the_multiplier_plus_the_positions(side):
    one = small()
    arms = [one, one.without_positions(), scaled(one, "one"), scaled(one, "one", "8")]
    runs = [arm.run("xavier", 1) for arm in arms]
    initial = InitialState(runs, prepare(one.data, None), None)
    embedding = getattr(initial.model(), f"{side}_embedding")
    ids = torch.tensor([[[9, 7, 8]]])
    waves = sinusoidal(3, 64)
    read = zip(embedding(ids, no_dropout), initial.tables, strict=True)
    places = (waves, torch.zeros(3, 64), waves, 8 * waves)
    for (ours, tables), times, pe in zip(read, (8.0, 8.0, 1.0, 1.0), places, strict=True):
        torch.testing.assert_close(ours, times * tables[side].values[ids[0, 0]] + pe)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("beside", [True, False], ids=["in a stack", "alone"])
def test_a_frozen_run_keeps_each_sides_table(side, beside):
    one = small()
    runs = (one.frozen().run("xavier", 0), *[one.run("xavier", 0)] * beside)
    trainer = StackTraining(Stack(runs), None, "cpu")
    trainer.train_epoch(0)
    table = getattr(trainer.model, f"{side}_embedding").table
    before = [tables[side].values for tables in trainer.initial.tables]
    assert torch.equal(table[0], before[0])
    assert all(not torch.equal(*pair) for pair in zip(table[1:], before[1:], strict=True))


class OneNumber:
    """Vectors of one language: its number in all values, and 0 for no word."""

    tokenizer, dim, fingerprint = "whitespace", 64, staticmethod(lambda: "one number")

    def __init__(self, number):
        self.number = number

    def lookup(self, words, language=None):
        return Vectors(
            torch.full((len(words), 64), self.number), torch.ones(len(words), dtype=torch.bool)
        )


@pytest.mark.parametrize("covered", [("encoder",), ("decoder",), SIDES], ids=" and ".join)
def test_a_side_has_its_own_languages_vectors(covered, monkeypatch):
    """Where the source has them; the side of another language starts from Xavier's bound."""
    one = small()
    data = prepare(one.data, None)
    languages = {data.task.languages[side]: OneNumber(5.0 + SIDES.index(side)) for side in covered}
    both = SourceEntry(lambda _: ByLanguage("both", languages), frozenset(languages))
    set_apart(monkeypatch, SOURCES)
    SOURCES.register("both", both)
    said = replace(one, source="both", one_sided=True)
    tables = make_initial_tables(said.run("pretrained", 0), data, None)
    for number, side in enumerate(SIDES, 5):
        values = tables[side].values[MASK + 1 :]
        assert bool((values == number).all() if side in covered else (values.abs() < 1).all())
        assert (tables[side].coverage is None) == (side not in covered)


@pytest.mark.parametrize("multiplier", ["sqrt(D)", "one"])
def test_the_positions_share_is_of_the_sum_that_the_model_reads(multiplier):
    run = scaled(small(), multiplier).run("xavier", 0)
    initial = InitialState([run], prepare(run.recipe.data, None), None)
    table, rows = initial.tables[0]["encoder"], initial.positions["encoder"][0]
    sigma = table.values[~table.special].double().std().item()
    of_table = (sigma * (8 if multiplier == "sqrt(D)" else 1)) ** 2
    of_positions = rows.double().var().item()
    measured = initial.measures(0)
    assert measured["sigma"] == pytest.approx(sigma)
    assert measured["pe_share"] == pytest.approx(of_positions / (of_positions + of_table))


def test_scaling_the_positions_or_the_table_is_one_thing():
    """Table 4's last row: a table over k with its positions is the table with positions times k."""
    [probe] = probes("micro")
    placed = probe.with_positions("sinusoidal")
    by_table = evaluate(placed.run("pretrained_xavier", 0), None).measures
    by_positions = evaluate(
        scaled(placed, "one", "sigma_p/sigma_x").run("pretrained", 0), None
    ).measures
    assert by_positions["pe_share"] == pytest.approx(by_table["pe_share"])
    assert not math.isclose(by_positions["sigma"], by_table["sigma"], rel_tol=0.5)


def test_words_of_a_probe_have_positions_of_their_seed():
    """The paper's footnote 6; without positions nothing is drawn."""
    [probe] = probes("micro")
    for arm, most in ((probe, 1), (probe.with_positions("sinusoidal"), 6)):
        runs = [arm.run("pretrained", seed) for seed in range(6)]
        scores = {evaluate(run, None).measures["accuracy"] for run in runs}
        assert (len(scores) > 1) == (most > 1)


def test_analogies_are_asked_of_the_decoders_words_that_have_vectors(tmp_path, monkeypatch):
    """In lower case, as the words are; questions on words without a vector are left out (A.2)."""
    set_apart(monkeypatch, SOURCES)
    [probe] = probes("sample")
    probe = replace(probe, data=replace(probe.data, vocabulary=small().data))
    words = prepare(small().data, None).vocabularies["decoder"].words[5:15]
    rows = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]])
    lines = [f"{word} {a} {b} {c}" for word, (a, b, c) in zip(words, rows.tolist(), strict=False)]
    (tmp_path / "analogies").mkdir()
    questions = tmp_path / "analogies/questions-words.txt"
    questions.write_text(f"{' '.join(words[:4])}\n{' '.join(words[3:7])}\n".upper())
    (tmp_path / "mine.txt").write_text("\n".join(lines) + "\n")
    NamedSource("glove", tmp_path / "mine.txt")()
    run = probe.run("pretrained", 0)
    monkeypatch.setattr(
        initial_tables, "complete", lambda values, found, special, generator: values
    )
    assert evaluate(run, tmp_path).measures["accuracy"] == 100
