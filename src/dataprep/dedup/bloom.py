"""Bloom: remove documents, lines or n-grams that a Bloom filter has already seen, at a known false-positive rate."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dataprep.core.model.annotate import annotated
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.verdict import CutSpans, DropIds, Verdict
from dataprep.core.output.layout import Folder
from dataprep.core.run.context import reserve, threads_of, trial_of
from dataprep.core.run.passes import table_once
from dataprep.core.run.runner import WORKER_BYTES, Runner, memory_of
from dataprep.dedup.membership.bloom_filter import FilterSize, full, places
from dataprep.dedup.membership.keys import (
    KeyUnits,
    LookUp,
    SaveKeys,
    SetBits,
    WriteSeen,
    WriteSeenSpans,
    count,
    document_keys,
    ngram_keys,
)
from dataprep.dedup.spans.forms import FORMS
from dataprep.errors import require, require_integer
from dataprep.store import files, receipts
from dataprep.store.key import key
from dataprep.unicode.words import SPLITS

from .membership import hyperloglog
from .older import Deduplication, Joined, Older
from .warm import warm

log = logging.getLogger("dataprep")

UNITS = ("document", "paragraph", "ngram")
MIN_CAPACITY = 1000
MARGIN = 1 + 5 * hyperloglog.STANDARD_ERROR  # factor on the counted keys: too small in one run of three million
ALARM = 1.1  # times the stated rate
PIECE_BYTES = 256 << 20  # of a filter that does not fit into memory
MAX_PIECES = 256  # files that are read at once


@dataclass(frozen=True, kw_only=True)
class Bloom(Deduplication):
    r"""Remove documents or lines that occurred before, as found by a Bloom filter (an Estimator).

    Args:
        unit: the unit of text that is looked up in the filter: "document", "paragraph" or "ngram"; see below.
        ngram: the number of consecutive words in an n-gram, for unit="ngram".
        threshold: for unit="ngram", the fraction (0 to 1) of a line's n-grams that must have occurred before for the
            line to be cut.
        error_rate: the probability, from 1e-9 to 0.5, that the filter reports a new unit as already seen (a false
            positive) when it contains `capacity` units.
        capacity: the number of distinct units for which the filter is sized. None: the units are first counted with
            HyperLogLog, and the capacity is this count plus 2 %. If a given capacity is too small for the input, `fit`
            raises DataprepError, so the error rate never exceeds the stated rate.
        normalize: the differences between documents or lines that are ignored: "space", "lower", "words", "c4", "ccnet"
            or "ccnet_digits" (see `forms.py`); None: every difference counts.
        word_split: the definition of a word in n-grams: "unicode" (see docs/words.md), or "regex" (runs of `\w`, as
            published). Words are compared in lower case.
        min_remaining_chars: a document from which lines were cut is dropped if fewer characters other than white space
            remain.
        against: the folders of sealed Datasets (finished outputs) whose units count as seen. If `capacity` is set, and
            a Bloom with the same settings wrote such a folder, its saved filter is extended. In this case, units of
            documents that later stages dropped also count as seen. Otherwise the texts of the folder are read again.
        annotate: True removes nothing, and adds the columns of docs/dedup-annotate.md. A string such as "near_" also
            removes nothing, and is the prefix of the column names.

    With unit="document", a text that was seen before is dropped ("seen_before"). With unit="paragraph", a line that was
    seen before, in this document or in an earlier one, is cut together with the white space on one side of it; blank
    lines are never looked up (Dolma, Soldaini et al. 2024).

    With unit="ngram", the n-grams of each line are looked up. A line is cut if at least the fraction `threshold` of its
    n-grams occurred in *earlier documents*. The whole document is dropped if this fraction of all its n-grams together
    occurred in earlier documents (BFF in DataComp-LM, Li et al. 2024). Then only the n-grams of the lines that are kept
    are added to the filter. A line of fewer than `ngram` words is removed only together with its whole document; a
    document that has only such lines is kept.

    The filter stores bits, not ids, so the table of dropped documents does not name the earlier document. The filter
    needs 19.2 bits of memory per unit at an error rate of 1e-4, in one process. If the Runner allows less memory, the
    filter is filled in pieces of 256 MiB, with the same result. For n-grams, `fit` raises PlanError instead, since each
    decision depends on earlier ones. The filter is saved as `filter.bloom` in the folder `out` of `fit`; open it with
    `pybloom_live.BloomFilter.fromfile` (see `bloom_hashes`).
    """

    VERSION: ClassVar[int] = 4

    unit: str = "document"
    ngram: int = 13
    threshold: float = 0.8
    error_rate: float = 1e-4
    capacity: int | None = None
    normalize: str | None = None
    word_split: str = "unicode"
    min_remaining_chars: int = 1
    against: str | Sequence[str] | None = None
    annotate: bool | str = False

    def __post_init__(self) -> None:
        units, forms = (", ".join(map(repr, known)) for known in (UNITS, FORMS))
        require(self.unit in UNITS, f"unit={self.unit!r} must be one of {units}")
        require(
            isinstance(self.ngram, int) and self.ngram >= 1, f"ngram={self.ngram!r} must be an integer of at least 1"
        )
        in_range = isinstance(self.threshold, (int, float)) and 0 < self.threshold <= 1
        require(in_range, f"threshold={self.threshold!r} must be a number above 0 and at most 1")
        require(self.normalize in (None, *FORMS), f"normalize={self.normalize!r} must be None or one of {forms}")
        for_words = "must be None for n-grams, whose words are lower-cased; leave it out"
        require(self.normalize is None or self.unit != "ngram", f"normalize={self.normalize!r} {for_words}")
        splits = " or ".join(map(repr, SPLITS))
        require(self.word_split in SPLITS, f"word_split={self.word_split!r} must be {splits}")
        require_integer("min_remaining_chars", self.min_remaining_chars, 0)
        FilterSize(1 if self.capacity is None else self.capacity, self.error_rate)
        self._check_memory()

    @property
    def units(self) -> KeyUnits:
        """The settings that decide which text is hashed: `unit`, `ngram`, `normalize` and `word_split`."""
        return KeyUnits(self.unit, self.ngram, self.normalize, self.word_split)

    @property
    def only_drops(self) -> bool:  # type: ignore[override]
        """True for unit="document", which drops whole documents; False for other units, which cut out lines.

        True with `annotate`, which changes no text.
        """
        return not self.cuts or self.prefix is not None

    @property
    def cuts(self) -> bool:
        """Whether lines are cut out of texts; if not, documents are dropped."""
        return self.unit != "document"

    def fit(self, docs: Dataset, runner: Runner, out: str) -> Verdict:
        """Look up all documents, lines or n-grams of `docs`, in order of ids; return the stage that removes repeats.

        Writes the hashes, the table of what to drop or cut, and `filter.bloom` into the folder `out`. A table from an
        earlier call is reused if it is still valid.
        """
        made_by = self.key_for(docs)
        url = files.join(out, "verdicts.parquet" if self.unit == "document" else "spans.parquet")
        passes = SaveKeys, SetBits, LookUp, WriteSeen
        facts = table_once(url, made_by, lambda: self._look_up(docs, runner, out, url, made_by), passes)
        if facts["measured_rate"] > ALARM * self.error_rate:
            log.warning("Bloom: the filter is too full: its false-positive rate is %.2g, above error_rate=%.2g",
                        facts["measured_rate"], self.error_rate)  # fmt: skip
        given: dict[str, Any] = {"key": made_by, "estimator": self.name, "facts": facts}
        if self.unit == "document":
            return annotated(DropIds(verdicts=url, **given), self.prefix, sized=False)
        return annotated(CutSpans(spans=url, min_remaining_chars=self.min_remaining_chars, **given), self.prefix)

    def recipe(self) -> Any:
        """Return the values that identify this stage: all parameters, and the content of the Datasets in `against=`.

        These values depend on the content of the saved filters that are extended, but not on the paths of the Datasets.
        """
        return (super().recipe(), [saved["key"] for old in self.older if (saved := self._saved(old))])

    @property
    def _filter_key(self) -> str:
        return key((self.VERSION, self.units, self.threshold, self.error_rate, self.capacity))

    def _saved(self, old: Older) -> dict[str, Any] | None:
        """Return the receipt of an older Dataset's filter if it can be extended, because its capacity was given."""
        name = ("verdicts" if self.unit == "document" else "spans") + ".json"
        for step in Folder(old.given.rstrip("/")).steps if self.capacity is not None else ():
            found = receipts.found(step.path(name)) or {}
            if found.get("filter_key") == self._filter_key and receipts.valid(step.path(name), found["key"]):
                return {**found, "url": step.path("filter.bloom")}
        return None

    def _look_up(self, docs: Dataset, runner: Runner, out: str, url: str, made_by: str) -> dict[str, Any]:
        """Write the table and the filter; return the counts."""
        older = [(old, None if trial_of(runner) else self._saved(old)) for old in self.sampled_older(runner)]
        joined = Joined.of([old for old, saved in older if saved is None], docs)
        filters = tuple(saved["url"] for _, saved in older if saved is not None)
        if self.capacity is not None:
            self._reserve(FilterSize(self.capacity, self.error_rate).n_bytes, runner, grows=False)
        saved = list(runner.map(SaveKeys(out, made_by, self.units), joined.docs.tasks, "Bloom: hash"))
        distinct = count(out, len(joined.docs.parts))
        size = self._size(distinct, runner)
        counted = {name: sum(s[name] for s in saved[joined.n_old :]) for name in ("documents", "keys")}
        counted |= {"distinct": round(distinct), "filter_key": self._filter_key}
        counted |= {"filters": len(filters)} if filters else {}
        piece, set_ = self._piece(size, runner), []
        if piece:
            task = SetBits(out, made_by, size, piece, len(joined.docs.parts), filters)
            set_ = list(runner.map(task, range(-(-size.n_bytes // piece)), "Bloom: set bits"))
        look = LookUp(out, made_by, self.unit, self.threshold, size, joined, filters, tuple(set_), threads_of(runner))
        found = next(iter(runner.map(look, [0], "Bloom: look up")))
        kind = WriteSeen if self.unit == "document" else WriteSeenSpans
        write = kind(out, made_by, url, found.pop("sections"))
        written = write.run(runner, found["dropped" if self.unit == "document" else "spans"], "Bloom: write table")
        bloom = {**found.pop("files")[1], "name": files.join(out, "filter.bloom")}
        del found["key"]
        return counted | found | {"files": [*written, bloom]}

    def _size(self, distinct: float, runner: Runner) -> FilterSize:
        """Return the size of a filter for this number of keys."""
        counted = FilterSize(max(MIN_CAPACITY, math.ceil(MARGIN * distinct)), self.error_rate)
        if self.capacity is None:
            self._reserve(counted.n_bytes, runner, grows=True)
        if self.capacity is None or trial_of(runner):  # a sample does not need a filter for the whole input
            return counted
        if self.unit != "ngram" and distinct / MARGIN > self.capacity:  # n-grams of removed text are never entered
            raise full(self.capacity, f"about {distinct:,.0f}")
        return FilterSize(self.capacity, self.error_rate)

    def _reserve(self, n_bytes: int, runner: Runner, *, grows: bool) -> None:
        what = f"the filter of Bloom(unit={self.unit!r})"
        if self.unit == "ngram":
            reserve(runner, n_bytes, what, 'Exact(unit="paragraph") needs no filter', grows=grows)
        elif trial_of(runner):
            reserve(runner, n_bytes, what, "it is filled in pieces, and the keys are read once per piece", grows=grows)

    def _piece(self, size: FilterSize, runner: Runner) -> int:
        """Return the number of bytes of a piece of the filter; 0 if the whole filter fits into memory."""
        if self.unit == "ngram" or trial_of(runner) or size.n_bytes + WORKER_BYTES <= memory_of(runner):
            return 0
        return max(PIECE_BYTES, -(-size.n_bytes // MAX_PIECES))

    def warm(self) -> None:
        """Compile the kernels that `fit` calls, by fitting two short documents, before workers start."""
        warm(replace(self, capacity=None, against=None).fit)


def bloom_hashes(saved: Any, stage: Bloom | None = None) -> Callable[[Any], list[int]]:
    """Return the function `make_hashes` that an opened `pybloom_live.BloomFilter` needs; it maps a key to bit indices.

    >>> f = pybloom_live.BloomFilter.fromfile(open("filter.bloom", "rb"))    # doctest: +SKIP
    >>> f.make_hashes = extend.bloom_hashes(f)                                   # doctest: +SKIP
    >>> "a whole text" in f                                                  # doctest: +SKIP

    A key (str, or UTF-8 bytes) is the text of a document, or a line without its line break. The function returns the
    indices of the filter's bits that the key sets.

    Args:
        saved: the opened filter.
        stage: the Bloom that wrote the file; needed if it normalises texts, or has unit="ngram" (a key is then a text
            of `ngram` words).
    """
    units = (stage or Bloom()).units

    def make_hashes(key: Any) -> list[int]:
        data = np.frombuffer(key if isinstance(key, bytes) else str(key).encode(), np.uint8)
        offsets = np.array([0, len(data)], np.int64)
        if units.unit == "ngram":
            hashed = ngram_keys(offsets[:1], offsets[1:], data, units.ngram, units.word_split)[0]
        else:
            hashed = document_keys(offsets, data, units.normalize)
        wanted = f"a run of {units.ngram} words, like the keys of this filter"
        require(len(hashed) == 1, f"{str(key)[:80]!r} must be {wanted}")
        return list(places(hashed[0], saved.num_slices, saved.bits_per_slice).tolist())

    return make_hashes
