"""Parse XML as a stream, in bounded memory and without entities of the file's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO
from xml.parsers import expat

from dataprep.errors import ReadError

CHUNK = 1 << 16


def parsed(
    stream: BinaryIO, url: str, max_bytes: int, connect: Callable[[expat.XMLParserType], None]
) -> Iterator[None]:
    """Parse a stream; yield after each chunk, so that the caller can take the results of the handlers.

    - connect: sets the handlers of the parser.

    Raises ReadError if the file is not XML, ends early, defines entities, or has a tag of over `max_bytes`.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.EntityDeclHandler = _refuse  # by which a small file can expand to gigabytes
    connect(parser)
    fed = known = 0
    try:
        while data := stream.read(CHUNK):
            fed += len(data)
            parser.Parse(data, False)
            # From 2.6 on, expat looks again at a tag that is not complete only when twice as many bytes are there, and
            # may not know (-1) where it is until then.
            known = max(known, parser.CurrentByteIndex)
            if fed - known > 2 * max_bytes + CHUNK:
                msg = f"a tag has over {max_bytes:,} bytes; raise max_doc_bytes="
                raise ReadError(msg, url, known)
            yield
        parser.Parse(b"", True)
    except (expat.ExpatError, LookupError) as e:  # LookupError: of an encoding that nobody knows
        msg = f"the XML ends early or is damaged ({e}); fetch the file again"
        raise ReadError(msg, url, max(0, parser.ErrorByteIndex)) from e
    except _EntityError as e:
        msg = "it defines entities, which are not expanded; remove its document type"
        raise ReadError(msg, url, parser.CurrentByteIndex) from e
    yield


class _EntityError(Exception):
    """Raised for a definition of an entity."""


def _refuse(*_: object) -> None:
    raise _EntityError
