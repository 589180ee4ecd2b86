"""Exact: documents, paragraphs, lines or three-sentence spans that occur again, after an optional normalisation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dataprep.core.dataset import Dataset
from dataprep.core.estimator import Estimator
from dataprep.core.runner import Runner
from dataprep.core.verdict import CutSpans, DropIds, Verdict, check_min_left
from dataprep.dedup.near.search import find
from dataprep.dedup.near.sketch import WholeText
from dataprep.dedup.near.warm import warm
from dataprep.dedup.pieces.forms import FORMS
from dataprep.dedup.pieces.units import DEFAULT_FORM, UNITS
from dataprep.errors import PlanError
from dataprep.store.key import key
from dataprep.unicode.text import NORMAL_FORMS

from .keep import Keep
from .pieces import search


@dataclass(frozen=True, kw_only=True)
class Exact(Estimator):
    r"""Keep one copy of every text, or of every paragraph, line or span of three sentences; an Estimator.

    unit: "document": documents go ("duplicate"). The others cut text out, and a document that lost some and of which
    fewer than `min_left` characters other than white space are left goes ("left_too_short").
        "paragraph": the pieces between `\n`, compared as CCNet does ("ccnet"; Wenzek et al. 2020, 3.1).
        "line": the same pieces, compared stripped and lower-cased ("c4"), as the published code of C4 does.
        "span3": every three sentences in a row ("c4" each; Raffel et al. 2020, 2.2); cut is the union of those that
        occurred before. A text of fewer than three sentences has none.
    normalize: what is forgiven. "auto": None for documents, for units what is named above.
        None: nothing. "space": runs of white space are one space, none at the ends. "lower": and upper or lower case.
        "words": only the words count, not what stands between them. For units also "c4": white space at the ends, and
        case; "ccnet": space, case, accents, punctuation, and which digits they are.
    keep: of documents, "first", "longest", "newest", "newest:COLUMN", "best:COLUMN" or "source:A,B"; see `keep.py`.
    Of units the first stays, inside one document too.

    Documents are compared where hashes meet: none is dropped because of a hash. Units are equal if 128 bits of hash
    and the length of their normal form are. Verdicts name the copy that stays; a cut, where the first stands, which
    may itself lie in a longer cut. A text of which nothing is left is compared as it is; a unit, with nothing.
    """

    unit: str = "document"
    normalize: str | None = "auto"
    keep: str = "first"
    min_left: int = 1
    _key_bits: int = field(default=64, repr=False)  # fewer make hashes of documents meet by chance, for tests

    VERSION: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.unit not in ("document", *UNITS):
            msg = f"unit={self.unit!r} is unknown; there are 'document', {', '.join(map(repr, UNITS))}"
            raise PlanError(msg)
        if self.normalize == "auto":
            object.__setattr__(self, "normalize", DEFAULT_FORM.get(self.unit))
        forms = NORMAL_FORMS if self.unit == "document" else FORMS
        if self.normalize not in (None, *forms):
            msg = f"normalize={self.normalize!r} is unknown for unit={self.unit!r}; "
            msg += f"there are None, {', '.join(map(repr, forms))}"
            raise PlanError(msg)
        Keep.parse(self.keep)
        if self.unit != "document" and self.keep != "first":
            msg = f"keep={self.keep!r} chooses between documents; of every {self.unit} the first stays: leave keep out"
            raise PlanError(msg)
        check_min_left(self.min_left)

    @property
    def name(self) -> str:
        """What it is called in the books."""
        return "Exact"

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that choose which copy stays."""
        return Keep.parse(self.keep).needs

    @property
    def sketch(self) -> WholeText:
        """How documents are hashed and compared."""
        return WholeText(form=self.normalize, key_bits=self._key_bits)

    @property
    def only_drops(self) -> bool:  # type: ignore[override]
        """Whether documents are dropped whole, not cut."""
        return self.unit == "document"

    def fit(self, docs: Dataset, run: Runner, out: str) -> Verdict:
        """Find the copies; the stage that is returned drops them, or cuts them out."""
        made_by = key((self, docs.key))
        if self.unit == "document":
            keep, names = Keep.parse(self.keep), (self.name, "duplicate")
            url, facts = find(docs, run, out, sketch=self.sketch, keep=keep, names=names, key=made_by)
            return DropIds(verdicts=url, key=made_by, estimator=self.name, facts=facts)
        url, facts = search.find_repeats(
            docs, run, out, unit=self.unit, normalize=self.normalize, name=self.name, key=made_by
        )
        return CutSpans(spans=url, key=made_by, estimator=self.name, min_left=self.min_left, facts=facts)

    def warm(self) -> None:
        """Compile the kernels."""
        if self.unit == "document":
            warm(self.sketch)
        else:
            search.warm(self.unit, self.normalize)
