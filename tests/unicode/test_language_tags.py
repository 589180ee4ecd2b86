"""Language tags: both spellings, codes of three letters, and one sentence for what is no tag, wherever one is taken."""

from __future__ import annotations

import pytest

import dataprep as dp
from dataprep.errors import PlanError
from dataprep.unicode.language_tags import LONG, SHORT, Tag, known_as, parse_tag


@pytest.mark.parametrize(
    ("text", "tag"),
    [("fr", Tag("fr")), ("fra", Tag("fr")), ("ary_Latn", Tag("ary", "Latn")), ("ARY-latn", Tag("ary", "Latn")),
     ("zh-Hant-TW", Tag("zh", "Hant", "TW")), ("es_419", Tag("es", "", "419")), ("pt-br", Tag("pt", "", "BR")),
     ("und", Tag("und")), ("", None), ("nonsense", None), ("xx", None), ("ary_", None), ("ary_Latin", None),
     ("a", None), ("ary Latn", None), (3, None), (None, None)],
)  # fmt: skip
def test_tags(text, tag) -> None:
    """A tag is language, script and region in any case; other words are none."""
    assert parse_tag(text) == tag


def test_codes_are_pairs() -> None:
    """The table has 184 languages with a code of two letters each, and one of three."""
    assert len(SHORT) == len(LONG) >= 183
    assert all(len(two) == 2 and len(three) == 3 for two, three in LONG.items())


def test_spellings() -> None:
    """A name is found in the spelling in which it is known."""
    assert known_as("ary_Latn", ["ary", "ary-Latn"]) == "ary-Latn"
    assert known_as("eng", ["en"]) == "en"
    assert known_as("my-label", ["my-label"]) == "my-label"
    assert known_as("de", ["en"]) == "de"
    assert Tag("fr", "Latn").spellings == ("fr-Latn", "fr_Latn", "fra_Latn", "fra-Latn")


def test_both_spellings_are_the_same_stage() -> None:
    """Stages that take a language take it in both spellings, and their keys are equal."""
    assert dp.Gopher(languages=("ary_Latn", "fra")) == dp.Gopher(languages=("ary-Latn", "fr"))
    assert dp.chats.NormalizeArabizi(language="ary-Latn") == dp.chats.NormalizeArabizi(language="ary_Latn")


@pytest.mark.parametrize(
    "make",
    [lambda: dp.chats.NormalizeArabizi(language="nonsense"), lambda: dp.BadWords(("x",), language="nonsense"),
     lambda: dp.Gopher(languages=("nonsense",)), lambda: dp.chats.NormalizeArabizi(language=3)],
)  # fmt: skip
def test_what_is_no_tag_is_refused(make) -> None:
    """A word that is no language raises PlanError with one sentence that names it."""
    with pytest.raises(PlanError, match=r"nonsense|3") as raised:
        make()
    assert "\n" not in str(raised.value)
