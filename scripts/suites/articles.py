"""Extract the articles of the pages of the article extraction benchmark of Zyte, and compare them with its texts.

The benchmark is a repository (scrapinghub/article-extraction-benchmark), not a package: clone it into the folder of the
suites. The measure is that of the benchmark: per page, the runs of four words that text and truth have in common, as
multisets; precision and recall are means over the pages, and F1 is computed from these means. Titles, names of authors,
captions and comments are not part of an article there. The tuned half are the pages whose name has an even hash.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from dataprep.errors import DataprepError
from dataprep.read.html import Html

from .sdists import FOLDER, NotThereError

NAME = "article-extraction-benchmark"
SIZE = 4  # words of a run
EXTRACTORS: dict[str, dict[str, Any]] = {
    "article, the default": {}, "resiliparse": {"extract": "resiliparse"},
    "resiliparse, comments=False": {"extract": "resiliparse", "comments": False},
    "trafilatura": {"extract": "trafilatura"}, "plain": {"extract": "plain"},
}  # fmt: skip
_WORD = re.compile(r"\w+")


def measures() -> Iterator[tuple[str, str, str]]:
    """Yield (measure, result on the tuned half, result on the other half); extractors that are missing are skipped."""
    folder = os.path.join(FOLDER, NAME)
    if not os.path.isfile(os.path.join(folder, "ground-truth.json")):
        msg = f"clone the repository scrapinghub/{NAME} into {FOLDER}"
        raise NotThereError(msg)
    with open(os.path.join(folder, "ground-truth.json"), encoding="utf-8") as f:
        truth = {name: _runs(page["articleBody"]) for name, page in json.load(f).items()}
    for name, options in EXTRACTORS.items():
        try:
            page = partial(_text, folder, Html(**options))
        except DataprepError as e:
            yield f"{name}: not run: {e}", "", ""
            continue
        tuned, other = (_result({k: truth[k] for k in truth if _is_tuned(k) == half}, page) for half in (True, False))
        yield f"{name}: F1 (precision, recall)", tuned, other


def _text(folder: str, reader: Html, name: str) -> str:
    """Return the text of a page; "" if the reader drops it."""
    with gzip.open(os.path.join(folder, "html", f"{name}.html.gz")) as f:
        section = reader.page(f.read())
    return "" if section.reason else bytes(section.text).decode()


def _result(truth: dict[str, Counter[tuple[str, ...]]], text_of: Callable[[str], str]) -> str:
    precision, recall = list[float](), list[float]()
    for name, right in truth.items():
        found = _runs(text_of(name))
        both = (found & right).total()
        precision += [both / found.total()] if found else []
        recall += [both / right.total()] if right else []
    p, r = statistics.mean(precision), statistics.mean(recall)
    return f"{2 * p * r / (p + r):.3f} ({p:.3f}, {r:.3f})"


def _runs(text: str) -> Counter[tuple[str, ...]]:
    """Return how often each run of SIZE words occurs in a text; a shorter text is one run."""
    words = _WORD.findall(text)
    return Counter(tuple(words[i : i + SIZE]) for i in range(max(1, len(words) - SIZE + 1))) if words else Counter()


def _is_tuned(name: str) -> bool:
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0
