"""Recall by script: what is expected from the pairs that were found is what complete bands find."""

from __future__ import annotations

import json
from collections import Counter

import pytest

import dataprep as dp
from dataprep.history.recall import expected_recall, recall_by_script, script_of
from dataprep.history.run_summary import summarize
from dataprep.report.duplicates import duplicates
from dedup.near.test_scripts import SCRIPTS, families

NAMES = {"arabic with vowels": "Arabic", "japanese": "Kana", "chinese": "Han", "burmese": "Myanmar"}
WEAK = {"bands": 10, "rows": 12}  # propose half of the pairs at 0.8


def test_expected_recall_is_that_of_complete_bands(tmp_path) -> None:
    """Light edits in each script: for each, the estimate is within 0.1 of what 120 bands of one row find more."""
    with (tmp_path / "docs.jsonl").open("w", encoding="utf-8") as f:
        for script in SCRIPTS:
            for texts in families(script):
                f.writelines(json.dumps({"text": text}) + "\n" for text in texts[:70])
    docs = dp.read(str(tmp_path / "docs.jsonl"))
    weak = dp.Pipeline(dp.MinHash(**WEAK)).run(docs, str(tmp_path / "weak"))
    every = dp.Pipeline(dp.MinHash(bands=120, rows=1)).run(docs, str(tmp_path / "every"))
    found, all_pairs = (Counter(script_of(doc["text"]) for doc in run.dropped()) for run in (weak, every))
    rows = {row.script: row for row in recall_by_script(weak)}
    assert set(rows) == {NAMES.get(script, script.capitalize()) for script in SCRIPTS} == set(all_pairs)
    for script, row in rows.items():
        assert row.pairs == found[script]
        assert row.recall == pytest.approx(found[script] / all_pairs[script], abs=0.1), script
    assert 0.6 < min(row.recall for row in rows.values()) < 0.97
    page = duplicates(summarize(str(tmp_path / "weak")))
    assert "Expected recall by script" in page
    assert f'{rows["Thai"].recall:.3f}' in page


def test_runs_without_bands_have_no_recall(tmp_path) -> None:
    """Exact and containment have none; equal texts are always found."""
    (tmp_path / "docs.jsonl").write_text('{"text": "one two"}\n' * 3)
    docs = dp.read(str(tmp_path / "docs.jsonl"))
    for name, stage in (("e", dp.Exact()), ("c", dp.MinHash(measure="containment"))):
        assert recall_by_script(dp.Pipeline(stage).run(docs, str(tmp_path / name))) == []
    (row,) = recall_by_script(dp.Pipeline(dp.MinHash()).run(docs, str(tmp_path / "m")))
    assert (row.script, row.pairs, row.recall) == ("Latin", 2, 1.0)
    assert expected_recall([0.8], 26, 8) == pytest.approx(0.991, abs=1e-3)
