"""Twin of `read/web/page.py`: the cost of a page's tags."""

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
