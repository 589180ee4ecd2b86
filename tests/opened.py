"""Open sealed Datasets with pandas, Polars, DuckDB and `datasets`, as their users do."""

from __future__ import annotations

from pathlib import Path

import pytest

import dataprep as dp


def open_in_others(url: str) -> None:
    """Open a sealed Dataset by its methods, and its data files by the programs alone; all see the same rows."""
    pandas, polars, duckdb = (pytest.importorskip(name) for name in ("pandas", "polars", "duckdb"))
    datasets = pytest.importorskip("datasets")
    docs = dp.open_dataset(url)
    n, names = docs.count, docs.columns
    for table in (docs.to_arrow(), docs.to_polars(), docs.to_pandas(), docs.to_hf()):
        found = table.column_names if hasattr(table, "column_names") else list(table.columns)
        assert (len(table), found) == (n, names), url
    glob = f"{url}/data/*.parquet"
    assert polars.read_parquet(glob).shape == (n, len(names)), url
    assert pandas.read_parquet(f"{url}/data").shape == (n, len(names)), url
    assert duckdb.sql(f"SELECT count(*) FROM read_parquet('{glob}')").fetchall() == [(n,)], url
    if n:
        loaded = datasets.load_dataset("parquet", data_files=glob, split="train", cache_dir=f"{url}-cache")
        assert loaded.num_rows == n, url


def open_all(place: Path) -> int:
    """Open every sealed Dataset below a folder; return how many there are."""
    homes = [home.parent for home in place.rglob("manifest.json") if (home.parent / "data").is_dir()]
    homes = [home for home in homes if any((home / "data").glob("*.parquet"))]
    for home in homes:
        open_in_others(str(home))
    return len(homes)
