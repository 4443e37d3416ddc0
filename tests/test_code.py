"""The code that makes a run is in its key: a changed constant trains anew, a comment doesn't."""

from __future__ import annotations

import importlib
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from builders import make_experiment, set_apart
from embinit.code import UNSEEN, Code
from embinit.lab.data.tasks import TASKS
from embinit.lab.tables.inits import INITS, Init
from embinit.runs.kinds import own_code
from embinit.runs.session import key_of
from embinit_papers.kim2024.experiments import experiments


def run_spec(init="xavier"):
    return make_experiment().run(init, 0)


OWN = """
import functools
import helpers
from dataclasses import dataclass

RATE = 0.1
LAYERS = [8, 8]


def scaled(x):
    return RATE * x


@dataclass(frozen=True)
class Model:
    width: int = 4

    def loss(self, x):
        return self.width * scaled(x)


def train(seed, deep=True):
    \"\"\"Trains.\"\"\"
    model = Model()
    return {"loss": model.loss(seed) + helpers.more(seed) + len(LAYERS)}


def untouched(seed):
    return {"loss": seed}


train_more = functools.partial(train, deep=False)
"""
HELPERS = """
STEP = 3


def more(x):
    return x + STEP
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Writes two modules, and gives the digests of the first one's functions."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def digests(own=OWN, helpers=HELPERS):
        (tmp_path / "own.py").write_text(own)
        (tmp_path / "helpers.py").write_text(helpers)
        for name in ("own", "helpers"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        own_module = importlib.import_module("own")
        names = ("train", "untouched", "train_more")
        return {name: Code.of(getattr(own_module, name)).digest for name in names}

    yield digests
    for name in ("own", "helpers"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("RATE = 0.1", "RATE = 0.2"),
        ("[8, 8]", "[8, 16]"),
        ("return RATE * x", "return RATE + x"),
        ("width: int = 4", "width: int = 5"),
        ("deep=True", "deep=None"),
        ("STEP = 3", "STEP = 4"),
    ],
)
def test_a_change_of_what_a_function_names_changes_its_digest_alone(project, old, new):
    """In itself, a constant, a helper, a class, another module; what doesn't name it stays."""
    before, after = project(), project(OWN.replace(old, new), HELPERS.replace(old, new))
    assert before["train"] != after["train"]
    assert before["train_more"] != after["train_more"]
    assert before["untouched"] == after["untouched"]


def test_an_attribute_is_no_global_of_the_same_name(project):
    """Else ``self.positions`` had an experiment of that name in the key of every run."""
    assert project(OWN + "\nmore = 1\n") == project(OWN + "\nmore = 2\n") == project()


IMPORTS = {
    "as": "import helper_in as h; return h.more(seed)",
    "from": "from helper_in import more; return more(seed)",
    "star below": "from helper_all import more; return more(seed)",
    "through another": "import helper_via; return helper_via.more(seed)",
    "dotted": "import pack_in.deep; return pack_in.deep.more(seed)",
    "relative above": "from pack_in.user import more; return more(seed)",
    "import_module": "import importlib; return importlib.import_module('helper_in').more(seed)",
    "inner function": "def f():\n        from helper_in import more\n        return more(seed)\n"
    "    return f()",
}
MORE = '"""Helps."""\nSTEP = 3\n\n\ndef more(x):\n    return x + STEP\n'


@pytest.fixture
def imports(tmp_path, monkeypatch):
    """Writes modules that functions import in their bodies, and reads such a function."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pack_in").mkdir()
    for name, text in {
        "helper_all": "from helper_in import *\n",
        "helper_via": "def more(x):\n    from helper_in import more as m\n    return m(x)\n",
        "pack_in/__init__": "",
        "pack_in/user": "from .deep import more\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)

    def read(text, helper=MORE, name="train"):
        for module in ("helper_in", "pack_in/deep"):
            (tmp_path / f"{module}.py").write_text(helper)
        (tmp_path / "own_in.py").write_text(text)
        sys.modules.pop("own_in", None)
        importlib.invalidate_caches()
        code = Code.of(getattr(importlib.import_module("own_in"), name))
        assert not [each for each in sys.modules if each.startswith(("helper_", "pack_in"))]
        return code

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield read
    sys.modules.pop("own_in", None)


def in_function(body):
    return f"def train(seed):\n    {body}\n"


@pytest.mark.parametrize("body", IMPORTS.values(), ids=IMPORTS.keys())
def test_a_module_that_a_body_imports_is_in_the_digest(imports, body):
    """It is not run to be read."""
    text = in_function(body)
    first = imports(text)
    assert first.digest == imports(text, MORE + "# a comment\n").digest
    assert first.digest != imports(text, MORE.replace("+ STEP", "- STEP")).digest
    assert first.digest != imports(text, MORE.replace("STEP = 3", "STEP = 4")).digest
    assert first.unseen == ()


@pytest.mark.parametrize(
    "text",
    [
        "class Model:\n    def loss(self, seed):\n        import helper_in\n"
        "        return helper_in.more(seed)\n\ndef train(seed):\n    return Model().loss(seed)\n",
        "def outer():\n    def made(seed):\n        from helper_in import more\n"
        "        return '''\nx''' * more(seed)\n    return made\n\ntrain = outer()\n",
    ],
    ids=["method", "closure with a text of lines"],
)
def test_imports_are_followed_wherever_they_stand(imports, text):
    """A method's or an inner function's body is a body too."""
    digests = {imports(text, MORE.replace("3", str(step))).digest for step in (3, 4)}
    assert len(digests) == 2


def test_a_module_that_is_not_there_is_the_runs_to_tell(imports):
    """One that stands in ``try`` may well be missing; a library counts by its name."""
    code = imports(in_function("import nosuch, nosuch.deep; from ..far import x"))
    assert (code.libraries, code.unseen) == ((), ())


def test_libraries_are_those_that_the_users_code_names(imports):
    """Their versions are in keys; the standard library and embinit are not among them."""
    text = "import os, json\nimport numpy as np\nfrom embinit import training\n"
    text += in_function("from scipy.stats import norm; import torch.nn; return np.mean(os, json)")
    assert imports(text).libraries == ("numpy", "scipy", "torch")
    assert imports(text + "\ndef other(seed):\n    return seed\n", name="other").libraries == ()


@pytest.mark.parametrize(
    ("does", "what"),
    [
        ("os.environ.get('RATE', 1)", "environment"),
        ("pathlib.Path('data.csv').read_text()", "file"),
        ("np.load('data.npy')", "file"),
        ("subprocess.run(['make'])", "program"),
        ("importlib.import_module('a' + seed)", "import"),
        ("eval('seed')", "text"),
    ],
)
def test_what_no_key_can_see_is_named(imports, does, what):
    """Else its change leaves the old verdict, and nobody is told why."""
    text = "import importlib, os, pathlib, subprocess\nimport numpy as np\n" + in_function(does)
    assert imports(text).unseen == (what,)
    assert UNSEEN[what]


def test_no_false_alarm_is_raised(imports):
    """Of what decides no number, and of libraries, whose versions are in the key."""
    text = """
import os, random
import numpy as np

class Model:
    def eval(self):
        return self

def train(seed):
    os.environ["OMP_NUM_THREADS"] = "1"
    with open("log.txt", "w") as log, open("more.txt", mode="a"):
        log.write(str(np.loadtxt))
    os.makedirs("out", exist_ok=True)
    return Model().eval()
"""
    assert imports(text).unseen == ()


def test_comments_docstrings_and_layout_change_nothing(project):
    """They change no number, so nothing is to be trained again for them."""
    plain = OWN.replace('"""Trains."""', '"""Trains well."""  # it does').replace("\n\n\n", "\n\n")
    assert project() == project(plain, "# a comment\n" + HELPERS)


OBJECTS = {
    "namespace": "types.SimpleNamespace(rate=NUMBER)",
    "decimal": "decimal.Decimal('NUMBER')",
    "default of a dictionary": "collections.defaultdict(functools.partial(int, NUMBER))",
    "pattern": "re.compile('aNUMBER')",
    "bound method": "{0: NUMBER}.get",
    "a library's closure": "contextlib.contextmanager(functools.partial(iter, [NUMBER]))",
    "shape": "np.ones((NUMBER, 4 // NUMBER))",
    "dtype": "np.zeros(4, f'iNUMBER')",
    "objects in an array": "np.array([{NUMBER, 'a'}, None])",
    "tensor": "torch.full((2,), NUMBER, dtype=torch.bfloat16)",
    "module": "torch.nn.Dropout(NUMBER / 4)",
    "slots": "Slots(NUMBER)",
    "a dictionary's attribute": "Known().put(NUMBER)",
    "a method": "Known()",
    "a member": "Way.ONE",
    "objects that are met twice": "(A, B, (A, B)[NUMBER - 1])",
}
NAMED = """
import collections, contextlib, decimal, enum, functools, re, types
import numpy as np
import torch

class Slots:
    __slots__ = ("rate",)

    def __init__(self, rate):
        self.rate = rate

class Known(dict):
    def put(self, rate):
        self.rate = rate
        return self

    def times(self, x):
        return METHOD * x

class Way(enum.Enum):
    ONE = 1

    def times(self, x):
        return METHOD * x

A, B = [1], [2]
NAMED = OBJECT

def train(seed):
    return NAMED
"""


@pytest.mark.parametrize("name", OBJECTS)
def test_what_an_object_is_made_of_is_in_the_digest(imports, name):
    """A library's objects too, such as an edited pattern."""
    texts = (
        NAMED.replace("METHOD", number if name in ("a method", "a member") else "1")
        .replace("OBJECT", OBJECTS[name])
        .replace("NUMBER", number)
        for number in "112"
    )
    first, again, second = map(imports, texts)
    assert first == again
    assert first.digest != second.digest
    assert first.opaque == ()


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        ("random.Random(1)", "random.Random"),
        ("np.random.default_rng(1).normal", "numpy.random._generator.Generator"),
        ("(each for each in [1])", "generator"),
    ],
)
def test_an_object_that_cant_be_followed_is_told(imports, made, kind):
    """A generator's state hangs on who drew before, so two processes would have two keys."""
    text = f"import random\nimport numpy as np\nNAMED = {made}\n"
    assert imports(text + in_function("return NAMED")).opaque == (kind,)


def test_what_a_library_has_under_a_name_counts_by_it(imports):
    """Else the state of the global generator, which others draw from, were in keys."""
    text = "import threading\nfrom random import gauss, random\nimport numpy as np\n"
    text += "rand, lock = np.random.rand, threading.Lock()\n"
    text += in_function("return gauss(0, random()), rand(), np.mean, lock")
    before = imports(text)
    random.random(), np.random.rand()  # noqa: NPY002
    assert imports(text) == before
    assert before.opaque == ()


def test_a_digest_is_the_same_in_another_process(imports, tmp_path):
    """A set's order and addresses differ from process to process; a run's name must not."""
    every = ", ".join(OBJECTS.values()).replace("NUMBER", "1")
    more = "{'a', 'b', 'dd'}, {len, sum, A and 1}, {frozenset('ab'), frozenset('cd')}"
    text = NAMED.replace("METHOD", "1").replace("OBJECT", f"({every}, {more})")
    text += "\nsmall = lambda seed: seed in {1, 'a', 'b', (2, 3)}\n"
    imports(text.replace("return NAMED", "return NAMED, small, len, train"))
    code = "import own_in; from embinit.code import Code; print(Code.of(own_in.train).digest)"
    outs = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in "12"
    }  # fmt: skip
    assert len(outs) == 1


def test_what_embinit_ships_has_no_code_in_its_keys():
    """``RESULTS_VERSION`` stands for it; so stored runs of its inits and tasks keep their keys."""
    # In a process of its own, since other tests register what isn't embinit's.
    code = """
from embinit.lab.data.tasks import TASKS
from embinit.runs.kinds import KINDS
from embinit.lab.tables import positions
from embinit.lab.tables.inits import INITS

for known in (INITS, TASKS, KINDS, positions.KINDS):
    assert len(list(known)) > 1
    assert {known.code(name) for name in known} == {""}
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert own_code(run_spec()) == ""


def test_an_own_inits_code_is_in_a_runs_key(monkeypatch):
    """Before, a changed init got the old results from the store, without a word."""
    set_apart(monkeypatch, INITS)

    def key(make):
        INITS.replace("own", Init("own", "Own", False, make))
        assert [key_of(run_spec(init), None) for init in ("xavier", "beside")] == others
        return key_of(run_spec("own"), None)

    def beside(shape, special, generator):
        return INITS["xavier"](shape, special, generator) * 3

    INITS.replace("beside", Init("beside", "Beside", False, beside))
    others = [key_of(run_spec(init), None) for init in ("xavier", "beside")]

    def first(shape, special, generator):
        return INITS["xavier"](shape, special, generator) * 2

    def second(shape, special, generator):
        return INITS["xavier"](shape, special, generator) * 60

    assert key(first) == key(first) != key(second)


def test_an_own_tasks_code_is_in_a_runs_key(monkeypatch):
    """A task's fingerprint is of its files; what it makes of them is its code."""
    set_apart(monkeypatch, TASKS)
    micro = TASKS[run_spec().recipe.task]

    class Mine:
        cut = 1

        def __getattr__(self, name):
            return getattr(micro, name)

    class Other(Mine):
        cut = 2

    def key(task):
        TASKS.replace(run_spec().recipe.task, task)
        assert key_of(elsewhere, None) == other
        return key_of(run_spec(), None)

    [elsewhere] = [
        each.run("xavier", 0) for each in experiments("micro", ("glove",), ("inference",))
    ]
    other = key_of(elsewhere, None)

    assert len({key(micro), key(Mine()), key(Other())}) == 3
