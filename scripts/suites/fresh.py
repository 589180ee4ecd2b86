"""Hide personal numbers and addresses in lines that were written from a description of the losses alone.

The description: numbers with words attached before or after them, with extensions, in lists, below a label, with a line
break or two blanks in them; cards and accounts of unusual lengths; mail at Punycode domains and IP addresses. Numbers
are drawn with a fixed seed from the forms that people of each country write; the check digits of cards and accounts are
correct. Recall is the fraction of data of which no digit (of mail: no letter) stays visible, precision the fraction of
matches that touch labelled data. The result of the first run is in docs/conformance.md.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from dataprep.core.model import batch as B
from dataprep.pii.stage import PII

SEED, DRAWS = 20281128, 12  # numbers per form of writing
NATIONAL = ("06 %% %% %% %%", "0172 %%%% %%%%", "0151 %%%%%%%", "07700 %%%%%%", "06%%-%%%%%%", "090-%%%%-%%%%",
            "070-%%% %% %%", "0 5%% %%% %% %%", "050-%%%-%%%%", "0471 %% %% %%", "0612%%%%%%", "030 %%%%%%%",
            "(0)20 7946 %%%%", "08.%%.%%.%%.%%", "0812-%%%%-%%%%", "044 %%% %% %%")  # fmt: skip
WORLD = ("+212 6 %% %% %% %%", "+49 172 %%%%%%%", "+33 (0)6 %% %% %% %%", "+1 415-555-%%%%", "+44 7700 %%%%%%",
         "+91 9%%%% %%%%%", "00212 6%%%%%%%%", "+7 9%% %%%-%%-%%", "+55 11 9%%%%-%%%%", "+966 5%%%%%%%%")  # fmt: skip
SENTENCES = ("On peut me joindre au {} le soir", "Hi, {} works best after six", "Meine Nummer ist {}, danke",
             "Apunta: {}", "{}", "اتصل على {} من فضلك", "Позвоните по {} вечером", "numaram {} akşam ara")  # fmt: skip
ATTACHED = ("salut{}", "Bonsoir{}", "ecris{}", "{}svp", "{}Danke", "{}_vieux", "tel{}", "Fon{}")
EXTENDED = ("{}x204", "{} ext. 17", "{} #5", "{}, poste 31")
LISTED = ("{}, {}", "{} / {}", "{} ou {}", "{}; {}")
ABOVE = ("Téléphone :\n{}", "Mobile\n{}", "Phone:\n\n{}", "هاتف:\n{}")
CARDS = ("4%%%-%%%%-%%%%-%%%", "51%% %%%% %%%% %%%", "3530 %%%% %%%% %%%", "5019 %%%% %%%% %%%", "37%% %%%%%% %%%%")
ACCOUNTS = ("DE 18", "FR 23", "GB 18", "MA 24", "ES 20", "NL 14")
MAIL = ("ana.b%%@xn--caf-dma.fr", "op%%@[81.2.69.%%]", "k%%@xn--80ak6aa92e.xn--p1ai", "lee%%@post.example.org")
OTHERS = ("total 12 %%% %%% dh", "12/0%/202%", "ISBN 978-2-07-0360%%-8", "v2.%.14.%%%%", "commande n° 4%%%%%%%%%",
          "48.85%%%%, 2.35%%%%", "a1%%%%f%%c0%d3e%%", "1 %00 000 habitants", "score 21-%% 21-1% 25-2%", "%%%%%%%%kg",
          "page%%% 12", "build 1904%.38%%", "du 12.0%.19%% au 14.1%.20%%", "10 20 30 40 5%", "EUR %%.%%%,00",
          "matricule 2019%%%%%%%%", "IMG_2024%%%%_%%%%%%.jpg", "facture 2024/%%%%%%/%%", "Windows10 %%%% 12%%",
          "numbers 10 20 3% 4%", "salle12 de 1%h à 1%h30", "lot %%%-%%-%%", "9h30-12h%% / 14h-18h%%")  # fmt: skip


def measures() -> Iterator[tuple[str, str, str]]:
    """Yield (measure, recall and precision, number of cases)."""
    draw = random.Random(SEED)  # noqa: S311 - not for secrets
    for name, cases in _cases(draw):
        found, matches, right = 0, 0, 0
        for (text, wanted), spans in zip(cases, _spans([text for text, _ in cases]), strict=True):
            labelled = [_place(text, one) for one in wanted]
            hidden = {i for a, b in spans for i in range(a, b)}
            seen = (i for a, b in labelled for i in range(a, b) if i not in hidden)
            found += not any(text[i].isdigit() or "@" in "".join(wanted) for i in seen)
            matches += len(spans)
            right += sum(any(a < end and start < b for a, b in labelled) for start, end in spans)
        if any(wanted for _, wanted in cases):
            yield name, f"recall {found / len(cases):.3f}, precision {right / max(1, matches):.3f}", str(len(cases))
        else:
            n = sum(not spans for spans in _spans([text for text, _ in cases]))
            yield name, f"{n} left as they are", str(len(cases))


def _cases(draw: random.Random) -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """Yield (name, [(text, the data in it)]) of each form of writing."""
    phones = [_drawn(draw, form) for form in (*NATIONAL, *WORLD) for _ in range(DRAWS)]
    said = [(draw.choice(SENTENCES), one) for one in phones]
    yield "attached words", [(s.format(draw.choice(ATTACHED).format(n)), [n]) for s, n in said]
    yield "extensions", [(s.format(draw.choice(EXTENDED).format(n)), [n]) for s, n in said]
    pairs = [(s, n, _like(draw, n)) for s, n in said]
    yield "lists", [(s.format(draw.choice(LISTED).format(n, other)), [n, other]) for s, n, other in pairs]
    yield "labels above", [(draw.choice(ABOVE).format(n), [n]) for n in phones]
    yield "two blanks", [(s.format(_wide(n)), [_wide(n)]) for s, n in said if " " in n]
    yield "line breaks", [(s.format(_broken(n)), [_broken(n)]) for s, n in said if " " in n]
    cards = [_card(draw, form) for form in CARDS for _ in range(DRAWS * 2)]
    accounts = [_account(draw, *form.split()) for form in ACCOUNTS for _ in range(DRAWS * 2)]
    for name, some in (("cards", cards), ("accounts", accounts)):
        forms = [(one, draw.choice(("{}", "ma carte {} svp", "IBAN {} merci", "payé par {}"))) for one in some]
        yield name, [(s.format(one), [one]) for one, s in forms]
        broken = [(_broken(one, draw), s) for one, s in forms]
        yield f"{name}, broken", [(s.format(one), [one]) for one, s in broken]
    mails = [_drawn(draw, form) for form in MAIL for _ in range(DRAWS)]
    yield "mail", [(draw.choice(SENTENCES).format(one), [one]) for one in mails]
    yield "mail, attached", [(f"mail {one}_ancien", [one]) for one in mails if one[-1].isalpha()]
    others = [_drawn(draw, form) for form in OTHERS for _ in range(DRAWS)]
    yield "other numbers", [(f"{one} hier", []) for one in others]
    yield "other numbers, broken", [(f"hier {one.replace(' ', chr(10), 1)}", []) for one in others]


def _drawn(draw: random.Random, form: str) -> str:
    """Return a form of a number in which random digits replace each %."""
    return "".join(str(draw.randrange(10)) if c == "%" else c for c in form)


def _like(draw: random.Random, number: str) -> str:
    """Return another number of the same form, which differs in its last four digits."""
    return number[:-4] + "".join(str(draw.randrange(10)) if c.isdigit() else c for c in number[-4:])


def _wide(number: str) -> str:
    return number.replace(" ", "  ", 1)


def _broken(number: str, draw: random.Random | None = None) -> str:
    """Return a number with a line break in place of its first blank or, if `draw` is given, of any one."""
    blanks = [i for i, c in enumerate(number) if c == " "]
    at = draw.choice(blanks) if draw and blanks else blanks[0] if blanks else len(number) // 2
    return number[:at] + "\n" + number[at + bool(blanks) :]


def _card(draw: random.Random, form: str) -> str:
    first = _drawn(draw, form)
    digits = [int(c) for c in first if c.isdigit()][::-1]
    total = sum(d if k % 2 else sum(divmod(2 * d, 10)) for k, d in enumerate(digits))
    return f"{first}{-total % 10}"


def _account(draw: random.Random, country: str, size: str) -> str:
    letters = "".join(draw.choices("ABCDEFGH", k=4)) if country in ("GB", "NL") else ""
    rest = letters + "".join(str(draw.randrange(10)) for _ in range(int(size) - len(letters)))
    whole = "".join(str(int(c, 36)) for c in f"{rest}{country}00")
    number = f"{country}{98 - int(whole) % 97:02}{rest}"
    return " ".join(number[i : i + 4] for i in range(0, len(number), 4))


def _place(text: str, one: str) -> tuple[int, int]:
    return text.rindex(one), text.rindex(one) + len(one)


def _spans(texts: list[str]) -> list[list[tuple[int, int]]]:
    """Return (start, end) of the matches in each text, in characters."""
    batch = B.make(list(range(len(texts))), texts, "fresh")
    offsets, data = B.buffers(batch)
    found = [list[tuple[int, int]]() for _ in texts]
    for span in PII()._spans(batch):  # noqa: SLF001 - the stage itself only returns texts
        first = offsets[span.row]
        a, b = (len(data[first:at].tobytes().decode()) for at in (span.start, span.end))
        found[span.row].append((a, b))
    return found
