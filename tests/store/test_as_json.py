"""The bytes of JSON files."""

from __future__ import annotations

import json

import pytest

from dataprep.store.as_json import json_bytes

VALUES = [None, 1, "a", [], {}, {"b": [1, {"d": 1, "c": None}], "a": "\u00e9"}, [1.5, True, "x"], (1, (2,))]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_equal_values_have_equal_bytes(value):
    """Sorted and indented, with a line end; the value comes back."""
    found = json_bytes(value)
    assert found.decode() == json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def test_names_that_are_not_utf8_become_escapes():
    """Wherever they stand; everything else is as it was."""
    bad, good = "a\udcff", "a\\udcff"
    value = {bad: [bad, (bad, {bad: None}), 1, True, None, 2.5], "b": {"c": bad}}
    stated = {good: [good, [good, {good: None}], 1, True, None, 2.5], "b": {"c": good}}
    assert json.loads(json_bytes(value)) == stated
    assert json_bytes(value) == json_bytes(stated)
