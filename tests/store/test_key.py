"""Keys change when anything that matters does, and only then."""

import collections
import copy
import enum
import functools
import linecache
import math
import pickle
import re
import subprocess
import sys
from dataclasses import dataclass, field, make_dataclass
from typing import ClassVar

import cloudpickle
import numpy as np
import pyarrow as pa
import pytest

from dataprep.core.model.estimator import Estimator
from dataprep.core.model.function import Filter, Map
from dataprep.core.model.score import Score
from dataprep.core.model.stage import Stage
from dataprep.errors import PlanError
from dataprep.lazy import compute
from dataprep.store.key import key, parameter_names

LIMIT = 200


@dataclass(frozen=True, kw_only=True)
class Mine(Stage):
    """A stage with a parameter."""

    limit: int = 3


def at_least(limit):
    def rule(text):
        return len(text) >= limit

    return rule


def helper(text):
    return len(text) > LIMIT


def calls_helper(text):
    return helper(text)


@functools.cache
def cached_helper():
    return 1


def other_helper():
    return 2


def uses_cache(text):
    return text * cached_helper()


def test_fields_and_version_decide():
    """Equal fields are equal keys; another field or VERSION is another key."""

    class Newer(Mine):
        VERSION: ClassVar[int] = 2

    assert key(Mine()) == key(Mine(limit=3)) != key(Mine(limit=4))
    assert key(Newer()) != key(Mine())


def test_a_class_without_a_version_has_the_first():
    """So that stating it later changes no key."""

    def made(**members):
        return key(dataclass(frozen=True)(type("Same", (), members))())

    assert made() == made(VERSION=1) != made(VERSION=2)
    one, other = (make_dataclass("Same", names, frozen=True) for names in ("ab", "ba"))
    assert key(one(a=1, b=2)) == key(other(a=1, b=2)), "fields have no order"
    for module in ("dataprep.a", "a.dataprep"):  # a class that defines its key
        own = [type("Same", (), {"recipe": dict, "__module__": module, "VERSION": n})() for n in (1, 2)]
        assert len(set(map(key, own))) == 2


@pytest.mark.parametrize("kind", [Filter, Map, Score])
def test_the_version_of_a_users_class_decides(monkeypatch, kind):
    """Also of a class that defines its key; that of a class without a VERSION of its own is as it was."""

    class OfUser(kind):
        pass

    stage = OfUser(Mine() if kind is Score else helper)
    before = key(stage)
    monkeypatch.setattr(OfUser, "VERSION", 1)
    assert key(stage) == before
    monkeypatch.setattr(OfUser, "VERSION", 2)
    assert key(stage) != before


def test_closures_are_told_apart():
    """The same source over other values is another key."""
    assert key(at_least(200)) == key(at_least(200)) != key(at_least(300))


def test_globals_and_helpers_count(monkeypatch):
    """A changed global of a helper changes the caller's key."""
    before = key(calls_helper)
    monkeypatch.setitem(helper.__globals__, "LIMIT", 300)
    assert key(calls_helper) != before


def test_cached_helpers_count(monkeypatch):
    """A helper under functools.cache is keyed by its own source, and what it reads."""
    with_one = key(uses_cache)
    assert with_one == key(uses_cache)
    monkeypatch.setitem(uses_cache.__globals__, "cached_helper", functools.cache(other_helper))
    assert key(uses_cache) != with_one


def test_recursion_is_keyed():
    """A function that names itself has a key."""

    def down(n):
        return n and down(n - 1)

    assert key(down) == key(down)


def test_simple_values_are_told_apart_by_type_and_order():
    """1 is not True, not 1.0, not '1'; lists know their order, sets do not."""
    assert len({key(v) for v in (1, True, 1.0, "1", None, b"1")}) == 6
    assert key([1, 2]) != key([2, 1])
    assert key({1, 2}) == key({2, 1})
    assert key(np.arange(3)) != key(np.arange(3, dtype=np.int32))
    assert key(functools.partial(helper, 1)) != key(functools.partial(helper, 2))


def test_keys_survive_pickling_and_processes():
    """The key is the same after a round trip and in another process with another hash seed."""
    stage = Mine(limit=7)
    assert key(pickle.loads(pickle.dumps(stage))) == key(stage)
    assert key(cloudpickle.loads(cloudpickle.dumps(at_least(5)))) == key(at_least(5))
    code = "from dataprep.store.key import key; print(key({'b': {3, 1, 'x'}, 'a': (1, 2.5)}))"
    seeds = [
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": s}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for s in ("1", "2")
    ]
    assert seeds == [key({"b": {3, 1, "x"}, "a": (1, 2.5)})] * 2


def test_what_cannot_be_keyed_says_what_to_do(monkeypatch):
    """A lambda made by eval, or an object of no known kind, is a PlanError; `version=` helps."""
    # As Python 3.13 does in `python -c`, for the text of -c: it is not that of the lambda.
    monkeypatch.setitem(linecache.cache, "<string>", (9, None, ["f = lambda text: 1"], "<string>"))
    sourceless = eval("lambda text: None")  # noqa: S307 - a function without source is the case
    with pytest.raises(PlanError, match="version="):
        Filter(sourceless)
    assert key(Filter(sourceless, version="1")) != key(Filter(sourceless, version="2"))
    with pytest.raises(PlanError, match="frozen dataclass"):
        key(object())
    with pytest.raises(PlanError, match=r"^an Estimator \(<dataprep"):
        key(Estimator())


def test_a_function_may_name_what_is_not_there_yet():
    """A variable of the enclosing function that has no value yet is left out; with a value it counts."""

    def fn():
        return later

    before = key(fn)
    later = 1
    with_one = key(fn)
    later = 2
    assert len({before, with_one, key(fn)}) == 3


def test_functions_of_libraries_are_known_by_name(monkeypatch):
    """A global that is imported counts by its module and its name; another one is another function."""
    keys = []
    for value in (np.sum, np.mean, functools.partial, sys.getsizeof, subprocess):
        monkeypatch.setitem(globals(), "IMPORTED", value)
        keys.append(key(uses_imported))
    assert len(set(keys)) == len(keys)


IMPORTED = None


def uses_imported(text):
    """Call what is imported."""
    return IMPORTED(text)


class Colour(enum.Enum):
    """Two members of one value each."""

    RED = 1
    BLUE = 2


class Taste(enum.Enum):
    """A member of the same name."""

    RED = 1


@dataclass(frozen=True)
class Noted:
    """A value with a note that does not count."""

    n: int
    note: str = field(default="", compare=False)

    def more(self):
        """A method."""

    def less(self):
        """Another one."""


def with_default(a, b=1, *, c=1):
    """Defaults count."""


BYTES = np.arange(6, dtype=np.int8)
APART = {
    "arrays": [BYTES, BYTES.view(np.uint8), BYTES.reshape(2, 3), BYTES.reshape(3, 2), BYTES[::-1], BYTES.tolist()],
    "numbers": [1, 1.0, True, "1", b"1", np.int32(1), np.int64(1), np.float64(1), None],
    "types of Arrow": [pa.int8(), pa.int16(), pa.schema([("a", pa.int8())]), pa.schema([("b", pa.int8())])],
    "members": [Colour.RED, Colour.BLUE, Taste.RED],
    "dicts": [{}, {"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 1}, [["a", 1]]],
    "sets": [set(), {1}, {1, 2}, {"1", 2}, [1, 2], [2, 1], [[1], 2], [1, [2]]],
    "partial": [functools.partial(f, *a, **k) for f, a, k in (
        (with_default, (1,), {}), (with_default, (2,), {}), (with_default, (), {"a": 1}), (with_default, (), {"b": 1}),
        (uses_imported, (1,), {}))],
    "classes": [int, str, Noted, Mine, Colour],
    "methods": [Noted(1).more, Noted(1).less, Noted(2).more],
    "built in": [len, max, math.floor],
    "fields": [Noted(1), Noted(2), Mine(limit=1)],
}  # fmt: skip


@pytest.mark.parametrize("kind", APART)
def test_what_differs_has_another_key(kind):
    """Each value has a key of its own, which is the same every time."""
    keys = [key(value) for value in APART[kind]]
    assert len(set(keys)) == len(keys)
    assert keys == [key(value) for value in APART[kind]]
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in keys)


def test_what_is_the_same_has_one_key():
    """Order of sets and dicts, lists and tuples, kinds of mappings, notes; deep in other values, too."""
    same = [({1, 2}, frozenset([2, 1])), ([1, (2,)], (1, [2])), ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
            ({"a": 1}, collections.OrderedDict(a=1)), (Noted(1), Noted(1, "seen")),
            ([Noted(1).more], [Noted(1, "x").more])]  # fmt: skip
    assert [key(one) == key(other) for one, other in same] == [True] * len(same)
    ring: list = [1]
    assert key([ring, [ring]]) == key([[1], [[1]]])  # twice, but not in itself


PATTERN, KIND, COUNT = re.compile("a"), Noted, 1


def uses_globals(text):
    """Name globals of three kinds, one of them inside."""
    return PATTERN, KIND, [lambda: COUNT for _ in text]


def test_globals_of_every_kind_count(monkeypatch):
    """Patterns with their flags, classes with their source, and what only an inner function names."""
    found = {key(uses_globals)}
    for name, value in (("PATTERN", re.compile("b")), ("PATTERN", re.compile("a", re.IGNORECASE)), ("KIND", Mine),
                        ("COUNT", 2), ("COUNT", with_default), ("COUNT", Colour.RED)):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setitem(uses_globals.__globals__, name, value)
            found.add(key(uses_globals))
    assert len(found) == 7
    for name, value in (("__defaults__", (2,)), ("__kwdefaults__", {"c": 2})):
        before = key(with_default)
        with monkeypatch.context() as patch:
            patch.setattr(with_default, name, value)
            assert key(with_default) != before


def test_parameters_that_cannot_be_read():
    """A class of C has no signature; the sentence names it."""
    assert parameter_names(with_default) == ["a", "b", "c"]
    for wrong in (dict, 3):
        with pytest.raises(PlanError, match=r"^the parameters of .* cannot be read; wrap it in a function whose par"):
            parameter_names(wrong)
    with pytest.raises(PlanError, match="^the parameters of the function dict cannot"):
        parameter_names(dict)


def test_a_module_that_loads_on_first_use_is_one():
    """A function that names it is hashed, and both can be sent to a worker and copied."""

    def has_text(column):
        return compute.any(compute.greater(compute.utf8_length(column), 0))

    assert key(has_text) != key(len)
    sent = [pickle.loads(pickle.dumps(compute)), cloudpickle.loads(cloudpickle.dumps(compute)), copy.deepcopy(compute)]
    for copied in sent:
        assert copied.utf8_length(pa.array(["añb"])).to_pylist() == [3]
