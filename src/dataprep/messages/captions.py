"""Extract captions of pictures and files: the part of a media message that a person wrote."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import Batch

MEDIA = ("image", "video", "audio", "gif", "sticker", "file")
_MARK = "\u200e"  # iOS: precedes what the phone wrote itself
_FILE_NAME = re.compile(r"[^\n]*\S\.[a-z0-9]{2,5}(?: \u2022)?", re.IGNORECASE)  # "beans.pdf \u2022 2 pages"
_PLACEHOLDER = re.compile(
    r"[^\n]*\S\.[a-z0-9]{2,5} [(\uff08][^()]+[)\uff09]|.*<[^<>]+>", re.IGNORECASE
)  # of a hidden name
_LINKS = re.compile(r"!?\[[^\]\n]*\]\((?:\./)?media/[^)\n]*\)")  # signal-export's, into its folder of files


def caption(text: str, meta: str) -> str:
    r"""Return the caption of a media message, "" if it has none.

    The text of such a message may begin with a placeholder such as "IMG-1.jpg (file attached)". If `meta` names files
    (null: left out of the export, or hidden) and the text does not, the whole text is the caption (Telegram, Discord,
    Messenger). Otherwise the placeholder is the first line (WhatsApp), or its part after a direction mark, and the rest
    is the caption.

    - meta: the message's metadata as JSON.

    >>> caption("IMG-1.jpg (file attached)\nthe beans", '{"file": "IMG-1.jpg"}')
    'the beans'
    >>> caption("the beans", '{"file": "photos/1.jpg"}')
    'the beans'
    >>> caption("the beans  ![1.jpg](./media/1.jpg)", '{"file": null}')
    'the beans'
    """
    without_links = _LINKS.sub("", text)
    if without_links != text:
        return without_links.strip()
    record = json.loads(meta) if '"file' in meta else {}
    names = record["files"] if "files" in record else [record["file"]] if "file" in record else []
    first, _, rest = text.partition("\n")
    if names and not any(str(name) in text if name else _PLACEHOLDER.fullmatch(first) for name in names):
        return text
    before = first.partition(_MARK)[0].strip() if _MARK in first else ""
    return "\n".join(filter(None, (before, rest)))


def with_captions(batch: Batch, kinds: tuple[str, ...]) -> tuple[pa.BooleanArray, pa.LargeStringArray]:
    """Find media messages with a caption; return (bool[n], which rows they are; texts with the captions in these rows).

    - kinds: the kinds of messages that are always kept; their texts are not replaced.
    """
    kind, texts = batch.column("kind").cast(pa.string()), batch.column("text")
    media = pc.is_in(kind, pa.array([k for k in MEDIA if k not in kinds], pa.string()))
    mask = np.zeros(batch.num_rows, np.bool_)
    found: list[str] = []
    rows = np.flatnonzero(np.asarray(media))
    chosen = pa.array(rows)
    columns = (column.take(chosen).to_pylist() for column in (kind, texts, batch.column("meta")))
    for row, media_kind, text, meta in zip(rows.tolist(), *columns, strict=True):
        one = caption(text, meta)
        if one.strip() and not (media_kind == "file" and _FILE_NAME.fullmatch(one)):
            mask[row] = True
            found.append(one)
    return pa.array(mask), pc.replace_with_mask(texts, pa.array(mask), pa.array(found, texts.type))
