"""Exact: drop or cut what occurs again: documents, paragraphs, lines or three-sentence spans, normalised or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dataprep.core.dataset import Dataset
from dataprep.core.estimator import Estimator
from dataprep.core.runner import Runner
from dataprep.core.verdict import CutSpans, DropIds, Verdict, check_min_left
from dataprep.dedup.near.search import DuplicateSearch
from dataprep.dedup.near.sketch import WholeText
from dataprep.dedup.pieces.forms import FORMS
from dataprep.dedup.pieces.units import DEFAULT_FORM, UNITS
from dataprep.errors import PlanError
from dataprep.unicode.text import NORMAL_FORMS

from .keep import Keep
from .pieces.search import RepeatSearch
from .warm import warm


@dataclass(frozen=True, kw_only=True)
class Exact(Estimator):
    r"""Keep one copy of every text, or of every paragraph, line or span of three sentences; an Estimator.

    unit: "document": copies are dropped ("duplicate"). Other units are cut out of the texts, and a document that lost
    one is dropped if fewer than `min_left` characters other than white space are left ("left_too_short").
        "paragraph": the lines between `\n`, compared as CCNet does ("ccnet"; Wenzek et al. 2020, 3.1).
        "line": the same lines, compared stripped and lower-cased ("c4"), as the published code of C4 does.
        "span3": every three sentences in a row ("c4" each; Raffel et al. 2020, 2.2); the union of those that occurred
        before is cut. A text of fewer than three sentences has none.
    normalize: differences that do not count. "auto": None for documents; for units, the form named above.
        None: all differences count. "space": runs of white space are one space, none at the ends. "lower": also case.
        "words": only the words count. For units also "c4": white space at the ends, and case; "ccnet": space, case,
        accents, punctuation, and which digits are written.
    keep: of documents, "first", "longest", "newest", "newest:COLUMN", "best:COLUMN" or "source:A,B"; see `keep.py`.
    Of units the first is kept, within one document too.

    Documents with equal hashes are compared in full, so none is dropped because of a hash. Units are equal if 128 bits
    of hash and the length of their normal forms are. Verdicts name the kept copy; a cut names the first occurrence,
    which may itself be inside a longer cut. A text with an empty normal form is compared unchanged; such a unit, never.
    """

    unit: str = "document"
    normalize: str | None = "auto"
    keep: str = "first"
    min_left: int = 1
    _key_bits: int = field(default=64, repr=False)  # fewer give different documents equal hashes, for tests

    def __post_init__(self) -> None:
        if self.unit not in ("document", *UNITS):
            msg = f"unit={self.unit!r} must be one of 'document', {', '.join(map(repr, UNITS))}"
            raise PlanError(msg)
        if self.normalize == "auto":
            object.__setattr__(self, "normalize", DEFAULT_FORM.get(self.unit))
        forms = NORMAL_FORMS if self.unit == "document" else FORMS
        if self.normalize not in (None, *forms):
            msg = f"normalize={self.normalize!r} must be None or, for unit={self.unit!r}, one of "
            msg += ", ".join(map(repr, forms))
            raise PlanError(msg)
        Keep.parse(self.keep)
        if self.unit != "document" and self.keep != "first":
            msg = f"keep={self.keep!r} must be 'first' for unit={self.unit!r}; leave it out"
            raise PlanError(msg)
        check_min_left(self.min_left)

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that decide which copy is kept."""
        return Keep.parse(self.keep).needs

    @property
    def sketch(self) -> WholeText:
        """Rule by which documents are hashed and compared."""
        return WholeText(form=self.normalize, key_bits=self._key_bits)

    @property
    def only_drops(self) -> bool:  # type: ignore[override]
        """True if documents are dropped whole, not cut."""
        return self.unit == "document"

    def fit(self, docs: Dataset, run: Runner, out: str) -> Verdict:
        """Find the copies, and return the stage that drops them or cuts them out."""
        given: dict[str, Any] = {"docs": docs, "run": run, "out": out, "name": self.name, "key": self.key_for(docs)}
        if self.unit == "document":
            keep = Keep.parse(self.keep)
            url, facts = DuplicateSearch(sketch=self.sketch, keep=keep, reason="duplicate", **given).find()
            return DropIds(verdicts=url, key=given["key"], estimator=self.name, facts=facts)
        url, facts = RepeatSearch(unit=self.unit, normalize=self.normalize, **given).find()
        return CutSpans(spans=url, key=given["key"], estimator=self.name, min_left=self.min_left, facts=facts)

    def warm(self) -> None:
        """Compile the kernels."""
        if self.unit == "document":
            DuplicateSearch.warm(self.sketch)
        else:
            warm(self.fit)
