"""Twin of `messages/overlaps.py`: two exports of one chat."""

from __future__ import annotations


def doubles(files: list[int], rows: list[dict]) -> set[tuple[int, int]]:
    """(the row that is doubled, the row that stays) for rows with chat, author, time (seconds), kind and text."""
    media = ("image", "video", "audio", "gif", "sticker", "file")
    fine = {(f, r["chat"]) for f, r in zip(files, rows, strict=True) if r["time"] is not None and r["time"] % 60}
    exports: dict[tuple, list[int]] = {}
    for k, (f, r) in enumerate(zip(files, rows, strict=True)):
        if r["time"] is not None and r["chat"] is not None:
            exports.setdefault((r["chat"], (f, r["chat"]) not in fine, f), []).append(k)
    found: set[tuple[int, int]] = set()
    kept: dict[str, list[int]] = {}
    for (chat, coarse, _), export in sorted(exports.items()):
        unit = 60 if coarse else 1
        free, left = list(kept.get(chat, [])), list(export)
        for loose in (False, True):
            free = sorted(free) if loose else free
            for new in list(left):
                a = rows[new]
                alike = [
                    k for k in free
                    if rows[k]["author"] == a["author"] and rows[k]["time"] // unit == a["time"] // unit
                    and _same(rows[k], a, media, loose=loose)
                ]  # fmt: skip
                if alike:
                    found.add((new, alike[0]))
                    free.remove(alike[0])
                    left.remove(new)
        kept.setdefault(chat, []).extend(left)
    return found


def _same(a: dict, b: dict, media: tuple[str, ...], *, loose: bool) -> bool:
    if not loose:
        return (a["kind"], a["text"]) == (b["kind"], b["text"])
    both_media = a["kind"] in media and b["kind"] in media
    return both_media and a["text"].partition("\n")[2] == b["text"].partition("\n")[2]
