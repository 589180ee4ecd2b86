"""The lists of the page: clusters, the members of one, and dropped documents; filtered, sorted, and in pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

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
CLUSTER_OF = "SELECT (root, home) FROM members WHERE id = ? OR (root = ? AND home = 0)"  # of a document
MOST_NODES = 200
TREE = f"""
WITH RECURSIVE own AS MATERIALIZED (SELECT drops.*, home FROM members JOIN drops USING (id)
                                    WHERE root = ? AND home = ? AND duplicate_of IS NOT NULL),
tree AS (SELECT own.*, 1 AS depth FROM own
         WHERE duplicate_of_dataset IS NOT NULL OR duplicate_of NOT IN (SELECT id FROM own)
         UNION ALL SELECT own.*, depth + 1 FROM own JOIN tree ON own.duplicate_of = tree.id
         WHERE own.duplicate_of_dataset IS NULL AND depth < 99)
SELECT * FROM tree ORDER BY depth, similarity NULLS LAST, id LIMIT {MOST_NODES}
"""  # noqa: S608 - a constant


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
    total, removed, found = _page(index, "clusters", asked)
    return {"total": total, "removed": removed, "clusters": found}


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
    """Return the conditions on a drop that source, stage, reason, and cluster (the id of a document in it) state."""
    where = _Where()
    for column in ("source", "stage", "reason"):
        if asked.text(column):
            where.add(f"list_contains(?, {column})", index.named(column, asked.text(column)))
    if asked.text("cluster"):
        own = f"SELECT id FROM members WHERE (root, home) IN ({CLUSTER_OF})"  # noqa: S608 - a constant
        where.add(f"duplicate_of IS NOT NULL AND id IN ({own})", *[parse_id(asked.text("cluster"))] * 2)
    return where


def _cluster(index: RunIndex, row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "root": show_id(row["root"]), "home": index.homes[row["home"]]}


class _List(NamedTuple):
    """A list of rows of one table.

    Attributes:
        where: function that returns the conditions that the parameters of a request state.
        orders: the orders by which it can be sorted, by name.
        last: the columns that decide between rows that are equal in an order.
        amount: the column whose sum is shown.
        row: function that returns a row as the page shows it.
    """

    where: Callable[[RunIndex, ViewQuery], _Where]
    orders: dict[str, str]
    last: str
    amount: str
    row: Callable[[RunIndex, dict[str, Any]], dict[str, Any]]


def _selected(which: str, index: RunIndex, asked: ViewQuery) -> tuple[_List, _Where, str]:
    """Return a list, the conditions that the parameters state, and the query for its rows in the chosen order."""
    one = LISTS[which]
    where, order = one.where(index, asked), one.orders[asked.choice("sort", one.orders)]
    return one, where, f"SELECT * FROM {which} WHERE {where} ORDER BY {order}, {one.last}"  # noqa: S608


def _page(index: RunIndex, which: str, asked: ViewQuery) -> tuple[int, int, list[dict[str, Any]]]:
    """Return the number of rows of a list, the sum of its amounts, and the rows of the page that was asked for."""
    one, where, query = _selected(which, index, asked)
    sums = f"SELECT count(*) AS n, coalesce(sum({one.amount}), 0)::BIGINT AS amount FROM {which} WHERE {where}"  # noqa: S608
    (total,) = index.rows(sums, where.values)
    rows = index.rows(f"{query} LIMIT ? OFFSET ?", [*where.values, *asked.page])
    return total["n"], total["amount"], [one.row(index, row) for row in rows]


def all_rows(index: RunIndex, which: str, asked: ViewQuery) -> list[dict[str, Any]]:
    """Return all rows of a list, "clusters" or "drops", with the filters and the order of its parameters."""
    one, where, query = _selected(which, index, asked)
    return [one.row(index, row) for row in index.rows(query, where.values)]


def cluster(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return the cluster of a document, a page of its dropped documents, the least similar first, and its tree.

    The tree has the dropped documents (the first 200) in the order of their depth, the number of drops to the root.

    Parameters: `id`, the kept document or a dropped one; `home`, the Dataset that contains the kept document, as
    `clusters` returns it (if it is missing, this run contains it).
    """
    id_, home = parse_id(asked.text("id")), asked.text("home")
    if home:
        homes = [number for number, one in enumerate(index.homes) if one is not None and printable(one) == home]
        found = index.rows("SELECT * FROM clusters WHERE root = ? AND list_contains(?, home) LIMIT 1", [id_, homes])
    else:
        found = index.rows(
            f"SELECT * FROM clusters WHERE (root, home) IN ({CLUSTER_OF}) LIMIT 1",  # noqa: S608 - a constant
            [id_, id_],
        )
    if not found:
        return {"cluster": None, "drops": [], "tree": []}
    own = [found[0]["root"], found[0]["home"]]
    rows = index.rows(
        "SELECT drops.* FROM members JOIN drops USING (id) WHERE root = ? AND home = ? AND duplicate_of IS NOT NULL "
        "ORDER BY similarity ASC NULLS LAST, id LIMIT ? OFFSET ?",
        [*own, *asked.page],
    )
    tree = index.rows(TREE, own)
    return {
        "cluster": _cluster(index, found[0]), "drops": [shown(index, row) for row in rows],
        "tree": [shown(index, row) for row in tree],
    }  # fmt: skip


def drops(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return a page of the dropped documents.

    Parameters: sort, one of DROP_ORDERS; source, stage, reason and cluster.
    """
    total, n_bytes, found = _page(index, "drops", asked)
    return {"total": total, "bytes": n_bytes, "drops": found}


def shown(index: RunIndex, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the table `drops` with ids and folders as the page shows them."""
    kept = row["duplicate_of"]
    return {
        **{name: value for name, value in row.items() if name != "chance"}, "id": show_id(row["id"]),
        "folder": index.folders[row["folder"]], "duplicate_of": None if kept is None else show_id(kept),
    }  # fmt: skip


LISTS = {
    "clusters": _List(_of_clusters, CLUSTER_ORDERS, "root, home", "removed", _cluster),
    "drops": _List(_of_drops, DROP_ORDERS, "id", "bytes", shown),
}
