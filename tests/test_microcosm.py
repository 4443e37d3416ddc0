"""The synthetic language and its tasks: the same everywhere, fair, and decided by meaning."""

from __future__ import annotations

import functools
import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embinit.errors import InputError
from embinit.lab.data.microcosm.draws import SETS
from embinit.lab.data.microcosm.grammar import in_source, in_target
from embinit.lab.data.microcosm.lexicon import (
    Part,
    antonym_group,
    generator,
    lexicon,
    synonym_groups,
)
from embinit.lab.data.microcosm.writer import Writer, share, unlabelled
from embinit.lab.data.tasks import microcosm
from embinit.lab.data.tasks.base import TASKS, Splits
from embinit.lab.data.tasks.microcosm import CONTRADICTION, ENTAILMENT, NEUTRAL
from embinit.lab.draws import split_draw
from embinit.lab.specs import Cut

BEGINNINGS = {
    "micro-translation": "9c74d5c7",
    "micro-sentiment": "11f055c3",
    "micro-sentiment-plain": "48a91814",
    "micro-inference": "8c95413d",
}
"""Of the digests of the texts on which the assets were trained."""


def whole(name: str) -> Splits:
    """A task's text; of another draw the beginning, to save time."""
    task = TASKS[name]
    if split_draw(name)[1]:
        task = replace(task, sizes=(400, 100, 100))  # type: ignore[type-var]
    return task.load(None, Cut())


DRAWS = ("micro-verb@1000", "micro-verb@1009", "micro-translation@3019")


@pytest.mark.parametrize("name", [*(task.name for task in microcosm.MICROCOSM_TASKS), *DRAWS])
def test_the_kept_digest_is_that_of_the_text(name: str) -> None:
    """Runs' keys rest on it. Where code changed, ``keep_fingerprints()`` writes it anew.

    All draws of a set have one, so that no session draws a text to know its runs' keys.
    """
    kept = json.loads(microcosm.FINGERPRINTS.read_text(encoding="utf-8"))
    assert kept["drawn_by"]["code"] == microcosm.drawn_by()["code"]
    digests, draws = kept["fingerprints"], sum(map(len, SETS.values()))
    assert len(digests) == len(microcosm.MICROCOSM_TASKS) * draws
    assert digests[name] == microcosm.drawn_fingerprint(TASKS[name])


def test_a_text_of_other_code_has_no_kept_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A digest of the text as it was would let the store answer with stale results."""
    longer = replace(TASKS["micro-verb"], sizes=(1001, 400, 400))
    monkeypatch.setattr(microcosm, "drawn_by", lambda: {"code": "other"})
    for known in (microcosm._kept_fingerprints, microcosm._fingerprint):
        monkeypatch.setattr(microcosm, known.__name__, functools.cache(known.__wrapped__))
    assert microcosm._fingerprint(longer) == microcosm.drawn_fingerprint(longer)


def test_text_is_the_one_the_assets_were_trained_on() -> None:
    """A grammar that changed shows here: make the tables again."""
    assert {name: TASKS[name].fingerprint(None)[:8] for name in BEGINNINGS} == BEGINNINGS


@pytest.mark.parametrize("name", BEGINNINGS)
def test_splits_are_disjoint_and_labels_are_balanced(name: str) -> None:
    """A sentence's checksum gives it to one share, of unlabelled text too, so none is in two.

    Labels are drawn evenly first; 5 sigma of a binomial bounds what chance may do.
    """
    splits, classes = whole(name), TASKS[name].classes
    parts = [splits.train, splits.validation, splits.test]
    texts = [{example.text for example in part} for part in parts] + [set(unlabelled(3000))]
    assert sum(map(len, texts)) == len(set().union(*texts))
    assert all(len(set(part)) == len(part) for part in parts)
    labels, size = Counter(example.label for example in splits.train), len(splits.train)
    for label in range(classes):
        bound = 5 * (size * (classes - 1)) ** 0.5 / classes
        assert abs(labels[label] - size / classes) < bound


@given(st.integers(0, 2**32 - 1).map(str), st.sampled_from([0, 9003]))
def test_translation_reorders_but_loses_nothing(seed: str, draw: int) -> None:
    """Both of a draw's languages say each word of the tree once; only the order differs."""
    sentence = Writer(generator("test", seed, draw=draw), draw).sentence()
    words = lexicon(draw)
    classes = {
        word: words.target[part][number]
        for part, groups in words.source.items()
        for number, group in enumerate(groups)
        for word in group
    }
    classes |= {word: words.target_function[key] for key, word in words.source_function.items()}
    source, target = in_source(sentence, draw).split(), in_target(sentence, draw).split()
    assert Counter(classes[word] for word in source) == Counter(target)
    assert [classes[word] for word in source] != target


def classes_of(draw: int, part: Part) -> dict[str, int]:
    """The class of each word of one part of speech, in all of a draw's languages."""
    words = lexicon(draw)
    source = {word: number for number, group in enumerate(words.source[part]) for word in group}
    return source | {word: number for number, word in enumerate(words.target[part])}


@pytest.mark.parametrize(
    "name", ["micro-sentiment", "micro-sentiment-plain", "micro-sentiment-across@3019"]
)
@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_sentiment_labels_follow_from_the_text(split: str, name: str) -> None:
    """An oracle that knows the classes reads each label off the words before the copula."""
    _, draw = split_draw(name)
    source, nouns = lexicon(draw).source_function, classes_of(draw, "noun")
    adjectives = classes_of(draw, "adjective")
    for example in getattr(whole(name), split):
        words = example.text.split()
        assert words.pop() == source["is"]
        last_noun = max(place for place, word in enumerate(words) if word in nouns)
        negated, said = False, set()
        for word in words[last_noun + 1 :]:
            if word in adjectives:
                said.add((adjectives[word] % 2 == 0) != negated)
            negated = word == source["not"]
        assert said == {bool(example.label)}


@pytest.mark.parametrize("name", ["micro-verb", "micro-verb@1009"])
def test_a_verb_s_label_is_its_class(name: str) -> None:
    """The one verb of an action is found by the words of its class."""
    verbs = classes_of(split_draw(name)[1], "verb")
    for example in whole(name).train:
        assert [verbs[word] for word in example.text.split() if word in verbs] == [example.label]


@pytest.mark.parametrize(
    "name", ["micro-inference", "micro-inference@1008", "micro-inference-across@1000"]
)
@pytest.mark.parametrize("split", ["train", "test"])
def test_inference_labels_follow_from_the_pair(split: str, name: str) -> None:
    """An oracle that knows the classes finds each label from the two texts alone."""
    _, draw = split_draw(name)
    not_ = lexicon(draw).source_function["not"]
    nouns, adjectives = classes_of(draw, "noun"), classes_of(draw, "adjective")

    def parse(text: str) -> tuple[list[int], list[int], bool]:
        words = text.split()
        found = ([known[word] for word in words if word in known] for known in (nouns, adjectives))
        return *found, not_ in words

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


def test_unlabelled_text_has_every_word_and_begins_the_same() -> None:
    """Classes and synonyms all have positive probability, and one stream writes every count."""
    sentences = unlabelled(20_000)
    assert sentences[:50] == unlabelled(50)
    assert {word for text in sentences for word in text.split()} >= set(synonym_groups())
    assert {share(text) for text in sentences} == {"unlabelled"}
    with pytest.raises(InputError, match="0 sentences or more"):
        unlabelled(-1)
