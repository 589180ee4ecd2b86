"""FineWeb: the paper's three line rules, and a fourth rule from its published code; all thresholds are parameters.

The counts are computed in one pass over a document's bytes. Slow reference for the tests: tests/twins/fineweb.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.score import ScoredFilter
from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.spaced import spaced
from dataprep.unicode.text import I64, LINE, SPACE, U8, U16, U64, Int, classes, code_point, skip_spaces

from .packed_strings import Marks, ends_with_mark, pack_marks
from .preset_folder import counted_as, take_preset_or_folder
from .repeats import STEP, HashCounts, count_repeats, hash_counts
from .thresholds import PRESET, Threshold, check_numbers, check_words, compared, reasons, share, tuple_of_words
from .word_lists import CODE_LESS, CODE_MORE, SENTENCE_TERMINALS, TERMINAL_PUNCTUATION

COUNTS = ("words", "chars", "lines", "ended", "short", "breaks", "repeated_lines", "repeated_line_chars")
WORDS, CHARS, LINES, ENDED, SHORT, BREAKS, REPEATED_LINES, REPEATED_LINE_CHARS = range(8)
N_COUNTS = len(COUNTS)
RULES = (
    Threshold("min_punctuated_lines", "fineweb_punctuated_lines", "<=", "few_punctuated_lines"),
    Threshold("max_short_lines", "fineweb_short_lines", ">=", "short_lines"),
    Threshold("max_dup_line_chars", "fineweb_dup_line_chars", ">=", "duplicate_line_chars"),
    Threshold("max_newline_ratio", "fineweb_breaks", ">", "line_breaks"),
)
BEYOND = tuple(rule._replace(drops=rule.drops[0]) for rule in RULES)  # a document at a limit is kept, as in the code
# The end marks of the code: Unicode's Sentence_Terminal at another version, and three marks of Khmer.
CODE_MARKS = tuple(sorted({*SENTENCE_TERMINALS, *map(chr, CODE_MORE)} - {*map(chr, CODE_LESS)}))
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "min_punctuated_lines": 0.12, "max_short_lines": 0.67, "max_dup_line_chars": 0.1, "max_newline_ratio": None,
        "word_split": "blanks", "terminal_punctuation": TERMINAL_PUNCTUATION,
    },
    "code": {
        "min_punctuated_lines": 0.12, "max_short_lines": 0.67, "max_dup_line_chars": 0.01, "max_newline_ratio": 0.3,
        "word_split": "punctuation", "terminal_punctuation": CODE_MARKS,
    },
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FineWeb(ScoredFilter):
    """Drop documents that consist of lists, menus or repeated lines (Penedo et al. 2024, 3.6).

    >>> FineWeb()
    >>> FineWeb(preset="code")                           # as in the published code
    >>> FineWeb(word_split="unicode")                         # for scripts without spaces between words
    >>> FineWeb(min_punctuated_lines=None)                 # poems, chats

    | parameter | a document is dropped if | paper | their code | reason |
    |---|---|---|---|---|
    | min_punctuated_lines | at most this share of lines has terminal punctuation | 0.12 | 0.12 | few_punctuated_lines |
    | max_short_lines | at least this share has `short_line_chars` or fewer | 0.67, 30 | 0.67, 30 | short_lines |
    | max_dup_line_chars | at least this share of characters is in repeated lines | 0.1 | 0.01 | duplicate_line_chars |
    | max_newline_ratio | it has more line breaks per word than this | | 0.3 | line_breaks |

    Texts are split into lines as by `str.splitlines`; lines are stripped, and blank lines are not counted. The length
    of a line is its number of code points, including white space inside. `max_dup_line_chars` counts only characters of
    words, as `Gopher` does. None switches a rule off. `max_newline_ratio` exists only in the published code.

    Args:
        word_split: the definition of a word, as in `Gopher`.
        short_line_chars: the maximum number of characters of a short line.
        terminal_punctuation: the marks that end a sentence. Default: those of all scripts
            (`word_lists.TERMINAL_PUNCTUATION`).
        preset: "paper"; or "code", for these rules of the published code: a document exactly at a limit is kept; lines
            end at line feeds and are not stripped; all characters except line feeds are counted; punctuation marks are
            words; and the terminal punctuation is that of the code since 2024, which includes other scripts but no
            quotation marks. The code splits words with spaCy; `word_split="punctuation"` approximates it. A folder
            written by `dataprep fit-language` provides the thresholds of one language, for the rules of "paper".

    Raises PlanError for an unknown preset, a threshold below 0, or terminal punctuation that contains white space.
    """

    compiled: ClassVar[bool] = True
    VERSION: ClassVar[int] = 2

    preset: str = "paper"
    word_split: str = PRESET
    min_punctuated_lines: float | None = PRESET
    max_short_lines: float | None = PRESET
    max_dup_line_chars: float | None = PRESET
    max_newline_ratio: float | None = PRESET
    short_line_chars: int = 30
    terminal_punctuation: tuple[str, ...] = field(default=PRESET, repr=False)

    def __post_init__(self) -> None:
        take_preset_or_folder(self, PRESETS, "fineweb")
        check_words(self)
        check_numbers(self, [r.parameter for r in RULES], most=1)
        check_numbers(self, ["short_line_chars"])
        tuple_of_words(self, "terminal_punctuation")

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """Names and types of the columns that the filter adds, one per rule; each value is a share or a ratio."""
        return dict.fromkeys((r.score for r in RULES), pa.float64())

    @property
    def measure(self) -> Any:
        """The values that determine the scores: end marks, length of a short line, word definition and preset."""
        return self.terminal_punctuation, self.short_line_chars, self.word_split, counted_as(self, PRESETS)

    def recipe(self) -> Any:
        """Return the values that identify this stage: those of all parameters, whether a preset set them or not."""
        return self.measure, [getattr(self, rule.parameter) for rule in RULES]

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return a column of shares or ratios for each rule, by name, with a value per text."""
        rules = FineWebRules(pack_marks(self.terminal_punctuation), int(self.short_line_chars), classes())
        texts = B.buffers(batch)
        counts = count_raw_lines(*texts, rules) if self.preset == "code" else count_lines(*texts, rules)
        if self.word_split != "blanks":
            counts[:, WORDS] = count_lines(*spaced(*texts, self.word_split), rules)[:, WORDS]
        n = dict(zip(COUNTS, counts.T, strict=True))
        parts = {"ended": "lines", "short": "lines", "repeated_line_chars": "chars", "breaks": "words"}
        return {r.score: share(n[part], n[parts[part]]) for r, part in zip(RULES, parts, strict=True)}

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return the reason of the first rule of the table that drops each document; null if no rule does.

        Args:
            scores: the columns of `score`.
        """
        return reasons(self, BEYOND if self.preset == "code" else RULES, scores)

    def compared(self, scores: Mapping[str, pa.Array], reasons: pa.StringArray) -> Mapping[str, pa.Array]:
        """Return the score that the rule of each reason compared, as the column `value`."""
        return compared(RULES, scores, reasons)


class FineWebRules(NamedTuple):
    """The parameters of `FineWeb` in the form that the kernels read.

    Attributes:
        terminal_punctuation: the marks that end a sentence.
        short_chars: the maximum number of characters of a short line.
        classes: the class bits of each code point.
    """

    terminal_punctuation: Marks
    short_chars: int  # a line of at most this many characters is short
    classes: U16


class LineBuffers(NamedTuple):
    """Work buffers for one document, made once per batch.

    Attributes:
        words: uint64, the hash of each word.
        chars: int64, the number of characters of the words before each word.
        lines: int64, the index of the first word of each line.
        counts: a table that counts hashes.
    """

    words: U64  # hash of each word
    chars: I64  # characters of the words before each word
    lines: I64  # first word of each line
    counts: HashCounts


@kernel
def count_lines(offsets: I64, data: U8, rules: FineWebRules) -> I64:
    """Return the counts of words and lines of each document, int64[n, len(COUNTS)]; COUNTS names the columns.

    Args:
        offsets: document k is data[offsets[k]:offsets[k + 1]].
        data: the documents, UTF-8 bytes.
        rules: the definitions of a short line and of an end mark.
    """
    n = len(offsets) - 1
    out = np.zeros((n, N_COUNTS), np.int64)
    longest: int = 0
    for d in range(n):
        longest = max(longest, offsets[d + 1] - offsets[d])
    words = longest // 2 + 2
    buffers = LineBuffers(
        np.empty(words + 1, np.uint64), np.zeros(words + 1, np.int64), np.empty(words + 1, np.int64), hash_counts(words)
    )
    for d in range(n):
        _count_document(data, offsets[d], offsets[d + 1], rules, buffers, out[d])
        out[d, REPEATED_LINES], out[d, REPEATED_LINE_CHARS] = count_repeats(
            buffers.words, buffers.chars, buffers.lines, out[d, LINES], buffers.counts
        )
    return out


@kernel(_nrt=False)
def _count_document(data: U8, start: int, stop: int, rules: FineWebRules, buffers: LineBuffers, out: I64) -> None:
    """Count the words and lines of one document; write the words' hashes and the lines' first words to `buffers`."""
    i, first, last = start, start, start
    n, chars, spaces, lines, line, base, width = 0, 0, 0, 0, 0, 0, 0
    h, inside = np.uint64(0), False
    while i <= stop:
        c: Int = 0x0A
        size, bits = 1, SPACE | LINE  # the end of the text ends its word and line
        if i < stop:
            c, size = code_point(data, i)
            bits = int(rules.classes[c])
        if not bits & SPACE:
            if not inside:
                inside, h = True, np.uint64(0)
                if n == line:
                    first, base = i, chars + spaces
            h = (h ^ np.uint64(c)) * STEP
            chars += 1
            i += size
            continue
        if inside:
            inside, last, width = False, i, chars + spaces - base
            buffers.words[n] = mix64(h)
            n += 1
            buffers.chars[n] = chars
        spaces += 1
        if bits & LINE and not (c == 0x0D and i + 1 < stop and data[i + 1] == 0x0A):
            if n > line:
                buffers.lines[lines] = line
                lines, line = lines + 1, n
                out[ENDED] += ends_with_mark(data, first, last, rules.terminal_punctuation)
                out[SHORT] += width <= rules.short_chars
            out[BREAKS] += i < stop
        i += size
    buffers.lines[lines] = n
    out[WORDS], out[CHARS], out[LINES] = n, chars, lines


@kernel
def count_raw_lines(offsets: I64, data: U8, rules: FineWebRules) -> I64:
    r"""Return counts of the lines of each document as the authors' code computes them, int64[n, len(COUNTS)].

    Lines end at `\n` and are not stripped, and all characters except `\n` are counted. The column WORDS is 0.
    """
    n = len(offsets) - 1
    out = np.zeros((n, N_COUNTS), np.int64)
    longest: int = 0
    for d in range(n):
        longest = max(longest, offsets[d + 1] - offsets[d])
    hashes, chars, counts = np.empty(longest + 2, np.uint64), np.zeros(longest + 3, np.int64), hash_counts(longest + 2)
    each = np.arange(longest + 3)
    for d in range(n):
        row, i, stop, lines = out[d], offsets[d], offsets[d + 1], 0
        while i <= stop:
            first, h, width = i, np.uint64(0), 0
            while i < stop and data[i] != 0x0A:
                c, size = code_point(data, i)
                h, width, i = (h ^ np.uint64(c + 1)) * STEP, width + 1, i + size
            row[CHARS] += width
            row[BREAKS] += i < stop
            if skip_spaces(data, first, i, rules.classes) < i:
                row[ENDED] += ends_with_mark(data, first, i, rules.terminal_punctuation)
                row[SHORT] += width <= rules.short_chars
                hashes[lines], chars[lines + 1] = mix64(h), chars[lines] + width
                lines += 1
            i += 1
        row[LINES] = lines
        row[REPEATED_LINES], row[REPEATED_LINE_CHARS] = count_repeats(hashes, chars, each, lines, counts)
    return out
