"""Stream the elements of SMS Backup & Restore's XML with expat, in the memory of the largest element.

The app writes an emoji as two numeric references to surrogates, and control characters unescaped. XML allows neither,
so both are repaired in the bytes before expat reads them. Documents with a DOCTYPE are rejected, so that no entity is
ever declared or expanded.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO
from xml.parsers import expat

from dataprep.errors import ReadError

CHUNK = 1 << 19  # bytes read at once; its messages are a batch
MAX_ELEMENT = 512 << 20  # bytes of an element, with its attachments
MAX_DEPTH = 100  # of elements in elements; a part of an MMS is the fourth
HELD = 12  # bytes at the end of a chunk that may be part of a reference
ROOTS = ("smses", "calls")
HIGH = rb"&#(5529[6-9]|55[3-9]\d\d|56[0-2]\d\d|563[01]\d|[xX][dD][89abAB][0-9a-fA-F]{2});"
LOW = rb"&#(563[2-9]\d|56[4-9]\d\d|57[0-2]\d\d|573[0-3]\d|5734[0-3]|[xX][dD][c-fC-F][0-9a-fA-F]{2});"
PAIR = re.compile(HIGH + LOW)
LAST_HIGH = re.compile(HIGH + rb"\Z")
REFERENCE = re.compile(rb"&#([xX][0-9a-fA-F]{1,8}|\d{1,9});")
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
UNKNOWN = b"&#65533;"  # U+FFFD


@dataclass
class Element:
    """A child of the root: its tag (sms, mms, call or another), its attributes, and those of its parts and addresses.

    The data of attachments is not kept.
    """

    tag: str
    attributes: dict[str, str]
    parts: list[dict[str, str]] = field(default_factory=list)
    addresses: list[dict[str, str]] = field(default_factory=list)


@dataclass
class Backup:
    """Facts about a backup, which `elements` fills in.

    Attributes:
        stated: the number of elements that the root states; None if it states none.
        n_repaired: the number of repaired characters.
    """

    stated: int | None = None
    n_repaired: int = 0


def elements(stream: BinaryIO, url: str, backup: Backup) -> Iterator[list[Element]]:
    """Yield the elements below the root in lists, in the order of the file; fill `backup`.

    Raises ReadError if the file is damaged, is cut, has a DOCTYPE, or is not a backup; the elements before the error
    are yielded first.
    """
    found: list[Element] = []
    parser, held, n_bytes, known = _parser(found, url, backup), b"", 0, 0
    while True:
        data = stream.read(CHUNK)
        if not n_bytes:
            _refuse_utf16(data, url)
        whole = held + data
        cut = _cut(whole) if data else len(whole)
        held, fixed = whole[cut:], repaired(whole[:cut], backup)
        n_bytes += len(fixed)
        try:
            parser.Parse(fixed, not data)
        except (expat.ExpatError, LookupError, ValueError) as e:  # the last two: an encoding that is not known
            yield found
            msg = f"the XML is truncated or damaged ({e}); copy the file again, or make the backup again"
            raise ReadError(msg, url, parser.ErrorByteIndex) from e
        except ReadError:
            yield found
            raise
        # From 2.6 on, expat looks again at an element that is not complete only when twice as many bytes are there, and
        # may not know (-1) where it is until then.
        known = max(known, parser.CurrentByteIndex)
        if n_bytes - known > 2 * MAX_ELEMENT:
            msg = f"an element is larger than {MAX_ELEMENT >> 20} MiB; make the backup again without attachments"
            raise ReadError(msg, url, known)
        yield found
        found.clear()
        if not data:
            return


def _refuse_utf16(head: bytes, url: str) -> None:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        msg = "the file is UTF-16, but must be UTF-8 like all backups; convert it (iconv -f UTF-16 -t UTF-8)"
        raise ReadError(msg, url, 0)


def _cut(data: bytes) -> int:
    """Return the length of the longest prefix of a chunk that cuts no reference and no pair."""
    cut = data.find(b"&", max(0, len(data) - HELD))
    cut = len(data) if cut < 0 else cut
    high = LAST_HIGH.search(data, max(0, cut - HELD), cut)
    return high.start() if high else cut


def _parser(found: list[Element], url: str, backup: Backup) -> expat.XMLParserType:
    """Return a parser that appends each element below the root to `found` when it ends."""
    open_: list[Element] = []
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            msg = "its elements are nested too deeply for a backup; make the backup again"
            raise ReadError(msg, url, parser.CurrentByteIndex)
        if depth == 1:
            _check_root(tag, url)
            stated = attributes.get("count", "")
            backup.stated = int(stated) if stated.isdecimal() else None
        elif depth == 2:
            open_[:] = [Element(tag, attributes)]
        elif tag in {"part", "addr"}:
            attributes.pop("data", None)
            (open_[0].parts if tag == "part" else open_[0].addresses).append(attributes)

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1
        if depth == 1:
            found.append(open_.pop())

    def doctype(*_: object) -> None:
        msg = "the file has a DOCTYPE, which SMS Backup & Restore does not write and which is not read; remove the file"
        raise ReadError(msg, url, parser.CurrentByteIndex)

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = doctype
    return parser


def _check_root(tag: str, url: str) -> None:
    if tag not in ROOTS:
        msg = (
            f"the file is not an SMS Backup & Restore backup: its root is <{tag[:40]}>, not <smses> or <calls>; "
            "name another reader with format="
        )
        raise ReadError(msg, url, 0)


def repaired(data: bytes, backup: Backup) -> bytes:
    """Return XML with pairs of surrogate references joined, and forbidden characters replaced by U+FFFD (counted).

    >>> repaired(b"&#55357;&#56832; &#0;", Backup())
    b'&#128512; &#65533;'
    """
    if b"&#" in data:
        data = REFERENCE.sub(lambda m: _allowed(m, backup), PAIR.sub(_joined, data))
    data, n = CONTROL.subn(UNKNOWN, data)
    backup.n_repaired += n
    return data


def _code(digits: bytes) -> int:
    return int(digits[1:], 16) if digits[:1] in b"xX" else int(digits)


def _joined(pair: re.Match[bytes]) -> bytes:
    return b"&#%d;" % (0x10000 + (_code(pair[1]) - 0xD800) * 0x400 + _code(pair[2]) - 0xDC00)


def _allowed(reference: re.Match[bytes], backup: Backup) -> bytes:
    code = _code(reference[1])
    fits = code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000
    backup.n_repaired += not fits
    return reference[0] if fits else UNKNOWN
