"""From files to the Parts of a Dataset: file numbers, slices of large files, groups of small ones.

Parts depend on the files alone, not on workers or memory, so that ids and shards are the same in every run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dataprep.core.batch import POSITION_BITS
from dataprep.core.dataset import Dataset
from dataprep.core.part import Part
from dataprep.core.reader import Reader, Slice
from dataprep.errors import PlanError
from dataprep.store import files

from .formats import Format

PART_BYTES = 256 << 20  # stored bytes per task: seconds of work, and a shard that fits in memory
SUFFIXES = r"\.(gz|zst|xz|jsonl|ndjson|json|parquet|txt|md|rst|warc|wet|arc|wat|html|csv|zip)"
EXPORTS = (
    r"(_chat\.txt|chat\.md|result\.json|message_\d+\.json|messages\d*\.html)"  # the same name in every chat's folder
)
DENSER = 4  # text is about a quarter of its size in .gz, .zst and Parquet
MAX_FILES = 1 << (64 - POSITION_BITS)


@dataclass(frozen=True)
class InputFile:
    """A file, its format, its source, and its size as stored."""

    url: str
    format: Format
    source: str
    n_bytes: int


def source_of(url: str, suffixes: tuple[str, ...] = ()) -> str:
    """Return the default source of a file's documents: its name without suffixes and shard numbers, or its folder's.

    suffixes: those to remove beyond the built-in ones.

    >>> source_of("c4/c4-train.00001-of-01024.json.gz"), source_of("web/000.jsonl"), source_of("ada/message_1.json")
    ('c4-train', 'web', 'ada')
    """
    folder = files.name_of(url.rstrip("/").rpartition("/")[0])
    added = "".join(f"|{re.escape(suffix)}" for suffix in suffixes if suffix.startswith("."))
    name = re.sub(rf"({SUFFIXES}{added})+$", "", files.name_of(url), flags=re.IGNORECASE)
    bare = re.sub(r"([-_. ](of[-_. ]?)?\d+)+$", "", name)
    if re.search(r"[^\W\d]", bare) and not (folder and re.fullmatch(EXPORTS, files.name_of(url))):
        return bare
    return folder or name


def number(found: list[InputFile], readers: Mapping[Format, Reader]) -> Dataset:
    """Return the Dataset of the files: numbered, large ones cut, small ones of one format sharing a part."""
    if len(found) > MAX_FILES:
        msg = f"{len(found):,} files are more than ids can number ({MAX_FILES:,}); read them in several Datasets"
        raise PlanError(msg)
    parts: list[Part] = []
    held: list[Slice] = []
    size, held_format = 0, found[0].format
    for index, file in enumerate(found):
        for piece in _slices(index, file, readers[file.format]):
            weight = piece.n_bytes * (DENSER if _is_dense(file) else 1)
            if held and (held_format != file.format or size + weight > PART_BYTES):
                parts.append(Part(tuple(held), readers[held_format]))
                held, size = [], 0
            held.append(piece)
            size, held_format = size + weight, file.format
    parts.append(Part(tuple(held), readers[held_format]))
    return Dataset(tuple(parts))


def _is_dense(file: InputFile) -> bool:
    return files.is_compressed(file.url) or file.format.name == "parquet"


def _slices(index: int, file: InputFile, reader: Reader) -> Iterator[Slice]:
    """Yield the slices of one file that tasks can read on their own."""
    for start, stop, n_bytes in reader.cuts(file.url, file.n_bytes, PART_BYTES):
        yield Slice(file.url, index, start, stop, file.source, n_bytes=n_bytes)
