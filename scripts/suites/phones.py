"""Hide the example numbers of 245 regions of libphonenumber, in six sentences and as people write them.

A number counts as found if no digit of it stays visible. National numbers of less than 8 digits are left out, since
they are never searched. The second measure is precision: how many numbers of other kinds stay as they are. The tuned
half are the regions with an even hash.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from dataprep.core.model import batch as B
from dataprep.pii.stage import PII

from .sdists import unpacked

SDIST = "phonenumbers==9.0.43"
FEWEST = 8
SENTENCES = ("call me on {} please", "mon numero est {} merci", "mi número es {} gracias", "{}",
             "Contact: {}, Monday to Friday.", "اتصل بي على {} شكرا")  # fmt: skip
FORMS: dict[str, Callable[[str], str]] = {
    "bare": lambda n: n, "labelled": lambda n: f"tel: {n}", "listed": lambda n: f"{n}, {n}, {n}",
    "glued behind": lambda n: f"{n}stp", "glued with _": lambda n: f"{n}_old", "glued before": lambda n: f"tel{n}",
    "x4587": lambda n: f"{n}x4587", "ext. 12": lambda n: f"{n} ext. 12", "#3": lambda n: f"{n} #3",
    "two blanks": lambda n: n.replace(" ", "  ", 1), "broken": lambda n: n.replace(" ", "\n", 1),
    "label above": lambda n: f"Phone:\n{n}",
}  # fmt: skip
OTHERS = ("price 1,234,567.89 EUR", "on 2024-05-06 12:30:45", "ISBN 978-0-306-40615-7", "at 48.856614, 2.3522219",
          "sha 0612345678abcdef0612", "v10.15.7.12345", "id=0612345678", "order no 12345678901", "12345678kg",
          "pages 1987-1991", "10 000 000 people", "EAN 4006381333931", "IMG_20240506_123045.jpg", "error 0x80070057",
          "6.02214076e23", "scores 21-17 21-19 25-23", "UUID 123e4567-e89b-12d3-a456-426614174000",
          "row 12 345 678 901", "matricule 201908123456", "build 19045.3803.1234", "1 000 000 000", "№ 12345678-9",
          "ref. 2024/123456/789")  # fmt: skip


def measures() -> Iterator[tuple[str, str, str]]:
    """Yield (measure, result on the tuned half, result on the other half)."""
    sys.path.insert(0, unpacked(SDIST))
    library = importlib.import_module("phonenumbers")
    found, total = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    for region in sorted(library.SUPPORTED_REGIONS):
        half = hashlib.sha256(region.encode()).digest()[0] % 2 == 0
        for style, number in _numbers(library, region):
            for form, written in FORMS.items():
                for sentence in SENTENCES:
                    name = f"{style}, {form}"
                    total[name, half] += 1
                    found[name, half] += _is_hidden(sentence, written(number))
    for name in dict.fromkeys(name for name, _ in total):
        tuned, other = (f"{found[name, half] / total[name, half]:.3f}" for half in (True, False))
        yield name, tuned, other
    for name, written in (("", OTHERS), (", broken", [one.replace(" ", "\n", 1) for one in OTHERS])):
        clean = sum(not _phones(sentence.format(one)) for one in written for sentence in SENTENCES)
        yield f"other numbers that stay{name}", f"{clean} of {len(OTHERS) * len(SENTENCES)}", ""


def _numbers(library: Any, region: str) -> Iterator[tuple[str, str]]:
    kinds, formats = library.PhoneNumberType, library.PhoneNumberFormat
    example = library.example_number_for_type(region, kinds.MOBILE) or library.example_number(region)
    if example:
        yield "international", library.format_number(example, formats.INTERNATIONAL)
        yield "E.164", library.format_number(example, formats.E164)
        national = library.format_number(example, formats.NATIONAL)
        if sum(map(str.isdigit, national)) >= FEWEST:
            yield "national", national


def _phones(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of the phones in a text, in characters."""
    batch = B.make([0], [text], "one")
    data = text.encode()
    found = PII(kinds=("phone",))._spans(batch)  # noqa: SLF001 - the stage itself only returns texts
    return [(len(data[: span.start].decode()), len(data[: span.end].decode())) for span in found]


def _is_hidden(sentence: str, written: str) -> bool:
    text = sentence.format(written)
    first = text.index(written)
    seen = set(range(first, first + len(written)))
    for start, end in _phones(text):
        seen -= set(range(start, end))
    return not any(text[i].isdigit() for i in seen)
