"""Mail at hosts in Punycode and at addresses of machines; card numbers of unusual lengths, and barcodes like them."""

from __future__ import annotations

import pytest

import dataprep as dp
from dataprep.pii.cards import luhn
from dataprep.pii.rules import find
from twins.pii import pii


def whole(first: str) -> str:
    """The digits with the check digit of Luhn behind them."""
    return next(first + c for c in "0123456789" if luhn(first + c))


@pytest.mark.parametrize(
    ("text", "left"),
    [("to ivan@xn--80ak6aa92e.xn--p1ai now", "to <email> now"), ("a@b.xn--p1ai.", "<email>."),
     ("a@b.xn--fiqs8s, c@d.de", "<email>, <email>"), ("ops@192.168.1.20 said", "<email> said"),
     ("ops@[66.14.208.2]", "<email>"), ("git@10.0.0.1:team/a", "git@10.0.0.1:team/a"), ("a@1.2.3.4.5", "a@1.2.3.4.5"),
     ("v@1.2.3", "v@1.2.3"), ("joe@x.org_old", "<email>_old"), ("a.b@mail.example.com_old", "<email>_old"),
     ("k@xn--80ak6aa92e.xn--p1ai_old", "<email>_old"), ("a@b.co_x", "a@b.co_x"),
     ("inet:10002@127.0.0.1", "inet:10002@127.0.0.1")],
)  # fmt: skip
def test_mail(text, left) -> None:
    """The whole address is hidden, with all of its host; repositories and versions stay."""
    assert pii(text, dp.PII(kinds="email"))[0] == left
    for m in reversed(find(text, ("email",))):
        text = f"{text[: m.start]}<email>{text[m.end :]}"
    assert text == left


@pytest.mark.parametrize(
    ("first", "word"),
    [("41234567890", ""), ("412345678901", "visa "), ("50181234567", "carte maestro "),
     ("501812345678", "Maestro-Karte "),
     ("18001234567890", "JCB card: "), ("21311234567890", "credit card no. "), ("501912345678901", None),
     ("352812345678901", None)],
)  # fmt: skip
def test_cards(first, word) -> None:
    """Visa, Maestro and JCB of 12, 13 and 15 digits behind a word for cards; Dankort and JCB of 16 without one."""
    number = whole(first)
    found = find(f"{word or ''}{number}", ("card",))
    assert [(m.start, m.end) for m in found] == (
        [] if word == "" else [(len(word or ""), len(word or "") + len(number))]
    )
    assert find(f"EAN {number}", ("card",)) == [] or word is None


@pytest.mark.parametrize(
    ("text", "left"),
    [("4111111111111111merci", "<card>merci"), ("card4111111111111111", "card<card>"), ("visa4111 1111 1111 1111 ok",
     "visa<card> ok"), ("x4111111111111111", None), ("4111111111111111ab", None), ("4111111111111111cafe", None),
     ("IBANDE89370400440532013000", "IBAN<iban>"), ("ibanDE89370400440532013000 ok", "iban<iban> ok"),
     ("DE89370400440532013000danke", "<iban>danke"), ("DE89 3704  0044 0532  0130 00", "<iban>"),
     ("xDE89370400440532013000", None), ("DE89370400440532013000x", None),
     ("to joe.o'neil@a.org", "to <email>"), ("marie.d’arc+x@a.fr", "<email>"), ("l'x@a.fr", "l'<email>")],
)  # fmt: skip
def test_glued_words(text, left) -> None:
    """Words glued to cards and accounts stay, the numbers do not; an o' or d' may be inside a name."""
    hidden, whole_text = text, pii(text, dp.PII(kinds=("email", "iban", "card")))[0]
    for m in reversed(find(text, ("email", "iban", "card"))):
        hidden = f"{hidden[: m.start]}<{m.kind}>{hidden[m.end :]}"
    assert hidden == whole_text == (left or text)


@pytest.mark.parametrize("first", ["41234567890", "612345678901", "4123456789012345678"])
def test_other_lengths(first) -> None:
    """Numbers of lengths or beginnings that no network issues are no cards, whatever word is before them."""
    assert find(f"visa card {whole(first)}", ("card",)) == []
