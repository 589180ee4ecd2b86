"""What two sealed Datasets of one input differ in: documents lost and gained, and why; texts that are not the same.

Both are read once, in the order of their ids, a batch of each in memory. Reasons are looked up in the drop tables of
the Datasets that each was made from, one row group at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.core import batch as B
from dataprep.core.dataset import Dataset, open_dataset
from dataprep.core.folder import MANIFEST, ORIGIN
from dataprep.core.ledger import mix
from dataprep.errors import PlanError
from dataprep.store import files
from dataprep.tokens.shard_format import KIND
from dataprep.tokens.shards.shard import Shards

from . import why as trail
from .table_rows import checked, table_urls

Why = tuple[str, str]  # stage and reason
UNKNOWN = ("", "not in what it was made of")
COLUMNS = ["id", "text", "source"]
LINE_CHARS = 160


@dataclass
class Sums:
    """Documents, UTF-8 bytes and tokens (separators included; 0 where nothing was encoded)."""

    docs: int = 0
    bytes: int = 0
    tokens: int = 0


@dataclass
class Side:
    """What one Dataset has and the other has not."""

    sources: dict[str, Sums] = field(default_factory=dict)
    why: Counter[Why] = field(default_factory=Counter)  # why the other dropped them
    examples: dict[Why, list[tuple[int, int, str]]] = field(default_factory=dict)  # rank, id, first line


@dataclass
class Changes:
    """From Dataset `a` to Dataset `b`."""

    a: Dataset
    b: Dataset
    lost: Side = field(default_factory=Side)
    gained: Side = field(default_factory=Side)
    both: dict[str, Sums] = field(default_factory=dict)  # in both, with the bytes of `b`
    changed: dict[str, Sums] = field(default_factory=dict)  # other text in `b`; bytes: how many more, or fewer
    has_tokens: bool = False
    warnings: list[str] = field(default_factory=list)


def compare(a: str, b: str, examples: int = 3) -> Changes:
    """Go through two sealed Datasets, or two runs' last ones; `examples` a reason.

    Errors: PlanError where a folder holds none, or where one id has two sources: then the inputs are not the same.
    """
    one, two = (open_dataset(_last(url)) for url in (a, b))
    found = Changes(one, two, warnings=list(_other_inputs(str(one.url), str(two.url))))
    reasons = {"lost": _Reasons(str(two.url)), "gained": _Reasons(str(one.url))}
    for left, right in aligned(one.batches(COLUMNS), two.batches(COLUMNS)):
        ids, others = B.ids(left), B.ids(right)
        for side, batch, gone in (
            ("lost", left, ~np.isin(ids, others)), ("gained", right, ~np.isin(others, ids)),
        ):  # fmt: skip
            if gone.any():
                _add_side(getattr(found, side), batch.filter(pa.array(gone)), reasons[side], examples)
        _add_both(found, left.filter(pa.array(np.isin(ids, others))), right.filter(pa.array(np.isin(others, ids))))
    _add_tokens(found)
    return found


def _last(url: str) -> str:
    return url.rstrip("/") if trail.is_dataset(url) else trail.final_folders(url)[-1]


# -- two streams, side by side


class _Stream:
    """Batches whose ids ascend; gives what is not past an id."""

    def __init__(self, batches: Iterable[B.Batch]) -> None:
        self.batches, self.before = iter(batches), -1
        self.now: B.Batch | None = None
        self.nothing = B.empty()
        self.more()

    def more(self) -> None:
        """Go to the next batch that has rows."""
        self.now = next((batch for batch in self.batches if batch.num_rows), None)
        if self.now is not None:
            ids = B.ids(self.now)
            if int(ids[0]) <= self.before or (ids[1:] <= ids[:-1]).any():
                msg = f"ids do not ascend after {B.show_id(max(self.before, 0))}; seal both Datasets anew"
                raise PlanError(msg)
            self.before, self.nothing = int(ids[-1]), self.now.slice(0, 0)

    def upto(self, id_: int) -> B.Batch:
        """The rows of this batch up to an id, which are then behind."""
        if self.now is None:
            return self.nothing
        n = int(np.searchsorted(B.ids(self.now), np.uint64(id_), side="right"))
        found, rest = self.now.slice(0, n), self.now.slice(n)
        self.now = rest
        if not rest.num_rows:
            self.more()
        return found


def aligned(a: Iterable[B.Batch], b: Iterable[B.Batch]) -> Iterator[tuple[B.Batch, B.Batch]]:
    """Both streams cut at the same ids: a document in both is in both halves of one pair."""
    one, two = _Stream(a), _Stream(b)
    while one.now is not None or two.now is not None:
        limit = min(int(B.ids(s.now)[-1]) for s in (one, two) if s.now is not None)
        yield one.upto(limit), two.upto(limit)


# -- what is counted


def _add(into: dict[str, Sums], batch: B.Batch, name: str, values: npt.NDArray[np.int64]) -> None:
    """Add a value of each document to its source's, and count the documents with the bytes."""
    column = batch.column("source")
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = coded.indices.to_numpy()
    docs = np.bincount(codes, minlength=len(coded.dictionary))
    total = np.zeros(len(docs), np.int64)
    np.add.at(total, codes, values)
    for source, n, value in zip(coded.dictionary.to_pylist(), docs.tolist(), total.tolist(), strict=True):
        if n:
            sums = into.setdefault(source, Sums())
            sums.docs += n if name == "bytes" else 0
            setattr(sums, name, getattr(sums, name) + value)


def _add_side(side: Side, batch: B.Batch, reasons: _Reasons, n: int) -> None:
    _add(side.sources, batch, "bytes", B.lengths(batch))
    ids = B.ids(batch)
    why, rank = reasons.of(ids), mix(ids, 0)
    side.why.update(why)
    rows: dict[Why, list[int]] = {}
    for row, reason in enumerate(why):
        rows.setdefault(reason, []).append(row)
    for reason, mine in rows.items():
        best = sorted(mine, key=lambda row: rank[row])[:n]
        new = [(int(rank[row]), int(ids[row]), _first_line(batch.column("text")[row])) for row in best]
        side.examples[reason] = sorted([*side.examples.get(reason, []), *new])[:n]


def _first_line(text: Any) -> str:
    return next((line for line in str(text).splitlines() if line.strip()), "").strip()[:LINE_CHARS]


def _add_both(found: Changes, left: B.Batch, right: B.Batch) -> None:
    """Documents that are in both: their sources must agree, their texts may not."""
    if not left.num_rows:
        return
    sources = [batch.column("source").cast(pa.string()) for batch in (left, right)]
    other = pc.not_equal(*sources)
    if pc.any(other).as_py():
        row = pc.index(other, value=True).as_py()
        names = " and ".join(repr(column[row].as_py()) for column in sources)
        id_ = B.show_id(int(B.ids(left)[row]))
        msg = f"{id_} is of {names}: {found.a.url} and {found.b.url} were not made of the same input"
        raise PlanError(msg)
    _add(found.both, right, "bytes", B.lengths(right))
    changed = pc.not_equal(left.column("text"), right.column("text"))
    if pc.any(changed).as_py():
        before, after = left.filter(changed), right.filter(changed)
        _add(found.changed, after, "bytes", B.lengths(after) - B.lengths(before))


# -- tokens


def _add_tokens(found: Changes) -> None:
    """Tokens of what was lost and gained, where both sides have shards beside them."""
    shards = [_shards_beside(docs) for docs in (found.a, found.b)]
    if None in shards:
        return
    found.has_tokens = True
    if shards[0].manifest.get("tokenizer") != shards[1].manifest.get("tokenizer"):  # type: ignore[union-attr]
        found.warnings.append("the two were encoded by different tokenizers: their tokens are not the same unit")
    for side, mine, other in ((found.lost, shards[0], found.b), (found.gained, shards[1], found.a)):
        for split in dict.fromkeys(s["split"] for s in mine.shards):  # type: ignore[union-attr]
            for rows, others in aligned(_token_rows(mine, split), other.batches(["id"])):  # type: ignore[arg-type]
                gone = rows.filter(pa.array(~np.isin(B.ids(rows), B.ids(others))))
                if gone.num_rows:
                    _add(side.sources, gone, "tokens", gone.column("tokens").to_numpy())


def _shards_beside(docs: Dataset) -> Shards | None:
    """Token shards in a folder beside a Dataset that hold as many documents."""
    run = str(docs.url).rpartition("/")[0]
    if not run or not files.is_local(run):
        return None
    for name in files.listdir(run):
        place = files.join(run, name, MANIFEST)
        if files.exists(place):
            told = files.read_json(place)
            if told.get("kind") == KIND and told.get("documents") == docs.count:
                return Shards.open(files.path_of(files.join(run, name)))
    return None


def _token_rows(shards: Shards, split: str) -> Iterator[B.Batch]:
    for shard in shards.split(split).shards:
        with pq.ParquetFile(shards.path / f"{shard['name']}.docs.parquet") as parquet:
            for batch in parquet.iter_batches():
                n = pc.add(pc.subtract(batch.column("stop"), batch.column("start")), 1).cast(pa.int64())
                columns = {"id": batch.column("id"), "source": batch.column("source"), "tokens": n}
                yield pa.RecordBatch.from_pydict(columns)


# -- where it came from


def _lineage(url: str) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """The Datasets that one was made from, itself first, each with what was added to its files' numbers; their inputs.

    A folder that was moved with the whole run is looked for beside the one that read it.
    """
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    todo = [(url, 0)]
    for folder, shift in todo:
        place = files.join(folder, ORIGIN)
        told = files.read_json(place)["files"] if files.exists(place) else []
        found[folder, shift] = []
        for row in told:
            home = row["url"].rpartition("/data/")[0]
            beside = files.join(folder.rpartition("/")[0], files.name_of(home))
            sealed = next((h for h in (home, beside) if h and h != folder and trail.is_dataset(h)), None)
            if sealed is None:
                found[folder, shift].append(row | {"file": row["file"] + shift})
            elif (sealed, shift + row["file"]) not in todo:
                todo.append((sealed, shift + row["file"]))
    return found


def _other_inputs(a: str, b: str) -> Iterator[str]:
    """A sentence on each input file that is not the same on both sides."""
    one, two = ({r["file"]: r for rows in _lineage(url).values() for r in rows} for url in (a, b))
    for number in sorted(set(one) & set(two)):
        if one[number]["fingerprint"] != two[number]["fingerprint"]:
            yield (
                f"file {number} was {files.name_of(one[number]['url'])} and {files.name_of(two[number]['url'])}, which "
                "are not the same: ids of it may name different documents"
            )


@dataclass
class _Group:
    """A row group of a drop table; its rows are held while the ids that are asked for pass it."""

    url: str
    number: int
    first: int
    last: int
    shift: int
    rows: pa.Table | None = None

    def find(self, ids: B.Ids) -> tuple[npt.NDArray[np.int64], list[Why]]:
        """Which of the ids are in it, as positions, and why they went."""
        if self.rows is None:
            with checked(self.url), files.open_raw(self.url) as f:
                self.rows = pq.ParquetFile(f).read_row_group(self.number, ["id", "stage", "reason"])
        mine = self.rows.column("id").to_numpy() + np.uint64(self.shift)
        hits = np.flatnonzero(np.isin(mine, ids))
        found = self.rows.take(hits)
        why = zip(found.column("stage").to_pylist(), found.column("reason").to_pylist(), strict=True)
        return np.searchsorted(ids, mine[hits]), list(why)


class _Reasons:
    """Why documents were dropped on the way to a Dataset; asked in the order of ids, it looks at each table once."""

    def __init__(self, url: str) -> None:
        groups: list[_Group] = []
        for folder, shift in _lineage(url):
            saved = files.read_json(files.join(folder, MANIFEST)).get("saved", [])
            for place in (folder, *(files.join(folder, name) for name in saved)):
                for table in table_urls(place, "drops") if trail.is_dataset(place) else ():
                    groups += _groups(table, shift << B.POSITION_BITS)
        self.waiting = sorted(groups, key=lambda group: -group.first)
        self.open: list[_Group] = []

    def of(self, ids: B.Ids) -> list[Why]:
        """Stage and reason of each; ids ascend, also from call to call."""
        while self.waiting and self.waiting[-1].first <= int(ids[-1]):
            self.open.append(self.waiting.pop())
        self.open = [group for group in self.open if group.last >= int(ids[0])]
        found = [UNKNOWN] * len(ids)
        for group in self.open:
            for place, why in zip(*group.find(ids), strict=True):
                found[place] = why
        return found


def _groups(url: str, shift: int) -> Iterator[_Group]:
    with checked(url), files.open_raw(url) as f:
        told = pq.ParquetFile(f).metadata
    for number in range(told.num_row_groups):
        ids = told.row_group(number).column(0).statistics
        if ids is not None and ids.has_min_max:
            yield _Group(url, number, int(ids.min) + shift, int(ids.max) + shift, shift)
