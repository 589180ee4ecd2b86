"""Twin of `pii/labels.py`: words before a number that show what it is, read backwards without patterns."""

from __future__ import annotations

from dataprep.pii.label_words import AFTER_LABEL, AFTER_PHONE, AND, NOT_PERSONAL, PHONE
from dataprep.pii.labels import PARAMETERS, words
from twins.phone_signs import VALUES, is_word, joins, word_before

LABELS, PHONES = tuple(words(NOT_PERSONAL)), tuple(words(PHONE))
MORE = [a + b for a in " _" for b in AFTER_LABEL.split("|")]
PARAMETER = tuple(a + b + "=" for a in "?&" for b in PARAMETERS.split("|"))


def with_and(line: str, end: int, start: int) -> bool:
    """Whether a number follows the phone that ends at `end` and a word such as "or"."""
    between = line[max(end, 0) : start].lower()
    between = between[: len(between) - between.endswith(("(", "+"))]
    signs = [c for c in between if "\u2600" <= c <= "\u27bf" or "\U0001f000" <= c <= "\U0001faff" or c == "\ufe0f"]
    blank = between.removeprefix(" ").removesuffix(" ")
    if 0 <= end < start <= end + 12 and 1 <= len(signs) <= 4 and blank == "".join(signs):
        return True
    words = [(a, b) for a in AND.split("|") for b in ("", *(f"{w} " for w in AFTER_PHONE.split("|")))]
    for a, b in words if end >= 0 and start - end <= 12 else ():
        middle = between.removesuffix(b) if between.endswith(b) else None
        if middle is not None and middle.strip(" ,") == a:
            return True
    return False


def is_labelled(line: str, start: int) -> bool:
    """Whether a word before a number says that it is not a person's: ISBN, version, order no."""
    written = line[max(0, start - 40) : start]
    before = written.lower()
    if before.endswith("+"):
        return is_build(written[:-1])
    if is_key(written):
        name, _ = word_before(written.removesuffix(" ").removesuffix(":").removesuffix(" "))
        french = name == "num" and written.removesuffix(" ").endswith(":")
        return not (french and line[start : start + 1] == "0")
    if is_account(written) or is_tax(written):
        return True
    for n in range(5):
        if n > len(before) or not set(before[len(before) - n :]) <= set(" \t_.:：=#°№\"'"):
            break
        heads = {before[: len(before) - n]}
        for _ in range(4):
            if any(ends_with(h.removesuffix(edition), LABELS) for h in heads for edition in ("", "-10", "-13")):
                return not is_purpose(written)
            heads = {h.removesuffix(more) for h in heads for more in MORE if h.endswith(more)}
    return False


def is_build(before: str) -> bool:
    """Whether 1.2 or 1.2-beta.1 precedes a +."""
    if not before[-1:].isalnum():
        return False
    for end in [len(before), *(i for i, c in enumerate(before) if c == "-")]:
        suffix, head = before[end + 1 :], before[:end].rstrip("0123456789")
        plain = end == len(before) or (suffix and all(is_word(c) or c == "." for c in suffix))
        if plain and len(head) < end and head.endswith(".") and head[-2:-1] in VALUES:
            return True
    return False


def is_key(before: str) -> bool:
    """Whether a parameter of a URL, or a name in code of no phone, and = or : precede."""
    if before.endswith(PARAMETER):
        return True
    if not (set(before[-4:]) & {"=", ":"} and before[-1:] in tuple("=\"': ")):
        return False
    text = before[: len(before) - before.endswith(("'", '"'))]
    text = text[: len(text) - text.endswith((" ", "\t"))]
    if not text.endswith((":", "=")):
        return False
    text = text[:-1]
    text = text[: len(text) - text.endswith((" ", "\t"))]
    text = text[: len(text) - text.endswith(("'", '"'))]
    name = word_before(text)[0]
    inner = any(name.endswith(w) and "a" <= name.removesuffix(w)[-1:] <= "z" for w in INNER.split())
    code = name in NAMES.split() or name.endswith(tuple("_" + w for w in LAST.split())) or inner
    return code and not any(w in name.lower() for w in PHONE_KEYS.split())


INNER = "Id ID No Num Number Code Ref Key"
LAST = "id no nr num number code ref key sku ts time count size seq pid uid hash"
NAMES = "key code value val hash seed ts timestamp num sku size bytes offset count total sum n x y id no"
PHONE_KEYS = "phone mobile tel gsm cell fax contact whatsapp msisdn call sms"


def is_account(before: str) -> bool:
    """Whether FR76 and one to six groups of four precede, with a space behind each."""
    groups = before.replace("\u00a0", " ").split(" ")
    letters = set("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    for n in range(1, 7):
        if groups[-1] or len(groups) < n + 2:
            return False
        some, head = groups[-1 - n : -1], groups[-2 - n]
        if not all(len(g) == 4 and set(g) <= letters | set("0123456789") for g in some):
            return False
        lead, code = head[:-4][-1:], head[-4:]
        right = len(code) == 4 and set(code[:2]) <= letters and set(code[2:]) <= set("0123456789")
        if right and not (lead.isascii() and lead.isalnum()):
            return True
    return False


def is_tax(before: str) -> bool:
    """Whether a word for a tax precedes, up to 16 characters without digits, and FR or FR71."""
    text = before[: len(before) - before.endswith((" ", "\u00a0"))]
    code, rest = word_before(text)
    letters, n = set("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), len(code)
    if not (2 <= n <= 4 and set(code[:2]) <= letters and set(code[2:]) <= letters | set("0123456789")):
        return False
    for gap in range(1, min(16, len(rest)) + 1):
        between, word = rest[len(rest) - gap :], word_before(rest[: len(rest) - gap])[0].lower()
        if set(between) & set("0123456789"):
            return False
        if not is_word(between[0]) and (word in TAXES.split() or word.startswith("intracom")):
            return True
    return False


TAXES = "tva vat ust mwst nif iva dph pvm btw"


def is_purpose(before: str) -> bool:
    """Whether "for all orders:" precedes, which names no number."""
    for signs in range(6):
        tail, text = before[len(before) - signs :], before[: len(before) - signs]
        bare = [t for t in tail if t in ".:"]
        parts = tail.replace(":", ".").split(".")
        if len(tail) != signs or len(bare) > 1 or not all(set(p) <= set(" \t") and len(p) <= 2 for p in parts):
            continue
        n = next((i for i, c in enumerate(reversed(text)) if not c.isalnum() or c.isdecimal()), len(text))
        head = text[: len(text) - n]
        if not n or head == head.rstrip(" \t"):
            continue
        word, more = word_before(head.rstrip(" \t"))
        if word.lower().removesuffix("s") in ALL.split() and more != more.rstrip(" \t"):
            word = word_before(more.rstrip(" \t"))[0] if word.lower() not in FOR.split() else word
        if word.lower() in FOR.split():
            return True
    return False


FOR, ALL = "pour for para per für voor для", "toute all your vo votre the la vos"


def is_phone(line: str, start: int) -> bool:
    """Whether a word before a number says that it is a phone: tel., my number is; at most three words between."""
    before = line[max(0, start - 40) : start].lower()
    heads = {before}
    for _ in range(4):
        heads |= {head[:-1] for head in heads if head[-1:] and head[-1] in " \t_.:：=፦(（+\"'\ufe0f"}
    for _ in range(4):
        if any(ends_with(head, PHONES) for head in heads):
            return True
        bare = {head.removesuffix(word) for head in heads for word in AFTER_PHONE.split("|") if head.endswith(word)}
        heads = bare | {head[:-1] for head in bare if head[-1:] in (" ", "_")}
    return False


def ends_with(text: str, labels: tuple[str, ...]) -> bool:
    """Whether a text ends with a label, which begins a word unless its script joins words."""
    for label in labels if text.endswith(labels) else ():
        before = text.removesuffix(label)[-1:]
        begins = not before.isalnum() or joins(before) or (labels is PHONES and before in VALUES)
        if text.endswith(label) and (begins or joins(label[0])):
            return True
    return False
