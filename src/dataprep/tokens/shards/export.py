"""`export`: write token shards in the file formats of other trainers.

    llmc       train_000000.bin   256 int32 (magic, version, number of tokens), then the tokens; EOT before a document
    megatron   train_document.bin + .idx   the indexed data set of Megatron-LM and NeMo
    datatrove  train-00000.ds + .ds.index + .ds.metadata (+ .ds.loss if there are masks), which nanotron reads
    nanogpt    train.bin, val.bin   the tokens and nothing else, EOT after each document

Files are copied block by block, into OUT/_unfinished until all are complete. If `export` runs again, it does not copy
finished files.
"""

from __future__ import annotations

import logging
import os
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dataprep.core.output import kinds, owned
from dataprep.core.output.state import TokenShard
from dataprep.core.run.context import context_of, place_of
from dataprep.core.run.runner import runner_of
from dataprep.errors import PlanError
from dataprep.store import beside, files, lease, receipts
from dataprep.store.key import key
from dataprep.tokens.shard_format import ENDS
from dataprep.tokens.vocabulary.place import TOKENIZER, check_files, check_same

from .folder import own_tokenizer, shard_folder
from .shard import MANIFEST, Shards

if TYPE_CHECKING:
    from dataprep.core.run.runner import Runner

log = logging.getLogger("dataprep")

VERSION = 1  # increased if the same shards have other bytes
COPY_BYTES = 8 << 20  # at a time
LLMC_INTS = 256  # of the header
LLMC = {"uint16": (20240520, 1), "uint32": (20240801, 7)}  # magic and version by the type of ids
LLMC_TOKENS = 2**31 - 1  # of one file: the header counts them in an int32
MEGATRON = {"uint16": 8, "uint32": 4}  # its codes of uint16 and int32; it has no uint32
MEGATRON_MAGIC = b"MMIDIDX\x00\x00"


def export(
    shards: Shards | str | os.PathLike[str], to: str, out: str | os.PathLike[str], *, runner: Runner | None = None
) -> list[str]:
    """Write all tokens of token shards in the file format of another trainer; return the paths of the files.

    Args:
        shards: a folder of token shards, or a Shards.
        to: "llmc", "megatron", "datatrove" or "nanogpt".
        out: a local folder, which needs as much disk space as the shards. Interrupted work in it is resumed. The files
            of an earlier export in the same format are kept until all new files are complete, and are then deleted.
        runner: a Runner; the default is `dp.tools.Serial()`.

    Every format stores the same tokens in the same order. `llmc` begins with a separator and ends without one, since
    its separator precedes each document. Only `datatrove` stores masks; the others omit them, with a warning.

    Raises:
        PlanError: the format is unknown, or cannot hold these tokens.
        StaleOutput: `out` holds a result that is not an export, or foreign files with the names of the new ones.
    """
    found = shards if isinstance(shards, Shards) else Shards.open(shards)
    folder = place_of(shard_folder(out), runner)
    if not files.is_local(folder):
        msg = f"{folder} is not a local folder, and other trainers memory-map these files; export to a local disk"
        raise PlanError(msg)
    if to not in FORMS:
        msg = f"to={to!r} must be one of {', '.join(FORMS)}"
        raise PlanError(msg)
    if files.real(folder) == files.real(str(found.path)):
        msg = f"{folder} contains the shards themselves; choose another folder as out"
        raise PlanError(msg)
    kinds.refuse(folder, kinds.EXPORT)
    if to != "datatrove" and any(s.has_mask for s in found.shards):
        log.warning("%s does not store loss masks, so they are omitted", to)
    with lease.held(folder):
        beside.recover(folder)
        context_of(runner).prepare([files.join(str(found.path), MANIFEST)], folder)
        jobs = list(FORMS[to](found, folder))
        _check_foreign(folder, jobs, found)
        owned.begin(folder)
        done = list(runner_of(runner).map(ExportFile.done, jobs, f"export to {to}"))
        names = list(dict.fromkeys(name for made in done for name in made.names))  # the tokenizer is once in all
        new = {name for made in done if made.is_new for name in (*made.names, made.receipt)}
        gone = _gone(folder, to, {*names, *(made.receipt for made in done)})
        if new or gone:
            beside.commit(folder, new, gone)
        beside.discard(folder)  # of a killed export of other shards
        files.sweep(folder)
    return [files.join(folder, name) for name in names]


def _check_foreign(folder: str, jobs: Sequence[ExportFile], shards: Shards) -> None:
    """Raise StaleOutput if `folder` has foreign files with the names of files that an export writes."""
    heads = tuple(f"{os.path.basename(job.path)}." for job in jobs)
    owned.refuse(folder, owned.foreign(folder, [name for name in files.listdir(folder) if name.startswith(heads)]))
    content = shards.tokenizer_data
    if jobs and jobs[0].write is _nanogpt and content is not None:
        check_same(folder, kinds.TOKENIZER, content)
        check_files(folder, {TOKENIZER: content})


def _gone(folder: str, form: str, kept: set[str]) -> set[str]:
    """Return an earlier export's other files in this format, which a glob such as `train_*.bin` would match."""
    found: set[str] = set()
    for name in files.listdir(files.join(folder, "receipts", form)):
        if name.endswith(".json") and not name.startswith("."):
            receipt = files.join("receipts", form, name)
            stated = files.read_json(files.join(folder, receipt))["files"]
            found |= {receipt, *(os.path.basename(one["name"]) for one in stated)}
    return found - kept


class Made(NamedTuple):
    """The files of an `ExportFile` by their names in the folder.

    Attributes:
        is_new: whether they are not yet in place.
    """

    is_new: bool
    receipt: str
    names: list[str]


@dataclass(frozen=True)
class ExportFile:
    """A file, or a group of files that differ only in suffix, to write from some token shards.

    Attributes:
        write: function that writes the files and returns their paths.
        names: the names of the shards to write.
        path: the path of the files, without suffix.
    """

    write: Callable[[ExportFile], list[str]]
    shards: Shards
    names: tuple[str, ...]  # of the shards it is made of
    path: str  # without suffix

    @property
    def entries(self) -> list[tuple[int, TokenShard]]:
        """The shards to write, as pairs (number among all shards of the folder, entry in the manifest)."""
        return [(i, s) for i, s in enumerate(self.shards.shards) if s.name in self.names]

    @property
    def n_tokens(self) -> int:
        """The number of tokens of the shards in `names`."""
        return sum(s.tokens for _, s in self.entries)

    @property
    def n_bytes(self) -> int:
        """The number of bytes to copy, for the progress bar."""
        return self.n_tokens * self.shards.dtype.itemsize

    def __str__(self) -> str:
        return self.path

    def done(self) -> Made:
        """Write the files into OUT/_unfinished, unless a receipt (record of finished work) shows that they exist."""
        made_of = [(s.first_name, s.hash, s.ends_hash, s.mask_hash) for _, s in self.entries]
        form = self.write.__name__.lstrip("_")
        out, name = os.path.split(self.path)
        receipt = files.join("receipts", form, f"{name}.json")
        recipe = key([VERSION, self.write.__name__, self.shards.manifest.dtype, self.shards.eot, made_of])
        found = receipts.valid(files.join(out, receipt), recipe)
        new = replace(self, path=files.join(beside.home(out), name))
        made = found or receipts.once(
            files.join(beside.home(out), receipt), recipe, lambda: {"files": self.write(new)}
        )  # fmt: skip
        return Made(found is None, receipt, [os.path.basename(file["name"]) for file in made["files"]])

    def copy(self, f: IO[bytes], entry: TokenShard, kind: str = "bin", n_bytes: int = sys.maxsize) -> None:
        """Append a file of a shard, or its first `n_bytes` bytes, to the open file `f`.

        - entry: the shard's entry in the manifest.
        - kind: the suffix of the file to copy, "bin" or "msk".
        """
        with files.open_raw(str(self.shards.file(f"{entry.name}.{kind}"))) as source:
            while n_bytes > 0 and (block := source.read(min(n_bytes, COPY_BYTES))):
                f.write(block)
                n_bytes -= len(block)


# -- llm.c


def _llmc_jobs(shards: Shards, out: str) -> Iterator[ExportFile]:
    counted: dict[str, int] = {}
    for s in shards.shards:
        if s.tokens > LLMC_TOKENS:
            msg = f"{s.name} has over {LLMC_TOKENS:,} tokens, llm.c's limit; encode with a smaller shard_tokens="
            raise PlanError(msg)
        number = counted.get(s.split, 0)
        counted[s.split] = number + 1
        yield ExportFile(_llmc, shards, (s.name,), files.join(out, f"{s.split}_{number:06d}"))


def _llmc(job: ExportFile) -> list[str]:
    """Write llm.c's format, in which the separator begins a document: the last separator is moved to the front."""
    dtype = job.shards.dtype
    header = np.zeros(LLMC_INTS, "<i4")
    header[:3] = (*LLMC[job.shards.manifest.dtype], job.n_tokens)
    with files.atomic(f"{job.path}.bin") as f:
        f.write(header.tobytes())
        for _, s in job.entries:
            if s.tokens:
                f.write(dtype.type(job.shards.eot).tobytes())
                job.copy(f, s, n_bytes=(s.tokens - 1) * dtype.itemsize)
    return [f"{job.path}.bin"]


# -- Megatron-LM


def _megatron_jobs(shards: Shards, out: str) -> Iterator[ExportFile]:
    if shards.vocab_size > 2**31:
        msg = f"Megatron stores int32, but ids of a vocabulary of {shards.vocab_size:,} need more; use to='datatrove'"
        raise PlanError(msg)
    for split, names in _by_split(shards):
        yield ExportFile(_megatron, shards, names, files.join(out, f"{split}_document"))


def _megatron(job: ExportFile) -> list[str]:
    """Write each document as a sequence with its separator; the index has lengths, byte offsets, document bounds."""
    code, itemsize = MEGATRON[job.shards.manifest.dtype], np.uint64(job.shards.dtype.itemsize)
    n = sum(s.documents for _, s in job.entries)
    with files.atomic(f"{job.path}.bin") as f:
        for _, s in job.entries:
            job.copy(f, s)
    with files.atomic(f"{job.path}.idx") as f:
        f.write(MEGATRON_MAGIC + struct.pack("<QBQQ", 1, code, n, n + 1))
        for starts, ends in _ranges(job):
            f.write((ends - starts).astype("<i4").tobytes())
        for starts, _ in _ranges(job):
            f.write((starts * itemsize).astype("<i8").tobytes())
        for first in range(0, n + 1, COPY_BYTES):
            f.write(np.arange(first, min(n + 1, first + COPY_BYTES), dtype="<i8").tobytes())
    return [f"{job.path}.bin", f"{job.path}.idx"]


def _ranges(job: ExportFile) -> Iterator[tuple[Any, Any]]:
    """Yield the token starts and ends of the documents of each shard in the joint file."""
    before = np.uint64(0)
    for i, s in job.entries:
        ends = np.asarray(job.shards.ends(i)) + before
        yield np.append(np.array([before], ENDS), ends)[:-1], ends
        before += np.uint64(s.tokens)


# -- datatrove and nanotron


def _datatrove_jobs(shards: Shards, out: str) -> Iterator[ExportFile]:
    return (ExportFile(_datatrove, shards, (s.name,), files.join(out, s.first_name)) for s in shards.shards)


def _datatrove(job: ExportFile) -> list[str]:
    """Write the tokens, the documents' ends, three lines of metadata, and the mask if there is one."""
    ((_, s),) = job.entries
    path, suffixes = f"{job.path}.ds", ["", ".index", ".metadata"]
    for kind, suffix in (("bin", ""), ("idx", ".index"), ("msk", ".loss")):
        if kind != "msk" or s.has_mask:
            with files.atomic(path + suffix) as f:
                job.copy(f, s, kind)
    suffixes += [".loss"] if s.has_mask else []
    known = job.shards.manifest.tokenizer is not None
    name = f"{TOKENIZER if known else 'Unknown Tokenizer'}|{job.shards.dtype.itemsize}"
    files.write_bytes(f"{path}.metadata", f"{name}\n{s.tokens}\n{_rounded(s.tokens)}".encode())
    return [path + suffix for suffix in suffixes]


def _rounded(n: int) -> str:
    """Return the third line of the metadata, a rounded number such as 1.23 GT."""
    unit = next((u for u in ((10**12, "TT"), (10**9, "GT"), (10**6, "MT"), (10**3, "kT")) if n >= u[0]), (1, "T"))
    return f"{n / unit[0]:.3g} {unit[1]}"


# -- nanoGPT


def _nanogpt_jobs(shards: Shards, out: str) -> Iterator[ExportFile]:
    if shards.manifest.dtype != "uint16":
        log.warning("nanoGPT reads uint16; these files are %s: change its np.memmap", shards.manifest.dtype)
    own_tokenizer(shards)  # raises if it is another one: it is copied
    return (ExportFile(_nanogpt, shards, names, files.join(out, split)) for split, names in _by_split(shards))


def _nanogpt(job: ExportFile) -> list[str]:
    with files.atomic(f"{job.path}.bin") as f:
        for _, s in job.entries:
            job.copy(f, s)
    return [f"{job.path}.bin", *_tokenizer(job)]


def _tokenizer(job: ExportFile) -> list[str]:
    """Copy the tokenizer to the output folder, because the exported files do not identify it."""
    content = job.shards.tokenizer_data
    if content is None:
        return []
    url = files.join(os.path.dirname(job.path), TOKENIZER)
    files.write_bytes(url, content)
    return [url]


def _by_split(shards: Shards) -> Iterator[tuple[str, tuple[str, ...]]]:
    for split in dict.fromkeys(s.split for s in shards.shards):
        yield split, tuple(s.name for s in shards.shards if s.split == split)


FORMS: dict[str, Callable[[Shards, str], Iterator[ExportFile]]] = {
    "llmc": _llmc_jobs,
    "megatron": _megatron_jobs,
    "datatrove": _datatrove_jobs,
    "nanogpt": _nanogpt_jobs,
}
