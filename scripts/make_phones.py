"""Write how mobile phones of all countries begin: mobiles.txt in src/dataprep/pii.

Run `python scripts/make_phones.py` with the packages `phonenumbers` and `regex`. Facts alone are taken from the
metadata of phonenumbers (Apache-2.0): the codes of countries, and the numbers of digits and first digits of their
mobile phones. A row of the file is a code, the numbers of digits behind it, and the first three of these digits.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import phonenumbers
import regex

TARGET = Path(__file__).parents[1] / "src" / "dataprep" / "pii" / "mobiles.txt"
FEWEST, MOST = 11, 13  # digits of a number without a +, with the code
FIRST = 3
# Codes whose mobile phones cannot be told from other phones.
LEFT_OUT = (1, 52)


def begins(pattern: regex.Pattern[str], start: str = "") -> Iterator[str]:
    """Yield the first digits of the texts that a pattern matches whole."""
    if pattern.fullmatch(start, partial=True):
        if len(start) == FIRST:
            yield start
        else:
            for digit in "0123456789":
                yield from begins(pattern, start + digit)


def ranges(digits: set[str]) -> str:
    """Write numbers of three digits as ranges: 610-659 680."""
    out: list[list[int]] = []
    for n in sorted(map(int, digits)):
        if out and out[-1][1] == n - 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return " ".join(f"{a:03}" if a == b else f"{a:03}-{b:03}" for a, b in out)


def row(code: int) -> str:
    """Return the row of a code; "" if there are no such mobile phones."""
    regions = map(phonenumbers.PhoneMetadata.metadata_for_region, phonenumbers.region_codes_for_country_code(code))
    mobile = [one.mobile for one in regions if one and one.mobile and one.mobile.possible_length]
    sizes = sorted({n for one in mobile for n in one.possible_length if FEWEST <= len(str(code)) + n <= MOST})
    first = {digits for one in mobile for digits in begins(regex.compile(one.national_number_pattern))}
    return f"{code} {','.join(map(str, sizes))} {ranges(first)}" if sizes and first else ""


def main() -> None:
    """Write the file."""
    codes = sorted(set(phonenumbers.COUNTRY_CODE_TO_REGION_CODE).difference(LEFT_OUT))
    lines = [f"# Mobile phones, from the metadata of phonenumbers {phonenumbers.__version__} (Apache-2.0)."]
    lines += ["# Written by scripts/make_phones.py; do not edit."]
    for text in filter(None, map(row, codes)):
        lines += textwrap.wrap(text, 118, subsequent_indent=" ")
    TARGET.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
