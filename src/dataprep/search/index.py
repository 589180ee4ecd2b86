"""SuffixIndex: count and find any text in a corpus, and find the longest passage that another text shares with it.

A suffix is the text from some offset to the end. A suffix array lists the offsets of all suffixes in sorted order; so
suffixes with the same beginning are neighbours, and two binary searches find the first and the last suffix that begins
with a query (Manber and Myers 1993).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from dataclasses import replace as replace_

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rich.filesize import decimal

from dataprep.core.inputs.origin import origin_of
from dataprep.core.model.batch import NO_IDS, Ids
from dataprep.core.model.dataset import Dataset
from dataprep.core.output import forget_list, owned
from dataprep.core.output.commit import Output, Wanted, Work
from dataprep.core.output.layout import (
    FORGET_LIST,
    INDEX_FILE,
    MANIFEST,
    RECIPE,
    REPLACED,
    UNFINISHED,
    Folder,
    home_of,
    replaced,
)
from dataprep.core.output.layout import INDEX as OWN
from dataprep.core.output.one_result import opened
from dataprep.core.output.state import INDEX as KIND
from dataprep.core.output.state import IndexManifest, IndexShard, Recipe
from dataprep.core.run.context import context_of, place_of, reserve
from dataprep.core.run.plan import check_apart, hides_input, shards_of_datasets
from dataprep.core.run.runner import Runner, runner_of
from dataprep.errors import CorruptShard, PlanError, ReadError, counted, need
from dataprep.shown.notebook import shown_in_notebooks
from dataprep.store import files, ranges
from dataprep.store.key import key as key_of

from .shard import KINDS, SHARD_BYTES, SHARDS, SUFFIXES, SortSuffixes, SuffixShard, Unsorted, WriteTexts

VERSION = 1
CONTEXT = 60  # characters shown on either side
DISK = 5  # bytes of index per byte of text, at most
LONGEST = pa.schema(
    [
        pa.field("text", pa.int64(), nullable=False),
        pa.field("n_bytes", pa.int64(), nullable=False),
        pa.field("longest_bytes", pa.int64(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("longest", pa.large_string(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
        pa.field("id", pa.uint64()),
        pa.field("source", pa.string()),
        pa.field("found_at", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Hit:
    """One occurrence of a text in the corpus.

    Attributes:
        id: the document's id.
        source: the document's source.
        start: the byte offset of the occurrence in the document.
        before: the characters before the occurrence.
        match: the text that was searched.
        after: the characters after the occurrence.
    """

    id: int
    source: str
    start: int
    before: str
    match: str
    after: str


@dataclass(frozen=True)
class Shared:
    """The longest passage that a text shares with the corpus.

    Attributes:
        text: the passage.
        start: the offset of the passage in the given text, in bytes.
        n_bytes: its size in bytes.
        count: the number of its occurrences in the corpus.
        hit: the first of these occurrences; None if nothing is shared.
    """

    text: str
    start: int
    n_bytes: int
    count: int
    hit: Hit | None


class SuffixIndex:
    """An index that finds all occurrences of a text in a corpus, byte for byte.

    >>> index = SuffixIndex.build(docs, "work/index")             # doctest: +SKIP
    >>> index.count("all rights reserved")                        # doctest: +SKIP
    21403
    >>> index.find("all rights reserved", limit=3)                # doctest: +SKIP
    >>> index.longest(question).n_bytes                           # doctest: +SKIP
    187

    Nothing is normalised, so upper case and lower case differ. No match crosses two documents. Overlapping occurrences
    are all counted. Files are mapped into memory, not read as a whole; of an index at a URL, each search requests about
    40 ranges of bytes per shard.
    """

    def __init__(self, url: str, manifest: IndexManifest) -> None:
        self.url, self.manifest = url, manifest
        sizes = None if files.is_local(url) else _sizes(url, manifest)
        self.shards = [SuffixShard(url, stated, sizes) for stated in manifest.shards]

    def __repr__(self) -> str:
        size = f"{counted(self.manifest.docs, 'document')}, {counted(self.manifest.bytes, 'byte')}"
        return f"SuffixIndex({size} in {self.url})"

    @classmethod
    def build(cls, docs: Dataset, out: str, runner: Runner | None = None, *, replace: bool = False) -> SuffixIndex:
        """Write an index of `docs` into the folder `out`, and open it; an earlier build of the same docs is reused.

        Args:
            docs: the documents. Documents on the forget lists of their Datasets are left out.
            out: the folder of the index, or its URL. If a build was stopped, the next call resumes it.
            runner: the Runner that builds the shards; None: `dp.tools.Serial()`.
            replace: whether to replace an index of other documents in `out`, once the new one is complete. `replace` is
                not needed if only the content of the same input files has changed.

        The index takes at most 5 bytes of disk per byte of text (the text itself, and 4 bytes per character). A shard
        is a share of the corpus of at most 64 MB. A worker needs 5 bytes of memory per byte of its shard, that is 320
        MB. A document of more than 64 MB is a shard of its own, and needs more memory. Needs the extra `dedup`.

        Raises StaleOutput if `out` contains other files.
        """
        need("pydivsufsort", extra="dedup")
        url, key = place_of(_folder(out), runner), _key(docs)
        around = [home.url for home in _homes(docs) if files.real(url) == files.real(home.path(OWN))]
        if not around:
            check_apart(docs, url)
        inputs = frozenset(shards_of_datasets(docs))
        forgotten = forget_list.wanted(inputs)
        wanted = Wanted(
            recipe=Recipe(kind=KIND, key=key, forgotten=forget_list.digest(forgotten)), origin=origin_of(docs),
            forgotten=forgotten, inputs=inputs, private=hides_input(docs), again="indexing all documents again",
        )  # fmt: skip
        if len(forgotten):  # a `forget` that was killed may not have removed them yet
            listed = files.join(url, FORGET_LIST)
            docs = docs.of(replace_(part, forgotten=listed) for part in docs.parts)
        with Output(url, cls.open, inside=around).begin(wanted, replace=replace) as work:
            if work.result is None:
                _check_current(docs, around)
            return work.result or work.commit(_manifest(work, list(_shards(docs, work, runner_of(runner)))))

    @classmethod
    def open(cls, url: str) -> SuffixIndex:
        """Return the index in the folder `url`, which `build` wrote.

        Raises ReadError if the folder has no index, and CorruptShard if the index is incomplete.
        """
        url = _folder(url)
        return opened(url, lambda: cls(url, index_manifest(url)))

    def count(self, text: str) -> int:
        """Return the number of occurrences of a text in the corpus. Raises PlanError if the text is empty."""
        query = _query(text)
        return sum(last - first for first, last in self._spans(query))

    def find(self, text: str, limit: int | None = 10, context: int = CONTEXT) -> list[Hit]:
        """Return the first `limit` occurrences of a text, ordered by document id and offset.

        Args:
            text: the text.
            limit: the maximum number of occurrences to return; None: all.
            context: the number of characters before and after each occurrence to return.

        Raises PlanError if the text is empty.
        """
        query, hits = _query(text), list[Hit]()
        for shard, (first, last) in zip(self.shards, self._spans(query), strict=True):
            room = last - first if limit is None else limit - len(hits)
            if room > 0 and last > first:
                hits += [_hit(shard, at, text, len(query), context) for at in shard.places(first, last, room)]
        return hits

    def documents(self, text: str) -> tuple[Ids, npt.NDArray[np.int64]]:
        """Return the ids of the documents that contain a text, uint64[n], ascending, and the occurrences, int64[n].

        Raises PlanError if the text is empty.
        """
        query, found = _query(text), [NO_IDS]
        for shard, span in zip(self.shards, self._spans(query), strict=True):
            rows = np.searchsorted(shard.starts, shard.suffixes[slice(*span)], "right") - 1
            if len(rows) and rows.min() < 0:
                raise shard.damaged(SUFFIXES)
            found.append(shard.docs["id"][rows].astype(np.uint64))
        return np.unique(np.concatenate(found), return_counts=True)

    def longest(self, text: str, context: int = CONTEXT) -> Shared:
        """Return the longest passage of whole characters that `text` shares with the corpus.

        Args:
            text: the text.
            context: the number of characters to return before and after the first occurrence of the passage.

        If several passages are equally long, the first one in `text` is returned; if nothing is shared, the passage is
        "". Raises PlanError if the index is at a URL.
        """
        start, size = self._longest(text)
        if not size:
            return Shared("", 0, 0, 0, None)
        piece = text.encode()[start : start + size].decode()
        return Shared(piece, start, size, self.count(piece), self.find(piece, 1, context)[0])

    def contamination(self, texts: Iterable[str]) -> pa.Table:
        """Return a table with a row per text: the longest passage that it shares with the corpus.

        The columns are text (the index of the text, from 0), n_bytes (size of the text), longest (the passage),
        longest_bytes (size of the passage), start (byte offset of the passage in the text), and count (number of
        occurrences of the passage in the corpus). Three more columns describe the first of these occurrences, and are
        null if nothing is shared: id and source (of the document), and found_at (byte offset in the document). Raises
        PlanError if the index is at a URL.
        """
        rows = []
        for number, text in enumerate(texts):
            most = self.longest(text)
            where = (most.hit.id, most.hit.source, most.hit.start) if most.hit else (None, None, None)
            rows.append((number, len(text.encode()), most.n_bytes, most.start, most.text, most.count, *where))
        found = [dict(zip(LONGEST.names, row, strict=True)) for row in rows]
        return shown_in_notebooks(pa.Table.from_pylist(found, schema=LONGEST))

    def _spans(self, query: bytes) -> list[tuple[int, int]]:
        """Return the rows of the occurrences of a query in each shard; see `SuffixShard.span`."""
        if files.is_local(self.url):
            return [shard.span(query) for shard in self.shards]
        with ThreadPoolExecutor(ranges.THREADS, thread_name_prefix="search") as threads:
            return list(threads.map(lambda shard: shard.span(query), self.shards))

    def _longest(self, text: str) -> tuple[int, int]:
        from .longest import longest_matches  # compiled code, which the other methods do not need

        if not files.is_local(self.url):
            msg = f"{self.url} is not a local folder, and this search reads most of an index; copy it to a local disk"
            raise PlanError(msg)
        query = np.frombuffer(_encoded(text), np.uint8)
        begins = np.flatnonzero(query & 0xC0 != 0x80)
        if not len(begins):
            return 0, 0
        sizes = np.zeros(len(begins), np.int64)
        for shard in self.shards:
            found = longest_matches(query, begins, shard.text, shard.suffixes)
            if found.min() < 0:
                raise shard.damaged(SUFFIXES)
            sizes = np.maximum(sizes, found)
        # A match may end inside a character: only the whole characters before it are shared.
        ends = np.append(begins, len(query))
        sizes = ends[np.searchsorted(ends, begins + sizes, "right") - 1] - begins
        best = int(np.argmax(sizes))
        return int(begins[best]), int(sizes[best])


def is_index(url: str) -> bool:
    """Return whether a folder has a finished search index, which may be damaged."""
    folder = Folder(url)
    return folder.is_sealed and (found := folder.recipe) is not None and found.kind == KIND


def own_index(docs: Dataset) -> SuffixIndex | None:
    """Return the index in the folder of a sealed Dataset; None if there is none, or if it is of other documents."""
    url = Folder(str(docs.url)).path(OWN)
    if not files.is_local(url) or not is_index(url):
        return None
    found = SuffixIndex.open(url)
    forgotten = forget_list.digest(forget_list.wanted(shards_of_datasets(docs)))
    is_current = (found.manifest.key, found.manifest.forgotten) == (_key(docs), forgotten)
    return found if is_current else None


def _key(docs: Dataset) -> str:
    return key_of(("suffix_index", VERSION, SHARD_BYTES, docs.key))


def index_manifest(url: str) -> IndexManifest:
    """Return the manifest in the folder of an index; raises the same errors as `SuffixIndex.open`."""
    folder = Folder(url)
    if not folder.is_sealed:
        if files.exists(folder.unfinished.url):
            msg = f"{url} is an index whose build was interrupted; build it again to resume"
            raise CorruptShard(msg)
        msg = "there is no index (no manifest.json); make one with SuffixIndex.build(docs, out)"
        raise ReadError(msg, url)
    if not isinstance(folder.complete, IndexManifest):
        what = f"{folder.path(MANIFEST)} does not describe a suffix-array index"
        msg = f"{what}; pass the folder that SuffixIndex.build wrote"
        raise CorruptShard(msg)
    return folder.complete


def remove_index(url: str) -> int:
    """Remove the files of an index, finished or not, and its recipe last; return the number of bytes freed."""
    shards = [name for name in files.listdir(url) if INDEX_FILE.fullmatch(name)]
    return owned.remove(url, [MANIFEST, *shards, UNFINISHED, REPLACED, FORGET_LIST, RECIPE])


def _manifest(work: Work[SuffixIndex], shards: list[IndexShard]) -> IndexManifest:
    return IndexManifest(
        kind=KIND, key=work.recipe.key, forgotten=work.recipe.forgotten, shards=tuple(shards),
        docs=sum(s.docs for s in shards), bytes=sum(s.bytes - s.docs for s in shards),
    )  # fmt: skip


def _shards(docs: Dataset, work: Work[SuffixIndex], runner: Runner) -> Iterator[IndexShard]:
    """Write all shards; yield their entries in the manifest."""
    context_of(runner).prepare(docs.part_urls, work.out)
    generation, key = work.recipe.generation, work.recipe.key
    name = SHARDS if generation == 1 else f"{SHARDS}.g{generation}"
    out = work.files.url(name)
    if work.recipe.is_same(Folder(work.out).recipe):
        _keep(work.out, name, out)
    written = list(runner.map(WriteTexts(out, key, SHARD_BYTES), docs.tasks, "SuffixIndex: text"))
    texts = [shard for receipt in written for shard in receipt["shards"]]
    largest = max((one["bytes"] for one in texts), default=0)
    if largest > 2 * SHARD_BYTES:  # a worker's usual memory holds a shard, not a document of any size
        what = f"sorting a document of {decimal(largest)}"
        reserve(runner, DISK * largest, what, "split it, or leave it out", grows=False)
    unsorted = [Unsorted(one["name"], one["bytes"]) for one in texts]
    for one, receipt in zip(texts, runner.map(SortSuffixes(out, key), unsorted, "SuffixIndex: sort"), strict=True):
        stated = {**one, "name": f"{name}/{one['name']}", "characters": receipt["characters"]}
        yield IndexShard.of(stated, out)


def _keep(home: str, name: str, out: str) -> None:
    """Link a damaged index's files under second names, for reuse; receipts identify the undamaged ones."""
    for url in owned.ours(home, [name]) if files.is_local(home) else ():
        new = files.join(out, files.name_of(url))
        if not files.exists(new):
            with contextlib.suppress(OSError):  # a file system without links
                owned.link(url, new)


def _folder(url: str) -> str:
    return files.path_of(str(url).rstrip("/"))


def _sizes(url: str, manifest: IndexManifest) -> dict[str, int]:
    """Return the sizes of the files of an index at a URL, by their paths in its folder."""
    homes: dict[str, list[str]] = {}
    for stated in manifest.shards:
        home, _, name = stated.name.rpartition("/")
        homes.setdefault(home, []).extend(name + kind for kind in KINDS)
    found = {home: ranges.sizes(files.join(url, home), names) for home, names in homes.items()}
    return {f"{home}/{name}": size for home, sizes in found.items() for name, size in sizes.items()}


def _homes(docs: Dataset) -> list[Folder]:
    """Return the folders of the sealed Datasets that `docs` consists of; each may hold its own index."""
    found = {home_of(piece.url) for part in docs.parts for piece in part.slices}
    return [home for home in found if home is not None]


def _check_current(docs: Dataset, homes: Sequence[str]) -> None:
    """Raise Replaced if a Dataset in one of the folders was replaced after it was opened."""
    named = {home: Folder(home).named for home in homes}
    for piece in (piece for part in docs.parts for piece in part.slices):
        home = home_of(piece.url)
        if home is not None and home.url in named and piece.url[len(home.url) + 1 :] not in named[home.url]:
            raise replaced(home.url)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as e:
        msg = f"{text[:40]!r} is not text that UTF-8 can write (a half of a surrogate pair); search for another text"
        raise PlanError(msg) from e


def _query(text: str) -> bytes:
    if not text:
        msg = "the text to search for is empty; provide at least one character"
        raise PlanError(msg)
    return _encoded(text)


def _hit(shard: SuffixShard, at: int, match: str, size: int, context: int) -> Hit:
    """Return the hit at an offset of a shard, with `context` characters (4 bytes each at most) around it."""
    if bytes(shard.text[at : at + size]) != match.encode():
        raise shard.damaged(SUFFIXES)
    id_, source, start, stop = shard.document(at)
    before = bytes(shard.text[max(start, at - 4 * context) : at]).decode("utf-8", "ignore")
    after = bytes(shard.text[at + size : min(stop, at + size + 4 * context)]).decode("utf-8", "ignore")
    return Hit(id_, source, at - start, before[len(before) - min(context, len(before)) :], match, after[:context])
