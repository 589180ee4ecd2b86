"""Each file of `examples/` extends dataprep from outside in under 60 lines, and works."""

from __future__ import annotations

import gzip
import subprocess
import sys

import dataprep as dp
from opened import open_in_others


def test_examples_are_short(root) -> None:
    """An example has under 60 lines and a main guard."""
    for path in (root / "examples").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") < 60, path.name
        assert '\nif __name__ == "__main__":' in text, path.name


def test_a_reader(root, tmp_path) -> None:
    """A script's own reader is found by suffix and first bytes, runs in workers, and leaves other files alone."""
    cake, soup = "Cake: flour, eggs, sugar, an hour of heat.", "Soup: leek, potato, cream, half an hour of heat."
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.recipes").write_text(f"%recipes\n{cake}\n---\ntea\n---\n{soup}")
    (tmp_path / "in" / "b.txt.gz").write_bytes(gzip.compress(f"%recipes\n{soup}".encode()))
    (tmp_path / "in" / "c.txt").write_text("A plain text is one document.")
    out = str(tmp_path / "out")
    script = [sys.executable, str(root / "examples" / "reader.py"), str(tmp_path / "in"), out]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3 recipes\n"
    open_in_others(out)
    clean = dp.open_dataset(out).table()
    assert clean["text"].to_pylist() == [cake, soup, "A plain text is one document."]
    assert clean["source"].to_pylist() == ["a", "a", "in"]
    assert clean["id"].to_pylist()[:2] == [0, 2]
