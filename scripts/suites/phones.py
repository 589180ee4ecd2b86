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
    "behind a word": lambda n: f"merci{n}",
    "x4587": lambda n: f"{n}x4587", "ext. 12": lambda n: f"{n} ext. 12", "#3": lambda n: f"{n} #3",
    "two blanks": lambda n: n.replace(" ", "  ", 1), "broken": lambda n: n.replace(" ", "\n", 1),
    "label above": lambda n: f"Phone:\n{n}",
    "list below a label": lambda n: f"Phones:\n{n}\n\n- {n}\n* {n}\n\u2022 {n}\n1. {n}\na) {n}\nAda: {n}\n{n} | {n}",
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
    cases = list[tuple[str, bool, str, str]]()  # name, whether it is tuned, text, number as written
    for region in sorted(library.SUPPORTED_REGIONS):
        half = hashlib.sha256(region.encode()).digest()[0] % 2 == 0
        for style, number in _numbers(library, region):
            for form, written in FORMS.items():
                name, one = f"{style}, {form}", written(number)
                cases += [(name, half, sentence.format(one), one) for sentence in SENTENCES]
    found, total = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    for (name, half, text, one), spans in zip(cases, _phones([case[2] for case in cases]), strict=True):
        total[name, half] += 1
        found[name, half] += _is_hidden(text, one, spans)
    for name in dict.fromkeys(name for name, _ in total):
        tuned, other = (f"{found[name, half] / total[name, half]:.3f}" for half in (True, False))
        yield name, tuned, other
    for name, written in (("", OTHERS), (", broken", [one.replace(" ", "\n", 1) for one in OTHERS])):
        texts = [sentence.format(one) for one in written for sentence in SENTENCES]
        clean = sum(not spans for spans in _phones(texts))
        yield f"other numbers that stay{name}", f"{clean} of {len(texts)}", ""


def _numbers(library: Any, region: str) -> Iterator[tuple[str, str]]:
    kinds, formats = library.PhoneNumberType, library.PhoneNumberFormat
    example = library.example_number_for_type(region, kinds.MOBILE) or library.example_number(region)
    if example:
        yield "international", library.format_number(example, formats.INTERNATIONAL)
        yield "E.164", library.format_number(example, formats.E164)
        national = library.format_number(example, formats.NATIONAL)
        if sum(map(str.isdigit, national)) >= FEWEST:
            yield "national", national


def _phones(texts: list[str]) -> list[list[tuple[int, int]]]:
    """Return (start, end) of the phones in each text, in characters."""
    batch = B.make(list(range(len(texts))), texts, "phones")
    offsets, data = B.buffers(batch)
    found = [list[tuple[int, int]]() for _ in texts]
    for span in PII(kinds=("phone",))._spans(batch):  # noqa: SLF001 - the stage itself only returns texts
        first = offsets[span.row]
        a, b = (len(data[first:at].tobytes().decode()) for at in (span.start, span.end))
        found[span.row].append((a, b))
    return found


def _is_hidden(text: str, written: str, spans: list[tuple[int, int]]) -> bool:
    """Return whether no digit of the number that is written in a text is outside some spans, except list marks (1.)."""
    first = text.index(written)
    seen = set(range(first, first + len(written))).difference(*(range(a, b) for a, b in spans))
    return not any(text[i].isdigit() and text[i + 1 : i + 3] != ". " for i in seen)
