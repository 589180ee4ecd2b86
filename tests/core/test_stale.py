"""StaleOutput names what changed: the stages, a field, or an input file."""

from __future__ import annotations

import pytest

import dataprep as dp
from dataprep.errors import StaleOutput


def test_it_says_which_stage_field_or_file_changed(tmp_path):
    """The first difference is named, and the advice is kept."""
    texts = tmp_path / "a.jsonl"
    texts.write_text('{"text": "one text of some words"}\n')

    def run(*stages):
        return dp.Pipeline(*stages).run(dp.read(str(tmp_path / "*.jsonl")), out=str(tmp_path / "out"))

    def says(*stages):
        with pytest.raises(StaleOutput, match=r"; give another folder as out, or replace=True$") as e:
            run(*stages)
        return str(e.value)

    run(dp.Exact(), dp.MinHash(threshold=0.8))
    assert "MinHash has threshold=0.8 there, and threshold=0.7 now" in says(dp.Exact(), dp.MinHash(threshold=0.7))
    assert "its stages are Exact -> MinHash, and now Exact" in says(dp.Exact())
    assert "and now none (a copy)" in says()
    same = (dp.Exact(), dp.MinHash(threshold=0.8))
    (tmp_path / "b.jsonl").write_text('{"text": "another text"}\n')
    assert f"the input file {tmp_path}/b.jsonl is new" in says(*same)
    (tmp_path / "b.jsonl").unlink()
    texts.write_text('{"text": "other words in the same file"}\n')
    assert f"the input file {texts} has other content" in says(*same)
