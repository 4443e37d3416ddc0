"""Pre-training, the discarded output table, fine-tuning, and what is read off layers between."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.cache import make_directory
from embinit.lab.data.preparation import data_fingerprint, prepare, write
from embinit.lab.data.vocabulary import EOS, MASK, PAD, SEP
from embinit.lab.models.initial_state import InitialState, carry, without_output
from embinit.lab.models.layer_probes import probe_accuracy, retrieval_accuracy, sentence_vectors
from embinit.lab.models.layers import no_dropout
from embinit.lab.models.losses import NOTHING
from embinit.lab.models.masked_language_model import (
    Masked,
    MaskedHead,
    MaskedLanguageModel,
    mask_tokens,
)
from embinit.lab.models.sizes import count_parameters, output_width, parameters_of
from embinit.lab.models.transformer import ModelShape, StackedTransformer
from embinit.lab.specs import (
    Cut,
    DataSpec,
    DownstreamSpec,
    ModelRecipe,
    ModelSpec,
    PositionSpec,
    PretrainingSpec,
    TableSpec,
    TrainingSpec,
    TransferSpec,
)
from embinit.lab.training.scoring import EpochCurves
from embinit.lab.training.stacked import lr_factor
from embinit.lab.training.stacks import StackTraining
from embinit.lab.transfer.pretraining import Pretraining
from embinit.lab.transfer.stacks import check, train
from embinit.runs.kinds import RunContext, Stack, kind_of
from embinit.specs import RunSpec
from test_model import copy_linear, copy_norm, embedding_of

WORDS, LENGTH, DIM, HEADS, LAYERS, INNER, RUNS = 23, 9, 16, 4, 2, 24, 2


def spec_of(input_width: int, output_width: int | None) -> ModelSpec:
    """A model whose output table is the input table where it has no width."""
    return ModelSpec(
        DIM, HEADS, LAYERS, INNER, norm_after_sum=True, activation="gelu",
        input_width=input_width, output_width=output_width, coupled=output_width is None,
    )  # fmt: skip


def masked_model(input_width: int, *output_widths: int | None) -> MaskedLanguageModel:
    generator = torch.Generator().manual_seed(4)
    specs = [spec_of(input_width, width) for width in output_widths]
    shape = ModelShape(specs[0], WORDS, learned_positions=LENGTH)
    embedding = embedding_of(
        shape,
        torch.randn(RUNS, WORDS, input_width, generator=generator),
        torch.randn(RUNS, LENGTH, input_width, generator=generator),
    )
    model = MaskedLanguageModel(StackedTransformer(shape, embedding), specs)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 3)
    return model.double()


def theirs_of(model: MaskedLanguageModel, run: int, ours: MaskedHead) -> torch.nn.Module:
    """The same run's weights in transformers' BERT or RemBERT."""
    transformers = pytest.importorskip("transformers")
    sizes = {
        "vocab_size": WORDS,
        "hidden_size": DIM,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INNER,
        "max_position_embeddings": LENGTH,
        "layer_norm_eps": 1e-5,
        "pad_token_id": PAD,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    embedding, place = model.encoder.encoder_embedding, ours.runs.tolist().index(run)
    if ours.output_table is None:
        theirs = transformers.BertForMaskedLM(transformers.BertConfig(**sizes))
        head = theirs.cls.predictions.transform
    else:
        widths = {
            "input_embedding_size": embedding.table.shape[-1],
            "output_embedding_size": ours.output_table.shape[-1],
        }
        theirs = transformers.RemBertForMaskedLM(transformers.RemBertConfig(**sizes, **widths))
        head = theirs.cls.predictions
        head.decoder.weight.data.copy_(ours.output_table[place])
        mapping = theirs.base_model.encoder.embedding_hidden_mapping_in
        if isinstance(embedding.projection, torch.nn.Identity):
            torch.nn.init.eye_(mapping.weight)
            torch.nn.init.zeros_(mapping.bias)
        else:
            copy_linear(mapping, embedding.projection, run)
    theirs = theirs.double().eval()
    places, layers = theirs.base_model.embeddings, theirs.base_model.encoder.layer
    with torch.no_grad():
        places.word_embeddings.weight.copy_(embedding.table[run])
        places.position_embeddings.weight.copy_(embedding.positions[run])
        places.token_type_embeddings.weight.zero_()
        copy_norm(places.LayerNorm, embedding.norm, run)
        for layer, mine in zip(layers, model.encoder.encoder_layers, strict=True):
            split, projection = layer.attention.self, mine.attention.projection
            for number, part in enumerate((split.query, split.key, split.value)):
                part.weight.copy_(projection.weight[run].chunk(3, dim=-1)[number].T)
                part.bias.copy_(projection.bias[run, 0].chunk(3)[number])
            copy_linear(layer.attention.output.dense, mine.attention.output, run)
            copy_norm(layer.attention.output.LayerNorm, mine.attention_residual.norm, run)
            copy_linear(layer.intermediate.dense, mine.feed_forward.inner, run)
            copy_linear(layer.output.dense, mine.feed_forward.outer, run)
            copy_norm(layer.output.LayerNorm, mine.feed_forward_residual.norm, run)
        copy_linear(head.dense, ours.dense, place)
        copy_norm(head.LayerNorm, ours.norm, place)
        theirs.cls.predictions.decoder.bias.copy_(ours.bias[place, 0])
    return theirs


@pytest.mark.parametrize(
    "widths", [(12, 20, 20), (20, 8, 16), (16, None, None), (16, 9, None)], ids=str
)
def test_the_forward_pass_is_rembert_s_and_coupled_bert_s(widths):
    """Layer by layer and in the logits, with padding, for every run of the stack.

    The widths are the input tables' and each run's output table's (None for a coupled model).
    """
    model = masked_model(*widths)
    ids = torch.tensor([[6, 7, 5, 9, 22, EOS], [5, 12, EOS, PAD, PAD, PAD]])
    places = torch.tensor([[0, 2, 4], [0, 1, 1]])
    states = list(model.encoder.states(ids[None]))
    logits = {
        run: (head, of_run)
        for head, read, out in model(ids[None], places[None])
        for run, of_run in zip(head.runs.tolist(), read @ out.weight + out.bias, strict=True)
    }
    labels = torch.tensor([[6, 5, NOTHING, 7, NOTHING, 8]])
    losses, counted = model.losses(Masked(ids[None], places[None], labels), no_dropout)
    assert counted.tolist() == [4]
    for run in range(RUNS):
        head, of_run = logits[run]
        theirs = theirs_of(model, run, head)
        found = theirs(ids, attention_mask=(ids != PAD).long(), output_hidden_states=True)
        wanted = torch.stack([row[at] for row, at in zip(found.logits, places, strict=True)])
        torch.testing.assert_close(of_run.view(2, 3, -1), wanted)
        loss = torch.nn.functional.cross_entropy(wanted.flatten(0, 1), labels[0], reduction="sum")
        torch.testing.assert_close(losses[run], loss)
        real = ids != PAD
        for ours, state in zip(states[1:], found.hidden_states[1:], strict=True):
            torch.testing.assert_close(ours[run].view(2, 6, -1)[real], state[real])


decoupled = st.builds(
    ModelSpec,
    dim=st.sampled_from([8, 12]),
    heads=st.sampled_from([1, 4]),
    layers=st.integers(1, 3),
    feed_forward=st.integers(1, 9),
    norm_after_sum=st.booleans(),
    attention=st.sampled_from(["plain", "relative", "rotary", "untied"]),
    input_width=st.none() | st.integers(1, 12),
    output_width=st.none() | st.integers(1, 12),
    coupled=st.just(False),
    norm_position=st.sampled_from(["post", "pre"]),
)
coupled = decoupled.map(lambda model: replace(model, coupled=True, output_width=None))


@given(decoupled | coupled, st.integers(1, 20), st.integers(0, 9))
def test_parameters_are_counted_as_in_a_model_that_is_built(model, words, length):
    """The arithmetic loads no torch; the model itself is its oracle, with a decoder too."""
    encoder = ModelShape(model, words, learned_positions=length)
    pair = ModelShape(model, words, words + 3, 7, learned_positions=length)
    positions = torch.empty(1, max(1, length), model.table_width)
    built = [
        StackedTransformer(
            shape,
            *(embedding_of(shape, torch.empty(1, n, model.table_width), positions) for n in sides),
        )
        for shape, sides in ((encoder, [words]), (pair, [words, words + 3]))
    ]
    whole = MaskedLanguageModel(built[0], [model])
    counts = [sum(one.numel() for one in module.parameters()) for module in (whole, *built)]
    assert counts == [*count_parameters(model, words, length), pair.parameters]
    assert encoder.parameters == counts[1]


def test_a_model_that_can_not_be_built_is_not_counted():
    with pytest.raises(InputError, match="not a multiple of 3 heads"):
        count_parameters(ModelSpec(16, 3, 1, 8), 20, 0)
    assert output_width(ModelSpec(16, 4, 1, 8)) == 16
    assert output_width(ModelSpec(16, 4, 1, 8, output_width=5)) == 5
    assert output_width(ModelSpec(16, 4, 1, 8, coupled=True)) is None
    with pytest.raises(InputError, match="leave output_width out"):
        count_parameters(ModelSpec(16, 4, 1, 8, coupled=True, output_width=8), 20, 0)


def sentences(copies: int, batch: int, length: int, seed: int) -> Tensor:
    """Ids with marks and padding behind, some sentences without a word."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(MASK + 1, WORDS, (copies, batch, length), generator=generator)
    ends = torch.randint(0, length, (copies, batch, 1), generator=generator)
    place = torch.arange(length).expand_as(ids)
    ids = ids.where(place < ends, PAD).where(place != ends, EOS)
    ids[:, 0, length // 2] = SEP
    return ids


@given(
    copies=st.integers(1, 3),
    batch=st.integers(1, 6),
    length=st.integers(1, 20),
    share=st.floats(0.05, 1.0),
    seed=st.integers(0, 99),
)
def test_words_are_hidden_as_they_should_be(copies, batch, length, share, seed):
    """Marks never; of n words max(1, round(share n)); labels are what stood there."""
    ids = sentences(copies, batch, length, seed)
    generators = [torch.Generator().manual_seed(number) for number in range(copies)]
    seen, places, labels = mask_tokens(ids, WORDS, share, generators)
    labels = labels.view(copies, batch, -1)
    guessed = torch.zeros_like(ids, dtype=torch.bool)
    guessed.scatter_(-1, places, labels != NOTHING)
    assert bool((seen == ids)[~guessed].all())
    assert bool((ids > MASK)[guessed].all())
    assert bool(((seen >= MASK) & (seen < WORDS))[guessed].all())
    assert torch.equal(ids.gather(-1, places)[labels != NOTHING], labels[labels != NOTHING])
    words = (ids > MASK).sum(dim=-1)
    wanted = (share * words).round().clamp(min=1).where(words > 0, 0)
    assert torch.equal((labels != NOTHING).sum(dim=-1), wanted.long())


def test_most_hidden_words_are_masked_few_replaced_or_left():
    """80, 10 and 10 % of 60,000; a random word is the right one in one of 1,000."""
    ids = torch.randint(MASK + 1, 1006, (1, 2000, 100))
    seen, places, labels = mask_tokens(ids, 1006, 0.3, [torch.Generator().manual_seed(0)])
    shown = seen.gather(-1, places).flatten(1)
    masked, left = (shown == MASK).float().mean(), (shown == labels).float().mean()
    assert float(masked) == pytest.approx(0.8, abs=0.01)
    assert float(left) == pytest.approx(0.1, abs=0.01)


@given(steps=st.integers(1, 300), warm_up=st.floats(0, 0.99))
def test_the_rate_rises_to_one_and_falls_to_zero(steps, warm_up):
    """Along two straight lines, as numpy draws them."""
    rates = [lr_factor(step, steps, warm_up) for step in range(steps)]
    corners = (-1, warm_up * steps - 1, steps)
    assert rates == pytest.approx(np.interp(range(steps), corners, (0, 1, 0)))
    with pytest.raises(InputError, match="0 to below 1"):
        lr_factor(0, 10, 1.0)


@given(seed=st.integers(0, 50))
def test_a_probe_is_ridge_regression(seed):
    """Numpy's least squares over features standardised, with the penalty as further rows.

    A feature that never varies changes nothing, and a broken run no other.
    """
    rng = np.random.default_rng(seed)
    train, test = rng.normal(3, 2, (40, 5)), rng.normal(3, 2, (30, 5))
    labels, answers = rng.integers(0, 3, 40), rng.integers(0, 3, 30)
    mean, sigma = train.mean(axis=0), train.std(axis=0, ddof=1)
    scaled, asked = (train - mean) / sigma, (test - mean) / sigma
    wanted = np.eye(3)[labels]
    rows = np.vstack((scaled, np.eye(5)))
    outputs = np.vstack((wanted - wanted.mean(axis=0), np.zeros((5, 3))))
    weights = np.linalg.lstsq(rows, outputs, rcond=None)[0]
    right = (asked @ weights + wanted.mean(axis=0)).argmax(axis=1) == answers
    x, y = (
        torch.tensor(np.stack((np.insert(part, 5, 7, axis=1), np.full((len(part), 6), np.nan))))
        for part in (train, test)
    )
    found = probe_accuracy(x[None], torch.tensor(labels), y[None], torch.tensor(answers), 3)
    assert found.shape == (1, 2)
    assert float(found[0, 0]) == pytest.approx(100 * right.mean())
    with pytest.raises(InputError, match="two classes"):
        probe_accuracy(x, torch.zeros(40, dtype=torch.long), y, torch.tensor(answers), 3)


def test_translations_are_found_by_what_languages_share():
    """Whatever each language adds to all of its sentences; noise finds one in n."""
    generator = torch.Generator().manual_seed(0)
    meaning, noise = torch.randn(2, 100, 30, generator=generator)
    near = torch.cat((meaning + 50, 2 * meaning - 7 + 0.1 * noise))
    far = torch.cat((meaning, noise))
    found = retrieval_accuracy(torch.stack((near, far)))
    assert found[0] == 100
    assert found[1] < 8


TEXT = DataSpec(
    "micro-two-languages", ("whitespace",) * 2, Cut(300, 60, 60), 1, max_length=24, most_words=200
)


def labelled(task: str) -> DataSpec:
    return DataSpec(task, ("whitespace",), Cut(60, 60, 60), 1, max_length=24, vocabulary=TEXT)


TRANSFER = TransferSpec(
    PretrainingSpec(batch_size=32, epochs=2, lr=2e-3, share=0.3),
    (DownstreamSpec("sentiment", labelled("micro-sentiment-across"), TrainingSpec(32, 2, 1e-3)),),
    (labelled("micro-verb"), labelled("micro-sentiment-across")),
)
MODEL = ModelSpec(16, 4, 2, 24, 0.1, norm_after_sum=True, activation="gelu")


def run_of(seed: int = 0, init: str = "normal", training=TRANSFER, **model) -> RunSpec:
    source = None if init in ("normal", "xavier") else "micro-glove"
    positions = PositionSpec("learned", "one")
    spec = replace(MODEL, **model)
    return RunSpec(ModelRecipe(TEXT, spec, training, TableSpec(init, source), positions), seed)


def test_a_result_tells_all_that_claims_ask_of_it():
    [result] = train(Stack((run_of(output_width=40),)))
    counts = parameters_of(run_of(output_width=40))
    assert result.measures["pretraining_parameters"] == counts.pretraining
    assert result.measures["finetuning_parameters"] == counts.finetuning
    assert 0 < result.measures["sentiment_accuracy"] <= 100
    assert 0 <= result.measures["sentiment_test"] <= 100
    probe, probes = result.curves["probe_by_layer"], TRANSFER.probes
    assert len(probe) == MODEL.layers + 1
    singly = [result.curves[f"probe-{one.task}_by_layer"] for one in probes]
    assert probe == pytest.approx(np.mean(singly, axis=0))
    assert result.measures["probe_last"] == probe[-1]
    assert result.measures["probe_drop"] == pytest.approx(max(probe) - probe[-1])
    assert result.measures["retrieval_last"] == result.curves["retrieval_by_layer"][-1]
    assert len(result.curves["sentiment_validation_accuracy"]) == 2
    assert result.examples == {"train": 300, "validation": 60}
    # Told of the start, though positions are trained: both are drawn from N(0, .02).
    assert result.measures["pe_share"] == pytest.approx(0.5, abs=0.1)
    assert result.positions["encoder"].sigma == pytest.approx(0.02, rel=0.15)


def test_fine_tuning_starts_where_pre_training_ended():
    stack = Stack((run_of(0, output_width=40),))
    data = prepare(TEXT, None)
    pretraining = Pretraining(InitialState(stack.runs, data, None), "cpu")
    before = {name: value.clone() for name, value in pretraining.model.named_parameters()}
    pretraining.run(lambda share: None)
    carried = dict(pretraining.model.encoder.named_parameters())
    positions = "encoder_embedding.positions"
    assert not torch.equal(before[f"encoder.{positions}"], carried[positions])
    [task] = TRANSFER.tasks
    tuned = stack.runs[0].changed(data=task.data, training=task.training)
    state = without_output(pretraining.model.encoder)
    own = dict(StackTraining(Stack((tuned,)), None, "cpu", state).model.named_parameters())
    assert own["output.weight"].shape == (1, 16, 2)
    for of_head in ("output.weight", "output.bias"):
        del own[of_head]
        carried.pop(of_head, None)
    assert own.keys() == carried.keys()
    assert all(torch.equal(own[name], carried[name]) for name in own)


def test_a_renamed_module_is_no_fresh_start():
    kept, [task] = "encoder_layers.0.feed_forward.inner.weight", TRANSFER.tasks
    tuned = run_of(0).changed(data=task.data, training=task.training)
    initial = InitialState((tuned,), prepare(task.data, None), None)
    renamed = without_output(initial.model())
    carry(initial.model(), renamed)
    renamed["renamed." + kept] = renamed.pop(kept)
    with pytest.raises(RuntimeError, match=rf'Unexpected key.*"renamed.{kept}"'):
        carry(initial.model(), renamed)
    del renamed["renamed." + kept]
    with pytest.raises(RuntimeError, match=rf'Missing key.*"{kept}"'):
        StackTraining(Stack((tuned,)), None, "cpu", renamed)


def test_arms_of_a_seed_share_all_but_what_they_differ_in():
    """The layers start alike whatever the tables' widths; the order and the masks are the same."""
    data = prepare(TEXT, None)
    first, second = (
        Pretraining(InitialState((run,), data, None), "cpu")
        for run in (run_of(3), run_of(3, input_width=8, output_width=40))
    )
    layers = dict(second.model.encoder.encoder_layers.named_parameters())
    for name, value in first.model.encoder.encoder_layers.named_parameters():
        assert torch.equal(value, layers[name])
    hidden = [[one.initial_seed() for one in stack.masking] for stack in (first, second)]
    assert hidden[0] == hidden[1]
    both = Pretraining(InitialState((run_of(3), run_of(4)), data, None), "cpu").masking
    assert both[0].initial_seed() == hidden[0][0]
    assert both[0].initial_seed() != both[1].initial_seed()


def test_validation_hides_the_same_words_in_every_epoch():
    pretraining = Pretraining(InitialState((run_of(0),), prepare(TEXT, None), None), "cpu")
    pretraining.validate()
    pretraining.validate()
    assert torch.equal(*pretraining.curves.validation_loss)


def test_pre_training_lowers_the_loss_from_what_a_guess_costs():
    none = replace(TRANSFER, pretraining=replace(TRANSFER.pretraining, epochs=0))
    longer = replace(TRANSFER, pretraining=replace(TRANSFER.pretraining, epochs=6))
    [bare], [taught] = (train(Stack((run_of(training=one),))) for one in (none, longer))
    assert bare.measures["masked_loss"] == pytest.approx(math.log(200), abs=0.1)
    assert bare.curves["masked_train_loss"] == []
    losses = taught.curves["masked_loss"]
    assert len(losses) == 6
    assert losses[-1] < losses[0] - 0.3 < math.log(200)


def test_bad_specs_are_named_before_anything_trains():
    check(run_of(), None)
    check(run_of(0, "pretrained", dim=64, heads=4), None)
    [task], verb = TRANSFER.tasks, labelled("micro-verb")

    def tuned(**changes):
        return run_of(training=replace(TRANSFER, tasks=(replace(task, **changes),)))

    other = replace(TRANSFER, probes=(replace(verb, max_length=20),))
    for spec, said in (
        (run_of().changed(data=replace(TEXT, most_words=None)), "must fix its vocabulary"),
        (run_of().changed(data=replace(TEXT, most_words=5000)), "has .* words where the spec has"),
        (run_of().changed(data=verb), "not text to pre-train on"),
        (run_of(0, coupled=True, output_width=9), "leave output_width out"),
        (run_of(0, "pretrained"), "vectors of width 64, the model's table is 16 wide"),
        (tuned(times=0), "sentiment is fine-tuned 0 times; name 1 or more"),
        (tuned(training=replace(task.training, schedule="cosine")), "'cosine' is no sched"),
        (run_of(training=other), "must have the vocabulary and the max_length"),
    ):
        with pytest.raises(InputError, match=said):
            check(spec, None)


def test_sentences_are_means_over_words_whatever_the_batch():
    data = prepare(TEXT, None)
    model = InitialState((run_of(0), run_of(1)), data, None).model()
    one, many = (sentence_vectors(model, data.test, batch) for batch in (1, 64))
    assert one.shape == (3, 2, len(data.test), 16)
    torch.testing.assert_close(one, many, atol=1e-5, rtol=1e-4)


def test_a_run_is_the_same_from_prepared_files(tmp_path):
    run = run_of(0, "pretrained", dim=64)
    writer = make_directory(tmp_path)
    write(TEXT, ["micro-glove"], None, writer)
    for data in TRANSFER.probes:
        write(data, [], None, writer)
    ready, read = (kind_of(run).fingerprint(run, where) for where in (tmp_path, None))
    assert ready == read
    for data in TRANSFER.probes:
        assert data_fingerprint(data, None) in read
    check(run, tmp_path)
    [ours], [theirs] = (train(Stack((run,)), RunContext(where)) for where in (tmp_path, None))
    assert ours.measures == theirs.measures
    assert ours.curves == theirs.curves


def test_the_other_languages_score_is_that_of_the_best_epoch_here():
    losses = [torch.tensor([1.0])] * 2
    curves = EpochCurves(
        train_loss=losses,
        validation_loss=losses,
        validation_accuracy=[torch.tensor([60.0]), torch.tensor([50.0])],
        test_accuracy=[torch.tensor([40.0]), torch.tensor([70.0])],
    )
    [measures] = curves.measures()
    assert (measures["test_accuracy_then"], measures["test_accuracy"]) == (40.0, 70.0)


def test_fine_tuned_several_times_a_run_has_the_means():
    """The first time is that of a run fine-tuned once; later ones differ in head and order."""
    [task] = TRANSFER.tasks
    [one], [many] = (
        train(Stack((run_of(training=replace(TRANSFER, tasks=(replace(task, times=times),))),)))
        for times in (1, 3)
    )
    assert "sentiment_accuracy_by_time" not in one.curves
    for name in ("accuracy", "test"):
        by_time = many.curves[f"sentiment_{name}_by_time"]
        assert len(by_time) == 3
        assert len(set(by_time)) > 1
        assert many.measures[f"sentiment_{name}"] == pytest.approx(np.mean(by_time))
        assert one.measures[f"sentiment_{name}"] == by_time[0]
    assert many.measures["masked_loss"] == one.measures["masked_loss"]
    assert len(many.curves["sentiment_validation_accuracy"]) == 2  # the mean over times, by epoch


def test_seeds_that_fine_tunings_would_share_are_named():
    """Else a run's second time would be another run's first."""
    with pytest.raises(InputError, match="seeds 3 and 1000003 must be less than 1000000 apart"):
        train(Stack((run_of(3), run_of(1_000_003))))


def test_one_broken_time_breaks_the_run_alone(monkeypatch):
    [task] = TRANSFER.tasks
    recipe = replace(TRANSFER, tasks=(replace(task, times=2),))
    runs = (run_of(0, training=recipe), run_of(1, training=recipe))
    healthy = train(Stack(runs))
    honest = StackTraining.validate

    def validate(self):
        honest(self)
        losses = self.curves.validation_loss
        if len(losses) == 2:
            losses[-1] = torch.where(torch.arange(4) == 2, torch.nan, losses[-1])  # run 0, again

    monkeypatch.setattr(StackTraining, "validate", validate)
    broken, other = train(Stack(runs))
    assert broken.failure == (
        "fine-tuning on sentiment: the loss stopped being a number in epoch 2"
    )
    assert "sentiment_accuracy" not in broken.measures
    assert "sentiment_accuracy_by_time" not in broken.curves
    assert other.measures == healthy[1].measures
