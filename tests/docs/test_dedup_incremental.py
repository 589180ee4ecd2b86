"""docs/dedup-incremental.md: its code runs, and does what the page says."""

from __future__ import annotations

import json
import re

import dataprep as dp

TEXTS = {"april": ["one two three", "seven eight"], "may": ["seven eight", "nine"], "june": ["nine", "ten"]}


def test_the_code_of_the_page(root, tmp_path, monkeypatch) -> None:
    """May loses what April has; without April, its copy in May is back."""
    monkeypatch.chdir(tmp_path)
    for month, texts in TEXTS.items():
        (tmp_path / month).mkdir()
        (tmp_path / month / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        dp.Pipeline().run(dp.read(f"{month}/*.jsonl"), out=f"work/{month}-raw")
    page = (root / "docs" / "dedup-incremental.md").read_text(encoding="utf-8")
    names: dict = {"dp": dp}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)  # noqa: S102 - the page is ours
    assert [row["text"] for row in names["may"].take(9)] == ["nine"]
    assert [row["text"] for row in names["clean"].take(9)] == ["seven eight", "nine", "ten"]
