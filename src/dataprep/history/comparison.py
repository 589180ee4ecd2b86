"""Compare two finished Datasets of one input: documents lost and gained, by reason, and documents with changed text.

Both Datasets are read once, in the order of ids, with one batch of each in memory.
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

from dataprep.core.model import batch as B
from dataprep.core.model.dataset import Dataset, open_dataset
from dataprep.core.output.layout import Folder, home_of
from dataprep.core.output.lineage import family
from dataprep.core.output.run_folder import token_folders
from dataprep.errors import PlanError
from dataprep.store import files
from dataprep.store.ranks import mix
from dataprep.tokens.shards.shard import Shards

from .drop_reasons import DropReasons, Reason, different_inputs

COLUMNS = ["id", "text", "source"]
LINE_CHARS = 160


@dataclass
class TokenAmount:
    """An amount of text: documents, UTF-8 bytes, and tokens (0 if nothing was encoded).

    Each document's separator counts as a token.
    """

    docs: int = 0
    bytes: int = 0
    tokens: int = 0


@dataclass
class OneSided:
    """The documents that only one of two compared Datasets has.

    Attributes:
        sources: the amounts of these documents by source.
        reasons: the number of these documents by the (stage, reason) that dropped them on the way to the other Dataset.
        examples: (hash of the id, id, first line) of some of them, by (stage, reason).
    """

    sources: dict[str, TokenAmount] = field(default_factory=dict)
    reasons: Counter[Reason] = field(default_factory=Counter)
    examples: dict[Reason, list[tuple[int, int, str]]] = field(default_factory=dict)


@dataclass(frozen=True, order=True)
class ChangedText:
    """A document that both Datasets have, with different texts.

    Attributes:
        rank: a hash of the id; the documents with the smallest hashes are the examples.
        before: the text in `a`; after: the text in `b`.
    """

    rank: int
    id: int
    before: str
    after: str


@dataclass
class Comparison:
    """The changes from Dataset `a` to Dataset `b`.

    Attributes:
        lost: documents that only `a` has.
        gained: documents that only `b` has.
        both: amounts of documents that both have, by source; the bytes are those in `b`.
        changed: amounts of documents that both have with different texts, by source; the bytes are the increase from
            `a` to `b`.
        changed_texts: some of these documents.
        has_tokens: True if both Datasets were encoded to tokens.
    """

    a: Dataset
    b: Dataset
    lost: OneSided = field(default_factory=OneSided)
    gained: OneSided = field(default_factory=OneSided)
    both: dict[str, TokenAmount] = field(default_factory=dict)
    changed: dict[str, TokenAmount] = field(default_factory=dict)
    changed_texts: list[ChangedText] = field(default_factory=list)
    has_tokens: bool = False
    warnings: list[str] = field(default_factory=list)


def compare(a: str, b: str, examples: int = 3) -> Comparison:
    """Compare two sealed (finished) Datasets, or the last Datasets of two runs.

    Args:
        a: the folder of the first Dataset or run.
        b: the folder of the second Dataset or run.
        examples: the number of example documents per reason, and with different texts.

    Raises PlanError if a folder has no Dataset. Also raises PlanError if a document id has different sources in the two
    Datasets, which shows that they were made from different inputs.
    """
    folders = (url.rstrip("/") if Folder(url).is_dataset else family(url, saved=False)[-1].url for url in (a, b))
    one, two = map(open_dataset, folders)
    found = Comparison(one, two, warnings=list(different_inputs(str(one.url), str(two.url))))
    reasons = {"lost": DropReasons(str(two.url)), "gained": DropReasons(str(one.url))}
    for left, right in aligned(one.batches(COLUMNS), two.batches(COLUMNS)):
        ids, others = B.ids(left), B.ids(right)
        for side, batch, missing in (
            ("lost", left, ~np.isin(ids, others)), ("gained", right, ~np.isin(others, ids)),
        ):  # fmt: skip
            if missing.any():
                _add_one_sided(getattr(found, side), batch.filter(pa.array(missing)), reasons[side], examples)
        both = left.filter(pa.array(np.isin(ids, others))), right.filter(pa.array(np.isin(others, ids)))
        _add_both(found, *both, examples)
    _add_tokens(found)
    return found


class _AscendingBatches:
    """Batches with ascending ids, from which the rows up to an id can be removed."""

    def __init__(self, batches: Iterable[B.Batch]) -> None:
        self.batches, self.before = iter(batches), -1
        self.now: B.Batch | None = None
        self.nothing = B.empty()
        self.more()

    def more(self) -> None:
        """Load the next batch that has rows.

        Raises PlanError if ids do not ascend.
        """
        self.now = next((batch for batch in self.batches if batch.num_rows), None)
        if self.now is not None:
            ids = B.ids(self.now)
            if int(ids[0]) <= self.before or (ids[1:] <= ids[:-1]).any():
                msg = f"the ids are not in ascending order after {B.show_id(max(self.before, 0))}; run both again"
                raise PlanError(msg)
            self.before, self.nothing = int(ids[-1]), self.now.slice(0, 0)

    def upto(self, id_: int) -> B.Batch:
        """Remove the rows of the current batch up to an id, and return them."""
        if self.now is None:
            return self.nothing
        n = int(np.searchsorted(B.ids(self.now), np.uint64(id_), side="right"))
        found, rest = self.now.slice(0, n), self.now.slice(n)
        self.now = rest
        if not rest.num_rows:
            self.more()
        return found


def aligned(a: Iterable[B.Batch], b: Iterable[B.Batch]) -> Iterator[tuple[B.Batch, B.Batch]]:
    """Yield pairs (rows of `a`, rows of `b`); both streams are cut at the same ids, so that equal ids are in one pair.

    Raises PlanError if the ids of a stream do not ascend.
    """
    one, two = _AscendingBatches(a), _AscendingBatches(b)
    while one.now is not None or two.now is not None:
        limit = min(int(B.ids(s.now)[-1]) for s in (one, two) if s.now is not None)
        yield one.upto(limit), two.upto(limit)


def _add(into: dict[str, TokenAmount], batch: B.Batch, name: str, values: npt.NDArray[np.int64]) -> None:
    """Add a value per document to the amount `name` of its source; with "bytes", count the documents too."""
    column = batch.column("source")
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = coded.indices.to_numpy()
    docs = np.bincount(codes, minlength=len(coded.dictionary))
    total = np.zeros(len(docs), np.int64)
    np.add.at(total, codes, values)
    for source, n, value in zip(coded.dictionary.to_pylist(), docs.tolist(), total.tolist(), strict=True):
        if n:
            amount = into.setdefault(source, TokenAmount())
            amount.docs += n if name == "bytes" else 0
            setattr(amount, name, getattr(amount, name) + value)


def _add_one_sided(side: OneSided, batch: B.Batch, drops: DropReasons, n: int) -> None:
    """Add documents that only one Dataset has, with n examples per reason."""
    _add(side.sources, batch, "bytes", B.lengths(batch))
    ids = B.ids(batch)
    reasons, rank = drops.of(ids), mix(ids, 0)
    side.reasons.update(reasons)
    rows: dict[Reason, list[int]] = {}
    for row, reason in enumerate(reasons):
        rows.setdefault(reason, []).append(row)
    for reason, mine in rows.items():
        best = sorted(mine, key=lambda row: rank[row])[:n]
        new = [(int(rank[row]), int(ids[row]), _first_line(batch.column("text")[row])) for row in best]
        side.examples[reason] = sorted([*side.examples.get(reason, []), *new])[:n]


def _first_line(text: Any) -> str:
    return next((line for line in str(text).splitlines() if line.strip()), "").strip()[:LINE_CHARS]


def _add_both(found: Comparison, left: B.Batch, right: B.Batch, n: int) -> None:
    """Add the documents of both Datasets, with n examples of different texts.

    Raises PlanError if the sources of a document differ.
    """
    if not left.num_rows:
        return
    sources = [batch.column("source").cast(pa.string()) for batch in (left, right)]
    differs = pc.not_equal(*sources)
    if pc.any(differs).as_py():
        row = pc.index(differs, value=True).as_py()
        names = " and ".join(repr(column[row].as_py()) for column in sources)
        id_ = B.show_id(int(B.ids(left)[row]))
        both = f"{found.a.url} and {found.b.url} were made from different input; compare results of the same input"
        msg = f"document {id_} has different sources ({names}), so {both}"
        raise PlanError(msg)
    _add(found.both, right, "bytes", B.lengths(right))
    changed = pc.not_equal(left.column("text"), right.column("text"))
    if pc.any(changed).as_py():
        before, after = left.filter(changed), right.filter(changed)
        _add(found.changed, after, "bytes", B.lengths(after) - B.lengths(before))
        ids, rank = B.ids(after), mix(B.ids(after), 0)
        texts = before.column("text"), after.column("text")
        new = [ChangedText(int(rank[row]), int(ids[row]), *(column[row].as_py() for column in texts))
               for row in np.argsort(rank, kind="stable")[:n].tolist()]  # fmt: skip
        found.changed_texts = sorted([*found.changed_texts, *new])[:n]


def _add_tokens(found: Comparison) -> None:
    """Add the tokens of lost and gained documents, if both runs have token shards."""
    shards = [_shards_of(docs) for docs in (found.a, found.b)]
    if None in shards:
        return
    found.has_tokens = True
    if shards[0].tokenizer_hash != shards[1].tokenizer_hash:  # type: ignore[union-attr]
        found.warnings.append("the two were encoded by different tokenizers, so numbers of tokens cannot be compared")
    for side, mine, other in ((found.lost, shards[0], found.b), (found.gained, shards[1], found.a)):
        for split in dict.fromkeys(s.split for s in mine.shards):  # type: ignore[union-attr]
            for rows, others in aligned(_token_rows(mine, split), other.batches(["id"])):  # type: ignore[arg-type]
                missing = rows.filter(pa.array(~np.isin(B.ids(rows), B.ids(others))))
                if missing.num_rows:
                    _add(side.sources, missing, "tokens", missing.column("tokens").to_numpy())


def _shards_of(docs: Dataset) -> Shards | None:
    """Return the token shards in the same run as a Dataset that hold all its documents and no others, or None."""
    run = Folder(str(docs.url)).parent.url
    if not files.is_local(run):
        return None
    for folder in token_folders(run):
        manifest = folder.token_manifest
        if manifest is not None and manifest.documents == docs.count and _is_made_from(folder, str(docs.url)):
            return Shards.open(files.path_of(folder.url))
    return None


def _is_made_from(folder: Folder, url: str) -> bool:
    """Return whether all documents of token shards were read from the Dataset in the folder `url`.

    If the run was moved, its Datasets are recognised by their names.
    """
    homes = {home_of(row.url) for row in folder.origin.files} if folder.origin is not None else set()
    return bool(homes) and all(home is not None and _is_same(home, url) for home in homes)


def _is_same(home: Folder, url: str) -> bool:
    if files.real(home.url) == files.real(url):
        return True
    return not home.is_dataset and files.name_of(home.url) == files.name_of(url)


def _token_rows(shards: Shards, split: str) -> Iterator[B.Batch]:
    """Yield id, source and number of tokens of every document of a split."""
    for shard in shards.split(split).shards:
        with files.open_arrow(str(shards.file(f"{shard.name}.docs.parquet"))) as f, pq.ParquetFile(f) as parquet:
            for batch in parquet.iter_batches():
                n = pc.add(pc.subtract(batch.column("stop"), batch.column("start")), 1).cast(pa.int64())
                columns = {"id": batch.column("id"), "source": batch.column("source"), "tokens": n}
                yield pa.RecordBatch.from_pydict(columns)
