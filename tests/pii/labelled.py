"""Make the labelled PII lines from the frames and pictures of labelled.txt; the file's head states its format."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

LINES_PER_FORM = 14
LINES_PER_NEGATIVE = 3
ZEROS = {"arab": "٠", "farsi": "۰", "deva": "०", "beng": "০", "full": "０"}
SYLLABLES = "ba be di do fa gu ka ki lo lu ma mi na no pe ra ro sa si ta to va vi za zo".split()


@dataclass(frozen=True)
class Line:
    """One labelled line: `spans` are (start, end) in characters; `kind` is "" for a hard negative."""

    form: str
    script: str
    text: str
    kind: str
    spans: tuple[tuple[int, int], ...]


def lines() -> list[Line]:
    """Return every labelled line, each text once, the same ones in every process."""
    frames, forms, negatives = _sections()
    chance = random.Random(14)
    made: dict[str, Line] = {}
    for form, scripts, zero, pictures in forms:
        kind = form.partition(".")[0]
        for at in range(LINES_PER_FORM):
            picture = pictures[at % len(pictures)]
            script = scripts[at % len(scripts)]
            if picture.startswith("+") and "⟦" in picture:
                marked = _fill(picture[1:], kind, chance)
                script = _script(marked)
            else:
                choices = frames[script, kind] or frames[script, "any"]
                marked = choices[at // len(scripts) % len(choices)].replace(
                    "{}", f"⟦{_digits(_fill(picture, kind, chance), zero)}⟧", 1
                )
            text, spans = _spans(marked)
            made.setdefault(text, Line(form, script, text, kind, spans))
    for form, script, picture in negatives:
        for _ in range(LINES_PER_NEGATIVE):
            text = _fill(picture, "", chance)
            made.setdefault(text, Line(form, script, text, "", ()))
    return list(made.values())


def _sections():
    frames, forms, negatives = defaultdict(list), [], []
    into, name = None, ""
    for row in (Path(__file__).parent / "labelled.txt").read_text("utf-8").splitlines():
        if row.startswith("= "):
            what, name, *rest = row[2:].split()
            if what == "frame":
                into = frames[name, rest[0]]
            elif what == "form":
                scripts, _, zero = " ".join(rest).partition(" - ")
                into = []
                forms.append((name, scripts.split(), zero, into))
            else:
                into = None
        elif row.startswith("# "):
            continue
        elif into is None:
            negatives.append((name, *row.split(" ", 1)))
        else:
            into.append(row)
    return frames, forms, negatives


def _fill(picture: str, kind: str, chance: random.Random) -> str:
    made = []
    for letter in picture:
        if letter == "#":
            letter = chance.choice("0123456789")
        elif letter == "%":
            letter = chance.choice("23456789")
        elif letter == "&":
            letter = "".join(chance.sample(SYLLABLES, 3))
        made.append(letter)
    text = "".join(made)
    if kind == "iban":
        return text.replace("??", _iban_check(text))
    return text.replace("?", _luhn(text)) if kind == "card" else text


def _iban_check(text: str) -> str:
    plain = text.replace(" ", "")
    number = int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:2] + "00"))
    return f"{98 - number % 97:02d}"


def _luhn(text: str) -> str:
    digits = [int(letter) for letter in text if letter.isdigit()]
    total = sum(digit if at % 2 else sum(divmod(2 * digit, 10)) for at, digit in enumerate(reversed(digits)))
    return str(-total % 10)


def _digits(text: str, zero: str) -> str:
    if not zero:
        return text
    return "".join(chr(ord(ZEROS[zero]) + int(letter)) if letter in "0123456789" else letter for letter in text)


def _spans(marked: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    text, spans = "", []
    for part in marked.split("⟦"):
        data, closed, rest = part.partition("⟧")
        if closed:
            spans.append((len(text), len(text) + len(data)))
        text += data + rest
    return text, tuple(spans)


def _script(text: str) -> str:
    if any("\u0600" <= letter <= "\u06ff" for letter in text):
        return "arabic"
    return "cyrillic" if any("\u0400" <= letter <= "\u04ff" for letter in text) else "latin"
