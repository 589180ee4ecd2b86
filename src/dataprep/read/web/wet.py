"""Reader of WET: the plain text that Common Crawl extracted from pages, as WARC conversion records (ISO 28500).

The position of a document is its record's stored offset (`records.py`). URL, date, record id and languages go to
`meta`. Records of other types are counted. A record is dropped as `wrong_length` if no record follows after its
length, and as `cut_archive` if the file ends inside it: no text is truncated silently.
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
    """Reads WET files; columns: any of url, date, record_id and languages."""

    VERSION: ClassVar[int] = 2
    NAME: ClassVar[str] = "wet"
    HOLDS: ClassVar[str] = "conversion"
    FIELDS: ClassVar[Mapping[str, str]] = dict.fromkeys(KEPT.values(), "string")

    def document(self, entry: Entry, stats: Ledger, seen: set[Any]) -> tuple[bytes, Mapping[str, Any]]:  # noqa: ARG002
        """Return the record's block as it is, and its fields."""
        assert entry.body is not None
        return entry.body, {name: entry.headers[header] for header, name in KEPT.items() if header in entry.headers}
