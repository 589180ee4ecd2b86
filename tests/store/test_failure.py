"""The note on the last failure in a folder: when it is written and removed, and what it says."""

from __future__ import annotations

import json
import re

import pytest

import dataprep as dp
from dataprep.errors import FunctionFailed, InUse, PlanError, ReadError, StaleOutput
from dataprep.store.failure import LONGEST, NAME, found, noted


def fail(folder, error, **given):
    """Raise an error in the block; return what is noted."""
    with pytest.raises(type(error)), noted(str(folder), **given):
        raise error
    return found(str(folder))


@pytest.fixture
def folder(tmp_path):
    """A folder with a file."""
    (tmp_path / "a").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("error", "sentence"),
    [(ReadError("cut", "a", 3), str(ReadError("cut", "a", 3))), (ValueError("bad\n  value"), "ValueError: bad value"),
     (OSError(28, "No space"), "OSError: [Errno 28] No space"), (KeyError("x"), "KeyError: 'x'"),
     (ValueError("a\x1b[2J"), "ValueError: a\ufffd[2J"),
     (ValueError("x" * 5_000), "ValueError: " + "x" * (LONGEST - 12))],
    ids=["ours", "lines", "disk", "key", "control", "long"],
)  # fmt: skip
def test_an_error_is_one_line(folder, error, sentence) -> None:
    """With the name of its class, unless it is one of ours; further facts stand beside it."""
    noted_ = fail(folder, error, step="read")
    assert (noted_["error"], noted_["step"]) == (sentence, "read")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", noted_["at"])


def test_no_text_of_a_document_is_noted(folder) -> None:
    """The message on the screen has it; the file does not."""
    error = FunctionFailed("f raised KeyError", "0:1", "my secret", "a.jsonl")
    assert "my secret" in str(error)
    assert fail(folder, error)["error"] == str(FunctionFailed("f raised KeyError", "0:1", "", "a.jsonl"))
    assert fail(folder, FunctionFailed("f raised E: ('')"))["error"] == str(FunctionFailed("f raised E: ('')"))


@pytest.mark.parametrize("error", [PlanError("no"), StaleOutput("no"), InUse("no"), KeyboardInterrupt(), SystemExit(1)])
def test_refusals_and_signals_are_no_failures(folder, error) -> None:
    """An earlier note goes when work begins, and nothing is written in its place."""
    fail(folder, ValueError("earlier"))
    assert fail(folder, error) is None
    if isinstance(error, InUse):
        assert fail(folder, PlanError("no"), but=(InUse,))["error"] == "no"


def test_work_that_ends_well_removes_the_note(folder) -> None:
    """In an empty folder nothing is written, and none is made."""
    assert fail(folder, ValueError("x")) is not None
    with noted(str(folder)):
        assert found(str(folder)) is None
    assert found(str(folder)) is None
    (folder / "empty").mkdir()
    (folder / "empty" / ".lease").touch()
    assert fail(folder / "empty", ValueError("x")) is None
    assert fail(folder / "none", ValueError("x")) is None
    assert not (folder / "none").exists()


def test_a_finished_run_states_no_failure(tmp_path) -> None:
    """An error after the last file, as while work files are deleted, is not shown for ever: nothing is left to do."""
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n')
    docs, out = dp.read(str(tmp_path / "a.jsonl")), tmp_path / "out"
    dp.Pipeline().run(docs, out=str(out))
    (out / NAME).write_text(json.dumps({"at": "now", "error": "no"}))
    dp.Pipeline().run(docs, out=str(out))
    assert found(str(out)) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "5", json.dumps({"at": "x"}), json.dumps({"error": "x"}), "\udc80"])
def test_what_is_no_note_is_none(folder, text) -> None:
    """A note that was cut, or is another file, says nothing."""
    (folder / NAME).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert found(str(folder)) is None
