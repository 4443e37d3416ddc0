"""``embtables compare``: a user's files in, the best starts out."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from embinit.errors import InputError
from embinit.lab.specs import Cut
from embtables.cli import main
from embtables.compare import ComparedStart, Comparison, Settings, compare, load_schema
from embtables.compare.arms import MOST_WIDE, _heads, arms_of, open_vectors
from embtables.compare.terminal import as_text
from embtables.comparison_page import render_comparison
from embtables.given import GivenLabels, GivenPairs

GOOD = [f"good{number}" for number in range(20)]
BAD = [f"bad{number}" for number in range(20)]
OTHER = [f"word{number}" for number in range(10)]
TINY = Settings(feed_forward=16, epochs=2, batch_size=16, lr=3e-3, tokenizer="whitespace")


def sentences(rows: int) -> list[tuple[str, str]]:
    """Made opinions: which of two classes the first word is of decides the label."""
    draw = random.Random(0)
    told = []
    for number in range(rows):
        label = "yes" if draw.random() < 0.5 else "no"
        first = draw.choice(GOOD if label == "yes" else BAD)
        told.append((f"{first} {draw.choice(OTHER)} {number}", label))
    return told


def task_file(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    """Writes a row a line, with tabs between its fields."""
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def task(tmp_path):
    return task_file(tmp_path / "opinions.tsv", sentences(400))


@pytest.fixture
def vectors(tmp_path):
    """Vectors in which words of a class are near each other."""
    draw = random.Random(1)
    lines = []
    for sign, words in ((1.0, GOOD), (-1.0, BAD), (0.0, OTHER)):
        for word in words:
            numbers = [sign + draw.gauss(0, 0.3), *(draw.gauss(0, 0.3) for _ in range(15))]
            lines.append(" ".join([word, *(f"{number:.4f}" for number in numbers)]))
    path = tmp_path / "words.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_it_tells_the_starts_apart_and_goes_on_from_its_store(tmp_path, task, vectors):
    """Vectors that hold the labels win; the same comparison again trains nothing."""
    told: list[str] = []

    def again(seeds):
        return compare(
            GivenLabels(task),
            [str(vectors)],
            settings=replace(TINY, epochs=1, lr=2e-3),
            store=tmp_path / "store",
            max_seeds=seeds,
            helpers=False,
            tell=told.append,
        )

    first = again(5)
    assert first.runs == 30
    assert first.candidates[0].label == first.use
    assert {(start.init, start.attention) for start in first.starts} == set(
        itertools.product(("xavier", "pretrained", "pretrained_xavier"), ("plain", "rotary"))
    )
    assert not any(start.candidate for start in first.starts if start.init == "xavier")
    jsonschema.validate(json.loads(first.as_json()), load_schema())
    text = as_text(first)
    assert all(start.label in text for start in first.starts)
    assert "at most 5 %" in text
    assert "note  rotary: attention turns queries and keys" in text
    before = {path.name for path in (tmp_path / "store/runs").glob("*/*.json")}
    second = again(5)
    assert [start.scores for start in second.starts] == [start.scores for start in first.starts]
    assert {path.name for path in (tmp_path / "store/runs").glob("*/*.json")} == before


def test_the_command_writes_json_and_a_page(tmp_path, task, vectors, capsys):
    """Without Python: files in, a table on the terminal, a document and a page beside it."""
    status = main(
        [
            *("compare", "--task", str(task), "--vectors", str(vectors), "--max-seeds", "5"),
            *("--inits", "xavier", "pretrained@0.05", "--epochs", "1", "--rows", "100"),
            *("--tokenizer", "whitespace", "--store", str(tmp_path / "store")),
            *("--attention", "plain"),
            *("--json", str(tmp_path / "out.json"), "--html", str(tmp_path / "out.html")),
        ]
    )
    assert status == 0
    out = capsys.readouterr().out
    assert "words at sigma 0.05" in out
    assert "rotary" not in out
    document = json.loads((tmp_path / "out.json").read_text())
    jsonschema.validate(document, load_schema())
    assert document["examples"]["train"] == 100
    page = (tmp_path / "out.html").read_text()
    assert all(start["label"] in page for start in document["starts"])
    assert "<script" not in page


def test_a_text_is_never_in_two_splits(tmp_path):
    """Repeated rows would let a model know its test; the order of the rows says nothing."""
    rows = [(f"text {number % 150}", "ab"[number % 2]) for number in range(600)]
    forwards = GivenLabels(task_file(tmp_path / "a.tsv", rows)).load(None, Cut())
    backwards = GivenLabels(task_file(tmp_path / "b.tsv", rows[::-1])).load(None, Cut())
    splits = [
        {each.text for each in split}
        for split in (forwards.train, forwards.validation, forwards.test)
    ]
    assert not splits[0] & splits[1]
    assert not splits[0] & splits[2]
    assert not splits[1] & splits[2]
    assert sum(map(len, splits)) == 150
    assert splits[2] == {each.text for each in backwards.test}
    other = GivenLabels(task_file(tmp_path / "a.tsv", rows), seed=1)
    assert splits[2] != {each.text for each in other.load(None, Cut()).test}


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_read_as_programs_write_it(tmp_path, ending, mark, packed):
    """A byte order mark, Windows' line ends and gzip change nothing."""
    rows = [("label", "sentence"), *((label, text) for text, label in sentences(200))]
    content = (mark + ending.join("\t".join(row) for row in rows)).encode()
    path = tmp_path / ("a.tsv.gz" if packed else "a.tsv")
    path.write_bytes(gzip.compress(content) if packed else content)
    task = GivenLabels(path)
    assert task.labels == ("no", "yes")
    splits = task.load(None, Cut())
    texts = [e.text for s in (splits.train, splits.validation, splits.test) for e in s]
    assert sorted(texts) == sorted(text for text, _ in sentences(200))


def test_pairs_of_texts_are_read(tmp_path):
    """Three columns are two texts and a label."""
    rows = [(f"first {n}", f"second {n}", "ab"[n % 2]) for n in range(300)]
    splits = GivenLabels(task_file(tmp_path / "a.tsv", rows)).load(None, Cut())
    assert all(e.pair == e.text.replace("first", "second") for e in splits.train)


def test_parallel_files_are_read(tmp_path):
    """Lines belong together by their number; a pair with a blank side is left out."""
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("".join(f"word {n}\n" for n in range(300)))
    target.write_text("".join(f"Wort {n}\n" if n else "\n" for n in range(300)))
    splits = GivenPairs(source, target=target, target_language="de").load(None, Cut())
    every = [*splits.train, *splits.validation, *splits.test]
    assert len(every) == 299
    assert all(e.target == e.text.replace("word", "Wort") for e in every)


ROWS = [(f"text {number}", "ab"[number % 2]) for number in range(200)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"label\tsentence\n", "a header and no rows"),
        (b"no tab here\n" * 200, "0 tabs"),
        (b"".join(b"text %d\ta\n" % n for n in range(200)), "nothing to learn"),
        (b"".join(b"a\ttext %d\n" % n for n in range(200)), "200 different labels"),
        (b"".join(b"text %d\t%d\n" % (n, n % 2) for n in range(50)), "50 examples"),
        (b"text\ta\n" * 50 + b"text\n" + b"text\tb\n" * 50, "a.tsv:51"),
        (b"text\ta\n\xff\xfe\tb\n", "a.tsv:2: not UTF-8"),
        (b"text\ta\nte\0xt\tb\n", "zero byte"),
        (b"same\ta\n" * 100 + b"same\tb\n" * 100, "split has"),
    ],
)
def test_a_bad_task_is_one_clear_error(tmp_path, content, says, capsys):
    """The error has the file, perhaps the line, and the mend; nothing trains."""
    path = tmp_path / "a.tsv"
    path.write_bytes(content)
    given = ["--inits", "xavier", "normal", "--tokenizer", "whitespace"]
    status = main(["compare", "--task", str(path), *given, "--store", str(tmp_path / "store")])
    error = capsys.readouterr().err.splitlines()[-1]
    assert status == 4
    assert says in error
    assert "a.tsv" in error


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--inits", "xavier", "pretrained"], "needs vectors"),
        (["--inits", "xavier", "--attention", "plain"], "nothing to compare it with"),
        (["--inits", "xavier", "normal@wide"], "is no sigma"),
        (["--inits", "xavier", "xaver"], "unknown init"),
        (["--vectors", "missing.txt"], "doesn't exist"),
        (["--max-seeds", "3", "--inits", "xavier", "normal"], "at most 3 seeds"),
        (["--error", "2", "--inits", "xavier", "normal"], "an error of 2"),
        (["--epochs", "0"], "--epochs 0"),
        (["--minutes", "-1"], "--minutes"),
        (["--test-target", "x"], "go with --target"),
    ],
)
def test_bad_options_are_one_clear_error(tmp_path, task, arguments, says, capsys):
    """Before anything trains."""
    common = ["--tokenizer", "whitespace", "--store", str(tmp_path / "store")]
    assert main(["compare", "--task", str(task), *common, *arguments]) == 4
    assert says in capsys.readouterr().err


def test_vectors_of_another_language_are_refused(tmp_path, task):
    """Where hardly any word has a vector, all starts would be noise."""
    path = tmp_path / "fr.txt"
    path.write_text("".join(f"mot{n} 1 2 3 {n}\n" for n in range(50)) + "word1 1 2 3 4\n")
    with pytest.raises(InputError, match=r"vectors for \d+ % of the text's words.*language"):
        compare(GivenLabels(task), [str(path)], settings=TINY, store=tmp_path / "store")


def test_each_width_has_its_own_xavier(tmp_path, task, vectors):
    """A start without vectors is held against those of its own width and tokenizer."""
    wide = tmp_path / "wide.txt"
    wide.write_text("".join(f"{word} " + "0.5 1 " * 16 + "0\n" for word in GOOD + OTHER))
    given = GivenLabels(task)
    opened = open_vectors([str(vectors), str(wide)], "en", TINY)
    once = replace(TINY, attention=("plain",))
    starts = arms_of(given, opened, ("xavier", "pretrained"), once)
    assert [(start.label, start.spec.recipe.model.dim) for start in starts] == [
        ("Xavier (16 wide, words)", 16),
        ("Xavier (33 wide, words)", 33),
        ("words", 16),
        ("wide", 33),
    ]


def test_every_start_is_compared_with_each_attention_that_was_asked_for(task, vectors):
    """And nothing else of its run is another one; one attention alone needs no name."""
    given = GivenLabels(task)
    opened = open_vectors([str(vectors)], "en", TINY)

    def starts(*attention):
        inits = ("xavier", "pretrained")
        return arms_of(given, opened, inits, replace(TINY, attention=attention))

    plain, rotary, both = starts("plain"), starts("rotary"), starts("plain", "rotary")
    assert [start.spec for start in both] == [start.spec for start in (*plain, *rotary)]
    assert [start.label for start in plain] == [start.label for start in rotary]
    assert [start.label for start in both] == [
        *(start.label for start in plain),
        *(f"{start.label} + rotary" for start in plain),
    ]
    for start, turned in zip(plain, rotary, strict=True):
        assert (start.attention, turned.attention) == ("plain", "rotary")
        model = replace(start.spec.recipe.model, attention="rotary")
        assert turned.spec == start.spec.changed(model=model) != start.spec
    for start, apart in zip(plain, starts("untied"), strict=True):
        model = replace(start.spec.recipe.model, attention="untied")
        positions = replace(start.spec.recipe.positions, kind="none")
        assert apart.spec == start.spec.changed(model=model, positions=positions)
    assert starts("plain", "plain") == plain
    assert all(start.turns for start in both)
    with pytest.raises(InputError, match="did you mean 'rotary'"):
        starts("rotray")
    with pytest.raises(InputError, match="give kinds, such as"):
        arms_of(given, opened, ["xavier"], replace(TINY, attention="rotary"))


def test_starts_of_an_odd_width_have_no_rotary_positions(tmp_path, task):
    """Published vectors may have 25 dimensions: they are compared, and a note says without what."""
    odd = tmp_path / "odd.txt"
    odd.write_text("".join(f"{word} " + "0.5 1 2 " * 5 + "\n" for word in GOOD + OTHER))
    found = compare(
        GivenLabels(task),
        [str(odd)],
        ("xavier", "pretrained"),
        settings=TINY,
        store=tmp_path / "store",
        max_seeds=5,
        helpers=False,
    )
    assert [start.attention for start in found.starts] == ["plain", "plain"]
    assert f"{odd} has an odd width, 15, and is not compared with rotary positions." in found.notes
    alone = replace(TINY, attention=("rotary",))
    opened = open_vectors([str(odd)], "en", alone)
    with pytest.raises(InputError, match="even width, which no start has"):
        arms_of(GivenLabels(task), opened, ("xavier", "pretrained"), alone)


def test_heads_of_an_even_width_are_even():
    """So that rotary positions can turn them; they divide the width, and none is a sliver."""
    for dim in range(1, MOST_WIDE + 1):
        heads = _heads(dim)
        assert dim % heads == 0
        assert dim % 2 or dim // heads % 2 == 0
        assert dim // heads >= min(dim, 8)


def test_vectors_of_usual_widths_have_usual_heads():
    """From GloVe's 50 dimensions to the 1,024 of large models."""
    widths = {50: 1, 64: 1, 100: 2, 128: 2, 200: 4, 300: 6, 384: 8, 512: 8, 768: 16, 1024: 16}
    assert {dim: _heads(dim) for dim in widths} == widths


def test_a_budget_of_time_ends_the_looks(tmp_path, task):
    """The first look is made, and no further one that would pass the minutes."""
    found = compare(
        GivenLabels(task),
        inits=("xavier", "normal"),
        settings=Settings(
            feed_forward=16, epochs=1, most_train=60, most_held_out=30, tokenizer="whitespace"
        ),
        store=tmp_path / "store",
        within=0.0,
        minutes=1e-6,
        helpers=False,
    )
    assert found.looks == 1
    assert "minutes" in found.stopped


def a_start(label: str, mean: float, low: float, high: float, out: bool = False):
    """A start whose cost has been bounded so."""
    return ComparedStart(
        *(label, "xavier", "plain", None, 0.05, None, (mean,) * 5),
        *(mean, 1.0, low, high, not out, 5 if out else None, 0, None),
    )


def a_comparison(*starts: ComparedStart, use: str | None, guessing: float, classes: int = 2):
    """A comparison of these, on a task where guessing scores so."""
    return Comparison(
        task="phrases",
        kind="classification" if classes else "translation",
        examples={"train": 400, "validation": 60, "test": 120},
        classes=classes,
        guessing=guessing,
        metric="accuracy",
        unit="% accuracy" if classes else "BLEU",
        alpha=0.05,
        within=1.0,
        looks=1,
        seeds=5,
        runs=10,
        starts=starts,
        use=use,
        settled=False,
        stopped="a further look would take 10 seeds, and 5 are the most",
        notes=(),
        settings={},
        seconds=1.0,
    )


def everywhere(found: Comparison) -> list[str]:
    """What the terminal, the page and the document say."""
    document = json.loads(found.as_json())
    jsonschema.validate(document, load_schema())
    page = render_comparison(document)
    return [" ".join(each.split()) for each in (as_text(found), page, document["verdict"])]


@pytest.mark.parametrize(("mean", "guessing", "classes"), [(53.0, 56.5, 2), (0.4, 0.0, 0)])
def test_models_that_learnt_nothing_recommend_no_start(mean, guessing, classes):
    """What scores as guessing does says nothing of starts, whatever the order of the means."""
    starts = a_start("mine", mean, 0.0, 8.0), a_start("other", mean - 3, 1.0, 9.0)
    found = a_comparison(*starts, use=None, guessing=guessing, classes=classes)
    for said in everywhere(found):
        assert "Nothing can be said" in said
        assert "learn nothing here" in said
        assert "Use " not in said


def test_where_nothing_is_decided_no_start_is_recommended():
    """The best mean of starts that may all be the best is chance."""
    starts = a_start("mine", 73.0, 0.0, 8.0), a_start("other", 72.0, 0.0, 9.04)
    for said in everywhere(a_comparison(*starts, use=None, guessing=50.0)):
        assert "Nothing is decided: any of these 2 starts may be the best" in said
        assert "up to 9.0" in said
        assert "Use " not in said


def test_a_cost_above_nothing_is_not_rounded_to_nothing():
    """Ruled out at a cost of 0.0 would be two statements."""
    starts = a_start("mine", 73.0, 0.0, 2.0), a_start("other", 70.0, 0.0, 9.0, out=True)
    for said in everywhere(a_comparison(*starts, use="mine", guessing=50.0))[:2]:
        assert "above 0 to 9.0" in said
        assert "0.0 to 9.0" not in said


def test_a_task_of_noise_recommends_nothing(tmp_path):
    """From labels drawn by lot the small models learn nothing, and the command says so."""
    draw = random.Random(3)
    rows = [(f"{draw.choice(OTHER)} {number}", draw.choice(["a", "b"])) for number in range(300)]
    found = compare(
        GivenLabels(task_file(tmp_path / "noise.tsv", rows)),
        inits=("xavier", "normal"),
        settings=replace(TINY, epochs=1, attention=("plain",)),
        store=tmp_path / "store",
        max_seeds=5,
        helpers=False,
    )
    assert found.use is None
    assert found.verdict.startswith("Nothing")
