"""CCNet's text normalisation: what its language models were trained on (Wenzek et al. 2020, `cc_net`)."""

from __future__ import annotations

import unicodedata

# What stands for which typographic marks. The published table has "１" among the quotation marks too, but digits
# become 0 before it is looked at.
PLAIN = {
    ",": "，、", ".": "。", '"': "„”“«»」「《》", "'": "´’", ":": "∶：", "?": "？", "!": "！", "(": "（", ")": "）",
    ";": "；", "-": "–━►", " - ": "—", ". ": "．", "~": "～", "...": "…", "<": "〈", ">": "〉", "[": "【", "]": "】",
    "%": "％",
}  # fmt: skip
MARKS = {mark: plain for plain, marks in PLAIN.items() for mark in marks}


class _Table(dict[int, str]):
    """The replacement of each code point of a decomposed, lower-cased text; computed once each."""

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
    r"""Lower case, no accents (decomposed, marks left out), digits 0, plain punctuation, no control characters.

    The line feed is a control character: give it lines. (`cc_net` gave it whole documents, which glued the last word
    of each line to the first of the next; see `Perplexity`'s preset "ccnet2020".)

    >>> ccnet_normal(" Été 2020… «Oui» ")
    'ete 0000... "oui"'
    """
    text = text.strip().lower()
    if not text.isascii():
        text = unicodedata.normalize("NFD", text)
    return text.translate(_TABLE)


def ccnet_lines(text: str) -> str:
    """Return the text with every line normalised: training text for the models of `Perplexity`."""
    return "\n".join(map(ccnet_normal, text.split("\n")))
