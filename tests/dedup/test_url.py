"""URL: which addresses are one page, and which capture of it stays."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.dedup.url import IGNORE, URLDedup, normalize_url
from dataprep.errors import PlanError

pytest.importorskip("w3lib")

SAME = [  # one page a line
    (
        "http://example.org",
        "HTTP://EXAMPLE.ORG:80/",
        "https://www.example.org",
        "https://example.org:443/#top",
        "http://example.org./",
        "  http://example.org/\n",
        "http://example.org/?",
        "http://example.org/?utm_source=x",
    ),
    (
        "http://example.org/a/c",
        "http://example.org/a/./b/../c",
        "http://example.org/a/c/",
        "http://example.org/%61/c",
        "http://example.org/a/c?fbclid=1&UTM_Medium=2",
        "http://example.org/a/c;jsessionid=F00",
        "http://example.org/a/c//",
    ),
    ("http://example.org/?x=1&y=2", "http://example.org/?y=2&x=1", "http://example.org?y=2&gclid=7&x=1"),
    ("http://example.org/?q", "http://example.org/?q=", "http://example.org/?&q"),
    ("http://example.org/caf%c3%a9", "http://example.org/café", "http://example.org/caf%C3%A9"),
    ("http://xn--bcher-kva.example/", "http://bücher.example", "http://BÜCHER.example/"),
    ("http://example.org/a%20b", "http://example.org/a b"),
    ("http://example.org:8080/", "https://www.example.org:8080"),
    ("http://[::1]/", "http://[::1]:80", "http://[0:0::1]/"),
    ("http://xn--strae-oqa.de/", "http://straße.de", "https://www.STRAẞE.de/"),
    ("http://127.0.0.1/", "http://0x7f.1", "http://2130706433/"),
]
APART = [  # each its own page
    "http://example.org/", "http://example.com/", "http://sub.example.org/", "http://example.org:8080/",
    "http://example.org:443/", "http://example.org/A", "http://example.org/a", "http://example.org/a/b",
    "http://example.org/a%2Fb", "http://example.org/?a=1", "http://example.org/?a=2", "http://example.org/?A=1",
    "http://example.org/?a=1&a=2", "http://example.org/index.html", "http://example.org/#!a", "http://example.org/#!b",
    "http://example.org/?ref=main", "http://www.com/", "http://com/", "http://me@example.org/",
    "http://straße.de/", "http://strasse.de/", "http://βόλος.gr/", "http://βόλοσ.gr/",
]  # fmt: skip
INVALID = [
    "",
    " ",
    "example.org",
    "/a/b",
    "//example.org/",
    "mailto:a@example.org",
    "ftp://example.org/",
    "http://",
    "http:///a",
    "javascript:void(0)",
    "http://exa mple.org/",
    "http://example.org:99999/",
    "http://[::1",
    "http://\ud800/",
    "null",
]


@pytest.mark.parametrize("urls", SAME, ids=lambda urls: urls[0])
def test_one_page_has_one_form(urls):
    """All spellings of a page's address have one normal form."""
    assert len({normalize_url(url) for url in urls}) == 1
    assert normalize_url(urls[0]).startswith("//")


def test_other_pages_have_other_forms():
    """What may be another page is not the same: path, case, parameters, host, port, #! fragments, user."""
    assert len({normalize_url(url) for url in APART}) == len(APART)
    assert "" not in {normalize_url(url) for url in APART}


@pytest.mark.parametrize("url", INVALID, ids=ascii)
def test_no_address_is_no_page(url):
    """What is no absolute http or https URL has no normal form."""
    assert normalize_url(url) == ""


def test_what_is_ignored_is_a_choice():
    """Scheme, www., the last slash and tracking parameters count where they are asked to."""
    url = "https://www.example.org/a/?utm_source=x"
    assert normalize_url(url) == "//example.org/a"
    assert normalize_url(url, ignore=()) == "https://www.example.org/a/"
    assert normalize_url(url, ignore=("scheme",)) == "//www.example.org/a/"
    assert normalize_url(url, ignore=("www",)) == "https://example.org/a/"
    assert normalize_url(url, ignore=("slash",)) == "https://www.example.org/a"
    assert normalize_url(url, tracking=()) == "//example.org/a?utm_source=x"
    assert normalize_url("http://e.org/;jsessionid=1?s=2&id=3", tracking=("s",)) == "//e.org/;jsessionid=1?id=3"
    assert normalize_url("http://e.org/?a.b=1&aXb=2", tracking=("a.*",)) == "//e.org/?aXb=2"


pieces = st.sampled_from(
    [
        "/",
        ".",
        "..",
        "a",
        "B",
        "é",
        "%41",
        "%2f",
        "?",
        "&",
        "=",
        "#",
        "!",
        ";jsessionid=1",
        ":",
        "@",
        "www.",
        "x=1",
        "utm_id=2",
    ]
)


@settings(max_examples=400)
@given(st.lists(pieces, max_size=12).map("".join), st.sampled_from(["http://", "https://www.", "http://e.org/"]))
def test_normal_forms_stay(rest, start):
    """The normal form of a normal form is itself."""
    normal = normalize_url(start + rest, ignore=("www", "slash"))
    assert normalize_url(normal, ignore=("www", "slash")) == normal


@given(st.text(max_size=20), st.sampled_from(["http://", "https://e.org", "http://[", "x", ""]))
def test_nothing_raises(rest, start):
    """Whatever a column holds, there is a form or none."""
    normal = normalize_url(start + rest)
    assert normal == "" or normal.startswith("//")


def page(text, url, date=None, **more):
    return {"text": text, "url": url, "date": date, **more}


def test_the_newest_capture_stays(drops):
    """Of one page the capture with the latest date stays, wherever it is; other pages are not touched."""
    rows = [
        page("old", "http://example.org/a", "2021-05-01"),
        page("newest", "https://www.example.org/a/", "2024-05-01T10:00:00"),
        page("other", "http://example.org/b", "2020-01-01"),
        page("undated", "http://example.org/a?utm_source=x"),
        page("newest of b", "http://example.org/b#c", "2022-01-01"),
        page("same day", "http://example.org/a", "2024-05-01T10:00:00"),
    ]
    wanted = {0: (1, 1.0), 3: (1, 1.0), 5: (1, 1.0), 2: (4, 1.0)}
    for parts in (1, 3):
        assert drops(URLDedup(), rows, parts=parts) == wanted
    assert set(drops(URLDedup(keep="first"), rows)) == {1, 3, 5, 4}
    assert set(drops(URLDedup(keep="longest"), rows)) == {0, 1, 3, 2}  # "same day"
    assert drops(URLDedup(ignore=(), tracking=()), rows) == {0: (5, 1.0), 2: (4, 1.0)}


def test_documents_without_an_address_stay(drops):
    """Null, empty and invalid URLs are no page: such documents are never each other's copies."""
    rows = [
        page("same text", url, "2024-01-01") for url in [None, None, "", "", "x", "x", "ftp://e.org/", "ftp://e.org/"]
    ]
    assert drops(URLDedup(), rows) == {}
    assert drops(URLDedup(), [page("a", None, "2024-01-01")] * 3) == {}
    assert drops(URLDedup(), []) == {}


def test_agrees_with_grouping_by_the_normal_form(drops):
    """On random captures: of each normal form, the newest and then the first stays, nobody else."""
    rng = random.Random(5)
    spellings = [*itertools.chain(*SAME), *APART, *INVALID[:-2]]
    rows = [page("t", rng.choice(spellings), f"20{rng.randrange(10, 20)}-01-01") for _ in range(400)]
    groups = {}
    for i, row in enumerate(rows):
        groups.setdefault(normalize_url(row["url"]), []).append(i)
    groups.pop("")
    wanted = {}
    for group in groups.values():
        best = min(group, key=lambda i: (-int(rows[i]["date"][:4]), i))
        wanted |= {i: (best, 1.0) for i in group if i != best}
    assert drops(URLDedup(), rows, parts=3, cut=50) == wanted
    assert len(wanted) > 200


def test_in_a_pipeline(tmp_path):
    """The reason is written, kept columns stay, and a url that is only in meta is asked for in words."""
    rows = [page("old", "http://e.org", "2021-01-01"), page("new", "http://e.org/", "2022-01-01")]
    docs = laws.dataset_of(tmp_path, rows)
    with pytest.raises(
        PlanError, match=r"URLDedup needs the column url, date.*read\(\.\.\., columns=\['url', 'date'\]\)"
    ):
        dp.Pipeline(URLDedup()).run(docs, out=str(tmp_path / "no"))
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = dp.read(str(tmp_path / "in.jsonl"), columns=["url", "date"])
    clean = dp.Pipeline(URLDedup()).run(read, out=str(tmp_path / "clean"))
    assert [row["text"] for row in clean.take(9)] == ["new"]
    assert clean.drops().column("reason").to_pylist() == ["older_capture"]
    first = dp.Pipeline(URLDedup(keep="first")).run(read, out=str(tmp_path / "first"))
    assert first.drops().column("reason").to_pylist() == ["same_url"]
    assert first.take(9)[0]["url"] == "http://e.org"


def test_wrong_parameters_are_sentences(drops):
    """Unknown choices, and columns that hold no strings, are refused."""
    for wrong, says in [
        ({"ignore": ("path",)}, ", not 'path'"),
        ({"ignore": "www"}, "must be a tuple of"),
        ({"tracking": ("*",)}, "tuple of parameter names"),
        ({"tracking": (3,)}, "tuple of parameter names"),
        ({"column": 3}, "column=3 must be the name of a column"),
        ({"keep": "latest"}, "keep="),
    ]:
        with pytest.raises(PlanError, match=says):
            URLDedup(**wrong)
    with pytest.raises(PlanError, match="must hold strings; it holds int64"):
        drops(URLDedup(keep="first"), [{"text": "a", "url": 7}] * 2)
    assert set(IGNORE) == {"scheme", "www", "slash"}
