"""CCNet's text normalisation, used to train its language models (Wenzek et al. 2020, `cc_net`)."""

from __future__ import annotations

import unicodedata

# Plain signs of typographic marks. The published table has "１" among the quotation marks, but digits are 0 by then.
PLAIN = {
    ",": "，、", ".": "。", '"': "„”“«»」「《》", "'": "´’", ":": "∶：", "?": "？", "!": "！", "(": "（", ")": "）",
    ";": "；", "-": "–━►", " - ": "—", ". ": "．", "~": "～", "...": "…", "<": "〈", ">": "〉", "[": "【", "]": "】",
    "%": "％",
}  # fmt: skip
MARKS = {mark: plain for plain, marks in PLAIN.items() for mark in marks}


class _Table(dict[int, str]):
    """Replacement of each code point of a decomposed, lower-cased text; computed once each."""

    def __missing__(self, point: int) -> str:
        c = chr(point)
        if unicodedata.category(c) == "Mn" or point < 32 or 127 <= point < 160:
            value = ""
        else:
            value = "0" if c.isdecimal() else MARKS.get(c, c)
        self[point] = value
        return value


_TABLE = _Table()


def ccnet_normal(text: str) -> str:
    """Return a line as CCNet normalises it: lower case, no accents or control characters, digits as 0, plain marks.

    Line feeds are control characters, so pass one line at a time. (`cc_net` passes whole documents, which joins the
    last word of each line to the first of the next; see `Perplexity`'s preset "ccnet2020".)

    >>> ccnet_normal(" Été 2020… «Oui» ")
    'ete 0000... "oui"'
    """
    text = text.strip().lower()
    if not text.isascii():
        text = unicodedata.normalize("NFD", text)
    return text.translate(_TABLE)


def ccnet_lines(text: str) -> str:
    """Return the text with every line normalised by `ccnet_normal`, to train models of `Perplexity`."""
    return "\n".join(map(ccnet_normal, text.split("\n")))
