"""Export the rows of a list as a file: Parquet or JSON Lines, with the filters and the order of the page."""

from __future__ import annotations

import io
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.core.model.batch import parse_id
from dataprep.core.model.tables import DROPS
from dataprep.errors import require
from dataprep.history.texts import DocumentsAsRead

from . import lists
from .index import RunIndex
from .view_query import ViewQuery

MOST_TEXTS = 10_000  # that are held in memory
KINDS = {"parquet": "application/vnd.apache.parquet", "jsonl": "application/jsonl"}
CLUSTERS = pa.schema(
    [
        ("root", pa.string()), ("home", pa.string()), ("source", pa.string()), ("removed", pa.int64()),
        ("bytes", pa.int64()), ("least", pa.float32()), ("reasons", pa.string()), ("end_stage", pa.string()),
        ("end_reason", pa.string()),
    ]
)  # fmt: skip
SCHEMAS = {
    "drops": pa.schema([field.with_type(pa.string()) if field.type == pa.uint64() else field for field in DROPS]
                       + [pa.field("folder", pa.string())]),
    "clusters": CLUSTERS,
}  # fmt: skip


def exported(index: RunIndex, asked: ViewQuery) -> tuple[bytes, str, str]:
    """Return (content, Content-Type, name) of a file with all rows of a list; ids are texts such as "3:1745".

    Parameters: list, "drops" or "clusters", and the parameters of this list; as, "parquet" or "jsonl"; texts, "1" to
        include the texts of the dropped documents. Raises PlanError for more than 10,000 texts.
    """
    which, kind = asked.choice("list", SCHEMAS), asked.choice("as", KINDS)
    rows = lists.all_rows(index, which, asked)
    schema = SCHEMAS[which]
    if asked.text("texts") and which == "drops":
        require(len(rows) <= MOST_TEXTS, f"{len(rows):,} documents were chosen, of which an export has texts of "
                f"{MOST_TEXTS:,} at most; filter the list, or leave the texts out")  # fmt: skip
        schema, rows = schema.append(pa.field("text", pa.string())), _with_texts(index, rows)
    return _file(kind, schema, rows), KINDS[kind], f"{which}.{kind}"


def _with_texts(index: RunIndex, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ids = [parse_id(row["id"]) for row in rows]
    documents, found = DocumentsAsRead(index.url, ids), []
    for row, id_ in zip(rows, ids, strict=True):
        one = documents.dropped(index.drop({**row, "id": id_, "folder": index.folders.index(row["folder"])}))
        found.append({**row, "text": None if one is None else one["text"]})
    return found


def _file(kind: str, schema: pa.Schema, rows: list[dict[str, Any]]) -> bytes:
    if kind == "jsonl":
        return b"".join(orjson.dumps({name: row[name] for name in schema.names}) + b"\n" for row in rows)
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema), buffer, compression="zstd")
    return buffer.getvalue()
