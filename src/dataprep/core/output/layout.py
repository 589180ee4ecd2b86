"""Names of the files in output folders of Pipelines (OUT) and of `dataprep run` (RUN), and access to these folders.

OUT/manifest.json      a sealed Dataset or token shards: complete while this exists; it names all files of the result
OUT/recipe.json        the input and the stages that made the result
OUT/origin.json        the input files on this machine (`core/inputs/origin.py`)
OUT/unread.parquet     files that were not read, if there are any (`core/model/unread.py`)
OUT/forget.parquet     documents to leave out (`forget_list.py`)
OUT/data/              documents (shards)
OUT/drops/ cuts/       tables of dropped documents, and of spans cut out of texts, one per part (task)
OUT/receipts/          records of finished work, one per part; those of many parts in one file (`store/receipts.py`)
OUT/steps/NN-NAME-KEY8/               files of an Estimator; input/ is a sealed Dataset of the text that it read; after
                                      `dataprep prune` only input/drops, cuts and their records (`pruning.py`)
OUT/index/             a suffix index: manifest.json, recipe.json and origin.json of its own, and shards/
OUT/_unfinished/       the same files of the next result, until it is complete (`commit.py`)
OUT/_replaced/         the files of the result before, for those who still read it; the next run removes them
RUN/run.json           the steps of a pipeline file in order; each is a folder RUN/STEP as above (`run_folder.py`)
RUN/report.html        the report
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO

from dataprep.errors import CorruptShard, DataprepError, ReadError, Replaced, require
from dataprep.store import files, receipts
from dataprep.store.place import found_again, here

from . import state
from .state import DATASET, GENERATION, MANIFESTS, TOKENS, AnyManifest, Manifest, Origin, Recipe, Shard, TokenManifest

MANIFEST, RECIPE, ORIGIN, RUN = state.MANIFEST, state.RECIPE, state.ORIGIN, "run.json"
FORGET_LIST, REPORT, UNREAD = "forget.parquet", "report.html", "unread.parquet"
DATA, DROPS, CUTS, INDEX = "data", "drops", "cuts", "index"
RECEIPTS, STEPS = state.RECEIPTS, state.STEPS
VERDICTS, SPANS = "verdicts.parquet", "spans.parquet"  # the decisions of an Estimator, in its step's folder
INPUT = "input"
KEPT_STEP = 99  # the number of the step that keeps dropped documents
STEP_DIGITS = 8  # of the key, in the name of an Estimator's folder
UNFINISHED, REPLACED = "_unfinished", "_replaced"
LOCK = "mixture.lock.json"  # the plan of a mixture, next to its token shards
PRUNED = "pruned.json"  # the manifest of a saved input of which `dataprep prune` left only the tables
DRAFT = "draft.json"  # in OUT/_unfinished: the next manifest, until the result was searched for private strings
DATASET_FILES = {
    MANIFEST, RECIPE, ORIGIN, REPORT, UNREAD, DATA, DROPS, CUTS, RECEIPTS, STEPS, INDEX, UNFINISHED, REPLACED,
}  # fmt: skip
PART_FILES = (RECEIPTS, DATA, DROPS, CUTS)


def folder_url(out: object) -> str:
    """Return `out`, a path or URL, without a trailing slash. Raises PlanError if it is neither, or if it is empty."""
    require(isinstance(out, (str, os.PathLike)) and str(out), f"out={out!r} must be the path or URL of a folder")
    url = str(out).rstrip("/")
    return "/" if url in {"", "file:"} else url


RESULT_FILE = re.compile(  # directly in OUT, and of one generation
    r"(origin|tokenizer|tokenizer_config)(\.g\d+)?\.json|unread(\.g\d+)?\.parquet|token_bytes(\.g\d+)?\.npy"
    r"|(train|val|test)-\d{5}(\.g\d+)?\.(bin|idx|msk|docs\.parquet)"
)
INDEX_FILE = re.compile(r"origin(\.g\d+)?\.json|shards(\.g\d+)?")  # the same, of a suffix index


def part_name(number: int) -> str:
    """Return the name of part `number` (the input of one task) in file names: "part-00003" for 3."""
    return f"part-{number:05d}"


@dataclass(frozen=True)
class Folder:
    """The output folder of a Dataset or of token shards, complete or unfinished, and the URLs of its files."""

    url: str

    def path(self, *names: str) -> str:
        """Return the URL of a file inside this folder.

        Args:
            names: the components of its path.
        """
        return files.join(self.url, *names)

    @property
    def name(self) -> str:
        """The name of the folder itself: the last component of its URL."""
        return files.name_of(self.url)

    @cached_property
    def complete(self) -> AnyManifest | None:
        """The manifest of a complete result of any kind, read once and cached; None if there is no such result.

        Raises CorruptShard if the file is not a manifest that dataprep wrote.
        """
        kind = MANIFESTS.get(str(self._stated.get("kind")))
        return None if kind is None else kind.of(self._stated, self.path(MANIFEST))

    @property
    def manifest(self) -> Manifest | None:
        """The manifest of a complete Dataset; None if there is no such Dataset. Raises errors as `complete` does."""
        is_one = self._stated.get("kind") == DATASET
        return found if is_one and isinstance(found := self.complete, Manifest) else None

    @property
    def token_manifest(self) -> TokenManifest | None:
        """The manifest of complete token shards; None if there are none."""
        is_one = self._stated.get("kind") == TOKENS
        return found if is_one and isinstance(found := self.complete, TokenManifest) else None

    @property
    def named(self) -> set[str]:
        """The paths of the files that the manifest names; empty if the folder is not complete."""
        return set() if self.complete is None else set(self.complete.names())

    @property
    def is_pruned(self) -> bool:
        """True if this is the saved input of an Estimator and `dataprep prune` has deleted all but its tables."""
        return not self.is_sealed and files.exists(self.path(PRUNED))

    @cached_property
    def record(self) -> Manifest | None:
        """The manifest that lists the tables of a complete or pruned Dataset; None if there is none.

        Raises CorruptShard if the file is not a manifest that dataprep wrote.
        """
        return Manifest.load(self.path(PRUNED)) if self.is_pruned else self.manifest

    @cached_property
    def _stated(self) -> dict[str, Any]:
        found = files.read_json(self.path(MANIFEST)) if self.is_sealed else {}
        return found if isinstance(found, dict) else {}

    @property
    def readable(self) -> Manifest | None:
        """The manifest of a complete Dataset; None if the manifest does not exist or cannot be read."""
        with contextlib.suppress(CorruptShard):
            return self.manifest
        return None

    @property
    def stated(self) -> Recipe | None:
        """The input and stages of a complete result, as its manifest states them; None if that cannot be read."""
        with contextlib.suppress(CorruptShard):
            return self.result
        return None

    @property
    def recipe(self) -> Recipe | None:
        """The input and stages of the result in the folder; None if they are not recorded or cannot be read.

        The result need not be complete: its manifest may have been lost or removed.
        """
        return self.stated or Recipe.found(self.path(RECIPE))

    @property
    def forgotten(self) -> str | None:
        """The hash of the ids that were left out of the result; None if no ids were left out, or if it is not known."""
        found = self.recipe
        return None if found is None else found.forgotten

    @property
    def result(self) -> Recipe | None:
        """The recipe of the complete result, as its manifest states it; None if there is no complete result.

        Raises CorruptShard if the manifest is not one that dataprep wrote.
        """
        if not isinstance(tokens := self.complete, TokenManifest):
            return tokens
        settings = dict(tokens.settings) or {"dtype": tokens.dtype}
        made_by = str(settings.pop("made_by", TOKENS))
        return Recipe(
            kind=TOKENS, key=tokens.recipe or "", forgotten=tokens.forgotten, generation=tokens.generation,
            stages=[{"label": made_by, "class": made_by, "fields": settings}],
        )  # fmt: skip

    @property
    def origin(self) -> Origin | None:
        """The input files, by paths that are valid in this working folder; None if they are hidden or unknown."""
        found = self.origin_as_given
        return None if found is None else from_here(found)

    @property
    def origin_as_given(self) -> Origin | None:
        """The input files, by the paths that were given to the run; None if they are hidden or unknown."""
        with contextlib.suppress(CorruptShard):
            named = ORIGIN if self.complete is None else self.complete.origin
            return Origin.found(self.path(named)) if named else None
        return Origin.found(self.path(ORIGIN))

    @property
    def any_origin(self) -> Origin | None:
        """The input files of the result or, if there is no result yet, of the work on it; None if they are unknown."""
        return self.origin or self.unfinished.origin

    @property
    def sealed(self) -> Manifest:
        """The manifest of a complete Dataset. Raises ReadError if there is none."""
        if self.is_pruned:
            msg = "`dataprep prune` removed the documents of this step; only its drop and cut tables are left"
            raise ReadError(msg, self.url)
        if self.manifest is None:
            msg = "there is no sealed Dataset (no manifest.json); run the pipeline to its end first"
            raise ReadError(msg, self.url)
        return self.manifest

    @property
    def unfinished(self) -> Folder:
        """The subfolder in which the next result of this folder is written."""
        return Folder(self.path(UNFINISHED))

    @property
    def is_sealed(self) -> bool:
        """True if the folder is complete: manifest.json, which is written last, exists."""
        return files.exists(self.path(MANIFEST))

    @property
    def is_of_a_run(self) -> bool:
        """True if this folder belongs to a Pipeline's Dataset, finished or begun, by recipe.json or manifest.json."""
        return any(found is not None and found.kind == DATASET for found in (self.recipe, self.unfinished.recipe)) or (
            self.kind == DATASET
        )

    @property
    def kind(self) -> str | None:
        """The kind of a complete folder: the constant DATASET or TOKENS (token shards); None if it is neither.

        If the manifest cannot be read, the kind is inferred from the other files; opening such a folder raises an
        error.
        """
        try:
            found = self._stated.get("kind")
        except DataprepError:
            return TOKENS if files.exists(self.path("token_bytes.npy")) else DATASET
        return found if found in (DATASET, TOKENS) else None

    @property
    def is_dataset(self) -> bool:
        """True if this is the folder of a complete Dataset."""
        return self.kind == DATASET

    def receipt(self, part: int) -> str:
        """Return the URL of the receipt (record of finished work) of part number `part`."""
        return self.path(RECEIPTS, f"{part_name(part)}.json")

    def receipts(self) -> dict[str, dict[str, Any] | None]:
        """Return {URL: content} of all receipts (records of finished work, one per part), as `receipts.all_in` does."""
        return receipts.all_in(self.path(RECEIPTS))

    @property
    def is_settled(self) -> bool:
        """False if a commit was killed once the result had changed: receipts may still be in OUT/_unfinished."""
        begun = self.unfinished.recipe
        return begun is None or not begun.is_same(self.stated)

    def missing_receipts(self, found: Mapping[str, Any]) -> list[str]:
        """Return the URLs of the receipts of parts that are not in `found`, which `receipts` returned."""
        parts = 0 if self.record is None else self.record.parts or 0
        return [url for url in map(self.receipt, range(parts)) if url not in found]

    def unstated(self, found: Mapping[str, dict[str, Any] | None]) -> list[Shard]:
        """Return the shards of the manifest that no receipt in `found` states, or only with other documents.

        They exist if a receipt is missing, or is a copy from before the result changed. A pruned folder has none.
        """
        rows = (one for record in found.values() for one in (record or {}).get("shards", ()))
        stated = {(one["name"], one["content"], one.get("sealed")) for one in rows}
        shards = () if self.is_pruned or self.record is None else self.record.shards
        return [one for one in shards if (one.name, one.content, one.sealed) not in stated]

    @property
    def n_done(self) -> int:
        """The number of parts whose work is finished."""
        return sum(name.endswith(".json") for name in files.listdir(self.path(RECEIPTS))) or len(self.receipts())

    def tables(self, kind: str) -> list[str]:
        """Return the URLs of all tables of dropped documents (kind DROPS) or of spans cut from texts (kind CUTS)."""
        record = self.record
        return [] if record is None else [self.path(name) for name in record.tables(kind)]

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
        """The folders of the Estimators' saved inputs, as listed in the manifest; they may have been pruned."""
        return [Folder(self.path(name)) for name in (self.manifest.saved if self.manifest is not None else ())]

    @property
    def kept(self) -> Folder:
        """The subfolder with the documents that were dropped to make the Dataset in this folder, if they were kept."""
        return Folder(self.path(STEPS, step_name(KEPT_STEP, "dropped", self.sealed.key))).input

    @property
    def number(self) -> int:
        """The number, from 1, of an Estimator in its Pipeline, read from its folder's name (3 for 03-MinHash-...)."""
        return int(self.name.partition("-")[0])

    @property
    def parent(self) -> Folder:
        """The folder that contains this one; "." if the name has no folder part."""
        return Folder(self.url.rstrip("/").rpartition("/")[0] or ("/" if self.url.startswith("/") else "."))


def step_name(number: int, label: str, key: str) -> str:
    """Return the name of an Estimator's folder inside OUT/steps: "03-MinHash-1a2b3c4d".

    Args:
        number: the Estimator's number in the Pipeline, from 1.
        label: the Estimator's name in the Pipeline.
        key: a hash of everything that determines its result.
    """
    return f"{number:02d}-{label}-{key[:STEP_DIGITS]}"


def is_same_estimator(one: str, other: str) -> bool:
    """Return whether two names of Estimators' folders have the same number and label, regardless of their keys."""
    return one[:-STEP_DIGITS] == other[:-STEP_DIGITS]


def numbered(name: str, generation: int) -> str:
    """Return a file's name in a generation: "data/part-00003-000.g2.parquet" for 2; generation 1 has no suffix."""
    stem, dot, end = name.rpartition(".")
    return name if generation == 1 else f"{GENERATION.sub('', stem)}.g{generation}{dot}{end}"


def shard_name(part: int, number: int, generation: int = 1) -> str:
    """Return the path of a Parquet file of documents: "data/part-00003-000.parquet" for part 3, number 0."""
    return numbered(f"{DATA}/{part_name(part)}-{number:03d}.parquet", generation)


def table_name(kind: str, part: int, generation: int = 1) -> str:
    """Return the path of a part's table of dropped documents (kind DROPS) or of spans cut from texts (kind CUTS)."""
    return numbered(f"{kind}/{part_name(part)}.parquet", generation)


def home_of(url: str) -> Folder | None:
    """Return the Dataset folder that contains the shard (file of documents) at `url`; None if `url` is not a shard."""
    home, mark, _ = url.rpartition(f"/{DATA}/")
    return Folder(home) if mark else None


def is_hidden(home: Folder) -> bool:
    """Return whether the input of a Dataset, or of a Dataset from which it was made, is hidden."""
    if home.readable is None or (origin := home.origin) is None:
        return home.readable is not None
    return any(map(is_hidden, {one for row in origin.files if (one := home_of(row.url)) is not None}))


def from_here(origin: Origin) -> Origin:
    """Return the input files with paths relative to this working folder, not to the one in which they were given."""
    if not origin.given_in or origin.given_in == here():
        return origin
    shards: dict[str, Mapping[str, str]] = {}

    def is_shard(url: str, fingerprint: str) -> bool:
        """Return whether a shard has the stated content; for other files, readers compare the content themselves."""
        if (home := home_of(url)) is None:
            return True
        if home.url not in shards:
            made = home.readable
            stated = () if made is None else made.shards
            shards[home.url] = {home.path(shard.name): shard.sealed or shard.hash for shard in stated}
        return shards[home.url].get(url) == fingerprint

    def found(url: str, fingerprint: str) -> str:
        return found_again(url, origin.given_in, is_same=lambda at: is_shard(at, fingerprint))

    return dataclasses.replace(
        origin, files=tuple(dataclasses.replace(row, url=found(row.url, row.fingerprint)) for row in origin.files),
        sources=tuple(dataclasses.replace(one, url=found(one.url, one.root)) for one in origin.sources),
    )  # fmt: skip


def at_hand(url: str) -> str:
    """Return the URL of a shard or table that an opened manifest names: `url`, or its path among the replaced files.

    Raises Replaced if a later run removed it.
    """
    place = re.fullmatch(rf"(.*)/(({DATA}|{DROPS}|{CUTS})/[^/]+|unread(\.g\d+)?\.parquet)", url, re.DOTALL)
    if place is None or files.exists(url):
        return url
    home = Folder(place[1])
    name = url[len(home.url) + 1 :]
    if files.exists(home.path(REPLACED, name)):
        return home.path(REPLACED, name)
    if home.manifest is not None and name not in home.named:
        raise replaced(home.url)
    return url


def replaced(url: str) -> Replaced:
    """Return the error that the opened result in the folder `url` was replaced by another one."""
    return Replaced(f"the result in {url} was replaced since it was opened; open it again, or repeat the command")


def inside(url: str) -> list[str]:
    """Return the URLs of the files and folders in a folder, except those of its next and its previous result."""
    return [files.join(url, name) for name in files.listdir(url) if name not in (UNFINISHED, REPLACED)]


def open_at_hand(url: str) -> BinaryIO:
    """Open the file that `at_hand` finds, even if a replacement moves it at the same time; raise the same errors."""
    for _ in range(2):  # it is moved, and then removed
        with contextlib.suppress(ReadError):
            return files.open_raw(at_hand(url))
    return files.open_raw(at_hand(url))
