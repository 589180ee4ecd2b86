"""MinHash: near-duplicates by shingles, proposed by locality-sensitive hashing and verified exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..dataset import Dataset
from ..errors import PlanError
from ..key import key
from ..run import Runner
from ..verdict import DropIds
from .bands import resolve
from .keep import Keep
from .search import find
from .sketch import Shingles
from .warm import warm


@dataclass(frozen=True, kw_only=True)
class MinHash:
    """Drop documents whose shingle sets are as similar as `threshold` to those of a document that is kept.

    threshold: Jaccard similarity, 0 < threshold <= 1, computed exactly for every document that is dropped.
    bands, rows: of the MinHash signature; by default chosen for the threshold (0.8: 26 x 8), so that 99 % of the
    pairs at the threshold are found. preset: "lee2022" (450 x 20), "dclm" (93 x 15) or "fineweb" (14 x 8).
    shingle, ngram: runs of `ngram` words (of the lower-cased text), or of characters ("char": of the lower-cased
    text with its white space as single spaces). A document with fewer is one shingle of all it has; one without any
    is kept.
    keep: which of the copies stays: "first", "longest", "newest", "newest:COLUMN", "best:COLUMN" or "source:A,B".
    seed: of the permutations; those of `datasketch.MinHash(seed=seed)`.

    An Estimator; Broder 1997, and the verification that LSH alone lacks: similarity is not transitive, so a
    document goes only for one that stays and that it is itself similar to. Verdicts name it, and how similar.
    """

    threshold: float = 0.8
    bands: int | None = None
    rows: int | None = None
    shingle: str = "word"
    ngram: int = 5
    preset: str | None = None
    keep: str = "first"
    seed: int = 1

    VERSION: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not isinstance(self.threshold, (int, float)) or not 0 < self.threshold <= 1:
            msg = f"threshold={self.threshold!r} is not a Jaccard similarity; give a number above 0, at most 1"
            raise PlanError(msg)
        if self.shingle not in ("word", "char"):
            msg = f"shingle={self.shingle!r} is unknown; there are 'word' and 'char'"
            raise PlanError(msg)
        if self.ngram < 1:
            msg = f"ngram={self.ngram!r}: a shingle has at least one {self.shingle}"
            raise PlanError(msg)
        if not 0 <= self.seed < 1 << 32:
            msg = f"seed={self.seed!r} is not in 0 ... 2^32 - 1"
            raise PlanError(msg)
        resolve(self.threshold, self.bands, self.rows, self.preset)
        Keep.parse(self.keep)

    @property
    def name(self) -> str:
        """What it is called in the books."""
        return "MinHash"

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that choose which copy stays."""
        return Keep.parse(self.keep).needs

    @property
    def sketch(self) -> Shingles:
        """How documents are hashed and compared."""
        bands, rows = resolve(self.threshold, self.bands, self.rows, self.preset)
        return Shingles(
            unit=self.shingle,
            ngram=self.ngram,
            threshold=float(self.threshold),
            bands=bands,
            rows=rows,
            seed=self.seed,
        )

    def fit(self, docs: Dataset, run: Runner, out: str) -> DropIds:
        """Find the near-duplicates; the stage that is returned drops them."""
        made_by = key((self, docs.key))
        keep, names = Keep.parse(self.keep), (self.name, "near_duplicate")
        url, _ = find(docs, run, out, sketch=self.sketch, keep=keep, names=names, key=made_by)
        return DropIds(verdicts=url, made_by=made_by, called=self.name)

    def warm(self) -> None:
        """Compile the kernels."""
        warm(self.sketch)
