"""Join records that are divided into segments (ISO 28500): a first record, and `continuation` records after it."""

from __future__ import annotations

from dataclasses import dataclass, field

from dataprep.core.model.tables import SEGMENTED

from .archive import Entry

NUMBER, ORIGIN, TOTAL = "warc-segment-number", "warc-segment-origin-id", "warc-segment-total-length"
OF_A_PART = {NUMBER, TOTAL, "warc-block-digest", "content-length"}  # headers that are not true of the whole record


@dataclass
class _Begun:
    """The segments of a record so far, and their size in bytes."""

    entries: list[Entry] = field(default_factory=list)
    size: int = 0


@dataclass
class Segments:
    """The divided records of one file whose last segment was not read yet.

    Attributes:
        max_bytes: limit of a joined record, and of all segments that are held at once.
        lost: (position of the first segment, reason, bytes read) of each record that cannot be joined.
    """

    max_bytes: int
    lost: list[tuple[int, str, int]] = field(default_factory=list)
    begun: dict[str, _Begun] = field(default_factory=dict)  # by the id of the first segment
    size: int = 0  # bytes held

    def add(self, entry: Entry) -> Entry | None:
        """Return the whole record if `entry` is its last segment; otherwise hold the segment, and return None.

        The whole record has the headers of its first segment and the position of its last segment.
        """
        headers = entry.headers
        number, is_first = headers.get(NUMBER, ""), headers.get("warc-type", "").lower() != "continuation"
        origin = headers.get("warc-record-id" if is_first else ORIGIN, "")
        if is_first:
            self._lose(origin, SEGMENTED)
            self._hold(origin, entry)
            if number != "1" or not origin:
                self._lose(origin, SEGMENTED)
        elif origin in self.begun:
            held = self._hold(origin, entry)
            if number != str(len(held.entries)):
                self._lose(origin, SEGMENTED)
            elif entry.body is None or held.size > self.max_bytes:
                self._lose(origin, "too_long")
            elif TOTAL in headers:
                return self._joined(origin, headers[TOTAL])
        while self.size > self.max_bytes:
            self._lose(next(iter(self.begun)), SEGMENTED)
        return None

    def close(self) -> None:
        """Count all records as lost whose last segment is not in the file."""
        for origin in [*self.begun]:
            self._lose(origin, SEGMENTED)

    def _hold(self, origin: str, entry: Entry) -> _Begun:
        held = self.begun.setdefault(origin, _Begun())
        held.entries.append(entry)
        held.size += entry.n_bytes
        self.size += entry.n_bytes
        return held

    def _joined(self, origin: str, total: str) -> Entry | None:
        held = self.begun[origin].entries
        body = b"".join(e.body or b"" for e in held)
        if total != str(len(body)):
            self._lose(origin, SEGMENTED)
            return None
        self.size -= self.begun.pop(origin).size
        headers = {name: value for name, value in held[0].headers.items() if name not in OF_A_PART}
        return Entry(held[-1].position, headers, len(body), body)

    def _lose(self, origin: str, reason: str) -> None:
        held = self.begun.pop(origin, None)
        if held is not None:
            self.size -= held.size
            self.lost.append((held.entries[0].position, reason, held.size))
