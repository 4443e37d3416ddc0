"""Real tasks from files: read whole, cut the same for everybody, refused where a row is bad."""

from __future__ import annotations

import gzip
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import datasets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embinit.errors import InputError
from embinit.lab.data.preparation import prepare
from embinit.lab.data.tasks import TASKS, Example, rows
from embinit.lab.data.tasks.sentences import HeldOutSentences, sentences
from embinit.lab.data.tokenizers import tokenizer
from embinit.lab.data.vocabulary import EOS, MASK, MASK_WORD, SEP, SPECIAL_WORDS, UNK, Vocabulary
from embinit.lab.specs import Cut, DataSpec

DATA = os.environ.get("EMBINIT_DATA")
real = pytest.mark.skipif(not DATA, reason="EMBINIT_DATA names no directory with real text")


MNLI = "premise\thypothesis\tlabel\n"


def put(root, files):
    """Writes texts, packed where a name ends so, into a data directory."""
    for name, text in files.items():
        path, content = root / name, text if isinstance(text, bytes) else text.encode()
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return root


def numbered(start, count):
    return "".join(f"{start} {number}\n" for number in range(count))


@pytest.fixture
def made(tmp_path):
    """A data directory: whole SST-2 and Multi30k, subsets of MNLI and IWSLT2017."""
    phrases = "".join(f"{number % 2}\tphrase {number}\n" for number in range(20))
    rows = 'the "cat" sat\ta cat sat\tentailment\nit ran\tit did\'nt\tcontradiction\n'
    files = {f"sst2/{split}.tsv.gz": "label\tsentence\n" + phrases for split in ("train", "dev")}
    files |= {f"mnli/{split}_subset.tsv.gz": MNLI + rows for split in ("train", "dev_matched")}
    files["mnli/dev_mismatched_textfooler.tsv"] = "1\ta man eats .\ta cook .\n"
    for side in ("en", "de"):
        for split in ("train", "val", "test_2016_flickr"):
            files[f"multi30k/{split}.{side}"] = numbered(f"{split} {side}", 9)
        for split in ("train_subset", "validation", "test"):
            files[f"iwslt2017/{split}.{side}.gz"] = numbered(f"{split} {side}", 5)
    return put(tmp_path, files)


def test_rows_become_examples_and_cuts_are_the_same_for_all(made):
    """A cut keeps the file's order and is drawn once."""
    sst2 = TASKS["sst2"]
    splits = sst2.load(made, Cut(train=7, validation=5))
    assert splits.train == sst2.load(made, Cut(train=7)).train
    numbers = [int(example.text.split()[1]) for example in splits.train]
    assert len(numbers) == 7
    assert numbers == sorted(numbers)
    assert numbers != list(range(7))
    assert [example.label for example in splits.train] == [number % 2 for number in numbers]
    assert splits.test == splits.validation
    assert [example.text for example in splits.test] == [f"phrase {n}" for n in range(5)]
    pair = TASKS["multi30k-de-en"].load(made, Cut()).test[3]
    assert (pair.text, pair.target) == ("test_2016_flickr de 3", "test_2016_flickr en 3")


@pytest.mark.parametrize(
    ("task", "name", "text", "message"),
    [
        ("sst2", "sst2/train.tsv.gz", "label\tsentence\n2\tx\n", r"train\.tsv\.gz:2: .*0 or 1"),
        ("sst2", "sst2/train.tsv.gz", "a\tb\n", r"train\.tsv\.gz:1: the header"),
        ("sst2", "sst2/dev.tsv.gz", b"label\tsentence\n1\t\xff\n", r"dev\.tsv\.gz:2: not UTF-8"),
        ("multi30k-en-de", "multi30k/val.de.gz", "one\n", r"val\.de\.gz:2: the file ends here"),
        ("mnli", "mnli/dev_matched.tsv.gz", MNLI + "a\tb\t-\n", r":2: the label is '-', not ent"),
        ("mnli", "mnli/train.tsv.gz", MNLI + "a\t\tneutral\n", r":2: 'a.*does not fill"),
        ("mnli", "mnli/dev_mismatched_textfooler.tsv.gz", "0\ta\n", r"er\.tsv\.gz:1: .*not fill"),
    ],
)
def test_bad_rows_are_named_by_file_and_line(made, task, name, text, message):
    with pytest.raises(InputError, match=message):
        TASKS[task].load(put(made, {name: text}), Cut())


def test_a_missing_file_says_where_to_put_it(tmp_path):
    """Before anything is read: the fingerprint needs the file too."""
    for task in ("sst2", "multi30k-en-de", "mnli", "iwslt2017-en-de"):
        with pytest.raises(InputError, match=r"put .*into .*--embinit-data-dir or EMBINIT_DATA"):
            TASKS[task].fingerprint(tmp_path)


def test_a_part_is_refused_where_the_whole_is_wanted(made):
    whole = DataSpec("mnli", ("whitespace",), Cut(), 1, whole=Cut(train=2, test=1))
    assert len(prepare(whole, made).train) == 2
    with pytest.raises(InputError, match=r"mnli's train split has 2 examples, where .* 3 or more"):
        prepare(replace(whole, whole=Cut(train=3)), made)


def test_subsets_stand_in_until_the_whole_is_there(made):
    """Each file by itself, but both languages of a split together."""
    mnli, iwslt = TASKS["mnli"], TASKS["iwslt2017-de-en"]
    splits = mnli.load(made, Cut())
    rows = [('the "cat" sat', "a cat sat", 0), ("it ran", "it did'nt", 2)]
    assert splits.train == splits.validation == [Example(a, b, label=label) for a, b, label in rows]
    assert splits.test == [Example("a man eats .", "a cook .", label=1)]
    before = mnli.fingerprint(made)
    put(made, {"mnli/dev_mismatched.tsv.gz": MNLI + "a\tb\tneutral\n"})
    assert mnli.load(made, Cut()).test == [Example("a", "b", label=1)]
    assert mnli.fingerprint(made) != before

    part = Example("train_subset de 2", target="train_subset en 2")
    assert iwslt.load(made, Cut()).train[2] == part
    (made / "iwslt2017/train.en").write_text("whole en\n")
    missing = r"train split \(de\) is missing: put iwslt2017/train\.de\.gz"
    with pytest.raises(InputError, match=missing):
        iwslt.fingerprint(made)
    (made / "iwslt2017/train.de").write_text("whole de\n")
    assert iwslt.load(made, Cut()).train == [Example("whole de", target="whole en")]
    [other_way] = TASKS["iwslt2017-en-de"].load(made, Cut(test=1)).test
    assert other_way == Example("test en 0", target="test de 0")


def test_glues_own_files_are_read_by_their_header(made):
    """Many columns; a training row without a gold label is left out."""
    header = "index\tgenre\tsentence1_parse\tsentence1\tsentence2\tlabel1\tgold_label\n"
    text = "0\tfiction\t( a )\ta\tb\tneutral\tcontradiction\n1\tfiction\t( c )\tc\td\tneutral\t-\n"
    put(made, {"mnli/train.tsv": header + text, "sst2/train.tsv.gz": "sentence\tlabel\nfine\t1\n"})
    assert TASKS["mnli"].load(made, Cut()).train == [Example("a", "b", label=2)]
    assert TASKS["sst2"].load(made, Cut()).train == [Example("fine", label=1)]


LINES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=8)


@settings(max_examples=50)
@given(
    pairs=st.lists(st.tuples(LINES, LINES | st.sampled_from(["", " ", "\u2028"]))),
    end=st.sampled_from(["", ".gz"]),
)
def test_parallel_text_comes_back_without_its_blank_pairs(pairs, end):
    """A pair with a blank side goes on both sides; nothing else is lost, moved or changed."""
    with tempfile.TemporaryDirectory() as name:
        for side, texts in (("de", [a for a, _ in pairs]), ("en", [b for _, b in pairs])):
            content = "".join(f"{text}\n" for text in texts)
            splits = ("train", "validation", "test")
            put(Path(name), {f"iwslt2017/{split}.{side}{end}": content for split in splits})
        kept = [pair for pair in pairs if all(map(str.strip, pair))]
        if not kept:
            with pytest.raises(InputError, match=r"train\.de.* has no example"):
                TASKS["iwslt2017-de-en"].load(Path(name), Cut())
            return
        there = TASKS["iwslt2017-de-en"].load(Path(name), Cut())
        back = TASKS["iwslt2017-en-de"].load(Path(name), Cut())
    for split in (there.train, there.validation, there.test):
        assert [(example.text, example.target) for example in split] == kept
    assert [(example.target, example.text) for example in back.test] == kept


def hub_of(monkeypatch, content):
    """The calls of a ``load_dataset`` that gives the rows of ``content`` by split."""
    calls = []

    def load_dataset(name, config=None, *, split, data_dir=None, revision=None):
        calls.append((name, config, data_dir, revision, split))
        return datasets.Dataset.from_list(content[split])

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(rows, "hub_reachable", lambda: True)
    return calls


def test_mnli_from_the_hub(monkeypatch):
    """Numbers for labels; -1, no label, is left out of training and an error elsewhere."""
    row = {"premise": "a", "hypothesis": "b", "label": 1, "idx": 0}
    bare = row | {"label": -1}
    content = {
        "train": [bare, row],
        "validation_matched": [row | {"premise": "matched", "label": 0}],
        "validation_mismatched": [row | {"premise": "mismatched", "label": 2}],
    }
    calls = hub_of(monkeypatch, content)
    splits = TASKS["mnli"].load(None, Cut())
    assert splits.train == [Example("a", "b", label=1)]
    assert splits.validation == [Example("matched", "b", label=0)]
    assert splits.test == [Example("mismatched", "b", label=2)]
    assert sorted(calls) == [("nyu-mll/glue", "mnli", None, None, split) for split in content]
    content["validation_mismatched"].append(bare)
    place = r"nyu-mll/glue/mnli, split validation_mismatched, row 1: .*'-1'"
    with pytest.raises(InputError, match=place):
        TASKS["mnli"].load(None, Cut())


PARQUET = ("IWSLT/iwslt2017", None, "iwslt2017-de-en", "refs/convert/parquet")
PAIR = {"translation": {"de": "a", "en": "b"}}


@pytest.mark.parametrize(
    ("task", "row", "example", "places"),
    [
        ("multi30k-en-de", {"en": "a", "de": "b"}, Example("a", target="b"),
         {("bentrevett/multi30k", None, None, None)}),
        ("iwslt2017-de-en", PAIR, Example("a", target="b"), {PARQUET}),
        ("iwslt2017-en-de", PAIR, Example("b", target="a"), {PARQUET}),
        ("sst2", {"idx": 0, "sentence": "a", "label": 1}, Example("a", label=1),
         {("stanfordnlp/sst2", None, None, None)}),
        ("xnli", {"premise": "a", "hypothesis": "b", "label": 1}, Example("a", "b", label=1),
         {("facebook/xnli", language, None, None) for language in ("en", "de")}),
    ],
)  # fmt: skip
def test_rows_from_the_hub(monkeypatch, task, row, example, places):
    """XNLI alone is tested in another language, German."""
    calls = hub_of(monkeypatch, {split: [row] for split in ("train", "validation", "test")})
    loaded = TASKS[task].load(None, Cut())
    assert loaded.train == loaded.validation == loaded.test == [example]
    assert {call[:4] for call in calls} == places
    german = {split for _, language, *_, split in calls if language == "de"}
    assert german == ({"test"} if task == "xnli" else set())


def test_the_place_on_the_hub_is_the_fingerprint():
    """As it always was for those that a name suffices for: runs in a store stay good."""
    assert TASKS["sst2"].fingerprint(None) == "stanfordnlp/sst2"
    assert TASKS["xnli"].fingerprint(None) == "facebook/xnli/en/facebook/xnli/de"
    assert TASKS["multi30k-en-de"].fingerprint(None) == "bentrevett/multi30k"
    assert TASKS["mnli"].fingerprint(None) == "nyu-mll/glue/mnli"
    assert TASKS["iwslt2017-de-en"].fingerprint(None).startswith("IWSLT/iwslt2017/iwslt2017-de-en/")


def test_vocabulary_counts_cuts_and_comes_back():
    """At least min_freq, by falling count, ties alphabetical; specials first."""
    sentences = [["b", "a", "c"], ["a", "b"], ["a"]]
    vocabulary = Vocabulary.build(sentences, 2)
    assert vocabulary.words == (*SPECIAL_WORDS, "a", "b")
    assert vocabulary.counts == (0, 0, 0, 0, 0, 3, 2)
    assert vocabulary.encode(["b", "c"]) == [6, UNK]
    assert vocabulary.decode([2, 6, 5, EOS, 5]) == ["b", "a"]
    assert vocabulary.special.tolist() == [True] + [False] * 6


def reviews(root, rows):
    """A data directory with these rows of SST-2's training text, and one to validate on."""
    text = "".join(f"{label}\t{phrase}\n" for phrase, label in rows)
    start = "label\tsentence\n"
    return put(root, {"sst2/train.tsv": start + text, "sst2/dev.tsv": f"{start}1\tworth it .\n"})


words = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=7).map(" ".join)


@given(st.lists(words, min_size=1, max_size=25))
def test_sentences_are_the_phrases_that_are_no_part_of_another(phrases):
    """Held against Python's own search for a text within a text."""

    def part(one, other):
        return one != other and f" {one} " in f" {other} "

    found = sentences(phrases)
    assert set(found) == {one for one in phrases if not any(part(one, other) for other in phrases)}
    for whole, parts in found.items():
        assert parts == {one for one in phrases if part(one, whole)}


@given(st.lists(words, min_size=2, max_size=25), st.integers(1, 4))
def test_no_sentence_to_judge_by_was_trained_on(tmp_path_factory, phrases, held_out):
    """What is trained on is a sentence that was not moved, or a part of one; no other is lost."""
    labels = {phrase: number % 2 for number, phrase in enumerate(phrases)}
    home = reviews(tmp_path_factory.mktemp("sst2"), [(one, labels[one]) for one in phrases])
    task = HeldOutSentences("some", "sst2", held_out)
    whole = sentences(phrases)
    if len(whole) <= held_out:
        with pytest.raises(InputError, match=f"has {len(whole)} sentences, and some holds"):
            task.load(home, Cut())
        return
    splits = task.load(home, Cut())
    moved = [example.text for example in splits.validation[1:]]
    assert splits.validation[0] == Example("worth it .", label=1)
    assert len(set(moved)) == len(moved) == held_out
    assert set(moved) <= set(whole)
    left = set(whole) - set(moved)
    trained = [one for one in phrases if one in left or any(one in whole[text] for text in left)]
    assert splits.train == [Example(one, label=labels[one]) for one in trained]
    assert all(example.label == labels[example.text] for example in splits.validation[1:])
    assert splits.test == splits.validation
    assert len(task.load(home, Cut(train=1, validation=1)).train) == 1
    assert task.load(home, Cut(validation=1)).validation == splits.validation[:1]


def test_the_held_out_sentences_have_a_fingerprint_of_their_own(made):
    three, four = (HeldOutSentences("some", "sst2", number) for number in (3, 4))
    assert (three.classes, three.languages) == (2, TASKS["sst2"].languages)
    before = three.fingerprint(made)
    assert before not in (four.fingerprint(made), TASKS["sst2"].fingerprint(made))
    with gzip.open(made / "sst2/train.tsv.gz", "at") as file:
        file.write("1\tone more\n")
    assert three.fingerprint(made) != before


@real
def test_real_sizes_and_the_papers_vocabulary():
    """5,893 English words of Multi30k (the paper's appendix): spaCy, lower-cased, at least 2."""

    def sizes(task, cut=None):
        splits = TASKS[task].load(Path(DATA), cut or Cut())
        return len(splits.train), len(splits.validation), len(splits.test)

    assert sizes("sst2")[:2] == (67349, 872)
    assert sizes("sst2-sentences", Cut(train=30_000))[:2] == (30_000, 3872)
    assert sizes("multi30k-en-de") == (29000, 1014, 1000)
    whole = ("mnli/train.tsv.gz", "iwslt2017/train.de.gz")
    if not any((Path(DATA) / name).exists() for name in whole):
        assert sizes("mnli") == (9888, 6238, 1000)
        assert sizes("iwslt2017-de-en") == sizes("iwslt2017-en-de") == (7283, 888, 8079)
    multi30k = TASKS["multi30k-en-de"].load(Path(DATA), Cut())
    words = tokenizer("spacy", "en")([example.text for example in multi30k.train])
    assert len(Vocabulary.build(words, 2).words) - len(SPECIAL_WORDS) == pytest.approx(5890, abs=15)


@pytest.fixture
def wikipedia(made):
    """The data directory with paragraphs of both Wikipedias too."""
    files = {"wikipedia/train.en": "one\n\ntwo two\n", "wikipedia/train.de.gz": "drei\n"}
    return put(made, files)


def test_paragraphs_come_with_pairs_to_retrieve(wikipedia, monkeypatch):
    task = TASKS["wikipedia-en-de"]
    splits = task.load(wikipedia, Cut(test=2))
    there = [(one.text, one.target) for one in splits.train]
    assert there == [("one", ""), ("two two", ""), ("", "drei")]
    assert len(splits.validation) == 5
    assert [one.target for one in splits.test] == ["test de 0", "test de 1"]
    cut = task.load(wikipedia, Cut(train=2)).train
    assert len(cut) == 2
    assert cut == task.load(wikipedia, Cut(train=2)).train
    for name in ("wikipedia/train.de.gz", "iwslt2017/validation.de.gz"):
        before = task.fingerprint(wikipedia)
        assert task.fingerprint(put(wikipedia, {name: "anders\n" * 5})) != before
    (wikipedia / "wikipedia/train.de.gz").unlink()
    with pytest.raises(InputError, match=r"Wikipedia \(de\)"):
        task.fingerprint(wikipedia)
    calls = hub_of(monkeypatch, {"train": [{"text": "a\n\nb"}]})
    assert len(TASKS["wikipedia"].load(None, Cut(train=3)).train) == 3
    assert [call[:2] for call in calls] == [
        ("wikimedia/wikipedia", "20231101.en"),
        ("wikimedia/wikipedia", "20231101.de"),
    ]


def test_text_is_pooled_over_languages_and_read_side_by_side(wikipedia):
    """One vocabulary has all words and a mask, also that of a task that is fine-tuned on."""
    spec = DataSpec("wikipedia-en-de", ("whitespace",) * 2, Cut(), min_freq=1, most_words=9)
    data = prepare(spec, wikipedia)
    vocabulary = data.vocabularies["encoder"]
    assert set(data.vocabularies) == {"encoder"}
    assert vocabulary.words == (*SPECIAL_WORDS, MASK_WORD, "two", "drei", "one")
    assert vocabulary.words[MASK] == MASK_WORD
    words = [vocabulary.decode(row) for row in data.train.inputs.tolist()]
    assert words == [["one"], ["two", "two"], ["drei"]]
    assert len(data.test) == 10
    labelled = replace(spec, task="sst2", tokenizers=("whitespace",), vocabulary=spec)
    assert prepare(labelled, wikipedia).vocabularies["encoder"] == vocabulary


def test_text_to_pre_train_on_holds_no_task_s_examples():
    """Shares keep those in the source language apart, by which they are dealt out."""
    text = TASKS["micro-two-languages"].load(None, Cut())
    read = {side for one in text.train for side in (one.text, one.pair)} - {""}
    for task in ("micro-sentiment-across", "micro-inference-across", "micro-verb"):
        splits = TASKS[task].load(None, Cut())
        assert read.isdisjoint(one.text for one in (*splits.train, *splits.validation))
    assert read.isdisjoint(one.text for one in (*text.validation, *text.test))


def test_a_separator_stands_only_between_two_segments():
    """A text whose examples have a pair now and then, in every second text."""
    data = DataSpec("micro-two-languages", ("whitespace", "whitespace"), Cut(200), 1, 32)
    examples = TASKS[data.task].load(None, data.cut).train
    ids = prepare(data, None).train.inputs
    separators = sum((row == SEP).sum().item() for row in ids)
    assert separators == sum(bool(one.pair) for one in examples[::2]) > 0
