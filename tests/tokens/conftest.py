"""A small tokenizer for the tests of tokens, trained on text written here."""

from __future__ import annotations

import pytest

from dataprep.tokens.patterns import PATTERNS
from dataprep.tokens.tokenizer import Tokenizer
from dataprep.tokens.train import learn

TEXT = [
    "The rain in the north is colder than the rain in the south, and nobody there minds it.\n\n    if x == 10:\n",
    "La pluie du nord est plus froide que la pluie du sud ; l'hiver, personne n'y prend garde.\r\n\r\n2,048 jours !",
    "كانت الأمطار في الشمال أبرد من أمطار الجنوب، ولا أحد هناك يشتكي. الشتاء طويل، والصيف قصير جدا.",
    "उत्तर की बारिश दक्षिण की बारिश से ठंडी होती है, और वहाँ किसी को परवाह नहीं।",
    "北の雨は南の雨より冷たい。それでも誰も気にしない。 🌧️🌧️🌧️ naïve café, e\u0301t\u0301e\u0301 ------ ====",
] * 3


@pytest.fixture(scope="session")
def tok() -> Tokenizer:
    """400 merges over five scripts."""
    return Tokenizer.from_merges(learn([TEXT], 400, PATTERNS["words"]), special=["<|pad|>"])
