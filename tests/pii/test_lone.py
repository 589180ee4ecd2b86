"""Phones without + and 0 by their sentence, in lists and in tables; what is counted stays."""

from __future__ import annotations

import pytest

from dataprep.pii.bare import is_sure
from dataprep.pii.rules import find


def hidden(text: str) -> str:
    """Return a line in which each phone is <>."""
    for m in reversed(find(text, ("phone",))):
        text = f"{text[: m.start]}<>{text[m.end :]}"
    return text


@pytest.mark.parametrize(("text", "left"), [
    ("Plombier Karim 71 886 626", "Plombier Karim <>"), ("c'est noté, 98123456 merci", "c'est noté, <> merci"),
    ("Rahul plumber 9309067189", "Rahul plumber <>"), ("Sara 9479 5112", "Sara <>"), ("Jad 71-860038", "Jad <>"),
    ("the guard (2125550123) is in", "the guard (<>) is in"), ("reach her at 70/501 321", "reach her at <>"),
    ("Taxi Tunis 25-215-856/90.046.050 jour et nuit", "Taxi Tunis <>/<> jour et nuit"), ("Ali 22 71 08 64", "Ali <>"),
    ("send a message on 9363 5650 please", "send a message on <> please"),
    ("Jo, 71 886 626 il répond", "Jo, <> il répond"), ("kalmouni 3al 23 530 212 ba3d", "kalmouni 3al <> ba3d"),
    ("اتصل بالرقم 98258498", "اتصل بالرقم <>"), ("04 555 123 ext. 12", "<>"),
    ("4555 1230 ext. 12", "<>"), ("637737309 poste 14", "<>"),
    ("Ask Julie (0812-2335-6972)", "Ask Julie (<>)"), ("Zoé 03 599 566", "Zoé <>"), ("zap 98765-4321", "zap <>"),
    ("Tel: 98 123 456/98 123 457", "Tel: <>/<>"), ("063-617-0911/060-726-5359", "<>/<>"),
    ("0414 575714/0414 456696", "<>/<>"), ("0773 010718/0596 008694", "<>/<>"),
    ("06 12 34 05 78 06 12 34 56 79", "<> <>"), ("Taxi 0160 / 4874861", "Taxi <>"),
    ("| Carlos | 699 740 232 | 15:00 | 12.50 |", "| Carlos | <> | 15:00 | 12.50 |"),
    ("rue 12, 2610-284.073, κόστος", "rue 12, <>, κόστος"), ("00420 221 627 978, z ČR 221 214 960", "<>, z ČR <>"),
    ("Lycée : 27 21 71 08 31", "Lycée : <>"),
], ids=range(29))  # fmt: skip
def test_phones(text, left):
    """Behind names, in brackets, with extensions, in lists with slashes, and as another number of the line."""
    assert hidden(text) == left


@pytest.mark.parametrize("text", [
    "il a vendu 71 886 626 disques", "environ 98123456", "Recaudó 742.821.167.", "tweet 8283312581",
    "jackpot 77715572", "Siparişiniz (78993126906 numaralı sipariş)", "Highscore: 84.341.354 Punkte", "x = 98123456",
    "Ali 71 886 600", "Ali 98123456 en 2024", "شحنتك رقم 657999449649 خرجت",
    "Powerball 12/04/2026: 07 16 36 49 61 PB 22", "41 04 33 12 19", "Seattle, WA 98195-2350",
    "PO, CA 94129-0244, phone: 2", "boleto 34191.79001 01043.510047 91020.150008", "Ali 12345678",
    "0605 0635; 0710 0810 0910 - Sat", "nº 0018247-73.2022.8.26.0100, 3", "numer: WA4M/00380247/5",
    "ДК 021:2015, 09130000-9", "κωδ. προϊόντος 045-4471-997", "id 6F12A1B2-9369-4C3D-9E8F-905417985042",
    "e.org/0596008694/re869.html", "bac numéro 29494809", "P.O. Box 30352-00100 Nairobi, Tel: 12",
    "Ali 98123456 | 12", "entre 68 829 369 et 32 288 101", "71 886 626",
    "nickel 2345 2365 a tonne",
], ids=range(30))  # fmt: skip
def test_what_is_counted_stays(text):
    """Amounts, scores, codes, cases, post codes, timetables and draws, and a number with no word at all."""
    assert hidden(text) == text


@pytest.mark.parametrize("number", ["212612345678", "24106031234", "50762123456", "393123456789", "49 15123456789"])
def test_mobile_phones_with_a_country_alone(number):
    """The code of a country and the beginning of its mobile phones show a phone without a +."""
    assert hidden(f"Karim {number} hier") == "Karim <> hier"


@pytest.mark.parametrize(
    "number", ["33112345678", "212812345678", "391234567890", "99915123456789", "44 7123456", "22 7911123456"]
)
def test_other_compact_numbers(number):
    """A fixed line, too few digits and a number behind another are no such phone."""
    assert not is_sure(number, number.replace(" ", ""))
