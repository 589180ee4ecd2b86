"""Names of the files in the output folders of Pipelines (OUT) and of `dataprep run` (RUN); search for sealed folders.

OUT/manifest.json      a sealed Dataset or token shards: complete once this exists
OUT/recipe.json        the input and the stages that make this folder, written before any work
OUT/origin.json        the input files on this machine (`inputs.py`)
OUT/unread.parquet     files that were not read, if there are any (`unread.py`)
OUT/forget.parquet     documents to leave out (`forget_list.py`)
OUT/data/              documents (shards)
OUT/drops/ cuts/       tables of dropped documents, and of spans cut out of texts, one per part (task)
OUT/receipts/          records of finished work, one per part
OUT/steps/NN-NAME-KEY8/               files of an Estimator; input/ is a sealed Dataset of the text that it read
OUT/index/             a suffix index
RUN/run.json           the steps of a pipeline file in order; each is a folder RUN/STEP as above
RUN/report.html        the report
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dataprep.errors import CorruptShard, DataprepError, PlanError, require
from dataprep.store import files

DATASET, TOKENS = "dataset", "tokens"  # the kinds of sealed folders
MANIFEST, RECIPE, ORIGIN, RUN = "manifest.json", "recipe.json", "origin.json", "run.json"
FORGET_LIST, REPORT, UNREAD = "forget.parquet", "report.html", "unread.parquet"
DATA, DROPS, CUTS, RECEIPTS, STEPS, INDEX = "data", "drops", "cuts", "receipts", "steps", "index"
VERDICTS, SPANS = "verdicts.parquet", "spans.parquet"  # the decisions of an Estimator, in its step's folder
INPUT = "input"
STEP_DIGITS = 8  # of the key, in the name of an Estimator's folder
DATASET_FILES = {MANIFEST, RECIPE, ORIGIN, REPORT, UNREAD, DATA, DROPS, CUTS, RECEIPTS, STEPS, INDEX}
NEEDED = ("docs", "bytes", "columns", "shards", "last_file")  # fields of every manifest of a Dataset
PART_FILES = (RECEIPTS, DATA, DROPS, CUTS)


def folder_url(out: object) -> str:
    """Return `out`, a path or URL, without a slash at the end. Raises PlanError if it is neither, or is empty."""
    require(isinstance(out, (str, os.PathLike)) and str(out), f"out={out!r} must be the path or URL of a folder")
    url = str(out).rstrip("/")
    return "/" if url in {"", "file:"} else url


def part_name(number: int) -> str:
    """Return the name of part `number` (one task's share of the input) in file names: "part-00003" for 3."""
    return f"part-{number:05d}"


@dataclass(frozen=True)
class Folder:
    """The output folder of a Dataset or of token shards, complete or unfinished, and the URLs of its files."""

    url: str

    def path(self, *names: str) -> str:
        """Return the URL of a file inside this folder; names: the components of its path."""
        return files.join(self.url, *names)

    @property
    def name(self) -> str:
        """The name of the folder itself: the last component of its URL."""
        return files.name_of(self.url)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The content of manifest.json, read once and kept; empty if the folder is not complete.

        Raises CorruptShard if the manifest of a Dataset lacks a field.
        """
        found = self._json(MANIFEST)
        missing = [name for name in NEEDED if name not in found] if found.get("kind") == DATASET else []
        if missing:
            msg = f"{self.path(MANIFEST)} lacks {', '.join(missing)}: dataprep did not write it; run the pipeline again"
            raise CorruptShard(msg)
        return found

    @property
    def recipe(self) -> dict[str, Any]:
        """The content of recipe.json: the input and stages that make this folder; empty if the file cannot be read."""
        return self._json(RECIPE, or_empty=True)

    @property
    def origin(self) -> dict[str, Any]:
        """The content of origin.json, which lists the input files; empty if they are hidden or unknown."""
        return self._json(ORIGIN, or_empty=True)

    def _json(self, name: str, *, or_empty: bool = False) -> dict[str, Any]:
        url = self.path(name)
        try:
            found = files.read_json(url) if files.exists(url) else {}
        except CorruptShard:
            if not or_empty:
                raise
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def is_sealed(self) -> bool:
        """True if the folder is complete: manifest.json, which is written last, exists."""
        return files.exists(self.path(MANIFEST))

    @property
    def is_of_a_run(self) -> bool:
        """True if a Pipeline made, or began to make, this folder: recipe.json or manifest.json is that of a Dataset."""
        return DATASET in (self.recipe.get("kind"), self.kind)

    @property
    def kind(self) -> str | None:
        """The kind of a complete folder: the constant DATASET or TOKENS (token shards); None if it is neither.

        If the manifest cannot be read, the kind is derived from the other files; opening such a folder raises an error.
        """
        try:
            found = self.manifest.get("kind")
        except DataprepError:
            return TOKENS if files.exists(self.path("token_bytes.npy")) else DATASET
        return found if found in (DATASET, TOKENS) else None

    @property
    def is_dataset(self) -> bool:
        """True if this is the folder of a complete Dataset."""
        return self.kind == DATASET

    def shard(self, part: int, number: int) -> str:
        """Return the path of a Parquet file of documents (shard): "data/part-00003-000.parquet" for part 3, number 0.

        The path is relative to the folder. part: the part's number. number: the shard's number in the part, from 0.
        """
        return f"{DATA}/{part_name(part)}-{number:03d}.parquet"

    def table(self, kind: str, part: int) -> str:
        """Return the URL of a part's table of dropped documents (kind DROPS) or of spans cut from texts (kind CUTS)."""
        return self.path(kind, f"{part_name(part)}.parquet")

    def receipt(self, part: int) -> str:
        """Return the URL of the receipt (record of finished work) of part number `part`."""
        return self.path(RECEIPTS, f"{part_name(part)}.json")

    def receipts(self) -> list[str]:
        """Return the URLs of all receipts (records of finished work, one per part)."""
        return [self.path(RECEIPTS, name) for name in files.listdir(self.path(RECEIPTS))]

    def tables(self, kind: str) -> list[str]:
        """Return the URLs of all tables of dropped documents (kind DROPS) or of spans cut from texts (kind CUTS)."""
        if kind == DROPS and self.is_sealed:
            parts = dict.fromkeys(part_of(shard["name"]) for shard in self.manifest["shards"])
            return [self.path(kind, f"{part}.parquet") for part in parts]
        return [self.path(kind, name) for name in files.listdir(self.path(kind)) if name.endswith(".parquet")]

    @property
    def steps(self) -> list[Folder]:
        """The subfolders that Estimators wrote in this run and in earlier runs with other parameters."""
        return [Folder(self.path(STEPS, name)) for name in files.listdir(self.path(STEPS)) if name[:2].isdigit()]

    @property
    def input(self) -> Folder:
        """The subfolder with the saved input of an Estimator, if this is the folder of an Estimator."""
        return Folder(self.path(INPUT))

    @property
    def saved(self) -> list[Folder]:
        """The folders of the Estimators' saved inputs, as listed in the manifest; they may have been deleted."""
        return [Folder(self.path(name)) for name in self.manifest.get("saved", [])]

    @property
    def number(self) -> int:
        """The number, from 1, of an Estimator in its Pipeline, read from its folder's name (3 for 03-MinHash-...)."""
        return int(self.name.partition("-")[0])

    @property
    def parent(self) -> Folder:
        """The folder that contains this one; "." for a name without a folder."""
        return Folder(self.url.rstrip("/").rpartition("/")[0] or ("/" if self.url.startswith("/") else "."))


def step_name(number: int, label: str, key: str) -> str:
    """Return the name of an Estimator's folder inside OUT/steps: "03-MinHash-1a2b3c4d".

    number: its number, from 1, in the Pipeline. label: its name there. key: hash of all that decides its result.
    """
    return f"{number:02d}-{label}-{key[:STEP_DIGITS]}"


def is_same_estimator(one: str, other: str) -> bool:
    """Return whether two names of Estimators' folders have the same number and label, whatever their keys."""
    return one[:-STEP_DIGITS] == other[:-STEP_DIGITS]


def part_of(shard: str) -> str:
    """Return the part name in a shard's path: "part-00003" for "data/part-00003-000.parquet"."""
    return files.name_of(shard).rpartition("-")[0]


def home_of(url: str) -> Folder | None:
    """Return the Dataset folder that contains the shard (file of documents) at `url`; None if it is not a shard."""
    home, mark, _ = url.rpartition(f"/{DATA}/")
    return Folder(home) if mark else None


def run_steps(url: str) -> list[str] | None:
    """Return the names of the steps, in order, that `dataprep run` ran in the folder `url`; None for other folders."""
    at = files.join(url, RUN)
    if not files.exists(at):
        return None
    found = files.read_json(at)
    steps = found.get("steps") if isinstance(found, dict) else None
    if not isinstance(steps, list) or not all(isinstance(name, str) for name in steps):
        msg = f"{at} does not list the steps of a run: dataprep did not write it; give the folder of a run"
        raise CorruptShard(msg)
    return steps


def children(url: str) -> list[Folder]:
    """Return the complete output folders directly inside `url`, in the order of the run's steps.

    If there is no run.json, which lists the steps, the order is: Datasets, the largest first; then token shards.
    """
    names = files.listdir(url)
    steps = run_steps(url)
    if steps is not None:
        return [Folder(files.join(url, name)) for name in steps if name in names]
    found = [folder for folder in (Folder(files.join(url, name)) for name in names) if folder.kind is not None]
    docs = [folder for folder in found if folder.is_dataset]
    docs.sort(key=lambda folder: (-folder.manifest.get("docs", 0), -folder.manifest.get("bytes", 0)))
    return [*docs, *(folder for folder in found if not folder.is_dataset)]


def walk(url: str) -> Iterator[Folder]:
    """Yield the complete output folders in a run's folder `url`, in the order they were made.

    Datasets that were saved as input of Estimators are included.
    """
    url = url.rstrip("/")
    for folder in (*children(url), Folder(url)):
        kind = folder.kind
        if kind == DATASET:
            yield from (saved for saved in folder.saved if saved.is_dataset)
        if kind is not None:
            yield folder


def datasets(url: str, *, saved: bool = True) -> list[Folder]:
    """Return the complete Datasets in a run's folder `url`, in the order they were made.

    saved: whether to include Datasets that were saved as input of Estimators. Raises PlanError if there is none.
    """
    found = [folder for folder in walk(url) if folder.is_dataset and (saved or f"/{STEPS}/" not in folder.url)]
    if not found:
        msg = f"{url} holds no sealed Dataset{_instead(url)}; give the folder that `dataprep run` or Pipeline.run wrote"
        raise PlanError(msg)
    return found


def _instead(url: str) -> str:
    """Return what a path without a Dataset is, in brackets."""
    if token_folders(url):
        return " (it holds token shards)"
    if not files.exists(url):
        return " (it does not exist)"
    return "" if files.is_dir(url) else " (it is a file)"


def token_folders(url: str) -> list[Folder]:
    """Return the folders of token shards (tokenized text) among `url` and the folders directly inside it."""
    found = (Folder(at) for at in (url, *(files.join(url, name) for name in files.listdir(url))))
    return [folder for folder in found if folder.kind == TOKENS]
