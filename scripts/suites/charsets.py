"""Decode the test files of chardet, uchardet and charset-normalizer, whose charsets are known.

A file is right if its text is the one that its stated charset gives; files that this charset does not decode are left
out. Each file is read three times: as a text file, as a web page with an unknown charset, and as a page whose HTTP
header states the charset. One part of 8, 16, 40, 100 and 400 characters of each file is also written in every charset
that has its characters, and read with a header that states this charset. The tuned half are the files whose name and
content have an even hash.
"""

from __future__ import annotations

import ast
import codecs
import hashlib
import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.read.charsets.decide import characters
from dataprep.read.charsets.labels import codec_of
from dataprep.read.whole_file import Text

from .sdists import unpacked

SDISTS = ("chardet==5.2.0", "cchardet==2.1.7", "charset-normalizer==3.5.3")
LANGUAGES = ("croatian", "czech", "hungarian", "polish", "slovak", "slovene", "bulgarian", "russian", "arabic", "greek",
             "turkish", "romanian", "hebrew")  # fmt: skip
NAMES = {"cp932": "cp932", "cp949": "cp949", "euc-tw": "", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932",
         "euc-kr": "cp949", "viscii": "", "macroman": "mac-roman", "maccyrillic": "mac-cyrillic", "tis-620": "cp874",
         "iso-8859-1": "cp1252", "iso-8859-9": "cp1254", "iso-8859-11": "cp874", "uhc": "cp949", "big5": "big5hkscs",
         "windows-1252": "cp1252", "koi8-r": "koi8-r", "ibm855": "cp855", "mac-cyrillic": "mac-cyrillic",
         "mac-centraleurope": "mac-latin2", "utf-16": "utf-16", "utf-32": "utf-32", "windows-874": "cp874"}  # fmt: skip


LABELS = (*(f"windows-125{n}" for n in range(9)), *(f"iso-8859-{n}" for n in (*range(1, 11), 13, 14, 15, 16)),
          "macintosh", "x-mac-cyrillic", "ibm850", "ibm852", "ibm866", "koi8-r", "koi8-u", "windows-874", "shift_jis",
          "euc-jp", "gbk", "big5", "euc-kr", "utf-16le", "utf-16be")  # fmt: skip
SIZES = (8, 16, 40, 100, 400)


class Sample(NamedTuple):
    """A file: its name, its bytes, the name of its charset, and its characters."""

    name: str
    data: bytes
    charset: str
    text: str


def samples() -> Iterator[Sample]:
    """Yield the files of the three packages, equal ones once."""
    seen: set[bytes] = set()
    for sdist, folder, charset in _files():
        for name in sorted(os.listdir(folder) if os.path.isdir(folder) else [os.path.basename(folder)]):
            path = os.path.join(folder, name) if os.path.isdir(folder) else folder
            with open(path, "rb") as f:
                data = f.read()
            mark = hashlib.sha256(data).digest()
            label = charset or _stem(name)
            try:
                codec = codecs.lookup(NAMES.get(label.lower(), label)).name
                text = data.decode(codec).removeprefix("\ufeff")
            except (LookupError, UnicodeDecodeError):
                continue
            if mark not in seen:
                seen.add(mark)
                yield Sample(f"{sdist}/{os.path.relpath(path, folder) if charset else name}", data, label, text)


def _files() -> Iterator[tuple[str, str, str]]:
    """Yield (package, folder or file, charset); the charset is "" if names of files state it."""
    chardet, uchardet, normalizer = (unpacked(one) for one in SDISTS)
    tests = os.path.join(chardet, "tests")
    for name in sorted(os.listdir(tests)):
        if os.path.isdir(os.path.join(tests, name)):
            stem, _, last = name.rpartition("-")
            yield "chardet", os.path.join(tests, name), stem if last in LANGUAGES else name
    tests = os.path.join(uchardet, "src", "tests", "testdata")
    for name in sorted(os.listdir(tests)):
        yield "uchardet", os.path.join(tests, name), ""
    with open(os.path.join(normalizer, "tests", "test_full_detection.py"), encoding="utf-8") as f:
        tree = ast.parse(f.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and len(node.elts) == 3 and all(isinstance(e, ast.Constant) for e in node.elts):
            name, charset, _ = (str(e.value) for e in node.elts if isinstance(e, ast.Constant))
            path = os.path.join(normalizer, "data", name)
            if os.path.exists(path):
                yield "charset-normalizer", path, charset


def _stem(name: str) -> str:
    """Return the charset that the name of a file of uchardet states, `iso-8859-2` for `iso-8859-2.not-utf8.txt`."""
    return name.split(".", 1)[0]


def is_tuned(sample: Sample) -> bool:
    """Return whether a file belongs to the half that may be looked at."""
    return hashlib.sha256(sample.name.encode() + sample.data).digest()[0] % 2 == 0


def measures() -> Iterator[tuple[str, str, str]]:
    """Yield (measure, result on the tuned half, result on the other half)."""
    right, total = Counter[tuple[str, bool]](), Counter[bool]()
    names = ("text file", "page without a header", "page with the right header")
    for sample in samples():
        half = is_tuned(sample)
        total[half] += 1
        texts = _as_file(sample.data), _as_page(sample.data, ""), _as_page(sample.data, sample.charset)
        right.update((name, half) for name, text in zip(names, texts, strict=True) if text == sample.text)
    for name in names:
        tuned, other = (f"{right[name, half]} of {total[half]}" for half in (True, False))
        yield name, tuned, other
    right, total = Counter(), Counter()
    for sample in samples():
        half = is_tuned(sample)
        for data, label, text in _parts(sample):
            total[half] += 1
            found = characters(data, label, is_html=False)
            right["parts", half] += found is not None and found.text == text
    tuned, other = (f"{right['parts', half]} of {total[half]}" for half in (True, False))
    yield "short parts in all charsets, with the right header", tuned, other


def _parts(sample: Sample) -> Iterator[tuple[bytes, str, str]]:
    """Yield (bytes, charset, text) of parts of a file, each of which has a character beyond ASCII."""
    draw = random.Random(sample.name)  # noqa: S311 - not for secrets
    places = [i for i, c in enumerate(sample.text) if c > "\x7f"]
    for size in SIZES if places else ():
        start = max(0, draw.choice(places) - draw.randrange(size))
        text = sample.text[start : start + size]
        for label in LABELS:
            codec = codec_of(label)
            data = text.encode(codec, "ignore")
            if data.decode(codec, "ignore") == text:
                yield data, label, text


def _as_page(data: bytes, declared: str) -> str:
    found = characters(data, declared, is_html=True)
    return "" if found is None else found.text


def _as_file(data: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.txt")
        with open(path, "wb") as f:
            f.write(data)
        batches = Text()(Slice(path, 0), Ledger("read", source="s"))
        return "".join(text for batch in batches for text in batch.column("text").to_pylist())
