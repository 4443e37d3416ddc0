"""Whether a change of the project's globals is seen, and what only looks like one is not."""

import itertools
import random
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embinit.pytest_plugin import project_globals
from embinit.pytest_plugin.project_globals import MOST_MEMBERS, changed, described

NUMBERS = itertools.count()

UNCHANGED = {
    "a module's cache": ("CACHE = {}", "lib.CACHE['a'] = 1; lib.CACHE['b'] = [2]"),
    "a private cache": ("_CACHE = {'a': 1}", "lib._CACHE['b'] = 2"),
    "a list that is filled": ("LOG = []", "lib.LOG += [1, 2]"),
    "a defaultdict that is read": (
        "import collections\nD = collections.defaultdict(float, a=1.0)",
        "lib.D['b']",
    ),
    "what is loaded when it is asked for": ("MODEL = None", "lib.MODEL = lib.M()"),
    "a private number found when it is asked for": ("_N = None", "lib._N = 5"),
    "a name made by a module's __getattr__": ("", "lib.LAZY = lib.M"),
    "an attribute filled later": ("OBJECT = M()\nOBJECT.n = None", "lib.OBJECT.n = 3"),
    "a private attribute": ("OBJECT = M()\nOBJECT._n = 1", "lib.OBJECT._n = 2"),
    "a cached property": (
        "import functools\nclass C:\n    @functools.cached_property\n    def n(self): return 1\n"
        "O = C()",
        "lib.O.n",
    ),
    "a cached function": (
        "import functools\n@functools.lru_cache\ndef f(n): return n\n"
        "@functools.cache\ndef g(): pass",
        "lib.f(1); lib.g()",
    ),
    "a weak reference": ("import weakref\nO = M()\nREF = weakref.ref(O)\nK = weakref.WeakSet()",
                         "lib.K.add(lib.O); del lib.O"),
    "a lock, a thread, an event": (
        "import threading\nLOCK = threading.RLock()\nE = threading.Event()\nL = threading.local()",
        "lib.LOCK.acquire(); lib.E.set(); lib.L.x = 1",
    ),
    "a logger": (
        "import logging\nLOG = logging.getLogger('lib')\nclass H(logging.Handler): pass\n"
        "HAND = H()",
        "lib.LOG.setLevel(10); lib.LOG.addHandler(lib.HAND); lib.HAND.setLevel(20)",
    ),
    "iterators, files, random states": (
        "import io, itertools, random\nI = itertools.count()\nF = io.StringIO()\n"
        "R = random.Random(0)",
        "next(lib.I); lib.F.write('a'); lib.R.random()",
    ),
    "a decimal's context, a deque, a counter": (
        "import collections, decimal\nC = decimal.getcontext()\n"
        "Q = collections.deque([1])\nN = collections.Counter(a=1)",
        "import decimal; decimal.Decimal(1) / 3; lib.Q.popleft(); lib.N.update('a')",
    ),
    "a dataclass with an id": (
        "import dataclasses, time\n@dataclasses.dataclass\nclass C:\n    a: int = 1\n"
        "    own: int = 0\n    def __post_init__(self): self.own = id(self)\nC1 = C()",
        "repr(lib.C1)",
    ),
    "a circle": ("L = [1]\nL.append(L)\nO = M()\nO.o = O\nD = {}\nD['d'] = D, O, L", ""),
    "a long chain": ("O = None\nfor _ in range(5000): O = [O]", ""),
    "a class's registry and instances": (
        "class C:\n    known = []\n    _made = 0\n    def __init__(self):\n"
        "        C._made += 1; C.known.append(1)",
        "lib.C(); lib.C()",
    ),
    "a library's wrapper of a method": (
        "import torch\nfrom torch.optim import SGD\nclass Mine(SGD): pass",
        "import torch; p = [torch.zeros(1, requires_grad=True)]; lib.Mine(p); lib.SGD(p)",
    ),
    "torch's objects": (
        "import torch\nclass Net(torch.nn.Linear): pass\nNET = Net(1, 1)\nT = torch.zeros(3)\n"
        "P = list(NET.parameters())\nG = torch.Generator()",
        "lib.NET.eval(); lib.T.fill_(1); lib.NET.weight.data.fill_(2); lib.G.manual_seed(3)",
    ),
    "numpy's objects": (
        "import numpy as np\nG = np.random.default_rng(0)\nO = np.array([{}])\nM1 = M()\n"
        "M1.weights = np.zeros(2)",
        "lib.G.random(); lib.O[0]['a'] = 1; lib.M1.weights[0] = 1",
    ),
    "sklearn's objects": (
        "from sklearn.linear_model import LinearRegression\nfrom sklearn.utils import Bunch\n"
        "EST = LinearRegression()\nclass Own(LinearRegression): pass\nOWN = Own()\nB = Bunch(a=1)",
        "lib.EST.fit([[1], [2]], [1, 2]); lib.OWN.fit([[1], [2]], [1, 2]); lib.B.a = 2",
    ),
    "transformers' objects": (
        "from transformers import BertConfig\nC = BertConfig()\nD = {'c': BertConfig}",
        "lib.C.to_dict(); lib.C.hidden_size = 3",
    ),
}  # fmt: skip
"""What a module has, and what is done with it in passing: libraries' objects, caches and use."""

CHANGED = {
    "a constant": ("K = 1.0", "lib.K = 2.0", "K"),
    "a new constant": ("K = 1.0", "lib.MORE = 2.0", "MORE"),
    "a setting that was None": ("SEED = None", "lib.SEED = 3", "SEED"),
    "a nested setting": (
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n    rate: float = 1.0\n"
        "@dataclasses.dataclass\nclass B:\n    a: A = dataclasses.field(default_factory=A)\n"
        "C = [B()]", "lib.C[0].a.rate = None", "C[0].a.rate"),
    "a dictionary's entry": ("D = {'a': {'b': 1}}", "lib.D['a']['b'] = 2", "D['a']['b']"),
    "a dictionary's new entry": ("D = {'a': 1}", "lib.D['b'] = 2", "D['b']"),
    "a list's end": ("L = [1, 2]", "lib.L.pop()", "L[1]"),
    "an enum's choice": ("import enum\nclass E(enum.Enum):\n    A = 1\n    B = 2\nCHOICE = E.A",
                         "lib.CHOICE = lib.E.B", "CHOICE"),
    "a path": ("import pathlib\nP = pathlib.Path('a')", "lib.P /= 'b'", "P"),
    "an array": ("import numpy as np\nN = np.zeros(2)", "lib.N[1] = 1", "N"),
    "a function": ("def f(): pass", "lib.f = lambda: 2", "f"),
    "a mock": ("def f(): pass", "from unittest import mock; lib.f = mock.Mock()", "f"),
    "an inherited method": ("class A(M): pass", "lib.A.f = fake", "A.f"),
    "an inherited attribute": ("class A(M): pass", "lib.A.rate = 2.0", "A.rate"),
    "a library's method": ("from fractions import Fraction",
                           "lib.Fraction.limit_denominator = fake", "Fraction.limit_denominator"),
    "an object with slots": ("class S:\n    __slots__ = ('k',)\nO = S()\nO.k = 1",
                             "lib.O.k = 2", "O.k"),
    "a field of pydantic": (
        "import pydantic\nclass P(pydantic.BaseModel):\n    rate: float = 1.0\nO = P()",
        "lib.O.rate = 2.0", "O.rate"),
}  # fmt: skip
"""What a module has, what a fixture does with it, and where the change is."""

HOSTILE = """
import time
def bad(self, *a): raise RuntimeError("asked")
def slow(self, *a): time.sleep(60)
class Meta(type):
    __eq__ = bad
    __hash__ = type.__hash__
    def __getattribute__(self, name): raise RuntimeError("asked")
class Bad:
    k = 1
    __repr__ = __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __getattribute__ = bad
    p = property(bad)
class Slow:
    __repr__ = __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __getattr__ = slow
    p = property(slow)
class Odd(dict):
    __iter__ = __len__ = items = keys = values = __getitem__ = __repr__ = slow
class Proxy:
    __class__ = property(slow)
class Asked(metaclass=Meta): pass
ALL = [Bad(), Slow(), Odd(a=1), Proxy(), Asked, Bad, Slow]
B, S, O, P, A = Bad(), Slow(), Odd(a=1), Proxy(), Asked
N = 10**5000
"""


@pytest.fixture
def lib(tmp_path, monkeypatch):
    """Makes a module of the user's from its text."""
    monkeypatch.syspath_prepend(tmp_path)

    def load(text):
        name = f"lib{next(NUMBERS)}"
        text = f"class M:\n    rate = 1.0\n    def f(self): pass\n{text}\n"
        (tmp_path / f"{name}.py").write_text(text)
        loaded.append(name)
        return __import__(name)

    loaded = []
    yield load
    for name in loaded:
        del sys.modules[name]


def found(module, use):
    """Where a module's globals differ after something was done."""
    before = project_globals._globals(module)
    exec(use, {"lib": module, "fake": lambda self: None})
    return [place for place, *_ in changed("", before, project_globals._globals(module))]


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_changes_by_being_used_is_no_change(lib, name):
    """A claim of an ordinary project would never be judged, and nobody could mend it."""
    text, use = UNCHANGED[name]
    assert found(lib(text), use) == []


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_setting_is_found_at_its_place(lib, name):
    """The claim would be about other numbers than those that it seems to be about."""
    text, use, place = CHANGED[name]
    assert found(lib(text), use) == [place]


def test_objects_that_raise_or_are_slow_are_never_asked(lib):
    """The session would end, or wait for minutes; beside them a change is still seen."""
    module = lib(HOSTILE)
    ended = []
    thread = threading.Thread(target=lambda: ended.append(found(module, "lib.K = 1")), daemon=True)
    thread.start()
    thread.join(30)
    assert ended == [["K"]]


def test_no_more_is_looked_at_than_the_most(lib):
    """Tables of millions are common, and nested ones have more: each has its type alone."""
    module = lib("BIG = [[0] * 10 for _ in range(300)]\nDEEP = {i: [BIG] * 100 for i in range(99)}")
    asked = 0

    def count(part):
        nonlocal asked
        asked += 1
        for inner in (part.within or {}).values():
            count(inner)

    count(described(module.DEEP))
    assert asked <= MOST_MEMBERS + 1
    assert described([0] * (MOST_MEMBERS + 1)).within is None
    assert found(module, "lib.BIG[200][3] = 1")[0] == "BIG[200][3]"


ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
NESTED = st.recursive(
    ATOMS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(NESTED)
def test_a_value_is_no_change_of_itself(value):
    """It is described twice in a session."""
    assert [*changed("K", described(value), described(value))] == []


@given(st.lists(st.integers() | st.text(), min_size=1, max_size=9), st.randoms())
def test_a_changed_entry_is_found_whatever_stands_beside_it(values, source: random.Random):
    """What is near a setting decides nothing about it."""
    place = source.randrange(len(values))
    others = [*values]
    others[place] = 0.5
    found = [where for where, *_ in changed("K", described(values), described(others))]
    assert found == [f"K[{place}]"]
