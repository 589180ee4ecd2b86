"""Find the encoding (charset) of a chat's text file that is not UTF-8, and convert the file to UTF-8 while it is read.

Apps export UTF-8, but editors and old programs save files in UTF-16, UTF-32 or the code page of their language, and
some databases write CESU-8, in which an emoji is a pair of surrogates of three bytes each. The detector for crawled
pages determines the code page from the lines that are not UTF-8. If these are nearly all lines with characters beyond
ASCII, the whole file is converted; otherwise only these lines are. Lines of damaged UTF-8 are not changed. Positions
are byte offsets in the converted text.
"""

from __future__ import annotations

import codecs
import io
import logging
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dataprep.core.model.ledger import Ledger
from dataprep.errors import PlanError, ReadError, counted
from dataprep.read.charsets.garbled import SINGLE
from dataprep.read.charsets.labels import CODE_UNITS, SEVEN_BITS
from dataprep.read.charsets.stated import marked
from dataprep.read.charsets.units import SAMPLE as HEAD
from dataprep.read.charsets.units import begins_as_utf8, seven_bits, wide_of
from dataprep.read.text import UntilDamage
from dataprep.unicode.valid import is_utf8

from .packs import CHUNK, DAMAGED_ZIP, PieceStream

log = logging.getLogger("dataprep")
LONGEST = 64 << 20  # bytes without a line end that are held
SAMPLE = 1 << 17  # bytes of lines that are not UTF-8, by which the encoding is found
UTF8_SHARE = 20  # a file with more than one line in UTF-8 to 20 others is not in one encoding
MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
ASCII = bytes(range(128))
LOST_SHARE = 0.25  # of bytes over 127 that may be no characters in the encoding; if it is more, the encoding is a guess
CONTROL = re.compile("[\x80-\x9f]")
NO_CHARACTERS = {"\ufffd", *map(chr, range(0x80, 0xA0))}
PAIR = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")  # a character beyond U+FFFF in CESU-8


@dataclass(frozen=True)
class Charset:
    """The encoding of a file: a codec of Python, used for all lines or only for those that are not UTF-8.

    Attributes:
        n_lines: the number of lines that are not UTF-8.
        n_lost: the number of bytes of these lines that are not characters, each of which becomes U+FFFD; 0 in
            multi-byte encodings, in which such a line is not changed.
    """

    name: str
    whole: bool
    n_lines: int
    n_lost: int = 0

    def as_utf8(self, line: bytes) -> bytes:
        """Return a line as UTF-8; unchanged if it is UTF-8 (unless the whole file is not) or cannot be decoded."""
        if self.name == "cesu-8":
            return _paired(line)
        if line.isascii() or (not self.whole and (is_utf8(line) or _is_damaged(line))):
            return line
        try:
            text = line.decode(self.name, "replace" if self.n_lost else "strict")
            return (CONTROL.sub("\ufffd", text) if self.name.startswith("iso8859") else text).encode()
        except UnicodeDecodeError:
            return line

    def state(self, url: str, stats: Ledger) -> None:
        """Log that the file `url` was converted, and count its converted lines in `stats`."""
        stats.count(f"from_{self.name}", self.n_lines)
        stats.count("unreadable_characters", self.n_lost)
        n, are, were = counted(self.n_lines, "line"), *(("is", "was") if self.n_lines == 1 else ("are", "were"))
        log.warning("%s: %s %s %s, not UTF-8, and %s converted", url, n, are, self.name, were)


def charset_of(stream: Any, url: str) -> Charset | None:
    """Return the encoding of the text in a stream, which is read to its end; None if it is UTF-8 or cannot be found.

    - url: the file, for errors.

    Raises ReadError if the package of the detector is needed and not installed.
    """
    sample: list[bytes] = []
    high = Counter[int]()  # bytes over 127 in lines that are not UTF-8
    size = n_old = n_utf8 = n_paired = 0
    stream = _Intact(UntilDamage(stream))
    for number, (lines, last) in enumerate(_blocks(stream)):
        name = "" if number else _not_by_lines(lines)
        if name:
            rest = iter(lambda: stream.read(CHUNK), b"")
            return Charset(name, whole=True, n_lines=lines.count(b"\n") + sum(block.count(b"\n") for block in rest))
        if is_utf8(lines):
            n_utf8 += 0 if lines.isascii() else lines.count(b"\n") + 1
            continue
        for line in lines.splitlines():
            if line.isascii():
                continue
            if is_utf8(line) or (last and lines.endswith(line) and begins_as_utf8(line)):
                n_utf8 += 1
            elif is_utf8(_paired(line)):
                n_paired += 1
            elif not _is_damaged(line):
                n_old += 1
                high.update(line.translate(None, ASCII))
                size += len(line)
                sample += [line] if size <= SAMPLE else []
    if n_paired > n_old:
        return Charset("cesu-8", whole=False, n_lines=n_paired)
    if not n_old:
        return None
    name = _detected(b"\n".join(sample), url)
    n_lost = sum(high[byte] for byte in _undefined(name)) if name.startswith(SINGLE) else 0
    n_lost = 0 if n_lost > LOST_SHARE * high.total() else n_lost
    found = Charset(name or "ascii", n_utf8 * UTF8_SHARE <= n_old, n_old, n_lost)
    n_changed = sum(found.as_utf8(line) != line for line in sample)
    return found if 2 * n_changed > len(sample) else None


def head_as_utf8(head: bytes, url: str) -> bytes:
    """Return the first bytes of the file `url` as UTF-8, as far as their encoding can be found from them."""
    if is_utf8(head):
        return head
    try:
        found = charset_of(io.BytesIO(head), url)
    except ReadError:
        return head
    return Utf8Stream(io.BytesIO(head), found).read() if found else head


class _Intact:
    """A stream that ends where its file is damaged; the reader of the file reports the damage."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def read(self, size: int) -> bytes:
        try:
            return bytes(self.inner.read(size))
        except (ReadError, *DAMAGED_ZIP):
            return b""


def _blocks(stream: Any) -> Iterator[tuple[bytes, bool]]:
    """Yield (blocks of whole lines, whether it is the last); text without a line end is cut after LONGEST bytes."""
    held = b""
    while True:
        data = stream.read(CHUNK)
        whole = held + data
        cut = max(whole.rfind(b"\n"), whole.rfind(b"\r")) + 1 if data else len(whole)
        cut = cut or (len(whole) if len(whole) > LONGEST else 0)
        held = whole[cut:]
        if cut:
            yield whole[:cut], not data
        if not data:
            return


def _not_by_lines(head: bytes) -> str:
    """Return the UTF-16, UTF-32 or charset of seven bits in which a file begins, or ""."""
    _, name = marked(head)
    name = name if name.startswith(CODE_UNITS) else ""
    return name or wide_of(head[:HEAD]) or (seven_bits(head, []) if head.isascii() else "")


def _paired(line: bytes) -> bytes:
    """Return a line of CESU-8 as UTF-8."""
    return PAIR.sub(lambda m: m[0].decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16")
                    .encode(), line)  # fmt: skip


def _is_damaged(line: bytes) -> bool:
    """Return whether at least half of the bytes over 127 in a line that is not UTF-8 are characters in UTF-8."""
    n_high = len(line.translate(None, ASCII))
    return 2 * sum(map(len, MULTIBYTE.findall(line))) >= n_high


def _undefined(name: str) -> list[int]:
    """Return the bytes over 127 that are not characters in an encoding of one byte per character."""
    return [byte for byte in range(128, 256) if bytes([byte]).decode(name, "replace") in NO_CHARACTERS]


def _detected(sample: bytes, url: str) -> str:
    """Return Python's codec for lines that are not UTF-8; "" if none is found."""
    from dataprep.read.charsets.decide import characters  # imports Numba

    try:
        found = characters(sample, is_html=False)
    except PlanError as e:
        msg = f"the text is not UTF-8; to detect its encoding, {e}; or convert the file to UTF-8"
        raise ReadError(msg, url) from e
    no_lines = ("utf-8", *CODE_UNITS, *SEVEN_BITS)  # some lines of a file cannot be in these alone
    return "" if found is None or found.charset.startswith(no_lines) else found.charset


class Utf8Stream(PieceStream):
    """A stream of the text of another stream as UTF-8."""

    def __init__(self, inner: Any, charset: Charset) -> None:
        by_lines = not charset.name.startswith((*CODE_UNITS, *SEVEN_BITS))
        super().__init__(inner, (_converted if by_lines else _decoded)(UntilDamage(inner), charset))


def _decoded(inner: Any, charset: Charset) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(charset.name)("replace")
    while data := inner.read(CHUNK):
        yield decoder.decode(data).encode()
    yield decoder.decode(b"", final=True).encode()


def _converted(inner: Any, charset: Charset) -> Iterator[bytes]:
    for lines, _ in _blocks(inner):
        yield b"".join(map(charset.as_utf8, lines.splitlines(keepends=True)))
