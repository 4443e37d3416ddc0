"""The synthetic language and its tasks: the same everywhere, fair, and decided by meaning."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embinit.errors import InputError
from embinit.lab.data.microcosm import (
    CLASSES,
    Judgement,
    Opinion,
    Sentence,
    Word,
    Writer,
    antonym_group,
    favourable,
    generator,
    holds_good,
    in_source,
    in_target,
    lexicon,
    share,
    synonym_groups,
    unlabelled,
)
from embinit.lab.data.microcosm.lexicon import Part
from embinit.lab.data.tasks import microcosm
from embinit.lab.data.tasks.base import TASKS, Splits
from embinit.lab.data.tasks.microcosm import CONTRADICTION, ENTAILMENT, NEUTRAL
from embinit.lab.draws import split_world
from embinit.lab.specs import Cut

NAMES = ("micro-translation", "micro-sentiment", "micro-sentiment-plain", "micro-inference")
seeds = st.integers(0, 2**32 - 1).map(str)
some = settings(max_examples=50)


def whole(name: str) -> Splits:
    """A task's text; of another world the beginning, to save time."""
    task = TASKS[name]
    if split_world(name)[1]:
        task = replace(task, sizes=(400, 100, 100))  # type: ignore[type-var]
    return task.load(None, Cut())


def reworded(sentence: object, synonym: int) -> object:
    """The same tree with every content word replaced by one synonym of its class."""
    if isinstance(sentence, Word):
        return replace(sentence, synonym=synonym % CLASSES[sentence.part][1])
    if isinstance(sentence, tuple):
        return tuple(reworded(item, synonym) for item in sentence)
    if hasattr(sentence, "__dataclass_fields__"):
        fields = {name: reworded(value, synonym) for name, value in vars(sentence).items()}
        return replace(sentence, **fields)  # type: ignore[type-var]
    return sentence


@pytest.mark.parametrize("task", microcosm.MICROCOSM_TASKS, ids=lambda task: task.name)
def test_the_kept_digest_is_that_of_the_text(task: microcosm.MicrocosmTask) -> None:
    """Runs' keys rest on it. Where code changed, ``keep_fingerprints()`` writes it anew."""
    kept = json.loads(microcosm.FINGERPRINTS.read_text(encoding="utf-8"))
    assert kept["drawn_by"]["code"] == microcosm.drawn_by()["code"]
    assert kept["fingerprints"][task.name] == microcosm.drawn_fingerprint(task)


def test_a_text_of_other_code_has_no_kept_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A digest of the text as it was would let the store answer with stale results."""
    [task] = (each for each in microcosm.MICROCOSM_TASKS if each.name == "micro-verb")
    longer = replace(task, sizes=(1001, 400, 400))
    monkeypatch.setattr(microcosm, "drawn_by", lambda: {"code": "other"})
    microcosm._kept_fingerprints.cache_clear()
    microcosm._fingerprint.cache_clear()
    assert microcosm._fingerprint(longer) == microcosm.drawn_fingerprint(longer)
    monkeypatch.undo()
    microcosm._kept_fingerprints.cache_clear()
    microcosm._fingerprint.cache_clear()


def test_text_is_the_one_the_assets_were_trained_on() -> None:
    """A grammar that changed shows here: make the tables again."""
    assert {name: TASKS[name].fingerprint(None)[:8] for name in NAMES} == {
        "micro-translation": "9c74d5c7",
        "micro-sentiment": "11f055c3",
        "micro-sentiment-plain": "48a91814",
        "micro-inference": "8c95413d",
    }


def test_words_are_all_different() -> None:
    """Coining skips what it has coined, and the two languages end their words differently."""
    words = lexicon()
    source = [*synonym_groups(), *words.source_function.values()]
    target = [*(w for part in words.target.values() for w in part), *words.target_function.values()]
    assert len({*source, *target}) == len(source) + len(target)
    assert len(synonym_groups()) == sum(groups * synonyms for groups, synonyms in CLASSES.values())
    assert all(word.isalpha() and word.islower() for word in source + target)


@pytest.mark.parametrize("name", NAMES)
def test_splits_and_unlabelled_text_are_disjoint(name: str) -> None:
    """A sentence's checksum gives it to one share, so no text is in two of them."""
    splits = whole(name)
    parts = [splits.train, splits.validation, splits.test]
    texts = [{example.text for example in part} for part in parts] + [set(unlabelled(3000))]
    assert sum(map(len, texts)) == len(set().union(*texts))
    assert all(len(set(part)) == len(part) for part in parts)


@pytest.mark.parametrize("name", NAMES[1:])
def test_labels_are_balanced(name: str) -> None:
    """Labels are drawn evenly first; 5 sigma of a binomial bounds what chance may do."""
    splits, classes = whole(name), TASKS[name].classes
    labels = Counter(example.label for example in splits.train)
    assert set(labels) == set(range(classes))
    size = len(splits.train)
    spread = 5 * (size * (classes - 1)) ** 0.5 / classes
    assert all(abs(count - size / classes) < spread for count in labels.values())


@some
@given(seeds, st.integers(0, 100))
def test_synonyms_translate_alike(seed: str, synonym: int) -> None:
    """The target word is looked up by class, so the synonym drops out of the translation."""
    sentence = Writer(generator("test", seed)).sentence()
    other = reworded(sentence, synonym)
    assert isinstance(other, Sentence)
    assert in_target(other) == in_target(sentence)
    assert [synonym_groups().get(word, word) for word in in_source(other).split()] == [
        synonym_groups().get(word, word) for word in in_source(sentence).split()
    ]


@some
@given(seeds, st.sampled_from([0, 9003]))
def test_translation_reorders_but_loses_nothing(seed: str, world: int) -> None:
    """Both of a world's languages say each word of the tree once; only the order differs."""
    sentence = Writer(generator("test", seed, world=world), world).sentence()
    words = lexicon(world)
    classes = {
        word: words.target[part][number]
        for part, groups in words.source.items()
        for number, group in enumerate(groups)
        for word in group
    }
    classes |= {word: words.target_function[key] for key, word in words.source_function.items()}
    source, target = in_source(sentence, world).split(), in_target(sentence, world).split()
    assert Counter(classes[word] for word in source) == Counter(target)
    assert [classes[word] for word in source] != target


@some
@given(seeds)
def test_negation_decides_an_opinion(seed: str) -> None:
    """A denied adjective counts as its opposite, so turning every negation turns the label."""
    opinion = Writer(generator("test", seed)).opinion()
    turned = replace(
        opinion,
        judgements=tuple(replace(one, negated=not one.negated) for one in opinion.judgements),
    )
    assert holds_good(turned) != holds_good(opinion)
    assert {favourable(j.adjective) != j.negated for j in opinion.judgements} == {
        holds_good(opinion)
    }


@some
@given(seeds, st.integers(0, CLASSES["adjective"][0] - 1))
def test_a_bag_of_words_cannot_tell_an_opinion(seed: str, group: int) -> None:
    """'not A but B' and 'not B but A' are the same words, and say opposite things."""
    writer = Writer(generator("test", seed))
    subject = writer.noun_phrase(0)
    first = writer.word("adjective", group)
    second = writer.word("adjective", antonym_group(group))
    one = Opinion(subject, (Judgement(first, negated=True), Judgement(second)))
    other = Opinion(subject, (Judgement(second, negated=True), Judgement(first)))
    assert sorted(in_source(one).split()) == sorted(in_source(other).split())
    assert holds_good(one) != holds_good(other)


def classes_of(world: int, part: Part) -> dict[str, int]:
    """The class of each word of one part of speech, in all of a world's languages."""
    words = lexicon(world)
    told = {word: number for number, group in enumerate(words.source[part]) for word in group}
    return told | {word: number for number, word in enumerate(words.target[part])}


@pytest.mark.parametrize(
    "name",
    [
        "micro-sentiment",
        "micro-sentiment-plain",
        "micro-sentiment-across@3019",
    ],
)
@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_sentiment_labels_follow_from_the_text(split: str, name: str) -> None:
    """An oracle that knows the classes reads each label off the words before the copula."""
    _, world = split_world(name)
    says, nouns = lexicon(world).source_function, classes_of(world, "noun")
    adjectives = classes_of(world, "adjective")
    for example in getattr(whole(name), split):
        words = example.text.split()
        assert words.pop() == says["is"]
        last_noun = max(place for place, word in enumerate(words) if word in nouns)
        negated, said = False, set()
        for word in words[last_noun + 1 :]:
            if word in adjectives:
                said.add((adjectives[word] % 2 == 0) != negated)
            negated = word == says["not"]
        assert said == {bool(example.label)}


@pytest.mark.parametrize("name", ["micro-verb", "micro-verb@1009"])
def test_a_verb_s_label_is_its_class(name: str) -> None:
    """The one verb of an action is found by the words of its class."""
    verbs = classes_of(split_world(name)[1], "verb")
    for example in whole(name).train:
        assert [verbs[word] for word in example.text.split() if word in verbs] == [example.label]


def kinds_in(text: Iterable[str]) -> list[float]:
    """The shares of opinions that say an adjective, deny one, do both, or say two."""
    words = lexicon().source_function
    counted = [0, 0, 0, 0]
    for opinion in map(str.split, text):
        joined = 2 if words["but"] in opinion else 3 if words["and"] in opinion else None
        counted[int(words["not"] in opinion) if joined is None else joined] += 1
    return [count / sum(counted) for count in counted]


@given(weights=st.tuples(*4 * [st.integers(0, 9)]).filter(any))
@settings(max_examples=20)
def test_opinions_are_of_each_kind_as_often_as_is_asked(weights: tuple[int, ...]) -> None:
    """A kind of weight 0 is never drawn. 4,000 opinions tell a share within 4 points."""
    writer = Writer(generator("kinds"))
    found = kinds_in(in_source(writer.opinion(weights)) for _ in range(4000))
    wanted = [weight / sum(weights) for weight in weights]
    assert found == pytest.approx(wanted, abs=0.04)
    assert all(weight or not share for share, weight in zip(found, weights, strict=True))
    for bad in ((0, 0, 0, 0), (1, -1, 1, 1), weights[1:]):
        with pytest.raises(InputError, match="weights of opinions are four numbers of 0 or more"):
            Writer(generator("kinds")).opinion(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["micro-inference", "micro-inference@1008", "micro-inference-across@1000"]
)
@pytest.mark.parametrize("split", ["train", "test"])
def test_inference_labels_follow_from_the_pair(split: str, name: str) -> None:
    """An oracle that knows the classes finds each label from the two texts alone."""
    _, world = split_world(name)
    not_ = lexicon(world).source_function["not"]
    nouns, adjectives = classes_of(world, "noun"), classes_of(world, "adjective")

    def parse(text: str) -> tuple[list[int], list[int], bool]:
        words = text.split()
        return (
            [nouns[word] for word in words if word in nouns],
            [adjectives[word] for word in words if word in adjectives],
            not_ in words,
        )

    for example in getattr(whole(name), split):
        (nouns_p, (described,), denied_p) = parse(example.text)
        (nouns_h, described_h, denied_h) = parse(example.pair)
        if denied_p != denied_h or described_h == [antonym_group(described)]:
            expected = CONTRADICTION
        elif nouns_p != nouns_h or len(described_h) == 2:
            expected = NEUTRAL
        else:
            expected = ENTAILMENT
        assert example.label == expected, example


def test_role_swap_alone_makes_a_pair_neutral() -> None:
    """A hypothesis with the premise's words, in the premise's order or not: order decides."""
    train = whole("micro-inference").train
    pairs = [e for e in train if Counter(e.text.split()) == Counter(e.pair.split())]
    assert {e.label for e in pairs if e.text == e.pair} == {ENTAILMENT}
    assert {e.label for e in pairs if e.text != e.pair} == {NEUTRAL}
    assert sum(e.text != e.pair for e in pairs) > 0.1 * len(train)


def test_unlabelled_text_has_every_word_and_begins_the_same() -> None:
    """Classes and synonyms all have positive probability, and one stream writes every count."""
    sentences = unlabelled(20_000)
    assert sentences[:50] == unlabelled(50)
    assert {word for text in sentences for word in text.split()} >= set(synonym_groups())
    assert {share(text) for text in sentences} == {"unlabelled"}
    with pytest.raises(InputError, match="0 sentences or more"):
        unlabelled(-1)
