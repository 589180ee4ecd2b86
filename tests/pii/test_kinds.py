"""Kinds of PII beyond the five: those included (RIB, CIN, SSN, MAC, API keys), and kinds of one's own with a check."""

from __future__ import annotations

import re

import pytest

import laws
from dataprep.errors import PlanError
from dataprep.pii.kinds import INCLUDED, PIIKind, rib
from dataprep.pii.stage import PII

MOROCCAN, FRENCH = "011780000012345678901234", "20041010050500013M026"
EVERY = ("email", "ip", "iban", "card", "phone", *INCLUDED)


def cleaned(stage, *some):
    rows, _, book = laws.apply(stage, [laws.batch_of(list(some))])
    return [r["text"] for r in rows], dict(book.counts)


def keyed(account: str) -> str:
    """An account with the key that makes it valid, which is searched by trying all."""
    return next(account + key for key in (f"{n:02}" for n in range(1, 98)) if rib(account + key))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"RIB {keyed(MOROCCAN[:22])}.", "RIB <rib>."),
        (f"RIB {' '.join(re.findall('.{1,4}', keyed(MOROCCAN[:22])))} x", "RIB <rib> x"),
        (f"compte {keyed(FRENCH)}", "compte <rib>"),
        ("CIN : AB123456, BK52341", "CIN : <cin>, BK52341"),
        ("رقم البطاقة الوطنية: J412345", "رقم البطاقة الوطنية: <cin>"),
        ("SSN 123-45-6789", "SSN <ssn>"),
        ("eth0 00:1A:2b:3c:4d:5e, 00-1a-2b-3c-4d-5e", "eth0 <mac>, <mac>"),
        (f"key={'AKIA' + 'Q' * 16};{'ghp_' + 'a1' * 18}", "key=<api_key>;<api_key>"),
        ("0612345678 a@b.cd 00:1A:2b:3c:4d:5e\n123-45-6789 0612345678", "<phone> <email> <mac>\n<ssn> <phone>"),
    ],
)
def test_included_kinds(text, left):
    """Each is found if `kinds` names it, and before the default kinds; by default none of them is searched."""
    assert cleaned(PII(kinds=EVERY), text)[0] == [left]
    assert not any(f"<{kind}>" in cleaned(PII(), text)[0][0] for kind in INCLUDED)


@pytest.mark.parametrize(
    "text",
    [
        "000-45-6789 666-45-6789 900-45-6789 123-00-6789 123-45-0000 1123-45-6789", "00:1A:2b:3c:4d", "12:34:56:78:90",
        "00:1A:2b:3c:4d:5e:6f", "00:1A-2b:3c:4d:5e", "model AB123456", "sk-short", "AKIA", "task-12345678901234567890x",
    ],
)  # fmt: skip
def test_what_only_looks_like_them(text):
    """Numbers that are not issued, parts of longer ones, and codes without the label of an identity card."""
    assert cleaned(PII(kinds=tuple(INCLUDED)), text) == ([text], {})


def test_one_wrong_digit_of_an_account():
    """Exactly one key is right, and any changed digit of the account makes it wrong."""
    account = keyed(MOROCCAN[:22])
    wrong = [account[:i] + str((int(account[i]) + 1) % 10) + account[i + 1 :] for i in range(len(account))]
    assert cleaned(PII(kinds="rib"), account, *wrong) == (["<rib>", *wrong], {"pii.rib": 1})


def even(text: str) -> bool:
    """A check of one's own."""
    return int(text[-1]) % 2 == 0


def test_kinds_of_ones_own():
    """A pattern, a check by name or function, a group that is the data; the stage keeps the laws."""
    badge = PIIKind("badge", r"\bEMP[ -][0-9]{4}\b", even)
    plate = PIIKind("plate", r"plate (?P<data>[0-9]+-[A-Z]-[0-9]+)")
    sim = PIIKind("sim", r"\b89[0-9]{17}\b", "luhn")
    stage = PII(kinds=(badge, "email", plate, sim))
    some = ["EMP-1234 EMP 1235", "é EMP-1234, plate 123-A-6, a@b.cd", "8914800000123456788 8914800000123456789", ""]
    left = ["<badge> EMP 1235", "é <badge>, plate <plate>, <email>"]
    texts, counts = cleaned(stage, *some)
    assert texts[:2] == left
    assert texts[2].count("<sim>") == 1
    assert counts == {"pii.badge": 2, "pii.plate": 1, "pii.email": 1, "pii.sim": 1}
    laws.cuts_do_not_matter(stage, laws.batch_of(some), [1, 3])
    laws.key_and_pickle_are_stable(stage)
    assert PII(kinds=badge, action="drop", max_found=0).kinds == (badge,)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (lambda: PIIKind("email", "x"), "name='email' must be lower-case letters"),
        (lambda: PIIKind("A B", "x"), "name='A B' must be lower-case letters"),
        (lambda: PIIKind("a", "("), "pattern='(' must be a valid pattern for Python's re"),
        (lambda: PIIKind("a", "x*"), "matches the empty string; it must match text"),
        (lambda: PIIKind("a", "x", "mod11"), "check='mod11' must be one of luhn, iban, rib, or a function"),
        (lambda: PII(kinds=("mac", PIIKind("mac", "x"))), "two kinds are named 'mac'"),
        (lambda: PII(kinds=("email", 3)), "or PIIKind objects, not 3"),
    ],
    ids=["taken", "name", "pattern", "empty", "check", "twice", "number"],
)
def test_bad_kinds(bad, says):
    """What makes no sense is one sentence before any work."""
    with pytest.raises(PlanError, match=re.escape(says)):
        bad()
