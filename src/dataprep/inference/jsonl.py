"""Write windows of conversations as JSON Lines of `messages`, which most trainers read."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

import orjson
import pyarrow.compute as pc

from dataprep.core.model.dataset import Dataset
from dataprep.core.output import owned
from dataprep.store import files, receipts, together
from dataprep.store.key import key
from dataprep.tokens.split import SIDES
from dataprep.tokens.templates import SURE

log = logging.getLogger("dataprep")
RECEIPT = "jsonl.json"


def check_jsonl(out: str) -> None:
    """Raise StaleOutput if `out` has a JSONL file with the name of a split that dataprep did not write."""
    owned.refuse(out, owned.foreign(out, [f"{side}.jsonl" for side in SIDES]))


def write_jsonl(windows: Dataset, out: str, specials: Sequence[str] = ()) -> tuple[dict[str, str], int]:
    """Write the column `messages` of each split to OUT/SPLIT.jsonl; return (file of each split, number of answers).

    A line is {"messages": [{"role", "content"}, ...]}, one window. An answer that is only context has weight 0; a
    trainer that ignores weights learns such an answer again. Splits without windows have no file. The returned number
    counts the answers to be learned.

    - specials: special tokens; if a message contains one of them, or a text of the same form, a space is added after
      its first character, because other trainers would encode it as a token.
    """
    typed = re.compile("|".join([*map(re.escape, specials), SURE.pattern]))
    work = key([3, windows.key, typed.pattern])
    names = [*(f"{side}.jsonl" for side in SIDES), RECEIPT]
    together.recover(out, names)
    made = receipts.valid(files.join(out, RECEIPT), work)
    if made is None:

        def write(new: str) -> list[str]:
            return [RECEIPT, *(one["name"] for one in _write_sides(windows, new, typed, work)["files"])]

        together.replace(out, names, write)
        made = receipts.read(files.join(out, RECEIPT))
    if made["typed"]:
        log.warning("%d special tokens that people typed are written with a space in the JSONL files", made["typed"])
    found = {files.name_of(f["name"]).removesuffix(".jsonl"): files.join(out, f["name"]) for f in made["files"]}
    return found, made["answers"]


def _write_sides(windows: Dataset, out: str, typed: re.Pattern[str], work: str) -> dict[str, Any]:
    """Write the file of each split that has windows, and the receipt with the key `work`; return the receipt."""
    lines: dict[str, list[bytes]] = {side: [] for side in SIDES}
    answers = n_typed = 0
    for batch in windows.batches():
        answers += pc.sum(pc.struct_field(batch["messages"].flatten(), "weight")).as_py() or 0
        for messages, side in zip(batch["messages"].to_pylist(), batch["side"].to_pylist(), strict=True):
            for message in messages:
                message["content"], n = typed.subn(lambda m: f"{m[0][0]} {m[0][1:]}", message["content"])
                n_typed += n
            lines[SIDES[side]].append(orjson.dumps({"messages": list(map(_plain, messages))}))
    urls = {side: files.join(out, f"{side}.jsonl") for side, found in lines.items() if found}
    for side, url in urls.items():
        files.write_bytes(url, b"\n".join(lines[side]) + b"\n")
    made = {"files": [*urls.values()], "answers": answers, "typed": n_typed}
    return receipts.write(files.join(out, RECEIPT), work, made)


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    plain = {"role": message["role"], "content": message["content"]}
    return {**plain, "weight": 0} if message["role"] == "assistant" and message["weight"] == 0 else plain


def repeated_windows(windows: Dataset) -> tuple[int, int]:
    """Return the number of held-out windows, and how many of them have the same messages as a training window."""
    words: dict[bool, list[tuple[str, ...]]] = {True: [], False: []}  # by whether it is held out
    for part in windows.parts:
        for batch in part.batches(["messages", "side"]):
            turns = batch["messages"].to_pylist()
            for messages, side in zip(turns, batch["side"].to_pylist(), strict=True):
                words[SIDES[side] != SIDES[0]].append(tuple(m["content"] for m in messages))
    known = set(words[False])
    return len(words[True]), sum(one in known for one in words[True])
