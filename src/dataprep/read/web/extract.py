"""Extractors of the text of a web page: our article extractor, Resiliparse, Trafilatura, and the whole text."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from dataprep.errors import PlanError, need, require

from .article import article, resiliparse
from .response import refuse

# extractor: the extra that installs it
EXTRAS = {"article": "warc", "resiliparse": "warc", "trafilatura": "trafilatura", "plain": "warc"}
# As FineWeb (Penedo et al. 2024), but without `deduplicate`, which compares a page with those read before it.
TRAFILATURA = {"favor_precision": True, "include_comments": False, "deduplicate": False}
# The parameters of Resiliparse's extract_plain_text that a reader has as fields, beside the field `extract`.
OPTIONS = ("main_content", "list_bullets", "comments", "alt_texts", "links", "form_fields", "noscript")
PLAIN = {"main_content": False, "list_bullets": False, "comments": True}


def check(reader: Any) -> None:
    """Raise PlanError if a reader's field `extract` or its OPTIONS are wrong, or the extractor is not installed.

    The error about a package that is not installed names the extra.
    """
    extractor = reader.extract
    require(extractor in EXTRAS, f"extract={extractor!r} must be one of {', '.join(EXTRAS)}")
    changed = [f.name for f in fields(reader) if f.name in OPTIONS and getattr(reader, f.name) != f.default]
    if changed and extractor not in {"article", "resiliparse"}:
        given = f"{changed[0]}={getattr(reader, changed[0])!r}"
        msg = f'{given} is an option of extract="article" and "resiliparse", not of {extractor!r}; leave it out'
        raise PlanError(msg)
    need("trafilatura" if extractor == "trafilatura" else "resiliparse.extract.html2text", extra=EXTRAS[extractor])


def extract(page: str, reader: Any) -> bytes:
    """Return the text of a page of HTML, in UTF-8, by the extractor and the OPTIONS that the reader's fields state.

    Raises Refused with the reason "not_parsed" if the extractor fails, and "no_text".
    """
    extractor, options = reader.extract, {name: getattr(reader, name) for name in OPTIONS}
    comments = extractor != "article" if options.pop("comments") is None else reader.comments
    try:
        if extractor == "trafilatura":
            text = _trafilatura()(page, **TRAFILATURA) or ""
        elif extractor == "plain":
            text = resiliparse()(page, **PLAIN)
        elif extractor == "article" and reader.main_content:
            text = article(page, comments=comments, **options)
        else:
            text = resiliparse()(page, comments=comments, **options)
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
def _trafilatura() -> Any:
    return need("trafilatura", extra="trafilatura").extract
