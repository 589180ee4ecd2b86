"""Telephone plans: forms of numbers with the first digits that they have anywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.pii import plans
from dataprep.pii.plans import form_of, forms
from twins import plans as twin


def shows_phone(whole: str) -> bool:
    """Whether a number is a phone by its groups."""
    return plans.shows_phone(whole, "".join(filter(str.isdigit, whole)))


@pytest.mark.parametrize(("whole", "form"), [
    ("(0495) 555.01-23", "(4)3-2-2"), ("0160 / 1234567", "4/7"), ("0812345678", "a"),
    ("8 (495) 555-01-23", "1(3)3-2-2"),
    ("06 - 12 34 56 78", "2-2-2-2-2"), ("0(532)123 45 67", "1(3)3-2-2"), ("(0 45)123 456", "(1-2)3-3"),
])  # fmt: skip
def test_forms(whole, form) -> None:
    """A form has the sizes of groups, brackets and slashes; other signs are hyphens, none beside a bracket."""
    assert form_of(whole) == twin.form(whole) == form


@pytest.mark.parametrize("whole", [
    "612 34 56 78", "77 123 45 67", "532-123-45-67", "347 123 4567", "55 1234 5678", "11 91234 5678", "98765 43210",
    "501-234-567", "412 34 567", "6 77 12 34 56", "9 8765 4321", "30 123 4567", "138 1234 5678", "8 701 123 45 67",
    "(664) 123 4567", "0151 12345678", "0812-3456-7890", "0160 / 1234567", "8 029 491-19-11", "27 21 71 08 31",
    "8 (81837) 2-30-58", "06 (1) 444 9779", "0 532 123 45 67",
])  # fmt: skip
def test_phones(whole) -> None:
    """Groups that only phones have, of many countries."""
    assert shows_phone(whole)


@pytest.mark.parametrize("whole", [
    "12 345 678", "2024-05-06", "29.02.2024", "12345 12399", "1999 2003", "100 200 300", "612 345 678", "71886626",
    "12 34 56 78", "30795 30760", "12 1999 2003", "0000-000602", "192.168.10.20", "550/700", "1 250 000", "3100-3200",
])  # fmt: skip
def test_figures(whole) -> None:
    """Amounts, dates, years, ranges and addresses have no such groups."""
    assert not shows_phone(whole)


GROUPS = st.text("0123456789", min_size=1, max_size=7)
SIGNS = st.sampled_from([" ", "-", ".", "/", " / ", " - ", ") ", ")", " (", "("])


@given(st.lists(st.tuples(GROUPS, SIGNS), min_size=1, max_size=5), st.sampled_from(["", "(", "0", "8 ", "0 ("]))
def test_it_equals_the_twin(parts, start) -> None:
    """Any groups and signs between them are judged as the plain twin judges them."""
    whole = start + "".join(group + sign for group, sign in parts).rstrip(" ./-(")
    assert (form_of(whole), shows_phone(whole)) == (twin.form(whole), twin.shows_phone(whole))


@given(st.sampled_from(sorted(forms())), st.integers(0, 10**15), st.sampled_from(" .-"))
def test_planned_forms_equal_the_twin(form, number, sign) -> None:
    """Numbers in forms of the table are judged as the plain twin judges them."""
    digits, whole = iter(f"{number:015}"), ""
    for c in form:
        whole += "".join(next(digits, "7") for _ in range(int(c, 16))) if c.isalnum() else sign if c == "-" else c
    assert shows_phone(whole) == twin.shows_phone(whole)
