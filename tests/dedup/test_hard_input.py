"""MinHash on what breaks others: one document, nothing but copies, nothing at all, one huge text, no disk."""

from __future__ import annotations

import json
import logging
import random
import resource

import pytest

import dataprep as dp
import laws
from dataprep.dedup.minhash import MinHash
from dataprep.errors import DataprepError


def test_one_document_and_only_copies(drops) -> None:
    """One document stays, and so does one of a thousand copies, in any number of parts."""
    assert drops(MinHash(), ["a single page of a few words"]) == {}
    assert drops(MinHash(), [""]) == {}
    found = drops(MinHash(keep="longest"), ["all pages are the same page here"] * 1000, parts=7)
    assert found == dict.fromkeys(range(1, 1000), (0, 1.0))


def test_many_empty_documents_cost_nothing(tmp_path) -> None:
    """Texts without words have no keys: nobody is compared with them, they stay, and nothing is written of them."""
    (tmp_path / "in.jsonl").write_bytes(b'{"text":""}\n' * 50_000 + b'{"text":"..."}\n' * 50_000)
    stage = MinHash().fit(dp.read(str(tmp_path / "in.jsonl")), dp.tools.Serial(), str(tmp_path / "fit"))
    assert stage.facts["documents"] == 100_000
    assert stage.facts["candidates"] == stage.facts["edges"] == stage.facts["dropped"] == 0
    (keys,) = (p for p in (tmp_path / "fit" / "keys").iterdir() if p.suffix != ".json")
    assert keys.stat().st_size < 600_000  # their sizes


def test_a_huge_document(tmp_path) -> None:
    """Two texts of 9 MB, more than a batch, and an edit of them are found, and told apart from small ones."""
    rng = random.Random(0)
    words = [f"w{rng.randrange(10**7)}" for _ in range(1_000_000)]
    other = [f"x{i}" if i % 100 == 0 else w for i, w in enumerate(words)]
    texts = [" ".join(words), "a small page of some words here", " ".join(other), " ".join(words)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    docs = dp.read(str(tmp_path / "in.jsonl"))
    clean = dp.Pipeline(MinHash(keep="first")).run(docs, str(tmp_path / "out"))
    assert [len(row["text"]) for row in clean.take(9)] == [len(texts[0]), len(texts[1])]
    assert clean.manifest.fits[0]["largest_component"] == 3


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(tmp_path) -> None:
    """No room for the index: one sentence that names the file; with room, the run goes on to the same bytes."""
    texts = [" ".join(f"w{(i // 2) * 7 + j}" for j in range(60)) for i in range(400)]
    docs = laws.dataset_of(tmp_path, texts, parts=3)
    dp.Pipeline(MinHash()).run(docs, str(tmp_path / "whole"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, limits[1]))
    try:
        with pytest.raises(DataprepError, match=r"steps/01-MinHash.*the disk is full") as e:
            dp.Pipeline(MinHash()).run(docs, str(tmp_path / "torn"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "\n" not in str(e.value)
    dp.Pipeline(MinHash()).run(docs, str(tmp_path / "torn"))
    laws.same_bytes(tmp_path / "whole", tmp_path / "torn")


def test_bands_that_find_little_are_warned_of(tmp_path, caplog) -> None:
    """Explicit bands that propose fewer than nine tenths of the pairs at the threshold are told, once a fit."""
    docs = laws.dataset_of(tmp_path, ["some words"], parts=1)
    with caplog.at_level(logging.WARNING, "dataprep"):
        MinHash(preset="fineweb").fit(docs, dp.tools.Serial(), str(tmp_path / "a"))
        assert caplog.text == ""
        MinHash(preset="fineweb", threshold=0.75).fit(docs, dp.tools.Serial(), str(tmp_path / "b"))
    assert caplog.text.count("propose 77 % of the pairs at 0.75") == 1


def test_facts_are_in_the_manifest(tmp_path) -> None:
    """What was counted, and the settings, are sealed with the Dataset; nothing of how keys were come by."""
    docs = laws.dataset_of(tmp_path, ["the same six words or so here"] * 3 + ["another page"], parts=2)
    (fit,) = dp.Pipeline(MinHash()).run(docs, str(tmp_path / "out")).manifest.fits
    counted = {"documents": 4, "candidates": 3, "largest_component": 3, "compared": 2, "dropped": 2}
    settings = {"bands": 26, "rows": 8, "threshold": 0.8, "measure": "jaccard", "shingle": "word", "ngram": 5}
    assert fit.items() >= (counted | settings | {"stage": "MinHash"}).items()
    assert "keys" not in fit
