"""The typed records of an output folder's state: recipe, manifest, receipts of parts, and origin.

`docs/files.md` specifies the JSON files; `records.py` reads and writes them. Only the standard library is imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from dataprep.store.newer import FORMAT

from .records import Id, StateRecord, records

DATASET, TOKENS, INDEX = "dataset", "tokens", "suffix_index"  # the kinds of results
MANIFEST, RECIPE, ORIGIN = "manifest.json", "recipe.json", "origin.json"
RECEIPTS, STEPS = "receipts", "steps"  # folders in that of a result
GENERATION = re.compile(r"\.g\d+$")  # at the end of a name without its suffix


@dataclass(frozen=True, kw_only=True)
class File(StateRecord):
    """A file of the folder: its path there, its size in bytes, and the xxh3-128 hash of its bytes in hex."""

    name: str
    size: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class UnreadTable(File):
    """The table of files that were not read.

    Attributes:
        reasons: the number of its rows by reason.
    """

    reasons: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Shard(File):
    """A Parquet file of documents.

    Attributes:
        docs: the number of documents.
        bytes: the total size of the documents' texts in UTF-8 bytes.
        last_id: the largest document id; None if the shard has no documents.
        content: the hash of ids, texts and columns, independent of how Parquet stores them.
        drops: the path of the drop table of the part that the shard belongs to.
        cuts: the path of the part's cut table; None if the part has no cut table.
        sealed: the hash that the file had before documents were forgotten; keys depend on this hash.
    """

    docs: int
    bytes: int
    content: str
    drops: str
    last_id: Id | None = None
    cuts: str | None = None
    sealed: str | None = None


@dataclass(frozen=True, kw_only=True)
class Recipe(StateRecord):
    """The input and the stages from which a result is made.

    Attributes:
        kind: DATASET, TOKENS or INDEX.
        key: a hash of the input and the stages.
        stages: the result of `describe` for each stage.
        lost: {data that is lost: [the first stage that loses it, the remedy]}.
        forgotten: the hash of the ids that were left out.
        parts: the number of tasks.
        generation: a number that increases each time a result is replaced; the names of files of generation n > 1
            contain ".gN" before the suffix.
        keeps: the names of the step folders to keep if the previous result must not be kept because it contains data
            that this result hides or leaves out; None if the previous result may be kept.
        codec: the compression of the shards, "lz4" or "none", or "view" if their texts remain in the input; None means
            zstd. The key does not depend on the codec.
    """

    kind: str
    key: str
    format: int = FORMAT
    stages: list[dict[str, Any]] = field(default_factory=list)
    lost: dict[str, list[str]] = field(default_factory=dict)
    forgotten: str | None = None
    parts: int | None = None
    generation: int = 1
    keeps: list[str] | None = None
    codec: str | None = None

    def is_same(self, other: Recipe | None) -> bool:
        """Return whether two recipes make the same result."""
        return other is not None and (self.key, self.forgotten, self.codec) == (other.key, other.forgotten, other.codec)


@dataclass(frozen=True, kw_only=True)
class Manifest(Recipe):
    """The description of a finished Dataset; it names all files of the result.

    Attributes:
        docs: the number of documents in all shards.
        bytes: the total size of the documents' texts in UTF-8 bytes.
        content: the hash of all documents.
        columns: the name and the Arrow type of each column.
        last_file: the largest file number that an id can have, also in Datasets from which this one was made.
        inputs: the input files by number.
        shards: the Parquet files in order of ids.
        stats: the statistics of each stage.
        saved: the folders of the Estimators' saved inputs.
        fits: the facts that each Estimator returned.
        unread: the table of files that were not read.
        origin: the name of the file that lists the input files.
        made_with: the versions of Python and pyarrow.
    """

    docs: int
    bytes: int
    content: str
    columns: list[list[str]]
    last_file: int
    shards: tuple[Shard, ...] = records(lambda: Shard)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    stats: list[dict[str, Any]] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    fits: list[dict[str, Any]] = field(default_factory=list)
    unread: UnreadTable | None = field(default=None, metadata={"one": lambda: UnreadTable})
    origin: str | None = None
    made_with: dict[str, Any] = field(default_factory=dict)

    @property
    def recipe(self) -> Recipe:
        """The recipe alone: the input and the stages."""
        return Recipe(**{one.name: getattr(self, one.name) for one in fields(Recipe) if one.name != "more"})

    def tables(self, kind: str) -> list[str]:
        """Return the paths of the tables of all parts.

        Args:
            kind: "drops" or "cuts".
        """
        return [*dict.fromkeys(name for shard in self.shards if (name := getattr(shard, kind)) is not None)]

    def names(self) -> list[str]:
        """Return the paths of all files that the manifest names, relative to the folder."""
        more = [name for name in (self.unread and self.unread.name, self.origin) if name]
        return [*(shard.name for shard in self.shards), *self.tables("drops"), *self.tables("cuts"), *more]


@dataclass(frozen=True, kw_only=True)
class WrittenShard(StateRecord):
    """A shard as the receipt of its part describes it; the fields are those of `Shard`, and its columns."""

    name: str
    docs: int
    bytes: int
    content: str
    columns: list[list[str]]
    last_id: Id | None = None
    sealed: str | None = None


@dataclass(frozen=True, kw_only=True)
class Receipt(StateRecord):
    """The record of a finished part: its key, the files that it wrote, and their content.

    The paths of `files` are relative to the receipt, those of `shards` to the folder.

    Attributes:
        stats: the statistics of each stage.
        unread: the rows of the table of unread files.
    """

    key: str
    files: tuple[File, ...] = records(lambda: File)
    shards: tuple[WrittenShard, ...] = records(lambda: WrittenShard)
    stats: list[dict[str, Any]] = field(default_factory=list)
    unread: list[list[Any]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class OriginFile(StateRecord):
    """An input file, or a shard of a Dataset that is an input.

    Attributes:
        url: the file's URL, without passwords.
        file: the file's number; for a Dataset, the number that is added to its file numbers.
        source: the name of the source.
        reader: the index in `Origin.readers`.
        size: the stored size in bytes.
        fingerprint: the hash of its name and content.
        left_out: True if the file is listed as unread.
    """

    url: str
    file: int
    source: str
    reader: int
    size: int
    fingerprint: str
    left_out: bool | None = None


@dataclass(frozen=True, kw_only=True)
class FileBeside(StateRecord):
    """A companion file that a reader reads with the input files, such as a file of people's names."""

    url: str
    fingerprint: str


@dataclass(frozen=True, kw_only=True)
class MixedFolder(StateRecord):
    """A source of a mixture: its name, the folder of its token shards on this machine, and the hash of these shards."""

    name: str
    url: str
    root: str


@dataclass(frozen=True, kw_only=True)
class Origin(StateRecord):
    """The input files of a result, with paths on the machine that made it; no key depends on them.

    Attributes:
        readers: each reader as a JSON object; None for a reader that is not part of this package.
        work: a hash of the readers and stages, which does not depend on the input files.
        sources: the folders of token shards of a mixture.
        given_in: the working folder in which the relative paths were given; None if there are no relative paths.
    """

    format: int = FORMAT
    readers: list[Any] = field(default_factory=list)
    files: tuple[OriginFile, ...] = records(lambda: OriginFile, default=())
    work: str = ""
    beside: tuple[FileBeside, ...] = records(lambda: FileBeside, default=())
    sources: tuple[MixedFolder, ...] = records(lambda: MixedFolder, default=())
    given_in: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunSteps(StateRecord):
    """The names of the steps of a pipeline file, in order; the folder of each step is next to this record."""

    format: int = FORMAT
    steps: list[str]


@dataclass(frozen=True, kw_only=True)
class Quarantine(StateRecord):
    """The slices of input files that killed a worker twice.

    Attributes:
        slices: {hash of the file's content, ":", start of the slice: reason}.
    """

    format: int = FORMAT
    slices: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TokenShard(StateRecord):
    """One token shard: its name without a suffix, its split, totals, and the hashes of its files.

    Attributes:
        bytes: the size in bytes of the text that the shard's tokens represent.
        hash: the hash of the .bin file. Each of the hashes is None if another program wrote the file and did not record
            it.
        ends_hash: the hash of the .idx file.
        docs_hash: the hash of the .docs.parquet file.
        mask_hash: the hash of the .msk file; a shard without this hash has no .msk file.
    """

    name: str
    split: str
    tokens: int
    documents: int
    bytes: int
    hash: str | None = None
    ends_hash: str | None = None
    docs_hash: str | None = None
    mask_hash: str | None = None

    @property
    def has_mask(self) -> bool:
        """Whether the shard has a loss mask."""
        return self.mask_hash is not None

    @property
    def first_name(self) -> str:
        """The name that the shard would have in the first generation: "train-00000" for "train-00000.g2"."""
        return GENERATION.sub("", self.name)

    def names(self) -> list[str]:
        """Return the names of the files of the shard."""
        return [f"{self.name}.{end}" for end in ("bin", "idx", "docs.parquet", *(["msk"] if self.has_mask else []))]


@dataclass(frozen=True, kw_only=True)
class TokenizerFile(StateRecord):
    """The tokenizer of token shards: its file, its hash, the hash of the file's bytes, and the file for transformers.

    Attributes:
        file: None if the folder has no tokenizer.
    """

    file: str | None = None
    hash: str | None = None
    file_hash: str | None = None
    config: str | None = None


@dataclass(frozen=True, kw_only=True)
class TokenManifest(StateRecord):
    """The description of a finished folder of token shards.

    Attributes:
        dtype: "uint16" or "uint32".
        eot: the id of the separator (end-of-text) token.
        special: {special token: id}.
        tokens: the number of tokens in all shards.
        documents: the number of documents in all shards.
        bytes: the total size of the text in bytes.
        bytes_per_token: the file that lists the number of bytes of text per token id, and the file's hash.
        recipe: a hash of everything that determines the content of the shards.
        settings: the parameters that the hash covers.
        split: the rule that divides documents into splits; for a mixture, the rule of each source.
        template: the chat template, for shards of chats.
        template_ends: the template's bos and eos tokens, as texts.
        speakers: {role: the most frequent name of the role's authors, or None}.
        special_in_text: how often texts contain each special token literally.
        mixture: the plan with the shares of the sources.
        imported: the files that `import_tokens` read.
        forgotten: as in `Recipe`.
        generation: as in `Recipe`.
        origin: the name of the file that lists the input files.
    """

    kind: str
    dtype: str
    vocab_size: int
    eot: int
    special: dict[str, int]
    tokens: int
    documents: int
    bytes: int
    shards: tuple[TokenShard, ...] = records(lambda: TokenShard)
    format: int = FORMAT
    bytes_per_token: str | None = None
    bytes_per_token_hash: str | None = None
    tokenizer: TokenizerFile | None = field(default=None, metadata={"one": lambda: TokenizerFile})
    recipe: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    split: dict[str, Any] = field(default_factory=dict)
    template: str | None = None
    template_ends: list[str] | None = None
    speakers: dict[str, str | None] | None = None
    special_in_text: dict[str, int] = field(default_factory=dict)
    mixture: dict[str, Any] | None = None
    imported: list[dict[str, str]] | None = None
    forgotten: str | None = None
    origin: str | None = None
    generation: int = 1

    def names(self) -> list[str]:
        """Return the paths of all files that the manifest names, relative to the folder."""
        kept = self.tokenizer or TokenizerFile()
        more = (self.bytes_per_token, kept.file, kept.config, self.origin)
        return [*(name for shard in self.shards for name in shard.names()), *(name for name in more if name)]


@dataclass(frozen=True, kw_only=True)
class IndexShard(StateRecord):
    """One shard of a suffix index: the path of its files without a suffix, its totals and its sources.

    Attributes:
        bytes: the size of its text in bytes, including one extra byte after each document.
        characters: the number of characters in its text.
    """

    name: str
    docs: int
    bytes: int
    characters: int
    sources: list[str]


@dataclass(frozen=True, kw_only=True)
class IndexManifest(Recipe):
    """The description of a finished suffix index.

    Attributes:
        docs: the number of documents.
        bytes: the total size of the texts in UTF-8 bytes.
        origin: the name of the file that lists the input files.
    """

    docs: int
    bytes: int
    shards: tuple[IndexShard, ...] = records(lambda: IndexShard)
    origin: str | None = None

    def names(self) -> list[str]:
        """Return the paths of all files that the manifest names, relative to the folder."""
        names = [f"{shard.name}.{end}" for shard in self.shards for end in ("text", "docs", "sa")]
        return [*names, *([self.origin] if self.origin else [])]


AnyManifest = Manifest | TokenManifest | IndexManifest
MANIFESTS: dict[str, type[AnyManifest]] = {DATASET: Manifest, TOKENS: TokenManifest, INDEX: IndexManifest}
