"""Names and numbers next to each other: whatever the script, the sign between them and the shape, neither is left."""

from __future__ import annotations

import itertools
import re

import pyarrow as pa
import pytest

import dataprep as dp
import laws
from dataprep.errors import PlanError
from dataprep.messages.names.consent import Consent
from dataprep.messages.names.phones import phone, same_phone
from dataprep.messages.names.stage import Pseudonyms
from dataprep.pii.stage import PII

KEY = b"a key of enough bytes"
NAMES = (
    "Ilse Varga", "Zoé", "ماريك الفاسي", "Νίκος", "Борис", "דוד לוי", "李小龙", "आशा", "O'Brien", "+212 6 11 22 33 44",
)  # fmt: skip
NUMBERS = (
    "06 12 34 56 78", "0612345678", "+212 6 12 34 56 78", "+33612345678", "00212612345678", "٠٦١٢٣٤٥٦٧٨",
    "4111 1111 1111 1111", "4111111111111111", "5500-0000-0000-0004", "MA64011519000001205000534921", "41.92.12.7",
    "a.b@example.org",
)  # fmt: skip
SHAPES = (
    "{0} {1}", "{0}: {1}", "{0}, {1}", "{0}-{1}", "{0}/{1}", "{0}. {1}", "{0}\u00a0{1}", "{0}\u202f{1}", "{0}({1})",
    "{0}\n{1}", "{0} = {1}", "{0}'s {1}", "@{0} {1}", "@\u2068{0}\u2069 {1}", "{1} {0}", "{1}, {0}", "{1}-{0}",
    "{1}: {0} {1}",
    "{0} {0} {1}", "{0} {1} {0} {1}", "{0},{1}", "{0}  +{0} {1}", "call {1} or {0} {1} now", "{0}:{1}", "{0}'s: {1} ok",
)  # fmt: skip
DIGITS = re.compile(r"\d")


def rows():
    """Every name with every number in every shape, from one of the people in one chat."""
    return [
        {"text": shape.format(name, number), "chat": "a", "author": name, "kind": "text"}
        for name, number, shape in itertools.product(NAMES, NUMBERS, SHAPES)
    ]


def texts_of(folder, *stages):
    """Return the texts after some stages."""
    folder.mkdir()
    docs = laws.dataset_of(folder, rows(), strings=("chat", "author", "kind"), rows_per_batch=2000)
    return dp.Pipeline(*stages).run(docs, out=str(folder / "out")).table()["text"].to_pylist()


@pytest.mark.parametrize("stages", [(Pseudonyms(key=KEY, pii=True),), (Pseudonyms(key=KEY), PII())], ids=["one", "two"])
def test_no_number_is_left_next_to_a_name(tmp_path, stages):
    """In one pass, or pseudonyms first and `PII` after them: no digit of a number and no name is left."""
    made = texts_of(tmp_path / "made", *stages)
    assert len(made) == len(rows())
    left = [(row["text"], text) for row, text in zip(rows(), made, strict=True) if DIGITS.search(text)]
    assert not left, f"{len(left)} of {len(made)}: {left[:5]}"
    names = [word for name in NAMES if name[0] != "+" for word in name.split()]
    assert not [(name, text) for text in made for name in names if name in text]


@pytest.mark.parametrize("text", [
    "0611223344", "06 11 22 33 44", "+212 611-223344", "00212611223344", "212611223344", "+212 (0) 611 22 33 44",
    "06\u00a011\u00a022\u00a033\u00a044", "06.11.22.33.44", "٠٦١١٢٢٣٣٤٤", "6 11 22 33 44",
    "wa.me/212611223344", "tel:0611223344.",
])  # fmt: skip
def test_a_known_number_is_its_person_in_any_form(tmp_path, text):
    """The number of an author is that author's pseudonym, however it is written, and a longer number is not."""
    people = [("a", "+212 6 11 22 33 44", text), ("a", "Teo", "90611223344 06112233449 9 06 11 22 33 449 +33611223344")]
    data = [{"text": text, "chat": chat, "author": author, "kind": "text"} for chat, author, text in people]
    docs = laws.dataset_of(tmp_path, data, strings=("chat", "author", "kind"))
    made = dp.Pipeline(Pseudonyms(key=KEY)).run(docs, out=str(tmp_path / "out")).table().to_pylist()
    assert made[0]["author"] in made[0]["text"]
    assert not DIGITS.search(made[0]["text"])
    assert made[0]["author"] not in made[1]["text"]


def test_no_pseudonym_has_a_digit():
    """Of a person or a chat; and a form with a digit is rejected."""
    from dataprep.messages.names.pseudonyms import _pseudonyms

    names = _pseudonyms(KEY, "person", {f"name {i}" for i in range(3000)}, "Person-{}", 2)
    assert len(set(names.values())) == 3000
    assert not [name for name in names.values() if DIGITS.search(name)]
    with pytest.raises(PlanError, match="without digits"):
        Pseudonyms(pseudonym_format="P{}-1")


def test_phones_are_compared_by_their_digits():
    """National and international forms are equal, other numbers and names are not."""
    forms = ("+212 6 11 22 33 44", "0611-22-33-44", "00212 611223344", "٠٦١١٢٢٣٣٤٤",
             "\u202a+212\u00a0611\u2011223344\u202c")  # fmt: skip
    assert all(same_phone(phone(one), phone(other)) for one in forms for other in forms if "+" in one + other)
    assert not same_phone(phone("0611223345"), phone(forms[0]))
    assert [phone(name) for name in ("Ilse", "Ilse 2", "12345", "Ilse 0611223344", "", "()")] == [""] * 6


@pytest.mark.parametrize(
    ("full", "national", "other"),
    [
        ("+33 6 12 34 56 78", "06 12 34 56 78", "12345678"),
        ("+212 612 345 678", "0612345678", "12 612 345 678"),
        ("+1 212 555 0123", "(212) 555-0123", "12 555 0123"),
        ("+39 06 123 4567", "06 123 4567", "123 4567"),
    ],
)
def test_a_national_number_is_whole(full, national, other):
    """The number without the country's code is the same; the end of it is not."""
    assert same_phone(phone(full), phone(national))
    assert not same_phone(phone(full), phone(other))
    refused = Consent(refused=[other])
    assert refused.reasons(pa.array([full])).null_count == 1
    assert Consent(refused=[national]).reasons(pa.array([full])).null_count == 0
