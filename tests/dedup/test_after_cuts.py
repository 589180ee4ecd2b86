"""MinHash and Exact after SuffixArray: signatures and keys are those of the text that is left, not of what was read."""

from __future__ import annotations

import random

import pytest

import dataprep as dp
from laws import dataset_of

pytest.importorskip("pydivsufsort")


def corpus(seed: int) -> list[str]:
    """Texts with a long passage that several share, and next to it texts that are the same, nearly the same, or not."""
    rng = random.Random(seed)
    words = [f"w{rng.randrange(900)}" for _ in range(4000)]
    passage = " ".join(words[:90])
    rest = [" ".join(rng.choices(words, k=40)) for _ in range(6)]
    near = rest[0].replace(rest[0].split()[7], "changed")
    texts = [f"{passage} {one}" for one in rest[:4]] + [rest[0], near, f"{near} {passage}", *rest[3:]]
    rng.shuffle(texts)
    return texts


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("method", ["minhash", "exact"])
def test_what_is_left_of_a_text_is_compared(tmp_path, seed, method):
    """In one Pipeline as in two, one on the result of the other; also with the same documents compared before."""
    cut = dp.SuffixArray(min_bytes=200)
    then = dp.MinHash(threshold=0.7) if method == "minhash" else dp.Exact()
    docs = dataset_of(tmp_path, corpus(seed), parts=2)
    whole = dp.Pipeline(then).run(docs, str(tmp_path / "whole"))
    one = dp.Pipeline(cut, then).run(docs, str(tmp_path / "one"))
    first = dp.Pipeline(cut).run(docs, str(tmp_path / "first"))
    two = dp.Pipeline(then).run(first, str(tmp_path / "two"))
    assert one.table(["id", "text"]).equals(two.table(["id", "text"]))
    assert one.manifest.docs <= whole.manifest.docs - (method == "minhash")  # the passages had hidden copies
