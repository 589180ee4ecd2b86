"""Twin of `filters/perplexity.py`: CCNet's perplexity of a document."""

from __future__ import annotations

import re

from twins.unicode import lower, points, without_accents


def words(text):
    """Words of a line as KenLM's `lmplz` reads them."""
    return [word for word in re.split("[\0\t\n\r ]+", text) if word]


def ccnet_perplexity(text, score, glued):
    """A document's perplexity as `cc_net` computes it; `score` gives a sentence's log10 probability."""
    marks = dict(zip("，。、„”“«»」「《》´∶：？！（）；–", ",.,\"\"\"\"\"\"\"\"\"'::?!();-", strict=True))
    marks |= {"．": ". ", "～": "~", "’": "'", "…": "...", "━": "-", "〈": "<", "〉": ">", "【": "[", "】": "]"}
    marks |= {"％": "%", "►": "-", "—": " - "}

    def normal(line):
        line = without_accents(lower(line.strip()))
        line = "".join("0" if c in points("DECIMAL") else c for c in line)
        return re.sub("[\x00-\x1f\x7f-\x9f]", "", "".join(marks.get(c, c) for c in line))

    lines = [words(normal(line)) for line in ([text] if glued else text.split("\n"))]
    lines = [line for line in lines if line]
    n_words = sum(len(line) + 1 for line in lines)
    return 10 ** (-sum(score(" ".join(line)) for line in lines) / n_words) if lines else None
