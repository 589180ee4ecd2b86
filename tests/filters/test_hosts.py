"""Hosts against a plain twin, its lists, and the addresses that it must see through."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep.core.model.batch as B
import laws
import twins.hosts
from dataprep.core.model.score import Score
from dataprep.errors import PlanError
from dataprep.filters.hosts import Hosts
from dataprep.filters.url_parts import addresses
from dataprep.store.key import key
from dataprep.unicode.hosts import host_name

URLS = [None, "", "page 5", *(
    f"{scheme}{user}{host}{port}{path}"
    for scheme in ("http://", "HTTPS://", "//")
    for user in ("", "me:pw@b.org@")
    for host in ("a.org", "X.A.org", "xa.org", "b.co.uk", "1.2.3.4", "www.c.net", "münchen.de", "xn--mnchen-3ya.de", "",
                 "0x1.2.772", "0100401404", "[2001:DB8::0:1]")
    for port in ("", ":8080")
    for path in ("", "/", "/ads", "/ads/x?y", "/adsx", "/%61ds#z", "?ads", "\\ads", "//./ads/", "/x/../ads")
)]  # fmt: skip
ENTRIES = ["a.org", "x.a.org", ".co.uk", "4", "1.2.3.4", "c.net/ads", "C.NET/ads/", "a.org/", "MÜNCHEN.de", "*.b.co.uk",
           "[2001:db8::1]", "www.c.net//ads", "1.0.0.0/8", "2001:db8::/33"]  # fmt: skip
urls = st.lists(st.sampled_from(URLS), max_size=8)
lists = st.lists(st.sampled_from(ENTRIES), min_size=1, max_size=3)


def batch(some):
    return B.make(range(len(some)), ["text"] * len(some), "s", columns={"url": pa.array(some, pa.string())})


def reasons(stage, *some):
    _, drops, _ = laws.apply(stage, [batch(some)])
    why = {d["id"]: d["reason"] for d in drops}
    return [why.get(i) for i in range(len(some))]


@settings(max_examples=100, deadline=None)
@given(lists, st.one_of(st.just([]), lists), st.one_of(st.just([]), st.just(["x?", "8080"])), urls)
def test_hosts_equal_the_twin(block, allow, words, some):
    """Every document gets the reason that the plain twin gives, whatever the lists."""
    stage = Hosts(block, allow=allow, banned_words=words)
    assert reasons(stage, *some) == [twins.hosts.host_reason(u, block, allow, words) for u in some]


@pytest.mark.parametrize(
    ("entry", "inside", "outside"),
    [
        ("10.0.0.0/8", ["//10.255.1.2/x", "//0xa000001", "//[::ffff:a00:1]"], ["//11.0.0.1", "//10.a.org", "//10"]),
        ("192.0.2.7/32", ["//192.0.2.7"], ["//192.0.2.6"]),
        ("0.0.0.0/0", ["//8.8.8.8"], ["//example.org", "//[2001:db8::1]"]),
        ("2001:db8::/32", ["//[2001:db8:1::9]"], ["//[2001:db9::]", "//32.1.13.184"]),
        ("[2001:db8::]/32", ["//[2001:DB8::]"], ["//[2001:db9::]"]),
    ],
)
def test_networks(entry, inside, outside):
    """A network holds its addresses in every spelling, no other version's and no names; as `allow` too."""
    assert reasons(Hosts((entry,)), *inside, *outside) == ["blocked_host"] * len(inside) + [None] * len(outside)
    kept = [None] * len(inside) + ["host_not_allowed"] * len(outside)
    assert reasons(Hosts(allow=(entry, "z.org")), *inside, *outside) == kept


def test_paths_below_an_address_are_no_networks():
    """An address with bits behind the prefix, or a longer path, is a host with a path, as before."""
    stage = Hosts(("10.0.0.1/8", "10.0.0.0/8/x", "10.0.0.0/8/"))
    assert reasons(stage, "//10.0.0.1/8", "//10.0.0.1/9", "//10.0.0.0/8/x", "//10.0.0.0/8") == ["blocked_url", None] * 2


def test_words_are_found_in_every_spelling_of_a_host():
    """Full-width letters and Punycode of a host do not hide a word, nor does a path beside them."""
    stage = Hosts(banned_words=("casino", "bücher.de/neu"))
    some = ["//ｃａｓｉｎｏ.org", "//c\xadasino.org", "//xn--bcher-kva.de/neu", "//b%C3%BCcher.de/neu",
            "//xn--bcher-kva.de/alt", "//xn--casino-.org", "//ö.org/x"]  # fmt: skip
    found = "blocked_url"
    assert reasons(stage, *some) == [found, found, found, found, None, found, None]


def test_domains_and_what_is_below():
    """A domain blocks its subdomains, not names that end like it; addresses have nothing below."""
    stage = Hosts(("example.org", "*.gov", "10.0.0.1"))
    some = ["http://example.org", "https://a.b.EXAMPLE.org./x", "http://myexample.org/", "http://example.org.evil.net",
            "http://evil.net/example.org", "http://evil.net@example.org/", "http://example.org@evil.net/",
            "//nasa.gov", "http://10.0.0.1:80/", "http://5.10.0.0.1/", "example.org/page",
            " http://example.org "]  # fmt: skip
    yes = "blocked_host"
    assert reasons(stage, *some) == [yes, yes, None, None, None, yes, None, yes, yes, None, yes, yes]


def test_names_in_other_scripts():
    """Unicode, upper case, Punycode and percent-encoding of one name are one host."""
    forms = ["http://BÜCHER.de/", "http://xn--bcher-kva.de", "http://shop.XN--BCHER-KVA.de/", "http://b%C3%BCcher.de/"]
    for entry in ("bücher.de", "xn--bcher-kva.de", "BÜCHER.DE"):
        assert reasons(Hosts((entry,)), *forms, "http://bucher.de") == ["blocked_host"] * 4 + [None]
    assert reasons(Hosts(("مثال.إختبار",)), "http://xn--mgbh0fb.xn--kgbechtv/x") == ["blocked_host"]


STANDARD = [  # of one host: what a browser opens (URL Standard, WHATWG)
    (
        "10.0.0.1",
        [
            "http://10.0.0.1./",
            "http://167772161",
            "http://0xA.0.0.1/",
            "http://012.0x0.1",
            "http:\\\\10.1\\x",
            "https:10.0.0.1",
            "ftp:///10.0.0.1/",
            "http://u:p@w@10.0.0.1:99/",
            "http://１０.0.0.1",
            "//0xa000001",
            "ht\ntp://10.\t0.0.1/",
            "\x01 http://10.0.0.1 \x02",
            "http://%31%30.0.0.1",
            "http://[::ffff:a00:1]/",
        ],
    ),
    ("[2001:db8::1]", ["http://[2001:DB8:0:0:0:0:0:1]/", "https://[2001:db8::0.0.0.1]:443", "//me@[2001:0db8::0001]"]),
    (
        "example.org",
        [
            "http:example.org",
            "HTTP:/EXAMPLE.ORG",
            "http:///////example.org",
            "http://exa%6Dple%2Eorg",
            "http://ex\xadample.org",
            "http://example。org",
            "http://ｅxample.org:/",
            "///example.org/x",
            "http://exam\rple.org",
            "http://exam%01ple.org/",
            "http://example.org:http/",
            "http://x@example.org",
        ],
    ),
    ("faß.de", ["http://xn--fa-hia.de", "http://FAß.de."]),
]


@pytest.mark.parametrize(("entry", "some"), STANDARD, ids=[entry for entry, _ in STANDARD])
def test_other_spellings_of_a_host(entry, some):
    """No spelling of a host that a browser accepts gets past a list, as an entry of the list or as a URL."""
    assert reasons(Hosts((entry,)), *some) == ["blocked_host"] * len(some)
    assert reasons(Hosts(allow=(entry,)), *some) == [None] * len(some)
    for url in some:
        if url.startswith("http://") and not url.endswith(":http/"):
            assert Hosts((url.strip("\x01\x02 "),)).blocked.partition("/")[0] == Hosts((entry,)).blocked


def test_hosts_that_no_address_has():
    """A URL whose host is not valid is none of the allowed ones; without any host it is no URL."""
    some = ["http://256.1.1.1/", "http://1.2.3.4.5/", "http://08.1", "http://[1::2::3]/", "http://a<b.org/"]
    assert reasons(Hosts(allow=("a.org",)), *some, "http://") == ["host_not_allowed"] * 5 + [None]
    assert reasons(Hosts(("1.1.1.1", "1.2.3.4")), *some) == [None] * 5
    assert host_name("faß.de") != host_name("fass.de")


@pytest.mark.parametrize("host", ["xn--pokxncvks.org", "xn--", "xn--abc-.org", "a.org%80", "\ufdd0a.org", "[::%31]"])
def test_names_that_utf8_or_punycode_cannot_have(host):
    """Names with bytes that are not UTF-8, or Punycode of no name, are no hosts; those of many scripts are."""
    assert host_name(host) == ""
    for name in ("مثال.إختبار", "例え.テスト", "उदाहरण.परीक्षा", "ตัวอย่าง.ไทย", "例子.测试", "bücher.org", "i❤.ws"):
        written = host_name(name)
        assert written.isascii()
        assert host_name(written) == written


def test_other_spellings_of_a_path():
    """Dots, repeated slashes, backslashes, escapes and line ends in a path are one path."""
    same = ["/./ads", "//ads", "/x/../ads/1", "/%2e/ads", "/x/%2E%2e/ads", "\\\\ads", "/a\tds", "/%61ds?x", "/./ads#"]
    others = ["/x/ads", "/?/ads", "/#/ads", "/ads2", "/ads/.."]
    stage = Hosts(("e.org/ads",))
    assert reasons(stage, *("http://e.org" + path for path in same)) == ["blocked_url"] * len(same)
    assert reasons(stage, *("http://e.org" + path for path in others)) == [None] * len(others)
    assert Hosts(("e.org//x/.././ads",)).blocked == "e.org/ads"


@pytest.mark.parametrize("scheme", ["http://", "https:", "HTTP:\\", "ftp:///", "h\tttp://"], ids=range(5))
def test_hosts_as_ada_reads_them(scheme):
    """The hosts of the URL Standard's own parser: names, addresses, user names, ports and paths of all kinds."""
    ada = pytest.importorskip("ada_url")
    hosts = ["A.Org", "a_b.org", "münchen.de", "ΣΊΣΥΦΟΣ.gr", "例え。テスト", "１.２.３.４", "0x7f.1", "017700000001",
             "1.2.3.", "256.1.1.1", "08.1", "[::1]", "[1:0:0:2::]", "[1::2::3]", "%61.org", "ﬁ.org", "℡.com",
             "1e3.com", "0.0.0.0x", "4294967296", "a b.org", "ex\xadample.org", "faß.de"]  # fmt: skip
    for host in hosts:
        for tail in ("", ":80/", "/x@y", "\\x", "?q", "#f"):
            for user in ("", "a:b@c@"):
                url = f"{scheme}{user}{host}{tail}"
                try:
                    known = ada.URL(url).hostname.rstrip(".")
                except ValueError:
                    known = ""
                found = addresses(batch([url]), "url", "Hosts")
                assert host_name(found.hosts[0]) == known, url


def test_paths_and_words():
    """A path blocks itself and what is below, with or without www.; words lie anywhere, in any case."""
    stage = Hosts(("e.org/ads", "f.org/~bob/"), banned_words=("casino", "كلب"))
    some = [
        "http://e.org/ads",
        "http://www.e.org/ads/1",
        "https://e.org/ads?x",
        "http://e.org/adsense",
        "http://e.org/",
        "http://x.e.org/ads",
        "http://f.org/%7Ebob/a",
        "http://f.org/~bob",
        "http://g.org/Best-CASINO",
        "http://g.org/%D9%83%D9%84%D8%A8",
    ]
    yes = "blocked_url"
    assert reasons(stage, *some) == [yes, yes, yes, None, None, None, yes, None, yes, yes]


def test_allowed_hosts():
    """Only allowed hosts stay, a block wins over an allowance, and documents without a URL stay and are counted."""
    stage = Hosts(("bad.e.org",), allow=("e.org", "f.org/docs"))
    some = ["http://e.org/", "http://bad.e.org/", "http://f.org/docs/a", "http://f.org/", None, "no url"]
    no = "host_not_allowed"
    assert reasons(stage, *some) == [None, "blocked_host", None, no, None, None]
    assert laws.apply(stage, [batch(some)])[2].counts["without_url"] == 2


def test_lists_in_files(tmp_path):
    """Comments, /etc/hosts lines, UT1 folders and globs are read; the key is that of the entries."""
    (tmp_path / "domains").write_bytes("\ufeff# a list\r\nB.org # why\r\n\r\n0.0.0.0 a.org sub.a.org\r\n".encode())
    (tmp_path / "urls").write_text("c.org/x#y\n")
    (tmp_path / "usage").write_text("what is this, no list")
    stage = Hosts(str(tmp_path))
    assert stage.blocked.split("\n") == ["a.org", "b.org", "c.org/x#y"]
    assert Hosts(str(tmp_path / "d*")).blocked == "a.org\nb.org"
    assert key(stage) == key(Hosts(["https://c.org/x#y", "b.org", "a.org", "www.a.org"]))
    assert key(stage) != key(Hosts(str(tmp_path / "domains"))) != key(Hosts(allow=str(tmp_path / "domains")))


@pytest.mark.parametrize(
    ("lists", "says"),
    [
        ({}, "must have a rule"),
        ({"block": "/no/such/list"}, "cannot read the list /no/such/list"),
        ({"block": ("a b.org",)}, "'a b.org', which is not a domain"),
        ({"block": ("*.*.org",)}, r"'\*\.\*\.org', which is not a domain"),
        ({"block": ("*",)}, r"'\*', which is not a domain"),
        ({"allow": ("b*d.org",)}, "which is not a domain"),
        ({"allow": (" ",)}, "' ', which is not a domain"),
    ],
)
def test_bad_lists(lists, says):
    """A list that cannot be used is one sentence before any work."""
    with pytest.raises(PlanError, match=says):
        Hosts(**lists)


def test_lists_that_are_no_text(tmp_path):
    """Of a file, the sentence names the line; what is not UTF-8 or empty is refused."""
    path = tmp_path / "list"
    bad = {b"a.org\nno domain\n": "line 2, which is not a domain", b"\xff\xfe": "must be UTF-8", b"#\n": "one entry"}
    for data, says in bad.items():
        path.write_bytes(data)
        with pytest.raises(PlanError, match=says):
            Hosts(str(path))


@settings(max_examples=30, deadline=None)
@given(urls)
def test_laws(some):
    """Batch cuts do not matter, books balance, and the stage travels; a column of codes is the same."""
    stage = Hosts(("a.org", "c.net/ads"), banned_words=("8080",))
    laws.cuts_do_not_matter(stage, batch(some), [1, 3])
    laws.books_balance(stage, batch(some))
    laws.key_and_pickle_are_stable(stage)
    coded = B.with_column(batch(some), "url", batch(some).column("url").dictionary_encode())
    assert laws.apply(stage, [coded])[1] == laws.apply(stage, [batch(some)])[1]


def test_columns():
    """A column of numbers is refused, one of nothing is no URL, and Score tells the reason."""
    numbers = B.make([0], ["t"], "s", columns={"url": [1]})
    with pytest.raises(PlanError, match="must be a column of strings"):
        addresses(numbers, "url", "Hosts")
    nothing = B.make([0], ["t"], "s", columns={"url": pa.nulls(1)})
    assert laws.apply(Hosts(("a.org",)), [nothing])[2].counts["without_url"] == 1
    rows, _, _ = laws.apply(Score(Hosts(("a.org",))), [batch(["http://a.org", None])])
    assert [row["hosts_reason"] for row in rows] == ["blocked_host", None]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(st.text(), st.text("aA.:/\\@[]%2e?#é。ß \x00-", max_size=20).map("http://".__add__)), max_size=9)
)
def test_any_text_is_a_url_or_none(some):
    """Whatever the column contains, every host has one form; a host that no address can have keeps its letters."""
    found = addresses(batch(some), "url", "Hosts")
    assert all(host_name(host) in (host, "") for host in found.hosts)
    assert len(reasons(Hosts(("a.a", "a/a"), allow=("é.a",), banned_words=("2",)), *some)) == len(some)
