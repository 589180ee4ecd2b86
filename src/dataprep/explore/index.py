"""The tables behind the page: the drops of a run, and its clusters, in a DuckDB database in memory.

The database is built from the run's drop tables, and contains no text. It exists only in this process, and is rebuilt
after a result in the run's folder was replaced, by a rerun or by `dataprep forget`. Therefore there is no file from
which `forget` would have to remove a document. It takes 0.14 GB of memory per million drops.

Tables:

drops     a row per drop, with the columns of the drop tables (docs/verdicts.md), folder, an index into `folders`, and
          chance, a hash of the id
forgotten  the ids of forgotten documents
members   id, root and home of each duplicate, as in `history/clusters.py`
clusters  root, home, source (of the kept document), removed, bytes, least (similarity), reasons, end_stage, end_reason
          (of the drop of the kept document itself, if a later stage dropped it)
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.core.model.dataset import Dataset, open_dataset
from dataprep.core.model.tables import DROPS, Drop, row_object
from dataprep.core.output.layout import FORGET_LIST, MANIFEST, RECIPE, inside
from dataprep.core.output.lineage import family, left_out
from dataprep.core.output.one_result import one_result
from dataprep.core.output.run_folder import refuse_newer
from dataprep.errors import need
from dataprep.history.clusters import HERE, UNKNOWN, Clusters, NoSurvivor, drop_batches, find_clusters
from dataprep.history.run_summary import RunAmounts, amounts_of
from dataprep.store import files
from dataprep.store.ranks import mix
from dataprep.unicode.valid import printable

SEED = 30  # of the column chance
NAMES = {"stage": "drops", "reason": "drops", "source": "drops", "kept": "clusters"}  # tables with names
CLUSTERS = """
CREATE TABLE clusters AS
WITH ends AS (SELECT id AS root, arg_max(stage, folder) AS end_stage, arg_max(reason, folder) AS end_reason
              FROM drops WHERE duplicate_of IS NULL GROUP BY id),
grouped AS (SELECT root, home, count(*) AS removed, sum(bytes)::BIGINT AS bytes, min(similarity) AS least,
                   string_agg(DISTINCT stage || ': ' || reason, ', ' ORDER BY stage || ': ' || reason) AS reasons
            FROM members JOIN drops USING (id) WHERE duplicate_of IS NOT NULL GROUP BY root, home)
SELECT grouped.*, roots.source AS source, end_stage, end_reason
FROM grouped LEFT JOIN roots ON roots.root = grouped.root AND home = 0
LEFT JOIN ends ON ends.root = grouped.root AND home = 0
ORDER BY removed DESC, grouped.root
"""


@dataclass
class RunIndex:
    """The data of a run that the page needs.

    Attributes:
        url: the run's folder.
        finals: its Datasets by folder, without those saved for Estimators.
        amounts: the amounts of documents and text.
        folders: the folders with drop tables.
        homes: None, which represents the run, and the Datasets of other runs that contain kept documents.
        lost: the clusters without a survivor.
        left_out: sentences with what is not shown: other results in the folder, repetitions; "" if all is.
        names: the distinct stages, reasons and sources of the drops, and as "kept" the sources of kept documents.
        kept: results that views keep until the index is rebuilt.
        one_at_a_time: held while a cursor is made, as DuckDB refuses to make two at once in several threads.
    """

    url: str
    finals: dict[str, Dataset]
    amounts: RunAmounts
    folders: list[str]
    homes: list[str | None]
    lost: NoSurvivor
    left_out: str
    database: Any
    names: dict[str, list[str]] = field(default_factory=dict)
    kept: dict[object, Any] = field(default_factory=dict)
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def rows(self, query: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
        """Return the rows of a query as dicts; `values` are those of its question marks."""
        with self.one_at_a_time:
            own = self.database.cursor()
        with contextlib.closing(own) as cursor:
            found = cursor.execute(query, list(values))
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def once(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query without values; the query runs only once."""
        if query not in self.kept:
            self.kept[query] = self.rows(query)
        found: list[dict[str, Any]] = self.kept[query]
        return found

    def drop(self, row: dict[str, Any]) -> Drop:
        """Return a row of the table `drops` as an object."""
        return row_object(Drop, row, folder=self.folders[row["folder"]])

    def named(self, column: str, shown: str) -> list[str]:
        """Return the names of a kind which the page, without their control characters, shows as `shown`."""
        return [name for name in self.names[column] if printable(name) == shown]


def made(url: str) -> RunIndex:
    """Make the index of the run in the folder `url`.

    Raises PlanError if DuckDB is not installed, or if the folder has no sealed (finished) Dataset, CorruptShard if a
    table is damaged, NewerFormat if a newer dataprep wrote into the folder, and Replaced if a result was replaced
    meanwhile.
    """
    duckdb = need("duckdb", extra="explore")
    with one_result(url):
        refuse_newer(url)
        finals = {found.url: open_dataset(found.url) for found in family(url, saved=False)}
        found = find_clusters(url)
        database = duckdb.connect(":memory:", config={"temp_directory": ""})
        folders = _load_drops(database, url)
        _load_clusters(database, found)
        database.execute("SET enable_external_access = false")
        database.execute("SET lock_configuration = true")
        lost, amounts = found.no_survivor(), amounts_of(finals)
        index = RunIndex(url, finals, amounts, folders, found.datasets, lost, left_out(url), database)
    for name, table in NAMES.items():
        column = "source" if name == "kept" else name
        some = index.rows(f"SELECT DISTINCT {column} AS one FROM {table} WHERE one IS NOT NULL ORDER BY one")  # noqa: S608
        index.names[name] = [row["one"] for row in some]
    return index


def _load_drops(database: Any, url: str) -> list[str]:
    """Fill the table `drops`, and return the folders of its rows."""
    schema, folders = pa.schema([*DROPS, pa.field("folder", pa.int32()), pa.field("chance", pa.uint64())]), list[str]()
    given = schema.empty_table()
    database.register("given", given)
    database.execute("CREATE TABLE drops AS SELECT * FROM given")
    for batch, folder in drop_batches(url):
        if folder not in folders:
            folders.append(folder)
        columns = [batch.column(field.name).cast(field.type) for field in DROPS]
        number = pa.array(np.full(batch.num_rows, folders.index(folder), np.int32))
        chance = pa.array(mix(batch.column("id").to_numpy(), SEED))
        _insert(database, "drops", pa.Table.from_arrays([*columns, number, chance], schema=schema))
    return folders


def _load_clusters(database: Any, found: Clusters) -> None:
    """Fill the tables `members` and `clusters`."""
    forgotten = np.unique(np.concatenate([one.listed for one in family(found.url)]))
    database.execute("CREATE TABLE forgotten (id UBIGINT)")
    _insert(database, "forgotten", pa.table({"id": forgotten}))
    database.execute("CREATE TABLE members (id UBIGINT, root UBIGINT, home UTINYINT)")
    _insert(database, "members", pa.table({"id": found.ids, "root": found.roots, "home": found.homes}))
    roots, codes, names = found.root_sources()
    sources = pa.array([*names, None], pa.string()).take(pa.array(np.where(codes == UNKNOWN, len(names), codes)))
    database.execute("CREATE TEMP TABLE roots (root UBIGINT, source VARCHAR)")
    _insert(database, "roots", pa.table({"root": roots, "source": sources}))
    assert HERE == 0, "as in the query"
    database.execute(CLUSTERS)
    database.execute("DROP TABLE roots")


def _insert(database: Any, table: str, rows: pa.Table) -> None:
    database.register("given", rows)
    database.execute(f"INSERT INTO {table} SELECT * FROM given")  # noqa: S608 - a name of this module
    database.unregister("given")


class ExploredRun:
    """A run whose index is built when first needed, and rebuilt after a result in the folder was replaced.

    Attributes:
        url: the run's folder.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/") or "/"
        self._one_at_a_time = threading.Lock()
        self._index: RunIndex | None = None
        self._of: object = None

    def index(self) -> RunIndex:
        """Return the index of the results that are in the folder now. Raises the errors of `made`."""
        with self._one_at_a_time:
            now = records(self.url)
            if self._index is None or now != self._of:
                self._index = None  # freed when the last request that reads it ends; DuckDB refuses to close it before
                self._index, self._of = made(self.url), now
            return self._index

    def close(self) -> None:
        """Free the index."""
        with self._one_at_a_time:
            self._index = None


def records(url: str) -> dict[str, object]:
    """Return values that change when a result in a run's folder is replaced."""
    found = dict[str, object]()
    for home in (url, *inside(url)):
        for name in (MANIFEST, RECIPE, FORGET_LIST):
            at = files.join(home, name)
            with contextlib.suppress(OSError, ValueError):
                found[at] = files.version(at)
    return found
