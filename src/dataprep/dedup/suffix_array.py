r"""SuffixArray: cut out every repeated range of text except its first occurrence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dataprep.dedup.substrings.repeats import CUTS
from dataprep.errors import require, require_integer
from dataprep.store import files
from dataprep.store.key import key as key_of
from dataprep.unicode.words import SPLITS

from .older import Deduplication, Joined

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset
    from dataprep.core.model.verdict import Verdict
    from dataprep.core.run.runner import Runner

ENGINES = ("auto", "suffix_array", "windows")
DEFAULT_WORDS = 50
LEAST_BYTES, MOST = 4, 1 << 20


@dataclass(frozen=True, kw_only=True)
class SuffixArray(Deduplication):
    r"""Cut long text that occurred earlier in the corpus (an Estimator).

    Args:
        min_words: the length of a window in words, from the first byte of the first word to the last byte of the last
            word; default: 50.
        min_bytes: the length of a window in bytes, instead of `min_words`; a window then starts at any byte.
        cut: the boundary to which a repeat is shrunk. "char": only whole code points are cut. "word": only whole words.
            "line": only whole lines, each with the line feed after it. A repeat that contains no whole word or line is
            kept.
        engine: "windows" ("auto" is the same) works in bounded memory; "suffix_array" holds a suffix array in memory
            (12 bytes per byte of text; needs the extra `dedup`). Both engines cut the same bytes.
        word_split: the definition of a word: "unicode" (docs/words.md), or "regex" (runs of `\w`).
        min_remaining_chars: a document from which text was cut is dropped if fewer characters other than white space
            remain.
        against: the folders of sealed Datasets (finished outputs) whose texts come before all new ones and are not cut.
        annotate: True removes nothing, and adds the columns of docs/dedup-annotate.md. A string such as "near_" also
            removes nothing, and is the prefix of the column names.

    A window is a run of consecutive words or bytes of one document. It is a repeat if an earlier window has the same
    bytes; "earlier" means in a document with a smaller id, or at a smaller offset in the same document. With
    `min_words`, the earlier window also begins and ends at word boundaries. The cut is the union of all repeats, shrunk
    to the boundary `cut`.

    In the table of cuts, each span names one earlier occurrence of the same bytes; part of that occurrence may itself
    be cut. Spans overlap if repeats with different earlier occurrences overlap. The method is that of Lee et al. 2022,
    who cut repeats of 100 bytes of uint16 tokens, which are 50 tokens or about 200 bytes of English.
    """

    VERSION: ClassVar[int] = 2

    min_words: int | None = None
    min_bytes: int | None = None
    cut: str = "char"
    engine: str = "auto"
    word_split: str = "unicode"
    min_remaining_chars: int = 1
    against: str | Sequence[str] | None = None
    annotate: bool | str = False

    def __post_init__(self) -> None:
        both = f"min_words={self.min_words} and min_bytes={self.min_bytes}"
        require(self.min_words is None or self.min_bytes is None, f"{both} cannot be used together; use one of them")
        least, unit = (1, "words") if self.min_bytes is None else (LEAST_BYTES, "bytes")
        in_range = isinstance(self.width, int) and least <= self.width <= MOST
        require(in_range, f"min_{unit}={self.width!r} must be an integer from {least} to {MOST:,}")
        choices = (("cut", self.cut, CUTS), ("engine", self.engine, ENGINES), ("word_split", self.word_split, SPLITS))
        for name, value, known in choices:
            require(value in known, f"{name}={value!r} must be one of {', '.join(map(repr, known))}")
        require_integer("min_remaining_chars", self.min_remaining_chars, 0)
        self._check_memory()

    @property
    def only_drops(self) -> bool:  # type: ignore[override]
        """True with `annotate`, which changes no text; otherwise False."""
        return self.prefix is not None

    @property
    def cuts(self) -> bool:
        """True, since texts are cut."""
        return True

    @property
    def width(self) -> int:
        """The length of a window: `min_bytes` in bytes if it is given, else `min_words` (default 50) in words."""
        given = self.min_words if self.min_bytes is None else self.min_bytes
        return DEFAULT_WORDS if given is None else given

    def recipe(self) -> Any:
        """Return the values that identify this stage: all except `engine`, since both engines cut the same bytes."""
        chosen = (
            self.width,
            self.min_bytes is None,
            self.cut,
            self.word_split,
            self.min_remaining_chars,
            self.annotate,
        )
        return (chosen, [old.content for old in self.older])

    def fit(self, docs: Dataset, runner: Runner, out: str) -> Verdict:
        """Find the repeats in `docs`; return the stage that cuts them out.

        Writes the table of the spans to cut into the folder `out`. A table from an earlier call is reused if it is
        still valid.
        """
        from dataprep.core.model.annotate import annotated
        from dataprep.core.model.verdict import CutSpans
        from dataprep.core.run.passes import table_once

        from .substrings import cut, passes, search, suffix_array

        kinds = (
            passes.HashWindows, passes.MergeHashes, passes.CountHashes, passes.MergeCounted, passes.GatherRecords,
            passes.MergeTexts, search.CompareRecords, search.MergeRepeats, suffix_array.SortCorpus, cut.SortRepeats,
            cut.ShrinkRepeats, cut.WriteCuts,
        )  # fmt: skip
        key, url = self.key_for(docs), files.join(out, "spans.parquet")
        facts = table_once(url, key, lambda: self._find(docs, runner, out, url, key), kinds)
        spans = CutSpans(
            spans=url, key=key, estimator=self.name, min_remaining_chars=self.min_remaining_chars, facts=facts
        )
        return annotated(spans, self.prefix)

    def _find(self, docs: Dataset, runner: Runner, out: str, url: str, key: str) -> dict[str, Any]:
        """Write the table of spans; return the counts."""
        from .substrings import search, suffix_array
        from .substrings.cut import write_cuts

        engine = suffix_array.find if self.engine == "suffix_array" else search.find
        chosen: dict[str, Any] = {"name": self.name, "key": key_of((key, self.engine == "suffix_array"))}
        words = self.word_split if self.min_bytes is None else ""
        older = self.sampled_older(runner)
        joined = Joined.of(older, docs)
        found, parts, counted = engine(joined, runner, out, width=self.width, word_split=words, **chosen)
        given: dict[str, Any] = {
            "url": url,
            "cut": self.cut,
            "word_split": self.word_split,
            "found": found,
            "parts": parts,
        }
        cut = write_cuts(joined, runner, out, **given, **chosen)
        documents = counted.pop("docs") - sum(len(old.docs) for old in older)
        return {"documents": documents, **counted, **cut}

    def warm(self) -> None:
        """Compile the kernels that `fit` calls, by fitting two short documents, before workers start."""
        width: dict[str, Any] = {"min_words": 5} if self.min_bytes is None else {"min_bytes": 20}
        from .warm import warm

        warm(replace(self, **width, engine="windows", against=None).fit)
