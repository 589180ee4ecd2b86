"""Twins of the kernels of `read/web` and `read/charsets`: the cost of tags, and the bytes that show a charset."""

from __future__ import annotations

import re
from collections import Counter


def html_work(html, names, free):
    """What a page's tags cost: open elements of `names` and attributes of a tag, each beyond `free`."""
    opened, total, i = Counter(), 0, 0
    value = r"""=[\x00-\x20]*(?:"[^"]*(?:"|$)|'[^']*(?:'|$))?"""
    tag = re.compile(rf"<(/?)([a-zA-Z](?:(?![\x00-\x20/>]).)*)((?:{value}|[^>=])*)", re.DOTALL)
    while (i := html.find("<", i)) >= 0:
        if html.startswith("<!--", i):
            end = re.compile("-->").search(html, i + 2)
            i = end.end() - 1 if end else len(html)
            continue
        found = tag.match(html, i)
        if not found:
            i += 1
            continue
        closing, name, rest = found.groups()
        i = found.end()
        rest = re.sub(value, lambda m: "" if m[0].strip("= \n") == "" else " ", rest)
        total += sum(max(0, k - free) for k in range(1, len(re.split(r"[\x00-\x20/]+", " " + rest + " ")) - 1))
        name = name.lower()
        if name in names:
            opened[name] += -1 if closing and opened[name] else 0 if closing else 1
        if closing:
            continue
        total += max(0, sum(opened.values()) - free)
        if name in {"script", "style"}:
            end = re.compile("</s", re.IGNORECASE).search(html, i)
            i = end.start() if end else len(html)
    return total


def without_tags(data, *, scripts):
    """A page with a blank instead of each tag; scripts: of each script and style, too."""
    tag = rb"<(?:script\b.*?</script|style\b.*?</style|[^>]*)>" if scripts else rb"<[^>]*>"
    return re.sub(tag, b" ", data, flags=re.DOTALL | re.IGNORECASE)


def shortened(data):
    """One blank instead of the inner bytes of each run of at least four ASCII bytes."""
    return re.sub(rb"(?<=[\x00-\x7f])[\x00-\x7f]{2,}(?=[\x00-\x7f])", b" ", data)


def high_bytes(data):
    """How many bytes are over 127, and how many of these in runs of three and more, without no-break spaces."""
    runs = re.findall(rb"[\x80-\x9f\xa1-\xff]+", data)
    return sum(map(len, runs)), sum(len(run) for run in runs if len(run) >= 3)
