"""Records of state: what may be missing has its default, what may not is one sentence, and so is a newer format."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields

import pytest

from dataprep.core.output import state
from dataprep.core.output.records import Id, StateRecord
from dataprep.errors import CorruptShard, NewerFormat
from dataprep.store.newer import FORMAT

VALUES = {"str": "some text", "int": 3, "list": [], "dict": {"a": 1}, "Mapping": {"a": 1}, "Id": str(2**63 + 1)}


def below(kind):
    """All records that derive from one."""
    return [kind, *(found for one in kind.__subclasses__() for found in below(one))]


KINDS = [kind for kind in below(StateRecord) if kind.__module__ == state.__name__]
FIELDS = [(kind, one) for kind in KINDS for one in fields(kind) if one.name != "more"]
IDS = [f"{kind.__name__}.{one.name}" for kind, one in FIELDS]


def value_of(one):
    """A JSON value of the type of a field."""
    if "of" in one.metadata:
        return [whole(one.metadata["of"]())] * 2
    if "one" in one.metadata:
        return whole(one.metadata["one"]())
    name = re.match(r"\w+", str(one.type))[0]
    return True if name == "bool" else FORMAT if one.name == "format" else VALUES[name]


def whole(kind):
    """A JSON object with all fields of a record."""
    return {one.name: value_of(one) for one in fields(kind) if one.name != "more"}


def default_of(one):
    """The default of a field; MISSING if it has none."""
    return one.default if one.default is not MISSING else one.default_factory and one.default_factory()


def is_optional(one):
    """Whether a field may be missing."""
    return one.default is not MISSING or one.default_factory is not MISSING


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_is_read_is_written(kind):
    """All fields that are known, and those that are not, at every level."""
    found = whole(kind) | {"zz_later": {"x": [1]}}
    for one in fields(kind):
        if "of" in one.metadata:
            found[one.name] = [{**item, "zz_later": n} for n, item in enumerate(found[one.name])]
    assert kind.of(found, "URL").record() == found


@pytest.mark.parametrize(("kind", "one"), FIELDS, ids=IDS)
def test_a_missing_field(kind, one):
    """It has its default, or one sentence names the file and the field."""
    found = whole(kind)
    del found[one.name]
    if is_optional(one):
        assert getattr(kind.of(found, "URL"), one.name) == default_of(one)
        assert getattr(kind.of(found | {one.name: None}, "URL"), one.name) == default_of(one)
    else:
        says = rf"^URL is not what dataprep wrote: it lacks {one.name}; run the pipeline again to restore it$"
        with pytest.raises(CorruptShard, match=says):
            kind.of(found, "URL")


@pytest.mark.parametrize(("kind", "one"), FIELDS, ids=IDS)
def test_a_field_of_another_type(kind, one):
    """One sentence names the file and the field."""
    name = re.match(r"\w+", str(one.type))[0]
    wrong = "a text" if name != "str" else 7
    with pytest.raises(CorruptShard, match=r"^URL is not what dataprep wrote: "):
        kind.of(whole(kind) | {one.name: wrong}, "URL")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_newer_format(kind):
    """One sentence says that a newer dataprep reads it, whatever else the file has, also of a record in it."""
    says = rf"^URL has format {FORMAT + 1}, and this version of dataprep reads {FORMAT}; install a newer dataprep$"
    for found in ({}, whole(kind), {"other": 1}):
        with pytest.raises(NewerFormat, match=says):
            kind.of(found | {"format": FORMAT + 1}, "URL")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("found", [None, [], "a text", 3], ids=repr)
def test_no_object(kind, found):
    """One sentence."""
    with pytest.raises(CorruptShard, match=r"^URL is not what dataprep wrote: it is not a JSON object; run the pipe"):
        kind.of(found, "URL")


def test_ids_beyond_json_numbers_are_texts():
    """An id is written as text, since a JSON number beyond 2**53 is another one in many programs."""
    found = state.Shard.of(whole(state.Shard), "URL")
    assert (found.last_id, type(found.last_id)) == (2**63 + 1, Id)
    assert found.record()["last_id"] == str(2**63 + 1)
