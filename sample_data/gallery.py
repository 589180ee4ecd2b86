"""Write the samples of docs/gallery.md into the folder `gallery`: a crawl, Darija, a shelf of a library, instructions.

`make.py` calls `write`. All text is invented here; the same files are written every time.
"""

from __future__ import annotations

import html
import random
import re
from collections.abc import Callable
from pathlib import Path

from gallery_texts import ARABIC, ARABIZI, BEES, BUNS, CHAPTERS, FRENCH, SLOTS_ARABIC, SLOTS_ARABIZI, TASKS
from phrases import SENTENCES, SLOTS


def write(folder: Path, jsonl: Callable[[list[dict[str, str]]], bytes], gz: Callable[[bytes], bytes]) -> None:
    """Write all files below `folder`; jsonl, gz: return rows as JSON Lines, and bytes as a gzip member."""
    for name in ("library", "instructions"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "crawl.warc.gz").write_bytes(b"".join(gz(record) for record in crawl(random.Random(1))))
    (folder / "darija.jsonl").write_bytes(jsonl(darija(random.Random(2))))
    for name, content in library().items():
        (folder / "library" / name).write_bytes(content)
    for name, rows in instructions(random.Random(3)).items():
        (folder / "instructions" / name).write_bytes(jsonl(rows))


def _filled(template: str, slots: dict[str, list[str]], rng: random.Random) -> str:
    """Return a template with a word in each {slot}."""
    text = re.sub(r"\{(\w+)\}", lambda m: rng.choice(slots[m[1]]), template)
    return text[0].upper() + text[1:]


def crawl(rng: random.Random) -> list[bytes]:
    """Return the records of a crawl: articles, copies of them, lists of links, pages in French, and an advertisement."""
    pages: dict[str, list[str]] = {}
    for number in range(24):
        lines = [_filled(one, SLOTS, rng) for one in rng.sample(SENTENCES, 16)]
        pages[f"https://village-{number % 6}.example/story/{number}"] = [
            " ".join(lines[at : at + 4]) for at in range(0, 16, 4)
        ]
    stories = list(pages.values())
    for number in range(5):  # the same stories in another paper, with one sentence more
        pages[f"https://mirror.example/{number}"] = [
            *stories[number],
            "This story was first printed by a village paper.",
        ]
    stories[7].append("Write to the editor at desk@village-1.example, and tell us what you have seen this week.")
    for number in range(4):
        pages[f"https://village-{number}.example/archive"] = [f"Read the paper of week {week}" for week in range(1, 40)]
    for number, text in enumerate(FRENCH):
        pages[f"https://journal.example/{number}"] = text
    notice = "We are closed for the season and will open again in spring."
    pages["https://inn.example/"] = [notice] * 12
    headlines = (_filled("{number} {adj} {noun}s", SLOTS, rng) for _ in range(30))
    pages["https://headlines.example/"] = [*dict.fromkeys(headlines), *stories[3][:1]]
    pages["https://casino-gold.example/"] = stories[1]
    pages["https://shop.example/"] = ["Add to basket", "Lorem ipsum dolor sit amet, and so on for a while."] * 8
    found = [_record("warcinfo", "gallery.warc.gz", b"description: a crawl of no site\r\n")]
    for url, paragraphs in pages.items():
        found.append(_record("response", url, b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
                             + page(url, paragraphs)))  # fmt: skip
    return found


def page(title: str, paragraphs: list[str]) -> bytes:
    """Return an HTML page with a menu, a main part and a footer."""
    menu = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("home", "news", "weather", "about", "contact"))
    main = "\n".join(f"<p>{html.escape(one)}</p>" for one in paragraphs)
    return (
        f'<!doctype html>\n<html><head><meta charset="utf-8"><title>{html.escape(title)}</title></head><body>\n'
        f"<nav><ul>{menu}</ul></nav>\n<main>\n{main}\n</main>\n<footer>© nobody, all rights left</footer></body></html>\n"
    ).encode()


def _record(kind: str, url: str, body: bytes) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-05-01T00:00:00Z\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body + b"\r\n\r\n"


def darija(rng: random.Random) -> list[dict[str, str]]:
    """Return texts of five collections in Darija, in Arabic and in Latin letters, with copies, and some in French."""

    def texts(templates: list[str], slots: dict[str, list[str]], n: int) -> list[str]:
        return [" ".join(_filled(one, slots, rng) for one in rng.sample(templates, 3)) for _ in range(n)]

    made = {"blog": texts(ARABIC, SLOTS_ARABIC, 40), "chat": texts(ARABIZI, SLOTS_ARABIZI, 30)}
    made["press"] = [" ".join(one) for one in FRENCH]
    made["mirror"] = made["blog"][:6]
    made["aggregator"] = [f"{one} والسلام." for one in made["blog"][6:12]]
    made["links"] = ["http://souk.example/1 http://souk.example/2", "🙂🙂🙂🙂", "نعم"]
    return [{"text": text, "dataset_source": source} for source, some in made.items() for text in some]


def library() -> dict[str, bytes]:
    """Return a shelf: two handbooks as PDF, and four web pages, of which two are about bees."""
    return {
        "handbook.pdf": pdf([("The bee keeper's handbook", one) for one in CHAPTERS]),
        "second-edition.pdf": pdf([("Handbook, second edition", one) for one in CHAPTERS[:2]]),
        "swarms.html": page("Swarms", BEES[:4]),
        "honey.html": page("Honey", BEES[4:]),
        "buns.html": page("Buns", BUNS),
        "members.html": page("Members", ["Log in", "Lost your password?", "Ask the secretary."]),
    }


def pdf(pages: list[tuple[str, str]], width: int = 78) -> bytes:
    """Return a PDF: each page has a header, lines of text of up to `width` characters, and its number."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"",
               b"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /Encoding /WinAnsiEncoding >>"]  # fmt: skip
    kids = []
    for number, (header, text) in enumerate(pages, 1):
        lines = [header, "", *_lines(text, width), "", str(number)]
        shown = b"".join(b"(" + re.sub(rb"([\\()])", rb"\\\1", one.encode("cp1252")) + b") Tj T*\n" for one in lines)
        stream = b"BT /F1 11 Tf 14 TL 60 780 Td\n" + shown + b"ET"
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
        kids.append(len(objects) + 1)
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
                       b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects))  # fmt: skip
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%b] >>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, table) + end


def _lines(text: str, width: int) -> list[str]:
    """Return lines as a typesetter makes them: a word of eight letters or more that does not fit is hyphenated."""
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) < width:
            line = f"{line} {word}".lstrip()
        elif len(word) >= 8 and word.isalpha():
            lines.append(f"{line} {word[:4]}-")
            line = word[4:]
        else:
            lines.append(line)
            line = word
    return [*lines, line]


def instructions(rng: random.Random) -> dict[str, list[dict[str, str]]]:
    """Return three sets of instructions, each in the shape of a public one, and an evaluation that they partly contain."""
    sums = [_sum(rng) for _ in range(52)]
    evaluation, train = sums[:12], sums[12:]
    math = [{"question": q, "answer": a} for q, a in [*train, *evaluation[:3]]]
    tasks = [(_filled(ask, {"word": [word]}, rng), text, answer.replace("{word}", word)) for ask, text, answer, words in TASKS
             for word in words]  # fmt: skip
    alpaca = [{"instruction": ask, "input": text, "output": answer} for ask, text, answer in tasks]
    dolly = [
        {"instruction": ask, "context": text, "response": answer, "category": "closed_qa"}
        for ask, text, answer in tasks[:5]
    ]
    dolly += [{"instruction": f"{q} Think before you answer.", "context": "", "response": a, "category": "math"}
              for q, a in evaluation[3:5]]  # fmt: skip
    for number, paragraph in enumerate([*BEES, *BUNS]):
        ask = "Which animal or food is this paragraph about?"
        answer = "It is about bees." if number < len(BEES) else "It is about buns."
        dolly.append({"instruction": ask, "context": paragraph, "response": answer, "category": "closed_qa"})
    dolly.append({"instruction": "Say something nice.", "context": "", "response": "", "category": "creative_writing"})
    return {
        "alpaca.jsonl": alpaca, "dolly.jsonl": dolly, "gsm8k.jsonl": math,
        "evaluation.jsonl": [{"question": q, "answer": a} for q, a in evaluation],
    }  # fmt: skip


def _sum(rng: random.Random) -> tuple[str, str]:
    """Return a word problem with its answer."""
    who, place, time = (rng.choice(SLOTS[name]) for name in ("person", "place", "time"))
    things = rng.choice(("baskets of pears", "jars of honey", "bundles of reeds", "sacks of flour", "boxes of nails"))
    a, b, c = rng.randint(200, 900), rng.randint(20, 99), rng.randint(11, 89)
    first = who.split()[0]
    question = (
        f"{who} took {a} {things} to {place}, where {b} of them were sold {time}, and {c} were given away. "
        f"How many did {first} bring home?"
    )
    return question, f"{a} less {b} is {a - b}, and {a - b} less {c} is {a - b - c}. {first} brought {a - b - c} home."
