"""Exact: documents whose whole text is the same, after an optional normalisation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ..dataset import Dataset
from ..errors import PlanError
from ..key import key
from ..run import Runner
from ..text import NORMAL_FORMS
from ..verdict import DropIds
from .keep import Keep
from .search import find
from .sketch import WholeText
from .warm import warm


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Keep one copy of every text; an Estimator.

    normalize: what is forgiven. None: nothing. "space": runs of white space are one space, none at the ends.
    "lower": and upper or lower case. "words": only the words count, not what stands between them. A text of which
    nothing is left is compared as it is.
    keep: "first", "longest", "newest", "newest:COLUMN", "best:COLUMN" or "source:A,B"; see `keep.py`.

    Texts are compared where hashes meet: none is dropped because of a hash. Verdicts name the copy that stays.
    """

    normalize: str | None = None
    keep: str = "first"
    _key_bits: int = field(default=64, repr=False)  # fewer make hashes meet by chance, for tests

    VERSION: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.normalize not in (None, *NORMAL_FORMS):
            msg = f"normalize={self.normalize!r} is unknown; there are None, {', '.join(map(repr, NORMAL_FORMS))}"
            raise PlanError(msg)
        Keep.parse(self.keep)

    @property
    def name(self) -> str:
        """What it is called in the books."""
        return "Exact"

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that choose which copy stays."""
        return Keep.parse(self.keep).needs

    @property
    def sketch(self) -> WholeText:
        """How documents are hashed and compared."""
        return WholeText(form=self.normalize, key_bits=self._key_bits)

    def fit(self, docs: Dataset, run: Runner, out: str) -> DropIds:
        """Find the copies; the stage that is returned drops them."""
        made_by = key((self, docs.key))
        keep, names = Keep.parse(self.keep), (self.name, "duplicate")
        url, _ = find(docs, run, out, sketch=self.sketch, keep=keep, names=names, key=made_by)
        return DropIds(verdicts=url, made_by=made_by, called=self.name)

    def warm(self) -> None:
        """Compile the kernels."""
        warm(self.sketch)
