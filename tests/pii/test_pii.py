"""PII: what is found and what only looks like it, check digits, a twin without patterns, dropping."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
import twins.pii
from dataprep.errors import PlanError
from dataprep.pii.cards import issued, luhn
from dataprep.pii.kinds import KINDS, mod97
from dataprep.pii.rules import IBAN_LENGTHS
from dataprep.pii.stage import PII


def cleaned(stage, *some):
    rows, _, book = laws.apply(stage, [laws.batch_of(list(some))])
    return [r["text"] for r in rows], dict(book.counts)


PERSONAL = [
    ("Write to Ana.B+news@mail.example.co.uk.", "Write to <email>."),
    ("(josé@exämple.fr), ن@مثال.إختبار؟", "(<email>), <email>؟"),
    ("a@b.cd,e-f@g.hi", "<email>,<email>"),
    ("host 81.2.69.142:8080 is up", "host <ip>:8080 is up"),
    ("from 2a00:1450:4007:80e::200e, ok", "from <ip>, ok"),
    ("[2001:4860:4860:0:0:0:0:8888]", "[<ip>]"),
    ("seen ::ffff:81.2.69.142 again", "seen ::ffff:<ip> again"),
    ("2001:4860::81.2.69.142, [2001::81.2.69.142]", "<ip>, [<ip>]"),
    ("2001:db8::81.2.69.142", "2001:db8::<ip>"),
    ("2001:4860::81.2.69.142.7", "<ip>.2.69.142.7"),
    ("2001:1:2:3:4:5:6::, 2001:1:2:3:4:5:6::7::", "<ip>, 2001:1:2:3:4:5:6::7::"),
    ("@٢١٢٦١٢٣٤٥٦٧٨, (٢١٢) ٥٥٥-٠١٢٣", "@<phone>, <phone>"),
    ("tel. +212 6 12 34 56 78!", "tel. <phone>!"),
    ("0612345678 / 06-12-34-56-78 / 06.12.34.56.78", "<phone> / <phone> / <phone>"),
    ("00212612345678", "<phone>"),
    ("0612345678/0712345678, 06 12 34 56 78 06 12 34 56 79", "<phone>/<phone>, <phone> <phone>"),
    ("0612345678,+212612345678 0612345678", "<phone>,<phone> <phone>"),
    ("e.org/0596008695 is no ISBN", "e.org/<phone> is no ISBN"),
    ("0.0.0.0, 31.31.31.31, 31.31.31.32", "0.0.0.0, 31.31.31.31, <ip>"),
    ("+33 (0)6 12 34 56 78", "<phone>"),
    ("cel 011 15 3856 2047", "cel <phone>"),
    ("tel 0596008695;123-45-67.12 05", "tel <phone>;<phone>"),
    ("tel 0596008695 05.06.2024 ; 123-45-67.12", "tel <phone> 05.06.2024 ; 123-45-67.12"),
    ("tel " + "06 12 34 56 78 05.06.2024 " * 9 + "0612345678", "tel " + "<phone> 05.06.2024 " * 9 + "<phone>"),
    ("tel 12 05 2023, 2023 05 12, 20230512", "tel 12 05 2023, 2023 05 12, 20230512"),
    ("tel 32 05 2023, tel 12 052 023", "tel <phone>, tel <phone>"),
    ("api.whatsapp.com/send?phone=33671842095&text=a", "api.whatsapp.com/send?phone=<phone>&text=a"),
    ("send?phone=%2B33671842095, wa.me/+33671842095", "send?phone=%2B<phone>, wa.me/<phone>"),
    ("call (212) 555-0123 or 212-555-0123", "call <phone> or <phone>"),
    ("هاتف ٠٦١٢٣٤٥٦٧٨ و ۰۲۱ ۱۲۳ ۴۵۶۷۸", "هاتف <phone> و <phone>"),
    ("card 4111 1111 1111 1111 exp", "card <card> exp"),
    ("4111-1111-1111-1111, 4111111111111111", "<card>, <card>"),
    ("3782 822463 10005 and 3056 930902 5904", "<card> and <card>"),
    ("IBAN GB82 WEST 1234 5698 7654 32 BIC", "IBAN <iban> BIC"),
    ("DE89370400440532013000.", "<iban>."),
    ("FR14 2004 1010 0505 0001 3M02 606", "<iban>"),
]
HARMLESS = [
    "version 1.2.3.4 of v10.20.30.40", "1.2.3.4.5", "256.1.1.1", "at 12.10.2024, 10.5.1", "127.0.0.1 and 192.168.1.20",
    "fe80::1, ::1, std::vector<ad::b>, dead::beef", "12:34:56, 2024-01-02T03:04:05", "00:01:23,456 --> 00:01:25,000",
    "2024-01-02 2024-02-03", "01/02/2024 10:30", "05.06.2024 15 persons", "1987 1988 1989 1990 1991",
    "€1,234,567.00 or 1 234 567,89", "12345678901234567890", "0.123456789012", "ISBN 0306406152",
    "ISBN 978-3-16-148410-0", "isbn-13: 9783161484100", "ISBN 0-306-40615-2", "pi is 3.14159265358979",
    "@handle and user @ host, a@b", "@user@example", "x@y.c", "order 4111 1111 1111 1112", "1234 5678 9012 3452",
    "GB82 WEST 1234 5698 7654 33", "ZZ82 WEST 1234 5698 7654 32", "AB12 CD34 EF56", "0 1 2 3 4 5 6 7 8 9",
    "04/09/87 03/09/87  04/09/87", "6.3.1.4. Chapter, section 5.1.4.1",
    "Boston, MA 02110-1301, USA", "e.org/0596008694/re869.html",
    "doi:10.1000/182 arXiv 0705.12345678", "logo image@2x.png", "npm i react@latest.js", "1.5E+12345678 U+30000020",
    "SIRET 012 345 678 00012", "RCS Paris, RC 0123456789", "KvK 01234567", "Company No. 0123456789",
    "Invoice 0123456789", "TVA: 0123456789", "<Buffer 01 02 03 04 05 06 07 08>", "08 07 06 05 04 03 02 01",
    "1234 4111 1111 1111 1111 1234 5678", "212-555-.0123",
    "२०२४-०६-०५, ०५/०६/२०२४", "१२३४५६७८९", "0111523456789", "id=33671842095",
]  # fmt: skip


@pytest.mark.parametrize(("text", "left"), PERSONAL)
def test_what_is_personal_is_replaced(text, left):
    """Every kind, in the forms in which people write it."""
    assert cleaned(PII(), text)[0] == [left]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_looks_like_it_stays(text):
    """Versions, dates, prices, ISBNs, handles, private addresses and wrong check digits are left alone."""
    assert cleaned(PII(), text) == ([text], {})


FORMS = [
    "+212612345678", "+212 6 12 34 56 78", "+212 612-345678", "00212612345678", "00212 6 12 34 56 78",
    "+33 (0)6 12 34 56 78", "+44 20 7946 0958", "+1 (212) 555-0123", "+1-212-555-0123", "1-212-555-0123",
    "1 (212) 555-0123", "(212) 555-0123", "212-555-0123", "212.555.0123", "0612345678", "06 12 34 56 78",
    "06-12-34-56-78", "06.12.34.56.78", "06\u00a012\u00a034\u00a056\u00a078", "06\u202f12\u202f34\u202f56\u202f78",
    "06\u201112\u201134\u201156\u201178", "0612-345678", "(06) 12 34 56 78", "(0612) 345678", "(020) 7946 0958",
    "020 7946 0958", "٠٦١٢٣٤٥٦٧٨", "٠٦ ١٢ ٣٤ ٥٦ ٧٨", "۰۹۱۲۳۴۵۶۷۸۹", "+٢١٢٦١٢٣٤٥٦٧٨", "+55 11 91234-5678",
    "+91 98765 43210", "090-1234-5678", "+86 138 0013 8000", "0151/2345678",
    "०९८३१५४०७२६", "০১৭৪ ৬২০৯৩৮১", "๐๘๑-๖๔๗-๒๐๕๙", "０９０-６１７２-３８４５", "０９０－６１７２－３８４５",
    "+９１ ９７３１५ ४०८२६",
    "（０３）６１７２－３８４５", "06 71 84 20 9５", "06 71\u200b 84 20\u200b9\u200b5", "06\u00ad71842095",
    "0221 15 385-6204", "(0351) 15-385-6204", "011-15-38562047",
]  # fmt: skip
BEFORE = [
    ("", ""), ("call ", "call "), ("tel:", "tel:"), ("(", "("), ("[", "["), ("« ", "« "), ("Author12 ", "Author12 "),
    ("in 2024 ", "in 2024 "), ("room 7: ", "room 7: "), ("apt 12, ", "apt 12, "), ("5/", "5/"), ("a/", "a/"),
    ("at 10:30 ", "at 10:30 "), ("on 05/06/2024 ", "on 05/06/2024 "), ("on 2024-06-05 ", "on 2024-06-05 "),
    ("هاتف ", "هاتف "), ("و", "و"), ("رقم٣ ", "رقم٣ "), ("電話", "電話"), ("号码：", "号码："), ("फोन ", "फोन "),
    ("โทร", "โทร"), ("tel", "tel"), ("Karim_", "Karim_"), ("#", "#"), ("1. ", "1. "), ("0612345679 / ", "<phone> / "),
    ("+212 6 12 34 56 79 / ", "<phone> / "), ("06 12 34 56 79, ", "<phone>, "), ("06 12 34 56 79 ", "<phone> "),
    ("06 12 34 56 79 - ", "<phone> - "), ("4111 1111 1111 1111 ", "<card> "),
]  # fmt: skip
AFTER = [
    ("", ""), (".", "."), (", ok", ", ok"), (")", ")"), (" / 0612345679", " / <phone>"), (" et 2 enfants",) * 2,
    ("؟", "؟"), ("。", "。"), ("-", "-"), (", 2024", ", 2024"),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_no_half_of_a_number_is_left(form):
    """In every position a phone is replaced whole, and nothing else: after letters, digits, brackets, other numbers."""
    texts = [a + form + b for a, _ in BEFORE for b, _ in AFTER]
    assert cleaned(PII(), *texts)[0] == [f"{a}<phone>{b}" for _, a in BEFORE for _, b in AFTER]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("card 4111 1111 1111 1111 12/27", "card <card> 12/27"),
        ("card 4111 1111 1111 1111 2027", "card <card> 2027"),
        ("Author12 4111 1111 1111 1111", "Author12 <card>"),
        ("بطاقة4111111111111111", "بطاقة<card>"),
    ],
)
def test_cards_next_to_digits(text, left):
    """An expiry date or another number next to a card does not hide it."""
    assert cleaned(PII(), text)[0] == [left]


ATOMS = [
    *(text for text, _ in PERSONAL), *HARMLESS, *FORMS, "a@b.cd", "@", ".", ":", "::", " ", "\n", "\r", "-", "+", "0",
    "06", "12", "2001", "db8", "GB", "82", "AB12", "٠٦", "۱", "\u00a0", "\u202f", "\u2011", "é", "ن", "語", "x", "v",
    "tel. ", "هاتف ", "電話", "заказ № ", "8 (495) 555-01-23", "0 (532) 123 45 67", "(11) 91234-5678", "138-0013-8000",
    "978 2 07 036038 4", "12/05/2023", "12 05 2023", "o'", "a@b.cd語", "語a@b.cd", "20 123 456", "01101101",
    "call ", "612 34 56 78", "98765 43210", "71 886 626", "71886626", "9309067189", "212612345678", "76/123 456", "/",
    "rue 12, ", " / ", " ou ", "order ", " ext 12", ", ", "price ", "Karim ", "اتصل ", "شحنتك رقم ", "numéro ", "id=",
    "powerball ", "x: ", " about ", " dh", "25-215-856", "0710 0810 0910", "41 04 33 62 19", "फोन ", "예매번호", "to=",
    "on ", " pe", "12345678",
    "(", ")", "_", "4111", "1111", " 1111", "81.2.69.142", "isbn ",
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(ATOMS), st.text(max_size=3)), max_size=12).map("".join)


@settings(max_examples=250, deadline=None)
@given(st.lists(texts, max_size=5), st.sets(st.sampled_from(KINDS), min_size=1), st.integers(0, 2))
def test_it_equals_the_twin(some, kinds, first):
    """Text and counts are those of a search character by character, in lines that the kernel passes over too."""
    stage, batch = PII(kinds=tuple(kinds), replace="<é{kind}>"), laws.batch_of(some).slice(first)
    expected = [twins.pii.pii(t, stage) for t in some[first:]]
    rows, _, book = laws.apply(stage, [batch])
    assert [r["text"] for r in rows] == [text for text, _ in expected]
    counts = {kind: sum(c[kind] for _, c in expected) for kind in KINDS}
    assert book.counts == {f"pii.{kind}": n for kind, n in counts.items() if n}


@given(st.integers(0, 10**16), st.integers(13, 19))
def test_card_check_digit(number, size):
    """Exactly one last digit is right, and it is the twin's."""
    body = str(number)[: size - 1].rjust(size - 1, "4")
    right = [d for d in "0123456789" if luhn(body + d)]
    assert right == [d for d in "0123456789" if twins.pii.luhn(body + d)]
    assert len(right) == 1


@given(st.sampled_from(sorted(IBAN_LENGTHS)), st.data())
def test_iban_check_digits_and_lengths(country, data):
    """The computed check digits are found, with and without groups; one character less, more or changed is not."""
    n = IBAN_LENGTHS[country] - 4
    account = data.draw(
        st.from_regex(f"[0-9A-CX-Z]{{{n - 1}}}[0-9]", fullmatch=True, alphabet=st.characters(codec="ascii"))
    )
    iban = country + twins.pii.iban_check(f"{country}00{account}") + account
    assert mod97(iban)
    stage = PII(kinds=("iban",))
    groups = " ".join(iban[i : i + 4] for i in range(0, len(iban), 4))
    assert cleaned(stage, iban, groups)[0] == ["<iban>"] * 2
    changed = iban[:-1] + str((int(iban[-1]) + 1) % 10)
    assert cleaned(stage, changed, iban[:-1], iban + "0") == ([changed, iban[:-1], iban + "0"], {})


def test_matches_of_one_kind_do_not_overlap():
    """An account number that ends with another one is one match, and later texts do not change; so for IPs."""
    inner = "GB82 WEST 1234 5698 7654 32"
    account = f"00000{inner.replace(' ', '')}"
    text = f"MT{twins.pii.iban_check(f'MT00{account}')} 00000 {inner}"
    assert cleaned(PII(), text, "and", inner) == (["<iban>", "and", "<iban>"], {"pii.iban": 2})
    assert cleaned(PII(), "2001::81.2.69.142", "and") == (["<ip>", "and"], {"pii.ip": 1})


def test_card_beginnings():
    """The edges of the ranges that networks give out."""
    inside = ["4" * 16, "51" * 8, "55" * 8, "2221" * 4, "2720" * 4, "3528" * 4, "6011" * 4, "34" * 7 + "0", "36" * 7]
    outside = ["50" * 8, "56" * 8, "2220" * 4, "2721" * 4, "3527" * 4, "3590" * 4, "35" * 7 + "0", "31" * 7, "6" * 16]
    assert [issued(n) for n in inside + outside] == [True] * len(inside) + [False] * len(outside)


def test_phone_lengths():
    """National numbers have 9 to 11 digits, international ones 8 to 15."""
    national = ["0" + "1" * n for n in range(7, 12)]
    assert [t == "<phone>" for t in cleaned(PII(), *national)[0]] == [False, True, True, True, False]
    world = ["+49" + "1" * n for n in (5, 6, 13, 14)]
    assert [t == "<phone>" for t in cleaned(PII(), *world)[0]] == [False, True, True, False]


def test_kinds_and_replacement():
    """Only the kinds asked for are touched; the replacement may be empty, or absent to count only."""
    text = "a@b.cd 81.2.69.142"
    assert cleaned(PII(kinds="email", replace=""), text) == ([" 81.2.69.142"], {"pii.email": 1})
    assert cleaned(PII(replace=None), text) == ([text], {"pii.email": 1, "pii.ip": 1})
    assert PII(kinds=["ip", "email"]) == PII(kinds=("email", "ip"))


def test_dropping_at_the_threshold():
    """More finds than max_found drop; by default "drop" allows none and "replace" drops nothing."""
    some = ["none", "a@b.cd", "a@b.cd e@f.gh"]
    for stage, left in [
        (PII(action="drop"), ["none"]),
        (PII(action="drop", max_found=1), some[:2]),
        (PII(max_found=1), ["none", "<email>"]),
        (PII(), ["none", "<email>", "<email> <email>"]),
    ]:
        assert cleaned(stage, *some) == (left, {"pii.email": 3})
    _, drops, book = laws.apply(PII(action="drop"), [laws.batch_of(some)])
    assert [d["reason"] for d in drops] == ["pii", "pii"]
    assert book.cut == 0


@settings(max_examples=25, deadline=None)
@given(st.lists(texts, min_size=1, max_size=6))
def test_laws(some):
    """Batch cuts do not matter, books balance, and the stage travels with its key."""
    for stage in (PII(), PII(max_found=1), PII(action="drop")):
        laws.cuts_do_not_matter(stage, laws.batch_of(some), [1, 3])
        laws.books_balance(stage, laws.batch_of(some))
        laws.key_and_pickle_are_stable(stage)


@pytest.mark.parametrize(
    "part", ["a", "1", "a.", "1.", "a-", "06 ", "a:", "1:", "GB82", "a@", "a@b.", "+1 ", "é", "1-"]
)
def test_long_runs_take_linear_time(part):
    """A line of one thing repeated ends: no pattern looks at it again from every place."""
    text = part * (200_000 // len(part)) + "@"
    assert cleaned(PII(), text)[0]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"kinds": ("email", "names")}, "card, phone, rib, cin, ssn, mac, api_key, or PIIKind objects, not 'names'"),
        ({"kinds": ()}, "or PIIKind objects, not nothing"),
        ({"action": "mask"}, 'must be "replace" or "drop"'),
        ({"replace": 3}, "replace=3 must be a string"),
        ({"replace": "<{kin}>"}, "names 'kin'; its only field must be {kind}"),
        ({"max_found": -1}, "max_found=-1 must be a whole number of at least 0"),
    ],
)
def test_bad_parameters(bad, says):
    """What makes no sense is one sentence before any work."""
    with pytest.raises(PlanError, match=re.escape(says)):
        PII(**bad)
