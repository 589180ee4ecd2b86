"""A reader of one's own: numbered recipes in one file, divided by lines of dashes, as documents."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import dataprep as dp
from dataprep.extend import MAX_ROWS, Batch, Ledger, Reader, Slice, doc_id, make, open_read, register

HEAD = b"%recipes\n"


@dataclass(frozen=True)
class Recipes(Reader):
    """Reads `.recipes` files; `min_chars` drops shorter ones. A document's position is the number of its recipe."""

    min_chars: int = 20

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the recipes of a file."""
        with open_read(piece.url) as stream:  # looks through .gz, .zst and .xz; local paths and URLs
            texts = stream.read().removeprefix(HEAD).decode().split("\n---\n")
        ids = [doc_id(piece.file, k) for k in range(len(texts))]
        short = [len(text) < self.min_chars for text in texts]
        stats.drop([i for i, s in zip(ids, short, strict=True) if s], "too_short")
        kept = [(i, t) for i, t, s in zip(ids, texts, short, strict=True) if not s]
        for first in range(0, len(kept), MAX_ROWS):
            some = kept[first : first + MAX_ROWS]
            yield make([i for i, _ in some], [t for _, t in some], piece.source)


def is_recipes(head: bytes, url: str) -> bool:  # noqa: ARG001 - the name is not looked at
    """Return whether a file begins like a file of recipes."""
    return head.startswith(HEAD)


def main(folder: str, out: str) -> dp.Dataset:
    """Seal the recipes of a folder, each once. Workers need no registration: they get the reader itself."""
    register("recipes", Recipes, suffixes=(".recipes", ".txt"), sniff=is_recipes)
    docs = dp.read(folder, min_chars=30)
    return dp.Pipeline(dp.Exact()).run(docs, out=out, runner=dp.tools.Local(2))


if __name__ == "__main__":  # workers import this file
    clean = main(*sys.argv[1:3])
    print(f"{clean.count} recipes")
