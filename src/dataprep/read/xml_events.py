"""Parse XML as a stream, in bounded memory, and without entities defined in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO
from xml.parsers import expat

from dataprep.errors import ReadError

CHUNK = 1 << 16
MAX_DEPTH = 1000  # of elements in elements, each of which the parser keeps in memory


def parsed(
    stream: BinaryIO, url: str, max_bytes: int, connect: Callable[[expat.XMLParserType], None], *, spaces: bool = False
) -> Iterator[None]:
    """Parse a stream; yield after each chunk, so that the caller can take the results of the handlers.

    - connect: sets the handlers of the parser.
    - spaces: whether names include their name space, as in "URI NAME".

    Raises ReadError if the file is not XML, ends early, defines entities, has a tag of over `max_bytes`, or nests
    elements more than 1,000 levels deep.
    """
    parser = expat.ParserCreate(namespace_separator=" " if spaces else None)
    parser.buffer_text = True
    parser.EntityDeclHandler = _refuse  # by which a small file can expand to gigabytes
    connect(parser)
    _limit_depth(parser)
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
    except _DepthError as e:
        msg = f"its elements are nested more than {MAX_DEPTH:,} deep, deeper than programs write; fetch the file again"
        raise ReadError(msg, url, max(0, parser.CurrentByteIndex)) from e
    yield


def _limit_depth(parser: expat.XMLParserType) -> None:
    """Make the parser raise _DepthError at an element that is nested too deeply, before the handlers are called."""
    start: Callable[[str, Any], object] | None = parser.StartElementHandler  # type: ignore[assignment]
    end = parser.EndElementHandler
    depth = 0

    def deeper(name: str, attributes: Any) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise _DepthError
        if start is not None:
            start(name, attributes)

    def higher(name: str) -> None:
        nonlocal depth
        depth -= 1
        if end is not None:
            end(name)

    parser.StartElementHandler, parser.EndElementHandler = deeper, higher


class _DepthError(Exception):
    """Raised for an element that is nested too deeply."""


class _EntityError(Exception):
    """Raised for a definition of an entity."""


def _refuse(*_: object) -> None:
    raise _EntityError
