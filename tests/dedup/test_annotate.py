"""`annotate=`: clusters and spans as columns, and nothing removed."""

from __future__ import annotations

import json
import re
import runpy
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import dataprep as dp
from dataprep.core.model.annotate import COLUMNS
from dataprep.dedup.bloom import Bloom
from dataprep.dedup.exact import Exact
from dataprep.dedup.minhash import MinHash
from dataprep.dedup.semantic import SemDeDup
from dataprep.dedup.suffix_array import SuffixArray
from dataprep.dedup.url import URLDedup
from dataprep.errors import PlanError

TEXTS = ["one two three", "four five six\nseven", "one two three", "", "nine\nfour five six", "one two three", "ten"]
OLD = ["ten", "eleven", "ten"]


def lengths(texts: list[str]) -> list[list[float]]:
    """A vector for each text: equal texts only are similar."""
    return [[len(t), t.count("e"), t.count("n") + 1.0] for t in texts]


DROPPERS = {
    "exact": Exact(),
    "minhash": MinHash(ngram=1),
    "url": URLDedup(keep="first"),
    "semantic": SemDeDup(embed=lengths, epsilon=1e-4),
    "prototypes": SemDeDup(embed=lengths, epsilon=1e-4, diversify=0.7),
    "bloom": Bloom(),
}
CUTTERS = {
    "line": Exact(unit="line"),
    "words": SuffixArray(min_words=3),
    "bloom": Bloom(unit="paragraph"),
}


def read(path: Path, texts: list[str]) -> dp.Dataset:
    """A Dataset of texts, each with an address of its own."""
    path.write_text("".join(json.dumps({"text": t, "url": f"http://e.org/{len(t)}"}) + "\n" for t in texts))
    return dp.read(str(path), columns=["url"])


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("name", DROPPERS)
def test_clusters_are_those_of_the_drop_table(tmp_path, name, older) -> None:
    """Every document stays; those without `duplicate` are the ones that would be kept, with their cluster's size."""
    if older and name == "prototypes":
        pytest.skip("not with against=")
    stage = DROPPERS[name]
    if older:
        stage = replace(stage, against=dp.Pipeline().run(read(tmp_path / "old.jsonl", OLD), str(tmp_path / "old")).url)
    docs = read(tmp_path / "in.jsonl", TEXTS)
    plain = dp.Pipeline(stage).run(docs, str(tmp_path / "plain"))
    noted = dp.Pipeline(replace(stage, annotate=True)).run(docs, str(tmp_path / "noted"))
    rows = {row["id"]: row for row in noted.take(99)}
    assert [row["text"] for row in rows.values()] == TEXTS
    assert [i for i, row in rows.items() if row["duplicate"] is None] == [row["id"] for row in plain.take(99)]
    drops = {row["id"]: row for row in plain.drops().to_pylist()}
    sizes = Counter((row["duplicate_of_dataset"], row["duplicate_of"]) for row in drops.values())
    for i, row in rows.items():
        drop = drops.get(i, {"reason": None, "duplicate_of_dataset": None, "duplicate_of": i, "similarity": None})
        # a survivor that is a prototype
        head = i if drop["duplicate_of"] is None and sizes[None, i] else drop["duplicate_of"]
        assert (row["duplicate"], row["cluster_dataset"], row["cluster"]) == (
            drop["reason"],
            drop["duplicate_of_dataset"],
            head,
        )
        assert row["similarity"] == drop["similarity"]
        unknown = head is None or name == "bloom"
        assert row["cluster_size"] == (None if unknown else sizes[drop["duplicate_of_dataset"], head] + 1)
    assert len(drops) > 1


@pytest.mark.parametrize("name", CUTTERS)
def test_spans_are_those_of_the_cut_table(tmp_path, name) -> None:
    """Texts are unchanged, and `repeats` lists what would be cut."""
    docs = read(tmp_path / "in.jsonl", TEXTS)
    cuts = dp.Pipeline(CUTTERS[name]).run(docs, str(tmp_path / "plain")).cuts().to_pylist()
    noted = dp.Pipeline(replace(CUTTERS[name], annotate="seen_")).run(docs, str(tmp_path / "noted"))
    rows = noted.take(99)
    assert [row["text"] for row in rows] == TEXTS
    found = [{"id": row["id"], **span} for row in rows for span in row["seen_repeats"]]
    assert found == [{k: v for k, v in cut.items() if k in found[0]} for cut in cuts]
    assert len(found) > 1


def test_columns_are_read_by_later_stages(tmp_path, caplog) -> None:
    """A filter, and `keep=` of another deduplication, read the columns; two may be written if their names differ."""
    docs = read(tmp_path / "in.jsonl", TEXTS)
    stages = (
        Exact(annotate=True), Exact(unit="line", annotate=True), MinHash(ngram=1, annotate="near_"),
        URLDedup(keep="best:cluster_size"), dp.Filter(lambda duplicate: duplicate is None),
    )  # fmt: skip
    done = dp.Pipeline(*stages).run(docs, str(tmp_path / "out"))
    assert [(row["text"], row["cluster_size"], row["near_cluster_size"]) for row in done.take(9)] == [
        (TEXTS[0], 3, 3), (TEXTS[1], 1, 1), ("", 1, 1), (TEXTS[4], 1, 1), ("ten", 1, 1)
    ]  # fmt: skip
    assert "only remaining copy" in caplog.text
    caplog.clear()
    dp.Pipeline(*stages[:1], *stages[-1:]).run(docs, str(tmp_path / "two"))
    assert "only remaining copy" not in caplog.text
    with pytest.raises(PlanError, match="MinHash adds duplicate, cluster, .* already exists; set annotate='"):
        dp.Pipeline(Exact(annotate=True), MinHash(annotate=True)).run(docs, str(tmp_path / "no"))


def test_the_code_of_the_page(root, tmp_path, monkeypatch) -> None:
    """docs/dedup-annotate.md: its code runs, and its table names the columns."""
    monkeypatch.chdir(tmp_path)
    page = (root / "docs" / "dedup-annotate.md").read_text(encoding="utf-8")
    code = "".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    (tmp_path / "page.py").write_text(re.sub(r"^docs = .*\n", "", code, flags=re.MULTILINE))
    names = runpy.run_path("page.py", {"dp": dp, "docs": read(tmp_path / "in.jsonl", TEXTS)})
    assert [row["text"] for row in names["clean"].take(9)] == [t for i, t in enumerate(TEXTS) if i not in (2, 5)]
    assert [row["text"] for row in names["twice"].take(9)] == ["one two three"]
    rows = re.findall(r"^\| `(\w+)` \| (\w+)", page, re.MULTILINE)
    kinds = SemDeDup(embed=lengths, annotate=True).adds
    assert [*kinds][: len(COLUMNS)] == [*COLUMNS]
    assert rows == [(name, {"float": "float32"}.get(str(kind), str(kind))) for name, kind in kinds.items()]


def test_wrong_values_are_sentences() -> None:
    """A prefix is a name; what drops nothing cannot drop every copy."""
    for wrong in ("", "a b", 3, None):
        with pytest.raises(PlanError, match="annotate="):
            Exact(annotate=wrong)
    with pytest.raises(PlanError, match="keep='none' must be left out"):
        MinHash(annotate=True, keep="none")
