"""Readers of the records that Common Crawl derives from pages: WET, their plain text, and WAT, their metadata.

WET has conversion records (ISO 28500). Their text is the document; URL, date, record id and languages are in `meta`. No
text is truncated silently: a record is dropped as `wrong_length` if the next record does not begin where the stated
length ends, and as `cut_archive` if the file ends inside the record.

WAT has metadata records with JSON. The document is the page's title, description and link texts, one per line; `meta`
has url, date, status, content type, title, the links as [{"url", "text", "path"}], and the location of the page as
`warc` and `offset`. Metadata of requests and of the archive itself is ignored.

In both formats, the position of a document is the offset of its record in the stored file (see `records.py`). Ignored
records, and records of other types, are counted in the statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import orjson

from dataprep.core.model.ledger import Ledger

from .archive import HEADERS, Entry
from .blocks import ArchiveBlock
from .crawl import Crawl, Plain
from .plain import rows_of
from .response import refuse
from .segments import NUMBER
from .split import BODY, END, FIRST, KIND, KINDS

KEPT = {
    "warc-target-uri": "url", "warc-date": "date", "warc-record-id": "record_id",
    "warc-identified-content-language": "languages",
}  # fmt: skip
NUMBERED = HEADERS.index(NUMBER)


@dataclass(frozen=True, kw_only=True)
class Wet(Crawl):
    """Reads WET files, the plain text of crawled pages.

    Args:
        columns: any of url, date, record_id and languages.
    """

    VERSION: ClassVar[int] = 6
    NAME: ClassVar[str] = "wet"
    HOLDS: ClassVar[str] = "conversion"
    FIELDS: ClassVar[Mapping[str, str]] = dict.fromkeys(KEPT.values(), "string")

    def document(self, entry: Entry, stats: Ledger, seen: set[Any]) -> tuple[bytes, Mapping[str, Any]]:  # noqa: ARG002
        """Return (the text; its fields, {name: value}) of `entry`, a conversion record."""
        assert entry.body is not None
        return entry.body, {name: entry.headers[header] for header, name in KEPT.items() if header in entry.headers}

    def at_once(self, block: ArchiveBlock) -> Plain | None:
        """Return the documents of a block; None if a record is a segment, of an unknown type, or too long."""
        kinds, rows = block.rows[:, KIND], block.rows
        chosen = np.flatnonzero(kinds == KINDS.index(self.HOLDS))
        sizes = rows[chosen, END] - rows[chosen, BODY]
        is_segment = (kinds == KINDS.index("continuation")).any() or rows[chosen, FIRST + 2 * NUMBERED + 1].any()
        if is_segment or (kinds < 0).any() or (sizes > self.max_block()).any():
            return None
        return Plain(rows_of(block, chosen, KEPT), block.kinds())


DESCRIPTIONS = {"description", "og:description"}


@dataclass(frozen=True, kw_only=True)
class Wat(Crawl):
    """Reads WAT files, the metadata of crawled pages.

    Attributes:
        columns: any of url, date, status, content_type, title, links (JSON), warc and offset.
    """

    VERSION: ClassVar[int] = 5
    NAME: ClassVar[str] = "wat"
    HOLDS: ClassVar[str] = "metadata"
    FIELDS: ClassVar[Mapping[str, str]] = {
        "url": "string", "date": "string", "status": "int64", "content_type": "string", "title": "string",
        "links": "string", "warc": "string", "offset": "int64",
    }  # fmt: skip

    def document(self, entry: Entry, stats: Ledger, seen: set[Any]) -> tuple[bytes, Mapping[str, Any]] | None:  # noqa: ARG002
        """Return (text, fields) of `entry`, a metadata record; None if it is not about a page.

        The text is the page's title, description and link texts, one per line; the fields are {name: value}.
        """
        try:
            note = orjson.loads(entry.body or b"")
        except orjson.JSONDecodeError:
            refuse("not_json")
        about = _inside(note, "Envelope", "WARC-Header-Metadata")
        if about.get("WARC-Type") != "response":
            stats.count(f"records.about_{about.get('WARC-Type', 'something else')}")
            return None
        http = _inside(note, "Envelope", "Payload-Metadata", "HTTP-Response-Metadata")
        html, sent = _inside(http, "HTML-Metadata"), _inside(http, "Headers")
        head, links = _inside(html, "Head"), [link for link in _listed(html.get("Links")) if link.get("url")]
        fields = {
            "url": about.get("WARC-Target-URI") or entry.headers.get("warc-target-uri"),
            "date": about.get("WARC-Date") or entry.headers.get("warc-date"),
            "status": _number(_inside(http, "Response-Message").get("Status")),
            "content_type": next((str(v) for k, v in sent.items() if k.lower() == "content-type"), None),
            "title": head.get("Title"),
            "warc": _inside(note, "Container").get("Filename"),
            "offset": _number(_inside(note, "Container").get("Offset")),
        }
        kept = {name: v for name, v in fields.items() if v is not None and not isinstance(v, (dict, list))}
        kept["links"] = [
            {k: link[k] for k in ("url", "text", "path") if isinstance(link.get(k), str)} for link in links
        ]
        return "\n".join(_lines(head, links)).encode("utf-8", "replace"), kept


def _lines(head: Mapping[str, Any], links: list[dict[str, Any]]) -> Iterator[str]:
    metas = [m for m in _listed(head.get("Metas")) if str(m.get("name") or m.get("property")).lower() in DESCRIPTIONS]
    found = [head.get("Title"), *(m.get("content") for m in metas), *(link.get("text") for link in links)]
    texts = (" ".join(text.split()) for text in found if isinstance(text, str))
    return iter(dict.fromkeys(text for text in texts if text))


def _inside(note: Any, *names: str) -> dict[str, Any]:
    """Return the object at a path of names; an empty one if there is none."""
    for name in names:
        note = note.get(name) if isinstance(note, dict) else None
    return note if isinstance(note, dict) else {}


def _listed(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _number(value: Any) -> int | None:
    return int(value) if str(value).isascii() and str(value).isdigit() and len(str(value)) < 19 else None
