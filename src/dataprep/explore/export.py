"""Export what a view shows as a file: Parquet or JSON Lines, with the filters and the order of the page."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.core.model.batch import parse_id, show_id
from dataprep.core.model.tables import DROPS, Drop, row_object
from dataprep.errors import require
from dataprep.history.texts import DocumentsAsRead

from . import documents, lists, overview
from .index import RunIndex
from .thresholds import changed_documents
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
TEXT, COUNT = pa.string(), pa.int64()
DROP_ROWS = pa.schema([field.with_type(TEXT) if field.type == pa.uint64() else field for field in DROPS]
                      + [pa.field("folder", TEXT)])  # fmt: skip
CHANGES = pa.schema([("id", TEXT), ("change", TEXT)])
SOURCES = pa.schema([("source", TEXT), ("stage", TEXT), ("reason", TEXT), ("docs", COUNT), ("bytes", COUNT)])
SUSPICIONS = pa.schema(
    [("kind", TEXT), ("sentence", TEXT), ("source", TEXT), ("other", TEXT), ("stage", TEXT), ("reason", TEXT),
     ("docs", COUNT), ("bytes", COUNT), ("text", TEXT)]
)  # fmt: skip
HITS = pa.schema([("id", TEXT), ("source", TEXT), ("kept", pa.bool_()), ("times", COUNT), ("causes", TEXT)])


def exported(index: RunIndex, asked: ViewQuery) -> tuple[bytes, str, str]:
    """Return (content, Content-Type, name) of a file with all rows of a view; ids are texts such as "3:1745".

    Parameters: list, one of LISTS, and the parameters of this view; as, "parquet" or "jsonl"; texts, "1" to include
        the texts of dropped or changed documents. Raises PlanError for more than 10,000 texts.
    """
    which, kind = asked.choice("list", LISTS), asked.choice("as", KINDS)
    schema, made = LISTS[which]
    rows = made(index, asked)
    if asked.text("texts") and which in DROPS_OF:
        require(len(rows) <= MOST_TEXTS, f"{len(rows):,} documents were chosen, of which an export has texts of "
                f"{MOST_TEXTS:,} at most; filter the list, or leave the texts out")  # fmt: skip
        texts = _texts(index, DROPS_OF[which](index, asked, rows))
        schema = schema.append(pa.field("text", TEXT))
        rows = [{**row, "text": text} for row, text in zip(rows, texts, strict=True)]
    return _file(kind, schema, rows), KINDS[kind], f"{which}.{kind}"


def _texts(index: RunIndex, drops: list[Drop]) -> list[str | None]:
    found = DocumentsAsRead(index.url, [drop.id for drop in drops])
    rows = [found.dropped(drop) for drop in drops]
    return [None if row is None else str(row["text"]) for row in rows]


def _drops(index: RunIndex, _asked: ViewQuery, rows: list[dict[str, Any]]) -> list[Drop]:
    return [index.drop({**row, "id": parse_id(row["id"]), "folder": index.folders.index(row["folder"])})
            for row in rows]  # fmt: skip


def _changes(index: RunIndex, asked: ViewQuery) -> list[dict[str, Any]]:
    """Return the documents that come back and those that are newly dropped at another threshold or limit."""
    _, _, back, new = changed_documents(index, asked)
    named = (("comes back", back), ("newly dropped", new))
    return [{"id": show_id(id_), "change": name} for name, ids in named for id_ in ids.tolist()]


def _changed_drops(index: RunIndex, asked: ViewQuery, rows: list[dict[str, Any]]) -> list[Drop]:
    """Return changed documents as drops of their stage, so that their texts are read as the stage received them."""
    label, folder, _, _ = changed_documents(index, asked)
    empty = dict.fromkeys(DROPS.names)
    return [row_object(Drop, {**empty, "id": parse_id(row["id"]), "stage": label, "reason": ""}, folder=folder)
            for row in rows]  # fmt: skip


def _matrix(index: RunIndex, asked: ViewQuery) -> list[dict[str, Any]]:
    """Return the amounts read, kept and removed by source, stage and reason."""
    found = overview.matrix(index, asked)
    rows = list[dict[str, Any]]()
    for one in found["sources"]:
        totals = ({"stage": None, "reason": name, **one[name]} for name in ("read", "kept"))
        rows += [{"source": one["source"], **total} for total in totals]
        for number, docs, size in one["removed"]:
            head = found["columns"][number]
            rows.append({"source": one["source"], "stage": head["stage"], "reason": head["reason"], "docs": docs,
                         "bytes": size})  # fmt: skip
    return rows


def _suspicions(index: RunIndex, asked: ViewQuery) -> list[dict[str, Any]]:
    views = (overview.suspected, overview.suspected_by_text)
    found = [one for view in views for one in view(index, asked)["suspicions"]]
    return [{name: one.get(name) for name in SUSPICIONS.names} for one in sorted(found, key=lambda one: -one["bytes"])]


def _hits(index: RunIndex, asked: ViewQuery) -> list[dict[str, Any]]:
    """Return all documents with a text: those that are kept, and those of which a stage removed it."""
    found = documents.search(index, asked, most=None)
    kept = [{**one, "kept": True, "causes": None} for one in found["kept"]["hits"]]
    causes = ["; ".join(f"{one['how']} by {one['stage']}: {one['rule']}" for one in hit["causes"])
              for hit in found["hits"]]  # fmt: skip
    return [*kept, *({**hit, "kept": False, "causes": why} for hit, why in zip(found["hits"], causes, strict=True))]


Made = Callable[[RunIndex, ViewQuery], list[dict[str, Any]]]
LISTS: dict[str, tuple[pa.Schema, Made]] = {
    "drops": (DROP_ROWS, lambda index, asked: lists.all_rows(index, "drops", asked)),
    "clusters": (CLUSTERS, lambda index, asked: lists.all_rows(index, "clusters", asked)),
    "changes": (CHANGES, _changes), "sources": (SOURCES, _matrix), "suspicions": (SUSPICIONS, _suspicions),
    "hits": (HITS, _hits),
}  # fmt: skip
DROPS_OF = {"drops": _drops, "changes": _changed_drops}


def _file(kind: str, schema: pa.Schema, rows: list[dict[str, Any]]) -> bytes:
    if kind == "jsonl":
        return b"".join(orjson.dumps({name: row[name] for name in schema.names}) + b"\n" for row in rows)
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema), buffer, compression="zstd")
    return buffer.getvalue()
