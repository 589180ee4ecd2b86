"""The extractors of web pages: our own, Resiliparse, Trafilatura and plain text; errors before any work."""

from __future__ import annotations

import importlib
import re
from types import SimpleNamespace

import pytest

import dataprep as dp
from dataprep.errors import PlanError

pytest.importorskip("resiliparse")
from dataprep.read.web import extract
from dataprep.read.web.response import Refused
from dataprep.read.web.warc import Warc

MAIN = "La page raconte longuement l'histoire d'une ville, de ses rues et de ses habitants. " * 8
HTML = (
    '<html><head><title>Titre</title></head><body><nav><ul><li><a href="/a">Accueil</a></li></ul></nav>'
    f"<article><h1>Une ville</h1><p>{MAIN}</p><p>{MAIN[::-1]}</p></article><footer>Mentions</footer></body></html>"
)


def archive(folder, *pages: str) -> str:
    """A WARC file with these pages."""
    records = []
    for i, page in enumerate(pages):
        block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{page}".encode()
        head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/{i}\r\n"
        records.append(f"{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n")
    (folder / "a.warc").write_bytes(b"".join(records))
    return str(folder / "a.warc")


def test_plain(tmp_path) -> None:
    """All text of a page, with its navigation and footer; Resiliparse, the default, leaves these out."""
    path = archive(tmp_path, HTML)
    main, plain = (dp.read(path, **how)[0]["text"] for how in ({}, {"extract": "plain"}))
    assert ("Accueil" in plain, "Mentions" in plain, MAIN.strip() in plain) == (True, True, True)
    assert ("Accueil" in main, MAIN.strip() in main) == (False, True)


def test_trafilatura(tmp_path) -> None:
    """The text of each page is Trafilatura's with FineWeb's settings, whatever pages were read before."""
    trafilatura = pytest.importorskip("trafilatura", exc_type=ImportError)
    path = archive(tmp_path, HTML, HTML, HTML, HTML, "<p></p>")
    found = [row["text"] for row in dp.read(path, extract="trafilatura")]
    expected = trafilatura.extract(HTML, favor_precision=True, include_comments=False, deduplicate=False)
    assert found == [expected] * 4
    assert MAIN.strip() in expected
    assert "Accueil" not in expected


def test_a_failing_extractor_costs_one_page(monkeypatch) -> None:
    """An error of an extractor drops the page, by name."""
    monkeypatch.setattr(extract, "_trafilatura", lambda: lambda page, **_: 1 / 0)
    with pytest.raises(Refused, match="not_parsed"):
        extract.extract(HTML, SimpleNamespace(extract="trafilatura", **dict.fromkeys(extract.OPTIONS)))


@pytest.mark.parametrize("name", ["article", "trafilatura", "resiliparse", "plain"])
def test_missing_packages(monkeypatch, name) -> None:
    """Without its package an extractor is refused before any work, with the extra that brings it."""
    real = importlib.import_module

    def without(module, *rest):
        if module.startswith(("trafilatura", "resiliparse")):
            raise ImportError(module)
        return real(module, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(PlanError, match=rf"dataprep-lm\[{extract.EXTRAS[name]}\]"):
        Warc(extract=name)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"extract": "justext"}, "extract='justext' must be one of article, resiliparse, trafilatura, plain"),
        ({"extract": "plain", "links": True}, 'links=True is an option of extract="article" and "resiliparse", not of'),
        ({"extract": "trafilatura", "comments": True}, "comments=True is an option of"),
    ],
)
def test_bad_options(tmp_path, bad, says) -> None:
    """One sentence before any work."""
    with pytest.raises(PlanError, match=re.escape(says)):
        dp.read(archive(tmp_path, HTML), **bad)
