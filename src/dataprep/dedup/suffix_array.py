r"""SuffixArray: every repeated stretch of text, cut out but for its first occurrence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dataprep.core.dataset import Dataset
from dataprep.core.estimator import Estimator
from dataprep.core.runner import Runner
from dataprep.core.verdict import CutSpans, check_min_left
from dataprep.dedup.substrings.cut import write_cuts
from dataprep.dedup.substrings.repeats import CUTS
from dataprep.errors import PlanError
from dataprep.store import files, receipts
from dataprep.store.key import key

from .substrings import search, suffix_array

ENGINES = ("auto", "suffix_array", "windows")
DEFAULT_WORDS = 50
LEAST_BYTES, MOST = 4, 1 << 20
PASSES = ("sign", "count", "gather", "compare", "sorted", "sorted.json", "marks", "spans")


@dataclass(frozen=True, kw_only=True)
class SuffixArray(Estimator):
    r"""Cut out what stands earlier in the corpus already, if it is long enough; an Estimator.

    min_words: a window is that many words in a row (runs of Unicode `\w` of the raw text), from the first byte of the
    first to the last byte of the last; default 50. Or min_bytes: a window starts at every byte, and has that many.
    A window lies inside one document. It is a repeat if the same bytes are a window earlier, in order of (id, offset),
    in the same document too; with min_words, an earlier window begins and ends where words do. What is cut is the
    union of all repeats, shrunk inwards to the boundary:
    cut: "char": code points; "word": no word is cut in two; "line": whole lines, with the line feed behind them. What
    shrinks to nothing stays.
    engine: "windows" (which "auto" is) works in bounded memory, "suffix_array" on a suffix array in memory (12 bytes a
    byte of text; extra `dedup`). They cut the same bytes.
    min_left: a document that lost something, and of which fewer characters other than white space are left, goes.

    Spans name the first occurrence of their first window, which may itself lose bytes to an earlier one. After Lee et
    al. 2022, who cut at 100 bytes of uint16 tokens: 50 tokens, about 200 bytes of English.
    """

    min_words: int | None = None
    min_bytes: int | None = None
    cut: str = "char"
    engine: str = "auto"
    min_left: int = 1

    VERSION: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.min_words is not None and self.min_bytes is not None:
            msg = f"min_words={self.min_words} and min_bytes={self.min_bytes} are two lengths; give one of them"
            raise PlanError(msg)
        least, unit = (1, "words") if self.min_bytes is None else (LEAST_BYTES, "bytes")
        if not isinstance(self.width, int) or not least <= self.width <= MOST:
            msg = f"min_{unit}={self.width!r} is not a length of repeats; give {least} to {MOST:,} {unit}"
            raise PlanError(msg)
        for name, value, known in (("cut", self.cut, CUTS), ("engine", self.engine, ENGINES)):
            if value not in known:
                msg = f"{name}={value!r} is unknown; there are {', '.join(map(repr, known))}"
                raise PlanError(msg)
        check_min_left(self.min_left)

    @property
    def name(self) -> str:
        """What it is called in the books."""
        return "SuffixArray"

    @property
    def width(self) -> int:
        """Words, or bytes, of a window."""
        given = self.min_words if self.min_bytes is None else self.min_bytes
        return DEFAULT_WORDS if given is None else given

    def recipe(self) -> Any:
        """What is cut; the engine makes no difference."""
        return ("SuffixArray", self.VERSION, self.width, self.min_bytes is None, self.cut, self.min_left)

    def fit(self, docs: Dataset, run: Runner, out: str) -> CutSpans:
        """Find the repeats; the stage that is returned cuts them."""
        made_by = key((self, docs.key))
        url, receipt = files.join(out, "spans.parquet"), files.join(out, "spans.json")
        facts = receipts.once(receipt, made_by, lambda: self._find(docs, run, out, url, made_by))
        for folder in PASSES:  # what the passes left; not needed once there are spans
            files.remove(files.join(out, folder))
        counted = {name: value for name, value in facts.items() if name not in ("files", "key")}
        return CutSpans(spans=url, key=made_by, estimator=self.name, min_left=self.min_left, facts=counted)

    def _find(self, docs: Dataset, run: Runner, out: str, url: str, made_by: str) -> dict[str, Any]:
        engine = suffix_array.find if self.engine == "suffix_array" else search.find
        chosen = {"name": self.name, "key": key((made_by, self.engine == "suffix_array"))}
        words = self.min_bytes is None
        sources, firsts, counted = engine(docs.tasks, run, out, width=self.width, words=words, **chosen)
        cut = write_cuts(docs.tasks, run, out, url=url, cut=self.cut, sources=sources, firsts=firsts, **chosen)
        documents = counted.pop("docs")
        return {"files": [url], "documents": documents, **counted, **cut}

    def warm(self) -> None:
        """Compile the kernels."""
        search.warm(self.width, words=self.min_bytes is None)
