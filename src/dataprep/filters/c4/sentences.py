"""Number of sentences of a line, by the rule of `C4`. Twin: tests/twins/c4.py."""

from __future__ import annotations

from dataprep.filters.packed_strings import Packed, starts_with_one
from dataprep.unicode.kernel import kernel
from dataprep.unicode.sentences import inside_sentence, skip_closers
from dataprep.unicode.text import U8, U16
from dataprep.unicode.whitespace import skip_spaces, strip


@kernel(_nrt=False)
def count_sentences(line: U8, a: int, b: int, marks: Packed, leads: U8, classes: U16, enough: int) -> int:
    """Return the number of sentences of a line, at most `enough`. leads: [256], 1 for bytes that can begin a mark."""
    a, b = strip(line, a, b, classes)
    found = 1 if a < b else 0
    i = a
    while i < b and found < enough:
        run = i
        while run < b and leads[line[run]]:
            size = starts_with_one(line, run, b, marks)
            if size == 0:
                break
            run += size
        if run == i:
            i += 1
            continue
        closed = skip_closers(line, run, b)
        after = skip_spaces(line, closed, b, classes)
        if after < b and (after > closed or line[run - 1] >= 0x80):
            found += not inside_sentence(line, a, i, run, after, classes)
        i = after
    return found
