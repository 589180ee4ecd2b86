"""Turn files into the Parts of a Dataset, one per task: number the files, slice large ones, group small ones.

Parts depend on the files alone, not on workers or memory, so that ids and output files are the same in every run. Parts
are larger only in a much larger input, so adding a file later seldom changes the parts of other files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dataprep.core.model.batch import POSITION_BITS
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.part import Part
from dataprep.core.model.reader import Reader, Slice
from dataprep.core.model.tables import Unread
from dataprep.core.model.unread import set_aside
from dataprep.errors import PlanError, ReadError
from dataprep.store import files

from .formats import Format

PART_BYTES = 256 << 20  # stored bytes per task, at most: seconds of work, and a shard that fits in memory
SMALL_PART_BYTES = 32 << 20  # in an input of up to 8 GiB, so that several workers share it
MANY_PARTS = 256  # in a larger input, parts are larger
LEAST_BYTES = 64 << 10  # a part writes several files
SUFFIXES = (
    r"\.(gz|zst|xz|bz2|jsonl|ndjson|json|parquet|txt|md|rst|warc|wet|arc|wat|html?|xhtml|ipynb|csv|tsv|tab|xml|db|zip|"
    r"tar|tgz|eml|mbox|sqlite3?|pdf|docx|epub)"
)
EXPORTS = (
    r"(_chat\.txt|chat\.md|result\.json|message_\d+\.json|messages\d*\.html)"  # the same name in every chat's folder
)
DENSER = 4  # text is about a quarter of its size in .gz, .zst and Parquet
# Names of exports in numbered files; 1: the first file is the oldest, -1: the newest.
SERIES = {
    "messenger": (re.compile(r"message_(\d+)\.json(\.\w+)?$"), -1),
    "instagram": (re.compile(r"message_(\d+)\.json(\.\w+)?$"), -1),
    "telegram": (re.compile(r"messages(\d*)\.html(\.\w+)?$"), 1),
}
MAX_FILES = 1 << (64 - POSITION_BITS)


@dataclass(frozen=True)
class InputFile:
    """A file to read: its URL, its format, the source name of its documents, and its size in bytes as stored.

    Attributes:
        unread: the reason why the file cannot be read; None if it can be read.
        listed: the folder or glob by which the file was found, "" if the file itself was named.
    """

    url: str
    format: Format
    source: str
    n_bytes: int
    unread: Unread | None = None
    listed: str = ""


def folder_of(url: str) -> str:
    """Return the name of a file's folder, escaped if it is not UTF-8; "" if it is unknown."""
    name = files.name_of(url.rstrip("/").rpartition("/")[0])
    return name.encode("utf-8", "backslashreplace").decode()


def source_of(url: str, suffixes: tuple[str, ...] = ()) -> str:
    """Return the default source of a file's documents: its name without suffixes and shard numbers, or its folder's.

    The folder's name is used if the file's name has no letters, or is one that every chat export has.

    - suffixes: suffixes to remove in addition to the built-in ones.

    >>> source_of("c4/c4-train.00001-of-01024.json.gz"), source_of("web/000.jsonl"), source_of("ada/message_1.json")
    ('c4-train', 'web', 'ada')
    """
    folder = folder_of(url)
    added = "".join(f"|{re.escape(suffix)}" for suffix in suffixes if suffix.startswith("."))
    name = re.sub(rf"({SUFFIXES}{added})+$", "", files.name_of(url), flags=re.IGNORECASE)
    bare = re.sub(r"([-_. ](of[-_. ]?)?\d+)+$", "", name)
    of_file = re.search(r"[^\W\d]", bare) and not (folder and re.fullmatch(EXPORTS, files.name_of(url)))
    chosen = bare if of_file else folder or name
    return chosen.encode("utf-8", "backslashreplace").decode()  # names of files need not be UTF-8


def number(
    found: list[InputFile], readers: Mapping[Format, Reader], left_out: Sequence[Unread] = (), *, skip: bool = False,
    part_bytes: int = 0,
) -> Dataset:  # fmt: skip
    """Return the Dataset of the files `found`, which get the numbers 0, 1 ... that are part of document ids.

    Large files are cut into several parts (tasks), and small files of one format share a part.

    - readers: the reader of each format.
    - left_out: files that `Dataset.unread()` must list.
    - skip: leave out a bad file, instead of raising ReadError. A file that is left out has a number too, so that no
      number changes when the file is repaired.
    - part_bytes: stored bytes of a part; 0: chosen by the size of the whole input.
    """
    part_bytes = part_bytes or min(PART_BYTES, part_size(sum(map(_weight, found))))
    if len(found) > MAX_FILES:
        msg = f"{len(found):,} files are more than one Dataset can have ({MAX_FILES:,}); read them in several Datasets"
        raise PlanError(msg)
    parts: list[Part] = []
    held: list[Slice] = []
    size, held_format = 0, next(file.format for file in found if file.unread is None)
    for index, file in enumerate(found):
        is_dense = _is_dense(file)
        form = file.format if file.format in readers else held_format
        cuts, unread = _cuts(file, readers[form], part_bytes, skip=skip)
        for start, stop, n_bytes in cuts:
            piece = Slice(file.url, index, start, stop, file.source, n_bytes=n_bytes, unread=unread, listed=file.listed)
            weight = n_bytes * (DENSER if is_dense else 1)
            if held and (held_format != form or size + weight > part_bytes):
                parts.append(Part(tuple(held), readers[held_format], skips_bad=skip))
                held, size = [], 0
            held.append(piece)
            size, held_format = size + weight, form
    parts.append(Part(tuple(held), readers[held_format], skips_bad=skip))
    return Dataset(tuple(parts), left_out=tuple(left_out))


def _is_dense(file: InputFile) -> bool:
    return files.is_compressed(file.url) or file.format.name == "parquet"


def _weight(file: InputFile) -> int:
    return file.n_bytes * (DENSER if _is_dense(file) else 1)


def part_size(n_bytes: int) -> int:
    """Return the size in bytes that a part has in an input of `n_bytes`: 32, 64, 128 or 256 MiB."""
    size = SMALL_PART_BYTES
    while size < PART_BYTES and n_bytes > MANY_PARTS * size:
        size *= 2
    return size


def _cuts(
    file: InputFile, reader: Reader, part_bytes: int, *, skip: bool
) -> tuple[Sequence[tuple[int, int | None, int]], Unread | None]:
    """Return the slices of a file; for an unreadable file, one slice of the whole file, and the reason."""
    whole, unread = [(0, None, file.n_bytes)], file.unread
    if unread is None:
        try:
            return reader.cuts(file.url, file.n_bytes, part_bytes), None
        except ReadError as e:
            unread = set_aside(e, file.url, skip=skip)
    return whole, unread


def oldest_first(found: Sequence[InputFile]) -> list[InputFile]:
    """Sort the numbered files of each chat export (in one folder) by the times of their messages; return all files.

    Messenger's message_1.json is the newest; Telegram's messages2.html comes after messages.html and before
    messages19.html. All other files keep their positions in the list.
    """
    series: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for index, file in enumerate(found):
        pattern, sign = SERIES.get(file.format.name, (None, 0))
        m = pattern.match(files.name_of(file.url)) if pattern else None
        if m:
            folder = file.url.rpartition("/")[0]
            series.setdefault((folder, file.format.name), []).append((sign * int(m[1] or 1), index))
    ordered = list(found)
    for members in series.values():
        for (_, old), new in zip(sorted(members), sorted(index for _, index in members), strict=True):
            ordered[new] = found[old]
    return ordered
