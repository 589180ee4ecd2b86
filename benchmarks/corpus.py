"""A corpus of any size from the text every Python installation carries, with planted duplicates.

    python benchmarks/corpus.py OUT.jsonl.zst --mb 50

Sentences are those of the docstrings of the standard library and the installed packages. A document is lines of one
to four sentences drawn at random (lognormal length, 2 kB on average); 5 % are exact copies of an earlier document,
10 % copies with one to five words changed. A cache of the sentences is kept in the temporary folder.

In a large corpus of this kind every sentence comes back, so nearly all of it is repeated text. With `--fresh` sentences
are new ones, of words drawn as often as these docstrings have them: then only the copies repeat, as in a crawl.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import orjson

from dataprep.store import compress, files

CACHE = Path(tempfile.gettempdir()) / f"dataprep-sentences-{sys.version_info[0]}{sys.version_info[1]}.json"


def sentences() -> list[str]:
    """The sentences of five words and more in the installation's docstrings, each once, sorted."""
    if CACHE.exists():
        return list(orjson.loads(CACHE.read_bytes()))
    found: set[str] = set()
    for name in ("stdlib", "purelib"):
        for path in sorted(Path(sysconfig.get_path(name)).rglob("*.py")):
            found.update(_of_file(path))
    chosen = sorted(found)
    CACHE.write_bytes(orjson.dumps(chosen))
    return chosen


def _of_file(path: Path) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError, OSError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = " ".join((ast.get_docstring(node) or "").split())
            found = re.findall(r"[A-Z][^.?!{]{30,400}[.?!]", text)  # no braces: C4 would drop whole documents
            yield from (s for s in found if s.count(" ") >= 4)


def documents(n_bytes: int, seed: int = 0, *, fresh: bool = False) -> Iterator[str]:
    """Documents of `n_bytes` of UTF-8 text together; `fresh`: of sentences that nobody wrote before."""
    rng, pool = random.Random(seed), sentences()
    words = " ".join(pool).split(" ") if fresh else []
    recent: list[str] = []
    made = 0
    while made < n_bytes:
        kind = rng.random()
        if recent and kind < 0.05:
            text = rng.choice(recent)
        elif recent and kind < 0.15:
            text = _edited(rng.choice(recent), rng)
        else:
            text = _new_words(words, rng) if fresh else _fresh(pool, rng)
            if len(recent) < 5000:
                recent.append(text)
            else:
                recent[rng.randrange(5000)] = text
        made += len(text.encode())
        yield text


def _fresh(pool: list[str], rng: random.Random) -> str:
    n_lines = min(400, max(1, int(rng.lognormvariate(1.7, 0.8))))
    picked = (pool[int(rng.random() * len(pool))] for _ in iter(int, 1))
    return "\n".join(" ".join(next(picked) for _ in range(rng.randint(1, 4))) for _ in range(n_lines))


def _new_words(words: list[str], rng: random.Random) -> str:
    n_lines = min(400, max(1, int(rng.lognormvariate(1.7, 0.8))))
    return "\n".join(" ".join(rng.choices(words, k=rng.randint(12, 72))) + "." for _ in range(n_lines))


def _edited(text: str, rng: random.Random) -> str:
    words = text.split(" ")
    for _ in range(rng.randint(1, 5)):
        words[rng.randrange(len(words))] = rng.choice(("another", "changed", "word", "here", "instead"))
    return " ".join(words)


def write(url: str, n_bytes: int, seed: int = 0, *, fresh: bool = False) -> None:
    """Write the documents as JSONL with a url and a date beside the text."""
    with files.atomic(url) as f, compress.compressor(f, url) as out:
        for i, text in enumerate(documents(n_bytes, seed, fresh=fresh)):
            row = {"text": text, "url": f"https://example.org/{i}", "date": "2024-05-01"}
            out.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


def main() -> None:
    """Write one file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--mb", type=float, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", action="store_true")
    given = parser.parse_args()
    write(given.out, int(given.mb * 1e6), given.seed, fresh=given.fresh)


if __name__ == "__main__":
    main()
