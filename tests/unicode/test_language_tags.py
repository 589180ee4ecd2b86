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
     ("a", None), ("ary Latn", None), (3, None), (None, None), ("qqq", None), ("fr_Abcd", None), ("fr-QQ", None),
     ("arb_Arab", Tag("ar")), ("fra_Latn", Tag("fr")), ("fr_Arab", Tag("fr", "Arab")), ("iw", Tag("he")),
     ("cmn_Hans", Tag("zh")), ("de-1996", Tag("de")), ("de_AT_u_co_phonebk", Tag("de", "", "AT")), ("qaa", None)],
)  # fmt: skip
def test_tags(text, tag) -> None:
    """A tag is language, script and region in any case; other words are none."""
    assert parse_tag(text) == tag
    assert parse_tag(str(text).replace("_", "-").upper()) == tag


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
    assert Tag("fr").spellings == ("fr", "fr_Latn", "fra", "fra_Latn", "fr-Latn", "fra-Latn")
    assert {"ar", "arb_Arab", "ara-Arab"} < set(Tag("ar").spellings)
    assert Tag("ary", "Latn", "MA").spellings == ("ary_Latn_MA", "ary-Latn-MA")
    names = ["ar", "ary", "ary-Latn", "fr"]
    assert [known_as(text, names) for text in ("arb_Arab", "ary_Arab", "ary_Latn_MA", "fr-FR")] == names
    assert known_as("fr-CA", ["fr", "fr_CA"]) == "fr_CA"
    assert known_as("fr_Arab", ["fr"]) == "fr_Arab"


def test_both_spellings_are_the_same_stage() -> None:
    """Stages that take a language take it in both spellings, and their keys are equal."""
    assert dp.Gopher(languages=("ary_Latn", "fra")) == dp.Gopher(languages=("ary-Latn", "fr"))
    assert dp.Gopher(languages=("fr-FR", "arb_Arab")) == dp.Gopher(languages=("fr", "ar"))
    assert dp.chats.NormalizeArabizi(language="ary-Latn") == dp.chats.NormalizeArabizi(language="ary_Latn")


@pytest.mark.parametrize(
    "make",
    [lambda: dp.chats.NormalizeArabizi(language="qqq"), lambda: dp.BadWords(("x",), language="qqq"),
     lambda: dp.Gopher(languages=("qqq",)),
     lambda: dp.chats.NormalizeArabizi(language="nonsense"), lambda: dp.BadWords(("x",), language="nonsense"),
     lambda: dp.Gopher(languages=("nonsense",)), lambda: dp.chats.NormalizeArabizi(language=3)],
)  # fmt: skip
def test_what_is_no_tag_is_refused(make) -> None:
    """A word that is no language raises PlanError with one sentence that names it."""
    with pytest.raises(PlanError, match=r"nonsense|3|qqq") as raised:
        make()
    assert "\n" not in str(raised.value)
