"""Robots by the cases of RFC 9309, and what it finds in folders and archives."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest

import dataprep.core.model.batch as B
import laws
from dataprep.errors import PlanError
from dataprep.store.key import key

pytest.importorskip("protego")
from dataprep.filters.robots import Robots, read, rules_of, unpack

RULES = """\
User-agent: CCBot/2.0
User-agent: gptbot
Disallow: /private
Allow: /private/open

User-agent: *
Disallow: /*.pdf$
Disallow: /tmp*/x
"""


def folder(tmp_path, **hosts):
    for name, rules in hosts.items():
        (tmp_path / f"{name}.org.txt").write_bytes(rules.encode() if isinstance(rules, str) else rules)
    return str(tmp_path)


def run(stage, *some):
    batch = B.make(range(len(some)), ["text"] * len(some), "s", columns={"url": pa.array(some, pa.string())})
    _, drops, book = laws.apply(stage, [batch])
    why = {d["id"]: d["reason"] for d in drops}
    return [why.get(i) for i in range(len(some))], book


def forbidden(tmp_path, rules, paths, agent="CCBot"):
    reasons, _ = run(Robots(folder(tmp_path, e=rules), agents=agent), *(f"http://e.org{p}" for p in paths))
    return [p for p, reason in zip(paths, reasons, strict=True) if reason == "robots"]


# Rules, the paths forbidden to CCBot, and those allowed: sections of RFC 9309.
CASES = {
    "2.2.1 groups of one agent are one": (
        "User-agent: CCBot\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\nUser-agent: ccBOT\nDisallow: /b",
        ["/a", "/b"], ["/c"],
    ),
    "2.2.1 its own group, not that of all": (
        "User-agent: *\nDisallow: /\n\nUser-agent: CCBot\nDisallow: /a", ["/a"], ["/"],
    ),
    "2.2.1 the group of all": ("User-agent: x\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", ["/b", "/b/c"], ["/a"]),
    "2.2.1 no group": ("User-agent: x\nDisallow: /", [], ["/"]),
    "2.2.1 rules without a group": ("Disallow: /", [], ["/"]),
    "2.2.1 not the group of a name that begins so": (
        "User-agent: CC\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", ["/b"], ["/a"],
    ),
    "2.2.1 one group of several agents": ("User-agent: x\nUser-agent: CCBot\nDisallow: /a", ["/a"], ["/b"]),
    "2.2.2 the longest rule": (
        "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c", ["/a", "/a/b/c"], ["/a/b"],
    ),
    "2.2.2 of two alike the allowance": ("User-agent: *\nDisallow: /a\nAllow: /a", [], ["/a"]),
    "2.2.2 case and percent-encoding": (
        "User-agent: *\nDisallow: /caf%C3%A9\nDisallow: /A~",
        ["/café", "/caf%c3%a9/x", "/A%7E"], ["/CAFÉ", "/a~"],
    ),
    "2.2.2 robots.txt itself": ("User-agent: *\nDisallow: /", ["/", "", "?q"], ["/robots.txt"]),
    "2.2.2 an empty rule": ("User-agent: *\nDisallow:", [], ["/", "/a"]),
    "2.2.3 wildcards and the end": (
        "User-agent: *\nDisallow: /*.gif$\nDisallow: /x*/y",
        ["/a.gif", "/x/y", "/x1/2/y3"], ["/a.gif?b", "/a.giff", "/y"],
    ),
    "2.2.3 comments": ("User-agent: * # all\nDisallow: /a # why\n#Disallow: /b", ["/a"], ["/b"]),
    "2.2.4 other lines do not end a group": (
        "User-agent: CCBot\nSitemap: http://e.org/s\nCrawl-delay: 9\nUser-agent: x\nDisallow: /a", ["/a"], ["/b"],
    ),
    "CRLF and CR": ("User-agent: *\r\nDisallow: /a\r\n\r\rDisallow: /b\r", ["/a", "/b"], ["/c"]),
    "a byte order mark": ("\ufeffUser-agent: *\nDisallow: /a", ["/a"], ["/b"]),
    "a version": ("User-agent: CCBot/2.0 (https://c.org/bot)\nDisallow: /a", ["/a"], ["/b"]),
    "HTML is no rule": ("<!doctype html>\n<p>Disallow: / is what I would write</p>", [], ["/"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_standard(case, tmp_path):
    """The standard's cases come out as it says."""
    rules, no, yes = CASES[case]
    assert forbidden(tmp_path, rules, no + yes) == no


def test_agents_and_counts(tmp_path):
    """Any named agent's prohibition drops; each is counted, as are hosts without robots.txt and rows without URL."""
    stage = Robots(folder(tmp_path, a=RULES, b=b"\xff\xfe\0U\0s"), agents=("CCBot", "Other"))
    some = ["https://A.org:8443/private/1", "http://a.org/private/open/1", "http://a.org/x.pdf", "//a.org\\tmp1\\x",
            "http://b.org/private", "http://www.a.org/private", None, "http://a.org/private/1"]  # fmt: skip
    reasons, book = run(stage, *some)
    assert reasons == ["robots", None, "robots", "robots", None, None, None, "robots"]
    counts = {"forbidden.CCBot": 2, "forbidden.Other": 2, "unreadable": 1, "without_robots_txt": 1, "without_url": 1}
    assert dict(book.counts) == counts
    strict = Robots(str(tmp_path), agents="Other", unreadable="drop")
    assert run(strict, *some)[0][4] == "robots_unreadable"


def test_folders_by_host(tmp_path):
    """HOST.txt and HOST/robots.txt are read, in other scripts too; the key is that of the rules."""
    one, two = tmp_path / "one", tmp_path / "two"
    (one / "bücher.de").mkdir(parents=True)
    (one / "bücher.de" / "robots.txt").write_text(RULES)
    (one / "readme.md").write_text(RULES)
    two.mkdir()
    (two / "XN--BCHER-KVA.de.txt").write_text(RULES.replace("\n", "\r\n"))
    assert key(Robots(str(one))) == key(Robots((str(two),)))
    assert key(Robots(str(one))) != key(Robots(str(one), agents="CCBot"))
    assert run(Robots(str(one)), "http://BÜCHER.de/private")[0] == ["robots"]
    (two / "XN--BCHER-KVA.de.txt").write_text("")
    assert key(Robots(str(one))) != key(Robots(str(two)))


def record(url, status, body=b"", date="2024-01-01T00:00:00Z", headers=""):
    http = f"HTTP/1.1 {status} x\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n"
        f"WARC-Record-ID: <urn:uuid:1>\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(http)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + http + b"\r\n\r\n")


def test_archives(tmp_path):
    """The latest answer of a host counts; redirects lead to the rules; errors of the server are unreadable."""
    pytest.importorskip("fastwarc")
    no = b"User-agent: *\nDisallow: /\n"
    records = [
        record("http://a.org/robots.txt", 200, b"", "2024-03-01T00:00:00Z"),
        record("http://a.org/robots.txt", 200, no, "2024-02-01T00:00:00Z"),
        record("https://b.org/robots.txt", 200, gzip.compress(no), headers="Content-Encoding: gzip\r\n"),
        record(
            "http://b.org/robots.txt",
            301,
            date="2024-09-01T00:00:00Z",
            headers="Location: https://b.org/robots.txt\r\n",
        ),
        record("http://c.org/robots.txt", 302, headers="Location: //d.org/robots.txt\r\n"),
        record("http://d.org/robots.txt", 301, headers="Location: https://b.org/robots.txt\r\n"),
        record("http://e.org/robots.txt", 301, headers="Location: http://f.org/robots.txt\r\n"),
        record("http://f.org/robots.txt", 301, headers="Location: http://e.org/robots.txt\r\n"),
        record("http://g.org/robots.txt", 503, no),
        record("http://h.org/robots.txt", 404, no),
        record("http://i.org/page/robots.txt", 200, no),
        record("http://j.org/robots.txt", 200, no, headers="Content-Encoding: gzip\r\n"),
        record("http://k.org/robots.txt", 200, b"\0\1", headers="Content-Encoding: gzip\r\n"),
        record("http://l.org/", 200, no),
    ]
    path = tmp_path / "robots.warc.gz"
    path.write_bytes(b"".join(records))
    index = unpack(read([str(path)]))
    text = {host: index.texts[n] if n >= 0 else None for host, n in index.hosts.items()}
    rules = "User-agent: *\nDisallow: /"
    blocked = {host for host, found in text.items() if found == rules}
    assert blocked == {"b.org", "c.org", "d.org", "j.org"}
    assert {host for host, found in text.items() if found is None} == {"g.org", "k.org"}
    assert {host for host, found in text.items() if found == ""} == {"a.org", "e.org", "f.org", "h.org"}
    path.write_bytes(b"".join(reversed(records)))
    assert read([str(path)]) == read([str(path)] * 2)
    assert unpack(read([str(path)])) == index
    folder(tmp_path, a=no)
    assert unpack(read([str(tmp_path)])).hosts["a.org"] == index.texts.index(rules)  # a file comes before archives
    path.write_bytes(b"".join(records)[:-40])
    with pytest.raises(PlanError, match="cannot read all of .*robots.warc.gz"):
        read([str(path)])


def test_long_files():
    """500 kB are read, to the end of the last whole line; a mark of two bytes a character is unreadable."""
    text = rules_of(b"User-agent: *\nDisallow: /a\n" + b"Disallow: /bcdefg\n" * 40_000)
    assert 490_000 < len(text) <= 512_000
    assert text.endswith("\nDisallow: /bcdefg")
    assert rules_of("User-agent: *".encode("utf-16")) is None


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"source": "/no/such/folder"}, "no/such/folder"),
        ({"source": ".", "agents": ()}, r"agents=\(\) must be a tuple of names"),
        ({"source": ".", "unreadable": "maybe"}, "must be 'keep' or 'drop'"),
    ],
)
def test_bad_parameters(how, says):
    """What cannot be used is one sentence before any work."""
    with pytest.raises(PlanError, match=says):
        Robots(**how)


def test_laws(tmp_path):
    """Batch cuts do not matter, books balance, and the stage travels with its rules."""
    stage = Robots(folder(tmp_path, a=RULES, b=b"\0"), unreadable="drop")
    some = [f"http://{host}.org/{path}" for host in "abc" for path in ("private", "x.pdf", "")] + [None, ""]
    batch = B.make(range(len(some)), ["text"] * len(some), "s", columns={"url": pa.array(some)})
    laws.cuts_do_not_matter(stage, batch, [1, 3, 2])
    laws.books_balance(stage, batch)
    laws.key_and_pickle_are_stable(stage)


@pytest.mark.parametrize("line", ["CCBot crawler", "CCBot  (all)", "CCBot/2.0 x", "ccbot,gptbot", "CCBot # a bot"])
def test_the_name_ends_where_its_letters_end(tmp_path, line):
    """Words, versions and signs after the name of an agent are no part of it; letters are."""
    assert forbidden(tmp_path, f"User-agent: {line}\nDisallow: /a\n", ["/a", "/b"]) == ["/a"]
    assert forbidden(tmp_path, "User-agent: CCBot-News x\nDisallow: /a\n", ["/a"]) == []


@pytest.mark.parametrize("line", ["* x", "*\t(all)", "*  # all"])
def test_a_star_before_a_blank_is_every_agent(tmp_path, line):
    """Words after the star of a group are no part of its name, as in Google's parser; letters are."""
    assert forbidden(tmp_path, f"User-agent: {line}\nDisallow: /a\n", ["/a", "/b"]) == ["/a"]
    assert forbidden(tmp_path, "User-agent: *x\nDisallow: /a\n", ["/a"]) == []


@pytest.mark.parametrize("agent", ["Foo Bar", "CCBot/2.0", " ", "", "Mozilla (CCBot)"])
def test_names_that_no_group_has(tmp_path, agent):
    """An agent with a version or a blank is an error, since a group `Foo Bar` is that of `Foo`."""
    with pytest.raises(PlanError, match="must be a tuple of names"):
        Robots(folder(tmp_path, a=RULES), agents=(agent,))
    rules = "User-agent: CCBot Bar\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n"
    assert forbidden(tmp_path, rules, ["/a", "/b"]) == ["/a"]
