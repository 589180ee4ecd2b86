"""Chats: MB of export per second of user CPU, and peak memory, beside what people parse chats with.

    python benchmarks/bench_chats.py [--mb 100] [--peer-mb 4] [--peer-python PATH]

Exports are made here, of invented words: WhatsApp's as Android writes it in 24 hours and as iOS writes it in 12, with
captions, media, system lines, emoji and Arabic; Telegram's result.json. The readers of dataprep give time, author and
kind as columns and tell the order of day and month; the plain loop is one regular expression of the file's own form and
a list of tuples (what rwhatsapp and most scripts do), for Telegram `json.load` and a list. Peers (chat-miner, whatstk)
read a smaller export, since they take long. Every reader has a process of its own and reads once to warm up, except
peers; a file of the same messages at a fifth of the size shows by the peak whether memory is bounded. "found" is how
many of the messages written come back.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib
import json
import random
import re
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

import engines

ENGINES = {"ours": "dataprep", "plain": "plain loop", "miner": "chat-miner", "whatstk": "whatstk"}
PEERS = ("miner", "whatstk")
FORMS = {"android": "WhatsApp, Android, 24 h", "ios": "WhatsApp, iOS, 12 h", "telegram": "Telegram, result.json"}
HEADERS = {
    "android": r"^(\d\d/\d\d/\d{4}), (\d\d:\d\d) - (?:([^:\n]+): )?(.*)$",
    "ios": "^\u200e?\\[(\\d+/\\d+/\\d\\d), (\\d+:\\d\\d:\\d\\d\u202f[AP]M)\\] (?:([^:\n]+): )?(.*)$",
}
CLOCKS = {"android": "%d/%m/%Y %H:%M", "ios": "%m/%d/%y %I:%M:%S\u202f%p"}
NOTICE = "Messages and calls are end-to-end encrypted. Tap to learn more."
MODULES = {"miner": "chatminer.chatparsers", "whatstk": "whatstk"}  # imported before the clock runs
ARABIC = ["نعم", "لا", "غدا", "السلام", "شكرا", "مرحبا", "اليوم"]


def messages(n_bytes: int) -> Iterator[tuple[dt.datetime, str | None, str]]:
    """Invented messages of about so many bytes: time, author, text."""
    rng = random.Random(5)
    words = ["".join(rng.choices("etaoinshrdlucmwfygpbvk", k=rng.randint(2, 9))) for _ in range(4_000)] + ARABIC * 30
    names = [f"{w.title()} {v.title()}" for w, v in zip(words[:20], words[20:40], strict=True)]
    t = dt.datetime(2015, 2, 25)  # noqa: DTZ001 - a phone's clock
    while n_bytes > 0:
        t += dt.timedelta(seconds=int(rng.expovariate(1 / 240)))
        text = " ".join(rng.choices(words, k=rng.randint(1, 18)))
        if rng.random() < 0.1:
            text += "\n" + " ".join(rng.choices(words, k=6)).capitalize()
        text += rng.choice(["", "", "", " 😂😂", "!"])
        n_bytes -= len(text.encode()) + 40
        yield t, (None if rng.random() < 0.01 else rng.choice(names)), text


def write(path: Path, form: str, n_bytes: int) -> int:
    """An export in a form; how many messages it holds."""
    if form == "telegram":
        made = [
            {"id": i, "type": "message", "from": a or "-", "date": t.isoformat(), "date_unixtime": f"{t:%s}", "text": s}
            for i, (t, a, s) in enumerate(messages(n_bytes // 2))
        ]
        path.write_text(json.dumps({"name": "Chat", "type": "private_group", "id": 1, "messages": made}), "utf-8")
        return len(made)
    n = 0
    with path.open("w", encoding="utf-8") as f:
        for t, author, text in messages(n_bytes):
            head = f"{t:%d/%m/%Y, %H:%M} - " if form == "android" else ios(t)
            f.write(f"{head}{author}: {text}\n" if author else f"{head}{NOTICE}\n")
            n += 1
    return n


def ios(t: dt.datetime) -> str:
    """The header of an iPhone in the United States."""
    return f"[{t.month}/{t.day}/{t:%y}, {t.hour % 12 or 12}:{t:%M:%S}\u202f{t:%p}] "


def ours(path: str, form: str) -> int:
    """Batches with the columns of messages."""
    from dataprep.core.model.ledger import Ledger
    from dataprep.core.model.reader import Slice

    if form == "telegram":
        from dataprep.read.chats.telegram.json import Telegram as Reader
    else:
        from dataprep.read.chats.whatsapp.reader import WhatsApp as Reader
    return sum(batch.num_rows for batch in Reader()(Slice(path, 0), Ledger("read", source="s")))


def plain(path: str, form: str) -> int:
    """The loop that people write: the form and the order of the date are given to it."""
    if form == "telegram":
        with open(path, encoding="utf-8") as f:
            read = [(dt.datetime.fromisoformat(m["date"]), m["from"], m["text"]) for m in json.load(f)["messages"]]
        return len(read)
    header, clock = re.compile(HEADERS[form]), CLOCKS[form]
    rows: list[list] = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            found = header.match(line)
            if found:
                day, time, author, text = found.groups()
                rows.append([dt.datetime.strptime(f"{day} {time}", clock), author, text])  # noqa: DTZ007
            elif rows:
                rows[-1][2] += "\n" + line.rstrip("\n")
    return len(rows)


def miner(path: str, form: str) -> int:
    """chat-miner's parsers."""
    from chatminer import chatparsers

    parser = {"telegram": "TelegramJsonParser"}.get(form, "WhatsAppParser")
    read = getattr(chatparsers, parser)(path)
    read.parse_file()
    return len(read.parsed_messages.get_df())


def whatstk(path: str, form: str) -> int:
    """whatstk's chat, its form told by itself."""
    from whatstk import WhatsAppChat

    if form == "telegram":
        msg = "it reads WhatsApp only"
        raise SystemExit(msg)
    return len(WhatsAppChat.from_source(path).df)


def measure(engine: str, path: str, form: str) -> None:
    """Print seconds, peak MB and messages of one engine as JSON."""
    importlib.import_module(MODULES.get(engine, "json"))
    best = float("inf")
    for turn in range(1 if engine in PEERS else 4):
        start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        found = globals()[engine](path, form)
        took = resource.getrusage(resource.RUSAGE_SELF).ru_utime - start
        best = took if turn < 2 else min(best, took)
    print(json.dumps({"seconds": best, "peak": engines.peak_kb() / 1024, "found": found}))


def main() -> None:
    """Measure every engine on every form."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--peer-mb", type=int, default=4)
    parser.add_argument("--peer-python", action="append", default=[])
    parser.add_argument("--engine", nargs=3, metavar=("ENGINE", "PATH", "FORM"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        measure(*given.engine)
        return
    for form, title in FORMS.items():
        with tempfile.TemporaryDirectory() as folder:
            written = {mb: write(Path(folder) / f"{mb}.txt", form, mb * 1_000_000)
                       for mb in (given.mb, max(1, given.mb // 5), given.peer_mb)}  # fmt: skip
            print(f"\n{title:30}{'export MB':>10}{'MB/s':>8}{'peak MB':>9}{'found':>9}")
            sizes = [("ours", given.mb), ("ours", max(1, given.mb // 5)), ("plain", given.mb)]
            for engine, mb in [*sizes, *((peer, given.peer_mb) for peer in PEERS)]:
                path = Path(folder) / f"{mb}.txt"
                said = engines.child(__file__, engines.interpreters(given.peer_python), engine, str(path), form)
                size = path.stat().st_size / 1e6
                if isinstance(said, str):
                    print(f"{ENGINES[engine]:30}{size:>10.1f}  failed: {said[:60]}", flush=True)
                    continue
                share = said["found"] / written[mb]
                rate = f"{size / said['seconds']:>8.1f}{said['peak']:>9.0f}{share:>9.1%}"
                print(f"{ENGINES[engine]:30}{size:>10.1f}{rate}", flush=True)


if __name__ == "__main__":
    main()
