"""Twin of `tokens/mix/write_mixture.py`: the documents of a mixture, one by one."""

from __future__ import annotations

ONES = (1 << 64) - 1


def mixed(x: int, seed: int) -> int:
    """Return splitmix64's hash of a number and a seed."""
    x = (x + (seed + 1) * 0x9E3779B97F4A7C15) & ONES
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ x >> shift) * factor & ONES
    return x ^ x >> 31


def placed(docs, wanted, seed):
    """Whole epochs, then those of the smallest hashes whose middles lie before the rest: (position, row), in order."""
    epochs, rest = divmod(wanted, sum(len(doc["tokens"]) for doc in docs))
    rows, before = list(range(len(docs))) * epochs, 0
    chosen = []
    for row in sorted(range(len(docs)), key=lambda row: mixed(mixed(docs[row]["id"], seed), 0x4D495845)):
        size = len(docs[row]["tokens"])
        if before + size / 2 <= rest:
            chosen.append(row)
        before += size
    found, at = [], 0
    for row in rows + (sorted(chosen) if rest else []):
        size = len(docs[row]["tokens"])
        found.append(((at + size / 2) / max(1, wanted), row))
        at += size
    return found


def mixture(sources, got, seed):
    """The documents {id, source, tokens, mask} in order. sources: {name: documents}; got: {name: tokens}."""
    rows = [
        (position, number, docs[row])
        for number, (name, docs) in enumerate(sources.items())
        for position, row in placed(docs, got[name], seed)
    ]
    return [doc for _, _, doc in sorted(rows, key=lambda row: row[:2])]


def shards_of(docs, most):
    """The documents, cut into shards of at most `most` tokens."""
    shards, held = [], most
    for doc in docs:
        if held + len(doc["tokens"]) > most:
            shards.append([])
            held = 0
        shards[-1].append(doc)
        held += len(doc["tokens"])
    return shards
