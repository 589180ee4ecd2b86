"""MinHash: drop near-duplicates; candidate pairs are found by hashing, then their shingle sets are compared."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.dedup.near.bands import RECALL, BandSettings, resolve
from dataprep.dedup.near.chosen import ChosenShingles, check_pattern, columns_of, extra_columns, without
from dataprep.dedup.near.sketch import Shingles
from dataprep.dedup.near.tokens import Tokens
from dataprep.errors import PlanError, need, require, require_integer
from dataprep.store.key import key
from dataprep.unicode.shingles import shingle_hash
from dataprep.unicode.words import SPLITS

from .keep import Keep
from .older import Deduplication

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset
    from dataprep.core.model.verdict import Verdict
    from dataprep.core.run.runner import Runner

log = logging.getLogger("dataprep")

MEASURES = ("jaccard", "containment")
FEW = 0.9  # of the pairs at the threshold: a warning is logged if the bands propose fewer


@dataclass(frozen=True, kw_only=True)
class MinHash(Deduplication):
    r"""Drop a document if the similarity of its set of shingles to that of a kept document is at least `threshold`.

    Args:
        threshold: the minimum similarity, 0 < threshold <= 1, at which a document is dropped; the similarity of
            compared pairs is exact. Default: 0.8, or the preset's value.
        measure: "jaccard", the number of shared shingles divided by the number of shingles in either document (their
            union); or "containment", the fraction of the dropped document's shingles that the kept one contains.
        bands: the number of bands of the MinHash signature. Default: `bands` and `rows` are chosen so that 99 % of the
            pairs at the threshold are compared: 26 bands of 8 rows for a Jaccard similarity of 0.8, and 132 bands of 1
            row for a containment of 0.8 in a text up to 20 times as long.
        rows: the number of rows (hash values) per band.
        preset: the settings of published work: "lee2022" (450 bands x 20 rows), "dclm" (93 x 15) or "fineweb" (14 x 8);
            or "dialect", for short texts whose spelling varies (shingles of 4 characters, threshold 0.6). None: the
            defaults.
        shingle: the unit of shingles. "word": words in lower case. "char": characters of the lower-cased text, in which
            white space is collapsed to single spaces. A tiktoken encoding such as "o200k_base", the path of a
            `tokenizer.json`, or a tokenizer object: tokens.
        ngram: the number of consecutive units in a shingle; default: 5 words. A document with fewer units is one
            shingle; a document with none is kept.
        min_shingles: documents with fewer shingles are kept.
        columns: the columns that are compared, in this order, as one text; default: "text".
        ignore_pattern: a regular expression (RE2); text that matches the expression is ignored.
        word_split: the definition of a word: "unicode", with which each character of a script without spaces is a word
            (docs/words.md), or "regex" (runs of `\w`, as in the presets lee2022, dclm and fineweb).
        normalize: the differences that are ignored: any of "nfc" (composed and decomposed characters), "diacritics"
            (accents, Hebrew points, Arabic vowel signs), "case", "digits" (each run of digits), "punctuation" and
            "space". For words, "case", "space" and the "punctuation" between them are always ignored; for characters,
            "case" and "space". "nfc" is added unless word_split="regex". By default, tokens are compared unchanged.
            preset="fineweb" sets normalize="fineweb", the normalisation of FineWeb's code.
        keep: the copy that is kept: "first", "longest", "newest", "newest:COLUMN", "best:COLUMN" or "source:A,B", as in
            `Exact`; or "none", which also drops the document that "first" would keep if another document is dropped as
            its copy.
        against: the folders of sealed Datasets (finished outputs) whose documents come before all new ones and are
            kept.
        annotate: True removes nothing, and adds the columns of docs/dedup-annotate.md. A string such as "near_" also
            removes nothing, and is the prefix of the column names.
        seed: the seed of the random permutations, which are the same as those of `datasketch.MinHash(seed=seed)`.

    Signatures are stored in the folder `out` of `fit`, so a run with another threshold (see `at`) does not hash the
    texts again (docs/dedup.md).

    This class is an Estimator; the method is that of Broder 1997. Similarity is not transitive, so a document is
    dropped only if it is itself similar to a kept document. The table of dropped documents names that document and the
    similarity.
    """

    only_drops: ClassVar[bool] = True

    threshold: float | None = None
    bands: int | None = None
    rows: int | None = None
    shingle: Any = None
    ngram: int | None = None
    word_split: str | None = None
    normalize: str | Sequence[str] | None = None
    columns: str | Sequence[str] | None = None
    ignore_pattern: str | None = None
    min_shingles: int = 1
    preset: str | None = None
    keep: str = "first"
    against: str | Sequence[str] | None = None
    annotate: bool | str = False
    measure: str = "jaccard"
    seed: int = 1

    VERSION: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if self.shingle not in (None, "word", "char"):
            object.__setattr__(self, "shingle", Tokens.of(self.shingle))
        object.__setattr__(self, "columns", columns_of(self.columns))
        check_pattern(self.ignore_pattern)
        measures = " or ".join(map(repr, MEASURES))
        require(self.measure in MEASURES, f"measure={self.measure!r} must be {measures}")
        made = self.settings
        splits = " or ".join(map(repr, SPLITS))
        require(made.word_split in SPLITS, f"word_split={made.word_split!r} must be {splits}")
        require_integer("ngram", made.ngram, 1)
        require_integer("min_shingles", self.min_shingles, 1)
        require_integer("seed", self.seed, 0, (1 << 32) - 1)
        Keep.parse(self.keep)
        if self.normalize is not None and not isinstance(self.normalize, str):
            object.__setattr__(self, "normalize", tuple(self.normalize))
        self._check_memory()

    @property
    def settings(self) -> BandSettings:
        """The threshold, bands, rows, shingles and normal form in use, from parameters, preset or defaults."""
        names = ("threshold", "bands", "rows", "shingle", "ngram", "word_split", "normalize", "preset", "measure")
        given = {name: getattr(self, name) for name in names}
        tokens = {"shingle": self.shingle.unit} if isinstance(self.shingle, Tokens) else {}
        return resolve(**given | tokens)

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The extra columns that are compared, or that `keep` reads to choose the copy; () if there are none."""
        return tuple(dict.fromkeys((*self.read_of_older, *Keep.parse(self.keep).needs)))

    @property
    def read_of_older(self) -> tuple[str, ...]:
        """The extra columns that are compared; `keep` does not read the older Datasets."""
        return extra_columns(self.columns)

    @property
    def sketch(self) -> Shingles:
        """The settings that define how documents are hashed to shingles and keys, and compared."""
        made = self.settings
        given: dict[str, Any] = {
            "unit": made.shingle, "ngram": made.ngram, "threshold": float(made.threshold), "bands": made.bands,
            "rows": made.rows, "seed": self.seed, "min_shingles": self.min_shingles, "word_split": made.word_split,
            "normalize": made.normalize,
        }  # fmt: skip
        tokens = self.shingle if isinstance(self.shingle, Tokens) else None
        if tokens is None and self.columns is None and self.ignore_pattern is None:
            return Shingles(**given)
        chosen = tuple(self.columns or ("text",))
        return ChosenShingles(**given, chosen=chosen, ignore=self.ignore_pattern, tokens=tokens)

    def at(self, threshold: float) -> MinHash:
        """Return this MinHash with another threshold and the same bands, so that stored signatures can be reused.

        If these bands find fewer than 99 % of the pairs at a lower threshold, new bands are chosen. In that case, a
        warning is logged, and documents are hashed again.
        """
        made = self.settings
        free: dict[str, Any] = {"bands": None, "rows": None, "preset": None}
        form = {name: getattr(made, name) for name in ("ngram", "word_split", "normalize")}
        form["shingle"] = self.shingle if isinstance(self.shingle, Tokens) else made.shingle
        plain = replace(self, threshold=threshold, **form, **free)
        found = replace(made, threshold=threshold).found(self.measure)
        if threshold >= made.threshold or found >= RECALL:
            return replace(plain, bands=made.bands, rows=made.rows)
        other = plain.settings
        log.warning(
            "%d bands of %d rows propose %.0f %% of the pairs at %s: documents are hashed again, with %d bands of %d",
            *(made.bands, made.rows, 100 * found, threshold, other.bands, other.rows),
        )
        return plain

    def datasketch(self, docs: Dataset, id_: int | str, num_perm: int | None = None) -> Any:
        """Return a `datasketch.MinHash` of a document's shingles, for use with the library datasketch.

        Args:
            docs: the documents.
            id_: the document's id, as an integer or as "file:position".
            num_perm: the length of the signature; default: `bands` x `rows` of this stage.

        Calling `update(b"five words of a shingle")` on the result adds a shingle of words. Needs the extra `dedup`.
        Raises PlanError if datasketch is older than 2.0, or if `columns=` is set.
        """
        require(self.columns is None, f"columns={self.columns!r} must be left out: datasketch() reads only the text")
        library = need("datasketch", extra="dedup")
        made = self.settings
        text = without(pa.array([docs.text_of(id_)], pa.large_string()), self.ignore_pattern)
        _, hashes = self.sketch.units(text)
        n = made.bands * made.rows if num_perm is None else num_perm
        try:
            found = library.MinHash(n, seed=self.seed, scheme="affine32", hashfunc=int)
        except TypeError as e:  # the scheme came with 2.0
            msg = f"datasketch {library.__version__} must be at least 2.0: pip install 'datasketch>=2'"
            raise PlanError(msg) from e
        found.update_batch((hashes & np.uint64(0xFFFFFFFF)).tolist())
        found.hashfunc = partial(shingle_hash, word_split=made.word_split, normalize=made.normalize)
        return found

    @property
    def sketch_key(self) -> str:
        """Hash of the settings that determine stored signatures (shingles, bands, rows and seed, not the threshold)."""
        return key((self.VERSION, replace(self.sketch, threshold=1.0)))

    def recipe(self) -> Any:
        """Return the values that identify this stage: all settings, and content hashes of the Datasets in `against=`.

        The values do not depend on the paths of these Datasets. Raises PlanError if their signatures were stored with
        other settings.
        """
        from .near.kept_index import LIMITS
        from .near.reuse import check

        older = self.older
        for old in older:
            check(old, self.sketch_key, self._settings_text())
        compared = self.columns, self.ignore_pattern, self.min_shingles, self.measure, asdict(self.settings), self.seed
        return (LIMITS, compared, self.keep, self.annotate, [old.content for old in older])

    def _settings_text(self) -> str:
        made = self.settings
        unit = {"word": f"{made.word_split} words", "char": "characters"}.get(made.shingle, f"tokens of {self.shingle}")
        text = f"{made.bands} bands of {made.rows} rows over shingles of {made.ngram} {unit}, seed {self.seed}"
        text += f", normalize {', '.join(made.normalize) or None}"
        text += f", columns {', '.join(self.columns)}" if self.columns else ""
        text += f", without {self.ignore_pattern!r}" if self.ignore_pattern else ""
        return text + (f", {self.min_shingles} or more per document" if self.min_shingles > 1 else "")

    def fit(self, docs: Dataset, runner: Runner, out: str) -> Verdict:
        """Find the near-duplicates in `docs`; return the stage that drops them.

        Writes signatures and the table of documents to drop into the folder `out`. Files from an earlier call are
        reused if they are still valid.
        """
        from dataprep.core.model.annotate import annotated

        from .near.search import DuplicateSearch

        made, older = self.settings, self.sampled_older(runner)
        found = made.found(self.measure)
        if found < FEW:
            log.warning(
                "%d bands of %d rows propose %.0f %% of the pairs at %s",
                *(made.bands, made.rows, 100 * found, made.threshold),
            )
        index = key((self.sketch_key, docs.key, self.keep, [old.content for old in older]))
        search = DuplicateSearch(
            docs=docs, runner=runner, out=out, sketch=self.sketch, keep=Keep.parse(self.keep), name=self.name,
            reason="near_duplicate", key=self.key_for(docs), index=index, sketch_key=self.sketch_key,
            contained=self.measure == "containment", older=older,
        )  # fmt: skip
        shown = {"measure": self.measure, "settings": self._settings_text()}
        fitted = search.find(**asdict(made), **shown, sketch_key=self.sketch_key, index=index)
        return annotated(fitted, self.prefix)

    def warm(self) -> None:
        """Compile the kernels that `fit` calls, by fitting two short documents, before workers start."""
        from .near.search import DuplicateSearch
        from .warm import warm

        empty: dict[str, Any] = {"name": "", "reason": "", "key": "", "keep": Keep.parse("first")}
        search = partial(DuplicateSearch, sketch=self.sketch, **empty)
        warm(lambda docs, runner, out: search(docs=docs, runner=runner, out=out).find(), self.columns or ())
