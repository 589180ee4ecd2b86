"""Hugging Face datasets: their rows are written once to a Parquet file, which is then read like any other file.

A dataset on the hub can change, and an iterator can be read only once, but document ids and resumed runs need input
that stays the same. So the rows are written first, to `out=` or to the folder DATAPREP_CACHE (~/.cache/dataprep by
default). The position of a document is its row number. The file's key is a hash of repository, configuration, split and
revision (the commit, requested from the hub unless given), or of the content of a dataset in memory or on disk, or
`key=`, which an IterableDataset needs because nothing in it identifies its rows.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from dataprep.core.dataset import Dataset
from dataprep.errors import PlanError, ReadError, Transient, need
from dataprep.store import files, hashes, receipts
from dataprep.store.key import key as key_of

PREFIX = "hf://datasets/"
ROWS = 1_000  # fetched at once
GROUP_BYTES = 32 << 20  # of a row group: memory while writing, and the smallest size of a part


@dataclasses.dataclass(frozen=True)
class HubSource:
    """A Hugging Face dataset to write (`rows`), the source name of its documents, and a key for its content."""

    rows: Any
    source: str
    key: str


def rows_of(
    data: Any,
    *,
    text: str,
    split: str | None = None,
    config: str | None = None,
    revision: str | None = None,
    key: str | None = None,
    out: str | None = None,
) -> tuple[str, str, str]:
    """Write the rows of a Hugging Face dataset to a Parquet file; return (URL of the file, source name, key).

    The key identifies the dataset's content; if a file of this key exists, nothing is written. data: a `datasets`
    object, a repository ("OWNER/NAME" or hf://datasets/OWNER/NAME@REVISION), or a local folder. text: the column of
    texts, which must exist. split, config, revision: which rows of the repository. key: required for an
    IterableDataset. out: the folder to write to; None: a cache folder.

    Raises PlanError if split or key is missing, ReadError if the dataset or column does not exist, Transient if the
    network fails.
    """
    given = _given(data, split, config, revision, key)
    cache = os.environ.get("DATAPREP_CACHE") or os.path.join(os.path.expanduser("~"), ".cache", "dataprep")
    name = re.sub(r"[^\w.-]+", "-", given.source).strip("-") or "rows"
    url = files.join(out or files.join(cache, "hf"), f"{name}-{given.key[:16]}", "rows.parquet")
    receipt = files.join(url.rpartition("/")[0], "receipt.json")
    receipts.once(receipt, given.key, lambda: _seal(given, url, text))
    return url, given.source, given.key


def pinned(docs: Dataset, key: str) -> Dataset:
    """Return a Dataset that is identified, to recognise finished work, by `key` and not by a hash of its file."""
    parts = [
        dataclasses.replace(p, slices=tuple(dataclasses.replace(s, fingerprint=key) for s in p.slices))
        for p in docs.parts
    ]
    return docs.of(parts)


def _given(data: Any, split: str | None, config: str | None, revision: str | None, key: str | None) -> HubSource:
    datasets = need("datasets", extra="hf")
    if isinstance(data, str):
        return _named(datasets, data, split, config, revision, key)
    rows = _one_split(data, split)
    source = key or getattr(rows.info, "dataset_name", None) or "rows"
    if key is not None:
        return HubSource(rows, source, key_of(["hf", key]))
    if isinstance(rows, datasets.IterableDataset):
        msg = (
            "nothing in an IterableDataset identifies its rows; set key= to a name of its own, "
            'for example key="OWNER/NAME train 2024-05-01", or give the repository by name'
        )
        raise PlanError(msg)
    return HubSource(rows, source, _content_key(rows))


def _named(
    datasets: Any, name: str, split: str | None, config: str | None, revision: str | None, key: Any
) -> HubSource:
    """Return a repository on the hub, streamed, or a local folder."""
    path, _, at = name.removeprefix(PREFIX).partition("@")
    revision = revision or at or None
    if files.is_dir(path) and not name.startswith(PREFIX):
        with _sentences(path):
            saved = files.exists(files.join(path, "state.json")) or files.exists(files.join(path, "dataset_dict.json"))
            found = datasets.load_from_disk(path) if saved else datasets.load_dataset(path, config, streaming=True)
        inside = [hashes.fingerprint(url) for url in files.expand(path)]
        recipe = [inside, config, split] if key is None else [key]
        return HubSource(_one_split(found, split), files.name_of(path), key_of(["hf", *recipe]))
    with _sentences(path):
        if revision is None and key is None:
            revision = need("huggingface_hub", extra="hf").HfApi().dataset_info(path).sha
        found = datasets.load_dataset(path, config, revision=revision, streaming=True)
    rows = _one_split(found, split)
    return HubSource(
        rows, path, key_of(["hf", path, config, str(rows.split), revision] if key is None else ["hf", key])
    )


def _one_split(found: Any, split: str | None) -> Any:
    """Return the named split, or the only one."""
    if not isinstance(found, dict):
        return found
    wanted = split or (next(iter(found)) if len(found) == 1 else None)
    if wanted not in found:
        state = f"there is no split {split!r}" if split else "there are several splits"
        msg = f"{state}; name one with split=: {', '.join(found)}"
        raise PlanError(msg)
    return found[wanted]


@contextlib.contextmanager
def _sentences(name: str) -> Iterator[None]:
    """Turn exceptions of the hub's library into errors of one sentence."""
    try:
        yield
    except (FileNotFoundError, ValueError) as e:  # no such dataset, configuration or file
        msg = f"the dataset cannot be loaded ({_first_line(e)}); check its name, or give a local folder"
        raise ReadError(msg, name) from e
    except Exception as e:
        if not isinstance(e, OSError) and "hub" not in type(e).__module__ and "http" not in type(e).__module__:
            raise
        msg = f"{name}: the hub cannot be reached ({_first_line(e)}); try again, or give a local folder"
        raise Transient(msg) from e


def _first_line(e: Exception) -> str:
    return (str(e).strip().splitlines() or [type(e).__name__])[0][:200]


def _content_key(rows: Any) -> str:
    """Return the key of a dataset in memory or on disk: a hash of its columns and every value."""
    digest = xxhash.xxh3_128()
    for table in rows.with_format("arrow").iter(batch_size=ROWS):
        with pa.BufferOutputStream() as sink:
            with pa.ipc.new_stream(sink, table.schema.remove_metadata()) as writer:
                writer.write_table(table.replace_schema_metadata(None).combine_chunks())
            digest.update(sink.getvalue())
    return key_of(["hf", digest.hexdigest()])


def _seal(given: HubSource, url: str, text: str) -> dict[str, Any]:
    """Stream the rows into one Parquet file with a row group every 32 MB."""
    with files.atomic(url) as f:
        n = _write(f, given, text)
    if not n:
        files.remove(url)
        msg = "the dataset has no rows; check its name and split="
        raise ReadError(msg, given.source)
    return {"files": [url], "rows": n, "source": given.source}


def _tables(given: HubSource) -> Iterator[pa.Table]:
    with _sentences(given.source):
        yield from given.rows.with_format("arrow").iter(batch_size=ROWS)


def _write(f: BinaryIO, given: HubSource, text: str) -> int:
    writer: pq.ParquetWriter | None = None
    schema = pa.schema([])
    held: list[pa.Table] = []
    n = 0
    try:
        for table in _tables(given):
            if writer is None:
                schema = _schema(table.schema, given, text)
                writer = pq.ParquetWriter(f, schema, compression="zstd", use_dictionary=False)
            held.append(_like(table, schema, given, n))
            n += len(table)
            if sum(t.nbytes for t in held) >= GROUP_BYTES:
                writer.write_table(pa.concat_tables(held), row_group_size=n)
                held = []
        if writer and held:
            writer.write_table(pa.concat_tables(held), row_group_size=n)
    finally:
        if writer:
            writer.close()
    return n


def _schema(schema: pa.Schema, given: HubSource, text: str) -> pa.Schema:
    """Return the columns of the first rows; a column without any value yet is a string column."""
    if text not in schema.names:
        there = ", ".join(f"{field.name} ({field.type})" for field in schema)
        msg = f"there is no text column {text!r}; the columns are {there}; name one of them with text="
        raise ReadError(msg, given.source)
    fields = [field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema]
    return pa.schema(fields)


def _like(table: pa.Table, schema: pa.Schema, given: HubSource, row: int) -> pa.Table:
    try:
        return table.select(schema.names).replace_schema_metadata(None).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError, ValueError) as e:
        msg = f"from row {row:,} on the columns have other types than before ({e}); cast them with its features"
        raise ReadError(msg, given.source) from e
