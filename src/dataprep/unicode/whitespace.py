"""White space and words in UTF-8, as `str.strip` and `str.split` see them.

`classes` is `text.classes()`. `_nrt=False` leaves out reference counting: these kernels are called for every line.
Twin: tests/twins/c4.py.
"""

from __future__ import annotations

from .kernel import kernel
from .text import SPACE, U16
from .utf8 import U8, code_point, code_size, step_back


@kernel(_nrt=False)
def space(line: U8, i: int, classes: U16) -> int:
    """Return the bytes of the white space that begins at byte `i`; 0 for anything else."""
    c = line[i]
    if c < 0x80:
        return 1 if c == 0x20 or 0x09 <= c <= 0x0D or 0x1C <= c <= 0x1F else 0
    point, size = code_point(line, i)
    return size if classes[point] & SPACE else 0


@kernel(_nrt=False)
def strip(line: U8, a: int, b: int, classes: U16) -> tuple[int, int]:
    """Return the range of the line without white space at its ends, as `str.strip` cuts it."""
    while a < b:
        size = space(line, a, classes)
        if size == 0:
            break
        a += size
    while a < b:
        i = step_back(line, b)
        if space(line, i, classes) == 0:
            break
        b = i
    return a, b


@kernel(_nrt=False)
def skip_spaces(line: U8, i: int, b: int, classes: U16) -> int:
    """Return the offset after white space."""
    while i < b:
        size = space(line, i, classes)
        if size == 0:
            break
        i += size
    return i


@kernel(_nrt=False)
def has_words(line: U8, a: int, b: int, n: int, classes: U16) -> bool:
    """Return whether the line has at least `n` words, as `str.split` cuts them."""
    inside = False
    while n > 0 and a < b:
        size = space(line, a, classes)
        n -= size == 0 and not inside
        inside = size == 0
        a += size or code_size(line[a])
    return n <= 0


@kernel(_nrt=False)
def word_too_long(line: U8, a: int, b: int, max_chars: int, classes: U16) -> bool:
    """Return whether a word, as `str.split` cuts them, has more than `max_chars` code points."""
    if not unbroken(line, a, b, max_chars):
        return False
    chars = 0
    while a < b:
        size = space(line, a, classes)
        chars = 0 if size else chars + 1
        if chars > max_chars:
            return True
        a += size or code_size(line[a])
    return False


@kernel(_nrt=False)
def unbroken(line: U8, a: int, b: int, n: int) -> bool:
    """Return whether more than `n` bytes in a row hold no blank; reads few bytes, and is False for most long lines."""
    while b - a > n:
        i = a + n
        while i >= a and line[i] != 0x20:
            i -= 1
        if i < a:
            return True
        a = i + 1
    return False
