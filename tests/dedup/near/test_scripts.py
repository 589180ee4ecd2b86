"""Light edits are found in every script, and texts that differ only in what `normalize=` leaves out."""

from __future__ import annotations

import random
import unicodedata

import pytest

from dataprep.dedup.minhash import MinHash
from twins.minhash import jaccard
from twins.text import shingle_set

PAIRS = 60
# (consonants, what may follow them, what ends a sentence, what is between words)
SCRIPTS = {
    "latin": (
        "bcdfglmnprst",
        "aeiou",
        ". ",
        " ",
    ),
    "arabic": (
        "\u0628\u062a\u062c\u062d\u062f\u0631\u0633\u0639\u0641\u0642\u0644\u0645\u0646",
        "\u0627\u0648\u064a",
        "\u061f ",
        " ",
    ),
    "arabic with vowels": (
        "\u0628\u062a\u062c\u062d\u062f\u0631\u0633\u0639\u0644\u0645\u0646",
        "\u064e\u064f\u0650\u0652",
        ". ",
        " ",
    ),
    "devanagari": (
        "\u0915\u0916\u0917\u0924\u0926\u0928\u092a\u092e\u0930\u0932\u0938",
        "\u093e\u093f\u0940\u0941\u0947\u094d",
        "\u0964 ",
        " ",
    ),
    "tamil": (
        "\u0b95\u0b99\u0b9a\u0b9f\u0ba3\u0ba4\u0ba8\u0baa\u0bae\u0baf\u0bb0\u0bb2\u0bb5\u0bb3",
        "\u0bbe\u0bbf\u0bc0\u0bc1\u0bc6\u0bc7\u0bca\u0bcd",
        ". ",
        " ",
    ),
    "burmese": (
        "\u1000\u1001\u1002\u1005\u1010\u1014\u1015\u1019\u101a\u101b\u101c\u101e\u101f",
        "\u102c\u102d\u102f\u1030\u1031\u103a\u103b\u103d",
        "\u104b ",
        "",
    ),
    "thai": (
        "\u0e01\u0e02\u0e04\u0e07\u0e08\u0e14\u0e15\u0e17\u0e19\u0e1b\u0e21\u0e23\u0e25",
        "\u0e31\u0e34\u0e35\u0e38\u0e48\u0e32\u0e30",
        " ",
        "",
    ),
    "japanese": (
        "\u3042\u3044\u3046\u3048\u304a\u65e5\u672c\u5b66\u751f\u98df\u884c",
        "\u304b\u304d\u304f\u30a2\u30a4\u30a6\u30fc",
        "\u3002",
        "",
    ),
    "chinese": (
        "\u6211\u4f60\u4ed6\u5b66\u4e66\u770b\u5230\u5c71\u6c34\u5927\u5c0f\u4e2d\u56fd",
        "\u4eba\u5929\u5730\u706b\u6728",
        "\u3002",
        "",
    ),
}


def families(script: str) -> tuple[list[str], list[str]]:
    """Made texts of 150 words, and each with one to three words replaced and another full stop."""
    starts, ends, stop, blank = SCRIPTS[script]
    rng = random.Random(script)

    def word() -> str:
        return "".join(rng.choice(starts) + rng.choice(ends) for _ in range(rng.randint(1, 3)))

    def text(words: list[str], every: int) -> str:
        return stop.join(blank.join(words[i : i + every]) for i in range(0, len(words), every)) + stop

    originals, edits = [], []
    for _ in range(PAIRS):
        words = [word() for _ in range(150)]
        originals.append(text(words, 10))
        for at in rng.sample(range(150), rng.randint(1, 3)):
            words[at] = word()
        edits.append(text(words, 15))
    return originals, edits


@pytest.mark.parametrize("script", SCRIPTS)
def test_light_edits_are_found(drops, script: str) -> None:
    """The default finds nearly all pairs that brute force finds; those are nearly all light edits."""
    originals, edits = families(script)
    sets = [[shingle_set(text, "word", 5) for text in texts] for texts in (originals, edits)]
    similar = {d for d in range(PAIRS) if jaccard(sets[0][d], sets[1][d]) >= 0.8}
    assert len(similar) >= 0.95 * PAIRS
    found = drops(MinHash(), originals + edits)
    assert set(found) <= {PAIRS + d for d in similar}  # nothing else, since all are compared exactly
    assert len(found) >= 0.98 * len(similar)


def accents(rng: random.Random) -> str:
    return " ".join(f"{rng.choice('bcd')}\u00e9{rng.choice('fgh')}\u00f1o{rng.randrange(99)}" for _ in range(60))


def test_canonical_equivalents_are_found_by_default(drops) -> None:
    """NFC and NFD of the same texts, which word_split="regex" takes for other words."""
    rng = random.Random(2)
    composed = [accents(rng) for _ in range(100)]
    texts = composed + [unicodedata.normalize("NFD", text) for text in composed]
    assert len(drops(MinHash(), texts)) == 100
    assert len(drops(MinHash(word_split="regex"), texts)) < 50


def test_vocalised_and_plain_arabic_are_found_with_diacritics(drops) -> None:
    """Without "diacritics" they are other words."""
    vocalised, _ = families("arabic with vowels")
    plain = ["".join(c for c in text if not unicodedata.combining(c)) for text in vocalised]
    every = ("nfc", "diacritics", "case", "punctuation", "space")
    assert len(drops(MinHash(normalize=every), vocalised + plain)) == PAIRS
    assert not drops(MinHash(), vocalised + plain)


def test_numbers_are_found_with_digits(drops) -> None:
    """Equal but for their numbers."""
    texts = [" ".join(f"w{i}x{d} {i * k}" for i in range(40)) for d in range(20) for k in (1, 2)]
    every = ("nfc", "case", "digits", "punctuation", "space")
    assert len(drops(MinHash(normalize=every), [t.replace("x", " ") for t in texts[:2]])) == 1
    assert len(drops(MinHash(), [t.replace("x", " ") for t in texts[:2]])) == 0
