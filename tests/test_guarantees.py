"""docs/guarantees.md: every promise names a test, and the tests exist."""

from __future__ import annotations

import ast
import re

import pytest

PROMISE = re.compile(r"- (?P<text>.+?)\s+`(?P<file>tests/[\w/]+\.py)::(?P<test>test_\w+)`", re.DOTALL)


@pytest.fixture
def promises(root):
    """The promises of the page: (text, file, test)."""
    page = (root / "docs" / "guarantees.md").read_text(encoding="utf-8")
    items = re.findall(r"^- .*(?:\n  .*)*", page, re.MULTILINE)
    found = [PROMISE.fullmatch(item) for item in items]
    assert all(found), [item for item, match in zip(items, found, strict=True) if not match]
    return [match.group("text", "file", "test") for match in found]


def test_every_promise_has_a_test(promises, root):
    """The file is there, and defines a test of this name; no promise stands without one."""
    assert len(promises) > 20
    for text, file, test in promises:
        assert (root / file).exists(), f"{text}: there is no {file}"
        tree = ast.parse((root / file).read_text(encoding="utf-8"))
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{file} has no {test}"


def test_every_test_is_named_once(promises):
    """Each promise is proved by a test of its own."""
    tests = [f"{file}::{test}" for _, file, test in promises]
    assert sorted(set(tests)) == sorted(tests)
