"""Exact: drop repeated documents, or cut out repeated paragraphs, lines or three-sentence spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dataprep.dedup.near.chosen import ChosenTexts, check_pattern, columns_of, extra_columns
from dataprep.dedup.near.sketch import WholeText
from dataprep.dedup.spans.forms import FORMS
from dataprep.dedup.spans.units import DEFAULT_FORM, UNITS
from dataprep.errors import require, require_integer
from dataprep.store import files
from dataprep.store.key import key
from dataprep.unicode.hashes import NORMAL_FORMS

from .keep import Keep
from .older import Deduplication, Joined

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset
    from dataprep.core.model.verdict import Verdict
    from dataprep.core.run.runner import Runner


@dataclass(frozen=True, kw_only=True)
class Exact(Deduplication):
    """Keep one copy of every text, or of every paragraph, line or span of three sentences (an Estimator).

    Args:
        unit: the unit of text that is compared: "document", "paragraph", "line" or "span3"; see below.
        normalize: the differences that are ignored. None: every difference counts. "space": amount and kind of white
            space. "lower": also case. "words": everything except the words. Three more forms are only for units other
            than documents: "c4" ignores case, and white space at the ends; "ccnet" also ignores accents, punctuation
            and the values of digits; "ccnet_digits" is "ccnet" without the rule for digits. "auto": None for documents,
            "ccnet" for paragraphs, "c4" for lines and spans.
        keep: the copy of a document that is kept: "first", "longest", "newest" (by the column `date`), "newest:COLUMN",
            "best:COLUMN" (the largest number), "source:A,B" (the first of these sources), or "none"; see `keep.py`. For
            other units it must be "first": the first of several equal units is kept, even if they are in the same
            document.
        min_remaining_chars: a document from which a paragraph, line or span was cut is dropped ("too_short_after_cuts")
            if fewer characters other than white space remain.
        columns: the columns whose values must all be equal, for documents only; default: "text". A column of
            precomputed hashes, such as columns="sha1", is compared instead of the text. A document in which all these
            columns lack a value is kept.
        ignore_pattern: a regular expression (RE2), for documents only; text that matches it is ignored.
        against: the folders of sealed Datasets (finished outputs) whose documents come before all new ones and are
            kept.
        annotate: True removes nothing, and adds the columns of docs/dedup-annotate.md. A string such as "near_" also
            removes nothing, and is the prefix of the column names.

    With unit="document", copies are dropped with the reason "duplicate". Other units are cut out of the texts. A
    paragraph is the text between line breaks, compared as in CCNet (Wenzek et al. 2020, 3.1): all digits are treated as
    equal, so "39 cts" and "50 cts" are the same paragraph; with normalize="ccnet_digits" they differ. A line is the
    text between line breaks, stripped and lower-cased before the comparison, as in the published code of C4. A span
    ("span3") is any three consecutive sentences (Raffel et al. 2020, 2.2). All spans that occurred before are cut, and
    a text with fewer than three sentences has no spans.

    Documents with equal hashes are compared in full, so no document is dropped because of a hash collision. Other units
    are equal if the 128-bit hashes and the lengths of their normalised texts are equal. If the normalised text of a
    document is empty, its original text is compared; a unit of any other kind with an empty normalised text is never
    cut.

    The table of dropped documents names the copy that was kept. In the table of cuts, the row of a unit names the
    unit's first occurrence, and includes white space that is cut next to the unit; if normalize=None, this white space
    has its own row, without a first occurrence.
    """

    VERSION: ClassVar[int] = 5

    unit: str = "document"
    normalize: str | None = "auto"
    keep: str = "first"
    min_remaining_chars: int = 1
    columns: str | Sequence[str] | None = None
    ignore_pattern: str | None = None
    against: str | Sequence[str] | None = None
    annotate: bool | str = False
    _key_bits: int = field(default=64, repr=False)  # tests use fewer, to give different documents equal hashes

    def __post_init__(self) -> None:
        units = ("document", *UNITS)
        require(self.unit in units, f"unit={self.unit!r} must be one of {', '.join(map(repr, units))}")
        if self.normalize == "auto":
            object.__setattr__(self, "normalize", DEFAULT_FORM.get(self.unit))
        forms = NORMAL_FORMS if self.unit == "document" else FORMS
        known = f"must be None or, for unit={self.unit!r}, one of {', '.join(map(repr, forms))}"
        require(self.normalize in (None, *forms), f"normalize={self.normalize!r} {known}")
        Keep.parse(self.keep)
        fits = self.unit == "document" or self.keep == "first"
        require(fits, f"keep={self.keep!r} must be 'first' for unit={self.unit!r}; leave it out")
        object.__setattr__(self, "columns", columns_of(self.columns))
        check_pattern(self.ignore_pattern)
        for name in ("columns", "ignore_pattern"):
            given = getattr(self, name)
            needless = f"{name}={given!r} must be left out for unit={self.unit!r}, which is cut out of the text"
            require(given is None or self.unit == "document", needless)
        require_integer("min_remaining_chars", self.min_remaining_chars, 0)
        self._check_memory()

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The extra columns that are compared, or that `keep` reads to choose the copy; () if there are none."""
        return tuple(dict.fromkeys((*self.read_of_older, *Keep.parse(self.keep).needs)))

    @property
    def read_of_older(self) -> tuple[str, ...]:
        """The extra columns that are compared; `keep` does not read the older Datasets."""
        return extra_columns(self.columns)

    @property
    def sketch(self) -> WholeText:
        """The settings that define when two documents are equal; used for unit="document"."""
        given: dict[str, Any] = {"form": self.normalize, "key_bits": self._key_bits}
        if self.columns is None and self.ignore_pattern is None:
            return WholeText(**given)
        return ChosenTexts(**given, chosen=tuple(self.columns or ("text",)), ignore=self.ignore_pattern)

    @property
    def only_drops(self) -> bool:  # type: ignore[override]
        """True for unit="document", which drops whole documents; False for other units, which are cut out of texts.

        True with `annotate`, which changes no text.
        """
        return not self.cuts or self.prefix is not None

    @property
    def cuts(self) -> bool:
        """Whether units are cut out of texts; if not, documents are dropped."""
        return self.unit != "document"

    def fit(self, docs: Dataset, runner: Runner, out: str) -> Verdict:
        """Find the repeated documents or units in `docs`; return the stage that drops them or cuts them out.

        Writes a table of the documents to drop, or of the spans to cut, into the folder `out`. A table from an earlier
        call is reused if it is still valid.
        """
        from dataprep.core.model.annotate import annotated
        from dataprep.core.model.verdict import CutSpans
        from dataprep.core.run.passes import table_once

        from .near.search import DuplicateSearch
        from .spans import search

        given: dict[str, Any] = {"runner": runner, "out": out, "name": self.name, "key": self.key_for(docs)}
        if self.unit == "document":
            found = DuplicateSearch(
                docs=docs, sketch=self.sketch, keep=Keep.parse(self.keep), reason="duplicate",
                older=self.sampled_older(runner), sketch_key=key(("Exact", self.VERSION, self.sketch)), **given,
            )  # fmt: skip
            return annotated(found.find_again(), self.prefix)
        url, joined = files.join(out, "spans.parquet"), Joined.of(self.sampled_older(runner), docs)
        chosen = {**given, "joined": joined, "unit": self.unit, "normalize": self.normalize, "url": url}
        facts = table_once(url, given["key"], lambda: search.find(**chosen), search.PASSES)
        cut = CutSpans(
            spans=url, key=given["key"], estimator=self.name, min_remaining_chars=self.min_remaining_chars, facts=facts
        )
        return annotated(cut, self.prefix)

    def warm(self) -> None:
        """Compile the kernels that `fit` calls, by fitting two short documents, before workers start."""
        from .warm import warm

        warm(replace(self, keep="first", against=None).fit, self.columns or ())
