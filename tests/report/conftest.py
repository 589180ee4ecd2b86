"""Runs to report about: one with everything in it and hostile to whoever shows it, and a poor one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

import numpy as np
import orjson
import pyarrow as pa
import pytest

import dataprep as dp
from dataprep import files
from dataprep.chat.clean import CleanMessages
from dataprep.chat.statistics import MessageStats
from dataprep.key import key
from dataprep.verdict import SPAN, CutSpans, write_spans

EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>'
ARABIC = "كان يا ما كان في قديم الزمان ملك عادل يحب الناس ويحبه الناس في كل مدينة وكل قرية من قرى البلاد الواسعة"
ENGLISH = "the quick brown fox jumps over the lazy dog and runs home before the rain begins to fall on {} tonight"
FOOTER = "\nSubscribe & share <this> page with everybody you know, today or tomorrow at the very latest."


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Cuts lines that stood in an earlier document: a plain stand-in for what cuts spans."""

    VERSION: ClassVar[int] = 1
    name: ClassVar[str] = "Lines"
    needs: ClassVar[tuple[str, ...]] = ()

    def fit(self, docs, run, out):
        """The spans, found line by line."""
        url = files.join(out, "spans.parquet")
        write_spans(url, [np.array(list(self._spans(docs)), SPAN)])
        return CutSpans(spans=url, made_by=key((self, docs.key)), called=self.name, min_left=1)

    def _spans(self, docs) -> Iterator[tuple[int, ...]]:
        seen: dict[bytes, tuple[int, int]] = {}
        for row in docs.table(["id", "text"]).to_pylist():
            at = 0
            for line in row["text"].encode().splitlines(keepends=True):
                if line in seen:
                    yield (row["id"], at, at + len(line), *seen[line])
                elif len(line) > 40:
                    seen[line] = (row["id"], at)
                at += len(line)


@pytest.fixture
def line_cutter():
    """A stage that cuts, of another name than those of the package."""
    return Lines()


def nasty(text: str):
    """A filter whose reason is hostile too."""
    return f"short {EVIL}" if len(text) < 30 else None


def spaced(text: str) -> str:
    """A map, so that the step before deduplication is saved."""
    return text.replace("\t", " ")


def corpus(place) -> dict[str, str]:
    """Hostile, Arabic and English texts by source, a Parquet file each."""
    pages = [ENGLISH.format(f"hill {i} of {i * i}") + f" {'very ' * i}" + FOOTER for i in range(20)]
    texts = {
        "عربي": [ARABIC, ARABIC + " أيضا"],
        EVIL: [EVIL * 3 + ENGLISH.format("<b>us</b>"), EVIL * 3 + ENGLISH.format("<i>them</i>")],
        "web & co": [*pages, *[ENGLISH.format("all")] * 5],
        "wide" * 60: ["\x00\x07\u202e" + "w" * 3_000 + EVIL],
        "wiped out": [f"x{i}" for i in range(150)],
    }
    for i, rows in enumerate(texts.values()):
        pa.parquet.write_table(pa.table({"text": rows}), place / f"{i}.parquet")
    return {source: str(place / f"{i}.parquet") for i, source in enumerate(texts)}


@pytest.fixture(scope="session")
def rich(tmp_path_factory):
    """A run with filters, deduplication, cuts, tokens, training metrics and samples."""
    place = tmp_path_factory.mktemp("rich")
    out = place / "a <b>run & more"
    stages = (dp.Filter(nasty), dp.Map(spaced), dp.Exact(), dp.MinHash(threshold=0.7), Lines())
    clean = dp.Pipeline(*stages).run(dp.read(corpus(place)), out=str(out / "clean"))
    dp.encode(clean, dp.train_bpe(clean, vocab_size=300, val=0.2), out=str(out / "encode"), val=0.2)
    rows = [{"step": i, "loss": 8 / (1 + i / 9)} for i in range(1, 400)]
    rows += [{"step": i, "val_loss": 8.1 / (1 + i / 9), "bits_per_byte": 3 - i / 300} for i in range(0, 400, 100)]
    (out / "metrics.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    (out / "sample.json").write_bytes(orjson.dumps([EVIL, ARABIC]))
    return out


@pytest.fixture(scope="session")
def poor(tmp_path_factory):
    """A run of one stage that drops nothing."""
    place = tmp_path_factory.mktemp("poor")
    (place / "few.jsonl").write_text('{"text": "one text"}\n{"text": "another text"}\n')
    dp.Pipeline(dp.Map(spaced)).run(dp.read(str(place / "few.jsonl")), out=str(place / "out"))
    return place / "out"


@pytest.fixture(scope="session")
def chatty(tmp_path_factory):
    """A run that counted messages, of people and in languages with hostile, long and Arabic names."""
    place = tmp_path_factory.mktemp("chatty")
    names = [EVIL, "عربي", "wide" * 30, *(f"Person-{i:04x}" for i in range(20))]
    lines = [
        f"[{datetime(2024, 1, 1) + timedelta(hours=31 * (i // 4), minutes=5 * i):%d.%m.%Y %H:%M}] "
        f"<{names[i % len(names)]}> message {i} 😂👍🏽"
        for i in range(400)
    ]
    (place / "log.txt").write_text("\n".join(lines), encoding="utf-8")
    docs = dp.read(str(place / "log.txt"), format="chat", line="[{time:%d.%m.%Y %H:%M}] <{author}> {text}")
    label = dp.Map(label_of, adds={"language": pa.string()})
    dp.Pipeline(label, MessageStats(), CleanMessages(emoji="drop")).run(docs, out=str(place / "out"))
    return place / "out"


def label_of(text: str):
    """A hostile label for some."""
    return {"language": EVIL if "7" in text else "en"}
