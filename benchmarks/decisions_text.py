"""Parts of bench_decisions about texts: normal forms, words, personal data, emoji, dates."""

from __future__ import annotations

import datetime as dt
import importlib
import random
import re
import sys
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from decisions_common import Compare, Engine, beginning, buffers, chat_texts, mb, same, scripts_texts

sys.path.append(str(Path(__file__).parent.parent / "tests"))  # the labelled lines


def decomposed(_: Path) -> tuple[list[Engine], Compare]:
    """NFC of a column of decomposed texts in six scripts."""
    return normal_forms(scripts_texts(5))


def composed(_: Path) -> tuple[list[Engine], Compare]:
    """NFC of a column of texts in six scripts that already have it, as nearly all texts have."""
    return normal_forms([unicodedata.normalize("NFC", text) for text in scripts_texts(5)])


def normal_forms(texts: list[str]) -> tuple[list[Engine], Compare]:
    from dataprep.core.model import batch as B
    from dataprep.unicode.canonical import canonical

    column = pa.array(texts, pa.large_string())

    def ours():
        offsets, data = canonical(*B.buffers(column))
        return pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(data))

    def per_text(module: str):
        def run():
            tables = importlib.import_module(module)
            return pa.array([tables.normalize("NFC", text) for text in column.to_pylist()], pa.large_string())

        return run

    size = mb(texts)
    libraries = [Engine(m, per_text(m), size, m) for m in ("unicodedata", "unicodedata2")]
    return [Engine("ours", ours, size), *libraries], lambda a, b: same(True, a.equals(b))


def words(_: Path) -> tuple[list[Engine], Compare]:
    """Boundaries of words (UAX #29) in texts in six scripts."""
    from dataprep.unicode.word_texts import word_texts

    texts = [unicodedata.normalize("NFC", text) for text in scripts_texts(5)]
    some, given = beginning(texts, 0.3), buffers(texts)

    def ours():
        offsets, data = word_texts(*given)
        return [len(bytes(data[a:b]).split(b" ")) for a, b in pairwise(offsets)]

    def counted(cut):
        return [sum(any(c.isalnum() for c in word) for word in cut(text)) for text in some]

    def by_uniseg():
        from uniseg import wordbreak

        return counted(wordbreak.words)

    def by_regex():
        import regex

        return counted(regex.compile(r"(?V1w)\b").split)

    def compare(a, b):
        equal = sum(x == y for x, y in zip(a, b, strict=False))
        return f"as many words in {equal} of {len(b)} texts"

    engines = [Engine("ours", ours, mb(texts)), Engine("uniseg*", by_uniseg, mb(some), "uniseg")]
    return [*engines, Engine("regex, (?w)\\b*", by_regex, mb(some), "regex")], compare


def personal(_: Path) -> tuple[list[Engine], Compare]:
    """Personal data in chat messages; right and wrong matches on the labelled lines of tests/pii."""
    from dataprep.core.model import batch as B
    from dataprep.core.model.ledger import Ledger, watch
    from dataprep.pii.rules import find
    from dataprep.pii.stage import PII
    from fixtures.personal import lines

    texts, labelled = chat_texts(4), lines()
    some = beginning(texts, 0.1)
    parts = [texts[i : i + 4096] for i in range(0, len(texts), 4096)]
    batches = [B.make(np.arange(len(part)) + 4096 * i, part, "x") for i, part in enumerate(parts)]

    def rates(found_in, kinds) -> str:
        right = wrong = wanted = 0
        for line in labelled:
            found = {(a, b) for a, b, kind in found_in(line.text) if kind in kinds}
            spans = set(line.spans) if line.kind in kinds else set()
            right, wrong, wanted = right + len(found & spans), wrong + len(found - spans), wanted + len(spans)
        return f"{'+'.join(sorted(kinds))}: precision {right / max(1, right + wrong):.3f}, recall {right / wanted:.3f}"

    def ours():
        list(watch(PII(), iter(batches), Ledger("PII")))
        return lambda kinds: rates(lambda text: find(text, ("email", "ip", "iban", "card", "phone")), kinds)

    def library(found_in, kinds):
        def run():
            for text in some:
                list(found_in(text))
            return lambda: (rates(found_in, kinds), kinds)

        return run

    def numbers(text):
        import phonenumbers

        return [(m.start, m.end, "phone") for m in phonenumbers.PhoneNumberMatcher(text, "MA")]

    def scrubbed(text, held=[]):  # noqa: B006 - made once
        import scrubadub

        if not held:
            held.append(scrubadub.Scrubber(locale="en_US"))
        names = {"email": "email", "phone": "phone", "credit_card": "card"}
        return [(f.beg, f.end, names[f.type]) for f in held[0].iter_filth(text) if f.type in names]

    def compare(a, b):
        theirs, kinds = b()
        return f"{theirs}; ours {a(kinds).partition(': ')[2]}"

    engines = [Engine("ours", ours, mb(texts))]
    engines.append(Engine("phonenumbers, region MA*", library(numbers, {"phone"}), mb(some), "phonenumbers"))
    engines.append(Engine("scrubadub*", library(scrubbed, {"email", "phone", "card"}), mb(some), "scrubadub"))
    return engines, compare


def emoji(_: Path) -> tuple[list[Engine], Compare]:
    """Count emoji in chat messages."""
    from dataprep.messages.emoji import emoji_counts, emoji_spans

    rng = random.Random(4)
    signs = ["👍🏽", "👨‍👩‍👧", "🇲🇦", "❤️", "😂", "1️⃣", "🧥", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"]
    texts = [text + rng.choice(signs) * (rng.random() < 0.3) for text in chat_texts(4)]
    some, column = beginning(texts, 0.5), pa.array(texts, pa.large_string())

    def library():
        import emoji as E

        return Counter(found["emoji"] for text in some for found in E.emoji_list(text))

    def compare(_, theirs):
        import emoji as E

        whole = [e for e, about in E.EMOJI_DATA.items() if about["status"] == 2]
        found = sum(emoji_spans(e) == [(0, len(e))] for e in whole)
        counts = same(emoji_counts(pa.array(some, pa.large_string())), theirs)
        return f"counts {counts}; of its {len(whole):,} emoji ours finds {found:,}"

    engines = [Engine("ours", lambda: emoji_counts(column), mb(texts))]
    return [*engines, Engine("emoji*", library, mb(some), "emoji")], compare


def dates(place: Path) -> tuple[list[Engine], Compare]:
    """Times of a WhatsApp export; ours reads the messages too, the libraries get the dates cut out; thousand dates."""
    import bench_chats

    import dataprep as dp

    path = place / "WhatsApp Chat with Ilse.txt"
    n = bench_chats.write(path, "android", 4_000_000)
    written = re.findall(r"^(\d\d/\d\d/\d{4}, \d\d:\d\d) - ", path.read_text(encoding="utf-8"), re.MULTILINE)

    def ours():
        return dp.read(str(path), format="whatsapp").table(["time"])["time"].to_pylist()

    def dateutil():
        from dateutil import parser

        return [parser.parse(when, dayfirst=True) for when in written[:5_000]]

    def by_dateparser():
        import dateparser

        return [dateparser.parse(when, settings={"DATE_ORDER": "DMY"}) for when in written[:300]]

    def strptime():
        return [dt.datetime.strptime(when, "%d/%m/%Y, %H:%M") for when in written]  # noqa: DTZ007 - a phone's clock

    def compare(a, b):
        return f"{sum(x == y for x, y in zip(a, b, strict=False)):,} of {len(b):,} equal; the order must be known"

    engines = [Engine("ours", ours, n / 1e3), Engine("datetime.strptime", strptime, len(written) / 1e3)]
    engines.append(Engine("dateutil*", dateutil, 5, "dateutil"))
    return [*engines, Engine("dateparser*", by_dateparser, 0.3, "dateparser")], compare
