"""Estimate the cost of parsing the tags of a web page.

A small page can cost a parser as much as a large one, by HTML's rules: formatting elements that are left open are
reopened in every paragraph (1,000 of them and 1,000 paragraphs, 18 kB, take 390 MB and 1.4 s in Resiliparse 2.0), and
main-content extraction takes time quadratic in nested `div` and `article` (100,000: over a minute) and in the
attributes of a tag. Therefore `work` first estimates the cost of a page from its tags, and costly pages are dropped.

Slow reference for the tests: tests/twins/page.py
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel

FREE = 256  # nested elements or attributes of one tag that cost nothing; browsers nest 512 at most
MAX_WORK = 1_000_000  # at most 0.4 GB and two seconds; 1,670 nested elements reach it
SMALL, FEW = 64 << 10, 1_024  # bytes and tags; pages with fewer of both are not scanned: 3 s and 0.2 GB at worst
NESTING = "div article a b big code em font i nobr s small strike strong tt u"


def _packed(name: str) -> int:
    return int.from_bytes(name.encode()[:8], "big")


NAMES = np.array(sorted(_packed(name) for name in NESTING.split()), np.uint64)
RAW = np.array([_packed(name) for name in ("script", "style")], np.uint64)


def work(html: bytes) -> int:
    """Return an estimate of the cost of parsing a page, up to MAX_WORK.

    The cost of a tag is the number of open elements beyond 256 plus the number of its attributes beyond 256. The
    estimate is the sum over all tags.
    """
    if len(html) < SMALL and html.count(b"<") < FEW:
        return 0
    return int(_work(np.frombuffer(html, np.uint8), NAMES, RAW, np.zeros(len(NAMES), np.int64)))


@kernel(_nrt=False)
def _work(html: npt.NDArray[np.uint8], names: npt.NDArray[np.uint64], raw: npt.NDArray[np.uint64],
          opened: npt.NDArray[np.int64]) -> int:  # fmt: skip
    """Return the cost in one pass over the tags; `opened` counts the open elements of each name."""
    n, i, depth, found = len(html), np.int64(0), np.int64(0), np.int64(0)
    while i + 1 < n and found < MAX_WORK:
        if html[i] != 60:  # <
            i += 1
            continue
        i += 1
        if html[i] == 33 and i + 2 < n and html[i + 1] == 45 and html[i + 2] == 45:  # <!-- up to -->
            i += 2
            while i + 1 < n and not (html[i] == 62 and html[i - 1] == 45 and html[i - 2] == 45):
                i += 1
            continue
        closing = html[i] == 47
        i += closing
        if i >= n or not 97 <= (html[i] | 32) <= 122:
            continue
        name, k = np.uint64(0), 0
        while i < n and html[i] > 32 and html[i] != 47 and html[i] != 62:
            if k < 8:
                name = name << np.uint64(8) | np.uint64(html[i] | 32)
            k, i = k + 1, i + 1
        attributes, between = np.int64(0), True
        while i < n and html[i] != 62:
            if html[i] == 61:  # = and a quoted value, in which > and < are text
                i += 1
                while i < n and html[i] <= 32:
                    i += 1
                if i < n and (html[i] == 34 or html[i] == 39):
                    quote = html[i]
                    i += 1
                    while i < n and html[i] != quote:
                        i += 1
                    i += 1
                    between = True
                continue
            space = html[i] <= 32 or html[i] == 47
            if between and not space:
                attributes += 1
                found += max(np.int64(0), attributes - FREE)
            between = space
            i += 1
        at = 0
        while at < len(names) and names[at] != name:
            at += 1
        if at < len(names) and closing:
            depth -= opened[at] > 0
            opened[at] -= opened[at] > 0
        elif at < len(names):
            opened[at] += 1
            depth += 1
        if closing:
            continue
        found += max(np.int64(0), depth - FREE)
        if name == raw[0] or name == raw[1]:  # the text of a script or style holds no tags, up to </s
            while i + 2 < n and not (html[i] == 60 and html[i + 1] == 47 and (html[i + 2] | 32) == 115):
                i += 1
    return int(found)
