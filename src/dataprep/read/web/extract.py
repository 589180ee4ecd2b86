"""Extractors of the text of a web page: Resiliparse, Trafilatura, and all of a page's text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from dataprep.errors import need

from .response import refuse

EXTRAS = {"resiliparse": "warc", "trafilatura": "trafilatura", "plain": "warc"}  # extractor: extra that installs it
# As FineWeb (Penedo et al. 2024), but without `deduplicate`, which compares a page with those read before it.
TRAFILATURA = {"favor_precision": True, "include_comments": False, "deduplicate": False}
PLAIN = {"main_content": False, "list_bullets": False, "comments": True}


def check(extractor: str) -> None:
    """Raise PlanError if the package of an extractor is not installed; the error names the extra."""
    need("trafilatura" if extractor == "trafilatura" else "resiliparse.extract.html2text", extra=EXTRAS[extractor])


def extract(page: str, extractor: str, options: Mapping[str, Any]) -> bytes:
    """Return the text of a page of HTML, in UTF-8.

    extractor: "resiliparse", "trafilatura" or "plain". options: parameters of Resiliparse's extract_plain_text; the
    other extractors ignore them. Raises Refused with the reason "not_parsed" if the extractor fails, and "no_text".
    """
    try:
        if extractor == "trafilatura":
            text = _trafilatura()(page, **TRAFILATURA) or ""
        else:
            text = _resiliparse()(page, **(options if extractor == "resiliparse" else PLAIN))
    except Exception:  # noqa: BLE001 - a parser that gives up on one page must not end the run
        refuse("not_parsed")
    except BaseException as e:
        if type(e).__name__ != "PanicException":  # the exception of a Rust panic
            raise
        refuse("not_parsed")
    return encoded(text)


def encoded(text: str) -> bytes:
    """Return the text of a page in UTF-8. Raises Refused with the reason "no_text" if it is only white space."""
    if not text or text.isspace():
        refuse("no_text")
    return text.encode("utf-8", "replace")


@cache
def _resiliparse() -> Any:
    return need("resiliparse.extract.html2text", extra="warc").extract_plain_text


@cache
def _trafilatura() -> Any:
    return need("trafilatura", extra="trafilatura").extract
