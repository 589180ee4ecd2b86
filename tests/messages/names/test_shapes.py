"""Names in every shape that people write, next to numbers in every shape, are hidden in all that persona writes."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
import unicodedata

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
from dataprep.core.model import batch as B
from dataprep.core.output.audit import json_strings
from dataprep.messages.names.stage import Pseudonyms
from dataprep.persona import persona
from dataprep.tokens.shards.audited import decoded

ME = "Tomasz Orrelius"
PEOPLE = {  # of several scripts, with a phone number; no word of theirs is a word of the messages
    "Ilse Varga": "+36 30 123 4567", "Karim Benalix": "+212 612-345678", "زهرة العلوي": "+212 6 61 22 33 44",
    "Дмитрий Соколов": "+7 916 482-07-35", "Ελένη Παππά": "+30 694 123 4567", "Zoë Müllner": "+49 151 23450781",
    "יעל כהנוביץ": "+972 54-123-4567", "Quỳnh Phạmthi": "+84 91 234 56 78",
}  # fmt: skip


def shifted(text: str, small: int, capital: int) -> str:
    """Latin letters moved to another block of letters."""
    return "".join(
        chr(small + ord(c) - 97) if "a" <= c <= "z" else chr(capital + ord(c) - 65) if "A" <= c <= "Z" else c
        for c in text
    )


SHAPES = {
    "plain": "{first}",
    "full": "{first} {last}",
    "upper": "{FIRST}",
    "lower": "{low}",
    "stretched": "{first}{end}{end}",
    "mention": "@{first}",
    "handle": "@{low}.{lowlast}",
    "joined handle": "@{low}{lowlast}",
    "snake": "{low}_{lowlast}",
    "dotted": "{low}.{lowlast}",
    "joined": "{low}{lowlast}",
    "last first": "{last} {first}",
    "no-break": "{first}\u00a0{last}",
    "hashtag": "#{first}",
    "two in a hashtag": "#{low}{lowlast}",
    "camel": "#Happy{first}Day",
    "team": "#team{low}",
    "snake hashtag": "#we_love_{low}",
    "digits": "{low}92",
    "digits before": "2024{low}",
    "digit handle": "@{low}1",
    "digits between": "{first}123{last}",
    "long digits between": "{low}20251{lowlast}",
    "one digit": "2{low}2",
    "digit after a name": "{first} {last}2",
    "digit inside": "1{low}2 {last}",
    "wide digit": "{first}\uff11{last}\uff11",
    "power": "{low}\u00b2",
    "arabic digits": "\u0662{first}\u0663",
    "hidden sign": "{low}\u200b2",
    "mail": "{low}.{lowlast}@example.org",
    "joined mail": "{low}{lowlast}99@example.org",
    "link": "t.me/{low}{lowlast}",
    "bold": "{bold}",
    "script": "{script}",
    "wide": "{wide}",
    "square": "{square}",
    "direction marks": "\u200f{first}\u200e",
    "soft hyphen": "{first}\u00ad",
    "brackets": "({first})",
    "possessive": "{first}'s",
    "quoted": "«{first}»",
}
NUMBERS = ("", "{intl}", " {intl}", ": {digits}", " wa.me/{digits}", " {national}", "/{intl}", " ({national})")


def written(name: str, shape: str, number: str) -> str:
    """A name in this shape, with that person's number in that form."""
    first, last = name.split()
    digits = re.sub(r"\D", "", PEOPLE.get(name, "+44 20 7946 0958"))
    forms = {
        "first": first, "last": last, "FIRST": first.upper(), "low": first.lower(), "lowlast": last.lower(),
        "end": first[-1] * 2, "bold": shifted(first, 0x1D41A, 0x1D400), "script": shifted(first, 0x1D4EA, 0x1D4D0),
        "wide": shifted(first, 0xFF41, 0xFF21), "square": shifted(first.lower(), 0x1F170, 0x1F170),
        "intl": PEOPLE.get(name, ""), "digits": digits, "national": "0" + digits[-9:],
    }  # fmt: skip
    return (SHAPES[shape] + number).format(**forms)


def plain(text: str) -> str:
    """A text without case, accents, forms of letters and invisible signs."""
    text = "".join(chr(ord(c) - 0x1F170 + 97) if 0x1F170 <= ord(c) < 0x1F18A else c for c in text)
    spelled = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in spelled if unicodedata.category(c) not in ("Mn", "Cf"))


WORDS = sorted({"orsi", "id=5550", *(word for name in (*PEOPLE, ME) for word in plain(name).split())})
FOUND = re.compile("|".join(map(re.escape, WORDS)))
TAILS = {re.sub(r"\D", "", number)[-8:] for number in PEOPLE.values()}


def leaks(text: str) -> list[str]:
    """Words of names, and ends of numbers, in a text."""
    bare = re.sub(r"[\s./()\u00a0-]", "", text)
    return FOUND.findall(plain(text)) + [tail for tail in TAILS if tail in bare]


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_is_hidden(tmp_path, shape) -> None:
    """One shape of each name with each number; an oracle that knows letters only finds nothing."""
    texts = [f"I saw {written(name, shape, number)} there" for name in PEOPLE for number in NUMBERS]
    columns = {
        "chat": pa.array(["Reading circle"] * len(texts)),
        "author": pa.array(list(itertools.islice(itertools.cycle([*PEOPLE, *PEOPLE.values()]), len(texts)))),
        "kind": pa.array(["text"] * len(texts)),
    }
    stage = Pseudonyms(pii=True, common_words=())
    batch = B.make(list(range(len(texts))), texts, "s", columns=columns)
    pq.write_table(pa.Table.from_batches([batch.select(["text", *columns])]), tmp_path / "in.parquet")
    docs = dp.read(str(tmp_path / "in.parquet"), columns=tuple(columns))
    out = dp.Pipeline(stage).run(docs, out=str(tmp_path / "out")).table()["text"].to_pylist()
    assert [(a, b) for a, b in zip(texts, out, strict=True) if leaks(b)] == []
    assert all(text.startswith("I saw ") and text.endswith(" there") for text in out)


def test_persona_of_the_cross_product(tmp_path) -> None:
    """Names x shapes x numbers in three exports, through all of persona: 0 leaks in every file that it writes."""
    product = list(itertools.product([*PEOPLE, ME], SHAPES, NUMBERS))
    messages = len(product) + 1000  # each is said once, and some a second time, by somebody else
    said = itertools.cycle(f"ok {written(*one)} and so on" for one in product)
    exports = tmp_path / "exports"
    exports.mkdir()
    now = dt.datetime(2024, 1, 1)
    people = itertools.cycle(PEOPLE)
    lines, telegram, csv = [], [], ["AuthorID,Author,Date,Content,Attachments,Reactions"]
    for k in range(messages):
        now += dt.timedelta(minutes=40 if k % 10 == 0 else 2)
        who = ME if k % 2 else next(people)
        text = next(said)
        if k % 3 == 0:
            lines.append(f"{now:%d/%m/%Y, %H:%M} - {PEOPLE.get(who, who) if k % 5 == 0 else who}: {text}")
        elif k % 3 == 1:
            row = {"id": k, "type": "message", "date": now.isoformat(), "from": who, "text": text}
            row |= {"from_id": f"user5550{sum(map(ord, who))}", "forwarded_from": "Orsolya Quist"}
            row["text"] = [text, {"type": "mention", "text": " @orsi_quist"}] if k % 31 == 0 else text
            row["text"] = f"{text} tg://user?id=5550{sum(map(ord, who))} orsi_quist" if k % 37 == 0 else row["text"]
            telegram.append(row)
        else:
            csv.append(f'{k % 9},"{who}",{now.isoformat()},"{text}",,')
    (exports / "WhatsApp Chat with Reading circle.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    chat = {"name": "Reading circle", "type": "private_group", "id": 7, "messages": telegram}
    (exports / "result.json").write_text(json.dumps(chat))
    (exports / "Reading circle.csv").write_text("\n".join(csv) + "\n", encoding="utf-8")
    out = tmp_path / "out"
    made = persona(str(exports), ME, out, vocab_size=600, val=0.1)
    assert made.answers > messages // 10
    found = []
    for place in sorted(p for p in out.rglob("*") if p.is_file()):
        if place.suffix == ".parquet":
            texts = list(json_strings(json.dumps(pq.read_table(place).to_pylist(), default=str).encode()))
        elif place.suffix == ".bin":
            texts = [value for strings in decoded(str(place)) for value in strings.values]
        else:
            texts = [place.read_bytes().decode("utf-8", "replace")]
        found += [(place.name, one) for text in texts if place.name != "tokenizer.json" for one in leaks(text)]
    assert found == []
