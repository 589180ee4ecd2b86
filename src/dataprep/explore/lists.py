"""The lists of the page: clusters, the members of one, and dropped documents; filtered, sorted, and in pages."""

from __future__ import annotations

from typing import Any

from dataprep.core.model.batch import parse_id, show_id
from dataprep.unicode.valid import printable

from .index import RunIndex
from .view_query import ViewQuery

CLUSTER_ORDERS = {
    "removed": "removed DESC", "bytes": "bytes DESC NULLS LAST", "least": "least ASC NULLS LAST", "source": "source",
    "reasons": "reasons",
}  # fmt: skip
DROP_ORDERS = {
    "id": "id", "similarity": "similarity ASC NULLS LAST", "bytes": "bytes DESC NULLS LAST",
    "value": "value ASC NULLS LAST", "value_down": "value DESC NULLS LAST", "source": "source",
    "stage": "stage, reason", "chance": "chance",
}  # fmt: skip


class _Where:
    """The conditions of a query, and the values of its question marks."""

    def __init__(self) -> None:
        self.conditions, self.values = ["true"], list[object]()

    def add(self, condition: str, *values: object) -> None:
        self.conditions.append(condition)
        self.values += values

    def __str__(self) -> str:
        return " AND ".join(f"({one})" for one in self.conditions)


def clusters(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return a page of the clusters.

    Parameters: sort, one of CLUSTER_ORDERS; source, of a dropped document; kept, the source of the kept one; stage and
    reason, of a drop; lost, "1" for those without a survivor; least, only those with a larger number of dropped
    documents; below, only those with a lower similarity.
    """
    where = _of_clusters(index, asked)
    order = CLUSTER_ORDERS[asked.choice("sort", CLUSTER_ORDERS)]
    (total,) = index.rows(
        f"SELECT count(*) AS n, coalesce(sum(removed), 0)::BIGINT AS removed FROM clusters WHERE {where}",  # noqa: S608
        where.values,
    )
    found = index.rows(
        f"SELECT * FROM clusters WHERE {where} ORDER BY {order}, root, home LIMIT ? OFFSET ?",  # noqa: S608
        [*where.values, *asked.page],
    )
    return {"total": total["n"], "removed": total["removed"], "clusters": [_cluster(index, row) for row in found]}


def _of_clusters(index: RunIndex, asked: ViewQuery) -> _Where:
    """Return the conditions on a cluster that the parameters of `clusters` state."""
    where = _Where()
    inner = _of_drops(index, asked)
    if inner.values:
        some = f"SELECT (root, home) FROM members JOIN drops USING (id) WHERE {inner}"  # noqa: S608
        where.add(f"(root, home) IN ({some})", *inner.values)
    if asked.text("kept"):
        where.add("list_contains(?, source)", index.named("kept", asked.text("kept")))
    if asked.text("lost"):
        where.add("end_stage IS NOT NULL")
    if asked.text("least"):
        where.add("removed >= ?", asked.integer("least", 1, 1 << 40))
    if asked.text("below"):
        where.add("least < ?", asked.number("below"))
    return where


def _of_drops(index: RunIndex, asked: ViewQuery) -> _Where:
    """Return the conditions on a drop that source, stage and reason state."""
    where = _Where()
    for column in ("source", "stage", "reason"):
        if asked.text(column):
            where.add(f"list_contains(?, {column})", index.named(column, asked.text(column)))
    return where


def _cluster(index: RunIndex, row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "root": show_id(row["root"]), "home": index.homes[row["home"]]}


def all_rows(index: RunIndex, which: str, asked: ViewQuery) -> list[dict[str, Any]]:
    """Return all rows of a list, "clusters" or "drops", with the filters and the order of its parameters."""
    if which == "clusters":
        where, order = _of_clusters(index, asked), CLUSTER_ORDERS[asked.choice("sort", CLUSTER_ORDERS)]
        query = f"SELECT * FROM clusters WHERE {where} ORDER BY {order}, root, home"  # noqa: S608
        return [_cluster(index, row) for row in index.rows(query, where.values)]
    where, order = _of_drops(index, asked), DROP_ORDERS[asked.choice("sort", DROP_ORDERS)]
    return [shown(index, row) for row in index.rows(
        f"SELECT * FROM drops WHERE {where} ORDER BY {order}, id", where.values)]  # noqa: S608


def cluster(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return the cluster of a document, and a page of its dropped documents, the least similar first.

    Parameters: `id`, the kept document or a dropped one; `home`, the Dataset that contains the kept document, as
    `clusters` returns it (if it is missing, this run contains it).
    """
    id_, home = parse_id(asked.text("id")), asked.text("home")
    if home:
        homes = [number for number, one in enumerate(index.homes) if one is not None and printable(one) == home]
        found = index.rows("SELECT * FROM clusters WHERE root = ? AND list_contains(?, home) LIMIT 1", [id_, homes])
    else:
        found = index.rows(
            "SELECT * FROM clusters WHERE (root, home) IN (SELECT (root, home) FROM members WHERE id = ?) "
            "OR (root = ? AND home = 0) LIMIT 1",
            [id_, id_],
        )
    if not found:
        return {"cluster": None, "drops": []}
    rows = index.rows(
        "SELECT drops.* FROM members JOIN drops USING (id) WHERE root = ? AND home = ? AND duplicate_of IS NOT NULL "
        "ORDER BY similarity ASC NULLS LAST, id LIMIT ? OFFSET ?",
        [found[0]["root"], found[0]["home"], *asked.page],
    )
    return {"cluster": _cluster(index, found[0]), "drops": [shown(index, row) for row in rows]}


def drops(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return a page of the dropped documents.

    Parameters: sort, one of DROP_ORDERS; source, stage and reason.
    """
    where = _of_drops(index, asked)
    order = DROP_ORDERS[asked.choice("sort", DROP_ORDERS)]
    (total,) = index.rows(
        f"SELECT count(*) AS n, coalesce(sum(bytes), 0)::BIGINT AS bytes FROM drops WHERE {where}",  # noqa: S608
        where.values,
    )
    rows = index.rows(
        f"SELECT * FROM drops WHERE {where} ORDER BY {order}, id LIMIT ? OFFSET ?",  # noqa: S608
        [*where.values, *asked.page],
    )
    return {"total": total["n"], "bytes": total["bytes"], "drops": [shown(index, row) for row in rows]}


def shown(index: RunIndex, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the table `drops` with ids and folders as the page shows them."""
    kept = row["duplicate_of"]
    return {
        **{name: value for name, value in row.items() if name != "chance"}, "id": show_id(row["id"]),
        "folder": index.folders[row["folder"]], "duplicate_of": None if kept is None else show_id(kept),
    }  # fmt: skip
