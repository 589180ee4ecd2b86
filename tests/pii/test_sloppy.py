"""Phones as people type them: emoji and labels at the digits, words between two numbers, verbs of noting down."""

from __future__ import annotations

import pytest

import dataprep as dp
from dataprep.pii.rules import find
from twins.pii import pii

PHONES = [
    ("Tel.:0298765432Fax:0298765433E-mail:info@b.example", "Tel.:<>Fax:<>E-mail:info@b.example"),
    ("Tél 02.98.76.54.32Fax 02.98.76.54.33", "Tél <>Fax <>"), ("тел:89031234567Факс:89031234568", "тел:<>Факс:<>"),
    ("هاتف:0522334455فاكس:0522334456", "هاتف:<>فاكس:<>"),
    ("☎️612345678🔥712345678🔥 pedidos", "☎️<>🔥<>🔥 pedidos"), ("📞 612345678 ✅ 712345678", "📞 <> ✅ <>"),
    ("📱٦١٢٣٤٥٦٧٨", "📱<>"), ("☎️+34 612 345 678🔥712345678", "☎️<>🔥<>"),
    ("apunta: 612 345 678 o si no 912345678 jaja", "apunta: <> o si no <> jaja"),
    ("appelle le 0612345678 ou sinon 71234567", "appelle le <> ou sinon <>"),
    ("anota aí 11987654321 bjs", "anota aí <> bjs"), ("запиши 9031234567", "запиши <>"),
    ("meine neue nr 015712345678 lg", "meine neue nr <> lg"),
    ("qualquer dúvida, 226 056 129. Ana", "qualquer dúvida, <>. Ana"),
    ("g changé de num : 06 12 34 56 78 l'ancien", "g changé de num : <> l'ancien"), ("num:0612345678", "num:<>"),
]  # fmt: skip
OTHERS = [
    "num: 12345678", '"num": "0612345678"', "X0612345678Fax", "012345678F", "🔥612345679🔥 likes",
    "anota o pedido 11987654", "neue Bestellung nr 015712345678", "apunta el código 61234567",
    "iPhone 📱 modelo 12345678", "☎️ 12.05.2023", "serial 612345678F",
]  # fmt: skip


def hidden(text: str) -> str:
    """Return a line in which each phone is <>."""
    for m in reversed(find(text, ("phone",))):
        text = f"{text[: m.start]}<>{text[m.end :]}"
    return text


@pytest.mark.parametrize(("text", "left"), PHONES, ids=range(len(PHONES)))
def test_phones(text, left):
    """Two labels without a space, emoji as a label and between numbers, "or else", verbs, and a new number."""
    assert hidden(text) == left
    assert pii(text, dp.PII(kinds="phone", replace="<>"))[0] == left


@pytest.mark.parametrize("text", OTHERS, ids=range(len(OTHERS)))
def test_other_numbers(text):
    """Keys of code, letters behind numbers without a label, orders, codes and dates stay."""
    assert hidden(text) == text
    assert pii(text, dp.PII(kinds="phone"))[0] == text


@pytest.mark.parametrize("name", ["AssemblyVersion", "fileversion", "Version"])
def test_names_that_end_in_version(name):
    """Four numbers behind such a name are no address; behind another name they are one."""
    assert find(f'{name}("66.14.208.2")', ("ip",)) == []
    assert len(find('Server("66.14.208.2")', ("ip",))) == 1
