"""Known numbers in texts: prefixes dialled inside a country, digits of every script, and signs between the digits."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

import dataprep as dp
import laws
from dataprep.messages.names.phones import Phones, phone, same_phone
from dataprep.messages.names.stage import Pseudonyms
from dataprep.unicode.digits import western
from dataprep.unicode.text import DECIMAL, classes

RUSSIAN, FRENCH, GERMAN, INDIAN = "+7 918 405-27-63", "+33 6 71 84 20 95", "+49 172 6093381", "+91 97315 40826"
FORMS = {
    RUSSIAN: [
        "89184052763", "8 918 405 27 63", "8(918)405-27-63", "8-918-405-27-63", "8 (918) 405-27-63", "+7(918)4052763",
        "7 918 405 27 63", "9184052763", "+7 8 918 405 27 63", "8 10 7 918 405 27 63", "0079184052763",
        "wa.me/79184052763", "８（９１８）４０５－２７－６３",
    ],
    FRENCH: [
        "+33(0)671842095", "+33(0) 6 71 84 20 95", "0033(0)671842095", "+33/0671842095", "+33 0671842095",
        "+33 (0)6 71 84 20 95", "wa.me/0671842095", "wa.me/33671842095", "33(0)671842095", "(0033) 671842095",
        "api.whatsapp.com/send?phone=33671842095", "send?phone=%2B33671842095", "send?phone=0671842095",
        "06_71_84_20_95", "06*71*84*20*95", "06,71,84,20,95", "06, 71, 84, 20, 95", "06~71~84~20~95",
        "06 | 71 | 84 | 20 | 95", "".join(f"{d}\ufe0f\u20e3" for d in "0671842095"),
        "0\u200b6\u200b7\u200b1\u200b8\u200b4\u200b2\u200b0\u200b95",
        "06 71 84\n20 95", "0671\r\n842095", "06:71:84:20:95", "06;71;84;20;95", "06…71…84…20…95",
        "06\u300071\u300084\u300020\u300095",
        "06 71 84 20 9５", "011 33 6 71 84 20 95",
    ],
    GERMAN: ["+49(0)172/6093381", "0172/6093381", "0049 (0) 172 6093381", "(0172) 6093381", "1726093381"],
    INDIAN: ["०९७३१५४०८२६", "९७३१५ ४०८२६", "+९१ ९७३१५ ४०८२६", "০৯৭৩১৫৪০৮২৬", "٠٩٧٣١٥٤٠٨٢٦", "097315 40826"],
    "+66 86 417 2059": ["๐๘๖๔๑๗๒๐๕๙", "๐๘๖-๔๑๗-๒๐๕๙"],
    "+81 90 6172 3845": ["０９０-６１７２-３８４５", "０９０－６１７２－３８４５", "+81(0)90-6172-3845"],
    "+36 30 591 7264": ["06 30 591 7264", "06305917264", "+36 (30) 591-7264", "06-30/591-7264"],
    "+375 29 604 18 53": ["80296041853", "8 029 604-18-53", "8 (029) 604-18-53", "+375(29)6041853"],
    "+1 312 605 4178": ["1-312-605-4178", "13126054178", "(312) 605-4178", "1 (312) 605.4178"],
    "+54 9 11 3856 2047": ["011 15 3856 2047", "+54 11 3856 2047", "11 3856 2047"],
    "+55 11 98765-4321": [
        "015 11 98765-4321", "0 21 11 98765-4321", "(041 11) 98765-4321", "(11) 8765-4321", "031 11987654321",
        "0xx11 98765-4321", "0 (XX) 11 98765-4321", "(0xx11) 98765-4321", "①①⑨⑧⑦⑥⑤④③②①", "¹¹⁹⁸⁷⁶⁵⁴³²¹",
    ],
    "11 98765-4321": ["+55 11 98765-4321", "0151198765-4321"],
    "+39 06 4817 2950": ["06 4817 2950", "+39 0648172950"],
    "8 918 405 27 63": ["+7 918 405-27-63", "89184052763", "9184052763"],
    "06 71 84 20 95": ["+33 6 71 84 20 95", "+33(0)671842095", "wa.me/33671842095", "wa.me/0671842095", "671842095"],
    "+33 06 71 84 20 95": ["06 71 84 20 95", "+33671842095"],
}  # fmt: skip
OTHERS = {
    RUSSIAN: ["88184052763", "+4 918 405 27 64", "+33 918 405 27 63", "1891840527630", "389184052763"],
    FRENCH: ["+212 671842095", "+49(0)671842095", "10671842095", "06718420951", "06,71,84,20,96", "67,184,209"],
    "06 71 84 20 95": ["2095", "1842095,", "71842095"],
}


def test_of_a_number_inside_another_the_longer_one_counts():
    """Both are known; a number that only overlaps the one before it begins after that."""
    known = Phones(phone(one) for one in ("+65 81234567", "+86 138 1234 5678", "+33 6 71 84 20 95"))
    text = "013 81 23 45 67 8, 8123 4567, 06 71 84 20 95 81234567"
    found = [(text[a:b], number) for a, b, number in known.find(text)]
    assert found == [("013 81 23 45 67 8", "8613812345678"), ("8123 4567", "6581234567"),
                     ("06 71 84 20 95", "33671842095"), ("81234567", "6581234567")]  # fmt: skip


@pytest.mark.parametrize(("known", "form"), [(known, form) for known in FORMS for form in FORMS[known]], ids=ascii)
def test_a_known_number_is_hidden_whole(known, form):
    """In every form, alone and among other text, no digit of it is left."""
    phones = Phones([phone(known)])
    for text in (form, f"appelle {form}, ok", f"({form})", f"12 {form}. 7"):
        found = list(phones.find(text))
        assert [number for _, _, number in found] == [phone(known)], text
        left = text.replace(form, "", 1)
        start, end, _ = found[0]
        rest = western(text[:start] + text[end:])
        assert [c for c in rest if c.isdecimal()] == [c for c in left if c.isdecimal()], text


@pytest.mark.parametrize(("known", "other"), [(known, other) for known in OTHERS for other in OTHERS[known]])
def test_other_numbers_are_not_taken_for_it(known, other):
    """Numbers of other countries, longer ones and other digits."""
    assert list(Phones([phone(known)]).find(other)) == []


def test_the_stage_hides_every_form(tmp_path):
    """Pseudonyms replaces each of them by its author's pseudonym, in the text, over a line break too."""
    data = [
        {"text": f"ok {form} ok", "chat": "a", "author": known, "kind": "text"}
        for known in (RUSSIAN, FRENCH, GERMAN, INDIAN) for form in FORMS[known]
    ]  # fmt: skip
    docs = laws.dataset_of(tmp_path, data, strings=("chat", "author", "kind"))
    made = dp.Pipeline(Pseudonyms(key=b"a key of enough bytes", pii=True)).run(docs, out=str(tmp_path / "out")).table()
    texts = [western(text) for text in made["text"].to_pylist()]
    assert not [text for text in texts if any(c.isdecimal() for c in text)]
    assert all(row["author"] in row["text"] for row in made.to_pylist())


def test_domestic_and_international_forms_are_the_same_number():
    """Also with Russia's 8 and Hungary's 06; a number of another country is another."""
    assert same_phone(phone("8 918 405 27 63"), phone(RUSSIAN))
    assert same_phone(phone("06 30 591 7264"), phone("+36 30 591 7264"))
    assert not same_phone(phone("+34 671842095"), phone(FRENCH))


def test_digits_of_every_script():
    """Each decimal digit has the value that Unicode gives it."""
    every = map(chr, np.flatnonzero(classes() & DECIMAL).tolist())
    digits = "".join(c for c in every if c.isdecimal())  # an older Python knows fewer scripts
    assert len(digits) > 600
    assert western(digits) == "".join(str(unicodedata.decimal(c)) for c in digits)
