"""BadWords: drop documents that contain words from a user-supplied list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.score import ScoredFilter
from dataprep.core.model.stage import drop_rows
from dataprep.errors import PlanError
from dataprep.unicode.canonical import FORMS, canonical
from dataprep.unicode.hashes import text_hashes
from dataprep.unicode.language_tags import tag_of
from dataprep.unicode.text import LINE, classes, lowered

from . import word_automaton as K
from .thresholds import Threshold, check_numbers, read_list, reasons

UNSPACED = ("bo", "dz", "ja", "km", "lo", "my", "th", "yue", "zh")  # languages whose scripts do not separate words
ARABIC = ("aeb", "afb", "ajp", "apc", "apd", "ar", "arb", "arq", "ars", "ary", "arz")  # languages with these clitics


@dataclass(frozen=True)
class BadWords(ScoredFilter):
    """Drop documents that contain entries of a list of bad words (Raffel et al. 2020, 2.2).

    >>> BadWords("lists/fr.txt", language="fr")
    >>> BadWords(("casino", "free spins"), max_matches=2)

    Args:
        words: the URL of a UTF-8 file with one entry per line (blank lines are skipped), or the entries themselves.
            dataprep includes no list, since public lists drop much good text, and the choice depends on the corpus.
        language: the code of the list's language. The code sets the default of `whole_words` and names the score
            (badwords_fr). Documents in all languages are searched; to search only one language, put `Language` before
            this stage.
        whole_words: True: an entry must not be adjacent to a letter, digit or underscore, as in the published code, nor
            to a combining mark (in the published code, a mark ends a word). False: an entry may occur anywhere, which
            suits scripts without spaces between words. None: False for bo, dz, ja, km, lo, my, th, yue and zh, else
            True.
        max_matches: the maximum number of matches in a kept document; a document with more is dropped (`bad_words`).
            Entries that end at the same offset count once.
        keep_fraction: the share (0 to 1) of the documents with too many matches that is kept, chosen by a hash of the
            text (multilingual C4: 0.001).

    Case is ignored, character by character. Composed and decomposed characters are equal, and so are letters and their
    variants: Arabic presentation forms, ligatures, full-width and mathematical letters. Joiners, soft hyphens and other
    invisible characters inside words are ignored. The tatweel and the vowel signs of Arabic, Hebrew and Syriac are also
    ignored, except for entries that contain such signs. Everything else, including white space, must be equal.

    An Arabic entry is also found after the clitics that are written before a word. These are the article (`ال`, `وال`,
    `بال`, `لل` ...); `و` before an entry of three or more letters; and `ف`, `ب`, `ك` and `ل` without the article before
    an entry of four or more letters, since shorter words too often begin with these letters. Clitics are recognised
    only if `language` is Arabic or None, and if entries must be whole words.

    All entries are found in one pass (Aho-Corasick) and compared byte by byte. The key of the stage depends on the
    entries, not on the path of their file.

    Raises PlanError if a list is missing, not UTF-8 or empty, or if an entry contains a line break.
    """

    compiled: ClassVar[bool] = True
    VERSION: ClassVar[int] = 4

    words: str | Sequence[str]
    language: str | None = field(default=None, kw_only=True)
    whole_words: bool | None = field(default=None, kw_only=True)
    max_matches: int | None = field(default=0, kw_only=True)
    keep_fraction: float = field(default=0.0, kw_only=True)
    entries: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.words, str):
            object.__setattr__(self, "words", tuple(self.words))
        if self.language is not None:
            tag_of(self.language, "BadWords: language=", ", or None")
        check_numbers(self, ["max_matches"])
        check_numbers(self, ["keep_fraction"], most=1)
        entries = read_list(self.name, self.words).splitlines() if isinstance(self.words, str) else self.words
        if not all(isinstance(e, str) for e in entries) or not any(e.strip() for e in entries):
            msg = f"BadWords: words={self.words!r} must have an entry; pass a file with one per line, or a tuple"
            raise PlanError(msg)
        clean = sorted({e.strip() for e in entries} - {""})
        broken = [e for e in clean if any(classes()[ord(c)] & LINE for c in e)]
        if broken:
            msg = f"BadWords: the entry {broken[0]!r} has a line break; give each line as a separate entry"
            raise PlanError(msg)
        object.__setattr__(self, "entries", tuple(clean))

    @property
    def _column(self) -> str:
        name = (self.language or "").lower().replace("-", "_").replace(".", "_")
        return f"badwords_{name}" if name else "badwords"

    @property
    def _rules(self) -> tuple[Threshold, ...]:
        return (Threshold("max_matches", self._column, ">", "bad_words"),)

    @property
    def _code(self) -> str:
        return "" if self.language is None else tag_of(self.language, "BadWords: language=").language

    @property
    def _edges(self) -> bool:
        return self._code not in UNSPACED if self.whole_words is None else self.whole_words

    @property
    def _clitics(self) -> bool:
        return self._edges and (self.language is None or self._code in ARABIC)

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """Name and type of the column that the filter adds: the number of matches in each document."""
        return {self._column: pa.int64()}

    @property
    def measure(self) -> Any:
        """The values that determine the scores: the entries, the rule for whole words, and the rule for clitics."""
        return self.entries, self._edges, self._clitics

    def recipe(self) -> Any:
        """Return the values that identify this stage: entries (not their file's path), matching rule and limits."""
        return self.measure, self._column, self.max_matches, self.keep_fraction

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return the number of matches in each text as a score column, {name: values}."""
        searches = K.searches(_composed(self.entries), edges=self._edges, clitics=self._clitics)
        texts = canonical(*B.buffers(batch), FORMS)
        found = (K.matches(*texts, *search, lowered()) for search in searches)
        return {self._column: pa.array(sum(found, np.zeros(batch.num_rows, np.int64)))}

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the documents without bad words, and the share `keep_fraction` of the others."""
        for batch in batches:
            scores = self.scores_of(batch)
            reasons = self.decide(scores)
            if self.keep_fraction:
                kept = text_hashes(*B.buffers(batch))[:, 0] / 2.0**64 < self.keep_fraction
                reasons = pa.array(np.where(kept, None, reasons.to_numpy(zero_copy_only=False)), pa.string())
            yield drop_rows(batch, reasons, stats, **self.compared(scores, reasons))

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return "bad_words" for each document with more matches than allowed, null for the others.

        Args:
            scores: the result of `score`: the match counts, by column name.
        """
        return reasons(self, self._rules, scores)


@lru_cache(maxsize=8)
def _composed(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Return the entries in the normal form of the searched texts, without the characters that are ignored in texts."""
    texts = canonical(*B.buffers(pa.array(entries, pa.large_string())), FORMS)
    shown = ("".join(c for c in entry if not K.hidden()[ord(c)]) for entry in B.strings(*texts).to_pylist())
    return tuple(dict.fromkeys(entry for entry in shown if entry))
