"""Bloom: what was seen before goes, by a filter of hashes whose rate of false positives is stated and measured."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dataprep.core import batch as B
from dataprep.core.dataset import Dataset
from dataprep.core.estimator import Estimator
from dataprep.core.runner import Runner
from dataprep.core.trial import current, reserve
from dataprep.core.verdict import CutSpans, DropIds, Verdict, check_min_left
from dataprep.dedup.membership.bloom_filter import Filter, Size, full, places
from dataprep.dedup.membership.keys import SaveKeys, Units, count, document_keys, ngram_keys
from dataprep.dedup.membership.lookup import LookUp, look_up
from dataprep.dedup.pieces.forms import FORMS
from dataprep.errors import PlanError
from dataprep.store import files, receipts
from dataprep.store.key import key

from .membership import hyperloglog

log = logging.getLogger("dataprep")

UNITS = ("document", "paragraph", "ngram")
MIN_CAPACITY = 1000
MARGIN = 1 + 5 * hyperloglog.STANDARD_ERROR  # of the count: too few in one run of three million
ALARM = 1.1  # times the stated rate


@dataclass(frozen=True, kw_only=True)
class Bloom(Estimator):
    r"""Remove what was seen before, by its hash in a Bloom filter; an Estimator.

    unit: what is looked up.
        "document": a text that was seen is dropped ("seen_before").
        "paragraph": a line that was seen, in this document or an earlier one, is cut, and the gap it leaves closed;
        blank lines are never looked up (Dolma, Soldaini et al. 2024).
        "ngram": of every line with at least `ngram` words, the runs of `ngram` words are looked up; a line goes if at
        least `threshold` of its runs were in *earlier documents*, and the whole document if at least `threshold` of
        all its runs were (BFF in DataComp-LM, Li et al. 2024). The runs of what stays are entered after the document
        was judged; those of what goes never. Lines with fewer words go only with their document, and a document of
        such lines stays. Words are runs of `\w` of the lower-cased text.
    error_rate: the probability that a new key is taken for seen when the filter is as full as it gets, from 1e-9 to
    0.5: a Bloom filter deletes by hash, nothing is compared, and which document was first is not known.
    capacity: distinct keys the filter is made for. None: they are counted first (HyperLogLog, and 2 % more). More of
    them than a capacity that is given is an error, never a worse rate.
    normalize: what is forgiven when documents or lines are compared: None, or a form of `forms.py` ("space", "lower",
    "words", "c4", "ccnet").
    min_left: a document that lost lines, and of which fewer characters that are not white space are left, is dropped.

    19.2 bits a key at 1e-4, in the memory of one process; refused over the Runner's. The filter is saved as
    `filter.bloom` in the step's folder; `pybloom_live.BloomFilter.fromfile` opens it, see `bloom_hashes`.
    """

    unit: str = "document"
    ngram: int = 13
    threshold: float = 0.8
    error_rate: float = 1e-4
    capacity: int | None = None
    normalize: str | None = None
    min_left: int = 1

    VERSION: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            msg = f"unit={self.unit!r} is unknown; there are {', '.join(map(repr, UNITS))}"
            raise PlanError(msg)
        if not isinstance(self.ngram, int) or self.ngram < 1:
            msg = f"ngram={self.ngram!r} is not a number of words; give an integer from 1"
            raise PlanError(msg)
        if not isinstance(self.threshold, (int, float)) or not 0 < self.threshold <= 1:
            msg = f"threshold={self.threshold!r} is not a share of n-grams; give a number above 0, at most 1"
            raise PlanError(msg)
        if self.normalize not in (None, *FORMS):
            msg = f"normalize={self.normalize!r} is unknown; there are None, {', '.join(map(repr, FORMS))}"
            raise PlanError(msg)
        if self.normalize is not None and self.unit == "ngram":
            msg = f"normalize={self.normalize!r} does nothing for n-grams, whose words are lower-cased; leave it out"
            raise PlanError(msg)
        check_min_left(self.min_left)
        Size(1 if self.capacity is None else self.capacity, self.error_rate)

    @property
    def name(self) -> str:
        """What it is called in the books."""
        return "Bloom"

    @property
    def units(self) -> Units:
        """How batches are hashed."""
        return Units(self.unit, self.ngram, self.normalize)

    @property
    def only_drops(self) -> bool:  # type: ignore[override]
        """Whether documents are dropped whole, not cut."""
        return self.unit == "document"

    def fit(self, docs: Dataset, run: Runner, out: str) -> Verdict:
        """Look everything up in the order of ids; the stage that is returned drops or cuts what was seen."""
        made_by = key((self, docs.key))
        url = files.join(out, "verdicts.parquet" if self.unit == "document" else "spans.parquet")
        receipt = files.join(out, files.name_of(url).replace(".parquet", ".json"))
        made = receipts.valid(receipt, made_by) or self._look_up(docs, run, out, url, receipt, made_by)
        files.remove(files.join(out, "keys"))
        facts = {name: value for name, value in made.items() if name not in ("files", "key")}
        if made["measured_rate"] > ALARM * self.error_rate:
            log.warning("Bloom: the filter is too full: of new keys %.2g are taken for seen, not %.2g",
                        made["measured_rate"], self.error_rate)  # fmt: skip
        if self.unit == "document":
            return DropIds(verdicts=url, key=made_by, estimator=self.name, facts=facts)
        return CutSpans(spans=url, key=made_by, estimator=self.name, min_left=self.min_left, facts=facts)

    def _look_up(self, docs: Dataset, run: Runner, out: str, url: str, receipt: str, made_by: str) -> dict[str, Any]:
        if self.capacity is not None:
            self._reserve(Size(self.capacity, self.error_rate).n_bytes, run, grows=False)
        items = [replace(item, key=key((made_by, item.key))) for item in docs.tasks]
        saved = list(run.map(SaveKeys(out, self.units), items, "Bloom: hash"))
        distinct = count(out, len(items))
        size = self._size(distinct, run)
        counted = {name: sum(s[name] for s in saved) for name in ("documents", "keys")} | {"distinct": round(distinct)}
        look = LookUp(out, url, receipt, made_by, self.unit, self.threshold, size, counted, len(items))
        return next(iter(run.map(look, [0], "Bloom: look up")))

    def _size(self, distinct: float, run: Runner) -> Size:
        """The filter for so many keys."""
        counted = Size(max(MIN_CAPACITY, math.ceil(MARGIN * distinct)), self.error_rate)
        if self.capacity is None:
            self._reserve(counted.n_bytes, run, grows=True)
        if self.capacity is None or current():  # a sample needs no filter for the whole
            return counted
        if self.unit != "ngram" and distinct / MARGIN > self.capacity:  # n-grams of what goes are never entered
            raise full(self.capacity, f"about {distinct:,.0f}")
        return Size(self.capacity, self.error_rate)

    def _reserve(self, n_bytes: int, run: Runner, *, grows: bool) -> None:
        what = f"the filter of Bloom(unit={self.unit!r})"
        reserve(run, n_bytes, what, 'Exact(unit="paragraph") needs no filter', grows=grows)

    def warm(self) -> None:
        """Compile the kernels."""
        found = self.units.of(B.make([0], ["a b\n" * self.ngram], "warm"))
        hyperloglog.observe(hyperloglog.empty(), found["keys"])
        for section in found.values():
            section.flags.writeable = False  # as read back
        entered = Filter(Size(MIN_CAPACITY, self.error_rate))
        look_up(entered, found, self.unit, self.threshold)
        entered.measured_rate()


def bloom_hashes(saved: Any, stage: Bloom | None = None) -> Callable[[Any], list[int]]:
    """The bits that a saved filter means by a key: what to put into an opened `pybloom_live.BloomFilter`.

    >>> f = pybloom_live.BloomFilter.fromfile(open("filter.bloom", "rb"))    # doctest: +SKIP
    >>> f.make_hashes = dp.bloom_hashes(f)                                   # doctest: +SKIP
    >>> "a whole text" in f                                                  # doctest: +SKIP

    Keys (str, or UTF-8 bytes) are texts of documents, or lines without their line break. Give the Bloom that made the
    filter as `stage` if it has a normal form, or if keys are n-grams: `ngram` words.
    """
    units = (stage or Bloom()).units

    def make_hashes(key: Any) -> list[int]:
        data = np.frombuffer(key if isinstance(key, bytes) else str(key).encode(), np.uint8)
        offsets = np.array([0, len(data)], np.int64)
        if units.unit == "ngram":
            hashed = ngram_keys(offsets[:1], offsets[1:], data, units.ngram)[0]
        else:
            hashed = document_keys(offsets, data, units.normalize)
        if len(hashed) != 1:
            msg = f"{str(key)[:80]!r} is not a run of {units.ngram} words, which are the keys of this filter"
            raise PlanError(msg)
        return list(places(hashed[0], saved.num_slices, saved.bits_per_slice).tolist())

    return make_hashes
