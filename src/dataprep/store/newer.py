"""Reject state that a newer dataprep wrote: its meaning may have changed, so it is neither interpreted nor replaced.

`check_format` is called wherever JSON of dataprep is parsed, and `refuse` is called whenever the lease of a folder is
taken. Only the standard library is imported, since the trainer also uses this module.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
from typing import Any

from dataprep.errors import NewerFormat

FORMAT = 1
STATE = re.compile(
    r"(manifest|pruned|recipe|draft|run|receipt|mixture\.lock|origin(\.g\d+)?)\.json|\.dataprep-quarantine"
)
PLACES = ("", "_unfinished", "index", "index/_unfinished", "steps/*", "steps/*/input", "steps/*/input/_unfinished")
RECEIPT = re.compile(r"[^.].*\.(nd)?json")
RECEIPTS = (  # places in which all JSON with a checksum is receipts
    "receipts", "receipts/*", "_unfinished/*", "_unfinished/*/*", "index/_unfinished/*", "steps/*", "steps/*/*",
    "steps/*/input/receipts", "steps/*/input/_unfinished/receipts",
)  # fmt: skip
_OTHER = re.compile(rb'"format"\s*:\s*(?!%d\b)\d' % FORMAT)  # so that records of this format are not parsed


def check_format(found: Any, url: str) -> None:
    """Raise NewerFormat if a JSON object states a newer format than this version can read.

    - url: the file that contains the object, for messages.
    """
    stated = found.get("format") if isinstance(found, dict) else None
    if isinstance(stated, int) and stated > FORMAT:
        msg = f"{url} has format {stated}, and this version of dataprep reads {FORMAT}; install a newer dataprep"
        raise NewerFormat(msg)


def refuse(folder: str) -> None:
    """Raise NewerFormat if a state file or a receipt of a local folder, or of the results in it, has a newer format.

    Files that cannot be read are ignored here; the code that needs them raises an error.
    """
    if "://" in folder and not folder.startswith("file://"):
        return  # where each file is checked when it is read
    home = folder.removeprefix("file://")
    for places, names, is_receipt in ((PLACES, STATE, False), (RECEIPTS, RECEIPT, True)):
        for inside in (found for place in places for found in glob.glob(os.path.join(glob.escape(home), place))):
            for name in sorted(os.listdir(inside) if os.path.isdir(inside) else ()):
                if names.fullmatch(name):
                    _check(os.path.join(inside, name), is_receipt=is_receipt)


def _check(path: str, *, is_receipt: bool) -> None:
    if not os.path.isfile(path):  # opening a pipe, for example, would block
        return
    with contextlib.suppress(OSError, ValueError), open(path, "rb") as f:
        is_packed = path.endswith(".ndjson")
        every = [json.loads(line).encode() for line in f if line[:1] == b'"'] if is_packed else [f.read()]
        for found in (json.loads(data) for data in every if _OTHER.search(data)):
            if "checksum" in found or not is_receipt:
                check_format(found, path)
