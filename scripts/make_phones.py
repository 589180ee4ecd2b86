"""Write the telephone plans of all countries: plans.txt and mobiles.txt in src/dataprep/pii.

Run `python scripts/make_phones.py` with the packages `phonenumbers` and `regex`; it takes minutes. Facts alone are
taken from the metadata of phonenumbers (Apache-2.0): codes of countries, numbers of digits, trunk prefixes, first
digits, and sizes of groups.

- plans.txt: the forms of numbers, as `dataprep.pii.plans.form_of` writes them, each with the first three digits of the
  numbers that are written so in any country: in their groups, without or with the trunk prefix, with the area code in
  brackets, with a slash behind it, and without any signs.
- mobiles.txt: the code of a country, the numbers of digits of its mobile phones, and the first three of these digits.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import phonenumbers
import regex

TARGET = Path(__file__).parents[1] / "src" / "dataprep" / "pii"
FEWEST, FEWEST_MOBILE, MOST = 8, 11, 13  # digits of a number without a +; a mobile phone has the code of its country
FIRST = 3
# Codes whose mobile phones cannot be told from other phones.
LEFT_OUT = (1, 52)
GROUP = re.compile(r"\(\\d(?:\{(\d+)(?:,(\d+))?\})?\)")


def begins(checks: list[Callable[[str], object]], size: int, start: str = "") -> Iterator[str]:
    """Yield the first digits of numbers, as many as `size`; each check says whether digits may begin a number."""
    if all(check(start) for check in checks):
        if len(start) == size:
            yield start
        else:
            for digit in "0123456789":
                yield from begins(checks, size, start + digit)


def whole(pattern: str) -> Callable[[str], object]:
    """Return a check whether digits begin a text that a pattern matches whole."""
    compiled = regex.compile(pattern)
    return lambda digits: compiled.fullmatch(digits, partial=True)


def leading(pattern: str) -> Callable[[str], object]:
    """Return a check whether digits begin a number that begins with what a pattern matches."""
    compiled = regex.compile(pattern)
    return lambda digits: compiled.match(digits, partial=True)


def metadata(region: str) -> Any:
    """Return the metadata of a region."""
    return phonenumbers.PhoneMetadata.metadata_for_region(region)


def written(groups: list[str], trunk: str) -> Iterator[str]:
    """Yield the ways in which people write a number, from its groups."""
    first, rest = groups[0], groups[1:]
    yield from ("".join(groups), trunk + "".join(groups), " ".join(groups), trunk + " ".join(groups))
    if trunk:
        yield f"{trunk} {' '.join(groups)}"
    if rest:
        apart, joined = " ".join(rest), "".join(rest)
        for area, number in itertools.product((first, trunk + first), (apart, joined)):
            yield from (f"{area} {number}", f"{area}/{number}", f"({area}) {number}")
        if trunk:
            yield from (f"{trunk} ({first}) {apart}", f"({trunk} {first}) {apart}")


def sizes(pattern: str, lengths: set[int]) -> Iterator[tuple[int, ...]]:
    """Yield the sizes of the groups of a pattern whose sum is a number of digits that numbers have."""
    choices = [range(int(a or 1), int(b or a or 1) + 1) for a, b in GROUP.findall(pattern)]
    yield from (some for some in itertools.product(*choices) if sum(some) in lengths)


def form(text: str) -> str:
    """Return the form of a number, in which each n is a digit."""
    text = re.sub("[0-9n]+", lambda m: f"{len(m[0]):x}", text)
    return text.replace(") ", ")").replace(" (", "(").replace(" ", "-")


def forms_of(region: str) -> Iterator[tuple[str, str]]:
    """Yield (form, first digits) of the numbers of a region."""
    own = metadata(region)
    shared = own if own.number_format else metadata(phonenumbers.region_code_for_country_code(own.country_code))
    lengths, general = set(own.general_desc.possible_length), whole(own.general_desc.national_number_pattern)
    for one in shared.number_format:
        first = list(begins([general, *map(leading, one.leading_digits_pattern[-1:])], FIRST + 1))
        trunk = re.sub(r"\\1|[^0-9]", "", one.national_prefix_formatting_rule or "") or own.national_prefix or ""
        inner = "15" if " 15" in one.format else ""  # behind the area code of mobile phones in Argentina
        for size in sizes(one.pattern, lengths):
            groups = ["n" * n for n in (size[1:] if inner else size)]
            for text in written([groups[0], inner, *groups[1:]] if inner else groups, trunk):
                for start in first:
                    rest = iter(start[size[0] :] if inner else start)
                    digits = re.sub("n", lambda _, rest=rest: next(rest, "x"), re.sub("[^0-9n]", "", text))
                    if FEWEST <= len(digits) <= MOST and "x" not in digits[:FIRST]:
                        yield form(text), digits[:FIRST]


def mobile(code: int) -> str:
    """Return the row of a country's mobile phones; "" if none has enough digits."""
    regions = map(metadata, phonenumbers.region_codes_for_country_code(code))
    some = [one.mobile for one in regions if one and one.mobile and one.mobile.possible_length]
    lengths = sorted({n for one in some for n in one.possible_length if FEWEST_MOBILE <= len(str(code)) + n <= MOST})
    first = {digits for one in some for digits in begins([whole(one.national_number_pattern)], FIRST)}
    return f"{code} {','.join(map(str, lengths))} {ranges(first)}" if lengths and first else ""


def ranges(digits: Iterable[str]) -> str:
    """Write numbers of three digits as ranges: 610-659 680."""
    out: list[list[int]] = []
    for n in sorted(set(map(int, digits))):
        if out and out[-1][1] == n - 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return " ".join(f"{a:03}" if a == b else f"{a:03}-{b:03}" for a, b in out)


def write(name: str, what: str, rows: Iterable[str]) -> None:
    """Write a file of rows; a line that begins with a blank continues the row before it."""
    lines = [f"# {what}, from the metadata of phonenumbers {phonenumbers.__version__} (Apache-2.0)."]
    lines += ["# Written by scripts/make_phones.py; do not edit."]
    for row in rows:
        lines += textwrap.wrap(row, 118, subsequent_indent=" ", break_on_hyphens=False)
    (TARGET / name).write_text("\n".join(lines) + "\n", "utf-8")


def main() -> None:
    """Write both files."""
    codes = sorted(set(phonenumbers.COUNTRY_CODE_TO_REGION_CODE).difference(LEFT_OUT))
    write("mobiles.txt", "Mobile phones", filter(None, map(mobile, codes)))
    found = defaultdict[str, set[str]](set)
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        for name, digits in forms_of(region):
            found[name].add(digits)
    write("plans.txt", "Telephone plans", (f"{name} {ranges(found[name])}" for name in sorted(found)))


if __name__ == "__main__":
    main()
