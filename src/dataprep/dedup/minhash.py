"""MinHash: drop near-duplicates by shingles, proposed by locality-sensitive hashing and verified exactly."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.core import batch as B
from dataprep.core.dataset import Dataset
from dataprep.core.estimator import Estimator
from dataprep.core.runner import Runner
from dataprep.core.trial import current
from dataprep.core.verdict import DropIds
from dataprep.dedup.near.bands import RECALL, BandSettings, p_candidate, resolve
from dataprep.dedup.near.older import Older, folders_of
from dataprep.dedup.near.search import DuplicateSearch
from dataprep.dedup.near.sketch import Shingles
from dataprep.errors import PlanError, need
from dataprep.store.key import key
from dataprep.unicode.text import shingle_hash, shingles

from .keep import Keep

log = logging.getLogger("dataprep")

MEASURES = ("jaccard", "containment")
FEW = 0.9  # of the pairs at the threshold: a warning is logged if the bands propose fewer


@dataclass(frozen=True, kw_only=True)
class MinHash(Estimator):
    """Drop documents whose shingle sets are as similar as `threshold` to those of a document that is kept.

    threshold: 0 < threshold <= 1, of a similarity computed exactly for every document that is dropped; 0.8 unless a
    preset sets another. measure: "jaccard", shared shingles among those of either document; or "containment", the
    share of the dropped document's shingles that the kept one has. Pairs are proposed by Jaccard in both cases.
    bands, rows: of the MinHash signature; by default chosen for the threshold (0.8: 26 x 8), so that 99 % of the
    pairs of that Jaccard similarity are proposed.
    preset: "lee2022" (450 x 20), "dclm" (93 x 15), "fineweb" (14 x 8); or "dialect", for short texts whose spelling
    varies (4 characters, threshold 0.6).
    shingle, ngram: runs of `ngram` words (of the lower-cased text; 5), or of characters ("char": of the lower-cased
    text with its white space as single spaces). A document with fewer words or characters is one shingle; a document
    with none is kept. min_shingles: documents with fewer shingles are kept.
    keep: which of the copies is kept: "first", "longest", "newest", "newest:COLUMN", "best:COLUMN" or "source:A,B".
    against: folders of sealed Datasets whose documents come before all new ones, and are kept.
    seed: of the permutations, which are those of `datasketch.MinHash(seed=seed)`.

    Signatures are stored in the step's folder: `at` another threshold decides again at once, and no part is ever
    hashed twice (docs/dedup.md).

    An Estimator; Broder 1997, and the verification that LSH alone lacks: similarity is not transitive, so a document is
    dropped only for a kept one that it is itself similar to. Verdicts name the kept one, and the similarity.
    """

    only_drops: ClassVar[bool] = True

    threshold: float | None = None
    bands: int | None = None
    rows: int | None = None
    shingle: str | None = None
    ngram: int | None = None
    min_shingles: int = 1
    preset: str | None = None
    keep: str = "first"
    against: str | Sequence[str] | None = None
    measure: str = "jaccard"
    seed: int = 1

    VERSION: ClassVar[int] = 2

    def __post_init__(self) -> None:
        made = self.settings
        if made.shingle not in ("word", "char"):
            msg = f"shingle={made.shingle!r} must be 'word' or 'char'"
            raise PlanError(msg)
        if made.ngram < 1:
            msg = f"ngram={made.ngram!r} must be at least 1"
            raise PlanError(msg)
        if self.min_shingles < 1:
            msg = f"min_shingles={self.min_shingles!r} must be at least 1"
            raise PlanError(msg)
        if not 0 <= self.seed < 1 << 32:
            msg = f"seed={self.seed!r} must be in 0 ... 2^32 - 1"
            raise PlanError(msg)
        if self.measure not in MEASURES:
            msg = f"measure={self.measure!r} must be {' or '.join(map(repr, MEASURES))}"
            raise PlanError(msg)
        Keep.parse(self.keep)
        object.__setattr__(self, "against", folders_of(self.against) or None)

    @property
    def settings(self) -> BandSettings:
        """Threshold, bands, rows and shingles, after the preset and the defaults are applied."""
        names = ("threshold", "bands", "rows", "shingle", "ngram", "preset")
        return resolve(**{name: getattr(self, name) for name in names})

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that decide which copy is kept."""
        return Keep.parse(self.keep).needs

    @property
    def sketch(self) -> Shingles:
        """Rule by which documents are hashed and compared."""
        made = self.settings
        return Shingles(
            unit=made.shingle,
            ngram=made.ngram,
            threshold=float(made.threshold),
            bands=made.bands,
            rows=made.rows,
            seed=self.seed,
            min_shingles=self.min_shingles,
        )

    def at(self, threshold: float) -> MinHash:
        """Return the same MinHash with its bands at another threshold, so that signatures of earlier runs are used.

        If the bands propose fewer than 99 % of the pairs at a lower threshold, others are chosen: a warning is logged,
        and documents are hashed again.
        """
        made = self.settings
        free: dict[str, Any] = {"bands": None, "rows": None, "preset": None}
        plain = replace(self, threshold=threshold, shingle=made.shingle, ngram=made.ngram, **free)
        found = p_candidate(threshold, made.bands, made.rows)
        if threshold >= made.threshold or found >= RECALL:
            return replace(plain, bands=made.bands, rows=made.rows)
        other = plain.settings
        log.warning(
            "%d bands of %d rows propose %.0f %% of the pairs at %s: documents are hashed again, with %d bands of %d",
            *(made.bands, made.rows, 100 * found, threshold, other.bands, other.rows),
        )
        return plain

    def datasketch(self, docs: Dataset, id_: int | str, num_perm: int | None = None) -> Any:
        """Return a `datasketch.MinHash` of a document's shingles, for datasketch's LSH and forests.

        id_: an integer, or "file:position". num_perm: bands x rows by default, which makes it the signature that this
        MinHash computes. `update(b"five words of a shingle")` adds to it. Needs the extra `dedup`.
        """
        library = need("datasketch", extra="dedup")
        made = self.settings
        _, hashes = shingles(*B.buffers(pa.array([docs.text_of(id_)], pa.large_string())), made.shingle, made.ngram)
        n = made.bands * made.rows if num_perm is None else num_perm
        try:
            found = library.MinHash(n, seed=self.seed, scheme="affine32", hashfunc=int)
        except TypeError as e:  # the scheme came with 2.0
            msg = f"datasketch {library.__version__} must be at least 2.0: pip install 'datasketch>=2'"
            raise PlanError(msg) from e
        found.update_batch((hashes & np.uint64(0xFFFFFFFF)).tolist())
        found.hashfunc = shingle_hash
        return found

    @property
    def older(self) -> tuple[Older, ...]:
        """The older Datasets, as they are now."""
        return tuple(Older.open(str(folder)) for folder in self.against or ())

    @property
    def sketch_key(self) -> str:
        """Key of all settings that a document's keys depend on."""
        return key((self.VERSION, replace(self.sketch, threshold=1.0)))

    def recipe(self) -> Any:
        """Return all settings, and the content of the older Datasets, wherever they are stored."""
        older = self.older
        for old in older:
            old.check(self.sketch_key, self._settings_text())
        contents = [old.content for old in older]
        short = [self.min_shingles] if self.min_shingles > 1 else []
        return (self.VERSION, asdict(self.settings), self.keep, contents, self.measure, self.seed, *short)

    def _settings_text(self) -> str:
        made = self.settings
        text = f"{made.bands} bands of {made.rows} rows over shingles of {made.ngram} {made.shingle}s, seed {self.seed}"
        return text + (f", {self.min_shingles} or more per document" if self.min_shingles > 1 else "")

    def fit(self, docs: Dataset, run: Runner, out: str) -> DropIds:
        """Find the near-duplicates, and return the stage that drops them."""
        made, made_by, older = self.settings, self.key_for(docs), self.older
        trial = current()
        if trial:
            older = tuple(replace(old, docs=trial.sample(old.docs)) for old in older)
        if made.found < FEW:
            log.warning(
                "%d bands of %d rows propose %.0f %% of the pairs at %s",
                *(made.bands, made.rows, 100 * made.found, made.threshold),
            )
        index = key((self.sketch_key, docs.key, self.keep, [old.content for old in older]))
        search = DuplicateSearch(
            docs=docs, run=run, out=out, sketch=self.sketch, keep=Keep.parse(self.keep), name=self.name,
            reason="near_duplicate", key=made_by, index=index, sketch_key=self.sketch_key,
            contained=self.measure == "containment", older=older,
        )  # fmt: skip
        url, counted = search.find()
        facts = {
            **asdict(made),
            "measure": self.measure,
            "settings": self._settings_text(),
            "sketch_key": self.sketch_key,
            "index": index,
        }
        return DropIds(verdicts=url, key=made_by, estimator=self.name, facts={**counted, **facts})

    def warm(self) -> None:
        """Compile the kernels."""
        DuplicateSearch.warm(self.sketch)
