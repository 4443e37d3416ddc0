"""A run depends on its spec alone: not on its stack, its order, or the other arms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from sacrebleu.metrics.bleu import BLEU

from builders import small_experiment
from embinit.errors import InputError
from embinit.lab.data.preparation import prepare
from embinit.lab.data.vocabulary import MASK
from embinit.lab.models import initial_state
from embinit.lab.specs import Cut
from embinit.lab.tables import initial_tables
from embinit.lab.tables.inits import INITS
from embinit.lab.training.stacks import StackTraining, train
from embinit.runs.kinds import RunContext, Stack
from embinit.runs.results import RunResult
from embinit.specs import RunSpec


def small(role: str, epochs: int = 2):
    # A gentle rate: a steep one makes a difference of rounding a difference of outcome.
    return small_experiment(role, Cut(320, 60, 60), epochs=epochs, lr=1e-3, batch_size=32)


def stack(role: str) -> list[RunSpec]:
    one = small(role)
    arms = [one.run(init, seed) for seed in (0, 1) for init in ("xavier", "pretrained")]
    return [*arms, one.frozen().run("xavier", 0), one.without_positions().run("xavier", 1)]


@pytest.mark.parametrize("init", sorted(set(INITS) - {"xavier"}))
def test_the_init_leaves_weights_and_order_alone(init):
    """Common random numbers: only the table differs between the arms of a seed."""
    one = small("translation")
    first, second = (
        StackTraining(Stack((one.run(name, 3),)), None, "cpu") for name in ("xavier", init)
    )
    pairs = zip(first.model.named_parameters(), second.model.parameters(), strict=True)
    differing = [name for (name, value), other in pairs if not torch.equal(value, other)]
    assert differing == [f"{side}_embedding.table" for side in ("encoder", "decoder")]
    orders = [run.buckets.shuffle(run.orders[0]) for run in (first, second)]
    assert all(torch.equal(a, b) for a, b in zip(*orders, strict=True))
    ones = torch.ones(1, 30, 64)
    assert torch.equal(first.dropout(ones), second.dropout(ones))


def test_a_side_without_vectors_needs_the_experiment_s_word():
    """A decoder that starts from Xavier unsaid makes another experiment of the paper's."""
    one = replace(small("translation"), source="micro-glove")
    run = one.run("pretrained", 0)
    for ask in (initial_tables.check, lambda run, data_dir: train(Stack((run,)))):
        with pytest.raises(InputError, match=r"no vectors for .+'s decoder, .+ micro-target: name"):
            ask(run, None)
    said = replace(one, one_sided=True)
    assert said.note == "embeddings on the encoder alone"
    xavier, glove = (
        initial_tables.make_initial_tables(said.run(init, 0), prepare(one.data, None), None)
        for init in ("xavier", "pretrained")
    )
    assert not torch.equal(xavier["encoder"].values, glove["encoder"].values)
    assert torch.equal(xavier["decoder"].values, glove["decoder"].values)


def test_vectors_without_a_word_of_the_text_are_refused(monkeypatch):
    """Else a file of another language would train as Xavier under the name of its vectors."""
    one = small("sentiment")
    real = initial_tables.look_up

    def none_found(*given):
        vectors = real(*given)
        return replace(vectors, found=torch.zeros_like(vectors.found))

    monkeypatch.setattr(initial_tables, "look_up", none_found)
    with pytest.raises(InputError, match=r"has none of the \d+ words of micro-sentiment-plain's"):
        initial_tables.check(one.run("pretrained", 0), None)


def test_a_run_that_breaks_ends_alone(monkeypatch):
    one = small("sentiment")
    runs = (one.run("xavier", 0), one.run("pretrained", 0))
    healthy = train(Stack(runs))
    honest = initial_state.make_initial_tables

    def spoiled(run, data, data_dir):
        tables = honest(run, data, data_dir)
        if run.recipe.table.init == "xavier":
            tables["encoder"].values[6:] = torch.nan
        return tables

    monkeypatch.setattr(initial_state, "make_initial_tables", spoiled)
    monkeypatch.setattr(initial_state.InitialState, "measures", lambda *_: {})
    broken, other = train(Stack(runs))
    assert broken.failure == "the loss stopped being a number in epoch 1"
    assert "accuracy" not in broken.measures
    assert broken.outputs == broken.references == ()
    assert other.failure is None
    for name, values in healthy[1].curves.items():
        assert other.curves[name] == pytest.approx(values, rel=1e-5)


def test_best_epoch_is_the_papers():
    """Lowest validation loss for translation, highest accuracy for classification (section 4)."""
    [translated] = train(Stack((small("translation", 3).run("xavier", 0),)))
    losses = translated.curves["validation_loss"]
    assert translated.measures["best_epoch"] == losses.index(min(losses)) + 1
    assert "tok:none" in translated.signature
    [classified] = train(Stack((small("sentiment", 3).run("xavier", 0),)))
    accuracies = classified.curves["validation_accuracy"]
    assert classified.measures["accuracy"] == max(accuracies)
    assert classified.measures["best_epoch"] == accuracies.index(max(accuracies)) + 1


def test_the_outputs_are_those_that_were_scored():
    """sacreBLEU and a count of equals give again what the best epoch measured, run by run."""
    one = small("translation", 3)
    translated = train(Stack((one.run("xavier", 0), one.run("pretrained_xavier", 1))))
    assert len({output for result in translated for output in result.outputs}) > 1
    for result in translated:
        score = BLEU(tokenize="none", force=True).corpus_score(
            list(result.outputs), [list(result.references)]
        )
        assert score.score == pytest.approx(result.measures["bleu"])
    one = small("sentiment", 8)
    results = train(Stack((one.run("xavier", 0), one.run("pretrained", 1))))
    for result in results:
        pairs = list(zip(result.outputs, result.references, strict=True))
        right = sum(said == meant for said, meant in pairs)
        assert 100 * right / len(pairs) == pytest.approx(result.measures["accuracy"])
    assert any(one.measures["best_epoch"] < 8 for one in results)


def test_epochs_after_the_best_change_no_translation():
    def trained(epochs):
        one = small("translation", epochs)
        steep = replace(one.training, lr=1e-2)
        few = replace(one.data, cut=Cut(64, 60, 60))
        return train(Stack((replace(one, training=steep, data=few).run("pretrained", 1),)))[0]

    longer = trained(5)
    best = int(longer.measures["best_epoch"])
    assert best < 5
    assert longer.outputs == trained(best).outputs


def test_a_run_tells_what_its_table_starts_with_and_what_is_added_to_it():
    one = small("sentiment", 1).with_sigma(0.7)
    arms = (one, "pretrained"), (one, "xavier"), (one.without_positions(), "xavier")
    results = train(Stack(tuple(setting.run(init, 0) for setting, init in arms)))
    for result in results:
        assert result.measures["sigma"] == pytest.approx(0.7, rel=1e-5)
        assert result.tables["encoder"].mean == pytest.approx(0, abs=1e-6)
    assert results[1].positions["encoder"].dim == 64
    assert results[1].positions["encoder"].maximum == pytest.approx(1.0, abs=1e-3)
    assert results[2].positions == {}


def mnli(directory: Path, matched: list[str], mismatched: list[str]) -> list[RunResult]:
    """Two runs on an MNLI whose training rows are ``ROWS``."""
    (directory / "mnli").mkdir(parents=True)
    for split, rows in (("train", ROWS), ("dev_matched", matched), ("dev_mismatched", mismatched)):
        text = "\n".join(["premise\thypothesis\tlabel", *rows])
        (directory / f"mnli/{split}.tsv").write_text(text)
    one = small("sentiment", 6)
    one = replace(one, data=replace(one.data, task="mnli"))
    return train(Stack((one.run("xavier", 0), one.run("xavier", 1))), RunContext(directory))


ROWS = [f"{x}\t{y}\t{(ord(x) + ord(y)) % 3}" for x in "abcdefgh" for y in "abcdefgh"]


def test_mismatched_accuracy_is_the_best_over_epochs(tmp_path):
    """Section 4 again: MNLI's two accuracies are each the highest, whichever epoch reached it."""
    results = mnli(tmp_path / "as said", ROWS[::2], ROWS[1:40:3])
    swapped = mnli(tmp_path / "swapped", ROWS[1:40:3], ROWS[::2])
    for one, other in zip(results, swapped, strict=True):
        curve = one.curves["test_accuracy"]
        assert one.measures["test_accuracy"] == max(curve)
        assert one.measures["best_test_epoch"] == curve.index(max(curve)) + 1
        assert one.measures["accuracy"] == max(one.curves["validation_accuracy"])
        assert curve == pytest.approx(other.curves["validation_accuracy"])
        assert other.curves["test_accuracy"] == pytest.approx(one.curves["validation_accuracy"])
    epochs = [(one.measures["best_epoch"], one.measures["best_test_epoch"]) for one in results]
    assert any(first != second for first, second in epochs)


def test_validation_bleu_is_followed_and_changes_nothing_else():
    """Figure 1's curve: one value an epoch; the same losses and test BLEU without it."""
    one = small("translation", epochs=3)
    settings = (replace(one.training, validation_bleu=on) for on in (True, False))
    [followed], [plain] = (
        train(Stack((replace(one, training=setting).run("xavier", 0),))) for setting in settings
    )
    assert len(followed.curves["validation_bleu"]) == 3
    assert "validation_bleu" not in plain.curves
    assert followed.curves["validation_loss"] == plain.curves["validation_loss"]
    assert followed.measures == plain.measures


@pytest.fixture
def rates(monkeypatch):
    """The rates of each step that a test takes, sorted."""
    honest, rates = StackTraining.step, []

    def step(self, *arguments):
        rates.append(sorted(float(group["lr"]) for group in self.optimizer.param_groups))
        honest(self, *arguments)

    monkeypatch.setattr(StackTraining, "step", step)
    return rates


def falling(run):
    return run.changed(training=replace(run.recipe.training, schedule="linear"))


def test_a_falling_rate_ends_at_next_to_nothing_and_only_the_last_epoch_counts(rates):
    run = falling(small("sentiment", 3).run("xavier", 0))
    [result] = train(Stack((run,)))
    steps, lr = len(rates), run.recipe.training.lr
    wanted = [lr * (steps - number) / (steps + 1) for number in range(steps)]
    assert [rate for [rate] in rates] == pytest.approx(wanted, rel=1e-5)
    assert len(result.curves["train_loss"]) == 3
    assert set(result.curves) == {"train_loss"}  # one point is no curve
    assert "best_epoch" not in result.measures
    right = [ours == theirs for ours, theirs in zip(result.outputs, result.references, strict=True)]
    assert result.measures["accuracy"] == pytest.approx(100 * sum(right) / len(right))
    assert result.failure is None


def test_a_run_with_a_falling_rate_that_breaks_has_no_measures(monkeypatch):
    """Whether it broke before the epoch that is measured or in it; the other run goes on."""
    one = small("sentiment", 3)
    runs = Stack(tuple(falling(one.run(init, 0)) for init in ("xavier", "pretrained")))
    healthy, honest = train(runs), StackTraining.train_epoch
    for epoch in (0, 2):

        def train_epoch(self, number, at=epoch):
            honest(self, number)
            if number == at:
                losses = self.curves.train_loss
                losses[-1] = torch.tensor([torch.nan, losses[-1][1]])

        monkeypatch.setattr(StackTraining, "train_epoch", train_epoch)
        broken, other = train(runs)
        assert broken.failure == f"the loss stopped being a number in epoch {epoch + 1}"
        assert "accuracy" not in broken.measures
        assert len(broken.curves["train_loss"]) == epoch
        assert other.measures == healthy[1].measures


def test_translation_with_a_falling_rate_and_tables_of_their_own_rate(rates):
    """The last epoch's model translates; each table's rate falls in proportion."""
    one = small("translation", 2)
    runs = [falling(one.run(init, 0)) for init in ("xavier", "pretrained")]
    runs[1] = runs[1].changed(table=replace(runs[1].recipe.table, rate=4.0))
    together = train(Stack(tuple(runs)))
    assert all(low > 0 and high == pytest.approx(4 * low) for low, high in rates)
    for run, result in zip(runs, together, strict=True):
        [alone] = train(Stack((run,)))
        assert result.measures == alone.measures
        assert result.outputs == alone.outputs


@pytest.mark.parametrize(
    "changes",
    [
        {"attention": "relative"},
        {"attention": "rotary"},
        {"attention": "untied"},
        {"norm_after_sum": True},
        {"norm_position": "pre"},
    ],
    ids=str,
)
def test_each_setting_of_the_model_reaches_it(changes):
    plain = small("sentiment", epochs=1)
    one = plain.with_model(**changes)
    losses = [train(Stack((setting.run("pretrained", 0),)))[0].curves for setting in (one, plain)]
    assert losses[0]["train_loss"] != losses[1]["train_loss"]


def test_seeds_and_sides_differ_in_all_that_is_drawn():
    """Else seeds would be fewer than they are counted as: tables, weights, order and dropout."""
    one = small("translation")
    both = StackTraining(Stack((one.run("xavier", 3), one.run("xavier", 4))), None, "cpu")
    drawn = {
        name: value
        for name, value in both.model.named_parameters()
        if name.endswith(("table", "weight")) and "norm" not in name
    }
    assert len(drawn) > 8
    for name, (first, second) in drawn.items():
        assert not torch.equal(first, second), name
    # Xavier's bound goes with the vocabulary, so the sides' tables are compared in shape.
    sides = [drawn[f"{side}_embedding.table"][0, 6:30].flatten() for side in ("encoder", "decoder")]
    assert torch.corrcoef(torch.stack(sides))[0, 1].abs() < 0.2
    first, second = (both.buckets.shuffle(order) for order in both.orders)
    assert not all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    masks = both.dropout(torch.ones(2, 30, 64))
    assert not torch.equal(masks[0], masks[1])


def test_words_without_a_vector_have_rows_of_their_seed(monkeypatch):
    """Drawn for each seed; the found vectors are alike in all."""
    honest = initial_tables.look_up

    def few(*given):
        vectors = honest(*given)
        return replace(vectors, found=vectors.found & (torch.arange(len(vectors.found)) % 2 == 0))

    monkeypatch.setattr(initial_tables, "look_up", few)
    one = small("sentiment")
    data = prepare(one.data, None)
    first, second = (
        initial_state.make_initial_tables(one.run("pretrained", seed), data, None)["encoder"].values
        for seed in (0, 1)
    )
    words = torch.arange(len(first)) > MASK
    found = few(one.source, one.data, "encoder", None).found
    assert torch.equal(first[words & found], second[words & found])
    missing = words & ~found
    assert bool((first[missing] != second[missing]).all())
    assert first[missing].std().item() == pytest.approx(first[words & found].std().item(), rel=0.1)
