"""Data draws: languages that differ in all that is drawn, with a number and tables of their own."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_experiment, set_apart
from embinit.claims import Family, claim
from embinit.claims.judging import read as read_claim
from embinit.claims.lock import Lock, difference_key
from embinit.claims.registration_status import difference, frozen, registration_record
from embinit.claims.roles import Role
from embinit.errors import InputError, Status
from embinit.lab.data.microcosm.draws import CLAIMING, REGISTERING, SETS, draw_set
from embinit.lab.data.microcosm.lexicon import (
    SOURCE_LANGUAGE,
    TARGET_LANGUAGE,
    language_digest,
    lexicon,
    synonym_groups,
)
from embinit.lab.data.microcosm.writer import unlabelled
from embinit.lab.data.sources import SOURCES, microcosm
from embinit.lab.data.sources.assets import load_table, save_table
from embinit.lab.data.sources.microcosm import TABLES, MicrocosmSource, table_path
from embinit.lab.data.sources.opening import NamedSource
from embinit.lab.data.tasks import TASKS
from embinit.lab.data.tasks import microcosm as tasks
from embinit.lab.draws import at_draw, split_draw
from embinit.lab.evaluation.analogies import EVALUATIONS, evaluate
from embinit.lab.evaluation.analogies import check as check_evaluation
from embinit.lab.experiments import ModelExperiment, draws_named
from embinit.lab.pytest_hooks import pytest_embinit_experiment
from embinit.lab.specs import Cut, recipe_of
from embinit.lab.table_pretraining import runs as table_runs
from embinit.lab.table_pretraining.__main__ import main
from embinit.lab.table_pretraining.corpus import Corpus
from embinit.lab.tables import initial_tables
from embinit.runs.kinds import Making
from embinit.runs.session import Session
from embinit.runs.store import Store, key_of
from embinit.specs import canonical
from embinit_papers import chung2021
from embinit_papers.kim2024.experiments import experiments, probes
from embinit_papers.settings import CLAIMS_FROM
from embinit_papers.test_suite import FIRST_SEED
from embinit_studies.table_pretraining import pretrainings

draws = st.integers(1, 999_999_999)
FREE = 9003


@pytest.fixture(autouse=True)
def draws_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EMBINIT_WORLDS", str(tmp_path / "worlds"))
    return tmp_path / "worlds"


def source(name: str) -> MicrocosmSource:
    opened = SOURCES[name](None)
    assert isinstance(opened, MicrocosmSource)
    return opened


@given(st.integers(0, 10_000))
def test_no_draw_is_of_two_sets(draw):
    """What settings and margins were taken from must not be what a claim is tested on."""
    of = [name for name, members in SETS.items() if draw in members]
    assert of == ([] if draw_set(draw) == "free" else [draw_set(draw)])


def test_deviations_are_measured_on_draws_that_no_claim_of_theirs_has(data_draws):
    """And a draw's run is one run, whichever of a task's experiments asks for it."""
    tasks = {}
    for one in experiments("micro"):
        assert {*one.data_draws}.isdisjoint(one.registering_draws)
        assert (one.most_seeds or one.seeds) <= len(one.data_draws)
        runs = {one.run("xavier", index) for index in range(len(one.data_draws))}
        assert runs <= tasks.setdefault(one.task, runs)
    assert len(tasks) == 3


@given(st.sampled_from(["micro-verb", "micro-t5", "my-2nd"]), draws)
def test_a_name_carries_its_draw(name, draw):
    assert split_draw(at_draw(name, draw)) == (name, draw)
    assert split_draw(at_draw(name, 0)) == (name, 0)
    assert at_draw(name, 0) == name


@pytest.mark.parametrize("draw", ["x", "-1", "0", "007", "1000000000"])
@pytest.mark.parametrize("known", [TASKS, SOURCES, EVALUATIONS], ids=["task", "source", "probe"])
def test_what_is_no_draw_is_told(known, draw):
    """One draw has one name, so that a run has one key."""
    base = {id(TASKS): "micro-verb", id(SOURCES): "micro-t5"}.get(id(known), "micro-neighbours")
    with pytest.raises(InputError, match=rf"{base}.*has no data draw '.*': give a number from 1"):
        known[f"{base}@{draw}"]


def test_only_what_is_made_has_draws():
    """A draw of real text would silently be the same text again."""
    for known, name in ((TASKS, "sst2"), (SOURCES, "glove"), (EVALUATIONS, "analogies")):
        with pytest.raises(InputError, match=f"{name!r} has no data draw '3': it has none"):
            known[f"{name}@3"]  # type: ignore[index]
    with pytest.raises(InputError, match="'micro-verbs@3': did you mean 'micro-verb'"):
        TASKS["micro-verbs@3"]


def test_an_entry_in_a_draw_is_the_same_entry_elsewhere(monkeypatch, tmp_path):
    assert "micro-verb@3" in TASKS
    assert "micro-verb@3" not in list(TASKS)
    assert TASKS.code("micro-verb@3") == TASKS.code("micro-verb") == ""
    assert TASKS.registered("micro-verb@3") is TASKS.registered("micro-verb")
    set_apart(monkeypatch, SOURCES)
    path = tmp_path / "vectors.txt"
    path.write_text("a 1 2\n")
    NamedSource("micro-glove@3", path)()
    assert SOURCES["micro-glove@3"](None).dim == 2
    assert isinstance(SOURCES["micro-glove@4"](None), MicrocosmSource)


@settings(max_examples=5)
@given(draws)
def test_two_draws_share_no_text(draw):
    assert not set(unlabelled(300, draw)) & set(unlabelled(300))
    there = replace(TASKS[f"micro-translation@{draw}"], sizes=(100, 50, 50))
    here = TASKS["micro-translation"].load(None, Cut(100, 50, 50))
    for split in ("train", "validation", "test"):
        examples = getattr(there.load(None, Cut()), split)
        assert not {e.text for e in examples} & {e.text for e in getattr(here, split)}
        assert not {e.target for e in examples} & {e.target for e in getattr(here, split)}
        assert all(tasks.share(e.text) == split for e in examples)


def test_every_task_is_drawn_in_a_draw_s_languages():
    """Each word is of the draw's own lexicon, and so is the name of each side's language."""
    words = lexicon(FREE)
    source_words = {*synonym_groups(FREE), *words.source_function.values()}
    target_words = {*words.target_function.values()}.union(*words.target.values())
    for task in tasks.MICROCOSM_TASKS:
        there = replace(TASKS[f"{task.name}@{FREE}"], sizes=(60, 20, 20))
        splits = there.load(None, Cut())
        read = [e for part in (splits.train, splits.validation, splits.test) for e in part]
        words_read = {word for e in read for word in f"{e.text} {e.pair} {e.target or ''}".split()}
        assert words_read <= source_words | target_words, task.name
        assert words_read & source_words, task.name
        languages = {side: f"{language}@{FREE}" for side, language in task.languages.items()}
        assert there.languages == languages


def make(*names: str, draw: int = FREE, effort: float = 0.02) -> None:
    arguments = ["--worlds", f"{draw}", "--sentences", "400", "--effort", f"{effort}"]
    assert main(["make", *arguments, "--only", *names]) == Status.OK


def test_a_draw_s_tables_are_made_once(draws_folder, capsys):
    make("glove", "word2vec")
    assert "tables to make: 2\n" in capsys.readouterr().out
    glove, other = (
        draws_folder / f"micro-{name}@{FREE}.safetensors" for name in ("glove", "word2vec")
    )
    whole, before = glove.read_bytes(), other.stat().st_mtime_ns
    glove.write_bytes(whole[:-100])
    make("glove", "word2vec")
    assert "tables to make: 1; 1 are there already\n" in capsys.readouterr().out
    assert load_table(glove).values.equal(safetensors.torch.load(whole)["table"].float())
    assert other.stat().st_mtime_ns == before
    make("glove", effort=0.04)
    assert load_table(glove).record["effort"] == "0.04"
    assert sorted(path.name for path in draws_folder.iterdir()) == [glove.name, other.name]


def test_a_draw_s_table_knows_its_draw():
    make("glove")
    read = source(f"micro-glove@{FREE}")
    table = read.table
    assert table.values.dtype == torch.float32
    assert torch.equal(table.values, table.values.half().float())
    assert read.languages == {TASKS[f"micro-verb@{FREE}"].languages["encoder"]}
    wanted = {"world": f"{FREE}", "language": language_digest(FREE), "seed": f"{FREE}"}
    assert table.record.items() >= wanted.items()
    assert float(table.record["sigma"]) == pytest.approx(table.sigma, rel=1e-5)
    assert table.words == Corpus.read(unlabelled(400, FREE)).words
    assert read.lookup(table.words).found.all()
    assert not read.lookup(["unheard-of"]).found.any()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.unlink(), "there is no such table"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "broken or cut short"),
        (lambda path: save_table(load_table(table_path("micro-bert")), path), "another language"),
    ],
    ids=["missing", "cut", "another language's"],
)
def test_a_table_that_can_t_be_used_is_told_with_what_makes_it(draws_folder, damage, said):
    make("glove")
    damage(draws_folder / f"micro-glove@{FREE}.safetensors")
    command = f"{said}.*`python -m embinit.lab.table_pretraining make --worlds {FREE} --only glove`"
    for read in (
        lambda: source(f"micro-glove@{FREE}").table,
        lambda: key_of(on_draw(make_experiment(), "glove", FREE).run("pretrained", 0), None),
    ):
        with pytest.raises(InputError, match=command):
            read()


def test_a_table_of_another_draw_is_refused():
    make("glove")
    experiment = on_draw(make_experiment(), "glove", FREE)
    mixed = replace(experiment, data=replace(experiment.data, task="micro-sentiment@9004"))
    with pytest.raises(InputError, match=r"covers no language of micro-sentiment@9004"):
        initial_tables.check(mixed.run("pretrained", 0), None)


def on_draw(experiment: ModelExperiment, table: str, draw: int) -> ModelExperiment:
    """The experiment with its task, and a table, of another draw."""
    data = replace(experiment.data, task=at_draw(experiment.data.task, draw))
    return replace(experiment, data=data, source=at_draw(f"micro-{table}", draw))


def test_a_table_s_neighbours_are_asked_in_its_draw():
    """By the draw's synonyms, whose words a table of another draw doesn't have."""
    make("glove")
    [probe] = probes("micro")
    asked = on_draw(probe, "glove", FREE).run("pretrained", 0)
    check_evaluation(asked, None)
    assert evaluate(asked, None).measures["accuracy"] > 0
    assert key_of(asked, None) != key_of(probe.run("pretrained", 0), None)


def test_a_pre_training_reads_the_text_of_its_draw():
    """Else the claims on why a sigma is large would see one text for all seeds."""
    experiment = next(one for one in pretrainings("micro") if one.name.startswith("t5"))
    experiment = replace(experiment, data=replace(experiment.data, cut=Cut(train=50)))
    there = on_draw(experiment, "t5", FREE)
    digests = {table_runs.fingerprint(one.run("pretrained", 0)) for one in (experiment, there)}
    assert len(digests) == 2


def test_shipped_tables_are_of_their_draws():
    """Each is whole, of its draw's language, fully trained, and knows some synonyms."""
    folder = table_path("micro-glove").parent / "worlds"
    for path in sorted(folder.iterdir()):
        name, draw = split_draw(path.stem)
        assert draw_set(draw).endswith(("registering", "claiming")), path
        table, words = source(path.stem).table, lexicon(draw)
        of_source = {*synonym_groups(draw), *words.source_function.values()}
        of_target = {*chain(*words.target.values()), *words.target_function.values()}
        known = {SOURCE_LANGUAGE: of_source, TARGET_LANGUAGE: of_target}
        assert {*table.words} == set().union(*(known[one] for one in TABLES[name[6:]]))
        made_with = {"sentences": "60000", "effort": "1", "seed": f"{draw}"}
        assert table.record.items() >= made_with.items()
        if table_path(name).exists():  # settings were chosen on it
            assert table.sigma == pytest.approx(source(name).table.sigma, rel=0.25)


def test_shipped_tables_have_their_checksums():
    """As ``sha256sum`` writes them; a table that comes or goes changes the list."""
    folder = table_path("micro-glove").parent
    there = {f"{path.relative_to(folder)}": path for path in folder.rglob("*.safetensors")}
    digests = {name: hashlib.sha256(there[name].read_bytes()).hexdigest() for name in there}
    listed = (folder / "SHA256SUMS").read_text().splitlines()
    assert listed == [f"{digests[name]}  {name}" for name in sorted(digests)]


def on_draws(first: int = 9000, **changes: Any) -> ModelExperiment:
    """A small experiment that has a data draw for each seed."""
    return make_experiment(data_draws=range(first, first + 20), seeds=3, **changes)


@given(st.integers(0, 19), st.integers(0, 9))
def test_a_seed_has_a_draw_that_all_its_arms_share(seed, registered):
    """Text and vectors are of it. Seeds of controls have their first half's, in other streams."""
    experiment = make_experiment(data_draws=CLAIMING)
    arm, base = experiment["pretrained"], experiment["xavier"].on_other_seeds()
    [ours], [other] = arm.runs_of(seed), base.runs_of(seed)
    assert recipe_of(ours).table.source == f"micro-glove@{CLAIMING[seed]}"
    assert ours.recipe.task == "micro-sentiment"
    text = f"micro-sentiment@{CLAIMING[seed]}"
    assert recipe_of(ours).data.task == recipe_of(other).data.task == text
    assert ours.seed != other.seed
    [pilot] = arm.in_role(Role.REGISTRATION).runs_of(registered)
    assert recipe_of(pilot).data.task == f"micro-sentiment@{REGISTERING[registered]}"


def test_more_seeds_than_draws_are_refused():
    experiment = on_draws()
    for index, role, words in (
        (20, Role.CLAIM, "there are 20 data draws for claims, 9000 to 9019, and 21 seeds are"),
        (10, Role.REGISTRATION, "there are 10 data draws for registering, 1000 to 1009"),
    ):
        with pytest.raises(InputError, match=words):
            experiment.run("xavier", index, role)


def test_an_arm_is_one_arm_in_all_draws():
    one, other, still = on_draws(), on_draws(9500), make_experiment()
    arms = [experiment.run("pretrained", seed) for experiment in (one, other) for seed in (0, 1)]
    assert len({run.without_seed() for run in arms}) == 1
    assert len({run.recipe.pace for run in (*arms, still.run("pretrained", 0))}) == 1
    assert len(set(arms)) == 4
    assert still.run("pretrained", 0).without_seed() not in {run.without_seed() for run in arms}
    keys = [difference_key(on["pretrained"] < on["xavier"]) for on in (one, other, still)]
    assert keys[0] == keys[1] != keys[2]
    # A table is another in each draw, so its statistics vary with the seed.
    assert on_draws()["pretrained"].sigma.random
    assert not make_experiment()["pretrained"].sigma.random


@given(st.integers(0, 999), st.sampled_from([*{0, *CLAIMS_FROM.values(), FIRST_SEED}]))
def test_claims_that_begin_later_take_the_seeds_behind(index, first):
    """Their arms are still paired, and what is registered stays on the seeds of registering."""
    usual = make_experiment()
    later = replace(usual, claims_from=first)
    for role in (Role.CLAIM, Role.SECOND_HALF):
        run, before = later.run("xavier", index, role), usual.run("xavier", index, role)
        assert run == replace(before, seed=before.seed + first)
        assert run.seed < Role.REGISTRATION.seed(0)
    registers = usual.run("normal", index, Role.REGISTRATION)
    assert later.run("normal", index, Role.REGISTRATION) == registers


@claim("mine/f/a", says="a", family=Family("mine/f", 1), experiments=lambda tier: [])
def a_claim(arms: ModelExperiment) -> None:
    """A claim that no session collects."""
    assert arms["pretrained"] < arms["xavier"]


def test_the_draws_are_registered():
    usual = make_experiment()
    asked = (on_draws(), on_draws(9500), usual, replace(usual, claims_from=100))
    one, other, still, later = (frozen(read_claim(a_claim, experiment)) for experiment in asked)
    assert "replicates" not in still
    assert difference(still, later) == "its seeds have numbers from 100 on, registered was none"
    assert difference(one, other) == (
        "its seeds have worlds from 9500 on, registered was worlds from 9000 on"
    )


def test_the_option_chooses_the_draws(pytester):
    config = pytester.parseconfig("-o", "embinit_worlds=9100-9104")
    changed = pytest_embinit_experiment(config, replace(on_draws(), most_seeds=12), None)
    assert isinstance(changed, ModelExperiment)
    assert changed.data_draws == (*range(9100, 9105),)
    assert (changed.seeds, changed.most_seeds) == (3, 5)
    assert pytest_embinit_experiment(config, make_experiment(), None) == make_experiment()
    config = pytester.parseconfig("-o", "embinit_worlds=9100")
    changed = pytest_embinit_experiment(config, on_draws(), None)
    assert isinstance(changed, ModelExperiment)
    assert changed.data_draws == tuple(range(9100, 9120))


def test_several_ranges_of_draws_are_the_seeds_in_their_order():
    """Each draw is of one seed; one that is named twice would count twice."""
    assert draws_named("9100-9102,9000, 9005-9006") == (9100, 9101, 9102, 9000, 9005, 9006)
    for text in ("", "0", "9000-8999", "9000,", "9000-9002,9001", "x", "9000;9001"):
        with pytest.raises(InputError, match="data draw"):
            draws_named(text)


def test_other_draws_alone_are_a_replication(tmp_path):
    """What is as registered but for its draws is no changed claim; any other change is one."""
    registered = on_draws(most_seeds=12)
    known = read_claim(a_claim, registered)
    line = {"registered": "2031-01-01", **frozen(known)}

    def state(**changes: Any) -> tuple[str, str]:
        asked = replace(registered, **changes)
        other = replace(asked, data_draws=(9100, 9200, 9300), most_seeds=3, replicated=asked)
        case = read_claim(a_claim, other)
        lock = Lock(tmp_path / "claims.lock")
        lock.write({"claims": {case.key: line}})
        status = registration_record(replace(case, lock=lock))
        return status.state, status.differs

    assert state() == ("replication", "on other data draws")
    assert state(margin=9.0)[0] == "changed"
    assert state(seeds=2)[0] == "changed"


def test_a_missing_table_is_made_before_its_runs(monkeypatch, tmp_path):
    """Once, as work of its own; no key is asked for before, and nobody waits for another's."""
    made: list[str] = []

    def maker(name: str) -> None:
        if name.endswith("9008"):
            raise InputError("no room for it")
        made.append(name)
        make("glove", draw=split_draw(name)[1])

    monkeypatch.setattr(microcosm, "_maker", maker)
    monkeypatch.setattr(microcosm, "_seconds", {"glove": 18})
    experiment = replace(on_draws(), data_draws=range(9007, 9010))
    runs = [experiment.run("pretrained", seed) for seed in (0, 1, 2)]
    session = Session(Store(tmp_path / "store"), None, "cpu")
    assert not any(map(session.problem, runs))
    assert not any(map(session.is_stored, runs))
    assert not any(map(session.result, runs))
    session.want(runs)
    tables = [work for work in session.joined if isinstance(work, Making)]
    assert [work.name for work in tables] == [f"micro-glove@{draw}" for draw in (9007, 9008, 9009)]
    assert made == []
    works = iter(session.take, None)
    for table in tables[:2]:
        work = next(work for work in works if isinstance(work.what, Making))
        assert work.what == table
        session.train(work, session.here)
    assert made == ["micro-glove@9007"]
    assert session.key(runs[0])
    assert session.problem(runs[1]) == "micro-glove@9008 can't be made: no room for it"
    assert session.failure(runs[1]) is None
    with pytest.raises(InputError, match="micro-glove@9009"):
        session.key(runs[2])


def test_a_stack_and_a_transfer_are_of_one_draw():
    """Arms of two draws have other text; a transfer's tasks, vocabulary and probes are of one."""
    experiment = on_draws()
    arms = ("pretrained", "xavier")
    keys = [experiment.run(arm, seed).stack_key for seed in (0, 1) for arm in arms]
    assert keys[0] == keys[1] != keys[2] == keys[3]
    usual = chung2021.experiments("micro")[0]
    run = replace(usual, data_draws=range(9000, 9003)).run("normal", 1)
    named = set(re.findall(r"micro-[a-z0-9-]+@?[0-9]*", canonical(run)))
    assert all(name.endswith("@9001") for name in named), named
