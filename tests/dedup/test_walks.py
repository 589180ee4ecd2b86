"""Dumps come and go in a random order: at each step, the result is that of a run over the dumps that are there.

DATAPREP_WALKS: how many random sequences of dumps each method gets; DATAPREP_WALK: how many steps a sequence has.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import dataprep as dp
import twins.exact
import twins.minhash
import twins.semantic
import twins.suffix_array
import twins.text
from dataprep.dedup.exact import Exact
from dataprep.dedup.semantic import SemDeDup
from dataprep.dedup.spans.units import DEFAULT_FORM
from dataprep.dedup.url import URLDedup, normalize_url
from dataprep.store import files

from .test_against import CUTTERS, DROPPERS, dumps_of, table_of, write


def goes_exact(rows: list[dict]) -> dict[int, int]:
    """Who goes for whom, by comparing texts."""
    return twins.exact.same_texts([row["text"] for row in rows], list(range(len(rows))), None)


def goes_seen(rows: list[dict]) -> dict[int, None]:
    """Who goes because its text was seen; a filter does not know where."""
    return dict.fromkeys(goes_exact(rows))


def goes_near(rows: list[dict]) -> dict[int, int]:
    """Who goes for whom, by comparing all sets of words."""
    sets = [twins.text.shingle_set(row["text"], "word", 1) for row in rows]
    kept, gone = [], {}
    for i, own in enumerate(sets):
        first = next((k for k in kept if own and twins.minhash.jaccard(own, sets[k]) >= 0.5), None)
        gone |= {} if first is None else {i: first}
        kept += [i] if first is None else []
    return gone


def goes_url(rows: list[dict]) -> dict[int, int]:
    """Who goes for the newest capture of the page."""
    gone = {}
    for i, row in enumerate(rows):
        page = normalize_url(row["url"] or "")
        same = [k for k, other in enumerate(rows) if page and normalize_url(other["url"] or "") == page]
        best = min(same, key=lambda k: (-int(rows[k]["date"][:4]), k), default=i)
        gone |= {i: best} if best != i else {}
    return gone


def letters(texts: list[str]) -> np.ndarray:
    """Counts of five letters; a text without them has the zero vector."""
    return np.array([[text.count(c) for c in "aeorz"] for text in texts], float)


def goes_semantic(rows: list[dict]) -> dict[int, int]:
    """Who goes for whom, by comparing all vectors."""
    found = twins.semantic.semantic_duplicates(letters([row["text"] for row in rows]), list(range(len(rows))), 0.05)
    return {i: k for i, (k, _) in found.items()}


def goes_line(rows: list[dict], unit: str = "line") -> list[tuple]:
    """Which lines or paragraphs go, by comparing their forms: (document, text of the line, document of the first)."""
    texts, form = [row["text"] for row in rows], DEFAULT_FORM[unit]
    found = enumerate(twins.exact.repeats(texts, unit, form))
    return [(rows[d]["id"], texts[d][a:b].strip(), rows[k]["id"]) for d, cuts in found for a, b, k, _ in cuts]


def goes_words(rows: list[dict]) -> list[tuple]:
    """Which runs of three words go, by looking each of them up."""
    texts = [row["text"] for row in rows]
    found = twins.suffix_array.repeated_spans(texts, 3, True, "char")
    return [(rows[d]["id"], texts[d].encode()[a:b].decode().strip(), rows[k]["id"]) for d, a, b, k, *_ in found]


WALKS = {
    "exact": (Exact(), goes_exact),
    "minhash": (DROPPERS["minhash"], goes_near),
    "url": (URLDedup(), goes_url),
    "bloom": (DROPPERS["bloom"], goes_seen),
    "semantic": (SemDeDup(embed=letters, epsilon=0.05), goes_semantic),
}
CUTTING_WALKS = {
    "line": (CUTTERS["line"], goes_line),
    "paragraph": (CUTTERS["paragraph"], partial(goes_line, unit="paragraph")),
    "span3": (CUTTERS["span3"], partial(goes_line, unit="span3")),
    "words": (replace(CUTTERS["words"], cut="char"), goes_words),
}


SEEDS = range(7, 7 + int(os.environ.get("DATAPREP_WALKS", "1")))  # a walk each


def walk(tmp_path: Path, name: str, seed: int) -> Iterator[tuple[int, list[int], dp.Dataset]]:
    """Come and go, DATAPREP_WALK times or six: yields the step, the dumps that are here, and their documents."""
    dumps = [
        dp.Pipeline().run(write(tmp_path / f"{k}.jsonl", rows), str(tmp_path / f"dump{k}"))
        for k, rows in enumerate(dumps_of(seed, 5))
    ]
    rng, here = random.Random(f"{name}{seed}"), list[int]()
    for step in range(int(os.environ.get("DATAPREP_WALK", "6"))):
        absent = [k for k in range(len(dumps)) if k not in here]
        if absent and (len(here) < 2 or rng.random() < 0.5):
            here.insert(rng.randrange(len(here) + 1), rng.choice(absent))
        else:
            here.remove(rng.choice(here))
        yield step, here, dp.read([dumps[k].url for k in here])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", WALKS)
def test_dumps_that_come_and_go(tmp_path, name, seed) -> None:
    """Dumps come or go one by one: the verdicts are those of a run over what is left, and no dump is hashed twice."""
    stage, goes = WALKS[name]
    hashed, gone = set[int](), 0
    for step, here, docs in walk(tmp_path, name, seed):
        out = tmp_path / "steps" / f"01-{name}-{step}"
        found = {row["id"]: row["duplicate_of"] for row in table_of(stage, docs, out)}
        rows = docs.take(99)
        assert found == {rows[i]["id"]: None if k is None else rows[k]["id"] for i, k in goes(rows).items()}
        gone += len(found)
        index = files.read_json(str(out / "index.json")) if (out / "index.json").exists() else None
        if index is not None:  # else that of an earlier step is used
            assert index["keys"]["hashed"] == len(set(here) - hashed)
        hashed |= set(here)
    assert gone or seed != SEEDS[0]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CUTTING_WALKS)
def test_cuts_of_dumps_that_come_and_go(tmp_path, name, seed) -> None:
    """Dumps come or go one by one: what is cut, and the document that has the first copy, are those of brute force."""
    stage, goes = CUTTING_WALKS[name]
    gone = 0
    for step, _, docs in walk(tmp_path, name, seed):
        rows = docs.take(99)
        text_of = {row["id"]: row["text"].encode() for row in rows}
        table = table_of(stage, docs, tmp_path / "steps" / f"01-{name}-{step}")
        cuts = [row for row in table if row["duplicate_of"] is not None]
        found = [(r["id"], text_of[r["id"]][r["start"] : r["end"]].decode().strip(), r["duplicate_of"]) for r in cuts]
        assert found == goes(rows)
        gone += len(found)
    assert gone or seed != SEEDS[0]
