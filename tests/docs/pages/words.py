"""What the code of docs/words.md needs."""

from docs.pages import documents, reasons

TEXT = "The ferry leaves at nine and the bakery opens at seven, but on Sundays nobody is there before ten o'clock."


def prepare(here):
    """A text, again in capitals, with another number, without accents and punctuation, and a different one."""
    other = TEXT.upper().replace(",", "") + "  CAFE 7."
    return {"docs": documents("a.jsonl", [TEXT + " Café 12", other, "Nothing of this is like the other texts."])}


def check(here, names):
    """With all differences left out, the second is a copy of the first, word for word."""
    assert names["clean"].drops().column("similarity").to_pylist() == [1.0]
    assert reasons("work/clean") == {"near_duplicate": 1}
