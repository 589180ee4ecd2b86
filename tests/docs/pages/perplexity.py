"""What the code of docs/perplexity.md needs."""

import random

import pytest

from docs.pages import documents, write

SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu".split()  # noqa: SIM905


def noun(rng):
    """A made-up noun; a few are frequent, and most are rare."""
    k = int(rng.paretovariate(0.5)) % 3000
    return SYLLABLES[k % 15] + SYLLABLES[k // 15 % 15] + SYLLABLES[k // 225]


def sentence(rng):
    """A sentence of a small grammar."""
    verb = rng.choice(("sees", "has", "takes", "likes", "finds"))
    return f"the {rng.choice(('old', 'big'))} {noun(rng)} {verb} {noun(rng)} {rng.choice(('of', 'in'))} a {noun(rng)}"


def prepare(here):
    """A grammar's sentences to learn from, in the forms that the page names, and texts like and unlike them."""
    for library in ("kenlm", "sentencepiece", "zstandard"):
        pytest.importorskip(library)
    import sentencepiece
    import zstandard

    rng = random.Random(1)
    lines = [sentence(rng) for _ in range(1500)]
    (here / "wiki.txt").write_text("\n".join(lines) + "\n")
    (here / "lm").mkdir()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix="lm/en.sp", vocab_size=80, hard_vocab_limit=False, minloglevel=2
    )
    write("wiki/a.jsonl", ["\n".join(lines)])
    (here / "wiki" / "a.txt.zst").write_bytes(zstandard.compress("\n".join(lines).encode()))
    odd = ["xq zv kk 12 lorem ipsum dolor " * 4, "sees has takes the the of of in " * 4]
    return {"docs": documents("docs.jsonl", [*("\n".join(sentence(rng) for _ in range(4)) for _ in range(10)), *odd])}


def check(here, names):
    """The odd texts have the highest perplexity, and the percentiles dropped what is out of their range."""
    found = names["scored"].table(["perplexity"])["perplexity"].to_pylist()
    assert max(found[:10]) < min(found[10:])
    assert 0 < len(names["clean"]) < 12
