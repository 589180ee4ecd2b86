"""WET: the plain text that Common Crawl took out of pages, as WARC conversion records (ISO 28500).

The position of a document is its record's offset as stored (see `records.py`). Address, date, record id and languages
go to `meta`. Records of other types are counted. A record whose length does not lead to the next one is dropped as
`wrong_length`, one that the end of the file cuts as `cut_archive`: no text is ever cut silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dataprep.core.ledger import Ledger

from .crawl import Crawl
from .records import Entry

KEPT = {
    "warc-target-uri": "url",
    "warc-date": "date",
    "warc-record-id": "record_id",
    "warc-identified-content-language": "languages",
}


@dataclass(frozen=True, kw_only=True)
class Wet(Crawl):
    """Reads WET files; columns are of url, date, record_id and languages."""

    VERSION: ClassVar[int] = 2
    NAME: ClassVar[str] = "wet"
    HOLDS: ClassVar[str] = "conversion"
    FIELDS: ClassVar[Mapping[str, str]] = dict.fromkeys(KEPT.values(), "string")

    def document(self, entry: Entry, stats: Ledger, seen: set[Any]) -> tuple[bytes, Mapping[str, Any]]:  # noqa: ARG002
        """The record's block as it is."""
        assert entry.body is not None
        return entry.body, {name: entry.headers[header] for header, name in KEPT.items() if header in entry.headers}
