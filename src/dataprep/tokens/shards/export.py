"""Token shards in the forms that other trainers read, and the files of a few trainers made into shards.

    llmc       train_000000.bin   256 int32 (magic, version, number of tokens), then the tokens; EOT before a document
    megatron   train_document.bin + .idx   the indexed data set of Megatron-LM and NeMo
    datatrove  train-00000.ds + .ds.index + .ds.metadata (+ .ds.loss where there are masks), which nanotron reads
    nanogpt    train.bin, val.bin   the tokens and nothing else, EOT after each document

Files are copied a block at a time and appear whole or not at all; what is there already is found by its receipt.
"""

from __future__ import annotations

import logging
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from dataprep.core.runner import Serial
from dataprep.errors import PlanError
from dataprep.store import files, receipts
from dataprep.store.key import key
from dataprep.tokens.shard_format import ENDS

from .claim import local_folder, own_tokenizer
from .shard import Shards

if TYPE_CHECKING:
    from dataprep.core.runner import Runner

log = logging.getLogger("dataprep")

VERSION = 1  # goes up when the same shards give other bytes
COPY_BYTES = 8 << 20  # at a time
LLMC_INTS = 256  # of the header
LLMC = {"uint16": (20240520, 1), "uint32": (20240801, 7)}  # magic and version by the type of ids
LLMC_TOKENS = 2**31 - 1  # of one file: the header counts them in an int32
MEGATRON = {"uint16": 8, "uint32": 4}  # its codes of uint16 and int32; it has no uint32
MEGATRON_MAGIC = b"MMIDIDX\x00\x00"


def export(
    shards: Shards | str | os.PathLike[str], to: str, out: str | os.PathLike[str], *, run: Runner | None = None
) -> list[str]:
    """Write all tokens again in another trainer's form; returns the paths.

    Args:
        shards: a folder of token shards, or a Shards.
        to: "llmc", "megatron", "datatrove" or "nanogpt".
        out: a local folder. Interrupted work in it is taken up again, and files that an earlier export in the same
            form has left there are removed; it needs as much disk as the shards.
        run: who does the work; `dp.Serial()` by default.

    Every form has the same tokens in the same order. `llmc` begins with a separator and ends without one, since there
    it stands before each document. Only `datatrove` has a place for masks; the others leave them out, with a warning.

    Raises:
        PlanError: an unknown form, or tokens that do not go into it.
    """
    found = shards if isinstance(shards, Shards) else Shards.open(shards)
    folder = local_folder(out)
    if to not in FORMS:
        msg = f"there is no form {to!r}; export to {', '.join(FORMS)}"
        raise PlanError(msg)
    if os.path.realpath(folder) == os.path.realpath(found.path):
        msg = f"{folder} holds the shards themselves; give another folder as out"
        raise PlanError(msg)
    if to != "datatrove" and any("mask_hash" in s for s in found.shards):
        log.warning("%s has no place for masks of what is to be learned, so they are left out", to)
    jobs = list(FORMS[to](found, folder))
    done = (run or Serial()).map(Job.done, jobs, f"export to {to}")
    paths = list(dict.fromkeys(path for written in done for path in written))  # the tokenizer is once in all
    _sweep(folder, to, {os.path.basename(job.path) for job in jobs}, {os.path.basename(path) for path in paths})
    return paths


def _sweep(folder: str, form: str, jobs: set[str], kept: set[str]) -> None:
    """Remove what an earlier export in this form has left here: a trainer that globs `train_*.bin` would read it."""
    receipts = files.join(folder, "receipts", form)
    for name in files.listdir(receipts) if files.is_dir(receipts) else []:
        if name.removesuffix(".json") not in jobs:
            for file in files.read_json(files.join(receipts, name))["files"]:
                other = os.path.basename(file["name"])
                if other not in kept and files.exists(files.join(folder, other)):
                    files.remove(files.join(folder, other))
            files.remove(files.join(receipts, name))


@dataclass(frozen=True)
class Job:
    """The item: one file, or files that belong together, of some shards; with a receipt."""

    write: Callable[[Job], list[str]]
    shards: Shards
    names: tuple[str, ...]  # of the shards it is made of
    path: str  # without suffix

    @property
    def entries(self) -> list[tuple[int, dict[str, Any]]]:
        """The shards' numbers and entries."""
        return [(i, s) for i, s in enumerate(self.shards.shards) if s["name"] in self.names]

    @property
    def n_tokens(self) -> int:
        """Tokens of its shards."""
        return sum(int(s["tokens"]) for _, s in self.entries)

    @property
    def n_bytes(self) -> int:
        """Bytes to copy, for the progress bar."""
        return self.n_tokens * self.shards.dtype.itemsize

    def __str__(self) -> str:
        return self.path

    def done(self) -> list[str]:
        """The paths, written now or found."""
        made_of = [(s["name"], s["hash"], s["ends_hash"], s.get("mask_hash")) for _, s in self.entries]
        form = self.write.__name__.lstrip("_")
        place = files.join(os.path.dirname(self.path), "receipts", form, f"{os.path.basename(self.path)}.json")
        recipe = key([VERSION, self.write.__name__, self.shards.manifest["dtype"], self.shards.eot, made_of])
        written: list[str] = []

        def make() -> dict[str, Any]:
            return {"files": self.write(self)}

        receipt = receipts.once(place, recipe, make)
        written += [files.join(os.path.dirname(self.path), os.path.basename(f["name"])) for f in receipt["files"]]
        return written

    def copy(self, f: IO[bytes], entry: dict[str, Any], kind: str = "bin", n_bytes: int | None = None) -> None:
        """Append a file of a shard, or its first `n_bytes`."""
        with files.open_raw(files.join(str(self.shards.path), f"{entry['name']}.{kind}")) as source:
            if n_bytes is None:
                shutil.copyfileobj(source, f, COPY_BYTES)
                return
            while n_bytes > 0 and (block := source.read(min(n_bytes, COPY_BYTES))):
                f.write(block)
                n_bytes -= len(block)


# -- llm.c


def _llmc_jobs(shards: Shards, out: str) -> Iterator[Job]:
    counted: dict[str, int] = {}
    for s in shards.shards:
        if s["tokens"] > LLMC_TOKENS:
            msg = f"{s['name']} has {s['tokens']:,} tokens, llm.c counts {LLMC_TOKENS:,} in a file; use shard_tokens="
            raise PlanError(msg)
        number = counted.get(s["split"], 0)
        counted[s["split"]] = number + 1
        yield Job(_llmc, shards, (s["name"],), files.join(out, f"{s['split']}_{number:06d}"))


def _llmc(job: Job) -> list[str]:
    """Here the separator ends a document, there it begins one: the same stream, with the last one put first."""
    dtype = job.shards.dtype
    header = np.zeros(LLMC_INTS, "<i4")
    header[:3] = (*LLMC[job.shards.manifest["dtype"]], job.n_tokens)
    with files.atomic(f"{job.path}.bin") as f:
        f.write(header.tobytes())
        for _, s in job.entries:
            if s["tokens"]:
                f.write(dtype.type(job.shards.eot).tobytes())
                job.copy(f, s, n_bytes=(s["tokens"] - 1) * dtype.itemsize)
    return [f"{job.path}.bin"]


# -- Megatron-LM


def _megatron_jobs(shards: Shards, out: str) -> Iterator[Job]:
    if shards.vocab_size > 2**31:
        msg = f"Megatron has no uint32, and a vocabulary of {shards.vocab_size:,} does not fit into int32"
        raise PlanError(msg)
    for split, names in _by_split(shards):
        yield Job(_megatron, shards, names, files.join(out, f"{split}_document"))


def _megatron(job: Job) -> list[str]:
    """Every document is a sequence with its separator; the index has lengths, byte offsets, and document bounds."""
    code, itemsize = MEGATRON[job.shards.manifest["dtype"]], np.uint64(job.shards.dtype.itemsize)
    n = sum(int(s["documents"]) for _, s in job.entries)
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


def _ranges(job: Job) -> Iterator[tuple[Any, Any]]:
    """Where the documents of each shard begin and end in the file of all of them."""
    before = np.uint64(0)
    for i, s in job.entries:
        ends = np.asarray(job.shards.ends(i)) + before
        yield np.append(np.array([before], ENDS), ends)[:-1], ends
        before += np.uint64(s["tokens"])


# -- datatrove and nanotron


def _datatrove_jobs(shards: Shards, out: str) -> Iterator[Job]:
    return (Job(_datatrove, shards, (s["name"],), files.join(out, s["name"])) for s in shards.shards)


def _datatrove(job: Job) -> list[str]:
    """The tokens, the documents' ends, three lines about them, and a mask of one byte a token if there is one."""
    ((_, s),) = job.entries
    path, suffixes = f"{job.path}.ds", ["", ".index", ".metadata"]
    for kind, suffix in (("bin", ""), ("idx", ".index"), ("msk", ".loss")):
        if kind != "msk" or "mask_hash" in s:
            with files.atomic(path + suffix) as f:
                job.copy(f, s, kind)
    suffixes += [".loss"] if "mask_hash" in s else []
    told = job.shards.manifest.get("tokenizer") or {}
    name = f"{told.get('file', 'Unknown Tokenizer')}|{job.shards.dtype.itemsize}"
    files.write_bytes(f"{path}.metadata", f"{name}\n{s['tokens']}\n{_rounded(s['tokens'])}".encode())
    return [path + suffix for suffix in suffixes]


def _rounded(n: int) -> str:
    """The third line of the metadata is for people: 1.23 GT."""
    unit = next((u for u in ((10**12, "TT"), (10**9, "GT"), (10**6, "MT"), (10**3, "kT")) if n >= u[0]), (1, "T"))
    return f"{n / unit[0]:.3g} {unit[1]}"


# -- nanoGPT


def _nanogpt_jobs(shards: Shards, out: str) -> Iterator[Job]:
    if shards.manifest["dtype"] != "uint16":
        log.warning("nanoGPT reads uint16; these files are %s: change its np.memmap", shards.manifest["dtype"])
    own_tokenizer(shards)  # which is copied, so it must be the right one
    return (Job(_nanogpt, shards, names, files.join(out, split)) for split, names in _by_split(shards))


def _nanogpt(job: Job) -> list[str]:
    with files.atomic(f"{job.path}.bin") as f:
        for _, s in job.entries:
            job.copy(f, s)
    return [f"{job.path}.bin", *_tokenizer(job)]


def _tokenizer(job: Job) -> list[str]:
    """The tokenizer beside: the files do not say what their numbers mean."""
    source = files.join(str(job.shards.path), "tokenizer.json")
    if not files.exists(source):
        return []
    place = files.join(os.path.dirname(job.path), "tokenizer.json")
    with files.open_raw(source) as tokenizer, files.atomic(place) as f:
        shutil.copyfileobj(tokenizer, f)
    return [place]


def _by_split(shards: Shards) -> Iterator[tuple[str, tuple[str, ...]]]:
    for split in dict.fromkeys(s["split"] for s in shards.shards):
        yield split, tuple(s["name"] for s in shards.shards if s["split"] == split)


FORMS: dict[str, Callable[[Shards, str], Iterator[Job]]] = {
    "llmc": _llmc_jobs,
    "megatron": _megatron_jobs,
    "datatrove": _datatrove_jobs,
    "nanogpt": _nanogpt_jobs,
}
