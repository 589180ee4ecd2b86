"""Pseudonymised: the Stage that replaces names by pseudonyms; `Pseudonyms.fit` learns the names and returns it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage, drop_rows
from dataprep.messages.counts import ORDINARY, WORD
from dataprep.pii.kernel import byte_kinds, suspects
from dataprep.pii.kinds import KINDS
from dataprep.store import files
from dataprep.unicode.splice import splice
from dataprep.unicode.text import I64, U8

from . import kernel as K
from .consent import Consent
from .encoded import coded_spans
from .finder import folded_letters
from .glued import GluedNames
from .known import KnownPeople
from .matching import common_words, folded, words
from .numbers import united, with_numbers
from .phones import Phones
from .tables import NameTables, name_tables
from .terms import CHAT, NAMING, is_group_name, one_word
from .trie import build
from .weighing import listed_words, uses_as_name

NEEDS = ("chat", "author", "kind")


def read_people(url: str) -> pa.Table:
    """Return the table of names, with the columns kind, chat and name, in the Parquet file `url`."""
    with files.open_arrow(url) as f:
        return pq.read_table(f)


@dataclass(frozen=True, kw_only=True, repr=False)
class Pseudonymised(Stage):
    """Replaces names by pseudonyms; `Pseudonyms.fit` returns this stage.

    Attributes:
        people: the URL of the table of pseudonyms.
        key: the hash that identifies the table's content.
        counts_words: whether to also count how often each word is replaced, for trials. The other fields are those of
            `Pseudonyms`.
    """

    people: str
    key: str
    min_chars: int
    common: tuple[str, ...] | None
    prefixes: str
    redact_kinds: tuple[str, ...]
    keep_meta: tuple[str, ...]
    pii: bool
    consent: Consent | None = None
    counts_words: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)

    needs: ClassVar[tuple[str, ...]] = NEEDS
    hides: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The name of the Estimator, "Pseudonyms", which is used in statistics."""
        return "Pseudonyms"

    def __repr__(self) -> str:
        return f"pseudonyms for {self.facts.get('people', 0):,} people"

    def recipe(self) -> Any:
        """Return the values that identify this stage, with a hash of the table of pseudonyms, not its path."""
        return self.name, self.key

    def secrets(self) -> KnownPeople:
        """Return a search for every name in the table of pseudonyms, and for people who did not agree."""
        rows = read_people(self.people).to_pylist()
        rows = [row for row in rows if row["kind"] in NAMING or (row["kind"] == CHAT and is_group_name(row["name"]))]
        names = {row["name"] for row in rows} | set(self.consent.names if self.consent and self.consent.refused else ())
        whole = one_word((row["kind"], row["chat"], row["name"]) for row in rows)
        stay = common_words(self.common) | set(_short(names, self.min_chars)) | whole
        groups = frozenset(row["name"] for row in rows) - {row["name"] for row in rows if row["kind"] in NAMING}
        return KnownPeople(tuple(sorted(names)), frozenset(stay), prefixes=self.prefixes, groups=groups)

    def warm(self) -> None:
        """Compile the kernels, before workers start."""
        warm()

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Drop messages without consent; yield the others with authors, chats, sources, meta and texts rewritten."""
        known = name_tables(self.people, self.min_chars, self.common)
        for batch in batches:
            kept = batch if self.consent is None else drop_rows(batch, self.consent.reasons(batch["author"]), stats)
            yield self._columns(self._texts(kept, known, stats), known)

    def _texts(self, batch: Batch, known: NameTables, stats: Ledger) -> Batch:
        """Return the batch with names in its texts replaced, and texts of the kinds in `redact_kinds` blanked."""
        batch = self._blanked(batch, stats)
        offsets, data = B.buffers(batch)
        chats = pc.index_in(pc.fill_null(batch["chat"].cast(pa.string()), ""), pa.array(list(known.chats), pa.string()))
        of_chat = np.asarray(pc.fill_null(chats, -1).to_numpy(zero_copy_only=False), np.int64)
        first_kind = len(known.words) - len(KINDS)
        spans, hits = self._spans(offsets, data, of_chat, known, stats)
        unseen = Ledger(self.name)  # in decoded texts, what is found in the text itself is found again

        def inside(low: I64, read: U8, rows: I64) -> I64:
            return self._spans(low, read, of_chat[rows], known, unseen)[0]

        coded = coded_spans(batch["text"], offsets, inside)
        spans = united(spans, coded) if coded else spans
        if not len(spans):
            return batch
        if self.counts_words:
            _count_words(offsets, data, hits, known.finder.terms, stats)
        counts = np.bincount(np.maximum(spans[:, 3] - first_kind + 1, 0), minlength=len(KINDS) + 1).tolist()
        for name, n in zip(("names.replaced", *(f"pii.{kind}" for kind in KINDS)), counts, strict=True):
            stats.count(name, n)
        ends, news = B.buffers(known.words)
        bounds, which = np.ascontiguousarray(spans[:, 1:3]), spans[:, 3]
        texts = B.strings(*splice(offsets, data, bounds, ends[which], ends[which + 1], news))
        return B.with_column(batch, "text", texts)

    def _spans(
        self, offsets: I64, data: U8, chats: I64, known: NameTables, stats: Ledger
    ) -> tuple[I64, I64]:
        """Return the spans of texts to replace, int64[n, 4], and the names among them.

        - chats: the chat of each text.
        """
        hits = known.finder.hits(offsets, data, folded_letters(self.prefixes))
        left = known.finder.weak[hits[:, 3]] & (hits[:, 4] == 0)
        stats.count("names.common_left", int(left.sum()))
        hits = hits[~left]
        which = known.meant(hits, chats)
        stats.count("names.shared", int((known.is_shared[hits[:, 3]] & (which == known.target[hits[:, 3]])).sum()))
        first_kind = len(known.words) - len(KINDS) if self.pii else -1
        spans = np.column_stack([hits[:, :3], which])
        return with_numbers(offsets, data, spans, known.phones, first_kind), hits

    def _blanked(self, batch: Batch, stats: Ledger) -> Batch:
        kinds = batch["kind"].cast(pa.large_string())
        blank = pc.is_in(kinds, pa.array(self.redact_kinds, pa.large_string()))
        n = pc.sum(blank).as_py() or 0
        stats.count("redacted", n)
        if not n:
            return batch
        left, right, nothing = (pa.scalar(sign, pa.large_string()) for sign in ("<", ">", ""))
        names = pc.binary_join_element_wise(left, kinds, right, nothing)
        return B.with_column(batch, "text", pc.if_else(blank, names, batch["text"]))

    def _columns(self, batch: Batch, known: NameTables) -> Batch:
        chats = _mapped(batch["chat"], known.chat_names, known.chat_pseudonyms)
        out = B.with_column(batch, "author", _mapped(batch["author"], known.authors, known.author_pseudonyms))
        out = B.with_column(out, "chat", chats.cast(batch["chat"].type))
        source = pc.fill_null(chats, "Chat").dictionary_encode().cast(B.SOURCE)
        return B.with_column(B.with_column(out, "source", source), "meta", self._meta(batch["meta"]))

    def _meta(self, meta: pa.LargeStringArray) -> pa.LargeStringArray:
        """Return the JSON with only the keys in `keep_meta`; each distinct value is parsed once."""
        coded = meta.dictionary_encode()
        kept = [_only(text, self.keep_meta) for text in coded.dictionary.to_pylist()]
        return pa.array(kept, pa.large_string()).take(coded.indices)


def _count_words(offsets: I64, data: U8, hits: I64, terms: Sequence[str], stats: Ledger) -> None:
    """Count how often each word is replaced, and how often as an ordinary word, for --dry-run."""
    name, unclear = uses_as_name(offsets, data, hits)
    for family, which in ((WORD, hits), (ORDINARY, hits[~name & ~unclear])):
        for term, n in zip(*np.unique(which[:, 3], return_counts=True), strict=True):
            word = terms[term]
            if word.isalpha() and (family == WORD or word.isascii() or word in listed_words()):
                stats.count(f"{family}.{terms[term]}", int(n), private=True)


def _short(names: Iterable[str], min_chars: int) -> Iterator[str]:
    return (word for name in names for word in words(name) if len(word) < min_chars)


def _only(text: str, keys: tuple[str, ...]) -> str:
    if text == "{}":
        return text
    found = orjson.loads(text)
    hidden = (
        {"file": None} if {"file", "files"} & found.keys() - set(keys) else {}
    )  # `clean.py` needs the key to find captions
    return orjson.dumps({k: v for k, v in found.items() if k in keys} | hidden).decode()


def _mapped(column: pa.Array, names: pa.StringArray, pseudonyms: pa.StringArray) -> pa.StringArray:
    """Return the pseudonym of each name, null for null."""
    at = pc.index_in(column.cast(pa.string()), names)
    assert at.null_count == column.null_count, "every name was seen by fit"
    return pseudonyms.take(at)


def warm() -> None:
    """Compile the kernels."""
    fold = folded()
    offsets, data = B.buffers(B.make([0], ["a text"], "warm"))
    hits = K.find_names(offsets, data, fold, *build(["text"]), folded_letters(""))
    splice(offsets, data, hits[:, 1:3].copy(), hits[:, 1].copy(), hits[:, 2].copy(), data)
    GluedNames(["text"], build(["text"]), {"text": 0}).find(offsets, data)
    suspects(offsets, data, byte_kinds(), 0)
    Phones(()).rows(offsets, data)
