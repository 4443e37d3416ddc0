"""Real tasks from files: read whole, cut the same for everybody, refused where a row is bad."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from embinit.errors import InputError
from embinit.tasks import TASKS, Cut
from embinit.tokenizers import tokenizer
from embinit.vocabulary import EOS, SPECIAL_WORDS, UNK, Vocabulary

DATA = os.environ.get("EMBINIT_DATA")
real = pytest.mark.skipif(not DATA, reason="EMBINIT_DATA names no directory with real text")


@pytest.fixture
def made(tmp_path):
    (tmp_path / "sst2").mkdir()
    (tmp_path / "multi30k").mkdir()
    for split in ("train", "dev"):
        rows = "".join(f"{number % 2}\tphrase {number}\n" for number in range(20))
        text = "label\tsentence\n" + rows
        (tmp_path / f"sst2/{split}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    for split in ("train", "val", "test_2016_flickr"):
        for side in ("en", "de"):
            text = "".join(f"{split} {side} {number}\n" for number in range(9))
            (tmp_path / f"multi30k/{split}.{side}").write_text(text)
    return tmp_path


def test_rows_become_examples_and_cuts_are_the_same_for_all(made):
    """A cut keeps the file's order and is drawn once."""
    sst2 = TASKS["sst2"]
    splits = sst2.load(made, Cut(train=7, validation=5))
    assert len(splits.train) == 7
    assert splits.train == sst2.load(made, Cut(train=7)).train
    numbers = [int(example.text.split()[1]) for example in splits.train]
    assert numbers == sorted(numbers)
    assert numbers != list(range(7))
    assert all(
        example.label == number % 2 for example, number in zip(splits.train, numbers, strict=True)
    )
    assert splits.test == splits.validation
    assert [example.text for example in splits.test] == [f"phrase {n}" for n in range(5)]
    pair = TASKS["multi30k-de-en"].load(made, Cut()).test[3]
    assert (pair.text, pair.target) == ("test_2016_flickr de 3", "test_2016_flickr en 3")


def test_a_changed_file_changes_the_fingerprint(made):
    """So its runs are trained again."""
    before = TASKS["sst2"].fingerprint(made)
    with gzip.open(made / "sst2/dev.tsv.gz", "at") as file:
        file.write("1\tmore\n")
    assert TASKS["sst2"].fingerprint(made) != before


@pytest.mark.parametrize(
    ("task", "name", "text", "message"),
    [
        ("sst2", "sst2/train.tsv.gz", b"label\tsentence\n2\tx\n", r"train\.tsv\.gz:2: .*0 or 1"),
        ("sst2", "sst2/train.tsv.gz", b"a\tb\n", r"train\.tsv\.gz:1: the header"),
        ("sst2", "sst2/dev.tsv.gz", b"label\tsentence\n1\t\xff\n", r"dev\.tsv\.gz:2: not UTF-8"),
        ("multi30k-en-de", "multi30k/val.de.gz", b"one\n", r"val\.de\.gz:2: the file ends here"),
    ],
)
def test_bad_rows_are_named_by_file_and_line(made, task, name, text, message):
    """The thing, the place and the mend."""
    (made / name).write_bytes(gzip.compress(text))
    with pytest.raises(InputError, match=message):
        TASKS[task].load(made, Cut())


def test_a_missing_file_says_where_to_put_it(tmp_path):
    """Before anything is read: the fingerprint needs the file too."""
    for task in ("sst2", "multi30k-en-de"):
        with pytest.raises(InputError, match=r"put .*into .*--data-dir or EMBINIT_DATA"):
            TASKS[task].fingerprint(tmp_path)


def test_vocabulary_counts_cuts_and_comes_back():
    """At least min_freq, by falling count, ties alphabetical; specials first."""
    sentences = [["b", "a", "c"], ["a", "b"], ["a"]]
    vocabulary = Vocabulary.build(sentences, 2)
    assert vocabulary.words == (*SPECIAL_WORDS, "a", "b")
    assert vocabulary.counts == (0, 0, 0, 0, 0, 3, 2)
    assert vocabulary.encode(["b", "c"]) == [6, UNK]
    assert vocabulary.decode([2, 6, 5, EOS, 5]) == ["b", "a"]
    assert vocabulary.special.tolist() == [True] + [False] * 6


@real
def test_real_sizes_and_the_papers_vocabulary():
    """5,893 English words of Multi30k (the paper's appendix): spaCy, lower-cased, at least 2."""
    sst2 = TASKS["sst2"].load(Path(DATA), Cut())
    assert (len(sst2.train), len(sst2.validation)) == (67349, 872)
    multi30k = TASKS["multi30k-en-de"].load(Path(DATA), Cut())
    assert [len(split) for split in (multi30k.train, multi30k.validation, multi30k.test)] == [
        29000,
        1014,
        1000,
    ]
    words = tokenizer("spacy", "en").tokenize([example.text for example in multi30k.train])
    assert len(Vocabulary.build(words, 2).words) - len(SPECIAL_WORDS) == pytest.approx(5890, abs=15)
